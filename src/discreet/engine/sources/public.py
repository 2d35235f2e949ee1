"""Public tables: their facts may be read off, because anybody may read them.

They are read once: what was found unique is what rows are joined with, whatever happens to a file afterwards.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from discreet.engine.sources.source import LocalSource, describer, open_source
from discreet.engine.sql.dialect import quoted
from discreet.errors import ParameterError
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Kind, Number, Text

if TYPE_CHECKING:
    import duckdb

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")
_MOST = 2**20
_CALENDAR = "DATE '0001-01-01' AND DATE '9999-12-31'"  # Python's ends before the engine's
_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class PublicTable:
    """A table that anybody may read, held in memory, with the facts of its columns: types, bounds and lists."""

    held: LocalSource
    columns: Mapping[str, Column]

    def is_unique(self, columns: Sequence[str]) -> bool:
        """Whether these columns tell all rows apart, compared as a join compares them: numbers as doubles."""
        types: dict[Kind, str] = {"number": "DOUBLE", "text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE"}
        compared = [f"CAST({quoted(name)} AS {types[self.columns[name].kind]})" for name in columns]
        listed, some = ", ".join(compared), " AND ".join(f"{column} IS NOT NULL" for column in compared)
        repeated = f"SELECT {listed} FROM given WHERE {some} GROUP BY {listed} HAVING count(*) > 1"
        return bool(_ask(self.held, f"SELECT count(*) FROM ({repeated})")[0][0] == 0)

    def rows(self, listed: str) -> list[tuple[Any, ...]]:
        """What a list of SQL expressions makes of every row, for engines that read it nowhere else."""
        return _ask(self.held, f"SELECT {listed} FROM given")

    def fingerprint(self, salt: bytes) -> str:
        """A keyed hash of its cells."""
        return self.held.fingerprint(salt)


def open_public(given: object) -> PublicTable:
    """Read a public table, and its facts off it."""
    held = _read(open_source(given))
    return PublicTable(held, {name: _facts(held, name, kind) for name, kind in held.raw.items()})


def _read(given: LocalSource) -> LocalSource:
    if given.frame is not None:
        from discreet.engine.sources.frames import unmarked

        return open_source(unmarked(given.frame))
    import duckdb

    try:
        with _database(given) as database:
            frame = database.sql("SELECT * FROM given").to_arrow_table()
    except duckdb.Error:
        raise ParameterError("A public table cannot be read; give a whole and undamaged file.") from None
    return open_source(frame)


def _facts(source: LocalSource, name: str, kind: str) -> Column:
    column = quoted(name)
    if kind == "BOOLEAN":
        return Boolean()
    low, high, distinct = _ask(source, f"SELECT min({column}), max({column}), count(DISTINCT {column}) FROM given")[0]
    if low is None:
        return Text()
    if kind == "DATE":
        if _ask(source, f"SELECT count(*) FROM given WHERE NOT {column} BETWEEN {_CALENDAR}")[0][0]:  # infinity, too
            raise ParameterError(f"The public column {name} has days outside of the years 1 to 9999; leave it out.")
        return Date(low, high) if low < high else Date(first := min(low, datetime.date.max - _DAY), first + _DAY)
    if kind in _WHOLE or kind == "VARCHAR":
        if distinct > _MOST:
            return Integer(low, max(high, low + 1)) if kind in _WHOLE else _text(source, name)
        values = [row[0] for row in _ask(source, f"SELECT DISTINCT {column} FROM given WHERE {column} IS NOT NULL ORDER BY 1")]
        return Category(tuple(values))
    if kind in ("FLOAT", "DOUBLE") or kind.startswith("DECIMAL"):
        if not (abs(float(low)) < 1e15 and abs(float(high)) < 1e15):
            raise ParameterError(f"The public column {name} has numbers beyond 10^15, or that are not finite; leave it out.")
        return Number(Fraction(floor(low)), Fraction(max(ceil(high), floor(low) + 1)), _step(floor(low), ceil(high)))
    return _text(source, name)


def _text(source: LocalSource, name: str) -> Text:
    """Texts that are too many to list, or other types as texts: as long as the longest."""
    longest = _ask(source, f"SELECT max(length(CAST({quoted(name)} AS VARCHAR))) FROM given")[0][0]
    try:
        return Text(length=max(longest or 1, 1))
    except ParameterError:
        raise ParameterError(
            f"The public column {name} has texts of {longest:,} characters; cut them, or leave it out."
        ) from None


def _step(low: int, high: int) -> Fraction:
    step = Fraction(1)
    while step > Fraction(max(high - low, 1), 10**6):
        step /= 10
    return step


def _ask(source: LocalSource, sql: str) -> list[tuple[Any, ...]]:
    import duckdb

    try:
        with _database(source) as database:
            return database.execute(sql).fetchall()
    except duckdb.Error:
        raise ParameterError("A public table has values that cannot be read; give a whole and undamaged table.") from None


@contextmanager
def _database(source: LocalSource) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    alone = {"autoload_known_extensions": "false", "autoinstall_known_extensions": "false"}
    with describer() if source.held is not None else duckdb.connect(config={**alone}) as database:
        if source.held is not None:
            database.register("given", source.held)
        for statement in source.statements("given", {}):
            database.execute(statement)
        yield database
