"""Promise: brackets are narrow. Relative width of epsilon at delta = 1e-6:

1e-9 where there is Gaussian noise (alone, on samples, or in a mix), 1e-7 for pure and discrete mechanisms, 1e-4 for real Laplace
noise alone, discrete Gaussian noise and thresholds. Guarantees that only bound a family have a bracket that holds, narrow or not.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from privacy.reference_bracket import raw_delta, raw_epsilon, width
from support.patience import within

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.losses import DiscreteLaplace, Laplace, Response

F = Fraction


def laplace(epsilon: object) -> Privacy:
    return Privacy.of(Laplace(F(str(epsilon))))


def response(epsilon: object, options: int) -> Privacy:
    return Privacy.of(Response(F(str(epsilon)), options))


def discrete_laplace(sensitivity: int, scale: int) -> Privacy:
    return Privacy.of(DiscreteLaplace(sensitivity, F(scale)))


def discrete_gaussian(sigma: object) -> Privacy:
    return dp.DiscreteGaussian(sensitivity=1, sigma=sigma).privacy


NINE = {
    **{f"Gaussian {mu}": dp.gdp(mu) for mu in (1e-5, 0.01, 0.1, 1, 10, 50)},
    **{f"{k} sampled Gaussians": k * dp.gdp(1).sampled(0.01) for k in (30, 100, 1000, 10000, 100000)},
    "sampled, less noise": 100 * dp.gdp(2).sampled(0.05),
    "sampled, more noise": 5000 * dp.gdp(0.2).sampled(0.001),
    "half of all": 50 * dp.gdp(0.5).sampled(0.5),
    "Gaussian and pure": dp.gdp(1) + 20 * dp.pure(0.1),
    "Gaussian and randomized response": dp.gdp(1) + 20 * response(0.3, 4),
    "Gaussian and Laplace": dp.gdp(0.5) + 20 * laplace(0.1),
    "Gaussian and discrete Laplace": dp.gdp(0.5) + 20 * discrete_laplace(3, 10) + discrete_laplace(1, 7),
    "Gaussian and discrete Gaussian": dp.gdp(0.5) + 10 * discrete_gaussian(5),
    "little Gaussian noise, much pure": dp.gdp(0.05) + 30 * dp.pure(1),
    "Gaussian and boxes": dp.gdp(1) + 10 * dp.approximate(0.2, 1e-9),
    "gradient descent and counts": 1000 * dp.gdp(1).sampled(0.01) + 5 * dp.pure(0.1) + laplace(0.3),
    "everything": dp.gdp(0.3) + 3 * dp.pure(0.2) + 5 * laplace(0.1) + 2 * discrete_laplace(2, 9) + 500 * dp.gdp(1).sampled(0.01),
}
SEVEN = {
    **{f"{k} pure {e}": k * dp.pure(e) for e in (0.01, 0.1, 1) for k in (1, 2, 30, 1000, 10000)},
    **{f"{k} of {n} options": k * response(0.1, n) for n in (3, 10) for k in (1, 2, 100, 10000)},
    **{f"{k} discrete Laplace {d}": k * discrete_laplace(d, 20) for d in (1, 2, 3, 10) for k in (1, 2, 100, 10000)},
    "two kinds on one lattice": 100 * dp.pure(0.1) + 50 * discrete_laplace(3, 20),
    "boxes": 200 * dp.approximate(0.1, 1e-10),
}
FOUR = {
    **{f"{k} Laplace {e}": k * laplace(e) for e in (0.01, 0.1, 1) for k in (2, 3, 10, 100, 1000, 10000)},
    **{f"{k} discrete Gaussians {s}": k * discrete_gaussian(s) for s in (1, 10, 100) for k in (1, 10, 1000)},
    **{f"{k} thresholds": k * dp.Threshold(epsilon=0.3, delta=1e-10).privacy for k in (1, 3, 100)},
    "sampled Gaussians, few": 3 * dp.gdp(1).sampled(0.01),
    "Laplace and pure on one lattice": 30 * laplace(0.1) + 20 * dp.pure(0.2),
}


@pytest.mark.parametrize("privacy", NINE.values(), ids=NINE.keys())
def test_with_gaussian_noise(privacy: Privacy) -> None:
    assert width(privacy) <= 1e-9


@pytest.mark.parametrize("privacy", SEVEN.values(), ids=SEVEN.keys())
def test_pure_and_discrete(privacy: Privacy) -> None:
    assert width(privacy) <= 1e-7


@pytest.mark.parametrize("privacy", FOUR.values(), ids=FOUR.keys())
def test_laplace_and_thresholds(privacy: Privacy) -> None:
    assert width(privacy) <= 1e-4


FAMILIES = {
    "zcdp": dp.zcdp(0.1),
    "Renyi": dp.renyi({2: 0.1, 4: 0.2, 16: 1}),
    "Exponential": dp.Exponential(sensitivity=1, epsilon=0.5).privacy,
    "NoisyMax": dp.NoisyMax(sensitivity=1, epsilon=0.5).privacy,
    "PermuteAndFlip": dp.PermuteAndFlip(sensitivity=1, epsilon=0.5).privacy,
    "SparseVector": dp.SparseVector(sensitivity=1, epsilon=0.5, cutoff=3).privacy,
    "sampled box": dp.approximate(0.5, 1e-9).sampled(0.1),
    "sampled Exponential": dp.Exponential(sensitivity=1, epsilon=0.5).privacy.sampled(0.1),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("count", [1, 2, 40, 1000])
@pytest.mark.parametrize("privacy", FAMILIES.values(), ids=FAMILIES.keys())
def test_families_have_a_bracket(privacy: Privacy, count: int) -> None:
    for delta in (F(1, 10**12), F(1, 10**6), F(1, 10)):
        low, high = raw_epsilon(count * privacy, delta)
        assert 0 <= low <= high * (1 + 1e-12)
        assert not math.isnan(high)
    low, high = raw_delta(count * privacy, F(1, 2))
    assert 0 <= low <= high * (1 + 1e-12)


@pytest.mark.parametrize("rho", ["0.005", "0.5", "18"])
def test_concentrated_bounds_are_not_far_from_the_gaussian(rho: str) -> None:
    """Which attains them: the conversion costs less than 15 %."""
    low, high = dp.zcdp(F(rho)).epsilon_bounds(1e-6)
    attained = dp.gdp({"0.005": F(1, 10), "0.5": F(1), "18": F(6)}[rho]).epsilon_bounds(1e-6)
    assert low == pytest.approx(attained[0], rel=1e-9)
    assert attained[1] <= high <= 1.15 * attained[1]


def test_the_exponential_mechanism_is_cheaper_than_pure() -> None:
    """Fifty of them at 0.1: bounded range against pure privacy, and never more than the zero-concentrated bound."""
    many = 50 * dp.Exponential(sensitivity=1, epsilon=0.1).privacy
    assert many.epsilon(1e-6) < 0.75 * (50 * dp.pure(0.1)).epsilon(1e-6)
    assert many.epsilon(1e-6) <= dp.zcdp(50 * F(1, 800)).epsilon(1e-6) * (1 + 1e-9)


DELTAS = ["0.99", "0.5", "0.1", "1e-3", "1e-9", "1e-30", "1e-100"]


@pytest.mark.parametrize("delta", DELTAS)
def test_every_delta(delta: str) -> None:
    """Narrow from 1e-100 to 0.99, wherever epsilon is not 0."""
    for privacy, most in [
        (5 * dp.gdp(1), 1e-9),
        (1000 * dp.gdp(1).sampled(0.01), 1e-7),
        (1000 * dp.pure(0.1), 1e-6),
        (dp.gdp(1) + 30 * laplace(0.1), 1e-7),
        (100 * laplace(0.5), 1e-3),
    ]:
        low, high = privacy.epsilon_bounds(F(delta))
        assert high - low <= most * max(low, 1e-3)


QUICK = {
    "one": dp.pure(1),
    "ten thousand": 10000 * dp.pure(0.1),
    "gradient descent": 100000 * dp.gdp(1).sampled(0.01),
    "Laplace": 10000 * laplace(0.1),
    "mix": dp.gdp(1) + 100 * laplace(0.1) + 100 * dp.pure(0.05),
    "epsilons without a common lattice": 10 * dp.pure(F("0.1234567")) + 20 * dp.pure(F("0.7654321")) + 5 * dp.pure(F(1, 7)),
    "fifteen primes": sum((3 * dp.pure(F(1, p)) for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)), Privacy()),
}


@pytest.mark.parametrize("privacy", QUICK.values(), ids=QUICK.keys())
def test_answers_come_soon(privacy: Privacy) -> None:
    with within(1_000_000):
        low, high = privacy.epsilon_bounds(1e-6)
    assert low <= high <= low * 1.001
