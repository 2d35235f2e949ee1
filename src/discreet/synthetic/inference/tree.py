"""Junction trees: exact marginals of a distribution over many columns that is a product of small tables.

A set of columns with a table over it is a clique. Cliques are hung in a tree such that those that share a column are connected
by cliques that have it too; what a clique shares with its parent is its separator, the rest is its own. Any product of tables
over cliques is then p(root) times p(own | separator) of all other cliques (Lauritzen and Spiegelhalter 1988), found by one pass
from the leaves to the root and one back. Because the tables of conditional distributions add up to 1, a marginal needs the
cliques between its columns only.

Columns are numbers; all tables have their axes in the order of these, so that one is broadcast to another by its shape alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.arrays import Reals
from discreet.synthetic.inference.folds import Fold, Marginals, contract

Columns = tuple[int, ...]  # in increasing order
_LEAST = 1e-200  # of a product, below which terms may be missing that are too small for a double
_ONE = np.ones(1)


@dataclass(frozen=True)
class Tree:
    """Cliques, parents first: the parent of each (-1 for the root), and what it shares with it."""

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    @classmethod
    def over(cls, sizes: Sequence[int], sets: Iterable[Columns], before: Tree | None = None) -> Tree:
        """A tree with a clique for every set, as small as two greedy rules find it.

        Where the last set is new to a tree ``before``, it has at most as many cells as that says (``grown``): its cliques, with
        columns carried along, are connected without a gap, and eliminating the fewest new neighbours finds such cliques again.
        """
        given = tuple(sets)
        found = [_eliminate(sizes, given, fill=fill) for fill in (False, True)]
        if before is not None:
            found.append(_eliminate(sizes, (*given, *before.carried(given[-1])), fill=True))
        return cls._hang(tuple(sizes), min(found, key=_cells_of(sizes)))

    @classmethod
    def _hang(cls, sizes: tuple[int, ...], cliques: Sequence[Columns]) -> Tree:
        """A spanning tree whose separators are as wide as possible, which is a junction tree (Jensen and Jensen 1994)."""
        left = sorted(cliques, key=lambda clique: (-_count(sizes, clique), clique))
        found, parents = [left.pop(0)], [-1]
        separators: list[Columns] = [()]
        while left:
            best = max(
                (len(shared := {*one} & {*other}), _count(sizes, shared), -j, -i)
                for i, other in enumerate(found)
                for j, one in enumerate(left)
            )
            one, parent = left.pop(-best[2]), -best[3]
            separators.append(tuple(column for column in one if column in found[parent]))
            parents.append(parent)
            found.append(one)
        return cls(sizes, tuple(found), tuple(parents), tuple(separators))

    @property
    def is_whole(self) -> bool:
        """Whether it is a junction tree of all its columns: each clique shares with its parent what it shares with any before."""
        seen: set[int] = set()
        for i, (clique, parent, shared) in enumerate(zip(self.cliques, self.parents, self.separators, strict=True)):
            within = list(clique) == sorted({*clique}) and {*clique} <= {*range(len(self.sizes))}
            known = self.cliques[parent] if 0 <= parent < i else () if parent == -1 and not i else None
            if (
                not within
                or known is None
                or shared != tuple(one for one in clique if one in known)
                or {*clique} & seen > {*shared}
            ):
                return False
            seen |= {*clique}
        return len(seen) == len(self.sizes)

    @cached_property
    def cells(self) -> int:
        """The numbers in all its tables."""
        return sum(self._counts)

    @cached_property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(self.sizes[column] for column in clique) for clique in self.cliques)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(j for j, parent in enumerate(self.parents) if parent == i) for i in range(len(self.cliques)))

    @cached_property
    def below(self) -> tuple[frozenset[int], ...]:
        """The columns of every clique, and of those that hang from it, that its separator has not."""
        found = [frozenset[int]()] * len(self.cliques)
        for i in reversed(range(len(self.cliques))):
            own = frozenset(self.cliques[i]) - frozenset(self.separators[i])
            found[i] = own.union(*(found[j] for j in self.children[i]))
        return tuple(found)

    def reached(self, clique: int) -> frozenset[int]:
        """The columns that a clique and those below it know about."""
        return self.below[clique].union(self.separators[clique])

    def top(self, wanted: frozenset[int]) -> int:
        """The lowest clique that, with those below it, knows about some columns: what lies above need not be looked at."""
        top = 0
        while (down := next((j for j in self.children[top] if wanted <= self.reached(j)), None)) is not None:
            top = down
        return top

    def widest(self, columns: Iterable[int]) -> int:
        """The cells of the largest table on the way to a marginal, beside those of cliques: of what is wanted below a clique,
        and of what this shares with others."""
        wanted = frozenset(columns)
        return self._foresee(self.top(wanted), wanted, wanted)[1]

    def _foresee(self, clique: int, wanted: frozenset[int], keep: frozenset[int]) -> tuple[frozenset[int], int]:
        """The columns of the table that ``Beliefs.project`` makes of a clique, and the largest on the way to it."""
        here = frozenset(self.cliques[clique])
        if wanted <= here:
            return here & keep, _count(self.sizes, here & keep)
        below = [(j, wanted & self.below[j]) for j in self.children[clique] if wanted & self.below[j]]
        parts = [self._foresee(j, part, part.union(self.separators[j])) for j, part in below]
        most = max(size for _, size in parts)
        for i, (others, _) in enumerate(parts):
            here = (here | others) & keep.union(*(names for names, _ in parts[i + 1 :]))
            most = max(most, _count(self.sizes, here))
        return here, most

    def holder(self, columns: Iterable[int]) -> int | None:
        """The smallest clique that has all of these."""
        wanted = frozenset(columns)
        holders = [i for i, clique in enumerate(self._sets) if wanted <= clique]
        return min(holders, key=lambda i: self._counts[i], default=None)

    def spread(self, columns: Iterable[int], clique: int) -> tuple[int, ...]:
        """The shape by which a table over some columns of a clique is broadcast to its table."""
        wanted = frozenset(columns)
        return tuple(self.sizes[column] if column in wanted else 1 for column in self.cliques[clique])

    def others(self, columns: Iterable[int], clique: int) -> tuple[int, ...]:
        """The axes of a clique's table that are added up over for these columns."""
        wanted = frozenset(columns)
        return tuple(axis for axis, column in enumerate(self.cliques[clique]) if column not in wanted)

    def fold(self, columns: Iterable[int], clique: int) -> Fold:
        """How a clique's table is added up over all but some of its columns, and a table over these spread."""
        wanted = frozenset(columns)
        return Fold.of(self.shapes[clique], [column in wanted for column in self.cliques[clique]])

    def sums(self, clique: int, wanted: Sequence[Columns]) -> Marginals:
        """How several tables over some of a clique's columns are made of its own."""
        return Marginals.of(self.cliques[clique], self.shapes[clique], wanted)

    @cached_property
    def _links(self) -> tuple[tuple[Fold, Fold], ...]:
        """For every clique: how its own table and that of its parent are folded to its separator."""
        pairs = zip(self.parents, self.separators, strict=True)
        return tuple((self.fold(shared, i), self.fold(shared, max(parent, 0))) for i, (parent, shared) in enumerate(pairs))

    @cached_property
    def _down(self) -> tuple[Marginals, ...]:
        """For every clique: the separators of its children."""
        return tuple(self.sums(i, [self.separators[j] for j in some]) for i, some in enumerate(self.children))

    def calibrate(self, logs: Sequence[Reals], masks: Mapping[int, Reals]) -> Beliefs:
        """The distribution proportional to the product of exp(logs) and of masks, 0 or more, over cliques."""
        return self.calibrate_each(lambda clique: logs[clique].flatten(), log_masks(masks))

    def calibrate_each(self, log: Callable[[int], Reals], masks: Mapping[int, Reals]) -> Beliefs:
        """The same of logarithms, also of masks, that are made clique by clique, the last ones first: what is done with a table
        is done while it is at hand."""
        many, scale = len(self.cliques), 1.0
        tables, sums, sent = [_ONE] * many, [_ONE] * many, [list[tuple[Fold, Reals]]() for _ in range(many)]
        for i in reversed(range(many)):
            tables[i] = _exp(log(i), masks.get(i))
            for fold, message in sent[i]:
                fold.multiply(tables[i], message)
            if i:
                here, above = self._links[i]
                sums[i] = here.add_up(tables[i])
                most = float(sums[i].max())
                scale *= min(1.0, most)
                sent[self.parents[i]].append((above, sums[i] / (most or 1.0)))
        whole = float(tables[0].sum())
        if scale * whole < _LEAST:
            whole, tables = self._calibrate_logs([log(i) if i not in masks else log(i) + masks[i] for i in range(many)])
            sums = [_ONE, *(np.ones(_count(self.sizes, shared)) for shared in self.separators[1:])]
        tables[0] /= whole or 1.0
        marginals, ratios = [*tables], [_ONE] * many
        for i, children in enumerate(self.children):
            if i:
                marginals[i] = tables[i].copy()
                self._links[i][0].multiply(marginals[i], ratios[i])
            for j, shared in zip(children, self._down[i].add_up(marginals[i]), strict=True):
                ratios[j] = np.divide(shared, sums[j], out=np.zeros_like(shared), where=sums[j] > 0)
        shaped = tuple(table.reshape(shape) for table, shape in zip(marginals, self.shapes, strict=True))
        return Beliefs(self, tuple(tables), tuple(sums), shaped, whole > 0)

    def _calibrate_logs(self, logs: Sequence[Reals]) -> tuple[float, list[Reals]]:
        """The same pass to the root by logarithms, which is slower, where tables disagree so much that products of what is left
        of them vanish: the sum of the root's table, and all tables."""
        with np.errstate(divide="ignore"):
            found = [log.reshape(shape) for log, shape in zip(logs, self.shapes, strict=True)]
            for i in reversed(range(len(found))):
                shared, parent = self.separators[i], self.parents[i]
                others = self.others(shared, i)
                top = found[i].max(axis=others, keepdims=True)
                top[top == -np.inf] = 0.0  # of what cannot be
                table = np.exp(found[i] - top)
                total = table.sum(axis=others, keepdims=True)
                found[i] = table / np.where(total > 0, total, 1.0)
                if i:
                    found[parent] = found[parent] + (np.log(total) + top).reshape(self.spread(shared, parent))
        return float(found[0].sum()), [table.ravel() for table in found]

    def carried(self, columns: Columns) -> list[Columns]:
        """Cliques of a tree with one more set: its columns are carried along the way to where most of them are."""
        best = self._nearest(columns)
        found = [{*clique} for clique in self.cliques]
        for i, column in self._carries(best, columns):
            found[i].add(column)
        return [tuple(sorted(clique)) for clique in found]

    def grown(self, columns: Columns) -> int:
        """At most how many cells a tree with one more set needs."""
        more: dict[int, int] = {}
        for i, column in self._carries(self._nearest(columns), columns):
            more[i] = more.get(i, self._counts[i]) * self.sizes[column]
        return self.cells + sum(many - self._counts[i] for i, many in more.items())

    @cached_property
    def _sets(self) -> tuple[frozenset[int], ...]:
        return tuple(frozenset(clique) for clique in self.cliques)

    @cached_property
    def _counts(self) -> tuple[int, ...]:
        """The cells of every clique."""
        return tuple(_count(self.sizes, clique) for clique in self.cliques)

    def _nearest(self, columns: Columns) -> int:
        """The clique that has most of these columns, the smallest of several."""
        common = [len(clique.intersection(columns)) for clique in self._sets]
        most = max(common)
        return min((self._counts[i], i) for i, many in enumerate(common) if many == most)[1]

    def _carries(self, best: int, columns: Columns) -> Iterator[tuple[int, int]]:
        """Which cliques get which of these columns, so that one has all and those with a column are connected."""
        for column in columns:
            if column not in self._sets[best]:
                yield from ((i, column) for i in self._way(best, column) if column not in self._sets[i])

    def _way(self, start: int, column: int) -> list[int]:
        """The cliques from one to the nearest that has a column."""
        above, seen = start, [start]
        while column not in self.below[above] and column not in self.cliques[above]:
            above = self.parents[above]
            seen.append(above)
        while column not in self.cliques[above]:
            above = next(j for j in self.children[above] if column in self.below[j])
            seen.append(above)
        return seen


@dataclass(frozen=True, eq=False)
class Beliefs:
    """A distribution on a tree: its marginal over every clique. ``tables``: the same, flat and but for a factor for every cell of
    the separator, so that they add up to ``sums`` there. ``possible``: whether anything is."""

    tree: Tree
    tables: tuple[Reals, ...]
    sums: tuple[Reals, ...]
    marginals: tuple[Reals, ...]
    possible: bool

    @cached_property
    def conditionals(self) -> tuple[Reals, ...]:
        """p(own | separator) of every clique."""
        found = [table.copy() for table in self.tables]
        for i in range(1, len(found)):
            self.tree._links[i][0].divide(found[i], np.where(self.sums[i] > 0, self.sums[i], 1.0))
        return tuple(table.reshape(shape) for table, shape in zip(found, self.tree.shapes, strict=True))

    def project(self, columns: Columns) -> Reals:
        """The marginal over some columns, with an axis for each, in order."""
        wanted = frozenset(columns)
        top = self.tree.top(wanted)  # what lies above is added up in this clique's marginal already
        return self._join(top, self.marginals[top], wanted, wanted)[1]

    def weigh(self, masks: Mapping[int, Reals]) -> float:
        """The mean of a product of masks over cliques: of what is 0 or 1 the probability that all are 1."""
        tree = self.tree
        tables = [
            table.ravel() * masks[i].ravel() if i in masks else table.flatten() for i, table in enumerate(self.conditionals)
        ]
        for i in reversed(range(1, len(tables))):
            here, above = tree._links[i]
            above.multiply(tables[tree.parents[i]], here.add_up(tables[i]))
        return float(tables[0].sum())

    @cached_property
    def _known(self) -> dict[tuple[int, frozenset[int]], tuple[Columns, Reals]]:
        return {}

    def _gather(self, clique: int, wanted: frozenset[int]) -> tuple[Columns, Reals]:
        """The distribution of the wanted columns in and below a clique, given its separator; parts without any are left out."""
        if (clique, wanted) in self._known:
            return self._known[clique, wanted]
        found = self._join(clique, self.conditionals[clique], wanted, wanted.union(self.tree.separators[clique]))
        self._known[clique, wanted] = found
        return found

    def _join(self, clique: int, table: Reals, wanted: frozenset[int], keep: frozenset[int]) -> tuple[Columns, Reals]:
        """A clique's table times those from below it that hold wanted columns, added up over all that is not kept."""
        tree = self.tree
        if wanted.issubset(tree.cliques[clique]):
            kept = tuple(column for column in tree.cliques[clique] if column in keep)
            return kept, tree.fold(kept, clique).add_up(table.ravel()).reshape([tree.sizes[column] for column in kept])
        columns, found = tree.cliques[clique], table.reshape(tree.shapes[clique])
        parts = [self._gather(j, part) for j in tree.children[clique] if (part := wanted & tree.below[j])]
        for i, (others, other) in enumerate(parts):
            later = {column for names, _ in parts[i + 1 :] for column in names}
            left = tuple(sorted(({*columns} | {*others}) & (keep | later)))
            found = contract(tree.sizes, (columns, found), (others, other), left)
            columns = left
        return columns, found


def log_masks(masks: Mapping[int, Reals]) -> Mapping[int, Reals]:
    """The logarithms of masks, flat."""
    with np.errstate(divide="ignore"):
        return {i: np.log(held).ravel() for i, held in masks.items()}


def _exp(log: Reals, held: Reals | None) -> Reals:
    """A table of which the largest number that is left stands for 1: were it one that a mask rules out, others might be too small
    for a double. The logarithms are ours to change."""
    if held is not None:
        log += held
    top = float(log.max())
    log -= top if np.isfinite(top) else 0.0
    return np.exp(log, out=log)


def _count(sizes: Sequence[int], columns: Iterable[int]) -> int:
    return math.prod(sizes[column] for column in columns)


def _cells_of(sizes: Sequence[int]) -> Callable[[Sequence[Columns]], int]:
    return lambda cliques: sum(_count(sizes, clique) for clique in cliques)


def _eliminate(sizes: Sequence[int], sets: Sequence[Columns], *, fill: bool) -> list[Columns]:
    """Cliques by eliminating one column after the other: the one whose neighbours make the smallest table, or ``fill``, the one
    that connects the fewest of them anew. Sets of columns are bits of a whole number."""
    near = [0] * len(sizes)
    for one in sets:
        together = sum(1 << column for column in one)
        for column in one:
            near[column] |= together
    near = [bits & ~(1 << column) for column, bits in enumerate(near)]
    left, found = set(range(len(sizes))), []
    while left:

        def price(column: int) -> tuple[int, int, int]:
            members = _members(near[column])
            added = sum((near[column] & ~near[other]).bit_count() - 1 for other in members) if fill else 0
            return added, sizes[column] * _count(sizes, members), column

        chosen = min(left, key=price)
        together = near[chosen]
        found.append(together | 1 << chosen)
        for other in _members(together):
            near[other] = (near[other] | together) & ~(1 << other) & ~(1 << chosen)
        left.discard(chosen)
    largest = [bits for i, bits in enumerate(found) if not any(bits & other == bits for other in found[:i])]
    return [tuple(_members(bits)) for bits in largest]


def _members(bits: int) -> list[int]:
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
