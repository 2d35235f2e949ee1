"""The likeliest distribution, where columns are likely to have little to do with one another: a fit with a prior.

A distribution that agrees with noisy marginals as well as it can (``fit``) follows noise wherever cells are small, and what a
column is like given others is full of such cells. Here the logarithm of a distribution is a sum of effects: a table for every set
of columns that was measured, and for every set within it. The numbers of an effect are likely to be near 0: normal, with a
standard deviation that is large for one column, smaller for what two have to do with one another, and small for what three have
beyond their pairs (log-linear models with normal priors, Knuiman and Speed 1988). Minimised is

    the sum over all measurements of |N p_S - y|^2 / 2 s^2, and over all effects of |e|^2 / 2 t^2,

of which the first is what noise makes likely, and the second what the prior does. Where counts are large for their noise the
prior says next to nothing; where they are small, a cell is what its margins make it.

Effects are in units of t, over the root of how well they are known, so that all directions are about equally steep; steps are
those of L-BFGS (Liu and Nocedal 1989). How the sum changes with the logarithms needs covariances of effects in different
cliques: moving all logarithms a little along the gradient of the first sum, the marginals move by these times it.

All of it is computed of released numbers: it is free, and its errors are no matter of privacy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.arrays import Reals
from discreet.synthetic.inference.fit import Fit, Noisy, Target, Targets
from discreet.synthetic.inference.tree import Beliefs, Columns

SPREADS = (4.0, 2.0, 0.2)  # standard deviations of effects of one, two, and more columns
_KEPT = 20  # last steps by which the next is chosen
_LITTLE = 1e-5  # by which logarithms are moved, at most, to see how marginals move
_GAIN = 1e-4  # of the sum in 25 steps, below which more of them are of no use
_LOOK = 25
_TRIES = 20  # to shorten one step
_LEAST = 1e-4  # of what a step promises, that it must win


@dataclass(frozen=True)
class _Effect:
    """The table of a set of axes: where it is among all numbers, and the standard deviation that it is likely to have."""

    axes: Columns
    begin: int
    end: int
    spread: float


@dataclass(frozen=True)
class _Part:
    """An effect within a target: its shape there, and the axes that it is the same along."""

    effect: _Effect
    shape: tuple[int, ...]
    over: tuple[int, ...]


def shrink(
    rough: Fit,
    measured: Sequence[Noisy],
    total: float,
    steps: int,
    columns: Sequence[int],
    zeros: Sequence[tuple[Columns, Reals]] = (),
) -> Fit:
    """The likeliest distribution, by at most so many steps from a rough fit to the same measurements, which began with nothing.
    ``columns``: that of every axis; of a column with several axes, the later say more of the earlier."""
    effects = Effects.of(Targets.of(rough.tree, measured, total, zeros), columns)
    scale = effects.scale(rough.beliefs)

    def steep(point: Reals) -> tuple[float, Reals]:
        value, gradient = effects.steep(scale * point)
        return value, scale * gradient

    return effects.fit(scale * _descend(steep, effects.split(rough.moves) / scale, steps))


@dataclass(frozen=True, eq=False)
class Effects:
    """All effects of some targets on a tree. ``parts``: those within each target. ``added``: those that the logarithms have from
    it, for every effect is added once."""

    targets: Targets
    columns: Sequence[int]  # of all axes
    parts: Sequence[Sequence[_Part]]
    added: Sequence[Sequence[_Part]]
    size: int

    @classmethod
    def of(cls, targets: Targets, columns: Sequence[int]) -> Effects:
        known, size, sizes = dict[Columns, _Effect](), 0, targets.tree.sizes
        parts, added = list[list[_Part]](), list[list[_Part]]()
        for one in targets.each:
            parts.append([])
            added.append([])
            for axes in _sets(one.columns, columns):
                new = axes not in known
                if new:
                    end = size + math.prod(sizes[axis] for axis in axes)
                    spread = SPREADS[min(len({columns[axis] for axis in axes}), len(SPREADS)) - 1]
                    known[axes], size = _Effect(axes, size, end, spread), end
                shape = tuple(sizes[axis] if axis in axes else 1 for axis in one.columns)
                over = tuple(place for place, axis in enumerate(one.columns) if axis not in axes)
                parts[-1].append(_Part(known[axes], shape, over))
                added[-1] += parts[-1][-1:] if new else []
        return cls(targets, columns, parts, added, size)

    def _shape(self, target: Target) -> tuple[int, ...]:
        return tuple(self.targets.tree.sizes[axis] for axis in target.columns)

    def logs(self, numbers: Reals) -> list[Reals]:
        """The logarithms that effects, in units of their standard deviations, add up to."""
        moves = []
        for one, some in zip(self.targets.each, self.added, strict=True):
            table = np.zeros(self._shape(one))
            for part in some:
                own = part.effect
                table += own.spread * numbers[own.begin : own.end].reshape(part.shape)
            moves.append(table.ravel())
        return self.targets.logs(moves)

    def _beliefs(self, logs: Sequence[Reals]) -> Beliefs:
        return self.targets.tree.calibrate(logs, self.targets.masks)

    def split(self, moves: Sequence[Reals]) -> Reals:
        """The likeliest effects that add up to the moves of a fit, of each target by itself.

        What of a sum of effects changes with all axes of a set V, and with no other, has for a variance the sum over sets U that
        contain V of t_U^2 times the cells along the axes that U has not; each has its share of that.
        """
        numbers = np.zeros(self.size)
        for one, some, move in zip(self.targets.each, self.parts, moves, strict=True):
            shape = self._shape(one)
            table, share = move.reshape(shape), np.zeros(shape)
            inside = [({*range(len(shape))} - {*part.over}, part) for part in some]
            rest = table
            for varied in map(set[int], _few(range(len(shape)), [self.columns[axis] for axis in one.columns])):
                above = (own for axes, own in inside if varied <= axes)
                variance = sum(own.effect.spread**2 * math.prod(shape[axis] for axis in own.over) for own in above)
                found = _varying(table, varied)
                rest, share = rest - found, share + found / variance
            share += rest / some[-1].effect.spread ** 2  # what changes with more columns is in the effect of all
            for part in some:
                own = part.effect
                numbers[own.begin : own.end] += own.spread * share.sum(axis=part.over).ravel()
        return numbers

    def scale(self, beliefs: Beliefs) -> Reals:
        """About how far every effect may be off, of its standard deviation, given what was measured."""
        known = np.ones(self.size)
        for one, some, table in zip(self.targets.each, self.parts, self.targets.tables(beliefs), strict=True):
            weight = (one.weight * table**2).reshape(self._shape(one))
            for part in some:
                own = part.effect
                known[own.begin : own.end] += own.spread**2 * weight.sum(axis=part.over).ravel()
        found: Reals = 1 / np.sqrt(known)
        return found

    def steep(self, numbers: Reals) -> tuple[float, Reals]:
        """The sum that is minimised, and its gradient."""
        logs = self.logs(numbers)
        tables = self.targets.tables(self._beliefs(logs))
        away = [table - one.shares for one, table in zip(self.targets.each, tables, strict=True)]
        pulls = [one.weight * off for one, off in zip(self.targets.each, away, strict=True)]
        value = sum(float((pull * off).sum()) for pull, off in zip(pulls, away, strict=True)) / 2
        moves = self.targets.logs(pulls)
        most = max(float(np.abs(move).max()) for move in moves)
        gradient = numbers.copy()
        if most > 0:
            little = _LITTLE / most
            moved = self._beliefs([log + little * move for log, move in zip(logs, moves, strict=True)])
            for one, some, before, after in zip(self.targets.each, self.added, tables, self.targets.tables(moved), strict=True):
                change = ((after - before) / little).reshape(self._shape(one))
                for part in some:
                    own = part.effect
                    gradient[own.begin : own.end] += own.spread * change.sum(axis=part.over).ravel()
        return value + float(numbers @ numbers) / 2, gradient

    def fit(self, numbers: Reals) -> Fit:
        """The distribution of these effects."""
        logs = self.logs(numbers)
        beliefs = self._beliefs(logs)
        pairs = zip(self.targets.each, self.targets.tables(beliefs), strict=True)
        return Fit(tuple(logs), beliefs, sum(float((one.weight * (table - one.shares) ** 2).sum()) / 2 for one, table in pairs))


def _few(axes: Sequence[int], columns: Sequence[int]) -> Iterator[Columns]:
    """All sets of axes that are of a few columns."""
    for many in range(len(axes) + 1):
        for some in itertools.combinations(axes, many):
            if len({columns[axis] for axis in some}) <= len(SPREADS):
                yield some


def _sets(axes: Columns, columns: Sequence[int]) -> Iterator[Columns]:
    """The sets of axes that have effects: those of a few columns, without a later axis of a column and not the earlier; and last
    all together."""
    for some in _few(axes, columns):
        whole = all(other in some for axis in some for other in axes if other < axis and columns[other] == columns[axis])
        if whole and 0 < len(some) < len(axes):
            yield some
    yield axes


def _varying(table: Reals, axes: set[int]) -> Reals:
    """What of a table changes with all of these axes, and with no other."""
    for axis in range(table.ndim):
        mean = table.mean(axis=axis, keepdims=True)
        table = table - mean if axis in axes else mean
    return table


def _descend(steep: Callable[[Reals], tuple[float, Reals]], point: Reals, steps: int) -> Reals:
    """Where a function is least, by at most so many steps of L-BFGS."""
    value, gradient = steep(point)
    last, kept = value, list[tuple[Reals, Reals]]()
    for step in range(1, steps + 1):
        way = _newton(gradient, kept)
        promised = float(way @ gradient)
        length = 1.0 if kept else 1 / max(1.0, float(np.linalg.norm(gradient)))
        for _ in range(_TRIES):
            there = point + length * way
            less, slope = steep(there)
            if less <= value + _LEAST * length * promised:
                break
            length /= 2
        else:
            return point
        moved, bent = there - point, slope - gradient
        if moved @ bent > 0:
            kept = [*kept, (moved, bent)][-_KEPT:]
        point, value, gradient = there, less, slope
        if step % _LOOK == 0:
            if last - value < _GAIN * last:
                break
            last = value
    return point


def _newton(gradient: Reals, kept: Sequence[tuple[Reals, Reals]]) -> Reals:
    """The step that the last ones make seem best."""
    way, parts = -gradient, list[float]()
    for moved, bent in reversed(kept):
        parts.append(float(moved @ way) / float(moved @ bent))
        way = way - parts[-1] * bent
    if kept:
        moved, bent = kept[-1]
        way = way * (float(moved @ bent) / float(bent @ bent))
    for (moved, bent), part in zip(kept, reversed(parts), strict=True):
        way = way + (part - float(bent @ way) / float(moved @ bent)) * moved
    return way
