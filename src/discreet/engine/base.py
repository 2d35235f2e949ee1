"""The seam between a curator and whatever counts: sources, sessions and engines, groups, and what is counted over them.

Everything that an engine hands back is a ``Secret``. What a source, a layout or a refusal says is public.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Table
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan, Reading
from discreet.plan.statistics import Statistic
from discreet.schema.table import Schema

Counted = tuple[Statistic, int]  # in 2**-bits units
Found = Mapping[Counted, Secret[NDArray[np.generic]] | Secret[Table]]


class NoFile(ParameterError):
    """There is no such file, or none that this user may read: questions wait for it, previews need not."""


class Unreachable(EngineError):
    """The engine cannot be asked at all, now: that says nothing about the question."""


class Known(Protocol):
    """Hashes of files by what is known of them without reading."""

    def get(self, state: str, /) -> str | None: ...
    def update(self, found: dict[str, str], /) -> None: ...


class Source(Protocol):
    """A private table, of which public things are known: ``names`` of all its columns, and the types of those asked for, as
    their engine calls them (``raw``)."""

    @property
    def engine(self) -> str:
        """The room of the engine that reads it."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def raw(self) -> Mapping[str, str]: ...

    @property
    def no_ids(self) -> frozenset[str]:
        """Columns whose type says nothing by which persons could be told apart."""

    @property
    def drops_lines(self) -> bool:
        """Whether rows that cannot be read are left out, so that their number is not public."""

    @property
    def layout(self) -> object:
        """How the table is read, all of it public: a query that was made for one layout could, in a table of another, take the
        wrong column for its persons."""

    def find(self, name: str) -> str:
        """The name of a column as the table writes it."""

    def is_current(self) -> bool:
        """Whether the table is surely read as it was when it was looked at."""

    def fingerprint(self, salt: bytes, known: Known | None = None) -> str:
        """A keyed hash of what the table holds. ``known`` files are not read again."""


class Session(Protocol):
    """A connection that runs SQL, made by us, over one private table, or several, and the public ones by their names.

    Threads may share it. Whatever a signal raises while it waits stops the work. What an engine says when it fails may quote a
    cell: its words are dropped, and an ``EngineError`` says the kind of failure only.
    """

    @property
    def relation(self) -> str:
        """The private table in SQL."""

    @property
    def nothing(self) -> str:
        """The same columns without rows."""

    @property
    def several(self) -> Mapping[str, tuple[str, str]]:
        """Where there are several private tables: each in SQL, and the same columns without rows."""

    @property
    def coded(self) -> bool:
        """Whether cells of few values arrive as places in a list of values, so that functions of one cell are quick."""

    def fetch(self, sql: str, parameters: Mapping[str, object]) -> dict[str, list[object]]:
        """Few rows, as Python's own values by column; whole numbers of any width arrive to the last bit."""

    def stream(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """Many rows of numbers, or of texts, in batches, none of which is kept."""

    def read(self, sql: str, parameters: Mapping[str, object]) -> Iterator[dict[str, NDArray[np.generic]]]:
        """The same of all rows of a table, of which only some are on this machine at any time."""

    def reading(self) -> AbstractContextManager[None]:
        """A block in which all that this thread asks is about one state of the tables, where an engine can see to that."""

    def progress(self) -> float | None:
        """How far the slowest question under way is, from 0 to 1; None when that is not known."""

    def close(self) -> None:
        """Let go of the tables; harmless when repeated."""


class Engine(Protocol):
    """Whatever counts exactly, by the layout that its table had when it was opened."""

    @property
    def layout(self) -> object: ...

    def rehearse(self, asked: Plan | Reading) -> None:
        """Count or read the same of a table without rows: what the engine cannot do is refused before anything is paid."""

    def keys(self, plan: Plan, salt: str) -> Secret[Mapping[tuple[Value, ...], int]]:
        """How many units share every key that there is, or whatever tells keys apart: for a private choice among them."""

    def spell(self, plan: Plan, keys: Sequence[tuple[Value, ...]], salt: str) -> list[tuple[Value, ...]]:
        """The keys that were chosen under the same salt, as rows have them."""

    def count(self, plan: Plan, groups: Groups, salt: str) -> Found:
        """Every statistic of a plan, over these groups. ``salt`` decides which of a person's groups count where not all can."""

    def rows(self, reading: Reading, salt: str) -> Iterator[Secret[Block]]:
        """The rows that a learner reads, cleaned, block by block. ``salt`` decides which of a person's rows count where not all
        can; the rows of one person stand together."""

    def identify(self, schema: Schema, salt: bytes) -> str | None:
        """A keyed hash of all rows as they are declared, by which the same rows are known again in whatever form and order they
        come: no secret, and never shown. None where the engine makes none."""

    def reading(self) -> AbstractContextManager[None]:
        """A block in which all is counted in one state of the tables, where an engine can see to that."""

    def progress(self) -> float | None: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Groups:
    """The listed groups of a question: one list for every key, all combinations of them or line by line."""

    listed: tuple[Sequence[Value], ...]
    product: bool
    size: int


def groups_of(plan: Plan, chosen: Sequence[tuple[Value, ...]] | None = None) -> Groups:
    """The groups of a question: listed by public facts, or chosen privately."""
    if chosen is not None:
        columns = tuple(list(column) for column in zip(*chosen, strict=True)) or tuple([] for _ in plan.keys.keys)
        return Groups(columns, False, len(chosen))
    assert plan.keys.listings is not None
    return Groups(plan.keys.listings, True, plan.keys.size or 1)


def hashed(salt: bytes, parts: Iterable[bytes]) -> str:
    """A keyed hash of parts; where one ends and the next begins counts."""
    state = blake2b(key=salt[:64], digest_size=32)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()
