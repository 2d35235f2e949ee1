"""Raw cells to declared values, in PostgreSQL's SQL: the rules of ``duckdb.cleaning``, to the same integers.

No cell can raise an error, though PostgreSQL raises where a double overflows or vanishes: a double is scaled only between the
bounds of its column, found here as the doubles whose scaled value is within them. Types are those that ``source`` reads a column
as; texts are compared by their bytes.

>>> from discreet.schema.columns import integer
>>> clean(integer(0, 120), '"age"', "bigint")
'CASE WHEN "age" BETWEEN 0 AND 120 THEN CAST("age" AS BIGINT) WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN 120 END'
"""

from __future__ import annotations

import datetime
import math
import struct
import sys
from collections.abc import Callable
from fractions import Fraction
from math import floor

from discreet.engine.postgres.texts import (
    NAN,
    as_text,
    let,
    moment,
    near,
    numerals,
    read_day,
    read_number,
    read_whole,
    written_day,
)
from discreet.engine.sql.dialect import NUMBERS_OR_TEXTS, WHOLE_IDS, text_literal
from discreet.errors import ParameterError
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text

WHOLE = frozenset({"smallint", "integer", "bigint"})
_EXACT = 2**53  # whole numbers below this are doubles
_HALVES = 2**52  # below this, adding a half to a double is exact enough: above it, doubles are whole already
_BEYOND = 10**38
_LONG_ID = 64  # bytes of an id that is compared as it is
_C = "\0"  # stands for a cell; no name has it
_TRUE = "'true', 't', 'yes', 'y', '1'"
_FALSE = "'false', 'f', 'no', 'n', '0'"


def clean(column: Column, raw: str, raw_type: str, *, doubles: bool = False) -> str:
    """SQL of a declared column's value, from the SQL and the type of the raw cell: BIGINT, TEXT, BOOLEAN or DATE, and numbers as
    multiples of their step, BIGINT or ``doubles``."""
    if isinstance(column, Integer):
        return _whole(raw, raw_type, column.lower, column.upper, clamp=True, missing=column.missing, decimal=column.decimal)
    if isinstance(column, Number):
        missing = None if column.missing is None else _units(column.missing, column)
        return _on_grid(raw, raw_type, column, "DOUBLE PRECISION" if doubles else "BIGINT", missing)
    value = clean_key(column, raw, raw_type)
    if isinstance(column, Category):
        words = [_literal(word) for word in column.values if _is_possible(word)]
        value = f"CASE WHEN {value} IN ({', '.join(words) or 'NULL'}) THEN {value} END"
    if column.missing is None:
        return value
    if not _is_possible(column.missing):
        raise ParameterError("PostgreSQL has no texts with the character NUL; write another text for what is missing.")
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
        return clamped.replace(_C, raw) if raw_type == "date" else let("d", day, clamped.replace(_C, "d"))
    text = as_text(raw, raw_type)
    if isinstance(column, Text):
        return _named(
            text, raw_type, f"CASE WHEN octet_length({_C}) <= {column.length} THEN {_C} ELSE left({_C}, {column.length}) END"
        )
    # A text longer than all words is none of them, and is not carried along: four bytes are the most a character has.
    return f"CASE WHEN octet_length({text}) <= {4 * column.length} THEN {text} END" if raw_type == "text" else text


def clean_id(raw: str, raw_type: str) -> str:
    """SQL of a person's id: compared as it is, never parsed, clamped or cut; an empty text and what is no number are missing."""
    if raw_type in WHOLE or raw_type in ("boolean", "date", "uuid"):
        return raw
    text = as_text(raw, raw_type)
    if raw_type not in ("text", "numeric"):
        return text
    digest = f"encode(sha256(convert_to({_C}, 'UTF8')), 'hex')"
    return _named(text, raw_type, f"CASE WHEN octet_length({_C}) > {_LONG_ID} THEN '#' || {digest} ELSE NULLIF({_C}, '') END")


def id_kind(raw_type: str) -> str:
    """The word for a type of ids: whole numbers of any width are compared as they are, all numbers and texts as texts."""
    if raw_type in WHOLE:
        return WHOLE_IDS
    return NUMBERS_OR_TEXTS if raw_type in ("real", "double precision", "numeric", "text") else raw_type


def scaled(number: str, step: Fraction) -> str:
    """A double of any size times a rational, in two operations of which neither overflows or vanishes with an error."""
    for constant, operate in ((step.numerator, _times), (step.denominator, _over)):
        if constant != 1:
            number = f"({operate(number, float(constant))})"
    return number


def _times(number: str, constant: float) -> str:
    most = _last(lambda x: x * constant < math.inf)
    far = f"WHEN {number} > {_double(most)} THEN 'Infinity' WHEN {number} < {_double(-most)} THEN '-Infinity'"
    return f"CASE WHEN {number} = {NAN} THEN {number} {far} ELSE {number} * {_double(constant)} END"


def _over(number: str, constant: float) -> str:
    least = _first(lambda x: x / constant > 0)
    return f"CASE WHEN abs({number}) < {_double(least)} THEN 0 ELSE {number} / {_double(constant)} END"


def _first(holds: Callable[[float], bool]) -> float:
    """The least double for which something holds that holds for all above it, and for the largest."""
    below, found = _place(-sys.float_info.max) - 1, _place(sys.float_info.max)
    while found - below > 1:
        middle = (below + found) // 2
        below, found = (below, middle) if holds(_at(middle)) else (middle, found)
    return _at(found)


def _last(holds: Callable[[float], bool]) -> float:
    return -_first(lambda x: holds(-x))


def _place(number: float) -> int:
    """The number of a double in the order of all of them, from zero."""
    size = int.from_bytes(struct.pack(">d", abs(number)))
    return size if number >= 0 else -size


def _at(place: int) -> float:
    return math.copysign(struct.unpack(">d", abs(place).to_bytes(8))[0], place)


def _double(number: float) -> str:
    """A double as SQL; a number with a point alone would be a ``numeric``."""
    return f"CAST('{number!r}' AS DOUBLE PRECISION)"


def _named(text: str, raw_type: str, template: str) -> str:
    """A template in which a cell's text stands several times, under a name where it is long."""
    return template.replace(_C, text) if raw_type == "text" else let("t", text, template.replace(_C, "t"))


def _is_possible(word: object) -> bool:
    """Whether a text can be in a table: none has a NUL."""
    return not isinstance(word, str) or "\0" not in word


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
        cell, whole, broken = _huge(raw, raw_type, decimal), "", ""
    else:
        cell = _number(raw, raw_type, decimal)
        whole, broken = f" AND floor({_C}) = {_C}", f"WHEN {_C} = {NAN} OR floor({_C}) <> {_C} THEN {nothing} "
    template = (
        f"CASE WHEN {_C} BETWEEN {low} AND {high}{whole} THEN CAST({_C} AS BIGINT) {broken}"
        f"WHEN {_C} < {low} THEN {below} WHEN {_C} > {high} THEN {above}{words} {end}"
    )
    plain = raw_type in WHOLE or cell == raw
    return template.replace(_C, cell) if plain else let("c", cell, template.replace(_C, "c"))


def _huge(raw: str, raw_type: str, decimal: str | None) -> str:
    """The whole number that a cell is, exactly; anything else is NULL."""
    if raw_type in WHOLE:
        return raw
    whole = (
        f"CASE WHEN n = {NAN} OR floor(n) <> n THEN NULL WHEN n >= 9223372036854775808 THEN {_BEYOND} "
        f"WHEN n < -9223372036854775808 THEN -{_BEYOND} ELSE CAST(CAST(n AS BIGINT) AS NUMERIC) END"
    )
    nearest = let("n", _number(raw, raw_type, decimal), whole)
    if raw_type not in ("numeric", "text"):
        return nearest
    if raw_type == "numeric":
        return f"CASE WHEN {raw} = 'NaN' THEN NULL WHEN {raw} = trunc({raw}) THEN {raw} ELSE {nearest} END"
    digits = [read_whole(text) for text in _numerals(raw, raw_type, decimal)]
    return f"COALESCE({', '.join(digits)}, {nearest})"


def _number(raw: str, raw_type: str, decimal: str | None = None) -> str:
    """The number that a cell is, as the nearest double; a cell that is no number is NULL."""
    if raw_type == "double precision":
        return raw
    if raw_type in WHOLE or raw_type == "real":
        return f"CAST({raw} AS DOUBLE PRECISION)"
    if raw_type == "boolean":
        return f"CAST(CAST({raw} AS INTEGER) AS DOUBLE PRECISION)"
    if raw_type == "numeric":
        return near(raw)
    if raw_type in ("date", "timestamp", "timestamptz", "uuid"):
        return "CAST(NULL AS DOUBLE PRECISION)"
    read = [let("s", text, read_number("s")) if text != raw else read_number(text) for text in _numerals(raw, raw_type, decimal)]
    return read[0] if len(read) == 1 else f"COALESCE({', '.join(read)})"


def _numerals(raw: str, raw_type: str, decimal: str | None) -> list[str]:
    """The texts as which a cell may be read; ``decimal`` is None where no spelling can be declared."""
    return [as_text(raw, raw_type)] if decimal is None or raw_type != "text" else numerals(raw, decimal)


def _words(raw: str, raw_type: str, one: object, zero: object) -> str:
    """The last branches of a CASE over a text: true and false, which are no numbers."""
    if raw_type != "text":
        return ""
    return f" WHEN lower({raw}) = 'true' THEN {one} WHEN lower({raw}) = 'false' THEN {zero}"


def _on_grid(raw: str, raw_type: str, column: Number, type: str = "BIGINT", missing: int | None = None) -> str:
    nothing, end = ("NULL", "END") if missing is None else (str(missing), f"ELSE {missing} END")
    low, high = int(column.lower / column.step), int(column.upper / column.step)
    scale, units = _in_units(column.step)
    first = _first(lambda x: scale(x) >= low)
    last = _last(lambda x: scale(x) <= high)
    near = f"floor({units} + 0.5)"
    if max(abs(low), abs(high)) > _HALVES:  # above, adding a half could carry a whole number over its bound
        near = f"CASE WHEN abs({units}) <= {_HALVES} THEN {near} ELSE {units} END"
    one, zero = (_units(Fraction(number), column) for number in (1, 0))
    whole = near if type != "BIGINT" else f"CAST({near} AS BIGINT)"
    template = (
        f"CASE WHEN {_C} BETWEEN {_double(first)} AND {_double(last)} THEN {whole} WHEN {_C} = {NAN} THEN {nothing} "
        f"WHEN {_C} < {_double(first)} THEN {low} WHEN {_C} > {_double(last)} THEN {high}"
        f"{_words(raw, raw_type, one, zero)} {end}"
    )
    cell = _number(raw, raw_type, column.decimal)
    short = raw_type in WHOLE | {"real", "double precision", "boolean"}
    found = template.replace(_C, cell) if short else let("c", cell, template.replace(_C, "c"))
    return found if type == "BIGINT" else f"CAST({found} AS {type})"


def _in_units(step: Fraction) -> tuple[Callable[[float], float], str]:
    """What a double is in multiples of the step, in Python and as SQL: two operations where the step's parts are doubles, else
    one. What would vanish, with an error, is zero; nothing is asked that would overflow."""
    if max(step.numerator, step.denominator) <= _EXACT:
        top, bottom = float(step.denominator), float(step.numerator)
        sql = f"{_C} * {_double(top)}" if top > 1 else _C
        if bottom > 1:
            sql = _over(f"({sql})" if top > 1 else sql, bottom)
        return lambda x: x * top / bottom, sql if sql == _C else f"({sql})"
    try:
        factor = float(1 / step)
    except OverflowError:
        factor = 0.0
    if not factor:
        raise ParameterError("The step of a number column is too fine or too coarse for the engine; write a step such as 0.01.")
    if factor >= 1:
        return lambda x: x * factor, f"({_C} * {_double(factor)})"
    least = _first(lambda x: x * factor > 0)
    return lambda x: x * factor, f"(CASE WHEN abs({_C}) < {_double(least)} THEN 0 ELSE {_C} * {_double(factor)} END)"


def _units(value: Fraction, column: Number) -> int:
    near = floor(value / column.step + Fraction(1, 2))
    return min(max(near, int(column.lower / column.step)), int(column.upper / column.step))


def _truth(raw: str, raw_type: str) -> str:
    if raw_type == "boolean":
        return raw
    if raw_type in WHOLE:
        return f"CASE {raw} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    number = let("c", _number(raw, raw_type), "CASE WHEN c = 1 THEN TRUE WHEN c = 0 THEN FALSE END")
    if raw_type != "text":
        return number
    word = f"lower(btrim({raw}, ' '))"
    return f"CASE WHEN {word} IN ({_TRUE}) THEN TRUE WHEN {word} IN ({_FALSE}) THEN FALSE ELSE {number} END"


def _day(raw: str, raw_type: str, format: str | None) -> str:
    if raw_type in ("timestamp", "timestamptz"):
        return f"CAST({moment(raw, raw_type)} AS DATE)"
    if raw_type == "date":
        return raw
    if raw_type != "text":
        return "CAST(NULL AS DATE)"
    return read_day(raw) if format is None else written_day(raw, format)
