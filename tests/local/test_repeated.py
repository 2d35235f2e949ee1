"""Memoised reports: what one costs, what all cost, and that nothing of it is a matter of belief."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from reference import statistics

from discreet.balls import arb, ball, precision
from discreet.errors import ParameterError
from discreet.local import Repeated, read_collector, read_task
from discreet.local.memoised import Memoised

PROTOCOLS = [
    Memoised(Fraction(1, 2), 2, Fraction(1)),
    Memoised(Fraction(1), 5, Fraction(3)),
    Memoised(Fraction(1), 64, Fraction(2)),
]


def label(protocol: Memoised) -> str:
    return f"{protocol.epsilon} {protocol.permanent} {protocol.size}"


def ratio(protocol: Memoised, history: tuple[int, ...]) -> arb:
    chances = [protocol.history_likelihood(history, code) for code in range(protocol.size)]
    high, low = chances[0], chances[0]
    for chance in chances:
        high, low = high if high > chance else chance, low if low < chance else chance
    return high / low


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_one_report_costs_epsilon(protocol: Memoised) -> None:
    with precision(400):
        target = ball(protocol.epsilon).exp()
        for report in range(min(protocol.size, 5)):
            found = ratio(protocol, (report,))
            assert not found > target
            assert found > target * (1 - ball(Fraction(1, 10**12)))
            chance = protocol.likelihood(np.array(report), report)
            assert abs(protocol.history_likelihood([report], report) - chance) < ball(Fraction(1, 10**60))
        assert abs(sum((protocol.history_likelihood([y], 0) for y in range(protocol.size)), ball(0)) - 1) < ball(
            Fraction(1, 10**60)
        )


@pytest.mark.parametrize("protocol", PROTOCOLS[:2], ids=label)
def test_any_number_of_reports_about_one_value_cost_the_permanent_epsilon(protocol: Memoised) -> None:
    with precision(400):
        target = ball(protocol.permanent).exp()
        worst = ball(0)
        for history in product(range(protocol.size), repeat=3):
            found = ratio(protocol, history)
            assert not found > target
            worst = worst if worst > found else found
        assert worst > ball(protocol.epsilon).exp()  # more reports do tell more ...
        forever = ratio(protocol, (0,) * 400)
        assert not forever > target
        assert forever > target * (1 - ball(Fraction(1, 10**3)))  # ... up to all that memory protects


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_the_permanent_step_is_rounded_towards_privacy(protocol: Memoised) -> None:
    with precision(600):
        lie = ball((1 - protocol.kept) / (protocol.size - 1))
        found, target = ball(protocol.kept) / lie, ball(protocol.permanent).exp()
        assert found < target
        assert found > target * (1 - ball(Fraction(1, 10**60)))


def test_when_a_value_changes_is_not_hidden_by_memory() -> None:
    """(1, 1) from a constant 1 against (1, 1) from 0 then 2, whose responses are independent: more than two permanent epsilons
    would allow for many values, yet within two fresh steps. So the lifetime cost tells both."""
    protocol = Memoised(Fraction(5), 64, Fraction(11, 2))
    with precision(400):
        constant = protocol.history_likelihood([1, 1], 1)
        changing = protocol.history_likelihood([1], 0) * protocol.history_likelihood([1], 2)
        assert constant / changing > ball(2 * protocol.epsilon).exp()
        assert (constant / changing).log() < 2 * protocol.fresh_epsilon


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_permanent_codes_are_fixed_and_have_their_law(protocol: Memoised) -> None:
    """20,000 secrets; each chi-square has a false-alarm rate below 1e-7."""
    secrets = [number.to_bytes(32, "big") for number in range(20_000)]
    drawn = [protocol.permanent_code(secret, "task", 1) for secret in secrets]
    assert drawn[:50] == [protocol.permanent_code(secret, "task", 1) for secret in secrets[:50]]
    assert drawn[:200] != [protocol.permanent_code(secret, "another", 1) for secret in secrets[:200]]
    law = [
        20_000 * float(protocol.kept if code == 1 else (1 - protocol.kept) / (protocol.size - 1)) for code in range(protocol.size)
    ]
    assert statistics.chi_square(np.bincount(drawn, minlength=protocol.size), law) > statistics.ALARM


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_what_is_drawn_has_the_stated_likelihood(protocol: Memoised) -> None:
    seen = np.bincount(protocol.randomize(np.full(30_000, 1)), minlength=protocol.size)
    law = [30_000 * float(protocol.likelihood(np.array(report), 1)) for report in range(protocol.size)]
    assert statistics.chi_square(seen, law) > statistics.ALARM
    again = np.bincount(protocol.again(np.full(30_000, 1)), minlength=protocol.size)
    truth = float(protocol.fresh())
    law = [30_000 * (truth if report == 1 else (1 - truth) / (protocol.size - 1)) for report in range(protocol.size)]
    assert statistics.chi_square(again, law) > statistics.ALARM


def test_the_task_estimates_plans_and_tells_its_price() -> None:
    """20,000 people, 6 standard errors: false alarm 2e-9 each."""
    task = Repeated(["good", "bad", "none"], 1, permanent=3, missing="none")
    collector = task.collector()
    collector.add(task.randomize(["good"] * 12_000 + ["bad"] * 6000 + [None] * 2000))
    estimate = collector.estimate()
    assert (np.abs(estimate.values - [0.6, 0.3, 0.1]) < 6 * estimate.standard_error).all()
    assert read_task(task.to_json()) == task
    assert read_collector(collector.to_json()).count == 20_000
    assert task.epsilon == 1
    assert "noise" in str(task.plan(20))
    cost = task.lifetime(reports=100, values=2)
    assert (cost.one_report, cost.same_changes) == (1, 6)
    assert cost.any_history > 100
    assert task.lifetime(reports=1, values=2).same_changes < 3  # one report cannot tell about two values, nor all about one


def test_bad_parameters() -> None:
    from discreet import text

    with pytest.raises(ParameterError, match="permanent epsilon above"):
        Repeated(["a", "b"], 2, permanent=2)
    with pytest.raises(ParameterError, match="closed domain"):
        Repeated(text(), 1, permanent=2)
    with pytest.raises(ParameterError, match="above 0"):
        Repeated(["a", "b"], 1, permanent=-1)
