"""What was paid for is answered also where noise is wider than 64 bits; numbers beyond the doubles are refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.schema.units import Unit

ROWS, PERSONS = dp.rows(), dp.person("p", rows=100, groups=1)


def opened(folder: Path, unit: Unit) -> Any:
    held = pa.table({"x": [1, 2, 3] * 10, "w": ["a", "b", "b"] * 10, "p": list(range(30))})
    declared = {"x": dp.integer(0, 10), "w": dp.category("a", "b")}
    return dp.Curator(held, unit=unit, columns=declared, budget=dp.Budget(epsilon=10), ledger=folder / "l.ledger")


ASKED: dict[str, tuple[Unit, Callable[[Any], object]]] = {
    "bounds": (PERSONS, lambda one: one.bounds("x", epsilon=1e-13)),
    "contributions": (PERSONS, lambda one: one.contributions(epsilon=1e-17)),
    "conditions": (ROWS, lambda one: one.workload(["x < 3", "w = 'a'"], whole=True, epsilon=1e-17)),
    "ranges": (ROWS, lambda one: one.workload([dp.ranges("x")], whole=True, epsilon=1e-17)),
    "marginal": (ROWS, lambda one: one.workload([dp.marginal("w")], whole=True, epsilon=1e-17)),
    "table": (ROWS, lambda one: one.table(by=["w"], whole=True, epsilon=1e-17)),
    "moments": (ROWS, lambda one: one.moments(["x", "w"], epsilon=1e-17)),
    "regression": (ROWS, lambda one: one.regress("x ~ w", epsilon=1e-17)),
}


@pytest.mark.parametrize("name", ASKED)
def test_noise_that_hides_everything_is_an_answer(name: str, tmp_path: Path) -> None:
    unit, ask = ASKED[name]
    hospital = opened(tmp_path, unit)
    assert str(ask(hospital))
    assert str(ask(hospital))  # and so is what the ledger kept
    assert len(hospital.history()) == 1


def test_numbers_beyond_the_doubles_are_refused_in_a_sentence(tmp_path: Path) -> None:
    hospital = opened(tmp_path, ROWS)
    for weight in (10**400, 1e-300):
        with pytest.raises(ParameterError, match="from a millionth to a million"):
            hospital.table(by=["w"], weights={(): weight}, epsilon=1)
    assert hospital.budget.spent.epsilon == 0
    model = hospital.regress("x ~ I(x * 2 + 1)", epsilon=1)
    with pytest.raises(ParameterError, match="beyond all doubles"):
        model.predict({"x": [10**400]})
