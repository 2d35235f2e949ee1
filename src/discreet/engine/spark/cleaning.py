"""Raw cells to declared values, in Spark's SQL: the rules of ``duckdb.cleaning``, to the same integers.

No cell can raise an error, in ANSI mode: casts try, or stand where their argument is within bounds. Types are those that
``source`` reads a column as. NaN is above every number in Spark too.

>>> from discreet.schema.columns import integer
>>> clean(integer(0, 120), "`age`", "BIGINT")
'CASE WHEN `age` BETWEEN 0 AND 120 THEN CAST(`age` AS BIGINT) WHEN `age` < 0 THEN 0 WHEN `age` > 120 THEN 120 END'
"""

from __future__ import annotations

import datetime
from fractions import Fraction
from math import floor

from discreet.engine.spark.literals import text_literal
from discreet.engine.spark.texts import as_text, day_of, let, lowered, numerals, read_day, read_number, read_whole, written_day
from discreet.engine.sql.dialect import NUMBERS_OR_TEXTS, WHOLE_IDS
from discreet.errors import ParameterError
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text

WHOLE = frozenset({"TINYINT", "SMALLINT", "INT", "BIGINT"})
_EXACT = 2**53  # whole numbers below this are doubles
_HALVES = 2**52  # below this, adding a half to a double is exact enough: above it, doubles are whole already
_BEYOND = 10**38 - 1
_LONG_ID = 64  # bytes of an id that is compared as it is
_C = "\0"  # stands for a cell; no name has it
_TRUE = "'true', 't', 'yes', 'y', '1'"
_FALSE = "'false', 'f', 'no', 'n', '0'"


def clean(column: Column, raw: str, raw_type: str, *, doubles: bool = False) -> str:
    """SQL of a declared column's value, from the SQL and the type of the raw cell: BIGINT, STRING, BOOLEAN or DATE, and numbers
    as multiples of their step, BIGINT or ``doubles``."""
    if isinstance(column, Integer):
        return _whole(raw, raw_type, column.lower, column.upper, clamp=True, missing=column.missing, decimal=column.decimal)
    if isinstance(column, Number):
        missing = None if column.missing is None else _units(column.missing, column)
        return _on_grid(raw, raw_type, column, "DOUBLE" if doubles else "BIGINT", missing)
    value = clean_key(column, raw, raw_type)
    if isinstance(column, Category):
        value = f"CASE WHEN {value} IN ({', '.join(_literal(word) for word in column.values)}) THEN {value} END"
    if column.missing is None:
        return value
    return f"COALESCE({value}, {_literal(column.missing)})"


def clean_key(column: Column, raw: str, raw_type: str) -> str:
    """The same before ``missing`` is filled in, and for a category before its list is asked: a join with the list does that."""
    if isinstance(column, Integer):
        return _whole(raw, raw_type, column.lower, column.upper, clamp=True, decimal=column.decimal)
    if isinstance(column, Number):
        return _on_grid(raw, raw_type, column)
    if isinstance(column, Category) and column.kind == "number":
        numbers = [int(value) for value in column.values]
        return _whole(raw, raw_type, min(numbers), max(numbers), clamp=False)
    if isinstance(column, Boolean):
        return _truth(raw, raw_type)
    if isinstance(column, Date):
        low, high = _literal(column.lower), _literal(column.upper)
        day = _day(raw, raw_type, column.format)
        clamped = f"CASE WHEN {_C} < {low} THEN {low} WHEN {_C} > {high} THEN {high} ELSE {_C} END"
        return clamped.replace(_C, raw) if raw_type == "DATE" else let("d", day, clamped.replace(_C, "d"))
    text = as_text(raw, raw_type)
    if isinstance(column, Text):
        cut = f"CASE WHEN octet_length({_C}) <= {column.length} THEN {_C} ELSE left({_C}, {column.length}) END"
        if raw_type != "STRING":
            return let("t", text, cut.replace(_C, "t"))
        return f"make_valid_utf8({cut.replace(_C, text)})"  # what is no UTF-8 cannot be sent: it becomes the sign for that
    # A text longer than all words is none of them, and is not carried along: four bytes are the most a character has.
    return f"CASE WHEN octet_length({text}) <= {4 * column.length} THEN {text} END" if raw_type == "STRING" else text


def clean_id(raw: str, raw_type: str) -> str:
    """SQL of a person's id: compared as it is, never parsed, clamped or cut; an empty text and what is no number are missing."""
    if raw_type in WHOLE or raw_type in ("BOOLEAN", "DATE"):
        return raw
    text = as_text(raw, raw_type)
    if raw_type != "STRING":
        return text
    return f"CASE WHEN octet_length({text}) > {_LONG_ID} THEN '#' || sha2({text}, 256) ELSE NULLIF({text}, '') END"


def id_kind(raw_type: str) -> str:
    """The word for a type of ids: whole numbers of any width are compared as they are, all numbers and texts as texts."""
    if raw_type in WHOLE:
        return WHOLE_IDS
    numbers = raw_type in ("FLOAT", "DOUBLE", "STRING") or raw_type.startswith("DECIMAL")
    return NUMBERS_OR_TEXTS if numbers else raw_type.lower()


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    return text_literal(value) if isinstance(value, str) else str(value)


def _whole(
    raw: str, raw_type: str, low: int, high: int, *, clamp: bool, missing: int | None = None, decimal: str | None = None
) -> str:
    """A whole number between bounds as BIGINT; a fraction is missing, a number outside is clamped or missing."""
    nothing, end = ("NULL", "END") if missing is None else (str(missing), f"ELSE {missing} END")
    below, above = (str(low), str(high)) if clamp else ("NULL", "NULL")
    one, zero = (below if number < low else above if number > high else str(number) for number in (1, 0))
    words = _words(raw, raw_type, one, zero)
    if raw_type in WHOLE or max(abs(low), abs(high)) >= _EXACT:
        cell = _huge(raw, raw_type, decimal)
        inside, broken = f"CAST({_C} AS BIGINT)", ""
    else:  # all doubles between the bounds are in the range of BIGINT
        cell = _number(raw, raw_type, decimal)
        is_whole = f"CAST({_C} AS BIGINT) = {_C}"
        inside = f"CASE WHEN {is_whole} THEN CAST({_C} AS BIGINT) ELSE {nothing} END"
        near = f"CASE WHEN {_C} BETWEEN -{_EXACT}e0 AND {_EXACT}e0 THEN {is_whole} ELSE NOT isnan({_C}) END"
        broken = f"WHEN NOT {near} THEN {nothing} "
    template = (
        f"CASE WHEN {_C} BETWEEN {low} AND {high} THEN {inside} {broken}"
        f"WHEN {_C} < {low} THEN {below} WHEN {_C} > {high} THEN {above}{words} {end}"
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
    one, zero = (_typed(_units(Fraction(number), column), type) for number in (1, 0))
    near = f"floor({_C} + 0.5e0)"  # within the bounds, so it is no BIGINT that overflows
    if max(abs(low), abs(high)) > _HALVES:  # above, adding a half could carry a whole number over its bound
        near = f"CASE WHEN {_C} BETWEEN -{_HALVES}e0 AND {_HALVES}e0 THEN {near} ELSE CAST({_C} AS BIGINT) END"
    whole = near if type == "BIGINT" else f"CAST({near} AS DOUBLE)"
    template = (
        f"CASE WHEN {_C} BETWEEN {low}e0 AND {high}e0 THEN {whole} WHEN isnan({_C}) THEN {nothing} "
        f"WHEN {_C} < {low}e0 THEN {_typed(low, type)} WHEN {_C} > {high}e0 THEN {_typed(high, type)}"
        f"{_words(raw, raw_type, one, zero)} {end}"
    )
    units = _in_units(_number(raw, raw_type, column.decimal), column.step)
    plain = raw_type in WHOLE | {"FLOAT", "DOUBLE", "BOOLEAN"}
    return template.replace(_C, units) if plain else let("u", units, template.replace(_C, "u"))


def _typed(number: int, type: str) -> str:
    return f"{number}L" if type == "BIGINT" else f"{number}e0"


def _in_units(cell: str, step: Fraction) -> str:
    """A cell in multiples of the step: two operations on doubles where the step's parts are doubles, else one."""
    if max(step.numerator, step.denominator) <= _EXACT:
        times = f" * {step.denominator}e0" if step.denominator > 1 else ""
        over = f" / {step.numerator}e0" if step.numerator > 1 else ""
        return f"({cell}{times}{over})"
    try:
        factor = float(1 / step)
    except OverflowError:
        factor = 0.0
    if not factor:
        raise ParameterError("The step of a number column is too fine or too coarse for the engine; write a step such as 0.01.")
    return f"({cell} * CAST('{factor!r}' AS DOUBLE))"


def _units(value: Fraction, column: Number) -> int:
    near = floor(value / column.step + Fraction(1, 2))
    return min(max(near, int(column.lower / column.step)), int(column.upper / column.step))


def _truth(raw: str, raw_type: str) -> str:
    if raw_type == "BOOLEAN":
        return raw
    number = let("n", _number(raw, raw_type), "CASE WHEN n = 1 THEN TRUE WHEN n = 0 THEN FALSE END")
    if raw_type in WHOLE:
        return f"CASE WHEN {raw} = 1 THEN TRUE WHEN {raw} = 0 THEN FALSE END"
    if raw_type != "STRING":
        return number
    word = lowered(f"trim({raw})")
    return f"CASE WHEN {word} IN ({_TRUE}) THEN TRUE WHEN {word} IN ({_FALSE}) THEN FALSE ELSE {number} END"


def _day(raw: str, raw_type: str, format: str | None) -> str:
    if raw_type in ("TIMESTAMP", "TIMESTAMP_NTZ"):
        return day_of(raw, raw_type)
    if raw_type == "DATE":
        return raw
    if raw_type != "STRING":
        return "CAST(NULL AS DATE)"
    return read_day(raw) if format is None else written_day(raw, format)
