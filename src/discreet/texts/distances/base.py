"""A distance between the items of a vocabulary: public, and in whole steps of a public unit.

Items stand on *levels* around each item: level 0 holds the item itself, level l is ``steps[l]`` steps away. A law that depends on
the distance alone is then a law over levels, of which there are few, and uniform within each: that is what makes it quick to
draw exactly. Every distance here obeys the triangle inequality, in whole steps, by its construction or because it was checked.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.texts.vocabulary import Vocabulary

Levels = NDArray[np.uint8] | NDArray[np.uint16]
_CELLS = 2**22  # of a block of rows in memory
_FEW = 3  # levels on which it is quicker to look for items than to sort them all


class Distance(ABC):
    """How far apart the items of a vocabulary are. Symmetric, 0 from each item to itself, with the triangle inequality."""

    kind: ClassVar[str]
    vocabulary: Vocabulary
    unit: Fraction
    """The distance of one step."""

    @property
    @abstractmethod
    def steps(self) -> Integers:
        """How many steps away each level is, rising from 0."""

    @property
    def diameter(self) -> Fraction:
        """No two items are further apart."""
        return self.unit * int(self.steps[-1])

    @property
    def size(self) -> int:
        """How many items there are."""
        return self.vocabulary.size

    @property
    def block(self) -> int:
        """For how many items rows are held in memory at a time."""
        return max(1, _CELLS // self.size)

    @abstractmethod
    def rows(self, codes: Integers) -> Levels:
        """On which level of each of these items every item stands: a row a code."""

    def near(self, codes: Integers) -> Near:
        """What stands around these items."""
        rows = self.rows(codes)
        counts = np.array([np.bincount(row, minlength=self.steps.size) for row in rows]).reshape(codes.size, self.steps.size)
        return Rows(counts, rows)

    def best(self, scores: Reals, weights: Reals) -> Reals:
        """For each item y, the largest ``scores[x] * weights[level of y around x]`` over all items x; weights do not rise."""
        found = np.zeros(self.size)
        for start in range(0, self.size, self.block):
            here = np.arange(start, min(start + self.block, self.size))
            for score, row in zip(scores[here].tolist(), self.rows(here), strict=True):
                if score > 0:
                    np.maximum(found, score * weights[row], out=found)
        return found

    def distance(self, one: str, other: str) -> Fraction:
        """How far apart two items are."""
        places = [self.vocabulary.codes.get(item) for item in (one, other)]
        if None in places:
            raise ParameterError("Distances are between items of the vocabulary, and one of these is none.")
        level = int(self.rows(np.array(places[:1], dtype=np.int64))[0, places[1]])
        return self.unit * int(self.steps[level])

    @property
    @abstractmethod
    def facts(self) -> dict[str, object]:
        """The distance as JSON; the vocabulary stands beside it."""

    @classmethod
    @abstractmethod
    def from_facts(cls, vocabulary: Vocabulary, facts: dict[str, object]) -> Distance:
        """The distance that ``facts`` described."""


class Near(ABC):
    """What stands around a block of items."""

    counts: Integers
    """How many items stand on each level: a row an item of the block."""

    @abstractmethod
    def pick(self, places: Integers, levels: Integers, ranks: Integers) -> Integers:
        """The items of these ranks on these levels around these items of the block; ``places`` rise."""


@dataclass(frozen=True, eq=False)
class Rows(Near):
    """The same with every level written out; items on a level are in the order of their codes."""

    counts: Integers
    rows: Levels

    def pick(self, places: Integers, levels: Integers, ranks: Integers) -> Integers:
        found = np.empty(places.size, dtype=np.int64)
        starts = np.searchsorted(places, np.arange(len(self.rows) + 1))
        for place in np.unique(places).tolist():
            here = slice(starts[place], starts[place + 1])
            row, level, rank = self.rows[place], levels[here], ranks[here]
            different = set(level.tolist())
            if len(different) <= _FEW:
                there = {one: np.flatnonzero(row == one) for one in different}
                found[here] = [there[one][other] for one, other in zip(level.tolist(), rank.tolist(), strict=True)]
            else:
                before = np.cumsum(self.counts[place]) - self.counts[place]
                found[here] = np.argsort(row, kind="stable")[before[level] + rank]
        return found


def check_unit(unit: Fraction) -> Fraction:
    """A step that is above 0."""
    if unit <= 0:
        raise ParameterError("unit must be above 0: it is the distance of one step; write unit=1.")
    return unit
