"""What every private model promises: neighbours move no sum beyond what is declared, and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract.models import MODELS, make, outputs
from support.depth import deep

import discreet as dp
from discreet.auditor.replay.compare import replay
from discreet.mechanisms.base import recorded
from discreet.privacy import Privacy

Data = tuple[np.ndarray, np.ndarray, "np.ndarray | None"]

NEW = np.array([[0.0, 1.0], [-2.0, 2.5], [np.nan, 9.0]])
UNITS: dict[str, Any] = {
    "add-remove": None,
    "replace": "replace",
    "persons": dp.person("id", rows=3, groups=1),
    "persons replaced": dp.person("id", rows=3, groups=1, neighbours="replace"),
    "declared": dp.rows(size=12),
}
COSTS: dict[str, dict[str, Any]] = {"approximate": {"epsilon": 1, "delta": 1e-5}, "pure": {"epsilon": 1, "delta": None}}
ODD = np.array([[3.0, -3.0], [-3.0, -3.0], [np.nan, 1.0], [np.inf, -np.inf], [1e300, -1e300], [0.0, 0.0], [5e-324, 3.0]])
LABELS = np.array([0, 1, 2, 7, -1, 0, 2])


def table(seed: int, persons: bool) -> Data:
    """A few random rows and a few odd ones; persons have two rows each."""
    random = np.random.default_rng(seed)
    x = np.vstack([random.normal(size=(6, 2)), ODD[random.permutation(len(ODD))[:4]]])
    return x, random.integers(-1, 4, len(x)), np.arange(len(x)) // 2 if persons else None


def neighbour(data: Data, unit: str, seed: int) -> Data:
    """One unit is gone, or another one is in its place: extreme, and odd."""
    x, y, ids = data
    random = np.random.default_rng(seed + 100)
    mine = ids == 1 if ids is not None else np.arange(len(x)) == 3
    if "replace" not in unit:
        return x[~mine], y[~mine], None if ids is None else ids[~mine]
    x, y = x.copy(), y.copy()
    x[mine], y[mine] = ODD[random.integers(len(ODD))], LABELS[random.integers(len(LABELS))]
    return x, y, ids


def fitting(name: str, **given: Any) -> Any:
    def run(data: Data) -> list[Any]:
        x, y, ids = data
        fitted = make(name, **given).fit(x, y, groups=ids)
        return [np.asarray(outputs(fitted, NEW)).tolist(), fitted.privacy_.to_json(), sorted(vars(fitted))]

    return run


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", MODELS)
def test_neighbours_move_no_further_than_declared_and_change_nothing_else(name: str, unit: str, cost: str) -> None:
    """Replayed: with the same noisy answers, every step, price, shape and word is the same; and the releases cost no more than
    the fit says that it does."""
    run = fitting(name, unit=UNITS[unit], **COSTS[cost])
    for seed in range(deep(3, 1)):
        data = table(seed, persons="persons" in unit)
        found = replay(run, data, neighbour(data, unit, seed))
        assert found.steady
        assert found.differences == ()
        assert found.releases > 0
        claimed = make(name, unit=UNITS[unit], **COSTS[cost]).fit(*data[:2], groups=data[2]).privacy_
        currency = "rho" if cost == "approximate" else "epsilon"
        assert _amount(found.privacy, currency) <= _amount(claimed, currency) * (1 + 1e-9)


def _amount(privacy: Privacy, currency: str) -> float:
    return privacy.rho if currency == "rho" else privacy.epsilon()


@pytest.mark.parametrize("name", MODELS)
def test_what_is_declared_is_attained(name: str) -> None:
    """A row at a corner of the box that comes or goes moves sums by nearly all that is paid for: nobody pays for nothing."""
    x, y = np.zeros((8, 2)), np.array([0, 1, 2, 0, 1, 2, 0, 1])
    paid = make(name).fit(x, y).privacy_.rho
    # A gradient is long where noise has led to another class, three times of four or more: forty misses have a chance of 1e-23.
    for label in np.arange(40) % 3:
        data = (np.vstack([x, [[3.0, 3.0]]]), np.append(y, label), None)
        if replay(fitting(name), data, (x, y, None)).privacy.rho > 0.5 * paid:
            return
    raise AssertionError("no row moved sums by half of what is paid for")


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", MODELS)
def test_what_is_spent_is_the_sum_of_its_parts(name: str, cost: str) -> None:
    x, y, _ = table(1, persons=False)
    with recorded() as releases:
        fitted = make(name, **COSTS[cost]).fit(x, y)
    parts = sum((one.mechanism.privacy for one in releases), Privacy()).under("add-remove")
    if cost == "approximate":
        assert parts.parts == fitted.privacy_.parts
    else:
        assert parts.epsilon() == fitted.privacy_.epsilon() == 1


TABLES: dict[str, tuple[np.ndarray, np.ndarray]] = {
    "no rows": (np.zeros((0, 2)), np.zeros(0, dtype=int)),
    "one row": (np.ones((1, 2)), np.array([1])),
    "constant": (np.full((50, 2), 2.0), np.arange(50) % 3),
    "one class": (np.random.default_rng(0).normal(size=(50, 2)), np.ones(50, dtype=int)),
    "collinear": (np.repeat(np.random.default_rng(1).normal(size=(50, 1)), 2, axis=1), np.arange(50) % 3),
    "missing": (np.full((50, 2), np.nan), np.full(50, np.nan)),
    "infinite": (np.full((50, 2), np.inf), np.full(50, 2)),
    "unheard of": (np.random.default_rng(2).normal(size=(50, 2)), np.full(50, 99)),
}


@pytest.mark.parametrize("cost", COSTS)
@pytest.mark.parametrize("name", MODELS)
def test_what_only_rows_show_changes_neither_price_nor_shape(name: str, cost: str) -> None:
    seen = set()
    for x, y in TABLES.values():
        fitted = make(name, **COSTS[cost]).fit(x, y)
        said = np.asarray(outputs(fitted, NEW[:2]), dtype=float)
        assert np.isfinite(said).all()
        shapes = tuple(sorted((key, np.shape(value)) for key, value in vars(fitted).items() if isinstance(value, np.ndarray)))
        seen.add((fitted.privacy_, said.shape, shapes, tuple(sorted(vars(fitted)))))
    assert len(seen) == 1
