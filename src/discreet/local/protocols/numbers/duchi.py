"""Duchi's protocol for a mean: one bit, more often 1 the larger the value.

**Theorem** (Duchi, Jordan, Wainwright 2018). The value's place x in [0, 1] is rounded to a bit at random, 1 with probability x,
and the bit goes through randomized response. P(1 | x) = q + x (p - q) with p = e^epsilon / (e^epsilon + 1) and q = 1 - p, so the
ratio for any two values of one person is at most e^epsilon, reached between the two bounds. The least worst-case error at small
epsilon.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb
from discreet.local.protocols.base import Rows, chance_inside, float_precision
from discreet.local.protocols.numbers.base import HistogramProtocol, round_places
from discreet.noise.coins import Chance, bernoulli


@dataclass(frozen=True)
class Duchi(HistogramProtocol):
    """Duchi's protocol. The report is 0 or 1.

    >>> round(4 * Duchi(Fraction(1), 1000).worst, 2)  # on [-1, 1], as the paper has it
    4.68
    """

    epsilon: Fraction
    steps: int
    name: ClassVar[str] = "duchi"

    def __post_init__(self) -> None:
        self.check()

    @property
    def cells(self) -> int:
        return 2

    def _draw(self, codes: Integers) -> Rows:
        bits = round_places(codes, self.steps, 1)
        honest = bernoulli(Chance(chance_inside(1, 1, self.epsilon)), codes.size)
        return np.where(honest, bits, 1 - bits)

    def likelihood(self, row: Rows, code: int) -> arb:
        truth = chance_inside(1, 1, self.epsilon)()
        agreeing = code if int(row.item()) == 1 else self.steps - code
        return (truth * agreeing + (1 - truth) * (self.steps - agreeing)) / self.steps

    @cached_property
    def _rates(self) -> tuple[float, float]:
        """q, and p - q with all its digits."""
        with float_precision(self.epsilon):
            truth = chance_inside(1, 1, self.epsilon)()
            return float(1 - truth), float(2 * truth - 1)

    @cached_property
    def scores(self) -> Reals:
        lie, gain = self._rates
        return np.array([-lie / gain, (1 - lie) / gain])

    def variance(self, places: Reals) -> Reals:
        lie, gain = self._rates
        chance = lie + places * gain
        return np.asarray(chance * (1 - chance) / gain**2)

    def interval(self, place: float, error: float, count: int, z: float) -> tuple[float, float]:  # noqa: ARG002
        """The score interval of a share of ones, half a report longer at both ends: the bit's variance is known."""
        lie, gain = self._rates
        ones = lie + place * gain
        ends = [max(ones - 0.5 / count, 0.0), min(ones + 0.5 / count, 1.0)]
        unit = z * z / count
        reach = [z * math.sqrt(end * (1 - end) / count + unit / (4 * count)) for end in ends]
        low, high = ((ends[i] + unit / 2 + sign * reach[i]) / (1 + unit) for i, sign in ((0, -1), (1, 1)))
        return min((low - lie) / gain, place), max((high - lie) / gain, place)  # whatever was rounded
