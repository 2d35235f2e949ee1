"""One private table, or several of one database, on a PostgreSQL server, where they stay.

A role that may SELECT is enough: nothing is created, not even a temporary table. Public tables go along as bound arrays. Every
statement is asked by the extended protocol with its parameters apart, so the salt is in no text of a statement; a server that is
set to log parameters (``log_parameter_max_length``, which only a superuser may set) logs them all the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from discreet.engine.postgres.dialect import PUBLIC
from discreet.engine.postgres.server import Server, page, run
from discreet.engine.postgres.source import PostgresSource, address_of, open_source, place_of
from discreet.engine.sources.public import PublicTable
from discreet.engine.sql.dialect import quoted
from discreet.errors import EngineError, ParameterError

__all__ = ["PostgresSession", "address_of", "open_session", "open_source", "place_of"]

_BATCH = 2**15
_FORKED = "This process was forked from the one that opened the table; open the table again here."
_UNITS = {"k": 1, "m": 2**10, "g": 2**20, "t": 2**30}
_TYPES = {"number": "DOUBLE PRECISION", "text": "TEXT", "boolean": "BOOLEAN", "date": "DATE"}


class PostgresSession:
    """What ``Session`` promises, over tables of one database."""

    coded = False

    def __init__(
        self,
        source: PostgresSource | Mapping[str, PostgresSource],
        public: Mapping[str, PublicTable],
        *,
        memory: str | None = None,
    ) -> None:
        sources = {"": source} if isinstance(source, PostgresSource) else dict(source)
        if len({one.identity[:-1] for one in sources.values()}) > 1 or len({id(one.server) for one in sources.values()}) > 1:
            raise ParameterError(
                "These tables are in different databases, or asked for by different roles, and joins need one; give all of them "
                "with the same server, database and user."
            )
        self._server: Server = next(iter(sources.values())).server
        self._public = {name: _columns(table) for name, table in public.items()}
        self._process, self._thread = os.getpid(), threading.local()
        self._memory = {} if memory is None else {"memory": _kilobytes(memory)}
        relations = {name: (one.relation, _nothing(one)) for name, one in sources.items()}
        self.relation, self.nothing = relations.get("", ("", ""))
        self.several = {name: pair for name, pair in relations.items() if name}

    @contextmanager
    def reading(self) -> Iterator[None]:
        """One transaction for all that this thread asks: one state of all tables."""
        if getattr(self._thread, "connection", None) is not None:
            yield
            return
        with self._server.reading(**self._memory) as connection:
            self._thread.connection = connection
            try:
                yield
            finally:
                self._thread.connection = None

    def fetch(self, sql: str, parameters: Mapping[str, object]) -> dict[str, list[object]]:
        """All rows that one statement gives, as Python's own values by column; integers of any width are exact."""
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        with self.reading():
            names, rows = run(self._thread.connection, *self._written(sql, parameters))
        return {name: [_plain(row[j]) for row in rows] for j, name in enumerate(names)}

    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same as arrays; cells are counted by the server, so there are no more than cells."""
        yield _arrays(self.fetch(sql, parameters))

    def read(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same, some rows at a time, by a cursor of the server."""
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        with self.reading():
            for names, rows in page(self._thread.connection, *self._written(sql, parameters), _BATCH):
                yield _arrays({name: [_plain(row[j]) for row in rows] for j, name in enumerate(names)})

    def _written(self, sql: str, parameters: Mapping[str, object]) -> tuple[str, list[object]]:
        """A statement, in which names of public tables mean them, and what is bound in it."""
        given = [_bound(value) for value in parameters.values()]
        tables = []
        for name, columns in self._public.items():
            called = quoted(PUBLIC.format(name))
            if called in sql:
                arrays = []
                for kind, values in columns.values():
                    given.append(values)
                    arrays.append(f"CAST(${len(given)} AS {_TYPES[kind]}[])")
                tables.append(f"{called} AS (SELECT * FROM unnest({', '.join(arrays)}) AS t({', '.join(map(quoted, columns))}))")
        if tables:
            assert sql.startswith("WITH ")
            sql = f"WITH {', '.join(tables)}, {sql.removeprefix('WITH ')}"
        return sql, given

    def progress(self) -> float | None:
        """A server does not say how far a SELECT is."""
        return None

    def close(self) -> None:
        """Let go of connections that nobody uses."""
        if os.getpid() == self._process:
            self._server.close()


def open_session(
    source: PostgresSource | Mapping[str, PostgresSource], public: Mapping[str, PublicTable], *, memory: str | None = None
) -> PostgresSession:
    """A session over a table of a server, or over several by their names."""
    return PostgresSession(source, public, memory=memory)


def _nothing(source: PostgresSource) -> str:
    """The same columns without rows: of the table itself, so that what may not be read is refused when nothing is paid yet."""
    return f"(SELECT * FROM {source.relation} WHERE FALSE) AS {quoted('discreet nothing')}"


def _columns(table: PublicTable) -> dict[str, tuple[str, list[object]]]:
    """The columns of a public table, by name: their kind, and their values as DuckDB converts them."""
    types = {"number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE"}
    listed = ", ".join(f"CAST({quoted(name)} AS {types[column.kind]})" for name, column in table.columns.items())
    rows = table.rows(listed)
    found: dict[str, tuple[str, list[object]]] = {
        name: (column.kind, [row[j] for row in rows]) for j, (name, column) in enumerate(table.columns.items())
    }
    for name, (_, values) in found.items():
        if any(isinstance(value, str) and "\0" in value for value in values):
            raise ParameterError(
                f"The public column {name} has texts with the character NUL, which PostgreSQL has not; clean it."
            )
    return found


def _bound(value: object) -> object:
    """A parameter; of a list, no text with a NUL is in any table."""
    if isinstance(value, list):
        return [None if isinstance(one, str) and "\0" in one else one for one in value]
    return value


def _plain(value: object) -> object:
    return int(value) if isinstance(value, Decimal) else value


def _kilobytes(memory: str) -> int:
    """What one sort may take: a quarter of what the engine may."""
    number, unit = memory.strip().lower().replace("ib", "b").removesuffix("b").strip(), 1
    if number[-1:] in _UNITS:
        number, unit = number[:-1], _UNITS[number[-1:]]
    return max(64, min(int(float(number) * unit) // 4, 2**31 - 1))


def _arrays(columns: Mapping[str, list[object]]) -> dict[str, NDArray[np.generic]]:
    return {name: np.array(column, dtype=_dtype(column)) for name, column in columns.items()}


def _dtype(column: list[object]) -> type:
    """Of an array that holds a column to the last bit."""
    plain = all(type(one) is int and abs(one) < 2**62 for one in column)
    return np.int64 if plain else object
