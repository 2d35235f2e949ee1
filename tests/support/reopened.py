"""Databases that are opened once for many tables of the same columns: to open one takes longer than most questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from discreet.curator import tables
from discreet.engine.duckdb.session import _RAW, DuckDBSession
from discreet.engine.sources.source import LocalSource
from discreet.engine.sql.engine import SqlEngine

_KEPT = 8


@contextmanager
def reopened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[object, SqlEngine]]]:
    """Curators over frames get an engine that another one closed, where only the rows are others: they take the place of those.
    What is closed meanwhile."""
    open_engine: Callable[..., Any] = tables.open_engine
    idle: list[tuple[object, SqlEngine]] = []

    def opened(source: object, schema: object, public: Mapping[str, Any], **more: Any) -> Any:
        if not isinstance(source, LocalSource) or source.frame is None:
            return open_engine(source, schema, public, **more)
        facts = (schema, source.layout, {name: one.fingerprint(b"tests") for name, one in public.items()}, more)
        for place, (known, engine) in enumerate(idle):
            if known == facts:
                session = idle.pop(place)[1]._session
                assert isinstance(session, DuckDBSession)
                session._sources = {"": source}
                for cursor in session._idle:
                    cursor.register(_RAW, source.held)
                return engine
        engine = open_engine(source, schema, public, **more)
        engine.close = lambda: idle.append((facts, engine))
        while len(idle) >= _KEPT:
            SqlEngine.close(idle.pop(0)[1])
        return engine

    monkeypatch.setattr(tables, "open_engine", opened)
    try:
        yield idle
    finally:
        for _, engine in idle:
            SqlEngine.close(engine)
