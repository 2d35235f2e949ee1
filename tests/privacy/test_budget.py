"""Budgets: read exactly, checked at birth, and an epsilon converted to the largest rho that is worth it."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.patience import calls
from support.refusals import NOT_NUMBERS, NOT_POSITIVE, refused

from discreet.errors import ParameterError
from discreet.privacy import zcdp
from discreet.privacy.accountant.tails import moment_epsilon
from discreet.privacy.budget import Budget, _rho_of
from discreet.privacy.formulas import zcdp_to_approximate_best_order
from discreet.privacy.losses.moments import Concentrated

F = Fraction

BUDGETS = {
    "pure": Budget(epsilon=3),
    "approximate": Budget(epsilon=3, delta=1e-6),
    "concentrated": Budget(rho=0.5),
    "concentrated, keys": Budget(rho=0.5, delta=1e-6),
}
every = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())


def test_numbers_are_read_as_their_author_wrote_them() -> None:
    budget = Budget(epsilon=0.1, delta=1e-6)
    assert (budget.epsilon, budget.delta, budget.rho) == (F(1, 10), F(1, 10**6), None)
    assert budget == Budget(epsilon=F(1, 10), delta=F(1, 10**6))
    assert repr(budget) == "Budget(epsilon=0.1, delta=1e-06)"
    assert repr(Budget(rho=F(1, 3))) == "Budget(rho=Fraction(1, 3))"
    assert str(budget) == "epsilon 0.1, delta 1e-06"


@every
def test_kinds_and_shares_of_delta(budget: Budget) -> None:
    assert budget.conversion + budget.leaks == (budget.delta or 0)
    assert (budget.conversion > 0) == (budget.kind == "approximate")
    assert {"pure": budget.epsilon, "approximate": budget.epsilon, "concentrated": budget.rho}[budget.kind] is not None


@given(
    st.fractions(F(1, 1000), 50, max_denominator=10**4),
    st.floats(1e-14, 0.01).map(lambda x: F(x).limit_denominator(10**15)).filter(bool),
)
@settings(max_examples=examples(60), deadline=None)
def test_rho_of_is_the_largest_that_holds(epsilon: Fraction, delta: Fraction) -> None:
    budget = Budget(epsilon=7, delta=delta)
    rho = budget.rho_of(epsilon)
    assert F(zcdp(rho).epsilon(budget.conversion)) <= epsilon
    assert F(zcdp(rho * (1 + F(1, 10**6))).epsilon(budget.conversion)) > epsilon
    # Another implementation of the same conversion, with its own search.
    assert zcdp_to_approximate_best_order(rho, delta / 2) == pytest.approx(float(epsilon), rel=1e-6, abs=1e-7)


def test_the_whole_epsilon_costs_exactly_the_whole_rho() -> None:
    for epsilon, delta in ((3, 1e-6), (0.1, 1e-9), (F(1, 3), F(1, 7)), (40, 1e-5)):
        budget = Budget(epsilon=epsilon, delta=delta)
        assert budget.rho_of(epsilon) == budget.most_rho
        assert budget.open().remaining.epsilon == pytest.approx(float(epsilon))


def test_more_epsilon_buys_more_rho() -> None:
    budget = Budget(epsilon=3, delta=1e-6)
    rhos = [budget.rho_of(F(k, 50)) for k in range(1, 200)]
    assert rhos == sorted(set(rhos))


def test_conversion_is_quick() -> None:
    budget = Budget(epsilon=3, delta=1e-6)
    _rho_of.cache_clear()
    assert max(calls(lambda k=k: budget.rho_of(F(k, 37))) for k in range(1, 51)) < 25_000  # about 8,000


@pytest.mark.parametrize("value", NOT_POSITIVE.values(), ids=NOT_POSITIVE.keys())
def test_epsilon_and_rho_are_checked_at_birth(value: object) -> None:
    refused(lambda: Budget(epsilon=value), ParameterError, "epsilon")
    refused(lambda: Budget(rho=value), ParameterError, "rho")
    refused(lambda: BUDGETS["approximate"].rho_of(value), ParameterError, "epsilon")


NOT_CHANCES = {"0": 0, "1": 1, "minus": -1e-9, "more": 1.5, **NOT_NUMBERS}


@pytest.mark.parametrize("value", NOT_CHANCES.values(), ids=NOT_CHANCES.keys())
def test_delta_is_checked_at_birth(value: object) -> None:
    refused(lambda: Budget(epsilon=1, delta=value), ParameterError, "delta")


def test_a_budget_is_one_of_three_kinds() -> None:
    refused(lambda: Budget(), ParameterError, "either an epsilon or a rho", "Budget(epsilon=3)")
    refused(lambda: Budget(delta=1e-6), ParameterError, "either an epsilon or a rho")
    refused(lambda: Budget(epsilon=1, rho=1), ParameterError, "either an epsilon or a rho")
    refused(lambda: Budget(epsilon=10**10), ParameterError, "protects nobody")
    refused(lambda: Budget(epsilon=1e-12, delta=1e-30), ParameterError, "too small")


@pytest.mark.parametrize("kind", ["pure", "concentrated"])
def test_only_approximate_budgets_convert(kind: str) -> None:
    refused(lambda: BUDGETS[kind].rho_of(0.5), ParameterError, "Budget(epsilon=..., delta=...)")


def test_epsilons_that_buy_nothing_are_refused() -> None:
    refused(lambda: Budget(epsilon=1, delta=1e-30).rho_of(1e-12), ParameterError, "no noise")
    refused(lambda: Budget(epsilon=1, delta=1e-6).rho_of(10**12), ParameterError)


@every
def test_json_round_trip(budget: Budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget


def test_json_keeps_its_meaning() -> None:
    """What version 1 wrote must be read for ever."""
    text = '{"discreet": "budget", "version": 1, "epsilon": "1/3", "delta": "1/1000000"}'
    assert Budget.from_json(text) == Budget(epsilon=F(1, 3), delta=1e-6)
    assert Budget.from_json(text).to_json() == text


@pytest.mark.parametrize(
    "change",
    [{"version": 2}, {"discreet": "filter"}, {"epsilon": "0"}, {"epsilon": 3}, {"rho": "1"}, {"delta": "1/0"}, {"mu": "1"}],
    ids=str,
)
def test_json_that_means_nothing_is_refused(change: dict[str, object]) -> None:
    text = json.dumps({**json.loads(Budget(epsilon=3).to_json()), **change})
    refused(lambda: Budget.from_json(text), ParameterError, "to_json")


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", "3", '"x"'])
def test_texts_that_are_no_budgets_are_refused(text: str) -> None:
    refused(lambda: Budget.from_json(text), ParameterError, "to_json")


@given(
    rho=st.fractions(F(1, 10**9), 1000, max_denominator=10**9),
    delta=st.fractions(F(1, 10**12), F(1, 2), max_denominator=10**12),
)
@settings(max_examples=examples(60), deadline=None)
def test_an_epsilon_is_worth_what_the_published_bound_says(rho: F, delta: F) -> None:
    """It is read off the moments alone, which is what that bound of a rho is, to the last digit."""
    assert moment_epsilon(zcdp(rho).parts, delta) == zcdp(rho).epsilon(delta)


def test_what_an_epsilon_is_worth_is_found_with_few_moments(monkeypatch: pytest.MonkeyPatch) -> None:
    """No lower bound is looked for, and the upper one once a try."""
    asked, log_moment = [], Concentrated.log_moment
    monkeypatch.setattr(Concentrated, "log_moment", lambda self, x: (asked.append(x), log_moment(self, x))[1])
    for i in range(1, 20):
        Budget(epsilon=1, delta=1e-6).rho_of(F(i, 1009))
    assert len(asked) <= 20 * 2 * 33
