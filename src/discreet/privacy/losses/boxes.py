"""Losses with two or three values: anything known only by (epsilon, delta), and randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import ParameterError
from discreet.privacy.losses.atoms import Atomic, Atoms
from discreet.privacy.losses.base import UNIT, Family, Loss, tanh_rho
from discreet.privacy.losses.laplace import DiscreteLaplace


@dataclass(frozen=True)
class Box(Atomic):
    """Any (epsilon, delta)-DP mechanism, at its worst.

    The pair of Kairouz, Oh, Viswanath (2015) dominates them all: with probability delta everything is disclosed, otherwise it is
    randomized response between two options, with losses +-epsilon. At delta = 0 it is pure differential privacy.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    kind = "approximate"

    @property
    def title(self) -> str:
        epsilon, delta = float(self.epsilon), float(self.delta)
        return f"(ε = {epsilon:.4g}, δ = {delta:.4g})" if self.delta else f"pure ε = {epsilon:.4g}"

    @property
    def infinity(self) -> Fraction:
        return self.delta

    @cached_property
    def _kept(self) -> float:
        return max(float(1 - self.delta), 5e-324) if self.delta < 1 else 0.0

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        return tanh_rho(self.epsilon)

    @cached_property
    def atoms(self) -> Atoms:
        if self.epsilon == 0:  # nothing, or everything
            return Atoms(Fraction(0), Fraction(1), np.array([self._kept]))
        e = self._number
        mass = self._kept * np.array([math.exp(-e), 1.0]) / (1 + math.exp(-e))
        return Atoms(-self.epsilon, 2 * self.epsilon, mass)

    def log_moment(self, x: float) -> float:
        e = self._number
        size = x if x >= -0.5 else -1 - x  # symmetric about -1/2; with all digits of small x, which e multiplies
        return size * e + math.log(self._kept * (1 + math.exp(-(2 * size + 1) * e)) / (1 + math.exp(-e)))

    def cumulants(self, x: float) -> tuple[float, float, float]:
        """Of two values, +-epsilon, which hold 1 and e^-(2 x + 1) epsilon under the tilt."""
        if x < -0.5 or not self._kept:
            return super().cumulants(x)
        e = self._number
        small = math.exp(-(2 * x + 1) * e)
        return self.log_moment(x), e * (1 - small) / (1 + small), 4 * e * e * small / (1 + small) ** 2

    def mean_variance(self) -> tuple[float, float]:
        return self.cumulants(0.0)[1:]

    def rounding(self, x: float, t: float) -> float:
        """As for any atoms, by hand: compositions of hundreds ask for it again and again."""
        if x < -0.5 or not self.epsilon or not self._kept:
            return super().rounding(x, t)
        e, (low, high) = self._number, self._depths
        small = math.exp(-(2 * x + 1) * e)
        doubt = self.atoms.error + 8 * UNIT * (small * low + high) / (1 + small) * (1 + 2.0**-40)
        return (260 + 8 * (t + 2 * abs(x)) * e) * UNIT + 2 * doubt

    @cached_property
    def _depths(self) -> tuple[float, float]:
        """|ln| of both masses."""
        low, high = np.abs(np.maximum(self.atoms.log_mass, -800.0)).tolist()
        return low, high

    def hockey_stick(self, epsilon: Fraction) -> arb:
        if epsilon >= self.epsilon:
            return ball(self.delta)
        gap = (1 - ball(epsilon - self.epsilon).exp()) / (1 + (-ball(self.epsilon)).exp())
        return ball(self.delta) + ball(1 - self.delta) * gap

    def group(self, size: int) -> Loss:
        """k steps between neighbours.

        Pure: the trade-off curve of one step is that of the geometric mechanism moved by one (both have the two losses
        +-epsilon), and the curve of k steps is that curve applied k times (Dong, Roth, Su 2019, theorem 2.14). It maps the
        probabilities of tails to those of tails moved by one, linearly between, so applied k times it is the geometric mechanism
        moved by k: that is the worst there is, and attained. With a delta: (k epsilon, (1 + e^epsilon + ... + e^((k-1) epsilon))
        delta) from above, and from below what one record costs.
        """
        if size == 1 or self.epsilon == 0 == self.delta:
            return self
        if self.delta == 0:
            return DiscreteLaplace(size, 1 / self.epsilon)
        if self.epsilon == 0:
            return Family("approximate", Box(Fraction(0), min(Fraction(1), size * self.delta)), self)
        with precision(160):
            growth = ball(size * self.epsilon).expm1() / ball(self.epsilon).expm1()
            leak = growth * ball(self.delta)
            top = Fraction(upper(leak)) if leak < 1 else Fraction(1)
        return Family("approximate", Box(size * self.epsilon, min(Fraction(1), top)), self)


@dataclass(frozen=True)
class Response(Atomic):
    """Randomized response among k options: losses +-epsilon, and 0 when the report is neither truth nor its rival."""

    epsilon: Fraction
    options: int
    kind = "randomized response"

    @property
    def title(self) -> str:
        return f"{self.kind} ε = {float(self.epsilon):.4g}, {self.options} options"

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        return tanh_rho(self.epsilon)

    @cached_property
    def atoms(self) -> Atoms:
        lie = math.exp(-self._number)
        mass = np.array([lie, (self.options - 2) * lie, 1.0]) / (1 + (self.options - 1) * lie)
        return Atoms(-self.epsilon, self.epsilon, mass)

    def hockey_stick(self, epsilon: Fraction) -> arb:
        if epsilon >= self.epsilon:
            return ball(0)
        return (1 - ball(epsilon - self.epsilon).exp()) / (1 + (self.options - 1) * (-ball(self.epsilon)).exp())

    def group(self, size: int) -> Loss:
        """Answers of several people: no worse than anything pure in steps; one of them attains what one attains."""
        return Family("randomized response", Box(self.epsilon).group(size), self)


@dataclass(frozen=True)
class Leak(Box):
    """With probability ``delta`` anything may happen, beside a zero-concentrated guarantee for the rest (Bun and Steinke 2016,
    definition 8.1). It is a box at epsilon 0 for one record. Groups are refused: the steps between their members condition on
    events of their own, and no law for chains of them is proved here."""

    kind = "leak"

    def group(self, size: int) -> Loss:
        raise ParameterError(
            f"Approximate zero-concentrated privacy has no group law here for {size} records; spend each guarantee's own "
            f".group({size}) instead."
        )


def response(wrong: arb) -> Box:
    """Randomized response that errs with this probability, from below: what a symmetric choice between two attains."""
    return Box(Fraction(max(0.0, lower(((1 - wrong) / wrong).log()))))
