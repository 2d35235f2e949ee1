"""Models in files: what is damaged anywhere is refused in a sentence, or is still a model that draws what it may."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.synthetic import files
from discreet.synthetic.rounds.selection import LOOKS

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
    bad: list[Parts] = [{**parts, "shares0": 2 * parts["shares0"]}, {**parts, "log0": np.full_like(parts["log0"], np.inf)}]
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


def test_a_file_that_unpacks_to_far_more_than_a_model_is_refused(
    saved: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large.npz").write_bytes(saved)
    monkeypatch.setattr(files, "_MOST_BYTES", 1000)
    with pytest.raises(dp.errors.ParameterError, match="would unpack to more than 1,000 bytes"):
        dp.Synthetic.load(tmp_path / "large.npz")


HUGE = "1e999999999"  # as a fraction, a number of a billion digits


def later(**changes: Any) -> Any:
    """Something else in the last measurement."""
    names = ("columns", "counts", "cost", "deviation", "bits", "missed")

    def change(measured: Any) -> None:
        last = measured["later"][-1]
        for name, value in changes.items():
            last[names.index(name)] = value

    return change


MEASURED: dict[str, Any] = {
    "a cost of a billion digits": later(cost=HUGE),
    "a cost below nothing": later(cost="-1"),
    "bits beyond all numbers": later(bits=10**9),
    "bits below none": later(bits=-1),
    "noise that is no number": later(deviation=float("nan")),
    "noise that is none": later(deviation=0.0),
    "noise without an end": later(deviation=float("inf")),
    "too few counts": later(counts=[1]),
    "counts beyond doubles": lambda measured: measured["later"][-1][1].__setitem__(0, 10**400),
    "a column that is not there": later(columns=[0, 99]),
    "a column before the first": later(columns=[-1, 0]),
    "a column twice": later(columns=[0, 0]),
    "no column": later(columns=[], counts=[5]),
    "guesses that are no numbers": later(missed=[float("nan"), 1.0, 1.0]),
    "a choice of a billion digits": lambda measured: measured["choices"].append(HUGE),
    "own counts of another column": lambda measured: measured["own"].reverse(),
    "an own count too many": lambda measured: measured["own"][1][1].append(3),
}


@pytest.mark.parametrize("change", MEASURED)
def test_measurements_that_cannot_be_are_refused(change: str, saved: bytes, tmp_path: Path) -> None:
    parts, facts = parts_of(saved, tmp_path)
    measured = json.loads(facts["measured"])
    MEASURED[change](measured)
    refuse({**parts, "facts": written({**facts, "measured": json.dumps(measured)})}, tmp_path)


COLUMNS: dict[str, Any] = {
    "a step of a billion digits": {"step": HUGE},
    "a step of nothing": {"step": "0"},
    "starts in no order": {"starts": [5, 4]},
    "an end before the last": {"end": -5},
    "days that are none": {"kind": "date", "starts": [10**7], "end": 10**7 + 1},
    "numbers that no double holds": {"end": 2**60},
    "a kind that is none": {"kind": "lambda"},
    "words that are numbers": {"values": [1, 2], "kind": "text"},
    "truth that is a word": {"values": ["no"], "kind": "boolean"},
}


@pytest.mark.parametrize("change", COLUMNS)
def test_columns_that_cannot_be_are_refused(change: str, saved: bytes, tmp_path: Path) -> None:
    parts, facts = parts_of(saved, tmp_path)
    columns = [{**facts["columns"][0], **COLUMNS[change]}, *facts["columns"][1:]]
    refuse({**parts, "facts": written({**facts, "columns": columns})}, tmp_path)


@pytest.mark.parametrize("value", [-1.0, 0.5, float("nan"), float("inf")])
def test_tables_of_what_can_be_hold_zeros_and_ones(value: float, saved: bytes, tmp_path: Path) -> None:
    parts, _ = parts_of(saved, tmp_path)
    table = parts["zero0"].copy()
    table[0, 0] = value
    refuse({**parts, "zero0": table}, tmp_path)
    refuse({**parts, "zero0": parts["zero0"][:-1]}, tmp_path)


def test_a_loss_and_a_guarantee_that_cannot_be_are_refused(saved: bytes, tmp_path: Path) -> None:
    parts, facts = parts_of(saved, tmp_path)
    bad = [{"loss": float("nan")}, {"loss": float("inf")}, {"privacy": facts["privacy"].replace('"1"', f'"{HUGE}"')}]
    assert bad[2]["privacy"] != facts["privacy"]
    for one in bad:
        refuse({**parts, "facts": written({**facts, **one})}, tmp_path)


def written(facts: Any) -> Any:
    return np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)


def refuse(parts: Parts, folder: Path) -> None:
    np.savez(folder / "bad.npz", **parts)
    with pytest.raises(dp.errors.ParameterError, match=r"damaged|impossible"):
        dp.Synthetic.load(folder / "bad.npz")


def test_how_much_work_rows_may_take_is_kept(saved: bytes, tmp_path: Path) -> None:
    """A file from before there was such a number has that of the default; one that cannot be is refused."""
    parts, facts = parts_of(saved, tmp_path)
    assert dp.Synthetic.load(tmp_path / "good.npz").looks == facts.pop("looks") == LOOKS // 300

    def load(known: dict[str, Any]) -> dp.Synthetic:
        text = np.frombuffer(json.dumps(known).encode(), dtype=np.uint8)
        np.savez(tmp_path / "other.npz", **(parts | {"facts": text}))
        return dp.Synthetic.load(tmp_path / "other.npz")

    assert load(facts).looks == LOOKS
    for wrong in (-1, 2**70, "many", 0.5, None):
        with pytest.raises(dp.errors.ParameterError, match="no model, or damaged"):
            load(facts | {"looks": wrong})
