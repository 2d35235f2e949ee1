"""What a single mechanism can cost, as exact facts and certified upper bounds.

A loss answers three questions, each rounded against ourselves:

* ``pure``: the epsilon at delta = 0, a rational not below the truth, or None where there is none;
* ``rho``: its zero-concentrated cost, likewise;
* ``delta(epsilon)``: the hockey-stick E[max(0, 1 - exp(epsilon - L))] over the privacy loss L, not the (larger) chance that L
  exceeds epsilon.

``epsilon(delta)`` inverts the last one. Balls carry the arithmetic, so that a result is a proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from discreet.balls import arb, ball, precision, upper
from discreet.exact import up

__all__ = ["Approximate", "Concentrated", "Gaussian", "Loss", "Pure", "gaussian_delta"]

BITS = 160


class Loss(Protocol):
    """The privacy loss of one mechanism over its worst pair of neighbours."""

    @property
    def pure(self) -> Fraction | None: ...
    @property
    def rho(self) -> Fraction | None: ...
    def delta(self, epsilon: Fraction) -> float: ...
    def epsilon(self, delta: Fraction) -> float: ...


@dataclass(frozen=True)
class Approximate:
    """Any (bound, chance)-DP mechanism.

    Worst case: the pair of Kairouz, Oh, Viswanath (2015): with probability ``chance`` everything is revealed, otherwise it is
    randomized response at ``bound``.
    """

    bound: Fraction
    chance: Fraction

    @property
    def pure(self) -> Fraction | None:
        return self.bound if self.chance == 0 else None

    @property
    def rho(self) -> Fraction | None:
        """epsilon tanh(epsilon / 2), the tight zero-concentrated cost of pure differential privacy."""
        if self.chance:
            return None
        with precision(BITS):
            return Fraction(upper(ball(self.bound) * (ball(self.bound) / 2).tanh()))

    def delta(self, epsilon: Fraction) -> float:
        if epsilon >= self.bound:
            return up(self.chance)
        with precision(BITS + _bits(self.bound)):
            gap = (ball(self.bound).exp() - ball(epsilon).exp()) / (1 + ball(self.bound).exp())
            return min(1.0, upper(ball(self.chance) + (1 - ball(self.chance)) * gap))

    def epsilon(self, delta: Fraction) -> float:
        if delta < self.chance:
            return math.inf
        rest = (delta - self.chance) / (1 - self.chance)
        if rest == 0:
            return up(self.bound)
        with precision(BITS + _bits(self.bound)):
            inside = (1 - ball(rest)) * ball(self.bound).exp() - ball(rest)
            return max(0.0, upper(inside.log())) if inside > 1 else 0.0


def Pure(epsilon: Fraction) -> Approximate:  # noqa: N802 - reads as the fact it makes
    """Any epsilon-DP mechanism; randomized response attains it."""
    return Approximate(epsilon, Fraction(0))


@dataclass(frozen=True)
class Concentrated:
    """Any rho-zCDP mechanism, converted by Canonne, Kamath and Steinke (2020), proposition 12.

    For every alpha > 1, delta <= exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) * (1 - 1/alpha)^alpha: whatever
    alpha a float search proposes, the ball evaluated there is a valid bound.
    """

    rho: Fraction
    pure: None = None

    def delta(self, epsilon: Fraction) -> float:
        rho, eps = float(self.rho), float(epsilon)

        def height(log_a: float) -> float:
            a = 1 + math.exp(log_a)
            return (a - 1) * (a * rho - eps) - math.log(a - 1) + a * math.log1p(-1 / a)

        alpha = _alpha(_lowest(height))
        with precision(BITS):
            a, r, e = ball(alpha), ball(self.rho), ball(epsilon)
            return min(1.0, upper(((a - 1) * (a * r - e)).exp() / (a - 1) * (1 - 1 / a) ** a))

    def epsilon(self, delta: Fraction) -> float:
        if delta == 0:
            return math.inf
        rho, log_delta = float(self.rho), math.log(delta.numerator) - math.log(delta.denominator)

        def height(log_a: float) -> float:
            a = 1 + math.exp(log_a)
            return a * rho - (log_delta + math.log(a)) / (a - 1) + math.log1p(-1 / a)

        alpha = _alpha(_lowest(height))
        with precision(BITS):
            a = ball(alpha)
            return max(0.0, upper(a * ball(self.rho) - (ball(delta) * a).log() / (a - 1) + (1 - 1 / a).log()))


@dataclass(frozen=True)
class Gaussian:
    """The Gaussian mechanism with (sensitivity / sigma)^2 = ``squared_mu``; exact by Balle and Wang (2018), theorem 8."""

    squared_mu: Fraction
    pure: None = None

    @property
    def rho(self) -> Fraction:
        return self.squared_mu / 2

    def delta(self, epsilon: Fraction) -> float:
        return gaussian_delta(self.squared_mu, epsilon)

    def epsilon(self, delta: Fraction) -> float:
        if delta == 0:
            return math.inf
        low, high = 0.0, 1.0
        if self.delta(Fraction(0)) <= delta:
            return 0.0
        while self.delta(Fraction(high)) > delta:
            low, high = high, high * 2
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (middle, high) if self.delta(Fraction(middle)) > delta else (low, middle)
        return high


def gaussian_delta(squared_mu: Fraction, epsilon: Fraction) -> float:
    """Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), rounded up."""
    bits = BITS
    while True:
        with precision(bits):
            mu, eps = ball(squared_mu).sqrt(), ball(epsilon)
            delta = _normal_cdf(mu / 2 - eps / mu) - eps.exp() * _normal_cdf(-mu / 2 - eps / mu)
            if delta.rel_accuracy_bits() > 60:
                return min(1.0, upper(delta))
        bits *= 2


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _bits(epsilon: Fraction) -> int:
    """Extra precision that keeps e^epsilon + 1 exact enough."""
    return min(int(3 * epsilon) + 1, 1 << 16)


def _alpha(log_a: float) -> Fraction:
    return 1 + Fraction(math.exp(log_a))


def _lowest(height: Callable[[float], float]) -> float:
    """Golden-section search; every result is a valid choice, the lowest point only the tightest."""
    low, high, ratio = -40.0, 40.0, (math.sqrt(5) - 1) / 2
    for _ in range(80):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, right) if height(left) < height(right) else (left, high)
    return (low + high) / 2
