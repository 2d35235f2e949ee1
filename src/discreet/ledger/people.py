"""Whose budget a ledger is: what this user's machine remembers of ledgers and the tables that pay from them.

A person's loss adds up over all tables that they are in, whatever the tables are called. So one ledger serves all tables about
the same people, and a second one for what looks like the same people is refused until its owner says that they are others.

What looks like the same people is decided from public facts alone, never from a cell: the same file, also as one of those that a
pattern names, whenever it joins them; the same folder and person column; or, wherever they are, the same person column and the
same declared columns. Two ledgers whose owner says whose they are, in different words, are others. Under ``rows()``, where nobody
has an id, only the same file is the same people. In the system's temporary folder, where things are tried out, ledgers and tables
are compared within their own folder only.

A ledger that was only looked into, and never paid from, is nobody's budget: where its one table comes to pay from another ledger,
it gives way, and what it knows of looks goes along.

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
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import sqlite, witness
from discreet.ledger.chain import Chain, alike
from discreet.ledger.place import Address, Place, recall, typed
from discreet.ledger.store import store_of

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
        if self.files & other.files:
            return "the same file"
        if self.person is None or self.person != other.person:
            return ""
        if self.folder is not None and self.folder == other.folder:
            return f"the same folder and person column, {self.person}"
        return f"the same person column, {self.person}, and the same declared columns" if self.columns == other.columns else ""

    @cached_property
    def files(self) -> frozenset[str]:
        """The real paths that the source means at this moment; of a pattern, the pattern as well."""
        if self.source is None or not is_pattern(self.source):
            return frozenset([] if self.source is None else [self.source])
        found = glob.glob(self.source, recursive=True)
        return frozenset([self.source, *(os.path.normcase(os.path.realpath(file)) for file in found)])

    @property
    def each(self) -> tuple[Table, ...]:
        """The table, and of a pattern every file that it means at this moment as a table."""
        return self, *(replace(self, source=file) for file in sorted(self.files) if file != self.source)

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

    ledger: Place
    people: str
    table: Table


def check_name(people: object) -> str:
    """Whose a budget is, in the owner's words."""
    if not isinstance(people, str) or not people.strip() or not people.isprintable() or len(people) > _LONGEST:
        raise ParameterError('Whose budget is it? Say it in a few words: people="patients of the clinic".')
    return " ".join(people.split())


def is_pattern(path: str | Path) -> bool:
    """Whether a path may mean several files."""
    return any(sign in str(path) for sign in "*?[")


def find_beside(table: Table) -> Path | None:
    """The ledger from which people of a table's folder are paid under the name of one file, where there is one such ledger.

    A look before the unit was right begins one, and so did every file once. That nobody named it, and that it is the only one,
    leaves no doubt whose it is; to share it never makes a second budget.
    """
    found = {
        one.ledger
        for one in _read_kept()
        if isinstance(one.ledger, Path)
        and (one.people, one.table.person, one.table.folder) == ("", table.person, table.folder)
        and one.table.source is not None
        and one.ledger == Path(one.table.source).with_suffix(".ledger")
        and _counts(one.ledger)
    }
    return found.pop() if len(found) == 1 else None


def is_begun(ledger: Place) -> bool:
    """Whether there is a ledger at a place, or was one; an empty file is none yet, and may show its mode and group."""
    try:
        if store_of(ledger).begun(ledger):
            return True
    except OSError as problem:
        raise LedgerRefused(f"The ledger {ledger} is out of this user's reach ({witness.reason(problem)}); mend that.") from None
    return witness.read(ledger) is not None


def pays(ledger: Place) -> bool:
    """Whether a ledger at a place may have been paid from, for all that can be read of it."""
    chain = _read(ledger)
    return is_begun(ledger) and (chain is None or bool(chain.asked))


def find_giving_way(ledger: Place, table: Table) -> list[Place]:
    """Other ledgers that know this one table, by looks alone: nothing was paid from them, and nobody said whose they are."""
    return _giving_way(_read_kept(), ledger, table)


def check(ledger: Place, people: str, table: Table | None = None) -> None:
    """Refuse a ledger that would be a second budget of what looks like the same people, or a name that another one has."""
    _compare(_read_kept(), ledger, people, table)


def begin(ledger: Place, people: str, table: Table) -> None:
    """Check, remember, and make the ledger's empty file, in one step: of two that begin at once, the second is refused."""
    with _register() as database:
        _compare(_rows(database), ledger, people, table)
        for one in table.each:
            _insert(database, ledger, people, one)
        store_of(ledger).create(ledger)


def remember(ledger: Place, people: str, table: Table | None = None) -> None:
    """Check, and keep whose a ledger is, and that a table pays from it: one that would have given way may have paid meanwhile."""
    check(ledger, people, table)
    wanted = [kept for kept in _read_kept() if kept.ledger == ledger]
    new = [] if table is None else [one for one in table.each if one not in {kept.table for kept in wanted}]
    if all(kept.people == people for kept in wanted) and not new:
        return
    with _register() as database:
        _compare(_rows(database), ledger, people, table)  # again, now that nobody else can begin or remember
        database.execute("UPDATE tables SET people = ? WHERE ledger = ?", (people, _text(database, ledger)))
        for one in new:
            _insert(database, ledger, people, one)


def forget(ledger: Place) -> bool:
    """Whether a ledger was remembered; it is no longer."""
    if not _place().exists():
        return False
    with _register() as database:
        gone = database.execute("DELETE FROM tables WHERE ledger = ?", (_text(database, ledger),)).rowcount
    return gone > 0


@contextmanager
def ending(ledger: Place) -> Iterator[None]:
    """Forget a ledger that ends within this block, while nobody begins or ends another."""
    with _register() as database:
        yield
        database.execute("DELETE FROM tables WHERE ledger = ?", (_text(database, ledger),))


def move(ledger: Place, id: str) -> None:
    """A ledger that is trusted here, and is gone from where it was, or ended there: the old place gives way to the new."""
    for old in {kept.ledger for kept in _read_kept()} - {ledger}:
        try:
            seen = witness.read(old)
            if seen is None or seen.ledger != id:
                continue
            there = store_of(old).exists(old)
        except LedgerRefused:
            continue  # a damaged witness of another one, or out of reach
        chain = _read(old) if there else None
        if there and not (chain is not None and chain.moved):
            continue
        rename(old, ledger)
        if not there:
            witness.remove(old)


def rename(old: Place, new: Place) -> None:
    """What is remembered of one place is that of another from now on."""
    with _register() as database:
        database.execute("UPDATE OR REPLACE tables SET ledger = ? WHERE ledger = ?", (_text(database, new), _text(database, old)))


def _compare(kept: list[_Kept], ledger: Place, people: str, table: Table | None) -> None:
    """One name is one ledger; so is one table, and all that look like it, unless both ledgers say that they are others'."""
    ours, yielding = [one for one in kept if one.ledger == ledger], _giving_way(kept, ledger, table)
    others = [one for one in kept if one.ledger not in (ledger, *yielding) and _counts(one.ledger) and _near(one, ledger, table)]
    people = people or next((one.people for one in ours), "")
    for one in others:
        if people and one.people and alike(people, one.people):
            raise LedgerRefused(_refusal(one, ledger, f"it is the budget of {one.people}"))
    if table is None or (not ours and is_begun(ledger)):
        return
    known = table in [one.table for one in ours] and pays(ledger)  # else a second one may have begun since
    joined = table.files - {one.table.source for one in ours}  # of a pattern that pays already
    for one in others if known else [*others, *_beside(kept, ledger, table)]:
        why = table.likeness(one.table) if not known else "the same file" if joined & one.table.files else ""
        if why and not (people and one.people):
            raise LedgerRefused(_refusal(one, ledger, why))


def _giving_way(kept: list[_Kept], ledger: Place, table: Table | None) -> list[Place]:
    tables: dict[Place, list[_Kept]] = {}
    for one in kept:
        tables.setdefault(one.ledger, []).append(one)
    found = []
    for other, known in tables.items():
        same = table is not None and all(not one.people and one.table.source == table.source is not None for one in known)
        same = same and isinstance(other, Path)  # from one on a server somebody elsewhere may be about to pay
        chain = _read(other) if same and other != ledger else None
        if chain is not None and chain.looks and not chain.asked:
            found.append(other)
    return found


def _read(ledger: Place) -> Chain | None:
    """The records of a ledger, checked; None where there is none that can be read."""
    chain = Chain()
    try:
        if store_of(ledger).begun(ledger):
            with store_of(ledger).reading(ledger) as records:
                chain.extend(records.read(0))
    except (LedgerRefused, OSError):
        return None  # damaged, or not ours to read
    return chain if chain.hashes else None


def _counts(ledger: Place) -> bool:
    """Whether a remembered ledger still matters: a deleted one does, unless it went with a temporary folder.

    So does one on a server, which is not asked: nobody waits for the servers of other ledgers.
    """
    if isinstance(ledger, Address):
        return True
    if not os.path.isdir(ledger.parent) and _is_temporary(ledger):
        return False
    return store_of(ledger).exists(ledger) or os.path.exists(witness.place(ledger))


def _near(other: _Kept, ledger: Place, table: Table | None) -> bool:
    if not _is_temporary(ledger) and not _is_temporary(other.ledger):
        return True
    beside = table is not None and table.folder is not None and table.folder == other.table.folder
    return beside or (isinstance(ledger, Path) and isinstance(other.ledger, Path) and ledger.parent == other.ledger.parent)


def _is_temporary(ledger: Place) -> bool:
    try:
        return isinstance(ledger, Path) and ledger.is_relative_to(os.path.realpath(tempfile.gettempdir()))
    except FileNotFoundError:  # there is no such folder
        return False


def _beside(kept: list[_Kept], ledger: Place, table: Table) -> Iterator[_Kept]:
    """Ledgers in a table's folder that nobody remembers, and that count for persons with the same column."""
    if table.person is None or table.folder is None:
        return
    known = {one.ledger for one in kept} | {ledger}
    for file in sorted(Path(table.folder).glob("*.ledger")):
        chain = None if file in known else _read(file)
        if chain is None or not chain.unit.lower().startswith(f"every person by {table.person} ("):
            continue
        paying = recall(chain.joined or chain.moved) if chain.joined or chain.moved else file  # its persons pay there
        if paying not in known:
            people = chain if paying == file else _read(paying)
            yield _Kept(paying, "" if people is None else people.people, Table(table.person, frozenset(), folder=table.folder))


def _refusal(other: _Kept, ledger: Place, why: str) -> str:
    name, there = other.ledger.name, isinstance(other.ledger, Address) or store_of(other.ledger).exists(other.ledger)
    short = typed(other.ledger) if isinstance(other.ledger, Address) else name
    naming = f', and of {name}: discreet ledger people {short} "..."' if there and not other.people else ""
    lost = "" if there else f"; {name} is missing: put it back, or run: discreet ledger forget {name}"
    return (
        f"{ledger.name} would be a second budget for what looks like the people of another ledger ({why}). If they are, write "
        f'ledger="{other.ledger}"; if they are others, say whose each budget is: people="..." here{naming}{lost}.'
    )


def _place() -> Path:
    return witness.state_folder() / "people.sqlite"


def _read_kept() -> list[_Kept]:
    if not _place().exists():
        return []
    with sqlite.connect(_place(), write=False, what=_WHAT) as database:
        return [] if sqlite.is_empty(database) else _rows(database)


@contextmanager
def _register() -> Iterator[sqlite3.Connection]:
    """The register, under its write lock; what is done within the block is kept if nothing fails."""
    place = _place()
    try:
        witness.make_folder(place.parent)
    except OSError as problem:
        why = witness.reason(problem)
        raise LedgerRefused(f"The state folder {place.parent} cannot be made ({why}); mend that, then ask again.") from None
    sqlite.create(place)
    with sqlite.connect(place, what=_WHAT) as database:
        sqlite.begin(database)
        database.execute(_SCHEMA)
        if database.execute("PRAGMA user_version").fetchone()[0] not in (0, _VERSION):
            raise LedgerRefused(f"{place} was written by a later discreet; update discreet.")
        database.execute(f"PRAGMA user_version = {_VERSION}")
        yield database
        database.execute("COMMIT")


def _rows(database: sqlite3.Connection) -> list[_Kept]:
    found = database.execute("SELECT ledger, people, facts FROM tables ORDER BY ledger, facts").fetchall()
    try:
        return [_Kept(recall(json.loads(ledger)), people, Table.from_json(facts)) for ledger, people, facts in found]
    except (KeyError, TypeError, ValueError):
        raise LedgerRefused(f"{_place()} is damaged; remove it, and what it remembered is asked for again.") from None


def _insert(database: sqlite3.Connection, ledger: Place, people: str, table: Table) -> None:
    database.execute("INSERT OR REPLACE INTO tables VALUES (?, ?, ?)", (_text(database, ledger), people, table.to_json()))


def _text(database: sqlite3.Connection, place: Place) -> str:
    """A place as a text that any database holds, whatever bytes it is made of; of an address, as it was first written."""
    return json.dumps(str(next((one.ledger for one in _rows(database) if one.ledger == place), place)))
