"""Arithmetic on noisy numbers with their intervals.

A figure is a number in every group, with an interval that holds the true one unless that is missing. What can be missing in truth
says so (``absent``); what has no value, because nothing is known of it, is NaN. Operations on figures are those of interval
arithmetic: if the intervals of the arguments all cover, so does that of the result.

Comparisons of figures are truths: what they are by the numbers there are, and what else they may be.

>>> few = Figure(np.array([8.0, 90.0]), np.array([2.0, 84.0]), np.array([14.0, 96.0]), np.zeros(2, bool))
>>> many = compare(">", few, public_figure(10.0, few.values))
>>> many.value.tolist(), many.maybe.tolist(), many.maybe_not.tolist()
([0.0, 1.0], [True, True], [True, False])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals

Bools = NDArray[np.bool_]


def never(values: Reals) -> Bools:
    """Nowhere, in as many groups."""
    return np.zeros(values.shape, dtype=np.bool_)


@dataclass(frozen=True, eq=False)
class Figure:
    """Numbers with the ends of their intervals; ``absent``: where the true number may be missing."""

    values: Reals
    lower: Reals
    upper: Reals
    absent: Bools


@dataclass(frozen=True, eq=False)
class Truth:
    """Truth values: 1, 0 or NaN by the numbers there are; what they may be in truth."""

    value: Reals
    maybe: Bools
    maybe_not: Bools
    absent: Bools


def public_figure(value: float | None, like: Reals) -> Figure:
    """A constant; None is missing."""
    if value is None:
        nothing = np.full_like(like, np.nan)
        return Figure(nothing, np.full_like(like, np.inf), np.full_like(like, -np.inf), ~never(like))
    exact = np.full_like(like, value)
    return Figure(exact, exact, exact, never(like))


def public_truth(value: bool, like: Reals) -> Truth:
    """A constant; what is missing is not true."""
    return Truth(np.full_like(like, value), ~never(like) & value, ~never(like) & (not value), never(like))


def _corners(a: Figure, b: Figure, combine: Callable[[Reals, Reals], Reals]) -> tuple[Reals, Reals]:
    with np.errstate(invalid="ignore", over="ignore"):
        found = [combine(x, y) for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    ends = [np.where(np.isnan(one), 0.0, one) for one in found]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def plus(a: Figure, b: Figure) -> Figure:
    """The sum."""
    with np.errstate(invalid="ignore", over="ignore"):
        return Figure(a.values + b.values, a.lower + b.lower, a.upper + b.upper, a.absent | b.absent)


def negative(a: Figure) -> Figure:
    """The number with the other sign."""
    return Figure(0.0 - a.values, -a.upper, -a.lower, a.absent)


def minus(a: Figure, b: Figure) -> Figure:
    """The difference."""
    return plus(a, negative(b))


def product(a: Figure, b: Figure) -> Figure:
    """The product."""
    with np.errstate(invalid="ignore", over="ignore"):
        return Figure(a.values * b.values, *_corners(a, b, np.multiply), a.absent | b.absent)


def quotient(a: Figure, b: Figure) -> Figure:
    """Nothing is known of a quotient whose divisor may be 0."""
    apart = (b.lower > 0) | (b.upper < 0)
    values, low, high = (np.where(apart, ends, 1.0) for ends in (b.values, b.lower, b.upper))
    safe = Figure(values, low, high, b.absent)
    with np.errstate(invalid="ignore", over="ignore"):
        lower, upper = _corners(a, safe, np.divide)
        values = np.where(apart, a.values / safe.values, np.nan)
    return Figure(values, np.where(apart, lower, -np.inf), np.where(apart, upper, np.inf), a.absent | b.absent | ~apart)


def size(a: Figure) -> Figure:
    """The number without its sign."""
    across = (a.lower < 0) & (a.upper > 0)
    low = np.where(across, 0.0, np.minimum(np.abs(a.lower), np.abs(a.upper)))
    return Figure(np.abs(a.values), low, np.maximum(np.abs(a.lower), np.abs(a.upper)), a.absent)


def rising(a: Figure, meaning: Callable[[float], Any]) -> Figure:
    """A function that never falls, applied to the number and to the ends of its interval."""

    def at(numbers: Reals, otherwise: float) -> Reals:
        return np.array([_apply(meaning, float(x), otherwise) for x in numbers], dtype=np.float64)

    return Figure(at(a.values, np.nan), at(a.lower, -np.inf), at(a.upper, np.inf), a.absent)


def _apply(meaning: Callable[[float], Any], x: float, otherwise: float) -> float:
    """A function of one number; where it has no value, nothing is known."""
    try:
        value = meaning(x) if np.isfinite(x) else x
    except (ArithmeticError, ValueError):
        return otherwise
    return otherwise if value is None or np.isnan(value) else float(value)


def extreme(all_of: Sequence[Figure], pick: Callable[[Reals, Reals], Reals]) -> Figure:
    """The least, or the greatest; missing where one is."""
    found = all_of[0]
    for one in all_of[1:]:
        values, lower, upper = (
            pick(x, y) for x, y in ((found.values, one.values), (found.lower, one.lower), (found.upper, one.upper))
        )
        found = Figure(values, lower, upper, found.absent | one.absent)
    return found


def either(a: Figure, b: Figure, first: Reals, maybe_a: Bools, maybe_b: Bools) -> Figure:
    """One of two numbers: ``first`` is 1 where it is the first by the numbers there are; ``maybe``: which it may be in truth."""
    values = np.where(first == 1, a.values, b.values)
    low = np.minimum(np.where(maybe_a, a.lower, np.inf), np.where(maybe_b, b.lower, np.inf))
    high = np.maximum(np.where(maybe_a, a.upper, -np.inf), np.where(maybe_b, b.upper, -np.inf))
    return Figure(values, low, high, (maybe_a & a.absent) | (maybe_b & b.absent))


def first_of(all_of: Sequence[Figure]) -> Figure:
    """The first that is not missing."""
    found = all_of[-1]
    for one in reversed(all_of[:-1]):
        present = ~np.isnan(one.values)
        mixed = either(one, found, present.astype(np.float64), np.ones_like(present), one.absent)
        found = Figure(mixed.values, mixed.lower, mixed.upper, one.absent & found.absent)
    return found


def unless(a: Figure, b: Figure) -> Figure:
    """The first, but missing where it equals the second."""
    equal = compare("=", a, b)
    return Figure(np.where(equal.value == 1, np.nan, a.values), a.lower, a.upper, a.absent | equal.maybe)


def compare(name: str, a: Figure, b: Figure) -> Truth:
    """A comparison: certain where the intervals lie apart."""
    below, above = a.upper < b.lower, a.lower > b.upper
    exact = (a.lower == a.upper) & (b.lower == b.upper)
    if name in (">", ">="):
        return compare({">": "<", ">=": "<="}[name], b, a)
    with np.errstate(invalid="ignore"):
        by_value = {"<": np.less, "<=": np.less_equal, "=": np.equal, "<>": np.not_equal}[name](a.values, b.values)
    missing = np.isnan(a.values) | np.isnan(b.values)
    always = {"<": below, "<=": a.upper <= b.lower, "=": exact & (a.lower == b.lower), "<>": below | above}[name]
    never = {"<": a.lower >= b.upper, "<=": above, "=": below | above, "<>": exact & (a.lower == b.lower)}[name]
    return Truth(np.where(missing, np.nan, by_value.astype(np.float64)), ~never, ~always, a.absent | b.absent)


def both(a: Truth, b: Truth) -> Truth:
    """And, in three values."""
    value = np.where((a.value == 0) | (b.value == 0), 0.0, a.value * b.value)
    return Truth(value, a.maybe & b.maybe, a.maybe_not | b.maybe_not, a.absent | b.absent)


def no(a: Truth) -> Truth:
    """Not, in three values."""
    return Truth(1.0 - a.value, a.maybe_not, a.maybe, a.absent)


def one_of(a: Truth, b: Truth) -> Truth:
    """Or, in three values."""
    return no(both(no(a), no(b)))


def missing(a: Figure) -> Truth:
    """IS NULL: by the numbers there are, and certainly not where nothing can be missing."""
    return Truth(np.isnan(a.values).astype(np.float64), a.absent, ~never(a.values), never(a.values))


def chosen(test: Truth, yes: Figure, otherwise: Figure) -> Figure:
    """CASE WHEN test THEN yes ELSE otherwise END."""
    return either(yes, otherwise, test.value, test.maybe, test.maybe_not | test.absent)
