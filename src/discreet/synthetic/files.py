"""Models in files: arrays of numbers and one JSON text in a zip archive (npz), with a version and without anything that runs."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

from discreet.errors import DiscreetError, ParameterError
from discreet.privacy import Privacy
from discreet.synthetic.domain import Coding, Domain
from discreet.synthetic.inference.fit import Fit, mask
from discreet.synthetic.inference.tree import Tree
from discreet.synthetic.model import Synthetic
from discreet.synthetic.rounds.measuring import Measurements
from discreet.synthetic.rounds.merging import Merged
from discreet.synthetic.rounds.selection import LOOKS
from discreet.synthetic.zeros import Zeros

_VERSION = 1
_MOST_ROWS = 1e18
_MOST_BYTES = 2**30  # that a file unpacks to


def save_model(model: Synthetic, path: str | Path) -> Path:
    """Write a model."""
    file, tree = Path(path), model.fitted.tree
    facts = {
        "discreet": "synthetic",
        "version": _VERSION,
        "columns": [one.facts for one in model.domain.columns],
        "tree": [tree.sizes, tree.cliques, tree.parents, tree.separators],
        "zeros": [columns for columns, _ in model.zeros.tables],
        "total": model.total,
        "loss": model.fitted.loss,
        "measured": model.measured.write(),
        "privacy": model.privacy.to_json(),
        "left": model.left,
        "looks": model.looks,
    }
    arrays = {f"log{i}": table for i, table in enumerate(model.fitted.logs)}
    arrays |= {f"zero{i}": table for i, (_, table) in enumerate(model.zeros.tables)}
    arrays |= {f"shares{i}": one.shares for i, one in enumerate(model.merged)}
    text = np.frombuffer(json.dumps(facts, allow_nan=False).encode(), dtype=np.uint8)
    try:
        with file.open("wb") as opened:
            np.savez_compressed(opened, facts=text, **arrays)  # type: ignore[arg-type]
    except OSError as problem:
        raise ParameterError(f"{file} cannot be written ({problem.strerror}); choose another place.") from None
    return file


def load_model(path: str | Path) -> Synthetic:
    """Read a model; a file that is damaged, or none of ours, is refused in a sentence."""
    file = Path(path)
    try:
        with file.open("rb") as opened:
            with ZipFile(opened) as archive:
                if sum(one.file_size for one in archive.infolist()) > _MOST_BYTES:
                    raise ParameterError(f"{file} would unpack to more than {_MOST_BYTES:,} bytes, which no model does.")
            opened.seek(0)
            with np.load(opened, allow_pickle=False) as arrays:
                return _read(_facts(file, arrays), arrays)
    except FileNotFoundError:
        raise ParameterError(f"There is no file {file}; give the path that model.save() returned.") from None
    except DiscreetError:
        raise
    except Exception:  # what reads archives, headers and arrays of anything raises anything
        raise ParameterError(f"{file} is no model, or damaged; nothing is read of it. Save the model again.") from None


def _facts(file: Path, arrays: Any) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(arrays["facts"].tobytes().decode())
    if (facts.get("discreet"), facts.get("version")) != ("synthetic", _VERSION):
        raise ParameterError(f"{file} was not written by this version of discreet as a model; read it with that version.")
    return facts


def _read(facts: dict[str, Any], arrays: Any) -> Synthetic:
    domain = Domain(tuple(map(Coding.read, facts["columns"])))
    measured = Measurements.read(facts["measured"])
    merged = []
    for i, (coding, places) in enumerate(zip(domain.columns, measured.places, strict=True)):
        shares = np.asarray(arrays[f"shares{i}"], dtype=np.float64)
        one = Merged(places, shares)
        right = len(shares) == len(places) == coding.count and {*places.tolist()} == {*range(len({*places.tolist()}))}
        if not right or not (shares >= 0).all() or not np.allclose(one.within(np.ones(len(places), dtype=bool)), 1):
            raise ValueError
        merged.append(one)
    sizes, cliques, parents, separators = facts["tree"]
    tree = Tree(tuple(sizes), tuple(map(tuple, cliques)), tuple(parents), tuple(map(tuple, separators)))
    logs = tuple(np.asarray(arrays[f"log{i}"], dtype=np.float64) for i in range(len(tree.cliques)))
    zeros = Zeros(tuple((tuple(columns), np.asarray(arrays[f"zero{i}"])) for i, columns in enumerate(facts["zeros"])))
    if not measured.is_whole or measured.levels.shape != tree.sizes or not tree.is_whole:
        raise ValueError
    if any(not ((table == 0) | (table == 1)).all() or table.shape != _shape(measured, own) for own, table in zeros.tables):
        raise ValueError
    if measured.levels.coarse(tuple(zeros.columns)):
        raise ValueError
    if any(table.shape != shape or not np.isfinite(table).all() for table, shape in zip(logs, tree.shapes, strict=True)):
        raise ValueError
    beliefs = tree.calibrate(logs, mask(tree, measured.levels.zeros(zeros).tables))
    fitted = Fit(logs, beliefs, float(facts["loss"]))
    privacy, total = Privacy.from_json(facts["privacy"]), float(facts["total"])
    looks = facts.get("looks", LOOKS)  # which earlier files do not say
    if not isinstance(looks, int) or not 0 <= looks < 2**62:
        raise ValueError
    if not beliefs.possible or not 0 < total < _MOST_ROWS or not math.isfinite(fitted.loss):
        raise ValueError
    return Synthetic(domain, tuple(merged), fitted, total, measured, zeros, privacy, str(facts["left"]), looks=looks)


def _shape(measured: Measurements, columns: Sequence[int]) -> tuple[int, ...]:
    return tuple(measured.sizes[column] for column in columns)
