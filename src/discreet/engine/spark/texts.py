"""What is written in texts, and cells as texts, in Spark's SQL: the same numbers, days and texts as DuckDB finds.

Spark's own readers take more (``1d``, ``0x1p3``) or less (``1_000``) or other things, so a text is read only where its shape says
what it is. Shapes repeat single characters or pieces of one length, which costs Java neither stack nor a second look.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engine.spark.literals import is_shape, text_literal
from discreet.engine.sql.cleaning import MONTHS, clock_tests, day_shape, number_shape, parts_of_day

_BLANK = " \t\n\v\f\r"
_SPACE = f"[{_BLANK}]*"
_DIGITS = "[0-9](?:[0-9_]*[0-9])?"  # without __
_NUMBER = f"[+]?[+-]?(?:{_DIGITS}(?:[.](?:{_DIGITS})?)?|[.]{_DIGITS})(?:[eE][+-]?{_DIGITS})?"
_WORD = "[+-]?(?:[iI][nN][fF](?:[iI][nN][iI][tT][yY])?|[nN][aA][nN])"
_DAY = (
    f"{_SPACE}([0-9]{{1,7}})([-/ \\\\])([0-9]{{1,2}})\\2([0-9]{{1,2}})( [(][bB][cC][)])?"
    f"(?:[ T]([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:[.][0-9]+)?)?(?: ?(Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?))?)?{_SPACE}"
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_LARGEST = 2**63 - 2**10  # the largest double that is a 64-bit integer
_MICROS = 86_400_000_000


def let(name: str, value: str, within: str) -> str:
    """A name for a value: the parameter of a function of one element."""
    return f"get(transform(array({value}), {name} -> {within}), 0)"


def lowered(text: str) -> str:
    """A text with the small letters of ASCII."""
    return f"translate({text}, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')"


def trimmed(text: str) -> str:
    """A text without the blanks around it."""
    return f"trim(BOTH {text_literal(_BLANK)} FROM {text})"


def read_number(text: str) -> str:
    """The double that a text is; NULL where it is none."""
    digits = "replace(trim(LEADING '+' FROM n), '_', '')"
    written = f"CASE WHEN {is_shape('n', _NUMBER)} AND NOT contains(n, '__') THEN TRY_CAST({digits} AS DOUBLE)"
    return let("n", trimmed(text), f"{written} WHEN {is_shape('n', _WORD)} THEN TRY_CAST(n AS DOUBLE) END")


def read_whole(text: str) -> str:
    """The whole number, as DECIMAL(38,0), that a text of digits is; NULL where it is none, or longer."""
    return let("n", trimmed(text), f"CASE WHEN {is_shape('n', '[+-]?[0-9]+')} THEN TRY_CAST(n AS DECIMAL(38,0)) END")


def numerals(text: str, decimal: str) -> list[str]:
    """SQL of the texts as which a written number may be read, the first that is a number: digits, a point, no groups."""
    number, signs = number_shape(decimal)
    shape = _SPACE + number + _SPACE
    if decimal == ".":
        return [text, f"CASE WHEN {is_shape(text, shape)} THEN translate({text}, {text_literal(signs)}, '') END"]
    plain = f"translate({text}, {text_literal(',' + signs)}, '.')"  # its first sign becomes a point, the others vanish
    return [f"CASE WHEN {is_shape(text, shape)} THEN {plain} WHEN NOT contains({text}, '.') THEN {text} END"]


def read_day(text: str) -> str:
    """The day that a text such as 2026-01-31 is, in UTC where it has a time with an offset; an infinite one is the last or the
    first of Python's calendar."""
    part = {i: f"TRY_CAST(regexp_extract(t, {text_literal(_DAY)}, {i}) AS INT)" for i in (1, 3, 4, 6, 7, 8)}
    offset, clocked = f"regexp_extract(t, {text_literal(_DAY)}, 9)", f"{part[6]} IS NULL"
    clock = f"{clocked} OR ({part[6]} < 24 AND {part[7]} < 60 AND coalesce({part[8]}, 0) < 60)"
    clock += f" OR ({part[6]} = 24 AND {part[7]} + coalesce({part[8]}, 0) = 0)"
    hours, minutes = "TRY_CAST(substring(o, 2, 2) AS INT)", "coalesce(TRY_CAST(right(o, 2) AS INT), 0)"
    ahead = f"({hours} * 60 + CASE WHEN length(o) > 3 THEN {minutes} ELSE 0 END) * CASE WHEN left(o, 1) = '-' THEN -1 ELSE 1 END"
    since = f"{part[6]} * 60 + {part[7]} - CASE WHEN o = 'Z' THEN 0 ELSE {ahead} END"
    shift = let("o", offset, f"CASE WHEN o = '' THEN 0 ELSE CAST(floor(({since}) / 1440e0) AS INT) END")
    day = f"CASE WHEN {clock} THEN date_add({_made(part[1], part[3], part[4])}, {shift}) END"
    ancient = f"CASE WHEN {_made('2000', part[3], part[4])} IS NOT NULL THEN DATE '0001-01-01' END"
    found = f"CASE WHEN regexp_extract(t, {text_literal(_DAY)}, 5) = '' THEN {day} ELSE {ancient} END"
    words = "WHEN 'infinity' THEN DATE '9999-12-31' WHEN '-infinity' THEN DATE '0001-01-01' WHEN 'epoch' THEN DATE '1970-01-01'"
    return let("t", text, f"CASE WHEN {is_shape('t', _DAY)} THEN {found} ELSE CASE {lowered(trimmed('t'))} {words} END END")


def _made(year: str, month: str, day: str) -> str:
    """A day of its parts, NULL where they are none of the calendar."""
    two = [f"lpad(CAST({part} AS STRING), 2, '0')" for part in (month, day)]
    wide = f"CASE WHEN {year} < 10000 THEN lpad(CAST({year} AS STRING), 4, '0') ELSE CAST({year} AS STRING) END"
    return f"TRY_CAST({wide} || '-' || {' || '.join((two[0], repr('-'), two[1]))} AS DATE)"


def written_day(text: str, format: str) -> str:
    """The day that a text in this format is."""
    shape = _SPACE + day_shape(format) + _SPACE
    parts = parts_of_day(format, lambda i: f"regexp_extract(t, {text_literal(shape)}, {i})", lambda at: f"TRY_CAST({at} AS INT)")
    month = parts.get("%m")
    if month is None:
        name = parts.get("%b") or parts["%B"]
        months = ", ".join(text_literal(one[:3]) for one in MONTHS)
        month = f"CAST(array_position(array({months}), {lowered(f'left({name}, 3)')}) AS INT)"
    tests = " AND ".join([is_shape("t", shape), *clock_tests(parts)])
    return let("t", text, f"CASE WHEN {tests} THEN {_made(parts['%Y'], month, parts['%d'])} END")


def as_text(raw: str, raw_type: str) -> str:
    """A cell as text: a whole number without a point, whatever type held it; what is no number is missing."""
    if raw_type == "STRING":
        return raw
    if raw_type in ("FLOAT", "DOUBLE"):
        cell = raw if raw_type == "DOUBLE" else f"CAST({raw} AS DOUBLE)"
        short = f"{cell} BETWEEN -{_LARGEST}e0 AND {_LARGEST}e0 AND CAST(CAST({cell} AS BIGINT) AS DOUBLE) = {cell}"
        far = f"WHEN {cell} = CAST('Infinity' AS DOUBLE) THEN 'inf' WHEN {cell} = CAST('-Infinity' AS DOUBLE) THEN '-inf'"
        plain = f"CAST(CAST({cell} AS BIGINT) AS STRING)"
        return f"CASE WHEN {short} THEN {plain} WHEN isnan({cell}) THEN NULL {far} ELSE {_shortest(cell)} END"
    if raw_type.startswith("DECIMAL") and not raw_type.endswith(",0)"):
        return f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM CAST({raw} AS STRING)))"
    if raw_type == "DATE":
        return _day_text(raw)
    if raw_type in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return f"{_day_text(day_of(raw, raw_type))} || {_clock(raw, raw_type)}"
    return f"CAST({raw} AS STRING)"


def number_text(cell: str) -> str:
    """A finite double as DuckDB writes it, with a point."""
    return f"CASE WHEN {cell} = 0 THEN '0.0' WHEN {cell} IS NOT NULL THEN {_shortest(cell, end='.0')} END"


def _shortest(cell: str, end: str = "") -> str:
    """A double that is not zero as others write it: the fewest digits, and an exponent below 1e-4 and from 1e16 on.

    Java before 19 sometimes writes a digit or two more than it takes (4.9E-324): where fewer are the same double, those are
    written.
    """
    whole, part = "split_part(split_part(j, 'E', 1), '.', 1)", "split_part(split_part(j, 'E', 1), '.', 2)"
    power = "coalesce(TRY_CAST(split_part(j, 'E', 2) AS INT), 0)"
    digits = f"trim(TRAILING '0' FROM trim(LEADING '0' FROM {whole} || {part}))"
    zeros = f"length({whole} || {part}) - length(trim(LEADING '0' FROM {whole} || {part}))"
    point = f"length({whole}) + {power} - ({zeros})"
    less = "CAST(CAST(left(d, length(d) - 1) AS BIGINT) + CASE WHEN right(d, 1) >= '5' THEN 1 ELSE 0 END AS STRING)"
    same = f"TRY_CAST('0.' || {less} || 'E' || CAST(p AS STRING) AS DOUBLE) = abs({cell}) AND length({less}) < length(d)"
    fewer = f"WHEN length(d) > 1 AND {same} THEN trim(TRAILING '0' FROM {less})"
    small = "'0.' || repeat('0', 0 - p) || d"
    middle = f"CASE WHEN length(d) > p THEN left(d, p) || '.' || substring(d, p + 1) ELSE rpad(d, p, '0') || '{end}' END"
    size = "CAST(abs(p - 1) AS STRING)"
    sign = f"CASE WHEN p > 0 THEN '+' ELSE '-' END || lpad({size}, greatest(2, length({size})), '0')"
    far = f"left(d, 1) || CASE WHEN length(d) > 1 THEN '.' || substring(d, 2) ELSE '' END || 'e' || {sign}"
    shown = f"CASE WHEN p BETWEEN -3 AND 0 THEN {small} WHEN p BETWEEN 1 AND 16 THEN {middle} ELSE {far} END"
    for _ in range(2):
        shown = let("d", f"CASE {fewer} ELSE d END", shown)
    minus = f"CASE WHEN {cell} < 0 THEN '-' ELSE '' END"
    return f"{minus} || " + let("j", f"CAST(abs({cell}) AS STRING)", let("p", point, let("d", digits, shown)))


def _day_text(day: str) -> str:
    """A day: four digits of a year or more, and years before the first counted backwards."""
    ancient = f"lpad(CAST(1 - year({day}) AS STRING), 4, '0') || right(CAST({day} AS STRING), 6) || ' (BC)'"
    return f"CASE WHEN {day} < DATE '0001-01-01' THEN {ancient} ELSE trim(LEADING '+' FROM CAST({day} AS STRING)) END"


def day_of(raw: str, raw_type: str) -> str:
    """The day of a moment, in UTC where it has a zone, whatever zone the session is in."""
    if raw_type == "TIMESTAMP_NTZ":
        return f"CAST({raw} AS DATE)"
    micros = f"unix_micros({raw})"
    return f"date_add(DATE '1970-01-01', CAST(({micros} - pmod({micros}, {_MICROS})) div {_MICROS} AS INT))"


def _clock(raw: str, raw_type: str) -> str:
    """The time of day of a moment, and a space before it."""
    if raw_type == "TIMESTAMP_NTZ":
        return f"regexp_extract(CAST({raw} AS STRING), ' .*', 0)"
    micros = f"pmod(unix_micros({raw}), {_MICROS})"
    parts = [f"lpad(CAST({micros} div {unit} % {most} AS STRING), 2, '0')" for unit, most in _CLOCK.items()]
    rest = f"trim(TRAILING '.' FROM trim(TRAILING '0' FROM '.' || lpad(CAST({micros} % 1000000 AS STRING), 6, '0')))"
    return f"' ' || {' || '.join(f'{part}' for part in (parts[0], repr(':'), parts[1], repr(':'), parts[2], rest))}"


_CLOCK: Mapping[int, int] = {3_600_000_000: 24, 60_000_000: 60, 1_000_000: 60}


def write_day(day: str, format: str) -> str:
    """A day in the codes of ``strftime`` that are answered."""
    names = {"B": MONTHS, "b": tuple(month[:3] for month in MONTHS)}
    listed = {code: ", ".join(f"'{name.capitalize()}'" for name in some) for code, some in names.items()}
    listed |= {"A": ", ".join(f"'{name}'" for name in _WEEKDAYS), "a": ", ".join(f"'{name[:3]}'" for name in _WEEKDAYS)}
    number = {"Y": (f"year({day})", 4), "y": (f"year({day}) % 100", 2), "m": (f"month({day})", 2), "d": (f"day({day})", 2)}
    number |= {"j": (f"dayofyear({day})", 3), "u": (f"weekday({day}) + 1", 1), "V": (f"weekofyear({day})", 2)}
    number |= {"G": (f"extract(YEAROFWEEK FROM {day})", 4)}
    parts, plain, place = [], "", 0
    while place < len(format):
        code = format[place + 1 : place + 2]
        if format[place] != "%" or code == "%":
            plain, place = plain + format[place], place + (2 if format[place] == "%" else 1)
            continue
        parts += [text_literal(plain)] if plain else []
        if code in number:
            sql, width = number[code]
            parts.append(f"lpad(CAST({sql} AS STRING), {width}, '0')")
        else:
            parts.append(f"get(array({listed[code]}), {f'month({day}) - 1' if code in 'Bb' else f'weekday({day})'})")
        plain, place = "", place + 2
    parts += [text_literal(plain)] if plain else []
    return f"CASE WHEN {day} IS NOT NULL THEN concat({', '.join(parts)}) END"
