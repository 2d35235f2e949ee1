"""Subset selection: report a set of w values, which holds the own one more often than any other.

**Theorem** (Wang et al. 2016; Ye and Barg 2018). With probability p = w e^epsilon / (w e^epsilon + d - w) the set is the own
value and w - 1 others, else w others, all sets alike. A set is e^epsilon times likelier for the values it holds than for those
it does not. With w near d / (e^epsilon + 1) no protocol has a smaller error, to leading order in the number of people.
"""

from __future__ import annotations

import base64
import binascii
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.balls import arb, ball
from discreet.errors import ParameterError
from discreet.local.protocols.base import Form, FrequencyProtocol, Plain, Rows, chance_inside, counts_within
from discreet.noise.bits import CHUNK
from discreet.noise.coins import Chance, bernoulli, uniform


@dataclass(frozen=True)
class Subset(FrequencyProtocol):
    """Subset selection. The report is w rising numbers of values, or one bit for every value where that is shorter.

    >>> Subset(Fraction(1), 4, 1).rates.truth == Subset(Fraction(1), 4, 1).rates.lie + Subset(Fraction(1), 4, 1).rates.gain
    True
    """

    epsilon: Fraction
    size: int
    weight: int
    name: ClassVar[str] = "subset"
    parameter_names: ClassVar[tuple[str, ...]] = ("weight",)

    def __post_init__(self) -> None:
        if not 1 <= self.weight < self.size:
            raise ParameterError(f"A subset of {self.size:,} values has 1 to {self.size - 1:,} of them, not {self.weight:,}.")

    @classmethod
    def offers(cls, epsilon: Fraction, size: int) -> list[Subset]:
        best = size / (math.exp(min(float(epsilon), 700.0)) + 1)
        weights = {min(max(1, whole), size - 1) for whole in (math.floor(best), math.ceil(best))}
        return [cls(epsilon, size, weight) for weight in sorted(weights)]

    @property
    def listed(self) -> bool:
        """Whether a list of numbers is shorter than a bit for every value."""
        return self.weight * (self.size - 1).bit_length() < self.size

    @property
    def form(self) -> Form:
        return Form("<u4", self.weight) if self.listed else Form("u1", -(-self.size // 8))

    @property
    def bits(self) -> float:
        return min(self.weight * math.log2(self.size), self.size)

    @property
    def chunk(self) -> int:
        return max(1, min(CHUNK, 2**24 // self.size))

    def _draw(self, codes: Integers) -> Rows:
        # A uniform set of w others first; where the own value belongs in, it takes the place of a uniform one of them.
        inside = bernoulli(Chance(chance_inside(self.weight, self.size - self.weight, self.epsilon)), codes.size)
        leaving = uniform(self.weight, codes.size)
        chosen = _draw_sets(self.size - 1, self.weight, codes.size)
        chosen += chosen >= codes[:, None]
        place = np.arange(codes.size)
        chosen[place, leaving] = np.where(inside, codes, chosen[place, leaving])
        if self.listed:
            return np.sort(chosen, axis=1).astype(np.uint32)
        bits = np.zeros((codes.size, self.size), dtype=np.bool_)
        bits[place[:, None], chosen] = True
        return np.packbits(bits, axis=1, bitorder="little")

    def members(self, row: Rows) -> set[int]:
        """The values in one report."""
        if self.listed:
            return {int(code) for code in row}
        return {int(code) for code in np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little"))}

    def likelihood(self, row: Rows, code: int) -> arb:
        truth, others = self.supporting()[0], self.size - 1
        if code in self.members(row):
            return truth / ball(math.comb(others, self.weight - 1))
        return (1 - truth) / ball(math.comb(others, self.weight))

    def supporting(self) -> tuple[arb, arb]:
        truth = chance_inside(self.weight, self.size - self.weight, self.epsilon)()
        return truth, (self.weight - truth) / (self.size - 1)

    def valid(self, rows: Rows) -> Booleans:
        if self.listed:
            codes = rows.astype(np.int64)
            rising: Booleans = np.all(np.diff(codes, axis=1) > 0, axis=1)
            return rising & (codes[:, -1] < self.size)
        packed = rows.astype(np.uint8, copy=False)
        right: Booleans = count_bits(packed) == self.weight
        return right & has_clear_padding(packed, self.size)

    @property
    def cells(self) -> int:
        return self.size

    def tally(self, rows: Rows) -> Integers:
        if self.listed:
            return np.bincount(rows.ravel().astype(np.int64), minlength=self.size)
        return sum_bits(rows, self.size)

    def possible(self, tally: Integers, count: int) -> bool:
        return counts_within(tally, count) and int(tally.sum()) == self.weight * count

    @property
    def targets(self) -> float:
        return self.weight

    @property
    def server(self) -> str:
        return f"{self.size:,} counters, {self.weight:,} additions a report"

    def plain(self, row: Rows) -> Plain:
        return [int(code) for code in row] if self.listed else encode_bits(row)

    def row(self, plain: object) -> Rows | None:
        if not self.listed:
            return decode_bits(plain, self.form.width)
        if not isinstance(plain, list) or len(plain) != self.weight:
            return None
        if not all(type(code) is int and 0 <= code < self.size for code in plain):
            return None
        return np.array(plain, dtype=np.uint32)


def _draw_sets(below: int, weight: int, count: int) -> Integers:
    """``count`` uniform sets of ``weight`` numbers below ``below``, one a row (Floyd's algorithm, all rows at once)."""
    taken = np.zeros((count, below), dtype=np.bool_)
    chosen = np.empty((count, weight), dtype=np.int64)
    place = np.arange(count)
    for step, last in enumerate(range(below - weight, below)):
        drawn = uniform(last + 1, count)
        drawn = np.where(taken[place, drawn], last, drawn)
        taken[place, drawn] = True
        chosen[:, step] = drawn
    return chosen


def count_bits(packed: Rows) -> Integers:
    """How many bits are set in every row."""
    weights: Integers = np.bitwise_count(packed.view(np.uint8)).sum(axis=1, dtype=np.int64)
    return weights


def has_clear_padding(packed: Rows, size: int) -> Booleans:
    """Whether the bits that only fill up the last byte are clear."""
    clear: Booleans = packed.view(np.uint8)[:, -1] >> np.uint8((size - 1) % 8) <= 1
    return clear


def sum_bits(rows: Rows, size: int) -> Integers:
    """How often each of ``size`` bits is set in packed rows."""
    total = np.zeros(size, dtype=np.int64)
    step = max(1, 2**22 // size)
    for start in range(0, len(rows), step):
        bits = np.unpackbits(rows[start : start + step].view(np.uint8), axis=1, count=size, bitorder="little")
        total += bits.sum(axis=0, dtype=np.int64)
    return total


def encode_bits(row: Rows) -> str:
    """Packed bits as base64."""
    return base64.b64encode(row.tobytes()).decode("ascii")


def decode_bits(plain: object, width: int) -> Rows | None:
    """The packed bits that base64 held, or None."""
    try:
        found = base64.b64decode(plain, validate=True) if isinstance(plain, str) else b""
    except (binascii.Error, ValueError):
        return None
    return np.frombuffer(found, dtype=np.uint8) if len(found) == width else None
