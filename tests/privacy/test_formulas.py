"""The lectures' formulas: not below an independent evaluation at 300 digits and hardly above it, and loose where they say so."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx, fmpq, fmpz
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from support.depth import examples
from support.refusals import NOT_NUMBERS, NOT_POSITIVE, refused

from discreet.errors import ParameterError
from discreet.privacy import approximate, gdp, pure, zcdp
from discreet.privacy.formulas import (
    advanced_composition,
    basic_composition,
    group_privacy,
    group_privacy_geometric,
    leak_somebody,
    optimal_composition,
    optimal_composition_grid,
    pure_to_zcdp_loose,
    pure_to_zcdp_tight,
    zcdp_tail,
    zcdp_to_approximate_best_order,
    zcdp_to_approximate_textbook,
)

F = Fraction
SIZES = [1e-9, 1e-3, 0.1, 1, 3, 20]
DELTAS = [1e-100, 1e-12, 1e-6, 0.01, 0.4]


def real(x: Any) -> arb:
    exact = F(str(x)) if isinstance(x, float) else F(x)
    return arb(fmpq(exact.numerator, exact.denominator))


def above(found: float, truth: Callable[[], arb], relative: float = 1e-12) -> bool:
    """Not below the truth, and hardly above it."""
    with ctx.workprec(1000):
        exact = truth()
        return not arb(found) < exact and bool(arb(found) <= exact * (1 + real(relative)) + arb(2) ** -1073)


# Composition.


def test_basic_composition_is_the_sum() -> None:
    assert basic_composition([1, 2, 3.5], [1e-3, F(1, 8)]) == (6.5, 0.126)
    assert basic_composition([0.1] * 10, [1e-6] * 10)[0] == 1
    assert basic_composition([]) == (0, 0)
    low = basic_composition([0.1] * 3)[0]
    assert F(low) >= F(3, 10)
    assert low == math.nextafter(0.3, 1)
    assert basic_composition([1], [0.9, 0.9])[1] == 1


@pytest.mark.parametrize("epsilon", SIZES)
@pytest.mark.parametrize("k", [1, 7, 100_000])
@pytest.mark.parametrize("slack", DELTAS)
def test_advanced_composition_is_the_lectures(epsilon: float, k: int, slack: float) -> None:
    found, delta = advanced_composition(epsilon, 1e-9, k, slack)
    e = real(epsilon)
    assert above(found, lambda: e * (-2 * k * real(slack).log()).sqrt() + k * e * (real(epsilon).exp() - 1))
    assert above(delta, lambda: k * real(1e-9) + real(slack))


def test_advanced_composition_helps_only_for_many_small_mechanisms() -> None:
    assert advanced_composition(0.1, 0, 100, 1e-6)[0] < basic_composition([0.1] * 100)[0]
    assert advanced_composition(0.1, 0, 10, 1e-6)[0] > basic_composition([0.1] * 10)[0]
    assert advanced_composition(1, 0, 1000, 1e-6)[0] > basic_composition([1] * 1000)[0]


def binomial_delta(epsilon: Any, k: int, x: arb) -> arb:
    """delta(x) of k-fold randomized response, term by term: the sum of C(k, l) (e^((k-l) e) - e^(x + l e))+ / (1 + e^e)^k."""
    e, total = real(epsilon), arb(0)
    for lies in range(k + 1):
        if real(k - 2 * lies) * e > x:
            ways = arb(fmpz(math.comb(k, lies)))
            total += ways * (((k - lies) * e).exp() - (x + lies * e).exp())
    return total / (1 + e.exp()) ** k


@pytest.mark.parametrize("epsilon", [*SIZES, 300])
@pytest.mark.parametrize("k", [1, 2, 3, 30, 201])
@pytest.mark.parametrize("delta", DELTAS)
def test_optimal_composition_is_the_smallest_epsilon(epsilon: float, k: int, delta: float) -> None:
    found = optimal_composition(epsilon, k, delta)
    with ctx.workprec(1000):
        assert binomial_delta(epsilon, k, arb(found)) <= real(delta)
        if found:
            assert binomial_delta(epsilon, k, arb(math.nextafter(found, 0))) > real(delta) * (1 - real(1e-9))
            assert binomial_delta(epsilon, k, arb(found) * (1 - real(1e-13))) > real(delta)


@given(st.fractions(F(1, 100), 4), st.integers(1, 40), st.fractions(F(1, 10**9), F(9, 10)))
@settings(max_examples=examples(60), deadline=None)
def test_optimal_composition_of_anything(epsilon: Fraction, k: int, delta: Fraction) -> None:
    found = optimal_composition(epsilon, k, delta)
    with ctx.workprec(600):
        assert binomial_delta(epsilon, k, arb(found)) <= real(delta)
        assert not found or binomial_delta(epsilon, k, arb(found) * (1 - real(1e-12))) > real(delta)
    assert found <= F(k * epsilon) * (1 + F(1, 10**15))
    assert found <= basic_composition([epsilon] * k)[0]
    assert found <= advanced_composition(epsilon, 0, k, delta)[0]


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1, 20])
@pytest.mark.parametrize("k", [1, 2, 9, 150])
def test_the_grid_is_the_theorem_as_printed(epsilon: float, k: int) -> None:
    grid = optimal_composition_grid(epsilon, k)
    assert len(grid) == k // 2 + 1
    for i, (x, delta) in enumerate(grid):
        with ctx.workprec(1000):
            e, printed = real(epsilon), arb(0)
            for row in range(i):
                printed += arb(fmpz(math.comb(k, row))) * (((k - row) * e).exp() - ((k - 2 * i + row) * e).exp())
            printed /= (1 + e.exp()) ** k
            assert printed.overlaps(binomial_delta(epsilon, k, (k - 2 * i) * e))
        assert above(x, lambda i=i: (k - 2 * i) * real(epsilon))  # type: ignore[misc]
        assert above(delta, lambda printed=printed: printed)  # type: ignore[misc]
    assert grid[0] == (pytest.approx(k * epsilon), 0)


def test_the_grid_and_the_smallest_epsilon_agree() -> None:
    for x, delta in optimal_composition_grid(0.3, 12)[1:]:
        assert optimal_composition(0.3, 12, delta) == pytest.approx(x, rel=1e-12, abs=1e-12)


def test_no_delta_means_the_sum() -> None:
    assert optimal_composition(0.1, 10, 0) == 1
    assert optimal_composition(0.1, 10, 0.9) == 0


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 100), (1, 30), (0.1, 1000), (0.01, 10_000)])
def test_the_accountant_agrees_with_the_theorem(epsilon: float, k: int) -> None:
    best = optimal_composition(epsilon, k, 1e-6)
    low, high = (k * pure(epsilon)).epsilon_bounds(1e-6)
    assert low <= best * (1 + 1e-15)
    assert best * (1 - 1e-15) <= high < best * (1 + 1e-8)


# Zero-concentrated privacy.


@pytest.mark.parametrize("rho", SIZES)
@pytest.mark.parametrize("margin", [1e-6, 0.3, 2, 30])
def test_the_tail_bound_holds_for_gaussian_noise(rho: float, margin: float) -> None:
    """The loss of Gaussian noise is normal, with mean rho and variance 2 rho."""
    bound = zcdp_tail(rho, margin)
    assert above(bound, lambda: (-(real(margin) ** 2) / (4 * real(rho))).exp())
    assert norm.sf(margin / math.sqrt(2 * rho)) <= bound


@pytest.mark.parametrize("rho", [1e-12, *SIZES])
@pytest.mark.parametrize("delta", DELTAS)
def test_conversions_to_approximate_privacy(rho: float, delta: float) -> None:
    textbook, best = zcdp_to_approximate_textbook(rho, delta), zcdp_to_approximate_best_order(rho, delta)
    assert above(textbook, lambda: real(rho) + 2 * (-real(rho) * real(delta).log()).sqrt())
    assert best < textbook
    assert best == pytest.approx(zcdp(rho).epsilon(delta), rel=1e-6, abs=1e-11)
    # No order does better than the best one, and the exact curve of Gaussian noise lies below.
    for x in (10**j / 8 for j in range(-6, 12)):
        a = 1 + x
        other = rho * a + math.log1p(-1 / a) - (math.log(a) + math.log(delta)) / x
        assert best <= max(other, 0) * (1 + 1e-9) + 1e-12
    mu = math.sqrt(2 * rho)
    assert gdp(mu * (1 - 1e-15)).epsilon(delta) <= best * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-8, *SIZES, 700])
def test_pure_privacy_as_zero_concentrated_privacy(epsilon: float) -> None:
    loose, tight = pure_to_zcdp_loose(epsilon), pure_to_zcdp_tight(epsilon)
    assert above(loose, lambda: real(epsilon) ** 2 / 2)
    assert above(tight, lambda: real(epsilon) * (real(epsilon) / 2).tanh())
    assert tight <= loose
    assert tight == pure(epsilon).rho
    if epsilon <= 20:
        for order in (1.001, 1.5, 2, 10, 300):  # randomized response stays below, and reaches it as the order falls to 1
            assert divergence(epsilon, order) <= tight * order * (1 + 1e-9) + 1e-15
    if 1e-3 < epsilon <= 3:
        assert divergence(epsilon, 1 + 1e-6) == pytest.approx(tight, rel=1e-4)


def divergence(epsilon: float, order: float) -> float:
    """The Renyi divergence of randomized response."""
    log_truth, log_lie = -math.log1p(math.exp(-epsilon)), -epsilon - math.log1p(math.exp(-epsilon))
    terms = (order * log_truth + (1 - order) * log_lie, order * log_lie + (1 - order) * log_truth)
    top = max(terms)
    return (top + math.log(math.fsum(math.exp(term - top) for term in terms))) / (order - 1)


# Groups and leaks.


@pytest.mark.parametrize("epsilon", [0, *SIZES])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_group_privacy(epsilon: float, size: int) -> None:
    delta = 1e-12
    total, loose = group_privacy(epsilon, delta, size)
    other, tight = group_privacy_geometric(epsilon, delta, size)
    assert total == other
    assert above(total, lambda: size * real(epsilon))
    with ctx.workprec(300):
        terms = [(i * real(epsilon)).exp() for i in range(size)]
    assert above(loose, lambda: (size * terms[-1] * real(delta)).min(arb(1)))
    assert above(tight, lambda: (sum(terms, arb(0)) * real(delta)).min(arb(1)))
    assert tight <= loose
    if size == 1:
        assert tight == loose
    if epsilon:
        grouped = approximate(epsilon, delta).group(size)
        assert grouped.delta(F(total)) <= tight * (1 + 1e-12)


def test_large_groups_have_no_promise_left() -> None:
    assert group_privacy(100, 1e-6, 100) == (10_000, 1)
    assert group_privacy_geometric(100, 1e-6, 100) == (10_000, 1)
    assert group_privacy(100, 0, 100) == (10_000, 0)


@given(st.fractions(0, F(999, 1000)), st.integers(1, 500))
@settings(max_examples=examples(60), deadline=None)
def test_somebody_is_leaked(delta: Fraction, people: int) -> None:
    truth = 1 - (1 - delta) ** people
    found = F(leak_somebody(delta, people))
    assert found >= truth or found == 1
    assert found <= truth + F(1, 2**50)


def test_the_lectures_leak() -> None:
    assert leak_somebody(1e-6, 100) == pytest.approx(1e-4, rel=1e-3)
    assert leak_somebody(1e-6, 1_000_000) == pytest.approx(1 - math.exp(-1), rel=1e-5)
    assert leak_somebody(1e-300, 7) == pytest.approx(7e-300)
    assert leak_somebody(0, 7) == 0


# Refusals.

CALLS: dict[str, Callable[[Any], object]] = {
    "advanced k": lambda x: advanced_composition(0.1, 0, x, 1e-6),
    "advanced slack": lambda x: advanced_composition(0.1, 0, 3, x),
    "optimal": lambda x: optimal_composition(x, 3, 1e-6),
    "optimal k": lambda x: optimal_composition(0.1, x, 1e-6),
    "grid": lambda x: optimal_composition_grid(x, 3),
    "tail": lambda x: zcdp_tail(x, 1),
    "tail margin": lambda x: zcdp_tail(1, x),
    "textbook": lambda x: zcdp_to_approximate_textbook(x, 1e-6),
    "textbook delta": lambda x: zcdp_to_approximate_textbook(1, x),
    "best order": lambda x: zcdp_to_approximate_best_order(x, 1e-6),
    "best order delta": lambda x: zcdp_to_approximate_best_order(1, x),
    "group size": lambda x: group_privacy(1, 1e-6, x),
    "loose": pure_to_zcdp_loose,
    "tight": pure_to_zcdp_tight,
    "people": lambda x: leak_somebody(1e-6, x),
}
AT_LEAST_ZERO: dict[str, Callable[[Any], object]] = {
    "basic": lambda x: basic_composition([0.1, x]),
    "basic delta": lambda x: basic_composition([0.1], [x]),
    "advanced": lambda x: advanced_composition(x, 0, 3, 1e-6),
    "advanced delta": lambda x: advanced_composition(0.1, x, 3, 1e-6),
    "optimal delta": lambda x: optimal_composition(0.1, 3, x),
    "group": lambda x: group_privacy(x, 1e-6, 2),
    "group delta": lambda x: group_privacy_geometric(1, x, 2),
    "leak": lambda x: leak_somebody(x, 3),
}


@pytest.mark.parametrize("value", NOT_POSITIVE.values(), ids=NOT_POSITIVE.keys())
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_parameters_that_must_be_positive(call: Callable[[Any], object], value: object) -> None:
    refused(lambda: call(value), ParameterError)


@pytest.mark.parametrize("value", [-1, -1e-9, *NOT_NUMBERS.values()])
@pytest.mark.parametrize("call", AT_LEAST_ZERO.values(), ids=AT_LEAST_ZERO.keys())
def test_parameters_that_may_be_zero(call: Callable[[Any], object], value: object) -> None:
    refused(lambda: call(value), ParameterError)
    call(0)
