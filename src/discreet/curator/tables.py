"""The tables that a curator holds: the private ones and the public ones, opened when a question needs them."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from discreet.curator.digest import hash_declarations
from discreet.curator.held import Held
from discreet.engine import check_ids, open_engine, open_public
from discreet.engine.base import Engine, NoFile, Source, hashed
from discreet.errors import DiscreetError, EngineError, ParameterError
from discreet.ledger import witness
from discreet.ledger.chain import Rows
from discreet.ledger.people import Table
from discreet.plan.query import Join
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit


class Tables:
    """The private table, or several, and the public ones: their public facts at once, their rows when a question needs them.

    A file that is not there is missed by questions, and not by previews.

    A query takes columns of CSV by their places, so that one made for an old first line could bound the wrong persons. So names,
    types, delimiter and list of files are looked at anew before a fingerprint is taken and whenever an engine is opened, unless
    all files are known to be as they were (device, inode, size, times); and once more when everything is counted, before anything
    leaves (``gate``). What is left is a race that nobody wins by accident: the engine opens files by name, so one that is
    exchanged for a file of another layout after the engine was opened, and put back before counting ended, is not noticed.
    """

    def __init__(
        self,
        source: object,
        columns: Mapping[str, Any],
        unit: Unit,
        public: Mapping[str, object],
        *,
        table: str | Mapping[str, str] | None,
        memory: str | None,
        version: str | None,
        at_most: Mapping[str, int] | None = None,
    ) -> None:
        if version is not None and (not isinstance(version, str) or not version):
            raise ParameterError('A version of the table is a text that you change with the table; write version="2026-11".')
        named = check_tables(source, columns, table, at_most)
        facts = partial(Schema.of_tables, columns, unit, at_most=at_most) if named else partial(Schema, columns, unit)
        facts()  # what is wrong with the facts is said before any file is opened
        self._public = {name: open_public(given) for name, given in public.items()}
        self.schema = facts(public={name: held.columns for name, held in self._public.items()})
        several = named or {"": (source, columns, table if isinstance(table, str) else None)}
        self._held = {name: Held(given, declared, unit, of) for name, (given, declared, of) in several.items()}
        self._memory, self._version = memory, version
        self._known, self._hashed = dict[bytes, Identities](), dict[bytes, str]()
        self._opening = threading.Lock()
        self._engine: Engine | None = None
        self._columns: Mapping[str, str] = {}  # of the table, where a declared name means another
        self._counted = ""  # the fingerprint of what it was opened on; nothing as long as nobody took it
        self._opened: Mapping[str, Source] = {}  # the sources that it was opened on
        self._unique: dict[tuple[str, tuple[str, ...]], bool] = {}  # whether a join looks up one row
        self._parts: dict[frozenset[str], Tables] = {}  # those that some questions read
        with suppress(NoFile):
            self.sources()

    def reading(self, tables: Iterable[str]) -> Tables:
        """Only those of several private tables that a question reads: others may change, or be gone."""
        names = frozenset(tables)
        if not names or names == {*self._held} or not self.schema.tables:
            return self
        with self._opening:
            if names not in self._parts:
                self._parts[names] = self._copy({name: held for name, held in self._held.items() if name in names})
            return self._parts[names]

    def alone(self) -> Iterator[tuple[str, Tables]]:
        """Every private table by itself, under the name "data" that a single one has."""
        if not self.schema.tables:
            yield "", self
            return
        for name, held in self._held.items():
            columns = {one.split(".", 1)[1]: column for one, column in self.schema.columns.items() if one.startswith(f"{name}.")}
            if columns:
                other = self._copy({"": held})
                other.schema = Schema(columns, self.schema.unit, self.schema.public)
                yield name, other

    def _copy(self, held: Mapping[str, Held]) -> Tables:
        other = copy(self)
        other._held, other._hashed, other._parts = dict(held), {}, {}
        other._engine, other._opening = None, threading.Lock()
        return other

    def ledger_path(self, people: str) -> Path:
        """Where the ledger goes: as for the first of these tables that is a file."""
        return next((held for held in self._held.values() if held.path is not None), self._first).ledger_path(people)

    @property
    def _first(self) -> Held:
        return next(iter(self._held.values()))

    def first_name(self, salt: bytes) -> str | None:
        """The name of the first table alone, by which a ledger knows looks at it."""
        return self._first.name(salt)

    def facts(self) -> list[Table]:
        """What is publicly known of every table, by which its people are known again."""
        return [held.facts() for held in self._held.values()]

    def name(self, salt: bytes) -> str | None:
        """A keyed hash of the table's path, which stays when what it holds changes; a frame has no name, nor have several tables
        of which one is a frame."""
        names = {name: held.name(salt) for name, held in self._held.items()}
        if [*names] == [""] or None in names.values():
            return None if None in names.values() else names[""]
        return hashed(salt, (f"{name} {of}".encode() for name, of in sorted(names.items())))

    def declared_fingerprint(self, salt: bytes) -> str | None:
        """The fingerprint, where it takes no look at a table: the owner declares a version, or it is a frame that was hashed."""
        if self._version is None:
            return self._hashed.get(salt) if all(held.is_frame for held in self._held.values()) else None
        of = self.name(salt) or "\n".join(table.to_json() for table in self.facts())  # a version says which state, not of what
        parts = (part.encode(errors="surrogatepass") for part in ("version", of, self._version))
        return self._with_public(salt, hashed(salt, parts))

    def fingerprint(self, salt: bytes) -> str:
        """A keyed hash of what all tables hold."""
        found = self.declared_fingerprint(salt)
        if found is None:
            known = self._known.setdefault(salt, Identities(salt))
            held = {name: source.fingerprint(salt, known) for name, source in self.sources().items()}
            all_held = held[""] if [*held] == [""] else "\n".join(f"{of} {name}" for name, of in sorted(held.items()))
            found = self._hashed[salt] = self._with_public(salt, all_held)
        return found

    @property
    def declared(self) -> str:
        """A hash of what is declared of the rows, under which files and frames are compared; nothing where tables are not: those
        on a server, and those of which the owner declares a version."""
        if self._version is not None or any(held.place is not None for held in self._held.values()):
            return ""
        return hash_declarations(self.schema, self._held)

    def rows(self, salt: bytes, fingerprint: str) -> Rows:
        """Which rows the tables hold, in whatever form and order: one more scan. It is of what they hold at that moment."""
        found = self.engine(fingerprint).identify(self.schema, salt) if self.declared else None
        return Rows() if found is None else Rows(self.declared, self._with_public(salt, found))

    def identify(self, salt: bytes, fingerprint: str) -> Rows:
        """The same; unknown where they are not compared, or changed while they were read, or where the engine could not read them
        all: one cell may decide that, of a column that a question has nothing to do with, and nothing is paid for yet."""
        try:
            rows = self.rows(salt, fingerprint)
        except EngineError:
            return Rows()
        return Rows() if self.changed(salt, fingerprint) else rows

    def changed(self, salt: bytes, fingerprint: str) -> bool:
        """Whether the tables hold something else than they did."""
        try:
            return self.fingerprint(salt) != fingerprint
        except DiscreetError:
            return True  # one vanished, or is being written

    def _with_public(self, salt: bytes, private: str) -> str:
        public = [f"{held.fingerprint(salt)} {name}" for name, held in sorted(self._public.items())]
        return sha256("\n".join([private, *public]).encode(errors="surrogatepass")).hexdigest()

    def sources(self) -> dict[str, Source]:
        """The private tables as they lie there now, by their names; refused where one is missing, or its ids are of other types
        than those of the others."""
        found = {name: held.source() for name, held in self._held.items()}
        if len(found) > 1:
            assert isinstance(self.schema.unit, Person)
            check_ids(found, self.schema.unit)
        return found

    def check_there(self) -> None:
        """Refuse tables that are missing, or whose ids tell nobody apart: nothing of them can be asked."""
        if isinstance(self.schema.unit, Person):
            check_ids(self.sources(), self.schema.unit)
        else:
            self.sources()

    def layout(self) -> object:
        """How the private tables are read, as they lie there now."""
        return _layout(self.sources())

    def engine(self, fingerprint: str) -> Engine:
        """What counts in the private table, opened anew where it holds something else than it did: no old file is read on."""
        with self._opening:
            sources = self.sources()
            if not self._counted and all(self._opened.get(name) is source for name, source in sources.items()):
                self._counted = fingerprint  # a source that is current is as it was when it was opened
            if self._engine is None or self._counted != fingerprint or self._engine.layout != _layout(sources):
                public = {name: self._public[name] for name in self.schema.public}
                source = sources[""] if [*sources] == [""] else sources
                self._engine = open_engine(source, self.schema, public, memory=self._memory, columns=self._columns)
                self._counted, self._opened = fingerprint, sources
            return self._engine

    @contextmanager
    def declared_as(self, schema: Schema, columns: Mapping[str, str]) -> Iterator[Tables]:
        """The same tables under other declarations, with an engine of their own; ``columns`` are those they mean."""
        local = {name: f"{name}." if name else "" for name in self._held}
        meant = {name: [one.removeprefix(own) for one in columns.values() if one.startswith(own)] for name, own in local.items()}
        other = self._copy({name: held.reading(meant[name]) for name, held in self._held.items()})
        other.schema, other._columns = schema, columns
        try:
            yield other
        finally:
            other.close()

    def check(self, join: Join) -> None:
        """Refuse a join that would count a row more than once."""
        on = tuple(column for _, column in join.on)
        if (join.table, on) not in self._unique:
            self._unique[join.table, on] = self._public[join.table].is_unique(on)
        if not self._unique[join.table, on]:
            raise ParameterError(
                f"Several rows of {join.table} have the same {', '.join(on)}, so a row would be counted more than once; "
                "join on columns that tell its rows apart."
            )

    def progress(self) -> float | None:
        """How far the scan under way is, from 0 to 1; None when that is not known."""
        found = [one._engine.progress() for one in (self, *self._parts.values()) if one._engine is not None]
        return min((share for share in found if share is not None), default=None)

    def close(self) -> None:
        """Let go of the tables."""
        for part in self._parts.values():
            part.close()
        with self._opening:
            if self._engine is not None:
                self._engine.close()
            self._engine = None


def _layout(sources: Mapping[str, Source]) -> object:
    return sources[""].layout if [*sources] == [""] else {name: source.layout for name, source in sources.items()}


def check_tables(
    source: object, columns: object, table: object, at_most: object
) -> dict[str, tuple[object, Mapping[str, Column], str | None]]:
    """Several private tables by name, with what is declared of each and its table in a database; none where there is one."""
    if not isinstance(source, Mapping):
        if at_most is not None:
            raise ParameterError("at_most= is about joins of several private tables, and there is one; leave it out.")
        return {}
    if not source or not isinstance(columns, Mapping) or {*source} != {*columns}:
        raise ParameterError(
            "Several private tables are given by name, and columns by the same names; write "
            'Curator({"patients": ..., "visits": ...}, columns={"patients": {...}, "visits": {...}}, ...).'
        )
    for given, what in ((table, "table"), (at_most, "at_most")):
        if given is not None and not (isinstance(given, Mapping) and {*given} <= {*source}):
            raise ParameterError(
                f"{what}= says something of tables by their names; write {what}={{{next(iter(source))!r}: ...}}."
            )
    named = table if isinstance(table, Mapping) else {}
    return {name: (source[name], columns[name], named.get(name)) for name in source}


_MOST = 10_000


class Identities:
    """Hashes of files that were read before, under one ledger's key, so that each is read for its hash once.

    They are kept in the user's state folder, by ledger: the keys are hashes of what a file looks like from outside, the values
    those of its contents, and both say nothing to whoever has not the ledger's salt. Nothing depends on them but time: what is
    lost, damaged or cannot be written is hashed again.
    """

    def __init__(self, salt: bytes) -> None:
        self._name = f"{sha256(b'contents' + salt).hexdigest()}.json"
        self._known: dict[str, str] | None = None

    def get(self, state: str) -> str | None:
        """The hash of a file in this state."""
        if self._known is None:
            self._known = self._read()
        return self._known.get(state)

    def update(self, found: dict[str, str]) -> None:
        """Keep hashes; the oldest go."""
        self._known = self._read() | (self._known or {}) | found
        kept = dict(list(self._known.items())[-_MOST:])
        aside = self._place().with_suffix(f".{os.getpid()}")
        with contextlib.suppress(OSError):
            witness.make_folder(aside.parent)
            with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump({"discreet": "contents", "version": 1, "known": kept}, file)
            os.replace(aside, self._place())

    def _place(self) -> Path:
        return witness.state_folder() / "contents" / self._name

    def _read(self) -> dict[str, str]:
        try:
            facts = json.loads(self._place().read_bytes())
            if facts["version"] != 1:
                return {}
            return {str(state): str(content) for state, content in facts["known"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
