"""What one person's rows make, in plain Python: the meaning that the SQL of a table of one row a person is compared with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from engine.reference_counting import Line, added, snapped

from discreet.plan.expressions.evaluate import evaluate, infer
from discreet.plan.people import Trait
from discreet.plan.plan import Plan
from discreet.schema.columns import Integer, Number
from discreet.schema.units import Person

__all__ = ["made_of"]


def made_of(plan: Plan, trait: Trait, own: Sequence[Line]) -> Any:
    """A trait of whoever has these rows: a whole number of units, a text, a day, a truth value, or None. ``plan``: of rows."""
    if trait.of is None:
        return _clamped(plan, trait, len(own))
    present = [line for line in own if evaluate(trait.of, line.row) is not None]
    if trait.what == "count":
        return _clamped(plan, trait, len(present))
    if trait.what == "distinct":
        return _clamped(plan, trait, len({snapped(plan, trait.of, line.row) for line in present}))
    if trait.what == "fullest":
        shared = Counter(snapped(plan, trait.of, line.row) for line in present)
        return _clamped(plan, trait, max(shared.values(), default=0))
    if not present:
        return None
    pick = max if trait.what in ("max", "bool_or") else min
    if infer(trait.of, plan.facts).kind != "number":
        return pick((evaluate(trait.of, line.row) for line in present), key=_bytes)  # type: ignore[type-var]
    measure = trait.measure(plan.facts, _most(plan))
    assert measure is not None
    units = [added(plan, measure, line) for line in present]
    if trait.what == "sum":
        return _clamped(plan, trait, sum(units))
    if trait.what == "median":
        ordered = sorted(units)
        return ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]
    if trait.what == "avg":
        scale = trait.scale(measure)
        return math.floor(float(sum(units)) / float(len(units)) * float(scale) + 0.5)
    return pick(units)


def _bytes(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def _most(plan: Plan) -> int:
    assert isinstance(plan.schema.unit, Person)
    return plan.schema.unit.rows * plan.schema.unit.groups


def _clamped(plan: Plan, trait: Trait, number: int) -> int:
    """Bounds are written anew here: those of rows times R."""
    most = _most(plan)
    column = trait.column(plan.facts, most)
    assert isinstance(column, Integer | Number)
    if trait.what == "sum":
        assert trait.of is not None
        known = infer(trait.of, plan.facts)
        assert known.lower is not None
        assert known.upper is not None
        low, high = min(known.lower, most * known.lower), max(known.upper, most * known.upper)
        assert (column.lower, column.upper) == (low, high) or column.step != known.step
    else:
        assert column.lower in (0, 1)
        assert 1 <= column.upper <= most
    return int(min(max(Fraction(number), column.lower / column.step), column.upper / column.step))
