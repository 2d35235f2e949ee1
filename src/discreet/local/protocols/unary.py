"""Optimised unary encoding: one bit for every value, each flipped on its own.

**Theorem** (Wang, Blocki, Li, Jha 2017). The own value's bit is set with probability 1/2, every other bit with
q = 1 / (e^epsilon + 1). Two values differ in two bits, and (1/2) (1 - q) / (q (1/2)) = e^epsilon. The error is that of the best
protocols in large domains; a report has as many bits as there are values.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.balls import arb, ball
from discreet.local.protocols.base import Form, FrequencyProtocol, Plain, Rows, counts_within
from discreet.local.protocols.subset import count_bits, decode_bits, encode_bits, has_clear_padding, sum_bits
from discreet.noise.bits import CHUNK, words
from discreet.noise.coins import Chance, bernoulli

_NEVER = 1e-12  # honest reports with so many bits are as rare as this; a hostile flood of bits is not


@dataclass(frozen=True)
class Unary(FrequencyProtocol):
    """Optimised unary encoding. The report is the bits, eight to a byte, the first value in the lowest bit.

    >>> Unary(Fraction(1), 100).rates.truth
    0.5
    """

    epsilon: Fraction
    size: int
    name: ClassVar[str] = "unary"

    @property
    def form(self) -> Form:
        return Form("u1", -(-self.size // 8))

    @property
    def bits(self) -> float:
        return self.size

    @property
    def chunk(self) -> int:
        return max(1, min(CHUNK, 2**20 // self.size))

    def _lie(self) -> arb:
        return 1 / (1 + ball(self.epsilon).exp())

    def _draw(self, codes: Integers) -> Rows:
        bits = _toss_coins(self._lie, codes.size * self.size).reshape(codes.size, self.size)
        bits[np.arange(codes.size), codes] = bernoulli(Chance(Fraction(1, 2)), codes.size)
        return np.packbits(bits, axis=1, bitorder="little")

    def likelihood(self, row: Rows, code: int) -> arb:
        bits = np.unpackbits(row.view(np.uint8), count=self.size, bitorder="little")
        others, lie = int(bits.sum()) - int(bits[code]), self._lie()
        return lie**others * (1 - lie) ** (self.size - 1 - others) / 2

    def supporting(self) -> tuple[arb, arb]:
        return ball(Fraction(1, 2)), self._lie()

    @cached_property
    def most(self) -> int:
        """Reports with more bits than this are refused: honest ones have a chance below 1e-12 (Chernoff's bound)."""
        lie, others = max(self.rates.lie, sys.float_info.min), self.size - 1
        for extra in range(math.ceil(others * lie), others):
            share = extra / others
            distance = share * math.log(share / lie) + (1 - share) * math.log((1 - share) / (1 - lie)) if share > lie else 0.0
            if others * distance > -math.log(_NEVER):
                return extra
        return self.size

    def valid(self, rows: Rows) -> Booleans:
        packed = rows.astype(np.uint8, copy=False)
        return (count_bits(packed) <= self.most) & has_clear_padding(packed, self.size)

    @property
    def cells(self) -> int:
        return self.size

    def tally(self, rows: Rows) -> Integers:
        return sum_bits(rows, self.size)

    def possible(self, tally: Integers, count: int) -> bool:
        return counts_within(tally, count) and int(tally.sum()) <= self.most * count

    @property
    def targets(self) -> float:
        return self.most

    @property
    def server(self) -> str:
        return f"{self.size:,} counters, {self.size:,} additions a report"

    def plain(self, row: Rows) -> Plain:
        return encode_bits(row)

    def row(self, plain: object) -> Rows | None:
        return decode_bits(plain, self.form.width)


def _toss_coins(law: Callable[[], arb], size: int) -> Booleans:
    """Exact coins that spend a byte each: its eight digits decide all but one in 256, and further words decide those."""
    top, _ = Chance(law).digits(8)
    drawn = words(-(-size // 8)).view(np.uint8)[:size]
    result = drawn < top
    ties = np.flatnonzero(drawn == top)
    result[ties] = bernoulli(Chance(lambda: law() * 256 - top), ties.size)
    return result
