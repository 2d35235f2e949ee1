"""Blocks of rows: what an engine hands to a learner, as secrets.

Numbers are whole, in units of a public step; values of a public list are their places in it; texts are themselves, cut to their
public length. What is missing is ``MISSING``, or None of a text. Where persons are protected, the rows of one person stand
together in one block, no more of them than count, and ``starts`` says where each person begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Booleans, Integers
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.values import Records

MISSING = -(2**61)  # no number of units, and no place in a list
MOST_ROWS = 2**16  # of one block

Columns = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows, by column: one number or text a row, or a line of an array."""

    columns: Columns
    height: int
    starts: Integers | None = None  # None: every row is somebody

    @property
    def units(self) -> int:
        """The rows, or the persons."""
        return self.height if self.starts is None else len(self.starts)

    def __getitem__(self, name: str) -> NDArray[np.generic]:
        return self.columns[name]

    def rows_of(self, kept: Booleans) -> Booleans:
        """Which rows belong to units that are kept."""
        if self.starts is None:
            return kept
        return np.repeat(kept, np.diff(np.append(self.starts, self.height)))

    def take(self, kept: Booleans) -> Block:
        """The same with some units only."""
        rows = np.flatnonzero(self.rows_of(kept))
        starts = None
        if self.starts is not None:
            lengths = np.diff(np.append(self.starts, self.height))[kept]
            starts = np.cumsum(lengths) - lengths
        return Block({name: column[rows] for name, column in self.columns.items()}, len(rows), starts)


Blocks = Iterable[Secret[Block]]
Reader = Callable[[], Blocks]
"""Reads all rows once, from the first to the last."""


def change(blocks: Blocks, into: Callable[[Block], Columns]) -> Iterator[Secret[Block]]:
    """Blocks with other columns, made of the same rows by public parameters, row by row."""
    for secret in blocks:
        block = open_secret(secret)
        with np.errstate(all="ignore"):
            made = into(block)
        yield Secret(Block(made, block.height, block.starts))


def part(block: Block, most: int = MOST_ROWS) -> Iterator[Block]:
    """The same rows in blocks of at most so many, or of one person each."""
    if block.height <= most:
        yield block
        return
    ends = np.arange(block.height + 1) if block.starts is None else np.append(block.starts, block.height)
    first = 0
    while first < len(ends) - 1:
        last = max(first + 1, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
        low, high = int(ends[first]), int(ends[last])
        starts = None if block.starts is None else block.starts[first:last] - low
        yield Block({name: column[low:high] for name, column in block.columns.items()}, high - low, starts)
        first = last


def count_cells(blocks: Blocks, names: Sequence[str], sizes: Sequence[int]) -> Secret[Records]:
    """Rows as a histogram over several axes, of which these columns say the cells, each from 0 on."""
    held = [open_secret(secret) for secret in blocks]
    cells = tuple(np.concatenate([np.zeros(0), *(block[name] for block in held)]).astype(np.int32) for name in names)
    return Secret(Records(tuple(sizes), cells, np.ones(sum(block.height for block in held), dtype=np.int64)))
