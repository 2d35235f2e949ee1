"""Cells that are told apart: of a column's noisy counts, those that stand out, and runs or rests of others together.

Most values of a column with many are rare, and noise drowns their counts in every marginal that has them. So after its own
counts are released, cells that do not exceed ``_CLEAR`` standard deviations of the noise are joined: neighbours of an ordered
column until together they do, all of them of any other. Within what is joined, cells keep the shares that their own counts
give, drawn towards their mean as far as noise explains the differences (James and Stein 1961), so that rows still have every
value. Only released numbers decide, so that nothing is paid for it, and what is counted afterwards is still a histogram.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.synthetic.domain import Coding
from discreet.synthetic.inference.tree import Columns

_CLEAR = 3.0


@dataclass(frozen=True, eq=False)
class Merged:
    """To which joined cell every cell belongs, and its share of that."""

    places: Integers
    shares: Reals

    @property
    def count(self) -> int:
        return int(self.places.max()) + 1

    @property
    def is_plain(self) -> bool:
        """Whether nothing is joined."""
        return self.count == len(self.places)

    @cached_property
    def table(self) -> Reals:
        """The share of every cell in every joined one: a line for each of these."""
        found = np.zeros((self.count, len(self.places)))
        found[self.places, np.arange(len(self.places))] = self.shares
        return found

    def within(self, cells: Booleans | Reals) -> Reals:
        """The share of every joined cell that these have."""
        found: Reals = np.bincount(self.places, self.shares * cells, self.count).astype(np.float64)
        return found


def keep_apart(coding: Coding) -> Merged:
    """All cells of a column as they are."""
    return Merged(np.arange(coding.count), np.ones(coding.count))


def merge(coding: Coding, counts: Reals, deviation: float) -> Merged:
    """Which cells of a column are told apart, by its noisy counts."""
    clear = counts >= _CLEAR * deviation + 1  # noise of a small scale is rounded to none, but for a few cells
    if coding.nullable:
        clear[-1] = True  # what is missing is no neighbour of anything
    runs = list(_runs(counts, clear, deviation)) if coding.ordered else [*([int(i)] for i in np.flatnonzero(clear)), _rest(clear)]
    places = np.zeros(coding.count, dtype=np.int64)
    for place, run in enumerate(sorted(run for run in runs if run)):
        places[run] = place
    return share_out(coding, counts, deviation, places)


def share_out(coding: Coding, counts: Reals, deviation: float, places: Integers) -> Merged:
    """The shares of cells in what they are joined to."""
    shares = np.ones(coding.count)
    for place in np.flatnonzero(np.bincount(places) > 1):
        run = np.flatnonzero(places == place)
        shares[run] = _shares(counts[run], deviation, coding.widths[run])
    return Merged(places, shares)


def spread_out(table: Reals, columns: Columns, merged: Sequence[Merged]) -> Reals:
    """A table over joined cells, over all of them."""
    for axis, column in enumerate(columns):
        if not merged[column].is_plain:
            table = np.moveaxis(np.tensordot(table, merged[column].table, axes=(axis, 0)), -1, axis)
    return table


def _rest(clear: Booleans) -> list[int]:
    return [int(i) for i in np.flatnonzero(~clear)]


def _runs(counts: Reals, clear: Booleans, deviation: float) -> Iterator[list[int]]:
    """Neighbours until they stand out together; cells that do so alone stay alone."""
    run: list[int] = []
    for cell in range(len(counts)):
        if clear[cell]:
            yield run
            yield [cell]
            run = []
            continue
        run.append(cell)
        if counts[run].sum() >= _CLEAR * deviation * math.sqrt(len(run)) + 1:
            yield run
            run = []
    yield run  # what is left stands out nowhere, and is not made part of what does


def _shares(counts: Reals, deviation: float, widths: Integers) -> Reals:
    """Each one's share of what is joined."""
    even = widths / widths.sum()
    if len(counts) == 1:
        return np.ones(1)
    total = float(counts.sum())
    expected = even * max(total, 0.0)
    spread = float(((counts - total * even) ** 2).sum())
    kept = max(0.0, 1 - (len(counts) - 1) * deviation**2 / spread) if spread > 0 else 0.0
    drawn = np.maximum(expected + kept * (counts - total * even), 0.0)
    found: Reals = drawn / drawn.sum() if drawn.sum() > 0 else even
    return found
