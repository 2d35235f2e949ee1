"""Bounds of a column: its private distribution on a public grid of all numbers, or days, and the declaration that it suggests.

The column is read as if it were declared with the widest bounds that there are: as whole numbers, as numbers (to a millionth up
to 10^9, in thousands beyond), or as days. The grid is 0 and 1, 2, 5 times the powers of ten, up to 5 * 10^18 and down to their
negatives, or the years. A row is in one cell, or in none where it has no value: one unit moves the histogram as it moves any
(``plan.statistics``). Rows of persons are weighted as declared.

A histogram costs the same however many cells it has, and says all quantiles at once; two quantiles by selection, for half of the
cost each, would miss by about as many rows, and say nothing of the rest. A cell is *seen* where noise alone is seldom so large.
The suggestion begins with the range of cells that are seen, and leaves out what lies at its ends as long as no more than half of
``clamped`` is lost on each side.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np

from discreet.analysis.advice import Advice, Cells, Counts, as_columns, percent, place_of
from discreet.analysis.base import Analysis, Paid, Study
from discreet.arrays import Number, Reals
from discreet.calls import called_as
from discreet.curator.desk import Desk
from discreet.curator.plans import Measured
from discreet.curator.question import Question
from discreet.display import figure
from discreet.errors import ParameterError
from discreet.exact import rational, shown
from discreet.plan.cost import Accuracy, Cost
from discreet.plan.expressions import Call, Column, Expression
from discreet.plan.expressions import Literal as Constant
from discreet.plan.expressions.facts import Facts
from discreet.plan.plan import Needs, Plan, price_needs
from discreet.plan.preview import PreviewLine
from discreet.plan.query import Query
from discreet.schema.columns import Column as Declared
from discreet.schema.columns import Date, Integer, default_step, number
from discreet.schema.columns import Number as Numbers
from discreet.schema.table import Schema

Type = Literal["integer", "number", "date"]
Bound = int | Fraction | datetime.date

_TYPES: Mapping[type, Type] = {Integer: "integer", Numbers: "number", Date: "date"}
_FINE, _COARSE = Fraction(1, 10**6), Fraction(1000)
_CHANGE = 10**9  # from here on numbers are read in thousands
_POWERS = 19
_EXACT, _LONG = 2**53, 2**63
_YEARS = (*range(1000, 1800, 100), *range(1800, 1950, 10), *range(1950, 2061), *range(2070, 2201, 10), *range(2300, 3001, 100))


@called_as('"income", epsilon=0.1')
def bounds(
    rows: Question,
    column: str,
    *,
    type: Type | None = None,
    clamped: Number = 0.01,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Bounds | Analysis[Bounds]:
    """How the values of a column are spread over a public grid, and the bounds beyond which at most a share ``clamped`` of them
    lies. ``type`` says what values are, "number", "integer" or "date", of a column that is declared as something else, or not at
    all: then they are numbers unless told."""
    beyond = rational("clamped", clamped)
    if not 0 < beyond < 1:
        raise ParameterError(f"clamped= is the share of values beyond the bounds, between 0 and 1, not {shown(clamped)}.")
    if type is not None and type not in _TYPES.values():
        raise ParameterError(f'type= is "number", "integer" or "date", not {shown(type)}.')
    if rows.rows.people is not None:
        raise ParameterError("bounds() reads a column of the table, and person() made others; leave person() out.")
    name = _named(rows, column)
    declared = rows.desk.schema.columns.get(name)
    told = type or (_TYPES.get(declared.__class__) if declared is not None else "number")
    if told is None:
        raise ParameterError(
            f'{column} is declared as values without an order; bounds are of numbers and days: write type="number", "integer" or '
            '"date" if it holds them.'
        )
    return Asked(rows.desk, rows.rows, name, told, float(beyond)).settle(epsilon, rho, accuracy, at_least)


def _named(rows: Question, column: object) -> str:
    """The name by which questions would know a column, declared or not."""
    if not isinstance(column, str) or not column or "\x00" in column:
        raise ParameterError('Bounds are of one column; write bounds("income", epsilon=0.1).')
    tables = [one.table for one in rows.rows.tables if one.joined]
    if not rows.desk.schema.tables:
        if "." in column:
            raise ParameterError(f"{column} is no column of the private table; write its name as the table does.")
        return rows.desk.schema.find(column) or column
    table, _, local = column.rpartition(".")
    table = table or (tables[0] if len(tables) == 1 else "")
    if table not in tables:
        raise ParameterError(f"Which table is {column} of? Write {tables[0]}.{local}, or ask about one table.")
    return rows.desk.schema.find(local, table=table) or f"{table}.{local}"


@dataclass(frozen=True)
class Range:
    """A cell: the narrowest bounds that are on the grid and hold it; None where it has no end."""

    low: Bound | None
    high: Bound | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"below {_shown(self.high)}" if self.low is None else f"above {_shown(self.low)}"
        return _shown(self.low) if self.low == self.high else f"{_shown(self.low)} to {_shown(self.high)}"


@dataclass(frozen=True)
class Grid:
    """All values of a type: cells in their order, the tests between them, and the declarations under which a column is read."""

    cells: tuple[Range, ...]
    tests: tuple[Expression, ...]
    value: Expression
    columns: Mapping[str, Declared]

    @classmethod
    def of(cls, type: Type, name: str, like: Declared | None) -> Grid:
        """The grid of a type, for a column that is read under this name; ``like``: as which it is declared, if it is."""
        if type == "date":
            return cls._days(name, like.format if isinstance(like, Date) else None)
        decimal = like.decimal if isinstance(like, Integer | Numbers) else "."
        if type == "integer":
            return cls._numbers({name: Integer(1 - _LONG, _LONG - 1, decimal=decimal)}, [Column(name)], 0)
        columns = {
            f"{name} in {way}": Numbers(-step * _EXACT, step * _EXACT, step, decimal=decimal)
            for way, step in (("parts", _FINE), ("thousands", _COARSE))
        }
        return cls._numbers(columns, [Column(one) for one in columns], -6)

    @classmethod
    def _numbers(cls, columns: Mapping[str, Declared], read: Sequence[Expression], least: int) -> Grid:
        """Cells hold the end that is further from 0: what is within bounds on the grid is not clamped by them."""
        ends = [Fraction(digit) * Fraction(10) ** power for power in range(least, _POWERS) for digit in (1, 2, 5)]
        down, up = [*(-end for end in reversed(ends)), Fraction(0)], [Fraction(0), *ends]

        def test(sign: str, end: Fraction) -> Expression:
            return Call(sign, (read[-1 if abs(end) >= _CHANGE else 0], Constant(_plain(end))))

        inner = [Range(_plain(a), _plain(b)) for a, b in (*pairwise(down), (Fraction(0), Fraction(0)), *pairwise(up))]
        cells = (Range(None, _plain(down[0])), *inner, Range(_plain(up[-1]), None))
        return cls(cells, (*(test("<", end) for end in down), *(test("<=", end) for end in up)), read[0], columns)

    @classmethod
    def _days(cls, name: str, format: str | None) -> Grid:
        firsts = [datetime.date(year, 1, 1) for year in _YEARS]
        lasts = [first - datetime.timedelta(1) for first in firsts]
        inner = [Range(first, last) for first, last in zip(firsts, lasts[1:], strict=False)]
        tests = tuple(Call("<", (Column(name), Constant(first))) for first in firsts)
        whole = Date(datetime.date.min, datetime.date.max, format=format)
        return cls((Range(None, lasts[0]), *inner, Range(firsts[-1], None)), tests, Column(name), {name: whole})


def _plain(number: Fraction) -> int | Fraction:
    return int(number) if number.denominator == 1 else number


def _shown(bound: Bound | None) -> str:
    if bound is None or isinstance(bound, datetime.date):
        return str(bound)
    return figure(bound) if abs(float(bound)) < 1e15 else f"{float(bound):g}"


@dataclass(frozen=True)
class Asked(Analysis["Bounds"]):
    """How the values of a column are spread."""

    desk: Desk
    rows: Query
    column: str
    type: Type
    clamped: float

    def priced(self, share: Cost) -> BoundsStudy:
        schema = self.desk.schema
        grid = Grid.of(self.type, _free(self.column, schema), schema.columns.get(self.column))
        wider = replace(schema, columns={**schema.columns, **grid.columns})
        place = place_of(grid.value, grid.tests)

        def needs(facts: Mapping[str, Facts]) -> Needs:
            return {"rows": (Cells.of(place, facts, f"{len(grid.cells):,} cells of {self.column}"),)}

        return BoundsStudy(self, (price_needs(self.rows, wider, share, needs, [place]),), grid)

    def __str__(self) -> str:
        return f"bounds of {self.column} as {self.type}, of {self.rows.source}"


def _free(column: str, schema: Schema) -> str:
    """A name that nothing is declared under."""
    name, taken = f"{column} on a grid", {known.lower() for known in schema.columns}
    while any(known.startswith(name.lower()) for known in taken):
        name += "_"
    return name


@dataclass(frozen=True)
class BoundsStudy(Study["Bounds"]):
    """The same at its price."""

    of: Asked
    plans: tuple[Plan, ...]
    grid: Grid

    kind: ClassVar[str] = "bounds"

    @property
    def asked(self) -> Mapping[str, object]:
        return {"column": self.of.column, "type": self.of.type, "cells": len(self.grid.cells)}

    @property
    def reading(self) -> tuple[Schema, Mapping[str, str]]:
        return self.plans[0].private, dict.fromkeys(self.grid.columns, self.of.column)

    def lines(self, _: int | None = None) -> tuple[PreviewLine, ...]:
        (release,) = self.plans[0].releases
        half = release.spread.half()
        return (PreviewLine("rows", release.how, half, f"± {half:,.4g} rows in every cell"),)

    def conclude(self, measured: Sequence[Measured], paid: Paid) -> Bounds:
        (released,) = measured[0]["rows"]
        counts = Counts.of(released)
        first, last = find_range(counts, self.of.clamped) or (0, -1)
        lines = _lines(counts, first, last)
        names = [_together(self.grid.cells[int(line.argmax()) : len(line) - int(line[::-1].argmax())]) for line in lines]
        suggested, remarks = self._suggest(counts, first, last)
        outputs = as_columns([counts.line(line) for line in lines], "rows", released.release.how)
        table = paid.answer(
            {self.of.column: names}, outputs, {self.of.column: "text", "rows": "number", "share": "number"}, *remarks
        )
        return Bounds(table, suggested)

    def _suggest(self, counts: Counts, first: int, last: int) -> tuple[Declared | None, tuple[str, ...]]:
        name = self.of.column
        if first > last:
            most = counts.threshold
            return None, (
                f"In no cell of {name} more than noise is seen, which hides up to about {most:,.0f} rows in each: nothing is "
                "suggested.",
            )
        low, high = self.grid.cells[first].low, self.grid.cells[last].high
        if low is None or high is None:
            end = _shown(self.grid.cells[-1].low)
            return None, (f"Many values of {name} are beyond all that is told apart ({end}): nothing is suggested.",)
        column = _declare(self.of.type, low, high, self.of.desk.schema.columns.get(name))
        outside = np.ones_like(counts.cells)
        outside[first : last + 1] = 0.0
        best, _, most = counts.line(outside).share
        told = f"beyond it are {percent(best)} of values as far as noise lets see, and at most {percent(most)}"
        if math.isnan(best):
            told = "noise hides how many values lie beyond it"
        return column, (f"Suggested for {name}: {write_column(column)}; {told}.",)


def find_range(counts: Counts, clamped: float) -> tuple[int, int] | None:
    """The first and the last cell of a range beyond which hardly any of what is seen lies; None where nothing is seen."""
    seen = np.flatnonzero(counts.seen())
    if not len(seen):
        return None
    first, last = int(seen[0]), int(seen[-1])
    most = clamped / 2 * float(counts.cells[first : last + 1].sum())
    low, high = counts.cells[first : last + 1].cumsum(), counts.cells[last : first - 1 if first else None : -1].cumsum()
    below, above = int(np.argmax(low > most)), int(np.argmax(high > most))
    return (first + below, last - above) if first + below <= last - above else (first, last)


def _lines(counts: Counts, first: int, last: int) -> list[Reals]:
    """All below a range, each of its cells, and all above it."""
    eye = np.eye(len(counts.cells))
    if first > last:
        return [np.ones_like(counts.cells)]
    below, above = eye[:first].sum(axis=0), eye[last + 1 :].sum(axis=0)
    return [line for line in (below, *eye[first : last + 1], above) if line.any()]


def _together(cells: Sequence[Range]) -> str:
    low, high = cells[0].low, cells[-1].high
    return "all" if low is None and high is None else str(Range(low, high))


def _declare(type: Type, low: Bound, high: Bound, like: Declared | None) -> Declared:
    """Bounds as a declaration. 0 is a bound where it widens the range by a tenth or little more; bounds of numbers are moved
    outwards to multiples of the step that suits their range."""
    if isinstance(low, datetime.date):
        assert isinstance(high, datetime.date)
        return Date(low, high, format=like.format if isinstance(like, Date) else None)
    assert not isinstance(high, datetime.date)
    if 0 < 10 * low <= high:
        low = 0
    if 0 < -10 * high <= -low:
        high = 0
    if low == high:
        high = low + 1
    decimal = like.decimal if isinstance(like, Integer | Numbers) else "."
    if type == "integer":
        return Integer(int(low), int(high), decimal=decimal)
    step = default_step(Fraction(low), Fraction(high))
    return number(math.floor(low / step) * step, math.ceil(high / step) * step, decimal=decimal)


def write_column(column: Declared) -> str:
    """Bounds as their owner writes them.

    >>> write_column(number(0, 500_000)), write_column(Date(datetime.date(2020, 1, 1), datetime.date(2025, 12, 31)))
    ('dp.number(0, 500_000)', 'dp.date("2020-01-01", "2025-12-31")')
    """
    if isinstance(column, Date):
        more = f', format="{column.format}"' if column.format else ""
        return f'dp.date("{column.lower}", "{column.upper}"{more})'
    assert isinstance(column, Integer | Numbers)
    ends = ", ".join(f"{int(end):_}" if end == int(end) else repr(float(end)) for end in (column.lower, column.upper))
    more = ', decimal=","' if column.decimal == "," else ""
    return f"dp.{_TYPES[column.__class__]}({ends}{more})"


@dataclass(frozen=True, repr=False)
class Bounds(Advice):
    """How the values of a column are spread, and the declaration that this suggests: None where too little is seen."""

    suggested: Declared | None
