"""The Laplace mechanism.

**Theorem** (Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009 for integers). If f moves by at most
``sensitivity`` in L1 norm between neighbours, then f(D) + noise, with independent noise of density (real f) or mass (integer
f) proportional to exp(-|x| / scale) in every coordinate, is (sensitivity / scale)-differentially private, for the
neighbours under which the sensitivity holds.

Sensitivities: a count 1 when a record is added or removed and 1 when one is replaced; a histogram 1 and 2; a sum of values
in [lo, hi] max(|lo|, |hi|) and hi - lo. They come from the public domain, never from the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.arrays import Number
from discreet.balls import ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest, positive, probability
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.grid import Grid, Released, choose_grid
from discreet.mechanisms.values import Numbers, Value
from discreet.noise import laplace as noise
from discreet.privacy import Privacy, pure
from discreet.privacy.losses import DiscreteLaplace as DiscreteLoss
from discreet.privacy.losses import Laplace as RealLoss
from discreet.privacy.neighbours import Neighbours, read_neighbours


@called_as("sensitivity=1, epsilon=0.5")
@dataclass(frozen=True, init=False)
class Laplace(Mechanism):
    """Laplace noise calibrated to an L1 sensitivity; give ``epsilon`` or ``scale``.

    >>> count = Laplace(sensitivity=1, epsilon=0.5)
    >>> count.scale, count.error(confidence=0.95)
    (Fraction(2, 1), 6)
    >>> type(count.release(42))
    <class 'int'>
    """

    sensitivity: int | Fraction
    scale: Fraction
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated
    _grid: Grid = field(repr=False)
    _units: Fraction = field(repr=False)  # the scale, in steps of the grid

    label = "Laplace noise"

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        exact = read_sensitivity(sensitivity)
        if epsilon is not None and scale is None:
            spread = exact / positive("epsilon", epsilon, "a number such as 0.5")
        elif scale is not None and epsilon is None:
            spread = positive("scale", scale, "a number such as 2")
        else:
            raise ParameterError(
                "Laplace takes either epsilon or scale, and one of them only; write Laplace(sensitivity=1, epsilon=0.5)."
            )
        grid = choose_grid(spread, integral=isinstance(exact, int))
        self._fill(sensitivity=exact, scale=spread, neighbours=read_neighbours(neighbours))
        self._fill(_grid=grid, _units=spread / grid.step)

    @property
    def epsilon(self) -> Fraction:
        """The pure cost, sensitivity / scale."""
        return self.sensitivity / self.scale

    @property
    def privacy(self) -> Privacy:
        """The exact loss of the law that is drawn, for the neighbours under which the sensitivity holds: pure at ``epsilon``."""
        if isinstance(self.sensitivity, int) and self._grid.exponent == 0:
            return Privacy.of(DiscreteLoss(self.sensitivity, self.scale), self.neighbours)
        return Privacy.of(RealLoss(self.epsilon), self.neighbours)

    @property
    def grid(self) -> int | float:
        """Every release is a multiple of this public step."""
        return self._grid.public

    def read(self, value: Value) -> Numbers:
        """The numbers of a value that could be released; anything else is refused, and nothing is drawn."""
        return self._grid.read(value)

    def release(self, value: Value) -> Released:
        """``value`` plus noise: a number for a number, an array for an array (independent noise in every coordinate)."""
        units = self._units
        return let_out(
            self,
            value,
            lambda: self._grid.release(
                value, lambda size: noise.discrete(units, size), lambda near, exact: noise.rounded(units, near, exact)
            ),
        )

    def error(self, confidence: Number = 0.95) -> int | float:
        """With at least this probability, one released number is no farther from the truth."""
        miss = 1 - probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        with precision(160):
            if self.grid == 1 and self._grid.integral:  # P(|X| > h) = 2 q^(h+1) / (1+q)
                q = (-ball(1 / self.scale)).exp()
                return max(0, math.ceil(upper(ball(self.scale) * (2 / ((1 + q) * ball(miss))).log())) - 1)
            return upper(ball(self.scale) * -ball(miss).log() + ball(self._grid.step / 2))

    @property
    def variance(self) -> float:
        """The variance of one released number."""
        with precision(160):
            if self.grid == 1 and self._grid.integral:
                q = (-ball(1 / self.scale)).exp()
                return float(2 * q / (1 - q) ** 2)
        return nearest(2 * self.scale**2 + self._grid.step**2 / 12)

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label} of scale {float(self.scale) * unit:,.4g}"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """In L1 norm; a vector that moved by x costs x / scale."""
        far = sum(map(abs, changes(before, after)), Fraction(0))
        cost = pure(far / self.scale) if far else FREE
        return Moved(cost, show_change(before, after, far, self.sensitivity, "L1"))
