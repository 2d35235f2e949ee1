"""Intervals of formulas: how often they cover, what they share, and that nothing released can make one fail.

Coverage is simulated with the draws of ``benchmarks/intervals.py``, 2,000 tables a case; there it is 10,000, and widths too.
False alarms: with a true coverage of 94 %, fewer than 1,817 of 2,000 cover with probability below 1e-8 (binomial tail); 48 cases.
"""

from __future__ import annotations

import importlib.util
import math
import random
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan.aggregates import Aggregate, Combined, Count, Mean, Sum
from discreet.plan.aggregates.combined import combine
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.noises import explains, reach, tail
from discreet.plan.plan import Plan, price
from discreet.plan.query import Output, Query
from discreet.plan.release import Release, Released, Spread
from discreet.plan.sql import parse_query
from discreet.plan.statistics import ROWS, Persons, Sums
from discreet.schema.table import Schema

TABLES, LEAST = 2000, 1817


def _load() -> ModuleType:
    place = Path(__file__).parents[2] / "benchmarks" / "intervals.py"
    spec = importlib.util.spec_from_file_location("intervals", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["intervals"] = module
    spec.loader.exec_module(module)
    return module


SIMULATION = _load()


@pytest.mark.parametrize("law", SIMULATION.LAWS)
@pytest.mark.parametrize("case", SIMULATION.CASES, ids=lambda case: case.name)
def test_intervals_cover_at_three_sizes(case, law: str) -> None:  # type: ignore[no-untyped-def]
    chance = np.random.default_rng(5)
    for size in SIMULATION.SIZES:
        found = SIMULATION.simulate(case, law, size, TABLES, chance, widths=False)
        assert found.covered * TABLES >= LEAST, (size, found)
        if size >= 300:
            assert found.nothing == 0


SCHEMA = Schema({"a": dp.integer(0, 100, missing=0), "b": dp.integer(-50, 50), "c": dp.boolean()}, dp.rows())


def plan_of(aggregate: Aggregate, cost: Cost | None = None) -> Plan:
    return price(Query((Output("z", aggregate),)), SCHEMA, cost or Cost("epsilon", Fraction(1)))


def numbers(release: Release) -> int:
    return len(release.statistic.of) if isinstance(release.statistic, Sums) else 1


A, B, N = Sum(Column("a")), Sum(Column("b")), Count()


def ends(aggregate: Aggregate, units: dict[str, int]) -> tuple[float, float]:
    plan = plan_of(aggregate)
    released = [Released(one, np.array([units[str(one.statistic)]])) for one in plan.behind["z"]]
    found = aggregate.estimate(released)
    assert found.lower is not None
    assert found.upper is not None
    return float(found.lower[0]), float(found.upper[0])


def test_noise_that_is_shared_is_not_counted_twice() -> None:
    units = {"sum(a)": 5000, "count(*)": 100}
    x, y = Column("x"), Column("y")
    twice = combine(Call("-", (Call("+", (x, x)), x)), {"x": A})
    low, high = ends(twice, units)
    assert (low, high) == ends(combine(Call("*", (x, Literal(1))), {"x": A}), units)
    nothing = combine(Call("-", (Call("/", (x, y)), Call("/", (x, y)))), {"x": A, "y": N})
    assert ends(nothing, units) == pytest.approx((0, 0), abs=1e-300)
    back = combine(Call("*", (Call("/", (x, y)), y)), {"x": A, "y": N})
    plain = combine(Call("-", (Call("+", (x, y)), y)), {"x": A, "y": N})
    assert ends(back, units) == pytest.approx(ends(plain, units))


def test_the_tail_of_sums_of_laplace_noises() -> None:
    """Against 400,000 draws: off by five standard errors, 0.0017, with probability below 6e-7 in each of four comparisons."""
    chance = np.random.default_rng(3)
    for scales in ([1.0], [1.0, 1.0], [1.0, 0.5, 0.5, 0.5], [1.0] * 12):
        draws = np.abs(sum(chance.laplace(0, scale, 400_000) for scale in scales))
        far = float(np.quantile(draws, 0.95))
        stated = float(tail(np.array([far]), [np.array([scale]) for scale in scales])[0])
        assert 0.05 - 0.0017 <= stated <= 0.06
    spread = plan_of(N).releases[0].spread
    assert reach([(spread, -3.0)], 0.05) == 3 * spread.half()
    assert reach([], 0.05) == 0
    assert explains(np.array([0.0, 1.0]), [(Spread("none", 0.0), np.ones(2))], 0.05).tolist() == [True, False]


CONSTANTS = [0, 1, -3, Fraction(1, 7), 10**9]
ONE = ["neg", "abs", "round", "floor", "sqrt", "exp"]
TWO = ["+", "-", "*", "/", "/", "least", "coalesce", "nullif", "case"]


def random_formula(chance: random.Random, depth: int) -> Expression:
    if depth == 0 or chance.random() < 0.15:
        return Column(chance.choice("xyzvw")) if chance.random() < 0.8 else Literal(chance.choice(CONSTANTS))
    name = chance.choice([*ONE, *TWO, *TWO])
    inside = tuple(random_formula(chance, depth - 1) for _ in range(1 if name in ONE else 2))
    if name == "case":
        test = Call(chance.choice(["<", ">=", "="]), inside)
        test = Call("or", (test, Call("not", (Call("is_null", (inside[0],)),)))) if chance.random() < 0.3 else test
        return Call("case", (test, random_formula(chance, depth - 1), Literal(None)))
    return Call(name, inside)


def test_nothing_that_can_be_released_makes_a_formula_fail() -> None:
    """A question that was paid for has an answer: for random formulas and for numbers from none to the largest there are."""
    chance = random.Random(8)
    parts = {"x": A, "y": N, "z": Mean(Column("b")), "v": Count(Column("c")), "w": Mean(Column("a"))}
    extremes, answered = [0, 1, -1, 7, 1000, -1000, 2**40, -(2**62), 2**62], 0
    for _ in range(200):
        try:
            aggregate = combine(random_formula(chance, 3), parts)
            plan = plan_of(aggregate, chance.choice([Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 10))]))
        except ParameterError:
            continue
        released = {r: Released(r, np.array([chance.choice(extremes) for _ in range(9 * numbers(r))])) for r in plan.releases}
        found = aggregate.estimate([released[r] for r in plan.behind["z"]])
        assert len(found.values) == 9
        if isinstance(aggregate, Combined):
            answered += 1
            assert found.lower is not None
            assert found.upper is not None
            assert not np.isnan(found.lower).any()
            assert (found.lower <= found.upper).all()
        empty = aggregate.estimate([Released(r, np.zeros(0)) for r in plan.behind["z"]])
        assert len(empty.values) == 0
    assert answered > 80


def test_the_value_lies_within_its_interval() -> None:
    chance = random.Random(9)
    parts = {"x": A, "y": N, "z": Mean(Column("b")), "v": Count(Column("c")), "w": B}
    checked = 0
    for _ in range(100):
        try:
            aggregate = combine(random_formula(chance, 3), parts)
            plan = plan_of(aggregate)
        except ParameterError:
            continue
        released = {r: Released(r, np.array([chance.randrange(0, 10**4) for _ in range(5 * numbers(r))])) for r in plan.releases}
        found = aggregate.estimate([released[r] for r in plan.behind["z"]])
        for value, low, high in zip(found.values, found.lower, found.upper, strict=True):  # type: ignore[arg-type]
            if value is not None and math.isfinite(value):  # type: ignore[arg-type]
                checked += 1
                assert low - 1e-6 * (1 + abs(value)) <= value <= high + 1e-6 * (1 + abs(value)), str(aggregate)  # type: ignore[arg-type, operator]
    assert checked > 200


def test_persons_are_numbers_of_formulas_too() -> None:
    schema = Schema(SCHEMA.columns, dp.person("id", rows=2, groups=1))
    each = combine(Call("/", (Column("n"), Column("p"))), {"n": N, "p": dp.persons().aggregate(Column)})
    plan = price(Query((Output("z", each),)), schema, Cost("rho", Fraction(1)))
    assert any(isinstance(release.statistic, Persons) for release in plan.releases)


@pytest.mark.parametrize("rho", [0.5, 1, 1.5, 2, 4, 8])
@pytest.mark.parametrize("weight", [1.0, -1.0, 0.5])
def test_sums_of_noise_of_about_one_unit_are_covered(rho: float, weight: float) -> None:
    """Noise of whole units jumps: the probability that two of them together are explained is at least 0.94, without chance."""
    law = dp.Gaussian(sensitivity=1, rho=rho)
    release = Release(Sums((ROWS,)), law)
    reach = 60
    share = np.exp(-0.5 * (np.arange(-reach, reach + 1) / law.sigma) ** 2)
    share /= share.sum()  # of the rounded Gaussian nearly; the discrete one exactly
    one = np.add.outer(np.arange(-reach, reach + 1), weight * np.arange(-reach, reach + 1))
    inside = explains(
        np.abs(one.ravel()), [(release.spread, np.ones(one.size)), (release.spread, np.full(one.size, weight))], 0.05
    )
    assert np.outer(share, share).ravel()[inside].sum() >= 0.94


@pytest.mark.parametrize("text", ["count(*) * 1e150 * 1e150 * 1e150", "sum(age) * 1e150 * 1e150 / count(*)", "avg(age) / 1e-150"])
def test_constants_that_lead_beyond_the_doubles_are_refused(text: str) -> None:
    schema = Schema({"age": dp.integer(0, 120)}, dp.rows())
    with pytest.raises(ParameterError, match="more than 100 digits"):
        parse_query(f"SELECT {text} AS x FROM data", schema)
