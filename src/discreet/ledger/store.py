"""The seam between a ledger and whatever keeps its records: SQLite, and others by the ending of the ledger's name.

A store is a module with the verbs of ``Store``, and one line in ``STORES``. It promises no more than a list that only grows: what
makes records impossible to change unseen (``chain``), what notices a list that was cut (``witness``), and whose budget it is
(``people``) is the same for all of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from discreet.ledger.chain import Record

STORES: dict[str, str] = {}  # the ending of a name -> the module; all others are kept by SQLite


class Records(Protocol):
    """The records of one ledger within a transaction, numbered from 0."""

    def is_empty(self) -> bool:
        """Whether nothing was ever added."""

    def lock(self) -> None:
        """Keep all others from writing until the next record is added or the transaction ends; again where it is held."""

    def add(self, record: Record) -> None:
        """Append the next record and give up the lock. It is durable, and everybody sees it, when this returns."""

    def read(self, first: int) -> list[Record]:
        """All records from this number on, in order."""

    def get(self, number: int) -> Record:
        """The record with this number."""


class Store(Protocol):
    """Keeps ledgers by their paths; troubles are refusals (``LedgerRefused``)."""

    def exists(self, path: Path) -> bool:
        """Whether there is a ledger, be it empty."""

    def begun(self, path: Path) -> bool:
        """Whether there is one with records; told without waiting for anybody."""

    def create_file(self, path: Path) -> None:
        """Make an empty one, durably; what is there is left alone."""

    def reading(self, path: Path) -> AbstractContextManager[Records]:
        """A transaction that sees the records of one moment."""

    def writing(self, path: Path) -> AbstractContextManager[Records]:
        """A transaction that holds the lock; what was not added is forgotten at its end."""


def store_of(path: Path) -> Store:
    """The store that keeps the ledger at a path."""
    return cast(Store, import_module(STORES.get(path.suffix, "discreet.ledger.sqlite")))
