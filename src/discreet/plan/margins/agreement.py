"""Questions that are asked together agree: what they have in common has one value, whatever each of them grouped by.

Counts, and sums of the same numbers, over the same rows are levels of one table, of which each question has measured some. All
are made consistent by least squares (``lattice``), after the release and for free; the more questions say something of a total,
the less noise it has. The same rows are those of the same FROM and WHERE in which the same keys are not missing.

Where persons are bounded it depends on the groups how much each counts for: a total by one key is then another number than by
another, and both stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Reals
from discreet.plan.aggregates.base import Aggregate, Estimate
from discreet.plan.aggregates.soft import forms_of
from discreet.plan.aggregates.sums import Count, Sum
from discreet.plan.expressions import Value
from discreet.plan.expressions.evaluate import infer
from discreet.plan.margins.lattice import Lattice, Level, below, residual
from discreet.plan.margins.levels import MOST_AXES, estimate_level, join_levels, leveled, measures_of
from discreet.plan.plan import Plan
from discreet.plan.release import Release, Spread
from discreet.schema.units import OneRow, Person

Outputs = Mapping[str, Sequence[Value]]  # the values of every output, in the order of the rows


@dataclass(frozen=True)
class _Said:
    """What one question says of a measure ``of`` some rows without those in which keys (``partly``) are missing: its outputs of
    it, the axes of its keys, what it measured, and the levels it shows."""

    question: int
    of: Hashable
    partly: frozenset[tuple[str, tuple[Value, ...]]]
    outputs: tuple[str, ...]
    axes: tuple[Hashable, ...]
    lattice: Lattice
    shown: tuple[Level, ...]


def agree(asked: Sequence[tuple[Plan, Outputs]]) -> list[dict[str, Estimate]]:
    """For every question the outputs that others also say something of, as all of them together say it."""
    found: list[dict[str, Estimate]] = [{} for _ in asked]
    by_measure: dict[Hashable, list[_Said]] = {}
    for i, (plan, _) in enumerate(asked):
        for said in _measured(i, plan):
            by_measure.setdefault((said.of, said.partly), []).append(said)
    for those in by_measure.values():
        if len(those) > 1:
            for one, estimate in zip(those, _together(those, [asked[one.question][1] for one in those]), strict=True):
                found[one.question] |= dict.fromkeys(one.outputs, estimate)
    return found


def tell_apart(plans: Sequence[Plan]) -> list[tuple[str, ...]]:
    """For every question the keys that leave rows out, where another one counts the same and leaves out others, or none."""
    said = [one for i, plan in enumerate(plans) for one in _measured(i, plan)]
    others: dict[Hashable, set[Hashable]] = {}
    for one in said:
        others.setdefault(one.of, set()).add(one.partly)
    found: list[dict[str, None]] = [{} for _ in plans]
    for one in said:
        if len(others[one.of]) > 1:
            found[one.question] |= dict.fromkeys(sorted(name for name, _ in one.partly))
    return [tuple(names) for names in found]


def _measured(i: int, plan: Plan) -> Iterator[_Said]:
    """The measures that a question says something of, with the rows that they are of."""
    unit, query = plan.schema.unit, plan.query
    if (
        plan.keys.listings is None
        or len(plan.keys.keys) > MOST_AXES
        or (isinstance(unit, Person) and not isinstance(unit, OneRow))
    ):
        return
    sizes = tuple(map(len, plan.keys.listings))
    axes = tuple((str(key.of), listed) for key, listed in zip(query.keys, plan.keys.listings, strict=True))
    partly = frozenset(
        axis for axis, key in zip(axes, query.keys, strict=True) if key.values or infer(key.of, plan.facts).nullable
    )
    names: dict[Hashable, list[str]] = {}
    lattices: dict[Hashable, Lattice] = {}
    for output in query.outputs:
        if not isinstance(output.aggregate, Count | Sum):
            continue
        (measure,) = measures_of(output.aggregate, plan.facts)
        known = query.source, measure
        names.setdefault(known, []).append(output.name)
        if query.levels is not None:
            lattices[known] = leveled(query.levels, plan.behind[output.name])[0].lattice
        else:
            lattices[known] = Lattice(sizes, ((tuple(range(len(sizes))), _spread(output.aggregate, plan.behind[output.name])),))
    shown = (tuple(range(len(sizes))),) if query.levels is None else query.levels.asked
    yield from (_Said(i, known, partly, tuple(names[known]), axes, lattices[known], shown) for known in names)


def _spread(aggregate: Aggregate, releases: Sequence[Release]) -> Spread:
    """The noise of a count or sum; one that is read from the two numbers of a mean as one noise of the same variance, whose
    tail at 5 % is not lighter."""
    if len(releases) == 1 and len(releases[0].statistic.of) == 1:  # type: ignore[union-attr, arg-type]
        return releases[0].spread
    forms = forms_of(releases)
    deviation = float(forms.deviation(0, 1) if isinstance(aggregate, Count) else forms.deviation(1, forms.middle))
    laplace = any(one.law == "laplace" for one in forms.spreads)
    return Spread("laplace", deviation / math.sqrt(2), unit=0.0) if laplace else Spread("gaussian", deviation, unit=0.0)


def _together(those: Sequence[_Said], values: Sequence[Outputs]) -> Iterator[Estimate]:
    """Every question's rows, from what all of them say."""
    axes = list(dict.fromkeys(axis for one in those for axis in one.axes))
    sizes = {axis: size for one in those for axis, size in zip(one.axes, one.lattice.sizes, strict=True)}
    places = [[axes.index(axis) for axis in one.axes] for one in those]
    measured = [
        (_moved(level, place), spread) for one, place in zip(those, places, strict=True) for level, spread in one.lattice.measured
    ]
    lattice = Lattice(tuple(sizes[axis] for axis in axes), tuple(measured))
    said: dict[Level, list[tuple[Reals, float]]] = {}
    for one, place, outputs in zip(those, places, values, strict=True):
        for space, component in _components(one, outputs[one.outputs[0]]).items():
            order = sorted(range(len(space)), key=lambda i: place[space[i]])
            said.setdefault(_moved(space, place), []).append((component.transpose(order), one.lattice.inverse[space]))
    components = {space: _mean(each) for space, each in said.items()}
    for one, place in zip(those, places, strict=True):
        rows = []
        for level in one.shown:
            known = _moved(level, place)
            order = [known.index(place[axis]) for axis in level]
            rows.append(estimate_level(lattice.compose(components, known).transpose(order), lattice, known))
        yield join_levels(rows)


def _moved(level: Level, place: Sequence[int]) -> Level:
    return tuple(sorted(place[axis] for axis in level))


def _components(one: _Said, values: Sequence[Value]) -> dict[Level, Reals]:
    """The components that a question's answer consists of."""
    found: dict[Level, Reals] = {}
    numbers, start = np.array([float(x) for x in values], dtype=np.float64), 0  # type: ignore[arg-type]
    for level in one.shown:
        shape = [one.lattice.sizes[axis] for axis in level]
        table = numbers[start : start + math.prod(shape)].reshape(shape)
        start += table.size
        found |= {space: residual(table, level, space) for space in below([level]) if space not in found}
    return found


def _mean(said: Sequence[tuple[Reals, float]]) -> Reals:
    """What several say of one component, weighted by precision; what is public outweighs all."""
    public = [value for value, inverse in said if not inverse]
    if public:
        return public[0]
    weights = [1 / inverse for _, inverse in said]
    return np.asarray(
        sum((w * value for w, (value, _) in zip(weights, said, strict=True)), np.zeros(said[0][0].shape)) / sum(weights)
    )
