"""How far a release moved between two runs, exactly, against what its mechanism was told; and what that costs this pair.

Sums are measured in their mechanism's norm. Scores: how far each moved, and whether all moved the same way where that was
declared; the choice then costs (weight) * (largest - least change), because a constant added to all scores changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np

from discreet.arrays import Integers, Number
from discreet.mechanisms import DiscreteGaussian, Exponential, Gaussian, Laplace, RandomizedResponse, SparseVector, Threshold
from discreet.mechanisms.base import Release
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.selection import Selection
from discreet.mechanisms.values import Histograms, Table, Value, read_numbers
from discreet.privacy import Privacy, pure, zcdp
from discreet.privacy.losses import BoundedRange
from discreet.privacy.losses import Gaussian as GaussianLoss

__all__ = ["Move", "Streams", "move"]

_FREE = Privacy()


@dataclass(frozen=True)
class Move:
    """``far``: words, where a release moved further than declared. ``many``: words, where it did so more often than one mechanism
    pays for, which is right if it was paid for more often. ``cost``: what the pair loses at most."""

    cost: Privacy = _FREE
    far: str | None = None
    many: str | None = None


def move(one: Release, other: Release) -> Move:
    """Between two releases of the same shape through the same mechanism."""
    mechanism = one.mechanism
    match mechanism:
        case Laplace():
            moved = sum(map(abs, _changes(one.value, other.value)), Fraction(0))
            cost = pure(moved / mechanism.scale) if moved else _FREE
            return Move(cost, _far(one, other, moved, mechanism.sensitivity, "L1"))
        case Gaussian() | DiscreteGaussian():
            square = sum((x * x for x in _changes(one.value, other.value)), Fraction(0))
            return Move(_gaussian(mechanism, square), _far(one, other, square, mechanism.sensitivity, "L2"))
        case Quantile():
            confidence = cast("Number", one.facts[0])
            rows = [mechanism.scores(cast("Table", held.value), confidence) for held in (one, other)]
            return _contests(mechanism.selection, *rows)
        case Selection() if "each" in one.facts:
            return _contests(mechanism, cast("Table", one.value), cast("Table", other.value))
        case Selection():
            return _contests(mechanism, [one.value], [other.value])
        case Threshold():
            return _keys(mechanism, cast("Mapping[Hashable, int]", one.value), cast("Mapping[Hashable, int]", other.value))
        case RandomizedResponse():
            return _answers(mechanism, one.value, other.value)
        case SparseVector():
            moved = max(map(abs, _changes(one.value, other.value)), default=Fraction(0))
            cost = pure(mechanism.epsilon) if moved else _FREE
            return Move(cost, _far(one, other, moved, mechanism.sensitivity, "every query"))
    return Move()


class Streams:
    """Comparisons of one stream belong together: it is paid for once, and if it was declared monotonic, all move the same way."""

    def __init__(self) -> None:
        self._ways: dict[int, set[bool]] = {}

    def together(self, one: Release, other: Release, here: Move) -> Move:
        """A move, seen with what its stream has done before."""
        if not isinstance(one.mechanism, SparseVector):
            return here
        stream = id(one.facts[1])
        before = self._ways.get(stream, set())
        self._ways[stream] = now = before | {x > 0 for x in _changes(one.value, other.value) if x}
        both = "moved both ways, declared monotonic" if one.mechanism.monotonic and len(before) < len(now) == 2 else None
        return Move(_FREE if before else here.cost, here.far or both)


def _changes(one: object, other: object) -> list[Fraction]:
    """Coordinate by coordinate, exactly."""
    a, b = read_numbers(cast("Value", one)), read_numbers(cast("Value", other))
    if isinstance(a.flat, np.ndarray) and isinstance(b.flat, np.ndarray) and a.flat.dtype == b.flat.dtype == np.int64:
        moved = np.flatnonzero(a.flat != b.flat)  # most do not
        return [Fraction(int(b.flat[i]) - int(a.flat[i])) for i in moved]
    return [b.exact(i) - a.exact(i) for i in range(a.size)]


def _gaussian(mechanism: Gaussian | DiscreteGaussian, square: Fraction) -> Privacy:
    if not square:
        return _FREE
    ratio = square / mechanism.squared_sigma
    return Privacy.of(GaussianLoss(ratio)) if isinstance(mechanism, Gaussian) else zcdp(ratio / 2)


def _far(one: Release, other: Release, moved: Fraction, declared: int | Fraction, norm: str) -> str | None:
    """Words for a distance (a square, if the norm is L2) above what was declared."""
    if moved <= (declared**2 if norm == "L2" else declared):
        return None
    size = _root(moved) if norm == "L2" else _shown(moved)
    return f"moved by {size}, declared {_shown(Fraction(declared))} ({norm}): {_brief(one.value)} and {_brief(other.value)}"


def _contests(law: Selection, one: Iterable[object], other: Iterable[object]) -> Move:
    """Contests side by side. Each costs by itself, and a mechanism pays for one."""
    cost, far = _FREE, None
    for a, b in zip(one, other, strict=True):
        low, high = _extent(a, b)
        if low == high == 0:
            continue
        if max(-low, high) > law.sensitivity:
            sizes = f"{_shown(max(-low, high))}, declared {_shown(Fraction(law.sensitivity))}"
            far = far or f"a score moved by {sizes}: {_brief(a)} and {_brief(b)}"
        elif law.monotonic and low < 0 < high:
            far = far or f"scores moved both ways, declared monotonic: {_brief(a)} and {_brief(b)}"
        spread = law.weight * (high - low)
        if spread:
            cost += Privacy.of(BoundedRange(spread)) if isinstance(law, Exponential) else pure(spread)
    return Move(cost, far)


def _extent(one: object, other: object) -> tuple[Fraction, Fraction]:
    """The least and the largest change of a score."""
    if _small(one) and _small(other):
        change = np.subtract(cast("Integers", other), cast("Integers", one))
        return Fraction(int(change.min())), Fraction(int(change.max()))
    a, b = read_numbers(cast("Value", one)), read_numbers(cast("Value", other))
    moved = [b.exact(i) - a.exact(i) for i in range(a.size)]
    return min(moved), max(moved)


def _small(scores: object) -> bool:
    """Whether differences of these stay within 64 bits."""
    return isinstance(scores, np.ndarray) and scores.dtype == np.int64 and -(2**61) < scores.min() <= scores.max() < 2**61


def _keys(law: Threshold, one: Mapping[Hashable, int], other: Mapping[Hashable, int]) -> Move:
    moved = {key: int(other.get(key, 0)) - int(one.get(key, 0)) for key in {**one, **other}}
    moved = {key: step for key, step in moved.items() if step}
    cost = -(-len(moved) // law.keys) * law.privacy if moved else _FREE
    far = many = None
    if any(abs(step) > 1 for step in moved.values()):
        key = max(moved, key=lambda key: abs(moved[key]))
        far = f"the count of {_brief(key)} moved by {abs(moved[key])}, and one person adds 1 to a key"
    elif len(set(moved.values())) > 1:
        far = "counts of some keys grew and of others fell; keys are chosen for persons who come or go"
    if len(moved) > law.keys:
        many = f"{len(moved)} keys moved, declared {law.keys}: {_brief(sorted(moved, key=str))}"
    return Move(cost, far, many)


def _answers(law: RandomizedResponse, one: object, other: object) -> Move:
    a, b = ([held] if not isinstance(held, (list, np.ndarray)) else list(held) for held in (one, other))
    lied = sum((type(x), x) != (type(y), y) for x, y in zip(a, b, strict=True))
    many = f"{lied} answers changed, and one person has one" if lied > 1 else None
    return Move(lied * law.privacy if lied else _FREE, None, many)


def _shown(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator) if abs(number) < 10**15 else f"about 2^{abs(number.numerator).bit_length() - 1}"
    return f"{float(number):.6g}" if abs(number) < 10**300 else "more than 10^300"


def _root(square: Fraction) -> str:
    whole = math.isqrt(square.numerator) if square.denominator == 1 else 0
    return _shown(Fraction(whole)) if whole * whole == square else f"{math.sqrt(square):.6g}" if square < 10**300 else "very much"


def _brief(value: object) -> str:
    """Made-up data may be shown; not all of it."""
    if isinstance(value, Histograms):
        value = list(value)
    text = repr(value.tolist() if isinstance(value, np.ndarray) else value)
    return text if len(text) <= 120 else f"{text[:100]}..."
