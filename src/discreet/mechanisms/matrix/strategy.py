"""Strategies: linear questions measured of a histogram in place of those that are asked, and how far one unit moves them.

A strategy is a matrix A of whole numbers, a row a question, a column a cell of the histogram x; what is measured is A x. It is
kept as its rows (``Matrix``), or as margins of a table with a whole factor each (``Margins``), of which a tree of ever finer
intervals is one: its levels are the margins over the first digits of a cell's number. Where several cells of x are always asked
about together they are added up first (``Merged``).

**Sensitivity.** One unit contributes to x a vector v of the body K = {v >= 0, every v_i <= r, their sum <= r m}: a row is in one
cell (r = m = 1), a person weighs r together (m = 1, all of it in one cell at worst), or at most r in each of m cells. The norm of
A v is convex, so it is largest in a corner of K, which is r in each of at most m cells. When a unit is added or removed, x moves
by v; when it is replaced, by a difference of two, whose corners are r (1_S - 1_T) for disjoint sets S, T of at most m cells,
either of them possibly empty. With columns a_j, G = A^T A, and all norms times r:

* m = 1, exactly: the largest ||a_j||; replaced, also the largest ||a_i - a_j||.
* m > 1, from above, by columns: in L1 the m largest ||a_j|| added up; in L2, squared, the m largest t_j added up, where t_j is
  the sum of the m largest positive numbers in row j of G. Or by rows: the largest size that m entries of one sign add up to, and
  these sizes, or their squares, added up. The smaller of the two counts.
* replaced, from above, by columns: twice that in L1; in L2, squared, twice that and twice the same of -G, so that the norm is
  sqrt(2) times as large where no two columns are more than at right angles. Or by rows: m positive and m negative entries.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.schema.sensitivity import Neighbours, check_neighbours

MOST_CELLS = 2**20  # of a histogram that is measured
MOST_ENTRIES = 2**24  # of a matrix that is written out
LARGEST = 2**20  # entry or factor: squares of 2^20 of them add up to at most 2^60
_PAIRS = 2**22  # pairs of columns that are compared
_PAIRED = 2**27  # the same, entry by entry


@dataclass(frozen=True)
class Contribution:
    """What one unit adds to a histogram: at most ``weight`` in each of at most ``cells`` cells; and what becomes of it."""

    weight: int = 1
    cells: int = 1
    neighbours: Neighbours = "add-remove"

    def __post_init__(self) -> None:
        for name in ("weight", "cells"):
            whole(name, getattr(self, name))
        check_neighbours(self.neighbours)

    @property
    def replaced(self) -> bool:
        return self.neighbours == "replace"


class Strategy(ABC):
    """Whole-numbered linear questions of a histogram of ``cells`` cells."""

    cells: int

    @property
    @abstractmethod
    def size(self) -> int:
        """How many questions are measured."""

    @property
    @abstractmethod
    def largest(self) -> int:
        """The largest size of a factor."""

    @abstractmethod
    def answer(self, counts: NDArray[np.generic]) -> NDArray[np.generic]:
        """A x, exactly: in int64 where everything surely fits, else in Python's own integers."""

    @abstractmethod
    def written_out(self) -> Integers:
        """The matrix."""

    @abstractmethod
    def l1(self, one: Contribution) -> int:
        """How far one unit moves the answers in L1 norm, at most."""

    @abstractmethod
    def square(self, one: Contribution) -> int:
        """The square of how far one unit moves the answers in L2 norm, at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Matrix(Strategy):
    """Questions written out, a row each; entries are whole numbers of at most 2^20 in size.

    >>> Matrix([[1, 1, 1], [1, 0, 0]]).l1(Contribution())
    2
    """

    rows: Integers
    cells: int

    def __init__(self, rows: object) -> None:
        try:
            given = np.array(rows)
        except ValueError:  # ragged
            given = np.zeros(0)
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iu":
            raise ParameterError("A strategy is a matrix of whole numbers, a row a question; write [[1, 1, 1], [1, 0, 0]].")
        if given.size > MOST_ENTRIES or len(given) > MOST_CELLS or int(given.max()) > LARGEST or int(given.min()) < -LARGEST:
            raise ParameterError(
                "A strategy that is written out has at most 2^20 questions and 2^24 whole numbers, none beyond 2^20 in size."
            )
        if not given.any():
            raise ParameterError("A strategy of zeros alone measures nothing; write [[1, 1, 1], [1, 0, 0]].")
        own = np.ascontiguousarray(given, dtype=np.int64)
        own.setflags(write=False)
        object.__setattr__(self, "rows", own)
        object.__setattr__(self, "cells", own.shape[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and np.array_equal(self.rows, other.rows)

    def __hash__(self) -> int:
        return hash((self.rows.shape, self.rows.tobytes()))

    def __repr__(self) -> str:
        return f"Matrix({self.size:,} questions of {self.cells:,} cells)"

    def __reduce__(self) -> tuple[type[Matrix], tuple[Integers]]:
        return Matrix, (self.rows,)

    @property
    def size(self) -> int:
        return len(self.rows)

    @property
    def largest(self) -> int:
        return int(np.abs(self.rows).max())

    def written_out(self) -> Integers:
        return self.rows

    def answer(self, counts: NDArray[np.generic]) -> NDArray[np.generic]:
        fitting = _fitting(counts, int(np.abs(self.rows).sum(axis=1).max()))
        answers: NDArray[np.generic] = np.dot(self.rows, fitting)
        return answers

    @cached_property
    def _gram(self) -> Integers:
        """A^T A; in doubles where all sums stay below 2^53 and so are exact in any order."""
        if int(np.abs(self.rows).max()) ** 2 * self.size < 2**53:
            near = self.rows.astype(np.float64)
            return (near.T @ near).astype(np.int64)
        return self.rows.T @ self.rows

    def l1(self, one: Contribution) -> int:
        norms = np.abs(self.rows).sum(axis=0)
        many = min(one.cells, self.cells)
        if many == 1 and not one.replaced:
            return one.weight * int(norms.max())
        up, down = self._reaches(many)
        if not one.replaced:
            return one.weight * min(_largest(norms, many), int(np.maximum(up, down).sum()))
        far = min(2 * _largest(norms, many), int((up + down).sum()))
        if many == 1 and self.size * self.cells**2 <= _PAIRED:
            apart = (np.abs(self.rows - column[:, None]).sum(axis=0).max() for column in self.rows.T)
            far = max(int(norms.max()), *map(int, apart))
        return one.weight * far

    def square(self, one: Contribution) -> int:
        squares = (self.rows**2).sum(axis=0)
        many = min(one.cells, self.cells)
        if many == 1 and not one.replaced:
            return one.weight**2 * int(squares.max())
        up, down = self._reaches(many)
        by_rows = sum(int(x) ** 2 for x in (up + down if one.replaced else np.maximum(up, down)))
        if self.cells**2 > _PAIRS:
            apart = 1 if not one.replaced else 2 if not down.any() else 4
            return one.weight**2 * min(by_rows, apart * many * _largest(squares, many))  # Cauchy and Schwarz
        gram = self._gram
        if many == 1:
            pairs = squares[:, None] + squares[None, :] - 2 * gram
            return one.weight**2 * max(int(pairs.max()), int(squares.max()))
        far = _of_sets(gram, many)
        if one.replaced:
            far = 2 * far + 2 * _of_sets(-gram, many)
        return one.weight**2 * min(by_rows, far)

    def _reaches(self, many: int) -> tuple[Integers, Integers]:
        """For every row the most that ``many`` of its positive entries add up to, and of its negative ones, in size."""
        up, down = (np.partition(np.maximum(rows, 0), -many, axis=1)[:, -many:].sum(axis=1) for rows in (self.rows, -self.rows))
        return up, down


@dataclass(frozen=True)
class Margins(Strategy):
    """Margins of a table, each times a whole ``factor``: ``levels`` are pairs of the axes that are kept, and the factor.

    The table has ``shape``; of its cells, in the order in which the last axis turns fastest, the first ``cells`` are those of the
    histogram, and the others are empty. Answers stand level by level, each in the same order.

    >>> Margins((2, 2), (((), 3), ((0, 1), 1))).written_out().tolist()
    [[3, 3, 3, 3], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    """

    shape: tuple[int, ...]
    levels: tuple[tuple[tuple[int, ...], int], ...]
    cells: int = 0  # all of them, if not told

    most: ClassVar[int] = MOST_CELLS

    def __post_init__(self) -> None:
        every = math.prod(whole("shape", side) for side in self.shape)
        object.__setattr__(self, "cells", self.cells or every)
        if not 0 < self.cells <= every <= self.most:
            raise ParameterError(f"A table that is measured has at most {self.most:,} cells, and this one has {every:,}.")
        for axes, factor in self.levels:
            if list(axes) != sorted({*axes} & {*range(len(self.shape))}) or not 1 <= whole("factor", factor) <= LARGEST:
                raise ParameterError("A margin is its axes in order, and a whole factor from 1 to 2^20; write ((0, 1), 1).")
        if not self.levels or len({axes for axes, _ in self.levels}) < len(self.levels):
            raise ParameterError("A strategy of margins has at least one of them, and each once.")

    def parts(self, axes: tuple[int, ...]) -> int:
        """How many cells a margin has."""
        return math.prod(self.shape[axis] for axis in axes)

    @property
    def size(self) -> int:
        return sum(self.parts(axes) for axes, _ in self.levels)

    @property
    def largest(self) -> int:
        return max(factor for _, factor in self.levels)

    def written_out(self) -> Integers:
        if self.size * self.cells > MOST_ENTRIES:
            raise ParameterError("This strategy is too large to be written out.")
        found = [self.answer(column) for column in np.eye(self.cells, dtype=np.int64)]
        return np.array(found, dtype=np.int64).T

    def answer(self, counts: NDArray[np.generic]) -> NDArray[np.generic]:
        fitting = _fitting(counts, max(factor for _, factor in self.levels) * self.cells)
        table = np.zeros(math.prod(self.shape), dtype=fitting.dtype)
        table[: self.cells] = fitting
        return np.concatenate([sum_to(table.reshape(self.shape), axes).ravel() * factor for axes, factor in self.levels])

    def l1(self, one: Contribution) -> int:
        """Every level moves by its factor for every cell; replaced, twice, but for a level of one part, which moves by the
        difference of two contributions."""
        added = sum(factor for _, factor in self.levels)
        apart = 2 * sum(factor for axes, factor in self.levels if self.parts(axes) > 1)
        return one.weight * min(one.cells, self.cells) * (max(added, apart) if one.replaced else added)

    def square(self, one: Contribution) -> int:
        """A level whose parts have s cells moves furthest where m cells fill as few parts as they can; replaced by b cells
        elsewhere, by at most min(s, m) b more, or, if it has one part, down to (m - b)^2: convex in b, so b is 0 or m."""
        many = min(one.cells, self.cells)
        added = apart = 0
        for axes, factor in self.levels:
            part = math.prod(self.shape) // self.parts(axes)
            filled = many // part * part**2 + (many % part) ** 2
            added += factor**2 * filled
            apart += factor**2 * (filled + min(part, many) * many) if self.parts(axes) > 1 else 0
        return one.weight**2 * (max(added, apart) if one.replaced else added)


@dataclass(frozen=True, eq=False, repr=False)
class Merged(Strategy):
    """A strategy for fewer cells than are counted: ``places`` says for every counted cell where it is added, -1 for nowhere.

    A unit adds at most ``weight`` times ``cells`` to all merged cells together, all of it to one of them at worst.

    >>> Merged(Matrix([[1, 0], [1, 1]]), np.array([0, 1, 1, -1])).written_out().tolist()
    [[1, 0, 0, 0], [1, 1, 1, 0]]
    """

    strategy: Strategy
    places: Integers
    cells: int

    def __init__(self, strategy: Strategy, places: Integers) -> None:
        own = np.array(places, dtype=np.int64)
        if own.ndim != 1 or not 0 < own.size <= MOST_CELLS or int(own.min()) < -1 or int(own.max()) >= strategy.cells:
            raise ParameterError(f"Each of at most {MOST_CELLS:,} counted cells has a place in the strategy, or -1 for none.")
        own.setflags(write=False)
        object.__setattr__(self, "strategy", strategy)
        object.__setattr__(self, "places", own)
        object.__setattr__(self, "cells", own.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Merged) and self.strategy == other.strategy and np.array_equal(self.places, other.places)

    def __hash__(self) -> int:
        return hash((self.strategy, self.places.tobytes()))

    def __repr__(self) -> str:
        return f"Merged({self.strategy}, {self.cells:,} cells)"

    def __reduce__(self) -> tuple[type[Merged], tuple[Strategy, Integers]]:
        return Merged, (self.strategy, self.places)

    @property
    def size(self) -> int:
        return self.strategy.size

    @property
    def largest(self) -> int:
        return self.strategy.largest

    def written_out(self) -> Integers:
        padded = np.pad(self.strategy.written_out(), ((0, 0), (0, 1)))
        return padded[:, self.places]  # the last column, which is at -1, is of zeros

    def answer(self, counts: NDArray[np.generic]) -> NDArray[np.generic]:
        fitting = _fitting(counts, self.cells)
        merged = np.zeros(self.strategy.cells, dtype=fitting.dtype)
        np.add.at(merged, self.places[self.places >= 0], fitting[self.places >= 0])
        return self.strategy.answer(merged)

    def l1(self, one: Contribution) -> int:
        return self.strategy.l1(self._together(one))

    def square(self, one: Contribution) -> int:
        return self.strategy.square(self._together(one))

    def _together(self, one: Contribution) -> Contribution:
        return Contribution(one.weight * min(one.cells, self.cells), 1, one.neighbours)


def sum_to(table: NDArray[np.generic], axes: tuple[int, ...]) -> NDArray[np.generic]:
    """A table summed over all axes but these; they keep their places, with one cell each for the others."""
    found: NDArray[np.generic] = table.sum(axis=tuple(axis for axis in range(table.ndim) if axis not in axes), keepdims=True)
    return found


def _fitting(counts: NDArray[np.generic], most: int) -> NDArray[np.generic]:
    """The counts in int64 if ``most`` times the largest of them fits, else as Python's integers: answers are the same."""
    if counts.dtype == np.int64 and max(int(counts.max()), -int(counts.min())) * most < 2**63:
        return counts
    return counts.astype(object)


def _largest(numbers: Integers, many: int) -> int:
    """The sum of the ``many`` largest."""
    return sum(np.partition(numbers, -many)[-many:].tolist())


def _of_sets(gram: Integers, many: int) -> int:
    """At least what 1_S^T G 1_T is for any two sets of at most ``many`` columns."""
    largest = np.partition(np.maximum(gram, 0), -many, axis=1)[:, -many:]
    roomy = int(largest.max()) * many < 2**63
    return sum(sorted(largest.sum(axis=1, dtype=np.int64 if roomy else object).tolist())[-many:])
