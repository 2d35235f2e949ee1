"""One private table, or several, in a DuckDB that can reach nothing else.

The database lives in memory. It may open the declared files and no others; there are no extensions to fetch, no settings to
change, and what does not fit in memory is spilled to a folder that only its owner can read. Files are read through views, so a
table may be larger than memory. Whatever DuckDB says when it fails may quote a cell: its words are dropped, and an
``EngineError`` says the kind of failure only.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
from numpy.typing import NDArray

from discreet.engine.sources.public import PublicTable
from discreet.engine.sources.source import LocalSource, open_source
from discreet.engine.sql.dialect import quoted, text_literal
from discreet.engine.sql.interrupting import interruptible
from discreet.errors import EngineError

if TYPE_CHECKING:
    import pyarrow

if sys.platform != "win32":  # which has no such locks, so that folders of killed processes stay
    import fcntl

__all__ = ["DuckDBSession", "Spill", "open_session", "open_source"]


_RAW = "discreet raw"  # no identifier, so that no public table can have this name
_EMPTY = "discreet nothing"
_CURSORS = 2  # made before the configuration is locked, which is when progress can be asked for
_FORKED = "This process was forked from the one that opened the table; open the table again here."
_BATCH = 2**16
_LONG, _MANY = 2**14, 2**10  # a text, and how many of them, that are remembered
_SOME = 2**8  # letters or items, of what is bound to what is remembered
_WHOLE = 2.0**53
_MOST_MEMORY = 4 * 2**30
_SETTINGS = {
    "allow_community_extensions": "false",
    "allow_persistent_secrets": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
    "python_enable_replacements": "false",
}
_OURS = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException, duckdb.SyntaxException)


class DuckDBSession:
    """A locked database that answers SQL over the raw private table, and over the public tables by their names.

    Threads may share it: every question has a cursor of its own. A process that was forked may not.
    """

    relation, nothing = quoted(_RAW), quoted(_EMPTY)

    def __init__(
        self,
        source: LocalSource | Mapping[str, LocalSource],
        public: Mapping[str, PublicTable] | None = None,
        *,
        memory: str | None = None,
        threads: int | None = None,
    ) -> None:
        self._sources = {"": source} if isinstance(source, LocalSource) else dict(source)
        self.coded = all(one.coded for one in self._sources.values())
        self.several = {name: (quoted(_name(_RAW, name)), quoted(_name(_EMPTY, name))) for name in self._sources if name}
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._known: dict[str, dict[str, list[object]]] = {}  # what tables without rows give
        self._idle: list[duckdb.DuckDBPyConnection] = []
        self._busy: list[duckdb.DuckDBPyConnection] = []
        self._spill = Spill()
        _sessions.add(self)
        settings = {
            **_SETTINGS,
            "memory_limit": memory or f"{_memory() // 2**20}MiB",
            "temp_directory": self._spill.path,
            "threads": str(threads or os.cpu_count() or 1),
        }
        failure = None
        try:
            self._database = duckdb.connect(":memory:", config=settings)  # type: ignore[arg-type]
            self._open(public or {})
        except Exception as error:  # outside this block, so that the error's words do not travel along as its context
            failure = _said(error)
        if failure is not None:
            self.close()
            raise EngineError(failure)

    def _open(self, public: Mapping[str, PublicTable]) -> None:
        run = self._database.execute
        for number, (name, table) in enumerate(public.items()):
            view = f"discreet public {number}"
            self._database.register(view, table.held.frame)
            run(f"CREATE TABLE {quoted(name)} AS SELECT * FROM {quoted(view)}")
            self._database.unregister(view)
        attached: dict[Path, str] = {}
        for part, source in self._sources.items():
            for statement in source.statements(_name(_RAW, part), attached):
                run(statement)
            columns = ", ".join(f"CAST(NULL AS {kind}) AS {quoted(name)}" for name, kind in source.raw.items())
            run(f"CREATE VIEW {quoted(_name(_EMPTY, part))} AS SELECT {columns} WHERE FALSE")
        files = dict.fromkeys(str(file) for source in self._sources.values() for file in source.files)
        run(f"SET allowed_paths = [{', '.join(map(text_literal, files))}]")
        run("SET enable_external_access = false")
        for _ in range(_CURSORS):
            cursor = self._cursor()
            cursor.execute("SET enable_progress_bar = true")  # so that progress is counted; it is never printed
            cursor.execute("SET enable_progress_bar_print = false")
            self._idle.append(cursor)
        run("SET lock_configuration = true")

    def fetch(self, sql: str, parameters: Mapping[str, object] | None = None) -> dict[str, list[object]]:
        """All rows that one statement gives, as Python's own values by column; integers of any width are exact.

        What a statement says of tables without rows never changes, and is remembered: questions are rehearsed on them.
        """
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        asked = "" if f'"{_RAW}' in sql or f'"{_EMPTY}' not in sql else _shape(sql, parameters or {})
        if asked in self._known:
            return self._known[asked]
        failure = None
        try:
            with self._lent() as cursor:
                statement = _parse(cursor, sql)
                rows = interruptible(cursor.interrupt, lambda: cursor.execute(statement, parameters or None).fetchall())
                names = [column[0] for column in cursor.description or ()]
            found = {name: [row[j] for row in rows] for j, name in enumerate(names)}
            if asked and len(self._known) < _MANY:
                self._known[asked] = found
            return found
        except Exception as error:
            failure = _said(error)
        raise EngineError(failure)

    def stream(self, sql: str, parameters: Mapping[str, object] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same in batches of arrays, none of which is kept."""
        if os.getpid() != self._process:
            raise EngineError(_FORKED)
        failure = None
        try:
            with self._lent() as cursor:
                statement = _parse(cursor, sql)
                reader = interruptible(
                    cursor.interrupt, lambda: cursor.sql(statement, params=parameters or None).to_arrow_reader(_BATCH)
                )
                while (batch := interruptible(cursor.interrupt, lambda: next(reader, None))) is not None:
                    yield {name: _array(batch.column(j)) for j, name in enumerate(batch.schema.names)}
        except Exception as error:
            failure = _said(error)
        if failure is not None:
            raise EngineError(failure)

    def read(self, sql: str, parameters: Mapping[str, object] | None = None) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same of all rows of a table."""
        return self.stream(sql, parameters)

    @contextmanager
    def _lent(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor for one question."""
        with self._lock:
            cursor = self._idle.pop() if self._idle else self._cursor()
            self._busy.append(cursor)
        idle = False
        try:
            yield cursor
            idle = True
        except Exception:
            idle = True
            raise
        finally:
            with self._lock:
                self._busy.remove(cursor)
                if idle:  # whatever else ended the block, such as Ctrl-C, may have left it at work
                    self._idle.append(cursor)

    def reading(self) -> AbstractContextManager[None]:
        """Files have no states to choose from: whether they changed meanwhile is asked when everything is counted."""
        return nullcontext()

    def progress(self) -> float | None:
        """How far the slowest question under way is, from 0 to 1; None when that is not known."""
        with self._lock:
            known = [cursor.query_progress() for cursor in self._busy]
        return min((share / 100 for share in known if share >= 0), default=None)

    def close(self) -> None:
        """Close the database and remove what it spilled; harmless when repeated."""
        if os.getpid() == self._process and hasattr(self, "_database"):
            with self._lock:
                while self._idle:
                    self._idle.pop().close()
            self._database.close()
        self._spill.remove()

    def __enter__(self) -> DuckDBSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        cursor = self._database.cursor()
        for table, source in self._sources.items():
            if source.held is not None:  # what is registered is known to one cursor only
                cursor.register(_name(_RAW, table), source.held)
        return cursor


_sessions: weakref.WeakSet[DuckDBSession] = weakref.WeakSet()


def _abandon() -> None:
    """In a forked child: keep databases whose threads did not come along from ever being closed, which would wait for them."""
    for session in _sessions:
        for held in (getattr(session, "_database", None), *session._idle, *session._busy):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(held))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)


_parsed: dict[str, duckdb.Statement] = {}  # of this process: a statement is bound to tables when it is carried out, not before


def _parse(cursor: duckdb.DuckDBPyConnection, sql: str) -> duckdb.Statement | str:
    """A statement that was read before, since questions that differ by what is bound have the same text; or its text."""
    if len(sql) >= _LONG:
        return sql
    known = _parsed.get(sql)
    if known is None:
        (known,) = cursor.extract_statements(sql)
        if len(_parsed) >= _MANY:
            _parsed.pop(next(iter(_parsed), ""), None)
        _parsed[sql] = known
    return known


def _shape(sql: str, parameters: Mapping[str, object]) -> str:
    """A statement and what is bound to it, as far as it may matter where there are no rows: every number up to 2^53 does the same
    there, since numbers are doubles, which no template lets fail, and which say nothing of types. Nothing where that is long."""
    if len(sql) >= _LONG or any(len(value) >= _SOME for value in parameters.values() if isinstance(value, (str, list, tuple))):
        return ""
    bound = [
        (name, "number" if type(value) is float and abs(value) <= _WHOLE else value) for name, value in sorted(parameters.items())
    ]
    return f"{sql}{bound}"


def _name(view: str, table: str) -> str:
    """The view of a private table; of one of several, by its name."""
    return f"{view} {table}" if table else view


def open_session(
    source: LocalSource | Mapping[str, LocalSource], public: Mapping[str, PublicTable], *, memory: str | None = None
) -> DuckDBSession:
    """A session over files or a frame, or over several by their names."""
    return DuckDBSession(source, public, memory=memory)


def _array(column: pyarrow.Array) -> NDArray[np.generic]:
    """Numbers as an array; those of 128 bits, which arrive as decimals, to the last bit: as Python's integers where 64 bits are
    not enough for all. A sum of nothing is 0."""
    import pyarrow

    kind, held = column.type, column.buffers()[1]
    if (pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind)) and not column.null_count and held is not None:
        # As ``to_numpy`` would read it, which loads pandas wherever that is installed: longer than most questions take.
        return np.frombuffer(held, dtype=kind.to_pandas_dtype())[column.offset :][: len(column)]
    if not pyarrow.types.is_decimal128(kind):
        plain: NDArray[np.generic] = column.to_numpy(zero_copy_only=False)
        return plain
    # Little-endian; more digits than a decimal admits, so its own reader is not asked.
    words = np.frombuffer(held, dtype="<u8")[2 * column.offset :][: 2 * len(column)].reshape(-1, 2)
    if column.null_count:
        words = np.where(column.is_valid().to_numpy(zero_copy_only=False)[:, None], words, np.uint64(0))
    low, high = words[:, 0], words[:, 1].view("<i8")
    if (low.view("<i8") >> 63 == high).all():
        return low.view("<i8")
    return np.asarray(low.astype(object) + (high.astype(object) << 64), dtype=object)


def _said(error: Exception) -> str:
    """The kind of a failure, in words that carry nothing of the data."""
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return "The engine ran out of memory, or of disk to spill to; give it more memory, or ask about fewer groups."
    if isinstance(error, duckdb.IOException | duckdb.PermissionException | duckdb.HTTPException | OSError):
        return "The engine could not read the table: a file has changed, vanished or is not readable, or the disk is full."
    if isinstance(error, _OURS):
        return f"The engine did not understand its own question ({type(error).__name__}); this is a defect of discreet."
    return "The engine could not finish the question; nothing more can be said without speaking of the data."


def _memory() -> int:
    """Bytes for the engine: three fifths of what the machine has, at most four gigabytes."""
    try:
        return min(_MOST_MEMORY, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * 3 // 5)
    except (AttributeError, ValueError, OSError):
        return _MOST_MEMORY


_PREFIX = "discreet-"
_MARK = "discreet.mark"


class Spill:
    """The folder that an engine spills to: only its owner can read it, and it goes when the session does.

    A process that is killed removes nothing, so whoever opens a session next does it. A folder is certainly ours if it has our
    prefix, belongs to this user, lets nobody else in, and holds our mark. Its process holds a lock on the mark for as long as it
    lives (and so do processes forked from it); the system lets go of the lock however a process ends. The mark gets its name when
    it is locked already, so that nobody meets it unlocked while its owner lives. ``remove`` is harmless when repeated.
    """

    def __init__(self) -> None:
        _sweep(Path(tempfile.gettempdir()))
        self.path = tempfile.mkdtemp(prefix=_PREFIX)  # made with mode 0700
        new = Path(self.path, f"{_MARK}.new")
        mark = os.open(new, os.O_RDWR | os.O_CREAT, 0o600)
        if sys.platform != "win32":
            fcntl.flock(mark, fcntl.LOCK_EX)
        new.rename(Path(self.path, _MARK))
        self.remove = weakref.finalize(self, _remove, self.path, mark, os.getpid())


def _remove(folder: str, mark: int, process: int) -> None:
    if os.getpid() == process:  # a forked child does not own the folder
        shutil.rmtree(folder, ignore_errors=True)
        os.close(mark)


def _sweep(place: Path) -> None:
    """Remove the folders of processes of this user that are gone."""
    if sys.platform == "win32":
        return
    for folder in place.glob(f"{_PREFIX}*"):
        try:
            facts = folder.lstat()
            if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid() or stat.S_IMODE(facts.st_mode) != 0o700:
                continue
            mark = os.open(folder / _MARK, os.O_RDWR | os.O_NOFOLLOW)
        except OSError:  # without a mark, or just gone
            continue
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused while its owner lives
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(mark)
