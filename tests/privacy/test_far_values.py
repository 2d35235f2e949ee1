"""Promise: lists of values on small samples (discrete noise) have narrow brackets at any rate and any number of uses; they hold.

Truths are sums over all outcomes in balls, and other cuts for more uses. Work is counted in terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product

import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from privacy.reference_curves import real
from privacy.test_tight_samples import counted
from support.depth import deep

import discreet as dp
from discreet.privacy.accountant import composition, far_values
from discreet.privacy.accountant.cutting import cut_list, settle
from discreet.privacy.accountant.far_values import split_values
from discreet.privacy.losses import DiscreteGaussian, SampledLattice
from discreet.privacy.losses.base import Parts

F = Fraction
Law = list[tuple[arb, arb]]


def noise(sigma: str, rate: str) -> SampledLattice:
    return SampledLattice(DiscreteGaussian(F(sigma) ** 2), F(rate))


def law_of(sigma: str, rate: str) -> Law:
    """Losses and masses of one use, a record removed: 13 values of either sign, beyond which there is less than 1e-30."""
    q, scale = real(F(rate)), 2 * real(F(sigma) ** 2)
    weights = {x: (-arb(x * x) / scale).exp() for x in range(-13, 14)}
    total = sum(weights.values(), arb(0))
    plain = [(((2 * x - 1) / scale), weights[x] / total) for x in weights]  # ln of P / Q, and Q
    return [((1 - q + q * loss.exp()).log(), mass * (1 - q + q * loss.exp())) for loss, mass in plain]


def together(law: Law, count: int) -> Iterator[tuple[arb, arb]]:
    for chosen in combinations_with_replacement(range(len(law)), count):
        ways = math.factorial(count) // math.prod(math.factorial(chosen.count(i)) for i in set(chosen))
        yield sum((law[i][0] for i in chosen), arb(0)), math.prod((law[i][1] for i in chosen), start=arb(ways))


def truth(steps: list[tuple[str, str, int]], epsilons: list[Fraction]) -> list[arb]:
    """delta at these epsilons, from every outcome."""
    totals = [arb(0, 1e-28)] * len(epsilons)
    halves = [list(together(law_of(sigma, rate), count)) for sigma, rate, count in steps]
    factors = [real(epsilon).exp() for epsilon in epsilons]
    for outcome in product(*halves):
        loss, mass = sum((one[0] for one in outcome), arb(0)), math.prod((one[1] for one in outcome), start=arb(1))
        fall = (-loss).exp() * mass
        for i, (epsilon, factor) in enumerate(zip(epsilons, factors, strict=True)):
            if loss > real(epsilon):
                totals[i] += mass - factor * fall
    return totals


EXACT = [
    ([("1", "1e-3", 3)], "1e-6"),
    ([("1", "1e-5", 3)], "1e-9"),
    ([("0.7", "0.02", 3)], "1e-4"),
    ([("0.5", "1e-5", 3)], "1e-7"),
    ([("1", "1e-3", 1), ("0.6", "1e-4", 1)], "1e-6"),
]


@pytest.mark.parametrize(("steps", "delta"), EXACT)
def test_outcomes_are_all_there(steps: list[tuple[str, str, int]], delta: str) -> None:
    parts: Parts = composition.canonical(tuple((noise(sigma, rate), count) for sigma, rate, count in steps))
    near = settle(parts, top=True, log_delta=math.log(F(delta)))
    assert near is not None
    split = split_values(parts, near, math.log(F(delta)), 1 << 22)
    assert split is not None
    places = [split.epsilon * factor for factor in (0.5, 0.97, 1.0, 1.04, 1.6)]
    with ctx.workprec(128):
        for place, true in zip(places, truth(steps, [F(place) for place in places]), strict=True):
            low, high = split.delta(place)
            assert arb(low) <= true <= arb(high)
    low, high = split.delta(split.epsilon)
    assert high - low <= 1e-4 * high


@pytest.mark.parametrize(("sigma", "rate", "count"), [("1", "1e-5", 30), ("0.5", "1e-5", 40), ("1", "1e-3", 200)])
def test_it_does_not_matter_where(sigma: str, rate: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where lists are cut and how they are tilted: brackets overlap."""
    parts, found = ((noise(sigma, rate), count),), []
    near = settle(parts, top=True, log_delta=math.log(1e-6))
    assert near is not None
    for off, more in ((1e-12, 4.0), (1e-40, 1.0), (1e-7, 8.0)):
        monkeypatch.setattr(far_values, "_OFF", off)
        monkeypatch.setattr(far_values, "_MORE", more)
        split_values.cache_clear()
        split = split_values(parts, near, math.log(1e-6), 1 << 20)
        assert split is not None
        found.append(split.delta(near.saddle.epsilon))
    split_values.cache_clear()
    assert max(low for low, _ in found) <= min(high for _, high in found)
    assert all(high - low <= 1e-5 * high for low, high in found)


def test_what_is_lost_counts_as_disclosed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists without their lowest values, which hold a twentieth: every outcome with one of them may be anything."""
    steps = [("1", "1e-3", 3)]
    parts: Parts = ((noise("1", "1e-3"), 3),)
    near = settle(parts, top=True, log_delta=math.log(1e-6))
    assert near is not None
    monkeypatch.setattr(far_values, "cut_list", lambda loss, most, *, up: cut_list(loss, 0.13 if most else 0.0, up=up))
    split_values.cache_clear()
    split = split_values(parts, near, None, 1 << 20)
    split_values.cache_clear()
    assert split is not None
    places = [near.saddle.epsilon * factor for factor in (0.3, 0.6, 1.0)]
    with ctx.workprec(128):
        for place, true in zip(places, truth(steps, [F(place) for place in places]), strict=True):
            low, high = split.delta(place)
            assert arb(low) <= true <= arb(high)


USES = st.tuples(
    st.one_of(st.integers(2, 9), st.integers(10, 3000)),
    st.floats(math.log(0.3), math.log(3)).map(math.exp),  # sigma
    st.floats(math.log(1e-7), math.log(0.1)).map(math.exp),  # rate
    st.floats(math.log(1e-10), math.log(1e-3)).map(math.exp),  # delta
)


@given(USES)
@settings(max_examples=deep(10, 3), deadline=None, derandomize=True)
def test_any_uses(uses: tuple[int, float, float, float]) -> None:
    """1e-4 relative, 1e-9 from ten uses on, or 1e-12."""
    count, sigma, rate, delta = uses
    privacy = count * dp.DiscreteGaussian(sensitivity=1, sigma=F(f"{sigma:.3g}")).privacy.sampled(F(f"{rate:.3g}"))
    with counted() as work:
        low, high = privacy.epsilon_bounds(F(f"{delta:.3g}"))
    assert high - low <= max((1e-9 if count >= 10 else 1e-4) * low, 1e-12)
    assert sum(work) <= 1 << 25


@pytest.mark.spread(2)
@pytest.mark.parametrize(
    ("sigma", "rate", "count"),
    [("1", "1e-3", 12), ("1", "1e-5", 12), ("0.5", "1e-5", 30), ("1", "1e-5", 1000), ("2", "1e-3", 12)],
)
def test_nine_digits_from_ten_uses_on(sigma: str, rate: str, count: int) -> None:
    """These were up to 1e-4 wide."""
    low, high = (count * dp.DiscreteGaussian(sensitivity=1, sigma=F(sigma)).privacy.sampled(F(rate))).epsilon_bounds(F("1e-6"))
    assert 0 < high - low <= 1e-9 * high


def test_an_epsilon_of_hundreds() -> None:
    """Exponentials of twice as much leave the doubles."""
    low, high = (448 * dp.DiscreteGaussian(sensitivity=1, sigma=F("0.308")).privacy.sampled(F("0.203"))).epsilon_bounds(F("2e-6"))
    assert 400 < low <= high <= low * (1 + 1e-9)
