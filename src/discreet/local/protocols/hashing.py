"""Optimal local hashing: hash the value into a few buckets with a fresh seed, then randomise the bucket.

**Theorem** (Wang, Blocki, Li, Jha 2017). Given the seed, which does not depend on the value, k-ary randomized response among
g buckets makes a report at most e^epsilon times likelier for one value than for another. g near e^epsilon + 1 is best. The domain
may be open: values are keys of 64 bits. The collector evaluates every report's hash at every candidate, so it is slow.

The hash is strongly universal (Thorup 2015, vector multiply-shift): with a, b, c uniform words of 64 bits and a key's halves x
and y, the upper 32 bits of a x + b y + c, modulo 2^64, are uniform and independent for any two keys. They are cut into g buckets
of equal size to within 2^-32. The words come from the seed by the SplitMix64 sequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.arrays import Booleans, Integers
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import Form, FrequencyProtocol, Plain, Rows, chance_inside, counts_within
from discreet.mechanisms.randomized_response import respond
from discreet.noise.bits import CHUNK, Words, words
from discreet.noise.coins import Chance

_HALF = np.uint64(32)
_LOW = np.uint64(2**32 - 1)


@dataclass(frozen=True)
class Hashing(FrequencyProtocol):
    """Optimal local hashing. The report is a seed and a bucket; in JSON, ``["<seed, 16 hexadecimal digits>", bucket]``."""

    epsilon: Fraction
    size: int  # how many candidates the collector has; 0 on a client of an open domain
    buckets: int
    keys: Integers | None = field(default=None, compare=False, repr=False)  # the candidates, 0 .. size - 1 unless told
    name: ClassVar[str] = "hashing"
    parameter_names: ClassVar[tuple[str, ...]] = ("buckets",)

    def __post_init__(self) -> None:
        if not 2 <= self.buckets <= 2**31:
            raise ParameterError(f"Hashing needs 2 to 2^31 buckets, not {self.buckets:,}; leave the choice to discreet.")

    @classmethod
    def offers(cls, epsilon: Fraction, size: int) -> list[Hashing]:
        return [cls(epsilon, size, choose_buckets(epsilon))]

    def among(self, keys: Integers) -> Hashing:
        """The same protocol, for a collector that looks for these keys."""
        return replace(self, size=keys.size, keys=keys)

    @property
    def form(self) -> Form:
        return Form("<u8", 2)

    @property
    def bits(self) -> float:
        return 64 + math.log2(self.buckets)

    def _draw(self, codes: Integers) -> Words:
        seeds = words(codes.size)
        own = hash_to_bucket(seeds, codes, self.buckets)
        told = respond(own, self.buckets, Chance(chance_inside(1, self.buckets - 1, self.epsilon)))
        return np.stack([seeds, told.view(np.uint64)], axis=1)

    def likelihood(self, row: Rows, code: int) -> arb:
        """Of the bucket given the seed, which has a chance of 2^-64 whatever the value."""
        seed, reported = row.astype(np.uint64)
        own = hash_to_bucket(np.array([seed]), np.array([code]), self.buckets)[0]
        truth = self.supporting()[0]
        return truth if own == reported else (1 - truth) / (self.buckets - 1)

    def supporting(self) -> tuple[arb, arb]:
        return chance_inside(1, self.buckets - 1, self.epsilon)(), arb(1) / self.buckets

    def total_variation(self) -> arb:
        """Of the buckets of a seed that tells two keys apart; others do not tell them apart at all."""
        truth = self.supporting()[0]
        return truth - (1 - truth) / (self.buckets - 1)

    def valid(self, rows: Rows) -> Booleans:
        return rows.astype(np.uint64, copy=False)[:, 1] < np.uint64(self.buckets)

    @property
    def cells(self) -> int:
        return self.size

    def tally(self, rows: Rows) -> Integers:
        keys = np.arange(self.size) if self.keys is None else self.keys
        total = np.zeros(keys.size, dtype=np.int64)
        for start in range(0, len(rows), CHUNK):
            seeds, reported = rows[start : start + CHUNK].astype(np.uint64, copy=False).T
            multipliers, wanted = _multipliers(seeds), reported.astype(np.int64)
            for place, key in enumerate(keys):
                total[place] += np.count_nonzero(_hash_to_bucket(multipliers, key.view(np.uint64), self.buckets) == wanted)
        return total

    def possible(self, tally: Integers, count: int) -> bool:
        return counts_within(tally, count)

    @property
    def targets(self) -> float:
        return self.size / self.buckets

    @property
    def server(self) -> str:
        return "one counter and one hash a report for every candidate: minutes for a million reports and ten thousand candidates"

    def plain(self, row: Rows) -> Plain:
        seed, reported = row.tolist()
        return [f"{seed:016x}", reported]

    def row(self, plain: object) -> Rows | None:
        if not isinstance(plain, list) or len(plain) != 2:
            return None
        seed, reported = plain
        if not isinstance(seed, str) or len(seed) != 16 or not set(seed) <= set("0123456789abcdef"):
            return None
        if type(reported) is not int or not 0 <= reported < self.buckets:
            return None
        return np.array([int(seed, 16), reported], dtype=np.uint64)


def choose_buckets(epsilon: Fraction) -> int:
    """g nearest to e^epsilon + 1, where the variance is least."""
    return min(2**31, round(math.exp(min(float(epsilon), 21.0))) + 1)


def hash_to_bucket(seeds: Words, keys: Integers, buckets: int) -> Integers:
    """The bucket of each key under the seed beside it."""
    return _hash_to_bucket(_multipliers(seeds), keys.astype(np.int64).view(np.uint64), buckets)


def hash_by_seed(seeds: Words, keys: Integers, buckets: int) -> Iterator[Integers]:
    """The buckets of all keys under one seed after the other."""
    words = keys.astype(np.int64).view(np.uint64)
    high, low = words >> _HALF, words & _LOW
    for first, second, shift in zip(*_multipliers(seeds), strict=True):
        yield _mix(high * first, low * second, shift, buckets)


def _hash_to_bucket(multipliers: tuple[Words, Words, Words], keys: Words | np.uint64, buckets: int) -> Integers:
    first, second, shift = multipliers
    return _mix(first * (keys >> _HALF), second * (keys & _LOW), shift, buckets)


def _mix(high: Words, low: Words, shift: Words | np.uint64, buckets: int) -> Integers:
    """The bucket of a sum modulo 2^64, in place of its first term."""
    high += low
    high += shift
    high >>= _HALF
    high *= np.uint64(buckets)
    high >>= _HALF
    return high.view(np.int64)


def _multipliers(seeds: Words) -> tuple[Words, Words, Words]:
    return _split_mix(seeds, 1), _split_mix(seeds, 2), _split_mix(seeds, 3)


def _split_mix(seeds: Words, step: int) -> Words:
    """The ``step``-th number of the SplitMix64 sequence (Steele, Lea, Flood 2014) that starts at each seed."""
    with np.errstate(over="ignore"):
        mixed = seeds + np.uint64(step * 0x9E3779B97F4A7C15 % 2**64)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
