"""Noise on what was counted, and estimates from what is noisy: the middle of the gate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.curator.answer import Answer, Column
from discreet.engine.base import Found, Groups
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.selection import Selection
from discreet.plan import estimates
from discreet.plan.estimates import Estimate
from discreet.plan.expressions import Literal, Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.plan import Plan, facts_of
from discreet.plan.query import Aggregate, Best, Mean, Mode, Sum, Variance
from discreet.plan.release import KeyChoice, Part, described, named, spread_of
from discreet.plan.statistics import Commonest, Measure, Persons, Ranked, Scores, Statistic
from discreet.schema.columns import Kind

__all__ = ["answer_of", "noisy"]

Noisy = Mapping[tuple[Statistic, int], NDArray[np.generic]]


def noisy(plan: Plan, groups: Groups, counts: Found) -> Noisy:
    """Every statistic through its mechanism; public ones from public facts. By statistic and side of an interval."""
    found: dict[tuple[Statistic, int], NDArray[np.generic]] = {}
    for part in plan.parts:
        if isinstance(part.statistic, KeyChoice):
            continue
        secret = counts.get(part.statistic)
        released: object
        match part.mechanism:
            case None:
                assert isinstance(part.statistic, Measure)
                released = np.full(groups.size, (plan.schema.unit.size or 0) * part.statistic.high, dtype=object)
            case _ if secret is None:  # no group was chosen
                released = np.zeros(0, dtype=np.int64)
            case Laplace() | Gaussian():
                released = part.mechanism.release(secret)  # type: ignore[arg-type]
            case Quantile():
                released = part.mechanism.release(secret)  # type: ignore[arg-type]
            case Selection() if isinstance(part.statistic, Scores):
                released = np.array([part.mechanism.release(secret)])  # type: ignore[arg-type]
            case Selection():
                released = part.mechanism.release_each(secret)  # type: ignore[arg-type]
            case _:
                raise AssertionError("a mechanism without a way to release")
        found[part.statistic, part.side] = np.asarray(released)
    return found


def answer_of(plan: Plan, groups: Groups, released: Noisy) -> Answer:
    """Estimates for every output, in the order of the groups."""
    parts = {(part.statistic, part.side): part for part in plan.parts if not isinstance(part.statistic, KeyChoice)}
    outputs = {}
    for output in plan.query.outputs:
        behind = [parts[statistic, 0] for statistic in plan.behind[output.name]]
        found = _estimate(plan, output.aggregate, behind, released)
        outputs[output.name] = Column(
            _listed(found.values, behind if len(behind) == 1 else []),
            None if found.errors is None else tuple(float(x) for x in found.errors),
            None if found.lower is None else tuple(float(x) for x in found.lower),
            None if found.upper is None else tuple(float(x) for x in found.upper),
            named(behind[-1]),
        )
    split = tuple(described(part) for part in plan.parts)
    facts = facts_of(plan.schema)
    kinds = {key.name: infer(key.of, facts).kind for key in plan.keys.keys}
    kinds |= {output.name: _kind(output.aggregate, facts) for output in plan.query.outputs}
    return Answer(str(plan.query.released), _keys(plan, groups), outputs, split, "", "", kinds=kinds)


def _kind(aggregate: Aggregate, facts: Mapping[str, Facts]) -> Kind:
    if isinstance(aggregate, Mode):
        return infer(aggregate.of, facts).kind
    return infer(Literal(aggregate.candidates[0]), facts).kind if isinstance(aggregate, Best) else "number"


def _estimate(plan: Plan, aggregate: object, behind: list[Part], released: Noisy) -> Estimate:
    first = behind[0].statistic
    if isinstance(first, Ranked):
        upper = infer(first.cells.of, facts_of(plan.schema)).upper
        assert upper is not None
        chosen = {side: released[first, side].astype(np.float64) for side in (-1, 0, 1)}
        return estimates.quantile(chosen, first.cells, float(upper))
    if isinstance(first, Commonest):
        return estimates.choice(released[first, 0].astype(np.float64), first.cells.values or ())
    if isinstance(first, Scores):
        assert isinstance(aggregate, Best)
        return estimates.choice(released[first, 0].astype(np.float64), aggregate.candidates)
    sums = [_real(released[part.statistic, 0], part) for part in behind if isinstance(part.statistic, (Measure, Persons))]
    spreads = [spread_of(part) for part in behind]
    last = behind[-1].statistic
    if isinstance(aggregate, Mean) and isinstance(last, Measure):
        return estimates.mean(sums[0], sums[1], spreads[0], spreads[1], last)
    if isinstance(aggregate, Sum) and isinstance(last, Measure) and len(behind) == 2:
        return estimates.total(sums[0], sums[1], spreads[0], spreads[1], float(last.shift * last.step))
    if isinstance(aggregate, Variance) and isinstance(last, Measure):
        three = (sums[0], sums[1], sums[2]), (spreads[0], spreads[1], spreads[2])
        return estimates.variance(*three, last, root=aggregate.root)
    return estimates.plain(sums[0], spreads[0])


def _real(units: NDArray[np.generic], part: Part) -> Reals:
    """Whole units as real numbers."""
    worth = (part.statistic.worth if isinstance(part.statistic, Measure) else Fraction(1)) / 2**part.bits
    if units.dtype == object:
        return np.array([float(int(x) * worth) for x in units], dtype=np.float64)
    reals: Reals = units.astype(np.float64) * worth.numerator / worth.denominator
    return reals


def _listed(values: Reals | list[Value], behind: list[Part]) -> tuple[Value, ...]:
    """Plain values; whole numbers where a sum is one."""
    if isinstance(values, list):
        return tuple(values)
    if behind and not behind[0].bits:
        statistic = behind[0].statistic
        if isinstance(statistic, Persons) or (isinstance(statistic, Measure) and statistic.worth.denominator == 1):
            return tuple(int(x) for x in values)
    return tuple(float(x) for x in values)


def _keys(plan: Plan, groups: Groups) -> dict[str, tuple[Value, ...]]:
    if not plan.keys.keys:
        return {}
    rows = plan.keys.rows() if groups.product else list(zip(*groups.listed, strict=True))
    columns = zip(*rows, strict=True) if rows else [() for _ in plan.keys.keys]
    return {
        name: tuple(float(v) if isinstance(v, Fraction) else v for v in column)
        for name, column in zip(plan.keys.names, columns, strict=True)
    }
