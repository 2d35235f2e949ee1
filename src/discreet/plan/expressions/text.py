"""Operations on texts and dates, and bins of numbers.

Characters are counted as Unicode code points. ``lower`` and ``upper`` agree on every engine for ASCII letters; elsewhere they are
the engine's, and nothing that depends on them is listed in advance. Weekdays are 1 (Monday) to 7.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.plan.expressions import Literal
from discreet.plan.expressions.facts import TRUTH, Facts, Operation, Takes, number_facts

__all__ = ["WORDS", "labels"]

_MOST = 10**6  # characters that a literal position may name


def _made(length: int) -> Facts:
    return Facts("text", False, length=length)


def _changed(times: int) -> Callable[[Sequence[Facts]], Facts]:
    """A text that is so many times as long at most: one letter may become three in another case, as in some engines."""
    return lambda arguments: _made(times * (arguments[0].length or 0))


def _joined(arguments: Sequence[Facts]) -> Facts:
    return _made(sum(argument.length or 0 for argument in arguments))


def _positions(arguments: Sequence[Facts]) -> Facts:
    value: object = 0
    for i, fact in enumerate(arguments[1:]):
        least = 1 if i == 0 and len(arguments) == 3 else 0
        value = fact.values[0] if fact.values else None
        if type(value) is not int or not least <= value <= _MOST:
            raise ParameterError(
                f"A position in a text is a whole number from {least} to a million; write substring(name, 1, 3)."
            )
    assert isinstance(value, int)
    return _made(min(arguments[0].length or 0, value))  # the last position is how many characters are kept


def _substring(text: str, start: float, length: float) -> str:
    return text[int(start) - 1 : int(start) - 1 + int(length)]


def _right(text: str, length: float) -> str:
    return text[max(0, len(text) - int(length)) :]


def _length(arguments: Sequence[Facts]) -> Facts:
    return number_facts(Fraction(0), Fraction(arguments[0].length or 0), Fraction(1))


def _concat_skipping(*texts: str | None) -> str:
    return "".join(text for text in texts if text is not None)


def _part(lower: int, upper: int) -> Callable[[Sequence[Facts]], Facts]:
    return lambda _: number_facts(Fraction(lower), Fraction(upper), Fraction(1))


def _year(arguments: Sequence[Facts]) -> Facts:
    (day,) = arguments
    first, last = (None if x is None else Fraction(datetime.date.fromordinal(int(x)).year) for x in (day.lower, day.upper))
    return number_facts(first, last, Fraction(1))


def _days(arguments: Sequence[Facts]) -> Facts:
    a, b = arguments
    lower = None if a.lower is None or b.upper is None else a.lower - b.upper
    upper = None if a.upper is None or b.lower is None else a.upper - b.lower
    return number_facts(lower, upper, Fraction(1))


def labels(edges: Sequence[float | Fraction]) -> tuple[str, ...]:
    """The names of the bins between these edges, which are doubles to every engine.

    >>> labels((18, 40, Fraction("65.5")))
    ('[18, 40)', '[40, 65.5]')
    """
    exact = [Fraction(repr(float(edge))) for edge in edges]
    shown = [str(Literal(int(edge) if edge.denominator == 1 else edge)) for edge in exact]
    last = len(edges) - 2
    return tuple(f"[{shown[i]}, {shown[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


def _bin(value: float, *edges: float) -> str | None:
    for i, label in enumerate(labels(edges)):
        if edges[i] <= value < edges[i + 1] or (i == len(edges) - 2 and value == edges[-1]):
            return label
    return None


def _bin_facts(arguments: Sequence[Facts]) -> Facts:
    value, edges = arguments[0], [fact.lower for fact in arguments[1:] if fact.lower is not None]
    doubles = [float(edge) for edge in edges]
    if any(not a < b for a, b in pairwise(doubles)):
        raise ParameterError("The edges of bins must increase; write bin(age, 0, 18, 65, 120).")
    inside = value.lower is not None and value.upper is not None and edges[0] <= value.lower and value.upper <= edges[-1]
    names = labels(doubles)
    return Facts("text", not inside, values=names, length=max(map(len, names)))


_DAY: Takes = ("date",)

WORDS = (
    Operation("lower", 1, 1, ("text",), str.lower, _changed(2)),
    Operation("upper", 1, 1, ("text",), str.upper, _changed(3)),
    Operation("trim", 1, 1, ("text",), lambda text: text.strip(" "), _changed(1)),
    Operation("length", 1, 1, ("text",), lambda text: float(len(text)), _length),
    Operation("substring", 3, 3, ("text", "number"), _substring, _positions, constant=1),
    Operation("left", 2, 2, ("text", "number"), lambda text, length: text[: int(length)], _positions, constant=1),
    Operation("right", 2, 2, ("text", "number"), _right, _positions, constant=1),
    Operation("concat", 2, None, ("text",), _concat_skipping, _joined, strict=False),
    Operation("||", 2, 2, ("text",), lambda a, b: a + b, _joined),
    Operation("starts_with", 2, 2, ("text",), str.startswith, lambda _: TRUTH),
    Operation("contains", 2, 2, ("text",), lambda text, part: part in text, lambda _: TRUTH),
    Operation("year", 1, 1, _DAY, lambda day: float(day.year), _year),
    Operation("quarter", 1, 1, _DAY, lambda day: float((day.month + 2) // 3), _part(1, 4)),
    Operation("month", 1, 1, _DAY, lambda day: float(day.month), _part(1, 12)),
    Operation("day", 1, 1, _DAY, lambda day: float(day.day), _part(1, 31)),
    Operation("weekday", 1, 1, _DAY, lambda day: float(day.isoweekday()), _part(1, 7)),
    Operation("dayofyear", 1, 1, _DAY, lambda day: float(day.timetuple().tm_yday), _part(1, 366)),
    Operation("days", 2, 2, _DAY, lambda a, b: float((a - b).days), _days),
    Operation("bin", 3, None, ("number",), _bin, _bin_facts, constant=1),
)
