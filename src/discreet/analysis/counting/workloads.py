"""Workloads: many linear questions of one histogram, each with a weight that says how much its error matters.

A workload is a matrix W, a row a question, a column a cell of a table of some ``shape`` (the last axis turning fastest), kept as
what it is: questions written out, all intervals of ordered cells, all prefixes, or margins. It knows public facts only, no
counts. What a choice among strategies needs of it is quadratic: |q^T K|^2 for every question q, where K K^T is the covariance of
estimated cells; and, where that is a sum of averages over the parts of a partition, what q has in common with each, squared.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.mechanisms.matrix.strategy import LARGEST, MOST_CELLS, sum_to

MOST_QUESTIONS = 2**20  # of which each has a variance of its own
MOST_WRITTEN = 2**22  # numbers of a workload that is written out

Axes = tuple[int, ...]


class Workload(ABC):
    """Linear questions of a table of counts, and their weights."""

    shape: tuple[int, ...]

    @property
    def cells(self) -> int:
        return math.prod(self.shape)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many questions there are."""

    @property
    @abstractmethod
    def mass(self) -> float:
        """The sum of all weights."""

    @property
    def weights(self) -> Reals:
        """The weight of every question."""
        return np.ones(self.size)

    @property
    def disjoint(self) -> bool:
        """Whether the questions are known to be the cells."""
        return False

    @abstractmethod
    def answer(self, counts: Reals) -> Reals:
        """W x."""

    @abstractmethod
    def written_out(self) -> Integers:
        """W itself."""

    @abstractmethod
    def gram(self) -> Reals:
        """W^T W, questions counting by weight."""

    @abstractmethod
    def spread(self, inverse: Reals) -> Reals:
        """|q^T K|^2 of every question, for a matrix K with a row a cell."""

    @abstractmethod
    def overlaps(self, shape: tuple[int, ...], axes: Axes) -> Reals:
        """For every question the squares, added up, of what it has in common with each part of a margin.

        The margin keeps these axes of a table of this shape, whose first cells are ours and whose others are empty."""

    def overlap(self, shape: tuple[int, ...], axes: Axes) -> float:
        """The overlaps of all questions, by weight."""
        return float(self.weights @ self.overlaps(shape, axes))

    def _check(self) -> None:
        if not self.shape or math.prod(whole("shape", side) for side in self.shape) > MOST_CELLS:
            raise ParameterError(f"A workload asks about a table of at least one axis and at most {MOST_CELLS:,} cells.")

    def _writable(self) -> None:
        if self.size * self.cells > MOST_WRITTEN:
            raise ParameterError("This workload is too large to be written out question by question.")


@dataclass(frozen=True, eq=False)
class Questions(Workload):
    """Questions that are written out, a row of whole numbers each.

    >>> Questions([[1, 1, 0], [0, 1, 1]]).answer(np.array([5.0, 6.0, 7.0])).tolist()
    [11.0, 13.0]
    """

    rows: Integers
    _weights: Reals
    shape: tuple[int, ...]

    def __init__(self, rows: object, weights: Iterable[float] | None = None, shape: tuple[int, ...] | None = None) -> None:
        try:
            given = np.array(rows)
        except ValueError:  # ragged
            given = np.zeros(0)
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iu" or not given.any(axis=1).all():
            raise ParameterError(
                "A workload is a matrix of whole numbers, a row a question, none of zeros alone; write [[1, 1, 0], [0, 1, 1]]."
            )
        if given.size > MOST_WRITTEN or int(np.abs(given).max()) > LARGEST:
            raise ParameterError("A workload that is written out has at most 2^22 whole numbers, none beyond 2^20 in size.")
        heavy = np.ones(len(given)) if weights is None else np.array([*weights], dtype=np.float64)
        if heavy.shape != (len(given),) or not (np.isfinite(heavy) & (heavy > 0)).all():
            raise ParameterError("Every question has one weight, a number above 0.")
        object.__setattr__(self, "rows", given.astype(np.int64))
        object.__setattr__(self, "_weights", heavy)
        object.__setattr__(self, "shape", shape or (given.shape[1],))
        if self.cells != given.shape[1]:
            raise ParameterError("The sides of a table, multiplied, are its number of cells.")
        self._check()

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def mass(self) -> float:
        return float(self._weights.sum())

    @property
    def weights(self) -> Reals:
        return self._weights

    def answer(self, counts: Reals) -> Reals:
        found: Reals = self.rows @ counts
        return found

    def written_out(self) -> Integers:
        return self.rows

    def gram(self) -> Reals:
        near = self.rows.astype(np.float64)
        found: Reals = near.T @ (self._weights[:, None] * near)
        return found

    def spread(self, inverse: Reals) -> Reals:
        found: Reals = ((self.rows.astype(np.float64) @ inverse) ** 2).sum(axis=1)
        return found

    def overlaps(self, shape: tuple[int, ...], axes: Axes) -> Reals:
        padded = np.zeros((self.size, math.prod(shape)))
        padded[:, : self.cells] = self.rows
        kept = sum_to(padded.reshape(self.size, *shape), (0, *(axis + 1 for axis in axes)))
        found: Reals = (kept.reshape(self.size, -1).astype(np.float64) ** 2).sum(axis=1)
        return found


class Intervals(Workload):
    """Runs of neighbouring cells, first to last; W^T W is a_i b_j for i <= j, with vectors a and b."""

    def __init__(self, cells: int) -> None:
        self.shape = (whole("cells", cells),)
        self._check()

    @cached_property
    def ends(self) -> tuple[Integers, Integers]:
        """The first and the last cell of every question."""
        if self.size > MOST_QUESTIONS:
            raise ParameterError(f"So many questions ({self.size:,}) have a mean error, and are not listed one by one.")
        return self._list()

    @abstractmethod
    def _list(self) -> tuple[Integers, Integers]: ...

    @abstractmethod
    def _covers(self) -> tuple[Reals, Reals]:
        """The vectors a and b."""

    @property
    def mass(self) -> float:
        return float(self.size)

    def answer(self, counts: Reals) -> Reals:
        first, last = self.ends
        sums: Reals = np.concatenate([[0.0], np.cumsum(counts)])
        return sums[last + 1] - sums[first]

    def written_out(self) -> Integers:
        self._writable()
        first, last = self.ends
        place = np.arange(self.cells)
        return ((first[:, None] <= place) & (place <= last[:, None])).astype(np.int64)

    def gram(self) -> Reals:
        a, b = self._covers()
        i = np.arange(self.cells)
        return a[np.minimum.outer(i, i)] * b[np.maximum.outer(i, i)]

    def spread(self, inverse: Reals) -> Reals:
        first, last = self.ends
        sums = np.zeros((self.cells + 1, self.cells + 1))
        sums[1:, 1:] = (inverse @ inverse.T).cumsum(axis=0).cumsum(axis=1)
        return sums[last + 1, last + 1] - sums[first, last + 1] - sums[last + 1, first] + sums[first, first]

    def overlaps(self, shape: tuple[int, ...], axes: Axes) -> Reals:
        first, last = self.ends
        block = _block(shape, axes)
        one, other = first // block, last // block
        apart = ((one + 1) * block - first) ** 2.0 + (other - one - 1.0) * block**2 + (last + 1 - other * block) ** 2.0
        return np.where(one == other, (last + 1 - first) ** 2.0, apart)

    def overlap(self, shape: tuple[int, ...], axes: Axes) -> float:
        """Over pairs of cells of one block: how many questions hold both."""
        block = _block(shape, axes)
        a, b = (np.pad(side, (0, -self.cells % block)).reshape(-1, block) for side in self._covers())
        return float((b * (2 * a.cumsum(axis=1) - a)).sum())


class Ranges(Intervals):
    """All intervals of ordered cells.

    >>> Ranges(3).answer(np.array([5.0, 6.0, 7.0])).tolist()
    [5.0, 11.0, 18.0, 6.0, 13.0, 7.0]
    """

    @property
    def size(self) -> int:
        return self.cells * (self.cells + 1) // 2

    def _list(self) -> tuple[Integers, Integers]:
        return np.triu_indices(self.cells)

    def _covers(self) -> tuple[Reals, Reals]:
        place = np.arange(self.cells, dtype=np.float64)
        return place + 1, self.cells - place


class Prefixes(Intervals):
    """The first cell, the first two, and so on to all: what a distribution function is made of."""

    @property
    def size(self) -> int:
        return self.cells

    def _list(self) -> tuple[Integers, Integers]:
        return np.zeros(self.cells, dtype=np.int64), np.arange(self.cells)

    def _covers(self) -> tuple[Reals, Reals]:
        return np.ones(self.cells), self.cells - np.arange(self.cells, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Marginals(Workload):
    """Every cell of some margins of a table; ``margins`` has the axes that are kept, and the weight of each cell of the margin.

    >>> weigh_alike((10, 10), [(), (0,), (1,), (0, 1)]).margins[()]
    1.0
    """

    shape: tuple[int, ...]
    margins: Mapping[Axes, float]

    def __post_init__(self) -> None:
        self._check()
        object.__setattr__(self, "margins", dict(self.margins))
        if not self.margins:
            raise ParameterError("A workload of margins has at least one; write {(0,): 1.0, (1,): 1.0}.")
        for axes, weight in self.margins.items():
            if list(axes) != sorted({*axes} & {*range(len(self.shape))}) or not 0 < weight < math.inf:
                raise ParameterError("A margin is its axes in order, with a weight above 0; write {(0,): 1.0, (0, 1): 0.1}.")

    def parts(self, axes: Axes) -> int:
        """How many cells a margin has."""
        return math.prod(self.shape[axis] for axis in axes)

    @property
    def size(self) -> int:
        return sum(map(self.parts, self.margins))

    @property
    def mass(self) -> float:
        return sum(self.parts(axes) * weight for axes, weight in self.margins.items())

    @property
    def weights(self) -> Reals:
        return self._level_by_level(self.margins)

    @property
    def disjoint(self) -> bool:
        return [*self.margins] == [tuple(range(len(self.shape)))]

    def _level_by_level(self, numbers: Mapping[Axes, float]) -> Reals:
        return np.repeat([float(numbers[axes]) for axes in self.margins], [self.parts(axes) for axes in self.margins])

    def split(self, answers: NDArray[np.generic]) -> dict[Axes, NDArray[np.generic]]:
        """Something of every question, as a table for every margin."""
        ends = np.cumsum([self.parts(axes) for axes in self.margins])[:-1]
        return {
            axes: part.reshape([self.shape[axis] for axis in axes])
            for axes, part in zip(self.margins, np.split(answers, ends), strict=True)
        }

    def answer(self, counts: Reals) -> Reals:
        table = counts.reshape(self.shape)
        return np.concatenate([sum_to(table, axes).ravel() for axes in self.margins])

    def written_out(self) -> Integers:
        self._writable()
        return np.concatenate([self._indicators(axes) for axes in self.margins])

    def _indicators(self, axes: Axes) -> Integers:
        found = np.ones((1, 1), dtype=np.int64)
        for axis, side in enumerate(self.shape):
            found = np.kron(found, np.eye(side, dtype=np.int64) if axis in axes else np.ones((1, side), dtype=np.int64))
        return found

    def gram(self) -> Reals:
        indicators = ((self._indicators(axes).astype(np.float64), weight) for axes, weight in self.margins.items())
        found: Reals = np.sum([weight * (one.T @ one) for one, weight in indicators], axis=0)
        return found

    def spread(self, inverse: Reals) -> Reals:
        table, last = inverse.reshape(*self.shape, -1), len(self.shape)
        sums = (sum_to(table, (*axes, last)).reshape(self.parts(axes), -1) for axes in self.margins)
        return np.concatenate([(one**2).sum(axis=1) for one in sums])

    def overlaps(self, shape: tuple[int, ...], axes: Axes) -> Reals:  # noqa: ARG002 - it is our own
        return self._level_by_level({kept: self._overlap(kept, axes) for kept in self.margins})

    def overlap(self, shape: tuple[int, ...], axes: Axes) -> float:  # noqa: ARG002
        return sum(self.parts(kept) * weight * self._overlap(kept, axes) for kept, weight in self.margins.items())

    def _overlap(self, kept: Axes, axes: Axes) -> float:
        """A cell of the one margin meets all parts of the other along the axes that only the other keeps, and has in each of them
        all cells along the axes that neither keeps."""
        meets = math.prod(side for axis, side in enumerate(self.shape) if axis in axes and axis not in kept)
        has = math.prod(side for axis, side in enumerate(self.shape) if axis not in axes and axis not in kept)
        return float(meets * has**2)


def weigh_alike(shape: tuple[int, ...], margins: Iterable[Axes]) -> Marginals:
    """Margins that weigh alike, however many cells they have: the sum over margins of the mean variance of their cells.

    Where a unit is in one cell and is added or removed, every margin measured alone with the whole budget would have the same
    variance, so this is also the sum of what each loses by being measured together with the others.
    """
    return Marginals(shape, {axes: 1 / math.prod(shape[axis] for axis in axes) for axes in margins})


def _block(shape: tuple[int, ...], axes: Axes) -> int:
    """The size of the blocks of neighbouring cells that a margin over the first axes is of."""
    assert axes == tuple(range(len(axes)))
    return math.prod(shape[len(axes) :])
