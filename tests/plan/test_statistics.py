"""Sensitivities by hand, and what they make of the noise: the numbers of the lectures."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.cost import Cost
from discreet.plan.expressions import Column as Name
from discreet.plan.measures import ROWS, Frame, Measure, Norms
from discreet.plan.plan import Plan, price
from discreet.plan.sql import parse_query
from discreet.plan.statistics import CELL_BITS, Axis, Histogram, Persons, Sums
from discreet.schema.columns import Column, category, integer, number
from discreet.schema.table import Schema
from discreet.schema.units import Unit, person, rows

REPLACE = rows(neighbours="replace", size=1000)
UP = Measure("value", 0, 10, Name("x"))
SIGNED = Measure("value", -4, 10, Name("x"))
OFF = Measure("value", 100, 110, Name("x"))
MISSING = Measure("value", 100, 110, Name("x"), nullable=True)


def one(**facts: Any) -> Unit:
    return person("id", **facts)


@pytest.mark.parametrize(
    ("measure", "unit", "groups", "whole", "expected"),
    [
        (ROWS, rows(), 1, True, (1, 1)),
        (ROWS, rows(), 9, False, (1, 1)),
        (SIGNED, rows(), 9, False, (10, 10)),
        (OFF, rows(), None, False, (110, 110)),
        (ROWS, REPLACE, 1, True, (0, 0)),  # the number of rows is public
        (ROWS, REPLACE, 1, False, (1, 1)),  # a WHERE has no public size
        (ROWS, REPLACE, 9, False, (2, 363, 0, 8)),
        (UP, REPLACE, 1, True, (10, 10)),
        (OFF, REPLACE, 1, True, (10, 10)),  # h - l
        (OFF, REPLACE, 1, False, (110, 110)),  # max(|l|, |h|, h - l)
        (MISSING, REPLACE, 1, True, (110, 110)),  # a missing value adds 0
        (SIGNED, REPLACE, 1, False, (14, 14)),
        (SIGNED, REPLACE, 9, False, (20, 3621, 0, 8)),  # two groups by 10, or one by 14: in L2 14.14
        (Measure("value", -10, 10, Name("x")), REPLACE, 9, False, (20, 20)),
    ],
)
def test_rows(measure: Measure, unit: Unit, groups: int | None, whole: bool, expected: tuple[int, ...]) -> None:
    assert Sums((measure,)).norms(Frame(unit, groups, whole)) == Norms(*expected)


@pytest.mark.parametrize(
    ("measure", "unit", "groups", "one_way", "square"),
    [
        (ROWS, one(rows=3, groups=2), 9, 6, 9 * 2),
        (ROWS, one(rows=3, groups=20), 9, 27, 9 * 9),  # there are no more groups than there are
        (ROWS, one(rows=3, groups=20), None, 60, 9 * 20),
        (ROWS, one(rows=3, groups=20), 1, 3, 9),
        (SIGNED, one(rows=3, groups=2), 9, 60, 900 * 2),
        (ROWS, one(rows=3, groups=2, neighbours="replace"), 9, 12, 2 * 9 * 2),
        (UP, one(rows=3, groups=2, neighbours="replace"), 9, 120, 2 * 900 * 2),
        (SIGNED, one(rows=3, groups=2, neighbours="replace"), 9, 120, 4 * 900 * 2),
        (ROWS, one(rows=3, groups=2, neighbours="replace"), 1, 3, 9),  # one group: between 0 and r
        (SIGNED, one(rows=3, groups=2, neighbours="replace"), 1, 42, 42**2),  # between -12 and 30
        (OFF, one(rows=3, groups=2, neighbours="replace"), 1, 330, 330**2),  # a person may be in no group
    ],
)
def test_persons(measure: Measure, unit: Unit, groups: int | None, one_way: int, square: int) -> None:
    found = measure.norms(Frame(unit, groups, True))
    assert found.bits == 16 - measure.bound.bit_length()
    assert found.l1 == one_way << found.bits
    least = math.isqrt((square << 2 * found.bits) - 1) + 1  # the least whole number that is no smaller than the root
    assert least <= found.l2 <= least + 1


def test_distinct_persons() -> None:
    assert Persons().norms(Frame(one(rows=9, groups=4), 9, True)) == Norms(4, 2)
    assert Persons().norms(Frame(one(rows=9, groups=4), 2, True)) == Norms(2, 363, 0, 8)
    assert Persons().norms(Frame(one(rows=9, groups=4, neighbours="replace"), 9, True)) == Norms(8, 725, 0, 8)
    assert Persons().norms(Frame(one(rows=9, groups=4, neighbours="replace"), 1, True)) == Norms(1, 1)


@pytest.mark.parametrize(
    ("unit", "groups", "quantile", "weight", "times"),
    [
        (rows(), 9, True, 1, 1),
        (REPLACE, 9, True, 1, 2),
        (REPLACE, 1, True, 1, 1),  # out of the table and into it is one contest
        (REPLACE, 9, False, 1, 1),
        (one(rows=5, groups=3), 9, True, 5 << CELL_BITS, 3),
        (one(rows=5, groups=3), 2, False, 5 << CELL_BITS, 2),
        (one(rows=5, groups=3), None, True, 5 << CELL_BITS, 3),
        (one(rows=5, groups=3, neighbours="replace"), 9, True, 5 << CELL_BITS, 6),
        (one(rows=5, groups=3, neighbours="replace"), 4, True, 5 << CELL_BITS, 4),
        (one(rows=5, groups=3, neighbours="replace"), 9, False, 5 << CELL_BITS, 3),
    ],
)
def test_contests(unit: Unit, groups: int | None, quantile: bool, weight: int, times: int) -> None:
    found = Histogram((Axis(Name("x"), 9),)).contest(Frame(unit, groups, False), ranks=quantile)
    assert (found.sensitivity, found.times, found.monotonic) == (weight, times, unit.neighbours == "add-remove")


@pytest.mark.parametrize(
    ("unit", "groups", "one_way", "square", "bits"),
    [
        (rows(), 1, 1, 1, 0),
        (rows(), 9, 1, 1, 0),
        (REPLACE, 1, 2, 2, 0),  # out of one cell and into another
        (REPLACE, 9, 2, 2, 0),
        (one(rows=3, groups=2), 1, 3, 9, CELL_BITS),
        (one(rows=3, groups=2), 9, 6, 9 * 2, CELL_BITS),
        (one(rows=3, groups=2, neighbours="replace"), 1, 6, 9 * 2, CELL_BITS),
        (one(rows=3, groups=2, neighbours="replace"), 9, 12, 9 * 4, CELL_BITS),
    ],
)
def test_marginals(unit: Unit, groups: int, one_way: int, square: int, bits: int) -> None:
    """A row is in one cell of one group; a person's rows weigh 3 together in each of two groups, at worst in one cell."""
    marginal = Histogram((Axis(Name("x"), 9), Axis(Name("y"), 7)))
    found = marginal.norms(Frame(unit, groups, False))
    assert (marginal.count, found.l1, found.bits) == (63, one_way << bits, bits)
    assert 0 <= Fraction(found.l2, 2**found.finer) ** 2 / 4**bits - square < Fraction(square, 100)


def planned(question: str, unit: Unit, share: Cost, **columns: Column) -> Plan:
    schema = Schema(columns or {"debt": number(0, 10_000_000, step=0.01), "drug": category("yes", "no")}, unit)
    return price(parse_query(question, schema), schema, share)


HALF = Cost("epsilon", Fraction(1, 2))
RHO = Cost("rho", Fraction(1, 100))


def test_the_sum_of_debts() -> None:
    """One patient owes at most 10,000,000: Laplace noise of scale 10,000,000 / epsilon, on cents."""
    (release,) = planned("SELECT sum(debt) AS s FROM data", rows(), HALF).releases
    assert isinstance(release.mechanism, Laplace)
    assert release.mechanism.scale / 100 == 10_000_000 / Fraction(1, 2)


def test_histograms() -> None:
    """Lap(1 / epsilon) when somebody comes or goes, Lap(2 / epsilon) when somebody is replaced."""
    question = "SELECT drug, count(*) AS n FROM data GROUP BY drug"
    for unit, moved in ((rows(), 1), (REPLACE, 2)):
        (release,) = planned(question, unit, HALF).releases
        assert isinstance(release.mechanism, Laplace)
        assert release.mechanism.scale == moved / Fraction(1, 2)


def test_a_mean_of_public_size() -> None:
    """Values in [-b, b], n public: sigma^2 = 2 b^2 / (rho n^2) on the mean, and the count is free."""
    b, n = 50, 1000
    count, total = planned("SELECT avg(x) AS m FROM data", REPLACE, RHO, x=integer(-b, b, missing=0)).releases
    assert count.mechanism is None
    assert isinstance(total.mechanism, Gaussian)
    variance = total.mechanism.squared_sigma * total.statistic.worth**2 / n**2
    assert float(variance) == pytest.approx(2 * b**2 / (0.01 * n**2), rel=1e-9)


def test_squares_are_bounded_by_squares() -> None:
    """Of values in (0, 50) the squares around the middle are 0 to 625, half of which is what a row can add: not 50."""
    plan = planned("SELECT var_pop(x) AS v FROM data", rows(), HALF, x=integer(0, 50, missing=0))
    moved = {one.label: one.mechanism.sensitivity for one in plan.releases if isinstance(one.mechanism, Laplace)}
    assert moved == {"count(*)": 1, "sum(x - 25)": 25, "sum((x - 25)^2)": 313}
