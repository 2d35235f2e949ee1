"""Report noisy max.

**Theorem** (Dwork and Roth, claim 3.9, corrected). The position of the largest score, after independent Laplace noise of
scale 2 sensitivity / epsilon on each, is epsilon-differentially private for the neighbours under which no score moves by more
than ``sensitivity``. Scale sensitivity / epsilon is enough only if all scores move the same way (``monotonic=True``: counts
when a record is added or removed, not when one is replaced); otherwise it costs 2 epsilon.

Only the winner's position may leave: its noisy score has not been paid for. This is not the exponential mechanism; Gumbel noise
would be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.arrays import Number
from discreet.balls import arb
from discreet.mechanisms.selection import Selection, read_contest
from discreet.mechanisms.values import nearest
from discreet.noise.selection import Noise

__all__ = ["NoisyMax"]


@dataclass(frozen=True, init=False)
class NoisyMax(Selection):
    """The lecture's report-noisy-max with Laplace noise.

    >>> NoisyMax(sensitivity=1, epsilon=0.5, monotonic=True).scale
    Fraction(2, 1)
    >>> NoisyMax(sensitivity=1, epsilon=0.5).scale
    Fraction(4, 1)
    """

    noise = Noise.LAPLACE

    def _upset(self, lead: arb) -> arb:
        return (2 + lead) * (-lead).exp() / 4

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise on every score."""
        return 1 / self.weight

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """A union bound: two Laplace noises differ by more than x with probability (2 + x/b) e^(-x/b) / 4 on one side."""
        miss, count = read_contest(confidence, candidates)
        if count == 1:
            return 0.0
        share = miss * 4 / (count - 1)
        wanted = math.log(share.numerator) - math.log(share.denominator)
        low, high = 0.0, 8.0 - 2 * min(0.0, wanted)
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if math.log(2 + middle) - middle <= wanted else (middle, high)
        return high * nearest(self.scale)
