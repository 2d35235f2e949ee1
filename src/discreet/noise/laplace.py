"""Laplace noise and its relatives, as exact integers.

All three are the kernel floor(shift + t Exp(1)) with a random sign:

* discrete Laplace, P(x) proportional to exp(-|x|/t). With q = e^(-1/t) and c = 2/(1+q), P(|X| >= k) = c q^k for k >= 1 and
  c q <= 1 <= c, so |X| = floor(t ln c + t Exp(1)). An independent sign finishes it and does no harm at 0: no rejection, one
  uniform a draw.
* geometric, P(x) = (1 - q) q^x on x >= 0: shift 0, no sign.
* rounded Laplace, floor(f + 1/2 + t L) for a real Laplace L and a given fraction f: the rounding of the *ideal real-valued*
  mechanism, hence its post-processing.

**The kernel**, floor(shift + t Exp(1)). With U uniform, -ln U is Exp(1), so it is v(U) = shift - t ln U and its floor, settled
lazily. A fair sign can be put on the result (``Sign.AFTER``) or on the exponential (``Sign.BEFORE``: floor(shift +- t Exp));
negating is exact, so the bounds below do not change.

**Bound, t <= 2^26.** A word gives 63 digits k and the sign. The float path takes j = k | 1, a point of the closed cell
[k, k + 1], and computes C - t log(j) + shift with C = 63 t ln 2. For k >= 2^43, in units of t: the cell spans
ln((k+1)/k) <= 2^-43; converting j to a double errs by 2^-53; log(j) < 43.7 errs by 16 units in its last place, 2^-43; the double
nearest t, the product, C, the difference and the sum with the shift each err by at most 43.7 * 2^-53 < 2^-47. Together
below 2^-41.8. The shift is known to a relative 2^-52 (fractions on a grid to 2^-53 of 1) and rounded once more; taking the
fraction of a value just below 0, and 1 minus the margin, each err by 2^-54. So the error is below
SLACK * (t + |shift|) / 3 + 2^-51, and floor is settled when v is farther than SLACK * (t + |shift|) + 2^-50 from every integer.
Words with k < 2^43 (one in a million) are always settled with balls.

**Bound, 2^26 < t <= 2^52.** Write t Exp = M H + R with M = 2^m: by memorylessness H = floor(t Exp / M) is geometric (the kernel
again, at scale t / M <= 2^26 and shift 0) and R is an independent exponential cut off at M: R = -t ln(1 - W p),
p = 1 - e^(-M/t), W uniform. So floor(shift + t Exp) = M H + floor(shift + R). For R the relative error is that of p, of W as a
double and of their product (3 * 2^-53 together), of log1p (16 * 2^-52), of t, the product and the sum, amplified by at most
1 / (1 - p) < 2: below 2^-47 M, plus the cell M 2^-63. Settled outside 2^-46 M + SLACK * |shift| + 2^-50.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb, ball, floor, precision
from discreet.errors import EntropyError, ParameterError
from discreet.noise.bits import CHUNK, Words, words
from discreet.noise.lazy import LARGEST, SLACK, settle

LARGEST_SCALE = 2**52
_ONE_WORD = 2**26
_FEW_DIGITS = np.int64(2**43)


def discrete(scale: Fraction, size: int) -> Integers:
    """``size`` draws with P(x) proportional to exp(-|x| / scale), for a rational scale up to 2^52.

    >>> from fractions import Fraction
    >>> discrete(Fraction(3, 2), 4).shape
    (4,)
    """
    check_scale(scale)
    return floors(scale, _log_c(scale), Sign.AFTER, size)


def geometric(scale: Fraction, size: int) -> Integers:
    """``size`` draws with P(x) proportional to exp(-x / scale) on the non-negative integers."""
    return floors(scale, ZERO, Sign.NONE, size)


def rounded(scale: Fraction, fractions: Reals, exact: Callable[[int], Fraction]) -> Integers:
    """floor(f_i + 1/2 + scale * L_i) for independent real Laplace L_i.

    ``fractions`` holds every f_i in [0, 1] to within 2^-53; ``exact(i)`` is f_i itself.
    """
    half = Fraction(1, 2)
    shift = Shift(fractions + 0.5, lambda i: ball(exact(i) + half))
    return floors(scale, shift, Sign.BEFORE, fractions.size)


@lru_cache(maxsize=256)
def _log_c(scale: Fraction) -> Shift:
    def exact(_: int) -> arb:
        return ball(scale) * (arb(2).log() - (-(ball(1 / scale))).exp().log1p())

    with precision(256):
        return Shift(float(exact(0)), exact)


class Sign(Enum):
    """Where a fair random sign goes."""

    NONE = auto()
    AFTER = auto()
    BEFORE = auto()


@dataclass(frozen=True)
class Shift:
    """What is added before flooring: floats near it (to 2^-52 of max(1, |shift|)) and, on demand, the exact number."""

    near: Reals | float
    exact: Callable[[int], arb]

    def chunk(self, start: int, stop: int) -> Reals | float:
        return self.near if isinstance(self.near, float) else self.near[start:stop]


ZERO = Shift(0.0, lambda _: arb(0))


def floors(scale: Fraction, shift: Shift, sign: Sign, size: int) -> Integers:
    """``size`` independent draws of floor(shift + scale * Exp(1)), with a fair sign where ``sign`` says."""
    check_scale(scale)
    result = np.empty(size, dtype=np.int64)
    draw = _short if scale <= _ONE_WORD else _long
    for start in range(0, size, CHUNK):
        stop = min(start + CHUNK, size)
        draw(scale, shift, sign, start, result[start:stop])
    return result


def check_scale(scale: Fraction) -> None:
    """Refuse scales that the proofs above do not cover."""
    if not 0 < scale <= LARGEST_SCALE:
        raise ParameterError("The noise scale must be above 0 and at most 2^52 steps of the grid; choose a coarser grid.")


def margin(scale: float, near: Reals | float) -> float:
    """Half-width of the zone around an integer where balls decide."""
    return SLACK * (scale + float(np.max(np.abs(near)))) + 2.0**-50


@lru_cache(maxsize=256)
def _top(scale: Fraction) -> float:
    """63 t ln 2, rounded once."""
    with precision(256):
        return float(ball(scale) * arb(2**63).log())


def _short(scale: Fraction, shift: Shift, sign: Sign, start: int, result: Integers) -> None:
    """Fill ``result`` at scales up to 2^26: one word a draw."""
    drawn = words(result.size)
    digits = (drawn >> np.uint64(1)).view(np.int64)  # the lowest bit is the sign
    odd = digits | np.int64(1)  # inside the cell [k, k + 1], and never 0
    value = odd.astype(np.float64)
    np.log(value, out=value)
    value *= -float(scale)
    value += _top(scale)
    near = shift.chunk(start, start + result.size)
    zone = margin(float(scale), near)
    _floor(value, near, drawn, sign, result)
    # ``value`` is now a fraction: near 0 or 1 the floats may have been on the wrong side of an integer.
    if value.min() < zone or value.max() > 1 - zone or odd.min() < _FEW_DIGITS:
        for i in np.flatnonzero((value < zone) | (value > 1 - zone) | (odd < _FEW_DIGITS)):
            minus = bool(int(drawn[i]) & 1)
            result[i] = _settle_short(scale, shift.exact, start + int(i), int(digits[i]), sign, minus)


def _floor(value: Reals, near: Reals | float, drawn: Words, sign: Sign, result: Integers) -> None:
    """Sign and shift ``value``; leave its floor in ``result`` and, in place, its fraction."""
    if sign is Sign.BEFORE:
        _negate(value, drawn)
    value += near
    whole = np.floor(value)
    value -= whole
    if sign is Sign.AFTER:
        _negate(whole, drawn)
    result[...] = whole


def _negate(value: Reals, drawn: Words) -> None:
    """Flip the sign bit of the doubles whose word is odd."""
    flipped = value.view(np.uint64)
    flipped ^= drawn << np.uint64(63)


def _settle_short(scale: Fraction, shift: Callable[[int], arb], index: int, digits: int, sign: Sign, minus: bool) -> int:
    before, after = _signs(sign, minus)
    return after * _fitting(settle([digits], 63, lambda u: floor(shift(index) - before * ball(scale) * u[0].log())))


def _signs(sign: Sign, minus: bool) -> tuple[int, int]:
    return (-1 if minus and sign is Sign.BEFORE else 1), (-1 if minus and sign is Sign.AFTER else 1)


def _fitting(value: int) -> int:
    if abs(value) > LARGEST:
        raise EntropyError("A draw beyond 2^62 has probability below 2^-1400; the system's generator cannot be working.")
    return value


@lru_cache(maxsize=256)
def _split(scale: Fraction) -> tuple[int, float]:
    """M = 2^m a little above sqrt(t), and p = 1 - e^(-M/t)."""
    unit = 1 << (int(scale).bit_length() // 2 + 4)
    with precision(256):
        return unit, float(-(ball(-unit / scale)).expm1())


def _long(scale: Fraction, shift: Shift, sign: Sign, start: int, result: Integers) -> None:
    """Fill ``result`` at scales above 2^26: M H from one word, floor(shift + R) from another."""
    unit, cut = _split(scale)
    high = np.empty_like(result)
    _short(scale / unit, ZERO, Sign.NONE, 0, high)
    high *= unit
    drawn = words(result.size)
    digits = (drawn >> np.uint64(1)).view(np.int64)
    value = digits.astype(np.float64)
    value *= -cut * 2.0**-63
    np.log1p(value, out=value)
    value *= -float(scale)
    near = shift.chunk(start, start + result.size)
    _floor(value, near, drawn, sign, result)
    # -x is (x ^ -1) + 1: the upper part takes the lower one's sign, without a branch.
    minus = -(drawn & np.uint64(1)).view(np.int64) if sign is not Sign.NONE else np.int64(0)
    result += (high ^ minus) - minus
    zone = 2.0**-46 * unit + margin(0.0, near)
    for i in np.flatnonzero((value < zone) | (value > 1 - zone)):
        result[i] = _settle_long(scale, shift.exact, start + int(i), int(digits[i]), sign, bool(int(drawn[i]) & 1), int(high[i]))


def _settle_long(
    scale: Fraction, shift: Callable[[int], arb], index: int, digits: int, sign: Sign, minus: bool, high: int
) -> int:
    before, after = _signs(sign, minus)
    unit, _ = _split(scale)

    def decide(w: list[arb]) -> int | None:
        cut = -ball(-unit / scale).expm1()
        return floor(shift(index) - before * ball(scale) * (-(w[0] * cut)).log1p())

    return after * _fitting(before * high + settle([digits], 63, decide))
