"""Bounds hold where numbers are extreme: large losses at small tilts, high orders, both directions, counts beyond doubles."""

from __future__ import annotations

import math
from fractions import Fraction as Q

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy import reference_curves as truth
from support.depth import examples

import discreet as dp
from discreet.privacy import Privacy
from discreet.privacy.accountant.cutting import cut_list
from discreet.privacy.accountant.smoothing import _Nodes, log1p
from discreet.privacy.losses import BoundedRange, Box, DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace
from discreet.privacy.losses.sampled import SampledLattice


@pytest.mark.parametrize("make", [Box, Laplace, BoundedRange], ids=lambda make: make.__name__)
@pytest.mark.parametrize("size", [2000, 10**50])
@pytest.mark.parametrize("count", [2, 10**4, 10**15])
def test_large_losses_at_small_tilts(make: type, size: int, count: int) -> None:
    """Nearly all losses are close to the largest one, so that far below it delta is 1."""
    privacy, largest = count * Privacy.of(make(Q(size))), size * count
    assert privacy.delta_bounds(Q(largest, 4))[1] > 1 - 1e-6
    low, high = privacy.epsilon_bounds(1e-6)
    assert low <= high
    assert high >= 0.9 * largest


def test_a_pure_guarantee_of_large_epsilon() -> None:
    assert (10**15 * dp.pure(5000)).epsilon_bounds(1e-6)[1] == pytest.approx(5e18)
    assert (2 * dp.pure(10**50).sampled(0.5)).delta_bounds(5 * 10**49)[1] >= 0.75


@pytest.mark.parametrize("rate", [Q(1, 100), Q(1, 2), Q(99, 100)])
@pytest.mark.parametrize("order", [2, 10, 40, 101, 500])
def test_renyi_of_a_sampled_discrete_gaussian(order: int, rate: Q) -> None:
    """From below by a few terms of E_Q[r^a], r = 1 - q + q e^(x - 1/2) at the integers x under Q."""
    terms = []
    for x in range(-20, 4 * order):
        log_ratio = x - 0.5
        log_r = max(math.log(rate) + log_ratio, math.log(1 - rate))
        terms.append(order * log_r - x * x / 2 - math.log(2.51))
    least = max(terms) / (order - 1)
    assert Privacy.of(DiscreteGaussian(Q(1)), "add-remove").sampled(rate).renyi(order) >= least - 1e-9


@pytest.mark.parametrize("nearest", [Q(389, 10), Q(3904, 100), Q(3916, 100), Q(3928, 100), Q(3934, 100)])
def test_deltas_that_doubles_hardly_hold(nearest: Q) -> None:
    """Below 2^-1022 doubles have fewer digits: bounds are rounded away from the truth by what is missing."""
    privacy, curve = dp.gdp(1) + dp.pure(0.5), truth.with_gaussian(Q(1), truth.pure(Q(1, 2), 1))
    for epsilon in (nearest + Q(j, 2000) for j in range(8)):
        low, high = privacy.delta_bounds(epsilon)
        assert arb(low) <= curve(epsilon) <= arb(high)
        assert high <= 1.01 * low + 1e-322


def test_a_delta_below_all_doubles() -> None:
    """The largest loss is not quite needed."""
    low, high = dp.pure(1).epsilon_bounds(Q(1, 10**330))
    assert low == math.nextafter(1.0, 0.0)
    assert high == 1.0


def test_both_directions_leak_what_they_leak() -> None:
    box, rest = Box(Q(1), Q(1, 100)), dp.zcdp(Q(1, 100))
    both = [(Privacy.of(SampledLattice(box, Q(1, 2), adding)) + rest).epsilon_bounds(0.006) for adding in (True, False)]
    assert both[0] == both[1]


@settings(max_examples=examples(40))
@given(st.sampled_from([1e-9, 1e-3, 0.3]), st.sampled_from([1, 3, 7]), st.floats(0.05, 20), st.floats(0.999999, 1.0))
def test_deltas_at_the_very_end_are_inverted(rate: float, steps: int, scale: float, share: float) -> None:
    privacy = Privacy.of(DiscreteLaplace(steps, Q(scale))).sampled(rate)
    delta = privacy.delta_bounds(0)[1] * share
    low, high = privacy.epsilon_bounds(delta)
    assert 0 <= low <= high <= privacy.epsilon()


@pytest.mark.parametrize("squared", [Q(1, 1100), Q(1, 1300), Q(10, 14881), Q(1, 1488), Q(1, 1500), Q(1, 10**6)])
def test_samples_of_hardly_any_noise(squared: Q) -> None:
    """Who is sampled is seen, with a chance of all but nothing to the contrary: delta is 1 - 0.9^20."""
    twenty = 20 * Privacy.of(DiscreteGaussian(squared)).sampled(Q(1, 10))
    low, high = twenty.delta_bounds(0.001)
    assert low <= (1 - 0.9**20) * (1 + 1e-9)
    assert high >= (1 - 0.9**20) * (1 - 1e-3)
    assert twenty.epsilon_bounds(0.05)[1] > 1


def test_thousands_of_different_samples_lose_a_unit_each() -> None:
    """Factors that round to 1 lose the same side of what they are: the error that is claimed grows with their number."""
    x, at = 1.0, np.array([0.0, 0.35e-8, 0.6e-8, 0.9e-8])
    parts = [cut_list(SampledLattice(Box(1 + Q(i, 10**6)), Q(1, 10**9)), 0.0, up=True) for i in range(1500)]
    at /= math.sqrt(parts[0].cumulants(x)[2])
    nodes = _Nodes(at, 1e-30, x, np.full(4, -np.inf), 1e12)
    for part in parts:
        nodes.multiply(part, 2)
    logs = [2 * log1p(part.increment(x, at)).real for part in parts]
    truth = np.exp([math.fsum(column) for column in np.transpose(logs)])
    assert np.all(np.abs(np.abs(nodes.law) - truth) <= nodes.errors())


@pytest.mark.parametrize("mu", [1e5, 2e5, 3e6])
@pytest.mark.parametrize("away", [-7e4, -3, 0, 2])
def test_gaussian_noise_far_out_is_what_the_error_function_says(mu: float, away: float) -> None:
    """Where Mills' ratio takes over; the error function at a precision at which it is soon there."""
    loss, epsilon = Gaussian(Q(mu) ** 2), Q(mu) * (Q(mu) / 2 - Q(away))
    with ctx.workprec(256):
        e, m = (arb(fmpq(number.numerator, number.denominator)) for number in (epsilon, Q(mu)))
        root = arb(2).sqrt()
        true = ((e / m - m / 2) / root).erfc() / 2 - (e + (((e / m + m / 2) / root).erfc() / 2).log()).exp()
        found = loss.hockey_stick(epsilon)
        assert found.overlaps(true)
        assert found.rel_accuracy_bits() > 56


@pytest.mark.parametrize(("count", "delta"), [(100, 0.9999999999990133), (150, 0.9999999999992768), (200, 0.9999999999993873)])
def test_a_delta_of_all_that_is_listed(count: int, delta: float) -> None:
    """To the last digit the mass of all outcomes that are not left out: nothing of it remains beside delta."""
    low, high = (count * dp.pure(1)).epsilon_bounds(Q(delta))
    assert low <= high
    assert truth.pure(Q(1), count)(Q(high)) <= arb(delta)


@pytest.mark.parametrize("rate", [Q(1, 10**17), Q(1, 3), Q(1, 10), 1 - Q(1, 10**17)])
def test_what_costs_nothing_misses_no_more_than_it_must(rate: Q) -> None:
    assert Q(Privacy().tradeoff(rate)) <= 1 - rate


def test_both_directions_disclose_what_one_of_them_does() -> None:
    assert Privacy.of(SampledLattice(Box(Q(1), Q(1, 100)), Q(1, 2), adding=True)).renyi(2) == math.inf


FAR = {
    "Gaussian": dp.gdp(1),
    "Gaussian and Laplace": dp.gdp(1) + dp.Laplace(sensitivity=1.0, epsilon=1).privacy,
    "sampled": 2 * dp.gdp(1).sampled(0.1),
    "zCDP": dp.zcdp(1),
    "leak": dp.gdp(1) + dp.approximate(1, 0.01),
    "batch": dp.gdp(1).batched(1, of=3) + dp.pure(1),
}


@pytest.mark.parametrize("privacy", FAR.values(), ids=FAR)
@pytest.mark.parametrize("power", [280, 308, 400])
def test_epsilons_beyond_the_doubles(privacy: Privacy, power: int) -> None:
    low, high = privacy.delta_bounds(10**power)
    assert low <= high <= 0.01 + 1e-9


@pytest.mark.parametrize(("rate", "delta"), [(Q(1, 2), 0.9), (Q(1, 100), 1e-6)])
def test_steps_that_add_up_to_epsilons_beyond_exponentials(rate: Q, delta: float) -> None:
    low, high = (10**5 * dp.gdp(3).sampled(rate)).epsilon_bounds(delta)
    assert 709 < low <= high <= low * (1 + 1e-8)


MOST = 10**310
BEYOND = {
    "pure": MOST * dp.pure(1),
    "Gaussian": MOST * dp.gdp(1),
    "pure and zCDP": MOST * dp.pure(1) + dp.zcdp(1),
    "sampled Laplace": MOST * dp.Laplace(sensitivity=1.0, epsilon=1).privacy.sampled(0.1),
    "sampled Gaussian": MOST * dp.gdp(1).sampled(0.1),
    "hardly anything kept": dp.approximate(1, 1 - Q(1, 10**400)),
    "twice": 2 * dp.approximate(1, 1 - Q(1, 10**400)),
    "beside zCDP": dp.approximate(1, 1 - Q(1, 10**400)) + dp.zcdp(0.1),
    "nearly as often": 10**306 * dp.gdp(8).sampled(0.5),
    "responses": 10**308 * dp.RandomizedResponse(epsilon=3, options=range(3)).privacy,
    "batches": 10**307 * dp.gdp(8).batched(1, of=3),
    "exponential": 10**308 * dp.Exponential(sensitivity=1, epsilon=3).privacy,
    "large": 10**250 * dp.pure(10**100),
}


@pytest.mark.parametrize("privacy", BEYOND.values(), ids=BEYOND)
def test_what_no_double_counts_has_an_answer(privacy: Privacy) -> None:
    for delta in (Q(0), Q(1, 10**6), 1 - Q(1, 10**401)):
        low, high = privacy.epsilon_bounds(delta)
        assert 0 <= low <= high
    for epsilon in (0, 1, 10**6):
        low, high = privacy.delta_bounds(epsilon)
        assert 0 <= low <= high <= 1
    assert privacy.renyi(2) >= 0
    assert 0 <= privacy.tradeoff(0.1) <= 0.9
