"""Whatever counts: a plan and a table make exact integers. The only room that reads data.

An engine is a room in here with a ``session`` (``open_source``, ``open_session``), a ``dialect`` (``DIALECT``) and its cleaning;
and one line in ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.engine.base import Engine, Source
    from discreet.engine.sources.public import PublicTable
    from discreet.schema.table import Schema

__all__ = ["open_engine", "open_public", "open_source"]

# Which engine reads what is given as a table: the first that says so.
_ENGINES: Mapping[str, Callable[[object], bool]] = {
    "duckdb": lambda _: True,
}


def open_source(given: object, *, table: str | None = None, columns: Iterable[str] | None = None) -> Source:
    """Look at a private table without reading its rows; ``columns`` are those that will be asked for (all, unless said)."""
    engine = next(name for name, reads in _ENGINES.items() if reads(given))
    source: Source = import_module(f"{__name__}.{engine}.session").open_source(given, table=table, columns=columns)
    return source


def open_public(given: object) -> PublicTable:
    """Read a public table."""
    return import_module(f"{__name__}.sources.public").open_public(given)  # type: ignore[no-any-return]


def open_engine(
    source: Source,
    schema: Schema,
    public: Mapping[str, PublicTable],
    *,
    memory: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Engine:
    """What counts in a private table; ``columns`` says which of its columns a declared name means, where not that of the name."""
    sql = import_module(f"{__name__}.sql.engine")
    raw = sql.raw_columns(source, schema, columns or {})  # refused before anything is opened
    session = import_module(f"{__name__}.{source.engine}.session").open_session(source, public, memory=memory)
    dialect = import_module(f"{__name__}.{source.engine}.dialect").DIALECT
    return sql.SqlEngine(session, dialect, raw, source.layout)  # type: ignore[no-any-return]
