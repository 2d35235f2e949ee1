"""How many rows a mean, a share or a count needs, so that noise moves it by at most ``accuracy`` with probability ``confidence``.

What is meant is privacy noise alone: how far the people in a table are from the population they were drawn from comes on top.
``accuracy`` is the lectures' alpha and 1 - ``confidence`` their beta. Everything follows from public facts.

* *A mean* is released as a curator releases it: around the middle of its range, as a noisy sum over a noisy count; with
  ``neighbours="replace"`` the number of rows n is public, and the sum has all of the price (for rho-zCDP and values in [-b, b]
  the mean has noise of variance 2 b^2 / (rho n^2)). With noises X on the sum and Y on the count, a mean m that is released as
  (n m + X) / (n + Y) is more than a too large exactly if X - (m + a) Y > a n, and too small if X - (m - a) Y < -a n. Declared
  bounds cut off what lies beyond them, so both happen most often where m + a, or m - a, is a bound; noise of few whole units,
  whose sums jump, is tried everywhere. That chance, and the chance that the noisy count is not surely positive, fall as n grows.
* *A share* is the mean of a truth value. Its accuracy is in parts of 1.
* *A count* is off by the same number of rows whatever it is. Its accuracy is in parts of itself.
* *Local*: every owner adds noise to their own value, at the sensitivity of the whole range, and the mean of n such reports is
  taken. Its noise falls as 1 / sqrt(n) and not as 1 / n. Of n Laplace noises of scale b the sum is Gaussian of variance 2 b^2 G,
  where G has the Gamma law of shape n (Kotz, Kozubowski, Podgorski 2001, 2.2); that mixture is added up numerically.

>>> print(mean(lower=-5, upper=5, accuracy=0.1, rho=0.5, neighbours="replace"))
196 rows; 38,415 if every owner adds the noise
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, probability
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.aggregates import Count, Mean
from discreet.plan.aggregates.base import Aggregate
from discreet.plan.aggregates.soft import Forms, forms_of
from discreet.plan.cost import Cost
from discreet.plan.expressions import Column
from discreet.plan.noises import above
from discreet.plan.plan import Plan, price
from discreet.plan.query import Output, Query
from discreet.plan.release import Release
from discreet.schema import integer, number, rows
from discreet.schema.sensitivity import Neighbours, check_neighbours
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows

__all__ = ["Needed", "count", "mean", "share"]

_MOST = 2**62
_HOW = "write mean(lower=0, upper=100, accuracy=1, epsilon=1), or epsilon=1, delta=1e-6, or rho=0.5"
_DIGITS = 2  # of rows, in advice
_COARSE, _TRIED = 5.0, 60  # noise of fewer units is tried at so many means
_PART, _CONFIDENCE = Fraction(1, 100), Fraction(19, 20)  # what previews speak of


@dataclass(frozen=True)
class Needed:
    """Rows that are enough, and hardly more: where a curator adds noise once, and where (``local``) every owner does."""

    rows: int
    local: int

    def __str__(self) -> str:
        return f"{self.rows:,} row{'s' if self.rows != 1 else ''}; {self.local:,} if every owner adds the noise"


@called_as("lower=0, upper=100, accuracy=1, epsilon=1")
def mean(
    *,
    lower: Number,
    upper: Number,
    accuracy: Number,
    confidence: Number = 0.95,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add-remove",
) -> Needed:
    """Rows for a mean of values between ``lower`` and ``upper`` that is off by at most ``accuracy``; give ``epsilon`` (Laplace
    noise), or ``epsilon`` and ``delta``, or ``rho`` (Gaussian noise).

    >>> mean(lower=0, upper=100, accuracy=1, epsilon=1).rows
    297
    """
    column = number(lower, upper, missing=lower)
    wanted, span = positive("accuracy", accuracy, "an error such as 1"), column.upper - column.lower
    if 2 * wanted >= span:
        raise ParameterError("Whoever guesses the middle of the range is off by half of it at most; write a smaller accuracy.")
    found = _Asked(confidence, epsilon, delta, rho)
    releases = found.releases(Mean(Column("x")), Schema({"x": column}, _unit(neighbours)))
    return Needed(_rows(forms_of(releases), wanted, found.confidence), found.local(span, wanted))


@called_as("accuracy=0.01, epsilon=1")
def share(
    *,
    accuracy: Number,
    confidence: Number = 0.95,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add-remove",
) -> Needed:
    """Rows for a share, between 0 and 1, that is off by at most ``accuracy``; costs as for ``mean``.

    >>> share(accuracy=0.01, epsilon=1).rows
    300
    """
    wanted, found = positive("accuracy", accuracy, "an error such as 0.01"), _Asked(confidence, epsilon, delta, rho)
    if 2 * wanted >= 1:
        raise ParameterError("Whoever guesses one half is off by 0.5 at most; write a smaller accuracy, such as 0.01.")
    releases = found.releases(Mean(Column("x")), Schema({"x": integer(0, 1, missing=0)}, _unit(neighbours)))
    return Needed(_rows(forms_of(releases), wanted, found.confidence), found.local(Fraction(1), wanted))


@called_as("accuracy=0.01, epsilon=1")
def count(
    *,
    accuracy: Number,
    confidence: Number = 0.95,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    neighbours: Neighbours = "add-remove",
) -> Needed:
    """How large a count of some rows must be to be off by at most ``accuracy`` of itself; costs as for ``mean``.

    >>> count(accuracy=0.01, epsilon=0.5).rows
    600
    """
    wanted, found = positive("accuracy", accuracy, "a part such as 0.01"), _Asked(confidence, epsilon, delta, rho)
    some = Count(Column("x"))  # under "replace" only a count of all rows would be public
    (release,) = found.releases(some, Schema({"x": integer(0, 1)}, _unit(neighbours)))
    half = Fraction(release.spread.half(found.confidence))
    return Needed(max(1, math.ceil(half / wanted)), found.local(Fraction(1), wanted))


class _Asked:
    """A confidence and a cost, read: noise for a curator, and for everybody alone."""

    def __init__(self, confidence: object, epsilon: object, delta: object, rho: object) -> None:
        self.confidence = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        if self.confidence < Fraction(1, 2):
            raise ParameterError("An error that is mostly exceeded is none to plan with; write a confidence such as 0.95.")
        given = tuple(x is not None for x in (epsilon, delta, rho))
        if given == (True, False, False):
            self.cost = Cost("epsilon", positive("epsilon", epsilon, "a number such as 1"))
        elif given == (True, True, False):
            unit = Gaussian(sensitivity=Fraction(1), epsilon=epsilon, delta=delta)  # type: ignore[arg-type]
            self.cost = Cost("rho", 1 / (2 * unit.squared_sigma))
        elif given == (False, False, True):
            self.cost = Cost("rho", positive("rho", rho, "a number such as 0.5"))
        else:
            raise ParameterError(f"Noise has its size by epsilon, or by epsilon with delta, or by rho, and by one only; {_HOW}.")

    def releases(self, aggregate: Aggregate, schema: Schema) -> Sequence[Release]:
        """What a curator would release for this, and nothing else, at this cost."""
        return price(Query((Output("x", aggregate),)), schema, self.cost).behind["x"]

    def local(self, span: Fraction, accuracy: Fraction) -> int:
        """Rows that are needed if every owner adds noise to a value whose range is so wide."""
        within, miss = float(accuracy), float(1 - self.confidence)
        if self.cost.rho is not None:
            sigma = Gaussian(sensitivity=span, rho=self.cost.rho).sigma
            return _least(lambda n: math.erfc(within * math.sqrt(n / 2) / sigma) <= miss)
        scale = float(Laplace(sensitivity=span, epsilon=self.cost.amount).scale)
        return _least(lambda n: _beyond(n * within / scale, n) <= miss)


def _unit(neighbours: Neighbours) -> Rows:
    """Rows; where one is replaced their number is public, and no noise depends on it."""
    return rows(neighbours=neighbours, size=1 if check_neighbours(neighbours) == "replace" else None)


def _rows(forms: Forms, accuracy: Fraction, confidence: Fraction, *, digits: int | None = None) -> int:
    """The least number of rows with which a mean is as accurate as this, wherever it lies between its bounds; or, with
    ``digits``, one that is the same when both are rounded up to so many."""
    a, miss, enough = float(accuracy), float(1 - confidence), max(forms.half(0, 1), 0.5)

    def chance(distance: float, centred: float, count: float) -> float:
        """That so many times the sum, and the count, are moved so far by their noises."""
        noises = zip(forms.spreads, forms.centred, forms.count, strict=True)
        return above(distance, [(spread, centred * x + count * y) for spread, x, y in noises])

    def fits(n: int, means: Sequence[float]) -> bool:
        few = chance(n - enough, 0, 1) if n > enough else 1.0
        return few + max(chance(a * n, 1, -(m + a)) + chance(a * n, 1, a - m) for m in means) <= miss

    ends = (forms.low + a, forms.high - a)
    near = max(forms.half(1, -end) for end in ends) / a if digits else 1.0  # noise alone is so far from 0
    found = _least(lambda n: fits(n, ends), near=near, digits=digits)
    if max(spread.scale / spread.unit for spread in forms.spreads) > _COARSE:
        return found
    between = np.linspace(*ends, _TRIED)

    def fits_everywhere(n: int) -> bool:
        counted = np.linspace(forms.low, forms.high, 2 * min(n, _TRIED) + 1).clip(*ends)
        return fits(n, [*between, *counted])

    return _least(fits_everywhere, found, digits=digits)


def _least(fits: Callable[[int], bool], first: int = 1, *, near: float = 1.0, digits: int | None = None) -> int:
    """The least number from the first one on that fits, where all larger ones do; looked for around one that is near."""
    low, high = first - 1, max(first, math.ceil(min(near, float(_MOST))))
    step = high if near == 1 else max(1, high // 16)
    while not fits(high):
        low, high, step = high, high + step, 2 * step
        if high > _MOST:
            raise ParameterError("So accurate an answer needs more rows than any table has; write a larger accuracy or cost.")
    while low < first and high - step > low and fits(high - step):
        high, step = high - step, 2 * step
    low = max(low, high - step)
    while high - low > 1 and (digits is None or _round_up(low + 1, digits) < _round_up(high, digits)):
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def _beyond(distance: float, n: int) -> float:
    """P(|X| > distance) for the sum X of n independent Laplace noises of scale 1.

    Given G, it is erfc(distance / (2 sqrt(G))). The integral over the logarithm of G decays faster than any exponential to both
    sides, so a sum over even steps has hardly an error.
    """
    step = 9 / math.sqrt(n)
    logs = math.log(n) + np.linspace(-max(step, 40 / n), step, 301)
    weights = np.exp(n * logs - np.exp(logs) - n * math.log(n) + n)
    tails = [math.erfc(distance / 2 * math.exp(-u / 2)) for u in logs.tolist()]
    return float(weights @ tails / weights.sum())


def advise(plans: Sequence[Plan]) -> Iterator[str]:
    """From how many rows on noise keeps the means and shares of some questions within 1 % of their ranges, 95 % of the time."""
    found: dict[str, list[str]] = {}
    for plan in (one for one in plans if one.query.levels is None):  # margins are made of more than two noises
        what = ("persons" if plan.query.people else "rows") + (" of a group" if plan.query.keys else "")
        for output in plan.query.outputs:
            if not output.shown or not isinstance(output.aggregate, Mean):
                continue
            forms = forms_of(plan.behind[output.name])
            span = Fraction(forms.high - forms.low)
            with suppress(ParameterError):  # where no table is so large there is nothing to say
                many = _rows(forms, _PART * span, _CONFIDENCE, digits=_DIGITS) if span else 1
                found.setdefault(f"from {_round_up(many, _DIGITS):,} {what} on", []).append(output.name)
    if found:
        each = ", ".join(f"{many} ({', '.join(names)})" for many, names in found.items())
        full = ", where rows count in full" if any(type(plan.schema.unit) is Person for plan in plans) else ""
        yield f"Noise stays within 1 % of the range, 95 % of the time, {each}{full}; sampling error comes on top."


def _round_up(number: int, digits: int) -> int:
    """To so many digits."""
    unit: int = 10 ** max(len(str(number)) - digits, 0)
    return -(-number // unit) * unit
