"""Which words do people use, when nobody has a list of them? Found by their prefixes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.local.collector import Collector
from discreet.local.domains.spelling import Spelling
from discreet.local.outlook import Outlook
from discreet.local.protocols.hashing import best_buckets
from discreet.local.protocols.prefixes import Prefixes, keys_of
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.hitters import Hitters, find, line

__all__ = ["HeavyHitters"]

_HASHES, _BUCKETS = 512, 256  # at most: decoding takes time in the one, memory in the other
_LOOKED_AT = 2**22
_FIRST, _CANDIDATES = 16, 2**15  # bits of the first prefix, and prefixes that are looked at a time


@called_as("2")
@dataclass(frozen=True, init=False)
class HeavyHitters(Task):
    """The most common words of an unknown vocabulary, from reports that are each epsilon-differentially private on their own.

    Pure local privacy: any two words of one person are indistinguishable up to e^epsilon. Words are cut to ``length`` symbols:
    bytes of any text, or characters of a public ``alphabet`` (fewer candidates, so rarer words are found). At most ``most``
    prefixes are followed, several bits at a time. ``missing`` is the fate of answers that cannot be spelled. The collector needs
    the same memory for any number of reports. A word that nobody has is reported in at most 5 % of all surveys.

    >>> words = HeavyHitters(epsilon=4, length=3, alphabet="abcdefgh")
    >>> collector = words.collector()
    >>> collector.add(words.randomize(["cab", "bed", "cab", "cab"] * 1000))
    >>> collector.estimate().items
    ('cab', 'bed')
    """

    spelling: Spelling
    most: int
    prefixes: tuple[int, ...]
    """The bits of the prefixes that clients tell about, the whole word last."""
    protocol: Prefixes
    question: str
    period: str
    kind: ClassVar[str] = "heavy hitters"
    version: ClassVar[int] = 2

    def __init__(
        self,
        epsilon: Number,
        *,
        length: int = 8,
        alphabet: str | None = None,
        most: int = 100,
        missing: str = "refuse",
        question: str = "",
        period: str = "",
    ) -> None:
        price, spelling, followed = read_epsilon(epsilon), Spelling(whole("length", length), alphabet, missing), _followed(most)
        step = max(4, (_CANDIDATES // followed).bit_length() - 1)
        shorter = range(max(0, -(-(spelling.bits - _FIRST) // step)), 0, -1)
        prefixes = (*(spelling.bits - step * back for back in shorter), spelling.bits)
        buckets = min(best_buckets(price), _BUCKETS)
        protocol = Prefixes(price, len(prefixes), _HASHES, buckets)
        self._fill(question, period, spelling=spelling, most=followed, prefixes=prefixes, protocol=protocol)

    @property
    def facts(self) -> dict[str, object]:
        spelled = {"length": self.spelling.length, "alphabet": self.spelling.alphabet, "missing": self.spelling.missing}
        protocol = {"name": self.protocol.name, **self.protocol.parameters}
        return {"words": spelled, "most": self.most, "prefixes": list(self.prefixes), "protocol": protocol}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> HeavyHitters:
        made = cls.__new__(cls)
        spelling = Spelling(**facts["words"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        prefixes: tuple[int, ...] = tuple(facts["prefixes"])  # type: ignore[arg-type]
        steps = [after - before for before, after in pairwise((0, *prefixes))]
        right = all(type(bits) is int for bits in prefixes) and all(0 < step <= 20 for step in steps)
        if not right or parameters.pop("name") != Prefixes.name or sum(steps) != spelling.bits:
            raise ParameterError("Words are found by prefixes up to the whole word, 1 to 20 bits longer each time.")
        if any(2**step * _followed(facts["most"]) > _LOOKED_AT for step in steps[1:]):
            raise ParameterError(f"At most {_LOOKED_AT:,} prefixes are looked at a time; follow fewer, or take shorter steps.")
        protocol = Prefixes(read_epsilon(Fraction(str(facts["epsilon"]))), len(prefixes), **parameters)
        fields = {"spelling": spelling, "most": _followed(facts["most"]), "prefixes": prefixes, "protocol": protocol}
        made._fill(facts["question"], facts["period"], **fields)
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One row a word: the key of its prefix of every length."""
        symbols = self.spelling.symbols(values)
        return np.column_stack([keys_of(self.spelling.cut(symbols, bits), bits) for bits in self.prefixes])

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[Hitters]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("Heavy hitters find their words themselves; ask Frequencies(dp.text(), ...) for candidates.")
        described = (self.protocol, self.spelling, self.prefixes, self.most)
        return Collector(self, self.protocol, lambda tally, n: find(*described, tally, n))

    def plan(self, n: int) -> Outlook:
        """What to expect of ``n`` reports, before any is asked for."""
        n, protocol, lengths = whole("n", n), self.protocol, self.protocol.levels
        rates, last = protocol.rates, max(1, round(n * protocol.last_share))
        error = math.sqrt(rates.variance(0.0) / last)
        seen = line(protocol, last, self.most * 2 ** (self.prefixes[-1] - (0, *self.prefixes)[-2]))
        warning = (
            f"the answer will be noise: with {n:,} reports at epsilon {float(self.epsilon):.6g}, only words of more than "
            f"{100 * seen:,.0f} % of the people are found. Ask {math.ceil(n * (seen / 0.05) ** 2):,} people for words of 5 %."
        )
        return Outlook(
            n=n,
            protocol="prefixes",
            parameters=protocol.parameters,
            reason=f"each client tells about one of {lengths} prefix lengths, at full epsilon",
            epsilon=float(self.epsilon),
            standard_error=error,
            meaning=f"of a word's share; words below {100 * seen:.3g} % are lost in noise",
            bits=protocol.bits,
            server=f"{protocol.cells:,} counters, one addition a report, {protocol.hashes:,} hashes a candidate",
            influence=0.01 * rates.influence / protocol.last_share,
            warnings=(warning,) if seen > 0.25 else (),
        )


def _followed(most: object) -> int:
    """How many prefixes are followed, where they are not too many."""
    number = whole("most", most)
    if number > 10_000:
        raise ParameterError("At most 10,000 prefixes are followed; ask for fewer.")
    return number
