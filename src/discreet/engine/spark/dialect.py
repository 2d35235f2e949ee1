"""Spark's SQL, in ANSI mode.

``floor`` of a double is a whole number there, and one that is too large raises; ``/``, ``%`` and the elements of arrays raise,
so none of these is used bare. Products and quotients add zero, because minus zero would be another key. Letters change case one
by one and as in DuckDB, whose table of them is asked: Spark's own ``upper`` makes two letters of one, and its ``lower`` looks at
the letters around. A list is a table of values ``k`` and numbers ``i``; what is secret is in a table of one row. Plans, the
history server and logs show neither.
"""

from __future__ import annotations

from types import MappingProxyType

from discreet.engine.spark.cleaning import WHOLE, clean, clean_id, clean_key, id_kind
from discreet.engine.spark.literals import is_shape, quoted, text_literal
from discreet.engine.spark.patterns import java_pattern
from discreet.engine.spark.texts import let, number_text, write_day
from discreet.engine.sql.dialect import COMMON, Dialect
from discreet.engine.sql.reals import exponential, logarithm
from discreet.plan.expressions.conversions import DAY_FORM, NUMBER_FORM, WHOLE_FORM

_EXACT = f"{2**53}e0"
_FLOOR = f"CASE WHEN {{0}} BETWEEN -{_EXACT} AND {_EXACT} THEN CAST(floor({{0}}) AS DOUBLE) ELSE {{0}} END"
_CEIL = f"CASE WHEN {{0}} BETWEEN -{_EXACT} AND {_EXACT} THEN CAST(ceil({{0}}) AS DOUBLE) ELSE {{0}} END"
_TRUNC = f"CASE WHEN {{0}} BETWEEN -{_EXACT} AND {_EXACT} THEN CAST(CAST({{0}} AS BIGINT) AS DOUBLE) ELSE {{0}} END"
_QUOTIENT = "({0} / {1} + 0e0)"
_REMAINDER = (
    "CASE WHEN abs({1}) >= 1e-150 THEN CASE WHEN ({0} % {1}) <> 0 AND (({0} % {1}) < 0) <> ({1} < 0) "
    "THEN ({0} % {1}) + {1} ELSE ({0} % {1}) + 0e0 END END"
)
# Its own conversion of doubles to decimals goes through a text of 17 digits: both parts here are 64-bit integers, exactly.
_WIDENED = f"(CAST(CAST({{0}} / {2**62}e0 AS BIGINT) AS {{wide}}) * {2**62} + CAST({{0}} % {2**62}e0 AS BIGINT))"
_LARGEST = "1.7976931348623157e308"


def _written_as(form: str, text: str) -> str:
    """A text where it has this form, and nothing where not."""
    return f"CASE WHEN {is_shape(text, form.replace('{', '{{').replace('}', '}}'))} THEN {text} END"


def _hashed() -> str:
    """md5 as 128 bits, the first byte of which weighs least, modulo a prime below 2^31: 32 bits at a time, all below 2^63."""
    md5, turned, rest = "md5({salt} || '/' || CAST({person} AS STRING))", text_literal("$2$1"), "0L"
    for word in range(4):
        digits = f"substring(regexp_replace(reverse({md5}), '(.)(.)', {turned}), {8 * word + 1}, 8)"
        rest = f"(({rest} * 4294967296 + CAST(conv({digits}, 16, 10) AS BIGINT)) % {{most}})"
    return rest


def _letters() -> dict[str, str]:
    """The templates of ``lower`` and ``upper``: every letter by itself, as DuckDB changes it."""
    import duckdb

    with duckdb.connect() as database:
        # 55296 to 57343 are halves of characters
        numbers = "SELECT unnest(range(65, 55296)) AS c UNION ALL SELECT unnest(range(57344, 1114112)) AS c"
        letters = f"SELECT chr(CAST(c AS INTEGER)) AS a FROM ({numbers})"
        cases = f"SELECT a, lower(a) AS l, upper(a) AS u FROM ({letters})"
        found = database.execute(f"SELECT * FROM ({cases}) WHERE l <> a OR u <> a ORDER BY a").fetchall()
    changes = {"lower": [(a, b) for a, b, _ in found if b != a], "upper": [(a, b) for a, _, b in found if b != a]}
    texts = {name: ["".join(column) for column in zip(*pairs, strict=True)] for name, pairs in changes.items()}
    return {name: f"translate({{0}}, {text_literal(old)}, {text_literal(new)})" for name, (old, new) in texts.items()}


_TRIMMED, _WITH_YEAR = "trim({0})", "CASE WHEN left({0}, 4) <> '0000' THEN {0} END"

_TEMPLATES = {
    **COMMON,
    "//": f"CASE WHEN abs({{1}}) >= 1e-150 THEN {_FLOOR.replace('{0}', _QUOTIENT)} END",
    "%": _REMAINDER,
    "floor": _FLOOR,
    "ceil": f"{_CEIL}",
    "round": "round({0}) + 0e0",
    "trunc": _TRUNC,
    "sign": "sign({0}) + 0e0",
    "ln": logarithm(let),
    "exp": exponential(let),
    "like": "{0} LIKE replace({1}, chr(92), repeat(chr(92), 2))",  # a backslash is a character
    **_letters(),
    "trim": "trim({0})",  # of spaces alone
    "length": "CAST(length({0}) AS DOUBLE)",
    "substring": "substring({0}, CAST({1} AS INT), CAST({2} AS INT))",
    "left": "left({0}, CAST({1} AS INT))",
    "right": "right({0}, CAST({1} AS INT))",
    "concat": "concat_ws('', {all})",
    "starts_with": "startswith({0}, {1})",
    "contains": "contains({0}, {1})",
    "ends_with": "endswith({0}, {1})",
    "strpos": "CAST(instr({0}, {1}) AS DOUBLE)",
    "ltrim": "trim(LEADING {1} FROM {0})",
    "rtrim": "trim(TRAILING {1} FROM {0})",
    "split_part": "split_part({0}, {1}, CAST({2} AS INT))",
    "lpad": "lpad({0}, CAST({1} AS INT), {2})",
    "rpad": "rpad({0}, CAST({1} AS INT), {2})",
    "regexp_matches": "{0} RLIKE {1}",
    "regexp_extract": "CASE WHEN {0} RLIKE {1} THEN regexp_extract({0}, {1}, 1) END",
    "regexp_replace": "regexp_replace({0}, {1}, replace({2}, '$', chr(92) || '$'))",  # which would be a group
    "try_number": f"TRY_CAST({_written_as(NUMBER_FORM, _TRIMMED)} AS DOUBLE) + 0e0",
    "try_whole": f"CAST(TRY_CAST({_written_as(WHOLE_FORM, _TRIMMED)} AS BIGINT) AS DOUBLE)",
    "try_date": f"TRY_CAST({_written_as(DAY_FORM, _WITH_YEAR)} AS DATE)",
    "as_text": "CAST(floor(CASE WHEN {0} BETWEEN -1e16 AND 1e16 THEN {0} END + 0.5e0) AS STRING)",
    "year": "CAST(year({0}) AS DOUBLE)",
    "quarter": "CAST(quarter({0}) AS DOUBLE)",
    "month": "CAST(month({0}) AS DOUBLE)",
    "day": "CAST(day({0}) AS DOUBLE)",
    "weekday": "CAST(weekday({0}) + 1 AS DOUBLE)",
    "dayofyear": "CAST(dayofyear({0}) AS DOUBLE)",
    "days": "CAST(datediff({0}, {1}) AS DOUBLE)",
    "week": "CAST(weekofyear({0}) AS DOUBLE)",
    "dow": "CAST(dayofweek({0}) - 1 AS DOUBLE)",
    "isoyear": "CAST(extract(YEAROFWEEK FROM {0}) AS DOUBLE)",
    "months": "CAST((year({0}) * 12 + month({0})) - (year({1}) * 12 + month({1})) AS DOUBLE)",
    **{f"date_trunc {unit}": f"trunc({{0}}, '{unit.upper()}')" for unit in ("week", "month", "quarter", "year")},
    "add_days": "date_add({0}, CAST({1} AS INT))",
    "add_months": "add_months({0}, CAST({1} AS INT))",
}

DIALECT = Dialect(
    "spark",
    types=MappingProxyType({"number": "DOUBLE", "text": "STRING", "boolean": "BOOLEAN", "date": "DATE"}),
    templates=MappingProxyType(_TEMPLATES),
    clean=clean,
    clean_key=clean_key,
    clean_id=clean_id,
    id_kind=id_kind,
    whole_types=WHOLE,
    wide="DECIMAL(38,0)",
    total="sum(CAST({0} AS DECIMAL(38,0)))",  # whole numbers are summed in their own type
    truncated=_TRUNC,
    nearest="CAST({0} AS DOUBLE)",
    quotient="{0} div {1}",
    is_nan="isnan({0})",
    is_finite=f"({{0}} BETWEEN -{_LARGEST} AND {_LARGEST})",
    keyed_hash="md5({salt} || '/' || CAST({person} AS STRING) || '/' || CAST({group} AS STRING)) || CAST({group} AS STRING)",
    hashed=_hashed(),
    brief="CASE WHEN octet_length({0}) > 64 THEN '#' || sha2({0}, 256) ELSE {0} END",
    nth_smallest=None,
    any_value="min({0})",  # Spark calls its any_value not deterministic
    least="min({0})",
    greatest="max({0})",
    lower_median="get(sort_array(collect_list({0})), CAST((count({0}) + 1) div 2 - 1 AS INT))",
    upper_median="get(sort_array(collect_list({0})), CAST(count({0}) div 2 AS INT))",
    is_digits=is_shape("{0}", "-?[0-9]{{1,18}}"),
    try_whole="TRY_CAST({0} AS BIGINT)",
    constants="(SELECT CAST(k AS {type}) AS k, i FROM IDENTIFIER({placeholder}))",
    is_listed="{value} IN (SELECT k FROM {list} AS listed)",
    numbered="(SELECT k, i FROM {list} AS listed) AS t{j}",
    double="{0}e0",
    placeholder=":{0}",
    quote=quoted,
    floor=_FLOOR,
    hidden="(SELECT {0} FROM IDENTIFIER(:secrets))",
    widened=_WIDENED,
    number_text=number_text("{0}"),
    rewritten=MappingProxyType(dict.fromkeys(("regexp_matches", "regexp_extract", "regexp_replace"), java_pattern)),
    by_constant=MappingProxyType({"strftime": write_day}),
    quick_total="sum({0})",
    gathered=" DISTRIBUTE BY person",
    windows=True,
    picks_keys=True,
    sends_cells=True,
)
