"""The cells of columns, from declarations alone: what synthetic data can hold, and how an engine numbers it.

A category or a truth value has a cell for every value. Numbers and days lie on their declared grid, in runs of neighbouring
steps: one step each where there are at most ``MOST_STEPS``, else runs of equal width, or those that are asked for. What is
missing is a value of its own, the last, wherever it can be. Every row is in exactly one cell of every column, whatever it holds,
so that one unit moves the histogram over all columns, and each of its marginals, as far as it moves any other histogram.

>>> from discreet.schema.columns import integer
>>> age = code("age", facts_of_column(integer(0, 99)), 4)
>>> age.count, [age.label(cell) for cell in range(age.count)]
(5, ['0 to 24', '25 to 49', '50 to 74', '75 to 99', '(missing)'])
"""

from __future__ import annotations

import datetime
import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.display import label
from discreet.errors import ParameterError
from discreet.exact import rational, read_fraction, shown, whole
from discreet.plan.expressions import Call, Column, Expression, Literal, Value
from discreet.plan.expressions.facts import Facts, compared, facts_of_column
from discreet.plan.statistics import Axis
from discreet.schema.columns import Kind

MOST_STEPS = 1024  # values of a column that have a cell each
_RUNS = 512  # cells of one that has more
_WIDEST = 2**12  # cells of one column
_EPOCH = datetime.date(1970, 1, 1).toordinal()

__all__ = ["Coding", "Domain", "code", "facts_of_column"]


@dataclass(frozen=True)
class Coding:
    """The cells of one column. ``values`` are listed; or else numbers are ``step`` times whole ones, the cells begin at
    ``starts`` of these, and the last ends before ``end``."""

    name: str
    kind: Kind
    nullable: bool
    values: tuple[Value, ...] | None = None
    starts: tuple[int, ...] = ()
    end: int = 0
    step: Fraction = Fraction(1)

    @property
    def ordered(self) -> bool:
        return self.values is None

    @property
    def present(self) -> int:
        """The cells of values that are there."""
        return len(self.starts) if self.values is None else len(self.values)

    @property
    def count(self) -> int:
        return self.present + self.nullable

    @cached_property
    def widths(self) -> Integers:
        """How many values every cell has."""
        runs = np.ones(self.present, dtype=np.int64) if self.values is not None else np.diff([*self.starts, self.end])
        return np.append(runs, 1) if self.nullable else runs

    def label(self, cell: int) -> str:
        """A cell as people read it."""
        if cell == self.present:
            return label(None)
        if self.values is not None:
            return label(self.values[cell])
        first, last = self.at(self.starts[cell]), self.at(self.starts[cell] + int(self.widths[cell]) - 1)
        return label(first) if first == last else f"{label(first)} to {label(last)}"

    def value(self, cell: int) -> Value:
        """The value of a cell that has one, the first of others."""
        if cell == self.present:
            return None
        return self.values[cell] if self.values is not None else self.at(self.starts[cell])

    def at(self, place: int) -> Value:
        """The value at a place of the grid."""
        if self.kind == "date":
            return datetime.date.fromordinal(place)
        exact = place * self.step
        return int(exact) if self.step.denominator == 1 else exact

    def axis(self) -> Axis:
        """How an engine numbers the cells of rows."""
        of, many = Column(self.name), self.count
        widths = {*self.widths[: self.present - 1].tolist()} if self.values is None else set()
        if self.kind == "number" and self.values is None and len(widths) <= 1 and self.present > 1:
            width = int(self.widths[0])
            first = (2 * self.starts[0] + width - 1) * self.step / 2  # the middle of a run, which no value of another is near
            far = first + self.present * width * self.step
            inside: Expression = Call("coalesce", (of, Literal(far))) if self.nullable else of
            return Axis(inside, many, first, width * self.step, first + (many - 1) * width * self.step)
        parts: list[Expression] = []
        for cell in range(self.present):
            parts += [self._test(of, cell), Literal(cell)]
        if not parts:  # no value is known: every row is in the one cell
            parts = [Call("in", (of, Literal(""))), Literal(0)]
        otherwise = Literal(self.present if self.nullable else None)
        return Axis(Call("case", (*parts, otherwise)), many, Fraction(0), Fraction(1), Fraction(many - 1))

    def _test(self, of: Expression, cell: int) -> Expression:
        """What holds of the values of a cell, and not of those of later ones."""
        if self.values is not None:
            return Call("in", (of, Literal(self.values[cell])))
        return Call("<=", (of, Literal(self.at(self.starts[cell] + int(self.widths[cell]) - 1))))

    def find(self, wanted: object) -> Booleans:
        """The cells that hold a value, one of a list, or those from one to another, (18, 30)."""
        found = np.zeros(self.count, dtype=bool)
        if isinstance(wanted, tuple) and len(wanted) == 2 and self.ordered:
            low, high = (self._place(end, up) for end, up in zip(wanted, (True, False), strict=True))
            inside = [low <= start and start + width - 1 <= high for start, width in zip(self.starts, self.widths, strict=False)]
            found[: self.present] = inside
            if not found.any():
                raise ParameterError(
                    f"No cell of {self.name} lies from {shown(wanted[0])} to {shown(wanted[1])}; {self._cells()}."
                )
            return found
        for one in wanted if isinstance(wanted, (list, set, frozenset)) else [wanted]:
            found[self._cell(one)] = True
        return found

    def _cell(self, value: object) -> int:
        if value is None and self.nullable:
            return self.present
        if self.values is not None:
            known = [compared(one) for one in self.values]
            if isinstance(value, (str, int, float, Fraction, bool)) and compared(value) in known:
                return known.index(compared(value))
        elif value is not None:
            place = self._place(value, False)
            if self.starts[0] <= place < self.end and self.at(place) == _plain(value):
                return bisect_right(self.starts, place) - 1
        raise ParameterError(f"{shown(value)} is no value of {self.name}; {self._cells()}.")

    def _place(self, value: object, up: bool) -> int:
        """Where a value is on the grid, rounded up or down to it."""
        if self.kind == "date":
            day = _plain(value)
            if not isinstance(day, datetime.date):
                raise ParameterError(f'{shown(value)} is no day; write "2026-01-31" or a datetime.date.')
            return day.toordinal()
        steps = rational(self.name, value) / self.step
        return math.ceil(steps) if up else math.floor(steps)

    def _cells(self) -> str:
        shown_ = ", ".join(self.label(cell) for cell in range(min(self.count, 8)))
        return f"its cells are {shown_}{', ...' if self.count > 8 else ''}"

    def decode(self, cells: Integers, within: Integers) -> Any:
        """An Arrow array of values: ``within`` says which of a run, from 0 on."""
        import pyarrow

        if self.values is not None:
            types = {"text": pyarrow.string(), "number": pyarrow.int64(), "boolean": pyarrow.bool_()}
            listed = pyarrow.array([*self.values, *([None] if self.nullable else [])], types[self.kind])
            return listed.take(pyarrow.array(cells))
        missing = cells == self.present if self.nullable else None
        first = np.append(np.array(self.starts, dtype=np.int64), 0)
        places = first[cells] + within
        if self.kind == "date":
            return pyarrow.array((places - _EPOCH).astype("datetime64[D]"), pyarrow.date32(), mask=missing)
        if self.step.denominator == 1:
            return pyarrow.array(places * self.step.numerator, pyarrow.int64(), mask=missing)
        return pyarrow.array(places * self.step.numerator / self.step.denominator, pyarrow.float64(), mask=missing)

    @property
    def facts(self) -> dict[str, object]:
        """What it is, as plain JSON."""
        listed = None if self.values is None else [one if isinstance(one, (str, bool, int)) else str(one) for one in self.values]
        return {
            "name": self.name,
            "kind": self.kind,
            "nullable": self.nullable,
            "values": listed,
            "starts": list(self.starts),
            "end": self.end,
            "step": str(self.step),
        }

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Coding:
        """The same from JSON."""
        values = None if facts["values"] is None else tuple(facts["values"])
        starts, step = tuple(map(int, facts["starts"])), read_fraction(facts["step"])
        found = cls(str(facts["name"]), facts["kind"], bool(facts["nullable"]), values, starts, int(facts["end"]), step)
        if not found.is_whole:
            raise ParameterError(f"The cells of {shown(found.name)} are none that a column has; it is damaged.")
        return found

    @property
    def is_whole(self) -> bool:
        """Whether a column can have these cells."""
        if self.values is not None:
            types = {"text": str, "number": int, "boolean": bool}
            return self.kind in types and all(type(one) is types[self.kind] for one in self.values) and self.count > 0
        ends = (*self.starts, self.end)
        inside = (1, datetime.date.max.toordinal() + 1) if self.kind == "date" else (-(2**53), 2**53)
        return (
            self.kind in ("number", "date")
            and 0 < len(self.starts) <= _WIDEST
            and all(one < other for one, other in pairwise(ends))
            and inside[0] <= ends[0] * self.step
            and ends[-1] * self.step <= inside[1]
            and self.step > 0
            and (self.kind == "number" or self.step == 1)
        )


def _plain(value: object) -> object:
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, datetime.datetime):
        return value.date()
    return value if isinstance(value, datetime.date) else rational("value", value)


def code(name: str, facts: Facts, bins: object = None, keys: Sequence[Value] | None = None) -> Coding:
    """The cells of a column of which these facts are public. ``bins``: how many runs, or where each begins. ``keys``: the values
    of a text, all others are missing."""
    if facts.values is not None or keys is not None:
        if bins is not None:
            raise ParameterError(f"{name} has a list of values, a cell each; leave it out of bins=.")
        return Coding(
            name, facts.kind, facts.nullable or keys is not None, tuple(keys if keys is not None else facts.values or ())
        )
    step = facts.step
    if facts.kind == "text" or facts.lower is None or facts.upper is None or step is None:
        raise ParameterError(
            f"{name} has no declared values, so that it cannot be drawn; declare a category, list its values, "
            f'keys={{"{name}": [...]}}, or leave it out of columns=.'
        )
    low, high = math.ceil(facts.lower / step), math.floor(facts.upper / step)
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool)):
        most = high - low + 1
        asked = (most if most <= MOST_STEPS else _RUNS) if bins is None else whole(f"bins of {name}", bins)
        width = max(1, -(-most // asked))
        starts = tuple(range(low, high + 1, width)) if most // width < _WIDEST else ()
    else:
        starts = _starts(name, bins, facts.kind, step, low, high)
    if not starts or len(starts) > _WIDEST:
        raise ParameterError(f"{name} has more than {_WIDEST:,} cells; write fewer bins, such as bins={{{name!r}: 100}}.")
    return Coding(name, facts.kind, facts.nullable, None, starts, high + 1, step)


def _starts(name: str, bins: object, kind: Kind, step: Fraction, low: int, high: int) -> tuple[int, ...]:
    if isinstance(bins, (str, bytes)) or not isinstance(bins, Iterable):
        raise ParameterError(f"bins of {name} are a number of them, or where each begins; write bins={{{name!r}: 20}}.")
    finder = Coding(name, kind, False, None, (low,), high + 1, step)
    starts = [finder._place(edge, True) for edge in bins]
    if starts != sorted({*starts}) or not starts or starts[0] < low or starts[-1] > high:
        raise ParameterError(f"bins of {name} begin in increasing order within its bounds; write them so, each once.")
    return (low, *(start for start in starts if start > low))


@dataclass(frozen=True)
class Domain:
    """The cells of all columns of a table."""

    columns: tuple[Coding, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(one.count for one in self.columns)

    @property
    def cells(self) -> int:
        """The combinations of all."""
        return math.prod(self.sizes)

    def places(self, names: Iterable[object]) -> tuple[int, ...]:
        """Where columns stand, in order; each once."""
        if isinstance(names, str):
            names = [names]
        found = []
        for name in names:
            known = [i for i, own in enumerate(self.names) if isinstance(name, str) and own.lower() == name.lower()]
            if not known:
                raise ParameterError(f"{shown(name)} is no column of this model; it has {', '.join(self.names[:20])}.")
            found += known[:1]
        if len({*found}) < len(found) or not found:
            raise ParameterError("A marginal is over some columns, each named once.")
        return tuple(sorted(found))
