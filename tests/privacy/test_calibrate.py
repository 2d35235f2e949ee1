"""Calibration: never over the target, never far under it, in few evaluations, and a sentence where there is no answer."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.refusals import NOT_POSITIVE, refused

from discreet.errors import ParameterError
from discreet.mechanisms.gaussian import analytic_sigma
from discreet.privacy import Privacy, approximate, gdp, pure, zcdp
from discreet.privacy.calibrate import count, noise, rate
from discreet.privacy.losses import BoundedRange, Laplace

F = Fraction
Make = Callable[[float], Privacy]


class Counted:
    """A make that remembers what it was asked."""

    def __init__(self, make: Make) -> None:
        self.make = make
        self.asked: list[float] = []

    def __call__(self, x: float) -> Privacy:
        self.asked.append(x)
        return self.make(x)


def gaussian(times: int = 1, sensitivity: int = 1) -> Make:
    return lambda sigma: times * gdp(sensitivity / F(sigma))


def sgd(steps: int, q: float) -> Make:
    return lambda sigma: steps * gdp(1 / F(sigma)).sampled(q)


def laplace(times: int = 1) -> Make:
    return lambda scale: times * Privacy.of(Laplace(1 / F(scale)))


TARGETS: dict[str, tuple[Make, float, float]] = {
    "Gaussian": (gaussian(), 1, 1e-6),
    "Gaussian, little noise": (gaussian(), 100, 1e-6),
    "Gaussian, much noise": (gaussian(), 0.01, 1e-6),
    "Gaussian, tiny delta": (gaussian(), 1, 1e-100),
    "Gaussian, large delta": (gaussian(), 0.5, 0.3),
    "a thousand Gaussians": (gaussian(1000), 1, 1e-6),
    "a total of 10,000,000": (gaussian(1, 10**7), 1, 1e-6),
    "DP-SGD": (sgd(1000, 0.01), 2, 1e-6),
    "DP-SGD, much noise": (sgd(1000, 0.01), 0.3, 1e-6),
    "DP-SGD, little noise": (sgd(1000, 0.01), 8, 1e-6),
    "DP-SGD, many steps": (sgd(100_000, 0.001), 2, 1e-6),
    "Laplace": (laplace(), 0.3, 0),
    "a hundred Laplaces": (laplace(100), 1, 1e-6),
    "a mix": (lambda s: 10 * gdp(1 / F(s)) + pure(0.5), 1, 1e-6),
    "a mix near its limit": (lambda s: 10 * gdp(1 / F(s)) + pure(0.5), 0.6, 1e-6),
    "zCDP": (lambda s: zcdp(1 / F(s)), 1, 1e-6),
}


@pytest.mark.spread(8)
@pytest.mark.parametrize(("make", "epsilon", "delta"), TARGETS.values(), ids=TARGETS.keys())
def test_noise_holds_and_less_would_not_in_few_evaluations(make: Make, epsilon: float, delta: float) -> None:
    counted = Counted(make)
    found = noise(counted, epsilon=epsilon, delta=delta)
    assert len(counted.asked) <= 12
    assert found in counted.asked  # what comes back was looked at
    assert make(found).epsilon(delta) <= epsilon
    assert make(found * (1 - 1e-7)).epsilon(delta) > epsilon
    assert min(counted.asked) >= min(1, found) / 8  # very little noise can be very slow to price


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1, 4, 30])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.01])
def test_gaussian_noise_agrees_with_the_closed_form(epsilon: float, delta: float) -> None:
    exact = float(analytic_sigma(F(str(epsilon)), F(str(delta))))
    assert noise(gaussian(), epsilon=epsilon, delta=delta) == pytest.approx(exact, rel=2e-9)
    assert noise(gaussian(25), epsilon=epsilon, delta=delta) == pytest.approx(5 * exact, rel=2e-9)


@given(st.fractions(F(1, 1000), 1000), st.integers(1, 50))
@settings(max_examples=examples(50), deadline=None)
def test_pure_targets_agree_with_division(epsilon: Fraction, times: int) -> None:
    found = noise(lambda s: times * pure(1 / F(s)), epsilon=epsilon)
    assert times / epsilon <= F(found) <= times / epsilon * (1 + F(2, 10**9))


@pytest.mark.parametrize("sigma", [0.6, 1.0, 5.0])
def test_noise_finds_its_way_back(sigma: float) -> None:
    epsilon = sgd(500, 0.02)(sigma).epsilon(1e-5)
    assert noise(sgd(500, 0.02), epsilon=F(epsilon), delta=1e-5) == pytest.approx(sigma, rel=1e-8)


def test_noise_stays_in_its_range() -> None:
    assert noise(gaussian(), epsilon=1, delta=1e-6, low=7) == 7  # more than needed is allowed
    assert noise(gaussian(), epsilon=1, delta=1e-6, low=3, high=5) == pytest.approx(4.2246789, rel=1e-7)
    assert noise(gaussian(), epsilon=1, delta=1e-6, high=4.3) == pytest.approx(4.2246789, rel=1e-7)
    assert noise(gaussian(), epsilon=1, delta=1e-6, low=1e-3, high=F(43, 10)) == pytest.approx(4.2246789, rel=1e-7)


# Rates.


@pytest.mark.spread(2)
@pytest.mark.parametrize("epsilon", [0.1, 2, 50])
def test_the_rate_holds_and_a_larger_one_would_not(epsilon: float) -> None:
    counted = Counted(lambda q: 1000 * gdp(1).sampled(q))
    found = rate(counted, epsilon=epsilon, delta=1e-6)
    assert len(counted.asked) <= 12
    assert 0 < found < 1
    assert counted.make(found).epsilon(1e-6) <= epsilon
    assert counted.make(found * (1 + 1e-7)).epsilon(1e-6) > epsilon


def test_a_rate_of_one_where_no_sampling_is_needed() -> None:
    assert rate(lambda q: gdp(1).sampled(q), epsilon=5, delta=1e-6) == 1


def test_the_rate_of_pure_privacy_is_a_closed_form() -> None:
    """ln(1 + q (e^a - 1)) = b."""
    found = rate(lambda q: pure(2).sampled(q), epsilon=0.5)
    assert found == pytest.approx(math.expm1(0.5) / math.expm1(2), rel=1e-8)


# Repetitions.


@given(st.fractions(F(1, 50), 10), st.fractions(F(1, 50), 10))
@settings(max_examples=examples(100), deadline=None)
def test_pure_repetitions_agree_with_division(each: Fraction, total: Fraction) -> None:
    assert count(pure(each), epsilon=total) == total // each
    assert count(Privacy.of(Laplace(each)), epsilon=total) == total // each


@pytest.mark.parametrize(
    ("privacy", "epsilon", "delta"),
    [
        (pure(0.1), 20, 1e-6),
        (pure(0.01), 3, 1e-9),
        (Privacy.of(Laplace(F(1, 10))), 20, 1e-6),
        (Privacy.of(BoundedRange(F(1, 10))), 3, 1e-6),
        (gdp(0.01), 1, 1e-6),
        (gdp(0.0001), 1, 1e-6),
        (gdp(1).sampled(0.01), 2, 1e-6),
        (zcdp(0.001), 2, 1e-6),
        (approximate(0.1, 1e-8), 5, 1e-6),
        (gdp(0.1) + pure(0.1), 5, 1e-6),
    ],
    ids=repr,
)
def test_so_many_repetitions_hold_and_one_more_does_not(privacy: Privacy, epsilon: float, delta: float) -> None:
    found = count(privacy, epsilon=epsilon, delta=delta)
    assert found > 1
    assert (found * privacy).epsilon(delta) <= epsilon
    assert ((found + 1) * privacy).epsilon(delta) > epsilon


def test_laplace_repetitions_lie_between_the_formulas() -> None:
    """More than for anything pure, fewer than for what the central limit promises."""
    found = count(Privacy.of(Laplace(F(1, 10))), epsilon=20, delta=1e-6)
    assert count(pure(0.1), epsilon=20, delta=1e-6) < found < 1.1 * count(gdp(0.1), epsilon=20, delta=1e-6)


def test_very_many_repetitions_are_counted_exactly() -> None:
    found = count(gdp(1e-7), epsilon=3, delta=1e-6)
    assert found > 10**13
    assert (found * gdp(1e-7)).epsilon(1e-6) <= 3 < ((found + 1) * gdp(1e-7)).epsilon(1e-6)


def test_boundaries_are_exact_fractions() -> None:
    """As floats three times 0.1 is more than 0.3."""
    assert count(pure(0.1), epsilon=0.3) == 3
    assert count(pure(0.1), epsilon=0.2999) == 2
    assert count(approximate(0.3, 1e-6), epsilon=0.3, delta=1e-6) == 1
    assert count(approximate(0.3, 1e-6), epsilon=99, delta=9e-7) == 0
    assert count(pure(2), epsilon=1) == 0
    assert count(gdp(1), epsilon=1) == 0
    assert noise(lambda s: pure(1 / F(s)), epsilon=0.5) == 2


# No answer.


def test_targets_out_of_reach_are_refused() -> None:
    words = ("epsilon = 1 with delta = 1e-06 is out of reach", "still costs epsilon = 2")
    refused(lambda: noise(lambda s: gdp(1 / F(s)) + pure(2), epsilon=1, delta=1e-6), ParameterError, *words)
    refused(lambda: noise(gaussian(), epsilon=1), ParameterError, "delta = 0", "costs epsilon = inf")
    refused(lambda: noise(gaussian(), epsilon=1, delta=1e-6, high=4), ParameterError, "noise of 4", "high")
    refused(lambda: noise(lambda _: approximate(0.1, 1e-3), epsilon=1, delta=1e-6), ParameterError, "inf")
    refused(lambda: rate(lambda q: pure(2) + gdp(1).sampled(q), epsilon=1, delta=1e-6), ParameterError, "rate of 1e-12")


def test_costs_that_grow_with_noise_are_refused() -> None:
    refused(lambda: noise(gdp, epsilon=1, delta=1e-6), ParameterError, "wrong way")
    refused(lambda: noise(gdp, epsilon=9, delta=1e-6), ParameterError, "wrong way")
    refused(lambda: rate(lambda q: gdp(1 / F(q)), epsilon=1, delta=1e-6), ParameterError, "wrong way")

    def bumpy(s: float) -> Privacy:
        return gdp((10 if 3 < s < 30 else 1) / F(s))

    refused(lambda: noise(bumpy, epsilon=1, delta=1e-6, low=2), ParameterError, "wrong way")


def test_what_is_free_cannot_be_counted() -> None:
    refused(lambda: count(Privacy(), epsilon=1), ParameterError, "free")
    refused(lambda: count(gdp(1e-30), epsilon=1, delta=1e-6), ParameterError, "2^62")


@pytest.mark.parametrize("thing", [None, 3, 0.5, "pure"])
def test_only_guarantees_can_be_calibrated(thing: Privacy) -> None:
    refused(lambda: noise(lambda _: thing, epsilon=1), ParameterError, "privacy", type(thing).__name__)
    refused(lambda: rate(lambda _: thing, epsilon=1), ParameterError, "privacy")
    refused(lambda: count(thing, epsilon=1), ParameterError, "privacy")


@pytest.mark.parametrize("value", NOT_POSITIVE.values(), ids=NOT_POSITIVE.keys())
def test_targets_are_checked(value: object) -> None:
    refused(lambda: noise(gaussian(), epsilon=value, delta=1e-6), ParameterError, "epsilon")
    refused(lambda: count(pure(1), epsilon=value), ParameterError, "epsilon")
    refused(lambda: noise(gaussian(), epsilon=1, delta=1e-6, low=value), ParameterError, "low")
    refused(lambda: noise(gaussian(), epsilon=1, delta=1e-6, high=value), ParameterError, "high")


@pytest.mark.parametrize("delta", [-0.1, 1, 2, "0.1", None, math.nan])
def test_deltas_are_checked(delta: object) -> None:
    refused(lambda: noise(gaussian(), epsilon=1, delta=delta), ParameterError, "delta")


def test_ranges_are_checked() -> None:
    refused(lambda: noise(gaussian(), epsilon=1, delta=1e-6, low=5, high=5), ParameterError, "low")
