"""Cells as texts, and numbers and days as somebody wrote them in texts, in SQL.

What is declared of a spelling concerns texts only. A column of Python objects that are texts *and* numbers or days has the type
``MIXED``, the text of every cell in one of two places: else a text in another row would make the number 1.125 one thousand one
hundred and twenty-five.

A text that is not written as declared is missing. DuckDB's ``try_strptime`` is looser (a year of two digits is one of the first
century, ``infinity`` is the first day of 1900, any number of spaces is one), so it only sees texts of the very shape.
"""

from __future__ import annotations

from discreet.schema.columns import day_parts

__all__ = [
    "MIXED",
    "STAMPS",
    "ZONED",
    "as_text",
    "halves",
    "instant",
    "is_text",
    "moment",
    "numerals",
    "text_literal",
    "written_day",
]

MIXED = 'STRUCT("given text" VARCHAR, "given value" VARCHAR)'

STAMPS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
ZONED = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"})

_FIRST = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
_LARGEST = 2**63 - 2**10  # the largest double that is a 64-bit integer
_MONTHS: tuple[str, ...] = ("January", "February", "March", "April", "May", "June", "July")
_MONTHS += ("August", "September", "October", "November", "December")
_SPACE = r"[ \t\n\v\f\r]*"
_GROUPING = " '\u2019\u00a0\u202f"  # spaces, one of them thin, that do not break a line, and both apostrophes


def text_literal(text: str) -> str:
    """A public text as SQL. Quotes are doubled; DuckDB has no other escape in plain literals.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''").replace("\x00", "' || chr(0) || '") + "'"


def instant(raw: str, raw_type: str) -> str:
    """A moment with a zone as TIMESTAMP in UTC, whatever zone the session is in."""
    cell = raw if raw_type == "TIMESTAMP WITH TIME ZONE" else f"TRY_CAST({raw} AS TIMESTAMP WITH TIME ZONE)"
    far = f"CASE CAST({cell} AS VARCHAR) WHEN 'infinity' THEN TIMESTAMP 'infinity' ELSE TIMESTAMP '-infinity' END"
    return f"CASE WHEN isinf({cell}) THEN {far} ELSE make_timestamp(epoch_us({cell})) END"


def moment(raw: str, raw_type: str) -> str:
    """A moment as TIMESTAMP, in UTC where it has a zone; one before the first of the engine's calendar is missing."""
    cell = instant(raw, raw_type) if raw_type in ZONED else f"TRY_CAST({raw} AS TIMESTAMP)"
    return f"CASE WHEN {cell} >= {_FIRST} OR isinf({cell}) THEN {cell} END"


def as_text(raw: str, raw_type: str) -> str:
    """A cell as text: a whole number without a point, whatever type held it; NaN is missing, as frames mean it."""
    if raw_type == "VARCHAR":
        return raw
    if raw_type in ("FLOAT", "DOUBLE"):
        cell = raw if raw_type == "DOUBLE" else f"CAST({raw} AS DOUBLE)"
        short = f"{cell} BETWEEN -{_LARGEST}::DOUBLE AND {_LARGEST}::DOUBLE AND floor({cell}) = {cell}"
        plain = f"CAST(TRY_CAST({cell} AS BIGINT) AS VARCHAR)"
        return f"CASE WHEN {short} THEN {plain} WHEN isnan({cell}) THEN NULL ELSE CAST({cell} AS VARCHAR) END"
    if raw_type.startswith("DECIMAL") and not raw_type.endswith(",0)"):
        return f"rtrim(rtrim(CAST({raw} AS VARCHAR), '0'), '.')"
    if raw_type in STAMPS or raw_type in ZONED:
        cell = moment(raw, raw_type)
        far = f"CASE WHEN {cell} > {_FIRST} THEN 'infinity' ELSE '-infinity' END"
        # DuckDB may write down all moments of a column before it asks which of them are needed, so none may be too early.
        return f"CASE WHEN isinf({cell}) THEN {far} WHEN {cell} >= {_FIRST} THEN CAST(greatest({cell}, {_FIRST}) AS VARCHAR) END"
    if raw_type == MIXED:
        return f"COALESCE({', '.join(halves(raw))})"
    return f"TRY_CAST({raw} AS VARCHAR)"


def halves(raw: str) -> tuple[str, str]:
    """Of a cell that is ``MIXED``, the text that somebody wrote, and the text of a value; one of them is NULL."""
    return f"struct_extract({raw}, 'given text')", f"struct_extract({raw}, 'given value')"


def is_text(raw_type: str) -> bool:
    """Whether a type holds what somebody wrote."""
    return raw_type in ("VARCHAR", MIXED) or raw_type.startswith("ENUM(")


def numerals(raw: str, raw_type: str, decimal: str) -> list[str]:
    """SQL of the texts as which a written number may be read, the first that is a number: digits, a point, no groups.

    With a decimal point that is the text itself, and only then without its groups, because most numbers have none.
    """
    if raw_type == MIXED:
        written, value = halves(raw)
        return [*numerals(written, "VARCHAR", decimal), value]
    text = as_text(raw, raw_type)
    signs = _GROUPING + ("," if decimal == "." else ".")
    grouped = "|".join(f"(?:[{sign}][0-9]{{3}})+" for sign in signs)
    whole, exponent = f"[1-9][0-9]{{0,2}}(?:{grouped})", "(?:[eE][+-]?[0-9]+)?"
    if decimal == ".":
        shape = text_literal(f"{_SPACE}[+-]?{whole}(?:[.][0-9]*)?{exponent}{_SPACE}")
        return [text, f"CASE WHEN regexp_full_match({text}, {shape}) THEN translate({text}, {text_literal(signs)}, '') END"]
    shape = text_literal(f"{_SPACE}[+-]?(?:(?:[0-9]+|{whole})(?:,[0-9]*)?|,[0-9]+){exponent}{_SPACE}")
    plain = f"translate({text}, {text_literal(',' + signs)}, '.')"  # its first sign becomes a point, the others vanish
    return [f"CASE WHEN regexp_full_match({text}, {shape}) THEN {plain} WHEN NOT contains({text}, '.') THEN {text} END"]


def written_day(raw: str, raw_type: str, format: str) -> str:
    """SQL of the DATE that a text in this format is."""
    text, parts = as_text(raw, raw_type), day_parts(format)
    shapes = [_shape(part, alone=not _touches(parts, i)) for i, part in enumerate(parts)]
    shape = text_literal(_SPACE + "".join(shapes) + _SPACE)
    return f"CASE WHEN regexp_full_match({text}, {shape}) THEN CAST(try_strptime({text}, {text_literal(format)}) AS DATE) END"


def _shape(part: str, *, alone: bool) -> str:
    match part:
        case "%Y":
            return "[0-9]{4}"
        case "%b":
            return f"(?i:{'|'.join(month[:3] for month in _MONTHS)})"
        case "%B":
            return f"(?i:{'|'.join(_MONTHS)})"
        case _ if part[0] == "%":
            return "[0-9]{1,2}" if alone else "[0-9]{2}"
    return f"[{part}]"


def _touches(parts: tuple[str, ...], i: int) -> bool:
    """Whether a number stands beside another one, so that only its number of digits tells where it ends."""
    return any(part[0] == "%" and part not in ("%b", "%B") for part in (*parts[max(i - 1, 0) : i], *parts[i + 1 : i + 2]))
