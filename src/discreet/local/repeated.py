"""The same question again and again, to the same people, without spending a whole epsilon every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.exact import up, whole
from discreet.local.collector import Collector
from discreet.local.domain import Domain, Item, domain_of
from discreet.local.estimate import Estimate
from discreet.local.memoised import Memoised
from discreet.local.plan import Plan, plan_for
from discreet.local.task import Task, read_epsilon
from discreet.mechanisms.values import Number
from discreet.noise.lazy import Integers

__all__ = ["Lifetime", "Repeated"]


@dataclass(frozen=True)
class Lifetime:
    """What a person has paid after so many reports about so many different values. Print it."""

    reports: int
    values: int
    one_report: Fraction
    same_changes: Fraction
    """Among histories that change at the same times: the permanent epsilon for every different value."""
    any_history: float
    """Against any other history, also one that changes at other times."""

    def __str__(self) -> str:
        return (
            f"{self.reports:,} reports about {self.values:,} values: epsilon {up(self.one_report):.6g} for one report, "
            f"{up(self.same_changes):.6g} for all together, up to {self.any_history:.6g} for when the value changed."
        )


@dataclass(frozen=True, init=False)
class Repeated(Task):
    """The shares of a public domain, asked in many rounds; clients remember their lie about every value.

    One report costs ``epsilon``; all reports about one value together cost ``permanent``, however many: pure local privacy, for
    any two values of one person (see ``memoised.py`` for what changing values cost). People answer through
    ``dp.local.Client.randomize``, which remembers. ``randomize`` of the task itself remembers nothing: it is for simulations, and
    costs epsilon every time.

    >>> mood = Repeated(["good", "bad"], epsilon=0.5, permanent=2)
    >>> print(mood.lifetime(reports=365, values=2))
    365 reports about 2 values: epsilon 0.5 for one report, 4 for all together, up to 243.394 for when the value changed.
    """

    domain: Domain
    protocol: Memoised
    question: str
    period: str
    kind: ClassVar[str] = "repeated"

    def __init__(
        self,
        domain: object,
        epsilon: Number,
        *,
        permanent: Number,
        missing: Item | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        values = domain_of(domain, missing)
        self._fill(question, period, domain=values, protocol=_memoised(values, read_epsilon(epsilon), read_epsilon(permanent)))

    @property
    def facts(self) -> dict[str, object]:
        return {"domain": self.domain.facts, "protocol": {"name": self.protocol.name, "permanent": str(self.protocol.permanent)}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Repeated:
        made = cls.__new__(cls)
        told = dict(facts["protocol"])  # type: ignore[call-overload]
        if told.pop("name") != Memoised.name:
            raise ParameterError("A repeated question is asked by the memoised protocol; is the task newer than discreet?")
        domain = Domain.from_facts(facts["domain"])  # type: ignore[arg-type]
        epsilon, permanent = (read_epsilon(Fraction(str(number))) for number in (facts["epsilon"], told["permanent"]))
        made._fill(facts["question"], facts["period"], domain=domain, protocol=_memoised(domain, epsilon, permanent))
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        return self.domain.codes(values)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Estimate]:
        """Where the reports of one round are counted. Keep rounds apart: a person's reports of several are not independent."""
        if candidates is not None:
            raise ParameterError("candidates= is for a domain of any text; this one is closed.")
        items = self.domain.items or ()
        return Collector(
            self, self.protocol, lambda tally, n: Estimate.of(items, self.protocol.support(tally), n, self.protocol.rates)
        )

    def plan(self, n: int) -> Plan:
        """What to expect of ``n`` reports of one round, before any is asked for."""
        return plan_for(self.protocol, whole("n", n), "the protocol for repeated questions")

    def lifetime(self, *, reports: int, values: int = 1) -> Lifetime:
        """What so many reports about so many different values cost a person in all."""
        rounds, different = whole("reports", reports), whole("values", values)
        together = min(different, rounds) * self.protocol.permanent
        fresh = Fraction(self.protocol.fresh_epsilon) * rounds
        return Lifetime(rounds, different, self.epsilon, min(together, fresh), up(fresh))


def _memoised(domain: Domain, epsilon: Fraction, permanent: Fraction) -> Memoised:
    if domain.size is None:
        raise ParameterError("A repeated question has a closed domain; list its values.")
    return Memoised(epsilon, domain.size, permanent)
