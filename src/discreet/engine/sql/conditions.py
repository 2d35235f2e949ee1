"""Conditions that say the same of a cell before it is cleaned: an engine then need not read what it can leave out.

They are about conditions that must hold for every line, where missing and false are the same.

**Clamped values.** Clamping keeps order: for bounds a < b and a constant c, clamp(x) < c iff x < c where a < c <= b, and
clamp(x) <= c iff x <= c where a <= c < b; the others are their opposites. A missing cell is missing before and after.

**Words.** A cell becomes a word of its list, which is not what stands for missing ones, iff it is that word.
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Literal as Only

from discreet.engine.sql.dialect import Dialect
from discreet.plan.expressions import Call, Column, Expression, Literal
from discreet.schema.columns import Category, Date, Integer
from discreet.schema.columns import Column as Declared

_EXACT = 2**53  # whole numbers below this are doubles, and no other whole number is rounded to one of them


def compared_column(condition: Expression) -> str | None:
    """The name of a column that is compared with constants, and with nothing else."""
    if not isinstance(condition, Call) or condition.name not in _COMPARISONS:
        return None
    first, *others = condition.arguments
    return first.name if isinstance(first, Column) and all(isinstance(one, Literal) for one in others) else None


def as_it_is(condition: Expression, column: Declared, kind: str, dialect: Dialect) -> Only["cell", "word", ""]:
    """How a cell of a declared column may be compared with constants instead of its value: as it is, or as a text that was not
    looked up in its list; or not at all. ``kind``: the type of the cell."""
    assert isinstance(condition, Call)
    given = [one.value for one in condition.arguments[1:] if isinstance(one, Literal)]
    if isinstance(column, Category):
        words = condition.name in ("=", "in") and column.kind == "text" and {*given} <= {*column.values} - {column.missing}
        return "word" if words else ""
    if not isinstance(column, Integer | Date) or column.missing is not None or condition.name == "in":
        return ""
    same = False
    if isinstance(column, Integer) and kind in dialect.whole_types and isinstance(given[0], int | Fraction):
        exact = column.lower > -_EXACT and column.upper < _EXACT and not isinstance(given[0], bool)
        same = exact and _is_inside(condition.name, given[0], column.lower, column.upper)
    elif isinstance(column, Date) and kind == dialect.types["date"] and isinstance(given[0], datetime.date):
        same = _is_inside(condition.name, given[0], column.lower, column.upper)
    return "cell" if same else ""


def _is_inside(comparison: str, c: object, low: object, high: object) -> bool:
    """Whether a comparison with c says the same of a value and of the value clamped."""
    if comparison in ("<", ">="):
        return bool(low < c <= high)  # type: ignore[operator]
    return bool(low <= c < high) if comparison in ("<=", ">") else bool(low < c < high)  # type: ignore[operator]


_COMPARISONS = frozenset({"<", "<=", ">", ">=", "=", "<>", "in"})
