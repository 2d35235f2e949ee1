"""Promise: whatever is composed, a bracket is a bracket, and more costs no less.

Over all pairs of kinds, sampled or not: lower <= upper before they are put in order; what a part needs for certain (lower) is
never more than what suffices for the whole (upper). The same for larger samples, less noise and larger groups. And over counts
to 1e16, rates from 1e-9 to 1 and deltas from 1e-300 to 0.99: an answer, or a refusal in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy.reference_bracket import raw_delta, raw_epsilon
from privacy.reference_guarantees import steady
from support.depth import deep, spread

import discreet as dp
from discreet.errors import DiscreetError, ParameterError
from discreet.privacy import Privacy
from discreet.privacy.accountant.contour import Contour
from discreet.privacy.accountant.lattice import Convolution
from discreet.privacy.accountant.methods import certain
from discreet.privacy.filters import ConcentratedFilter
from discreet.privacy.losses import Box, DiscreteLaplace, Family, Response

F = Fraction
KINDS: dict[str, Callable[[Fraction], Privacy]] = {
    "pure": dp.pure,
    "approximate": lambda e: dp.approximate(e, F(1, 10**8)),
    "zCDP": lambda e: dp.zcdp(e * e / 2),
    "Renyi": lambda e: dp.renyi({F(3, 2): e * e / 3, 2: e * e / 2, 8: 2 * e * e, 32: 9 * e * e}),
    "GDP": dp.gdp,
    "Laplace": lambda e: dp.Laplace(sensitivity=1.0, epsilon=e).privacy,
    "discrete Laplace 1": lambda e: dp.Laplace(sensitivity=1, epsilon=e).privacy,
    "discrete Laplace 5000": lambda e: dp.Laplace(sensitivity=5000, epsilon=e).privacy,
    "discrete Gaussian": lambda e: dp.DiscreteGaussian(sensitivity=1, sigma=max(1 / e, F(1, 4))).privacy,
    "exponential": lambda e: dp.Exponential(sensitivity=1, epsilon=e).privacy,
    "noisy max": lambda e: dp.NoisyMax(sensitivity=1, epsilon=e).privacy,
    "permute and flip": lambda e: dp.PermuteAndFlip(sensitivity=1, epsilon=e).privacy,
    "two options": lambda e: dp.RandomizedResponse(epsilon=e).privacy,
    "five options": lambda e: dp.RandomizedResponse(epsilon=e, options=range(5)).privacy,
    "sparse vector": lambda e: dp.SparseVector(sensitivity=1, epsilon=e, cutoff=2).privacy,
    "threshold": lambda e: dp.Threshold(epsilon=e, delta=F(1, 10**9)).privacy,
}
PAIRS = list(combinations_with_replacement(KINDS, 2))


def in_order(less: tuple[float, float], more: tuple[float, float]) -> None:
    """Both are brackets; what less needs for certain suffices for more."""
    for low, high in (less, more):
        assert 0 <= low <= high
    assert less[0] <= more[1]


@pytest.mark.spread(24)
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_adding_a_mechanism_never_costs_less(left: str, right: str) -> None:
    """Beside Gaussian noise; each pair in one of four ways to sample it, by its place in the list: all ways meet all kinds."""
    turn, noise = PAIRS.index((left, right)), dp.gdp(F(1, 2))
    one, other = KINDS[left](F(1)), KINDS[right](F(1, 2))
    one = one.sampled(F(1, 10)) if turn % 2 else one
    other = other.sampled(F(3, 10**4)) if turn // 2 % 2 else other
    if turn % 3:
        more = raw_delta(noise + one + other, F(3, 4))
        in_order(raw_delta(noise + one, F(3, 4)), more)
        in_order(raw_delta(noise + other, F(3, 4)), more)
    else:
        more = raw_epsilon(noise + one + other, F(1, 10**6))
        in_order(raw_epsilon(noise + one, F(1, 10**6)), more)
        in_order(raw_epsilon(noise + other, F(1, 10**6)), more)


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_repeating_a_mechanism_never_costs_less(kind: str, sampled: bool) -> None:
    one = KINDS[kind](F(1)).sampled(F(1, 10)) if sampled else KINDS[kind](F(1))
    in_order(raw_delta(one, F(1, 10)), raw_delta(3 * one, F(1, 10)))


@pytest.mark.parametrize("kind", KINDS)
def test_larger_samples_and_less_noise_never_cost_less(kind: str) -> None:
    one, less = KINDS[kind](F(1)), KINDS[kind](F(4, 5))
    rates = spread([F(1, 10**9), F(1, 100), F(1, 2), F(10**9 - 1, 10**9)], 2)
    steps = [*(one.sampled(rate) for rate in rates), one]
    beside = dp.gdp(F(1, 2))
    for risen in (steps, [less, one], [less.sampled(F(1, 10)), one.sampled(F(1, 10))]):
        for small, large in pairwise([raw_delta(beside + step, F(1, 3)) for step in risen]):
            in_order(small, large)
        for small, large in pairwise([raw_epsilon(step, F(1, 10**5)) for step in risen]):
            in_order(small, large)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "Renyi"])
def test_larger_groups_never_cost_less(kind: str) -> None:
    """And k records cost at most k times the pure epsilon, and no less than one."""
    one = KINDS[kind](F(1, 4))
    sizes = [one, one.group(2), one.group(3), one.group(7)]
    for costs in (
        [raw_epsilon(size, F(1, 10**6)) for size in sizes],
        [raw_delta(size, F(1, 10)) for size in sizes],
        [raw_delta(dp.gdp(1) + size, F(1)) for size in sizes],
    ):
        for small, large in pairwise(costs):
            in_order(small, large)
    if one.epsilon() < math.inf:
        assert one.group(7).epsilon() == pytest.approx(7 * one.epsilon())


PARTS = st.tuples(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from([F(n) for n in ("1e-8", "1e-3", "0.1", "1", "3", "40", "1000")]),
    st.sampled_from([F(n) for n in ("1e-9", "1e-5", "0.01", "0.5", "0.999999999", "1")]),
    st.sampled_from([1, 2, 30, 10**6, 10**16]),
)


@steady(deep(15, 3))
@given(
    PARTS,
    st.sampled_from([F(n) for n in ("1e-6", "0.1", "5")]),
    st.sampled_from([F(1, 10**n) for n in (300, 100, 50, 20, 9, 6, 3)] + [F(1, 2), F(99, 100), F(0)]),
    st.booleans(),
)
def test_every_composition_has_an_answer(
    part: tuple[str, Fraction, Fraction, int], mu: Fraction, delta: Fraction, ask_delta: bool
) -> None:
    kind, size, rate, count = part
    try:
        use = count * KINDS[kind](size).sampled(rate)
    except DiscreetError:
        return  # a mechanism that cannot be had
    if ask_delta:
        in_order(raw_delta(use, delta * 50), raw_delta(use + dp.gdp(mu), delta * 50))
    else:
        in_order(raw_epsilon(use, delta), raw_epsilon(use + dp.gdp(mu), delta))


# Cases by name.


def test_groups_of_randomized_response() -> None:
    """Five people's answers cost five times one's; two options and five alike."""
    for options in (2, 5):
        privacy = dp.RandomizedResponse(epsilon=1, options=range(options)).privacy
        assert privacy.group(5).epsilon() == 5
        assert privacy.group(5).epsilon_bounds(1e-6)[0] <= (5 * privacy).epsilon(1e-6) <= privacy.group(5).epsilon(1e-6) + 1e-12


def test_groups_of_pure_guarantees_are_tight() -> None:
    """Two steps of epsilon = 1: total variation 1 - 1/e, where twice the epsilon would say 0.76."""
    low, high = dp.pure(1).group(2).delta_bounds(0)
    assert low <= 1 - math.exp(-1) <= high <= low * (1 + 1e-12)


def test_families_keep_what_one_record_attains() -> None:
    """The lower bound of a group is that of one record where no more is known; and never what bounds it from above."""
    for kind in ("noisy max", "sparse vector", "threshold", "approximate", "five options", "discrete Gaussian"):
        one = KINDS[kind](F(1))
        grouped = one.group(3)
        assert grouped.epsilon_bounds(1e-6)[0] == pytest.approx(one.epsilon_bounds(1e-6)[0])
        assert grouped.epsilon_bounds(1e-6)[0] < grouped.epsilon(1e-6)
    assert isinstance(Response(F(1), 3).group(2), Family)
    assert Box(F(1)).group(2) == DiscreteLaplace(2, F(1))


def test_approximate_zcdp_has_no_groups() -> None:
    with pytest.raises(ParameterError, match="group law"):
        ConcentratedFilter(rho=1, delta=1e-6).guarantee.group(2)
    assert ConcentratedFilter(rho=1).guarantee.group(2) == dp.zcdp(4)


@pytest.mark.parametrize(("epsilon", "rate"), [(1, F(1, 3)), (F(1, 7), F(2, 3)), (5, F(1, 1000)), (F(1, 10), F(1, 10**9))])
def test_sampled_pure_without_delta(epsilon: Fraction, rate: Fraction) -> None:
    """ln(1 + q (e^epsilon - 1)) lies inside the bracket, which is as narrow as floats allow."""
    from privacy.reference_curves import real

    low, high = dp.pure(epsilon).sampled(rate).epsilon_bounds(0)
    exact = (real(rate) * real(F(epsilon)).expm1()).log1p()
    assert not exact < real(F(low))
    assert not exact > real(F(high))
    assert high <= math.nextafter(low, 1)


def test_numbers_beyond_the_doubles() -> None:
    tiny = dp.pure(F(1, 10**400))
    assert tiny.epsilon_bounds(1e-6) == (0.0, 0.0)
    assert (3 * tiny + dp.gdp(1)).epsilon(1e-6) == pytest.approx(dp.gdp(1).epsilon(1e-6))
    assert (2 * dp.approximate(5, 1e-3).group(10)).epsilon_bounds(1e-3)[1] == math.inf
    assert (2 * dp.approximate(5, 1e-3).group(10)).delta_bounds(60)[1] == 1
    assert (2 * dp.approximate(1, F(1, 10**290))).epsilon(F(1, 10**280)) == 2
    assert dp.gdp(1).sampled(F(1, 10**300)).epsilon(1e-6) == 0
    assert dp.pure(1).renyi(F(10**400)) == 1
    assert 0 < dp.pure(1).renyi(1 + F(1, 10**400)) < math.inf


@pytest.mark.parametrize("count", [10**6, 10**12, 10**16])
def test_many_repetitions(count: int) -> None:
    """Errors of exponents grow with the count: brackets widen, and hold. n uses of 1/sqrt(n) are nearly gdp(1)."""
    whole = count * dp.pure(F(1, math.isqrt(count)))
    low, high = raw_epsilon(whole, F(1, 10**6))
    assert low <= 4.8866 + 1e-3
    assert high >= 4.8865 - 1e-3
    assert (whole + dp.gdp(1)).epsilon(1e-6) >= dp.gdp(1).epsilon_bounds(1e-6)[0]


def test_the_gate() -> None:
    """What is no number says nothing; and nothing is made of what is none."""
    assert certain(math.nan, top=True) == 1
    assert certain(math.nan, top=False) == 0
    assert certain(math.inf, top=True) == 1
    assert certain(-math.inf, top=False) == 0
    numbers, none = np.zeros(3), np.array([0.0, math.nan, 1.0])
    with pytest.raises(ArithmeticError):
        Contour(1.0, 0.0, 0.0, 9.0, numbers, numbers.astype(complex), none, 0.0, ((2.0, 0.0),), 0.0)
    with pytest.raises(ArithmeticError):
        Contour(1.0, 0.0, math.inf, 9.0, numbers, numbers.astype(complex), numbers, 0.0, ((2.0, 0.0),), 0.0)
    with pytest.raises(ArithmeticError):
        Convolution(numbers, none, 0.0, 1.0, 0.0, 0.0, 0.0, True)
