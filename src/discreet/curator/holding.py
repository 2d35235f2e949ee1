"""The tables that a curator holds: the private one and the public ones, opened when a question needs them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from discreet.engine.duckdb.engine import DuckDBEngine
from discreet.engine.duckdb.public import facts_of_public, is_unique, read_public
from discreet.engine.duckdb.sources import NoFile, Source, open_source
from discreet.errors import ParameterError
from discreet.plan.query import Join
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

__all__ = ["Holding"]


class Holding:
    """Knows the tables' public facts at once. A file that is not there is missed by questions, and not by previews."""

    def __init__(
        self,
        source: object,
        columns: Mapping[str, Column],
        unit: Unit,
        public: Mapping[str, object],
        *,
        table: str | None,
        memory: str | None,
    ) -> None:
        Schema(columns, unit)  # what is wrong with the facts is said before any file is opened
        self._public = {name: read_public(given) for name, given in public.items()}
        self.schema = Schema(dict(columns), unit, {name: facts_of_public(held) for name, held in self._public.items()})
        self._path, self._table, self._memory = source if isinstance(source, str | os.PathLike) else None, table, memory
        self._opening = threading.Lock()
        self._engine: DuckDBEngine | None = None
        self._unique: dict[tuple[str, tuple[str, ...]], bool] = {}  # whether a join looks up one row
        self._source: Source | None
        try:
            self._source = self._look(source)
        except NoFile:
            self._source = None

    def ledger_beside(self) -> Path:
        """Where the ledger goes; for a pattern the folder that all its files are in, however many there are today."""
        if self._path is None:
            raise ParameterError('A frame has no place beside which a ledger could lie; write ledger="hospital.ledger".')
        path = Path(self._path)
        if path.exists() or not _is_pattern(path):
            return Path(os.path.realpath(path)).with_suffix(".ledger")
        while _is_pattern(path):
            path = path.parent
        return path / "discreet.ledger"

    def fingerprint(self, salt: bytes) -> str:
        """A keyed hash of what all tables hold."""
        public = [f"{held.fingerprint(salt)} {name}" for name, held in sorted(self._public.items())]
        return sha256("\n".join([self.source().fingerprint(salt), *public]).encode(errors="surrogatepass")).hexdigest()

    def source(self) -> Source:
        """The private table; refused where its file is still missing."""
        if self._source is None:
            self._source = self._look(self._path)
        return self._source

    def engine(self) -> DuckDBEngine:
        """What counts in the private table."""
        with self._opening:
            if self._engine is None:
                self._engine = DuckDBEngine(self.source(), self.schema, self._public, memory=self._memory)
            return self._engine

    @contextmanager
    def apart(self, schema: Schema, sources: Mapping[str, str]) -> Iterator[DuckDBEngine]:
        """An engine of its own, under other declarations of the same table; ``sources`` says which columns they are about."""
        engine = DuckDBEngine(self.source(), schema, {}, memory=self._memory, sources=sources)
        try:
            yield engine
        finally:
            engine.close()

    def check(self, join: Join) -> None:
        """Refuse a join that would count a row more than once."""
        on = tuple(column for _, column in join.on)
        if (join.table, on) not in self._unique:
            columns = [(name, self.schema.public[join.table][name].kind) for name in on]
            self._unique[join.table, on] = is_unique(self._public[join.table], columns)
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

    def _look(self, source: object) -> Source:
        unit = self.schema.unit
        wanted = [*self.schema.columns, *([unit.id] if isinstance(unit, Person) else [])]
        found = open_source(source, table=self._table, columns=wanted)
        if unit.neighbours == "replace" and isinstance(unit, Rows) and found.lines:
            raise ParameterError(
                "A line of CSV that cannot be read is left out, so the number of rows is not public; under "
                'neighbours="replace" give the table as Parquet, or a frame.'
            )
        return found


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in "*?[")
