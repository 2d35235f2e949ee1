"""What is asked of dates, in the spellings of several dialects: parts, periods, intervals, differences and formats.

Functions whose arguments stand in another order elsewhere are told apart by what their arguments are: ``date_diff('day', a,
b)`` of DuckDB is ``DATEDIFF(day, a, b)`` of SQL Server, ``DATE_DIFF(b, a, DAY)`` of BigQuery and ``DATEDIFF(b, a)`` of MySQL.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.dates import days_later, months_later
from discreet.plan.sql.scalars.constants import Named, Read, check_small, compare, is_text, read_day, refuse_always
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import only, refusal

_PARTS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "isoweek": "week",
    "day": "day",
    "isodow": "weekday",
    "dow": "dow",
    "doy": "dayofyear",
    "dayofyear": "dayofyear",
    "isoyear": "isoyear",
}
_SHORT = {"yy": "year", "yyyy": "year", "qq": "quarter", "mm": "month", "mon": "month", "wk": "week", "ww": "week", "dd": "day"}
_UNITS = {"year": (12, 0), "quarter": (3, 0), "month": (1, 0), "week": (0, 7), "day": (0, 1)}  # months and days
_HOURS = ("hour", "minute", "second", "millisecond", "microsecond", "hh", "mi", "ss")
_NO_HOURS = "A date has no hours, minutes or seconds; count days, or declare the hour as a column of its own"
_WEEKDAY = (
    "Systems number weekdays differently; write isodow(d), Monday 1 to Sunday 7, or extract(dow FROM d), Sunday 0 to Saturday 6"
)
_INTERVAL = (
    "An INTERVAL is a constant of whole days, weeks, months, quarters or years; write d + INTERVAL 30 DAY, or days(a, b) > 30"
)


def _unit(node: object) -> str | None:
    """The unit that an argument names, in quotes or as a bare word; None where it is none."""
    if isinstance(node, exp.Literal):
        word = str(node.this) if node.is_string else ""
    elif isinstance(node, exp.Var) or (isinstance(node, exp.Column) and not node.args.get("table")):
        word = str(node.this.this if isinstance(node, exp.Column) else node.this)
    else:
        return None
    word = word.lower()
    if word in _SHORT:
        return _SHORT[word]
    single = word.removesuffix("s") if word.removesuffix("s") in (*_UNITS, *_HOURS) else word
    return single if single in (*_PARTS, *_UNITS, *_HOURS) else None


def part(node: exp.Expression, word: str, day: Expression) -> Expression:
    """A part of a date, by its name."""
    name = _SHORT.get(word.lower(), word.lower())
    if name.removesuffix("s") in _HOURS:
        raise refusal(node, _NO_HOURS)
    if name == "epoch":
        raise refusal(node, f"Seconds since 1970 are not answered: dates are days; write {day} - DATE '1970-01-01'")
    if name in ("dayofweek", "weekday", "dw"):
        raise refusal(node, _WEEKDAY)
    if name == "decade":
        return Call("//", (Call("year", (day,)), Literal(10)))
    if name not in _PARTS:
        raise refusal(node, f"The part {word[:20]} of a date is not answered; there are {', '.join(_PARTS)}")
    return Call(_PARTS[name], (day,))


def extract(node: exp.Expression, read: Read, _: Scope) -> Expression:
    """``extract(year FROM d)``."""
    only(node, "this", "expression")
    return part(node, str(node.this.this), read(node.args.get("expression")))


def interval(node: object) -> tuple[int, int] | None:
    """The months and days of a constant interval; None where a node is none."""
    while isinstance(node, exp.Paren):
        node = node.this
    if not isinstance(node, exp.Interval):
        return None
    unit, value = node.args.get("unit"), node.this
    if isinstance(value, exp.Neg) and isinstance(value.this, exp.Literal):
        text = f"-{value.this.this}"
    elif isinstance(value, exp.Literal):
        text = str(value.this)
    else:
        raise refusal(node, _INTERVAL)
    text = text if unit is None else f"{text} {unit.this if isinstance(unit, exp.Var) else '?'}"
    found = re.findall(r"\s*([+-]?\d{1,9})\s*([a-zA-Z]+)", text)
    if not found or re.sub(r"\s*([+-]?\d{1,9})\s*([a-zA-Z]+)", "", text).strip():
        raise refusal(node, _INTERVAL)
    months = days = 0
    for count, word in found:
        name = word.lower().removesuffix("s")
        if name in _HOURS:
            raise refusal(node, _NO_HOURS)
        if name not in _UNITS:
            raise refusal(node, _INTERVAL)
        months, days = months + int(count) * _UNITS[name][0], days + int(count) * _UNITS[name][1]
    return months, days


def shift(day: Expression, months: int, days: int, scope: Scope) -> Expression:
    """A date so many months and then days later; a constant one is calculated at once."""
    if is_text(day):
        day = read_day(day)
    if isinstance(day, Literal) and isinstance(day.value, datetime.date):
        try:
            return Literal(days_later(months_later(day.value, months), days))
        except (ValueError, OverflowError):
            raise ParameterError("This day is in no calendar here, which goes from year 1 to 9999; write a nearer one.") from None
    if scope.kind(day) not in ("date", None):
        raise ParameterError(f"An interval is added to a date, and {day} is none; write d + INTERVAL 30 DAY.")
    later = Call("add_months", (day, Literal(months))) if months else day
    return Call("add_days", (later, Literal(days))) if days or not months else later


def shifted(node: exp.Expression, read: Read, scope: Scope, sign: int) -> Expression | None:
    """``d + INTERVAL 30 DAY``, ``d - INTERVAL '1' MONTH`` and ``d + 30``; None where a sum or difference is no such thing."""
    left, right = node.this, node.args.get("expression")
    found = interval(right)
    if found is None and sign > 0 and interval(left) is not None:
        left, right, found = right, left, interval(left)
    if found is not None:
        return shift(read(left), sign * found[0], sign * found[1], scope)
    if isinstance(right, exp.Literal) and not right.is_string and not isinstance(left, exp.Literal):
        day, count = read(left), read(right)
        assert isinstance(count, Literal)
        if isinstance(count.value, int) and scope.kind(day) == "date":
            return shift(day, 0, sign * count.value, scope)
    return None


def _trunc(node: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, _: Scope) -> Expression:
    first, second = arguments
    unit_first = isinstance(first, exp.Literal) or name == "datetrunc" or _unit(second) is None
    unit, day = (_unit(first), second) if unit_first else (_unit(second), first)
    if unit in _HOURS:
        raise refusal(node, _NO_HOURS)
    if unit not in _UNITS:
        raise refusal(node, f"date_trunc takes one of {', '.join(map(repr, _UNITS))}; write date_trunc('month', d)")
    found = read(day)
    found = read_day(found) if is_text(found) else found
    return found if unit == "day" else Call("date_trunc", (found, Literal(unit)))


def _difference(node: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    if len(arguments) == 2:
        unit, later, earlier = "day", arguments[0], arguments[1]
    elif name == "date_diff" and not isinstance(arguments[0], exp.Literal) and _unit(arguments[2]) is not None:
        unit, later, earlier = _unit(arguments[2]) or "", arguments[0], arguments[1]
    else:
        unit, earlier, later = _unit(arguments[0]) or "", arguments[1], arguments[2]
    if unit in _HOURS:
        raise refusal(node, _NO_HOURS)
    if unit not in _UNITS:
        raise refusal(node, f"Dates are subtracted in one of {', '.join(_UNITS)}; write datediff('day', a, b)")
    if name == "timestampdiff" and unit not in ("day", "week"):
        raise refusal(
            node,
            "timestampdiff counts whole months in some systems; write datediff('month', a, b), which counts turns of the month",
        )
    if name == "timestampdiff" and unit == "week":
        raise refusal(node, "timestampdiff counts whole weeks in some systems; write days(b, a) // 7")
    pair = [read_day(one) if is_text(one) else one for one in (read(later), read(earlier))]
    if unit in ("day", "month"):
        return compare(f"{unit}s", pair, scope)
    if unit == "week":
        return Call("//", (Call("days", tuple(Call("date_trunc", (one, Literal("week"))) for one in pair)), Literal(7)))
    if unit == "quarter":
        first = tuple(Call("date_trunc", (check_small(one), Literal("quarter"))) for one in pair)
        return Call("//", (Call("months", first), Literal(3)))
    return Call("-", tuple(Call("year", (one,)) for one in pair))


def _add(node: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    sign = -1 if name == "date_sub" else 1
    if len(arguments) == 2:
        found = interval(arguments[1])
        if found is not None:
            return shift(read(arguments[0]), sign * found[0], sign * found[1], scope)
        unit, count, day = ("month" if name == "add_months" else "day"), read(arguments[1]), arguments[0]
    elif len(arguments) == 3:
        unit, count, day = _unit(arguments[0]) or "", read(arguments[1]), arguments[2]
    else:
        raise refusal(node, _INTERVAL)
    if unit in _HOURS:
        raise refusal(node, _NO_HOURS)
    if unit not in _UNITS or not isinstance(count, Literal) or type(count.value) is not int:
        raise refusal(node, _INTERVAL)
    months, days = _UNITS[unit]
    return shift(read(day), sign * months * count.value, sign * days * count.value, scope)


def _last_day(_: exp.Expression, __: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    return shift(Call("date_trunc", (read(arguments[0]), Literal("month"))), 1, -1, scope)


def _named_part(node: exp.Expression, _: str, arguments: Sequence[exp.Expression], read: Read, __: Scope) -> Expression:
    first = arguments[0]
    word = str(first.this.this) if isinstance(first, exp.Column) else str(first.this)
    return part(node, word, read(arguments[1]))


def _name(node: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, scope: Scope) -> Expression:
    if name == "datename":
        unit = {"month": "monthname", "weekday": "dayname", "dw": "dayname"}.get(str(arguments[0].name).lower())
        if unit is None:
            raise refusal(node, "datename takes month or weekday; write monthname(d), or strftime(d, '%Y-%m')")
        return _name(node, unit, arguments[1:], read, scope)
    return Call("strftime", (read(arguments[0]), Literal("%B" if name == "monthname" else "%A")))


# Formats in letters, as the codes of strftime: longer ones first.
_LETTERS = {
    "to_char": "FMMonth=%B FMDay=%A IYYY=%G YYYY=%Y DDD=%j Mon=%b IW=%V ID=%u YY=%y MM=%m DD=%d Dy=%a yyyy=%Y yy=%y mm=%m dd=%d",
    "format": "yyyy=%Y MMMM=%B dddd=%A EEEE=%A MMM=%b ddd=%a EEE=%a DDD=%j yy=%y MM=%m dd=%d",
}
_MYSQL = {"%M": "%B", "%W": "%A", "%%": "%%"}


def _format(node: exp.Expression, name: str, arguments: Sequence[exp.Expression], read: Read, _: Scope) -> Expression:
    """A date as a text: in codes, or in the letters of other dialects."""
    first, second = (read(one) for one in arguments)
    day, format = (second, first) if is_text(first) else (first, second)
    if not isinstance(format, Literal) or not isinstance(format.value, str):
        raise refusal(node, "The format of a date is a text constant; write strftime(d, '%Y-%m')")
    codes = format.value
    if name == "date_format" and "%" in codes:
        codes = re.sub("%.", lambda found: _MYSQL.get(found[0], found[0]), codes)
    elif name in ("to_char", "format", "date_format"):
        codes = _in_codes(node, codes, _LETTERS["to_char" if name == "to_char" else "format"])
    return Call("strftime", (day, Literal(codes)))


def _in_codes(node: exp.Expression, letters: str, known: str) -> str:
    table = dict(pair.split("=") for pair in known.split())
    codes, i = "", 0
    while i < len(letters):
        token = next((token for token in table if letters.startswith(token, i)), None)
        if token is None and (letters[i].isalpha() or letters[i] in "%\"'\\"):
            raise refusal(
                node,
                f"{letters[i]} is not answered in the format of a date; there are {', '.join(table)}, or strftime(d, '%Y-%m')",
            )
        codes, i = codes + (letters[i] if token is None else table[token]), i + len(token or " ")
    return codes


# Functions by name, with how many arguments they take at least and at most.
NAMED: Mapping[str, tuple[int, int, Named]] = {
    "date_trunc": (2, 2, _trunc),
    "datetrunc": (2, 2, _trunc),
    "datediff": (2, 3, _difference),
    "date_diff": (2, 3, _difference),
    "timestampdiff": (3, 3, _difference),
    "date_add": (2, 3, _add),
    "dateadd": (2, 3, _add),
    "timestampadd": (3, 3, _add),
    "date_sub": (2, 3, _add),
    "add_months": (2, 2, _add),
    "last_day": (1, 1, _last_day),
    "eomonth": (1, 1, _last_day),
    "date_part": (2, 2, _named_part),
    "datepart": (2, 2, _named_part),
    "monthname": (1, 1, _name),
    "dayname": (1, 1, _name),
    "datename": (2, 2, _name),
    "strftime": (2, 2, _format),
    "to_char": (2, 2, _format),
    "date_format": (2, 2, _format),
    "format_date": (2, 2, _format),
    "format": (2, 2, _format),
    "dayofweek": (1, 1, refuse_always(_WEEKDAY)),
    "epoch": (1, 1, refuse_always("Seconds since 1970 are not answered: dates are days; write d - DATE '1970-01-01'")),
    "age": (1, 2, refuse_always("age is a mixed interval; write datediff('year', a, b), or days(b, a) / 365.25")),
}
