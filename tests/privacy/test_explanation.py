"""The plain words: every number in them is true, and the warning comes when it must."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from support.refusals import refused

import discreet as dp
from discreet.errors import ParameterError
from discreet.privacy import Privacy


def words(privacy: Privacy, **options: Any) -> str:
    """The text on one line."""
    return re.sub(r"\s+", " ", privacy.explain(**options))


def number(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    assert found, text
    return float(found[1])


def test_the_lecture_s_leak() -> None:
    """'Everything with probability delta' is (0, delta)-DP; over n people somebody is exposed with 1 - (1 - delta)^n."""
    text = words(dp.approximate(0, 1e-6), delta=1e-6, people=1000)
    assert "epsilon = 0 (certified; no smaller one holds)" in text
    assert "the release says nothing about any one person" in text
    assert number(r"With a chance of up to (\S+) everything", text) == 1e-6
    exposed = number(r"exposes somebody with a chance of (\S+)%", text)
    assert 100 * -math.expm1(1000 * math.log1p(-1e-6)) <= exposed <= 0.1
    assert "WARNING" not in text


@pytest.mark.parametrize(("delta", "people", "warned"), [(1e-6, 999_999, False), (1e-6, 10**6, True), (0.01, 1000, True)])
def test_a_warning_when_delta_is_not_below_one_in_n(delta: float, people: int, warned: bool) -> None:
    text = words(dp.gdp(1), delta=delta, people=people)
    assert ("WARNING" in text) is warned
    assert f"{people:,} people" in text


def test_without_a_declared_number_nothing_is_said_of_people() -> None:
    assert "people" not in words(dp.gdp(1), delta=0.5)


@pytest.mark.parametrize(
    "privacy", [dp.pure(0.3), 50 * dp.pure(0.1), dp.gdp(0.7), dp.zcdp(0.1), dp.gdp(1).sampled(0.05)], ids=repr
)
@pytest.mark.parametrize("delta", [1e-6, 1e-3])
def test_the_numbers_are_true(privacy: Privacy, delta: float) -> None:
    text = words(privacy, delta=delta)
    low, high = privacy.epsilon_bounds(delta)
    epsilon = number(r"epsilon = (\S+) \(certified", text)
    assert high <= epsilon * (1 + 1e-9) <= high * 1.02
    if "lies between" in text:
        assert number(r"lies between (\S+) and", text) <= low * (1 + 1e-9)
        assert number(r"lies between \S+ and ([\d.e-]+\d)", text) >= high * (1 - 1e-9)
    assert math.exp(high) <= number(r"factor of (\S+):", text) * (1 + 1e-9) <= math.exp(high) * 1.02
    for prior, pattern in ((0.5, r"50% can grow to (\S+)%"), (0.01, r"one of 1% to (\S+)%")):
        odds = prior / (1 - prior) * math.exp(high)
        assert odds / (1 + odds) <= number(pattern, text) / 100 * (1 + 1e-9) <= odds / (1 + odds) * 1.02
    for rate, pattern in ((0.01, r"recognises at most (\S+)% of"), (0.001, r"0\.1% false alarms, at most (\S+)%")):
        assert 1 - privacy.tradeoff(rate) <= number(pattern, text) / 100 * (1 + 1e-9)
    assert "cannot happen" in text


def test_both_readings_of_delta_stand_side_by_side() -> None:
    """For the Gaussian P[L > epsilon] is above delta(epsilon), and the text says which of them is the definition."""
    text = words(dp.gdp(1), delta=1e-6)
    tail = number(r"that chance is ([\d.e-]+\d)", text)
    epsilon = dp.gdp(1).epsilon(1e-6)
    assert tail == pytest.approx(math.erfc((epsilon - 0.5) / math.sqrt(2)) / 2, rel=1e-2)
    assert number(r"loss\)\)\+\] is ([\d.e-]+\d)", text) == 1e-6 < tail
    assert "The second is the definition" in text


def test_moments_have_one_reading_only() -> None:
    assert "names no loss distribution" in words(dp.zcdp(0.1), delta=1e-6)


def test_pure_privacy_says_so() -> None:
    assert "It is at most 1 even at delta = 0: this is pure differential privacy." in words(dp.pure(1), delta=1e-6)
    assert words(dp.pure(1), delta=0).startswith("At delta = 0 the cost is epsilon = 1 (certified; no smaller one holds).")
    assert "none of 10 people is left to chance" in words(dp.pure(1), delta=0, people=10)


def test_no_epsilon_holds() -> None:
    assert "no upper limit" in words(dp.gdp(1), delta=0)
    text = words(dp.approximate(1, 1e-3), delta=1e-6)
    assert "with a chance of 0.001 everything may be disclosed. Ask at delta = 0.001 or above." in text
    assert "odds" not in text


def test_extremes_are_sentences_too() -> None:
    assert words(Privacy(), delta=1e-6) == "This costs nothing: the release does not depend on anybody's data."
    assert "a factor of 10^348" in words(dp.pure(800), delta=0)
    assert "nan" not in words(dp.pure(1e-9), delta=1e-6)


def test_lines_are_short() -> None:
    assert max(map(len, dp.gdp(1).explain(people=10**7).splitlines())) <= 96


@pytest.mark.parametrize("people", [0, -1, 1.5, "many", True])
def test_bad_numbers_of_people(people: Any) -> None:
    refused(lambda: dp.gdp(1).explain(people=people), ParameterError, "people")


@pytest.mark.parametrize("delta", [-1, 1, None, math.nan])
def test_bad_deltas(delta: Any) -> None:
    refused(lambda: dp.gdp(1).explain(delta=delta), ParameterError, "delta")
