"""Many pairs: replay first, then a tournament of audits whose error probabilities add up to the one that was asked for."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.clock import Clock
from support.depth import deep

import discreet as dp
from discreet.auditor import examine as examining
from discreet.auditor.cases import make_cases, read_pairs
from discreet.auditor.examine import examine
from discreet.auditor.finding import Finding
from discreet.errors import ParameterError
from discreet.schema.table import Schema

PAIRS = read_pairs([([1, 2], [1]), ([1], []), ([1, 1, 1], [1, 1])])
AGES = Schema({"age": dp.integer(0, 120)}, dp.rows())


def count(rows: Any) -> object:
    return dp.Laplace(sensitivity=1, epsilon=1).release(len(rows))


def own_noise(rows: Any) -> object:
    return len(rows) + float(np.random.default_rng().laplace(scale=0.1))


def own_noise_of_the_sum(rows: Any) -> object:
    return sum(rows) + float(np.random.default_rng().laplace(scale=0.1))


def test_a_good_function_is_not_refuted() -> None:
    report = examine(count, PAIRS, epsilon=1, draws=deep(1_000, 300), error=1e-6)
    assert (report.outcome, report.replayed, report.pairs) == ("not refuted", 3, 3)
    assert "draws on these 3 pairs, nor by replaying them: the claim epsilon=1" in report.verdict
    assert "private" not in str(report)


def test_replay_comes_first() -> None:
    report = examine(lambda rows: dp.Laplace(sensitivity=1, epsilon=1).release(5 * len(rows)), PAIRS, epsilon=1)
    assert report.violated
    assert report.draws == 0
    assert "moved by 5, declared 1" in report.verdict
    assert "replay(function, a, b)" in report.script


def test_noise_that_is_not_ours_is_left_to_sampling() -> None:
    report = examine(own_noise, PAIRS, epsilon=1)
    assert report.violated
    assert not report.difference
    assert report.finding is not None
    assert report.epsilon > 1
    assert report.case in PAIRS


def test_a_die_of_their_own_is_never_called_a_broken_declaration() -> None:
    """Such a function may happen to do the same twice. All of these must be left to sampling, which has an error probability."""
    generator = np.random.default_rng()

    def rolls(rows: Any) -> object:
        return dp.Laplace(sensitivity=1, epsilon=1).release(len(rows)), int(generator.integers(4))

    reports = [examine(rolls, PAIRS[:1], epsilon=1, draws=20, error=1e-6) for _ in range(20)]
    assert not any(report.violated for report in reports)  # a die that falls alike 20 times more: below 1e-11


def test_releases_that_promise_less_are_remarked() -> None:
    cheap = examine(
        lambda rows: dp.Gaussian(sensitivity=1, rho=5).release(len(rows)), PAIRS[:1], epsilon=9, delta=1e-9, draws=500
    )
    assert any("promise no more than epsilon" in remark for remark in cheap.remarks)
    assert examine(count, PAIRS[:1], epsilon=1, draws=500, error=1e-6).remarks == ()


def test_a_schema_makes_neighbours_and_shrinks_the_witness() -> None:
    def forgets_to_clamp(table: Any) -> object:
        ages = [age for age in table["age"].to_pylist() if isinstance(age, int)]
        return dp.Laplace(sensitivity=120, epsilon=1).release(sum(ages))

    report = examine(forgets_to_clamp, make_cases(AGES), epsilon=1, schema=AGES)
    assert report.violated
    assert report.case is not None
    assert report.case.pair is not None
    assert len(report.case.pair.rest) == 0
    assert len(report.case.pair.into) == 1
    space: dict[str, Any] = {}
    exec(report.case.code, space)
    assert space["a"].equals(report.case.a)
    assert space["b"].equals(report.case.b)


def test_error_probabilities_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever pairs go on to the next round, the audits share the error probability, and the closest pair gets the last one."""
    shares: list[Fraction] = []
    tried: list[object] = []

    def recorded(_function: object, a: Any, _b: object, **terms: Any) -> Finding:
        shares.append(terms["error"])
        tried.append(a)
        return Finding(False, float(len(a)), 0.0, "epsilon=9", 10, float(terms["error"]), "")

    monkeypatch.setattr(examining, "audit", recorded)
    cases = read_pairs([([0] * i, [0] * (i + 1)) for i in range(7)])
    report = examine(own_noise, cases, epsilon=9, error=0.01)
    assert sum(shares) == Fraction(1, 100)
    assert len(tried) == 7 + 4 + 2 + 1
    assert tried[-1] == [0] * 6
    assert report.case is cases[6]
    assert report.draws == 140


def test_a_function_that_hangs_does_not_hang_the_audit(clock: Clock) -> None:
    def hangs(rows: Any) -> object:
        while len(rows) > 1:
            clock.sleep(0.5)
        return count(rows)

    report = examine(hangs, PAIRS[:1], epsilon=1, seconds=1)
    assert not report.difference  # a replay that was cut short has nothing to say
    assert report.replayed == 0


def test_a_function_that_keeps_state_is_reported_so() -> None:
    stored: dict[int, object] = {}
    report = examine(lambda rows: stored.setdefault(len(rows), own_noise(rows)), PAIRS, epsilon=1, draws=1_000)
    assert report.outcome == "cannot be audited"
    assert "keeps state" in report.verdict


def test_one_pair_that_says_nothing_does_not_end_the_audit() -> None:
    """On the first two pairs the output is always the same; that is no reason to stop before the last one."""
    report = examine(lambda rows: len(rows) > 2 and own_noise(rows), PAIRS, epsilon=1, draws=5_000)
    assert report.violated
    assert report.case is PAIRS[2]
    constant = examine(lambda _: 0, PAIRS, epsilon=1, draws=1_000)
    assert constant.outcome == "cannot be audited"
    assert "the same output" in constant.verdict


def test_low_bits_may_be_ignored_and_the_script_does_so_too() -> None:
    pairs = read_pairs([([1, 5], [1, 2])])
    report = examine(own_noise_of_the_sum, pairs, epsilon=1, floats="ignore")
    assert report.violated
    assert "floats='ignore'" in report.script
    assert examine(own_noise, PAIRS, epsilon=1).script.count("floats") == 0
    assert "differ in one element" in str(examine(own_noise_of_the_sum, pairs, epsilon=3))


def test_json_has_a_version_and_no_strange_numbers() -> None:
    report = examine(own_noise, PAIRS, privacy=dp.zcdp(0.01))
    facts = json.loads(report.to_json(), parse_constant=lambda name: pytest.fail(name))
    assert (facts["discreet"], facts["version"], facts["outcome"]) == ("audit", 1, "violated")
    assert facts["claim"] == "zCDP ρ = 0.01"
    assert facts["epsilon"] == report.epsilon
    assert "dp.Privacy.from_json" in facts["script"]


@pytest.mark.parametrize("pairs", [None, [], "ab", [1], [(1, 2, 3)], {}, [([1],)]])
def test_pairs_that_are_none(pairs: object) -> None:
    with pytest.raises(ParameterError, match="pair"):
        read_pairs(pairs)


def test_inputs_that_are_no_literals_are_found_where_they_are() -> None:
    cases = read_pairs([(np.arange(2), np.arange(3)), ([1.5], {"a": None})], "made()")
    assert [case.code for case in cases] == ["pairs = list(made())\na, b = pairs[0]", "a, b = [1.5], {'a': None}"]


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"epsilon": -1},
        {"epsilon": 1, "error": 0},
        {"epsilon": 1, "seconds": 0},
        {"epsilon": 1, "draws": 0},
        {"epsilon": 1, "privacy": dp.pure(1)},
    ],
)
def test_claims_that_are_none(terms: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        examine(count, PAIRS, **terms)
