"""What is publicly known of an expression's values: their type, bounds, grid, list, and whether they can be missing."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction

from discreet.plan.expressions import Value
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Kind, Number

__all__ = ["MOST_KEYS", "Facts", "facts_of_column"]

MOST_KEYS = 2**20  # keys that a question may list


@dataclass(frozen=True)
class Facts:
    """Facts about all values an expression can have, whatever the data. None: nothing is known.

    ``lower``, ``upper`` and ``step`` are of numbers, and of dates as ordinals: every value lies between the bounds and, where a
    step is known, is a multiple of it. ``values`` lists all values there can be (except missing), where such a list is known.
    ``length`` is of texts: the most characters that one can have.
    """

    kind: Kind
    nullable: bool = True
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    values: tuple[Value, ...] | None = None
    length: int | None = None

    @property
    def size(self) -> int | None:
        """How many values there can be."""
        if self.values is not None:
            return len(self.values)
        if self.lower is None or self.upper is None or self.step is None:
            return None
        return int(self.upper / self.step) - int(self.lower / self.step) + 1

    def listed(self) -> tuple[Value, ...] | None:
        """All values there can be, in order, where they are at most ``MOST_KEYS``."""
        if self.values is not None or self.size is None or self.size > MOST_KEYS:
            return self.values
        assert self.lower is not None
        assert self.step is not None
        steps = range(int(self.lower / self.step), int(self.lower / self.step) + self.size)
        if self.kind == "date":
            return tuple(datetime.date.fromordinal(i) for i in steps)
        return tuple(i * int(self.step) if self.step.denominator == 1 else i * self.step for i in steps)


def facts_of_column(column: Column) -> Facts:
    """What a declaration says."""
    nullable = column.missing is None
    if isinstance(column, (Integer, Number)):
        return Facts("number", nullable, Fraction(column.lower), Fraction(column.upper), column.step)
    if isinstance(column, Category):
        if column.kind == "text":
            return Facts("text", nullable, values=column.values, length=column.length)
        numbers = [Fraction(value) for value in column.values]
        return Facts("number", nullable, min(numbers), max(numbers), Fraction(1), column.values)
    if isinstance(column, Boolean):
        return Facts("boolean", nullable, values=(False, True))
    if isinstance(column, Date):
        first, last = (Fraction(day.toordinal()) for day in (column.lower, column.upper))
        return Facts("date", nullable, first, last, Fraction(1))
    return Facts("text", nullable, length=column.length)
