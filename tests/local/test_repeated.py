"""Memoised reports: what one costs, what all cost, and that nothing of it is a matter of belief."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from reference import statistics

from discreet.balls import arb, ball, precision
from discreet.errors import ParameterError
from discreet.local import Repeated, read_collector, read_task
from discreet.local.protocols.memoised import Memoised
from discreet.noise.coins import Chance

PROTOCOLS = [
    Memoised(Fraction(1, 2), 2, Fraction(1), 1),
    Memoised(Fraction(1), 5, Fraction(3), 2),
    Memoised(Fraction(1), 64, Fraction(2), 64),
]


def label(protocol: Memoised) -> str:
    return f"{protocol.epsilon} {protocol.permanent} {protocol.size}"


def history_likelihood(protocol: Memoised, reports: Sequence[int], code: int) -> arb:
    """Of these reports, one after the other, about one permanent response to this value."""
    keep, fresh, others = protocol.keep_chance(), protocol.fresh_chance(), protocol.size - 1
    total = arb(0)
    for permanent in range(protocol.size):
        chance = keep if permanent == code else (1 - keep) / others
        for report in reports:
            chance *= fresh if report == permanent else (1 - fresh) / others
        total += chance
    return total


def ratio(protocol: Memoised, history: tuple[int, ...]) -> arb:
    chances = [history_likelihood(protocol, history, code) for code in range(protocol.size)]
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
            assert abs(history_likelihood(protocol, [report], report) - chance) < ball(Fraction(1, 10**60))
        assert abs(sum((history_likelihood(protocol, [y], 0) for y in range(protocol.size)), ball(0)) - 1) < ball(
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


TINY = [
    Memoised(Fraction(1, 2), 3, Fraction(1), 1),
    Memoised(Fraction(1, 2), 3, Fraction(1), 2),
    Memoised(Fraction(99, 100), 3, Fraction(1), 2),  # hardly any fresh noise: memory alone protects
]


def orders(protocol: Memoised) -> dict[tuple[int, ...], bytes]:
    """For every order of the values' marks, which all have the same chance, a secret that gives it."""
    found: dict[tuple[int, ...], bytes] = {}
    for number in range(200):
        secret = number.to_bytes(32, "big")
        marks = [protocol.choose_answered(secret, "task", code, ())[1] for code in range(protocol.size)]
        found.setdefault(tuple(sorted(range(protocol.size), key=lambda code: marks[code])), secret)
    assert len(found) == math.factorial(protocol.size)
    return found


def answered(protocol: Memoised, secret: bytes, history: tuple[int, ...]) -> tuple[int, ...]:
    """The values that a client answers for, one after the other."""
    seen: tuple[str, ...] = ()
    codes = []
    for code in history:
        chosen, seen = protocol.choose_answered(secret, "task", code, seen)
        codes.append(chosen)
    return tuple(codes)


def laws(protocol: Memoised, rounds: int) -> dict[tuple[int, ...], list[arb]]:
    """The chance of every run of reports, for every history of values; exact, with the probabilities that are drawn."""
    secrets, runs = orders(protocol).values(), list(product(range(protocol.size), repeat=rounds))

    @cache
    def together(reports: tuple[int, ...], code: int) -> arb:
        return history_likelihood(protocol, reports, code)

    @cache
    def chance(codes: tuple[int, ...], reports: tuple[int, ...]) -> arb:
        parts = (tuple(y for y, other in zip(reports, codes, strict=True) if other == code) for code in sorted(set(codes)))
        return math.prod((together(part, code) for part, code in zip(parts, sorted(set(codes)), strict=True)), start=ball(1))

    def law(history: tuple[int, ...]) -> list[arb]:
        lives = [answered(protocol, secret, history) for secret in secrets]
        return [sum((chance(codes, reports) for codes in lives), ball(0)) / len(lives) for reports in runs]

    return {history: law(history) for history in runs}


def single(law: list[arb], rounds: int, when: int) -> list[arb]:
    """The law of the one report at this time."""
    runs = list(product(range(3), repeat=rounds))
    return [sum((chance for run, chance in zip(runs, law, strict=True) if run[when] == y), ball(0)) for y in range(3)]


def pattern(history: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(history.index(value) for value in history)


def worst(one: list[arb], other: list[arb]) -> arb:
    return max((a / b for a, b in zip(one, other, strict=True)), key=float)


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("protocol", TINY, ids=lambda protocol: f"{label(protocol)} {protocol.values}")
def test_what_all_reports_tell_by_enumeration(protocol: Memoised, rounds: int) -> None:
    """Every pair of histories, every run of reports: the three sentences of the theorem."""
    with precision(200):
        found = laws(protocol, rounds)
        slack = ball(Fraction(1, 10**40))  # sums of balls
        same, any_two = ball(protocol.values * protocol.permanent).exp(), (arb(protocol.fresh_epsilon) * rounds).exp()
        for (a, one), (b, other) in product(found.items(), repeat=2):
            assert abs(sum(one, ball(0)) - 1) < slack
            ratio = worst(one, other)
            assert not ratio > any_two
            if pattern(a) == pattern(b):
                assert not ratio > same
            for when in range(rounds):
                assert not worst(single(one, rounds, when), single(other, rounds, when)) > ball(protocol.epsilon).exp() * (
                    1 + slack
                )


def test_a_pattern_is_more_than_the_times_of_change() -> None:
    """a, b, a and a, b, c change at the same times; but the one repeats a response, which costs more than memory would."""
    protocol = TINY[2]
    with precision(200):
        found = laws(Memoised(protocol.epsilon, 3, protocol.permanent, 3), 3)
        assert worst(found[0, 1, 2], found[0, 1, 0]) > ball(3 * protocol.permanent).exp()
        forever = worst(found[0, 1, 0], found[1, 0, 1])
        assert forever > ball(protocol.permanent).exp()  # two values do tell more than one


@pytest.mark.parametrize("permanent", [Fraction(1), Fraction(2, 10**90), Fraction(100)])
def test_the_permanent_step_is_exact(permanent: Fraction) -> None:
    """However little or much of it: epsilon 2e-90 differs from a fair choice in its 300th digit only."""
    protocol = Memoised(permanent / 2, 3, permanent, 3)
    with precision(3000):
        found = (2 * protocol.keep_chance() / (1 - protocol.keep_chance())).log()
        assert abs(found / ball(permanent) - 1) < ball(Fraction(1, 10**60))
        assert protocol.keep_chance() > ball(Fraction(1, 3))
    asked: list[int] = []

    def digits(known: int, below: int) -> Callable[[str, int], int]:
        """Those of the chance itself for so many rounds, then one that is lower."""
        exact = Chance(protocol.keep_chance).digits(256 * known)[0] - below

        def told(purpose: str, round_: int) -> int:
            assert purpose == "keep"
            asked.append(round_)
            return exact >> 256 * (known - 1 - round_) & (2**256 - 1)

        return told

    for known in (1, 2, 3):
        asked.clear()
        assert protocol._keeps(digits(known, 1))
        assert not protocol._keeps(digits(known, -1))
        assert asked == [*range(known), *range(known)]
    assert protocol.rates.gain > 0


def test_when_a_value_changes_is_not_hidden_by_memory() -> None:
    """(1, 1) from a constant 1 against (1, 1) from 0 then 2, whose responses are independent: more than two permanent epsilons
    would allow for many values, yet within two fresh steps. So the lifetime cost tells both."""
    protocol = Memoised(Fraction(5), 64, Fraction(11, 2), 2)
    with precision(400):
        constant = history_likelihood(protocol, [1, 1], 1)
        changing = history_likelihood(protocol, [1], 0) * history_likelihood(protocol, [1], 2)
        assert constant / changing > ball(2 * protocol.epsilon).exp()
        assert (constant / changing).log() < 2 * protocol.fresh_epsilon


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_permanent_codes_are_fixed_and_have_their_law(protocol: Memoised) -> None:
    """6,000 secrets; each chi-square has a false-alarm rate below 1e-7."""
    secrets = [number.to_bytes(32, "big") for number in range(6_000)]
    drawn = [protocol.respond_permanently(secret, "task", 1) for secret in secrets]
    assert drawn[:50] == [protocol.respond_permanently(secret, "task", 1) for secret in secrets[:50]]
    assert drawn[:200] != [protocol.respond_permanently(secret, "another", 1) for secret in secrets[:200]]
    kept = float(protocol.keep_chance())
    law = [6_000 * (kept if code == 1 else (1 - kept) / (protocol.size - 1)) for code in range(protocol.size)]
    assert statistics.chi_square(np.bincount(drawn, minlength=protocol.size), law) > statistics.ALARM


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=label)
def test_what_is_drawn_has_the_stated_likelihood(protocol: Memoised) -> None:
    seen = np.bincount(protocol.randomize(np.full(30_000, 1)), minlength=protocol.size)
    law = [30_000 * float(protocol.likelihood(np.array(report), 1)) for report in range(protocol.size)]
    assert statistics.chi_square(seen, law) > statistics.ALARM
    again = np.bincount(protocol.respond_again(np.full(30_000, 1)), minlength=protocol.size)
    truth = float(protocol.fresh_chance())
    law = [30_000 * (truth if report == 1 else (1 - truth) / (protocol.size - 1)) for report in range(protocol.size)]
    assert statistics.chi_square(again, law) > statistics.ALARM


def test_the_task_estimates_plans_and_tells_its_price() -> None:
    """20,000 people, 6 standard errors: false alarm 2e-9 each."""
    task = Repeated(["good", "bad", "none"], 1, permanent=3, values=2, missing="none")
    collector = task.collector()
    collector.add(task.randomize(["good"] * 12_000 + ["bad"] * 6000 + [None] * 2000))
    estimate = collector.estimate()
    assert (np.abs(estimate.values - [0.6, 0.3, 0.1]) < 6 * estimate.standard_error).all()
    assert read_task(task.to_json()) == task
    assert read_collector(collector.to_json()).count == 20_000
    assert task.epsilon == 1
    assert "noise" in str(task.plan(20))
    cost = task.lifetime(reports=100)
    assert (cost.values, cost.one_report, cost.same_pattern) == (2, 1, 6)
    assert cost.any_history == pytest.approx(100 * task.protocol.fresh_epsilon)
    assert "6 for all, between histories of the same pattern" in str(cost)
    assert task.lifetime(reports=1).same_pattern < 3  # one report cannot tell about two values, nor all about one
    assert json.loads(task.to_json())["protocol"] == {"name": "memoised", "permanent": "3", "values": 2}
    assert task.hash != Repeated(["good", "bad", "none"], 1, permanent=3, values=1, missing="none").hash


def test_bad_parameters() -> None:
    from discreet import text

    with pytest.raises(ParameterError, match="permanent epsilon above"):
        Repeated(["a", "b"], 2, permanent=2, values=1)
    with pytest.raises(ParameterError, match="closed domain"):
        Repeated(text(), 1, permanent=2, values=1)
    with pytest.raises(ParameterError, match="above 0"):
        Repeated(["a", "b"], 1, permanent=-1, values=1)
    with pytest.raises(ParameterError, match="values"):
        Repeated(["a", "b"], 1, permanent=2)  # type: ignore[call-arg]
    for values in (0, -1, 1.0, True, None, "2"):
        with pytest.raises(ParameterError, match="values must be a whole number"):
            Repeated(["a", "b"], 1, permanent=2, values=values)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="values=1 to values=2"):
        Repeated(["a", "b"], 1, permanent=2, values=3)
    with pytest.raises(ParameterError, match="ask for coarser ones"):
        Repeated(range(2**16 + 1), 1, permanent=2, values=3)
    facts = json.loads(Repeated(["a", "b"], 1, permanent=2, values=1).to_json())
    for strange in (0, 3, 1.0, True, "1", None, [1]):
        with pytest.raises(ParameterError):
            read_task(json.dumps({**facts, "protocol": {**facts["protocol"], "values": strange}}))
    with pytest.raises(ParameterError):
        read_task(json.dumps({**facts, "protocol": {"name": "memoised", "permanent": "2"}}))
