"""Soft counts: the count and the sum that a mean is made of, as one noisy pair instead of two noisy numbers.

A row at the place p between its bounds (0 at the least value, 1 at the largest) adds p to one count and 1 - p to the other. In
whole units, with a span of S units: v - low to A, and high - v to B. So A + B = S n, A - B = 2 (sum - middle n), and A / (A + B)
is the place of the mean.

**Theorem.** Over all groups, the L1 sensitivity of (A, B) is S for rows that are added or removed, r m S for persons, and twice
that where one is replaced by another. *Proof.* A row adds two numbers that are not negative and whose sum is S, whatever it
holds; one that is missing or filtered out adds nothing. So its part in the vector of all A and B has an L1 norm of S or 0. A
person's weighted rows have a norm of at most r m (``statistics``), times S; weights that are rounded down only lower it. Whoever
is replaced moves the vector by at most the norms of the two parts. It is attained: by any row, at any value; where one is
replaced, by low for high.

**Why.** Let noise of scale 1 / e be what a sensitivity of 1 costs at the price of one share, and let d be the distance of the
mean from the middle, as a part of the span. Two shares buy a count and a sum around the middle, with a share each: n times the
error of their quotient has variance S^2 (1/2 + 2 d^2) / e^2 where rows are added or removed. The pair for the same two shares has
noise of scale S / 2e on A and on B, and n times the error of S A / (A + B) is (1/2 - d) X - (1/2 + d) Y: variance
S^2 (1/4 + d^2) / e^2. Half of it, wherever the mean lies. The count (A + B) / S has variance 1 / e^2 instead of 2 / e^2. The hull
of what one row can do to (sum, count) is the ball of the pair's norm, so no other norm has less to cover. Replaced in groups: all
sensitivities double, half again.

* *Replaced within the whole table*, a row that may be missing or filtered out moves the sum around the middle by S or by S / 2,
  and the count by 0 or by 1: the pair (sum around the middle, b n), with b the larger half of S, has the L1 sensitivity 2 b (a
  person: C >= C' weighted rows before and after, |V| <= b C, so |V - V'| + b (C - C') <= 2 b C <= 2 b r). For an even S two
  shares give it variance S^2 (1/2 + 2 d^2) / e^2 and the count as it was: half of what soft counts have, whose sensitivity is
  2 S, and a quarter, in the middle, of the two numbers apart. For S = 1 soft counts have less, but the count has more.
* *Where the count is public* the sum around the middle has all the price alone.
* *Gaussian noise*: by its L2 norm S, the pair has variance S^2 (1/4 + d^2) / rho, and so have the two halves: (A, B) is the pair
  (sum around the middle, S n / 2) turned by 45 degrees, and Gaussian noise is the same in all directions. Nothing is won, and two
  numbers can be shared with other outputs: they stay two. But of a share (S = 1) no whole number is the middle, and the halves
  have (1 + p^2) / rho for its (p^2 + (1 - p)^2) / 2 rho: shares are pairs.
* *Means that share a count*: k of them and the count are k + 1 shares, of which each pair has (k + 1) / k: less Laplace noise
  than apart while 2 k^2 < (k + 1)^2, so for one and for two; for shares with Gaussian noise always, but the count is read from
  one pair, so for one where it is asked for. Whatever else needs the count by itself (a variance) keeps it apart.

All of this is decided by public facts, every other output keeps its share, and none is less accurate than it was apart.

>>> from discreet.plan.expressions import Column
>>> age = Facts("number", False, Fraction(0), Fraction(120), Fraction(1))
>>> [str(measure) for measure in pair(Column("age"), age, swapped=False).of]
['sum(age)', 'sum(120 - age)']
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.aggregates.base import Context, Estimate
from discreet.plan.expressions import Expression
from discreet.plan.expressions.facts import Facts
from discreet.plan.forms import TINY, Linear, Source, last_possible
from discreet.plan.measures import Frame, Measure, measure_presence, measure_value
from discreet.plan.noises import Noise, explains, reach_of_one
from discreet.plan.release import Additive, Need, Release, Released, Spread
from discreet.plan.statistics import Sums

_SHARING = 2  # so many means are pairs although they could share a count
_LARGEST = 2**52  # units of a value: they are subtracted exactly, also as doubles
_MISS = 0.05
_STEPS = 50  # halvings of a declared range
_TRIED = 21  # means at which an error is tried


def pair(of: Expression, facts: Facts, *, swapped: bool) -> Sums:
    """Both numbers of a mean as one statistic: soft counts; or (``swapped``: one row for another, in one table without groups)
    the sum around the middle, and the count times the most that one row can add to it."""
    if swapped:
        value, present = measure_value(of, facts, centred=True), measure_presence(of, facts)
        return Sums((value, replace(present, low=present.low * value.bound, high=value.bound, step=value.step)))
    value = measure_value(of, facts)
    above = replace(value, low=0, high=value.high - value.low, shift=value.low)
    return Sums((above, replace(above, what="rest", shift=value.high)))


def soften(context: Context, frame: Frame, *, gaussian: bool) -> Context:
    """The same context, in which means that gain by it are pairs."""
    averaged: dict[Need, dict[Expression, None]] = {}
    apart, asked = set[Need](), set[Need]()
    for aggregate in context.beside:
        needs = aggregate.needs(context)
        if not aggregate.paired:
            apart |= {*needs}
        elif len(needs) == 2:
            of = _measures(needs[1])[0].of
            assert of is not None
            averaged.setdefault(needs[0], {})[of] = None
        if aggregate.averages is None:
            asked |= {*needs[:1]}
    pairs: dict[Expression, Need] = {}
    counted: dict[Measure, Need] = {}
    for count, expressions in averaged.items():
        values = {of: measure_value(of, context.of(of)) for of in expressions}
        if (
            count in apart
            or count.public(frame)
            or any(value.low == value.high or value.bound > _LARGEST for value in values.values())
            or not _gains(list(values.values()), frame, asked=count in asked, gaussian=gaussian)
        ):
            continue
        shares = Fraction(len(values) + 1, len(values))
        pairs |= {of: Additive(pair(of, context.of(of), swapped=_swapped(value, frame)), shares) for of, value in values.items()}
        counted[_measures(count)[0]] = pairs[next(iter(values))]
    return replace(context, pairs=pairs, counted=counted)


def _gains(values: Sequence[Measure], frame: Frame, *, asked: bool, gaussian: bool) -> bool:
    """Whether means that share a count, which may be ``asked`` for by itself, are better off as pairs, and nothing is worse."""
    shares = all(value.high - value.low == 1 for value in values)
    if frame.exchanged and frame.groups == 1:
        return len(values) == 1 and (not (shares and asked)) and (shares or not gaussian)
    return shares and (len(values) == 1 or not asked) if gaussian else len(values) <= _SHARING


def _swapped(value: Measure, frame: Frame) -> bool:
    return frame.exchanged and frame.groups == 1 and value.high - value.low > 1


@dataclass(frozen=True)
class Forms:
    """How the count of a mean, and the sum around its middle, are linear forms of noisy numbers: of two, but in a table with
    margins.

    The noises of the numbers are independent. ``middle`` is the middle, ``low`` and ``high`` are the ends around it.
    """

    spreads: tuple[Spread, ...]
    count: tuple[float, ...]
    centred: tuple[float, ...]
    middle: float
    low: float
    high: float

    def values(self, numbers: Sequence[Reals]) -> tuple[Reals, Reals]:
        """The count and the sum around the middle."""
        count, centred = ((x * numbers[0] + y * numbers[1]) for x, y in (self.count, self.centred))
        return count, centred

    def linear(self, released: Sequence[Released]) -> tuple[Linear, Linear]:
        """The count and the sum around the middle, with the weights of what they are made of."""
        places = [Source(one.release, place) for one in released for place in range(len(_measures(one.release)))]
        noisy = [source for source in places if source.release.mechanism is not None]
        count, centred = self.values(numbers_of(released))
        weights = ({s: w for s, w in zip(places, form, strict=True) if w and s in noisy} for form in (self.count, self.centred))
        return Linear(count, next(weights)), Linear(centred, next(weights))

    def explain(self, distance: Reals, centred: float, count: Reals) -> NDArray[np.bool_]:
        """Whether noise alone may bring so many times the sum, and the count, so far from 0."""
        return explains(distance, [Noise(one, centred * x + count * y) for x, y, one in self._noises()], _MISS)

    def half(self, centred: float, count: float) -> float:
        """The half-width of the interval of such a sum; where that is a multiple of one unit, as the noise is, a multiple too."""
        weighted = tuple((one, centred * x + count * y) for x, y, one in self._noises())
        half = reach_of_one(weighted, _MISS)
        units = {abs(weight) * one.unit for one, weight in weighted}
        unit = units.pop() if len(units) == 1 else 0.0
        return half if not unit else unit * math.ceil(half / unit - 1e-9)

    @property
    def unit(self) -> float:
        """What one unit of noise makes of the sum around the middle, at most."""
        return max((abs(weight) * one.unit for weight, _, one in self._noises()), default=0.0)

    def deviation(self, centred: float | Reals, count: float | Reals) -> float | Reals:
        """The standard deviation of the noise of such a sum."""
        return np.sqrt(sum((((centred * x + count * y) * one.deviation) ** 2 for x, y, one in self._noises()), 0.0))

    def mean(self, count: Reals, centred: Reals) -> Estimate:
        """A mean from the sum around a middle and the count; without a count that is surely positive, the whole declared
        range."""
        enough = count > max(self.half(0, 1), 0.5)
        size = np.where(enough, count, 1.0)
        best = np.where(enough, np.clip(centred / size, self.low, self.high), 0.0)

        deviation = self.deviation(1, -best)
        known = np.flatnonzero(np.tile(enough, 2))  # both ends are looked for at once, where there are any
        bound, sign = np.repeat([self.low, self.high], len(best)), np.repeat([-1.0, 1.0], len(best))
        twice = (np.tile(one, 2)[known] for one in (size, centred, best, (deviation + TINY * self.unit) / size))
        sizes, sums, start, first = twice

        def compatible(r: Reals) -> NDArray[np.bool_]:
            return self.explain(np.abs(sums - r * sizes), 1, -r)

        ends = bound.copy()
        if known.size:
            ends[known] = last_possible(start, compatible, first, bound[known], sign[known])
        ends += self.middle
        lower, upper = ends[: len(best)], ends[len(best) :]
        error = np.where(enough, deviation / size, (self.high - self.low) / 2)
        return Estimate(best + self.middle, error, lower, upper)

    def widest(self, size: float) -> Estimate:
        """The means of a group of this size that have the widest intervals, with as few rows as the noisy count says but once
        in 40 times.

        The nearer the mean is to a bound, the more noise a quotient has, until the bound cuts its interval off. So the widest is
        where the interval just reaches a bound, and that mean is among those that are tried.
        """
        fewest = max(size - self.half(0, 1), 1.0)
        reach = self.half(1, -self.low) / fewest, self.half(1, -self.high) / fewest
        ends = np.clip([self.low + reach[0], self.high - reach[1]], self.low, self.high)
        means = np.concatenate([np.linspace(self.low, self.high, _TRIED), ends])
        return self.mean(np.full_like(means, fewest), fewest * means)

    def _noises(self) -> Iterator[tuple[float, float, Spread]]:
        """For each noise by how much it is in the sum and in the count, and how it spreads."""
        return zip(self.centred, self.count, self.spreads, strict=True)


def forms_of(releases: Sequence[Release]) -> Forms:
    """The forms of what was released for a mean: a pair, or the count and the sum around the middle."""
    first = _measures(releases[0])
    if len(releases) == 2:
        measure = _measures(releases[1])[0]
        ends = (float(units * measure.step) for units in (measure.shift, measure.low, measure.high))
        return Forms((releases[0].spread, releases[1].spread), (1.0, 0.0), (0.0, 1.0), *ends)
    spread, measure, step = releases[0].spread, first[0], first[0].step
    if first[1].what != "rest":
        ends = (float(units * step) for units in (measure.shift, measure.low, measure.high))
        return Forms((spread, spread), (0.0, 1 / float(measure.bound * step)), (1.0, 0.0), *ends)
    span = measure.high * step
    each = 1 / float(span)
    middle = float((measure.shift + Fraction(measure.high, 2)) * step)
    return Forms((spread, spread), (each, each), (0.5, -0.5), middle, -float(span / 2), float(span / 2))


def numbers_of(released: Sequence[Released]) -> list[Reals]:
    """The noisy numbers behind a mean, of all groups."""
    return [number for one in released for number in np.split(one.real, len(_measures(one.release)))]


def _measures(of: Need | Release) -> tuple[Measure, ...]:
    assert isinstance(of, Additive | Release)
    assert isinstance(of.statistic, Sums)
    return of.statistic.of
