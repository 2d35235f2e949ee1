"""A task for every protocol, and reports to it."""

from __future__ import annotations

from local.protocols import NAMES

import discreet as dp
from discreet.local import Batch, Frequencies
from discreet.local.protocols.base import Rows


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
