"""The tables of a test on a real PostgreSQL server, beside DuckDB: what it counts must be the same to the last bit."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from functools import cache
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from pyarrow import compute, types
from support.postgres import server

from discreet.engine import open_engine, open_source
from discreet.engine.base import Engine
from discreet.engine.sources.public import PublicTable
from discreet.schema.table import Schema

__all__ = ["engine_on_postgres", "postgres_types", "without_nuls"]

_last: list[tuple[Engine, object]] = []


def without_nuls(table: pa.Table) -> pa.Table:
    """The same table, in which texts that PostgreSQL cannot hold are missing; the table itself where it can hold all."""
    for i, column in enumerate(table.columns):
        if types.is_string(column.type) or types.is_large_string(column.type):
            odd = compute.match_substring(column, "\0")
            if compute.any(odd).as_py():
                table = table.set_column(i, table.column_names[i], compute.if_else(odd, pa.scalar(None, column.type), column))
    return table


def postgres_types(schema: pa.Schema) -> dict[str, str] | None:
    """The types of a table's columns there; None where it has others."""
    found = {}
    for field in schema:
        kind = field.type
        if types.is_boolean(kind):
            found[field.name] = "boolean"
        elif types.is_integer(kind) and not types.is_uint64(kind):
            found[field.name] = "bigint"
        elif types.is_float64(kind):
            found[field.name] = "double precision"
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind):
            found[field.name] = "text"
        elif types.is_date32(kind):
            found[field.name] = "date"
        elif types.is_decimal(kind):
            found[field.name] = "numeric"
        elif types.is_timestamp(kind):
            found[field.name] = "timestamp" if kind.tz is None else "timestamptz"
        else:
            return None
    return found


def engine_on_postgres(
    tables: Mapping[str, pa.Table], schema: Schema, public: Mapping[str, PublicTable], facts: object
) -> Engine | None:
    """An engine over the same rows on the server; where only rows differ from the last tables', it is the same engine."""
    kinds = {name: postgres_types(table.schema) for name, table in tables.items()}
    if any(kind is None for kind in kinds.values()):
        return None
    known = bool(_last) and _last[0][1] == (facts, kinds)
    for name, table in tables.items():
        _load(f"rows {name}", table, kinds[name] or {}, known=known)
    if known:
        return _last[0][0]
    _last.clear()
    addresses = {name: f'{server().url()}&table=public."rows {name}"' for name in tables}
    held = {name: open_source(address, columns=tables[name].column_names) for name, address in addresses.items()}
    _last.append((open_engine(held[""] if [*held] == [""] else held, schema, public), (facts, kinds)))
    return _last[0][0]


@cache
def _connection() -> psycopg.Connection[Any]:
    connection = psycopg.connect(server().url(), autocommit=True)
    atexit.register(connection.close)
    return connection


def _load(name: str, table: pa.Table, kinds: Mapping[str, str], *, known: bool) -> None:
    place, columns = sql.Identifier("public", name), sql.SQL(", ").join(map(sql.Identifier, table.column_names))
    with _connection().cursor() as cursor:
        if known:
            cursor.execute(sql.SQL("TRUNCATE {}").format(place))
        else:
            listed = sql.SQL(", ").join(sql.Identifier(one) + sql.SQL(f" {kind}") for one, kind in kinds.items())  # type: ignore[arg-type]
            cursor.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(place))
            cursor.execute(sql.SQL("CREATE UNLOGGED TABLE {} ({})").format(place, listed))
        with cursor.copy(sql.SQL("COPY {} ({}) FROM STDIN").format(place, columns)) as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
