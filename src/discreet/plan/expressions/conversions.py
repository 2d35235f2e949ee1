"""Casts: numbers and days that are written in texts, and whole numbers as texts.

What a text means is fixed here, and not by the engine: a number is digits, perhaps with a minus before them and a point between
them, at most 15 on either side, with spaces around it; a day is 2026-01-31. Everything else is missing, so no row can fail. A
decimal of so few digits has one nearest double, which every engine finds.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Callable, Sequence
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.plan.expressions.facts import Facts, Operation, common_step

WHOLE_FORM, NUMBER_FORM, DAY_FORM = r"-?[0-9]{1,15}", r"-?[0-9]{1,15}([.][0-9]{1,15})?", r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_EXACT = 2**53  # whole numbers up to this are doubles
_LISTED = 2**12


def _number(form: str) -> Callable[[str], float | None]:
    pattern = re.compile(form, re.ASCII)

    def read(text: str) -> float | None:
        found = pattern.fullmatch(text.strip(" "))
        return None if found is None else float(found[0]) + 0.0

    return read


def _number_facts(form: str, step: Fraction | None) -> Callable[[Sequence[Facts]], Facts]:
    """Of a category, the numbers that its words are; of other texts, nothing but that they are whole."""

    def rule(arguments: Sequence[Facts]) -> Facts:
        words = arguments[0].values
        if words is None:
            return Facts("number", True, step=step)
        found = sorted({Fraction(str(word).strip(" ")) for word in words if re.fullmatch(form, str(word).strip(" "))})
        if not found:
            raise ParameterError("None of these texts is a number, so that all would be missing; cast a column of numbers.")
        grid = common_step([Facts("number", step=Fraction(1, one.denominator)) for one in found])
        plain = tuple(int(one) if one.denominator == 1 else one for one in found)
        return Facts("number", True, found[0], found[-1], grid, plain)

    return rule


def _day(text: str) -> datetime.date | None:
    try:
        return datetime.date.fromisoformat(text) if re.fullmatch(DAY_FORM, text, re.ASCII) else None
    except ValueError:
        return None


def _day_facts(_: Sequence[Facts]) -> Facts:
    first, last = (Fraction(day.toordinal()) for day in (datetime.date.min, datetime.date.max))
    return Facts("date", True, first, last, Fraction(1))


def _text_facts(arguments: Sequence[Facts]) -> Facts:
    (number,) = arguments
    whole = number.step is not None and number.step.denominator == 1
    if not whole or number.lower is None or number.upper is None or max(abs(number.lower), abs(number.upper)) > _EXACT:
        raise ParameterError(
            "Only whole numbers with bounds are written as texts: systems write others differently; write CAST(round(x) AS TEXT)."
        )
    listed = number.listed() if (number.size or _LISTED + 1) <= _LISTED else None
    texts: tuple[Value, ...] | None = None if listed is None else tuple(str(int(value)) for value in listed)  # type: ignore[arg-type]
    length = max(len(str(int(number.lower))), len(str(int(number.upper))))
    return Facts("text", False, values=texts, length=length)


CONVERSIONS = (
    Operation("try_number", 1, 1, ("text",), _number(NUMBER_FORM), _number_facts(NUMBER_FORM, None), written=3),
    Operation("try_whole", 1, 1, ("text",), _number(WHOLE_FORM), _number_facts(WHOLE_FORM, Fraction(1)), written=3),
    Operation("try_date", 1, 1, ("text",), _day, _day_facts, written=4),
    Operation("as_text", 1, 1, ("number",), lambda number: str(math.floor(number + 0.5)), _text_facts, written=3),
)
