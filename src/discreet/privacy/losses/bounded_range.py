"""The exponential mechanism's loss: bounded range.

**Theorem** (Durfee and Rogers 2019; Dong, Durfee, Rogers 2020). The exponential mechanism is epsilon-bounded-range: over its
outputs the loss of any pair of neighbours spans at most epsilon. The supremum of the hockey-stick over all such pairs is
(e^(epsilon/2) - e^(x/2))^2 / (e^epsilon - 1) on [-epsilon, epsilon]; it is convex in e^x, so it belongs to a pair, which
dominates them all: its loss has density proportional to e^(x/2) on [-epsilon, epsilon]. The mechanism is also (epsilon^2 /
8)-zCDP (Cesar and Rogers 2021). The pair is an upper bound that no single mechanism attains; two candidates give randomized
response at epsilon / 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball
from discreet.privacy.losses.base import UNIT
from discreet.privacy.losses.boxes import Box
from discreet.privacy.losses.law import Law
from discreet.privacy.losses.rounding import Smooth


@dataclass(frozen=True)
class BoundedRange(Smooth):
    """Any epsilon-bounded-range mechanism, at its worst."""

    epsilon: Fraction
    kind = "bounded range"

    @property
    def rho(self) -> Fraction:
        return self.epsilon**2 / 8

    def log_moment(self, x: float) -> float:
        """M(u - 1/2) = sinh(epsilon u) / (2 u sinh(epsilon / 2))."""
        e, u, size = self._number, abs(x + 0.5), x if x >= -0.5 else -1 - x  # u - 1/2 with all digits of small x
        return (
            size * e + math.log(-math.expm1(-2 * u * e) / (2 * u * -math.expm1(-e))) if u else math.log(e / 2 / math.sinh(e / 2))
        )

    def characteristic(self, x: float, t: Reals) -> Complex:
        e, real = self._number, x + 0.5
        u = real + 1j * t
        turn = np.exp(1j * t * e)
        result: Complex = (turn - math.exp(-2 * real * e) * turn.conj()) / -math.expm1(-2 * real * e) * (real / u)
        return result

    def rounding(self, x: float, t: float) -> float:
        e, real = self._number, x + 0.5
        return (256 + 8 * t * e) * UNIT * (1 + 1 / -math.expm1(-2 * real * e))

    def reach(self, x: float) -> float:  # noqa: ARG002
        return self._number

    def decay(self, x: float, t: float) -> float:
        e, real = self._number, x + 0.5
        return min(1.0, (1 + math.exp(-2 * real * e)) / -math.expm1(-2 * real * e) * real / t * (1 + 64 * UNIT))

    def hockey_stick(self, epsilon: Fraction) -> arb:
        if epsilon >= self.epsilon:
            return ball(0)
        gap = ball(self.epsilon / 2).exp() - ball(epsilon / 2).exp()
        return gap * gap / ball(self.epsilon).expm1()

    def mean_variance(self) -> tuple[float, float]:
        e = self._number
        if e < 1e-2:
            return e * e / 6, e * e / 3
        mean = e / math.tanh(e / 2) - 2
        return mean, e * e + 8 - 4 * e / math.tanh(e / 2) - mean * mean

    def between(self, left: Reals, width: Reals | float) -> tuple[Reals, float]:
        e = self._number
        return np.exp((left + width - e) / 2) * -np.expm1(-np.asarray(width) / 2) / -math.expm1(-e), 0.0

    def distribution(self) -> Law:
        return self._law(1 / -math.expm1(-self._number), 0.0)

    @property
    def member(self) -> Box:
        """Two candidates: randomized response at half the epsilon."""
        return Box(self.epsilon / 2)

    def group(self, size: int) -> BoundedRange:
        return BoundedRange(size * self.epsilon)
