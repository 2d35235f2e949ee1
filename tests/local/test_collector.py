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
from support.depth import examples

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.local import Batch, Collector, Estimate, Frequencies, Report, read_collector
from discreet.local import collector as collecting
from discreet.local.collector import read_stored
from discreet.local.protocols.base import Rows


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
    again.merge(counted_by_itself(task, batch.rows[:20]))
    assert again.count == 80


def counted_by_itself(task: Frequencies, rows: Rows) -> Collector[Estimate]:
    collector = task.collector()
    collector.add(Batch(task.hash, rows, _protocol=task.protocol))
    return collector


def test_no_collector_counts_twice() -> None:
    """However it comes: itself, as it was, as it has become, or within another one."""
    one, two = (counted_by_itself(FIRST, some(FIRST, 20).rows) for _ in range(2))
    early = read_collector(one.to_json())
    one.add(some(FIRST, 5))
    both = one + two
    late = read_collector(one.to_json())
    for a, b in (
        (one, one),
        (one, early),
        (early, one),
        (both, one),
        (both, early),
        (two, both),
        (read_collector(both.to_json()), late),
    ):
        before = a.count, a.to_json()
        with pytest.raises(ParameterError, match="in common"):
            a.merge(b)
        assert (a.count, a.to_json()) == before
    empty = read_collector(FIRST.collector().to_json())  # a state to begin with, on several machines
    copies = [read_collector(empty.to_json()) for _ in range(2)]
    for copy in copies:
        copy.add(some(FIRST, 3))
    assert (copies[0] + copies[1] + empty).count == 6


def test_no_file_counts_twice(tmp_path: Path) -> None:
    names = ["a.jsonl", "b.jsonl", "a.parquet"]
    files = [tmp_path / name for name in names]
    for file in files[:2]:
        file.write_text("".join(report.to_json() + "\n" for report in some(FIRST, 30)))
    some(FIRST, 30).to_parquet(files[2])
    empty, cut = tmp_path / "empty.jsonl", tmp_path / "cut.parquet"
    empty.write_text("\n")
    cut.write_bytes(files[2].read_bytes()[:-9])
    collector = FIRST.collector()
    for file in (*files, empty, empty, cut, cut, *files):
        collector.add_file(file)
    assert (collector.count, collector.refused) == (90, {"unreadable file": 2, "collected before": 3})
    again = read_collector(collector.to_json())
    again.add(files[0])
    other = FIRST.collector()
    other.add(files[1])
    other.merge(again)  # collectors may have had one file each; that is the caller's care
    other.add(files[0])
    assert (other.count, other.refused["collected before"]) == (120, 5)


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collecting, "MOST_REMEMBERED", 3)
    collector = FIRST.collector()
    for number in range(5):
        file = tmp_path / f"{number}.jsonl"
        file.write_text(json.dumps({"v": 1, "task": FIRST.hash, "r": number}))
        collector.add(file)
        collector.merge(counted_by_itself(FIRST, some(FIRST, 1).rows))
    facts = json.loads(collector.to_json())
    assert (len(facts["files"]), len(facts["collectors"])) == (3, 3)
    collector.add(tmp_path / "4.jsonl")
    collector.add(tmp_path / "0.jsonl")  # forgotten
    assert (collector.count, collector.refused) == (11, {"collected before": 1})


def test_a_collector_has_room_for_so_many(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(collecting, "MOST_REPORTS", 40)
    collector = counted_by_itself(FIRST, some(FIRST, 30).rows)
    (tmp_path / "a.jsonl").write_text("".join(report.to_json() + "\n" for report in some(FIRST, 20)))
    collector.add(some(FIRST, 20))
    collector.add(tmp_path / "a.jsonl")
    with pytest.raises(ParameterError, match="at most 40 reports"):
        collector.merge(counted_by_itself(FIRST, some(FIRST, 20).rows))
    collector.add(some(FIRST, 10))
    assert (collector.count, collector.refused) == (40, {"no room": 40})


def test_states_of_other_tasks_do_not_merge() -> None:
    for other in (TASKS[2].collector(), Frequencies(range(20), 1, protocol="k-ary", period="2").collector(), None, 3):
        with pytest.raises(ParameterError, match="same task"):
            FIRST.collector().merge(other)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="another task"):
        FIRST.collector().restore(read_stored(TASKS[2].collector().to_json()))


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


def test_strange_objects_never_fail() -> None:
    """Arrays and the like, where a report has texts and numbers; and batches that are none of this task's."""
    collector, many = FIRST.collector(), np.array([1, 2])
    good = {"v": 1, "task": FIRST.hash, "r": 0}
    for name in good:
        collector.add({**good, name: many})
    collector.add([Report(many, many, many), {**good, "nonce": many}, {**good, "nonce": 5}, {**good, "nonce": ["x"]}])  # type: ignore[arg-type]
    assert collector.count + sum(collector.refused.values()) == 7
    assert collector.count == 0
    deep = f'{{"v":1,"task":"{FIRST.hash}","r":0,"nonce":{"[" * 900}{"]" * 900}}}'
    collector.add(deep)
    for rows in (np.zeros(3), np.zeros((3, 2), dtype=np.int64), np.array(["a", "b", "c"])):
        collector.add(Batch(FIRST.hash, rows, _protocol=FIRST.protocol))
    collector.add(Batch(FIRST.hash, np.zeros(3, dtype=np.int64), ("x",), _protocol=FIRST.protocol))
    assert (collector.count, sum(collector.refused.values())) == (0, 7 + 1 + 9 + 3)
    collector.add({**good, "nonce": "\ud800"})
    collector.add({**good, "nonce": "\ud800"})
    assert (collector.count, collector.refused["duplicate"]) == (1, 1)
    assert read_collector(collector.to_json()).count == 1


MARK = "0" * 32


@pytest.mark.parametrize(
    "change",
    [
        {"nonces": ["\ud800"]},
        {"nonces": [MARK, "x"]},
        {"nonces": MARK},
        {"nonces": [5]},
        {"nonces": [f"{number:032x}" for number in range(31)]},
        {"files": ["x"]},
        {"files": {MARK: 1}},
        {"files": [f"{number:032x}" for number in range(5000)]},
        {"collectors": [f"{number:032x}" for number in range(31)]},
        {"refused": {"\x1b[31m": 1}},
        {"refused": {"malformed": 10**30}},
        {"refused": {"malformed": -1}},
        {"refused": [1]},
        {"candidates": "ab"},
        {"candidates": [1, 2]},
        {"version": 2},
    ],
    ids=str,
)
def test_every_part_of_a_state_is_checked(change: dict[str, object]) -> None:
    facts = json.loads(counted_by_itself(FIRST, some(FIRST, 30).rows).to_json())
    with pytest.raises(ParameterError):
        read_collector(json.dumps({**facts, **change}))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["v", "task", "r", "nonce"]), inner),
    max_leaves=12,
)


@settings(deadline=None, max_examples=examples(100))
@given(st.sampled_from(TASKS), st.lists(JSON, max_size=5), JSON, JSON)
def test_hostile_json_never_fails(task: Frequencies, many: list[object], r: object, nonce: object) -> None:
    collector = task.collector()
    collector.add(list(many))
    collector.add({"v": 1, "task": task.hash, "r": r, "nonce": nonce})
    collector.add(json.dumps(many))
    assert collector.count + sum(collector.refused.values()) == len(many) + 2
    assert read_collector(collector.to_json()).refused == collector.refused


@settings(deadline=None, max_examples=examples(60))
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
    raw = pa.array([nonce.encode() for nonce in batch.nonces or ()])
    for column in (raw, raw.cast(pa.large_binary()), raw.cast(pa.binary(32)), raw.cast(pa.large_string())):
        collector.add(batch.to_arrow().set_column(1, "nonce", column))
    assert (collector.count, collector.refused) == (30, {"duplicate": 240})
    again = read_collector(collector.to_json())
    again.add(batch[7])
    assert again.refused == {"duplicate": 241}
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
