"""Clipped sums over rows: of every unit one vector, brought into a ball, rounded to a public grid, and added up exactly.

**Sensitivity.** Let every unit (a row, or a person with all their rows) add a vector of whole numbers whose norm is at most R,
and let that vector depend on the unit's own rows and on public parameters only. Then the sum moves by at most R where a unit is
added or removed, and by at most 2 R where one is replaced: the triangle inequality. The norm is L2, for Gaussian noise, or L1,
for Laplace noise.

That every norm is at most R is not left to floating point. A vector is scaled into the ball in doubles, by a factor that is
lowered by 2^-40; it is cut off towards zero, number by number, which makes no norm larger; and then its norm is computed *in
whole numbers*, exactly, and compared with R: a vector that floating point left outside, if there is one, adds nothing. Nor does a
row in which a number is NaN or infinite. Sums are whole numbers of 64 bits, exact in any order of rows and blocks.

What a row adds has one of four shapes: ``Dense``, a line of numbers; ``Outer``, the product of two vectors, as gradients of
linear heads are: all rows of a block are then added up in one product of matrices, whose entries are whole numbers below 2^53, so
that doubles hold every partial sum; ``Cells``, one number in one cell of each of several lists, as histograms by feature
are; and ``Sparse``, a few numbers at places that may meet, as bags of words are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.errors import ParameterError
from discreet.exact import nearest, positive
from discreet.mechanisms.rows.block import MOST_ROWS, Block, Blocks, part
from discreet.mechanisms.secret import Secret, open_secret
from discreet.noise.coins import Chance, bernoulli
from discreet.schema.sensitivity import Neighbours

Order = Literal[1, 2]
LEFT, RIGHT = 14, 18  # bits of the two vectors of a product: with 2^16 rows a sum stays below 2^53, and noise below 2^36 units
_BITS = 26  # of other vectors
_LOWERED = 1 - 2.0**-40
_SQUARED = 31  # bits of numbers whose squares are added up
_HALF, _FULL = 2**31, 2**62
_SOME = 2**13  # rows that are added up at once, or as many as the sum has numbers: what is made of them takes little memory
_WIDE = 2**22  # numbers of one product of persons that are held at once


@dataclass(frozen=True)
class Ball:
    """What one unit may add: vectors of whole numbers, each worth ``step``, of norm at most ``radius``; L1 or L2 by ``order``.

    >>> Ball.of(1).sensitivity("replace") == 2 * Ball.of(1).radius
    True
    """

    radius: int
    step: Fraction
    order: Order = 2

    @classmethod
    def of(cls, norm: Number, order: Order = 2, bits: int = _BITS) -> Ball:
        """The ball of vectors of real numbers up to a norm, on a grid of ``2**-bits`` of it."""
        return cls(1 << bits, positive("norm", norm, "the largest norm of what one unit adds, such as 1") / (1 << bits), order)

    @property
    def norm(self) -> float:
        """The radius as a real number."""
        return nearest(self.radius * self.step)

    def sensitivity(self, neighbours: Neighbours) -> int:
        """How far a sum moves between neighbours, in units."""
        return self.radius if neighbours == "add-remove" else 2 * self.radius

    def sizes(self, values: Reals) -> Reals:
        """The norm of every line; infinite where a number of it is not finite."""
        values = np.ascontiguousarray(values)  # else a line that stands alone would be added up in another order
        found = np.sqrt(np.einsum("ij,ij->i", values, values)) if self.order == 2 else np.abs(values).sum(axis=1)
        return np.where(np.isfinite(found), found, np.inf)

    def round(self, values: Reals, sizes: Reals | None = None) -> Integers:
        """Lines in the ball and on the grid: those that are longer are scaled, those that are not finite are 0."""
        size = self.sizes(values) if sizes is None else sizes
        coarse, bits = self.coarse()
        if bits:
            return coarse.round(values, size) << bits
        return self._within(np.trunc(_scaled(values, _factors(size, self.norm) * (_LOWERED * nearest(1 / self.step)))))

    def coarse(self) -> tuple[Ball, int]:
        """A ball inside this one on a grid of ``2**bits`` units, such that squares of its numbers add up within 64 bits."""
        bits = max(0, self.radius.bit_length() - _SQUARED)
        return (Ball(self.radius >> bits, self.step * 2**bits, self.order), bits) if bits else (self, 0)

    def _within(self, whole: Reals) -> Integers:
        """Whole numbers, of which lines outside the ball are 0, exactly."""
        near = np.einsum("ij,ij->i", whole, whole) if self.order == 2 else np.abs(whole).sum(axis=1)
        most = float(self.radius) ** self.order
        found: Integers = np.where((near <= 2 * most)[:, None], whole, 0.0).astype(np.int64)  # nothing overflows from here on
        exact = np.einsum("ij,ij->i", found, found) if self.order == 2 else np.abs(found).sum(axis=1)
        found[exact > self.radius**self.order] = 0
        return found


class Added(ABC):
    """What rows add to a sum."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many numbers the sum has."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows these are."""

    @abstractmethod
    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        """The sum over units of vectors in the ball. ``starts``: where the rows of each person begin."""


@dataclass(frozen=True, eq=False)
class Dense(Added):
    """A line of numbers for every row."""

    values: Reals

    @property
    def width(self) -> int:
        return int(self.values.shape[1])

    @property
    def count(self) -> int:
        return len(self.values)

    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        values = np.ascontiguousarray(self.values, dtype=np.float64)
        if starts is not None:
            values = _by_person(_finite(values), starts)
        found: Integers = ball.round(values).sum(axis=0, dtype=np.int64)
        return found


@dataclass(frozen=True, eq=False)
class Outer(Added):
    """The product of two vectors for every row, as one line: ``left[i]`` times all of ``right``, and then ``left[i + 1]``.

    ``right`` is given as a direction, which ``direct`` makes once for many sums, and its length.
    """

    left: Reals
    right: Reals  # whole numbers of norm at most 2^RIGHT, as doubles
    lengths: Reals

    @property
    def width(self) -> int:
        return int(self.left.shape[1] * self.right.shape[1])

    @property
    def count(self) -> int:
        return len(self.left) if len(self.left) == len(self.right) == len(self.lengths) else -1

    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        if starts is not None:
            return self._of_persons(ball, starts)
        size = ball.sizes(self.left) * self.lengths
        factor = _factors(size, ball.norm) * (self.lengths * (_LOWERED * nearest(1 / ball.step) / 2**RIGHT))
        inner = Ball(ball.radius >> RIGHT, Fraction(1), ball.order)
        left = inner._within(np.trunc(_scaled(self.left, factor))).astype(np.float64)
        return (left.T @ self.right).astype(np.int64).ravel()  # whole, and below 2^53 whatever the order

    def _of_persons(self, ball: Ball, starts: Integers) -> Integers:
        """Products are added up for each person first, some persons at a time."""
        total = np.zeros(self.width, dtype=np.int64)
        ends = np.append(starts, len(self.left))
        some = max(1, _WIDE // self.width)
        values = _finite(self.left * (self.lengths / 2**RIGHT)[:, None])
        first = 0
        while first < len(starts):
            last = max(first + 1, int(np.searchsorted(ends, ends[first] + some, side="right")) - 1)
            low, high = ends[first], ends[last]
            lines = (values[low:high, :, None] * self.right[low:high, None, :]).reshape(high - low, -1)
            total += ball.round(_by_person(lines, starts[first:last] - low)).sum(axis=0, dtype=np.int64)
            first = last
        return total


def outer_ball(norm: Number, order: Order = 2) -> Ball:
    """The ball of ``Outer``: its radius is the product of those of the two vectors."""
    return Ball.of(norm, order, LEFT + RIGHT)


def direct(values: Reals, order: Order = 2) -> tuple[Reals, Reals]:
    """Vectors as directions, whole numbers of norm at most 2^RIGHT, and their lengths: the right side of ``Outer``."""
    ball = Ball.of(1, order, RIGHT)
    lengths = ball.sizes(values)
    return ball.round(_scaled(values, 1 / np.where((lengths > 0) & (lengths < np.inf), lengths, np.inf))).astype(
        np.float64
    ), np.where(lengths < np.inf, lengths, 0.0)


@dataclass(frozen=True, eq=False)
class Cells(Added):
    """For every row one cell in each of several lists, and what the row adds there: one number for all lists, or one a list.
    A code outside its list adds nothing."""

    codes: Integers  # rows x lists
    sizes: tuple[int, ...]
    values: Reals  # rows x lists, or rows x 1

    @property
    def width(self) -> int:
        return sum(self.sizes)

    @property
    def count(self) -> int:
        return len(self.codes)

    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        offsets = np.cumsum([0, *self.sizes[:-1]])
        known = (self.codes >= 0) & (self.codes < np.array(self.sizes, dtype=np.int64))
        places = np.where(known, self.codes + offsets, 0)
        values = np.where(known, np.broadcast_to(self.values, self.codes.shape), 0.0)
        if starts is not None:
            rows = np.repeat(np.arange(len(places)), places.shape[1])
            return Sparse(rows, places.ravel(), values.ravel(), self.width, len(places)).total(ball, starts)
        whole = ball.round(values)  # no two cells of a row are the same, so this is the norm of what it adds
        each = [np.bincount(np.where(known[:, j], self.codes[:, j], 0), whole[:, j], size) for j, size in enumerate(self.sizes)]
        return np.concatenate(each).astype(np.int64)  # whole, and below 2^53


@dataclass(frozen=True, eq=False)
class Sparse(Added):
    """Numbers at places of a long vector: entry k adds ``values[k]`` at ``places[k]`` for row ``rows[k]``. Several may meet."""

    rows: Integers  # in order
    places: Integers
    values: Reals
    length: int
    height: int

    @property
    def width(self) -> int:
        return self.length

    @property
    def count(self) -> int:
        return self.height

    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        ball, bits = ball.coarse()
        found = np.zeros(self.length, dtype=np.int64)
        if not len(self.rows):
            return found
        bad = np.zeros(self.height, dtype=bool)
        bad[self.rows[~np.isfinite(self.values) | (self.places < 0) | (self.places >= self.length)]] = True
        entries = np.flatnonzero(~bad[self.rows])
        if not len(entries):
            return found
        rows = self.rows[entries]
        units = rows if starts is None else np.searchsorted(starts, rows, side="right") - 1
        keys = units * np.int64(self.length) + self.places[entries]
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        sums = np.add.reduceat(self.values[entries][order], first)
        units, places = np.divmod(keys[first], np.int64(self.length))
        begins = np.flatnonzero(np.append(True, units[1:] != units[:-1]))
        lengths = np.diff(np.append(begins, len(units)))
        size = np.sqrt(np.add.reduceat(sums * sums, begins)) if ball.order == 2 else np.add.reduceat(np.abs(sums), begins)
        factor = _factors(np.where(np.isfinite(size), size, np.inf), ball.norm) * (_LOWERED * nearest(1 / ball.step))
        whole = np.trunc(sums * np.repeat(factor, lengths))
        near = np.add.reduceat(np.abs(whole) ** ball.order, begins)
        kept = np.where(np.repeat(near <= 2 * float(ball.radius) ** ball.order, lengths), whole, 0.0).astype(np.int64)
        exact = np.add.reduceat(np.abs(kept) ** ball.order, begins)
        kept[np.repeat(exact > ball.radius**ball.order, lengths)] = 0
        np.add.at(found, places, kept << bits)
        return found


@dataclass(frozen=True, eq=False)
class Total:
    """A sum over units, still secret, and the ball that it is made of, which says how far one unit moves it."""

    value: Secret[Integers]
    ball: Ball


def add_up(blocks: Blocks, of: Callable[[Block], Added], ball: Ball, width: int, *, rate: Fraction | None = None) -> Total:
    """The sum over all units of what their rows add, in the ball: ``width`` numbers, also where there are no rows.

    ``of`` sees the rows of a block and makes of each row what it adds, by public parameters and of nothing but that row.
    ``rate``: every unit takes part with this probability, by a fresh coin.
    """
    high, low = np.zeros(width, dtype=np.int64), np.zeros(width, dtype=np.int64)  # 2^31 times the one, and the other
    some = min(max(_SOME, width), MOST_ROWS)
    for secret in blocks:
        for block in part(open_secret(secret), some):
            if rate is not None:
                block = block.take(bernoulli(Chance(rate), block.units))
            if block.height:
                with np.errstate(all="ignore"):  # what overflows is not finite, and adds nothing
                    added = of(block)
                    _check_shape(added, block.height, width)
                    more, rest = np.divmod(added.total(ball, block.starts), _HALF)
                high += more
                low += rest
    if not high.any():
        return Total(Secret(low), ball)
    whole = high.astype(object) * _HALF + low  # cut off at the end, which moves no two sums further apart
    return Total(Secret(np.array([max(-_FULL, min(int(one), _FULL)) for one in whole], dtype=np.int64)), ball)


def _check_shape(added: Added, height: int, width: int) -> None:
    """Refuse what would be repeated, or belongs to other rows: a sum of it would move further than its parts do."""
    if (added.count, added.width) != (height, width):
        raise ParameterError(
            f"What rows add has {added.width:,} numbers a row, and sums of {width:,} are made; give a line for every row, "
            "with a number for every place of the sum."
        )


def join_totals(totals: Sequence[Total]) -> Total:
    """Several sums over the same units as one: a unit moves all of them together by the root of the sum of squares, rounded up,
    or by the sum, in units of the finest grid. They must have one grid."""
    (step,) = {total.ball.step for total in totals}
    (order,) = {total.ball.order for total in totals}
    square = sum(total.ball.radius**order for total in totals)
    radius = square if order == 1 else math.isqrt(square - 1) + 1
    return Total(Secret(np.concatenate([open_secret(total.value) for total in totals])), Ball(radius, step, order))


def _factors(sizes: Reals, norm: float) -> Reals:
    """What brings lengths down to a norm; 0 for those that are not finite."""
    return np.where(sizes <= norm, 1.0, np.where(sizes < np.inf, norm / sizes, 0.0))


def _scaled(values: Reals, factors: Reals) -> Reals:
    """Lines times their factors, which are 0 for lines that are not finite."""
    if np.isfinite(values).all():
        return values * factors[:, None]
    return np.where(np.isfinite(values), values, 0.0) * factors[:, None]


def _finite(values: Reals) -> Reals:
    """The same, with rows that are not finite as 0."""
    good = np.asarray(np.isfinite(values).all(axis=1))
    return values if good.all() else np.where(good[:, None], values, 0.0)


def _by_person(values: Reals, starts: Integers) -> Reals:
    """Sums of the rows of each person."""
    if not len(starts):
        return np.zeros((0, values.shape[1]))
    return np.add.reduceat(values, starts, axis=0)
