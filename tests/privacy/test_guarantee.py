"""Guarantees: every curve against an independent formula, never below the truth, never NaN, and each the inverse of itself."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from flint import arb, ctx, fmpq
from support.patience import within
from support.refusals import NOT_NUMBERS, NOT_POSITIVE, refused

import discreet as dp
from discreet.errors import ParameterError

DELTAS = [1e-100, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99]
EPSILONS = [1e-8, 1e-4, 0.01, 0.1, 0.7, 1, 3, 10, 40, 100]
SIZES = [1e-3, 0.01, 0.3, 1, 3, 10, 25]
EXACT = [Fraction(0), *map(Fraction, EPSILONS)]  # the doubles themselves, not the decimals they stand for


def real(x: Any) -> arb:
    exact = Fraction(str(x)) if isinstance(x, float) else Fraction(x)
    return arb(fmpq(exact.numerator, exact.denominator))


def near(found: float, truth: arb, relative: float = 1e-12) -> bool:
    """Not below the truth, and hardly above it."""
    return not arb(found) < truth and not arb(found) > truth * (1 + real(relative)) + arb(2) ** -1074


GUARANTEES = {
    **{f"pure {size:g}": dp.pure(size) for size in SIZES},
    **{f"approximate {size:g}": dp.approximate(size, 1e-7) for size in SIZES},
    **{f"zcdp {size:g}": dp.zcdp(size) for size in SIZES},
    **{f"gdp {size:g}": dp.gdp(size) for size in SIZES},
}
every = pytest.mark.parametrize("privacy", GUARANTEES.values(), ids=GUARANTEES.keys())


@pytest.mark.parametrize("bound", [1e-8, 0.01, 1, 3, 40, 700])
@pytest.mark.parametrize("epsilon", [*EXACT, Fraction(1000)], ids=float)
def test_pure_and_approximate_deltas(bound: float, epsilon: Fraction) -> None:
    """Kairouz, Oh, Viswanath: delta + (1 - delta) (e^bound - e^epsilon)+ / (1 + e^bound)."""
    with ctx.workprec(3000):
        gap = (real(bound).exp() - real(epsilon).exp()) / (1 + real(bound).exp())
        gap = gap if epsilon < Fraction(str(bound)) else arb(0)
        assert near(dp.pure(bound).delta(epsilon), gap)
        for chance in (1e-9, 0.25):
            assert near(dp.approximate(bound, chance).delta(epsilon), real(chance) + (1 - real(chance)) * gap)


@pytest.mark.parametrize("bound", [0.01, 1, 3, 40, 700])
@pytest.mark.parametrize("delta", [0, *DELTAS])
def test_pure_epsilons(bound: float, delta: float) -> None:
    with ctx.workprec(3000):
        inside = (1 - real(delta)) * real(bound).exp() - real(delta)
        truth = inside.log() if inside > 1 else arb(0)
        assert abs(arb(dp.pure(bound).epsilon(delta)) - truth) <= truth * real(1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_concentrated_cost_of_pure_privacy(epsilon: float) -> None:
    """epsilon tanh(epsilon / 2), below epsilon^2 / 2."""
    with ctx.workprec(300):
        assert near(dp.pure(epsilon).rho, real(epsilon) * (real(epsilon) / 2).tanh())
    assert dp.pure(epsilon).rho <= epsilon**2 / 2 * (1 + 1e-12)
    assert dp.approximate(epsilon, 1e-9).rho == math.inf


def test_approximate_privacy_below_its_own_delta_is_no_promise() -> None:
    assert dp.approximate(1, 1e-6).epsilon(0) == math.inf
    assert dp.approximate(1, 1e-6).epsilon(9e-7) == math.inf
    assert dp.approximate(1, 1e-6).epsilon(1e-6) == 1
    assert dp.approximate(1, 0) == dp.pure(1)


@pytest.mark.parametrize("mu", [*SIZES, 100])
@pytest.mark.parametrize("epsilon", EXACT, ids=float)
def test_gaussian_deltas(mu: float, epsilon: Fraction) -> None:
    """Balle and Wang, at 5000 bits; below the smallest float only the direction counts."""
    with ctx.workprec(5000):
        m, e = real(mu), real(epsilon)
        phi = lambda x: (-x / arb(2).sqrt()).erfc() / 2  # noqa: E731
        assert near(dp.gdp(mu).delta(epsilon), phi(m / 2 - e / m) - e.exp() * phi(-m / 2 - e / m))
    assert dp.gdp(mu).rho == pytest.approx(mu**2 / 2, rel=1e-15)


@pytest.mark.parametrize("rho", SIZES)
@pytest.mark.parametrize("delta", DELTAS)
def test_concentrated_epsilons(rho: float, delta: float) -> None:
    """The best order on a fine grid is not better, and the textbook's conversion (Bun and Steinke) never is."""
    found = dp.zcdp(rho).epsilon(delta)
    for step in range(-400, 400):
        a = 1 + math.exp(step / 20)
        if a > 1:
            assert found <= max(0.0, a * rho - math.log(delta * a) / (a - 1) + math.log1p(-1 / a)) * (1 + 1e-6) + 1e-9
    assert found <= rho + 2 * math.sqrt(rho * math.log(1 / delta)) + 1e-12


@pytest.mark.parametrize("mu", [1e-3, 0.01, 0.3, 1, 3, 8])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_concentrated_deltas_hold_for_the_gaussian(mu: float, epsilon: float) -> None:
    """The Gaussian with mu is (mu^2 / 2)-zCDP and nearly its worst case: the bound is above the truth, and not far above."""
    rho = Fraction(str(mu)) ** 2 / 2
    bound, truth = dp.zcdp(rho).delta(epsilon), dp.gdp(mu).delta(epsilon)
    assert truth <= max(bound, 5e-324) <= 1
    if epsilon > rho and bound < 1 and 1e-200 < truth < 1e-3:
        assert bound <= truth * 100
        tail = math.exp(-((epsilon - float(rho)) ** 2) / (4 * float(rho)))
        assert bound <= tail * (1 + 1e-9)  # P[L > lambda + rho] <= exp(-lambda^2 / 4 rho)


@every
def test_curves_fall(privacy: dp.Privacy) -> None:
    """No NaN, nothing negative, and never up again."""
    epsilons = [privacy.epsilon(delta) for delta in DELTAS]
    deltas = [privacy.delta(epsilon) for epsilon in [0, *EPSILONS]]
    assert all(left >= right for left, right in pairwise(epsilons))
    assert all(left >= right for left, right in pairwise(deltas))
    assert all(0 <= epsilon <= math.inf for epsilon in epsilons)
    assert all(0 <= delta <= 1 for delta in deltas)
    assert 0 <= privacy.rho <= math.inf


@every
def test_epsilon_and_delta_are_each_others_inverse(privacy: dp.Privacy) -> None:
    for delta in DELTAS:
        epsilon = privacy.epsilon(delta)
        if math.isfinite(epsilon):
            assert privacy.delta(Fraction(epsilon)) <= delta * (1 + 1e-9)
            if epsilon > 1e-9:
                assert privacy.delta(Fraction(epsilon) * Fraction(999, 1000)) >= delta * (1 - 1e-9)


def test_pure_privacy_is_exact_at_delta_zero() -> None:
    for epsilon in (1e-300, 0.1, 0.7, 1, 1e99):
        assert epsilon <= dp.pure(epsilon).epsilon() <= math.nextafter(epsilon, math.inf)
    assert dp.zcdp(1).epsilon() == dp.gdp(1).epsilon() == math.inf


def test_equality() -> None:
    assert dp.pure(0.1) == dp.pure(Fraction(1, 10))
    assert hash(dp.gdp(2)) == hash(dp.gdp(2.0))
    assert dp.zcdp(0.5) != dp.gdp(1)
    assert dp.pure(1) != dp.pure(2)
    with pytest.raises(AttributeError):
        dp.pure(1).loss = None  # type: ignore[misc]


SIZELESS = {"none": None} | {name: value for name, value in NOT_POSITIVE.items() if "zero" not in name}


@pytest.mark.parametrize("make", [dp.pure, dp.zcdp, dp.gdp, lambda epsilon: dp.approximate(epsilon, 1e-6)])
@pytest.mark.parametrize("value", SIZELESS.values(), ids=SIZELESS.keys())
def test_bad_sizes(make: Any, value: Any) -> None:
    refused(lambda: make(value), ParameterError)


@pytest.mark.parametrize("value", [None, -1e-9, 1, 1.5, 5e-324, *NOT_NUMBERS.values()], ids=lambda x: type(x).__name__)
def test_bad_deltas(value: Any) -> None:
    refused(lambda: dp.pure(1).epsilon(value), ParameterError, "delta")
    refused(lambda: dp.approximate(1, value), ParameterError, "delta")


@pytest.mark.parametrize("value", [None, -1e-9, 5e-324, *NOT_NUMBERS.values()], ids=lambda x: type(x).__name__)
def test_bad_epsilons(value: Any) -> None:
    refused(lambda: dp.gdp(1).delta(value), ParameterError, "epsilon")


def test_a_very_small_epsilon_is_not_rounded_to_nothing() -> None:
    assert 9e-61 < dp.pure(1e-60).epsilon(1e-70) < 1.1e-60


def test_everything_with_probability_delta_is_zero_delta_private() -> None:
    assert dp.approximate(0, 1e-6).epsilon(1e-6) == 0
    assert dp.approximate(0, 1e-6).delta(0) == pytest.approx(1e-6, rel=1e-15)


DECIMALS = [(dp.pure(1), 1, 0.9), (dp.gdp(1e-3), 1e-3, 0.01), (dp.gdp(0.01), 0.01, 0.01), (dp.gdp(0.01), 0.01, 0.1)]


def gaussian_delta(mu: arb, e: arb) -> arb:
    phi = lambda x: (-x / arb(2).sqrt()).erfc() / 2  # noqa: E731
    return phi(mu / 2 - e / mu) - e.exp() * phi(-mu / 2 - e / mu)


@pytest.mark.parametrize(("privacy", "size", "epsilon"), DECIMALS)
def test_the_delta_of_a_decimal_epsilon_is_not_below_the_truth(privacy: dp.Privacy, size: float, epsilon: float) -> None:
    with ctx.workprec(3000):
        b, e = real(size), real(epsilon)
        truth = (b.exp() - e.exp()) / (1 + b.exp()) if privacy == dp.pure(1) else gaussian_delta(b, e)
        assert near(privacy.delta(epsilon), truth)


@pytest.mark.parametrize(("mu", "delta"), [(0.1, 1e-6), (0.3, 1e-3), (1, 1e-6), (2, 1e-6), (5, 1e-6)])
def test_the_epsilon_of_a_gaussian_holds(mu: float, delta: float) -> None:
    with ctx.workprec(3000):
        assert gaussian_delta(real(mu), arb(dp.gdp(mu).epsilon(delta))) <= real(delta)


def test_a_bound_is_not_nothing_while_the_truth_is_something() -> None:
    assert dp.zcdp(0.5).delta(1000) > 0


def test_a_very_large_rho() -> None:
    assert 0.99 < dp.zcdp(100).delta(1) <= 1
    assert dp.zcdp(1e36).epsilon(1e-6) == pytest.approx(1e36, rel=1e-6)


@pytest.mark.parametrize("make", [dp.pure, dp.zcdp, dp.gdp])
def test_a_guarantee_that_promises_nothing_is_refused(make: Any) -> None:
    refused(lambda: make(10**400), ParameterError, "promises nothing")


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp.gdp(1).delta(1e9),
        lambda: dp.Gaussian(sensitivity=1, sigma=10**7).privacy.delta(10),
        lambda: dp.gdp(1e-9).epsilon(1e-12),
        lambda: dp.gdp(1e-30).delta(1e-6),
        lambda: dp.gdp(1e9).epsilon(1e-6),
        lambda: dp.Gaussian(sensitivity=1, epsilon=10**6, delta=1e-6).sigma,
    ],
)
def test_extreme_gaussians_come_to_an_end(call: Any) -> None:
    with within(300_000):
        assert call() >= 0


@pytest.mark.parametrize("told", ["add-remove", "replace", "local"])
@pytest.mark.parametrize("one", [dp.pure(1), dp.zcdp(0.5), 3 * dp.gdp(1), dp.pure(0.1) + 2 * dp.zcdp(0.2), dp.Privacy()], ids=str)
def test_neighbours_that_are_told_change_nothing_else(one: dp.Privacy, told: Any) -> None:
    """Nor do texts: a guarantee of add-ups is written as one that was made of its parts."""
    stated = one.under(told)
    anew = dp.Privacy(one.parts, told, uses=one.uses)
    assert (stated, stated.uses, stated.assumed) == (anew, anew.uses, anew.assumed)
    assert stated.to_json() == anew.to_json()
    assert one.to_json() == dp.Privacy(one.parts, uses=one.uses).to_json()
    assert dp.Privacy.from_json(stated.to_json()) == stated
