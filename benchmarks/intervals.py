"""How often the intervals of ratios, shares and differences cover, and how wide they are against exact inversion.

python benchmarks/intervals.py [TABLES]

A table is drawn by what is counted of it: how many rows it has, in which group they are, and the sums of its columns. The product
prices the question, this file adds the noise of the mechanisms' law with numpy, and the product's own estimates make intervals of
it; the truth is what the table says without noise. ``nothing``: how often the answer is that nothing is known, because the
denominator may be 0; that covers. ``width`` is the mean width in relation to exact inversion, on the first 200 tables of which
something is known: `benchmarks/inversion.py` says what that is for a quotient and for a difference of two with denominators of
their own; of a linear form it is the 95 % quantile of its own noise. More settings, fixed before: `benchmarks/ratios.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import discreet as dp
from discreet.mechanisms import Laplace
from discreet.plan.aggregates import Combined
from discreet.plan.aggregates.pieces import Pieces
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Column, Expression
from discreet.plan.forms import Linear, Ratio, Source
from discreet.plan.plan import Plan, price
from discreet.plan.release import Release, Released
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Persons, Sums
from discreet.schema.table import Schema

sys.path.insert(0, str(Path(__file__).parents[1]))  # also where this file is run by its path

from benchmarks import inversion

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
    """A question and its true answer."""

    name: str
    sql: str
    truth: Callable[[Table], Numbers]
    persons: bool = False
    less: int = 1  # how many times the cost: less noise


def _mean(t: Table, name: str, group: str) -> Numbers:
    with np.errstate(all="ignore"):
        return t[name, group] / t["n", group]


CASES = [
    Case("ratio of sums", "sum(cost) / sum(days)", lambda t: t["cost", ""] / t["days", ""]),
    Case("share", "count(*) FILTER (WHERE treated) / count(*)", lambda t: t["n", "treated"] / t["n", ""]),
    Case("share, one unit", "count(*) FILTER (WHERE treated) / count(*)", lambda t: t["n", "treated"] / t["n", ""], less=4),
    Case("share, avg", "0 + avg(smoker)", lambda t: t["smoker", ""] / t["n", ""]),
    Case("rows a person", "count(*) / count(DISTINCT id)", lambda t: t["n", ""] / t["persons", ""], persons=True),
    Case("sums", "sum(age) - sum(days)", lambda t: t["age", ""] - t["days", ""]),
    Case("means, one count", "avg(age) - avg(days)", lambda t: (t["age", ""] - t["days", ""]) / t["n", ""]),
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
        "product of ratios",
        "(sum(cost) FILTER (WHERE treated) / count(*) FILTER (WHERE treated))"
        " * (sum(age) FILTER (WHERE NOT treated) / count(*) FILTER (WHERE NOT treated))",
        lambda t: _mean(t, "cost", "treated") * _mean(t, "age", "not treated"),
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
        less=6,
    ),
    Case(
        "over three noises",
        "(sum(smoker::INTEGER) + 2 * count(*) FILTER (WHERE treated)) / count(*)",
        lambda t: (t["smoker", ""] + 2 * t["n", "treated"]) / t["n", ""],
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
    """Of one question, law and size: how often intervals cover, how often nothing is known, how wide they are
    (and the standard error of that)."""

    covered: float
    nothing: float
    width: float
    error: float


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
    relative = _relative(plan, released, (estimate.lower, estimate.upper), ~nothing & widths, chance)
    return Found(float(covered.mean()), float(nothing.mean()), *relative)


def _noisy(release: Release, table: Table, chance: np.random.Generator) -> Numbers:
    counted = exact(release, table)
    return counted + noise(release, len(counted), chance)


_LOOKED_AT = 200


def _relative(
    plan: Plan,
    released: dict[Release, Released],
    ends: tuple[Numbers, Numbers],
    known: np.ndarray[Any, np.dtype[np.bool_]],
    chance: np.random.Generator,
) -> tuple[float, float]:
    """Mean width in relation to that of exact inversion, and its standard error, on tables of whose answers something is known;
    both intervals within public bounds."""
    at = np.flatnonzero(known)[:_LOOKED_AT]
    pieces = _pieces(plan, released)
    if not len(at):
        return float("nan"), float("nan")
    if isinstance(pieces[0], Linear):  # the quantile of its own noise
        drawn = sum(_law(one)[0].draw((400_000,), chance) * _law(one)[1] * weight for one, weight in pieces[0].weights.items())
        return float((ends[1] - ends[0])[at].mean() / (2 * np.quantile(np.abs(drawn), 0.95))), 0.0
    ratios, numbers = zip(*(_ratio_of(piece, released, len(known), at) for piece in pieces), strict=True)
    low, high = pieces[0].low, pieces[0].high
    if len(pieces) == 2:
        times = plan.query.outputs[0].aggregate.formula.name == "*"  # type: ignore[attr-defined]
        low, high = (0.0, np.inf) if times else (low - pieces[1].high, high - pieces[1].low)
        below, above, bounded = inversion.of_two("product" if times else "difference", ratios, numbers, chance, (low, high))
    else:
        below, above, bounded = inversion.of_ratio(ratios[0], numbers[0], (low, high))
    mine = (np.clip(ends[1], low, high) - np.clip(ends[0], low, high))[at][bounded]
    right = (above - below)[bounded]
    ratio = mine.mean() / right.mean()
    return float(ratio), float(np.std(mine - ratio * right) / np.sqrt(len(mine)) / right.mean())


_FINEST = 1500.0  # units a scale, beyond which lattices are made coarser


def _law(source: Source) -> tuple[inversion.Noise, float]:
    """The law of a released number, and what its step is worth."""
    mechanism = source.release.mechanism
    laplace = isinstance(mechanism, Laplace)
    scale = float(mechanism.scale if laplace else mechanism.sigma)  # type: ignore[union-attr]
    coarser = max(1.0, scale / _FINEST)
    return inversion.Noise("laplace" if laplace else "gaussian", scale / coarser), float(source.release.worth) * coarser


def _ratio_of(
    form: Ratio, released: dict[Release, Released], tables: int, at: np.ndarray[Any, np.dtype[np.intp]]
) -> tuple[inversion.Ratio, Numbers]:
    """A quotient as exact inversion takes it, with the released numbers of some tables."""
    sources = list(dict.fromkeys((*form.over.weights, *form.under.weights)))
    laws = [_law(one) for one in sources]
    numbers = [
        released[one.release].real.reshape(-1, tables)[one.place, at] / law[1] for one, law in zip(sources, laws, strict=True)
    ]
    x = np.stack(numbers, axis=1)
    sides = []
    for side in (form.over, form.under):
        weights = tuple(side.weights.get(one, 0.0) * law[1] for one, law in zip(sources, laws, strict=True))
        assert np.allclose(x @ np.array(weights), side.values[at])
        sides.append(weights)
    return inversion.Ratio(sides[0], sides[1], tuple(law[0] for law in laws)), x


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


def main() -> None:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    chance = np.random.default_rng(12)
    print(f"{tables:,} tables in every line; noise of epsilon = 1 (Laplace) or rho = 1/8 (Gaussian) for the whole question\n")
    print(f"{'':20} {'law':9} {'rows':>5} {'covered':>9} {'nothing':>9} {'width':>7} (error)")
    for case in CASES:
        for law in LAWS:
            for size in SIZES:
                found = simulate(case, law, size, tables, chance)
                line = f"{case.name:20} {law:9} {size:5} {found.covered:9.2%} {found.nothing:9.2%}"
                print(f"{line} {found.width:7.3f} ({found.error:.3f})", flush=True)


if __name__ == "__main__":
    main()
