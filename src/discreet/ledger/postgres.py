"""Ledgers on PostgreSQL: a table each, to which rows are only ever added, for curators on any number of machines.

**One list.** A record is added under the number after the last one that its writer has verified, and the table's primary key and
trigger give that number to one row only. So whoever adds has seen everything before: check and reserve are serialisable, and so
are commits, whatever else fails. The lock, an advisory one of the transaction, saves the losers their work. The server gives it
up when the transaction ends or its connection dies, and within ``_PATIENCE`` seconds where it is not told of that. There is one
lock for one ledger, so nothing deadlocks.

**Durable.** ``synchronous_commit`` is on in every transaction, whatever server or role say (``remote_apply``, which is more, is
left), and a server that runs without ``fsync`` or a table that is not logged is refused: when COMMIT returns, the row is on disk.

**In doubt.** A connection may die before COMMIT is answered. Another one then takes the lock, which waits for the old transaction
to end, and looks: the record is there, and all goes on, or it never will be, and nothing is answered. Where the server stays
away, nothing is answered either, and what may have been reserved counts as spent.

**Quiet.** Records go by COPY: no text of theirs, and not the ledger's salt, is in a statement that a server may log. Passwords
are known to ``connections`` alone.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import LedgerRefused
from discreet.ledger.chain import Record
from discreet.ledger.connections import connect, dial, impatience, load_psycopg, rest, resume
from discreet.ledger.place import Address, typed
from discreet.ledger.turns import turn

if TYPE_CHECKING:
    import psycopg

    from discreet.ledger.connections import Connection

_APPLICATION = 0x64706C67  # "dplg", in all our locks
_MARK = "ledger of discreet"  # the comment of a table that is one
_PATIENCE = 60.0  # seconds to wait for others
_DOUBT = 15.0  # seconds to wait for a server that left us in doubt

_BEGIN = """
BEGIN ISOLATION LEVEL {level};
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL row_security = off;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = {patience};
SET LOCAL idle_in_transaction_session_timeout = {patience};
SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') <> 'remote_apply';
"""
_LOOK = """
SELECT c.relkind = 'r' AND c.relpersistence = 'p' AND obj_description(c.oid, 'pg_class') = '{mark}' AND 2 = (
        SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgenabled = 'A' AND NOT t.tgisinternal),
    has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'),
    has_table_privilege(c.oid, 'INSERT'),
    current_setting('fsync') = 'on' AND current_setting('full_page_writes') = 'on'
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' AND c.relname = '{name}';
"""
_LOCK = """
SELECT pg_advisory_xact_lock(({application}::bigint << 32) | c.oid::bigint)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '{schema}' AND c.relname = '{name}';
"""
_CREATE = """
CREATE TABLE {table} (number bigint PRIMARY KEY, text text NOT NULL, hash bytea NOT NULL);
COMMENT ON TABLE {table} IS '{mark}';
CREATE OR REPLACE FUNCTION {table}_only_grows() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.number = (SELECT coalesce(max(number), -1) + 1 FROM ONLY {table}) THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'a ledger is append-only' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER always_next BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION {table}_only_grows();
CREATE TRIGGER never_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} EXECUTE FUNCTION {table}_only_grows();
ALTER TABLE {table} ENABLE ALWAYS TRIGGER always_next;
ALTER TABLE {table} ENABLE ALWAYS TRIGGER never_changed;
"""


@dataclass(frozen=True)
class Facts:
    """What the server says of a table: whether it is a ledger, what this role may do, and whether it loses nothing."""

    ledger: bool
    read: bool
    write: bool
    durable: bool


class Transaction:
    """The records of a ledger on a connection of one's own."""

    def __init__(self, place: Address, *, write: bool) -> None:
        self.place, self._write = place, write
        self.table = f"{place.schema}.{place.name}"
        self.facts: Facts | None = None  # None: there is no such table
        self.begun = False
        self.connection = resume(place) or connect(place)

    def begin(self) -> None:
        """Begin, look at the table, and take the lock where there is something to write."""
        if not self._begin():  # what was at rest was dead
            self.connection = connect(self.place)
            if not self._begin():
                raise LedgerRefused(_lost(self.place))

    def _begin(self) -> bool:
        """Whether the connection lives."""
        level = "READ COMMITTED READ WRITE" if self._write else "REPEATABLE READ READ ONLY"
        try:
            cursor = self.connection.execute(self._script(_BEGIN + _LOOK + (_LOCK if self._write else ""), level=level))
        except load_psycopg().OperationalError:
            if not self.connection.broken:
                raise
            return False
        results = [cursor.fetchall() if cursor.description else None]
        while cursor.nextset():
            results.append(cursor.fetchall() if cursor.description else None)
        _settings, found, *_ = (rows for rows in results if rows is not None)
        self.facts, self.begun = Facts(*found[0]) if found else None, True
        return True

    def _script(self, template: str, **more: str) -> bytes:
        """Statements about this table; its name is of small letters, digits and _."""
        names = {"schema": self.place.schema, "name": self.place.name, "table": self.table, "mark": _MARK}
        return template.format(application=_APPLICATION, patience=int(_PATIENCE * 1000), **names, **more).encode()

    def check(self) -> None:
        """Refuse what is no ledger, what this role may not use, and what could lose what it is given."""
        place, facts = self.place, self.facts
        if facts is None:
            raise LedgerRefused(f"There is no ledger at {place} any more; restore it, then adopt it.")
        if not facts.ledger:
            raise LedgerRefused(
                f"The table {self.table} at {place} is not a ledger of discreet, or has lost its triggers or its log; name "
                "another one with ledger=, and it is made there."
            )
        if not facts.read or (self._write and not facts.write):
            do, rights = ("written", "SELECT, INSERT") if facts.read else ("read", "SELECT")
            raise LedgerRefused(
                f"The ledger {place} may not be {do} by this role, so nothing is answered; its owner can let it: GRANT USAGE ON "
                f"SCHEMA {place.schema} TO ..., and GRANT {rights} ON {self.table} TO ..."
            )
        if self._write and not facts.durable:
            raise LedgerRefused(
                f"The server of the ledger {place} runs with fsync or full_page_writes off, so a power cut could bring back what "
                "was spent; nothing is answered until its administrator turns them on."
            )

    def make(self) -> None:
        """Make the table, and its schema where that is missing; somebody else may be doing so."""
        connection = self.connection
        connection.execute(self._script("SELECT pg_advisory_xact_lock({application}, 0)"))
        if connection.execute(self._script(_LOOK)).fetchone() is None:
            if not connection.execute(self._script("SELECT FROM pg_namespace WHERE nspname = '{schema}'")).rowcount:
                connection.execute(self._script("CREATE SCHEMA {schema}"))
            connection.execute(self._script(_CREATE))
            if not commit(connection):
                raise LedgerRefused(_lost(self.place))

    def is_empty(self) -> bool:
        return self.connection.execute(self._script("SELECT FROM ONLY {table} LIMIT 1")).rowcount == 0

    def lock(self) -> None:
        if not self.begun:
            self.begin()
            self.check()

    def add(self, *records: Record) -> None:
        insert(self.connection, self.table, *records)
        if not commit(self.connection):
            self._settle(records[-1])
        self.begun = False

    def read(self, first: int) -> list[Record]:
        return [self._record(row) for row in self._select("number >= %s", first)]

    def get(self, *numbers: int) -> list[Record]:
        found = [self._record(row) for row in self._select("number = ANY(%s)", [*numbers])]
        if len(found) != len({*numbers}):
            raise LedgerRefused(self._damaged)
        return found

    def hash_of(self, number: int) -> bytes | None:
        query = self._script("SELECT hash FROM ONLY {table} WHERE number = %s")
        found = self.connection.execute(query, (number,)).fetchone()
        return None if found is None else self._record((number, "", *found)).hash

    def _select(self, condition: str, value: object) -> list[tuple[object, ...]]:
        query = self._script(f"SELECT number, text, hash FROM ONLY {{table}} WHERE {condition} ORDER BY number")
        return self.connection.execute(query, (value,)).fetchall()

    def _record(self, row: tuple[object, ...]) -> Record:
        number, text, hashed = row
        if not (isinstance(number, int) and isinstance(text, str) and isinstance(hashed, bytes)):
            raise LedgerRefused(self._damaged)
        return Record(number, text, hashed)

    @property
    def _damaged(self) -> str:
        return f"The ledger {self.place} is damaged, so nobody knows how much was spent; restore an intact copy."

    def _settle(self, record: Record) -> None:
        """Find out whether a COMMIT without an answer was one; refuse where it was not, or where nobody can tell."""
        until = time.monotonic() + _DOUBT
        while isinstance(written := self._was_written(record), str):
            if time.monotonic() > until:
                raise LedgerRefused(
                    f"The connection to the ledger {self.place} was lost before it said that all was written ({written}); "
                    "nothing was answered, and what may have been reserved counts as spent. Ask again when the server is back."
                )
            time.sleep(0.1)
        if not written:
            raise LedgerRefused(_lost(self.place))

    def _was_written(self, record: Record) -> bool | str:
        """Whether a record is there once the transaction that added it has ended, or why nobody can tell."""
        self.connection.close()
        found = dial(self.place)
        if isinstance(found, str):
            return found
        self.connection = found
        try:
            if not self._begin():
                return "lost again"
            there = self._select("number = %s", record.number) == [(record.number, record.text, record.hash)]
            self.connection.execute("ROLLBACK")
        except load_psycopg().Error as problem:
            return _name(problem)
        return there

    def end(self) -> None:
        """Forget what was not added, and leave the connection at rest."""
        psycopg = load_psycopg()
        with suppress(psycopg.Error):
            if self.connection.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
                self.connection.execute("ROLLBACK")
            rest(self.place, self.connection)
            return
        self.connection.close()


def exists(place: Address) -> bool:
    """Whether there is a table of that name."""
    with _transaction(place, write=False) as transaction:
        return transaction.facts is not None


def begun(place: Address) -> bool:
    """Whether there is a ledger with records."""
    with _transaction(place, write=False) as transaction:
        if transaction.facts is None:
            return False
        transaction.check()
        return not transaction.is_empty()


def create(place: Address) -> None:
    """An empty table to which rows are added and nothing else is done; what is there is left alone."""
    with _transaction(place, write=True, making=True) as transaction:
        if transaction.facts is None:
            transaction.make()


@contextmanager
def reading(place: Address) -> Iterator[Transaction]:
    """The records of one moment."""
    with _transaction(place, write=False) as transaction:
        transaction.check()
        yield transaction


@contextmanager
def writing(place: Address) -> Iterator[Transaction]:
    """The records, under the lock."""
    with _transaction(place, write=True) as transaction:
        transaction.check()
        yield transaction


def insert(connection: Connection, table: str, *records: Record) -> None:
    """Append records to a table, by a statement that shows nothing of them."""
    cursor = connection.cursor()
    with cursor.copy(f"COPY {table} (number, text, hash) FROM STDIN".encode()) as copy:
        for record in records:
            copy.write_row((record.number, record.text, record.hash))
    if cursor.rowcount != len(records):
        raise LedgerRefused(f"The table {table} does not keep what is added, so nothing is answered; its owner knows why.")


def commit(connection: Connection) -> bool:
    """Whether it was committed, durably; otherwise nobody knows, or the server says why."""
    try:
        return connection.execute("COMMIT").statusmessage == "COMMIT"
    except load_psycopg().OperationalError:
        if not connection.broken:
            raise
        return False


@contextmanager
def _transaction(place: Address, *, write: bool, making: bool = False) -> Iterator[Transaction]:
    """A transaction of ours; what was not committed is rolled back. The server's troubles become refusals."""
    psycopg = load_psycopg()
    with turn():
        transaction = Transaction(place, write=write)
        try:
            with impatience(lambda: transaction.connection):
                transaction.begin()
                yield transaction
        except psycopg.Error as problem:
            raise LedgerRefused(_sentence(place, problem, transaction.begun, making)) from None
        finally:
            transaction.end()


def _lost(place: Address) -> str:
    return (
        f"The connection to the ledger {place} was lost before this was written; nothing was answered, and what was reserved "
        "before stays spent. Ask again."
    )


def _sentence(place: Address, problem: psycopg.Error, begun: bool, making: bool) -> str:
    code = problem.sqlstate or ""
    if code == "55P03":
        return f"The ledger {place} was locked by somebody else for {_PATIENCE:g} seconds; nothing was answered. Ask again later."
    if code == "25006" or (code == "0A000" and not begun):
        return (
            f"The server of the ledger {place} is a replica, or only lets read, so nothing is answered; name the one that writes."
        )
    if code == "42501" and making:
        return (
            f"This role may not make the ledger {place}. One that may runs: discreet ledger create {typed(place)}; then GRANT "
            f"USAGE ON SCHEMA {place.schema} TO ..., and GRANT SELECT, INSERT ON {place.schema}.{place.name} TO ..."
        )
    if code[:2] == "53":
        return (
            f"The server of the ledger {place} is short of room or connections ({_name(problem)}); nothing was answered, and "
            "what was reserved before stays spent. Make room, then ask again."
        )
    if not code or code[:2] in ("08", "57"):
        return _lost(place)
    return (
        f"The ledger {place} could not be read or written ({_name(problem)}); nothing was answered, and what was reserved before "
        "stays spent. Mend that, then ask again."
    )


def _name(problem: psycopg.Error) -> str:
    """What PostgreSQL calls a trouble, such as disk full."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(problem).__name__).lower()
