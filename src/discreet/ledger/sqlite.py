"""The database of a ledger: one SQLite file with one table of records, to which rows are only ever added.

Journal mode DELETE with synchronous EXTRA: when COMMIT returns, the row and the end of the rollback journal are on disk, so a
power cut can neither lose the row nor bring back the state before it. Write-ahead logging would need shared memory between
processes (no network folders) and a second file whose loss is a silent rollback. SQLite gives the journal the file's own mode.

Every transaction has its own connection, closed at its end, and transactions of one process take turns (``turns``).
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from discreet.errors import LedgerRefused
from discreet.ledger.chain import Record
from discreet.ledger.turns import turn
from discreet.ledger.witness import is_writable, reason, sync_folder

_APPLICATION = 0x64706C67  # "dplg", in the file's header
_PATIENCE = 60.0  # seconds to wait for other processes

_SCHEMA = """
CREATE TABLE records (number INTEGER PRIMARY KEY, text TEXT NOT NULL, hash BLOB NOT NULL);
CREATE TRIGGER never_changed BEFORE UPDATE ON records BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER never_deleted BEFORE DELETE ON records BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
CREATE TRIGGER always_next BEFORE INSERT ON records
    WHEN NEW.number IS NOT (SELECT coalesce(max(number), -1) + 1 FROM records)
    BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END;
"""


@contextmanager
def connect(path: Path, *, write: bool = True, what: str = "ledger") -> Iterator[sqlite3.Connection]:
    """A connection for one transaction; what was not committed is rolled back. SQLite's troubles become refusals.

    Reading needs no right to write. Where there is one it is used: what a crashed writer left is then rolled back.
    """
    mode = "rw" if write or is_writable(path) else "ro"
    with turn():
        try:
            connection = sqlite3.connect(f"{_address(path)}?mode={mode}", uri=True, timeout=_PATIENCE, isolation_level=None)
            try:
                connection.execute("PRAGMA trusted_schema = OFF")
                if mode == "rw":
                    if sys.platform == "darwin":  # where a sync is otherwise not one
                        connection.execute("PRAGMA fullfsync = ON")
                    connection.execute("PRAGMA synchronous = EXTRA")
                yield connection
            finally:
                connection.close()
        except sqlite3.Error as problem:
            raise LedgerRefused(_sentence(what, path, problem)) from None


@lru_cache(maxsize=256)
def _address(path: Path) -> str:
    return path.as_uri()


def begin(connection: sqlite3.Connection) -> None:
    """Take the write lock, with a rollback journal, which is what a file has unless somebody gave it a log."""
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA journal_mode").fetchone() != ("delete",):
        connection.execute("ROLLBACK")
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("BEGIN IMMEDIATE")


def create(path: Path) -> None:
    """An empty file that only its owner may read; one that is there already is left alone, with its mode and group."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        sync_folder(path.parent)
    except FileExistsError:
        pass
    except OSError as problem:
        why = reason(problem)
        raise LedgerRefused(f"No ledger can be made at {path} ({why}); choose a folder that can be written.") from None


@dataclass(frozen=True)
class Transaction:
    """The records of a ledger on one connection."""

    connection: sqlite3.Connection
    path: Path

    def is_empty(self) -> bool:
        return is_empty(self.connection)

    def lock(self) -> None:
        if not self.connection.in_transaction:
            begin(self.connection)

    def add(self, *records: Record) -> None:
        if not records[0].number:
            create_table(self.connection)
        add(self.connection, *records)

    def read(self, first: int) -> list[Record]:
        return records(self.connection, self.path, first)

    def get(self, *numbers: int) -> list[Record]:
        query = "SELECT number, text, hash FROM records WHERE number = ?"
        found = (self.connection.execute(query, (number,)).fetchone() for number in sorted({*numbers}))
        return [_read(self.path, row) for row in found]

    def hash_of(self, number: int) -> bytes | None:
        found = self.connection.execute("SELECT hash FROM records WHERE number = ?", (number,)).fetchone()
        return None if found is None else _read(self.path, (number, "", *found)).hash


@contextmanager
def reading(path: Path) -> Iterator[Transaction]:
    """The records of one moment."""
    with connect(path, write=False) as connection:
        connection.execute("BEGIN")
        yield Transaction(connection, path)


@contextmanager
def writing(path: Path) -> Iterator[Transaction]:
    """The records, under the write lock."""
    with connect(path) as connection:
        begin(connection)
        yield Transaction(connection, path)


def exists(path: Path) -> bool:
    """Whether there is such a file."""
    return path.exists()


def begun(path: Path) -> bool:
    """Whether there is one that holds something: an empty file is no ledger yet, and may show its mode and group."""
    return path.exists() and path.stat().st_size > 0


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing was ever stored in this database."""
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,))


def create_table(connection: sqlite3.Connection) -> None:
    """Make a new database a ledger, within the transaction that also adds its first record."""
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    for statement in _SCHEMA.replace("; END", "\0 END").split(";\n"):
        if statement.strip():
            connection.execute(statement.replace("\0", ";"))


def add(connection: sqlite3.Connection, *records: Record) -> None:
    """Append records and commit: they are durable when this returns."""
    connection.executemany("INSERT INTO records VALUES (?, ?, ?)", ((one.number, one.text, one.hash) for one in records))
    connection.execute("COMMIT")


def records(connection: sqlite3.Connection, path: Path, first: int) -> list[Record]:
    """All records from this number on, in order. Read to the end: a cursor left half-way would hold its lock after a refusal."""
    if not first and connection.execute("PRAGMA application_id").fetchone() != (_APPLICATION,):
        raise LedgerRefused(f"{path} is not a ledger of discreet; name another file, and a new ledger is made there.")
    query = "SELECT number, text, hash FROM records WHERE number >= ? ORDER BY number"
    return [_read(path, row) for row in connection.execute(query, (first,)).fetchall()]


def _read(path: Path, row: tuple[object, ...] | None) -> Record:
    number, text, hashed = row or (None, None, None)
    if not (isinstance(number, int) and isinstance(text, str) and isinstance(hashed, bytes)):
        raise LedgerRefused(f"The ledger {path} is damaged, so nobody knows how much was spent; restore an intact copy.")
    return Record(number, text, hashed)


def _sentence(what: str, path: Path, problem: sqlite3.Error) -> str:
    code = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF  # the primary code
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return f"The {what} {path} was locked by somebody else for {_PATIENCE:g} seconds; nothing was answered. Ask again later."
    if code == sqlite3.SQLITE_FULL:
        return f"The disk of the {what} {path} is full; nothing was answered. Make room, then ask again."
    if path.exists() and not os.access(path, os.R_OK):
        return f"The {what} {path} may not be read by this user; its owner can let a group read and write it: chmod 660 {path}."
    if getattr(problem, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
        return f"The {what} {path} was left in the middle of a payment; somebody who may write it must open it once."
    if code == sqlite3.SQLITE_READONLY or not os.access(path.parent, os.W_OK):
        return f"The {what} {path} cannot be written, so nothing is answered; make the file and its folder writable."
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} is not a ledger of discreet; name another file, and a new ledger is made there."
    if code == sqlite3.SQLITE_CORRUPT:
        return f"The {what} {path} is damaged, so nobody knows how much was spent; restore an intact copy."
    name = getattr(problem, "sqlite_errorname", "no code")
    return f"The {what} {path} could not be read or written ({name}); nothing was answered. Mend that, then ask again."
