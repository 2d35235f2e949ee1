"""Promise: the trade-off curve is what an attacker cannot beat.

Convex, falling, below the diagonal, its own inverse where the pair is symmetric, equal to the closed form for Gaussian noise, and
never above what a known attack achieves.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import NormalDist

import pytest
from hypothesis import given
from privacy.reference_guarantees import boxes, discrete, families, gaussians, laplaces, steady

import discreet as dp
from discreet.privacy import Privacy

RATES = [0, 0.001, 0.05, 0.2, 0.4, 0.6, 0.9, 1]
CASES = {
    "pure": dp.pure(1),
    "pure 30": 30 * dp.pure(0.1),
    "box": 3 * dp.approximate(0.5, 0.01),
    "Laplace": dp.Laplace(sensitivity=1.0, epsilon=1).privacy,
    "Laplaces": 20 * dp.Laplace(sensitivity=1.0, epsilon=0.2).privacy,
    "gdp": dp.gdp(1),
    "mix": dp.gdp(0.5) + 5 * dp.pure(0.2),
    "sampled": 100 * dp.gdp(1).sampled(0.05),
    "response": 4 * dp.RandomizedResponse(epsilon=1, options=range(4)).privacy,
}


@pytest.mark.spread(5)
@pytest.mark.parametrize("privacy", CASES.values(), ids=CASES.keys())
def test_the_curve_is_convex_falling_and_below_the_diagonal(privacy: Privacy) -> None:
    values = [privacy.tradeoff(rate) for rate in RATES]
    assert all(0 <= value <= 1 - rate + 1e-12 for rate, value in zip(RATES, values, strict=True))
    assert all(right <= left + 1e-9 for left, right in pairwise(values))
    slopes = [(b - a) / (y - x) for (x, a), (y, b) in pairwise(zip(RATES, values, strict=True))]
    assert all(right >= left - 1e-4 for left, right in pairwise(slopes))
    assert values[-1] == 0


@pytest.mark.parametrize("privacy", CASES.values(), ids=CASES.keys())
def test_the_curve_is_its_own_inverse(privacy: Privacy) -> None:
    """Of two directions the better bound counts, so the curve is symmetric: f(f(x)) = x where f is steep enough."""
    for rate in (0.01, 0.1, 0.3):
        missed = privacy.tradeoff(rate)
        if missed > 1e-3:
            assert privacy.tradeoff(missed) == pytest.approx(rate, abs=2e-3)


@pytest.mark.parametrize("mu", [0.1, 1, 3])
@pytest.mark.parametrize("rate", [0.0001, 0.01, 0.3, 0.9])
def test_gaussian(mu: float, rate: float) -> None:
    """Phi(Phi^-1(1 - x) - mu), from below (Dong, Roth, Su 2019)."""
    exact = NormalDist().cdf(NormalDist().inv_cdf(1 - rate) - mu)
    assert exact - 2e-4 <= dp.gdp(mu).tradeoff(rate) <= exact + 1e-12


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("rate", RATES)
def test_pure(epsilon: float, rate: float) -> None:
    """max(1 - e^epsilon x, e^-epsilon (1 - x)): randomized response, attained."""
    exact = max(0.0, 1 - math.exp(epsilon) * rate, math.exp(-epsilon) * (1 - rate))
    assert exact - 3e-5 <= dp.pure(epsilon).tradeoff(rate) <= exact + 1e-12


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5])
def test_disclosure(rate: float) -> None:
    """'Everything with probability delta': 1 - delta - x, attained."""
    exact = max(0.0, 1 - 0.1 - rate)
    assert exact - 1e-6 <= dp.approximate(0, 0.1).tradeoff(rate) <= exact + 1e-12


@steady(20)
@given(gaussians | boxes | laplaces | discrete | families)
def test_known_attacks_are_allowed(privacy: Privacy) -> None:
    """The attack that delta(0) belongs to has fpr + fnr = 1 - delta(0): the curve cannot promise more."""
    advantage = privacy.delta_bounds(0)[1]
    least = min(rate + privacy.tradeoff(rate) for rate in (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 1.0))
    assert least >= 1 - advantage - 1e-9
    assert privacy.tradeoff(0.2) <= 0.8
