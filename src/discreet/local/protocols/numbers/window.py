"""A window on a row of cells: report a cell inside the window more often than one outside.

**Theorem.** A window of W neighbouring cells among D is placed somewhere by the value. With probability
W e^epsilon / (W e^epsilon + D - W) the report is a uniform one of its cells, else a uniform one of the others. Every cell is then
e^epsilon times likelier for the windows it is in than for those it is not in, for any two values of one person; and so it is for
any mixture of windows. This is the piecewise mechanism (Wang et al. 2019) and the square wave (Li et al. 2020) on a public grid.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import chance_inside, float_precision
from discreet.noise.coins import Chance, bernoulli, uniform


@dataclass(frozen=True)
class Window:
    """A window of ``width`` of ``cells`` cells; its first cell may be 0 .. ``last``.

    >>> window = Window(Fraction(1), 10, 3)
    >>> window.last, round(float(window.near()), 4)
    (7, 0.5381)
    """

    epsilon: Fraction
    cells: int
    width: int

    def __post_init__(self) -> None:
        if not 1 <= self.width < self.cells <= 2**20:
            raise ParameterError("A window needs 1 or more of at most 2^20 cells, and not all of them; leave it to discreet.")

    @property
    def last(self) -> int:
        return self.cells - self.width

    def near(self) -> arb:
        """The chance to report a cell inside, as a ball at the current precision."""
        return chance_inside(self.width, self.last, self.epsilon)()

    def draw(self, starts: Integers) -> Integers:
        """One cell for every window."""
        inside = bernoulli(Chance(chance_inside(self.width, self.last, self.epsilon)), starts.size)
        within, beyond = uniform(self.width, starts.size), uniform(self.last, starts.size)
        beyond += self.width * (beyond >= starts)
        return np.where(inside, starts + within, beyond)

    def likelihood(self, cell: int, start: int) -> arb:
        """Of a cell for a window that starts here."""
        return self.near() / self.width if start <= cell < start + self.width else (1 - self.near()) / self.last

    @cached_property
    def rates(self) -> tuple[float, float]:
        """The chance of a cell outside, and what one inside has more; with all digits of floats."""
        with float_precision(self.epsilon):
            far = (1 - self.near()) / self.last
            return float(far), float(self.near() / self.width - far)

    def moments(self, starts: Reals) -> tuple[Reals, Reals]:
        """Mean and mean square of the reported cell, exact up to floats; the mean is linear in the window's place."""
        far, lift = self.rates
        middle = starts + (self.width - 1) / 2
        spread = (self.width**2 - 1) / 12
        mean = lift * self.width * middle + far * (self.cells * (self.cells - 1) / 2)
        square = lift * self.width * (middle**2 + spread) + far * ((self.cells - 1) * self.cells * (2 * self.cells - 1) / 6)
        return mean, square

    @property
    def slope(self) -> float:
        """How much that mean grows from the first place to the last."""
        return self.rates[1] * self.width * self.last
