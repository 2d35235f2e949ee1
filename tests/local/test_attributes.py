"""Several attributes, of which each person reports one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet.balls import ball, precision
from discreet.errors import ParameterError, ValueRefused
from discreet.local import (
    Attributes,
    Batch,
    Bit,
    Distribution,
    Frequencies,
    HeavyHitters,
    Mean,
    Report,
    read_collector,
    read_task,
)

TASK = Attributes(
    {
        "hair": Frequencies(["dark", "blond", "red"], 1),
        "age": Mean(0, 120, 1),
        "city": Frequencies(range(60), 1, protocol="subset"),
        "smokes": Bit(1),
        "income": Distribution(0, 10, 1, bins=8),
        "word": HeavyHitters(1, length=2, alphabet="ab"),
    }
)
ONE = {"hair": "dark", "age": 30, "city": 7, "smokes": True, "income": 3.5, "word": "ab"}


def many(count: int) -> dict[str, list[object]]:
    return {name: [value] * count for name, value in ONE.items()}


def test_every_attribute_is_estimated_from_its_share_of_the_people() -> None:
    """30,000 people: each attribute about 5,000 (8 deviations), each estimate within 7 of its standard errors."""
    collector = TASK.collector()
    collector.add(TASK.randomize(many(30_000)))
    found = collector.estimate()
    assert set(found) == set(ONE)
    assert found["age"].count == pytest.approx(5000, abs=8 * (30_000 * 5 / 36) ** 0.5)  # type: ignore[attr-defined]
    assert sum(part.count for part in found.values()) == 30_000  # type: ignore[attr-defined]
    assert abs(found["age"].value - 30) < 7 * found["age"].standard_error  # type: ignore[attr-defined]
    for name in ("hair", "city", "smokes"):
        estimate = found[name]
        place = list(estimate.items).index(ONE[name])  # type: ignore[attr-defined]
        assert abs(estimate.values[place] - 1) < 7 * estimate.standard_error[place]  # type: ignore[attr-defined]
    assert found["word"].items[0] == "ab"  # type: ignore[attr-defined] # one survey of twenty may name another word


def test_a_report_of_every_form_goes_through_json() -> None:
    collector, seen = TASK.collector(), set()
    for _ in range(200):
        report = TASK.randomize(ONE, nonce=True)
        assert isinstance(report, Report)
        seen.add(report.r[0])  # type: ignore[index]
        collector.add(report.to_json())
    assert (collector.count, collector.refused, seen) == (200, {}, set(range(6)))  # a miss: 6 (5/6)^200, below 1e-14
    batch = TASK.randomize(many(50))
    assert isinstance(batch, Batch)
    collector.add(batch.to_arrow())
    assert collector.count == 250
    back = read_collector(collector.to_json())
    assert (back.count, back.task) == (250, TASK)
    assert read_task(TASK.to_json()).hash == TASK.hash


def test_reports_that_nobody_could_send_are_refused() -> None:
    collector = TASK.collector()
    for r in ([6, 0], [-1, 0], [2, 3], [0], 0, None, ["0", 0], [0, [0]], [True, 0], [5, 10**9], [1, -1]):
        collector.add({"v": 1, "task": TASK.hash, "r": r})
    assert (collector.count, collector.refused) == (0, {"malformed": 11})
    rows = TASK.randomize(many(100)).rows.copy()  # type: ignore[union-attr]
    rows[:, -1] |= 0x80  # behind the end of most reports
    collector.add(Batch(TASK.hash, rows, _protocol=TASK.protocol))
    assert collector.refused["malformed"] > 11 + 50


def test_no_report_is_more_than_e_to_the_epsilon_times_likelier() -> None:
    """All reports of two small attributes; a person's other answers do not matter, by construction."""
    task = Attributes(
        {"a": Frequencies(range(5), Fraction(1, 2), protocol="k-ary"), "b": Mean(0, 3, 2, step=1, protocol="duchi")}
    )
    assert task.epsilon == 2
    with precision(300):
        for number, (member, codes, reports) in enumerate(zip(task.protocol.members, (5, 4), (5, 2), strict=True)):
            for report in range(reports):
                row = task.protocol.row([number, report])
                assert row is not None
                chances = [task.protocol.likelihood(row, code) for code in range(codes)]
                ratio = max(map(float, chances)) / min(map(float, chances))
                assert ratio <= np.exp(float(member.epsilon)) * (1 + 1e-15)
                for high in chances:
                    assert not any(high / low > ball(member.epsilon).exp() for low in chances)


def test_answers_are_checked_whatever_the_coin_says() -> None:
    for bad in ({**ONE, "hair": "green"}, {**ONE, "age": float("nan")}):
        for _ in range(20):
            with pytest.raises(ValueRefused):
                TASK.randomize(bad)
    for bad in ({"hair": "dark"}, {**ONE, "more": 1}, 7, None, [ONE], {**ONE, "age": [1, 2]}, {**many(3), "age": [1, 2]}):
        with pytest.raises(ValueRefused):
            TASK.randomize(bad)


def test_columns_may_be_arrays_or_a_frame() -> None:
    frame = pd.DataFrame(many(40))
    assert len(TASK.randomize(frame)) == 40  # type: ignore[arg-type]
    arrays = {name: np.array(column) for name, column in many(40).items()}
    assert len(TASK.randomize(arrays)) == 40  # type: ignore[arg-type]


def test_attributes_are_closed_tasks() -> None:
    from discreet import text

    for bad in ({}, {"a": Bit(1)}, {"a": Bit(1), "b": 3}, {"a": Bit(1), "b": TASK}, {"a": Bit(1), "b": Frequencies(text(), 1)}):
        with pytest.raises(ParameterError):
            Attributes(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="mapping"):
        TASK.codes([1])
    assert "noise" in str(TASK.plan(60)["age"])
