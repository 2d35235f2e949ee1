"""The truth lies inside the bracket, on every case with an independent curve of several hundred bits.

An upper bound ``high`` on epsilon is right if the true delta(high) is at most delta; a lower bound ``low`` if delta(low) is at
least delta.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest
from flint import arb, ctx
from privacy import reference_contour as contour
from privacy import reference_curves as curves

import discreet as dp
from discreet.privacy.losses import DiscreteGaussian

F = Fraction
DELTAS = [F(1, 10**3), F(1, 10**6), F(1, 10**12), F(1, 10**50), F(1, 10**100)]
Curve = Callable[[F], arb]


def real_laplace(epsilon: F) -> dp.Privacy:
    return dp.Laplace(sensitivity=1.0, epsilon=epsilon).privacy


def sampled(rate: F) -> dp.Privacy:
    return dp.gdp(1).sampled(rate)


CASES: dict[str, tuple[Callable[[], dp.Privacy], Callable[[], Curve]]] = {
    "Gaussian": (lambda: dp.gdp(1), lambda: curves.gaussian(F(1))),
    "Gaussian, 10,000 times": (lambda: 10_000 * dp.gdp(F(1, 10)), lambda: curves.gaussian(F(100))),
    "Gaussian, tiny": (lambda: dp.gdp(F(1, 10**5)), lambda: curves.gaussian(F(1, 10**10))),
    "pure 1, 30 times": (lambda: 30 * dp.pure(1), lambda: curves.pure(F(1), 30)),
    "pure 0.1, 1,000 times": (lambda: 1_000 * dp.pure(F(1, 10)), lambda: curves.pure(F(1, 10), 1_000)),
    "pure 0.01, 10,000 times": (lambda: 10_000 * dp.pure(F(1, 100)), lambda: curves.pure(F(1, 100), 10_000)),
    "boxes": (lambda: 50 * dp.approximate(F(1, 10), F(1, 10**8)), lambda: curves.pure(F(1, 10), 50, F(1, 10**8))),
    "three options": (
        lambda: 40 * dp.RandomizedResponse(epsilon=F(1, 2), options=list("abc")).privacy,
        lambda: curves.response(F(1, 2), 3, 40),
    ),
    "discrete Laplace 1": (
        lambda: 30 * dp.Laplace(sensitivity=1, epsilon=1).privacy,
        lambda: curves.discrete_laplace(1, F(1), 30),
    ),
    "discrete Laplace 3": (
        lambda: 100 * dp.Laplace(sensitivity=3, scale=10).privacy,
        lambda: curves.discrete_laplace(3, F(10), 100),
    ),
    "discrete Laplace 10, once": (
        lambda: dp.Laplace(sensitivity=10, scale=7).privacy,
        lambda: curves.discrete_laplace(10, F(7), 1),
    ),
    "discrete Gaussian": (
        lambda: 100 * dp.DiscreteGaussian(sensitivity=1, sigma=10).privacy,
        lambda: curves.discrete_gaussian(F(100), 100),
    ),
    "Laplace, once": (lambda: real_laplace(F(1)), lambda: curves.laplace(F(1))),
    "Laplace, 3 times": (lambda: 3 * real_laplace(F(1)), lambda: curves.laplaces(F(1), 3)),
    "Laplace, 30 times": (lambda: 30 * real_laplace(F(1, 2)), lambda: curves.laplaces(F(1, 2), 30)),
    "Gaussian and pure": (
        lambda: dp.gdp(F(1, 2)) + 20 * dp.pure(F(1, 10)),
        lambda: curves.with_gaussian(F(1, 4), curves.pure(F(1, 10), 20)),
    ),
    "Gaussian and Laplace": (lambda: dp.gdp(1) + real_laplace(F(1)), lambda: curves.gaussian_and_laplace(F(1), F(1))),
}


def holds(privacy: dp.Privacy, truth: Curve, deltas: list[F]) -> None:
    for delta in deltas:
        low, high = privacy.epsilon_bounds(delta)
        assert 0 <= low <= high
        with ctx.workprec(700):
            wanted = curves.real(delta)
            assert high == float("inf") or truth(F(high)).lower() <= wanted
            assert low == 0 or truth(F(min(low, 10.0**6))).upper() >= wanted


@pytest.mark.parametrize("name", CASES)
def test_the_true_epsilon_lies_in_the_bracket(name: str) -> None:
    privacy, truth = CASES[name]
    holds(privacy(), truth(), DELTAS)


@pytest.mark.parametrize("name", CASES)
def test_the_true_delta_lies_in_the_bracket(name: str) -> None:
    privacy, truth = (make() for make in CASES[name])
    for epsilon in (F(1, 10**8), F(1, 10), F(1), F(3), F(20)):
        low, high = privacy.delta_bounds(epsilon)
        with ctx.workprec(700):
            assert arb(low) <= truth(epsilon).upper()
            assert truth(epsilon).lower() <= arb(high)


@pytest.mark.parametrize(("count", "x", "width"), [(1_000, F(6), 16), (10_000, F(3), 40)])
@pytest.mark.parametrize("adding", [False, True])
def test_private_gradient_descent(count: int, x: F, width: int, adding: bool) -> None:
    """q = 0.01, sigma = 1. The bracket is for the worse of two directions, which is removing a record."""
    truth = contour.sampled_gaussians(F(1), F(1, 100), count, adding=adding, x=x, width=F(width))
    low, high = (count * sampled(F(1, 100))).epsilon_bounds(1e-6)
    with ctx.workprec(192):
        assert truth(F(high)).lower() <= arb(10) ** -6
        if not adding:
            assert truth(F(low)).upper() >= arb(10) ** -6


def test_a_thousand_laplaces() -> None:
    truth = contour.laplaces(F(1, 10), 1_000, F(1), 400)
    low, high = (1_000 * real_laplace(F(1, 10))).epsilon_bounds(1e-6)
    with ctx.workprec(192):
        assert truth(F(high)).lower() <= arb(10) ** -6 <= truth(F(low)).upper()


def test_known_values() -> None:
    """Figures that other accountants agree on, to the digits given."""
    known = {
        4.692667: 100 * real_laplace(F(1, 10)),
        94.235865: 10_000 * real_laplace(F(1, 10)),
        2.124515: 1_000 * sampled(F(1, 100)),
        6.907384: 10_000 * sampled(F(1, 100)),
        27.672598: 100_000 * sampled(F(1, 100)),
        4.886571: 100 * dp.Privacy.of(DiscreteGaussian(F(100))),
    }
    for value, privacy in known.items():
        low, high = privacy.epsilon_bounds(1e-6)
        assert low - 2e-5 < value < high + 1e-6
