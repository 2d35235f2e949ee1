"""Laplace noise and its relatives, as exact integers.

All three are the kernel floor(shift + t Exp(1)) with a random sign:

* discrete Laplace, P(x) proportional to exp(-|x|/t). With q = e^(-1/t) and c = 2/(1+q), P(|X| >= k) = c q^k for k >= 1 and
  c q <= 1 <= c, so |X| = floor(t ln c + t Exp(1)). An independent sign finishes it and does no harm at 0: no rejection, one
  uniform a draw.
* geometric, P(x) = (1 - q) q^x on x >= 0: shift 0, no sign.
* rounded Laplace, floor(f + 1/2 + t L) for a real Laplace L and a given fraction f: the rounding of the *ideal real-valued*
  mechanism, hence its post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.arrays import Integers, Reals
from discreet.balls import arb, ball, precision
from discreet.noise.exponential import LARGEST_SCALE, ZERO, Shift, Sign, check_scale, floors

__all__ = ["LARGEST_SCALE", "discrete", "geometric", "rounded"]


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
