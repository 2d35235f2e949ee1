"""Balanced rows: drawn rows trade values where that brings counts of two and three columns nearer to the model.

Given a separator, what the cliques below it say is independent of everything else. So rows that agree on a separator may trade
all of it: any order of theirs is as likely as the one that was drawn, and none changes a count of any clique. What was
measured, every column's own counts and what can never be stay as they are; so they do where rows of one joined cell trade the
cells within. What does change is which values of different cliques meet. In rows drawn by chance a count of m such rows is off
by about the root of m, and this is most of how far a sample of the table's size is from its model.

Pairs of rows that agree meet by chance, and trade if a sum gets less by it: of the squares of how far counts are off, over the
counts themselves to the power of 3/4, so that neither large nor small ones decide alone; of all pairs of columns and then, where
work is left for that, of triples too. A block of pairs decides by the same counts, so that all is done in arrays; where its
trades together are too many, half of them are made, or half of these.

Work is counted in looks (of two rows that meet, at one marginal) and limited in advance; no clock is asked. Randomness is the
system's, and no part of the guarantee, which the model has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, combinations, groupby

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.noise.bits import words
from discreet.synthetic.inference.tree import Beliefs, Columns, Tree
from discreet.synthetic.rounds.levels import Levels
from discreet.synthetic.rounds.merging import Merged, spread_out

_POWER = 0.75
_TRIPLES = 0.3  # times as much as pairs a triple weighs: there are more of them
_SWEEPS = 4  # over all trades, of pairs, and of pairs and triples: more change next to nothing
_BLOCK = 512  # pairs of rows, at most
_MOST_CELLS = 2**23  # of all marginals together
_MOST_TABLE = 2**22  # cells of the largest table on the way to one
_SPARSE = 4  # cells of a marginal for every row, at most: those of larger ones are mostly empty, and stay so
_CHEAP = 16  # such cells take as long as one look
_FORESEEN = 2**10  # looks take as long as to find out how large the tables on the way to one marginal are
_AT_ONCE = 2**18  # places of rows that are held


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, a line each: their cells on the axes of the model, joined cells, and cells."""

    axes: Integers
    joined: Integers
    cells: Integers

    @classmethod
    def of(cls, axes: Sequence[Integers], joined: Sequence[Integers], cells: Sequence[Integers]) -> Drawn:
        """Of the same column by column."""
        return cls(*(np.stack(own, axis=1) for own in (axes, joined, cells)))

    def trade(self, one: Integers, other: Integers, trade: Trade) -> None:
        """Two rows each give the other what a trade is about."""
        to, back = np.concatenate([one, other]), np.concatenate([other, one])
        for table, columns in ((self.axes, trade.axes), (self.joined, trade.joined), (self.cells, trade.columns)):
            for column in columns:
                table[to, column] = table[back, column]


@dataclass(frozen=True)
class Trade:
    """What rows that agree may trade: some ``axes``, and the ``joined`` cells and cells of the columns that have these. They
    agree on the axes of a separator, or in the joined cell of the column ``within`` which they trade cells."""

    columns: Columns
    agree: Columns = ()
    axes: Columns = ()
    within: int | None = None

    @property
    def joined(self) -> Columns:
        return self.columns if self.within is None else ()

    def touches(self, members: Booleans) -> Booleans:
        """Which marginals a trade can change, those with columns on both sides of it; ``members``: the columns of each."""
        inside = members[list(self.columns)].sum(axis=0)
        both: Booleans = (inside > 0) & (inside < members.sum(axis=0))
        return both

    def groups(self, drawn: Drawn, sizes: Sequence[int]) -> Integers:
        """A number for every row, the same for those that agree."""
        if self.within is not None:
            found: Integers = drawn.joined[:, self.within]
            return found
        found = np.zeros(len(drawn.axes), dtype=np.int64)
        for axis in self.agree:
            found = found * sizes[axis] + drawn.axes[:, axis]
        return found


def list_trades(beliefs: Beliefs, levels: Levels, merged: Sequence[Merged]) -> list[Trade]:
    """All trades: what hangs below every separator, and the cells within joined ones."""
    tree, found = beliefs.tree, list[Trade]()
    for below, separator in zip(tree.below[1:], tree.separators[1:], strict=True):
        columns = tuple(column for column, own in enumerate(levels.axes) if below.intersection(own))
        found.append(Trade(columns, separator, tuple(sorted(below))))
    return found + [Trade((column,), within=column) for column, one in enumerate(merged) if not one.is_plain]


@dataclass(frozen=True, eq=False)
class Watched:
    """The marginals that are brought nearer to the model: cell c of a row is at ``starts + c @ strides``, one place for each
    marginal. There, ``off`` says how far the count of rows is above the model's, times its weight."""

    strides: Reals
    starts: Reals
    weights: Reals
    off: Reals

    @classmethod
    def of(cls, drawn: Drawn, sets: Sequence[Columns], sizes: Sequence[int], shares: Sequence[Reals]) -> Watched:
        """Of rows as they are; ``shares`` are the model's probabilities."""
        strides = np.zeros((len(sizes), len(sets)))
        for j, columns in enumerate(sets):
            for axis, column in enumerate(columns):
                strides[column, j] = math.prod(sizes[after] for after in columns[axis + 1 :])
        wide = [table.size for table in shares]
        starts = np.cumsum([0, *wide])[:-1].astype(np.float64)
        expected = len(drawn.cells) * np.concatenate([table.ravel() for table in shares])
        weights = np.maximum(expected, 1.0) ** -_POWER
        weights *= np.repeat([1.0 if len(columns) == 2 else _TRIPLES for columns in sets], wide)
        counts = np.zeros(len(expected))
        some = max(1, _AT_ONCE // len(sets))
        for begin in range(0, len(drawn.cells), some):
            counts += np.bincount(_places(drawn.cells[begin : begin + some], strides, starts).ravel(), minlength=len(counts))
        return cls(strides, starts, weights, (counts - expected) * weights)

    def improve(self, drawn: Drawn, trade: Trade, sizes: Sequence[int]) -> None:
        """Pairs of rows that agree, each row in one of them, trade where the sum of squares gets less."""
        touched, moved = trade.touches(self.strides > 0), np.isin(np.arange(len(self.strides)), trade.columns)
        given, kept = (self.strides[:, touched] * side[:, None] for side in (moved, ~moved))
        starts, off, weights = self.starts[touched], self.off, self.weights
        most = block = min(_BLOCK, max(1, _AT_ONCE // max(1, len(starts))))
        for one, other in _meet(trade.groups(drawn, sizes), drawn.cells[:, trade.columns], block):
            mine, theirs = drawn.cells[one].astype(np.float64), drawn.cells[other].astype(np.float64)
            give, get, stay, meet = mine @ given + starts, theirs @ given + starts, mine @ kept, theirs @ kept
            now, there, here, then = (place.astype(np.int64) for place in (give + stay, get + meet, get + stay, give + meet))
            # Squares grow by 2d + 1 where a row comes to a count that is off by d, and by 1 - 2d where one goes.
            change = 2 * (off[here] + off[then] - off[now] - off[there])
            change += weights[here] + weights[then] + weights[now] + weights[there]
            change[(give == get) | (stay == meet)] = 0.0
            better = np.flatnonzero(change.sum(axis=1) < 0)[:most]
            while len(better) and not self._move([places[better] for places in (here, then, now, there)]):
                better = better[: len(better) // 2]
                most = max(1, len(better))
            drawn.trade(one[better], other[better], trade)

    def _move(self, places: Sequence[Integers]) -> bool:
        """Rows come to the first two of these places and go from the others, if all of that together makes the sum less.

        With old d and new d of a cell, and w for its weight, w (new^2 - old^2) is w (new - old) (new + old): a sum over all that
        come and go of w old + w new.
        """
        come, go = (np.concatenate([one.ravel() for one in some]) for some in (places[:2], places[2:]))
        off, weights = self.off, self.weights
        before = off[come].sum() - off[go].sum()
        for some, sign in ((come, 1.0), (go, -1.0)):
            np.add.at(off, some, sign * weights[some])
        if before + off[come].sum() - off[go].sum() < 0:
            return True
        for some, sign in ((come, -1.0), (go, 1.0)):
            np.add.at(off, some, sign * weights[some])
        return False


def balance(
    axes: list[Integers],
    cells: list[Integers],
    beliefs: Beliefs,
    levels: Levels,
    merged: Sequence[Merged],
    looks: int,
) -> tuple[list[Integers], list[Integers]]:
    """Rows as they are after trades, by at most so many looks: on the axes of the model, and their cells, column by column."""
    sizes, rows = [len(one.places) for one in merged], len(axes[0])
    trades, drawn = list_trades(beliefs, levels, merged), None
    most, possible = most_cells(looks), [math.comb(len(sizes), wide) * _FORESEEN <= looks for wide in (2, 3)]
    pairs = _sets(sizes, 2, rows, most, beliefs.tree, levels) if possible[0] else []
    left = most - sum(cells for cells, *_ in pairs)
    triples = _sets(sizes, 3, rows, left, beliefs.tree, levels) if possible[1] else []
    for some in (pairs, [*pairs, *triples]):
        sets, looks = [one for *_, one in some], looks - sum(table for _, table, _ in some) // _CHEAP
        members = np.array([[column in one for one in sets] for column in range(len(sizes))], dtype=bool)
        price = sum((rows // 2) * int(trade.touches(members).sum()) for trade in trades)
        sweeps = min(_SWEEPS, looks // price if price else 0)
        if sweeps < 1:
            break
        looks -= sweeps * price
        drawn = drawn or Drawn.of(axes, levels.cells(axes), cells)
        watched = Watched.of(drawn, sets, sizes, _project(sets, beliefs, levels, merged))
        for _ in range(sweeps):
            for trade in trades:
                watched.improve(drawn, trade, beliefs.tree.sizes)
    return (axes, cells) if drawn is None else (list(drawn.axes.T), list(drawn.cells.T))


def most_cells(looks: int) -> int:
    """Of all marginals together that are watched by so many looks."""
    return min(_MOST_CELLS, looks // 16)


def _sets(sizes: Sequence[int], wide: int, rows: int, most: int, tree: Tree, levels: Levels) -> list[tuple[int, int, Columns]]:
    """Sets of so many columns, with few cells for every row, the smallest first, and no more cells in all than that: their cells,
    the largest table on the way to them, which is not too large either, and the columns."""
    cells = sorted((math.prod(sizes[column] for column in one), one) for one in combinations(range(len(sizes)), wide))
    found = [(size, tree.widest(levels.axes_of(one)), one) for size, one in cells if size <= _SPARSE * rows and size <= most]
    kept = [each for each in found if each[1] <= _MOST_TABLE]
    return [each for each, all_of_them in zip(kept, accumulate(size for size, *_ in kept), strict=True) if all_of_them <= most]


def _project(sets: Sequence[Columns], beliefs: Beliefs, levels: Levels, merged: Sequence[Merged]) -> list[Reals]:
    """The probabilities of all cells. What is found on the way to one helps with the next, and is not kept by the model."""
    found: dict[Columns, Reals] = {}
    for _, some in groupby(sorted(sets), key=lambda one: one[0]):
        passing = replace(beliefs)
        found |= {one: spread_out(levels.project(passing, one), one, merged) for one in some}
    return [found[one] for one in sets]


def _places(cells: Integers, strides: Reals, starts: Reals) -> Integers:
    found: Integers = (cells.astype(np.float64) @ strides + starts).astype(np.int64)
    return found


def _meet(groups: Integers, traded: Integers, block: int) -> Iterator[tuple[Integers, Integers]]:
    """Rows of the same group that differ in what is traded, two and two by chance, in blocks of so many."""
    order = np.lexsort((words(len(groups)), groups))
    own = groups[order]
    begins = np.flatnonzero(np.concatenate([[True], own[1:] != own[:-1]]))
    place = np.arange(len(own)) - np.repeat(begins, np.diff(np.append(begins, len(own))))
    first = np.flatnonzero((place[:-1] % 2 == 0) & (own[1:] == own[:-1]))
    one, other = order[first], order[first + 1]
    differ = np.flatnonzero((traded[one] != traded[other]).any(axis=1))
    differ = differ[np.argsort(words(len(differ)))]
    for begin in range(0, len(differ), block):
        some = differ[begin : begin + block]
        yield one[some], other[some]
