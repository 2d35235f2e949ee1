"""Databases that are opened once for many tables of the same columns: to open one takes longer than most questions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from discreet.curator import tables
from discreet.engine.duckdb.session import _RAW, DuckDBSession
from discreet.engine.sources.source import LocalSource, open_source
from discreet.engine.sql.engine import SqlEngine

_KEPT = 8
_idle: list[tuple[object, SqlEngine]] = []  # of this process


def reopen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curators over frames get an engine that another one closed, where only the rows differ: they take the place of those."""
    open_engine: Callable[..., Any] = tables.open_engine

    def opened(source: object, schema: object, public: Mapping[str, Any], **more: Any) -> Any:
        if not isinstance(source, LocalSource) or source.frame is None:
            return open_engine(source, schema, public, **more)
        facts = (os.getpid(), schema, source.layout, {name: one.fingerprint(b"tests") for name, one in public.items()}, more)
        for place, (known, engine) in enumerate(_idle):
            if known == facts:
                session = _idle.pop(place)[1]._session
                assert isinstance(session, DuckDBSession)
                session._sources = {"": source}
                for cursor in session._idle:
                    cursor.register(_RAW, source.held)
                return engine
        engine = open_engine(source, schema, public, **more)
        engine.close = lambda: _end(facts, engine)
        return engine

    monkeypatch.setattr(tables, "open_engine", opened)


def _end(facts: object, engine: SqlEngine) -> None:
    if all(engine is not one for _, one in _idle):  # harmless when repeated
        _idle.append((facts, engine))
    while len(_idle) > _KEPT:
        SqlEngine.close(_idle.pop(0)[1])


@contextmanager
def raw_session(source: LocalSource) -> Iterator[DuckDBSession]:
    """A session for questions about the raw cells of a frame, in a database that all frames share; files have one each, as they
    do in life. Of the table without rows it knows nothing."""
    if source.frame is None:
        with DuckDBSession(source, threads=1) as session:
            yield session
        return
    session = _shared(os.getpid())
    for cursor in session._idle:
        cursor.register(_RAW, source.held)
    yield session


@cache
def _shared(process: int) -> DuckDBSession:  # noqa: ARG001
    return DuckDBSession(open_source(pa.table({"x": [1]})), threads=1)
