"""Accounts: exact sums, refusals in the user's own numbers, and the theorem of two sums on adversaries enumerated completely."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.refusals import refused

from discreet.errors import BudgetExceeded, ParameterError
from discreet.exact import rational
from discreet.privacy import Privacy, approximate, gdp, pure, renyi, zcdp
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.privacy.filters import Filter
from discreet.privacy.losses import Box

F = Fraction

BUDGETS = {
    "pure": Budget(epsilon=3),
    "approximate": Budget(epsilon=3, delta=1e-5),
    "concentrated": Budget(rho=0.5),
    "keys": Budget(rho=0.5, delta=1e-6),
}
SPENDS: dict[str, list[Privacy]] = {
    "pure": [pure(0.1), pure(F(1, 3)), 2 * pure(0.25), Privacy()],
    "approximate": [pure(0.1), zcdp(F(1, 100)), gdp(0.3), approximate(0.3, 1e-6), pure(1), approximate(F(1, 50), 1e-7)],
    "concentrated": [zcdp(F(1, 9)), gdp(0.3), pure(0.2)],
    "keys": [zcdp(F(1, 9)), approximate(0.3, 1e-7)],
}
every = pytest.mark.parametrize("kind", BUDGETS)


def test_a_tenth_three_times_is_three_tenths_and_not_a_hair_more() -> None:
    account = Budget(epsilon=0.3).open()
    for _ in range(3):
        account = account.spend(pure(0.1))
    assert (account.spent.epsilon, account.remaining.epsilon) == (0.3, 0.0)
    assert not account.fits(pure(1e-17))
    message = refused(lambda: account.spend(pure(1e-17)), BudgetExceeded, "epsilon 1e-17 requested", "0.3 spent", "0 left")
    assert "rho" not in message


@every
@given(data=st.data())
@settings(max_examples=examples(40), deadline=None)
def test_what_fits_is_spent_and_what_does_not_changes_nothing(kind: str, data: st.DataObject) -> None:
    account = BUDGETS[kind].open()
    for privacy in data.draw(st.lists(st.sampled_from(SPENDS[kind]), max_size=12)):
        text = account.to_json()
        if account.fits(privacy):
            after = account.spend(privacy)
            assert float(after.spent) >= float(account.spent)
            assert after.spent.delta >= account.spent.delta or kind == "approximate"
        else:
            with pytest.raises(BudgetExceeded) as caught:
                account.spend(privacy)
            error = caught.value
            assert any(error.requested[name] > error.left[name] for name in error.left)
            after = account
        assert account.to_json() == text
        account = after
        assert 0 <= float(account.spent) <= float(account.total)
        assert 0 <= float(account.remaining) <= float(account.total)
        assert Account.from_json(account.to_json()) == account


@every
def test_nothing_is_spent_of_a_new_account(kind: str) -> None:
    account = BUDGETS[kind].open()
    assert float(account.spent) == account.spent.delta == 0
    assert float(account.remaining) == float(account.total) > 0
    assert account.spend(Privacy()).spent == account.spent


def test_currencies_a_budget_does_not_have_are_none() -> None:
    assert (BUDGETS["pure"].open().total.rho, BUDGETS["pure"].open().spent.rho) == (None, None)
    assert (BUDGETS["keys"].open().total.epsilon, BUDGETS["keys"].open().remaining.epsilon) == (None, None)
    assert BUDGETS["keys"].open().total.delta == BUDGETS["keys"].open().remaining.delta == 1e-6


# Two sums.


def ask(account: Account, epsilon: object) -> Account:
    return account.spend(zcdp(account.budget.rho_of(epsilon)), rational("epsilon", epsilon))


def test_the_whole_epsilon_may_be_asked_at_once() -> None:
    account = ask(BUDGETS["approximate"].open(), 3)
    assert (account.spent.epsilon, account.remaining.epsilon, account.spent.rho) == (3.0, 0.0, account.total.rho)
    assert account.spent.delta == 5e-6
    assert account.remaining.delta == 5e-6  # the other half is for thresholds
    assert not account.fits(zcdp(1e-30))


def test_spent_says_what_was_typed() -> None:
    account = ask(BUDGETS["approximate"].open(), 0.5)
    assert account.spent.epsilon == 0.5
    assert "0.5" not in account.brief  # epsilons do not add up, and so they are not shown as if they did
    assert 2.9 < float(account.remaining) < 3


@given(st.lists(st.fractions(F(1, 100), 2, max_denominator=500), max_size=6))
@settings(max_examples=examples(40), deadline=None)
def test_what_remains_may_be_asked_for_and_hardly_more(asked: list[Fraction]) -> None:
    account = BUDGETS["approximate"].open()
    for epsilon in asked:
        rho = account.budget.rho_of(epsilon)
        account = account.spend(zcdp(rho)) if account.fits(zcdp(rho)) else account
    left = account.remaining.epsilon
    assert left is not None
    if left > 0.001:
        assert ask(account, left).remaining.epsilon < 0.01
        with pytest.raises(BudgetExceeded):
            ask(account, rational("epsilon", left) * F(10**6 + 1, 10**6))


def test_pure_questions_add_up_to_the_whole_epsilon_on_their_own_filter() -> None:
    account = BUDGETS["approximate"].open()
    for _ in range(30):
        account = account.spend(pure(0.1))
    assert account.spent.epsilon == pytest.approx(3, abs=0.9)  # the better of both sums
    assert account.filters[0] is not None
    assert account.filters[0].spent["epsilon"] == 3


def test_many_small_pure_questions_go_on_beyond_their_sum() -> None:
    account, asked = BUDGETS["approximate"].open(), 0
    while account.fits(pure(F(1, 100))) and asked < 1000:
        account, asked = account.spend(pure(F(1, 100))), asked + 1
    assert asked == 1000
    assert account.filters[0] is None
    assert account.spent.epsilon is not None
    assert account.spent.epsilon < 3


def test_a_closed_road_stays_closed() -> None:
    opened = BUDGETS["approximate"].open()
    noisy = opened.spend(gdp(0.1))  # no epsilon of its own
    assert noisy.filters[0] is None
    assert not noisy.fits(pure(2))  # tanh(1) * 2 is far above the rho
    assert opened.fits(pure(2))
    blunt = opened.spend(pure(2))
    assert blunt.filters[1] is None
    assert blunt.spent.epsilon == 2
    assert (blunt.remaining.epsilon, blunt.remaining.rho, blunt.spent.rho) == (1.0, 0.0, None)
    assert blunt.fits(pure(1))
    message = refused(
        lambda: blunt.spend(gdp(0.01), F(1, 10)), BudgetExceeded, "epsilon 0.1 requested", "66.7 %", "no such question fits"
    )
    assert "delta=" not in message
    over = opened.spend(pure(0.3)).spend(pure(0.3))
    assert over.spend(zcdp(F(1, 100))).filters[0] is None


def test_deltas_are_one_sum_for_both_roads() -> None:
    account = Budget(epsilon=3, delta=1e-6).open()
    for _ in range(5):
        account = account.spend(approximate(0.01, 1e-7))
    assert all(each is not None and each.left["delta"] == 0 for each in account.filters)
    refused(
        lambda: account.spend(approximate(0.01, 1e-9)),
        BudgetExceeded,
        "delta 1e-09 requested",
        "5e-07 spent and 0 left",
        "delta=",
    )
    assert account.fits(pure(0.01))


def test_refusals_speak_of_the_epsilon_that_was_typed() -> None:
    account = ask(BUDGETS["approximate"].open(), 2.5)
    with pytest.raises(BudgetExceeded) as caught:
        ask(account, 2)
    error = caught.value
    assert error.requested["epsilon"] == 2
    assert error.spent["epsilon"] == F(5, 2)
    assert float(error.left["epsilon"]) == account.remaining.epsilon
    assert str(error).startswith("This would exceed the budget: epsilon 2 requested; ")
    with pytest.raises(BudgetExceeded) as caught:
        account.spend(gdp(2))
    assert caught.value.requested["epsilon"] == F(zcdp(2).epsilon(5e-6))
    with pytest.raises(BudgetExceeded) as caught:
        BUDGETS["approximate"].open().spend(pure(2)).spend(pure(1.5))
    assert (caught.value.requested["epsilon"], caught.value.left["epsilon"]) == (F(3, 2), 1)


def test_what_has_no_price_is_refused() -> None:
    refused(lambda: BUDGETS["pure"].open().spend(gdp(0.1)), ParameterError, "no pure epsilon", "delta=1e-6")
    refused(lambda: BUDGETS["pure"].open().spend(approximate(0.1, 1e-9)), ParameterError, "no pure epsilon")
    refused(lambda: BUDGETS["approximate"].open().spend(renyi({2: 0.1})), ParameterError, "neither an epsilon nor a rho")
    refused(lambda: BUDGETS["keys"].open().spend(renyi({2: 0.1})), ParameterError, "no price")
    refused(lambda: BUDGETS["concentrated"].open().spend(approximate(0.1, 1e-9)), BudgetExceeded, "delta 1e-09 requested")
    refused(lambda: BUDGETS["pure"].open().spend(0.1), ParameterError, "guarantees")  # type: ignore[arg-type]


# Sentences.


@given(st.lists(st.sampled_from(["0.01", "0.2", "1", "pure 0.3", "pure 2", "keys"]), max_size=8))
@settings(max_examples=examples(60), deadline=None)
def test_what_an_account_says_fits_does_fit_and_no_more(asked: list[str]) -> None:
    """The sentences of an approximate budget, held to the filters: their numbers may be typed back in."""
    account = BUDGETS["approximate"].open()
    for one in asked:
        kind, _, epsilon = one.rpartition(" ")
        privacy = pure(F(epsilon)) if kind else approximate(0.1, 1e-6) if one == "keys" else zcdp(account.budget.rho_of(F(one)))
        if account.fits(privacy):
            account = account.spend(privacy)
            continue
        with pytest.raises(BudgetExceeded, match="requested") as caught:
            account.spend(privacy)
        assert ("delta=" in str(caught.value)) == (one == "keys" and account.remaining.delta < 1e-6)
    text = str(account)
    assert 0 <= account.used <= 1
    assert account.brief.split(":")[0] in text.replace(f" ({account.budget})", "")
    found = re.search(r"one question of up to epsilon ([0-9.e-]+)(, without Gaussian)?", text)
    if found is None:
        assert "nothing more fits" in text
        assert not account.fits(zcdp(account.budget.rho_of(F(1, 100))))
        assert not account.fits(pure(F(1, 100)))
    else:
        make = pure if found[2] else lambda epsilon: zcdp(account.budget.rho_of(epsilon))
        assert account.fits(make(F(found[1])))
        assert not account.fits(make(F(found[1]) * F(10_001, 10_000)))
    several = re.search(r"or ([0-9,]+) of epsilon 0.3", text)
    if several is not None:
        count, tenth = int(several[1].replace(",", "")), zcdp(account.budget.rho_of(F(3, 10)))
        assert account.fits(count * tenth)
        assert not account.fits((count + 1) * tenth)


def test_both_halves_of_a_delta_are_explained_from_the_start() -> None:
    fresh = BUDGETS["approximate"].open()
    for account in (fresh, ask(fresh, 0.5)):
        assert "Half of the delta (5e-06) turns the sum of rhos into an epsilon" in str(account)
        assert "of the other half 0 of 5e-06 is spent" in str(account)
    assert "1e-06 of 5e-06 is spent on groups" in str(fresh.spend(approximate(0.1, 1e-6)))


# The theorem: every transcript of every strategy on a tree of worst mechanisms.

Tree = dict[tuple[int, ...], Privacy]
DEPTH = 3
SMALL = Budget(epsilon=2, delta=0.3)


def pair(privacy: Privacy) -> list[tuple[float, float]]:
    """The worst (epsilon, delta) mechanism: truth or lie of a randomized response, or a leak either way."""
    ((loss, _),) = privacy.parts
    assert isinstance(loss, Box)
    truth, delta = 1 / (1 + math.exp(-float(loss.epsilon))), float(loss.delta)
    kept = [((1 - delta) * truth, (1 - delta) * (1 - truth)), ((1 - delta) * (1 - truth), (1 - delta) * truth)]
    return [*kept, (delta, 0), (0, delta)]


def transcripts(tree: Tree) -> list[tuple[float, float]]:
    def walk(now: Account, history: tuple[int, ...], p: float, q: float) -> Iterator[tuple[float, float]]:
        privacy = tree.get(history)
        if privacy is None or not now.fits(privacy):
            yield p, q
            return
        after = now.spend(privacy)
        for answer, (one, other) in enumerate(pair(privacy)):
            if one or other:
                yield from walk(after, (*history, answer), p * one, q * other)

    return list(walk(SMALL.open(), (), 1.0, 1.0))


def trees() -> st.SearchStrategy[Tree]:
    histories = [h for depth in range(DEPTH) for h in product(range(4), repeat=depth)]
    mechanism = st.builds(
        approximate, st.sampled_from([F(1, 20), F(1, 2), F(9, 10), F(3, 2), F(2)]), st.sampled_from([F(0), F(1, 20), F(1, 10)])
    )
    mechanisms = st.lists(mechanism, min_size=len(histories), max_size=len(histories))
    return mechanisms.map(lambda chosen: dict(zip(histories, chosen, strict=True)))


@given(trees())
@settings(max_examples=examples(100), deadline=None)
def test_no_adaptive_adversary_passes_the_two_sums(tree: Tree) -> None:
    pairs = transcripts(tree)
    assert math.fsum(p for p, _ in pairs) == pytest.approx(1)
    for sides in (pairs, [(q, p) for p, q in pairs]):
        assert math.fsum(max(0.0, p - math.exp(2.0) * q) for p, q in sides) <= 0.3 + 1e-12


# Keeping it.


def test_json_keeps_its_meaning() -> None:
    """What version 1 wrote must be read for ever."""
    text = (
        '{"discreet": "account", "version": 1, "budget": {"discreet": "budget", "version": 1, "epsilon": "3"}, "roads": '
        '[{"discreet": "filter", "version": 1, "kind": "pure", "total": {"epsilon": "3"}, "spent": {"epsilon": "1/3"}}]}'
    )
    account = Account.from_json(text)
    assert account == Budget(epsilon=3).open().spend(pure(F(1, 3)))
    assert account.to_json() == text


def test_closed_roads_are_kept() -> None:
    for spend in (gdp(0.1), pure(2)):
        account = BUDGETS["approximate"].open().spend(spend)
        assert Account.from_json(account.to_json()) == account


CHANGES: list[dict[str, object]] = [
    {"version": 2},
    {"discreet": "filter"},
    {"budget": json.loads(Budget(epsilon=4).to_json())},
    {"budget": None},
    {"roads": []},
    {"roads": [None]},
    {"roads": json.loads(BUDGETS["approximate"].open().to_json())["roads"]},
    {"roads": json.loads(BUDGETS["keys"].open().to_json())["roads"]},
]


@pytest.mark.parametrize("change", CHANGES, ids=range(len(CHANGES)))
def test_json_that_means_nothing_is_refused(change: dict[str, object]) -> None:
    text = json.dumps({**json.loads(BUDGETS["pure"].open().to_json()), **change})
    refused(lambda: Account.from_json(text), ParameterError, "to_json")


def test_a_rho_of_another_machine_is_kept_but_no_other() -> None:
    facts = json.loads(BUDGETS["approximate"].open().to_json())
    own = F(facts["roads"][1]["total"]["rho"])
    for factor, fine in ((1 + F(1, 2**40), True), (1 - F(1, 2**40), True), (1 + F(1, 2**20), False)):
        facts["roads"][1]["total"]["rho"] = str(own * factor)
        text = json.dumps(facts)
        if fine:
            assert Account.from_json(text).remaining.epsilon == 3
        else:
            refused(lambda text=text: Account.from_json(text), ParameterError)


def test_a_question_is_priced_once_by_every_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    priced, spend = [], Filter.spend
    monkeypatch.setattr(Filter, "spend", lambda self, privacy: (priced.append(self.kind), spend(self, privacy))[1])
    Budget(epsilon=1).open().spend(pure(0.1))
    assert len(priced) == 1
    Budget(epsilon=1, delta=1e-6).open().spend(zcdp(0.001))
    assert len(priced) == 3
