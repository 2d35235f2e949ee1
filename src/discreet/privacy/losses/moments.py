"""Guarantees that name no pair: zero-concentrated, Renyi; and families bounded by one pair but attained by another."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from discreet.arrays import Complex, Reals
from discreet.balls import arb, lower
from discreet.errors import ParameterError
from discreet.exact import down
from discreet.privacy.losses.atoms import Atoms
from discreet.privacy.losses.base import UNIT, Facts, Loss
from discreet.privacy.losses.boxes import Box
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.law import Law

__all__ = ["Concentrated", "Family", "Leak", "Moments", "Renyi", "response"]


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
        return float(self.cost) * x * (x + 1)

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
        knots = [(0.0, 0.0)] + [(float(order - 1), float((order - 1) * value)) for order, value in self.divergences]
        if x > down(self.divergences[-1][0] - 1):
            return math.inf
        for (left, low), (right, high) in pairwise(knots):
            if left <= x <= right:
                return low + (high - low) * (x - left) / (right - left)
        return math.inf

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


def response(wrong: arb) -> Box:
    """Randomized response that errs with this probability, from below: what a symmetric choice between two attains."""
    return Box(Fraction(max(0.0, lower(((1 - wrong) / wrong).log()))))


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


@dataclass(frozen=True)
class Family(Loss):
    """A mechanism bounded by one pair, while a simpler case of it attains another."""

    name: str
    worst: Loss
    attained: Loss
    kind = "family"

    @property
    def title(self) -> str:
        return self.name

    def distribution(self) -> Law:
        return self.worst.distribution()

    @property
    def infinity(self) -> Fraction:
        return self.worst.infinity

    @property
    def pure(self) -> Fraction | None:
        return self.worst.pure

    @property
    def pure_below(self) -> Fraction | None:
        return self.attained.pure_below

    @property
    def rho(self) -> Fraction | None:
        return self.worst.rho

    @property
    def member(self) -> Loss:
        return self.attained.member

    @property
    def divisor(self) -> Fraction | None:
        return self.worst.divisor

    @property
    def reverse(self) -> Loss:
        return Family(self.name, self.worst.reverse, self.attained.reverse)

    def log_moment(self, x: float) -> float:
        return self.worst.log_moment(x)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return self.worst.characteristic(x, t)

    def rounding(self, x: float, t: float) -> float:
        return self.worst.rounding(x, t)

    def reach(self, x: float) -> float:
        return self.worst.reach(x)

    def decay(self, x: float, t: float) -> float:
        return self.worst.decay(x, t)

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        return self.worst.hockey_stick(epsilon)

    def mean_variance(self) -> tuple[float, float]:
        return self.worst.mean_variance()

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms | None:
        return self.worst.lattice(step, up=up)

    def group(self, size: int) -> Family:
        """What one record attains, a group attains; of more nothing is known here."""
        return Family(self.name, self.worst.group(size), self.attained)
