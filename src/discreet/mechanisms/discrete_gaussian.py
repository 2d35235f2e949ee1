"""The discrete Gaussian mechanism.

**Theorem** (Canonne, Kamath, Steinke 2020, theorem 4). If an integer-valued f moves by at most ``sensitivity`` in L2 norm between
neighbours, adding independent noise with mass proportional to exp(-x^2 / 2 sigma^2) to every coordinate is
(sensitivity^2 / 2 sigma^2)-zCDP, for the neighbours under which the sensitivity holds.

``Gaussian`` is the better default: it rounds the continuous mechanism, so its exact (epsilon, delta) is known in every
dimension. This one is for whoever must match the published discrete law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.arrays import Number
from discreet.balls import ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, probability, root
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.grid import Released, release_integers
from discreet.mechanisms.values import Value
from discreet.noise import gaussian as noise
from discreet.privacy import Privacy, zcdp
from discreet.privacy.losses import Box, Concentrated, Family
from discreet.privacy.losses import DiscreteGaussian as Loss
from discreet.privacy.neighbours import Neighbours, read_neighbours


@called_as("sensitivity=1, rho=0.5")
@dataclass(frozen=True, init=False)
class DiscreteGaussian(Mechanism):
    """Discrete Gaussian noise on integers; give ``rho`` or ``sigma``.

    >>> DiscreteGaussian(sensitivity=1, rho=0.5).privacy.rho
    0.5
    """

    sensitivity: int | Fraction
    squared_sigma: Fraction
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated

    label = "discrete Gaussian noise"

    def __init__(
        self,
        *,
        sensitivity: Number,
        rho: Number | None = None,
        sigma: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        exact = read_sensitivity(sensitivity)
        if rho is not None and sigma is None:
            square = exact**2 / (2 * positive("rho", rho, "a number such as 0.5"))
        elif sigma is not None and rho is None:
            square = positive("sigma", sigma, "a number such as 10") ** 2
        else:
            raise ParameterError(
                "DiscreteGaussian takes rho or sigma, one of them only; write DiscreteGaussian(sensitivity=1, rho=0.5)."
            )
        if square < Fraction(1, 2**200):
            raise ParameterError("sigma is below 2^-100, where the noise is 0; write a sigma that hides something, such as 1.")
        if square > noise.LARGEST_DISCRETE**2:
            raise ParameterError(
                "sigma is above 2^51, too large for the discrete Gaussian; write Gaussian(...) with its coarser grid."
            )
        self._fill(sensitivity=exact, squared_sigma=Fraction(square), neighbours=read_neighbours(neighbours))

    @property
    def privacy(self) -> Privacy:
        """The exact loss at sensitivity 1 (one coordinate moves by 1); the zero-concentrated cost beyond it."""
        if self.sensitivity == 1 and Fraction(1, 16) <= self.squared_sigma <= 10**6:
            return Privacy.of(Loss(self.squared_sigma), self.neighbours)
        cost = Concentrated(Fraction(self.sensitivity) ** 2 / (2 * self.squared_sigma))
        return Privacy.of(Family("DiscreteGaussian", cost, Box(Fraction(0))), self.neighbours)  # nothing is known from below

    @property
    def sigma(self) -> float:
        """The scale of the law; the noise's own standard deviation is never above it."""
        return float(root(self.squared_sigma))

    @property
    def grid(self) -> int:
        """Releases are whole numbers."""
        return 1

    def release(self, value: Value) -> Released:
        """Integers plus noise: a number for a number, an array for an array."""
        return let_out(self, value, lambda: release_integers(value, lambda size: noise.discrete(self.squared_sigma, size)))

    def error(self, confidence: Number = 0.95) -> int:
        """With at least this probability, one released number is no farther from the truth.

        P(X >= m) <= P(N(0, sigma^2) >= m - 1) for whole m >= 1 (same paper, proposition 25), so h = ceil(z sigma) is enough.
        """
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        with precision(160):
            return math.ceil(upper((2 * ball(self.squared_sigma)).sqrt() * ball(wanted).erfinv()))

    @property
    def variance(self) -> float:
        """The variance of one released number."""
        if self.squared_sigma >= 4:
            return float(self.squared_sigma)  # wrong by less than e^(-2 pi^2 4) of itself
        with precision(160):
            masses = [(-ball(Fraction(x * x) / (2 * self.squared_sigma))).exp() for x in range(1, 40)]
            return float(2 * sum((x * x * mass for x, mass in enumerate(masses, 1)), ball(0)) / (1 + 2 * sum(masses, ball(0))))

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label} of scale {self.sigma * unit:,.4g}"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """In L2 norm; a vector that moved by x costs rho = x^2 / 2 sigma^2."""
        square = sum((x * x for x in changes(before, after)), Fraction(0))
        cost = zcdp(square / self.squared_sigma / 2) if square else FREE
        return Moved(cost, show_change(before, after, square, self.sensitivity, "L2"))
