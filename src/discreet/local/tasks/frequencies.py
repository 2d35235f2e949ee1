"""How common is each answer? Every person reports one randomised value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.collector import Collector
from discreet.local.domains.categorical import Domain, Item, domain_of
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.protocols.choice import choose, named, rebuilt
from discreet.local.protocols.hashing import Hashing
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.estimate import Estimate
from discreet.local.tasks.plan import Plan, plan_for

__all__ = ["Frequencies"]


@called_as('["dark", "blond"], 1')
@dataclass(frozen=True, init=False)
class Frequencies(Task):
    """The share of every value of a public domain, from reports that are each epsilon-differentially private on their own.

    ``domain`` is a list, a range, a public fact such as ``dp.category(...)``, or ``dp.text()`` for any text. The protocol is
    chosen for the least error with reports of at most ``max_bits``, unless named. ``missing`` is the fate of other answers.

    >>> hair = Frequencies(["dark", "blond", "brown", "red"], epsilon=1)
    >>> hair.protocol.name, hair.randomize("red").to_json()[:7]
    ('k-ary', '{"v":1,')
    """

    domain: Domain
    protocol: FrequencyProtocol
    question: str
    period: str
    reason: str = field(compare=False, repr=False)
    kind: ClassVar[str] = "frequencies"

    def __init__(
        self,
        domain: object,
        epsilon: Number,
        *,
        protocol: str | None = None,
        max_bits: int = 1024,
        missing: Item | None = None,
        question: str = "",
        period: str = "",
    ) -> None:
        values = domain_of(domain, missing)
        price = read_epsilon(epsilon)
        chosen, reason = _chosen(values, price, protocol, whole("max_bits", max_bits))
        self._fill(question, period, domain=values, protocol=chosen, reason=reason)

    @property
    def facts(self) -> dict[str, object]:
        return {"domain": self.domain.facts, "protocol": {"name": self.protocol.name, **self.protocol.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> Frequencies:
        made = cls.__new__(cls)
        domain = Domain.from_facts(facts["domain"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        protocol = rebuilt(parameters.pop("name"), read_epsilon(Fraction(str(facts["epsilon"]))), domain.size or 0, parameters)
        if domain.size is None and not isinstance(protocol, Hashing):
            raise ParameterError("Any text can be asked for by the protocol 'hashing' alone.")
        made._fill(facts["question"], facts["period"], domain=domain, protocol=protocol, reason="as the task says")
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        return self.domain.codes(values)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Estimate]:
        """Where reports are counted. For a domain of any text, ``candidates`` are the texts to look for."""
        protocol, items, texts = self.protocol, self.domain.items, None if candidates is None else tuple(candidates)
        if (items is None) == (texts is None):
            raise ParameterError("candidates= lists the texts to look for; it is for a domain of any text, and needed there.")
        if texts is not None and isinstance(protocol, Hashing):
            codes = [self.domain.code(text) for text in texts]
            if not codes or None in codes or len(set(codes)) < len(codes):
                raise ParameterError("Candidates are texts; list at least one, each once.")
            protocol = protocol.among(np.array(codes, dtype=np.int64))
        shown: Sequence[Item] = texts or items or ()

        def conclude(tally: Integers, count: int) -> Estimate:
            return Estimate.of(shown, protocol.support(tally), count, protocol.rates, complete=texts is None)

        return Collector(self, protocol, conclude, texts)

    def plan(self, n: int) -> Plan:
        """What to expect of ``n`` reports, before any is asked for."""
        return plan_for(self.protocol, whole("n", n), self.reason)


def _chosen(domain: Domain, epsilon: Fraction, name: str | None, max_bits: int) -> tuple[FrequencyProtocol, str]:
    if domain.size is None:
        if name not in (None, "hashing"):
            raise ParameterError("Any text can be asked for by the protocol 'hashing' alone; leave out protocol=.")
        return named("hashing", epsilon, 0), "the only protocol for a domain of any text"
    if name is not None:
        return named(name, epsilon, domain.size), "named by the task's author"
    reason = f"least expected error among reports of at most {max_bits:,} bits; within 2 % of it, the shortest report"
    return choose(epsilon, domain.size, max_bits), reason
