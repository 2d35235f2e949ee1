"""Private values, read exactly.

A float is the double it is; an integer of any size, a Fraction or a Decimal is itself. Nothing is rounded on the way in, numpy's
habits (mixed lists turned into doubles, integers wrapped, ragged lists) are kept out, and a refusal never quotes the value.

Histograms of many groups, most of them nearly empty, are kept as the cells that somebody is in, with rows of all cells on demand.
So are histograms over many axes (``Records``), of which marginals are made: secrets of a secret.

**Sensitivity.** Let what one unit adds to a histogram be nowhere negative and at most r in L1 norm. A marginal adds up cells, as
one by runs of cells does: of what the unit adds to it the same holds, so that it moves by at most r in L1 and in L2 norm where
units come or go, and by at most 2 r and sqrt(2) r where one is replaced, as the histogram does. By the triangle inequality its L1
distance from a public guess (``misfits``) moves by no more than it does in L1 norm, up or down, and a weight multiplies that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Integral, Rational

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.errors import ValueRefused
from discreet.exact import nearest
from discreet.mechanisms.secret import Secret, open_secret


@dataclass(frozen=True, eq=False)
class Histograms:
    """Counts by (group, cell). Iterating gives every group's counts of all ``width`` cells.

    >>> some = Histograms(2, 3, np.array([1, 1]), np.array([0, 2]), np.array([5, 7]))
    >>> [row.tolist() for row in some]
    [[0, 0, 0], [5, 0, 7]]
    """

    height: int
    width: int
    groups: Integers
    cells: Integers
    counts: Integers

    def __iter__(self) -> Iterator[Integers]:
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(self.height + 1))
        for first, last in pairwise(starts):
            row = np.zeros(self.width, dtype=np.int64)
            row[self.cells[order[first:last]]] = self.counts[order[first:last]]
            yield row


Table = Integers | Histograms


@dataclass(frozen=True, eq=False)
class Records:
    """A histogram over several axes: the cell on every axis of each combination that somebody is in, and what it weighs."""

    sizes: tuple[int, ...]
    cells: tuple[NDArray[np.int32], ...]
    weights: Integers

    def marginal(self, axes: Sequence[int], runs: Mapping[int, Integers] | None = None) -> Integers:
        """Counts by cell of some axes, the last turning fastest; ``runs``: of axes that are counted by runs, that of every cell.
        Whole numbers below 2^53 are added up exactly in doubles."""
        place, many = np.zeros(len(self.weights), dtype=np.int64), 1
        for axis in axes:
            to = None if runs is None else runs.get(axis)
            size = self.sizes[axis] if to is None else int(to.max()) + 1
            place *= size
            place += self.cells[axis] if to is None else to[self.cells[axis]]
            many *= size
        return np.bincount(place, self.weights, many).astype(np.int64)


def read_records(counted: Secret[Table], sizes: Sequence[int]) -> Secret[Records]:
    """A histogram of one group over axes of these sizes, of which the last turned fastest."""
    table = open_secret(counted)
    flat, weights = (table.cells, table.counts) if isinstance(table, Histograms) else (np.flatnonzero(table), table[table != 0])
    cells: list[NDArray[np.int32]] = []
    for size in reversed(sizes):
        flat, here = np.divmod(flat, size)
        cells.append(here.astype(np.int32))
    return Secret(Records(tuple(sizes), tuple(reversed(cells)), np.minimum(weights, _MOST_WEIGHT)))


def join_cells(records: Secret[Records], places: Sequence[Integers]) -> Secret[Records]:
    """The same with cells of every axis joined: ``places`` says into which."""
    known = open_secret(records)
    cells = tuple(np.asarray(to, dtype=np.int32)[own] for to, own in zip(places, known.cells, strict=True))
    return Secret(Records(tuple(int(to.max()) + 1 for to in places), cells, known.weights))


def add_up(
    records: Secret[Records], axes: Sequence[int], bits: int = 0, runs: Mapping[int, Integers] | None = None
) -> Secret[Integers]:
    """The marginal of some axes, by cells or by public runs of them, in ``2**-bits`` of its units."""
    return Secret(open_secret(records).marginal(axes, runs) << bits)


def misfits(
    marginals: Sequence[Secret[Integers]], guesses: Sequence[Integers], weights: Sequence[int], less: Sequence[int], bits: int
) -> Secret[Integers]:
    """weight * (|marginal - guess| - less) for every one: how far marginals are from guesses in L1 norm, which are in
    ``2**-bits`` of their units, as ``less`` is. All but the marginals is public."""
    found = []
    for marginal, guess, weight, allowed in zip(marginals, guesses, weights, less, strict=True):
        counts = open_secret(marginal)
        within = np.minimum(counts, _MOST_WEIGHT // max(counts.size, 1))  # cut off, which moves no two tables further apart
        found.append(weight * (int(np.abs((within << bits) - guess).sum()) - allowed))
    return Secret(np.array(found, dtype=np.int64))


Plain = Number | Sequence[Number] | NDArray[np.generic]
Value = Plain | Secret[NDArray[np.generic]]
_MOST_WEIGHT = 2**40  # of one cell: nobody counts so many rows, and sums stay exact whatever was counted
_STRANGE = "A value is not a finite number and cannot be handled; give numbers, or a rectangular list or array of them."
_NOT_FINITE = "A value is NaN or infinite and cannot be handled; say what a missing value becomes before noise is added."


@dataclass(frozen=True, eq=False)
class Numbers:
    """A flat run of numbers: int64, or float64, or exact rationals of any size. ``shape`` is the caller's."""

    flat: Integers | Reals | list[Fraction]
    shape: tuple[int, ...]
    boxed: bool = False  # the caller's array held Python's own numbers, and wants such back

    @property
    def size(self) -> int:
        return len(self.flat)

    @property
    def whole(self) -> bool:
        """Whether every one of them was given as an integer."""
        if isinstance(self.flat, list):
            return all(number.denominator == 1 for number in self.flat)
        return self.flat.dtype == np.int64

    @property
    def doubles(self) -> bool:
        """Whether ``near`` is exact."""
        if isinstance(self.flat, list):
            return False
        return self.flat.dtype == np.float64 or bool(np.abs(self.near()).max(initial=0.0) < 2.0**53)

    def exact(self, i: int) -> Fraction:
        """One of them, exactly."""
        number = self.flat[i]
        return number if isinstance(number, Fraction) else Fraction(number.item())

    def near(self) -> Reals:
        """Doubles within a relative 2^-53, infinite beyond them."""
        if isinstance(self.flat, list):
            return np.array([nearest(number) for number in self.flat], dtype=np.float64)
        return self.flat.astype(np.float64, copy=False)


def read_numbers(value: Value, *, integral: bool = False) -> Numbers:
    """Read a scalar, list or array, also one that is still secret; where ``integral``, only integers."""
    plain = _plain(open_secret(value))
    numbers = _read(plain)
    if integral and not (_integers(plain) and numbers.whole):
        raise ValueRefused(
            "This mechanism releases whole numbers and nothing else: give it integers, "
            "or build Laplace or Gaussian with a float sensitivity (sensitivity=1.0) to release reals."
        )
    return numbers


def read_number(value: Number) -> Fraction:
    """Read one number exactly."""
    numbers = _read(value)
    if numbers.shape:
        raise ValueRefused("One number is wanted here, not a list of them.")
    return numbers.exact(0)


def _plain(value: object) -> object:
    """Columns of data frames and the like, as the arrays they are willing to become."""
    if isinstance(value, np.ma.MaskedArray):
        raise ValueRefused("A masked array has values that must not be seen; fill or drop what is masked first.")
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    return value


def _integers(value: object) -> bool:
    """Whether the value was written as integers: 3 is, 3.0 and Fraction(3) are not."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "iu" or (value.dtype == object and all(_integers(x) for x in value.reshape(-1)))
    if isinstance(value, Sequence):
        return all(_integers(x) for x in value)
    return isinstance(value, Integral)


def _read(value: object) -> Numbers:
    if isinstance(value, np.ndarray) and value.dtype != object:
        array = value
    elif isinstance(value, (bool, np.bool_)):
        raise ValueRefused(_STRANGE)
    elif isinstance(value, (int, float, np.generic)):
        array = np.asarray(value) if not isinstance(value, int) or -(2**63) <= value < 2**63 else _objects(value)
    else:
        array = _objects(value)
    flat = array.reshape(-1)
    if flat.dtype == object:
        return Numbers([_exact(x) for x in flat], array.shape, isinstance(value, np.ndarray))
    kind, size = flat.dtype.kind, flat.dtype.itemsize
    if kind == "i" or (kind == "u" and size < 8):
        return Numbers(flat.astype(np.int64, copy=False), array.shape)
    if kind == "u":
        return Numbers([Fraction(int(x)) for x in flat], array.shape, True)
    if kind != "f" or size > 8:
        raise ValueRefused(_STRANGE)
    reals = flat.astype(np.float64, copy=False)
    if not np.isfinite(reals).all():
        raise ValueRefused(_NOT_FINITE)
    return Numbers(reals, array.shape)


def _objects(value: object) -> NDArray[np.generic]:
    """A list as an array of its own elements, in the narrowest form that holds them exactly."""
    if isinstance(value, (list, tuple)) and set(map(type, value)) == {float}:
        return np.array(value, dtype=np.float64)
    try:
        array = np.array(value, dtype=object)
    except (TypeError, ValueError, OverflowError):
        raise ValueRefused(_STRANGE) from None
    kinds = {type(x) for x in array.reshape(-1)}
    if kinds == {float}:
        return array.astype(np.float64)
    if kinds == {int} and all(-(2**63) <= x < 2**63 for x in array.reshape(-1)):
        return array.astype(np.int64)
    return array


def _exact(value: object) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        raise ValueRefused(_STRANGE)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueRefused(_NOT_FINITE)
        return Fraction(value)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueRefused(_NOT_FINITE)
        return Fraction(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    raise ValueRefused(_STRANGE)
