"""k-ary randomized response: the truth with probability e^epsilon / (e^epsilon + k - 1), else any other value.

**Theorem** (Warner 1965; Kairouz, Oh, Viswanath 2014). Every report is e^epsilon times likelier for its own value than for
any other. Best where the domain is small beside e^epsilon: roughly fewer than 2 e^epsilon values.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.balls import arb
from discreet.local.protocols.base import NUMBER, Form, FrequencyProtocol, Rows, bits_of, likely
from discreet.noise.coins import Chance, bernoulli, uniform

__all__ = ["KAry"]


@dataclass(frozen=True)
class KAry(FrequencyProtocol):
    """The report is a value's number, 0 .. size - 1.

    >>> import math
    >>> KAry(Fraction(1), 4).rates.truth == math.e / (math.e + 3)
    True
    """

    epsilon: Fraction
    size: int
    name: ClassVar[str] = "k-ary"

    @property
    def parameters(self) -> dict[str, int]:
        return {}

    @property
    def form(self) -> Form:
        return NUMBER

    @property
    def bits(self) -> float:
        return bits_of(self.size)

    def _draw(self, codes: Integers) -> Integers:
        honest = bernoulli(Chance(likely(1, self.size - 1, self.epsilon)), codes.size)
        other = uniform(self.size - 1, codes.size)
        other += other >= codes
        return np.where(honest, codes, other)

    def likelihood(self, row: Rows, code: int) -> arb:
        truth, lie = self.supporting()
        return truth if row.item() == code else lie

    def supporting(self) -> tuple[arb, arb]:
        truth = likely(1, self.size - 1, self.epsilon)()
        return truth, (1 - truth) / (self.size - 1)

    def valid(self, rows: Rows) -> Booleans:
        codes = rows.astype(np.int64)
        return (codes >= 0) & (codes < self.size)

    @property
    def cells(self) -> int:
        return self.size

    def tally(self, rows: Rows) -> Integers:
        return np.bincount(rows.astype(np.int64, copy=False), minlength=self.size)

    def support(self, tally: Integers) -> Integers:
        return tally

    @property
    def targets(self) -> float:
        return 1

    @property
    def server(self) -> str:
        return f"{self.size:,} counters, one addition a report"
