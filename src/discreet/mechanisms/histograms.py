"""Histograms of many groups, most of them nearly empty: cells that somebody is in, and rows of all cells on demand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.arrays import Integers

__all__ = ["Histograms", "Table"]


@dataclass(frozen=True, eq=False)
class Histograms:
    """Counts by (group, cell). Iterating gives every group's counts of all ``width`` cells.

    >>> some = Histograms(2, 3, np.array([1, 1]), np.array([0, 2]), np.array([5, 7]))
    >>> [row.tolist() for row in some]
    [[0, 0, 0], [5, 0, 7]]
    """

    height: int
    width: int
    groups: Integers
    cells: Integers
    counts: Integers

    def __iter__(self) -> Iterator[Integers]:
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(self.height + 1))
        for first, last in pairwise(starts):
            row = np.zeros(self.width, dtype=np.int64)
            row[self.cells[order[first:last]]] = self.counts[order[first:last]]
            yield row


Table = Integers | Histograms
