"""Blocks that are kept for later: read from an engine once, and again from where they are kept, in bounded memory.

Up to a public number of bytes they stay in memory; what is beyond it goes to a temporary file without a name, which only this
process can open, and which the system takes back when the process ends, however it ends. Taken back is not overwritten: whoever
reads the raw disk afterwards may find rows there, as in any temporary file, so that the folder for them (TMPDIR) belongs on a
disk that is encrypted, or in memory. It is read with ``pread`` and not mapped, so that no more than a block of it is in the
memory of this process at any time. A child of this process may read what was kept before it was forked, and keeps nothing more:
both would write to one place.

In the file a column has as few bytes as hold every number of its block to the last bit: whole numbers, also where they are
written as doubles, have one, two, four or eight. What comes out is what went in.
"""

from __future__ import annotations

import math
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import IO

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import EngineError
from discreet.mechanisms.rows.block import MISSING, Block, Blocks, Reader
from discreet.mechanisms.rows.lots import choose_side, toss
from discreet.mechanisms.secret import Secret, open_secret

IN_MEMORY = 2**24
_COIN = "coin"
_NARROW = (np.int8, np.int16, np.int32)
_NOWHERE = (
    "The rows could not be kept for a second look: the disk of the temporary folder is full, or may not be written; make room "
    "there, or set TMPDIR to another folder."
)


def hold(read: Reader, most: int = IN_MEMORY, *, always: bool = False) -> Reader:
    """A reader that reads once and keeps what it read, ``most`` bytes of it in memory. Where that cannot be, because there are
    texts or the disk is full, it reads again each time; ``always``: then it refuses, since no two readings need be alike, and
    all is kept before the first block is handed over, since a reading may be left, or another begun beside it."""
    kept: _Kept | None = None
    possible = True

    def again() -> Iterator[Secret[Block]]:
        nonlocal kept, possible
        if kept is None and always:
            kept = _keep_all(read(), most)
        if kept is not None:
            yield from kept.blocks()
            return
        new = _Kept(most) if possible else None
        for secret in read():
            if new is not None and not new.add(secret):
                new, possible = None, False
            yield secret
        kept = new

    return again


def _keep_all(blocks: Blocks, most: int) -> _Kept:
    kept = _Kept(most)
    if not all(kept.add(secret) for secret in blocks):
        raise EngineError(_NOWHERE)
    return kept


def divide(read: Reader, share: Fraction) -> tuple[Reader, Reader]:
    """The units of a table in two parts, of which the second has about this share: by a coin for each, tossed once."""
    marked = hold(lambda: _toss(read(), share), always=True)
    return lambda: _choose(marked(), heads=False), lambda: _choose(marked(), heads=True)


def _toss(blocks: Blocks, share: Fraction) -> Iterator[Secret[Block]]:
    side = choose_side(share)
    for secret in blocks:
        block = open_secret(secret)
        heads = block.rows_of(toss(share, block.units, side))
        yield Secret(Block({**block.columns, _COIN: heads}, block.height, block.starts))


def _choose(blocks: Blocks, *, heads: bool) -> Iterator[Secret[Block]]:
    for secret in blocks:
        block = open_secret(secret)
        coins = np.asarray(block[_COIN] if block.starts is None else block[_COIN][block.starts], dtype=bool)
        part = block.take(coins == heads)
        yield Secret(Block({name: cells for name, cells in part.columns.items() if name != _COIN}, part.height, part.starts))


@dataclass(frozen=True)
class _Packed:
    """A column as it is kept: where in the file its bytes are, and as what they are to be read."""

    at: int
    kind: np.dtype[np.generic]
    into: np.dtype[np.generic]
    shape: tuple[int, ...]

    def open(self, read: Callable[[int, int], bytes]) -> NDArray[np.generic]:
        found = np.frombuffer(read(self.at, self.kind.itemsize * math.prod(self.shape)), dtype=self.kind).reshape(self.shape)
        made: NDArray[np.generic] = found.astype(self.into)
        if self.into == np.int64 and self.kind in _NARROW:
            made[found == np.iinfo(self.kind).min] = MISSING  # type: ignore[type-var]
        return made


@dataclass(frozen=True, eq=False)
class _Away:
    """A block whose columns are in the file."""

    columns: dict[str, _Packed]
    height: int
    starts: Integers | None


@dataclass(eq=False)
class _Kept:
    """Blocks as they are, up to ``most`` bytes of them; and others, packed, in a file that has no name."""

    most: int
    _owner: int = field(default_factory=os.getpid)
    _blocks: list[Secret[Block] | _Away] = field(default_factory=list)
    _file: IO[bytes] | None = None
    _size: int = 0  # in memory
    _end: int = 0  # of the file

    def add(self, secret: Secret[Block]) -> bool:
        """Keep one more; False where that cannot be."""
        block = open_secret(secret)
        size = sum(column.nbytes for column in block.columns.values())
        if os.getpid() != self._owner or any(column.dtype.hasobject for column in block.columns.values()):
            return False
        if self._size + size <= self.most:
            self._size += size
            self._blocks.append(secret)
            return True
        try:
            columns = {name: self._put(column) for name, column in block.columns.items()}
        except OSError:
            return False
        self._blocks.append(_Away(columns, block.height, block.starts))
        return True

    def blocks(self) -> Iterator[Secret[Block]]:
        for one in self._blocks:
            if isinstance(one, Secret):
                yield one
            else:
                columns = {name: column.open(self._get) for name, column in one.columns.items()}
                yield Secret(Block(columns, one.height, one.starts))

    def _put(self, column: NDArray[np.generic]) -> _Packed:
        if self._file is None:
            self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # of mode 0600
            weakref.finalize(self, self._file.close)
        narrow, at = _narrow(column), self._end
        rest = narrow.reshape(-1).view(np.uint8).data
        while rest:
            rest = rest[self._file.write(rest) :]
        self._end += narrow.nbytes
        return _Packed(at, narrow.dtype, column.dtype, column.shape)

    def _get(self, at: int, size: int) -> bytes:
        assert self._file is not None
        found = bytearray()
        while len(found) < size:
            some = self._read(at + len(found), size - len(found))
            if not some:
                raise EngineError("Rows that were kept are gone: the temporary file was cut short.")
            found += some
        return bytes(found)

    def _read(self, at: int, size: int) -> bytes:
        assert self._file is not None
        if hasattr(os, "pread"):  # which Windows has not
            return os.pread(self._file.fileno(), size, at)
        self._file.seek(at)
        return self._file.read(size)


def _narrow(column: NDArray[np.generic]) -> NDArray[np.generic]:
    """The same numbers in fewer bytes, where that is exact; the least number of a narrow kind stands for ``MISSING``."""
    if column.dtype == np.bool_ or not column.size:
        return np.ascontiguousarray(column)
    missing = None
    if column.dtype == np.int64:
        missing = column == MISSING
        known = np.where(missing, 0, column) if missing.any() else column
    elif column.dtype == np.float64 and np.isfinite(low := column.min()) and np.isfinite(high := column.max()):
        if max(abs(low), abs(high)) > np.iinfo(np.int32).max:
            return np.ascontiguousarray(column)
        known = column
    else:
        return np.ascontiguousarray(column)
    low, high = known.min(), known.max()
    for kind in _NARROW:
        bounds = np.iinfo(kind)
        if bounds.min < low and high <= bounds.max:
            narrow = known.astype(kind)
            if missing is None and not _same_bits(narrow.astype(np.float64), column):
                break  # fractions, and minus zero
            if missing is not None and known is not column:
                narrow[missing] = bounds.min
            return np.ascontiguousarray(narrow)
    return np.ascontiguousarray(column)


def _same_bits(one: NDArray[np.generic], other: NDArray[np.generic]) -> bool:
    return bool((one.view(np.int64) == np.ascontiguousarray(other).view(np.int64)).all())
