"""Bounds from moments alone: what zCDP and Renyi facts allow, and an alternative for the exponential mechanism.

Canonne, Kamath, Steinke (2020), proposition 12: delta <= e^(K(x) - x e) x^x / (1+x)^(1+x) for every order x > 0. Every order
is a valid choice; golden section only finds a good one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from discreet.balls import ball, lower, precision, upper
from discreet.exact import up
from discreet.privacy.accountant.contour import Parts
from discreet.privacy.losses import BoundedRange

__all__ = ["disclosure", "log", "log_moment_bound", "moment_delta", "moment_epsilon"]


def disclosure(parts: Parts, *, top: bool = True) -> Fraction:
    """The probability of total disclosure, 1 - prod (1 - delta_i)^k_i, not below the truth (``top``) or not above it."""
    leaks = [(loss.infinity, count) for loss, count in parts if loss.infinity]
    if not leaks:
        return Fraction(0)
    if len(leaks) == 1 and leaks[0][1] == 1:
        return leaks[0][0]
    if any(chance == 1 for chance, _ in leaks):
        return Fraction(1)
    with precision(256 + max((chance.denominator.bit_length() for chance, _ in leaks), default=0)):
        kept = ball(0)  # ln of the chance that nothing is disclosed
        for chance, count in leaks:
            kept += count * (-ball(chance)).log1p()
        return min(Fraction(1), max(Fraction(0), Fraction(upper(-kept.expm1()) if top else lower(-kept.expm1()))))


def log_moment_bound(parts: Parts, x: float) -> float:
    """K(x) from above; the exponential mechanism's is the smaller of its pair's and its zero-concentrated bound, which also
    stands in where a pair's own moments are out of reach."""
    total = 0.0
    for loss, count in parts:
        k = loss.log_moment(x)
        k += loss.rounding(x, 0.0) if math.isfinite(k) else 0.0
        if loss.rho is not None and (isinstance(loss, BoundedRange) or math.isinf(k)):
            k = min(k, float(loss.rho) * x * (x + 1))
        total += count * k
    return total + 2.0**-40 * (abs(total) + sum(count for _, count in parts) * 2.0**-4)


def moment_delta(parts: Parts, e: float) -> float:
    if disclosure(parts) == 1:
        return 1.0  # nothing finite is left
    best = _lowest(lambda x: log_moment_bound(parts, x) - x * e + _chernoff(x))
    finite = math.exp(min(0.0, best + 2.0**-40 * (1 + abs(best))))
    return min(1.0, (up(disclosure(parts)) + finite) * (1 + 2.0**-50) + 5e-324)


def moment_epsilon(parts: Parts, delta: Fraction) -> float:
    log_delta = log(delta)
    best = _lowest(lambda x: (log_moment_bound(parts, x) + _chernoff(x) - log_delta) / x)
    return max(0.0, best + 2.0**-40 * (1 + abs(best)))


def _chernoff(x: float) -> float:
    """ln of the largest value of e^(-x y) (1 - e^-y): x ln x - (1 + x) ln(1 + x), without cancellation."""
    return -x * math.log1p(1 / x) - math.log1p(x)


def _lowest(height: Callable[[float], float]) -> float:
    """The least value over x from e^-60 to e^20, by golden section of ln x; an order without a number says nothing."""

    def at(log_x: float) -> float:
        try:
            value = height(math.exp(log_x))
        except ArithmeticError:  # beyond the doubles
            return math.inf
        return math.inf if math.isnan(value) else value

    low, high, ratio = -60.0, 20.0, (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = at(left), at(right)
    while high - low > 1e-4:
        if f_left <= f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = at(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = at(right)
    return min(f_left, f_right)


def log(value: Fraction) -> float:
    """The natural logarithm of a rational of any size, to a unit or two."""
    with precision(128):
        return float(ball(value).log())
