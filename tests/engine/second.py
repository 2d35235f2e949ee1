"""A second engine, so that the seam is real: another session and another dialect, in which DuckDB is spoken to as others must be.

Names stand in backticks and parameters are ``%(name)s``; doubles are cast, sums are of decimals, lists are joined by ordinality,
the n-th smallest comes from a sorted list, wide numbers from four parts of a hash; and text functions are other ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.engine.duckdb.cleaning import clean, clean_id, clean_key
from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sql.reals import exponential, logarithm

__all__ = ["SECOND", "SecondSession"]

_TOKENS = re.compile(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|`((?:[^`]|``)*)`|%\((\w+)\)s")


def ticked(name: str) -> str:
    """A name as MySQL and Spark write it."""
    return "`" + name.replace("`", "``") + "`"


def _plain(sql: str) -> str:
    """The statement as DuckDB takes it."""

    def token(found: re.Match[str]) -> str:
        literal, name, parameter = found.groups()
        if name is not None:
            return '"' + name.replace("``", "`").replace('"', '""') + '"'
        return literal or f"${parameter}"

    return _TOKENS.sub(token, sql)


class SecondSession:
    """What ``discreet.engine.base.Session`` promises, and nothing more."""

    relation, nothing = ticked("discreet raw"), ticked("discreet nothing")
    coded = False

    def __init__(self, inner: DuckDBSession) -> None:
        self._inner = inner
        self.several = {name: (ticked(f"discreet raw {name}"), ticked(f"discreet nothing {name}")) for name in inner.several}

    def fetch(self, sql: str, parameters: Mapping[str, object]) -> dict[str, list[object]]:
        return self._inner.fetch(_plain(sql), parameters)

    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        for batch in self._inner.stream(_plain(sql), parameters):
            for start in range(0, len(next(iter(batch.values()))), 7):  # batches of any size
                yield {name: column[start : start + 7] for name, column in batch.items()}

    read = stream

    def reading(self) -> AbstractContextManager[None]:
        return self._inner.reading()

    def progress(self) -> float | None:
        return None

    def close(self) -> None:
        self._inner.close()


def _hashed() -> str:
    """md5 as 128 bits, the first byte of which weighs least, modulo a prime below 2^31: 32 bits at a time, all below 2^63."""
    md5, rest = "md5({salt} || '/' || CAST({person} AS VARCHAR))", "0"
    for word in (3, 2, 1, 0):
        bytes = " || ".join(f"substr({md5}, {8 * word + 2 * byte + 1}, 2)" for byte in (3, 2, 1, 0))
        rest = f"((({rest}) * 4294967296 + CAST('0x' || {bytes} AS BIGINT)) % {{most}})"
    return rest


def _let(name: str, value: str, within: str) -> str:
    """A name for a value: that of a column of a table of one row."""
    return f"(SELECT {within} FROM (SELECT {value} AS {name}))"


_TEMPLATES = {
    "sqrt": "CASE WHEN {0} BETWEEN 0e0 AND 1e300 THEN sqrt(abs({0})) END",
    "ln": logarithm(_let),
    "exp": exponential(_let),
    "trunc": "CASE WHEN {0} < 0e0 THEN CAST(0 AS DOUBLE) - floor(0e0 - {0}) ELSE floor({0}) END",
    "sign": "CASE WHEN {0} > 0e0 THEN 1e0 WHEN {0} < 0e0 THEN -1e0 WHEN {0} = 0e0 THEN 0e0 END",
    "neg": "CAST(0 AS DOUBLE) - {0}",
    "ceil": "CAST(0 AS DOUBLE) - floor(CAST(0 AS DOUBLE) - {0})",
    "<>": "NOT {0} = {1}",
    "nullif": "CASE WHEN {0} = {1} THEN NULL ELSE {0} END",
    "length": "CAST(char_length({0}) AS DOUBLE)",
    "substring": "substr({0}, CAST({1} AS BIGINT), CAST({2} AS BIGINT))",
    "left": "substr({0}, 1, CAST({1} AS BIGINT))",
    "trim": "rtrim(ltrim({0}, ' '), ' ')",
    "starts_with": "prefix({0}, {1})",
    "contains": "strpos({0}, {1}) > 0",
    "year": "CAST(extract(year FROM {0}) AS DOUBLE)",
    "month": "CAST(date_part('month', {0}) AS DOUBLE)",
    "ends_with": "right({0}, length({1})) = {1}",
    "strpos": "CAST(instr({0}, {1}) AS DOUBLE)",
    "regexp_matches": "len(regexp_extract_all({0}, {1})) > 0",
    "regexp_replace": "CASE WHEN {3} = 'g' THEN array_to_string(string_split_regex({0}, {1}), {2}) END",
    "rpad": "left({0} || repeat({2}, CAST({1} AS BIGINT)), CAST({1} AS BIGINT))",
    "week": "CAST(date_part('week', {0}) AS DOUBLE)",
    "dow": "CAST(isodow({0}) % 7 AS DOUBLE)",
    "months": "CAST((year({0}) * 12 + month({0})) - (year({1}) * 12 + month({1})) AS DOUBLE)",
    "date_trunc week": "{0} - CAST(isodow({0}) - 1 AS INTEGER)",
    "date_trunc month": "make_date(year({0}), month({0}), 1)",
    "date_trunc quarter": "make_date(year({0}), (month({0}) - 1) // 3 * 3 + 1, 1)",
    "date_trunc year": "make_date(year({0}), 1, 1)",
    "add_days": "CAST({0} + to_days(CAST({1} AS INTEGER)) AS DATE)",
    "add_months": (
        "CAST(least(date_trunc('month', {0}) + to_months(CAST({1} AS INTEGER)) + to_days(CAST(day({0}) - 1 AS INTEGER)), "
        "last_day(CAST(date_trunc('month', {0}) + to_months(CAST({1} AS INTEGER)) AS DATE))) AS DATE)"
    ),
    "days": "CAST(date_diff('day', {1}, {0}) AS DOUBLE)",
}

SECOND = replace(
    DIALECT,
    name="second",
    templates={**DIALECT.templates, **_TEMPLATES},
    clean=lambda *of, **more: clean(*[_plain(one) if isinstance(one, str) else one for one in of], **more),
    clean_key=lambda column, raw, kind: clean_key(column, _plain(raw), kind),
    clean_id=lambda raw, kind: clean_id(_plain(raw), kind),
    wide="DECIMAL(38,0)",
    total="sum(CAST({0} AS DECIMAL(38,0)))",
    quotient="divide({0}, {1})",
    is_nan="({0} = CAST('NaN' AS DOUBLE))",
    is_finite="({0} - {0} = CAST(0 AS DOUBLE))",
    hashed=_hashed(),
    nth_smallest="list_extract(list_sort(list({value})), {n})",
    any_value="min({0})",
    least="list_extract(list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL)), 1)",
    greatest="list_extract(list_reverse_sort(list({0}) FILTER (WHERE {0} IS NOT NULL)), 1)",
    lower_median="list_extract(list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL)), (count({0}) + 1) // 2)",
    upper_median="list_extract(list_sort(list({0}) FILTER (WHERE {0} IS NOT NULL)), count({0}) // 2 + 1)",
    is_digits="regexp_matches({0}, '^-?[0-9]{{1,18}}$')",
    try_whole="CASE WHEN TRUE THEN TRY_CAST(CAST({0} AS VARCHAR) AS BIGINT) END",
    is_listed="list_contains({list}, {value})",
    numbered="(SELECT k, CAST(n - 1 AS INTEGER) AS i FROM unnest({list}) WITH ORDINALITY AS u(k, n)) AS t{j}",
    double="CAST({0} AS DOUBLE)",
    placeholder="%({0})s",
    quote=ticked,
)
