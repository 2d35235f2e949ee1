"""Promise: more noise, smaller groups and smaller samples never cost more; Renyi divergences rise with their order and stay below
the zero-concentrated cost.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy.reference_guarantees import boxes, compositions, deltas, discrete, families, gaussians, laplaces, single, steady
from support.depth import spread

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy

F = Fraction
MAKERS = {
    "pure": lambda size: dp.pure(size),
    "approximate": lambda size: dp.approximate(size, 1e-9),
    "gdp": lambda size: dp.gdp(size),
    "zcdp": lambda size: dp.zcdp(size),
    "Laplace": lambda size: dp.Laplace(sensitivity=1.0, epsilon=size).privacy,
    "discrete Laplace": lambda size: dp.Laplace(sensitivity=4, epsilon=size).privacy,
    "discrete Gaussian": lambda size: dp.DiscreteGaussian(sensitivity=1, sigma=1 / size).privacy,
    "Response": lambda size: dp.RandomizedResponse(epsilon=size, options=range(5)).privacy,
    "Exponential": lambda size: dp.Exponential(sensitivity=1, epsilon=size).privacy,
    "NoisyMax": lambda size: dp.NoisyMax(sensitivity=1, epsilon=size).privacy,
    "PermuteAndFlip": lambda size: dp.PermuteAndFlip(sensitivity=1, epsilon=size).privacy,
    "SparseVector": lambda size: dp.SparseVector(sensitivity=1, epsilon=size, cutoff=2).privacy,
    "sampled Gaussian": lambda size: dp.gdp(size).sampled(0.1),
    "sampled Laplace": lambda size: dp.Laplace(sensitivity=1.0, epsilon=size).privacy.sampled(0.1),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("count", [1, 20])
def test_more_noise_never_costs_more(kind: str, count: int) -> None:
    sizes = spread([F(1, 20), F(1, 4), F(1), F(2)], 3)
    for delta in (1e-6, 0.1):
        bounds = [(count * MAKERS[kind](size)).epsilon_bounds(delta) for size in sizes]
        for less, more in itertools.pairwise(bounds):
            assert less[0] <= more[1] * (1 + 1e-12)
            assert less[1] <= more[1] * (1 + 1e-4) + 1e-9


@steady(40)
@given(compositions, st.lists(st.sampled_from([1.0001, 1.1, 1.5, 2, 3, 7.5, 20, 32, 100]), min_size=2, unique=True))
def test_renyi_rises_and_stays_below_rho(privacy: Privacy, orders: list[float]) -> None:
    values = [privacy.renyi(order) for order in sorted(orders)]
    assert not any(math.isnan(value) for value in values)
    assert all(0 <= low <= high * (1 + 1e-9) for low, high in itertools.pairwise(values))
    for order, value in zip(sorted(orders), values, strict=True):
        assert value <= privacy.rho * order * (1 + 1e-9) + 1e-11 / (order - 1)
    if privacy.epsilon(0) < math.inf:
        assert values[-1] <= privacy.epsilon(0) * (1 + 1e-9) + 1e-11


@pytest.mark.parametrize("mu", ["0.3", "1", "2.5", "8"])
def test_renyi_of_a_high_order_on_a_sample(mu: str) -> None:
    """Where its own moment is out of reach, that of the whole is not: rho alpha."""
    privacy = dp.gdp(F(mu)).sampled(0.001)
    for order in (1000, 10**6):
        assert privacy.renyi(order) <= privacy.rho * order * (1 + 1e-9)


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("count", [1, 1000])
def test_renyi_next_to_order_1_is_no_more_than_of_a_larger_one(kind: str, count: int) -> None:
    """An error of rounding, divided by alpha - 1, made 86 of a Gaussian's 1/2."""
    privacy = count * MAKERS[kind](F(1))
    larger = privacy.renyi(1 + F(1, 10**4))
    for digits in (30, 15, 9, 7, 5):
        order = 1 + F(1, 10**digits)
        assert privacy.renyi(order) <= larger * (1 + 1e-5)
        if kind == "gdp":
            assert privacy.renyi(order) >= count * order / 2


@pytest.mark.parametrize("order", [1.5, 2, 10, 200])
def test_known_renyi_divergences(order: float) -> None:
    """Gaussian: alpha mu^2 / 2. Pure: the two-point formula (Mironov 2017, proposition 5)."""
    assert dp.gdp(1.5).renyi(order) == pytest.approx(order * 1.125, rel=1e-9)
    high, low = math.exp(0.7) / (1 + math.exp(0.7)), 1 / (1 + math.exp(0.7))
    exact = math.log(high**order * low ** (1 - order) + low**order * high ** (1 - order)) / (order - 1)
    assert exact * (1 - 1e-12) <= dp.pure(0.7).renyi(order) <= exact * (1 + 1e-9)
    laplace = (order * math.exp((order - 1) * 0.7) + (order - 1) * math.exp(-order * 0.7)) / (2 * order - 1)
    exact = math.log(laplace) / (order - 1)  # Mironov 2017, proposition 6
    assert exact * (1 - 1e-12) <= dp.Laplace(sensitivity=1.0, epsilon=0.7).privacy.renyi(order) <= exact * (1 + 1e-9)


@steady(50)
@given(st.one_of(gaussians, boxes, laplaces, discrete, families), st.integers(2, 5), deltas)
def test_groups_never_cost_less(privacy: Privacy, size: int, delta: float) -> None:
    try:
        group = privacy.group(size)
    except ParameterError:
        assert "Renyi" in repr(privacy)
        return
    assert privacy.epsilon_bounds(delta)[0] <= group.epsilon(delta) * (1 + 1e-12)
    assert privacy.epsilon(delta) <= group.epsilon(delta) * (1 + 1e-4)
    assert privacy.group(1) == privacy
    if size < 4:
        assert group.epsilon_bounds(delta)[0] <= privacy.group(2 * size).epsilon(delta) * (1 + 1e-12)
    (2 * privacy).group(size)


def test_groups_of_known_kinds() -> None:
    assert dp.pure(0.5).group(3) == dp.Laplace(sensitivity=3, scale=2).privacy  # the geometric mechanism is the worst chain
    assert dp.pure(0.5).group(3).epsilon_bounds() == (1.5, 1.5)
    assert dp.gdp(0.5).group(3) == dp.gdp(1.5)
    assert dp.zcdp(0.5).group(3) == dp.zcdp(4.5)
    assert dp.Laplace(sensitivity=1, epsilon=0.5).privacy.group(3) == dp.Laplace(sensitivity=3, epsilon=1.5).privacy
    box = dp.approximate(0.5, 1e-9).group(3)
    exact = 1e-9 * (1 + math.exp(0.5) + math.exp(1))
    assert box.epsilon(0.99) <= 1.5 == box.epsilon(box.delta(1.5))
    assert exact * (1 - 1e-12) <= box.delta(1.5) <= exact * (1 + 1e-12)
    with pytest.raises(ParameterError):
        dp.gdp(1).sampled(0.1).group(2)


@steady(40)
@given(single, deltas, st.sampled_from([F(1, 1000), F(1, 50), F(1, 5), F(7, 10)]))
def test_samples_never_cost_more(privacy: Privacy, delta: float, rate: Fraction) -> None:
    """Neither than everybody, nor than a larger sample."""
    try:
        small, large = privacy.sampled(rate), privacy.sampled(rate * F(5, 4))
    except ParameterError:
        return  # names no pair, or is a sample already
    whole = privacy.epsilon_bounds(delta)
    assert privacy.sampled(1) == privacy
    assert privacy.sampled(0) == Privacy()
    for less, more in [(small, large), (large, privacy), (small, privacy)]:
        low, high = less.epsilon_bounds(delta)
        assert low <= more.epsilon(delta) * (1 + 1e-12)
        assert high <= more.epsilon(delta) * (1 + 1e-3) + 1e-9
    assert small.delta_bounds(0.1)[0] <= privacy.delta(0.1) * (1 + 1e-12)
    assert small.rho <= privacy.rho
    assert whole[0] <= whole[1]


@pytest.mark.parametrize("rate", [F(1, 2), F(9, 10), F(99, 100)])
@pytest.mark.parametrize("times", [30, 1000, 10**5])
def test_the_exponential_mechanism_costs_no_more_on_a_sample(rate: F, times: int) -> None:
    """Its pair costs more than its zero-concentrated bound where it is used often, and so it does on a sample."""
    whole = dp.Exponential(sensitivity=1, epsilon=1).privacy
    for delta in (1e-9, 1e-3):
        assert (times * whole.sampled(rate)).epsilon(delta) <= (times * whole).epsilon(delta) * (1 + 1e-9)
