"""Promise: pure, approximate and discrete mechanisms, composed up to ten thousand times, cost what exact sums say they do.

The bracket holds the truth, computed from integer polynomials and binomial laws at 640 bits, for deltas from 1e-100 to 0.99.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from privacy import reference_curves as truth
from privacy.reference_bracket import DELTAS, EPSILONS, holds
from privacy.reference_curves import real

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.losses import DiscreteLaplace, Response

F = Fraction


@pytest.mark.parametrize("count", [1, 2, 3, 5, 30, 1000, 10000])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
def test_pure(epsilon: str, count: int) -> None:
    e = F(epsilon)
    holds(count * dp.pure(e), truth.pure(e, count), epsilons=[*EPSILONS, count * e * F(99, 100)])


@pytest.mark.parametrize("count", [1, 2, 5, 100, 1000])
@pytest.mark.parametrize(("epsilon", "delta"), [("0.1", "1e-9"), ("1", "0.01"), ("0.5", "1e-30")])
def test_boxes(epsilon: str, delta: str, count: int) -> None:
    """Beyond the largest finite loss what is left is 1 - (1 - delta)^k; below that delta there is no promise."""
    e, d = F(epsilon), F(delta)
    privacy, curve = count * dp.approximate(e, d), truth.pure(e, count, d)
    sure = 1 - (1 - d) ** count
    holds(privacy, curve, epsilons=[x for x in EPSILONS if x < count * e], deltas=[x for x in DELTAS if x > sure])
    high = privacy.delta(count * e)
    assert sure <= F(high) <= sure * (1 + F(1, 2**51))
    assert privacy.epsilon(sure * F(999, 1000)) == math.inf
    assert privacy.epsilon_bounds(0) == (math.inf, math.inf)
    assert privacy.rho == math.inf


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("count", [1, 2, 30, 1000])
@pytest.mark.parametrize("options", [3, 10])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10"])
def test_randomized_response(epsilon: str, options: int, count: int) -> None:
    e = F(epsilon)
    holds(count * Privacy.of(Response(e, options)), truth.response(e, options, count), epsilons=EPSILONS[2:])
    assert dp.RandomizedResponse(epsilon=e, options=range(options)).privacy == Privacy.of(Response(e, options))


@pytest.mark.parametrize("count", [1, 2, 3, 30, 300])
@pytest.mark.parametrize("scale", ["0.5", "3", "40"])
@pytest.mark.parametrize("sensitivity", [1, 2, 3, 10])
def test_discrete_laplace(sensitivity: int, scale: str, count: int) -> None:
    curve = truth.discrete_laplace(sensitivity, F(scale), count)
    holds(count * Privacy.of(DiscreteLaplace(sensitivity, F(scale))), curve, epsilons=EPSILONS[2:])
    if sensitivity == 1:
        assert curve(F(1, 7)).overlaps(truth.pure(1 / F(scale), count)(F(1, 7)))


@pytest.mark.parametrize("count", [1, 3])
def test_discrete_laplace_of_a_large_sensitivity(count: int) -> None:
    """More values than are listed one by one; the bracket then comes from groups of them."""
    privacy = count * Privacy.of(DiscreteLaplace(6001, F(3000)))
    holds(privacy, truth.discrete_laplace(6001, F(3000), count), epsilons=[F(1, 10), F(1), F(3)], deltas=DELTAS[:4])


@pytest.mark.parametrize(("sigma", "count"), [("1", 1), ("1", 10), ("1", 100), ("10", 1), ("10", 10), ("10", 100), ("0.5", 3)])
def test_discrete_gaussian(sigma: str, count: int) -> None:
    privacy = count * dp.DiscreteGaussian(sensitivity=1, sigma=F(sigma)).privacy
    holds(privacy, truth.discrete_gaussian(F(sigma) ** 2, count), epsilons=[F(0), F(1, 1000), F(1, 3), F(2), F(5)])


@pytest.mark.parametrize("count", [2, 3, 5, 30, 1000])
@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1"])
def test_just_below_the_largest_loss(epsilon: str, count: int) -> None:
    """Where only the last atom counts, and its distance is a matter of rounding."""
    e = F(epsilon)
    top = count * e
    near = [top * (1 - F(1, 10**12)), F(math.nextafter(float(top), 0)), F(math.nextafter(float(top), 9e9))]
    holds(count * dp.pure(e), truth.pure(e, count), epsilons=near, deltas=[F(1, 10**200)])


@pytest.mark.parametrize("count", [2, 5, 100])
@pytest.mark.parametrize("delta", ["1e-9", "0.01", "0.1"])
def test_the_chance_of_disclosure_from_below(delta: str, count: int) -> None:
    """At that very delta the largest loss suffices, and the lower bound does not exceed it."""
    d = F(delta)
    sure = 1 - (1 - d) ** count
    privacy = count * dp.approximate(1, d)
    assert F(privacy.delta_bounds(count)[0]) <= sure
    assert privacy.epsilon_bounds(sure)[0] <= count


@pytest.mark.parametrize(
    ("privacy", "epsilon"),
    [(100 * dp.pure(F(1, 10)), 4.774568), (1000 * dp.pure(F(1, 10)), 19.344671), (30 * dp.pure(1), 29.987864)],
)
def test_known_values(privacy: dp.Privacy, epsilon: float) -> None:
    low, high = privacy.epsilon_bounds(1e-6)
    assert low == pytest.approx(epsilon, abs=6e-7)
    assert high == pytest.approx(epsilon, abs=6e-7)


def test_a_value_that_a_fixed_grid_gets_wrong() -> None:
    """Randomized response at 0.01, ten thousand times: delta(4.885515558) exceeds 1e-6."""
    low, high = (10000 * dp.pure(0.01)).epsilon_bounds(1e-6)
    assert 4.8855156 < low <= high < 4.8855156021
    assert truth.pure(F(1, 100), 10000)(F("4.885515558")) > real(F(1, 10**6))
    low, high = (100 * dp.DiscreteGaussian(sensitivity=1, sigma=10).privacy).epsilon_bounds(1e-6)
    assert low == pytest.approx(4.886571, abs=6e-7)
    assert high == pytest.approx(4.886571, abs=6e-7)
