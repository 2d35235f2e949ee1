"""What a table of an answer shows, whether as text or as HTML: headers, rounded cells, and a few lines below."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.plan.display import decimals, figure, label

if TYPE_CHECKING:
    from discreet.curator.answer import Answer, Column

__all__ = ["cells", "left_of", "notes", "shown_rows"]

_MOST, _FIRST, _LAST = 30, 20, 5  # rows of a table; of a longer one, so many at its ends
_PARTS = 6


def shown_rows(count: int) -> tuple[list[int], int, int]:
    """The rows to show, before which of them some are left out, and how many.

    >>> shown_rows(3), shown_rows(1000)[1:]
    (([0, 1, 2], 3, 0), (20, 975))
    """
    if count <= _MOST:
        return list(range(count)), count, 0
    return [*range(_FIRST), *range(count - _LAST, count)], _FIRST, count - _FIRST - _LAST


def cells(answer: Answer, rows: list[int]) -> tuple[list[str], list[list[str]], str]:
    """Headers, texts of these rows, and how columns are aligned."""
    headers, align = [], ""
    columns: list[list[str]] = []
    for name, values in answer.keys.items():
        headers.append(name)
        columns.append([label(values[i]) for i in rows])
        align += ">" if values and all(isinstance(values[i], (int, float, Fraction)) for i in rows) else "<"
    for name, column in answer.outputs.items():
        headers.append(name)
        columns.append([_value(column, i) for i in rows])
        align += "<" if column.lower is None and any(isinstance(value, str) for value in column.values) else ">"
        if column.lower is not None:
            headers.append("± (95 %)")
            columns.append([_interval(column, i) for i in rows])
            align += "<"
    return headers, [list(row) for row in zip(*columns, strict=True)], align


def notes(answer: Answer) -> list[str]:
    """How it was made, what it cost, what is left."""
    parts = [f"{what}: {how}" for what, how in answer.parts[:_PARTS]]
    more = len(answer.parts) - len(parts)
    lines = ["; ".join(parts) + (f"; and {more} more" if more > 0 else "") + "."] if parts else []
    price = f"Cost {answer.cost}" if not answer.repeated else f"Asked before ({answer.cost}): this repeat was free"
    left = left_of(answer)
    lines.append(f"{price}; {left}." if left else f"{price}.")
    if any(column.lower is not None for column in answer.outputs.values()):
        lines.append("Intervals cover the statistic after clamping and bounding, 95 % of the time.")
    return list(dict.fromkeys([*lines, *answer.remarks]))


def left_of(answer: Answer) -> str:
    """What is left of the budget, in a few words."""
    return answer.left if isinstance(answer.left, str) else answer.left.brief


def _half(column: Column, i: int) -> float | None:
    """Half of an interval, or about as much from the standard error."""
    if column.lower is not None and column.upper is not None:
        return (column.upper[i] - column.lower[i]) / 2
    return None if column.errors is None else 2 * column.errors[i]


def _value(column: Column, i: int) -> str:
    value, half = column.values[i], _half(column, i)
    if half is None or isinstance(value, (bool, str)) or not isinstance(value, (int, float)):
        return label(value)
    return figure(value, _places(column, i, half))


def _interval(column: Column, i: int) -> str:
    """± half of it where the value is in the middle; else both ends."""
    assert column.lower is not None
    assert column.upper is not None
    value, lower, upper = column.values[i], column.lower[i], column.upper[i]
    half = (upper - lower) / 2
    places = _places(column, i, half)
    numeric = isinstance(value, (int, float)) and math.isfinite(half)
    if numeric and abs((lower + upper) / 2 - value) <= 0.05 * half:  # type: ignore[operator]
        return f"± {figure(_up(half, places), places)}"
    return f"{figure(lower, places)} … {figure(upper, places)}"


def _places(column: Column, i: int, half: float) -> int | None:
    """Decimals that mean something; none where the value and its interval are whole, as medians of whole numbers are."""
    ends = () if column.lower is None or column.upper is None else (column.lower[i], column.upper[i])
    whole = bool(ends) and all(isinstance(x, (int, float)) and float(x).is_integer() for x in (column.values[i], *ends))
    return 0 if whole else decimals(half)


def _up(half: float, places: int | None) -> float:
    """Rounded so that what is shown covers no less than what is meant."""
    if places is None:
        return half
    scale = 10.0**places
    return math.ceil(half * scale * (1 - 1e-9)) / scale
