"""Attributes: several questions to the same people, each of whom answers one of them, chosen by a coin, at full epsilon.

Answering all of k questions would cost k times epsilon, or leave each of them an epsilon k times smaller; answering one of them
costs epsilon and has about k times less variance than splitting (Nguyen et al. 2016; Wang et al. 2019).

**The guarantee**: which question was drawn is public and does not depend on the answers, so for any two sets of answers of one
person every report is at most e^epsilon times likelier for one than for the other, epsilon the largest of the tasks'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import whole
from discreet.local.collector import Collector
from discreet.local.protocols.one_of import OneOf
from discreet.local.report import Batch, Report, new_nonces
from discreet.local.results import Estimates, PerAttribute, Plan
from discreet.local.task import Task, canonical, read_task, read_text

_WRITE = 'write Attributes({"hair": Frequencies([...], epsilon=1), "age": Mean(0, 120, epsilon=1)})'


@called_as('{"smokes": Bit(1), "age": Mean(0, 100, 1)}')
@dataclass(frozen=True, init=False)
class Attributes(Task):
    """Tasks by name. A person's answers are a mapping by the same names; those of many people, a mapping to columns.

    ``collector.estimate()`` is a mapping from name to the estimate of that task, each from those who drew it.

    >>> from discreet.local import Bit, Mean
    >>> both = Attributes({"smokes": Bit(epsilon=1), "age": Mean(0, 120, epsilon=1)})
    >>> collector = both.collector()
    >>> collector.add(both.randomize({"smokes": [True, False] * 500, "age": [30, 50] * 500}))
    >>> sorted(collector.estimate()), collector.count
    (['age', 'smokes'], 1000)
    """

    tasks: Mapping[str, Task]
    protocol: OneOf
    question: str
    period: str
    kind: ClassVar[str] = "attributes"

    def __init__(self, tasks: Mapping[str, Task], *, question: str = "", period: str = "") -> None:
        if not isinstance(tasks, Mapping) or len(tasks) < 2:
            raise ParameterError(f"Attributes are two or more tasks by name; {_WRITE}.")
        for name, task in tasks.items():
            read_text("The name of an attribute", name)
            if not isinstance(task, Task) or isinstance(task, Attributes):
                raise ParameterError(f"Every attribute is a task of its own, and not attributes again; {_WRITE}.")
        made = {name: tasks[name] for name in sorted(tasks)}  # JSON keeps no order
        for task in made.values():
            task.collector()  # which refuses an open domain, that has none without candidates
        protocol = OneOf(tuple(task.protocol for task in made.values()))
        self._fill(question, period, tasks=made, protocol=protocol)

    def __hash__(self) -> int:
        return hash(self.hash)

    @property
    def facts(self) -> dict[str, object]:
        return {"tasks": {name: json.loads(task.to_json()) for name, task in self.tasks.items()}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Attributes:
        inner: dict[str, object] = facts["tasks"]  # type: ignore[assignment]
        tasks = {name: read_task(canonical(told)) for name, told in inner.items()}
        return cls(tasks, question=str(facts["question"]), period=str(facts["period"]))

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:  # noqa: ARG002
        raise ParameterError("Attributes have no codes of their own; call randomize with a mapping of answers.")

    def randomize(self, value: object, *, nonce: bool = False) -> Report | Batch:
        """One report for a mapping of answers, a batch for a mapping of columns (or a data frame).

        Every answer is read and randomised, then all but the drawn one are forgotten: the work tells nothing.
        """
        if not hasattr(value, "keys") or set(value.keys()) != set(self.tasks):
            raise ValueRefused("Answers are a mapping with the names of all attributes, and no others.")
        columns = [value[name] for name in self.tasks]  # type: ignore[index]
        many = all(_is_column(column) for column in columns)
        if not many and any(_is_column(column) for column in columns):
            raise ValueRefused("Answers are one value for every attribute, or one column for every attribute.")
        read = [
            [column] if not many else column if isinstance(column, (list, tuple)) else np.asarray(column) for column in columns
        ]
        codes = [task.codes(column) for task, column in zip(self.tasks.values(), read, strict=True)]
        if len({len(code) for code in codes}) > 1:
            raise ValueRefused("The columns of the attributes must be of one length, one row for each person.")
        rows = self.protocol.choose(codes)
        batch = Batch(self.hash, rows, new_nonces(len(rows)) if nonce else None, _protocol=self.protocol)
        return batch if many else batch[0]

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Estimates]:
        """Where reports are counted. Its estimate holds every attribute that anybody has reported."""
        if candidates is not None:
            raise ParameterError("candidates= is for a domain of any text; attributes have none.")

        def conclude(tally: Integers, count: int) -> Estimates:  # noqa: ARG001
            parts = zip(self.tasks.items(), self.protocol.parts(tally), strict=True)
            found = {name: task.collector().conclude(part, people) for (name, task), (people, part) in parts if people}
            return Estimates(found)  # type: ignore[arg-type]  # no member has attributes of its own

        return Collector(self, self.protocol, conclude)

    def plan(self, n: int) -> PerAttribute[Plan]:
        """What to expect of ``n`` reports: a plan for every attribute, from its share of the people."""
        share = max(1, whole("n", n) // len(self.tasks))
        plans = {name: task.plan(share) for name, task in self.tasks.items()}
        return PerAttribute(plans)  # type: ignore[arg-type]  # as above


def _is_column(value: object) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "__array__") and np.ndim(value) == 1)
