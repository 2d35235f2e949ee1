"""Which words do people use, when nobody has a list of them? Found by their prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.choice import MAKERS, rebuilt
from discreet.local.collector import Collector
from discreet.local.hitters import Hitters, find, threshold_factor
from discreet.local.outlook import Outlook
from discreet.local.prefixes import Prefixes, hashed
from discreet.local.protocol import FrequencyProtocol
from discreet.local.spelling import Spelling
from discreet.local.task import Task, read_epsilon
from discreet.mechanisms.values import Number
from discreet.noise.lazy import Integers

__all__ = ["HeavyHitters"]

_TIE = 1.05


@called_as("2")
@dataclass(frozen=True, init=False)
class HeavyHitters(Task):
    """The most common words of an unknown vocabulary, from reports that are each epsilon-differentially private on their own.

    Pure local privacy: any two words of one person are indistinguishable up to e^epsilon. Words are cut to ``length`` symbols:
    bytes of any text, or characters of a public ``alphabet`` (fewer candidates, so rarer words are found). At most ``most``
    prefixes are followed. ``missing`` is the fate of answers that cannot be spelled. The collector needs the same memory for any
    number of reports.

    >>> words = HeavyHitters(epsilon=4, length=3, alphabet="abcdefgh", cells=512)
    >>> collector = words.collector()
    >>> collector.add(words.randomize(["cab", "bed", "cab", "cab"] * 1000))
    >>> collector.estimate().items
    ('cab', 'bed')
    """

    spelling: Spelling
    most: int
    protocol: Prefixes
    question: str
    period: str
    kind: ClassVar[str] = "heavy hitters"

    def __init__(
        self,
        epsilon: Number,
        *,
        length: int = 8,
        alphabet: str | None = None,
        most: int = 100,
        cells: int = 2**16,
        missing: str = "refuse",
        question: str = "",
        period: str = "",
    ) -> None:
        price, size = read_epsilon(epsilon), whole("cells", cells, 16)
        spelling = Spelling(whole("length", length), alphabet, missing)
        protocol = Prefixes(_within(price, size), spelling.length)
        self._fill(question, period, spelling=spelling, most=_followed(most, protocol), protocol=protocol)

    @property
    def facts(self) -> dict[str, object]:
        inner = self.protocol.inner
        spelled = {"length": self.spelling.length, "alphabet": self.spelling.alphabet, "missing": self.spelling.missing}
        return {"words": spelled, "most": self.most, "cells": inner.size, "protocol": {"name": inner.name, **inner.parameters}}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> HeavyHitters:
        made = cls.__new__(cls)
        spelling = Spelling(**facts["words"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        epsilon, cells = read_epsilon(Fraction(str(facts["epsilon"]))), whole("cells", facts["cells"], 16)
        inner = rebuilt(parameters.pop("name"), epsilon, cells, parameters)
        protocol = Prefixes(inner, spelling.length)
        most = _followed(facts["most"], protocol)
        made._fill(facts["question"], facts["period"], spelling=spelling, most=most, protocol=protocol)
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One row a word: the hashed cell of its prefix at every level."""
        symbols = self.spelling.symbols(values)
        levels = range(1, self.protocol.levels + 1)
        return np.column_stack([hashed(symbols[:, :level], level, self.protocol.size) for level in levels])

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Hitters]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("Heavy hitters find their words themselves; ask Frequencies(dp.text(), ...) for candidates.")
        return Collector(self, self.protocol, lambda tally, n: find(self.protocol, self.spelling, self.most, tally, n))

    def plan(self, n: int) -> Outlook:
        """What to expect of ``n`` reports, before any is asked for."""
        n, inner, levels = whole("n", n), self.protocol.inner, self.protocol.levels
        error = math.sqrt(inner.rates.variance(1 / inner.size) * levels / n)
        seen = threshold_factor(self.most * self.spelling.count) * error
        warning = (
            f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g}, only words of more than "
            f"{100 * seen:,.0f} % of the people are found. Ask {math.ceil(n * (seen / 0.05) ** 2):,} people for words of 5 %."
        )
        return Outlook(
            n=n,
            protocol=f"prefixes, {inner.name} within a length",
            parameters={**self.protocol.parameters, "cells": inner.size},
            reason=f"each client tells about one of {levels} prefix lengths, at full epsilon",
            epsilon=float(self.epsilon),
            standard_error=error,
            meaning=f"of a share at one length; words below {100 * seen:.3g} % are lost in noise",
            bits=self.protocol.bits,
            server=f"{self.protocol.cells:,} counters, one addition a report, one decoding a length",
            influence=0.01 * inner.rates.influence,
            warnings=(warning,) if seen > 0.25 else (),
        )


def _within(epsilon: Fraction, cells: int) -> FrequencyProtocol:
    """The protocol for one length: of those whose reports are numbers, within 5 % of the least error, the smallest."""
    offers = [offer for name in ("k-ary", "projective") for offer in MAKERS[name](epsilon, cells)]
    least = min(offer.variance for offer in offers)
    return min((offer for offer in offers if offer.variance <= _TIE * least), key=lambda offer: offer.cells)


def _followed(most: object, protocol: Prefixes) -> int:
    """How many prefixes are followed, where they and their cells are not too many."""
    number = whole("most", most)
    if protocol.size > 2**24 or number > 10_000:
        raise ParameterError("At most 10,000 prefixes are followed, hashed into at most 2^24 cells; ask for fewer.")
    return number
