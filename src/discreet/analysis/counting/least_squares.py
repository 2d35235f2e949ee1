"""Least squares: what the noisy answers of a strategy say about cells and about any other linear question.

With A x + z measured, z independent with one variance v, the estimate A^+ (A x + z) of x is unbiased for everything that is a
combination of the rows of A, and among unbiased linear ones has the least variance (Gauss and Markov): v q^T (A^T A)^+ q for a
question q. That is post-processing, and free. Factorisations are computed once for a strategy, of which they are a public fact.

**How far off.** An estimate is a sum of independent noises, sum a_i X_i. Gaussian noise makes it Gaussian.

**Theorem.** No sum of Laplace noises with standard deviation 1 is ln(20) / sqrt(2) = t or further from 0 with a probability of
more than 0.05, which is what a single one needs. Let p_1 >= p_2 >= ... be the shares of its variance.

* *p_1 >= 0.7.* With k = sqrt(2 / p_1), P(|L + x| >= t) <= e^-kt cosh(kx) for the largest noise L and every x: below t that is
  its law, and from t on cosh(k (x - t)) >= 1. So the probability is at most e^-kt prod 1 / (1 - p_i / p_1), i > 1, which is
  largest where one p_i is all the rest: e^-kt p_1 / (2 p_1 - 1). The logarithm of that is convex in p_1; at 0.7 it is
  ln 0.0488, at 1 ln 0.05.
* *p_1 <= 0.7.* Laplace noise is normal with a variance that is exponential: the probability is E h(W) with W = sum p_i E_i,
  h(w) = P(|Z| >= t / sqrt w). h is convex up to t^2 / 3 and concave beyond; let H be h up to there and the tangent beyond. H is
  convex and nowhere below h, so E h(W) <= E H(W), which is larger the less even the p_i are (Marshall, Olkin 1979, 3.C): at
  most that of 0.7 E_1 + 0.3 E_2, which is below 0.0472.

Noises are whole units: q^|x| at x, q = e^(-1/s). Spread evenly over its unit, such a noise is more peaked around 0 than Laplace
noise of scale 1 / (2 tanh(1 / 2s)), beyond every distance, and since all are symmetric and unimodal so are sums of them (Birnbaum
1948): intervals are at least t deviations of *that* noise. The lattice itself is allowed for by half a unit, or half of what the
noises weigh together if that is less, beside t of their own deviations; for one noise that covers, for sums it is the usual
correction for continuity, and no theorem.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.analysis.counting.lattice import Lattice
from discreet.analysis.counting.workloads import Workload
from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, Laplace
from discreet.mechanisms.matrix.strategy import Margins, Matrix, Strategy, sum_to

_NORMAL = NormalDist().inv_cdf(0.975)
_LAPLACE = math.log(20) / math.sqrt(2)


def half_widths(noise: Laplace | Gaussian, factors: Reals) -> Reals:
    """Half-widths of 95 % intervals, in units, of sums of noises with these sums of squared weights."""
    weights = np.sqrt(factors)
    deviations, lattice = weights * math.sqrt(noise.variance), np.minimum(weights, 1.0) / 2
    if isinstance(noise, Gaussian):
        return np.asarray(_NORMAL * deviations + lattice)
    raised = 1 / (math.sqrt(2) * math.tanh(1 / (2 * float(noise.scale))))  # of the noise that is less peaked
    return np.asarray(np.maximum(_LAPLACE * deviations + lattice, _LAPLACE * raised * weights))


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
