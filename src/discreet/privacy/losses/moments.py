"""Guarantees that name no pair, only bounds on moments: zero-concentrated and Renyi."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise

from discreet.arrays import Complex, Reals
from discreet.errors import ParameterError
from discreet.exact import down
from discreet.privacy.losses.base import UNIT, Facts, Loss
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.law import Law


class Moments(Loss):
    """Known only by bounds on its Renyi divergences: it has moments, but no law."""

    @property
    def pure(self) -> None:
        return None

    def characteristic(self, x: float, t: Reals) -> Complex:
        raise NotImplementedError("a bound on moments has no characteristic function")

    def rounding(self, x: float, t: float) -> float:  # noqa: ARG002
        """A bound on moments is a few products; a stated order's value errs by no more than its size."""
        return 64 * UNIT

    def reach(self, x: float) -> float:
        raise NotImplementedError("a bound on moments has no losses")

    def mean_variance(self) -> tuple[float, float]:
        return self.member.mean_variance()

    def distribution(self) -> Law:
        """Refused, because many laws fit under it."""
        raise ParameterError(
            f"A {self.kind} guarantee names no loss distribution; it only bounds Renyi divergences, and many mechanisms fit "
            "under it. Ask the mechanism's own guarantee for its loss, or gdp(mu) for that of Gaussian noise."
        )


@dataclass(frozen=True)
class Concentrated(Moments):
    """Any rho-zCDP mechanism: Renyi divergence at most rho alpha at every order. Gaussian noise attains it."""

    cost: Fraction
    kind = "zCDP"
    order = "zCDP"  # all of them add up to one

    @property
    def title(self) -> str:
        return f"zCDP ρ = {float(self.cost):.4g}"

    @property
    def rho(self) -> Fraction:
        return self.cost

    def log_moment(self, x: float) -> float:
        return self._number * x * (x + 1)

    @property
    def member(self) -> Gaussian:
        return Gaussian(2 * self.cost)

    def group(self, size: int) -> Concentrated:
        """Bun and Steinke 2016, proposition 27."""
        return Concentrated(size * size * self.cost)


@dataclass(frozen=True)
class Renyi(Moments):
    """Renyi divergences at some orders, each at most the value given.

    K(x) = x D_(1+x) is convex with K(0) = 0, so between known orders it lies below the chord; beyond the last nothing is known.
    """

    divergences: tuple[tuple[Fraction, Fraction], ...]
    kind = "Renyi"

    @property
    def rho(self) -> None:
        return None

    def log_moment(self, x: float) -> float:
        if x > self._last:
            return math.inf
        for (left, low), (right, high) in pairwise(self._knots):
            if left <= x <= right:
                return low + (high - low) * (x - left) / (right - left)
        return math.inf

    @cached_property
    def _last(self) -> float:
        return down(self.divergences[-1][0] - 1)

    @cached_property
    def _knots(self) -> list[tuple[float, float]]:
        """x and K(x) of every order."""
        return [(0.0, 0.0)] + [(float(order - 1), float((order - 1) * value)) for order, value in self.divergences]

    @property
    def member(self) -> Gaussian:
        """The noisiest question that fits under every order: D_alpha = alpha mu^2 / 2."""
        return Gaussian(min(2 * value / order for order, value in self.divergences))

    def group(self, size: int) -> Loss:
        raise ParameterError(
            f"Renyi facts alone say nothing about groups of {size}; state the mechanism's own guarantee instead."
        )

    def facts(self) -> Facts:
        return {"kind": self.kind, "divergences": {str(order): str(value) for order, value in self.divergences}}

    @classmethod
    def from_facts(cls, facts: Facts) -> Renyi:
        return cls(tuple((Fraction(order), Fraction(value)) for order, value in facts["divergences"].items()))
