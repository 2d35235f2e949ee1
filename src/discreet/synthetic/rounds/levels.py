"""Levels of wide columns: runs of neighbouring cells, by which a column is measured with others where its cells are too many.

What a column of many cells has to do with others is drowned by noise when it is counted cell by cell, and seldom changes from one
cell to the next. So an ordered column with many joined cells (``merging``) has runs of them too, with about as many rows each by
its own released counts; a marginal with it is a candidate by runs and by joined cells, and the rule of ``selection`` sets what is
to be learned against noise. Counted by runs it is a histogram still: every row is in one cell, and sensitivity is what it was.

In the model a wide column is two: its run, and the place within the run. What was measured by runs needs tables of runs alone,
which are small; within a run cells keep the shares that the column's own counts, and marginals by joined cells, give them. Runs
of fewer cells than the longest are filled up with places that nothing can be in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.synthetic.domain import Coding
from discreet.synthetic.inference.fit import Noisy
from discreet.synthetic.inference.tree import Beliefs, Columns
from discreet.synthetic.zeros import Zeros

RUNS = 8  # of one column, and one more for what is missing
WIDE = 4 * RUNS  # joined cells of a column that has runs


@dataclass(frozen=True, eq=False)
class Seen:
    """A measured marginal: columns, those of them that were counted by runs, counts with an axis for every column, and the
    standard deviation of each."""

    columns: Columns
    coarse: Columns
    counts: Reals
    deviation: Reals | float


def cut_runs(coding: Coding, counts: Reals) -> Integers | None:
    """The run of every joined cell, by their noisy counts; None for a column that is not wide, or has no order."""
    many = len(counts) - coding.nullable
    if not coding.ordered or many < WIDE:
        return None
    rows = np.maximum(counts[:many], 0.0)
    if rows.sum() <= 0:
        return None
    middle = np.cumsum(rows) - rows / 2
    runs = np.unique(np.minimum(RUNS * middle / rows.sum(), RUNS - 1).astype(np.int64), return_inverse=True)[1]
    found: Integers = np.append(runs, runs[-1] + 1) if coding.nullable else runs  # what is missing is no neighbour of anything
    return found


@dataclass(frozen=True, eq=False)
class Levels:
    """How columns stand in the model: ``sizes``, the joined cells of each, and ``runs``, that of every joined cell of those that
    are wide. A narrow column is one axis of the model, a wide one two."""

    sizes: tuple[int, ...]
    runs: tuple[Integers | None, ...]

    @cached_property
    def axes(self) -> tuple[Columns, ...]:
        """The axes of every column."""
        found, many = list[Columns](), 0
        for runs in self.runs:
            found.append((many,) if runs is None else (many, many + 1))
            many += len(found[-1])
        return tuple(found)

    @cached_property
    def columns(self) -> Columns:
        """The column of every axis."""
        return tuple(column for column, axes in enumerate(self.axes) for _ in axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all axes."""
        found: list[int] = []
        for size, runs in zip(self.sizes, self.runs, strict=True):
            found += [size] if runs is None else [int(runs.max()) + 1, int(np.bincount(runs).max())]
        return tuple(found)

    @cached_property
    def _places(self) -> tuple[NDArray[np.intp], ...]:
        """Where the joined cells of every column are among all cells of its axes."""
        found: list[NDArray[np.intp]] = []
        for size, runs in zip(self.sizes, self.runs, strict=True):
            if runs is None:
                found.append(np.arange(size))
                continue
            within, wide = np.zeros(size, dtype=np.intp), int(np.bincount(runs).max())
            for run in range(int(runs.max()) + 1):
                own = np.flatnonzero(runs == run)
                within[own] = np.arange(len(own))
            found.append(runs * wide + within)
        return tuple(found)

    def coarse(self, columns: Columns) -> Columns:
        """Those of some columns that are wide."""
        return tuple(column for column in columns if self.runs[column] is not None)

    def axes_of(self, columns: Columns, coarse: Columns = ()) -> Columns:
        """The axes of a marginal."""
        return tuple(axis for column in columns for axis in self.axes[column][: 1 if column in coarse else None])

    def shape_of(self, columns: Columns, coarse: Columns = ()) -> tuple[int, ...]:
        """The cells of a marginal: runs, or joined cells, of every column."""
        return tuple(self.shape[self.axes[column][0]] if column in coarse else self.sizes[column] for column in columns)

    def size(self, columns: Columns, coarse: Columns = ()) -> int:
        return math.prod(self.shape_of(columns, coarse))

    def gather(self, table: Reals, columns: Columns, coarse: Columns = ()) -> Reals:
        """A table over the axes of a marginal, over its cells."""
        if self.coarse(columns) == coarse:
            return table  # every column is one axis
        found: Reals = table.reshape(self._wide(columns, coarse))[self._where(columns, coarse)]
        return found

    def spread(self, table: Reals, columns: Columns, coarse: Columns = (), rest: float = 0.0) -> Reals:
        """The other way; ``rest`` where nothing can be."""
        found = np.full(self._wide(columns, coarse), rest)
        found[self._where(columns, coarse)] = table
        return found.reshape([self.shape[axis] for axis in self.axes_of(columns, coarse)])

    def _wide(self, columns: Columns, coarse: Columns) -> tuple[int, ...]:
        return tuple(math.prod(self.shape[axis] for axis in self.axes_of((column,), coarse)) for column in columns)

    def _where(self, columns: Columns, coarse: Columns) -> tuple[NDArray[np.intp], ...]:
        sizes = self.shape_of(columns, coarse)
        places = [np.arange(n) if c in coarse else self._places[c] for c, n in zip(columns, sizes, strict=True)]
        return np.ix_(*places)

    def project(self, beliefs: Beliefs, columns: Columns, coarse: Columns = ()) -> Reals:
        """The probabilities of all cells of a marginal."""
        return self.gather(beliefs.project(self.axes_of(columns, coarse)), columns, coarse)

    def noisy(self, seen: Seen) -> Noisy:
        """What was measured, as the fit takes it."""
        spread = np.broadcast_to(np.asarray(seen.deviation, dtype=np.float64), seen.counts.shape)
        counts = self.spread(seen.counts, seen.columns, seen.coarse)
        return Noisy(
            self.axes_of(seen.columns, seen.coarse), counts, self.spread(spread, seen.columns, seen.coarse, float(spread.mean()))
        )

    def zeros(self, facts: Zeros) -> Zeros:
        """What can never be, over axes: by facts, about columns that are not wide, and where runs are filled up."""
        known = [(self.axes_of(columns), table) for columns, table in facts.tables]
        filled = [
            (axes, self.spread(np.ones(size), (column,)))
            for column, (axes, size) in enumerate(zip(self.axes, self.sizes, strict=True))
            if math.prod(self.shape[axis] for axis in axes) > size
        ]
        return Zeros((*known, *filled))

    def cells(self, drawn: Sequence[Integers]) -> list[Integers]:
        """The joined cells of rows, column by column, of which the cells on every axis were drawn."""
        found = []
        for column, axes in enumerate(self.axes):
            if len(axes) == 1:
                found.append(drawn[axes[0]])
                continue
            back = np.zeros(math.prod(self.shape[axis] for axis in axes), dtype=np.int64)
            back[self._places[column]] = np.arange(self.sizes[column])
            found.append(back[drawn[axes[0]] * self.shape[axes[1]] + drawn[axes[1]]])
        return found
