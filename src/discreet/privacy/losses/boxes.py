"""Losses with two or three values: anything known only by (epsilon, delta), and randomized response."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.balls import arb, ball, precision, upper
from discreet.privacy.losses.base import Atomic, Atoms

__all__ = ["Box", "Response", "tanh_rho"]


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
    def infinity(self) -> Fraction:
        return self.delta

    @cached_property
    def _kept(self) -> float:
        return float(1 - self.delta)

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
        size = abs(x + 0.5) - 0.5  # symmetric about -1/2
        return size * e + math.log(self._kept * (1 + math.exp(-(2 * size + 1) * e)) / (1 + math.exp(-e)))

    def hockey_stick(self, epsilon: Fraction) -> arb:
        if epsilon >= self.epsilon:
            return ball(self.delta)
        gap = (1 - ball(epsilon - self.epsilon).exp()) / (1 + (-ball(self.epsilon)).exp())
        return ball(self.delta) + ball(1 - self.delta) * gap

    def group(self, size: int) -> Box:
        """k steps between neighbours: (k epsilon, (1 + e^epsilon + ... + e^((k-1) epsilon)) delta)."""
        if self.delta == 0 or self.epsilon == 0:
            return Box(size * self.epsilon, min(Fraction(1), size * self.delta))
        with precision(160):
            growth = ball(size * self.epsilon).expm1() / ball(self.epsilon).expm1()
            return Box(size * self.epsilon, min(Fraction(1), Fraction(upper(growth * ball(self.delta)))))


@dataclass(frozen=True)
class Response(Atomic):
    """Randomized response among k > 2 options: losses +-epsilon, and 0 when the report is neither truth nor its rival."""

    epsilon: Fraction
    options: int
    kind = "randomized response"

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

    def group(self, size: int) -> Response:  # noqa: ARG002 - one person has one answer
        return self


def tanh_rho(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon / 2), rounded up: the tight zero-concentrated cost of pure differential privacy."""
    with precision(160):
        return Fraction(upper(ball(epsilon) * (ball(epsilon) / 2).tanh()))
