"""Audits in one run: the bound against scipy's binomial law, true claims exactly, broken ones found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from support.depth import deep

import discreet as dp
from discreet.auditor import canaries
from discreet.auditor.canaries import _plan, lower_bound, p_value
from discreet.auditor.claims import read_claim
from discreet.errors import ParameterError, ValueRefused

CLAIMS = [(1, 0), (4, 1e-5), (0.3, 1e-6), (8, 1e-9), (0, 0.01)]


@pytest.mark.diagonal(times=2)
@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
@pytest.mark.parametrize(("guesses", "right"), [(10, 10), (100, 77), (3000, 1600), (2, 1)])
def test_the_bound_is_the_theorem(epsilon: float, delta: float, guesses: int, right: int) -> None:
    chance = 1 / (1 + math.exp(-epsilon))
    near = max(
        (binom.cdf(right - 1, guesses, chance) - binom.cdf(right - i - 1, guesses, chance)) / i for i in range(1, right + 1)
    )
    exact = min(1.0, binom.sf(right - 1, guesses, chance) + 2 * 5000 * delta * near)
    assert exact <= p_value(5000, guesses, right, epsilon, delta) <= exact * (1 + 3e-6) + 1e-12
    assert p_value(5000, guesses, 0, epsilon, delta) == 1


@pytest.mark.parametrize("guesses", [20, 400])
def test_an_epsilon_is_certified_only_where_all_below_are_refuted(guesses: int) -> None:
    for right in range(guesses // 2, guesses + 1, 3):
        found = lower_bound(1000, guesses, right, 1e-6, 0.05)
        assert not found or all(p_value(1000, guesses, right, e, 1e-6) <= 0.05 for e in np.linspace(0, found, 30)[:-1])
        assert found == 0 or p_value(1000, guesses, right, found + 1e-4, 1e-6) > 0.05


@pytest.mark.diagonal
@pytest.mark.parametrize(("epsilon", "delta"), CLAIMS)
@pytest.mark.parametrize("many", [1, 2, 30, 5000])
def test_a_true_claim_is_refuted_at_most_as_often_as_is_said(epsilon: float, delta: float, many: int) -> None:
    """Each canary answered by randomized response, and told outright with chance delta: guesses are right independently, so
    the chance that any number of guesses refutes is at most the sum of binomial tails. It is computed, not drawn."""
    claim, error = read_claim(epsilon, delta, None), 0.05
    plan = _plan(claim, many)
    assert sum(share for _, share in plan) == pytest.approx(1)
    chance, refuted = 1 / (1 + math.exp(-epsilon)) * (1 - delta) + delta, 0.0
    for guesses, share in plan:
        made = 2 * (min(guesses, many) // 2)
        least = next((v for v in range(made + 1) if p_value(many, made, v, epsilon, delta) <= error * share), None)
        refuted += 0.0 if least is None else float(binom.sf(least - 1, made, chance))
    assert refuted <= error


def test_gaussian_noise_is_certified_and_a_fifth_of_it_found() -> None:
    """At (4, 1e-5) with 5,000 canaries: 0.47 of the claim on average, with a spread of 0.04 in one run; the mean of 3 is below
    0.3 with probability below 1e-10. A fifth of the noise gets all of 333 guesses right but for a chance of 1e-4, and two may be
    wrong. (A third is found as well, in ``benchmarks/one_run.py``.)"""
    sigma = dp.Gaussian(sensitivity=1, epsilon=4, delta=1e-5).sigma
    drawn = dp.Gaussian(sensitivity=1.0, sigma=1)

    def train(taken: np.ndarray) -> np.ndarray:
        return drawn.release(taken / sigma)

    found = [dp.audit(train, canaries=5000, epsilon=4, delta=1e-5, error=0.05) for _ in range(deep(8, 3))]
    assert np.mean([one.epsilon for one in found]) > 0.3 * 4
    weak = dp.audit(lambda taken: drawn.release(5 * taken / sigma), canaries=5000, epsilon=4, delta=1e-5)
    assert weak.violated
    assert weak.epsilon > 4
    assert "refuted by 1 draw (" in weak.verdict


def test_what_says_nothing_refutes_nothing() -> None:
    for silent in (np.zeros(100), np.full(100, np.nan), np.arange(100.0)):
        finding = dp.audit(lambda _, silent=silent: silent, canaries=100, epsilon=3, error=1e-9)
        assert not finding.violated
        assert finding.epsilon == 0


def test_a_few_who_are_told_outright_are_found_among_many_who_are_not() -> None:
    """Numbers that are none abstain: 100 of 1,000 canaries are told, and of 32 guesses all are right, unless fewer than 16 of the
    100 are in, or out: 1e-11."""
    finding = dp.audit(lambda taken: np.where(np.arange(1000) < 100, taken * 1.0, np.nan), canaries=1000, epsilon=1)
    assert finding.violated
    infinite = dp.audit(lambda taken: np.where(taken, np.inf, -np.inf), canaries=1000, epsilon=1)
    assert infinite.violated


def test_coins_are_fair_and_new_every_time() -> None:
    seen: list[np.ndarray] = []
    for _ in range(2):
        dp.audit(lambda taken: seen.append(taken) or np.zeros(taken.size), canaries=10_000, epsilon=1)
    assert not np.array_equal(*seen)
    assert all(abs(one.sum() - 5000) < 8 * 50 for one in seen)  # eight standard deviations


def test_a_function_cannot_change_what_was_drawn() -> None:
    def cheat(taken: np.ndarray) -> np.ndarray:
        taken[:] = True
        return np.ones(taken.size)

    assert not dp.audit(cheat, canaries=1000, epsilon=0, error=1e-9).violated


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="guesses which canaries"):
        dp.audit(len, epsilon=1)
    with pytest.raises(ParameterError, match="guesses which canaries"):
        dp.audit(len, 1, 2, canaries=10, epsilon=1)
    for many in (0, -1, 1.5, 10**9):
        with pytest.raises(ParameterError):
            dp.audit(len, canaries=many, epsilon=1)  # type: ignore[arg-type]
    for scores in (1.0, [1, 2], "many", None, ["a"] * 10):
        with pytest.raises(ValueRefused, match="one number for every canary"):
            dp.audit(lambda _, scores=scores: scores, canaries=10, epsilon=1)


def test_who_abstains_on_more_does_not_choose_how_many_guesses_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def spy(many: int, guesses: int, right: int, delta: float, error: float) -> float:
        asked.append(guesses)
        return lower_bound(many, guesses, right, delta, error)

    planned = [guesses - guesses % 2 for guesses, _ in _plan(read_claim(1, 1e-5, None), 100)]
    monkeypatch.setattr(canaries, "lower_bound", spy)
    monkeypatch.setattr(canaries, "_best", lambda *_: planned[0])
    dp.audit(lambda taken: np.where(np.arange(100) < 4, taken, np.nan), canaries=100, epsilon=1, delta=1e-5)
    assert asked == planned
