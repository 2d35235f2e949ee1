"""How often the intervals of ratios, shares and differences cover, and how wide they are against exact inversion.

python benchmarks/intervals.py [TABLES]

A table is drawn by what is counted of it: how many rows it has, in which group they are, and the sums of its columns. The product
prices the question, this file adds the noise of the mechanisms' law with numpy, and the product's own estimates make intervals of
it; the truth is what the table says without noise. ``nothing``: how often the answer is that nothing is known, because the
denominator may be 0; that covers. ``width`` is the mean width in relation to exact inversion, where something is known: of a
quotient N / D, all r for which N - r D is within the 95 % quantile of the simulated noise of N - r D; of a linear form, that
quantile of its own noise; of a difference of two quotients with denominators of their own, all r - q for which the distances of
N - r D and of M - q E from 0, in standard deviations of their noise, least over q, add up in squares to no more than the 95 %
quantile of what they add up to if r - q were true: with simulated noise on the likeliest N, D, M and E of which that holds.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

import discreet as dp
from discreet.mechanisms import Laplace
from discreet.plan.aggregates import Combined
from discreet.plan.aggregates.pieces import Pieces
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Column, Expression
from discreet.plan.forms import Linear, Ratio
from discreet.plan.plan import Plan, price
from discreet.plan.release import Release, Released
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Persons, Sums
from discreet.schema.table import Schema

COLUMNS = {
    "cost": dp.number(0, 5000, step=0.01, missing=0),
    "days": dp.integer(0, 31, missing=0),
    "age": dp.integer(0, 120, missing=0),
    "smoker": dp.boolean(missing=False),
    "treated": dp.boolean(missing=False),
}
BOUNDS = {"cost": (0, 5000, 0.01), "days": (0, 31, 1), "age": (0, 120, 1), "smoker": (0, 1, 1)}
LAWS = {"laplace": Cost("epsilon", Fraction(1)), "gaussian": Cost("rho", Fraction(1, 8))}
SIZES = (30, 300, 3000)
Numbers = np.ndarray[Any, np.dtype[np.float64]]
Table = dict[tuple[str, str], Numbers]  # by what is counted and in which group: rows and persons, and sums of columns


@dataclass(frozen=True)
class Case:
    """A question, its true answer, and the two linear forms that it is the quotient of, where it is one."""

    name: str
    sql: str
    truth: Callable[[Table], Numbers]
    over: Callable[[Table], Numbers] | None = None
    under: Callable[[Table], Numbers] | None = None
    persons: bool = False
    less: int = 1  # how many times the cost: less noise


def _get(*key: str) -> Callable[[Table], Numbers]:
    return lambda t: t[key]  # type: ignore[index]


def _mean(t: Table, name: str, group: str) -> Numbers:
    with np.errstate(all="ignore"):
        return t[name, group] / t["n", group]


CASES = [
    Case("ratio of sums", "sum(cost) / sum(days)", lambda t: t["cost", ""] / t["days", ""], _get("cost", ""), _get("days", "")),
    Case(
        "share",
        "count(*) FILTER (WHERE treated) / count(*)",
        lambda t: t["n", "treated"] / t["n", ""],
        _get("n", "treated"),
        _get("n", ""),
    ),
    Case(
        "share, one unit",
        "count(*) FILTER (WHERE treated) / count(*)",
        lambda t: t["n", "treated"] / t["n", ""],
        _get("n", "treated"),
        _get("n", ""),
        less=4,
    ),
    Case("share, avg", "0 + avg(smoker)", lambda t: t["smoker", ""] / t["n", ""], _get("smoker", ""), _get("n", "")),
    Case(
        "rows a person",
        "count(*) / count(DISTINCT id)",
        lambda t: t["n", ""] / t["persons", ""],
        _get("n", ""),
        _get("persons", ""),
        persons=True,
    ),
    Case("sums", "sum(age) - sum(days)", lambda t: t["age", ""] - t["days", ""], lambda t: t["age", ""] - t["days", ""]),
    Case(
        "means, one count",
        "avg(age) - avg(days)",
        lambda t: (t["age", ""] - t["days", ""]) / t["n", ""],
        lambda t: t["age", ""] - t["days", ""],
        _get("n", ""),
    ),
    Case(
        "means, two counts",
        "avg(age) FILTER (WHERE treated) - avg(age) FILTER (WHERE NOT treated)",
        lambda t: _mean(t, "age", "treated") - _mean(t, "age", "not treated"),
    ),
    Case(
        "ratios, two counts",
        "sum(cost) FILTER (WHERE treated) / count(*) FILTER (WHERE treated)"
        " - sum(cost) FILTER (WHERE NOT treated) / count(*) FILTER (WHERE NOT treated)",
        lambda t: _mean(t, "cost", "treated") - _mean(t, "cost", "not treated"),
    ),
    Case(
        "shares, two counts",
        "avg(smoker) FILTER (WHERE treated) - avg(smoker) FILTER (WHERE NOT treated)",
        lambda t: _mean(t, "smoker", "treated") - _mean(t, "smoker", "not treated"),
        less=4,
    ),
    Case(
        "three small noises",
        "count(*) - count(*) FILTER (WHERE treated) - 2 * sum(smoker::INTEGER)",
        lambda t: t["n", ""] - t["n", "treated"] - 2 * t["smoker", ""],
        lambda t: t["n", ""] - t["n", "treated"] - 2 * t["smoker", ""],
        less=6,
    ),
    Case(
        "over three noises",
        "(sum(smoker::INTEGER) + 2 * count(*) FILTER (WHERE treated)) / count(*)",
        lambda t: (t["smoker", ""] + 2 * t["n", "treated"]) / t["n", ""],
        lambda t: t["smoker", ""] + 2 * t["n", "treated"],
        _get("n", ""),
        less=6,
    ),
]


def draw(size: int, tables: int, chance: np.random.Generator) -> Table:
    """Tables of about this many rows, each with its own means and its own share in every group; none is empty."""
    found: Table = {}
    persons = np.maximum(chance.poisson(size, tables), 2).astype(float)
    rows = persons + np.floor(chance.random(tables) * persons)  # one to two a person
    inside = np.clip(chance.binomial(rows.astype(int), chance.uniform(0.1, 0.9, tables)), 1, rows - 1).astype(float)
    found["persons", ""], found["n", ""] = persons, rows
    found["n", "treated"], found["n", "not treated"] = inside, rows - inside
    for name, (low, high, step) in BOUNDS.items():
        for group in ("treated", "not treated"):
            place = chance.uniform(0.05, 0.95, tables)
            found[name, group] = np.rint(found["n", group] * (low + place * (high - low)) / step) * step
        found[name, ""] = found[name, "treated"] + found[name, "not treated"]
    return found


def exact(release: Release, table: Table) -> Numbers:
    """What is counted of tables, in units of the release."""
    if isinstance(release.statistic, Persons):
        return table["persons", ""] * 2**release.bits
    assert isinstance(release.statistic, Sums)
    parts = []
    for measure in release.statistic.of:
        name, group = _what(measure.of)
        rows = table["n", group]
        if measure.what in ("rows", "present"):
            parts.append(rows * measure.high)
        else:
            units = np.rint(table[name, group] / float(measure.step)) - measure.shift * rows
            parts.append(-units if measure.what == "rest" else units)
    return np.concatenate(parts) * 2.0**release.bits


def _what(of: Expression | None) -> tuple[str, str]:
    """The column and the group of an expression: a column, its truth as 0 and 1, or one of these where a condition holds."""
    if of is None:
        return "n", ""
    if isinstance(of, Column):
        return of.name, ""
    assert isinstance(of, Call)
    assert of.name == "case"
    test, value = of.arguments[0], of.arguments[1]
    if test == Column("smoker"):
        return "smoker", ""
    if isinstance(test, Call) and test.name == "case":  # a truth value as 0 and 1, where a condition holds
        return _what(test)
    return (value.name if isinstance(value, Column) else "n"), "treated" if test == Column("treated") else "not treated"


def noise(release: Release, size: int, chance: np.random.Generator) -> Numbers:
    """Noise of the law of a release, in its units."""
    mechanism = release.mechanism
    if mechanism is None:
        return np.zeros(size)
    if isinstance(mechanism, Laplace):
        stop = 1 - np.exp(-1 / float(mechanism.scale))
        return (chance.geometric(stop, size) - chance.geometric(stop, size)).astype(float)
    return np.rint(chance.normal(0, mechanism.sigma, size))  # type: ignore[union-attr]


def plan_of(case: Case, law: str) -> Plan:
    unit = dp.person("id", rows=2, groups=1) if case.persons else dp.rows()
    schema = Schema(COLUMNS, unit)
    cost = LAWS[law]
    return price(parse_query(f"SELECT {case.sql} AS z FROM data", schema), schema, replace(cost, amount=cost.amount * case.less))


@dataclass(frozen=True)
class Found:
    """Of one question, law and size: how often intervals cover, how often nothing is known, how wide they are."""

    covered: float
    nothing: float
    width: float


def simulate(case: Case, law: str, size: int, tables: int, chance: np.random.Generator, *, widths: bool = True) -> Found:
    """Fresh noise on each of many tables; widths are compared where that is wanted."""
    plan, table = plan_of(case, law), draw(size, tables, chance)
    behind = plan.behind["z"]
    released = {one: Released(one, _noisy(one, table, chance)) for one in dict.fromkeys(behind)}
    estimate = plan.query.outputs[0].aggregate.estimate([released[one] for one in behind])
    assert estimate.lower is not None
    assert estimate.upper is not None
    truth = case.truth(table)
    slack = 1e-9 * (1 + np.abs(truth))
    covered = (estimate.lower <= truth + slack) & (truth - slack <= estimate.upper)
    nothing = np.array([value is None for value in estimate.values])
    covered |= nothing
    known = ~nothing & widths
    relative = list(_relative(case, plan, table, released, estimate.upper - estimate.lower, known, chance))
    return Found(float(covered.mean()), float(nothing.mean()), float(np.mean(relative)) if relative else float("nan"))


def _noisy(release: Release, table: Table, chance: np.random.Generator) -> Numbers:
    counted = exact(release, table)
    return counted + noise(release, len(counted), chance)


_LOOKED_AT, _DRAWS = 40, 20_000


def _relative(
    case: Case,
    plan: Plan,
    table: Table,
    released: dict[Release, Released],
    widths: Numbers,
    known: np.ndarray[Any, np.dtype[np.bool_]],
    chance: np.random.Generator,
) -> Iterator[float]:
    """Widths in relation to exact inversion, for some of the tables of whose answers something is known."""
    many = len(widths)
    both = case.over is None or len(_pieces(plan, released)) == 2
    for i in np.flatnonzero(known)[:_LOOKED_AT]:
        one = {key: np.repeat(values[i : i + 1], _DRAWS) for key, values in table.items()}
        again = {release: Released(release, _noisy(release, one, chance)) for release in released}
        if both:
            truth = {release: Released(release, exact(release, one)) for release in released}
            found = [_only(ratio, i) for ratio in _pieces(plan, released)]
            noises = [_noise_of(*each) for each in zip(_pieces(plan, again), _pieces(plan, truth), strict=True)]
            low, high = (_both_inverted(found, noises, sign) for sign in (-1, 1))
            if np.isfinite(high - low):
                yield widths[i] / (high - low)
            continue
        mine = {r: Released(r, got.units.reshape(-1, many)[:, i].repeat(1)) for r, got in released.items()}
        noises = _forms(case, plan, again, one)
        if case.under is None:
            yield widths[i] / (2 * np.quantile(np.abs(noises[0]), 0.95))
            continue
        n, d = (float(values[0]) for values in _forms(case, plan, mine, None))
        low, high = _fieller(n, d, *noises)
        if np.isfinite(high - low) and high > low:
            yield widths[i] / (high - low)


def _only(ratio: Ratio, i: int) -> Ratio:
    """A quotient of one table."""
    over, under = (Linear(one.values[i : i + 1], one.weights) for one in (ratio.over, ratio.under))
    return Ratio(over, under, ratio.low, ratio.high)


def _noise_of(noisy: Ratio, true: Ratio) -> Ratio:
    """Numerators and denominators that are nothing but noise."""
    return Ratio(noisy.over.plus(true.over, -1.0), noisy.under.plus(true.under, -1.0))


def _likeliest(found: Ratio, r: float, noise: Ratio) -> Ratio:
    """Noise on the likeliest numerator and denominator whose quotient is r."""
    of_over, of_under, of_both = _variances(found)
    away = (found.over.values - r * found.under.values) / (of_over - 2 * r * of_both + r**2 * of_under)
    under = found.under.values - (of_both - r * of_under) * away
    sides = ((r * under, noise.over, found.over), (under, noise.under, found.under))
    return Ratio(*(Linear(values + one.values, of.weights) for values, one, of in sides))


def _least(noisy: list[Ratio], away: float) -> Numbers:
    """How far from 0, in standard deviations, two quotients are together if they differ by so much: the least over the second
    one, which lies between the two that are best for one of them alone."""

    def far(q: Numbers) -> Numbers:
        return sum((_squared(one, r) for one, r in zip(noisy, (q + away, q), strict=True)), np.zeros_like(q))

    with np.errstate(all="ignore"):
        low, high = noisy[0].over.values / noisy[0].under.values - away, noisy[1].over.values / noisy[1].under.values
    low, high = np.nan_to_num(low, posinf=1e9, neginf=-1e9), np.nan_to_num(high, posinf=1e9, neginf=-1e9)
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(30):
        first, second = high - golden * (high - low), low + golden * (high - low)
        nearer = far(first) < far(second)
        low, high = np.where(nearer, low, first), np.where(nearer, second, high)
    return np.sqrt(far((low + high) / 2))


def _squared(ratio: Ratio, r: Numbers) -> Numbers:
    """The square of N - r D over the variance of its noise."""
    of_over, of_under, of_both = _variances(ratio)
    return (ratio.over.values - r * ratio.under.values) ** 2 / (of_over - 2 * r * of_both + r**2 * of_under)


def _both_inverted(found: list[Ratio], noises: list[Ratio], sign: int) -> float:
    """An end of a difference of two quotients of one table, over all ways to share the distance between them."""
    z = 1.96
    for step in range(4):
        shared = []
        for angle in np.linspace(0, np.pi / 2, 41):
            first, second = _inverted(found[0], z * np.cos(angle)), _inverted(found[1], z * np.sin(angle))
            r, q = float(first[sign > 0][0]), float(second[sign < 0][0])
            shared.append((sign * (r - q), r, q))
        end, r, q = max(shared)
        if step == 3 or not np.isfinite(end):
            break
        likely = [_likeliest(*each) for each in zip(found, (r, q), noises, strict=True)]
        z = float(np.quantile(_least(likely, r - q), 0.95))
    return sign * end


def _inverted(ratio: Ratio, z: float) -> tuple[Numbers, Numbers]:
    """Fieller's interval in closed form, z standard deviations wide to each side; within the bounds of the quotient."""
    of_over, of_under, of_both = _variances(ratio)
    a = ratio.under.values**2 - z**2 * of_under
    b = ratio.over.values * ratio.under.values - z**2 * of_both
    c = ratio.over.values**2 - z**2 * of_over
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(b**2 - a * c, 0))
        low, high = np.where(a > 0, (b - root) / a, -np.inf), np.where(a > 0, (b + root) / a, np.inf)
    return np.clip(low, ratio.low, ratio.high), np.clip(high, ratio.low, ratio.high)


def _variances(ratio: Ratio) -> tuple[float, float, float]:
    """Of the noise of numerator and denominator, and what they share."""
    sources = dict.fromkeys((*ratio.over.weights, *ratio.under.weights))
    each = [
        (ratio.over.weights.get(one, 0.0), ratio.under.weights.get(one, 0.0), one.release.spread.deviation) for one in sources
    ]
    return (
        sum(n * n * d**2 for n, _, d in each),
        sum(m * m * d**2 for _, m, d in each),
        sum(n * m * d**2 for n, m, d in each),
    )


def _pieces(plan: Plan, released: dict[Release, Released]) -> list[Any]:
    """The form that a formula is, or those of its two sides, as the product makes them."""
    aggregate = plan.query.outputs[0].aggregate
    assert isinstance(aggregate, Combined)
    own, rest = [], [released[r] for r in plan.behind["z"]]
    for part in aggregate.parts:
        count = part.takes([one.release for one in rest])
        own.append(rest[:count])
        rest = rest[count:]
    forms = [part.form(mine) for part, mine in zip(aggregate.parts, own, strict=True)]
    assert forms[0] is not None
    pieces = Pieces(forms, [], np.zeros_like(forms[0].under.values if isinstance(forms[0], Ratio) else forms[0].values))
    whole = pieces.form(aggregate.formula)
    assert isinstance(aggregate.formula, Call)
    return [pieces.form(side) for side in aggregate.formula.arguments] if whole is None else [whole]


def _forms(case: Case, plan: Plan, released: dict[Release, Released], truth: Table | None) -> list[Numbers]:
    """Numerator and denominator as the releases say them, less the truth where that is given."""
    (form,) = _pieces(plan, released)
    sides = [form] if case.under is None else [form.over, form.under]
    assert case.over is not None
    right = [0.0] * 2 if truth is None else [case.over(truth), 0.0 if case.under is None else case.under(truth)]
    return [side.values - r for side, r in zip(sides, right, strict=False)]


def _fieller(n: float, d: float, over: Numbers, under: Numbers) -> tuple[float, float]:
    """All r for which N - r D is within the 95 % quantile of its noise, by halving."""
    best = n / d
    ends = []
    for sign in (-1, 1):
        step = float(np.std(over - best * under)) / abs(d)
        near, far = best, best + sign * step
        for _ in range(40):
            if abs(n - far * d) > np.quantile(np.abs(over - far * under), 0.95):
                break
            near, far, step = far, far + sign * 2 * step, 2 * step
        else:
            ends.append(sign * np.inf)
            continue
        for _ in range(25):
            middle = (near + far) / 2
            inside = abs(n - middle * d) <= np.quantile(np.abs(over - middle * under), 0.95)
            near, far = (middle, far) if inside else (near, middle)
        ends.append(far)
    return ends[0], ends[1]


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chance = np.random.default_rng(12)
    print(f"{tables:,} tables in every line; noise of epsilon = 1 (Laplace) or rho = 1/8 (Gaussian) for the whole question\n")
    print(f"{'':20} {'law':9} {'rows':>5} {'covered':>9} {'nothing':>9} {'width':>7}")
    for case in CASES:
        for law in LAWS:
            for size in SIZES:
                found = simulate(case, law, size, tables, chance)
                print(f"{case.name:20} {law:9} {size:5} {found.covered:9.2%} {found.nothing:9.2%} {found.width:7.3f}")


if __name__ == "__main__":
    main()
