"""Randomized response: everybody randomises their own answer, so nobody has to be trusted.

**Theorem** (Warner 1965; Kairouz, Oh, Viswanath 2014 for k options). Reporting the truth with probability theta and
otherwise one of the other k - 1 options, all alike, is ln(theta (k - 1) / (1 - theta))-differentially private for a database of
one person whose answer is replaced by any other (local privacy). theta = e^epsilon / (e^epsilon + k - 1) makes that exactly
epsilon. The lecture's first attempt, theta = (epsilon + 1) / (epsilon + 2) for two options, is private too but loose: it costs
ln(1 + epsilon) and errs more.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.balls import ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability, whole
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out
from discreet.noise.coins import Chance, bernoulli, uniform
from discreet.privacy import Privacy
from discreet.privacy.losses import Response
from discreet.privacy.neighbours import Neighbours, read_neighbours

_FOREIGN = "An answer is not among the options; map it to one of them before it is randomised."


@dataclass(frozen=True)
class Estimate:
    """Fractions of a population, estimated without bias from randomised reports."""

    options: tuple[Hashable, ...]
    values: Reals
    standard_error: Reals
    reports: int
    _report_rate: Reals = field(repr=False)
    _lie: float = field(repr=False)
    _gain: float = field(repr=False)

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Lower and upper ends that cover each population fraction (Wilson's interval for the reports, mapped back)."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        z = NormalDist().inv_cdf(float(1 + wanted) / 2)
        n, rate = self.reports, self._report_rate
        centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * np.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return (centre - reach - self._lie) / self._gain, (centre + reach - self._lie) / self._gain


@called_as("epsilon=1")
@dataclass(frozen=True, init=False)
class RandomizedResponse(Mechanism):
    """Randomises one person's answer among public options.

    >>> drugs = RandomizedResponse(epsilon=1, options=("yes", "no"))
    >>> drugs.release("yes") in ("yes", "no")
    True
    >>> round(drugs.theta, 6)
    0.731059
    """

    options: tuple[Hashable, ...]
    epsilon: Fraction
    neighbours: Neighbours | None = field(repr=False)  # "local" where everybody randomises at home
    _loose: Fraction | None = field(repr=False)  # the epsilon that was asked for, where theta is the lecture's first attempt

    label = "randomized response"

    def __init__(
        self, *, epsilon: Number, options: Sequence[Hashable] = (True, False), neighbours: Neighbours | None = None
    ) -> None:
        self._set(options, positive("epsilon", epsilon, "a number such as 1"), None, neighbours)

    @classmethod
    def loose(cls, *, epsilon: Number, options: Sequence[Hashable] = (True, False)) -> RandomizedResponse:
        """The lecture's theta = (epsilon + 1) / (epsilon + 2) for two options: private, but it costs only ln(1 + epsilon)."""
        asked = positive("epsilon", epsilon, "a number such as 1")
        made = cls.__new__(cls)
        with precision(160 + asked.denominator.bit_length()):
            made._set(options, Fraction(upper((ball(asked)).log1p())), asked)
        if len(made.options) != 2:
            raise ParameterError(
                f"Two options have a loose theta, {len(made.options)} have none; write RandomizedResponse(epsilon=...)."
            )
        return made

    def _set(
        self, options: Sequence[Hashable], epsilon: Fraction, loose: Fraction | None, neighbours: Neighbours | None = None
    ) -> None:
        try:
            known = () if isinstance(options, (str, set, frozenset)) else tuple(options)
            different = len(set(known)) == len(known) >= 2
        except TypeError:
            different = False
        if not different:
            raise ParameterError('options must be at least two different public values; write options=("yes", "no").')
        self._fill(options=known, epsilon=epsilon, neighbours=read_neighbours(neighbours), _loose=loose)

    @property
    def chance(self) -> Chance:
        """The exact chance that a report is the truth."""
        if self._loose is not None:
            return Chance((self._loose + 1) / (self._loose + 2))
        others, budget = len(self.options) - 1, self.epsilon
        return Chance(lambda: 1 / (1 + others * (-ball(budget)).exp()))

    @property
    def _rates(self) -> tuple[float, float, float]:
        """Chances that a report is the truth, and that it is one given lie; and their difference, with all its digits."""
        truth = Fraction(self.chance.digits(2200)[0], 2**2200)
        lie = (1 - truth) / (len(self.options) - 1)
        return float(truth), float(lie), float(truth - lie)

    @property
    def theta(self) -> float:
        """The chance that a report is the truth."""
        return self._rates[0]

    @property
    def privacy(self) -> Privacy:
        """Pure: one answer against any other. ``neighbours="local"`` says that it is one person's own, given at home."""
        return Privacy.of(Response(self.epsilon, len(self.options)), self.neighbours)

    def release(self, value: Hashable | Sequence[Hashable] | NDArray[np.generic]) -> Hashable | NDArray[np.generic]:
        """One randomised report for one answer, an array of reports for a list or array of answers (one a person)."""
        return let_out(self, value, lambda: self._report(value))

    def _report(self, value: Hashable | Sequence[Hashable] | NDArray[np.generic]) -> Hashable | NDArray[np.generic]:
        if isinstance(value, np.ndarray) and value.ndim != 1:
            if value.ndim:
                raise ValueRefused("Answers must be a flat list or array, one for each person.")
            value = value.item()
        if isinstance(value, (list, np.ndarray)):
            return _labels(self.options)[respond(self._codes(value), len(self.options), self.chance)]
        return self.options[int(respond(self._codes([value]), len(self.options), self.chance)[0])]

    def _codes(self, values: Sequence[Hashable] | NDArray[np.generic]) -> Integers:
        """The position of every value among the options."""
        if isinstance(values, np.ndarray) and values.dtype.kind != "O" and values.ndim == 1:
            labels = _labels(self.options)
            if values.dtype.kind == labels.dtype.kind:
                order = np.argsort(labels)
                found: Integers = order[np.searchsorted(labels, values, sorter=order).clip(max=labels.size - 1)]
                if not (labels[found] == values).all():
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
        _, lie, gain = self._rates
        rate = np.bincount(self._codes(reports), minlength=len(self.options)) / len(reports)
        spread = np.sqrt(rate * (1 - rate) / len(reports)) / gain
        return Estimate(self.options, (rate - lie) / gain, spread, len(reports), rate, lie, gain)

    def error(self, confidence: Number = 0.95, *, reports: int) -> float:
        """A half-width for any option's population fraction, from the normal law and the widest case."""
        wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        theta, lie, gain = self._rates
        widest = 0.5 if lie <= 0.5 <= theta else theta
        z = NormalDist().inv_cdf(float(1 + wanted) / 2)
        return z * math.sqrt(widest * (1 - widest) / whole("reports", reports)) / gain

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label}, epsilon {float(self.epsilon):.4g} for every answer"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """By answers that changed, each of which costs by itself."""
        one, other = (
            self._codes(held.value if isinstance(held.value, (list, np.ndarray)) else [held.value]) for held in (before, after)
        )
        lied = int(np.count_nonzero(one != other))
        many = f"{lied} answers changed, and one person has one" if lied > 1 else None
        return Moved(lied * self.privacy if lied else FREE, None, many)


def respond(truth: Integers, size: int, chance: Chance) -> Integers:
    """k-ary randomized response to codes 0 .. size - 1: each itself with this chance, else any other, all alike."""
    # Both coins are tossed for everybody, so that the work does not tell who lied.
    honest = bernoulli(chance, truth.size)
    other = uniform(size - 1, truth.size)
    other += other >= truth
    return np.where(honest, truth, other)


def _labels(options: tuple[Hashable, ...]) -> NDArray[np.generic]:
    """Options as an array that keeps their types."""
    plain = len({type(option) for option in options}) == 1 and isinstance(options[0], (str, int, float))
    if plain and not any(str(option).endswith("\0") for option in options):  # numpy drops a string's trailing NULs
        return np.array(options)
    labels = np.empty(len(options), dtype=object)
    labels[:] = options
    return labels
