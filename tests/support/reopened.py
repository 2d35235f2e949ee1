"""Databases that are opened once for many tables of the same columns: to open one takes longer than most questions."""

from __future__ import annotations

import copy
import os
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from discreet.curator import desk, plans, tables
from discreet.engine.duckdb.session import _RAW, DuckDBSession, _name
from discreet.engine.sources.source import LocalSource, open_source
from discreet.engine.sql.engine import SqlEngine

_KEPT = 8
_idle: list[tuple[object, SqlEngine]] = []  # of this process
_returned: deque[tuple[object, SqlEngine]] = deque()  # closed, or held by nobody any more, at whatever moment that was noticed


def reopen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Curators over frames get an engine that another one closed or that went with it, where only the rows differ: they take the
    place of those. Files and databases are opened as they are in life."""
    open_engine: Callable[..., Any] = tables.open_engine

    def opened(source: Any, schema: object, public: Mapping[str, Any], **more: Any) -> Any:
        sources = source if isinstance(source, Mapping) else {"": source}
        if any(not isinstance(one, LocalSource) or one.frame is None for one in sources.values()):
            return open_engine(source, schema, public, **more)
        layouts = {name: one.layout for name, one in sources.items()}
        facts = (os.getpid(), schema, layouts, {name: one.fingerprint(b"tests") for name, one in public.items()}, more)
        _take_back()
        for place, (known, engine) in enumerate(_idle):
            if known == facts:
                session = _idle.pop(place)[1]._session
                assert isinstance(session, DuckDBSession)
                session._sources = {**sources}
                for cursor in session._idle:
                    for name, one in sources.items():
                        cursor.register(_name(_RAW, name), one.held)
                return _lend(facts, engine)
        return _lend(facts, open_engine(source, schema, public, **more))

    monkeypatch.setattr(tables, "open_engine", opened)


def _lend(facts: object, engine: SqlEngine) -> SqlEngine:
    """The engine under another identity: whoever held on to an earlier one that was closed has nothing of this."""
    lent = copy.copy(engine)
    lent.close = weakref.finalize(lent, _returned.append, (facts, engine))  # type: ignore[method-assign]
    return lent


def _take_back() -> None:
    while _returned:
        facts, engine = _returned.popleft()
        if _is_as_new(engine):
            _idle.append((facts, engine))
        else:
            SqlEngine.close(engine)
    while len(_idle) > _KEPT:
        SqlEngine.close(_idle.pop(0)[1])


def _is_as_new(engine: SqlEngine) -> bool:
    """Whether nothing runs in it, and no test put anything in the place of its methods."""
    session = engine._session
    put = {*vars(engine)} & {*dir(SqlEngine)} | {*vars(session)} & {*dir(DuckDBSession)}
    return isinstance(session, DuckDBSession) and not session._busy and not put


def replan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are read and prepared once in a test."""
    for module, name in ((desk, "parse_query"), (plans, "prepare")):
        monkeypatch.setattr(module, name, _once(getattr(module, name)))


def _once(make: Callable[..., Any]) -> Callable[..., Any]:
    known: list[tuple[object, Any]] = []  # compared one by one: facts have no hash

    def made(*given: Any, **named: Any) -> Any:
        for before, found in known:
            if before == (given, named):
                return found
        known.append(((given, named), make(*given, **named)))
        return known[-1][1]

    return made


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
