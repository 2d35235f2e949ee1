"""From noisy sums to answers: estimates, standard errors and 95 % intervals.

Everything here happens after the release and costs nothing. An interval covers the statistic after clamping and bounding: what
the table would answer without noise. Sums have the interval of their noise. A mean is a ratio S / N: its interval holds every
r for which S - r N is compatible with noise alone (Fieller 1954), which is exact for Gaussian noise. Variances take the worst
case of the intervals of their three sums, and so cover more often than they say. Declared bounds cut off what cannot be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.plan.expressions import Value
from discreet.plan.release import Spread, outside
from discreet.plan.statistics import Cells, Measure

__all__ = ["Estimate", "choice", "mean", "plain", "quantile", "total", "variance"]

_MISS = 0.05
_STEPS = 50  # halvings of a declared range


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values of one output in every group, with standard errors and the ends of intervals; choices have neither."""

    values: Reals | list[Value]
    errors: Reals | None = None
    lower: Reals | None = None
    upper: Reals | None = None


def plain(noisy: Reals, spread: Spread) -> Estimate:
    """A sum by itself."""
    half = spread.half()
    return Estimate(noisy, np.full_like(noisy, spread.deviation), noisy - half, noisy + half)


def total(count: Reals, centred: Reals, of_count: Spread, of_sum: Spread, middle: float) -> Estimate:
    """A sum from the sum around a middle and the count."""
    values = centred + middle * count
    one = np.ones(1)
    low, high = np.zeros(1), np.full(1, 100 * (of_sum.deviation + abs(middle) * of_count.deviation) + 1e-300)
    for _ in range(_STEPS):
        half = (low + high) / 2
        inside = outside(half, of_sum, of_count, abs(middle) * one) < _MISS
        low, high = np.where(inside, low, half), np.where(inside, half, high)
    error = np.hypot(of_sum.deviation, middle * of_count.deviation)
    return Estimate(values, np.full_like(values, error), values - high, values + high)


def mean(count: Reals, centred: Reals, of_count: Spread, of_sum: Spread, measure: Measure) -> Estimate:
    """A mean from the sum around a middle and the count; without a count that is surely positive, the whole declared range."""
    middle, low, high = (float(units * measure.step) for units in (measure.shift, measure.low, measure.high))
    enough = count > max(of_count.half(), 0.5)
    size = np.where(enough, count, 1.0)
    best = np.where(enough, np.clip(centred / size, low, high), 0.0)

    def compatible(r: Reals) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        return outside(np.abs(centred - r * size), of_sum, of_count, r) >= _MISS

    def end(bound: float) -> Reals:
        far, near = np.full_like(best, bound), best.copy()
        reached = compatible(far)
        for _ in range(_STEPS):
            between = (far + near) / 2
            inside = compatible(between)
            near, far = np.where(inside, between, near), np.where(inside, far, between)
        return np.where(reached | ~enough, bound, far)

    error = np.hypot(of_sum.deviation, np.abs(best) * of_count.deviation) / size
    return Estimate(best + middle, np.where(enough, error, (high - low) / 2), end(low) + middle, end(high) + middle)


def variance(
    sums: tuple[Reals, Reals, Reals], spreads: tuple[Spread, Spread, Spread], square: Measure, *, root: bool
) -> Estimate:
    """A population variance, or its root, from the count, the sum and the sum of squares around a middle.

    Calculated in units of the largest distance from the middle, so that no square of a large number overflows.
    """
    most = (square.high + square.lift) * square.step**2
    reach = float(most) ** 0.5 or 1.0
    count, first, second = sums[0], sums[1] / reach, sums[2] / reach / reach
    deviations = (spreads[0].deviation, spreads[1].deviation / reach, spreads[2].deviation / reach / reach)
    half = [spread.half(1 - _MISS / 3) for spread in spreads]
    halves = [half[0], half[1] / reach, half[2] / reach / reach]
    lift, ceiling = float(Fraction(square.lift, square.high + square.lift or 1)), 1.0 if most else 0.0
    fewest, largest = np.maximum(count - halves[0], 1e-300), np.maximum(count + halves[0], 1e-300)
    enough = count > max(halves[0], 0.5)
    size = np.where(enough, count, 1.0)
    best = np.clip(lift + second / size - (first / size) ** 2, 0.0, ceiling)
    top, bottom = second + halves[2], second - halves[2]
    inner, outer = np.maximum(np.abs(first) - halves[1], 0.0), np.abs(first) + halves[1]
    with np.errstate(over="ignore"):
        upper = lift + np.maximum(top / fewest, top / largest) - (inner / largest) ** 2
        lower = lift + np.minimum(bottom / fewest, bottom / largest) - (outer / fewest) ** 2
    slope = second / size - 2 * (first / size) ** 2
    parts = (deviations[2], 2 * np.abs(first / size) * deviations[1], np.abs(slope) * deviations[0])
    error = np.sqrt(sum((np.asarray(part) ** 2 for part in parts), np.zeros_like(size))) / size
    best, error = np.where(enough, best, ceiling / 2), np.where(enough, error, ceiling / 2)
    lower, upper = np.where(enough, np.clip(lower, 0, ceiling), 0.0), np.where(enough, np.clip(upper, 0, ceiling), ceiling)
    if not root:
        square_reach = float(most) or 1.0
        return Estimate(best * square_reach, error * square_reach, lower * square_reach, upper * square_reach)
    deviation = np.sqrt(best)
    steep = np.sqrt(error)  # near 0 the root is steeper than any line: its error is that of the root itself
    error = error / np.maximum(2 * deviation, np.maximum(steep, 1e-300))
    return Estimate(deviation * reach, error * reach, np.sqrt(lower) * reach, np.sqrt(upper) * reach)


def quantile(chosen: Mapping[int, Reals], cells: Cells, upper_bound: float) -> Estimate:
    """A quantile from the cells chosen for the value (0) and for the ends of its interval (-1 and 1)."""
    first, width, rounded = float(cells.first), float(cells.width), 0.0 if cells.exact else 0.5

    def at(place: Reals) -> Reals:
        return np.clip(first + place * width, first, upper_bound)

    middle = chosen[0]
    lower, upper = at(np.minimum(chosen[-1], middle) - rounded), at(np.maximum(chosen[1], middle) + rounded)
    return Estimate(at(middle), None, lower, upper)  # how far values lie apart is not known, so neither is a standard error


def choice(chosen: Reals, values: Sequence[Value]) -> Estimate:
    """A value of a public list."""
    return Estimate([values[int(place)] for place in chosen])
