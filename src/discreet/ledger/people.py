"""Whose budget a ledger is: what this user's machine remembers of ledgers and the tables that pay from them.

A person's loss adds up over all tables that they are in, whatever the tables are called. So one ledger serves all tables about
the same people, and a second one for what looks like the same people is refused until its owner says that they are others.

What looks like the same people is decided from public facts alone, never from a cell: the same file, also as one of those that a
pattern names when a table first pays; the same folder and person column; or, wherever they are, the same person column and the
same declared columns. Two ledgers whose owner says whose they are, in different words, are others. Under ``rows()``, where nobody
has an id, only the same file is the same people. In the system's temporary folder, where things are tried out, ledgers and tables
are compared within their own folder only.

The facts are kept in the user's state folder, beside the witnesses. Ledgers that were begun before, or by a colleague, keep their
place; of those, the ones beside a table are found by their own first record.
"""

from __future__ import annotations

import glob
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import sqlite, witness
from discreet.ledger.chain import Chain, alike

__all__ = [
    "Table",
    "begin",
    "begun",
    "beside",
    "check",
    "checked_name",
    "forget",
    "is_pattern",
    "moved",
    "remember",
]

_SCHEMA = "CREATE TABLE IF NOT EXISTS tables (ledger TEXT, people TEXT, facts TEXT, PRIMARY KEY (ledger, facts))"
_VERSION = 1
_LONGEST = 200
_WHAT = "register of ledgers"


@dataclass(frozen=True)
class Table:
    """Public facts about a table: its persons' column, its declared columns, and where it is, unless it is a frame."""

    person: str | None  # None: every row is somebody
    columns: frozenset[str]
    source: str | None = None  # a path, or a pattern of paths
    folder: str | None = None

    def likeness(self, other: Table) -> str:
        """Why two tables look like tables about the same people; nothing where they do not."""
        if self._files & other._files:
            return "the same file"
        if self.person is None or self.person != other.person:
            return ""
        if self.folder is not None and self.folder == other.folder:
            return f"the same folder and person column, {self.person}"
        return f"the same person column, {self.person}, and the same declared columns" if self.columns == other.columns else ""

    @cached_property
    def _files(self) -> frozenset[str]:
        """The real paths that the source means at this moment; of a pattern, the pattern as well."""
        if self.source is None or not is_pattern(self.source):
            return frozenset([] if self.source is None else [self.source])
        found = glob.glob(self.source, recursive=True)
        return frozenset([self.source, *(os.path.normcase(os.path.realpath(file)) for file in found)])

    def to_json(self) -> str:
        facts = {"person": self.person, "columns": sorted(self.columns), "source": self.source, "folder": self.folder}
        return json.dumps({"version": 1, **facts}, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Table:
        facts = json.loads(text)
        return cls(facts["person"], frozenset(facts["columns"]), facts["source"], facts["folder"])


@dataclass(frozen=True)
class _Kept:
    """A table that pays from a ledger, as it is remembered."""

    ledger: Path
    people: str
    table: Table


def checked_name(people: object) -> str:
    """Whose a budget is, in the owner's words."""
    if not isinstance(people, str) or not people.strip() or not people.isprintable() or len(people) > _LONGEST:
        raise ParameterError('Whose budget is it? Say it in a few words: people="patients of the clinic".')
    return " ".join(people.split())


def is_pattern(path: str | Path) -> bool:
    """Whether a path may mean several files."""
    return any(sign in str(path) for sign in "*?[")


def beside(table: Table) -> Path | None:
    """The ledger from which people of a table's folder are paid under the name of one file, where there is one such ledger.

    A look before the unit was right begins one, and so did every file once. That nobody named it, and that it is the only one,
    leaves no doubt whose it is; to share it never makes a second budget.
    """
    found = {
        one.ledger
        for one in (_kept() if _place().exists() else [])
        if (one.people, one.table.person, one.table.folder) == ("", table.person, table.folder)
        and one.table.source is not None
        and one.ledger == Path(one.table.source).with_suffix(".ledger")
        and _counts(one.ledger)
    }
    return found.pop() if len(found) == 1 else None


def begun(ledger: Path) -> bool:
    """Whether there is a ledger at a real path, or was one; an empty file is none yet, and may show its mode and group."""
    try:
        if ledger.exists() and ledger.stat().st_size > 0:
            return True
    except OSError as problem:
        raise LedgerRefused(f"The ledger {ledger} is out of this user's reach ({witness.reason(problem)}); mend that.") from None
    return witness.read(ledger) is not None


def check(ledger: Path, people: str, table: Table | None = None) -> None:
    """Refuse a ledger that would be a second budget of what looks like the same people, or a name that another one has."""
    _compare(_kept() if _place().exists() else [], ledger, people, table)


def begin(ledger: Path, people: str, table: Table) -> None:
    """Check, remember, and make the ledger's empty file, in one step: of two that begin at once, the second is refused."""
    with _register() as database:
        _compare(_rows(database), ledger, people, table)
        _insert(database, ledger, people, table)
        sqlite.create_file(ledger)
        database.execute("COMMIT")


def remember(ledger: Path, people: str, table: Table | None = None) -> None:
    """Keep whose a ledger is, and that a table pays from it."""
    wanted = [kept for kept in (_kept() if _place().exists() else []) if kept.ledger == ledger]
    if all(kept.people == people for kept in wanted) and (table is None or table in [kept.table for kept in wanted]):
        return
    with _register() as database:
        database.execute("UPDATE tables SET people = ? WHERE ledger = ?", (people, _text(ledger)))
        if table is not None:
            _insert(database, ledger, people, table)
        database.execute("COMMIT")


def forget(ledger: Path) -> bool:
    """Whether a ledger was remembered; it is no longer."""
    if not _place().exists():
        return False
    with _register() as database:
        gone = database.execute("DELETE FROM tables WHERE ledger = ?", (_text(ledger),)).rowcount
        database.execute("COMMIT")
    return gone > 0


def moved(ledger: Path, id: str) -> None:
    """A ledger that is trusted here, and is gone from where it was: what is remembered of the old place is that of the new."""
    for old in {kept.ledger for kept in (_kept() if _place().exists() else [])} - {ledger}:
        try:
            seen = None if os.path.exists(old) else witness.read(old)
        except LedgerRefused:
            continue  # a damaged witness of another one
        if seen is not None and seen.ledger == id:
            with _register() as database:
                database.execute("UPDATE OR REPLACE tables SET ledger = ? WHERE ledger = ?", (_text(ledger), _text(old)))
                database.execute("COMMIT")
            witness.remove(old)


def _compare(kept: list[_Kept], ledger: Path, people: str, table: Table | None) -> None:
    """One name is one ledger; so is one table, and all that look like it, unless both ledgers say that they are others'."""
    ours = [one for one in kept if one.ledger == ledger]
    others = [one for one in kept if one.ledger != ledger and _counts(one.ledger) and _near(one, ledger, table)]
    people = people or next((one.people for one in ours), "")
    for one in others:
        if people and one.people and alike(people, one.people):
            raise LedgerRefused(_refusal(one, ledger, f"it is the budget of {one.people}"))
    if table is None or table in [one.table for one in ours] or (not ours and begun(ledger)):
        return
    for one in [*others, *_beside(kept, ledger, table)]:
        why = "" if people and one.people else table.likeness(one.table)
        if why:
            raise LedgerRefused(_refusal(one, ledger, why))


def _counts(ledger: Path) -> bool:
    """Whether a remembered ledger still matters: a deleted one does, unless it went with a temporary folder."""
    if not os.path.isdir(ledger.parent) and _is_temporary(ledger):
        return False
    return os.path.exists(ledger) or os.path.exists(witness.place(ledger))


def _near(other: _Kept, ledger: Path, table: Table | None) -> bool:
    if not _is_temporary(ledger) and not _is_temporary(other.ledger):
        return True
    beside = table is not None and table.folder is not None and table.folder == other.table.folder
    return beside or ledger.parent == other.ledger.parent


def _is_temporary(ledger: Path) -> bool:
    try:
        return ledger.is_relative_to(os.path.realpath(tempfile.gettempdir()))
    except FileNotFoundError:  # there is no such folder
        return False


def _beside(kept: list[_Kept], ledger: Path, table: Table) -> Iterator[_Kept]:
    """Ledgers in a table's folder that nobody remembers, and that count for persons with the same column."""
    if table.person is None or table.folder is None:
        return
    known = {one.ledger for one in kept} | {ledger}
    for file in sorted(Path(table.folder).glob("*.ledger")):
        if file in known or not os.path.isfile(file):
            continue
        chain = Chain()
        try:
            with sqlite.connect(file, write=False) as database:
                chain.extend(sqlite.records(database, file, 0))
        except LedgerRefused:
            continue  # damaged, or not ours to read
        if chain.unit.lower().startswith(f"every person by {table.person} ("):
            yield _Kept(file, chain.people, Table(table.person, frozenset(), folder=table.folder))


def _refusal(other: _Kept, ledger: Path, why: str) -> str:
    name, there = other.ledger.name, os.path.exists(other.ledger)
    naming = f', and of {name}: discreet ledger people {name} "..."' if there and not other.people else ""
    lost = "" if there else f"; {name} is missing: put it back, or run: discreet ledger forget {name}"
    return (
        f"{ledger.name} would be a second budget for what looks like the people of another ledger ({why}). If they are, write "
        f'ledger="{other.ledger}"; if they are others, say whose each budget is: people="..." here{naming}{lost}.'
    )


def _place() -> Path:
    return witness.state_folder() / "people.sqlite"


def _kept() -> list[_Kept]:
    with sqlite.connect(_place(), write=False, what=_WHAT) as database:
        return [] if sqlite.is_empty(database) else _rows(database)


@contextmanager
def _register() -> Iterator[sqlite3.Connection]:
    place = _place()
    try:
        witness.make_folder(place.parent)
    except OSError as problem:
        why = witness.reason(problem)
        raise LedgerRefused(f"The state folder {place.parent} cannot be made ({why}); mend that, then ask again.") from None
    sqlite.create_file(place)
    with sqlite.connect(place, what=_WHAT) as database:
        database.execute("BEGIN IMMEDIATE")
        database.execute(_SCHEMA)
        if database.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
            raise LedgerRefused(f"{place} was written by a later discreet; update discreet.")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        yield database


def _rows(database: sqlite3.Connection) -> list[_Kept]:
    found = database.execute("SELECT ledger, people, facts FROM tables ORDER BY ledger, facts").fetchall()
    try:
        return [_Kept(Path(json.loads(ledger)), people, Table.from_json(facts)) for ledger, people, facts in found]
    except (KeyError, TypeError, ValueError):
        raise LedgerRefused(f"{_place()} is damaged; remove it, and what it remembered is asked for again.") from None


def _insert(database: sqlite3.Connection, ledger: Path, people: str, table: Table) -> None:
    database.execute("INSERT OR REPLACE INTO tables VALUES (?, ?, ?)", (_text(ledger), people, table.to_json()))


def _text(path: Path) -> str:
    """A path as a text that any database holds, whatever bytes it is made of."""
    return json.dumps(str(path))
