"""Raw cells to declared values, in Spark's SQL: the rules of ``duckdb.cleaning``, to the same integers.

No cell can raise an error, in ANSI mode: casts try, or stand where their argument is within bounds. Types are those that
``source`` reads a column as. NaN is above every number in Spark too.

>>> from discreet.schema.columns import integer
>>> clean(integer(0, 120), "`age`", "BIGINT")
'CASE WHEN `age` BETWEEN 0 AND 120 THEN CAST(`age` AS BIGINT) WHEN `age` < 0 THEN 0 WHEN `age` > 120 THEN 120 END'
"""

from __future__ import annotations

from fractions import Fraction

from discreet.engine.spark.literals import text_literal
from discreet.engine.spark.texts import as_text, day_of, let, lowered, numerals, read_day, read_number, read_whole, written_day
from discreet.engine.sql.cleaning import (
    EXACT,
    FALSE,
    HALVES,
    LONG_ID,
    TRUE,
    Cells,
    Fates,
    clamped_day,
    factor_of,
    literal,
    units_of,
)
from discreet.engine.sql.dialect import NUMBERS_OR_TEXTS, WHOLE_IDS
from discreet.schema.columns import Category, Date, Number, Text

WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_BEYOND = 10**38 - 1
_C = "\0"  # stands for a cell; no name has it


def clean_id(raw: str, raw_type: str) -> str:
    """SQL of a person's id: compared as it is, never parsed, clamped or cut; an empty text and what is no number are missing."""
    if raw_type in WHOLE or raw_type in ("BOOLEAN", "DATE"):
        return raw
    text = as_text(raw, raw_type)
    if raw_type != "STRING":
        return text
    return f"CASE WHEN octet_length({text}) > {LONG_ID} THEN '#' || sha2({text}, 256) ELSE NULLIF({text}, '') END"


def id_kind(raw_type: str) -> str:
    """The word for a type of ids: whole numbers of any width are compared as they are, all numbers and texts as texts."""
    if raw_type in WHOLE:
        return WHOLE_IDS
    numbers = raw_type in ("FLOAT", "DOUBLE", "STRING") or raw_type.startswith("DECIMAL")
    return NUMBERS_OR_TEXTS if numbers else raw_type.lower()


def _whole(
    raw: str, raw_type: str, low: int, high: int, *, clamp: bool, missing: int | None = None, decimal: str | None = None
) -> str:
    """A whole number between bounds as BIGINT; a fraction is missing, a number outside is clamped or missing."""
    fate = Fates.of(low, high, missing, clamp=clamp)
    words = _words(raw, raw_type, fate.one, fate.zero)
    if raw_type in WHOLE or max(abs(low), abs(high)) >= EXACT:
        cell = _huge(raw, raw_type, decimal)
        inside, broken = f"CAST({_C} AS BIGINT)", ""
    else:  # all doubles between the bounds are in the range of BIGINT
        cell = _number(raw, raw_type, decimal)
        is_whole = f"CAST({_C} AS BIGINT) = {_C}"
        inside = f"CASE WHEN {is_whole} THEN CAST({_C} AS BIGINT) ELSE {fate.nothing} END"
        near = f"CASE WHEN {_C} BETWEEN -{EXACT}e0 AND {EXACT}e0 THEN {is_whole} ELSE NOT isnan({_C}) END"
        broken = f"WHEN NOT {near} THEN {fate.nothing} "
    template = (
        f"CASE WHEN {_C} BETWEEN {low} AND {high} THEN {inside} {broken}"
        f"WHEN {_C} < {low} THEN {fate.below} WHEN {_C} > {high} THEN {fate.above}{words} {fate.end}"
    )
    return template.replace(_C, cell) if raw_type in WHOLE or cell == raw else let("c", cell, template.replace(_C, "c"))


def _huge(raw: str, raw_type: str, decimal: str | None) -> str:
    """The whole number that a cell is, exactly; anything else is NULL."""
    if raw_type in WHOLE:
        return raw
    within = f"n BETWEEN -{2**63 - 2**10}e0 AND {2**63 - 2**10}e0"
    whole = (
        f"CASE WHEN {within} THEN CASE WHEN CAST(n AS BIGINT) = n THEN CAST(CAST(n AS BIGINT) AS DECIMAL(38,0)) END "
        f"WHEN isnan(n) THEN NULL WHEN n > 0 THEN {_BEYOND} WHEN n < 0 THEN -{_BEYOND} END"
    )
    nearest = let("n", _number(raw, raw_type, decimal), whole)
    if raw_type in ("FLOAT", "DOUBLE", "BOOLEAN"):
        return nearest
    digits = [read_whole(text) for text in _numerals(raw, raw_type, decimal)]
    return f"COALESCE({', '.join(digits)}, {nearest})"


def _number(raw: str, raw_type: str, decimal: str | None = None) -> str:
    """The number that a cell is, as the nearest double; a cell that is no number is NULL."""
    if raw_type == "DOUBLE":
        return raw
    if raw_type in WHOLE or raw_type in ("FLOAT", "BOOLEAN"):
        return f"CAST({raw} AS DOUBLE)"
    if raw_type.startswith("DECIMAL"):
        return f"TRY_CAST(CAST({raw} AS STRING) AS DOUBLE)"
    if raw_type in ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ"):
        return "CAST(NULL AS DOUBLE)"
    read = [read_number(text) for text in _numerals(raw, raw_type, decimal)]
    return read[0] if len(read) == 1 else f"COALESCE({', '.join(read)})"


def _numerals(raw: str, raw_type: str, decimal: str | None) -> list[str]:
    """The texts as which a cell may be read; ``decimal`` is None where no spelling can be declared."""
    return [as_text(raw, raw_type)] if decimal is None or raw_type != "STRING" else numerals(raw, decimal)


def _words(raw: str, raw_type: str, one: object, zero: object) -> str:
    """The last branches of a CASE over a text: true and false, which are no numbers."""
    if raw_type != "STRING":
        return ""
    return f" WHEN {lowered(raw)} = 'true' THEN {one} WHEN {lowered(raw)} = 'false' THEN {zero}"


def _on_grid(raw: str, raw_type: str, column: Number, type: str = "BIGINT", missing: int | None = None) -> str:
    nothing, end = ("NULL", "END") if missing is None else (_typed(missing, type), f"ELSE {_typed(missing, type)} END")
    low, high = int(column.lower / column.step), int(column.upper / column.step)
    one, zero = (_typed(units_of(Fraction(number), column), type) for number in (1, 0))
    near = f"floor({_C} + 0.5e0)"  # within the bounds, so it is no BIGINT that overflows
    if max(abs(low), abs(high)) > HALVES:  # above, adding a half could carry a whole number over its bound
        near = f"CASE WHEN {_C} BETWEEN -{HALVES}e0 AND {HALVES}e0 THEN {near} ELSE CAST({_C} AS BIGINT) END"
    whole = near if type == "BIGINT" else f"CAST({near} AS DOUBLE)"
    template = (
        f"CASE WHEN {_C} BETWEEN {low}e0 AND {high}e0 THEN {whole} WHEN isnan({_C}) THEN {nothing} "
        f"WHEN {_C} < {low}e0 THEN {_typed(low, type)} WHEN {_C} > {high}e0 THEN {_typed(high, type)}"
        f"{_words(raw, raw_type, one, zero)} {end}"
    )
    units = _inunits_of(_number(raw, raw_type, column.decimal), column.step)
    plain = raw_type in WHOLE | {"FLOAT", "DOUBLE", "BOOLEAN"}
    return template.replace(_C, units) if plain else let("u", units, template.replace(_C, "u"))


def _typed(number: int, type: str) -> str:
    return f"{number}L" if type == "BIGINT" else f"{number}e0"


def _inunits_of(cell: str, step: Fraction) -> str:
    """A cell in multiples of the step: two operations on doubles where the step's parts are doubles, else one."""
    factor = factor_of(step)
    if factor is not None:
        return f"({cell} * CAST('{factor!r}' AS DOUBLE))"
    times = f" * {step.denominator}e0" if step.denominator > 1 else ""
    over = f" / {step.numerator}e0" if step.numerator > 1 else ""
    return f"({cell}{times}{over})"


def _truth(raw: str, raw_type: str) -> str:
    if raw_type == "BOOLEAN":
        return raw
    number = let("n", _number(raw, raw_type), "CASE WHEN n = 1 THEN TRUE WHEN n = 0 THEN FALSE END")
    if raw_type in WHOLE:
        return f"CASE WHEN {raw} = 1 THEN TRUE WHEN {raw} = 0 THEN FALSE END"
    if raw_type != "STRING":
        return number
    word = lowered(f"trim({raw})")
    return f"CASE WHEN {word} IN ({TRUE}) THEN TRUE WHEN {word} IN ({FALSE}) THEN FALSE ELSE {number} END"


def _day(raw: str, raw_type: str, format: str | None) -> str:
    if raw_type in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return day_of(raw, raw_type)
    if raw_type == "DATE":
        return raw
    if raw_type != "STRING":
        return "CAST(NULL AS DATE)"
    return read_day(raw) if format is None else written_day(raw, format)


def _clamped(column: Date, raw: str, raw_type: str) -> str:
    day = _day(raw, raw_type, column.format)
    return clamped_day(raw, column) if raw_type == "DATE" else let("d", day, clamped_day("d", column))


def _cut(column: Text, raw: str, raw_type: str) -> str:
    cut = f"CASE WHEN octet_length({_C}) <= {column.length} THEN {_C} ELSE left({_C}, {column.length}) END"
    if raw_type != "STRING":
        return let("t", as_text(raw, raw_type), cut.replace(_C, "t"))
    return f"make_valid_utf8({cut.replace(_C, raw)})"  # what is no UTF-8 cannot be sent: it becomes the sign for that


def _word(column: Category, raw: str, raw_type: str) -> str:
    """Four bytes are the most a character has."""
    if raw_type != "STRING":
        return as_text(raw, raw_type)
    return f"CASE WHEN octet_length({raw}) <= {4 * column.length} THEN {raw} END"


CELLS = Cells("DOUBLE", _whole, _on_grid, _truth, _clamped, _cut, _word, lambda value: literal(value, text_literal))
clean, clean_key = CELLS.clean, CELLS.clean_key
