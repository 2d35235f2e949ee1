"""The winner of a noisy contest, argmax_i (w s_i + N_i), exactly, in one pass over a million candidates.

Three noises, each falling in one uniform V: exponential, N = -ln V; Gumbel, N = -ln(-ln(1 - V)); Laplace, N = -ln(2V) for
V < 1/2 and ln(2 - 2V) above. The noise is the ideal real-valued one, so ties have probability 0 and the winner's law is the
textbook's.

All three satisfy N <= -ln V (for Gumbel because -ln(1 - V) >= V). So one cheap screen serves them: 32 digits r of V, and

    up_i = w (s_i - s_max) - ln(r_i / 2^32) + TOLERANCE     is above candidate i's noisy score,
    low  = the same candidate's least possible noisy score, for the most promising i of each chunk,

and whoever has up_i below the best low cannot win. Those left (one, nearly always) get 64 further digits at a time and are
compared as balls, until one ball lies above all others. Candidates with r = 0 have up = infinity and always stay.

**TOLERANCE** = 2^-10 covers the float32 arithmetic: distances are cut off at -200 (raising a score's upper bound keeps it
one) and rounded to 2^-24 * 200 < 2^-16; r as a float32 errs by 2^-24, its logarithm (at most 22.2, 16 units in the last place)
by 2^-15, the sum by 2^-16.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.balls import arb, ball, between, precision
from discreet.errors import EntropyError
from discreet.exact import nearest
from discreet.noise.bits import CHUNK, words

TOLERANCE = 2.0**-10
_FLOOR = -200.0


class Noise(Enum):
    """The law added to every score before the largest wins."""

    EXPONENTIAL = "exponential"
    GUMBEL = "gumbel"
    LAPLACE = "laplace"


def noisy_argmax(distances: Reals, weight: Fraction, noise: Noise, exact: Callable[[int], Fraction]) -> int:
    """The index of the largest ``weight * score + noise``.

    ``distances`` holds s_i - s_max <= 0 to a relative 2^-52 (minus infinity where it leaves the doubles); ``exact(i)`` is
    that distance as a rational.

    >>> noisy_argmax(np.array([0.0, -1e9]), Fraction(1), Noise.GUMBEL, lambda i: Fraction([0, -10**9][i]))
    0
    """
    bound = np.empty(distances.size, dtype=np.float32)
    digits = np.empty(distances.size, dtype=np.uint32)
    best = -math.inf
    factor = nearest(weight)
    for start in range(0, distances.size, 2 * CHUNK):
        here = slice(start, min(start + 2 * CHUNK, distances.size))
        _screen(distances[here], factor, digits[here], bound[here])
        leader = start + int(bound[here].argmax())
        best = max(best, _least(_scaled(float(distances[leader]), factor), int(digits[leader]), noise))
    cutoff = np.nextafter(np.float32(max(best, -1e30)), np.float32(-math.inf))  # no bound lies below -201 anyway
    left = np.flatnonzero(bound >= cutoff)
    return _play_off([int(i) for i in left], [int(d) for d in digits[left]], weight, noise, exact)


def _screen(distances: Reals, weight: float, digits: NDArray[np.uint32], bound: NDArray[np.float32]) -> None:
    """Draw 32 digits a candidate and bound every noisy score from above."""
    digits[...] = words(-(-digits.size // 2)).view(np.uint32)[: digits.size]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # ln 0: the bound is infinite, as it should be
        scaled = distances * weight
        scaled[~(distances > -math.inf) | np.isnan(scaled)] = 0.0  # a distance beyond the doubles, or 0 * infinity: at most 0
        if weight == math.inf:
            scaled[distances > -1e-200] = 0.0  # the true weight may make up for so small a distance
        np.log(digits.astype(np.float32), out=bound)
    np.maximum(scaled, _FLOOR, out=scaled)
    np.subtract(scaled, bound, out=bound, casting="same_kind")
    bound += np.float32(32 * math.log(2) + TOLERANCE)


def _scaled(distance: float, weight: float) -> float:
    """distance * weight from below, where one of them may have left the doubles."""
    if distance == 0:
        return 0.0
    return distance * weight if distance > -math.inf else distance


def _least(distance: float, digits: int, noise: Noise) -> float:
    """Below the noisy score of every V in the cell; minus infinity where nothing better is known."""
    top = (digits + 1) / 2.0**32
    if top == 1 and noise is not Noise.EXPONENTIAL:
        return -math.inf
    if noise is Noise.EXPONENTIAL:
        score = -math.log(top)
    elif noise is Noise.GUMBEL:
        score = -math.log(-math.log1p(-top))
    else:
        score = -math.log(2 * top) if top <= 0.5 else math.log(2 - 2 * top)
    return distance + score - TOLERANCE * (1 - distance / 200) if distance > -math.inf else distance


def _play_off(left: list[int], digits: list[int], weight: Fraction, noise: Noise, exact: Callable[[int], Fraction]) -> int:
    """Reveal 64 more digits of everybody still in the contest until one is certainly ahead."""
    known = 32
    while len(left) > 1:
        if known > 64 * 32:
            raise EntropyError("Two thousand random bits did not settle one contest; the system's generator cannot be working.")
        digits = [cell << 64 | int(word) for cell, word in zip(digits, words(len(left)), strict=True)]
        known += 64
        with precision(2 * known + 64):
            scores = [ball(weight * exact(i)) + _noise(cell, known, noise) for i, cell in zip(left, digits, strict=True)]
            best = max((score.lower() for score in scores if score.is_finite()), default=None)
            stay = [not score.is_finite() or best is None or not score < best for score in scores]
        left = [i for i, stays in zip(left, stay, strict=True) if stays]
        digits = [cell for cell, stays in zip(digits, stay, strict=True) if stays]
    return left[0]


def _noise(cell: int, known: int, noise: Noise) -> arb:
    """The ball of N over a whole cell of V (not finite at the ends, where more digits are needed)."""
    v = between(cell, known)
    if noise is Noise.EXPONENTIAL:
        return -v.log()
    if noise is Noise.GUMBEL:
        return -(-(-v).log1p()).log()
    return -(2 * v).log() if cell >> (known - 1) == 0 else (2 - 2 * v).log()
