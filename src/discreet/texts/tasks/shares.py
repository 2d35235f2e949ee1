"""Word shares: how common each word of a public vocabulary is, from one sampled word a person at full epsilon.

**Guarantee.** For the whole *person*: any two texts, of any length and content, give the same report up to e^epsilon. One word of
the text is drawn uniformly and randomised by a protocol that is epsilon-locally private for any two words; what is drawn before
only mixes its laws. (Splitting epsilon over all words of a text would be as private and far worse: for 20 words about five times
the error.)

A word's share is the mean over people of how much of their text it makes up: everybody weighs the same, however much they write.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.local.collector import Collector
from discreet.local.protocols import choose_protocol, make_protocol, rebuild_protocol
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.results import Cells
from discreet.local.task import Task, read_epsilon
from discreet.local.tasks.frequencies import Estimate, FrequencyPlan, plan_frequencies
from discreet.noise.coins import uniform_each
from discreet.texts.vocabulary import Vocabulary, check_vocabulary


@dataclass(frozen=True, eq=False)
class WordEstimate(Estimate):
    """Estimated shares of words, and which words are common for sure."""

    def common(self, least: Number = 0.001, *, miss: Number = 0.05) -> tuple[str, ...]:
        """The words whose share is above ``least``, the most common first; at most ``miss`` of all surveys name one that is not.

        All shares together are 1, so no more than 1 / least words are nearly that common and the others nearly have share 0: over
        both the chances of coming out above the threshold add up to ``miss``, whatever the words are. (A tail of the count of
        supporting reports is a normal one, corrected for its skewness.)
        """
        threshold = self._threshold(
            float(probability("least", least, zero=False, hint="a share such as 0.001")),
            float(probability("miss", miss, zero=False, hint="a probability such as 0.05")),
        )
        order = np.argsort(-self.values, kind="stable")
        return tuple(str(self.items[i]) for i in order if self.values[i] > threshold)

    def _threshold(self, least: float, miss: float) -> float:
        near = min(1 / least, float(len(self.items)))
        groups = ((least, near), (0.0, len(self.items) - near))
        low, high = least, least + 1.0 + 40 * self._error(least)
        for _ in range(100):
            middle = (low + high) / 2
            if sum(many * self._above(middle, share) for share, many in groups) > miss:
                low = middle
            else:
                high = middle
        return high

    def _error(self, share: float) -> float:
        return math.sqrt(self._rates.variance(share) / self.count)

    def _above(self, threshold: float, share: float) -> float:
        """The chance that a word of this share comes out above the threshold."""
        z = (threshold - share) / self._error(share)
        p, q, n = self._rates.truth, self._rates.lie, self.count
        variance = n * (share * p * (1 - p) + (1 - share) * q * (1 - q))
        third = n * (share * p * (1 - p) * (1 - 2 * p) + (1 - share) * q * (1 - q) * (1 - 2 * q))
        skewness = third / variance**1.5 if variance > 0 else 0.0
        if z <= 1:
            return 1.0
        inner = min(z, 3 / skewness) if skewness > 0 else z  # further out, the correction would turn back
        return NormalDist().cdf(max(skewness, 0.0) * (inner * inner - 1) / 6 - inner)

    def _cells(self) -> Cells:
        headers, rows, notes = super()._cells()
        found = self.common()
        said = f"{len(found):,} words are more common than 0.1 % for sure (one survey in twenty names a wrong one)"
        return (
            headers,
            rows,
            [*notes, f"{said}: {', '.join(found[:12])}{' ...' if len(found) > 12 else ''}." if found else f"{said}."],
        )


@called_as('["yes", "no", "maybe"], 4')
@dataclass(frozen=True, init=False)
class WordShares(Task):
    """The share of every word of a public vocabulary in people's texts, from reports that are epsilon-private for each person.

    A text without words counts as ``<nothing>``, an unknown word as the vocabulary says. The protocol is chosen for the least
    error with reports of at most ``max_bits``, unless named.

    >>> chat = WordShares(["yes", "no", "maybe"], epsilon=4)
    >>> collector = chat.collector()
    >>> collector.add(chat.randomize(["Yes, yes!"] * 700 + ["no"] * 300))
    >>> collector.estimate().common(least=0.1)
    ('yes', 'no')
    """

    vocabulary: Vocabulary
    protocol: FrequencyProtocol
    question: str
    period: str
    reason: str = field(compare=False, repr=False)
    kind: ClassVar[str] = "word shares"
    takes_texts: ClassVar[bool] = True

    def __init__(
        self,
        vocabulary: Vocabulary,
        epsilon: Number,
        *,
        protocol: str | None = None,
        max_bits: int = 1024,
        question: str = "",
        period: str = "",
    ) -> None:
        listed, price, most = check_vocabulary(vocabulary), read_epsilon(epsilon), whole("max_bits", max_bits)
        chosen = choose_protocol(price, listed.size, most) if protocol is None else make_protocol(protocol, price, listed.size)
        reason = (
            f"least expected error among reports of at most {most:,} bits" if protocol is None else "named by the task's author"
        )
        self._fill(question, period, vocabulary=listed, protocol=chosen, reason=reason)

    @property
    def facts(self) -> dict[str, object]:
        drawn = {"name": self.protocol.name, **self.protocol.parameters}
        return {"vocabulary": self.vocabulary.facts, "protocol": drawn}

    @classmethod
    def from_facts(cls, facts: dict[str, object]) -> WordShares:
        made = cls.__new__(cls)
        vocabulary = Vocabulary.from_facts(facts["vocabulary"])  # type: ignore[arg-type]
        parameters = dict(facts["protocol"])  # type: ignore[call-overload]
        price = read_epsilon(Fraction(str(facts["epsilon"])))
        protocol = rebuild_protocol(parameters.pop("name"), price, vocabulary.size, parameters)
        fields = {"vocabulary": vocabulary, "protocol": protocol, "reason": "as the task says"}
        made._fill(facts["question"], facts["period"], **fields)
        return made

    def codes(self, values: Sequence[object] | np.ndarray) -> Integers:
        """One word of each text, drawn uniformly; <nothing> of a text without words."""
        flat, ends = self.vocabulary.encode_all(values)  # type: ignore[arg-type]
        return draw_one(flat, ends, 0)

    def collector(self, candidates: Sequence[str] | None = None) -> Collector[WordEstimate]:
        """Where reports are counted."""
        if candidates is not None:
            raise ParameterError("The words are those of the vocabulary; leave out candidates=.")
        protocol, items = self.protocol, self.vocabulary.items

        def conclude(tally: Integers, count: int) -> WordEstimate:
            return WordEstimate.of(items, protocol.support(tally), count, protocol.rates)  # type: ignore[return-value]

        return Collector(self, protocol, conclude)

    def plan(self, n: int) -> FrequencyPlan:
        """What to expect of ``n`` reports, before any is asked for."""
        return plan_frequencies(self.protocol, whole("n", n), self.reason)


def draw_one(flat: Integers, ends: Integers, nothing: int) -> Integers:
    """One code of each text, uniformly; texts lie one behind the other, and ``nothing`` is what an empty one gets."""
    lengths = np.diff(ends, prepend=0)
    chosen = uniform_each(np.maximum(lengths, 1)) + ends - lengths
    padded = np.append(flat, nothing)
    return np.where(lengths > 0, padded[np.minimum(chosen, flat.size)], nothing)
