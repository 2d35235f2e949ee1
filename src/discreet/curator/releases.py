"""Noise on what was counted, and estimates from what is noisy: the middle of the gate."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.arrays import Reals
from discreet.curator.answer import Answer, Column
from discreet.engine.base import Found, Groups
from discreet.plan.aggregates.base import Estimate
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan
from discreet.plan.release import Release, Released

__all__ = ["answer_of", "let_out"]


def let_out(plan: Plan, groups: Groups, counts: Found) -> dict[Release, Released]:
    """Every statistic through its mechanism; public ones from public facts."""
    behind = dict.fromkeys(release for those in plan.behind.values() for release in those)
    unit = plan.schema.unit
    return {one: Released(one, one.let_out(counts.get((one.statistic, one.bits)), groups.size, unit)) for one in behind}


def answer_of(plan: Plan, groups: Groups, released: Mapping[Release, Released]) -> Answer:
    """Estimates for every output, in the order of the groups."""
    outputs = {}
    for output in plan.query.outputs:
        behind = plan.behind[output.name]
        found = output.aggregate.estimate([released[release] for release in behind])
        outputs[output.name] = Column(
            _values(found, behind), _floats(found.errors), _floats(found.lower), _floats(found.upper), behind[-1].how
        )
    split = tuple(release.description for release in plan.releases)
    kinds = {name: facts.kind for name, facts in plan.query.result(plan.facts).items()}
    return Answer(str(plan.query.released), _keys(plan, groups), outputs, split, "", "", kinds=kinds)


def _values(found: Estimate, behind: tuple[Release, ...]) -> tuple[Value, ...]:
    """Plain values; whole numbers where an output is one sum of them."""
    if isinstance(found.values, list):
        return tuple(found.values)
    whole = len(behind) == 1 and not behind[0].bits and behind[0].worth.denominator == 1
    return tuple(int(x) if whole else float(x) for x in found.values)


def _floats(numbers: Reals | None) -> tuple[float, ...] | None:
    return None if numbers is None else tuple(float(x) for x in numbers)


def _keys(plan: Plan, groups: Groups) -> dict[str, tuple[Value, ...]]:
    if not plan.keys.keys:
        return {}
    rows = plan.keys.rows() if groups.product else list(zip(*groups.listed, strict=True))
    columns = zip(*rows, strict=True) if rows else [() for _ in plan.keys.keys]
    return {
        name: tuple(float(v) if isinstance(v, Fraction) else v for v in column)
        for name, column in zip(plan.keys.names, columns, strict=True)
    }
