"""A kind of task that nobody needs: school grades from 1 to 6."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.errors import ParameterError
from discreet.local import Collector, Estimate
from discreet.local.domains.categorical import Domain
from discreet.local.protocols.k_ary import KAry
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.frequencies import FrequencyPlan, plan_frequencies


@dataclass(frozen=True, init=False)
class Grades(Task):
    """Pure local privacy: one report costs epsilon."""

    protocol: KAry
    question: str
    period: str
    kind: ClassVar[str] = "grades"
    domain: ClassVar[Domain] = Domain(range(1, 7))

    def __init__(self, epsilon: Number, *, question: str = "", period: str = "") -> None:
        self._fill(question, period, protocol=KAry(read_epsilon(epsilon), 6))

    @property
    def facts(self) -> dict[str, object]:
        return {}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Grades:
        return cls(Fraction(str(facts["epsilon"])), question=facts["question"], period=facts["period"])  # type: ignore[arg-type]

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        return self.domain.codes(values)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Estimate]:
        if candidates is not None:
            raise ParameterError("Grades have no candidates.")
        return Collector(self, self.protocol, lambda tally, n: Estimate.of(range(1, 7), tally, n, self.protocol.rates))

    def plan(self, n: int) -> FrequencyPlan:
        return plan_frequencies(self.protocol, n, "a toy")
