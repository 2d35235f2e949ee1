"""Parts of a composition: losses with their counts, in one order, and what follows from them without any accounting.

A guarantee is built of these alone; the accountant, which is large, is loaded when bounds are asked for.
"""

from __future__ import annotations

from fractions import Fraction

from discreet.balls import ball, lower, precision, upper
from discreet.privacy.losses.base import Loss, Parts
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.moments import Concentrated

__all__ = ["canonical", "directions", "disclosure", "merge", "supremum"]


def canonical(parts: Parts) -> Parts:
    """Equal losses counted together, Gaussians and zCDP costs added up, in an order that does not depend on how they came."""
    result: list[tuple[Loss, int]] = []
    for loss, count in sorted((_whole(loss, count) for loss, count in parts if count), key=lambda part: part[0].order):
        if result and result[-1][0].order == loss.order:
            result[-1] = _together(*result[-1], loss, count)
        else:
            result.append((loss, count))
    return tuple(result)


def merge(left: Parts, right: Parts) -> Parts:
    """The composition of two canonical compositions, in one pass."""
    result, i = list[tuple[Loss, int]](), 0
    for loss, count in right:
        while i < len(left) and left[i][0].order < loss.order:
            result.append(left[i])
            i += 1
        if i < len(left) and left[i][0].order == loss.order:
            result.append(_together(*left[i], loss, count))
            i += 1
        else:
            result.append((loss, count))
    return (*result, *left[i:])


def _whole(loss: Loss, count: int) -> tuple[Loss, int]:
    """Repeated Gaussians and zCDP facts are one of their kind."""
    if isinstance(loss, Gaussian):
        return Gaussian(count * loss.squared_mu), 1
    if isinstance(loss, Concentrated):
        return Concentrated(count * loss.cost), 1
    return loss, count


def _together(loss: Loss, count: int, other: Loss, more: int) -> tuple[Loss, int]:
    if isinstance(loss, Gaussian) and isinstance(other, Gaussian):
        return Gaussian(loss.squared_mu + other.squared_mu), 1
    if isinstance(loss, Concentrated) and isinstance(other, Concentrated):
        return Concentrated(loss.cost + other.cost), 1
    return loss, count + more


def directions(parts: Parts) -> list[Parts]:
    """The composition with a record added, and with it removed; one of them where they are alike."""
    if all(loss.reverse is loss for loss, _ in parts):
        return [parts]
    reverse = canonical(tuple((loss.reverse, count) for loss, count in parts))
    return [parts] if reverse == parts else [parts, reverse]


def supremum(parts: Parts, *, top: bool = True) -> Fraction | None:
    """The largest finite loss, not below the truth (``top``) or not above it; None where there is none."""
    total = Fraction(0)
    for loss, count in parts:
        largest = loss.pure if top else loss.pure_below
        if largest is None:
            return None
        total += count * largest
    return total


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
