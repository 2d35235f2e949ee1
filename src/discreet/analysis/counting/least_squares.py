"""Least squares: what the noisy answers of a strategy say about cells and about any other linear question.

With A x + z measured, z independent with one variance v, the estimate A^+ (A x + z) of x is unbiased for everything that is a
combination of the rows of A, and among unbiased linear ones has the least variance (Gauss and Markov): v q^T (A^T A)^+ q for a
question q. That is post-processing, and free. Factorisations are computed once for a strategy, of which they are a public fact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from discreet.analysis.counting.lattice import Lattice
from discreet.analysis.counting.workloads import Workload
from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.mechanisms.matrix.strategy import Margins, Matrix, Strategy, sum_to


class LeastSquares(ABC):
    """Estimates from the answers of one strategy."""

    @abstractmethod
    def cells(self, noisy: NDArray[np.generic]) -> Reals:
        """An estimate of every cell; where the strategy does not determine them, the one of least size."""

    @abstractmethod
    def factors(self, workload: Workload) -> Reals:
        """The variance of every question's estimate, where a measured answer has variance 1."""

    @abstractmethod
    def total(self, workload: Workload) -> float:
        """The sum of these, by weight."""


class OfMatrix(LeastSquares):
    """By the pseudo-inverse of the matrix."""

    def __init__(self, strategy: Matrix) -> None:
        self._inverse: Reals = np.linalg.pinv(strategy.rows.astype(np.float64), rcond=1e-10)
        self._known: tuple[Workload, Reals] | None = None  # the last workload that was asked about

    def cells(self, noisy: NDArray[np.generic]) -> Reals:
        return self._inverse @ noisy.astype(np.float64)

    def factors(self, workload: Workload) -> Reals:
        if self._known is None or self._known[0] is not workload:
            self._known = workload, workload.spread(self._inverse)
        return self._known[1]

    def total(self, workload: Workload) -> float:
        return float(workload.weights @ self.factors(workload))


class OfMargins(LeastSquares):
    """In closed form: a sum of averages over the margins and their intersections."""

    def __init__(self, strategy: Margins) -> None:
        self._strategy = strategy
        self._lattice = Lattice.around(strategy.shape, [axes for axes, _ in strategy.levels])
        factors = dict(strategy.levels)
        measured = np.array([float(factors.get(axes, 0)) ** 2 for axes in self._lattice.sets])
        self._variances: Reals = 1 / self._lattice.precisions(measured)  # on each space
        self._shares: Reals = self._lattice.apart.T @ self._variances  # of each average in the covariance

    def cells(self, noisy: NDArray[np.generic]) -> Reals:
        strategy, lattice = self._strategy, self._lattice
        sides = [[side if axis in axes else 1 for axis, side in enumerate(strategy.shape)] for axes, _ in strategy.levels]
        ends = np.cumsum([math.prod(side) for side in sides])[:-1]
        table = np.zeros(strategy.shape)
        for (_, factor), side, part in zip(strategy.levels, sides, np.split(noisy.astype(np.float64), ends), strict=True):
            table += factor * part.reshape(side)
        found = np.zeros(strategy.shape)
        for axes, share, size in zip(lattice.sets, self._shares, lattice.sizes, strict=True):
            found += share / size * sum_to(table, axes)
        return found.ravel()[: strategy.cells]

    def factors(self, workload: Workload) -> Reals:
        self._check(workload)
        lattice = self._lattice
        found = np.zeros(workload.size)
        for axes, share, size in zip(lattice.sets, self._shares, lattice.sizes, strict=True):
            found += share / size * workload.overlaps(lattice.shape, axes)
        return found

    def total(self, workload: Workload) -> float:
        self._check(workload)
        return float(self._variances @ self._lattice.energies(workload))

    def _check(self, workload: Workload) -> None:
        if workload.cells != self._strategy.cells or (len(workload.shape) > 1 and workload.shape != self._lattice.shape):
            raise ParameterError("The workload and the strategy are about different tables.")


def least_squares(strategy: Strategy) -> LeastSquares:
    """Of a strategy that is written out, or of margins."""
    if isinstance(strategy, Margins):
        return OfMargins(strategy)
    return OfMatrix(Matrix(strategy.written_out()))
