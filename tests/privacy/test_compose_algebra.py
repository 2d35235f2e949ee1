"""Promise: guarantees add up like numbers.

k * a is a + ... + a, order does not matter, nothing is free but the empty composition, and no composition costs less than a part
of it. A guarantee survives being written down.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from privacy.reference_guarantees import compositions, counts, deltas, pairs, single, steady, total

import discreet as dp
from discreet.privacy import Privacy


@steady(60)
@given(compositions, st.integers(1, 12))
def test_repetition_is_addition(a: Privacy, times: int) -> None:
    assert times * a == a * times == sum([a] * times, Privacy()) == sum([a] * times)
    assert hash(times * a) == hash(sum([a] * times, Privacy()))
    assert 3 * (2 * a) == 6 * a
    assert 2 * a + 3 * a == 5 * a


@steady(40)
@given(st.lists(st.tuples(single, counts), min_size=2, max_size=4), st.randoms(use_true_random=False))
def test_order_does_not_matter(parts: list[tuple[Privacy, int]], shuffle: object) -> None:
    other = list(parts)
    shuffle.shuffle(other)  # type: ignore[attr-defined]
    assert total(parts) == total(other)
    assert hash(total(parts)) == hash(total(other))
    assert total(parts).to_json() == total(other).to_json()
    (a, _), (b, _), *_ = parts
    assert (a + b) + a == a + (b + a) == 2 * a + b
    assert (a + b).rho == (b + a).rho


@steady(20)
@given(st.tuples(pairs, counts), st.tuples(pairs, counts), deltas)
def test_order_does_not_matter_to_the_numbers(a: tuple[Privacy, int], b: tuple[Privacy, int], delta: float) -> None:
    left, right = total([a, b]), total([b, a])
    assert left.epsilon_bounds(delta) == right.epsilon_bounds(delta)
    assert left.delta_bounds(0.3) == right.delta_bounds(0.3)


@steady(25)
@given(st.tuples(pairs, counts), st.tuples(pairs, counts), deltas)
def test_composing_never_lowers_the_cost(a: tuple[Privacy, int], b: tuple[Privacy, int], delta: float) -> None:
    """The truth grows; bounds may differ by their own width."""
    part, whole = total([a]), total([a, b])
    low, high = part.epsilon_bounds(delta)
    both = whole.epsilon_bounds(delta)
    assert low <= both[1] * (1 + 1e-12)
    if high < math.inf:
        assert high <= both[1] * (1 + 1e-4) + 1e-9
        assert low <= both[0] * (1 + 1e-4) + 1e-9
    one, two = part.delta_bounds(0.3), whole.delta_bounds(0.3)
    assert one[0] <= two[1] * (1 + 1e-12)
    assert one[1] <= two[1] * (1 + 1e-3) + 1e-15


@steady(25)
@given(compositions, single, deltas)
def test_composing_with_anything_never_lowers_the_cost(a: Privacy, b: Privacy, delta: float) -> None:
    """Whatever is added, what a part is known to need the whole is not known to do without."""
    assert a.epsilon_bounds(delta)[0] <= (a + b).epsilon_bounds(delta)[1] * (1 + 1e-12)
    assert (a + b).rho >= a.rho


@steady(60)
@given(compositions)
def test_writing_and_reading(a: Privacy) -> None:
    again = Privacy.from_json(a.to_json())
    assert again == a
    assert hash(again) == hash(a)
    assert again.to_json() == a.to_json()
    assert again.rho == a.rho


def test_the_empty_composition_is_free() -> None:
    for free in (Privacy(), 0 * dp.pure(3), 0 * (dp.gdp(1) + dp.zcdp(1)), sum([], Privacy()), dp.pure(1).sampled(0)):
        assert free == Privacy()
        assert free.epsilon_bounds(0) == free.epsilon_bounds(1e-6) == (0.0, 0.0)
        assert free.delta_bounds(0) == free.delta_bounds(5) == (0.0, 0.0)
        assert free.rho == free.renyi(2) == 0
        assert free.tradeoff(0.25) == 0.75
        assert free + dp.pure(1) == dp.pure(1)
        assert Privacy.from_json(free.to_json()) == free


def test_gaussians_and_concentrated_costs_add_up() -> None:
    assert 4 * dp.gdp(1) == dp.gdp(2)
    assert dp.gdp(3) + dp.gdp(4) == dp.gdp(5)
    assert dp.zcdp(0.1) + dp.zcdp(0.2) == dp.zcdp(0.3)
    assert dp.gdp(1) + dp.zcdp(0.5) != dp.gdp(Fraction(2))
    assert dp.zcdp(0.5) != dp.gdp(1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"discreet": "privacy", "version": 2, "parts": []}',
        '{"discreet": "noise", "version": 1, "parts": []}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "unheard of", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "1", "count": -1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "1", "count": 1.5}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "1", "count": true}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "nan", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "1/0", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "Laplace", "epsilon": "-1", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "approximate", "epsilon": "1", "delta": "2", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": [{"kind": "zCDP", "cost": "-1", "count": 1}]}',
        '{"discreet": "privacy", "version": 1, "parts": '
        '[{"kind": "sampled Gaussian", "squared_mu": "1", "rate": "2", "adding": false, "count": 1}]}',
    ],
)
def test_texts_that_are_no_guarantee(text: str) -> None:
    with pytest.raises(dp.errors.ParameterError):
        Privacy.from_json(text)
