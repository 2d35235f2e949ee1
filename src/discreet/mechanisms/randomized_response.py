"""Randomized response: everybody randomises their own answer, so nobody has to be trusted.

**Theorem** (Warner 1965; Kairouz, Oh, Viswanath 2014 for k options). Reporting the truth with probability theta and
otherwise one of the other k - 1 options, all alike, is ln(theta (k - 1) / (1 - theta))-differentially private for a database of
one person whose answer is replaced by any other (local privacy). theta = e^epsilon / (e^epsilon + k - 1) makes that exactly
epsilon. The lecture's first attempt, theta = (epsilon + 1) / (epsilon + 2) for two options, is private too but loose: it costs
ln(1 + epsilon) and errs more.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.balls import ball, precision, upper
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability
from discreet.mechanisms.grid import Number
from discreet.noise.coins import Chance, bernoulli, uniform
from discreet.noise.lazy import Integers, Reals
from discreet.privacy import Privacy, pure

__all__ = ["Estimate", "RandomizedResponse"]

_FOREIGN = "An answer is not among the options; map it to one of them before it is randomised."


@dataclass(frozen=True)
class Estimate:
    """Fractions of a population, estimated without bias from randomised reports."""

    options: tuple[Hashable, ...]
    values: Reals
    standard_error: Reals
    reports: int
    _report_rate: Reals = field(repr=False)
    _truth: float = field(repr=False)
    _lie: float = field(repr=False)

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Lower and upper ends that cover each population fraction (Wilson's interval for the reports, mapped back)."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        z = NormalDist().inv_cdf(float(1 + wanted) / 2)
        n, rate = self.reports, self._report_rate
        centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        gain = self._truth - self._lie
        return (centre - reach - self._lie) / gain, (centre + reach - self._lie) / gain


@dataclass(frozen=True, init=False)
class RandomizedResponse:
    """Randomises one person's answer among public options.

    >>> drugs = RandomizedResponse(epsilon=1, options=("yes", "no"))
    >>> drugs.release("yes") in ("yes", "no")
    True
    >>> round(drugs.theta, 6)
    0.731059
    """

    options: tuple[Hashable, ...]
    epsilon: Fraction
    chance: Chance = field(repr=False, compare=False)

    def __init__(self, *, epsilon: Number, options: Sequence[Hashable] = (True, False)) -> None:
        self._fill(options, positive("epsilon", epsilon, "a number such as 1"))
        others = len(self.options) - 1
        budget = self.epsilon
        object.__setattr__(self, "chance", Chance(lambda: 1 / (1 + others * (-ball(budget)).exp())))

    @classmethod
    def loose(cls, *, epsilon: Number, options: Sequence[Hashable] = (True, False)) -> RandomizedResponse:
        """The lecture's theta = (epsilon + 1) / (epsilon + 2) for two options: private, but it costs only ln(1 + epsilon)."""
        asked = positive("epsilon", epsilon, "a number such as 1")
        if len(options) != 2:
            raise ParameterError(
                f"The loose theta is for two options, not {len(options)}; write RandomizedResponse(epsilon=...)."
            )
        made = cls.__new__(cls)
        with precision(160):
            made._fill(options, Fraction(upper(ball(1 + asked).log())))
        object.__setattr__(made, "chance", Chance((asked + 1) / (asked + 2)))
        return made

    def _fill(self, options: Sequence[Hashable], epsilon: Fraction) -> None:
        if isinstance(options, str) or len(options) < 2 or len(set(options)) != len(options):
            raise ParameterError('options must be at least two different public values; write options=("yes", "no").')
        object.__setattr__(self, "options", tuple(options))
        object.__setattr__(self, "epsilon", epsilon)

    @property
    def theta(self) -> float:
        """The chance that a report is the truth."""
        return self.chance.digits(60)[0] / 2**60

    @property
    def privacy(self) -> Privacy:
        """Pure and local: one person's answer against any other answer of the same person."""
        return pure(self.epsilon)

    def release(self, value: Hashable | Sequence[Hashable] | NDArray[np.generic]) -> Hashable | NDArray[np.generic]:
        """One randomised report for one answer, an array of reports for a list or array of answers (one a person)."""
        if isinstance(value, (list, np.ndarray)):
            return _labels(self.options)[self._randomise(self._codes(value))]
        return self.options[int(self._randomise(self._codes([value]))[0])]

    def _randomise(self, truth: Integers) -> Integers:
        # Both coins are tossed for everybody, so that the work does not tell who lied.
        honest = bernoulli(self.chance, truth.size)
        other = uniform(len(self.options) - 1, truth.size)
        other += other >= truth
        return np.where(honest, truth, other)

    def _codes(self, values: Sequence[Hashable] | NDArray[np.generic]) -> Integers:
        """The position of every value among the options."""
        labels, array = _labels(self.options), np.asarray(values)
        if array.dtype.kind == labels.dtype.kind != "O" and array.ndim == 1:
            order = np.argsort(labels)
            found: Integers = order[np.searchsorted(labels, array, sorter=order).clip(max=labels.size - 1)]
            if not (labels[found] == array).all():
                raise ValueRefused(_FOREIGN)
            return found
        positions = {option: i for i, option in enumerate(self.options)}
        listed = values.tolist() if isinstance(values, np.ndarray) else values
        try:
            codes = [positions[value] for value in listed]
        except (KeyError, TypeError):
            raise ValueRefused(_FOREIGN) from None
        return np.array(codes, dtype=np.int64)

    def estimate(self, reports: Sequence[Hashable] | NDArray[np.generic]) -> Estimate:
        """The fraction of each option in the population, without bias: (share of reports - lie) / (theta - lie)."""
        if len(reports) == 0:
            raise ValueRefused("There are no reports to estimate from; collect at least one.")
        k, theta = len(self.options), self.theta
        lie = (1 - theta) / (k - 1)
        rate = np.bincount(self._codes(reports), minlength=k) / len(reports)
        spread = np.sqrt(rate * (1 - rate) / len(reports)) / (theta - lie)
        return Estimate(self.options, (rate - lie) / (theta - lie), spread, len(reports), rate, theta, lie)

    def error(self, confidence: Number = 0.95, *, reports: int) -> float:
        """A half-width for any option's population fraction, from the normal law and the widest case."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        theta = self.theta
        lie = (1 - theta) / (len(self.options) - 1)
        widest = 0.5 if lie <= 0.5 <= theta else theta
        z = NormalDist().inv_cdf(float(1 + wanted) / 2)
        return float(z * np.sqrt(widest * (1 - widest) / reports) / (theta - lie))


def _labels(options: tuple[Hashable, ...]) -> NDArray[np.generic]:
    """Options as an array that keeps their types."""
    if len({type(option) for option in options}) == 1 and isinstance(options[0], (str, int, float)):
        return np.array(options)
    labels = np.empty(len(options), dtype=object)
    labels[:] = options
    return labels
