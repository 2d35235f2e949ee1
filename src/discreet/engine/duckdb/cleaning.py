"""Raw cells to declared values, in SQL: the one place where a value outside its declaration gets its fate.

What a cell becomes depends on that cell and on public facts alone, never on another row, and no cell can raise an error: an
error that depends on data is an output nobody paid for. The same value has the same fate whatever type holds it (5, 5.0 and
``'5'``; true is 1), because the type of a column may hang on one row of it: a missing number turns integers into floats.

Numbers are compared in CASE, never in ``greatest`` and ``least``, which turn NULL and NaN into a bound. NaN is above every number
in DuckDB, so a range with an upper end never lets it pass.

What is declared of a spelling concerns texts only. A column of Python objects that are texts *and* numbers or days has the type
``MIXED``, the text of every cell in one of two places: else a text in another row would make the number 1.125 one thousand one
hundred and twenty-five. A text that is not written as declared is missing. DuckDB's ``try_strptime`` is looser (a year of two
digits is one of the first century, ``infinity`` is the first day of 1900, any number of spaces is one), so it only sees texts of
the very shape.

>>> from discreet.schema.columns import integer
>>> clean(integer(0, 120), '"age"', "BIGINT")
'CASE WHEN "age" BETWEEN 0 AND 120 THEN TRY_CAST("age" AS BIGINT) WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN 120 END'
"""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from functools import lru_cache

from discreet.engine.sql.cleaning import (
    EXACT,
    FALSE,
    HALVES,
    LONG_ID,
    TRUE,
    Cells,
    Fates,
    clamped_day,
    day_shape,
    factor_of,
    literal,
    number_shape,
    units_of,
)
from discreet.engine.sql.dialect import NUMBERS_OR_TEXTS, WHOLE_IDS, text_literal
from discreet.schema.columns import Category, Column, Date, Integer, Number, Text

MIXED = 'STRUCT("given text" VARCHAR, "given value" VARCHAR)'

STAMPS = frozenset({"TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"})
ZONED = frozenset({"TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ_NS"})
_NANOSECONDS = frozenset({"TIMESTAMP_NS", "TIMESTAMPTZ_NS"})

_FIRST = "TIMESTAMP '290309-12-22 (BC) 00:00:00'"
_LARGEST = 2**63 - 2**10  # the largest double that is a 64-bit integer
_SPACE = r"[ \t\n\v\f\r]*"


def instant(raw: str, raw_type: str) -> str:
    """A moment with a zone as TIMESTAMP in UTC, whatever zone the session is in."""
    if raw_type in _NANOSECONDS:
        return _floored(raw, raw_type)
    far = f"CASE CAST({raw} AS VARCHAR) WHEN 'infinity' THEN TIMESTAMP 'infinity' ELSE TIMESTAMP '-infinity' END"
    return f"CASE WHEN isinf({raw}) THEN {far} ELSE make_timestamp(epoch_us({raw})) END"


def _floored(raw: str, raw_type: str) -> str:
    """Nanoseconds as TIMESTAMP, rounded down as frames are; the last and the first of them are moments, though DuckDB calls them
    infinite."""
    ns, epoch = f"epoch_ns({raw})", f"CAST('1970-01-01 00:00:00+00' AS {raw_type})"
    last, first = (2**63 - 1) // 1000, -(2**63) // 1000
    micros = f"WHEN {ns} IS NOT NULL THEN {ns} // 1000 - CASE WHEN {ns} % 1000 < 0 THEN 1 ELSE 0 END"
    return f"make_timestamp(CASE {micros} WHEN {raw} > {epoch} THEN {last} WHEN {raw} < {epoch} THEN {first} END)"


def moment(raw: str, raw_type: str) -> str:
    """A moment as TIMESTAMP, in UTC where it has a zone; one before the first of the engine's calendar is missing."""
    cell = instant(raw, raw_type) if raw_type in ZONED | _NANOSECONDS else f"TRY_CAST({raw} AS TIMESTAMP)"
    return f"CASE WHEN {cell} >= {_FIRST} OR isinf({cell}) THEN {cell} END"


def as_text(raw: str, raw_type: str) -> str:
    """A cell as text: a whole number without a point, whatever type held it; NaN is missing, as frames mean it."""
    if raw_type == "VARCHAR":
        return raw
    if raw_type in ("FLOAT", "DOUBLE"):
        cell = raw if raw_type == "DOUBLE" else f"CAST({raw} AS DOUBLE)"
        short = f"{cell} BETWEEN -{_LARGEST}e0 AND {_LARGEST}e0 AND floor({cell}) = {cell}"
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
    shape, signs = number_shape(decimal)
    is_shape = f"regexp_full_match({text}, {text_literal(_SPACE + shape + _SPACE)})"
    if decimal == ".":
        return [text, f"CASE WHEN {is_shape} THEN translate({text}, {text_literal(signs)}, '') END"]
    plain = f"translate({text}, {text_literal(',' + signs)}, '.')"  # its first sign becomes a point, the others vanish
    return [f"CASE WHEN {is_shape} THEN {plain} WHEN NOT contains({text}, '.') THEN {text} END"]


def written_day(raw: str, raw_type: str, format: str) -> str:
    """SQL of the DATE that a text in this format is."""
    text, shape = as_text(raw, raw_type), text_literal(_SPACE + day_shape(format) + _SPACE)
    return f"CASE WHEN regexp_full_match({text}, {shape}) THEN CAST(try_strptime({text}, {text_literal(format)}) AS DATE) END"


_FINE = 2**48
_LONGEST = 10**38 - 1
_SIGNED = frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER"})
_WIDE = frozenset({"HUGEINT", "UBIGINT", "UHUGEINT"})
WHOLE = _SIGNED | _WIDE
_NO_WORDS = WHOLE | STAMPS | ZONED | {"BOOLEAN", "FLOAT", "DOUBLE", "DATE"}  # types whose texts are never true or false


def clean_id(raw: str, raw_type: str) -> str:
    """SQL of a person's id: compared as it is, never parsed, clamped or cut; an empty text and NaN are missing.

    Whatever type holds an id, ``CAST(id AS VARCHAR)`` is the same text: hash that, because one row may decide the type. Instead
    of a long text stands its SHA-256, so that an id takes up a bounded place; with a sign before it, no short id is equal to it.
    """
    if raw_type in ("BOOLEAN", "DATE", "UUID") or (raw_type in WHOLE and raw_type != "UHUGEINT"):
        return raw
    text = as_text(raw, raw_type)
    if not _endless(raw_type):
        return text
    return f"CASE WHEN strlen({text}) > {LONG_ID} THEN '#' || sha256({text}) ELSE NULLIF({text}, '') END"


def id_kind(raw_type: str) -> str:
    """The word for a type of ids: whole numbers of any width are compared as they are, all numbers and texts as texts."""
    if raw_type in WHOLE and raw_type != "UHUGEINT":
        return WHOLE_IDS
    numbers = raw_type in ("FLOAT", "DOUBLE", "UHUGEINT") or raw_type.startswith("DECIMAL")
    return NUMBERS_OR_TEXTS if numbers or is_text(raw_type) else raw_type.lower()


def _endless(raw_type: str) -> bool:
    """Whether a type holds texts of any length."""
    return is_text(raw_type) or raw_type == "BIT"


def _whole(
    raw: str, raw_type: str, low: int, high: int, *, clamp: bool, missing: int | None = None, decimal: str | None = None
) -> str:
    """A whole number between bounds as BIGINT; a fraction is missing, a number outside is clamped or missing.

    What is missing becomes ``missing`` within the same CASE, so that the engine still sees the bounds and groups by them quickly.
    """
    fate = Fates.of(low, high, missing, clamp=clamp)
    if raw_type in WHOLE or max(abs(low), abs(high)) >= EXACT:
        cell, whole, broken = _huge(raw, raw_type, decimal), "", ""
    else:
        cell = _double(raw, raw_type, decimal)
        whole, broken = f" AND floor({cell}) = {cell}", f"WHEN isnan({cell}) OR floor({cell}) <> {cell} THEN {fate.nothing} "
    words = _words(raw, raw_type, fate.one, fate.zero)
    return (
        f"CASE WHEN {cell} BETWEEN {low} AND {high}{whole} THEN TRY_CAST({cell} AS BIGINT) {broken}"
        f"WHEN {cell} < {low} THEN {fate.below} WHEN {cell} > {high} THEN {fate.above}{words} {fate.end}"
    )


def _huge(raw: str, raw_type: str, decimal: str | None) -> str:
    """The whole number that a cell is, exactly, as HUGEINT or an integer type that compares exactly; anything else is NULL."""
    if raw_type in _SIGNED:
        return raw
    if raw_type == "UBIGINT":
        return f"CAST({raw} AS HUGEINT)"
    if raw_type == "UHUGEINT":
        return f"CASE WHEN {raw} IS NOT NULL THEN COALESCE(TRY_CAST({raw} AS HUGEINT), {_LONGEST}) END"
    cell = _double(raw, raw_type, decimal)
    near = (
        f"CASE WHEN isnan({cell}) OR floor({cell}) <> {cell} THEN NULL WHEN {cell} > 1e37 THEN {_LONGEST} "
        f"WHEN {cell} < -1e37 THEN -{_LONGEST} ELSE TRY_CAST({cell} AS HUGEINT) END"
    )
    if raw_type in ("FLOAT", "DOUBLE", "BOOLEAN") or _scale(raw_type, digits=15):
        return near
    digits = [  # a text of digits is read exactly, any other text as the nearest double
        f"CASE WHEN regexp_full_match({text}, '\\s*[+-]?[0-9]+\\s*') THEN TRY_CAST({text} AS HUGEINT) END"
        for text in _numerals(raw, raw_type, decimal)
    ]
    return f"COALESCE({', '.join(digits)}, {near})"


def _double(raw: str, raw_type: str, decimal: str | None = None) -> str:
    """The number that a cell is, as the nearest DOUBLE; a cell that is no number is NULL."""
    if raw_type == "DOUBLE":
        return raw
    if raw_type in (_SIGNED - _WIDE) | {"UBIGINT", "FLOAT", "BOOLEAN"} or _scale(raw_type, digits=15):
        return f"CAST({raw} AS DOUBLE)"
    if raw_type == "DATE" or raw_type in STAMPS or raw_type in ZONED:
        return "CAST(NULL AS DOUBLE)"
    # Also for wide integers and decimals, whose own conversion is not to the nearest double.
    read = [f"TRY_CAST({text} AS DOUBLE)" for text in _numerals(raw, raw_type, decimal)]
    return read[0] if len(read) == 1 else f"COALESCE({', '.join(read)})"


def _numerals(raw: str, raw_type: str, decimal: str | None) -> list[str]:
    """The texts as which a cell may be read; ``decimal`` is None where no spelling can be declared."""
    return [as_text(raw, raw_type)] if decimal is None or not is_text(raw_type) else numerals(raw, raw_type, decimal)


def _words(raw: str, raw_type: str, one: object, zero: object) -> str:
    """The last branches of a CASE over a text: true and false, which are no numbers to DuckDB."""
    if raw_type in _NO_WORDS or raw_type.startswith("DECIMAL"):
        return ""
    word = f"lower({as_text(raw, raw_type)})"
    return f" WHEN {word} = 'true' THEN {one} WHEN {word} = 'false' THEN {zero}"


@lru_cache(maxsize=256)
def _on_grid(raw: str, raw_type: str, column: Number, type: str = "BIGINT", missing: int | None = None) -> str:
    """A number x in units of its step, rounded where it is within bounds, else a bound; NaN, above infinity, is missing."""
    whole = "{}e0" if type == "DOUBLE" else f"{{}}::{type}"
    end = "END" if missing is None else f"ELSE {whole.format(missing)} END"
    low, high = int(column.lower / column.step), int(column.upper / column.step)
    units = _inunits_of(_double(raw, raw_type, column.decimal), column.step)
    one, zero = (whole.format(units_of(Fraction(number), column)) for number in (1, 0))
    near = f"floor({units} + 0.5e0)"
    if max(abs(low), abs(high)) > HALVES:  # above, adding a half could carry a whole number over its bound
        near = f"CASE WHEN {units} BETWEEN -{HALVES}e0 AND {HALVES}e0 THEN {near} ELSE {units} END"
    near = near if type == "DOUBLE" else f"TRY_CAST({near} AS {type})"
    return (
        f"CASE WHEN {_is_within(units, low, high)} THEN {near} WHEN {units} < {low}e0 THEN {whole.format(low)} "
        f"WHEN {units} <= 'inf'::DOUBLE THEN {whole.format(high)}{_words(raw, raw_type, one, zero)} {end}"
    )


def _is_within(x: str, low: int, high: int) -> str:
    """Whether a double x, rounded to a whole number, is within bounds; not where it is missing or NaN.

    To compare doubles takes DuckDB longer than to add them up, so that the test is whether (x - m) C is finite, with m the middle
    of the bounds, h half their distance, and C the largest double over h + 1/4. If low <= x <= high, then |x - m| <= h, also
    rounded, and the product is finite. If it is finite, then |x - m|, rounded once, is below (h + 1/4)(1 + 2^-51), so that x is
    less than a half outside the bounds, which are at most 2^48: rounded, x is a bound or lies within.
    """
    if high - low < 2 or max(abs(low), abs(high)) > _FINE:
        return f"{x} BETWEEN {low}e0 AND {high}e0"
    most = sys.float_info.max / ((high - low) / 2 + 0.25)
    return f"isfinite(({x} - {_written((low + high) / 2)}) * {_written(most)})"


def _inunits_of(cell: str, step: Fraction) -> str:
    """A cell in multiples of the step: two operations on doubles where the step's parts are doubles, else one."""
    factor = factor_of(step)
    if factor is not None:
        return f"({cell} * {_written(factor)})"
    times = f" * {step.denominator}e0" if step.denominator > 1 else ""
    over = f" / {step.numerator}e0" if step.numerator > 1 else ""
    return f"({cell}{times}{over})"


def _written(number: float) -> str:
    """A double as it is read without a cast, which would be calculated for every statement."""
    return found if "e" in (found := repr(number)) else f"{found}e0"


def _truth(raw: str, raw_type: str) -> str:
    if raw_type == "BOOLEAN":
        return raw
    number = _double(raw, raw_type)
    from_number = f"CASE {number} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    if raw_type in WHOLE or raw_type in ("FLOAT", "DOUBLE") or raw_type.startswith("DECIMAL"):
        return from_number
    word = f"lower(trim({as_text(raw, raw_type)}))"
    return f"CASE WHEN {word} IN ({TRUE}) THEN TRUE WHEN {word} IN ({FALSE}) THEN FALSE ELSE {from_number} END"


def _day(raw: str, raw_type: str, format: str | None) -> str:
    if raw_type == "DATE":
        return raw
    if raw_type in STAMPS or raw_type in ZONED:
        return f"TRY_CAST({moment(raw, raw_type)} AS DATE)"
    if raw_type in WHOLE or raw_type in ("FLOAT", "DOUBLE", "BOOLEAN") or raw_type.startswith("DECIMAL"):
        return "CAST(NULL AS DATE)"
    if format is not None and raw_type == MIXED:
        written, value = halves(raw)
        return f"COALESCE({written_day(written, 'VARCHAR', format)}, {_day(value, 'VARCHAR', None)})"
    if format is not None and is_text(raw_type):
        return written_day(raw, raw_type, format)
    text = as_text(raw, raw_type)  # an infinite number is no date, though DuckDB would read its text as one
    return f"CASE WHEN lower(trim({text})) NOT IN ('inf', '-inf') THEN COALESCE({_zoned_day(text)}, TRY_CAST({text} AS DATE)) END"


def _zoned_day(text: str) -> str:
    """The day in UTC of a text with an offset, such as 2020-01-01 23:30:00-05:00; NULL for any other text."""
    close = f"replace(replace({text}, ' +', '+'), ' -', '-')"
    moment = instant(f"TRY_CAST({close} AS TIMESTAMP WITH TIME ZONE)", "TIMESTAMP WITH TIME ZONE")
    shape = r"':[0-9]{2}(:[0-9]{2}([.][0-9]+)?)? ?(Z|[+-][0-9]{2}(:?[0-9]{2})?)[ \t\n\v\f\r]*$'"
    return f"CASE WHEN contains({text}, ':') AND regexp_matches({text}, {shape}) THEN TRY_CAST({moment} AS DATE) END"


def _scale(raw_type: str, *, digits: int) -> bool:
    """Whether a type is a decimal of so few digits that doubles tell its values apart."""
    found = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", raw_type)
    return found is not None and int(found[1]) <= digits


def _clamped(column: Date, raw: str, raw_type: str) -> str:
    return clamped_day(_day(raw, raw_type, column.format), column)


def _cut(column: Text, raw: str, raw_type: str) -> str:
    text = as_text(raw, raw_type)
    return f"CASE WHEN strlen({text}) <= {column.length} THEN {text} ELSE left({text}, {column.length}) END"


def _word(column: Category, raw: str, raw_type: str) -> str:
    """Four bytes are the most a character has."""
    text = as_text(raw, raw_type)
    return f"CASE WHEN strlen({text}) <= {4 * column.length} THEN {text} END" if _endless(raw_type) else text


CELLS = Cells("DOUBLE", _whole, _on_grid, _truth, _clamped, _cut, _word, literal)
clean_key = CELLS.clean_key


def clean(column: Column, raw: str, raw_type: str, *, doubles: bool = False) -> str:
    """A declared column's value. ``doubles``: its whole numbers as doubles; those of whole columns where ``in_doubles``."""
    if not doubles or not isinstance(column, Integer):
        return CELLS.clean(column, raw, raw_type, doubles=doubles)
    low, high, end = column.lower, column.upper, "END" if column.missing is None else f"ELSE {column.missing}e0 END"
    cell = _double(raw, raw_type)
    return (
        f"CASE WHEN {_is_within(cell, low, high)} THEN {cell} WHEN {raw} < {low} THEN {low}e0 WHEN {raw} > {high} "
        f"THEN {high}e0 {end}"
    )


def in_doubles(column: Integer, raw_type: str) -> bool:
    """Whether a whole column's values are quickly cleaned as doubles: then cells are compared once, and not cast again. Cells of
    at most 64 bits whose doubles are others' are far beyond such bounds."""
    return raw_type in _SIGNED - _WIDE and max(abs(column.lower), abs(column.upper)) <= _FINE
