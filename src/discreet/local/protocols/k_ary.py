"""k-ary randomized response: the truth with probability e^epsilon / (e^epsilon + k - 1), else any other value.

**Theorem** (Warner 1965; Kairouz, Oh, Viswanath 2014). Every report is e^epsilon times likelier for its own value than for
any other. Best where the domain is small beside e^epsilon: roughly fewer than 2 e^epsilon values. For two values this is the
lecture's theta = e^epsilon / (1 + e^epsilon), the tight one.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.arrays import Integers
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import FrequencyProtocol, Rows, chance_inside
from discreet.mechanisms.randomized_response import respond
from discreet.noise.coins import Chance


@dataclass(frozen=True)
class KAry(FrequencyProtocol):
    """k-ary randomized response. The report is a value's number, 0 .. size - 1.

    >>> import math
    >>> KAry(Fraction(1), 4).rates.truth == math.e / (math.e + 3)
    True
    """

    epsilon: Fraction
    size: int
    name: ClassVar[str] = "k-ary"

    def _draw(self, codes: Integers) -> Integers:
        return respond(codes, self.size, Chance(chance_inside(1, self.size - 1, self.epsilon)))

    def likelihood(self, row: Rows, code: int) -> arb:
        truth, lie = self.supporting()
        return truth if row.item() == code else lie

    def supporting(self) -> tuple[arb, arb]:
        truth = chance_inside(1, self.size - 1, self.epsilon)()
        return truth, (1 - truth) / (self.size - 1)

    @property
    def cells(self) -> int:
        return self.size

    @property
    def targets(self) -> float:
        return 1

    @property
    def server(self) -> str:
        return f"{self.size:,} counters, one addition a report"


@dataclass(frozen=True)
class RandomizedResponse(KAry):
    """k-ary randomized response for two values; the report is 0 or 1."""

    name: ClassVar[str] = "randomized response"

    def __post_init__(self) -> None:
        if self.size != 2:
            raise ParameterError(f"Randomized response is for two values, not {self.size:,}; write protocol='k-ary'.")
