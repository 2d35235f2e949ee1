"""Public facts about columns: what type a value has, between which bounds, on which grid, from which list.

Facts come from whoever owns the data, never from the data. A value outside its type or its list is *missing*; a number or a date
outside its bounds is *clamped*; a missing value stays missing unless the column says what it becomes (``missing=``).

>>> debt = number(0, 10_000_000, step=0.01)
>>> debt.lower, debt.upper, debt.step
(Fraction(0, 1), Fraction(10000000, 1), Fraction(1, 100))
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, rational, shown, whole

Kind = Literal["number", "text", "boolean", "date"]

_EXACT = 2**53  # a grid's numbers are whole doubles, so that no engine rounds them
_LONG = 2**63
_LENGTH = 1000  # characters of a text, unless declared
_LONGEST = 2**14
_CODES = re.compile(r"%[dmYbBHMS]|[-./,: T]")
_FORMAT = (
    "write %d, %Y and one of %m, %b and %B (the month in English, short or in full), %H, %M and %S where there is a time, and "
    'between them signs out of . , / - : T and spaces: "%d.%m.%Y".'
)


@dataclass(frozen=True)
class Integer:
    """Whole numbers between two bounds."""

    lower: int
    upper: int
    missing: int | None = None
    decimal: str = "."
    kind: ClassVar[Kind] = "number"
    step: ClassVar[Fraction] = Fraction(1)

    def __post_init__(self) -> None:
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if type(bound) is not int or not -_LONG < bound < _LONG:
                raise ParameterError(
                    f"The {name} bound of an integer column must be a whole number below 2^63 in size, not {_quote(bound)}; "
                    "write integer(0, 120), or number(lower, upper, step=...) for fractions."
                )
        _check_order(self.lower, self.upper)
        _check_decimal_sign(self.decimal)
        if self.missing is not None and (type(self.missing) is not int or not self.lower <= self.missing <= self.upper):
            raise ParameterError(f"missing={shown(self.missing)} must be a whole number within the bounds.")


@dataclass(frozen=True)
class Number:
    """Numbers between two bounds, rounded to multiples of a step."""

    lower: Fraction
    upper: Fraction
    step: Fraction
    missing: Fraction | None = None
    decimal: str = "."
    kind: ClassVar[Kind] = "number"

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)
        _check_decimal_sign(self.decimal)
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if (bound / self.step).denominator != 1:
                raise ParameterError(
                    f"The {name} bound {shown(float(bound))} is no multiple of the step {shown(float(self.step))}; "
                    "write bounds that are, or a finer step."
                )
            if abs(bound / self.step) > _EXACT:
                raise ParameterError(
                    f"Between {shown(float(self.lower))} and {shown(float(self.upper))} there are more than 2^53 steps of "
                    f"{shown(float(self.step))}; write a coarser step."
                )
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise ParameterError(f"missing={shown(self.missing)} must lie within the bounds.")


@dataclass(frozen=True)
class Category:
    """One of a public list of words, or of whole numbers."""

    values: tuple[str, ...] | tuple[int, ...]
    missing: str | int | None = None

    def __post_init__(self) -> None:
        words = all(isinstance(value, str) for value in self.values)
        if not self.values or not (words or all(type(value) is int and abs(value) < _LONG for value in self.values)):
            raise ParameterError('A category is a list of words, or of whole numbers; write category("yes", "no").')
        if len(set(self.values)) < len(self.values):
            raise ParameterError("A category lists a value twice; write each value once.")
        if self.missing is not None and self.missing not in self.values:
            raise ParameterError(f"missing={shown(self.missing)} must be one of the listed values; add it to the list.")

    @property
    def kind(self) -> Kind:
        return "text" if isinstance(self.values[0], str) else "number"

    @cached_property
    def length(self) -> int:
        """The characters of the longest word; 0 for numbers."""
        return max(len(value) if isinstance(value, str) else 0 for value in self.values)


@dataclass(frozen=True)
class Boolean:
    """True or false."""

    missing: bool | None = None
    kind: ClassVar[Kind] = "boolean"

    def __post_init__(self) -> None:
        if self.missing is not None and not isinstance(self.missing, bool):
            raise ParameterError("What a missing truth value becomes must be True or False; write boolean(missing=False).")


@dataclass(frozen=True)
class Date:
    """Days of the calendar between two bounds, without a time zone."""

    lower: datetime.date
    upper: datetime.date
    missing: datetime.date | None = None
    format: str | None = None
    kind: ClassVar[Kind] = "date"

    def __post_init__(self) -> None:
        _check_order(self.lower, self.upper)
        if self.format is not None:
            day_parts(self.format)
        if self.missing is not None and not self.lower <= self.missing <= self.upper:
            raise ParameterError(f"missing={self.missing} must lie within the bounds.")


@dataclass(frozen=True, repr=False)
class Text:
    """Any text, cut off after ``length`` characters: may be compared and searched, and grouped by through private key selection.

    The length is public, so that what is made of a text is of bounded size, and no row can make a question fail by its length.
    """

    missing: str | None = None
    length: int = _LENGTH
    kind: ClassVar[Kind] = "text"

    def __post_init__(self) -> None:
        if whole("length", self.length) > _LONGEST:
            raise ParameterError(
                f"length={shown(self.length)} is more than {_LONGEST:,} characters, the longest that a text is read; "
                "write text(length=1000)."
            )
        if self.missing is not None and not isinstance(self.missing, str):
            raise ParameterError('What a missing text becomes must be a text; write text(missing="unknown").')
        if self.missing is not None and len(self.missing) > self.length:
            raise ParameterError(f"missing= is longer than the {self.length} characters of a text; write a longer length=.")

    def __repr__(self) -> str:
        more = "" if self.length == _LENGTH else f", length={self.length}"  # what ledgers of older versions keep means the same
        return f"Text(missing={self.missing!r}{more})"


Column = Integer | Number | Category | Boolean | Date | Text


@called_as("0, 120")
def integer(lower: int, upper: int, *, missing: int | None = None, decimal: str = ".") -> Integer:
    """Whole numbers from ``lower`` to ``upper``; others are clamped, fractions are missing. ``decimal``: as for numbers."""
    return Integer(lower, upper, missing, decimal)


@called_as("0, 10_000, step=0.01")
def number(
    lower: object, upper: object, *, step: object | None = None, missing: object | None = None, decimal: str = "."
) -> Number:
    """Numbers from ``lower`` to ``upper``, rounded to multiples of ``step``.

    Unless told, the step is the power of ten that cuts the range into a million steps or somewhat more, finer if a bound needs
    it. ``decimal`` is the decimal sign of numbers that are texts: ``","`` for 1.100,50 and ``"."`` for 1,100.50. The other sign,
    spaces and apostrophes may group digits by threes.

    >>> number(0, 1).step
    Fraction(1, 1000000)
    """
    low, high = rational("lower", lower), rational("upper", upper)
    if step is not None:
        fine = positive("step", step, "the finest difference that matters, such as 0.01")
    else:
        _check_order(low, high)
        fine = default_step(low, high)
        while any((bound / fine).denominator != 1 and abs(bound / fine) < _EXACT for bound in (low, high)):
            fine /= 10
    return Number(low, high, fine, None if missing is None else rational("missing", missing), decimal)


@called_as('"yes", "no"')
def category(*values: str | int | Sequence[str] | Sequence[int], missing: str | int | None = None) -> Category:
    """One of these values; anything else is missing. They may also be given as one list.

    >>> category("yes", "no") == category(["yes", "no"])
    True
    """
    only = values[0] if len(values) == 1 else None
    return Category(tuple(only) if isinstance(only, (list, tuple)) else values, missing)  # type: ignore[arg-type]


@called_as("")
def boolean(*, missing: bool | None = None) -> Boolean:
    """True or false (also yes/no, y/n, t/f, 1/0); anything else is missing."""
    return Boolean(missing)


@called_as('"2020-01-01", "2026-12-31"')
def date(lower: object, upper: object, *, missing: object | None = None, format: str | None = None) -> Date:
    """Days from ``lower`` to ``upper``, given as dates or as ``"2026-01-31"``; others are clamped.

    ``format`` is how days are written that are texts, unless as 2026-01-31: ``"%d.%m.%Y"``.

    >>> date("2020-01-01", "2026-12-31", format="%m/%d/%Y").upper
    datetime.date(2026, 12, 31)
    """
    return Date(_day("lower", lower), _day("upper", upper), None if missing is None else _day("missing", missing), format)


@called_as("")
def text(*, missing: str | None = None, length: int = _LENGTH) -> Text:
    """Any text; what is longer than ``length`` characters is cut off there.

    >>> text(length=80)
    Text(missing=None, length=80)
    """
    return Text(missing, length)


def _check_order(lower: object, upper: object) -> None:
    if not lower < upper:  # type: ignore[operator]
        raise ParameterError(
            f"The lower bound {shown(_plain(lower))} is not below the upper, {shown(_plain(upper))}; write bounds that differ."
        )


def _check_decimal_sign(sign: object) -> None:
    if sign not in (".", ","):
        raise ParameterError(f'decimal={shown(sign)} must be "." or ","; write decimal="," if 1,5 is one and a half.')


def _quote(value: object) -> str:
    return repr(value[:50]) if isinstance(value, str) else shown(value)  # so that '0' is not taken for 0


def _plain(bound: object) -> object:
    return float(bound) if isinstance(bound, Fraction) and abs(bound) < 10**300 else bound


def _day(name: str, value: object) -> datetime.date:
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    try:
        return datetime.date.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ParameterError(f'{name} must be a day, not {shown(value)}; write "2026-01-31" or a datetime.date.') from None


def day_parts(format: object) -> tuple[str, ...]:
    """The codes and signs of a format of days, in order; it must name one day, in one way.

    Days that are texts are written in a few of the codes of ``strptime``, with signs between them. Every code that is not listed
    is refused at birth: a format becomes part of the engine's own language.

    >>> day_parts("%d.%m.%Y")
    ('%d', '.', '%m', '.', '%Y')
    """
    if not isinstance(format, str):
        raise ParameterError(f"format={shown(format)} is no text; {_FORMAT}")
    if "%y" in format:
        raise ParameterError(f"format={shown(format)} has years of two digits, which do not say their century; {_FORMAT}")
    parts = tuple(_CODES.findall(format))
    if "".join(parts) != format or format != format.strip():
        raise ParameterError(f"format={shown(format)} has a code or a sign that is not read; {_FORMAT}")
    codes = [part for part in parts if part[0] == "%"]
    months = [code for code in codes if code in ("%m", "%b", "%B")]
    if len(set(codes)) < len(codes) or len(months) != 1 or not {"%d", "%Y"} <= set(codes):
        raise ParameterError(f"format={shown(format)} does not name day, month and year once each; {_FORMAT}")
    return parts


def default_step(lower: Fraction, upper: Fraction) -> Fraction:
    """The power of ten that cuts a range into a million steps or somewhat more."""
    size = upper - lower if upper > lower else max(abs(upper), Fraction(1))
    step, millionth = Fraction(1), size / 10**6
    while step > millionth:
        step /= 10
    while step * 10 <= millionth:
        step *= 10
    return step
