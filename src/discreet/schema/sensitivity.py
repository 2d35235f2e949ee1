"""How far one person can move a statistic: global sensitivities, from the public domain and never from the data.

Neighbouring data sets differ in one record, which is either *added or removed* (``"add-remove"``; the size of the data is then
private) or *replaced* by another (``"replace"``; the size is public). Every function returns both norms: ``l1`` is what
``Laplace`` needs, ``l2`` what ``Gaussian`` needs. An irrational norm is rounded up.

>>> histogram(neighbours="replace").l1
2
>>> sum(lower=0, upper=10_000_000).l1
10000000
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Literal, TypeVar

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import rational, root_up, shown, whole

__all__ = ["Neighbours", "Sensitivity", "count", "histogram", "mean", "sum"]

Neighbours = Literal["add-remove", "replace"]
N = TypeVar("N", int, Fraction)


@called_as('1, 1, "add-remove"')
@dataclass(frozen=True)
class Sensitivity:
    """The largest change between neighbours in L1 and in L2 norm; whole numbers where the statistic is whole."""

    l1: int | Fraction
    l2: int | Fraction
    neighbours: Neighbours


def move(low: N, high: N, *, grouped: bool, neighbours: Neighbours) -> tuple[N, N]:
    """How far one record that adds between ``low`` and ``high`` moves a sum, or (``grouped``) sums of which it is in one: the L1
    norm, and the square of the L2 norm.

    Added or removed: by the largest size b. Replaced: one sum moves by at most h - l, or two sums by b each.
    """
    bound, span = max(abs(low), abs(high)), high - low
    if neighbours == "add-remove":
        return bound, bound**2
    return (max(2 * bound, span), max(2 * bound**2, span**2)) if grouped else (span, span**2)


@called_as("")
def count(*, neighbours: Neighbours = "add-remove") -> Sensitivity:
    """Of the number of records with some property: 1, however a record changes."""
    return _whole(*move(0, 1, grouped=False, neighbours=check_neighbours(neighbours)), neighbours)


@called_as("")
def histogram(*, neighbours: Neighbours = "add-remove") -> Sensitivity:
    """Of counts over disjoint bins: one bin moves by 1 when a record comes or goes, two when one is replaced."""
    return _whole(*move(0, 1, grouped=True, neighbours=check_neighbours(neighbours)), neighbours)


@called_as("lower=0, upper=100")
def sum(*, lower: object, upper: object, neighbours: Neighbours = "add-remove") -> Sensitivity:
    """Of a sum of values clamped to [lower, upper]: the largest size of a value, or of a difference of two."""
    low, high = _bounds(lower, upper)
    moved, _ = move(low, high, grouped=False, neighbours=check_neighbours(neighbours))
    if moved == 0:
        raise ParameterError(
            f"Values between {lower} and {upper} never change the sum; write bounds that differ from 0 and each other."
        )
    norm = int(moved) if isinstance(lower, Integral) and isinstance(upper, Integral) else moved
    return Sensitivity(norm, norm, neighbours)


@called_as("lower=0, upper=100, size=1000")
def mean(*, lower: object, upper: object, size: int, neighbours: Neighbours = "replace") -> Sensitivity:
    """Of the mean of ``size`` (public) values clamped to [lower, upper], when one is replaced: (upper - lower) / size."""
    if check_neighbours(neighbours) != "replace":
        raise ParameterError(
            "The mean of a private number of values has no useful sensitivity when a record is added or removed; "
            'release a sum and a count, or write neighbours="replace" if the size is public.'
        )
    low, high = _bounds(lower, upper)
    if low == high:
        raise ParameterError(f"Values between {lower} and {upper} never change the mean; write bounds that differ.")
    norm = move(low, high, grouped=False, neighbours=neighbours)[0] / whole("size", size)
    return Sensitivity(norm, norm, neighbours)


def _whole(l1: int, square: int, neighbours: Neighbours) -> Sensitivity:
    l2 = root_up(Fraction(square))
    return Sensitivity(l1, int(l2) if l2.denominator == 1 else l2, neighbours)


def check_neighbours(neighbours: Neighbours) -> Neighbours:
    """One of the two relations between tables; anything else is refused."""
    if not isinstance(neighbours, str) or neighbours not in ("add-remove", "replace"):
        raise ParameterError(f'neighbours must be "add-remove" or "replace", not {shown(neighbours)}.')
    return neighbours


def _bounds(lower: object, upper: object) -> tuple[Fraction, Fraction]:
    low, high = (
        rational("lower", lower, "the least value there can be"),
        rational("upper", upper, "the largest value there can be"),
    )
    if low > high:
        raise ParameterError(f"The lower bound {lower} is above the upper bound {upper}; write them the other way round.")
    return low, high
