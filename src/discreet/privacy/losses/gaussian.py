"""The Gaussian mechanism's loss: N(mu^2/2, mu^2), in any dimension; and the discrete Gaussian's on one coordinate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball, bits
from discreet.privacy.losses.atoms import LEAST, Atomic, Atoms
from discreet.privacy.losses.base import UNIT, Family, Loss
from discreet.privacy.losses.law import Law, Spread, list_law

_FAR = 12.0  # standard deviations: beyond, there is less than 1e-32


@dataclass(frozen=True)
class Gaussian(Loss):
    """Gaussian noise with (L2 sensitivity / sigma)^2 = ``squared_mu``; rounding it is post-processing."""

    squared_mu: Fraction
    kind = "Gaussian"
    order = "Gaussian"  # all of them add up to one

    @property
    def title(self) -> str:
        return f"Gaussian μ = {math.sqrt(self.squared_mu):.4g}"

    def distribution(self) -> Law:
        mean, variance = self.mean_variance()
        sd = math.sqrt(variance)
        spread = Spread(
            mean - _FAR * sd,
            mean + _FAR * sd,
            lambda x: np.exp(-(((x - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi)),
            lambda x: _normal_tail((mean - x) / sd),
            lambda x: _normal_tail((x - mean) / sd),
        )
        return Law(np.empty(0), np.empty(0), spread, 0.0, (-math.inf, math.inf), mean, variance)

    @property
    def pure(self) -> None:
        return None

    @property
    def rho(self) -> Fraction:
        return self.squared_mu / 2

    def log_moment(self, x: float) -> float:
        return self._number * x * (x + 1) / 2

    def characteristic(self, x: float, t: Reals) -> Complex:
        m = self._number
        result: Complex = np.exp(m * (-0.5 * t * t + 1j * (x + 0.5) * t))
        return result

    def reach(self, x: float) -> float:
        return self._number * (abs(x) + 1)

    def decay(self, x: float, t: float) -> float:  # noqa: ARG002 - the same for every tilt
        return math.exp(-self._number * t * t / 2) * (1 + 64 * UNIT)

    def hockey_stick(self, epsilon: Fraction) -> arb:
        """Balle and Wang 2018, theorem 8; far out by Mills' ratio, as e^epsilon phi(far) = phi(near)."""
        mu, eps = ball(self.squared_mu).sqrt(), ball(epsilon)
        near, far = mu / 2 - eps / mu, mu / 2 + eps / mu
        if not far > _MILLS:
            return normal_cdf(near) - eps.exp() * normal_cdf(-far)
        density = (-near * near / 2).exp() / (2 * arb.pi()).sqrt()
        return density * (_mills(-near) - _mills(far)) if -near > _MILLS else normal_cdf(near) - density * _mills(far)

    def mean_variance(self) -> tuple[float, float]:
        return self._number / 2, self._number

    def group(self, size: int) -> Gaussian:
        return Gaussian(size * size * self.squared_mu)


@dataclass(frozen=True)
class DiscreteGaussian(Atomic):
    """Discrete Gaussian noise when one coordinate moves by 1: losses (1 - 2x) / (2 sigma^2) over the integers x.

    Values of x whose masses are next to underflow, some 37 sigma away, are left out: two tails of at most 2^-1018 (1 + sigma /
    37), less than 2^-1000, and under the tilts that are answered less than e^-120.
    """

    squared_sigma: Fraction
    kind = "discrete Gaussian"

    @property
    def title(self) -> str:
        return f"{self.kind} σ = {math.sqrt(self.squared_sigma):.4g}"

    def distribution(self) -> Law:
        return list_law(self.atoms.losses, self.atoms.mass, 0.0, (-math.inf, math.inf))

    @property
    def pure(self) -> None:
        return None

    def cumulants(self, x: float) -> tuple[float, float, float]:
        """Tilts beyond 20 sigma reach for values that were left out, or whose masses are below the floats: no answer there."""
        return super().cumulants(x) if x * x < 400 * self.squared_sigma else (math.inf, math.inf, math.inf)

    def log_moment(self, x: float) -> float:
        return self.cumulants(x)[0]

    @property
    def rho(self) -> Fraction:
        """Canonne, Kamath, Steinke 2020, theorem 4."""
        return 1 / (2 * self.squared_sigma)

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        """Losses above epsilon are those of x <= -j, j = ceil(epsilon sigma^2 - 1/2): P[x >= j] - e^epsilon P[x > j].

        Where noise is large there are too many terms: a lattice knows as much sooner.
        """
        if self.squared_sigma > _WIDEST:
            return None
        first = math.ceil(epsilon * self.squared_sigma - Fraction(1, 2))
        edge = ball(Fraction(-(first**2)) / (2 * self.squared_sigma)).exp()
        rest, half = (_sum_beyond(self.squared_sigma, x, bits()) for x in (first, 0))
        return (edge - ball(epsilon).expm1() * rest) / (1 + 2 * half)

    @cached_property
    def atoms(self) -> Atoms:
        reach = 40 * math.isqrt(math.ceil(self.squared_sigma)) + 40
        x = np.arange(reach, -reach - 1, -1)
        mass = np.exp(-(x.astype(np.float64) ** 2) / float(2 * self.squared_sigma))
        held = mass > LEAST * math.fsum(mass)
        x, mass = x[held], mass[held]
        first = (1 - 2 * Fraction(int(x[0]))) / (2 * self.squared_sigma)
        # Exponents err by 3 units of themselves, the sum by that on average (they are 1/2), and by its terms' own.
        return Atoms(first, 1 / self.squared_sigma, mass / math.fsum(mass), 16 * UNIT, lost=2.0**-1000)

    def group(self, size: int) -> Loss:
        """A group may move several coordinates: from above, the zero-concentrated cost; from below, what one record costs."""
        from discreet.privacy.losses.moments import Concentrated  # which stands on Gaussian

        return Family("discrete Gaussian", Concentrated(size * size * self.rho), self)


_MILLS = 2**16  # standard deviations: from here on error functions are slow, and their series is good
_WIDEST = 2**12  # squared_sigma: one closed form adds up some ten times its root of terms


@lru_cache(maxsize=64)
def _sum_beyond(squared_sigma: Fraction, first: int, bits: int) -> arb:  # noqa: ARG001 - the sum depends on it
    """The sum of e^(-x^2 / (2 sigma^2)) over x > first >= 0; what is left out is less than a geometric series."""
    falls = ball(-1 / squared_sigma).exp()  # the ratio of neighbours' ratios
    term = ball(Fraction(-((first + 1) ** 2)) / (2 * squared_sigma)).exp()
    ratio = ball(-Fraction(2 * first + 3) / (2 * squared_sigma)).exp()
    total = rest = term
    while not rest < total.rad():  # all terms that can be told from rounding
        term *= ratio
        ratio *= falls
        total += term
        rest = term * ratio / (1 - ratio)
    return total + ball(0).union(rest.upper())


def _mills(x: arb) -> arb:
    """P[Z > x] over the density at x, for x > 2^16: between partial sums of 1/x - 1/x^3 + 3/x^5 - ..., to 2^-140 of itself."""
    total = term = last = 1 / x
    for odd in (1, 3, 5, 7, 9):
        term *= -odd / (x * x)
        total, last = total + term, total
    return total.union(last)


def normal_cdf(x: arb) -> arb:
    """The standard normal distribution function."""
    return (-x / arb(2).sqrt()).erfc() / 2


def _normal_tail(x: Reals) -> Reals:
    """1 minus the same, in floats."""
    scaled = x / math.sqrt(2)
    return np.fromiter(map(math.erfc, scaled.ravel().tolist()), np.float64, scaled.size).reshape(scaled.shape) / 2
