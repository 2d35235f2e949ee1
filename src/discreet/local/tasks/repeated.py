"""A repeated question: the same one again and again, to the same people, without spending a whole epsilon every time.

What all reports tell about a person is stated, and proved, in ``protocols/memoised.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import up, whole
from discreet.local.collector import Collector
from discreet.local.domains.categorical import Domain, Item, read_domain
from discreet.local.protocols.memoised import Memoised
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.frequencies import Estimate, FrequencyPlan, plan_frequencies


@dataclass(frozen=True)
class Lifetime:
    """What so many reports tell about a person, of whom at most ``values`` different values are answered for. Print it."""

    reports: int
    values: int
    one_report: Fraction
    same_pattern: Fraction
    """All reports, between histories that are equal at the same pairs of times: ``values`` times the permanent epsilon."""
    any_history: float
    """All reports, between any two histories: so many times the epsilon of the fresh step alone."""

    def __str__(self) -> str:
        return (
            f"{self.reports:,} reports about at most {self.values:,} values: epsilon {up(self.one_report):.6g} for one report; "
            f"{up(self.same_pattern):.6g} for all, between histories of the same pattern; up to {self.any_history:.6g} between "
            "any two."
        )


@called_as('["good", "bad"], 1, permanent=2, values=3')
@dataclass(frozen=True, init=False)
class Repeated(Task):
    """The shares of a public domain, asked in many rounds; clients remember their lie about every value.

    Pure local privacy. One report costs ``epsilon``. All reports of a person together, however many, cost at most ``values``
    times ``permanent`` between histories of the same pattern (one is the other with its values renamed); when values change and
    come back is not hidden at that price, see ``protocols/memoised.py``.

    At most ``values`` different values of one person are answered for. Who has more is answered for with one of the first
    ``values``, so shares are biased as far as there are such people: choose ``values`` for what people have in the task's time.

    People answer through ``dp.local.Client.randomize``, which remembers. ``randomize`` of the task itself remembers nothing: it
    is for simulations, and costs epsilon every time.

    >>> mood = Repeated(["good", "bad"], epsilon=0.5, permanent=2, values=2)
    >>> print(mood.lifetime(reports=365))  # doctest: +NORMALIZE_WHITESPACE
    365 reports about at most 2 values: epsilon 0.5 for one report; 4 for all, between histories of the same pattern;
    up to 243.394 between any two.
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
        values: int,
        missing: Item | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        items = read_domain(domain, missing)
        protocol = _make_protocol(items, read_epsilon(epsilon), read_epsilon(permanent), whole("values", values))
        self._fill(question, period, domain=items, protocol=protocol)

    @property
    def facts(self) -> dict[str, object]:
        memoised = self.protocol
        told = {"name": memoised.name, "permanent": str(memoised.permanent), **memoised.parameters}
        return {"domain": self.domain.facts, "protocol": told}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Repeated:
        made = cls.__new__(cls)
        told = dict(facts["protocol"])  # type: ignore[call-overload]
        if told.pop("name") != Memoised.name:
            raise ParameterError("A repeated question is asked by the memoised protocol; is the task newer than discreet?")
        domain = Domain.from_facts(facts["domain"])  # type: ignore[arg-type]
        epsilon, permanent = (read_epsilon(Fraction(str(number))) for number in (facts["epsilon"], told["permanent"]))
        protocol = _make_protocol(domain, epsilon, permanent, whole("values", told["values"]))
        made._fill(facts["question"], facts["period"], domain=domain, protocol=protocol)
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

    def plan(self, n: int) -> FrequencyPlan:
        """What to expect of ``n`` reports of one round, before any is asked for."""
        return plan_frequencies(self.protocol, whole("n", n), "the protocol for repeated questions")

    def lifetime(self, *, reports: int) -> Lifetime:
        """What so many reports tell about a person in all."""
        rounds, values = whole("reports", reports), self.protocol.values
        fresh = Fraction(self.protocol.fresh_epsilon) * rounds
        same = min(min(values, rounds) * self.protocol.permanent, fresh)
        return Lifetime(rounds, values, self.epsilon, same, up(fresh))


def _make_protocol(domain: Domain, epsilon: Fraction, permanent: Fraction, values: int) -> Memoised:
    if domain.size is None:
        raise ParameterError("A repeated question has a closed domain; list its values.")
    return Memoised(epsilon, domain.size, permanent, values)
