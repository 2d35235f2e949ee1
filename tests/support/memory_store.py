"""A store of ledgers in memory: a toy, for tests that show what a new store takes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.errors import LedgerRefused
from discreet.ledger.chain import Record

_kept: dict[Path, list[Record]] = {}
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

    def add(self, record: Record) -> None:
        if not self._held or record.number != len(self._records):
            raise LedgerRefused("A ledger is append-only.")
        self._records.append(record)
        self.release()

    def release(self) -> None:
        if self._held:
            self._held = False
            _lock.release()

    def read(self, first: int) -> list[Record]:
        return self._records[first:]

    def get(self, number: int) -> Record:
        return self._records[number]


def exists(path: Path) -> bool:
    return path in _kept


def begun(path: Path) -> bool:
    return bool(_kept.get(path))


def create_file(path: Path) -> None:
    _kept.setdefault(path, [])


@contextmanager
def reading(path: Path) -> Iterator[_Records]:
    with _lock:
        yield _Records(list(_kept[path]), write=False)


@contextmanager
def writing(path: Path) -> Iterator[_Records]:
    records = _Records(_kept[path], write=True)
    records.lock()
    try:
        yield records
    finally:
        records.release()
