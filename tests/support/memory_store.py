"""A store of ledgers in memory: a toy, for tests that show what a new store takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from discreet.errors import LedgerRefused
from discreet.ledger.chain import Record
from discreet.ledger.place import Place

_kept: dict[Place, list[Record]] = {}
_lock = threading.RLock()


class _Records:
    def __init__(self, records: list[Record], *, write: bool) -> None:
        self._records, self._write, self._held = records, write, False

    def is_empty(self) -> bool:
        return not self._records

    def lock(self) -> None:
        if not self._write:
            raise LedgerRefused("This transaction only reads.")
        if not self._held:
            self._held = _lock.acquire()

    def add(self, *records: Record) -> None:
        first = len(self._records)
        if not self._held or [one.number for one in records] != [*range(first, first + len(records))]:
            raise LedgerRefused("A ledger is append-only.")
        self._records.extend(records)
        self.release()

    def release(self) -> None:
        if self._held:
            self._held = False
            _lock.release()

    def read(self, first: int) -> list[Record]:
        return self._records[first:]

    def get(self, *numbers: int) -> list[Record]:
        return [self._records[number] for number in sorted({*numbers})]

    def hash_of(self, number: int) -> bytes | None:
        return self._records[number].hash if number < len(self._records) else None


def exists(place: Place) -> bool:
    return place in _kept


def begun(place: Place) -> bool:
    return bool(_kept.get(place))


def create(place: Place) -> None:
    _kept.setdefault(place, [])


@contextmanager
def reading(place: Place) -> Iterator[_Records]:
    with _lock:
        yield _Records(list(_kept[place]), write=False)


@contextmanager
def writing(place: Place) -> Iterator[_Records]:
    records = _Records(_kept[place], write=True)
    records.lock()
    try:
        yield records
    finally:
        records.release()
