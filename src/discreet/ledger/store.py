"""The seam between a ledger and whatever keeps its records: SQLite for files, and others by the scheme of an address.

A store is a module with the verbs of ``Store``, and one line in ``STORES``. It promises no more than a list that only grows: what
makes records impossible to change unseen (``chain``), what notices a list that was cut (``witness``), and whose budget it is
(``people``) is the same for all of them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Protocol, cast

from discreet.errors import ParameterError
from discreet.ledger.chain import Record
from discreet.ledger.place import Address, Place

STORES: dict[str, str] = {  # the scheme of an address -> the module; files are kept by SQLite
    "postgresql": "discreet.ledger.postgres",
}


class Records(Protocol):
    """The records of one ledger within a transaction, numbered from 0."""

    def is_empty(self) -> bool:
        """Whether nothing was ever added."""

    def lock(self) -> None:
        """Keep all others from writing until the next record is added or the transaction ends; again where it is held."""

    def add(self, *records: Record) -> None:
        """Append the next records, all or none, and give up the lock. They are durable, and seen by all, when this returns."""

    def read(self, first: int) -> list[Record]:
        """All records from this number on, in order."""

    def get(self, *numbers: int) -> list[Record]:
        """The records with these numbers, in order."""

    def hash_of(self, number: int) -> bytes | None:
        """The hash of a record, whose text may be long and is not read; None where there is no such record."""


class Store(Protocol):
    """Keeps ledgers by their places; troubles are refusals (``LedgerRefused``)."""

    def exists(self, place: Place) -> bool:
        """Whether there is a ledger, be it empty."""

    def begun(self, place: Place) -> bool:
        """Whether there is one with records; told without waiting for anybody."""

    def create(self, place: Place) -> None:
        """Make an empty one, durably; what is there is left alone."""

    def reading(self, place: Place) -> AbstractContextManager[Records]:
        """A transaction that sees the records of one moment."""

    def writing(self, place: Place) -> AbstractContextManager[Records]:
        """A transaction that holds the lock; what was not added is forgotten at its end."""


def store_of(place: Place) -> Store:
    """The store that keeps the ledger at a place."""
    if not isinstance(place, Address):
        return cast(Store, import_module("discreet.ledger.sqlite"))
    if place.scheme not in STORES:
        known = ", ".join(f"{scheme}://" for scheme in STORES)
        raise ParameterError(
            f'Ledgers are kept in files and at {known}, not at {place.scheme}://; write ledger="hospital.ledger".'
        )
    return cast(Store, import_module(STORES[place.scheme]))
