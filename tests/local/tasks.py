"""Every kind of task with answers to it, and what each of them promises; a task for every protocol, and reports to it.

A new kind of task has an entry in ``KINDS_AND_ANSWERS``; ``PROMISES`` are then kept by it as by all others.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from local.protocols import NAMES

import discreet as dp
from discreet.arrays import Integers
from discreet.errors import ParameterError
from discreet.local import Batch, Frequencies, Report, read_collector, read_task
from discreet.local.protocols.base import Rows
from discreet.local.task import Task


def task_of(name: str) -> Frequencies:
    return dp.local.Bit(1) if name == "randomized response" else Frequencies(range(20), 1, protocol=name)


TASKS = [*(task_of(name) for name in NAMES), Frequencies(range(300), 4, protocol="subset")]
LABELS = [*NAMES, "subset listed"]
FIRST = TASKS[1]  # k-ary


def some(task: Frequencies, count: int = 50, *, nonce: bool = False) -> Batch:
    items = task.domain.items
    assert items is not None
    batch = task.randomize([items[i % len(items)] for i in range(count)], nonce=nonce)
    assert isinstance(batch, Batch)
    return batch


def counted(task: Frequencies, rows: Rows) -> list[float]:
    collector = task.collector()
    collector.add(Batch(task.hash, rows, _protocol=task.protocol))
    return collector.estimate().values.tolist()


Kind = tuple[Task, object]

KINDS_AND_ANSWERS: list[Kind] = [
    *((task, [True if task.protocol.name == "randomized response" else 1] * 30) for task in TASKS),
    *((dp.local.Mean(0, 15, 1, step=1, protocol=name), [1] * 30) for name in ("duchi", "hybrid", "laplace")),
    (dp.local.Distribution(0, 1, 1, bins=8), [1] * 30),
    (dp.local.HeavyHitters(1, length=2), ["ab"] * 30),
    (dp.local.Repeated(range(4), 1, permanent=2, values=1), [1] * 30),
    (
        dp.local.Attributes({"a": dp.local.Bit(1), "b": dp.local.Mean(0, 15, 1, step=1, protocol="laplace")}),
        {"a": [True] * 30, "b": [3] * 30},
    ),
]


def label_kind(kind: Kind) -> str:
    return f"{kind[0].kind} {kind[0].protocol.name}"


def keep_json(task: Task, answers: object) -> None:  # noqa: ARG001
    """A task is frozen, and is read back the same, with the same hash."""
    again = read_task(task.to_json())
    assert (again, type(again), again.hash) == (task, type(task), task.hash)
    assert task.hash == hashlib.sha256(task.to_json().encode()).hexdigest()
    assert task.privacy.delta(task.epsilon) == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.period = "other"
    changed = json.loads(task.to_json())
    for wrong in ({"version": 99}, {"discreet": "task"}, {"more": 1}, {"epsilon": "0"}, {"question": None}):
        with pytest.raises(ParameterError):
            read_task(json.dumps({**changed, **wrong}))


def keep_ways(task: Task, answers: object) -> None:
    """Reports count alike as a batch, as JSON and as a table; others are refused; collectors add, and are read back."""
    batch, collectors = task.randomize(answers, nonce=True), [task.collector() for _ in range(3)]
    assert isinstance(batch, Batch)
    for collector, reports in zip(collectors, (batch, [report.to_json() for report in batch], batch.to_arrow()), strict=True):
        collector.add(reports)
        collector.add(batch[0])
        collector.add([{"v": 1, "task": task.hash, "r": junk} for junk in (None, -1, 2**80, "!", [], {})])
        collector.add(Report("0" * 64, batch[0].r))
        assert (collector.count, collector.refused) == (30, {"duplicate": 1, "malformed": 6, "another task": 1})
    states = [{**json.loads(collector.to_json()), "collectors": []} for collector in collectors]
    assert states[0] == states[1] == states[2]
    other = task.collector()
    other.add(task.randomize(answers))
    assert (collectors[0] + other).count == 60
    assert str(read_collector(collectors[0].to_json()).estimate()) == str(collectors[0].estimate())


def keep_sight(task: Task, answers: object) -> None:
    """Plans and estimates are shown as text and as HTML."""
    collector = task.collector()
    collector.add(task.randomize(answers))
    for shown in (task.plan(1000), collector.estimate()):
        assert str(shown)
        assert "<" in shown._repr_html_()  # type: ignore[union-attr]


def pack(tally: Sequence[int] | Integers) -> str:
    return base64.b64encode(zlib.compress(np.asarray(tally, dtype="<i8").tobytes())).decode()


def keep_states(task: Task, answers: object) -> None:
    """States that no reports can have left are refused."""
    collector = task.collector()
    collector.add(task.randomize(answers))
    assert collector.count == 30
    facts = json.loads(collector.to_json())
    tally = np.frombuffer(zlib.decompress(base64.b64decode(facts["tally"])), dtype="<i8")
    assert read_collector(json.dumps(facts)).count == 30
    negative, huge = tally.copy(), tally.copy()
    negative[0], huge[0] = -1, 2**62
    strange: list[dict[str, object]] = [{"count": count} for count in (0, 10**400, 2**32 + 1, True, 30.0, -1, "30", None)]
    strange += [
        {"tally": pack(wrong)} for wrong in (negative, huge, tally[:-1], [*tally, 0], [2**62] * tally.size, tally + 2**40)
    ]
    strange += [{"tally": base64.b64encode(zlib.compress(bytes(10**7))).decode()}, {"tally": "AAAA"}, {"tally": 5}]
    if task.protocol.name not in ("hashing", "unary", "laplace"):  # whose reports add as much as chance has it
        strange += [{"count": 29}, {"count": 31}, {"tally": pack(np.zeros_like(tally))}]
    for change in strange:
        with pytest.raises(ParameterError, match="not the state"):
            read_collector(json.dumps({**facts, **change}))


PROMISES: list[Callable[[Task, object], None]] = [keep_json, keep_ways, keep_sight, keep_states]
