"""The discrete Gaussian mechanism: the published law, its concentrated cost, and a width that really covers.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics

from discreet import DiscreteGaussian
from discreet.errors import ParameterError

VARIANCES = [Fraction(1, 10), Fraction(1), Fraction(7, 3), Fraction(4), Fraction(100), Fraction(12345, 2)]


def made(variance: Fraction) -> DiscreteGaussian:
    mechanism = DiscreteGaussian(sensitivity=1, rho=1 / (2 * variance))
    assert mechanism.squared_sigma == variance
    return mechanism


@pytest.mark.parametrize("variance", VARIANCES)
def test_the_law(variance: Fraction) -> None:
    drawn = made(variance).release(np.full(200_000, 7)) - 7
    reach = int(6 * variance**0.5) + 2
    assert statistics.fit(drawn, lambda x: laws.discrete_gaussian(variance, x), -reach, reach) > statistics.ALARM


@pytest.mark.parametrize("variance", VARIANCES)
def test_variance_never_exceeds_that_of_the_continuous_law(variance: Fraction) -> None:
    reach = int(15 * variance**0.5) + 30
    law = laws.floats(lambda x: laws.discrete_gaussian(variance, x), -reach, reach)
    mechanism = made(variance)
    assert mechanism.variance == pytest.approx(float((law * np.arange(-reach, reach + 1) ** 2.0).sum()), rel=1e-12)
    assert mechanism.variance <= float(variance)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 0.999, 1 - 1e-9])
def test_error_covers_by_the_exact_law(variance: Fraction, confidence: float) -> None:
    mechanism = made(variance)
    h, reach = mechanism.error(confidence), int(40 * variance**0.5) + 40
    law = laws.floats(lambda x: laws.discrete_gaussian(variance, x), h + 1, h + reach)
    assert type(h) is int
    assert 2 * law.sum() <= 1 - confidence


@pytest.mark.parametrize(("sensitivity", "rho"), [(1, 0.5), (3, 0.1), (Fraction(3, 2), Fraction(1, 7)), (1.5, 2)])
def test_the_cost_is_concentrated(sensitivity: Any, rho: Any) -> None:
    mechanism = DiscreteGaussian(sensitivity=sensitivity, rho=rho)
    assert mechanism.privacy.rho == pytest.approx(float(rho), rel=1e-15)
    assert mechanism.privacy.epsilon(0) == float("inf")
    assert mechanism.squared_sigma == Fraction(sensitivity) ** 2 / (2 * Fraction(str(rho)))
    assert type(mechanism.release(3)) is int


@pytest.mark.parametrize("value", [10**30, -(2**63), 2**64])
def test_integers_of_any_size(value: int) -> None:
    """40 standard deviations are exceeded with probability below 1e-300."""
    assert abs(DiscreteGaussian(sensitivity=1, sigma=5).release(value) - value) <= 200


def test_a_very_small_sigma_is_refused_and_small_ones_end() -> None:
    with pytest.raises(ParameterError, match="below"):
        DiscreteGaussian(sensitivity=1, sigma=1e-200)
    assert DiscreteGaussian(sensitivity=1, sigma=1e-20).release(5) == 5


def test_a_real_value_is_refused_with_advice_that_helps() -> None:
    with pytest.raises(ValueError, match="Gaussian"):
        DiscreteGaussian(sensitivity=1.5, rho=1).release(0.5)
