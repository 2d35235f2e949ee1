"""A marginal over two columns, noise on a histogram of two axes, goes through the gate like everything else."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.curator.gate import Price, Reservation
from discreet.engine.base import groups_of
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.plan.aggregates.base import Context
from discreet.plan.cost import Cost
from discreet.plan.keys import Keys
from discreet.plan.plan import Plan, facts_of, price_needs
from discreet.plan.query import Query
from discreet.plan.release import Additive
from discreet.plan.sql import parse_expression
from discreet.plan.statistics import Histogram, list_axis
from discreet.schema.table import Schema
from discreet.schema.units import Unit

COLUMNS = {"age": dp.integer(0, 120), "smokes": dp.boolean(), "ward": dp.category("a", "b", "c")}
RHO = Fraction(1000)  # so that noise is a row or less


def plan_of(unit: Unit, *of: str, rho: Fraction = RHO) -> Plan:
    schema = Schema(COLUMNS, unit)
    expressions = [parse_expression(text, schema) for text in of]
    axes = [list_axis(one, Context(facts_of(schema)).of(one)) for one in expressions]
    marginal = Histogram(tuple(axis for axis in axes if axis is not None))
    return price_needs(Query(()), schema, Keys(), {"marginal": (Additive(marginal),)}, Cost("rho", rho))


@dataclass(frozen=True)
class Marginal:
    """A request: one statistic, one mechanism, one release."""

    plan: Plan
    cost: Cost
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return self.plan.releases[0].label

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.question.encode()).hexdigest()

    @property
    def price(self) -> Price | None:
        return None if self.plan.privacy is None else Price(self.plan.privacy, self.cost)

    def rehearse(self, engine: Any) -> None:
        engine.rehearse(self.plan)

    def run(self, engine: Any, reserved: Reservation) -> list[int]:
        (release,), groups = self.plan.releases, groups_of(self.plan)
        counts = engine.count(self.plan, groups, reserved.salt)
        noisy = reserved.release(release, counts[release.statistic, release.bits], groups.size, self.plan.schema.unit)
        return [int(cell) for cell in np.ravel(noisy)]

    def write(self, result: list[int], remarks: tuple[str, ...]) -> list[str]:
        return [json.dumps([result, *remarks])]

    def read(self, texts: list[str]) -> list[int]:
        found: list[int] = json.loads(texts[0])[0]
        return found


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("id", rows=2, groups=1)], ids=["rows", "persons"])
def test_a_marginal_is_a_request(unit: Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The noise has a standard deviation of 1/44 of a row, or 2/44: no cell is off by one (below 1e-100)."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    held = {"smokes": [True, True, False, None, True], "ward": ["a", "c", "c", "a", "nowhere"], "age": [1, 2, 3, 4, 5]}
    table = pa.table(held | {"id": ["p", "q", "r", "s", "t"]})
    budget = dp.Budget(rho=2000)
    clinic = dp.Curator(table, unit=unit, columns=COLUMNS, budget=budget, ledger=tmp_path / "clinic.ledger")
    plan = plan_of(unit, "smokes", "ward")
    (release,) = plan.releases
    assert isinstance(release.mechanism, Gaussian)
    request = Marginal(plan, Cost("rho", RHO))
    outcome = clinic._ask(request)
    cells = [round(units * release.worth) for units in outcome.result]
    assert cells == [0, 0, 1, 1, 0, 1]  # by smokes (false, true) and ward; what is missing is in no cell
    assert clinic.budget.spent.rho == pytest.approx(1000)
    again = clinic._ask(request)
    assert (again.repeated, again.result) == (True, outcome.result)
    assert release.description[0] == "6 cells of smokes, ward"


def test_marginals_of_more_cells_than_can_be_held_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most 8,388,608 numbers"):
        plan_of(dp.rows(), "age", "age", "age", "age")
