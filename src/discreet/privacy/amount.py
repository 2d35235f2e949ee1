"""Amounts of privacy as plain numbers, for looking at; exact sums stay inside accounts.

A float is read as its shortest decimal everywhere in discreet. So "rounded up" means that this decimal is not below the exact
amount: three times 0.1 is shown as 0.3, and a remaining 0.1 may be asked for by typing 0.1.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import rational
from discreet.privacy.budget import Kind

__all__ = ["Amount", "amount", "down", "short", "up"]


@dataclass(frozen=True)
class Amount:
    """An epsilon, a delta and a rho, None where a budget has no such currency; ``float()`` gives the one it is counted in."""

    epsilon: float | None
    delta: float
    rho: float | None
    kind: Kind

    def __float__(self) -> float:
        counted = self.rho if self.kind == "concentrated" else self.epsilon
        return 0.0 if counted is None else counted


def amount(
    rounded: Callable[[Fraction], float], kind: Kind, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None
) -> Amount:
    """Exact amounts, all rounded in one direction."""
    return Amount(None if epsilon is None else rounded(epsilon), rounded(delta), None if rho is None else rounded(rho), kind)


def up(exact: Fraction) -> float:
    """The float nearest to an amount of at least 0 whose decimal is not below it.

    >>> up(Fraction(3, 10)), Fraction(repr(up(Fraction(1, 3)))) > Fraction(1, 3)
    (0.3, True)
    """
    near = float(exact)
    if exact and near < sys.float_info.min:  # digits of smaller floats are not reliable
        return sys.float_info.min
    return near if rational("amount", near) >= exact else math.nextafter(near, math.inf)


def down(exact: Fraction) -> float:
    """The float nearest to an amount of at least 0 whose decimal is not above it.

    >>> down(Fraction(3, 10)), Fraction(repr(down(Fraction(5, 9)))) < Fraction(5, 9)
    (0.3, True)
    """
    near = float(exact)
    if near < sys.float_info.min:
        return 0.0
    return near if rational("amount", near) <= exact else math.nextafter(near, 0.0)


def short(exact: Fraction, whole: Callable[[Fraction], int], digits: int = 8) -> Fraction:
    """A number of at least 0 cut to a few decimal digits by ``math.floor`` or ``math.ceil``.

    >>> short(Fraction(2, 3), math.floor), short(Fraction(0), math.ceil)
    (Fraction(33333333, 50000000), Fraction(0, 1))
    """
    if not exact:
        return exact
    size = math.floor(math.log10(exact.numerator) - math.log10(exact.denominator))
    size += exact >= Fraction(10) ** (size + 1)  # logarithms may be off by one beside a power of ten
    size -= exact < Fraction(10) ** size
    unit = Fraction(10) ** (size - digits + 1)
    return whole(exact / unit) * unit
