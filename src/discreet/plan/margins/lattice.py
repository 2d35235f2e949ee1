"""Margins of one table of counts or sums: which to measure with which share of a cost, and what to make of all of them together.

A table has axes of n_1, n_2 ... values. A *level* is the table summed over the axes that it does not keep: the cells, the
margins, the total. Let level A be measured with noise of variance s_A^2 on each of its n_A cells. Everything is diagonal on
residual spaces: a table is the sum of one component for every set B of axes, which varies along the axes of B and sums to zero
along each, and level A shows exactly the components of the sets B within A (Xiao, Hay, He, Zhang, Kifer 2023). So the estimate
of least variance that is consistent, by generalised least squares, is the mean of what each level says of a component, weighted
by

    1 / (n_A s_A^2),   which add up, over the levels A around B, to its precision p_B.

A level L is the sum of its components, and the variance of one of its cells is

    1 / n_L  sum over B within L of  prod_{j in B} (1 - 1/n_j)  prod_{j in L, not in B} 1/n_j  / p_B.

Totals agree because all levels are made of the same components. All of this is arithmetic on public facts and on what was
released: plain doubles serve, and no matrix is written out.

**Strategy.** The shares t_A of a cost minimise the sum over the asked levels, by weight, of the variance of a cell in relation
to that of the same level measured alone with the whole cost; s_A^2 falls as D_A^2 / t_A^k, k = 1 (a rho) or 2 (an epsilon), where
D_A is how far one unit moves level A. That is sum_B a_B / p_B with p_B = sum_A q_AB, q_AB = t_A^k / (n_A D_A^2). For any other
shares q', 1 / p'_B <= sum_A (q_AB / p_B)^2 / q'_AB: a step minimises this bound, so that none is for the worse, and gives t_A in
proportion to the (k + 1)-th root of t_A^2k sum_B a_B / p_B^2 / (n_A D_A^2). For a rho the objective is convex; for an epsilon
several starts are tried, and the cells alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from discreet.arrays import Reals
from discreet.plan.noises import scale_of
from discreet.plan.release import Spread

Level = tuple[int, ...]  # the axes that it keeps, in rising order

_PARTS = 4096  # of a cost, of which every share is a whole number
_LEAST = 1 / 256  # a share that is smaller than this is not worth its own release
_STEPS, _FIRST = 4000, 300  # of a search; of each of several, of which the best goes on
_ALONE = 6  # noises that are looked at one by one, before all others count as one
_MISS = 0.05
_NOTHING = 1e-100


def below(levels: Iterable[Level]) -> tuple[Level, ...]:
    """All levels that are sums of these, the finest first.

    >>> below([(0, 1)])
    ((0, 1), (0,), (1,), ())
    """
    return _below(tuple(levels))


@lru_cache(maxsize=4096)
def _below(levels: tuple[Level, ...]) -> tuple[Level, ...]:
    found = {part for level in levels for size in range(len(level) + 1) for part in itertools.combinations(level, size)}
    return tuple(sorted(found, key=lambda level: (-len(level), level)))


@lru_cache(maxsize=256)
def share_out(
    sizes: tuple[int, ...], asked: tuple[tuple[Level, Fraction], ...], norms: tuple[tuple[Level, Fraction], ...], *, pure: bool
) -> dict[Level, Fraction]:
    """The levels to measure, each with its share of a cost; together 1. ``asked``: levels and their weights; ``norms``: how far
    one unit moves each level that may be measured, 0 where it is public, and then it has no share.

    >>> alike = tuple((level, Fraction(1)) for level in below([(0, 1)]))
    >>> share_out((10, 10), alike, alike, pure=True)
    {(0, 1): Fraction(1511, 2048), (): Fraction(537, 2048)}
    """
    moved = {level: float(norm) for level, norm in norms}
    private = [level for level, norm in moved.items() if norm]
    if not private:
        return {}
    spaces = [space for space in moved if not any({*space} <= {*level} for level, norm in moved.items() if not norm)]
    wanted = np.zeros(len(spaces))
    for level, weight in asked:
        for i, space in enumerate(spaces):
            if {*space} <= {*level}:
                wanted[i] += float(weight) / (moved[level] or 1.0) ** 2 * _part(level, space, sizes)
    within = np.array([[{*space} <= {*level} for space in spaces] for level in private], dtype=np.float64)
    each = np.array([1 / (_count(level, sizes) * moved[level] ** 2) for level in private])
    power = 2 if pure else 1

    def loss(shares: Reals) -> float:
        precise = (each * shares**power) @ within
        return math.inf if (precise[wanted > 0] <= 0).any() else float((wanted[wanted > 0] / precise[wanted > 0]).sum())

    unit = np.eye(len(private))
    starts = [np.ones(len(private))]
    if pure:
        starts += [1 + 8 * len(private) * unit[i] for i in ([*range(len(private))] if len(private) <= 16 else (0, -1))]
    tried = [descend(start / start.sum(), each, within, wanted, power, _FIRST) for start in starts]
    best = descend(min(tried, key=loss), each, within, wanted, power, _STEPS)
    found = [_rounded(best), *(_rounded(one) for one in unit)]
    whole = min(found, key=lambda shares: (round(loss(np.array(shares, dtype=np.float64)), 12), sum(map(bool, shares))))
    return {level: Fraction(share, _PARTS) for level, share in zip(private, whole, strict=True) if share}


def descend(shares: Reals, each: Reals, within: Reals, wanted: Reals, power: int, steps: int, enough: float = 0.0) -> Reals:
    """Shares of a cost, together 1, of less error than these: sum_B a_B / p_B with p_B = sum_A e_A t_A^k, A around B.

    ``each``: e_A; ``within``: 1 where a measured level A is around a space B, a row a level; ``wanted``: a_B. A step minimises a
    bound of the error, and is never for the worse; it is the last where it gains less than ``enough`` of the error.
    """
    before = math.inf
    for _ in range(steps):
        precise = np.maximum((each * shares**power) @ within, 1e-300)
        if enough:
            error = float((wanted / precise).sum())
            if error > before * (1 - enough):
                break
            before = error
        raw = (each * shares ** (2 * power) * (within @ (wanted / precise**2))) ** (1 / (power + 1))
        shares = raw / raw.sum()
        if enough:
            shares = np.maximum(shares, enough * shares.max())  # so that nothing is given up before the end
            shares /= shares.sum()
    return shares


def _rounded(shares: Reals) -> list[int]:
    """Shares in whole parts that add up to all of them, without those that are hardly any."""
    kept = np.where(shares < _LEAST, 0.0, shares)
    exact = kept / kept.sum() * _PARTS
    whole = np.floor(exact).astype(np.int64)
    for place in np.argsort(whole - exact, kind="stable")[: _PARTS - int(whole.sum())]:
        whole[place] += 1
    return [int(part) for part in whole]


def _count(level: Iterable[int], sizes: Sequence[int]) -> int:
    return math.prod(sizes[axis] for axis in level)


def _part(level: Level, space: Level, sizes: Sequence[int]) -> float:
    """How much of the variance of a component, in the units of its precision, is in every cell of a level."""
    inside = math.prod(1 - 1 / sizes[axis] for axis in space)
    return inside / _count((axis for axis in level if axis not in space), sizes) / _count(level, sizes)


@dataclass(frozen=True)
class Lattice:
    """Levels that were measured, perhaps some of them several times, and how the noise of each spreads."""

    sizes: tuple[int, ...]
    measured: tuple[tuple[Level, Spread], ...]

    @cached_property
    def inverse(self) -> Mapping[Level, float]:
        """1 / p_B for every set B of which something is known; 0 where it is public."""
        found: dict[Level, float] = {}
        for space in below(level for level, _ in self.measured):
            around = [(level, _variance(spread)) for level, spread in self.measured if {*space} <= {*level}]
            exact = any(not variance for _, variance in around)
            found[space] = 0.0 if exact else 1 / sum(1 / (_count(level, self.sizes) * variance) for level, variance in around)
        return found

    def components(self, tables: Sequence[Reals]) -> dict[Level, Reals]:
        """The estimate of every component, from the measured levels as tables, one for each in their order."""
        found: dict[Level, Reals] = {}
        for space in self.inverse:
            said = [
                (residual(table, level, space), _variance(spread) * _count(level, self.sizes))
                for (level, spread), table in zip(self.measured, tables, strict=True)
                if {*space} <= {*level}
            ]
            public = [value for value, variance in said if not variance]
            weights = [1.0] if public else [1 / variance for _, variance in said]
            values = public[:1] or [value for value, _ in said]
            found[space] = np.asarray(
                sum((w * value for w, value in zip(weights, values, strict=True)), np.zeros(values[0].shape)) / sum(weights)
            )
        return found

    def compose(self, components: Mapping[Level, Reals], level: Level) -> Reals:
        """A level from components."""
        table = np.zeros([self.sizes[axis] for axis in level])
        for space in below([level]):
            shape = [self.sizes[axis] if axis in space else 1 for axis in level]
            table = table + components[space].reshape(shape) / _count((axis for axis in level if axis not in space), self.sizes)
        return table

    def deviation(self, level: Level) -> float:
        """The standard error of every cell of a level."""
        return math.sqrt(sum(self.inverse[space] * _part(level, space, self.sizes) for space in below([level])))

    @lru_cache(maxsize=4096)  # noqa: B019 - a frozen value
    def noise(self, level: Level) -> tuple[Spread, ...]:
        """The noise of a cell of a level, as independent noises: one that is Gaussian; of Laplace noises the largest, and one
        of the variance of all others, whose tail at 5 % is heavier than that of their sum."""
        if all(spread.law != "laplace" for _, spread in self.measured):
            raised = max(
                (scale_of(spread, _MISS) / spread.deviation for _, spread in self.measured if spread.deviation), default=1.0
            )
            deviation = self.deviation(level)
            return (Spread("gaussian", raised * deviation, unit=0.0),) if deviation else ()
        scales = sorted(self._scales(level), reverse=True)
        if not scales:
            return ()
        largest = [scale for scale, count in scales for _ in range(min(count, _ALONE))][:_ALONE]
        rest = sum(scale**2 * count for scale, count in scales) - sum(scale**2 for scale in largest)
        every = [*largest, math.sqrt(rest)] if rest > 1e-12 * largest[0] ** 2 else largest
        return tuple(Spread("laplace", scale, unit=0.0) for scale in every)

    def _scales(self, level: Level) -> Iterator[tuple[float, int]]:
        """The scales of all noises in a cell of a level, and how many have each: a cell of a measured level counts by the axes on
        which both agree."""
        for other, spread in self.measured:
            scale = scale_of(spread, _MISS) if _variance(spread) else 0.0
            common = [axis for axis in other if axis in level]
            weight = 1 / (_count(other, self.sizes) * _variance(spread)) if scale else 0.0
            beside = _count((axis for axis in other if axis not in level), self.sizes)
            for agreed in below([tuple(common)]) if scale else ():
                times = beside * math.prod(self.sizes[axis] - 1 for axis in common if axis not in agreed)
                size = abs(weight * scale * sum(self._share(level, space, agreed) for space in below([tuple(common)])))
                if times and size:
                    yield size, times

    def _share(self, level: Level, space: Level, agreed: Level) -> float:
        """By how much a component changes in a cell of a level when one measured cell, that agrees with it there, changes."""
        inside = math.prod((1 if axis in agreed else 0) - 1 / self.sizes[axis] for axis in space)
        return self.inverse[space] * inside / _count((axis for axis in level if axis not in space), self.sizes)


def _variance(spread: Spread) -> float:
    """What is so small that no draw will differ from 0 is nothing."""
    return spread.deviation**2 if spread.deviation > _NOTHING else 0.0


def residual(table: Reals, level: Level, space: Level) -> Reals:
    """The component of a level that varies along the axes of a set, and sums to zero along each."""
    found = table.sum(axis=tuple(i for i, axis in enumerate(level) if axis not in space))
    for i in range(len(space)):
        found = found - found.mean(axis=i, keepdims=True)
    return np.asarray(found, dtype=np.float64)


def make_whole(cells: Reals) -> Reals:
    """Whole numbers, none negative, near the cells of a table, whose total is the rounded total (0 where that is negative).

    From the total down, an axis at a time: the margin over the first axes is the nearest in least squares without negative
    numbers that adds up to what is above it, rounded by largest remainders.

    >>> make_whole(np.array([[10.4, -2.0], [3.3, 4.4]])).tolist()
    [[8.0, 0.0], [3.0, 5.0]]
    """
    above = np.array(max(0.0, np.rint(cells.sum())))
    for axis in range(cells.ndim):
        margin = cells.sum(axis=tuple(range(axis + 1, cells.ndim)))
        lines = margin.reshape(-1, cells.shape[axis])
        above = np.array([_spread(line, total) for line, total in zip(lines, above.ravel(), strict=True)]).reshape(margin.shape)
    return above


def _spread(line: Reals, total: float) -> Reals:
    """Whole numbers, none negative, near a line of numbers and with this total."""
    falling = np.sort(line)[::-1]
    over = (np.cumsum(falling) - total) / np.arange(1, len(line) + 1)
    exact = np.maximum(line - over[np.nonzero(falling > over)[0][-1]], 0.0) if total else np.zeros_like(line)
    found = np.floor(exact + 1e-9)
    missing = max(0, int(total - found.sum()))
    found[np.argsort(found - exact, kind="stable")[:missing]] += 1
    return found
