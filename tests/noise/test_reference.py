"""The slow samplers, the laws and the library agree: three roads that share no code.

A mistake in a mass function would have to be made again, independently, in a sampler that never evaluates it. Every comparison
raises a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference import canonne_kamath_steinke, laws, statistics
from reference.digits import DiscreteLaplace, Geometric
from reference.inverse_cdf import InverseCdf

from discreet.noise import coins, gaussian, laplace

DRAWS = 6_000
THIRD = Fraction(1, 3)
SCALES = [THIRD, Fraction(1), Fraction(15, 2), Fraction(100)]
VARIANCES = [Fraction(1, 4), Fraction(1), Fraction(17, 3), Fraction(10_000)]


def sample(draw: Callable[[], int]) -> np.ndarray:
    return np.array([draw() for _ in range(DRAWS)])


def judge(reference: np.ndarray, ours: np.ndarray, law: Callable[[int], arb], end: int) -> None:
    """Reference against law, and ours against reference: two comparisons, a false alarm below 2e-7."""
    assert statistics.fit(reference, law, -end, end) > statistics.ALARM
    assert statistics.two_samples(ours, reference) > statistics.ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_by_digits(scale: Fraction) -> None:
    ours = laplace.geometric(scale, 10 * DRAWS)
    judge(sample(Geometric(scale).draw), ours, lambda x: laws.geometric(scale, x), int(12 * scale) + 2)


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_by_digits(scale: Fraction) -> None:
    ours = laplace.discrete(scale, 10 * DRAWS)
    judge(sample(DiscreteLaplace(scale).draw), ours, lambda x: laws.discrete_laplace(scale, x), int(12 * scale) + 2)


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace_by_rejection(scale: Fraction) -> None:
    ours = laplace.discrete(scale, 10 * DRAWS)
    reference = sample(lambda: canonne_kamath_steinke.discrete_laplace(scale))
    judge(reference, ours, lambda x: laws.discrete_laplace(scale, x), int(12 * scale) + 2)


@pytest.mark.parametrize("variance", VARIANCES)
def test_discrete_gaussian_by_rejection(variance: Fraction) -> None:
    ours = gaussian.discrete(variance, 10 * DRAWS)
    reference = sample(lambda: canonne_kamath_steinke.discrete_gaussian(variance))
    judge(reference, ours, lambda x: laws.discrete_gaussian(variance, x), int(5 * float(variance) ** 0.5) + 2)


@pytest.mark.parametrize("variance", VARIANCES)
def test_discrete_gaussian_by_inverse_cdf(variance: Fraction) -> None:
    law = lambda x: laws.discrete_gaussian(variance, x)  # noqa: E731
    ours = gaussian.discrete(variance, 10 * DRAWS)
    judge(sample(InverseCdf(law).draw), ours, law, int(5 * float(variance) ** 0.5) + 2)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("offset", [Fraction(0), THIRD])
def test_rounded_gaussian_by_inverse_cdf(variance: Fraction, offset: Fraction) -> None:
    law = lambda x: laws.rounded_gaussian(variance, offset, x)  # noqa: E731
    ours = gaussian.rounded(variance, 10 * DRAWS, np.full(10 * DRAWS, float(offset)), lambda _: offset)
    judge(sample(InverseCdf(law).draw), ours, law, int(5 * float(variance) ** 0.5) + 2)


@pytest.mark.parametrize("scale", SCALES)
def test_rounded_laplace_by_inverse_cdf(scale: Fraction) -> None:
    law = lambda x: laws.rounded_laplace(scale, THIRD, x)  # noqa: E731
    ours = laplace.rounded(scale, np.full(10 * DRAWS, float(THIRD)), lambda _: THIRD)
    judge(sample(InverseCdf(law).draw), ours, law, int(12 * scale) + 2)


@pytest.mark.parametrize("exponent", [THIRD, Fraction(1), Fraction(7, 2)])
def test_exponential_coin(exponent: Fraction) -> None:
    reference = sample(lambda: canonne_kamath_steinke.bernoulli_exp(exponent)).astype(int)
    ours = coins.bernoulli(coins.exponential_chance(exponent), 10 * DRAWS).astype(int)
    heads = laws.real(-exponent).exp()
    judge(reference, ours, lambda x: {0: 1 - heads, 1: heads}.get(x, arb(0)), 1)


def test_a_wrong_law_is_noticed() -> None:
    """The comparisons can fail: one part in twenty more scale, and a doubled zero, are both seen."""
    draws = laplace.discrete(Fraction(100), 600_000)
    assert statistics.fit(draws, lambda x: laws.discrete_laplace(Fraction(105), x), -1300, 1300) < statistics.ALARM
    doubled = np.concatenate([draws, np.zeros(np.count_nonzero(draws == 0), dtype=np.int64)])
    assert statistics.fit(doubled, lambda x: laws.discrete_laplace(Fraction(100), x), -1300, 1300) < statistics.ALARM
    assert statistics.two_samples(doubled, laplace.discrete(Fraction(100), 600_000)) < statistics.ALARM
