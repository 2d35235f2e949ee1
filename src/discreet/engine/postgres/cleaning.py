"""Raw cells to declared values, in PostgreSQL's SQL: the rules of ``duckdb.cleaning``, to the same integers.

No cell can raise an error, though PostgreSQL raises where a double overflows or vanishes: a double is scaled only between the
bounds of its column, found here as the doubles whose scaled value is within them. Types are those that ``source`` reads a column
as; texts are compared by their bytes.

>>> from discreet.schema.columns import integer
>>> clean(integer(0, 120), '"age"', "bigint")
'CASE WHEN "age" BETWEEN 0 AND 120 THEN CAST("age" AS BIGINT) WHEN "age" < 0 THEN 0 WHEN "age" > 120 THEN 120 END'
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Callable
from fractions import Fraction

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

WHOLE = frozenset({"smallint", "integer", "bigint"})
_BEYOND = 10**38
_C = "\0"  # stands for a cell; no name has it


def clean_id(raw: str, raw_type: str) -> str:
    """SQL of a person's id: compared as it is, never parsed, clamped or cut; an empty text and what is no number are missing."""
    if raw_type in WHOLE or raw_type in ("boolean", "date", "uuid"):
        return raw
    text = as_text(raw, raw_type)
    if raw_type not in ("text", "numeric"):
        return text
    digest = f"encode(sha256(convert_to({_C}, 'UTF8')), 'hex')"
    return _named(text, raw_type, f"CASE WHEN octet_length({_C}) > {LONG_ID} THEN '#' || {digest} ELSE NULLIF({_C}, '') END")


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


def _whole(
    raw: str, raw_type: str, low: int, high: int, *, clamp: bool, missing: int | None = None, decimal: str | None = None
) -> str:
    """A whole number between bounds as BIGINT; a fraction is missing, a number outside is clamped or missing."""
    fate = Fates.of(low, high, missing, clamp=clamp)
    words = _words(raw, raw_type, fate.one, fate.zero)
    if raw_type in WHOLE or max(abs(low), abs(high)) >= EXACT:
        cell, whole, broken = _huge(raw, raw_type, decimal), "", ""
    else:
        cell = _number(raw, raw_type, decimal)
        whole, broken = f" AND floor({_C}) = {_C}", f"WHEN {_C} = {NAN} OR floor({_C}) <> {_C} THEN {fate.nothing} "
    template = (
        f"CASE WHEN {_C} BETWEEN {low} AND {high}{whole} THEN CAST({_C} AS BIGINT) {broken}"
        f"WHEN {_C} < {low} THEN {fate.below} WHEN {_C} > {high} THEN {fate.above}{words} {fate.end}"
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
    if max(abs(low), abs(high)) > HALVES:  # above, adding a half could carry a whole number over its bound
        near = f"CASE WHEN abs({units}) <= {HALVES} THEN {near} ELSE {units} END"
    one, zero = (units_of(Fraction(number), column) for number in (1, 0))
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
    factor = factor_of(step)
    if factor is None:
        top, bottom = float(step.denominator), float(step.numerator)
        sql = f"{_C} * {_double(top)}" if top > 1 else _C
        if bottom > 1:
            sql = _over(f"({sql})" if top > 1 else sql, bottom)
        return lambda x: x * top / bottom, sql if sql == _C else f"({sql})"
    if factor >= 1:
        return lambda x: x * factor, f"({_C} * {_double(factor)})"
    least = _first(lambda x: x * factor > 0)
    return lambda x: x * factor, f"(CASE WHEN abs({_C}) < {_double(least)} THEN 0 ELSE {_C} * {_double(factor)} END)"


def _truth(raw: str, raw_type: str) -> str:
    if raw_type == "boolean":
        return raw
    if raw_type in WHOLE:
        return f"CASE {raw} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END"
    number = let("c", _number(raw, raw_type), "CASE WHEN c = 1 THEN TRUE WHEN c = 0 THEN FALSE END")
    if raw_type != "text":
        return number
    word = f"lower(btrim({raw}, ' '))"
    return f"CASE WHEN {word} IN ({TRUE}) THEN TRUE WHEN {word} IN ({FALSE}) THEN FALSE ELSE {number} END"


def _day(raw: str, raw_type: str, format: str | None) -> str:
    if raw_type in ("timestamp", "timestamptz"):
        return f"CAST({moment(raw, raw_type)} AS DATE)"
    if raw_type == "date":
        return raw
    if raw_type != "text":
        return "CAST(NULL AS DATE)"
    return read_day(raw) if format is None else written_day(raw, format)


def _clamped(column: Date, raw: str, raw_type: str) -> str:
    day = _day(raw, raw_type, column.format)
    return clamped_day(raw, column) if raw_type == "date" else let("d", day, clamped_day("d", column))


def _cut(column: Text, raw: str, raw_type: str) -> str:
    cut = f"CASE WHEN octet_length({_C}) <= {column.length} THEN {_C} ELSE left({_C}, {column.length}) END"
    return _named(as_text(raw, raw_type), raw_type, cut)


def _word(column: Category, raw: str, raw_type: str) -> str:
    """Four bytes are the most a character has."""
    text = as_text(raw, raw_type)
    return f"CASE WHEN octet_length({text}) <= {4 * column.length} THEN {text} END" if raw_type == "text" else text


CELLS = Cells("DOUBLE PRECISION", _whole, _on_grid, _truth, _clamped, _cut, _word, literal, _is_possible)
clean, clean_key = CELLS.clean, CELLS.clean_key
