"""Laplace noise for a mean, as in the lecture: everybody adds noise to their own number before it leaves.

**Theorem** (Dwork et al. 2006, for databases of size one). The value on its grid of ``steps`` steps moves by at most ``steps``
between any two values of one person; discrete Laplace noise of scale steps / epsilon hides that. Reports farther out than 44
scales, which have a chance below 2^-63, are cut off there: post-processing, and the mean moves by less than 2^-62 scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb, ball, precision
from discreet.errors import ParameterError
from discreet.local.protocols.base import Rows
from discreet.local.protocols.numbers.base import MeanProtocol
from discreet.noise import laplace as noise

_FAR = 44
_LOW = 31  # sums are kept in two parts, so that 2^32 reports of any size fit
_COARSE = 15  # digits of a report that are squared


@dataclass(frozen=True)
class Laplace(MeanProtocol):
    """Laplace noise. The report is the noisy step, counted from the lowest possible one.

    >>> skipped = Laplace(Fraction(1), 15)
    >>> skipped.reports == 15 + 2 * 44 * 15 + 1
    True
    """

    epsilon: Fraction
    steps: int
    name: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        self.check()
        if self.reports > 2**58:
            raise ParameterError("Laplace noise of this scale does not fit in 64 bits; write a coarser step or another protocol.")

    @property
    def scale(self) -> Fraction:
        return self.steps / self.epsilon

    @property
    def margin(self) -> int:
        """How far beyond the bounds a report may lie."""
        return math.ceil(_FAR * self.scale)

    @property
    def reports(self) -> int:
        return self.steps + 2 * self.margin + 1

    def _draw(self, codes: Integers) -> Rows:
        noisy: Integers = codes + self.margin + noise.discrete(self.scale, codes.size)
        return np.minimum(np.maximum(noisy, 0), self.reports - 1)

    def likelihood(self, row: Rows, code: int) -> arb:
        report = int(row.item())
        ratio = (-ball(1 / self.scale)).exp()
        mass = ratio ** abs(report - self.margin - code) / (1 + ratio)
        return mass if report in (0, self.reports - 1) else mass * (1 - ratio)  # the ends hold all that was cut off

    def variance(self, places: Reals) -> Reals:
        with precision(256):
            ratio = (-ball(1 / self.scale)).exp()
            one = float(2 * ratio / (1 - ratio) ** 2)
        return np.full_like(places, one / self.steps**2)

    @property
    def _shift(self) -> int:
        return max(0, self.reports.bit_length() - _COARSE)

    @property
    def cells(self) -> int:
        return 4

    def tally(self, rows: Rows) -> Integers:
        numbers = rows.astype(np.int64, copy=False)
        coarse = numbers >> self._shift
        parts = (numbers >> _LOW, numbers & (2**_LOW - 1), coarse, coarse * coarse)
        return np.array([part.sum() for part in parts], dtype=np.int64)

    def possible(self, tally: Integers, count: int) -> bool:
        high, low, coarse, squares = (int(part) for part in tally)
        total, last = (high << _LOW) + low, self.reports - 1
        return (
            0 <= low <= count * (2**_LOW - 1)
            and 0 <= high <= count * (last >> _LOW)
            and total <= count * last
            and 0 <= (coarse << self._shift) <= total <= (coarse << self._shift) + count * (2**self._shift - 1)
            and coarse * coarse <= squares * max(count, 1) <= coarse * max(count, 1) * (last >> self._shift)
        )

    def summary(self, tally: Integers, count: int) -> tuple[float, float]:
        high, low, coarse, squares = (int(part) for part in tally)
        mean = float(Fraction((high << _LOW) + low, count) - self.margin) / self.steps
        spread = Fraction(squares, count) - Fraction(coarse, count) ** 2
        return mean, float(spread) * (2**self._shift / self.steps) ** 2

    @property
    def jump(self) -> float:
        return float(1 / self.epsilon)  # the scale: reports have no end that matters

    @property
    def reach(self) -> float:
        return (self.steps + self.margin) / self.steps
