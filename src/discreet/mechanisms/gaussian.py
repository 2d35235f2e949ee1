"""The Gaussian mechanism.

**Theorem** (Balle and Wang 2018, theorem 8). If f moves by at most ``sensitivity`` in L2 norm between neighbours, then
f(D) + N(0, sigma^2 I) is (epsilon, delta)-differentially private exactly when, with mu = sensitivity / sigma,

    Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu) <= delta,

for any epsilon >= 0, for the neighbours under which the sensitivity holds. It is also (mu^2 / 2)-zCDP (Bun and Steinke 2016).
Releases round the ideal mechanism to a public grid, which is post-processing.

Sensitivities in L2: a histogram 1 when a record is added or removed and sqrt(2) when one is replaced; the mean of n (public)
values in [-b, b] 2b/n when one is replaced.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from discreet.arrays import Number
from discreet.balls import arb, ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import nearest, positive, probability, root
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.grid import Grid, Released, choose_grid
from discreet.mechanisms.values import Value
from discreet.noise import gaussian as noise
from discreet.privacy import Privacy
from discreet.privacy.losses import Gaussian as Loss
from discreet.privacy.neighbours import Neighbours, read_neighbours

_HOW = "write Gaussian(sensitivity=1, epsilon=1, delta=1e-6), or rho=0.5, or sigma=10"
_SMALL = "a small chance such as 1e-6"


@called_as("sensitivity=1, epsilon=1, delta=1e-6")
@dataclass(frozen=True, init=False)
class Gaussian(Mechanism):
    """Gaussian noise calibrated to an L2 sensitivity; give ``epsilon`` and ``delta``, or ``rho``, or ``sigma``.

    >>> Gaussian(sensitivity=1, rho=0.5).sigma
    1.0
    >>> round(Gaussian(sensitivity=1, epsilon=1, delta=1e-6).sigma, 4)
    4.2247
    """

    sensitivity: int | Fraction
    squared_sigma: Fraction
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated
    _grid: Grid = field(repr=False)
    _units: Fraction = field(repr=False)  # sigma^2, in squared steps of the grid

    label = "Gaussian noise"

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        exact = read_sensitivity(sensitivity)
        given = tuple(x is not None for x in (epsilon, delta, rho, sigma))
        if given == (True, True, False, False):
            budget = positive("epsilon", epsilon, "a number such as 1")
            if budget > 10**6:
                raise ParameterError("An epsilon above 10^6 promises nothing to anybody; write a number such as 1.")
            chance = probability("delta", delta, zero=False, hint=_SMALL)
            square = (exact * analytic_sigma(budget, chance)) ** 2
        elif given == (False, False, True, False):
            square = exact**2 / (2 * positive("rho", rho, "a number such as 0.5"))
        elif given == (False, False, False, True):
            square = positive("sigma", sigma, "a number such as 10") ** 2
        else:
            raise ParameterError(f"Gaussian takes epsilon with delta, or rho, or sigma, and one of the three only; {_HOW}.")
        squared, grid = Fraction(square), choose_grid(root(Fraction(square)), integral=isinstance(exact, int))
        self._fill(sensitivity=exact, squared_sigma=squared, neighbours=read_neighbours(neighbours))
        self._fill(_grid=grid, _units=squared / grid.step**2)

    @classmethod
    def classic(cls, *, sensitivity: Number, epsilon: Number, delta: Number) -> Gaussian:
        """The textbook calibration sigma^2 = 2 ln(1.25/delta) sensitivity^2 / epsilon^2, proved for epsilon < 1 only.

        (Dwork and Roth, theorem 3.22.) Always noisier than the exact calibration; here to compare with.
        """
        budget = positive("epsilon", epsilon, "a number such as 0.5")
        if budget >= 1:
            raise ParameterError(
                f"The classic Gaussian formula is proved only for epsilon below 1, and epsilon is {epsilon}; "
                "write Gaussian(sensitivity=..., epsilon=..., delta=...), which is exact for every epsilon and adds less noise."
            )
        chance = probability("delta", delta, zero=False, hint=_SMALL)
        exact = read_sensitivity(sensitivity)
        with precision(160):
            unit = Fraction(upper((2 * (ball(Fraction(5, 4) / chance)).log()).sqrt()))
        return cls(sensitivity=sensitivity, sigma=unit * exact / budget)

    @property
    def sigma(self) -> float:
        """The standard deviation of the ideal noise."""
        return float(root(self.squared_sigma))

    @property
    def privacy(self) -> Privacy:
        """Gaussian differential privacy with mu = sensitivity / sigma, for the neighbours under which the sensitivity holds."""
        return Privacy.of(Loss(Fraction(self.sensitivity) ** 2 / self.squared_sigma), self.neighbours)

    @property
    def grid(self) -> int | float:
        """Every release is a multiple of this public step."""
        return self._grid.public

    def release(self, value: Value) -> Released:
        """``value`` plus noise: a number for a number, an array for an array (independent noise in every coordinate)."""
        units = self._units
        return let_out(
            self,
            value,
            lambda: self._grid.release(
                value, lambda size: noise.rounded(units, size), lambda near, exact: noise.rounded(units, near.size, near, exact)
            ),
        )

    def error(self, confidence: Number = 0.95) -> int | float:
        """With at least this probability, one released number is no farther from the truth."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        with precision(160):
            reach = (2 * ball(self.squared_sigma)).sqrt() * _deviations(wanted)
            if self.grid == 1 and self._grid.integral:  # rounding keeps |noise| <= h while |sigma Z| <= h + 1/2
                return max(0, math.ceil(upper(reach - ball(Fraction(1, 2)))))
            return upper(reach + ball(self._grid.step / 2))

    @property
    def variance(self) -> float:
        """The variance of one released number: that of the noise, and of rounding it."""
        if self.grid != 1 or not self._grid.integral or self.squared_sigma >= 4:
            return nearest(self.squared_sigma + self._grid.step**2 / 12)  # wrong by less than e^(-2 pi^2 4)
        with precision(160):
            tails = ((ball(Fraction(2 * x - 1, 2)) / (2 * ball(self.squared_sigma)).sqrt()).erfc() for x in range(1, 40))
            return float(sum(((2 * x - 1) * tail for x, tail in enumerate(tails, 1)), arb(0)))

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label} of standard deviation {self.sigma * unit:,.4g}"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """In L2 norm; a vector that moved by x is Gaussian differential privacy with mu = x / sigma."""
        square = sum((x * x for x in changes(before, after)), Fraction(0))
        cost = Privacy.of(Loss(square / self.squared_sigma)) if square else FREE
        return Moved(cost, show_change(before, after, square, self.sensitivity, "L2"))


@lru_cache(maxsize=256)
def _deviations(confidence: Fraction) -> arb:
    """How many times sqrt(2) sigma a Gaussian number keeps within, with this probability."""
    with precision(160):
        return ball(confidence).erfinv()


@lru_cache(maxsize=256)
def analytic_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least sigma, to a relative 2^-50 and from above, that makes sensitivity 1 exactly (epsilon, delta)-private."""

    def fits(sigma: Fraction) -> bool:
        bits = 128
        while True:
            with precision(bits):
                spent = Loss(1 / sigma**2).hockey_stick(epsilon)
                if spent.rel_accuracy_bits() > 56:
                    return bool(spent <= ball(delta))
            bits *= 2

    high = Fraction(1)
    while not fits(high):
        high *= 2
    while fits(high / 2):
        high /= 2
    step = high / 4  # the least sigma lies in (high / 2, high]
    for _ in range(50):
        if fits(high - step):
            high -= step
        step /= 2
    return high
