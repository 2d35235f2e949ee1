"""Promise: one use on a sample costs what its closed form says, whatever is sampled.

With e^y = 1 + (e^x - 1) / q, delta_q(x) = q delta(y):
this holds of every guarantee that can be sampled, also of those that name no pair (zero-concentrated, Renyi).
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy.reference_guarantees import steady
from privacy.test_properties import KINDS, in_order

import discreet as dp

F = Fraction


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rate", "x"), [("0.5", 0.0), ("0.01", 0.01), ("0.01", 0.4), ("1e-6", 1e-6)])
def test_a_sample_costs_what_the_whole_costs_further_out(kind: str, rate: str, x: float) -> None:
    whole, q = KINDS[kind](F(1)), float(rate)
    y = math.log1p(math.expm1(x) / q)
    assert whole.sampled(F(rate)).delta(x) <= q * whole.delta(y * (1 - 1e-12)) * (1 + 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("rate", "delta"), [("0.3", "1e-3"), ("0.01", "1e-6"), ("1e-4", "1e-9")])
def test_epsilon_of_a_sample(kind: str, rate: str, delta: str) -> None:
    whole, q = KINDS[kind](F(1)), F(rate)
    most = math.log1p(float(q) * math.expm1(whole.epsilon(F(delta) / q)))
    assert whole.sampled(q).epsilon(F(delta)) <= most * (1 + 1e-9)


@steady(20)
@given(st.floats(0.01, 3), st.floats(1e-6, 0.99), st.floats(0, 2), st.floats(1e-12, 0.5))
def test_gaussian_noise_is_one_of_those_below_zcdp(mu: float, rate: float, x: float, delta: float) -> None:
    """In both directions; and facts at some orders allow no less than those at all."""
    squared = F(mu) ** 2
    orders = dp.renyi({order: order * squared / 2 for order in (2, 4, 16)})
    for bound in (dp.zcdp(squared / 2), orders):
        in_order(dp.gdp(F(mu)).sampled(F(rate)).delta_bounds(x), bound.sampled(F(rate)).delta_bounds(x))
        in_order(dp.gdp(F(mu)).sampled(F(rate)).epsilon_bounds(delta), bound.sampled(F(rate)).epsilon_bounds(delta))
        in_order(bound.sampled(F(rate)).epsilon_bounds(delta), bound.epsilon_bounds(delta))


def test_several_uses_and_groups_keep_the_bound_without_sampling() -> None:
    once = dp.zcdp(F(1, 10)).sampled(F(1, 10))
    assert (2 * once).epsilon(1e-6) == pytest.approx(dp.zcdp(F(1, 5)).epsilon(1e-6))
    assert once.group(2).epsilon(1e-6) == pytest.approx(dp.zcdp(F(2, 5)).epsilon(1e-6))
    assert once.rho == 0.1
    assert dp.Privacy.from_json(once.to_json()) == once
    assert dp.zcdp(F(10**6)).sampled(F(1, 10)).epsilon(1e-6) > 10**5
    assert dp.zcdp(F(10**6)).sampled(F(1, 10)).delta(10**5) <= 0.1 * (1 + 1e-12)
