"""Whatever counts: a plan and a table make exact integers. The only room that reads data.

An engine is a room in here with a ``session`` (``open_source``, ``open_session``), a ``dialect`` (``DIALECT``) and its cleaning;
and one line in ``_ENGINES``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.engine.base import Engine, Source
    from discreet.engine.sources.public import PublicTable
    from discreet.schema.table import Schema
    from discreet.schema.units import Person

__all__ = ["address_of", "check_ids", "engine_of", "open_engine", "open_public", "open_source", "place_of", "what_is_read"]

# Which engine reads what is given as a table, the first that says so, and how that is written.
_ENGINES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "spark": (
        lambda it: it[:6] == "spark:" if isinstance(it, str) else type(it).__module__[:8] == "pyspark.",
        "spark:sales.orders",
    ),
    "postgres": (
        lambda it: isinstance(it, str) and it.lower().startswith(("postgresql:", "postgres:")),
        "postgresql://user@host/database?table=schema.visits",
    ),
    "duckdb": (lambda _: True, "files"),
}


def open_source(given: object, *, table: str | None = None, columns: Iterable[str] | None = None) -> Source:
    """Look at a private table without reading its rows; ``columns`` are those that will be asked for (all, unless said)."""
    source: Source = _session_of(engine_of(given)).open_source(given, table=table, columns=columns)
    return source


def engine_of(given: object) -> str:
    """The engine that reads what is given as a table."""
    return next(name for name, (reads, _) in _ENGINES.items() if reads(given))


def what_is_read() -> dict[str, str]:
    """By engine what it reads, as an owner's file says it."""
    return {name: written for name, (_, written) in sorted(_ENGINES.items())}


def place_of(given: object, table: str | None = None) -> str | None:
    """Where a table is that is neither a file nor a frame, in words that anybody may see; None for those."""
    engine = engine_of(given)
    place: str | None = None if engine == "duckdb" else _session_of(engine).place_of(given, table)
    return place


def address_of(given: object) -> str | None:
    """The address of such a table as it may be written down: without a password."""
    engine = engine_of(given)
    return None if engine == "duckdb" else str(_session_of(engine).address_of(given))


def _session_of(engine: str) -> ModuleType:
    return import_module(f"{__name__}.{engine}.session")


def open_public(given: object) -> PublicTable:
    """Read a public table."""
    return import_module(f"{__name__}.sources.public").open_public(given)  # type: ignore[no-any-return]


def check_ids(sources: Mapping[str, Source], unit: Person) -> None:
    """Refuse tables that no one engine reads, or whose ids of persons are not of one type."""
    engine = next(iter(sources.values())).engine
    if any(source.engine != engine for source in sources.values()):
        raise ParameterError("These tables are read by different engines, and joins need one; bring them to one place.")
    dialect = import_module(f"{__name__}.{engine}.dialect").DIALECT
    import_module(f"{__name__}.sql.engine").check_ids(sources, unit, dialect)


def open_engine(
    source: Source | Mapping[str, Source],
    schema: Schema,
    public: Mapping[str, PublicTable],
    *,
    memory: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Engine:
    """What counts in a private table, or in several by their names; ``columns`` says which column a declared name means, where
    not that of the name."""
    sql = import_module(f"{__name__}.sql.engine")
    if isinstance(source, Mapping):
        raw = sql.raw_tables(source, schema, columns or {})  # refused before anything is opened
        layout: object = {name: one.layout for name, one in source.items()}
        (engine,) = {one.engine for one in source.values()}
    else:
        raw, layout, engine = sql.raw_columns(source, schema, columns or {}), source.layout, source.engine
    session = _session_of(engine).open_session(source, public, memory=memory)
    return sql.SqlEngine(session, import_module(f"{__name__}.{engine}.dialect").DIALECT, raw, layout)  # type: ignore[no-any-return]
