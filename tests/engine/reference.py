"""What a raw cell becomes, in plain Python: the meaning that the SQL of ``cleaning`` is compared with."""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from decimal import Decimal
from fractions import Fraction

from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text

__all__ = ["reference_clean", "reference_id"]

Cell = None | bool | int | float | str | Decimal | datetime.date | datetime.datetime
_NUMBER = re.compile(
    r"\+?[+-]?(\d+(_\d+)*(\.(\d+(_\d+)*)?)?|\.\d+(_\d+)*)([eE][+-]?\d+(_\d+)*)?|[+-]?(inf|infinity|nan)", re.ASCII | re.I
)
_CLOCK = r"[ T](?P<hour>\d{1,2}):(?P<minute>\d\d)(?::\d\d(?:\.\d{1,9})?)?"
_OFFSET = r"(?P<offset>Z| ?(?P<sign>[+-])(?P<hours>\d\d)(?::?(?P<minutes>\d\d))?)?"
_DAY = re.compile(rf"(\d{{1,6}})-(\d{{1,2}})-(\d{{1,2}})(?:{_CLOCK}{_OFFSET})?", re.ASCII)
_SPACE = " \t\n\v\f\r"
_MONTHS = ["january", "february", "march", "april", "may", "june", "july"]
_MONTHS += ["august", "september", "october", "november", "december"]


def reference_clean(column: Column, value: Cell) -> int | str | bool | datetime.date | None:
    """Integers and numbers as multiples of the step, texts, truth values, dates; None where nothing is left."""
    found = _cleaned(column, value)
    if isinstance(column, Category) and found not in column.values:
        found = None
    if found is None and column.missing is not None:
        if isinstance(column, Number):
            units = math.floor(column.missing / column.step + Fraction(1, 2))
            return min(max(units, int(column.lower / column.step)), int(column.upper / column.step))
        return column.missing
    return found


def reference_id(value: Cell) -> str | None:
    """An id's text: what two rows of one person share; a long one by its hash."""
    text = _text(value) or None
    if text is None or len(text.encode()) <= 64:
        return text
    return "#" + hashlib.sha256(text.encode()).hexdigest()


def _spelled(text: str, decimal: str) -> str:
    """A written number in the plain spelling; a text that is none stays as it is, or becomes a text that is no number."""
    found = re.fullmatch(r"([+-]?)([^eE]*)([eE][+-]?\d+)?", text.strip(_SPACE), re.ASCII | re.DOTALL)
    if found is not None:
        whole, point, part = found[2].partition(decimal)
        end = f".{part}{found[3] or ''}" if point else found[3] or ""
        if not part or _digits(part):
            for sign in (*" '\u2019\u00a0\u202f", "," if decimal == "." else "."):
                first, *others = whole.split(sign)
                threes = bool(others) and all(_digits(group) and len(group) == 3 for group in others)
                if threes and _digits(first) and len(first) <= 3 and first[0] != "0":
                    return found[1] + first + "".join(others) + end
            if decimal == "," and (_digits(whole) or (not whole and part)):
                return found[1] + whole + end
    return "no number" if decimal == "," and "." in text else text


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _cleaned(column: Column, value: Cell) -> int | str | bool | datetime.date | None:
    if isinstance(column, Integer):
        whole = _whole(_spelled(value, column.decimal) if isinstance(value, str) else value)
        return None if whole is None else int(min(max(whole, column.lower), column.upper))
    if isinstance(column, Number):
        return _on_grid(_number(_spelled(value, column.decimal) if isinstance(value, str) else value), column)
    if isinstance(column, Category) and column.kind == "number":
        whole = _whole(value)
        return None if whole is None or isinstance(whole, float) else whole
    if isinstance(column, Boolean):
        return _truth(value)
    if isinstance(column, Date):
        return _written_day(value, column) if column.format and isinstance(value, str) else _day(value, column)
    text = _text(value)
    return text[: column.length] if text is not None and isinstance(column, Text) else text


def _number(value: Cell) -> float | None:
    """The nearest double to the number that a cell is."""
    if isinstance(value, str):
        inside = value.strip(_SPACE)
        if value.lower() in ("true", "false"):
            return float(value.lower() == "true")
        return float(inside.removeprefix("+")) if _NUMBER.fullmatch(inside) else None
    if value is None or isinstance(value, datetime.date):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _whole(value: Cell) -> int | float | None:
    """The whole number that a cell is, or an infinity."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+", value.strip(_SPACE)):
        return int(value) if len(value) < 4000 else _number(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        return _whole(_text(value))
    number = _number(value)
    if number is None or math.isnan(number):
        return None
    if math.isinf(number):
        return number
    return int(number) if number.is_integer() else None


def _on_grid(number: float | None, column: Number) -> int | None:
    if number is None or math.isnan(number):
        return None
    low, high, step = int(column.lower / column.step), int(column.upper / column.step), column.step
    if max(step.numerator, step.denominator) <= 2**53:
        units = number * float(step.denominator) / float(step.numerator)
    else:
        units = number * float(1 / step)
    if units < low:
        return low
    if units > high:
        return high
    return math.floor(units + 0.5) if abs(units) <= 2**52 else int(units)


def _truth(value: Cell) -> bool | None:
    if isinstance(value, str):
        word = value.strip(" ").lower()
        if word in ("true", "t", "yes", "y", "1"):
            return True
        if word in ("false", "f", "no", "n", "0"):
            return False
    number = _number(value)
    return {1.0: True, 0.0: False}.get(number) if number is not None else None


def _day(value: Cell, column: Date) -> datetime.date | None:
    if isinstance(value, datetime.datetime):
        day = value.astimezone(datetime.UTC).date() if value.tzinfo else value.date()
    elif isinstance(value, datetime.date):
        day = value
    elif isinstance(value, str):
        inside = value.strip(_SPACE)
        if inside.lower() in ("infinity", "-infinity"):
            return column.lower if inside[0] == "-" else column.upper
        parts = _DAY.fullmatch(inside)
        if parts is None:
            return None
        if int(parts[1]) > 9999:
            return column.upper
        try:
            day = datetime.date(int(parts[1]), int(parts[2]), int(parts[3]))
        except ValueError:
            return None
        if parts["offset"]:
            sign = -1 if parts["sign"] == "-" else 1
            ahead = datetime.timedelta(hours=int(parts["hours"] or 0), minutes=int(parts["minutes"] or 0))
            since = datetime.timedelta(hours=int(parts["hour"]), minutes=int(parts["minute"]))
            midnight = datetime.datetime(day.year, day.month, day.day)
            try:
                day = (midnight + since - sign * ahead).date()
            except OverflowError:
                return column.lower if day.year == 1 else column.upper
    else:
        return None
    return min(max(day, column.lower), column.upper)


def _written_day(text: str, column: Date) -> datetime.date | None:
    """A day in the declared format: a small parser of its own, from left to right."""
    format, left, found = column.format or "", text.strip(_SPACE), dict.fromkeys("HMS", 0)
    place, before = 0, ""
    while place < len(format):
        if format[place] != "%":
            if not left.startswith(format[place]):
                return None
            left, place, before = left[1:], place + 1, ""
            continue
        code, after = format[place + 1], format[place + 2 : place + 4]
        if code in "bB":
            names = [name[:3] if code == "b" else name for name in _MONTHS]
            month = next((i for i, name in enumerate(names) if left[: len(name)].lower() == name), None)
            if month is None:
                return None
            found["m"], left = month + 1, left[len(names[month]) :]
        else:
            close = before in tuple("dmYHMS") or (after[:1] == "%" and after[1:] in tuple("dmYHMS"))
            shape = r"\d{4}" if code == "Y" else r"\d{2}" if close else r"\d{1,2}"
            digits = re.match(shape, left, re.ASCII)
            if digits is None:
                return None
            found[code], left = int(digits[0]), left[digits.end() :]
        place, before = place + 2, code
    if left or found["H"] > 23 or found["M"] > 59 or found["S"] > 59:
        return None
    try:
        day = datetime.date(found["Y"] or 2000, found["m"], found["d"])
    except ValueError:
        return None
    return min(max(day, column.lower), column.upper) if found["Y"] else column.lower


def _text(value: Cell) -> str | None:
    if value is None or (isinstance(value, (float, Decimal)) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)
    if isinstance(value, Decimal):
        plain = format(value, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    if isinstance(value, datetime.datetime):
        moment = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        plain = moment.isoformat(sep=" ", timespec="microseconds")
        return plain.rstrip("0").rstrip(".")
    return str(value)
