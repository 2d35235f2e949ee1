"""Cells at their worst: for every declared column, what a table of made-up people should contain.

Tables hold a column in the type its owner happens to have, so everything is tried as it was declared, as doubles (with what
doubles can say: NaN, infinities, -0.0) and as text.

>>> from discreet.schema.columns import integer
>>> strange(integer(0, 120), "declared")[:4]
[0, 120, -1, 121]
"""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Literal

from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text

__all__ = ["STORAGES", "Storage", "naming", "ordinary", "strange", "type_name"]

Storage = Literal["declared", "doubles", "text"]
STORAGES: tuple[Storage, ...] = ("declared", "doubles", "text")

_LONG, _EXACT = 2**63, 2**53
_WORDS = ("Zorblax", "", " ", "\N{SLIGHTLY SMILING FACE}" * 3, "e\u0301", "a\0b", "'; DROP TABLE data; --", "x" * 10_000)
_NUMERALS = ("1e308", "-inf", "NaN", f"{_EXACT + 1}", f"{_LONG}", "-0.0", " 7 ", "0x10", "2026-02-30", "9" * 4000, *_WORDS[:4])


def type_name(column: Column, storage: Storage) -> str:
    """Arrow's name for the type of a column."""
    if storage == "text" or column.kind == "text":
        return "string"
    match column:
        case Date():
            return "date32" if storage == "declared" else "timestamp[us]"
        case Boolean():
            return "bool" if storage == "declared" else "int64"
        case Number():
            return "double"
    return "int64" if storage == "declared" else "double"


def naming(column: Column) -> bool:
    """Whether its values name groups of people, rather than measure anything."""
    return isinstance(column, (Category, Boolean, Text))


def ordinary(column: Column, storage: Storage) -> list[object]:
    """The least and the largest value, and one between; all values of a short list."""
    match column:
        case Text():
            return ["Oslo", "Bergen", "Roma"]
        case Category():
            return [_stored(value, column, storage) for value in column.values[:20]]
        case Boolean():
            return [_stored(value, column, storage) for value in (False, True)]
        case Date():
            noon = column.lower + (column.upper - column.lower) // 2
            return [_stored(day, column, storage) for day in (column.lower, column.upper, noon)]
    middle = column.lower + (column.upper - column.lower) / column.step // 2 * column.step
    return [_stored(number, column, storage) for number in (column.lower, column.upper, middle)]


def strange(column: Column, storage: Storage) -> list[object]:
    """The bounds, and whatever lies beyond them or is no such value at all."""
    cells = ordinary(column, storage)[:2]
    kind = type_name(column, storage)
    if kind == "string":
        cells += _WORDS if column.kind == "text" else _NUMERALS
        cells += [str(cell).upper() for cell in cells[:1]]
    elif kind == "double":
        low, high = (float(bound) for bound in _bounds(column))
        cells += [math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan, math.inf, -math.inf]
        cells += [-0.0, 1e308, -1e308, float(_EXACT + 2), 5e-324, low + (high - low) / 3]
    elif kind == "int64":
        low, high = (int(bound) for bound in _bounds(column))
        cells += [max(low - 1, -_LONG), min(high + 1, _LONG - 1), 0, _EXACT + 1, _LONG - 1, -_LONG]
    elif kind == "date32":
        cells += [datetime.date.min, datetime.date.max]
    elif kind == "timestamp[us]":
        cells += [datetime.datetime.min, datetime.datetime.max, datetime.datetime(2026, 1, 1, 23, 59, 59, 999_999)]
    return [*cells, None]


def _bounds(column: Column) -> tuple[Fraction | int, Fraction | int]:
    if isinstance(column, (Integer, Number)):
        return column.lower, column.upper
    if isinstance(column, Category):
        numbers = [value for value in column.values if isinstance(value, int)]
        return min(numbers), max(numbers)
    return 0, 1  # a truth value


def _stored(value: object, column: Column, storage: Storage) -> object:
    """A value as a table of this kind holds it."""
    if storage == "text" and isinstance(value, datetime.date):
        return value.isoformat()
    if storage == "text" and isinstance(value, Fraction):
        return str(float(value)) if value.denominator > 1 else str(value.numerator)
    match type_name(column, storage):
        case "string":
            return str(value)
        case "double":
            return float(value)  # type: ignore[arg-type]
        case "int64":
            return int(value)  # type: ignore[call-overload]
        case "timestamp[us]":
            return datetime.datetime.combine(value, datetime.time())  # type: ignore[arg-type]
    return value
