"""A private table as a curator holds it: where it is, what is publicly known of it, and how it lies there now."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable
from copy import copy
from pathlib import Path

from discreet.engine import address_of, engine_of, open_source, place_of
from discreet.engine.base import Source, hashed
from discreet.errors import ParameterError
from discreet.ledger.people import Table, find_beside, is_begun, is_pattern, pays
from discreet.schema.units import Person, Rows, Unit


class Held:
    """One private table: a path or an address, which are looked at anew, or a frame. ``table`` is that of a database."""

    def __init__(self, source: object, columns: Iterable[str], unit: Unit, table: str | None) -> None:
        self.place = place_of(source, table)  # on a server, in words that anybody may see
        source = source if self.place else _resolve(source)  # now, whatever the working folder is when questions come
        self.path, self._table = source if isinstance(source, str | os.PathLike) and not self.place else None, table
        self._declared, self._unit = tuple(columns), unit
        self._names = frozenset(name.lower() for name in self._declared)
        self._looking = threading.Lock()
        self._given = source
        self._source = self._open(source) if self.is_frame else None

    @property
    def is_frame(self) -> bool:
        """Whether it is held in memory, where nothing changes it."""
        return self.path is None and self.place is None

    def reading(self, columns: Iterable[str]) -> Held:
        """The same table, of which these columns are read too, though nothing is declared of them."""
        more = [name for name in columns if name not in self._declared]
        if not more:
            return self
        other = copy(self)
        other._declared, other._looking, other._source = (*self._declared, *more), threading.Lock(), None
        other._names = frozenset(name.lower() for name in other._declared)
        return other

    def ledger_path(self, people: str) -> Path:
        """Where the ledger goes: one for the people that are named, or for all tables of a folder with the same person column.

        Under ``rows()`` every file has its own. So has a file whose ledger was begun before ledgers were shared, or by a look
        under another unit; where it is the only one for these people, the other files of the folder share it. A ledger of which
        there is no more than such a look gives way to the one from which the folder pays.
        """
        if self.place is not None:
            raise ParameterError('A table on a server has no folder for a ledger to lie in; write ledger="hospital.ledger".')
        if self.path is None:
            raise ParameterError('A frame has no place beside which a ledger could lie; write ledger="hospital.ledger".')
        folder, path, unit = self._folder(), Path(self.path), self._unit
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
        unit, columns = self._unit, self._names
        person = unit.id.lower() if isinstance(unit, Person) else None
        if self.path is None:
            return Table(person, columns, self.place)
        if is_pattern(Path(self.path)):
            return Table(person, columns, os.path.normcase(self.path), os.path.normcase(self._folder()))
        real = os.path.realpath(self.path)
        return Table(person, columns, os.path.normcase(real), os.path.normcase(os.path.dirname(real)))

    def _folder(self) -> Path:
        """The folder of a file; for a pattern the one that all its files are in, however many there are today."""
        assert self.path is not None
        path = Path(self.path)
        if os.path.exists(path) or not is_pattern(path):
            return Path(os.path.realpath(path)).parent
        while is_pattern(path):
            path = path.parent
        return Path(os.path.realpath(path))

    def name(self, salt: bytes) -> str | None:
        """A keyed hash of where the table is, which stays when what it holds changes; a frame has no name."""
        source = self.facts().source
        if source is None:
            return None
        return hashed(salt, (part.encode(errors="surrogateescape") for part in ("table", source, self._table or "")))

    def source(self) -> Source:
        """The table as it lies there now, looked at anew where its files are others or changed; refused without any."""
        with self._looking:
            if self._source is None or not self._source.is_current():
                self._source = self._open(self._given)
            return self._source

    def _open(self, source: object) -> Source:
        unit = self._unit
        wanted = [*self._declared, *([unit.id] if isinstance(unit, Person) else [])]
        found = open_source(source, table=self._table, columns=wanted)
        if unit.neighbours == "replace" and isinstance(unit, Rows) and found.drops_lines:
            raise ParameterError(
                "A line of CSV that cannot be read is left out, so the number of rows is not public; under "
                'neighbours="replace" give the table as Parquet, or a frame.'
            )
        return found


def is_file(source: str) -> bool:
    """Whether a source is a path, and no address."""
    return engine_of(source) == "duckdb"


def written_from(source: str, folder: Path) -> str:
    """A source as a file in this folder says it: a path from there, an address without its password."""
    if (address := address_of(source)) is not None:
        return address
    try:
        return os.path.relpath(source, folder)
    except ValueError:  # another drive
        return os.path.abspath(source)


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
