"""How many persons have how many of something: cells of whole numbers, and noisy counts of persons in them.

What a bound on that number would take away is a weighted sum of cells, with weights that depend on where in its cell a person
is: an estimate takes persons to be spread evenly, and an interval allows for all ways in which they may be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.analysis.advice import Counts, Interval, place_of, share_of
from discreet.arrays import Reals
from discreet.plan.expressions import Call, Expression, Literal

_SEEN = 2.5  # standard deviations of noise, above which a tail is more than noise
_MISS = 0.05


@dataclass(frozen=True)
class Ranges:
    """Cells of whole numbers: from the one after the last end to this one, for every end; and, where ``beyond``, one more for
    all larger numbers, which count as the next."""

    ends: tuple[int, ...]
    beyond: bool

    @classmethod
    def up_to(cls, most: int, first: int = 1, *, also: int = 1, beyond: bool) -> Ranges:
        """One by one up to 4, and then ever wider, two to each doubling: more cells would say more of each number, and less of
        all that are larger, which is what advice needs. ``also`` is one more end.

        >>> Ranges.up_to(20, also=9, beyond=True).ends
        (1, 2, 3, 4, 6, 8, 9, 12, 16, 20)
        """
        ends, step = list(range(first, 5)), 2
        while ends[-1] < most:
            ends += [ends[-1] + step, ends[-1] + 2 * step]
            step *= 2
        return cls((*(end for end in sorted({*ends, also}) if end < most), most), beyond)

    @cached_property
    def tops(self) -> Reals:
        """The largest number of every cell."""
        return np.array([*self.ends, *([self.ends[-1] + 1] if self.beyond else [])], dtype=np.float64)

    @cached_property
    def lows(self) -> Reals:
        """The least."""
        return np.array([self.ends[0], *(self.tops[:-1] + 1)], dtype=np.float64)

    @property
    def labels(self) -> list[str]:
        single = [
            f"{int(low):,}" if low == top else f"{int(low):,} to {int(top):,}"
            for low, top in zip(self.lows, self.tops, strict=True)
        ]
        return [*single[:-1], f"over {self.ends[-1]:,}"] if self.beyond else single

    def place(self, value: Expression) -> Expression:
        """The cell of a number, as an expression."""
        ends = self.ends if self.beyond else self.ends[:-1]
        return place_of(value, [Call("<=", (value, Literal(end))) for end in ends])

    def over(self, most: int) -> tuple[Reals, Reals, Reals]:
        """For every cell the part of persons with more than so many: if spread evenly, at least, and at most."""
        width = self.tops - self.lows + 1
        even = np.clip((self.tops - most) / width, 0.0, 1.0)
        return even, (self.lows > most).astype(np.float64), (self.tops > most).astype(np.float64)

    def lost(self, most: int) -> tuple[Reals, Reals, Reals]:
        """For every cell how much each has more than that: if spread evenly, at least, and at most."""
        low, top = np.maximum(self.lows - most, 0.0), np.maximum(self.tops - most, 0.0)
        return self.over(most)[0] * (np.maximum(self.lows, most + 1) + self.tops - 2 * most) / 2, low, top

    def kept(self, most: int) -> tuple[Reals, Reals, Reals]:
        """For every cell how much of what each has is not more than that, in the same ways."""
        return (self.lows + self.tops) / 2 - self.lost(most)[0], np.minimum(self.lows, most), np.minimum(self.tops, most)


@dataclass(frozen=True, eq=False)
class Distribution:
    """How many persons have how many of something: noisy cells on a grid."""

    grid: Ranges
    counts: Counts

    @cached_property
    def smooth(self) -> Reals:
        """The cells that advice is made of: none is negative, all are 0 from where noise explains everything that follows, and
        the others have the sum that they had (the nearest such cells, as distributions are projected on a simplex)."""
        cells = self.counts.cells
        tails = cells[::-1].cumsum()[::-1]
        far = _SEEN * self.counts.spread.deviation * np.sqrt(np.arange(len(cells), 0, -1))
        some = np.flatnonzero(tails > far)
        kept = cells[: some[-1] + 1] if len(some) else cells[:0]
        found = np.zeros_like(cells)
        found[: len(kept)] = _project(kept)
        return found

    def lost(self, most: int) -> float:
        """How much persons have beyond that, as far as is seen."""
        return float(self.grid.lost(most)[0] @ self.smooth)

    def shares(self, most: int) -> tuple[float, float]:
        """Of persons who have more, and of what they have beyond it; as far as is seen."""
        everything = self.lost(0)
        persons = float(self.grid.over(most)[0] @ self.smooth) / max(float(self.smooth.sum()), 1e-300)
        return persons, self.lost(most) / everything if everything else 0.0

    def cut(self, what: str, most: int) -> dict[str, Interval]:
        """The same with intervals, which allow for all ways in which persons may be spread within a cell."""
        counts, over, lost = self.counts, self.grid.over(most), self.grid.lost(most)
        taken, left = _spread(counts, lost), _spread(counts, self.grid.kept(most))
        low, high = (taken[i] / max(taken[i] + left[j], 1e-300) for i, j in ((1, 2), (2, 1)))
        persons, much = self.shares(most) if self.smooth.any() else (math.nan, math.nan)
        return {
            "persons": _around(float(over[0] @ self.smooth), _spread(counts, over, _MISS)),
            "persons_share": _around(persons, share_of(_spread(counts, over), counts.everybody(_MISS / 2))),
            what: _around(self.lost(most), _spread(counts, lost, _MISS)),
            f"{what}_share": _around(much, (much, low, high) if left[1] else (much, 0.0, 1.0)),
        }


def _spread(counts: Counts, weights: tuple[Reals, Reals, Reals], miss: float = _MISS / 2) -> Interval:
    even, least, most = weights
    return counts.total(even, miss)[0], counts.total(least, miss)[1], counts.total(most, miss)[2]


def _around(best: float, found: Interval) -> Interval:
    """An interval with this estimate, which it is widened to."""
    _, low, high = found
    return (best, low, high) if math.isnan(best) else (best, min(low, best), max(high, best))


def _project(cells: Reals) -> Reals:
    """The nearest numbers with the same sum of which none is negative."""
    total = max(float(cells.sum()), 0.0)
    ordered = np.sort(cells)[::-1]
    less = (ordered.cumsum() - total) / np.arange(1, len(cells) + 1)
    kept = np.flatnonzero(ordered > less)
    return np.maximum(cells - less[kept[-1]], 0.0) if len(kept) else np.zeros_like(cells)
