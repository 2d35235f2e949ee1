"""The mean as a task: chosen, explained, estimated, covered."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.local import Mean, read_collector, read_task

NAMES = ["duchi", "hybrid", "laplace"]


def test_the_least_worst_case_variance_is_chosen() -> None:
    assert [Mean(0, 1, epsilon).protocol.name for epsilon in (0.1, 0.5, 1, 4, 20)] == ["duchi", "duchi", *["hybrid"] * 3]
    for epsilon in (0.01, 0.3, 1, 5, 30, 1000):
        chosen = Mean(0, 1, epsilon).protocol.worst
        assert chosen <= 1.02 * min(Mean(0, 1, epsilon, protocol=name).protocol.worst for name in NAMES)


def test_skipped_lectures() -> None:
    """The lecture's question, with its Laplace noise; 10^5 people, 7 standard errors: false alarm 3e-12."""
    skipped = Mean(0, 15, epsilon=1, step=1, protocol="laplace", question="How many lectures did you skip?")
    values = np.arange(100_000) % 16
    collector = skipped.collector()
    collector.add(skipped.randomize(values))
    estimate = collector.estimate()
    assert abs(estimate.value - 7.5) < 7 * estimate.standard_error
    assert estimate.standard_error == pytest.approx((2 * 15**2 + values.var()) ** 0.5 / 10**2.5, rel=0.03)
    assert skipped.privacy.epsilon(delta=0) == 1


@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover(name: str) -> None:
    """600 repetitions with 400 people: the share covered deviates by 0.0089, and 5.5 of those are allowed (4e-8)."""
    task = Mean(-1, 3, 1, protocol=name)
    people, times, truth = 400, 600, 0.0
    values = np.tile(np.array([-1.0, 1.0]), people * times // 2)
    batch = task.randomize(values)
    covered = 0
    for start in range(0, people * times, people):
        part = task.protocol.tally(batch.rows[start : start + people])  # type: ignore[union-attr]
        low, high = task.collector().conclude(part, people).interval(0.95)
        covered += low <= truth <= high
    assert abs(covered / times - 0.95) < 0.049


PEOPLE = {"at the lower bound": (0.0, 0.0), "at the upper bound": (1.0, 1.0), "between": (0.5, 0.5), "at both bounds": (0.0, 1.0)}


@pytest.mark.diagonal
@pytest.mark.parametrize("people", PEOPLE)
@pytest.mark.parametrize("name", NAMES)
def test_intervals_cover_wherever_people_are(name: str, people: str) -> None:
    """However few report and however alike their reports are. Where 95 % are covered, a single one of the 108 cases falls below
    its line with a chance of 6e-9: the tails of the binomial at 120, 100 and 40 repetitions."""
    for epsilon in (0.5, 4, 10):
        task = Mean(0, 1, epsilon, protocol=name)
        conclude = task.collector().conclude
        for count, times, least in ((1, 120, 97), (40, 100, 79), (1000, 40, 27)):
            values = np.resize(PEOPLE[people], count)
            reports = task.protocol.randomize(task.codes(np.tile(values, times))).reshape(times, count)
            ends = [conclude(task.protocol.tally(row), count).interval() for row in reports]
            covered = sum(low <= values.mean() <= high for low, high in ends)
            assert covered >= least, (epsilon, count, covered)


@pytest.mark.parametrize("name", NAMES)
def test_reports_that_agree_still_have_an_error(name: str) -> None:
    task = Mean(-3, 5, 8, protocol=name)
    one = task.randomize([5.0]).rows  # type: ignore[union-attr]
    estimate = task.collector().conclude(100 * task.protocol.tally(one), 100)
    known = float(task.protocol.variance(np.ones(1))[0])
    assert estimate.standard_error >= 8 * (known / 100) ** 0.5 * 0.999
    low, high = estimate.interval()
    assert low <= estimate.value <= high > low
    estimate.plot()
    wider = estimate.interval(0.999)
    assert wider[0] <= low
    assert high <= wider[1]


def test_the_closed_form_is_in_the_units_of_the_data() -> None:
    """A tenth of the range, a hundredth of the variance."""
    assert Mean(0, 10, 1).variance(5) == pytest.approx(100 * Mean(0, 1, 1).variance(0.5), rel=1e-6)


@pytest.mark.parametrize("name", [None, *NAMES])
def test_tasks_and_collectors_survive_json(name: str | None) -> None:
    task = Mean(0, 15, 2, protocol=name, missing=3, question="?", period="2026-03")
    again = read_task(task.to_json())
    assert (again, again.hash) == (task, task.hash)
    collector = task.collector()
    collector.add(task.randomize([1, 2, 30]))
    collector.add([report.to_json() for report in task.randomize([1, 2, 30])])  # type: ignore[union-attr]
    back = read_collector(collector.to_json())
    assert back.estimate() == collector.estimate()
    assert back.count == 6


@pytest.mark.parametrize("name", NAMES)
def test_hostile_reports_are_refused_or_bounded(name: str) -> None:
    task = Mean(0, 1, 1, protocol=name)
    collector = task.collector()
    top = task.protocol.reports
    for r in (-1, top, 2**61, 2**70, 1.5, float("nan"), "1", None, [1], True, {"r": 1}):
        collector.add({"v": 1, "task": task.hash, "r": r})
    assert (collector.count, collector.refused) == (0, {"malformed": 11})
    flood = [{"v": 1, "task": task.hash, "r": top - 1}] * 10
    collector.add(task.randomize([0.5] * 990))
    before = collector.estimate()
    collector.add(flood)
    after = collector.estimate()
    assert collector.count == 1000
    assert abs(after.value - before.value) <= after.influence(0.01) + 0.01 * abs(before.value) + 1e-12


def test_the_plan_says_when_the_answer_will_be_noise() -> None:
    task = Mean(0, 100, 0.1)
    assert "noise" in str(task.plan(100))
    plan = task.plan(10**7)
    assert not plan.warnings
    assert plan.standard_error == pytest.approx(100 * (task.protocol.worst / 10**7) ** 0.5)
    assert "least worst-case variance" in plan._repr_html_()


def test_bad_parameters_and_values() -> None:
    for arguments, message in [
        ({"protocol": "median"}, "no protocol for means"),
        ({"step": 0.3}, "divides"),
        ({"step": 0}, "above 0"),
        ({"epsilon": 0}, "above 0"),
        ({"step": Fraction(1, 2**41)}, "2\\^40 steps"),
    ]:
        with pytest.raises(ParameterError, match=message):
            Mean(0, 1, **{"epsilon": 1, **arguments})
    with pytest.raises(ValueRefused):
        Mean(0, 1, 1).randomize(float("nan"))
    with pytest.raises(ParameterError, match="a mean has none"):
        Mean(0, 1, 1).collector(["a"])
    with pytest.raises(ParameterError, match="finite"):
        Mean(0, float("nan"), 1)
    facts = json.loads(Mean(0, 1, 1).to_json())
    for change in (
        {"protocol": {"name": "median"}},
        {"protocol": {"name": "duchi", "steps": "3"}},
        {"scale": {}},
        {"epsilon": "0"},
    ):
        with pytest.raises(ParameterError):
            read_task(json.dumps({**facts, **change}))


def test_an_estimate_shows_itself() -> None:
    task = dp.local.Mean(0, 1, 4)
    collector = task.collector()
    collector.add(task.randomize([1.0] * 100))
    estimate = collector.estimate()
    assert 0 <= estimate.consistent() <= 1
    assert "95 % interval" in str(estimate)
    assert "hostile" in estimate._repr_html_()
    frame = estimate.to_pandas()
    assert frame["mean"][0] == float(estimate)
    assert frame["lower"][0] < estimate.value < frame["upper"][0]
