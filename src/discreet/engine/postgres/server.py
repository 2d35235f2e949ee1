"""Connections to a PostgreSQL server, and what is said where there is none.

Every question is asked in a transaction that can only read and sees one state of the database, with settings of its own: names
are looked up in ``pg_catalog`` alone, texts of doubles, days and moments are written in one way, and no error writes parameters
into the server's log. Whatever interrupts a statement cancels it on the server, and the connection is closed; a server notices by
itself within seconds when this process is gone. What a server says when it fails may quote a cell, or an address: its words are
dropped.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count

from discreet.engine.base import NoFile, Unreachable
from discreet.errors import EngineError, ParameterError

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError:
    raise ParameterError("Tables on PostgreSQL need its driver; install it with: pip install 'discreet[postgres]'.") from None

_LEAST = 140_000
_BEGIN = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL search_path = pg_catalog; SET LOCAL timezone = 'UTC'; "
    "SET LOCAL datestyle = 'ISO, YMD'; SET LOCAL extra_float_digits = 1; SET LOCAL standard_conforming_strings = on; "
    "SET LOCAL bytea_output = 'hex'; SET LOCAL jit = off; SET LOCAL cursor_tuple_fraction = 1; "
    "SET LOCAL log_parameter_max_length_on_error = 0; SET LOCAL work_mem = '{memory}kB'"
)
_IDLE = 4  # connections that are kept
_MEMORY = 65_536  # kilobytes of every sort and every table of groups
_GONE = "The connection to the PostgreSQL server was lost; see that it runs and can be reached, and ask again."
_IDENTITY = (
    "SELECT current_setting('server_encoding'), d.oid::bigint, d.datname::text, "
    "(SELECT system_identifier FROM pg_control_system()) FROM pg_database AS d WHERE d.datname = current_database()"
)
_CURSORS = count(1)
Connection = psycopg.Connection[tuple[object, ...]]


@cache
def server_of(conninfo: str) -> Server:
    """The server of an address, and the connections to it, for all tables there."""
    found = Server(conninfo)
    atexit.register(found.close)
    return found


class Server:
    """Connections to one database, each lent to one question at a time. Threads may share it; a forked process may not."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    def __repr__(self) -> str:
        return "<Server>"  # never its address, which may have a password

    def ask(self, sql: str, parameters: Sequence[object]) -> list[tuple[object, ...]]:
        """Rows of one statement, in a transaction of its own."""
        with self.reading() as connection:
            return run(connection, sql, parameters)[1]

    def look(self, sql: str, parameters: Sequence[object]) -> tuple[tuple[object, ...], list[tuple[object, ...]]]:
        """What identifies the database, and rows of its catalog; refused where this is no server that can be used."""
        failure = None
        try:
            with self.reading() as connection:
                ((encoding, *identity),) = run(connection, _IDENTITY, [])[1]
                if encoding == "UTF8":
                    return tuple(identity), run(connection, sql, parameters)[1]
        except Unreachable as problem:
            failure = str(problem)
        if failure is not None:
            raise NoFile(failure)
        raise ParameterError(
            f"The texts of this database are in {encoding}, and discreet reads UTF8 alone; convert the database."
        )

    @contextmanager
    def reading(self, memory: int = _MEMORY) -> Iterator[Connection]:
        """A connection in a transaction that only reads, and sees one state of everything."""
        connection = self._take()
        keep = False
        try:
            connection = self._begin(connection, memory)
            yield connection
            keep = True
        except EngineError:
            keep = True
            raise
        finally:
            if keep:
                with suppress(psycopg.Error):
                    connection.execute("ROLLBACK")
            self._give(connection, keep and not connection.closed)

    def _begin(self, connection: Connection, memory: int) -> Connection:
        """Begin; once more on a new connection, because one that was idle may be gone."""
        begin = _BEGIN.format(memory=memory)
        for fresh in (False, True):
            try:
                connection.execute(begin)
                return connection
            except psycopg.Error:
                connection.close()
            if not fresh:
                connection = self._connect()
        raise Unreachable(_GONE)

    def _take(self) -> Connection:
        if os.getpid() != self._process:  # connections of the parent are its own
            self._process, self._lock, self._idle = os.getpid(), threading.Lock(), []
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give(self, connection: Connection, keep: bool) -> None:
        with self._lock:
            if keep and len(self._idle) < _IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self) -> Connection:
        failure = ""
        try:
            connection = psycopg.connect(
                make_conninfo("connect_timeout=10", **conninfo_to_dict(self._conninfo)),
                autocommit=True,
                prepare_threshold=None,
                cursor_factory=psycopg.RawCursor,
                client_encoding="UTF8",
            )
        except psycopg.Error as error:
            failure = str(error)
        if failure:
            raise _refused(failure)
        if (version := connection.info.server_version) < _LEAST:  # told by the server before it is asked anything
            connection.close()
            raise ParameterError(
                f"This server is PostgreSQL {version // 10_000}, and discreet needs 14 or later; upgrade it, or export the table "
                "to Parquet."
            )
        with suppress(psycopg.Error):  # not every system can
            connection.execute("SET client_connection_check_interval = '2s'")
        return connection

    def close(self) -> None:
        """Close connections that nobody uses; harmless when repeated."""
        with self._lock:
            while os.getpid() == self._process and self._idle:
                self._idle.pop().close()


def run(connection: Connection, sql: str, parameters: Sequence[object]) -> tuple[list[str], list[tuple[object, ...]]]:
    """The names of columns and all rows of one statement. Whatever a signal raises while it runs cancels it on the server."""
    failure: EngineError | None = None
    try:
        cursor = connection.execute(sql.encode(), list(parameters))
        return [column.name for column in cursor.description or ()], cursor.fetchall() if cursor.description else []
    except psycopg.Error as error:
        failure = _said(error, connection)
    except BaseException:
        cancel(connection)
        raise
    raise failure


def page(
    connection: Connection, sql: str, parameters: Sequence[object], size: int
) -> Iterator[tuple[list[str], list[tuple[object, ...]]]]:
    """The same by a cursor of the server, so many rows at a time: no others are here. Within the transaction that is open."""
    name = f"discreet_{next(_CURSORS)}"
    run(connection, f"DECLARE {name} NO SCROLL CURSOR WITHOUT HOLD FOR {sql}", parameters)
    try:
        while (found := run(connection, f"FETCH FORWARD {size} FROM {name}", ()))[1]:
            yield found
    finally:
        if not connection.closed:
            with suppress(EngineError):  # what ended the block may have ended the transaction
                run(connection, f"CLOSE {name}", ())


def cancel(connection: Connection) -> None:
    """Stop what a connection is doing, and close it."""
    with suppress(Exception):
        connection.cancel_safe(timeout=5.0)
    connection.close()


def _refused(words: str) -> Exception:
    """What is said where no connection can be made; the driver's words tell which, and are not said: they name the address."""
    if any(sign in words for sign in ("authentication failed", "no password supplied", "no pg_hba.conf entry", "SASL")):
        return ParameterError("The PostgreSQL server does not let this user in; check user, password and pg_hba.conf.")
    if "does not exist" in words and ("role" in words or "database" in words):
        what = "role" if 'role "' in words else "database"
        return ParameterError(f"The PostgreSQL server has no such {what}; check the address.")
    if any(
        sign in words for sign in ("invalid connection option", "invalid URI", "invalid port", "invalid sslmode", "missing key")
    ):
        return ParameterError(
            "libpq does not understand this address; write postgresql://user@host/database?table=schema.visits."
        )
    return Unreachable("There is no PostgreSQL server to be reached at this address; see that it runs, and check host and port.")


def _said(error: psycopg.Error, connection: Connection) -> EngineError:
    """The kind of a failure, in words that carry nothing of the data."""
    state = error.sqlstate or ""
    if connection.closed or connection.broken or state[:2] in ("08", "57") or state in ("25P03",):
        return Unreachable("The server ended the question." if state == "57014" else _GONE)
    if state == "42501":
        return EngineError("This role may not read the table any more; GRANT SELECT on its columns to it.")
    if state[:2] == "53":
        return EngineError("The server ran out of memory, disk or connections; give it more, or ask about fewer groups.")
    if state[:2] == "42":
        return EngineError(
            f"The server did not understand the question ({state}): the table was altered, or discreet is defective."
        )
    return EngineError(f"The server could not finish the question ({state or 'no state'}); its words might speak of the data.")
