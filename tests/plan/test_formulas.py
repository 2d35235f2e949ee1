"""Intervals of formulas: how often they cover, what they share, and that nothing released can make one fail.

Coverage is simulated with the draws of ``benchmarks/intervals.py``, thoroughly of 2,000 tables a case, usually of 500; there it
is 10,000, and widths too. False alarms: with a true coverage of 94 %, fewer than ``least`` cover with probability below 2e-8
(binomial tail); 78 cases. A coverage of 89 % is missed once in 300 cases by 2,000 tables, one of 80 % once in 100,000 by 500.
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
from scipy.stats import binom
from support.depth import deep

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan.aggregates import Aggregate, Combined, Count, Mean, Sum
from discreet.plan.aggregates.combined import combine
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.plan.measures import ROWS
from discreet.plan.noises import Noise, explains, halved, law_of, reach, tail
from discreet.plan.plan import Plan, price
from discreet.plan.query import Output, Query
from discreet.plan.release import Release, Released, Spread
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Persons, Sums
from discreet.schema.table import Schema

TABLES = deep(2000, 500)
FEWER = dict.fromkeys(
    ("shares, two counts", "over three noises"), deep(400, 250)
)  # whose laws are Fourier transforms, one a table


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


@pytest.mark.diagonal
@pytest.mark.parametrize("law", SIMULATION.LAWS)
@pytest.mark.parametrize("case", SIMULATION.CASES, ids=lambda case: case.name)
def test_intervals_cover_at_three_sizes(case, law: str) -> None:  # type: ignore[no-untyped-def]
    chance = np.random.default_rng(5)
    tables = FEWER.get(case.name, TABLES)
    least = int(binom.ppf(2e-8, tables, 0.94))
    for size in SIMULATION.SIZES:
        found = SIMULATION.simulate(case, law, size, tables, chance, widths=False)
        assert found.covered * tables >= least, (size, found)
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
    assert reach([Noise(spread, np.full(1, -3.0))], 0.05) == 3 * spread.half()
    assert reach([], 0.05) == 0
    assert explains(np.array([0.0, 1.0]), [Noise(Spread("none", 0.0), np.ones(2))], 0.05).tolist() == [True, False]


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
    for _ in range(deep(200, 60)):
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
    assert answered > deep(80, 24)


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
        np.abs(one.ravel()), [Noise(release.spread, np.ones(one.size)), Noise(release.spread, np.full(one.size, weight))], 0.05
    )
    assert np.outer(share, share).ravel()[inside].sum() >= 0.94


@pytest.mark.parametrize("text", ["count(*) * 1e150 * 1e150 * 1e150", "sum(age) * 1e150 * 1e150 / count(*)", "avg(age) / 1e-150"])
def test_constants_that_lead_beyond_the_doubles_are_refused(text: str) -> None:
    schema = Schema({"age": dp.integer(0, 120)}, dp.rows())
    with pytest.raises(ParameterError, match="more than 100 digits"):
        parse_query(f"SELECT {text} AS x FROM data", schema)


@pytest.mark.parametrize("weights", [(1.0, 1.0), (1.0, -0.3), (0.7, 0.02), (0.25, 0.75)])
@pytest.mark.parametrize("laws", ["laplace", "gaussian", "both"])
def test_two_small_noises_have_their_own_law(weights: tuple[float, float], laws: str) -> None:
    """What is explained is what the masses say, one by one; neither more nor less."""
    kinds = {"laplace": dp.Laplace(sensitivity=1, scale=1.5), "gaussian": dp.Gaussian(sensitivity=1, rho=0.3)}
    chosen = [kinds["laplace"], kinds["gaussian"]] if laws == "both" else [kinds[laws]] * 2
    spreads = [Release(Sums((ROWS,)), one).spread for one in chosen]
    places, masses = zip(*(law_of(spread, 1, 40).points for spread in spreads), strict=True)
    apart = np.abs(np.add.outer(weights[0] * places[0], weights[1] * places[1])).ravel()
    order = np.argsort(apart)
    beyond = np.cumsum(np.outer(*masses).ravel()[order][::-1])[::-1]  # P(|sum| >= apart)
    for miss in (0.05, 0.01):
        exact = float(apart[order][np.flatnonzero(beyond >= miss)[-1]])
        noises = [Noise(spread, np.full(1, weight)) for spread, weight in zip(spreads, weights, strict=True)]
        assert reach(noises, miss)[0] == pytest.approx(exact, rel=1e-6)


def test_the_law_of_many_noises_has_their_variance() -> None:
    for scale in (0.3, 2.0, 1000.0):
        spread = Release(Sums((ROWS,)), dp.Laplace(sensitivity=1, scale=scale)).spread
        for many in (1, 2, 50, 5000):
            places, masses = law_of(spread, many, 40).points
            assert masses.sum() == pytest.approx(1)
            assert (places**2 @ masses) ** 0.5 == pytest.approx(many**0.5 * spread.deviation, rel=3e-3)


@pytest.mark.parametrize("cost", [Cost("epsilon", Fraction(x)) for x in (2, 4, 8)] + [Cost("rho", Fraction(x)) for x in (1, 4)])
@pytest.mark.parametrize("text", ["count(*) FILTER (WHERE c) / count(*)", "0 + avg(c)"])
def test_shares_with_noise_of_about_one_unit_are_covered(text: str, cost: Cost) -> None:
    """Every pair of noises with its mass, no chance: the interval holds the true share with probability 0.95."""
    schema = Schema({"c": dp.boolean(missing=False)}, dp.rows())
    plan = price(parse_query(f"SELECT {text} AS z FROM data", schema), schema, cost)
    behind = plan.behind["z"]
    places, masses = law_of(behind[0].spread, 1, 40).points
    x, y = (axis.ravel() for axis in np.meshgrid(places, places))
    mass = np.outer(masses, masses).ravel()
    for some, rows in ((1, 3), (2, 5), (5, 12), (1, 30), (37, 100)):
        true = [some, rows - some] if len(set(behind)) == 1 else [rows if "*" in str(r.statistic) else some for r in behind]
        noisy = [(one + noise) / behind[0].spread.unit for one, noise in zip(true, (x, y), strict=True)]
        parts = [np.concatenate(noisy)] if len(set(behind)) == 1 else noisy
        released = [Released(release, np.rint(units)) for release, units in zip(dict.fromkeys(behind), parts, strict=True)]
        found = plan.query.outputs[0].aggregate.estimate(released)
        assert found.lower is not None
        assert found.upper is not None
        inside = (found.lower <= some / rows + 1e-9) & (some / rows - 1e-9 <= found.upper)
        assert mass[inside].sum() >= 0.95 - 1e-5


@pytest.mark.parametrize("text", ["count(*) FILTER (WHERE c) / count(*)", "avg(CAST(c AS INTEGER))"])
def test_where_noise_is_never_anything_but_0_intervals_are_points(text: str) -> None:
    schema = Schema({"c": dp.boolean()}, dp.rows())
    plan = price(parse_query(f"SELECT {text} AS z FROM data", schema), schema, Cost("epsilon", Fraction(10**4)))
    behind = plan.behind["z"]
    for half in (50, 25, 0):  # also where the value is in the middle of its bounds, and at their end
        released = [Released(one, np.array([half, 100 - half] if numbers(one) == 2 else [half or 100])) for one in behind]
        found = plan.query.outputs[0].aggregate.estimate(released)
        assert found.lower is not None
        assert found.upper is not None
        assert found.upper[0] - found.lower[0] < 1e-6


def test_halving_by_sixteens_ends_where_halving_does() -> None:
    """Also where what is tried goes in and out again: the same numbers are asked about, in fewer calls."""

    def one_by_one(low: np.ndarray, high: np.ndarray, inside: object, steps: int) -> np.ndarray:
        for _ in range(steps):
            middle = (low + high) / 2
            within = inside(middle)  # type: ignore[operator]
            low, high = np.where(within, middle, low), np.where(within, high, middle)
        return high

    low = np.array([0.0, -3.0, 5.0, 1e-9, -1e12])
    high = np.array([1.0, 7.0, 5.0, 1e9, 0.1])
    for inside in (lambda x: x < 0.3, lambda x: np.sin(1e4 * x) > 0, lambda x: x == x, lambda x: x > x):
        calls = []

        def counted(x: np.ndarray, inside: object = inside, calls: list[int] = calls) -> np.ndarray:
            calls.append(x.size)
            return inside(x)  # type: ignore[no-any-return, operator]

        for steps, most in ((24, 6), (32, 8), (7, 7)):
            calls.clear()
            assert np.array_equal(halved(low, high, counted, steps), one_by_one(low, high, inside, steps))
            assert len(calls) == most
    many = np.linspace(0.0, 1.0, 100)
    assert np.array_equal(halved(many, many + 1, lambda x: x < 1.1, 24), one_by_one(many, many + 1, lambda x: x < 1.1, 24))


@pytest.mark.parametrize("weights", [(1.0, 1.0, -2.0), (1.0, 0.3, 0.1), (0.7, 0.02, 0.01), (1.0, 0.9, 0.8)])
@pytest.mark.parametrize("scale", [0.2, 0.6, 2.0])
def test_three_small_noises_have_their_own_law(weights: tuple[float, ...], scale: float) -> None:
    """What is explained is what the masses say, one by one: nothing less, and at most six hundredths of a deviation more."""
    laws = (
        dp.Laplace(sensitivity=1, scale=scale),
        dp.Gaussian(sensitivity=1, sigma=1.3 * scale),
        dp.Laplace(sensitivity=1, scale=scale / 2),
    )
    spreads = [Release(Sums((ROWS,)), one).spread for one in laws]
    noises = [Noise(spread, np.full(2, weight)) for spread, weight in zip(spreads, weights, strict=True)]
    places, masses = zip(*(law_of(spread, 1, 40).points for spread in spreads), strict=True)
    apart = np.abs(np.add.outer(np.add.outer(weights[0] * places[0], weights[1] * places[1]), weights[2] * places[2])).ravel()
    mass = np.multiply.outer(np.multiply.outer(masses[0], masses[1]), masses[2]).ravel()
    order = np.argsort(apart)
    beyond = np.cumsum(mass[order][::-1])[::-1]
    deviation = math.sqrt(mass @ apart**2)
    for miss in (0.05, 0.01):
        exact = float(apart[order][np.flatnonzero(beyond >= miss)[-1]])
        found = reach(noises, miss)
        assert found[0] == found[1]
        assert exact - 1e-9 <= found[0] <= exact + 0.06 * deviation


def test_sums_of_quotients_are_inverted_together() -> None:
    """Of linear terms it is the half-width of their sum; of any two the ends that a fine search over all shares finds."""
    schema = Schema({"x": dp.number(0, 10, step=Fraction(1, 100)), "c": dp.boolean(missing=False)}, dp.rows())
    text = "sum(x) FILTER (WHERE c) / count(*) FILTER (WHERE c) - sum(x) FILTER (WHERE NOT c) / count(*) FILTER (WHERE NOT c)"
    plan = price(parse_query(f"SELECT {text} AS z FROM data", schema), schema, Cost("rho", Fraction(1, 50)))
    rows = {one: 40.0 if one.worth == 1 else 20000.0 for one in plan.behind["z"]}
    released = [Released(one, np.array([rows[one]])) for one in plan.behind["z"]]
    found = plan.query.outputs[0].aggregate.estimate(released)
    assert found.lower is not None
    assert found.upper is not None
    over, under = (next(one.spread.deviation for one in rows if (one.worth == 1) == counts) for counts in (False, True))

    def ends(z: float) -> tuple[float, float]:  # of one quotient, around 5
        a, b, c = 1600 - (z * under) ** 2, 8000.0, 40000 - (z * over) ** 2
        root = math.sqrt(b * b - a * c)
        return (b - root) / a, (b + root) / a

    angles = [math.pi / 2 * i / 1000 for i in range(1001)]
    widest = max(ends(1.96 * math.cos(t))[1] - ends(1.96 * math.sin(t))[0] for t in angles)
    assert found.upper[0] == pytest.approx(widest, rel=0.02)
    assert found.lower[0] == pytest.approx(-widest, rel=0.02)
    alone = ends(1.96)
    assert widest < 0.97 * math.hypot(alone[1] - 5, 5 - alone[0])  # each alone would have gone further
