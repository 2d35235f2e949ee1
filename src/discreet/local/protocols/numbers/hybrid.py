"""The hybrid protocol for a mean: a coin that does not look at the value decides between Duchi's bit and a piecewise report.

**Theorem** (Wang et al. 2019). Both parts are epsilon-private for any two values of one person, so their mixture is. With
probability 1 - e^(-epsilon/2) the report is piecewise: a window of cells (see ``window.py``) whose place is linear in the value,
rounded at random so that the mean is exact. The worst-case error is the least of the three protocols from epsilon 0.61 on.

The paper draws a real number; here reports are cells of a public grid, with exact coins, and unbiased on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb, ball
from discreet.errors import ParameterError
from discreet.local.protocols.base import Rows, float_precision
from discreet.local.protocols.numbers.base import HistogramProtocol, round_places
from discreet.local.protocols.numbers.duchi import Duchi
from discreet.local.protocols.numbers.window import Window
from discreet.noise.coins import Chance, bernoulli

_MOST_CELLS = 2**15
_WIDE = 64  # cells of a window, so that rounding its place adds less than 0.1 % to the variance


@dataclass(frozen=True)
class Hybrid(HistogramProtocol):
    """The hybrid protocol. The report is 0 or 1 (Duchi's bit), or 2 + a cell.

    >>> round(4 * Hybrid.best(Fraction(1), 1000).worst, 2)  # on [-1, 1], as the paper has it
    4.29
    """

    epsilon: Fraction
    steps: int
    grid: int
    width: int
    name: ClassVar[str] = "hybrid"
    parameter_names: ClassVar[tuple[str, ...]] = ("steps", "grid", "width")

    def __post_init__(self) -> None:
        self.check()
        if not 2 <= self.grid <= _MOST_CELLS:
            raise ParameterError(f"The hybrid protocol has 2 to {_MOST_CELLS:,} cells; leave the choice to discreet.")
        _ = self._window

    @classmethod
    def best(cls, epsilon: Fraction, steps: int) -> Hybrid:
        """A window that is the share 1 / (e^(epsilon/2) + 1) of so many cells."""
        parts = math.exp(min(float(epsilon) / 2, 20.0)) + 1
        cells = min(_MOST_CELLS, math.ceil(_WIDE * parts))
        return cls(epsilon, steps, cells, max(1, round(cells / parts)))

    @property
    def cells(self) -> int:
        return self.grid + 2

    @cached_property
    def _window(self) -> Window:
        return Window(self.epsilon, self.grid, self.width)

    @cached_property
    def _duchi(self) -> Duchi:
        return Duchi(self.epsilon, self.steps)

    def _piecewise(self) -> arb:
        return -(-ball(self.epsilon / 2)).expm1()

    def _draw(self, codes: Integers) -> Rows:
        piecewise = bernoulli(Chance(self._piecewise), codes.size)
        cells = self._window.draw(round_places(codes, self.steps, self._window.last))
        return np.where(piecewise, cells + 2, self._duchi.randomize(codes))

    def likelihood(self, row: Rows, code: int) -> arb:
        report = int(row.item())
        if report < 2:
            return (1 - self._piecewise()) * self._duchi.likelihood(row, code)
        start, rest = divmod(code * self._window.last, self.steps)
        low = self._window.likelihood(report - 2, start)
        high = self._window.likelihood(report - 2, start + 1) if rest else low
        return self._piecewise() * (low * (self.steps - rest) + high * rest) / self.steps

    @cached_property
    def scores(self) -> Reals:
        origin, _ = self._window.moments(np.zeros(1))
        return np.concatenate([self._duchi.scores, (np.arange(self.grid) - origin) / self._window.slope])

    def variance(self, places: Reals) -> Reals:
        with float_precision(self.epsilon):
            chance = float(self._piecewise())
        exact = places * self._window.last
        start = np.minimum(np.floor(exact), self._window.last - 1)
        part = exact - start
        low, high = self._window.moments(start), self._window.moments(start + 1)
        mean = (1 - part) * low[0] + part * high[0]
        piecewise = np.maximum((1 - part) * low[1] + part * high[1] - mean**2, 0.0) / self._window.slope**2
        return np.asarray(chance * piecewise + (1 - chance) * self._duchi.variance(places))
