"""Models in files: what is damaged anywhere is refused in a sentence, or is still a model that draws what it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic.clinic import clinic, table

import discreet as dp

Parts = dict[str, Any]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
            patched.setenv(name, str(folder / "state"))
        model = clinic(folder, table(300)).synthesize(
            columns=["age", "sex", "visits"], rho=1, seconds=0.05, facts="visits <= age"
        )
    return model.save(folder / "model.npz").read_bytes()


def test_a_byte_that_changed_is_noticed_or_harmless(saved: bytes, tmp_path: Path) -> None:
    """Bytes here and there, each set to something else: no error but ours, and no value outside the domain."""
    places, values = np.linspace(0, len(saved) - 1, 150).astype(int), np.random.default_rng(3).integers(0, 256, 150)
    refused = 0
    for place, value in zip(places.tolist(), values.tolist(), strict=True):
        file = tmp_path / "model.npz"
        file.write_bytes(saved[:place] + bytes([value]) + saved[place + 1 :])
        try:
            drawn = dp.Synthetic.load(file).sample(20).to_arrow()
        except dp.errors.ParameterError as problem:
            refused += "no model, or damaged" in str(problem) or "not written by this version" in str(problem)
        else:
            assert all(one is None or 0 <= one <= 99 for one in drawn["age"].to_pylist())
    assert refused > 100


def parts_of(saved: bytes, folder: Path) -> tuple[Parts, dict[str, Any]]:
    (folder / "good.npz").write_bytes(saved)
    with np.load(folder / "good.npz") as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    return parts, json.loads(parts["facts"].tobytes())


def swap(sizes: Any, cliques: Any, parents: Any, separators: Any) -> Any:
    return sizes, cliques, [*parents[:-1], len(parents)], separators


TREES = {
    "a parent that comes later": swap,
    "a separator that is none": lambda sizes, cliques, parents, separators: (
        sizes,
        cliques,
        parents,
        [[], *([0] for _ in separators[1:])],
    ),
    "a column twice": lambda sizes, cliques, parents, separators: (
        sizes,
        [[*one, one[0]] for one in cliques],
        parents,
        separators,
    ),
    "a column that is not there": lambda sizes, cliques, parents, separators: (sizes, [[9], *cliques[1:]], parents, separators),
    "no clique": lambda sizes, _, __, ___: (sizes, [], [], []),
}


@pytest.mark.parametrize("change", TREES)
def test_trees_that_are_none_are_refused(change: str, saved: bytes, tmp_path: Path) -> None:
    parts, facts = parts_of(saved, tmp_path)
    text = json.dumps({**facts, "tree": TREES[change](*facts["tree"])}).encode()
    np.savez(tmp_path / "bad.npz", **{**parts, "facts": np.frombuffer(text, dtype=np.uint8)})
    with pytest.raises(dp.errors.ParameterError, match="is no model, or damaged"):
        dp.Synthetic.load(tmp_path / "bad.npz")


def test_shares_totals_and_sizes_that_cannot_be_are_refused(saved: bytes, tmp_path: Path) -> None:
    parts, facts = parts_of(saved, tmp_path)
    bad: list[Parts] = [{**parts, "shares0": 2 * parts["shares0"]}, {**parts, "log0": parts["log0"] * np.inf}]
    for total in (0, -5, 1e300):
        text = json.dumps({**facts, "total": total}).encode()
        bad.append({**parts, "facts": np.frombuffer(text, dtype=np.uint8)})
    bad.append({**parts, "zero0": np.zeros_like(parts["zero0"])})  # nothing can be
    for some in bad:
        np.savez(tmp_path / "bad.npz", **some)
        with pytest.raises(dp.errors.ParameterError, match="is no model, or damaged"):
            dp.Synthetic.load(tmp_path / "bad.npz")


def test_a_model_of_before_is_read(saved: bytes, tmp_path: Path) -> None:
    """What was written before cells could be bought, or anything be lost, says nothing of it."""
    parts, facts = parts_of(saved, tmp_path)
    measured = json.loads(facts["measured"])
    for name in ("lost", "bought", "cells"):
        del measured[name]
    measured["later"] = [one[:5] for one in measured["later"]]
    text = json.dumps({**facts, "measured": json.dumps(measured)}).encode()
    np.savez(tmp_path / "old.npz", **{**parts, "facts": np.frombuffer(text, dtype=np.uint8)})
    model = dp.Synthetic.load(tmp_path / "old.npz")
    assert model.measured.lost == model.measured.bought == ()
    assert len(model.sample(10)) == 10
    assert model.replicas.strangeness > 0
