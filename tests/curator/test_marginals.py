"""A marginal over two columns, noise on a histogram of two axes, goes through the gate like everything else."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from support.toy_room import Marginal

import discreet as dp
from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian
from discreet.mechanisms.secret import open_secret
from discreet.plan.cost import Cost
from discreet.plan.plan import Plan, price_marginal
from discreet.plan.query import Query
from discreet.plan.sql import parse_expression
from discreet.plan.statistics import Axis
from discreet.schema.table import Schema
from discreet.schema.units import Unit

COLUMNS = {"age": dp.integer(0, 120), "smokes": dp.boolean(), "ward": dp.category("a", "b", "c"), "name": dp.text()}
RHO = Fraction(1000)  # so that noise is a row or less


def plan_of(unit: Unit, *of: str) -> Plan:
    schema = Schema(COLUMNS, unit)
    return price_marginal([parse_expression(text, schema) for text in of], Query(()), schema, Cost("rho", RHO))


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("id", rows=2, groups=1)], ids=["rows", "persons"])
def test_a_marginal_is_a_request(unit: Unit, tmp_path: Path) -> None:
    """The noise has a standard deviation of 1/44 of a row, or 2/44: no cell is off by one (below 1e-100)."""
    held = {
        "smokes": [True, True, False, None, True],
        "ward": ["a", "c", "c", "a", "nowhere"],
        "age": [1, 2, 3, 4, 5],
        "name": ["x"] * 5,
    }
    table = pa.table(held | {"id": ["p", "q", "r", "s", "t"]})
    budget = dp.Budget(rho=2000)
    clinic = dp.Curator(table, unit=unit, columns=COLUMNS, budget=budget, ledger=tmp_path / "clinic.ledger")
    plan = plan_of(unit, "smokes", "ward")
    (release,) = plan.releases
    assert isinstance(release.mechanism, Gaussian)
    request = Marginal(plan, Cost("rho", RHO))
    outcome = clinic._desk.ask(request)
    cells = [round(units * release.worth) for units in outcome.result]
    assert cells == [0, 0, 1, 1, 0, 1]  # by smokes (false, true) and ward; what is missing is in no cell
    assert clinic.budget.spent.rho == pytest.approx(1000)
    again = clinic._desk.ask(request)
    assert (again.repeated, again.result) == (True, outcome.result)
    assert release.description[0] == "6 cells of smokes, ward"


@pytest.mark.parametrize(
    ("of", "says"),
    [
        (["age"] * 4, "at most 8,388,608 numbers"),
        (["age", "name"], "declare categories"),
        ([], "declare categories"),
        (["age", "concat(" + ", ".join(["name"] * 100) + ")"], "makes texts of up to 100,000 characters of one row"),
    ],
    ids=["cells", "no list", "nothing", "long texts"],
)
def test_marginals_that_are_refused(of: list[str], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        plan_of(dp.rows(), *of)


def test_a_row_is_in_one_cell_also_of_values_that_are_one_double() -> None:
    """An engine compares doubles: two values of a list that are one double would count a row twice, at the price of once."""
    held = {"c": [2**53] * 5, "d": ["x"] * 5}
    schema = Schema({"c": dp.category(2**53, 2**53 + 1, 7), "d": dp.category("x", "y")}, dp.rows())
    axes = [parse_expression(text, schema) for text in ("c", "d")]
    plan = price_marginal(axes, Query(()), schema, Cost("epsilon", Fraction(1)))
    engine = open_engine(open_source(pa.table(held), columns=["c", "d"]), schema, {})
    (counts,) = (open_secret(cells) for cells in engine.count(plan, groups_of(plan), "salt").values())
    assert sum(counts.ravel().tolist()) == 5
    assert plan.releases[0].statistic.count == 4


def test_an_axis_tells_its_values_apart_at_birth() -> None:
    of = parse_expression("c", Schema({"c": dp.integer(0, 9)}, dp.rows()))
    with pytest.raises(ParameterError, match="in two cells of c"):
        Axis(of, 2, values=(2**53, 2**53 + 1))
