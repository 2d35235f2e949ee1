"""What is written in texts, and cells as texts, in PostgreSQL's SQL: the same numbers, days and texts as DuckDB finds.

PostgreSQL has no cast that tries, so a text is cast only where its form says that the cast succeeds: numbers go through
``numeric`` where a double could be too large or too small, and days are made of their parts where those are on the calendar.
"""

from __future__ import annotations

from discreet.engine.sql.cleaning import MONTHS, clock_tests, day_shape, number_shape, parts_of_day
from discreet.engine.sql.dialect import text_literal

_SPACE = r"[ \t\n\v\f\r]*"
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_PLAIN = "^-?[0-9]{1,15}([.][0-9]{1,15})?$"  # which every double is near to
_NUMBER = rf"^{_SPACE}[+]?([+-]?)({_DIGITS}(?:[.](?:{_DIGITS})?)?|[.]{_DIGITS})(?:[eE]([+-]?)0*([0-9]*(?:_[0-9]+)*))?{_SPACE}$"
_WORD = rf"^{_SPACE}[+]?(-?)(inf|infinity|nan){_SPACE}$"
_LONGEST = 5000  # digits that are read at once
_MOST_BYTES = 10**6  # of a text that may be a number or a day
_OVERFLOW = 2**1024 - 2**970  # what is not below it is rounded to infinity
_UNDERFLOW = "2.4703282292062327209e-324"  # what is below it is rounded to zero
_DAY = (
    rf"^{_SPACE}([0-9]{{1,7}})([-/ \\])([0-9]{{1,2}})\2([0-9]{{1,2}})( [(][bB][cC][)])?"
    rf"(?:[ T]([0-9]{{1,2}}):([0-9]{{2}})(?::([0-9]{{2}})(?:[.][0-9]+)?)?(?: ?(Z|[+-][0-9]{{2}}(?::?[0-9]{{2}})?))?)?{_SPACE}$"
)
_LAST_YEAR = 5_881_580

INFINITY, MINUS_INFINITY, NAN = (f"CAST('{word}' AS DOUBLE PRECISION)" for word in ("Infinity", "-Infinity", "NaN"))


def let(name: str, value: str, within: str) -> str:
    """A name for a value: that of a column of a table of one row, which the planner may not look into."""
    return f"(SELECT {within} FROM (SELECT {value} AS {name} OFFSET 0) AS of_{name})"


def near(number: str) -> str:
    """The double that is nearest to a ``numeric``, which may be infinite or no number."""
    return (
        f"CASE WHEN {number} = 'NaN' THEN {NAN} WHEN {number} >= {_OVERFLOW} THEN {INFINITY} "
        f"WHEN {number} <= -{_OVERFLOW} THEN {MINUS_INFINITY} WHEN abs({number}) < {_UNDERFLOW} THEN 0 "
        f"ELSE CAST({number} AS DOUBLE PRECISION) END"
    )


def read_number(text: str) -> str:
    """The double that a text is; NULL where it is none."""
    word = let("w", f"regexp_match(lower({text}), {text_literal(_WORD)})", _infinite("w[1]", "w[2]"))
    plain = "replace(m[1] || m[2], '_', '')"
    digits = f"CAST({plain} || 'e' || coalesce(nullif(m[3] || replace(m[4], '_', ''), m[3]), '0') AS NUMERIC)"
    whole = "ltrim(split_part(replace(m[2], '_', ''), '.', 1), '0')"
    cut = f"CAST(m[1] || '0' || {whole} || '.' || left(split_part(replace(m[2], '_', ''), '.', 2), 1100) || '0' AS NUMERIC)"
    nothing = "translate(m[2], '0._', '') = ''"
    written = (
        f"CASE WHEN m IS NULL THEN {word} WHEN length(m[4]) > 4 THEN CASE WHEN {nothing} OR m[3] = '-' THEN 0 "
        f"ELSE {_infinite('m[1]')} END WHEN length(m[2]) <= {_LONGEST} THEN {let('n', digits, near('n'))} "
        f"WHEN length(m[4]) > 0 THEN NULL WHEN length({whole}) > 400 THEN {_infinite('m[1]')} ELSE {let('n', cut, near('n'))} END"
    )
    other = let("m", f"regexp_match({text}, {text_literal(_NUMBER)})", written)
    return _if_short(text, f"CASE WHEN {text} ~ '{_PLAIN}' THEN CAST({text} AS DOUBLE PRECISION) ELSE {other} END")


def _if_short(text: str, then: str) -> str:
    """What is made of a text that a pattern may be asked about: of one of hundreds of megabytes that would be an error."""
    return f"CASE WHEN octet_length({text}) <= {_MOST_BYTES} THEN {then} END"


def _infinite(sign: str, word: str | None = None) -> str:
    far = f"WHEN {sign} = '-' THEN {MINUS_INFINITY} ELSE {INFINITY} END"
    return f"CASE {far}" if word is None else f"CASE WHEN {word} IS NULL THEN NULL WHEN {word} = 'nan' THEN {NAN} {far}"


def read_whole(text: str) -> str:
    """The whole number, as ``numeric``, that a text of digits is; NULL where it is none."""
    bare = f"btrim({text}, E' \\t\\n\\v\\f\\r')"
    shape = text_literal(f"^{_SPACE}[+-]?[0-9]+{_SPACE}$")
    return _if_short(text, f"CASE WHEN {text} ~ {shape} AND length({text}) <= {_LONGEST} THEN CAST({bare} AS NUMERIC) END")


def numerals(text: str, decimal: str) -> list[str]:
    """SQL of the texts as which a written number may be read, the first that is a number: digits, a point, no groups."""
    shape, signs = number_shape(decimal)
    is_shape = f"{text} ~ {text_literal(f'^{_SPACE}{shape}{_SPACE}$')}"
    if decimal == ".":
        return [text, _if_short(text, f"CASE WHEN {is_shape} THEN translate({text}, {text_literal(signs)}, '') END")]
    plain = f"translate({text}, {text_literal(',' + signs)}, '.')"  # its first sign becomes a point, the others vanish
    return [_if_short(text, f"CASE WHEN {is_shape} THEN {plain} WHEN strpos({text}, '.') = 0 THEN {text} END")]


def read_day(text: str) -> str:
    """The day that a text such as 2026-01-31 is, in UTC where it has a time with an offset; before the first year and after the
    last of Python's calendar, an infinite one."""
    part = [f"CAST(m[{i}] AS INTEGER)" for i in range(10)]
    year = f"CASE WHEN m[5] IS NULL THEN {part[1]} ELSE 1 - {part[1]} END"
    clock = f"m[6] IS NULL OR ({part[6]} < 24 AND {part[7]} < 60 AND coalesce({part[8]}, 0) < 60)"
    clock += f" OR ({part[6]} = 24 AND {part[7]} + coalesce({part[8]}, 0) = 0)"
    ahead = "CAST(left(m[9], 1) || '1' AS INTEGER) * (CAST(substr(m[9], 2, 2) AS INTEGER) * 60 + "
    ahead += "coalesce(CAST(nullif(ltrim(substr(m[9], 4), ':'), '') AS INTEGER), 0))"
    minutes = f"{part[6]} * 60 + {part[7]} - CASE WHEN m[9] = 'Z' THEN 0 ELSE {ahead} END"
    shift = f"CASE WHEN m[9] IS NULL THEN 0 ELSE CAST(floor(CAST({minutes} AS DOUBLE PRECISION) / 1440) AS INTEGER) END"
    far = f"lower(btrim({text}, E' \\t\\n\\v\\f\\r'))"
    words = f"CASE {far} WHEN 'infinity' THEN DATE 'infinity' WHEN '-infinity' THEN DATE '-infinity' END"
    words = f"CASE WHEN {far} = 'epoch' THEN DATE '1970-01-01' ELSE {words} END"
    day = let("y", year, made_day("y", part[3], part[4], shift))
    found = f"CASE WHEN m IS NULL THEN {words} WHEN {part[1]} <= {_LAST_YEAR} AND ({clock}) THEN {day} END"
    return _if_short(text, let("m", f"regexp_match({text}, {text_literal(_DAY)})", found))


def made_day(year: str, month: str, day: str, shift: str = "0") -> str:
    """A day of its parts, where they are on the calendar."""
    leap = f"{year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0)"
    last = f"CASE WHEN {month} IN (4, 6, 9, 11) THEN 30 WHEN {month} <> 2 THEN 31 WHEN {leap} THEN 29 ELSE 28 END"
    made = f"make_date({year}, {month}, {day}) + {shift}"
    made = f"CASE WHEN {year} < 1 THEN DATE '-infinity' WHEN {year} > 9999 THEN DATE 'infinity' ELSE {made} END"
    return f"CASE WHEN {month} BETWEEN 1 AND 12 AND {day} BETWEEN 1 AND {last} THEN {made} END"


def written_day(text: str, format: str) -> str:
    """The day that a text in this format is."""
    parts = parts_of_day(format, "m[{}]".format, "CAST({} AS INTEGER)".format)
    month = parts.get("%m")
    if month is None:
        name = parts.get("%b") or parts["%B"]
        short = ", ".join(text_literal(one[:3]) for one in MONTHS)
        month = f"array_position(ARRAY[{short}], lower(left({name}, 3)))"
    clock, day = clock_tests(parts), made_day(parts["%Y"], month, parts["%d"])
    found = f"CASE WHEN {' AND '.join(clock)} THEN {day} END" if clock else day
    shape = text_literal(f"^{_SPACE}{day_shape(format)}{_SPACE}$")
    return _if_short(text, let("m", f"regexp_match({text}, {shape})", f"CASE WHEN m IS NOT NULL THEN {found} END"))


_LARGEST = 2**63 - 2**10  # the largest double that is a 64-bit integer


def as_text(raw: str, raw_type: str) -> str:
    """A cell as text: a whole number without a point, whatever type held it; what is no number is missing."""
    if raw_type == "text":
        return raw
    if raw_type in ("real", "double precision"):
        cell = raw if raw_type == "double precision" else f"CAST({raw} AS DOUBLE PRECISION)"
        short = f"abs({cell}) <= {_LARGEST} AND floor({cell}) = {cell}"
        far = f"WHEN {cell} = {INFINITY} THEN 'inf' WHEN {cell} = {MINUS_INFINITY} THEN '-inf'"
        # Of 16 digits before the point it writes 1.2345678901234565e+15, which is 1234567890123456.5.
        sign, number = f"CASE WHEN {cell} < 0 THEN '-' ELSE '' END", "translate(left(t, -4), '-.', '')"
        moved = f"CASE WHEN right(t, 4) = 'e+15' THEN {sign} || left({number}, 16) || '.' || substr({number}, 17) ELSE t END"
        other = let("t", f"CAST({cell} AS TEXT)", moved)
        return f"CASE WHEN {short} THEN CAST(CAST({cell} AS BIGINT) AS TEXT) WHEN {cell} = {NAN} THEN NULL {far} ELSE {other} END"
    if raw_type == "numeric":
        far = f"WHEN {raw} = 'Infinity' THEN 'inf' WHEN {raw} = '-Infinity' THEN '-inf'"
        return f"CASE WHEN {raw} = 'NaN' THEN NULL {far} ELSE CAST(trim_scale({raw}) AS TEXT) END"
    if raw_type in ("date", "timestamp", "timestamptz"):
        cell = f"CAST({moment(raw, raw_type)} AS TEXT)"
        return f"regexp_replace({cell}, '^([^ ]*)(.*) BC$', '\\1 (BC)\\2')"
    return f"CAST({raw} AS TEXT)"


def moment(raw: str, raw_type: str) -> str:
    """A moment in UTC where it has a zone."""
    return f"({raw} AT TIME ZONE 'UTC')" if raw_type == "timestamptz" else raw
