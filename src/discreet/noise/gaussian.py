"""Gaussian noise, as exact integers: rounded, floor(f + 1/2 + sigma Z), and discrete.

For whole x, x + floor(1/2 + sigma Z) is the rounding of the *ideal* Gaussian mechanism x + sigma Z: post-processing, so its
closed-form guarantees hold as they stand, in any dimension. With a fraction f the same is true of a real x on a grid.

Box-Muller: R = sqrt(-2 sigma^2 ln U), angle (pi/2) W, a sign for each of R cos and R sin: two independent normals, fixed work.
U and W have 63 digits each; the 64th bits are the signs.

**Bound**, in units of sigma. Settled in floats only if U >= 2^-20 and R >= 2^-9 sigma; the others (three in a million pairs)
go to balls, because near U = 1 an error d in ln U becomes d / R in R.
* ln U: taken of the product j 2^-63, never as a difference, so it errs by 16 units in the last place of itself, 2^-48 |ln U|, by
  the conversion of j (2^-53) and by the cell (2^-63 / U <= 2^-43). R = sqrt(2 |ln U|) errs by |error of ln U| / R. With
  l = |ln U|: the first part is 2^-48 l / R = 2^-49 R <= 2^-46; the second 2^-53 / 2^-9 = 2^-44; the third is at most 2^-44
  for U >= 1/2 (2^-62 / 2^-9 there) and 2^-43 / R <= 2^-43 below. Sum below 2^-42.
* cos and sin: W = (i + w) / 1024; the angle is the middle of slice i plus d, |d| <= pi / 4096. cos d = 1 - d^2/2 + d^4/24
  and sin d = d - d^3/6 are cut off below 2^-58; table entries are correctly rounded; a dozen roundings of numbers at most 1,
  each 2^-53. Below 2^-49, times R <= 5.3: 2^-46.
* the product, the sum with f + 1/2 and the variance: R 2^-52 + (R + 1.5) 2^-53.
Together below 2^-41 sigma + 2^-51, so SLACK * (sigma + 2) is more than twice the error.
Scales beyond 2^30 leave ever more draws to the balls (all of them at 2^40 and above): exact, but about 30 us each.

**Discrete Gaussian noise**, P(x) proportional to exp(-x^2 / 2 sigma^2) on the integers.

Rejection from discrete Laplace noise (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020):
draw y at scale t = floor(sigma) + 1 and keep it with probability exp(-(|y| - sigma^2/t)^2 / 2 sigma^2). Three in four are kept;
how many rounds that takes depends on coins alone, never on data.

*Bound* for ``coins.accept``: z = |y| - sigma^2/t errs by 2^-52 (|y| + sigma^2/t), so the exponent g = (z / sigma)^2 / 2 errs by
at most 2^-49 (g + sqrt(g) + 1) and e^-g by less than 2^-48.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb, ball, floor, precision
from discreet.errors import EntropyError, ParameterError
from discreet.exact import root
from discreet.noise import laplace
from discreet.noise.bits import CHUNK, Words, words
from discreet.noise.coins import accept
from discreet.noise.lazy import SLACK, settle

LARGEST_SCALE = 2**52
LARGEST_DISCRETE = 2**51
_SLICES = 1024
_PAIRS = CHUNK // 2
_FEW_DIGITS = np.int64(2**43)
_SMALL_RADIUS = 2.0**-9
_1, _54, _63, _53_ONES = (np.uint64(n) for n in (1, 54, 63, 2**53 - 1))


def rounded(
    variance: Fraction, size: int, fractions: Reals | None = None, exact: Callable[[int], Fraction] = lambda _: Fraction(0)
) -> Integers:
    """floor(f_i + 1/2 + sqrt(variance) * Z_i) for independent standard normal Z_i.

    ``fractions`` holds every f_i in [0, 1] to within 2^-53 (all 0 if left out); ``exact(i)`` is f_i itself.

    >>> rounded(Fraction(9), 5).shape
    (5,)
    """
    if not 0 < variance <= LARGEST_SCALE**2:
        raise ParameterError("The noise scale must be above 0 and at most 2^52 steps of the grid; choose a coarser grid.")
    even = size + size % 2
    result = np.empty(even, dtype=np.int64)
    half = Fraction(1, 2)

    def shift(i: int) -> arb:
        return ball(half + exact(i) if i < size else half)

    near: Reals | None = None
    if fractions is not None:
        near = np.full(even, 0.5)
        near[:size] += fractions
    for start in range(0, even, 2 * _PAIRS):
        stop = min(start + 2 * _PAIRS, even)
        _pairs(variance, near, shift, start, stop, result)
    return result[:size]


def margin(deviation: float) -> float:
    """Half-width of the zone around an integer where balls decide."""
    return SLACK * (deviation + 2)


def _pairs(variance: Fraction, near: Reals | None, shift: Callable[[int], arb], start: int, stop: int, result: Integers) -> None:
    """Fill the first half of result[start:stop] with the cosines and the second with the sines of as many pairs."""
    count = (stop - start) // 2
    drawn = words(2 * count)
    first, second = drawn[:count], drawn[count:]
    deviation, double = _floats(variance)
    # R = sqrt(-2 sigma^2 ln U), U from a point inside the cell of its 63 digits, which is never 0.
    odd = (first >> _1).view(np.int64)
    odd |= np.int64(1)
    radius = odd.astype(np.float64)
    radius *= 2.0**-63
    np.log(radius, out=radius)
    radius *= -double
    np.maximum(radius, 0.0, out=radius)  # libraries may return a tiny positive logarithm next to 1
    np.sqrt(radius, out=radius)
    both = _cos_sin(second)
    both *= radius
    value = both.reshape(-1)
    flipped = value.view(np.uint64)  # the lowest bit of each word is the sign of its double
    flipped ^= drawn << _63
    value += 0.5 if near is None else near[start:stop]
    whole = np.floor(value)
    value -= whole
    result[start:stop] = whole
    # ``value`` is now a fraction: near 0 or 1 the floats may have been on the wrong side of an integer.
    zone = margin(deviation)
    small = _SMALL_RADIUS * deviation
    if not _sure(value, radius, odd, zone, small):
        near_edge = (value < zone) | (value > 1 - zone)
        for i in np.flatnonzero(near_edge[:count] | near_edge[count:] | (radius < small) | (odd < _FEW_DIGITS)):
            here, there = start + int(i), start + count + int(i)
            pair = _settle_pair(variance, (int(first[i]), int(second[i])), shift, here, there)
            result[here], result[there] = pair


def _sure(value: Reals, radius: Reals, odd: Integers, zone: float, small: float) -> bool:
    """Whether floats settle every one of these pairs."""
    if odd.size == 1:  # reducing arrays of one or two takes longer than all the rest
        inside = zone <= value[0] <= 1 - zone and zone <= value[1] <= 1 - zone
        return bool(inside and radius[0] >= small and odd[0] >= _FEW_DIGITS)
    low = np.minimum.reduce
    inside = low(value) >= zone and np.maximum.reduce(value) <= 1 - zone
    return bool(inside and low(radius) >= small and low(odd) >= _FEW_DIGITS)


@lru_cache(maxsize=256)
def _floats(variance: Fraction) -> tuple[float, float]:
    """sigma and 2 sigma^2, each within a unit in the last place."""
    return math.sqrt(variance), float(2 * variance)


@lru_cache(maxsize=1)
def _table() -> Reals:
    """Cosines (first row) and sines of the middle of each of the 1024 slices of a quarter turn, correctly rounded."""
    with precision(128):
        angles = [arb(2 * i + 1) / (4 * _SLICES) for i in range(_SLICES)]
        return np.array([[float(a.cos_pi()) for a in angles], [float(a.sin_pi()) for a in angles]])


def _cos_sin(drawn: Words) -> Reals:
    """Cosine (first row) and sine of (pi/2) W, W given by the upper 63 bits of each word."""
    middle = _table().take((drawn >> _54).view(np.int64), axis=1)
    inside = ((drawn >> _1) & _53_ONES).view(np.int64).astype(np.float64)
    width = np.pi / (2 * _SLICES)
    inside *= 2.0**-53 * width
    inside -= 0.5 * width
    square = inside * inside
    bend = square * (1 / 24)  # cos d = 1 + d^2 (d^2/24 - 1/2)
    bend -= 0.5
    bend *= square
    square *= -1 / 6  # sin d = d (1 - d^2/6)
    square += 1.0
    inside *= square
    turned = middle[::-1] * inside  # cos(m + d) = cos m cos d - sin m sin d; sin(m + d) = sin m cos d + cos m sin d
    np.negative(turned[0], out=turned[0])
    turned += middle * bend
    turned += middle
    return turned


def _settle_pair(
    variance: Fraction, pair: tuple[int, int], shift: Callable[[int], arb], here: int, there: int
) -> tuple[int, int]:
    """Both outputs of a pair from the same digits, refined together."""
    signs = [-1 if word & 1 else 1 for word in pair]

    def decide(uniforms: list[arb]) -> tuple[int, int] | None:
        radius = (-2 * ball(variance) * uniforms[0].log()).nonnegative_part().sqrt()
        sin, cos = (uniforms[1] / 2).sin_cos_pi()
        one = floor(shift(here) + signs[0] * radius * cos)
        two = floor(shift(there) + signs[1] * radius * sin)
        return None if one is None or two is None else (one, two)

    return settle([word >> 1 for word in pair], 63, decide)


def discrete(variance: Fraction, size: int) -> Integers:
    """``size`` draws with P(x) proportional to exp(-x^2 / (2 variance)).

    >>> discrete(Fraction(4), 3).shape
    (3,)
    """
    if not 0 < variance <= LARGEST_DISCRETE**2:
        raise ParameterError("The noise scale must be above 0 and at most 2^51; use the rounded Gaussian on a coarser grid.")
    scale = math.isqrt(math.floor(variance)) + 1
    centre = variance / scale
    kept: list[Integers] = []
    missing, idle = size, 0
    # Below 1e-300 a sigma means: 0, but for a chance that no float and no patience can tell from none.
    sigma = max(float(root(variance)), 1e-300)
    while missing > 0:
        drawn = laplace.discrete(Fraction(scale), min(missing + missing // 2 + 8, CHUNK))
        distance = np.abs(drawn)
        gap = distance - float(centre)

        def exponent(i: int, distance: Integers = distance) -> Fraction:
            return (int(distance[i]) - centre) ** 2 / (2 * variance)

        with np.errstate(over="ignore"):
            steps = gap / sigma
            exponents = steps * steps / 2
        drawn = drawn[accept(exponents, exponent)][:missing]
        kept.append(drawn)
        missing -= drawn.size
        idle = 0 if drawn.size else idle + 1
        if idle > 200:
            raise EntropyError("Two hundred rounds kept no draw; the system's generator cannot be working.")
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
