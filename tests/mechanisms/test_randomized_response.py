"""Randomized response: theta, reports of every kind, and estimates whose intervals cover.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import statistics
from scipy.stats import binom

from discreet import RandomizedResponse


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, math.log(3), 5, 50])
@pytest.mark.parametrize("k", [2, 3, 100])
def test_theta_is_tight(epsilon: float, k: int) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, options=range(k))
    assert mechanism.theta == pytest.approx(math.exp(epsilon) / (math.exp(epsilon) + k - 1), rel=1e-14)
    assert mechanism.privacy.epsilon() == pytest.approx(epsilon, rel=1e-15)
    assert mechanism.options == tuple(range(k))


@pytest.mark.parametrize("epsilon", [0.1, 1, 2, 10])
def test_the_lectures_theta_is_loose(epsilon: float) -> None:
    loose, tight = RandomizedResponse.loose(epsilon=epsilon), RandomizedResponse(epsilon=epsilon)
    assert loose.theta == pytest.approx((epsilon + 1) / (epsilon + 2), rel=1e-14)
    assert loose.privacy.epsilon() == pytest.approx(math.log(1 + epsilon), rel=1e-14)
    assert loose.privacy.epsilon() >= math.log1p(epsilon) * (1 - 1e-16)
    assert loose.theta < tight.theta
    assert loose.error(reports=1000) > tight.error(reports=1000)
    theta = Fraction(str(epsilon)) + 1, Fraction(str(epsilon)) + 2
    assert math.log(theta[0] / (theta[1] - theta[0])) == pytest.approx(loose.privacy.epsilon(), rel=1e-14)


OPTIONS: dict[str, tuple[Any, ...]] = {
    "bools": (True, False),
    "strings": ("yes", "no", "a rather long answer"),
    "integers": (5, -3, 7, 0),
    "floats": (0.1, 0.2),
    "mixed": ("none", 3, None),
    "tuples": ((0, 1), (1, 0)),
    "large": (1, 2**70),
    "lectures": tuple(range(16)),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_reports_are_options_of_the_same_type(options: tuple[Any, ...]) -> None:
    mechanism = RandomizedResponse(epsilon=0.5, options=options)
    for option in options:
        report = mechanism.release(option)
        assert any(report is other or (report == other and type(report) is type(other)) for other in options)
    reports = mechanism.release(list(options) * 20)
    assert reports.shape == (20 * len(options),)
    assert {(type(x), x) for x in reports.tolist()} <= {(type(x), x) for x in options}
    assert mechanism.release([]).shape == (0,)
    assert mechanism.estimate(reports).values.sum() == pytest.approx(1)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_the_law_of_reports(options: tuple[Any, ...], epsilon: float) -> None:
    mechanism = RandomizedResponse(epsilon=epsilon, options=options)
    k, draws = len(options), 40_000
    theta = math.exp(epsilon) / (math.exp(epsilon) + k - 1)
    for truth in (0, k - 1):
        reports = mechanism.release([options[truth]] * draws).tolist()
        expected = [draws * (theta if i == truth else (1 - theta) / (k - 1)) for i in range(k)]
        assert statistics.chi_square([reports.count(option) for option in options], expected) > statistics.ALARM


def test_the_law_of_loose_reports() -> None:
    reports = RandomizedResponse.loose(epsilon=1).release(np.ones(100_000, dtype=bool))
    assert statistics.chi_square([reports.sum(), (~reports).sum()], [200_000 / 3, 100_000 / 3]) > statistics.ALARM


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("options", [("yes", "no"), tuple("abcde")])
def test_estimates_are_unbiased_and_intervals_cover(share: float, options: tuple[str, ...]) -> None:
    """400 surveys of 2000: the mean within eight standard errors; coverage of 95 % intervals, a false alarm below 1e-7."""
    mechanism = RandomizedResponse(epsilon=1, options=options)
    people, surveys = 2000, 400
    truth = [options[0]] * round(share * people) + [options[-1]] * round((1 - share) * people)
    estimates = [mechanism.estimate(mechanism.release(truth)) for _ in range(surveys)]
    found = np.array([estimate.values[0] for estimate in estimates])
    spread = np.mean([estimate.standard_error[0] for estimate in estimates])
    assert abs(found.mean() - share) < 8 * spread / math.sqrt(surveys)
    assert found.std() < 1.3 * spread
    ends = [estimate.interval(0.95) for estimate in estimates]
    missed = sum(not low[0] <= share <= high[0] for low, high in ends)
    assert binom.sf(missed - 1, surveys, 0.05) > 1e-7
    assert all(low[0] < value < high[0] for (low, high), value in zip(ends, found, strict=True))


def test_an_estimate_inverts_the_shares_exactly() -> None:
    mechanism = RandomizedResponse(epsilon=math.log(3), options=("yes", "no"))
    estimate = mechanism.estimate(["yes"] * 60 + ["no"] * 40)
    assert estimate.values == pytest.approx([0.7, 0.3], rel=1e-12)  # (0.6 - 1/4) / (3/4 - 1/4)
    assert estimate.reports == 100
    assert estimate.options == ("yes", "no")
    assert estimate.standard_error == pytest.approx([math.sqrt(0.24 / 100) / 0.5] * 2, rel=1e-12)
    low, high = estimate.interval(0.5)
    wider_low, wider_high = estimate.interval(0.99)
    assert (wider_low < low).all()
    assert (high < wider_high).all()


def test_the_answer_may_come_as_any_equal_value() -> None:
    assert RandomizedResponse(epsilon=60).release(np.array([1, 0, 1])).tolist() == [True, False, True]
    assert RandomizedResponse(epsilon=60, options=(1, 0)).release(np.array([True, False])).tolist() == [1, 0]
    assert RandomizedResponse(epsilon=60, options=("a", "b")).release(np.str_("a")) == "a"


def test_a_foreign_answer_in_a_mixed_list_is_refused() -> None:
    with pytest.raises(ValueError, match="not among the options"):
        RandomizedResponse(epsilon=1, options=("1", "2")).release(["1", 2])


def test_options_that_numpy_cannot_put_into_one_array() -> None:
    mechanism = RandomizedResponse(epsilon=60, options=("none", (1, 2)))
    assert mechanism.release([(1, 2), "none"]).tolist() == [(1, 2), "none"]


def test_options_that_differ_in_a_trailing_nul() -> None:
    assert RandomizedResponse(epsilon=60, options=("a", "a\0")).release(["a", "a\0"]).tolist() == ["a", "a\0"]


def test_a_very_small_epsilon() -> None:
    """theta - (1 - theta) = tanh(epsilon / 2), which is far from 0 in floats."""
    assert RandomizedResponse(epsilon=1e-18).error(0.95, reports=1) == pytest.approx(1.96 / 1e-18, rel=1e-3)
