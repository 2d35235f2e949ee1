"""Promise: a question or a composition that makes no sense is refused with a ParameterError, and an extreme one is answered."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.patience import within

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy

F = Fraction
NOT_NUMBERS = [
    math.nan,
    math.inf,
    -math.inf,
    None,
    "0.1",
    True,
    np.True_,
    1j,
    [0.1],
    Decimal("nan"),
    np.float64("nan"),
    complex(1, 1),
]
MIX = 3 * dp.pure(0.5) + dp.gdp(1)


@pytest.mark.parametrize("privacy", [dp.pure(1), MIX, dp.zcdp(1), Privacy()], ids=["pure", "mix", "zcdp", "free"])
@pytest.mark.parametrize("delta", [-1e-9, 1, 1.5, F(-1, 3), 5e-324, *NOT_NUMBERS], ids=repr)
def test_deltas(privacy: Privacy, delta: Any) -> None:
    for ask in (privacy.epsilon, privacy.epsilon_bounds):
        with pytest.raises(ParameterError):
            ask(delta)


@pytest.mark.parametrize("privacy", [dp.pure(1), MIX, dp.zcdp(1), Privacy()], ids=["pure", "mix", "zcdp", "free"])
@pytest.mark.parametrize("epsilon", [-1e-9, F(-1, 3), 5e-324, *NOT_NUMBERS], ids=repr)
def test_epsilons(privacy: Privacy, epsilon: Any) -> None:
    for ask in (privacy.delta, privacy.delta_bounds):
        with pytest.raises(ParameterError):
            ask(epsilon)


@pytest.mark.parametrize("times", [-1, 1.5, 2.0, F(3), math.nan, None, "2", True, False, np.True_, [2]], ids=repr)
def test_counts(times: Any) -> None:
    for privacy in (dp.pure(1), MIX, Privacy()):
        with pytest.raises(ParameterError):
            privacy * times
    for privacy in (dp.pure(1), MIX):
        with pytest.raises(ParameterError):
            privacy.group(times)
    assert np.int64(2) * dp.pure(1) == dp.pure(1) * np.int64(2) == 2 * dp.pure(1)


@pytest.mark.parametrize("order", [1, 0, -2, 0.5, 1.0, F(1), *NOT_NUMBERS], ids=repr)
def test_orders(order: Any) -> None:
    with pytest.raises(ParameterError):
        MIX.renyi(order)
    with pytest.raises(ParameterError):
        Privacy().renyi(order)
    try:
        facts = {order: 0.1}
    except TypeError:
        return  # lists have no hash
    with pytest.raises(ParameterError):
        dp.renyi(facts)


@pytest.mark.parametrize("value", [0, -1, *NOT_NUMBERS], ids=repr)
def test_sizes(value: Any) -> None:
    for make in (dp.pure, dp.zcdp, dp.gdp, lambda x: dp.renyi({2: x})):
        with pytest.raises(ParameterError):
            make(value)


@pytest.mark.parametrize("rate", [-0.1, 1.1, 2, *NOT_NUMBERS], ids=repr)
def test_rates(rate: Any) -> None:
    for ask in (dp.gdp(1).sampled, dp.pure(1).sampled, MIX.tradeoff, Privacy().tradeoff, Privacy().sampled):
        with pytest.raises(ParameterError):
            ask(rate)


def test_neither_compositions_nor_samples_are_sampled_as_a_whole() -> None:
    for privacy in (2 * dp.pure(1), MIX, dp.gdp(1).sampled(0.1), dp.pure(1).sampled(0.1)):
        with pytest.raises(ParameterError):
            privacy.sampled(0.5)


@pytest.mark.parametrize("other", [1, 0.0, None, "a", True, dp.pure])
def test_only_guarantees_are_added(other: Any) -> None:
    with pytest.raises(TypeError):
        dp.pure(1) + other


@pytest.mark.parametrize("facts", [{}, None, [(2, 1)], {2: 0}, {2: -1}, {1: 1}, {0.5: 1}])
def test_renyi_facts(facts: Any) -> None:
    with pytest.raises(ParameterError):
        dp.renyi(facts)


ASKED = {
    "a delta below all floats": lambda: dp.gdp(1).epsilon_bounds(F(1, 10**400)),
    "the same, composed": lambda: (2 * dp.pure(1)).epsilon_bounds(F(1, 10**400)),
    "two that only disclose": lambda: (2 * dp.approximate(0, 1e-6)).epsilon_bounds(1e-3),
    "a narrow discrete Gaussian": lambda: dp.DiscreteGaussian(sensitivity=1, sigma=0.01).privacy.epsilon_bounds(1e-6),
    "ten of them": lambda: (10 * dp.DiscreteGaussian(sensitivity=1, sigma=0.1).privacy).epsilon_bounds(1e-6),
    "a discrete Gaussian on a sample": lambda: (
        100 * dp.DiscreteGaussian(sensitivity=1, sigma=1).privacy.sampled(0.01)
    ).epsilon_bounds(1e-6),
    "a large epsilon on a sample": lambda: (3 * dp.pure(800).sampled(0.5)).epsilon_bounds(1e-6),
    "Laplace noise of epsilon 50 on a sample": lambda: (
        dp.Laplace(sensitivity=1.0, epsilon=50).privacy.sampled(0.5).delta_bounds(1)
    ),
    "nearly everybody": lambda: (30 * dp.gdp(1).sampled(F(10**30 - 1, 10**30))).epsilon_bounds(1e-6),
    "all but one in a billion": lambda: (30 * dp.gdp(1).sampled(F(10**9 - 1, 10**9))).epsilon_bounds(1e-6),
    "one in a million": lambda: (1000 * dp.gdp(1).sampled(1e-6)).epsilon_bounds(1e-6),
    "one in a billion": lambda: dp.gdp(1).sampled(1e-9).epsilon_bounds(1e-12),
    "a thousand times": lambda: (1000 * dp.gdp(1).sampled(1e-9)).epsilon_bounds(1e-12),
    "hardly any noise on a sample": lambda: (2 * dp.gdp(1000).sampled(0.1)).epsilon_bounds(1e-6),
    "a very high order": lambda: dp.gdp(1).sampled(0.01).renyi(10**6),
    "a quadrillion": lambda: (10**15 * dp.pure(1e-8)).epsilon_bounds(1e-6),
    "large sensitivity, little noise": lambda: (
        dp.Laplace(sensitivity=5000, scale=F("0.39")).privacy + dp.pure(1)
    ).epsilon_bounds(1e-6),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED.keys())
def test_extreme_questions_are_answered(ask: Any) -> None:
    with within(3_000_000):
        answer = ask()
    low, high = answer if isinstance(answer, tuple) else (0.0, answer)
    assert 0 <= low <= high
