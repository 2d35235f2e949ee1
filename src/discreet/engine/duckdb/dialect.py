"""DuckDB's SQL.

Its ``//`` raises on zero and its ``least`` skips what is missing, so neither is used bare; products and quotients add zero
because minus zero would be another key. Texts are counted in code points, positions are literals.
"""

from __future__ import annotations

from types import MappingProxyType

from discreet.engine.duckdb.cleaning import WHOLE, clean, clean_id, clean_key, id_kind, in_doubles
from discreet.engine.sql.dialect import COMMON, Dialect
from discreet.engine.sql.reals import exponential, logarithm
from discreet.plan.expressions.conversions import DAY_FORM, NUMBER_FORM, WHOLE_FORM
from discreet.plan.expressions.dates import UNITS

_REMAINDER = (
    "CASE WHEN abs({1}) >= 1e-150 THEN CASE WHEN ({0} % {1}) <> 0 AND (({0} % {1}) < 0) <> ({1} < 0) "
    "THEN ({0} % {1}) + {1} ELSE ({0} % {1}) + 0e0 END END"
)


def _let(name: str, value: str, within: str) -> str:
    """A name for a value: the parameter of a function of one element. Arguments never stand within such a function."""
    return f"list_transform([{value}], lambda {name}: {within})[1]"


def _written_as(form: str, text: str) -> str:
    """A text where it has this form, and nothing where not."""
    braces = form.replace("{", "{{").replace("}", "}}")
    return f"CASE WHEN regexp_full_match({text}, '{braces}') THEN {text} END"


_TRIMMED, _WITH_YEAR = "trim({0}, ' ')", "CASE WHEN left({0}, 4) <> '0000' THEN {0} END"

_TEMPLATES = {
    **COMMON,
    "//": "CASE WHEN abs({1}) >= 1e-150 THEN floor({0} / {1} + 0e0) END",
    "%": _REMAINDER,
    "floor": "floor({0})",
    "ceil": "ceil({0}) + 0e0",
    "round": "round({0}) + 0e0",
    "trunc": "trunc({0}) + 0e0",
    "sign": "CAST(sign({0}) AS DOUBLE)",
    "ln": logarithm(_let),
    "exp": exponential(_let),
    "like": "{0} LIKE {1}",
    "lower": "lower({0})",
    "upper": "upper({0})",
    "trim": "trim({0}, ' ')",
    "length": "CAST(length({0}) AS DOUBLE)",
    "substring": "substring({0}, CAST({1} AS BIGINT), CAST({2} AS BIGINT))",
    "left": "left({0}, CAST({1} AS BIGINT))",
    "right": "right({0}, CAST({1} AS BIGINT))",
    "concat": "concat({all})",
    "starts_with": "starts_with({0}, {1})",
    "contains": "contains({0}, {1})",
    "ends_with": "suffix({0}, {1})",
    "strpos": "CAST(strpos({0}, {1}) AS DOUBLE)",
    "ltrim": "ltrim({0}, {1})",
    "rtrim": "rtrim({0}, {1})",
    "split_part": "split_part({0}, {1}, CAST({2} AS BIGINT))",
    "lpad": "lpad({0}, CAST({1} AS INTEGER), {2})",
    "rpad": "rpad({0}, CAST({1} AS INTEGER), {2})",
    "regexp_matches": "regexp_matches({0}, {1})",
    "regexp_extract": "CASE WHEN regexp_matches({0}, {1}) THEN regexp_extract({0}, {1}, 1) END",
    "regexp_replace": "regexp_replace({0}, {1}, {2}, {3})",
    "try_number": f"TRY_CAST({_written_as(NUMBER_FORM, _TRIMMED)} AS DOUBLE) + 0e0",
    "try_whole": f"CAST(TRY_CAST({_written_as(WHOLE_FORM, _TRIMMED)} AS BIGINT) AS DOUBLE)",
    "try_date": f"TRY_CAST({_written_as(DAY_FORM, _WITH_YEAR)} AS DATE)",
    "as_text": "CAST(CAST(floor(CASE WHEN {0} BETWEEN -1e16 AND 1e16 THEN {0} END + 0.5e0) AS BIGINT) AS VARCHAR)",
    "year": "CAST(year({0}) AS DOUBLE)",
    "quarter": "CAST(quarter({0}) AS DOUBLE)",
    "month": "CAST(month({0}) AS DOUBLE)",
    "day": "CAST(day({0}) AS DOUBLE)",
    "weekday": "CAST(isodow({0}) AS DOUBLE)",
    "dayofyear": "CAST(dayofyear({0}) AS DOUBLE)",
    "days": "CAST({0} - {1} AS DOUBLE)",
    "week": "CAST(weekofyear({0}) AS DOUBLE)",
    "dow": "CAST(dayofweek({0}) AS DOUBLE)",
    "isoyear": "CAST(isoyear({0}) AS DOUBLE)",
    "months": "CAST(date_diff('month', {1}, {0}) AS DOUBLE)",
    **{f"date_trunc {unit}": f"CAST(date_trunc('{unit}', {{0}}) AS DATE)" for unit in UNITS},
    "add_days": "{0} + CAST({1} AS INTEGER)",
    "add_months": "CAST({0} + to_months(CAST({1} AS INTEGER)) AS DATE)",
    "strftime": "strftime({0}, {1})",
}

DIALECT = Dialect(
    "duckdb",
    alone=True,
    types=MappingProxyType({"number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE"}),
    templates=MappingProxyType(_TEMPLATES),
    clean=clean,
    clean_key=clean_key,
    clean_id=clean_id,
    id_kind=id_kind,
    whole_types=WHOLE - {"UHUGEINT"},  # of which not every value is a signed integer
    wide="HUGEINT",
    total="sum({0})",  # 128 bits wide
    truncated="trunc({0})",
    # Its own conversion of 128 bits is not to the nearest double.
    nearest="CASE WHEN {0} BETWEEN -9223372036854775807 AND 9223372036854775807 THEN CAST(TRY_CAST({0} AS BIGINT) AS DOUBLE) "
    "ELSE CAST(CAST({0} AS VARCHAR) AS DOUBLE) END",
    quotient="{0} // {1}",
    is_nan="isnan({0})",
    is_finite="isfinite({0})",
    keyed_hash="md5({salt} || '/' || CAST({person} AS VARCHAR) || '/' || CAST({group} AS VARCHAR)) || CAST({group} AS VARCHAR)",
    hashed="CAST(md5_number({salt} || '/' || CAST({person} AS VARCHAR)) % {most} AS BIGINT)",
    brief="CASE WHEN strlen({0}) > 64 THEN '#' || sha256({0}) ELSE {0} END",
    nth_smallest="list_extract(min({value}, {n}), {n})",
    any_value="any_value({0})",
    least="min({0})",  # texts are compared by their bytes: no collation is ever set
    greatest="max({0})",
    lower_median="quantile_disc({0}, 0.5)",
    upper_median="(0 - quantile_disc(0 - {0}, 0.5))",
    is_digits="regexp_full_match({0}, '-?[0-9]{{1,18}}')",
    try_whole="TRY_CAST({0} AS BIGINT)",
    constants="CAST({placeholder} AS {type}[])",
    is_listed="{value} IN (SELECT unnest({list}))",
    numbered="(SELECT unnest({list}) AS k, CAST(unnest(range({n})) AS INTEGER) AS i) AS t{j}",
    double="{0}e0",
    placeholder="${0}",
    clamped="least(greatest({0}, {1}), {2})",
    coded_types=frozenset({"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}),
    # Of cells whose bounds it knows it makes places in an array, row by row; of others, values of a list are hashed once each.
    unbounded="greatest({0}, NULL)",
    narrowed=MappingProxyType({"BOOLEAN": "TINYINT"}),
    byte="TRY_CAST({0} AS UTINYINT)",
    in_doubles=in_doubles,
    cut="substring({0}, 1, {1})",
    fits="strlen({0}) <= {1}",
    row_hash="md5_number(concat({salt}, {cells}))",  # what is missing adds nothing: neither a number nor a text with its length
    row_text="strlen({0}), ':', {0}",
    row_sums=("sum(CAST(h >> 64 AS UBIGINT))", f"sum(CAST(h & {2**64 - 1} AS UBIGINT))"),
    brief_types=WHOLE | {"BOOLEAN", "DATE", "DOUBLE", "FLOAT"},
)
