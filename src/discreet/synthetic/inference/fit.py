"""The distribution of largest entropy whose marginals are as close to noisy ones as can be.

Minimised is the sum over all measurements of |N p_S - y|^2 / 2 s^2: y counts of the cells of some columns S, s the standard
deviation of their noise, p_S the marginal, N the number of rows. It is convex in the marginals, and mirror descent with entropy
as its mirror (Beck and Teboulle 2003; for marginals McKenna, Sheldon and Miklau 2019) moves logarithms of tables against the
gradient: whatever it does, they stay those of a distribution, no count becomes negative, and what no measurement speaks of stays
as even as it can be. Steps have momentum, which starts anew when the sum grows (O'Donoghue and Candes 2015), and a length that is
found by trying: one is too long that wins less than half of what the gradient promises.

All of it is computed of released numbers: it is free, and its errors are no matter of privacy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Reals
from discreet.synthetic.inference.folds import Marginals
from discreet.synthetic.inference.tree import Beliefs, Columns, Tree, log_masks

_GAIN = 1e-6  # of the sum in 25 steps, below which more of them are of no use
_LOOK = 25
_TRIES = 30  # to shorten one step
_LITTLE = 0.1  # standard deviations of noise that a count begins with at least


@dataclass(frozen=True, eq=False)
class Noisy:
    """A measured marginal: columns, counts with an axis for every column, and the standard deviation of each."""

    columns: Columns
    counts: Reals
    deviation: Reals | float


@dataclass(frozen=True, eq=False)
class Fit:
    """Logarithms of tables on a tree, the distribution that they make, and how far it is from what was measured. ``moves``: what
    every set of columns that was measured gave to the logarithms, since they were all 0; none where it began elsewhere."""

    logs: tuple[Reals, ...]
    beliefs: Beliefs
    loss: float
    moves: tuple[Reals, ...] = ()

    @property
    def tree(self) -> Tree:
        return self.beliefs.tree

    def carried(self, tree: Tree) -> list[Reals]:
        """The logarithms on another tree, those of every clique in one that holds it; even where there is none."""
        logs = [np.zeros(shape) for shape in tree.shapes]
        for clique, table in zip(self.tree.cliques, self.logs, strict=True):
            holder = tree.holder(clique)
            if holder is not None:
                logs[holder] += table.reshape(tree.spread(clique, holder))
        return logs


@dataclass(frozen=True, eq=False)
class Target:
    """A measurement as the clique sees it that it is compared with: shares of all rows, and how well each is known."""

    columns: Columns
    clique: int
    shares: Reals
    weight: Reals


@dataclass(frozen=True, eq=False)
class Targets:
    """All measurements on a tree, each set of columns once: several measurements of it are one, of the sum of their weights.
    ``masks``: tables that are 0 where nothing can be, by clique."""

    tree: Tree
    each: tuple[Target, ...]
    masks: Mapping[int, Reals]

    @classmethod
    def of(cls, tree: Tree, measured: Sequence[Noisy], total: float, zeros: Sequence[tuple[Columns, Reals]] = ()) -> Targets:
        together: dict[Columns, list[tuple[Reals, Reals]]] = {}
        for one in measured:
            deviation = np.broadcast_to(np.asarray(one.deviation, dtype=np.float64), one.counts.shape)
            together.setdefault(one.columns, []).append((one.counts.ravel() / total, (total / deviation.ravel()) ** 2))
        found = []
        for columns, some in together.items():
            clique = tree.holder(columns)
            assert clique is not None, "the tree was built for what was measured"
            weight = sum((own for _, own in some[1:]), some[0][1])
            shares = sum((own * share for share, own in some[1:]), some[0][1] * some[0][0]) / weight
            found.append(Target(columns, clique, shares, weight))
        return cls(tree, tuple(found), mask(tree, zeros))

    @cached_property
    def _by_clique(self) -> tuple[tuple[tuple[int, ...], Marginals], ...]:
        """For every clique: which of them are compared with it, and how their tables are made of its own."""
        places = [tuple(i for i, one in enumerate(self.each) if one.clique == clique) for clique in range(len(self.tree.cliques))]
        return tuple((some, self.tree.sums(i, [self.each[j].columns for j in some])) for i, some in enumerate(places))

    def tables(self, beliefs: Beliefs) -> list[Reals]:
        """What a distribution says of each."""
        found: dict[int, Reals] = {}
        for (some, sums), marginal in zip(self._by_clique, beliefs.marginals, strict=True):
            found |= zip(some, sums.add_up(marginal.ravel()), strict=True)
        return [found[i] for i in range(len(self.each))]

    def logs(self, moves: Sequence[Reals], start: Sequence[Reals] | None = None) -> list[Reals]:
        """Logarithms of the tables of a tree: sums of tables over what was measured; added to others, or to 0."""
        return [self._log(i, moves, start).reshape(shape) for i, shape in enumerate(self.tree.shapes)]

    def _log(self, clique: int, moves: Sequence[Reals], start: Sequence[Reals] | None) -> Reals:
        some, sums = self._by_clique[clique]
        table = np.zeros(sums.size) if start is None else start[clique].flatten()
        sums.add(table, [moves[j] for j in some])
        return table

    def beliefs(self, moves: Sequence[Reals], start: Sequence[Reals] | None) -> Beliefs:
        """The distribution that has these logarithms."""
        return self.tree.calibrate_each(lambda clique: self._log(clique, moves, start), self._log_masks)

    @cached_property
    def _log_masks(self) -> Mapping[int, Reals]:
        return log_masks(self.masks)


def fit(
    tree: Tree,
    measured: Sequence[Noisy],
    total: float,
    steps: int,
    start: Fit | None = None,
    zeros: Sequence[tuple[Columns, Reals]] = (),
    enough: float = 0.0,
) -> Fit:
    """At most so many steps from ``start``, or from columns that have nothing to do with one another. ``zeros``: tables that are
    0 where nothing can be. ``enough``: what 25 steps must win of the sum, or there are no more of them."""
    targets = Targets.of(tree, measured, total, zeros)
    before = None if start is None else start.carried(tree)
    moves = _begin(targets.each) if start is None else [np.zeros(one.shares.size) for one in targets.each]
    best = ahead = here = _Point.at(moves, targets, before)
    length = 8.0 / sum(float(np.max(one.weight)) for one in targets.each)
    momentum, last = 1.0, here.loss
    for step in range(1, steps + 1):
        tries = 0
        while True:
            new = _Point.at(ahead.moved(-length), targets, before)
            if ahead.loss - new.loss >= ahead.promised(new) / 2 or tries == _TRIES:
                break
            length, tries = length / 2, tries + 1
        length *= 1.0 if tries else 1.1
        if new.loss > here.loss:
            momentum, ahead, length = 1.0, here, length * 0.7
        else:
            faster = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            push, momentum = (momentum - 1) / faster, faster
            ahead = new if push == 0 else _Point.at(new.beyond(here, push), targets, before)
            here = new
        best = min(best, here, key=lambda point: point.loss)
        if step % _LOOK == 0:
            if last - best.loss < max(_GAIN * last, enough):
                break
            last = best.loss
    logs = tuple(targets.logs(best.moves, before))
    return Fit(logs, best.beliefs, best.loss, tuple(best.moves) if start is None else ())


def mask(tree: Tree, zeros: Sequence[tuple[Columns, Reals]]) -> Mapping[int, Reals]:
    """Tables over columns, multiplied into the cliques that hold them."""
    masks: dict[int, Reals] = {}
    for columns, table in zeros:
        clique = tree.holder(columns)
        assert clique is not None, "the tree was built for these columns too"
        masks[clique] = masks.get(clique, np.ones(tree.shapes[clique])) * table.reshape(tree.spread(columns, clique))
    return masks


def _begin(targets: Sequence[Target]) -> list[Reals]:
    """Every column as it was measured by itself, with a little of everything."""
    return [
        np.log(np.maximum(one.shares, _LITTLE / np.sqrt(one.weight))) if len(one.columns) == 1 else np.zeros(one.shares.size)
        for one in targets
    ]


@dataclass(frozen=True, eq=False)
class _Point:
    """What measurements gave to the logarithms, the distribution that these make, and how each measurement pulls there."""

    moves: list[Reals]
    beliefs: Beliefs
    loss: float
    tables: list[Reals]
    pulls: list[Reals]

    @classmethod
    def at(cls, moves: list[Reals], targets: Targets, start: Sequence[Reals] | None) -> _Point:
        beliefs = targets.beliefs(moves, start)
        tables, pulls, loss = targets.tables(beliefs), list[Reals](), 0.0
        for one, table in zip(targets.each, tables, strict=True):
            away = table - one.shares
            pulls.append(one.weight * away)
            loss += float(pulls[-1] @ away) / 2
        return cls(moves, beliefs, loss, tables, pulls)

    def moved(self, by: float) -> list[Reals]:
        return [move + by * pull for move, pull in zip(self.moves, self.pulls, strict=True)]

    def beyond(self, before: _Point, push: float) -> list[Reals]:
        return [move + push * (move - old) for move, old in zip(self.moves, before.moves, strict=True)]

    def promised(self, new: _Point) -> float:
        """What the gradient says that a step wins."""
        steps = zip(self.pulls, self.tables, new.tables, strict=True)
        return sum(float(pull @ (here - there)) for pull, here, there in steps)
