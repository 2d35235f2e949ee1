"""Exact coins, uniform integers and weighted choice.

A coin compares the binary digits of a uniform U with those of its probability p: heads when U < p. The first 64
digits decide all but one word in 2^64; a tie goes on to the next 64. No float takes part.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.balls import arb, ball, floor, precision
from discreet.errors import EntropyError
from discreet.noise.bits import words
from discreet.noise.lazy import SLACK, settle

_PATIENCE = 2048  # rounds, or binary digits, that a working generator never needs
_STUCK = "Two thousand random bits did not settle one draw; the system's generator cannot be working."


@dataclass(frozen=True)
class Chance:
    """A probability known to any number of binary digits: a rational, or an irrational given as a ball of any precision."""

    value: Fraction | Callable[[], arb]

    def digits(self, count: int) -> tuple[int, bool]:
        """floor(p 2^count), and whether nothing of p is left after it."""
        if isinstance(self.value, Fraction):
            scaled = self.value * 2**count
            return int(scaled), scaled.denominator == 1
        extra = 64
        while True:
            with precision(count + extra):
                whole = floor(self.value() * ball(2**count))
            if whole is not None:
                return whole, False
            extra *= 2


def exponential_chance(exponent: Fraction) -> Chance:
    """e^(-exponent) for a rational exponent >= 0 (irrational unless the exponent is 0)."""
    if exponent == 0:
        return Chance(Fraction(1))
    return Chance(lambda: (-ball(exponent)).exp())


def bernoulli(chance: Chance, size: int) -> Booleans:
    """``size`` independent coins that come up True with exactly this probability.

    >>> bernoulli(Chance(Fraction(1)), 3)
    array([ True,  True,  True])
    """
    top, _ = chance.digits(64)
    if top == 2**64:
        return np.ones(size, dtype=np.bool_)
    drawn = words(size)
    result = drawn < np.uint64(top)
    for i in np.flatnonzero(drawn == np.uint64(top)):
        result[i] = _break_tie(chance, top)
    return result


def _break_tie(chance: Chance, drawn: int) -> bool:
    """U and p agree in their first 64 digits: is U < p?"""
    known = 64
    while known < _PATIENCE:
        digits, complete = chance.digits(known)
        if drawn != digits:
            return drawn < digits
        if complete:
            return False
        drawn = drawn << 64 | int(words(1)[0])
        known += 64
    raise EntropyError(_STUCK)


def accept(exponents: Reals, exact: Callable[[int], Fraction]) -> Booleans:
    """Independent coins with probabilities e^(-g_i).

    ``exponents`` holds each g_i >= 0 well enough that e^(-g) errs by at most 2^-42; ``exact(i)`` is g_i itself.
    Comparing 64 digits as a double with exp in floats adds less than 2^-47, so a distance above SLACK settles it.
    """
    drawn = words(exponents.size)
    gap = np.exp(-exponents)
    gap -= drawn * 2.0**-64
    result = gap > 0
    for i in np.flatnonzero(np.abs(gap) < SLACK):
        result[i] = _accept_exactly(int(drawn[i]), exact(int(i)))
    return result


def _accept_exactly(drawn: int, exponent: Fraction) -> bool:
    return settle([drawn], 64, lambda u: _below(u[0], (-ball(exponent)).exp()))


def _below(left: arb, right: arb) -> bool | None:
    if left < right:
        return True
    return False if left > right else None


def uniform(below: int, size: int) -> Integers:
    """``size`` independent integers, uniform on 0 .. below - 1, for ``below`` up to 2^63.

    Words are cut to the length of ``below`` and those too large are drawn again: exact, and independent of any data.
    """
    mask = np.uint64((1 << (below - 1).bit_length()) - 1)
    result = (words(size) & mask).view(np.int64)
    for _ in range(_PATIENCE):  # each word fits with probability 1/2 or more
        over = np.flatnonzero(result >= below)
        if not over.size:
            return result
        result[over] = (words(over.size) & mask).view(np.int64)
    raise EntropyError(_STUCK)


def uniform_each(below: Integers) -> Integers:
    """One integer for each bound, uniform on 0 .. bound - 1, all independent; bounds are from 1 to 2^31.

    >>> uniform_each(np.array([1, 1])).tolist()
    [0, 0]
    """
    lengths = np.frexp(np.maximum(below - 1, 0).astype(np.float64))[1].astype(np.uint64)  # of bits; these floats are exact
    mask = (np.uint64(1) << lengths) - np.uint64(1)
    result = (words(below.size) & mask).view(np.int64)
    for _ in range(_PATIENCE):
        over = np.flatnonzero(result >= below)
        if not over.size:
            return result
        result[over] = (words(over.size) & mask[over]).view(np.int64)
    raise EntropyError(_STUCK)


def weighted(weights: Sequence[int | Fraction], size: int) -> Integers:
    """``size`` independent indices, i with probability weights[i] / sum(weights), for exact non-negative weights."""
    scale = math.lcm(*(Fraction(weight).denominator for weight in weights))
    sums = list(accumulate(int(weight * scale) for weight in weights))
    if sums[-1] <= 2**62:
        return np.searchsorted(np.array(sums), uniform(sums[-1], size), side="right")
    return np.array([bisect_right(sums, _large_uniform(sums[-1])) for _ in range(size)], dtype=np.int64)


def _large_uniform(below: int) -> int:
    length = (below - 1).bit_length()
    for _ in range(_PATIENCE):
        drawn = int.from_bytes(words(-(-length // 64)).tobytes(), "little") & ((1 << length) - 1)
        if drawn < below:
            return drawn
    raise EntropyError(_STUCK)
