"""Bins: every feature as one list of cells, cut by its public facts, and joined later by counts that were paid for.

A number has runs of equal width between its bounds, a list one cell a value, and whatever may be missing a last cell of its
own. Which neighbouring runs are joined is decided by noisy counts alone, so that every run that is told apart holds more rows
than noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.exact import nearest
from discreet.learn.features import Feature
from discreet.mechanisms.rows.block import MISSING, Columns

_MOST = 2**20  # cells of all features together


@dataclass(frozen=True)
class Bins:
    """The cells of every feature, one list after the other.

    >>> bins = Bins((Feature("age", steps=100), Feature("drug", values=("a", "b"), missing=0)), 4)
    >>> bins.sizes, bins.code({"0": np.array([0, 100, MISSING]), "1": np.array([0, 1, 0])}).tolist()
    ((5, 2), [[0, 0], [3, 1], [4, 0]])
    """

    features: tuple[Feature, ...]
    most: int  # runs of a number

    def __post_init__(self) -> None:
        if isinstance(self.most, bool) or not isinstance(self.most, int) or not 2 <= self.most <= 1024:
            raise ParameterError("bins= says into how many runs a number is cut at most, from 2 to 1024; write bins=64.")
        if self.total > _MOST:
            raise ParameterError(f"{len(self.features):,} features have {self.total:,} bins, too many; write fewer, bins=8.")

    def runs(self, feature: Feature) -> int:
        """The cells of what is not missing."""
        return len(feature.values) if feature.values is not None else min(self.most, feature.steps + 1)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(self.runs(one) + (one.missing is None) for one in self.features)

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @cached_property
    def offsets(self) -> Integers:
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def owner(self) -> Integers:
        """The feature of every cell."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def code(self, columns: Columns) -> Integers:
        """The cell of every feature, one line a row."""
        made = np.empty((len(columns["0"]), len(self.features)), dtype=np.int64)
        for j, feature in enumerate(self.features):
            codes, runs = np.asarray(columns[str(j)], dtype=np.int64), self.runs(feature)
            places = codes if feature.values is not None else _run(codes, runs, feature.steps)
            made[:, j] = np.where(codes == MISSING, self.sizes[j] - 1, np.clip(places, 0, runs - 1))
        return made

    def edges(self, place: int) -> list[float]:
        """Where the runs of a number begin, and where the last one ends."""
        feature = self.features[place]
        runs = self.runs(feature)
        first = -(-np.arange(runs) * (feature.steps + 1) // runs)
        low, width = nearest(feature.lower), nearest(feature.upper - feature.lower) / feature.steps
        return [*(low + width * first).tolist(), nearest(feature.upper)]

    def names(self, place: int) -> list[str]:
        """What the cells of a feature are called."""
        feature = self.features[place]
        if feature.values is not None:
            found = [str(one) for one in feature.values]
        else:
            edges = self.edges(place)
            found = [f"from {low:g}" for low in edges[:-1]]
        return found + ["missing"] * (self.sizes[place] - len(found))

    def join(self, counts: Reals, least: float) -> Joined:
        """Neighbouring runs joined until each has so many by these noisy counts; values of lists are left apart."""
        places = np.empty(self.total, dtype=np.int64)
        sizes: list[int] = []
        for feature, size, offset in zip(self.features, self.sizes, self.offsets.tolist(), strict=True):
            runs = self.runs(feature)
            found = np.arange(size)
            if feature.values is None:
                found[:runs] = _join(counts[offset : offset + runs], least)
                found[runs:] = found[runs - 1] + 1
            places[offset : offset + size] = found + sum(sizes)
            sizes.append(int(found[-1]) + 1)
        return Joined(places, tuple(sizes))


@dataclass(frozen=True, eq=False)
class Joined:
    """Which cells are one: the place of each, and how many each feature has left."""

    places: Integers
    sizes: tuple[int, ...]

    @property
    def total(self) -> int:
        return sum(self.sizes)

    @cached_property
    def owner(self) -> Integers:
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def many(self) -> Reals:
        """The cells that were joined into each."""
        return np.bincount(self.places, minlength=self.total).astype(np.float64)

    def sum(self, lines: Reals) -> Reals:
        """Sums over the cells that were joined, line by line."""
        return np.stack([np.bincount(self.places, line, self.total) for line in lines])

    def by_feature(self, values: Reals) -> Reals:
        """Sums over the cells of each feature."""
        return np.bincount(self.owner, values, len(self.sizes)).astype(np.float64)


def _run(codes: Integers, runs: int, steps: int) -> Integers:
    """The run of each number, in whole numbers."""
    if steps < 2**40:
        return codes * runs // (steps + 1)
    return np.minimum((codes / (steps + 1) * runs).astype(np.int64), runs - 1)


def _join(counts: Sequence[float] | Reals, least: float) -> Integers:
    """The place of each run when those with too little are joined to what follows, and the rest to what was before."""
    found, place, sofar = np.empty(len(counts), dtype=np.int64), 0, 0.0
    for i, count in enumerate(counts):
        found[i] = place
        sofar += float(count)
        if sofar >= least:
            place, sofar = place + 1, 0.0
    return np.minimum(found, max(place - 1, 0)) if place else found
