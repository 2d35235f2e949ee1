"""What a bracket must do: hold the truth, without being clamped into order first."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from flint import arb
from privacy.reference_curves import Curve, real

import discreet as dp
from discreet.privacy.accountant import composition

DELTAS = [Fraction(1, 10**n) for n in (1, 6, 12, 100)] + [Fraction(99, 100)]
EPSILONS = [Fraction(n) for n in ("0", "1e-8", "0.1", "0.9", "5", "100")]
_MORE = (None,) * (len(inspect.signature(composition._epsilon).parameters) - 3)


@lru_cache(maxsize=512)  # many cases have a guarantee in common
def raw_delta(privacy: dp.Privacy, epsilon: Fraction) -> tuple[float, float]:
    """The bracket before the smaller end is clamped to the larger."""
    low = max(composition._delta(one, epsilon, top=False) for one in _members(privacy))
    return low, max(composition._delta(one, epsilon, top=True) for one in composition.directions(privacy.parts))


@lru_cache(maxsize=512)
def raw_epsilon(privacy: dp.Privacy, delta: Fraction) -> tuple[float, float]:
    low = max(composition._epsilon(one, delta, *_MORE, top=False) for one in _members(privacy))
    return low, max(composition._epsilon(one, delta, *_MORE, top=True) for one in composition.directions(privacy.parts))


def _members(privacy: dp.Privacy) -> list[composition.Parts]:
    return composition.directions(composition._members(privacy.parts))


def width(privacy: dp.Privacy, delta: object = 1e-6) -> float:
    low, high = privacy.epsilon_bounds(delta)
    return (high - low) / low


def holds(
    privacy: dp.Privacy,
    curve: Curve,
    *,
    epsilons: Iterable[Fraction] = EPSILONS,
    deltas: Iterable[Fraction] = DELTAS,
    bits: int = 60,
) -> None:
    """The true curve lies inside every bracket; the reference itself is known to ``bits`` bits wherever it matters."""
    for epsilon in epsilons:
        low, high = raw_delta(privacy, epsilon)
        truth = curve(epsilon)
        assert low <= high * (1 + 1e-12), f"delta({float(epsilon)}): {low} > {high}"
        assert truth.rel_accuracy_bits() > bits or abs(truth) < real(Fraction(1, 10**110)), f"reference at {float(epsilon)}"
        assert not arb(low) > truth, f"delta({float(epsilon)}) = {truth.str(20)} is below {low}"
        assert not arb(high) < truth, f"delta({float(epsilon)}) = {truth.str(20)} is above {high}"
        public = privacy.delta_bounds(
            epsilon
        )  # where a bracket is wide, moments may lower its upper end, and raise its lower one
        assert public[1] <= high
        assert public[0] >= min(low, public[1])
        assert not arb(public[0]) > truth, f"delta({float(epsilon)}) = {truth.str(20)} is below {public[0]}"
        assert not arb(public[1]) < truth, f"delta({float(epsilon)}) = {truth.str(20)} is above {public[1]}"
    for delta in deltas:
        low, high = raw_epsilon(privacy, delta)
        assert low <= high * (1 + 1e-12), f"epsilon({float(delta)}): {low} > {high}"
        if high < math.inf:
            assert not curve(Fraction(high)) > real(delta), f"epsilon({float(delta)}): {high} is too low"
        if 0 < low < math.inf:
            assert not curve(Fraction(low)) < real(delta), f"epsilon({float(delta)}): {low} is too high"
