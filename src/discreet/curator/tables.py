"""The tables that a curator holds: the private one and the public ones, opened when a question needs them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import copy
from hashlib import sha256
from pathlib import Path

from discreet.engine import open_engine, open_public, open_source
from discreet.engine.base import Engine, NoFile, Source, hashed
from discreet.errors import ParameterError
from discreet.ledger import witness
from discreet.ledger.people import Table, find_beside, is_begun, is_pattern, pays
from discreet.plan.query import Join
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

__all__ = ["Identities", "Tables"]


class Tables:
    """The private table and the public ones: their public facts at once, their rows when a question needs them.

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
        columns: Mapping[str, Column],
        unit: Unit,
        public: Mapping[str, object],
        *,
        table: str | None,
        memory: str | None,
        version: str | None,
    ) -> None:
        if version is not None and (not isinstance(version, str) or not version):
            raise ParameterError('A version of the table is a text that you change with the table; write version="2026-11".')
        Schema(columns, unit)  # what is wrong with the facts is said before any file is opened
        self._public = {name: open_public(given) for name, given in public.items()}
        self.schema = Schema(dict(columns), unit, {name: held.columns for name, held in self._public.items()})
        self._declared = tuple(columns)
        source = _resolve(source)  # now, whatever the working folder is when questions come
        self._path, self._table, self._memory = source if isinstance(source, str | os.PathLike) else None, table, memory
        self._version, self._known, self._hashed = version, dict[bytes, Identities](), dict[bytes, str]()
        self._opening, self._looking = threading.Lock(), threading.Lock()
        self._engine: Engine | None = None
        self._columns: Mapping[str, str] = {}  # of the table, where a declared name means another
        self._counted = ""  # the fingerprint of what it was opened on
        self._unique: dict[tuple[str, tuple[str, ...]], bool] = {}  # whether a join looks up one row
        self._source = None if self._path is not None else self._open(source)
        with suppress(NoFile):
            self.source()

    def ledger_path(self, people: str) -> Path:
        """Where the ledger goes: one for the people that are named, or for all tables of a folder with the same person column.

        Under ``rows()`` every file has its own. So has a file whose ledger was begun before ledgers were shared, or by a look
        under another unit; where it is the only one for these people, the other files of the folder share it. A ledger of which
        there is no more than such a look gives way to the one from which the folder pays.
        """
        if self._path is None:
            raise ParameterError('A frame has no place beside which a ledger could lie; write ledger="hospital.ledger".')
        folder, path, unit = self._folder(), Path(self._path), self.schema.unit
        if people:
            return folder / f"{_slug(people)}.ledger"
        pattern = is_pattern(path) and not os.path.exists(path)
        own = folder / "discreet.ledger" if pattern else Path(os.path.realpath(path)).with_suffix(".ledger")
        if isinstance(unit, Rows) or pays(own):
            return own
        shared = folder / f"people-by-{_slug(unit.id.lower())}.ledger"
        found = shared if is_begun(shared) else find_beside(self.facts())
        return found or (own if is_begun(own) else shared)

    def facts(self) -> Table:
        """What is publicly known of the table, by which its people are known again."""
        unit, columns = self.schema.unit, frozenset(name.lower() for name in self._declared)
        person = unit.id.lower() if isinstance(unit, Person) else None
        if self._path is None:
            return Table(person, columns)
        source = self._path if is_pattern(Path(self._path)) else os.path.realpath(self._path)
        return Table(person, columns, os.path.normcase(source), os.path.normcase(self._folder()))

    def _folder(self) -> Path:
        """The folder of a file; for a pattern the one that all its files are in, however many there are today."""
        assert self._path is not None
        path = Path(self._path)
        if os.path.exists(path) or not is_pattern(path):
            return Path(os.path.realpath(path)).parent
        while is_pattern(path):
            path = path.parent
        return Path(os.path.realpath(path))

    def name(self, salt: bytes) -> str | None:
        """A keyed hash of the table's path, which stays when what it holds changes; a frame has no name."""
        source = self.facts().source
        if source is None:
            return None
        return hashed(salt, (part.encode(errors="surrogateescape") for part in ("table", source, self._table or "")))

    def declared_fingerprint(self, salt: bytes) -> str | None:
        """The fingerprint, where it takes no look at a table: the owner declares a version, or it is a frame that was hashed."""
        if self._version is None:
            return self._hashed.get(salt) if self._path is None else None
        of = self.name(salt) or self.facts().to_json()  # a version says which state, and not of which table
        parts = (part.encode(errors="surrogatepass") for part in ("version", of, self._version))
        return self._with_public(salt, hashed(salt, parts))

    def fingerprint(self, salt: bytes) -> str:
        """A keyed hash of what all tables hold."""
        found = self.declared_fingerprint(salt)
        if found is None:
            known = self._known.setdefault(salt, Identities(salt))
            found = self._hashed[salt] = self._with_public(salt, self.source().fingerprint(salt, known))
        return found

    def _with_public(self, salt: bytes, private: str) -> str:
        public = [f"{held.fingerprint(salt)} {name}" for name, held in sorted(self._public.items())]
        return sha256("\n".join([private, *public]).encode(errors="surrogatepass")).hexdigest()

    def source(self) -> Source:
        """The private table as it lies there now, looked at anew where its files are others or changed; refused without any."""
        if self._path is None:
            assert self._source is not None
            return self._source
        with self._looking:
            if self._source is None or not self._source.is_current():
                self._source = self._open(self._path)
            return self._source

    def layout(self) -> object:
        """How the private table is read, as it lies there now."""
        return self.source().layout

    def engine(self, fingerprint: str) -> Engine:
        """What counts in the private table, opened anew where it holds something else than it did: no old file is read on."""
        with self._opening:
            source = self.source()
            if self._engine is None or self._counted != fingerprint or self._engine.layout != source.layout:
                public = {name: self._public[name] for name in self.schema.public}
                self._engine = open_engine(source, self.schema, public, memory=self._memory, columns=self._columns)
                self._counted = fingerprint
            return self._engine

    @contextmanager
    def declared_as(self, schema: Schema, columns: Mapping[str, str]) -> Iterator[Tables]:
        """The same tables under other declarations, with an engine of their own; ``columns`` are those they mean."""
        other = copy(self)
        other.schema, other._columns, other._engine, other._opening = schema, columns, None, threading.Lock()
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
        engine = self._engine
        return None if engine is None else engine.progress()

    def close(self) -> None:
        """Let go of the table."""
        with self._opening:
            if self._engine is not None:
                self._engine.close()
            self._engine = None

    def _open(self, source: object) -> Source:
        unit = self.schema.unit
        wanted = [*self._declared, *([unit.id] if isinstance(unit, Person) else [])]
        found = open_source(source, table=self._table, columns=wanted)
        if unit.neighbours == "replace" and isinstance(unit, Rows) and found.drops_lines:
            raise ParameterError(
                "A line of CSV that cannot be read is left out, so the number of rows is not public; under "
                'neighbours="replace" give the table as Parquet, or a frame.'
            )
        return found


def _resolve(source: object) -> object:
    """A path that no longer depends on the working folder; anything else as it is."""
    path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if not isinstance(path, str) or not path:
        return source
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        raise ParameterError("No file can have this name; give the path of one that is there, or will be.") from None
    return os.path.abspath(path)


def _slug(text: str) -> str:
    """A text as a part of a file's name."""
    return re.sub(r"[^\w-]+", "-", text).strip("-")[:80].lower() or "people"


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
