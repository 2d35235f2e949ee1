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

**Theorem.** Noises are whole units: X has probability q^|x| at x, up to a factor, q = e^(-1/s). Let c = tanh(1 / 2s), and L be
Laplace noise of scale 1 / (2 c), which is above s. Then D = sum a_i X_i is further from 0 than t sqrt(v) + l with a probability
of at most 0.05, where v is the variance of sum a_i L_i, w^2 = sum a_i^2, and l = 0.53 w; or l = 1/2 where every a_i is -1, 0 or
1.

*Spread evenly*, X + U with U even on [-1/2, 1/2] is more peaked around 0 than L, beyond every distance; all are symmetric and
unimodal, and so sums of them are more peaked too (Birnbaum 1948). So the theorem above holds for D + V, V = sum a_i U_i, with
v.

* *Weights of 1.* q^|x| is log-concave on the whole numbers, and so is the law of D; D + U_1 has a unimodal density, and is more
  peaked than D + V (Anderson 1955). With m the first whole number above t sqrt(v) + 1/2, P(|D| >= m) = P(|D + U_1| >= m - 1/2)
  <= P(|D + V| >= t sqrt(v)) <= 0.05.
* *p_1 >= 0.7.* For k = 2 c / a_1 and every x, P(|a_1 X_1 + x| >= h) <= e^-k(h - a_1/2) cosh(kx). For since q = (1 - c) / (1 +
  c) <= e^-2c and 1 / (1 + q) = (1 + c) / 2 <= e^c / 2, P(X >= y) = q^m / (1 + q) <= e^-2c(y - 1/2) / 2, where m >= 0 is the
  first whole number that is not below y: so much for |x| <= h. From h on, with j the whole part of (x - h) / a_1, the one side
  has 1 - q^(j+1) / (1 + q), which is at most e^c(2j+1) / 2, because e^c(2j+1) >= 1 + c(2j+1), and (1-c)^(j+1) (1+c)^-j, convex
  in c, >= 1 - c(2j+1). The other noises have E cosh(k a X) <= E cosh(k a (X + U)) <= E cosh(k a L). So D is as far off as the
  first case above allows at a distance that is a_1 / 2 <= w / 2 less.
* *p_1 <= 0.7.* With d = 0.53 w, P(|D| >= h) P(V >= -d) <= P(|D + V| >= h - d), V being symmetric and independent: at most
  0.0472 for h - d = t sqrt(v). V is unimodal, so P(|V| >= d) <= (3/4)^3 E|V|^3 / d^3 (Winkler 1866), and E|V|^3 is at most that
  of normal V, which is 1.596 (w^2 / 12)^(3/2): |x + z|^3 + |x - z|^3 is convex in z^2, and an even U has a z^2 that a normal
  one of the same mean spreads out, one U after the other. Hence P(V < -d) <= 0.0544, and 0.0472 / (1 - 0.0544) < 0.05. QED
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
_LATTICE = 0.53  # of the weight of noises that are whole numbers


def half_widths(noise: Laplace | Gaussian, factors: Reals, *, plain: bool = False) -> Reals:
    """Half-widths of 95 % intervals, in units, of sums of noises with these sums of squared weights; ``plain``: weights of 1.
    Gaussian noise on whole numbers is as good as normal, but for half a unit."""
    weights = np.sqrt(factors)
    half = np.minimum(weights, 1.0) / 2
    if isinstance(noise, Gaussian):
        return np.asarray(_NORMAL * math.sqrt(noise.variance) * weights + half)
    raised = 1 / (math.sqrt(2) * math.tanh(1 / (2 * float(noise.scale))))  # the deviation of L
    return np.asarray(_LAPLACE * raised * weights + (half if plain else _LATTICE * weights))


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
