"""What composition promises whatever is composed: it does not depend on order or grouping, and more never costs less."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp

SIZES = st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(3, 10), Fraction(1), Fraction(5, 2)])
LOSSES = st.one_of(
    SIZES.map(dp.pure),
    SIZES.map(dp.gdp),
    SIZES.map(dp.zcdp),
    SIZES.map(lambda e: dp.approximate(e, Fraction(1, 10**9))),
    SIZES.map(lambda e: dp.Laplace(sensitivity=1.0, epsilon=e).privacy),
    SIZES.map(lambda e: dp.Laplace(sensitivity=2, epsilon=e).privacy),
    SIZES.map(lambda e: dp.Exponential(sensitivity=1, epsilon=e).privacy),
    SIZES.map(lambda e: dp.NoisyMax(sensitivity=1, epsilon=e).privacy),
    SIZES.map(lambda m: dp.gdp(m).sampled(Fraction(1, 50))),
    SIZES.map(lambda e: dp.pure(e).sampled(Fraction(1, 10))),
)
PARTS = st.lists(st.tuples(LOSSES, st.integers(1, 40)), min_size=1, max_size=3)
DELTAS = st.sampled_from([Fraction(1, 10**100), Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 100), Fraction(99, 100)])
few = settings(max_examples=examples(12), deadline=None, derandomize=True)


def total(parts: list[tuple[dp.Privacy, int]]) -> dp.Privacy:
    return sum((count * privacy for privacy, count in parts), dp.Privacy())


@few
@given(LOSSES, st.integers(0, 6))
def test_repeating_is_adding(privacy: dp.Privacy, times: int) -> None:
    assert times * privacy == sum([privacy] * times, dp.Privacy())
    assert hash(times * privacy) == hash(sum([privacy] * times, dp.Privacy()))


@few
@given(PARTS)
def test_order_and_text_do_not_matter(parts: list[tuple[dp.Privacy, int]]) -> None:
    there, back = total(parts), total(parts[::-1])
    assert there == back
    assert dp.Privacy.from_json(there.to_json()) == there


@few
@given(PARTS, LOSSES, DELTAS)
def test_more_never_costs_less(parts: list[tuple[dp.Privacy, int]], more: dp.Privacy, delta: Fraction) -> None:
    some, all_of_it = total(parts), total(parts) + more
    low, high = some.epsilon_bounds(delta)
    bounds = all_of_it.epsilon_bounds(delta)
    assert not any(math.isnan(x) or x < 0 for x in (low, high, *bounds))
    assert low <= high
    assert low <= bounds[1] * (1 + 1e-9)


@few
@given(PARTS, DELTAS)
def test_delta_and_epsilon_invert_each_other(parts: list[tuple[dp.Privacy, int]], delta: Fraction) -> None:
    privacy = total(parts)
    low, high = privacy.epsilon_bounds(delta)
    if 0 < high < math.inf:
        assert privacy.delta_bounds(Fraction(high))[0] <= float(delta) * (1 + 1e-9)
    if 0 < low < math.inf:
        assert privacy.delta_bounds(Fraction(low))[1] >= float(delta) * (1 - 1e-9)


@few
@given(PARTS)
def test_renyi_divergences_rise_with_the_order_and_stay_below_rho(parts: list[tuple[dp.Privacy, int]]) -> None:
    privacy = total(parts)
    values = [privacy.renyi(alpha) for alpha in (1.5, 2, 4, 16)]
    assert values == sorted(values)
    if privacy.rho < math.inf:
        assert all(value <= privacy.rho * alpha * (1 + 1e-9) for value, alpha in zip(values, (1.5, 2, 4, 16), strict=True))


@pytest.mark.diagonal
@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)])
@pytest.mark.parametrize("privacy", [dp.gdp(1), dp.pure(1), dp.Laplace(sensitivity=1.0, epsilon=1).privacy])
def test_a_sample_costs_less(privacy: dp.Privacy, rate: Fraction) -> None:
    whole, part, smaller = (10 * p for p in (privacy, privacy.sampled(rate), privacy.sampled(rate / 2)))
    assert smaller.epsilon(1e-6) <= part.epsilon(1e-6) <= whole.epsilon(1e-6)
    assert privacy.sampled(1) == privacy
    assert privacy.sampled(0) == dp.Privacy()


@pytest.mark.parametrize("privacy", [dp.gdp(1), dp.pure(1), dp.zcdp(1), dp.Laplace(sensitivity=1, epsilon=1).privacy])
def test_groups_cost_more(privacy: dp.Privacy) -> None:
    costs = [privacy.group(size).epsilon(1e-6) for size in (1, 2, 5)]
    assert costs == sorted(costs)


def test_more_noise_never_costs_more() -> None:
    costs = [(1_000 * dp.Gaussian(sensitivity=1, sigma=s).privacy.sampled(0.01)).epsilon(1e-6) for s in (0.7, 1, 2, 5, 50)]
    assert costs == sorted(costs, reverse=True)


def test_nothing_is_free_and_nothing_costs_nothing() -> None:
    free = dp.Privacy()
    assert (free.epsilon(), free.delta(0), free.rho, free.renyi(2), free.tradeoff(0.25)) == (0, 0, 0, 0, 0.75)
    assert 0 * dp.pure(1) == free


def test_the_tradeoff_of_a_gaussian() -> None:
    from statistics import NormalDist

    law = NormalDist()
    for fpr in (1e-6, 0.01, 0.2, 0.7):
        truth = law.cdf(law.inv_cdf(1 - fpr) - 1)
        assert truth - 1e-4 <= dp.gdp(1).tradeoff(fpr) <= truth + 1e-12


TIGHT = {
    1e-9: [
        10_000 * dp.gdp(Fraction(1, 10)),
        30 * dp.gdp(1).sampled(Fraction(1, 100)),
        100_000 * dp.gdp(1).sampled(Fraction(1, 100)),
        dp.gdp(Fraction(1, 2)) + 50 * dp.Laplace(sensitivity=1.0, epsilon=0.1).privacy + 20 * dp.approximate(0.05, 1e-9),
    ],
    1e-7: [
        10_000 * dp.pure(Fraction(1, 100)),
        1_000 * dp.RandomizedResponse(epsilon=0.1, options=list("abcd")).privacy,
        100 * dp.Laplace(sensitivity=3, scale=10).privacy,
    ],
    1e-4: [
        *(k * dp.Laplace(sensitivity=1.0, epsilon=0.1).privacy for k in (2, 30, 100, 10_000)),
        100 * dp.DiscreteGaussian(sensitivity=1, sigma=10).privacy,
        5 * dp.Threshold(epsilon=1, delta=1e-8).privacy,
    ],
}


@pytest.mark.parametrize(("width", "privacy"), [(width, privacy) for width, all_of in TIGHT.items() for privacy in all_of])
def test_the_bracket_is_narrow(width: float, privacy: dp.Privacy) -> None:
    low, high = privacy.epsilon_bounds(1e-6)
    assert high - low <= width * low
