"""Probability mass functions to more than 100 bits, straight from their definitions.

Every function returns a ball (``flint.arb``) computed at 320 bits; ``floats`` turns a range of them into doubles. Nothing here is
shared with the library: a law and a sampler that agree were written twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, lru_cache, wraps
from itertools import pairwise
from typing import TypeVar

import numpy as np
from flint import acb, arb, ctx, fmpq

BITS = 320
_T = TypeVar("_T")


def _precise(function: Callable[..., _T]) -> Callable[..., _T]:
    @wraps(function)
    def run(*arguments: object) -> _T:
        with ctx.workprec(BITS):
            return function(*arguments)

    return run


def real(value: Fraction | int) -> arb:
    """The ball of a rational at the precision in force."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def floats(law: Callable[[int], arb], low: int, high: int) -> np.ndarray:
    """law(low), ..., law(high) as doubles."""
    return np.array([float(law(x)) for x in range(low, high + 1)])


@_precise
def geometric(scale: Fraction, x: int) -> arb:
    """(1 - q) q^x on x >= 0, q = e^(-1/scale)."""
    return -real(-1 / scale).expm1() * real(-x / scale).exp() if x >= 0 else arb(0)


@_precise
def discrete_laplace(scale: Fraction, x: int) -> arb:
    """(1 - q) / (1 + q) q^|x|."""
    q = real(-1 / scale).exp()
    return (1 - q) / (1 + q) * real(-abs(x) / scale).exp()


@_precise
def discrete_laplace_cdf(scale: Fraction, x: int) -> arb:
    """P(X <= x), summed as two geometric series."""
    q = real(-1 / scale).exp()
    return real(x / scale).exp() / (1 + q) if x < 0 else 1 - real(-(x + 1) / scale).exp() / (1 + q)


@_precise
def discrete_laplace_residue(scale: Fraction, modulus: int, residue: int) -> arb:
    """P(X = residue modulo modulus)."""
    q = real(-1 / scale).exp()
    cycle = 1 - real(-modulus / scale).exp()
    up = real(-residue / scale).exp() / cycle
    down = real(-(modulus - residue) / scale).exp() / cycle
    return (1 - q) / (1 + q) * (up + down)


@_precise
def geometric_byte(scale: Fraction, position: int, byte: int) -> arb:
    """P(floor(G / 2^position) modulo 256 = byte) for a geometric G."""
    step = Fraction(2**position) / scale
    return -real(-step).expm1() * real(-step * byte).exp() / -real(-256 * step).expm1()


@_precise
def normal_cdf(variance: Fraction, point: Fraction) -> arb:
    """P(sigma Z <= point)."""
    return (-real(point) / real(2 * variance).sqrt()).erfc() / 2


@_precise
def rounded_gaussian(variance: Fraction, fraction: Fraction, x: int) -> arb:
    """P(floor(fraction + 1/2 + sigma Z) = x)."""
    left = x - Fraction(1, 2) - fraction
    if left > 0:  # mirror, so that both tails keep their digits
        return normal_cdf(variance, -left) - normal_cdf(variance, -left - 1)
    return normal_cdf(variance, left + 1) - normal_cdf(variance, left)


@_precise
def laplace_cdf(scale: Fraction, point: Fraction) -> arb:
    """P(scale L <= point) for a standard Laplace L."""
    half = real(-abs(Fraction(point)) / scale).exp() / 2
    return 1 - half if point > 0 else half


@_precise
def rounded_laplace(scale: Fraction, fraction: Fraction, x: int) -> arb:
    """P(floor(fraction + 1/2 + scale L) = x)."""
    left = x - Fraction(1, 2) - fraction
    return laplace_cdf(scale, left + 1) - laplace_cdf(scale, left)


@lru_cache(maxsize=32)
@_precise
def _gaussian_total(variance: Fraction) -> arb:
    """The sum of exp(-x^2 / 2 variance) over all integers.

    Beyond K successive terms shrink at least by r = exp(-K / variance), so each cut-off tail is at most e^(-K^2/2v) / (1 - r).
    """
    last = 2 + int(22 * (float(variance) ** 0.5 + 1))  # e^(-22^2/2) < 2^-340
    head = sum((real(-Fraction(x * x) / (2 * variance)).exp() for x in range(1, last + 1)), arb(0))
    tail = real(-Fraction(last * last) / (2 * variance)).exp() / -real(-Fraction(last) / variance).expm1()
    return 1 + 2 * head + 2 * arb(0, tail.upper())


@_precise
def discrete_gaussian(variance: Fraction, x: int) -> arb:
    """exp(-x^2 / 2 variance) over its sum."""
    return real(-Fraction(x * x) / (2 * variance)).exp() / _gaussian_total(variance)


@_precise
def softmax(scores: Sequence[Fraction]) -> list[arb]:
    """Winners under Gumbel noise: the exponential mechanism."""
    weights = [real(score).exp() for score in scores]
    return [weight / sum(weights, arb(0)) for weight in weights]


@_precise
def permute_and_flip(scores: Sequence[Fraction]) -> list[arb]:
    """Winners under exponential noise, from the other description of the same law.

    Visit the candidates in random order and stop at i with probability e^(score_i - max): recursion over who is unvisited.
    """
    stop = [real(score - max(scores)).exp() for score in scores]

    @cache
    def wins(i: int, unvisited: frozenset[int]) -> arb:
        first = stop[i]
        later = sum(((1 - stop[j]) * wins(i, unvisited - {j}) for j in unvisited if j != i), arb(0))
        return (first + later) / len(unvisited)

    return [wins(i, frozenset(range(len(scores)))) for i in range(len(scores))]


@_precise
def exponential_winner(scores: Sequence[Fraction]) -> list[arb]:
    """The same winners by integrating the largest of the noisy scores: inclusion and exclusion over the others."""
    gaps = [real(score - max(scores)).exp() for score in scores]

    def wins(i: int) -> arb:
        total = arb(0)
        others = [gap for j, gap in enumerate(gaps) if j != i]
        for chosen in range(1 << len(others)):
            term = gaps[i]
            for j, gap in enumerate(others):
                if chosen >> j & 1:
                    term *= -gap
            total += term / (1 + chosen.bit_count())
        return total

    return [wins(i) for i in range(len(scores))]


@_precise
def laplace_winner(scores: Sequence[Fraction]) -> list[arb]:
    """Winners under standard Laplace noise: the density of one times the distribution functions of the others, integrated.

    Between neighbouring scores the integrand is analytic; beyond 60 from every score less than e^-60 is left out.
    """
    corners = sorted({score + away for score in scores for away in (-60, 0, 60)})
    many = Counter(scores)  # those with the same score win alike

    def wins(winner: Fraction) -> arb:
        total = arb(0)
        for left, right in pairwise(corners):
            middle = (left + right) / 2

            def integrand(y: acb, _: bool, middle: Fraction = middle) -> acb:
                product = acb(1)
                for score, count in many.items():
                    gap = y - acb(real(score))
                    half = (gap if middle < score else -gap).exp() / 2
                    below = half if middle < score else 1 - half
                    product *= half * below ** (count - 1) if score == winner else below**count
                return product

            total += acb.integral(
                integrand, acb(real(left)), acb(real(right)), rel_tol=arb(2) ** -120, abs_tol=arb(2) ** -120
            ).real
        return total

    chances = {score: wins(score) for score in many}
    return [chances[score] for score in scores]
