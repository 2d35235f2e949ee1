"""The matrix mechanism: counts measured by a strategy of linear questions, with the same noise on each.

**Theorem** (Li, Hay, Rastogi, Miklau, McGregor 2010). Let x be a histogram, A a matrix of whole numbers, and let A x move between
neighbours by at most D in L1 norm, or in L2. Then A x + noise, Laplace of scale D / epsilon or Gaussian of standard deviation
D / sqrt(2 rho) in every coordinate, is epsilon-private, or rho-zCDP, for these neighbours, and so is everything that is computed
of it: estimates of any other linear question, by least squares. It is the Laplace or the Gaussian mechanism applied to A x.

**Sensitivity.** Neighbours differ by what one unit contributes to x, at most ``weight`` in each of at most ``cells`` cells, which
is added or removed, or replaced by another unit's. ``strategy`` has D for each of these, with its proof; D is computed from A in
whole numbers, and where it is a square root it is rounded up.

A question measured with twice the factor has half the noise, and a unit moves it twice as far: the factors in a strategy share
out its cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import root_up
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.matrix.strategy import Contribution, Matrix, Strategy
from discreet.mechanisms.values import Value, read_numbers
from discreet.privacy import Privacy, pure
from discreet.privacy.losses import Gaussian as GaussianLoss
from discreet.schema.sensitivity import Neighbours

_LAST = np.iinfo(np.int64)


@called_as("strategy=[[1, 1], [1, 0]], epsilon=1")
@dataclass(frozen=True, init=False)
class Linear(Mechanism):
    """Measures a histogram by a strategy: with Laplace noise for ``epsilon``, Gaussian for ``epsilon`` and ``delta``, or ``rho``.

    >>> total_and_first = Linear(strategy=[[1, 1, 1], [1, 0, 0]], epsilon=1)
    >>> total_and_first.sensitivity, len(total_and_first.release([500, 300, 200]))
    (2, 2)
    """

    strategy: Strategy
    contribution: Contribution
    sensitivity: int | Fraction
    noise: Laplace | Gaussian  # as it is drawn, on whole numbers

    def __init__(
        self,
        *,
        strategy: object,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        weight: int = 1,
        cells: int = 1,
        neighbours: Neighbours = "add-remove",
    ) -> None:
        measured = strategy if isinstance(strategy, Strategy) else Matrix(strategy)
        one = Contribution(weight, cells, neighbours)
        self._fill(strategy=measured, contribution=one)
        if epsilon is not None and delta is None and rho is None:
            law = Laplace(sensitivity=measured.l1(one), epsilon=epsilon, neighbours=neighbours)
            self._fill(sensitivity=law.sensitivity, noise=law)
        elif (epsilon is None) == (delta is None) != (rho is None):
            norm = root_up(Fraction(measured.square(one)))
            sigma = root_up(Gaussian(sensitivity=norm, epsilon=epsilon, delta=delta, rho=rho).squared_sigma)
            drawn = Gaussian(sensitivity=math.ceil(norm), sigma=sigma, neighbours=neighbours)
            self._fill(sensitivity=int(norm) if norm.denominator == 1 else norm, noise=drawn)
        else:
            raise ParameterError(
                "Linear takes epsilon, or epsilon with delta, or rho, and one of the three only; "
                "write Linear(strategy=[[1, 1], [1, 0]], epsilon=1)."
            )

    @property
    def privacy(self) -> Privacy:
        """That of the noise, at the exact sensitivity."""
        if isinstance(self.noise, Laplace):
            return self.noise.privacy
        return Privacy.of(GaussianLoss(Fraction(self.sensitivity) ** 2 / self.noise.squared_sigma), self.contribution.neighbours)

    @property
    def variance(self) -> float:
        """The variance of one measured answer."""
        return self.noise.variance

    @property
    def grid(self) -> int | float:
        """Every measured answer is a multiple of this public step."""
        return self.noise.grid

    def error(self, confidence: Number = 0.95) -> int | float:
        """With at least this probability, one measured answer is no farther from the truth."""
        return self.noise.error(confidence)

    def release(self, counts: Value) -> NDArray[np.generic]:
        """The strategy's answers with noise: int64, cut off at its ends; Python's integers for an array of such.

        The counts may have any shape, as long as there is one for every cell.
        """
        numbers = read_numbers(counts, integral=True)
        if numbers.size != self.strategy.cells:
            raise ValueRefused(f"The strategy measures {self.strategy.cells:,} cells; give it one whole number for each.")
        flat = np.array([int(x) for x in numbers.flat], dtype=object) if isinstance(numbers.flat, list) else numbers.flat
        answers = self.strategy.answer(flat)

        def draw() -> NDArray[np.generic]:
            noisy = np.asarray(self.noise.release(answers))
            if numbers.boxed or self.grid != 1 or noisy.dtype == np.int64:
                return noisy
            return np.array([min(max(x, _LAST.min), _LAST.max) for x in noisy], dtype=np.int64)

        return let_out(self, answers, draw)

    @property
    def label(self) -> str:
        return f"{self.noise.label} on {self.strategy.size:,} linear questions"

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:
        most = self.strategy.largest
        factors = f" with factors of up to {most:,}" if most > 1 else ""
        return f"{self.noise.describe(unit=unit, times=times)} on {self.strategy.size:,} linear questions{factors}"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """The measured answers, in the norm of the noise."""
        moved = changes(before, after)
        if isinstance(self.noise, Laplace):
            far = sum(map(abs, moved), Fraction(0))
            return Moved(pure(far / self.noise.scale) if far else FREE, show_change(before, after, far, self.sensitivity, "L1"))
        square = sum((x * x for x in moved), Fraction(0))
        cost = Privacy.of(GaussianLoss(square / self.noise.squared_sigma)) if square else FREE
        return Moved(cost, show_change(before, after, square, self.sensitivity, "L2"))
