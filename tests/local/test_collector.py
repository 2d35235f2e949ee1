"""Collectors: what they count, what they refuse, and that nothing sent to them makes them fail or lose anything."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local.tasks import FIRST, LABELS, TASKS, counted, some

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.local import Batch, Frequencies, Report, read_collector


@pytest.mark.parametrize("task", TASKS, ids=LABELS)
def test_every_way_in_gives_the_same_estimate(task: Frequencies, tmp_path: Path) -> None:
    batch = some(task)
    batch.to_parquet(tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text("".join(report.to_json() + "\n" for report in batch) + "\n")
    ways: list[object] = [batch, list(batch), [r.to_json() for r in batch], [json.loads(r.to_json()) for r in batch]]
    ways += [(r.to_json().encode() for r in batch), batch.to_arrow(), batch.to_arrow().to_batches()[0], [batch]]
    ways += [tmp_path / "a.parquet", tmp_path / "a.jsonl"]
    for way in ways:
        collector = task.collector()
        collector.add(way)  # type: ignore[arg-type]
        assert (collector.count, collector.refused) == (50, {}), way
        assert collector.estimate().values.tolist() == counted(task, batch.rows)
    collector = task.collector()
    for report in batch:
        collector.add(report)
    collector.add_file(str(tmp_path / "a.parquet"))
    assert collector.count == 100


@pytest.mark.parametrize("task", TASKS, ids=LABELS)
def test_states_merge_and_persist(task: Frequencies) -> None:
    batch = some(task, 60)
    parts = [task.collector() for _ in range(3)]
    for collector, rows in zip(parts, np.split(batch.rows, 3), strict=True):
        collector.add(Batch(task.hash, rows, _protocol=task.protocol))
        collector.add("rubbish")
    total = parts[0] + parts[1] + parts[2]
    assert (total.count, total.refused) == (60, {"malformed": 3})
    assert total.estimate().values.tolist() == counted(task, batch.rows)
    assert parts[0].count == 20
    again = read_collector(total.to_json())
    assert again.to_json() == total.to_json()
    assert again.estimate().values.tolist() == total.estimate().values.tolist()  # type: ignore[attr-defined]
    again.merge(parts[0])
    assert again.count == 80


def test_states_of_other_tasks_do_not_merge() -> None:
    for other in (TASKS[2].collector(), Frequencies(range(20), 1, protocol="k-ary", period="2").collector(), None, 3):
        with pytest.raises(ParameterError, match="same task"):
            FIRST.collector().merge(other)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="another task"):
        FIRST.collector().restore(TASKS[2].collector().to_json())


def test_nothing_to_estimate_from() -> None:
    with pytest.raises(ValueRefused, match="no reports"):
        FIRST.collector().estimate()


def malformed(task: Frequencies) -> list[object]:
    """What has not the form of this task's reports."""
    strange: list[object] = [None, True, 1.0, -1, 10**30, "", "x", "AAAA", [], [0], [0] * 5, {}, [None], "=" * 40, 2**62, [[0]]]
    good = json.loads(some(task, 1)[0].to_json())["r"]
    if isinstance(good, list) and isinstance(good[0], int):
        strange += [good[::-1], [good[0]] * len(good), good[:-1], [*good[:-1], 10**6], [*good[:-1], -1], [*good[:-1], 2**40]]
    elif isinstance(good, str):
        strange += [good[:-4], good + "AAAA", good.lower() + "!", "////", "/" * len(good)]
    elif isinstance(good, list):
        strange += [[good[0]], [good[0], 99], [good[0], str(good[1])], [good[0].upper() + "0", good[1]]]
    if task.protocol.name == "unary":
        strange.remove("AAAA")  # no bit at all: an honest report
    return [r for r in strange if r != good]


@pytest.mark.parametrize("task", TASKS, ids=LABELS)
def test_malformed_reports_are_counted_and_change_nothing(task: Frequencies) -> None:
    batch, collector = some(task), task.collector()
    bad = malformed(task)
    collector.add([{"v": 1, "task": task.hash, "r": r} for r in bad])
    assert (collector.count, collector.refused) == (0, {"malformed": len(bad)})
    collector.add([json.dumps({"v": 1, "task": task.hash, "r": r}) for r in bad])
    collector.add(batch)
    assert (collector.count, collector.refused) == (50, {"malformed": 2 * len(bad)})
    assert collector.estimate().values.tolist() == counted(task, batch.rows)


def test_reasons() -> None:
    collector, good = FIRST.collector(), json.loads(FIRST.randomize(3).to_json())  # type: ignore[union-attr]
    collector.add([{**good, "v": 2}, {**good, "v": "1"}, {**good, "v": True}, {k: good[k] for k in ("task", "r")}])
    collector.add([{**good, "task": "0" * 64}, {**good, "task": None}, {**good, "task": [1]}, TASKS[2].randomize(3)])
    collector.add(some(TASKS[2], 5))
    collector.add(some(TASKS[2], 5).to_arrow())
    collector.add(some(FIRST, 5).to_arrow().replace_schema_metadata({"discreet.v": "9", "discreet.task": FIRST.hash}))
    assert collector.refused == {"another version": 4 + 5, "another task": 4 + 5 + 5}
    collector.add({**good, "surplus": "is not looked at"})
    assert collector.count == 1


@pytest.mark.parametrize(
    "rubbish",
    [
        None,
        3,
        1.5,
        object(),
        "",
        "{",
        b"\xff\xfe",
        "[" * 100_000,
        "NaN",
        '{"v":1}',
        "9" * 10_000,
        [None],
        [[1]],
        {"r": 1},
        pa.array([1]),
    ],
    ids=lambda x: type(x).__name__ + str(x)[:6],
)
def test_rubbish_never_fails(rubbish: object) -> None:
    collector = FIRST.collector()
    collector.add(rubbish)  # type: ignore[arg-type]
    assert collector.count == 0
    assert sum(collector.refused.values()) == 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["v", "task", "r", "nonce"]), inner),
    max_leaves=12,
)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(TASKS), st.lists(JSON, max_size=5), JSON, JSON)
def test_hostile_json_never_fails(task: Frequencies, many: list[object], r: object, nonce: object) -> None:
    collector = task.collector()
    collector.add(list(many))
    collector.add({"v": 1, "task": task.hash, "r": r, "nonce": nonce})
    collector.add(json.dumps(many))
    assert collector.count + sum(collector.refused.values()) == len(many) + 2
    assert read_collector(collector.to_json()).refused == collector.refused


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(TASKS), st.binary(max_size=64))
def test_hostile_states_are_refused_in_a_sentence(task: Frequencies, noise: bytes) -> None:
    state = json.loads(task.collector().to_json())
    for damaged in (noise.decode("latin-1"), json.dumps({**state, "tally": noise.hex()}), json.dumps({**state, "count": -1})):
        with pytest.raises(ParameterError):
            read_collector(damaged)


def test_duplicates_are_refused_by_their_nonce(tmp_path: Path) -> None:
    batch, collector = some(FIRST, 30, nonce=True), FIRST.collector()
    batch.to_parquet(tmp_path / "a.parquet")
    collector.add(batch)
    collector.add(batch)
    collector.add([report.to_json() for report in batch])
    collector.add(tmp_path / "a.parquet")
    collector.add(batch.to_arrow())
    assert (collector.count, collector.refused) == (30, {"duplicate": 120})
    again = read_collector(collector.to_json())
    again.add(batch[7])
    assert again.refused == {"duplicate": 121}
    other = FIRST.collector()
    other.add([Report(FIRST.hash, 1), Report(FIRST.hash, 1), Report(FIRST.hash, 1, "x"), Report(FIRST.hash, 99, "y")])
    other.add(Report(FIRST.hash, 2, "y"))  # the first "y" was malformed, so this is the first report of that name
    assert (other.count, other.refused) == (4, {"malformed": 1})


def test_text_from_outside_is_never_a_path(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    some(FIRST, 3).to_parquet(file)
    collector = FIRST.collector()
    collector.add(str(file))
    assert (collector.count, collector.refused) == (0, {"malformed": 1})


def test_a_flood_of_bits_is_no_honest_report() -> None:
    """Honest unary reports pass; one with every bit set does not."""
    task = Frequencies(range(200), 1, protocol="unary")
    collector, everything = task.collector(), np.packbits(np.ones(200, dtype=np.uint8), bitorder="little")
    collector.add(Batch(task.hash, everything[None], _protocol=task.protocol))
    assert collector.refused == {"malformed": 1}
    collector.add(some(task, 2000))
    assert collector.count == 2000


def test_bits_that_only_fill_up_the_last_byte_stay_clear() -> None:
    """20 values take 3 bytes; a report that hides one of its bits behind the 20th has the right weight, and is refused."""
    for task in (TASKS[2], TASKS[4]):
        bits = np.zeros(24, dtype=np.uint8)
        bits[:5] = 1
        honest = np.packbits(bits, bitorder="little")
        bits[[0, 23]] = bits[[23, 0]]
        collector = task.collector()
        collector.add(Batch(task.hash, np.stack([honest, np.packbits(bits, bitorder="little")]), _protocol=task.protocol))
        assert (collector.count, collector.refused) == (1, {"malformed": 1})


def test_any_text_is_looked_for_by_candidates() -> None:
    """Two texts with half of 20,000 people each, one with nobody: within six standard errors, a false alarm below 1e-8."""
    task = Frequencies(dp.text(), 2, missing="random")
    collector = task.collector(["dark", "blond", "green"])
    collector.add(task.randomize(["dark", "blond"] * 10_000))
    estimate = collector.estimate()
    assert (np.abs(estimate.values - [0.5, 0.5, 0.0]) < 6 * estimate.standard_error).all()
    assert estimate.items == ("dark", "blond", "green")
    assert read_collector(collector.to_json()).estimate().values.tolist() == estimate.values.tolist()  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="same candidates"):
        collector.merge(task.collector(["dark"]))
    for candidates in (None, [], ["a", "a"], [1]):
        with pytest.raises(ParameterError, match=r"candidates|Candidates"):
            task.collector(candidates)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="candidates"):
        FIRST.collector(["a"])
