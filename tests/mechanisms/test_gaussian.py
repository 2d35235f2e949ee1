"""The Gaussian mechanism: exact calibration, the textbook's, and rounded releases.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from reference import laws, statistics

from discreet import Gaussian

DRAWS = 200_000
EPSILONS = [1e-3, 0.1, 0.5, 1, 3, 10, 50]
DELTAS = [1e-12, 1e-9, 1e-6, 1e-3, 0.1]


def real(x: Any) -> arb:
    exact = Fraction(str(x)) if isinstance(x, float) else Fraction(x)
    return arb(fmpq(exact.numerator, exact.denominator))


def delta_of(sigma: arb, epsilon: arb) -> arb:
    """The hockey-stick divergence of N(0, sigma^2) and N(1, sigma^2), from its definition over the privacy loss.

    The loss is normal with mean 1 / (2 sigma^2) and variance 1 / sigma^2; E[max(0, 1 - e^(epsilon - L))] is P(L > epsilon) less
    e^epsilon E[e^-L; L > epsilon], and under the tilt e^-L the loss is normal with the opposite mean.
    """
    mean = 1 / (2 * sigma**2)
    root = arb(2).sqrt()
    return (((epsilon - mean) * sigma / root).erfc() - epsilon.exp() * ((epsilon + mean) * sigma / root).erfc()) / 2


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_least_noise_that_is_private(epsilon: float, delta: float) -> None:
    mechanism = Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
    with ctx.workprec(400):
        sigma, budget = real(mechanism.squared_sigma).sqrt(), real(epsilon)
        assert delta_of(sigma, budget) <= real(delta)
        assert delta_of(sigma * (1 - real(1e-9)), budget) > real(delta)
    assert abs(mechanism.privacy.epsilon(delta) - epsilon) <= 1e-9 * epsilon
    assert abs(mechanism.privacy.delta(epsilon) - delta) <= 1e-7 * delta


@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
@pytest.mark.parametrize("delta", [1e-3, 0.1])
def test_against_the_standard_library(epsilon: float, delta: float) -> None:
    mu = 1 / Gaussian(sensitivity=1, epsilon=epsilon, delta=delta).sigma
    phi = NormalDist().cdf
    found = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert found == pytest.approx(delta, rel=1e-9)


def test_against_published_values() -> None:
    """Balle and Wang's own program prints sigma = 3.730632 for epsilon 1, delta 1e-5, sensitivity 1."""
    assert Gaussian(sensitivity=1, epsilon=1, delta=1e-5).sigma == pytest.approx(3.730632, abs=5e-7)


@pytest.mark.parametrize("sensitivity", [1, 3, 0.5, Fraction(2, 7), 10**9])
def test_noise_is_proportional_to_the_sensitivity(sensitivity: Any) -> None:
    unit = Gaussian(sensitivity=1, epsilon=0.7, delta=1e-6)
    scaled = Gaussian(sensitivity=sensitivity, epsilon=0.7, delta=1e-6)
    exact = Fraction(str(sensitivity)) if isinstance(sensitivity, float) else Fraction(sensitivity)
    assert scaled.squared_sigma == exact**2 * unit.squared_sigma
    assert scaled.privacy == unit.privacy


def test_concentrated_calibration_is_exact() -> None:
    assert Gaussian(sensitivity=1, rho=0.5).squared_sigma == 1
    assert Gaussian(sensitivity=3, rho=0.1).squared_sigma == 45
    assert Gaussian(sensitivity=Fraction(1, 3), rho=Fraction(1, 2)).squared_sigma == Fraction(1, 9)
    assert Gaussian(sensitivity=1, sigma=0.1).squared_sigma == Fraction(1, 100)
    assert Gaussian(sensitivity=1, sigma=0.1).sigma == 0.1
    assert Gaussian(sensitivity=2, sigma=4).privacy.rho == 0.125
    assert Gaussian(sensitivity=1, rho=0.5) == Gaussian(sensitivity=1, sigma=1)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 0.5, 0.9, 0.999999])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.99])
def test_the_textbook_formula_is_private_and_noisier(epsilon: float, delta: float) -> None:
    classic = Gaussian.classic(sensitivity=2, epsilon=epsilon, delta=delta)
    assert classic.squared_sigma == pytest.approx(2 * math.log(1.25 / delta) * 4 / epsilon**2, rel=1e-12)
    assert classic.squared_sigma > Gaussian(sensitivity=2, epsilon=epsilon, delta=delta).squared_sigma
    assert classic.privacy.epsilon(delta) < epsilon


@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_the_textbook_formula_at_the_end_of_the_doubles(sensitivity: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        Gaussian.classic(sensitivity=sensitivity * 10**308, epsilon=1e-5, delta=1e-6)


@pytest.mark.parametrize("variance", [Fraction(1, 25), Fraction(1, 2), Fraction(9), Fraction(1000)])
def test_the_rounded_law_on_integers(variance: Fraction) -> None:
    mechanism = Gaussian(sensitivity=1, rho=1 / (2 * variance))
    assert mechanism.squared_sigma == variance
    drawn = mechanism.release(np.full(DRAWS, -50)) + 50
    reach = int(6 * variance**0.5) + 2
    assert statistics.fit(drawn, lambda x: laws.rounded_gaussian(variance, Fraction(0), x), -reach, reach) > statistics.ALARM


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, Fraction(1, 3), 12345])
def test_the_law_on_reals(value: Any) -> None:
    mechanism = Gaussian(sensitivity=1.0, sigma=1.5)
    step = Fraction(mechanism.grid)
    assert math.frexp(mechanism.grid)[0] == 0.5
    assert 2**18 <= Fraction(3, 2) / step <= 2**22
    steps = [Fraction(x) / step for x in mechanism.release([value] * 20_000).tolist()]
    assert all(x.denominator == 1 for x in steps)
    exact, variance = Fraction(value) / step, mechanism.squared_sigma / step**2
    edges = [round(exact) + round(float(1.5 / step) * x) for x in np.linspace(-3, 3, 61)]
    cdf = lambda x: laws.normal_cdf(variance, x + Fraction(1, 2) - exact)  # noqa: E731
    assert statistics.fit_bins(np.array([int(x) for x in steps]), cdf, edges) > statistics.ALARM


@pytest.mark.parametrize("value", [10**30, -(2**63), 2**64])
@pytest.mark.parametrize("sigma", [1, 2**60])
def test_integers_of_any_size(value: int, sigma: int) -> None:
    """40 standard deviations are exceeded with probability below 1e-300."""
    mechanism = Gaussian(sensitivity=1, sigma=sigma)
    released = mechanism.release(value)
    assert type(released) is int
    assert released % mechanism.grid == 0
    assert abs(released - value) <= 40 * sigma


@pytest.mark.parametrize("variance", [Fraction(1, 100), Fraction(1, 2), Fraction(399, 100), Fraction(4), Fraction(50)])
def test_variance_of_the_rounded_law(variance: Fraction) -> None:
    law = laws.floats(lambda x: laws.rounded_gaussian(variance, Fraction(0), x), -100, 100)
    expected = float((law * np.arange(-100, 101) ** 2).sum())
    assert Gaussian(sensitivity=1, rho=1 / (2 * variance)).variance == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("variance", [Fraction(1, 25), Fraction(1), Fraction(100)])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 1 - 1e-9])
def test_error_is_the_least_that_covers(variance: Fraction, confidence: float) -> None:
    h = Gaussian(sensitivity=1, rho=1 / (2 * variance)).error(confidence)
    beyond = lambda k: 2 * float(laws.normal_cdf(variance, -k - Fraction(1, 2)))  # noqa: E731 - P(|round(sigma Z)| > k)
    assert type(h) is int
    assert beyond(h) <= (1 - confidence) * (1 + 1e-6)
    assert h == 0 or beyond(h - 1) > (1 - confidence) * (1 - 1e-6)
