"""Operations on dates: their parts, the first day of a period, intervals of days and months, and dates written as texts.

Days are those of the Gregorian calendar, extended to all years from 1 to 9999; a date that can leave these is refused. Weekdays
are 1 (Monday) to 7, weeks those of ISO 8601. A month later is the same day of that month, or its last one. Names are English on
every engine. All of it is whole numbers, so engines have nothing to round.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.plan.expressions.facts import Facts, Operation, Takes, number_facts

UNITS = ("week", "month", "quarter", "year")
_MOST_STARTS = 2**14  # periods that are listed
_MOST_SHIFT = 4_000_000  # days or months
_LONGEST = 60  # characters of a format
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]

# The codes in which a day is written, and how long what they write can be.
_CODES: dict[str, tuple[Callable[[datetime.date], str], int]] = {
    "Y": (lambda day: f"{day.year:04d}", 4),
    "y": (lambda day: f"{day.year % 100:02d}", 2),
    "m": (lambda day: f"{day.month:02d}", 2),
    "d": (lambda day: f"{day.day:02d}", 2),
    "j": (lambda day: f"{day.timetuple().tm_yday:03d}", 3),
    "B": (lambda day: _MONTHS[day.month - 1], 9),
    "b": (lambda day: _MONTHS[day.month - 1][:3], 3),
    "A": (lambda day: _WEEKDAYS[day.weekday()], 9),
    "a": (lambda day: _WEEKDAYS[day.weekday()][:3], 3),
    "u": (lambda day: str(day.isoweekday()), 1),
    "V": (lambda day: f"{day.isocalendar()[1]:02d}", 2),
    "G": (lambda day: f"{day.isocalendar()[0]:04d}", 4),
    "%": (lambda _: "%", 1),
}
_NAMED = {"%B": _MONTHS, "%b": [name[:3] for name in _MONTHS], "%A": _WEEKDAYS, "%a": [name[:3] for name in _WEEKDAYS]}


def start_of(day: datetime.date, unit: str) -> datetime.date:
    """The first day of the week, month, quarter or year of a day.

    >>> print(start_of(datetime.date(2024, 6, 20), "week"), start_of(datetime.date(2024, 6, 20), "quarter"))
    2024-06-17 2024-04-01
    """
    if unit == "week":
        return day - datetime.timedelta(day.weekday())
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return day.replace(month=month, day=1)


def months_later(day: datetime.date, months: float) -> datetime.date:
    """The same day of another month, or that month's last day.

    >>> print(months_later(datetime.date(2024, 1, 31), 1), months_later(datetime.date(2024, 3, 31), -13))
    2024-02-29 2023-02-28
    """
    first = day.year * 12 + day.month - 1 + int(months)
    year, month = first // 12, first % 12 + 1
    long = {4: 30, 6: 30, 9: 30, 11: 30, 2: 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28}.get(month, 31)
    return datetime.date(year, month, min(day.day, long))


def days_later(day: datetime.date, days: float) -> datetime.date:
    """The day so many days later."""
    return day + datetime.timedelta(int(days))


def write_day(day: datetime.date, format: str) -> str:
    """A day in the codes of ``strftime`` that are answered.

    >>> write_day(datetime.date(2024, 2, 5), "%a %d %b %Y")
    'Mon 05 Feb 2024'
    """
    return re.sub("%(.)", lambda found: _CODES[found[1]][0](day), format)


def _part(lower: int, upper: int) -> Callable[[Sequence[Facts]], Facts]:
    return lambda _: number_facts(Fraction(lower), Fraction(upper), Fraction(1))


def _day_of(bound: Fraction | None) -> datetime.date | None:
    return None if bound is None else datetime.date.fromordinal(int(bound))


def _growing(part: Callable[[datetime.date], int]) -> Callable[[Sequence[Facts]], Facts]:
    """Facts about a part that never falls from one day to the next."""

    def rule(arguments: Sequence[Facts]) -> Facts:
        first, last = _day_of(arguments[0].lower), _day_of(arguments[0].upper)
        lower, upper = (None if day is None else Fraction(part(day)) for day in (first, last))
        return number_facts(lower, upper, Fraction(1))

    return rule


def _between(part: Callable[[datetime.date], int]) -> Callable[[Sequence[Facts]], Facts]:
    """Facts about the difference of such a part of two dates."""

    def rule(arguments: Sequence[Facts]) -> Facts:
        a, b = (_growing(part)((one,)) for one in arguments)
        lower = None if a.lower is None or b.upper is None else a.lower - b.upper
        upper = None if a.upper is None or b.lower is None else a.upper - b.lower
        return number_facts(lower, upper, Fraction(1))

    return rule


def _month_number(day: datetime.date) -> int:
    return day.year * 12 + day.month


def _start_facts(arguments: Sequence[Facts]) -> Facts:
    day, (unit,) = arguments[0], arguments[1].values or (None,)
    if unit not in UNITS:
        raise ParameterError(f"date_trunc takes one of {', '.join(map(repr, UNITS))}; write date_trunc('month', d).")
    first, last = _day_of(day.lower), _day_of(day.upper)
    if first is None or last is None:
        return Facts("date", False, step=Fraction(1))
    starts = _starts(str(unit), first, last)
    lower, upper = (Fraction(start_of(one, str(unit)).toordinal()) for one in (first, last))
    return Facts("date", False, lower, upper, Fraction(1), starts)


@lru_cache(maxsize=64)
def _starts(unit: str, first: datetime.date, last: datetime.date) -> tuple[Value, ...] | None:
    days = {"week": 7, "month": 28, "quarter": 90, "year": 365}[unit]
    if (last - first).days // days > _MOST_STARTS:
        return None
    found, day = [], start_of(first, unit)
    while day <= last:
        found.append(day)
        if day.toordinal() + days + 3 > datetime.date.max.toordinal():
            break
        day = start_of(day + datetime.timedelta(days if unit == "week" else days + 3), unit)
    return tuple(found)


def _later(shift: Callable[[datetime.date, float], datetime.date]) -> Callable[[Sequence[Facts]], Facts]:
    def rule(arguments: Sequence[Facts]) -> Facts:
        day, (count,) = arguments[0], arguments[1].values or (None,)
        if type(count) is not int or abs(count) > _MOST_SHIFT:
            raise ParameterError("An interval is a whole number of days or months; write d + INTERVAL 30 DAY.")
        try:
            ends = [None if end is None else shift(end, count) for end in (_day_of(day.lower), _day_of(day.upper))]
        except (ValueError, OverflowError):
            ends = [None]
        if None in ends:
            raise ParameterError(
                "This date can leave the calendar, which goes from year 1 to 9999; bound it first, "
                "least(greatest(d, DATE '2000-01-01'), DATE '2100-01-01') + INTERVAL 30 DAY."
            )
        lower, upper = (Fraction(end.toordinal()) for end in ends if end is not None)
        return Facts("date", False, lower, upper, Fraction(1))

    return rule


def _written_facts(arguments: Sequence[Facts]) -> Facts:
    day, (format,) = arguments[0], arguments[1].values or ("",)
    codes = re.findall("%(.?)", str(format), re.DOTALL)
    for code in codes:
        if code not in _CODES:
            raise ParameterError(
                f"The code %{code if code.isprintable() else '?'} of a date is not answered; there are "
                f"{', '.join(f'%{known}' for known in _CODES)}: strftime(d, '%Y-%m')."
            )
    if not 0 < len(str(format)) <= _LONGEST:
        raise ParameterError(f"The format of a date has 1 to {_LONGEST} characters; write strftime(d, '%Y-%m').")
    length = len(str(format)) - 2 * len(codes) + sum(_CODES[code][1] for code in codes)
    return Facts("text", False, values=_names(str(format), day), length=length)


def _names(format: str, day: Facts) -> tuple[Value, ...] | None:
    """Names of months or weekdays in the order of the calendar."""
    if format not in _NAMED:
        return None
    if day.lower is None or day.upper is None or day.upper - day.lower > 366:
        return tuple(_NAMED[format])
    days = range(int(day.lower), int(day.upper) + 1)
    seen = {write_day(datetime.date.fromordinal(one), format) for one in days}
    return tuple(name for name in _NAMED[format] if name in seen)


_DAY: Takes = ("date",)

DATES = (
    Operation("year", 1, 1, _DAY, lambda day: float(day.year), _growing(lambda day: day.year)),
    Operation("quarter", 1, 1, _DAY, lambda day: float((day.month + 2) // 3), _part(1, 4)),
    Operation("month", 1, 1, _DAY, lambda day: float(day.month), _part(1, 12)),
    Operation("week", 1, 1, _DAY, lambda day: float(day.isocalendar()[1]), _part(1, 53)),
    Operation("day", 1, 1, _DAY, lambda day: float(day.day), _part(1, 31)),
    Operation("weekday", 1, 1, _DAY, lambda day: float(day.isoweekday()), _part(1, 7)),
    Operation("dow", 1, 1, _DAY, lambda day: float(day.isoweekday() % 7), _part(0, 6)),
    Operation("dayofyear", 1, 1, _DAY, lambda day: float(day.timetuple().tm_yday), _part(1, 366)),
    Operation("isoyear", 1, 1, _DAY, lambda day: float(day.isocalendar()[0]), _growing(lambda day: day.isocalendar()[0])),
    Operation("days", 2, 2, _DAY, lambda a, b: float((a - b).days), _between(datetime.date.toordinal)),
    Operation("months", 2, 2, _DAY, lambda a, b: float(_month_number(a) - _month_number(b)), _between(_month_number)),
    Operation("date_trunc", 2, 2, ("date", "text"), start_of, _start_facts, constant=1, written=2),
    Operation("add_days", 2, 2, ("date", "number"), days_later, _later(days_later), constant=1),
    Operation("add_months", 2, 2, ("date", "number"), months_later, _later(months_later), constant=1),
    Operation("strftime", 2, 2, ("date", "text"), write_day, _written_facts, constant=1),
)
