"""What a raw cell becomes, whatever engine reads it: the rules once, and the SQL of each as an engine writes it.

An engine says how it writes a whole number within bounds, a number on its grid, a truth value, a day and a text (``Cells``).
Which of them a declared column is, what is missing, and which shapes written numbers and days have, is said here.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from discreet.engine.sql.dialect import text_literal
from discreet.errors import ParameterError
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text, day_parts

EXACT = 2**53  # whole numbers below this are doubles
HALVES = 2**52  # below this, adding a half to a double is exact enough: above it, doubles are whole already
LONG_ID = 64  # bytes of an id that is compared as it is
TRUE, FALSE = "'true', 't', 'yes', 'y', '1'", "'false', 'f', 'no', 'n', '0'"
GROUPING = " '\u2019\u00a0\u202f"  # spaces, one of them thin, that do not break a line, and both apostrophes
MONTHS: tuple[str, ...] = ("january", "february", "march", "april", "may", "june", "july")
MONTHS += ("august", "september", "october", "november", "december")


@dataclass(frozen=True)
class Cells:
    """How one engine writes what cells become: SQL from the SQL and the type of a raw cell.

    Whole numbers and whole-number categories are BIGINT, numbers are BIGINT multiples of their step, and there are texts,
    BOOLEAN and DATE. A missing value is what the column's ``missing`` says, else NULL.
    """

    double: str  # the name of the type of doubles
    whole: Callable[..., str]  # (raw, type, low, high, clamp=, missing=, decimal=): between bounds, a fraction is missing
    on_grid: Callable[..., str]  # (raw, type, column, type of the result, missing): multiples of its step
    truth: Callable[[str, str], str]
    day: Callable[[Date, str, str], str]  # clamped
    cut: Callable[[Text, str, str], str]  # to the length that is declared
    word: Callable[[Category, str, str], str]  # a text that may be listed: one longer than all words need not be carried along
    literal: Callable[[object], str]
    can_hold: Callable[[object], bool] = lambda _: True  # whether a text can be in a table at all

    def clean(self, column: Column, raw: str, raw_type: str, *, doubles: bool = False) -> str:
        """A declared column's value. ``doubles``: a number column's multiples as doubles, the same whole numbers."""
        if isinstance(column, Integer):
            bounds, spelling = (column.lower, column.upper), column.decimal
            return self.whole(raw, raw_type, *bounds, clamp=True, missing=column.missing, decimal=spelling)
        if isinstance(column, Number):
            missing = None if column.missing is None else units_of(column.missing, column)
            return self.on_grid(raw, raw_type, column, self.double if doubles else "BIGINT", missing)
        value = self.clean_key(column, raw, raw_type)
        if isinstance(column, Category):
            words = [self.literal(word) for word in column.values if self.can_hold(word)]
            value = f"CASE WHEN {value} IN ({', '.join(words) or 'NULL'}) THEN {value} END"
        if column.missing is None:
            return value
        if not self.can_hold(column.missing):
            raise ParameterError("PostgreSQL has no texts with the character NUL; write another text for what is missing.")
        return f"COALESCE({value}, {self.literal(column.missing)})"

    def clean_key(self, column: Column, raw: str, raw_type: str) -> str:
        """The same before ``missing`` is filled in, and for a category before its list is asked: a join with the list does
        that."""
        if isinstance(column, Integer):
            return self.whole(raw, raw_type, column.lower, column.upper, clamp=True, decimal=column.decimal)
        if isinstance(column, Number):
            return self.on_grid(raw, raw_type, column)
        if isinstance(column, Category) and column.kind == "number":
            numbers = [int(value) for value in column.values]
            return self.whole(raw, raw_type, min(numbers), max(numbers), clamp=False)
        if isinstance(column, Boolean):
            return self.truth(raw, raw_type)
        if isinstance(column, Date):
            return self.day(column, raw, raw_type)
        return self.cut(column, raw, raw_type) if isinstance(column, Text) else self.word(column, raw, raw_type)


@dataclass(frozen=True)
class Fates:
    """What becomes of a number that is not within bounds: of what is no number (``nothing``, and ``end`` after all other
    branches of a CASE), of one below and one above, and of true (``one``) and false (``zero``)."""

    nothing: str
    end: str
    below: str
    above: str
    one: str
    zero: str

    @classmethod
    def of(cls, low: int, high: int, missing: int | None, *, clamp: bool) -> Fates:
        nothing, end = ("NULL", "END") if missing is None else (str(missing), f"ELSE {missing} END")
        below, above = (str(low), str(high)) if clamp else ("NULL", "NULL")
        one, zero = (below if number < low else above if number > high else str(number) for number in (1, 0))
        return cls(nothing, end, below, above, one, zero)


def literal(value: object, of_text: Callable[[str], str] = text_literal) -> str:
    """A public value as SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return of_text(value) if isinstance(value, str) else str(value)


def clamped_day(day: str, column: Date) -> str:
    """A day within the bounds of its column."""
    low, high = literal(column.lower), literal(column.upper)
    return f"CASE WHEN {day} < {low} THEN {low} WHEN {day} > {high} THEN {high} ELSE {day} END"


def units_of(value: Fraction, column: Number) -> int:
    """A public number in multiples of a column's step, within its bounds."""
    near = floor(value / column.step + Fraction(1, 2))
    return min(max(near, int(column.lower / column.step)), int(column.upper / column.step))


def factor_of(step: Fraction) -> float | None:
    """What a cell is multiplied by to be counted in steps; None where the step's parts are doubles, by which it is multiplied
    and divided."""
    if max(step.numerator, step.denominator) <= EXACT:
        return None
    try:
        factor = float(1 / step)
    except OverflowError:
        factor = 0.0
    if not factor:
        raise ParameterError("The step of a number column is too fine or too coarse for the engine; write a step such as 0.01.")
    return factor


def number_shape(decimal: str) -> tuple[str, str]:
    """The shape of a written number that is not one as it stands, without blanks around it, and the signs that group its digits:
    with a decimal point one with groups, with a decimal comma any."""
    signs = GROUPING + ("," if decimal == "." else ".")
    grouped = "|".join(f"(?:[{sign}][0-9]{{3}})+" for sign in signs)
    whole, exponent = f"[1-9][0-9]{{0,2}}(?:{grouped})", "(?:[eE][+-]?[0-9]+)?"
    if decimal == ".":
        return f"[+-]?{whole}(?:[.][0-9]*)?{exponent}", signs
    return f"[+-]?(?:(?:[0-9]+|{whole})(?:,[0-9]*)?|,[0-9]+){exponent}", signs


def day_shape(format: str) -> str:
    """The shape of a day that is written in this format, every part in brackets, without blanks around it."""
    parts = day_parts(format)
    return "".join(_shape(part, alone=not _touches(parts, i)) for i, part in enumerate(parts))


def _shape(part: str, *, alone: bool) -> str:
    match part:
        case "%Y":
            return "([0-9]{4})"
        case "%b":
            return f"({'|'.join(_in_any_case(month[:3]) for month in MONTHS)})"
        case "%B":
            return f"({'|'.join(map(_in_any_case, MONTHS))})"
        case _ if part[0] == "%":
            return "([0-9]{1,2})" if alone else "([0-9]{2})"
    return f"[{part}]"


def _in_any_case(name: str) -> str:
    return "".join(f"[{sign}{sign.upper()}]" for sign in name)


def _touches(parts: tuple[str, ...], i: int) -> bool:
    """Whether a number stands beside another one, so that only its number of digits tells where it ends."""
    return any(part[0] == "%" and part not in ("%b", "%B") for part in (*parts[max(i - 1, 0) : i], *parts[i + 1 : i + 2]))


def parts_of_day(format: str, place: Callable[[int], str], number: Callable[[str], str]) -> dict[str, str]:
    """The parts of a day that is written in this format, by their codes: what stands in the ``place`` of each, numbers read as
    such; a name of a month stays a text."""
    codes = [part for part in day_parts(format) if part[0] == "%"]
    at = {code: place(i) for i, code in enumerate(codes, 1)}
    return {code: found if code in ("%b", "%B") else number(found) for code, found in at.items()}


def clock_tests(parts: dict[str, str]) -> list[str]:
    """What holds of the parts of a time of day, where there are any."""
    return [f"{parts[code]} < {most}" for code, most in (("%H", 24), ("%M", 60), ("%S", 60)) if code in parts]
