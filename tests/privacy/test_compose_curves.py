"""Promise: every guarantee, however composed, has a sound curve.

Bounds are numbers (never NaN, never negative), in order before anything is clamped, falling, and the inverse of each other.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from privacy.reference_bracket import raw_delta, raw_epsilon
from privacy.reference_guarantees import compositions, deltas, questions, steady

import discreet as dp


@steady(40)
@given(compositions, deltas, questions)
def test_bounds_are_numbers_in_order(privacy: dp.Privacy, delta: float, epsilon: float) -> None:
    low, high = raw_epsilon(privacy, Fraction(str(delta)))
    assert 0 <= low <= high * (1 + 1e-12)
    low, high = raw_delta(privacy, Fraction(str(epsilon)))
    assert 0 <= low <= high * (1 + 1e-12)
    assert high <= 1
    assert privacy.epsilon(delta) == privacy.epsilon_bounds(delta)[1]
    assert privacy.delta(epsilon) == privacy.delta_bounds(epsilon)[1]


@steady(40)
@given(compositions, deltas)
def test_epsilon_and_delta_are_inverse(privacy: dp.Privacy, delta: float) -> None:
    low, high = privacy.epsilon_bounds(delta)
    if high < math.inf:
        assert privacy.delta_bounds(Fraction(high))[0] <= delta * (1 + 1e-9)
    if 0 < low < math.inf:
        assert privacy.delta_bounds(Fraction(low))[1] >= delta * (1 - 1e-9)


@steady(8)
@given(compositions)
def test_curves_fall(privacy: dp.Privacy) -> None:
    """Lower bounds of the larger question never exceed upper bounds of the smaller one."""
    curve = [privacy.delta_bounds(epsilon) for epsilon in (0.1, 1, 10)]
    assert all(right[0] <= left[1] for left, right in pairwise(curve))
    curve = [privacy.epsilon_bounds(delta) for delta in (1e-50, 1e-6, 1e-3, 0.5)]
    assert all(right[0] <= left[1] for left, right in pairwise(curve))
    assert privacy.epsilon(0) >= privacy.epsilon(1e-100)


@steady(40)
@given(compositions)
def test_loosely_known_curves_end_where_pure_privacy_says(privacy: dp.Privacy) -> None:
    """epsilon at delta = 0 is the sum of the largest losses, beyond which nothing is left."""
    most = privacy.epsilon(0)
    if most < math.inf:
        assert privacy.delta(Fraction(most)) == 0
        assert privacy.delta_bounds(Fraction(most) * Fraction(9, 10))[1] > 0
        assert privacy.epsilon(1e-100) <= most
