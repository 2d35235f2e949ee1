"""Folds: a table added up over some of its axes, and a smaller one spread over them again, as quickly as numpy can.

Tables are flat. Axes beside each other that have the same fate are one, and a table is added up over one of these after the
other, so that little is left for the next: a step is a table of three axes, the middle of which goes. numpy is slow where the
last axis is short, as it begins anew with every line. So the first part of a long axis goes first, which leaves the lines of that
step long, and the rest of it when the table is small. All is added up in an order that the shape alone decides. Products of two
tables are products of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Reals

_BEGIN = 4.0  # cells that could be added up while numpy begins with a line
_CALL = 3000.0  # and while it is asked for a step
_FEW = 4  # cells at the end of every line that are added up by columns

Step = tuple[int, int, int]  # the cells before the axis that goes, along it, and after it


@dataclass(frozen=True)
class Fold:
    """What becomes of a table of so many cells: steps from it to the smaller one."""

    size: int
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, shape: Sequence[int], kept: Sequence[bool]) -> Fold:
        """``kept``: which axes stay."""
        return cls(math.prod(shape), _steps(tuple(_joined(shape, kept))))

    def add_up(self, table: Reals) -> Reals:
        """The smaller table, a new one."""
        if not self.steps:
            return table.copy()
        for step in self.steps:
            cells = table.reshape(step)
            if step[2] == 1 and step[1] <= _FEW:
                table = cells[:, 0, 0] + cells[:, 1, 0]
                for place in range(2, step[1]):
                    table += cells[:, place, 0]
            else:
                table = np.einsum("abc->ac", cells)
        return table.ravel()

    def add(self, table: Reals, small: Reals) -> None:
        """Add a smaller table to every cell that is added up to its own."""
        self._with(np.add, table, small)

    def multiply(self, table: Reals, small: Reals) -> None:
        """Multiply every cell by that of a smaller table to which it is added up."""
        self._with(np.multiply, table, small)

    def divide(self, table: Reals, small: Reals) -> None:
        """Divide every cell by that of a smaller table to which it is added up."""
        self._with(np.divide, table, small)

    def _with(self, what: np.ufunc, table: Reals, small: Reals) -> None:
        if not self.steps:
            what(table, small, out=table)
            return
        for before, along, after in reversed(self.steps[1:]):
            small = small.reshape(before, 1, after).repeat(along, axis=1)
        before, along, after = self.steps[0]
        cells, small = table.reshape(self.steps[0]), small.reshape(before, 1, after)
        if after == 1 and along <= _FEW:
            for place in range(along):
                what(cells[:, place], small[:, 0], out=cells[:, place])
        else:
            what(cells, small, out=cells)


def _joined(shape: Sequence[int], kept: Sequence[bool]) -> list[tuple[int, bool]]:
    """Axes with those beside them that have the same fate; those of one cell have none."""
    found: list[tuple[int, bool]] = []
    for size, stays in zip(shape, kept, strict=True):
        if size == 1:
            continue
        if found and found[-1][1] == stays:
            found[-1] = found[-1][0] * size, stays
        else:
            found.append((size, stays))
    return found


@lru_cache(2**14)
def _steps(axes: tuple[tuple[int, bool], ...]) -> tuple[Step, ...]:
    """The quickest way, by looking one step ahead."""
    if all(stays for _, stays in axes):
        return ()
    place, step = min(_next(axes), key=lambda one: (_work(one[1], rest=axes[one[0]][0] > one[1][1]), one))
    left = [(size // step[1] if i == place else size, stays) for i, (size, stays) in enumerate(axes)]
    return (step, *_steps(tuple(_joined(*zip(*left, strict=True)))))


def _next(axes: Sequence[tuple[int, bool]]) -> Iterator[tuple[int, Step]]:
    """What may go next: of any axis that goes the whole, or a first part."""
    for place, (size, stays) in enumerate(axes):
        if not stays:
            before, after = (math.prod(one for one, _ in some) for some in (axes[:place], axes[place + 1 :]))
            small = [part for part in range(1, math.isqrt(size) + 1) if size % part == 0]
            for part in (*small[1:], *(size // part for part in small)):
                yield place, (before, part, size // part * after)


def _work(step: Step, *, rest: bool) -> float:
    """About what a step takes, and what is left to do then: one more step at least, if there is a ``rest`` of its axis."""
    before, along, after = step
    line = 1.0 if after == 1 and along <= _FEW else 1 + _BEGIN / (after if after > 1 else along)
    return before * after * (along * line + 2) + (_CALL if rest else 0)


@dataclass(frozen=True)
class Marginals:
    """Several smaller tables of one, each made of the smallest that it is part of."""

    size: int
    many: int
    made: tuple[tuple[tuple[int, ...], int, Fold], ...]  # largest first: which they are, of which it is made (-1: of the whole)

    @classmethod
    def of(cls, axes: Sequence[int], shape: Sequence[int], wanted: Sequence[Sequence[int]]) -> Marginals:
        """Those over the axes that are wanted, in the order of the table's."""
        sizes, places = dict(zip(axes, shape, strict=True)), dict[frozenset[int], list[int]]()
        for place, one in enumerate(wanted):
            places.setdefault(frozenset(one), []).append(place)
        order = sorted(places, key=lambda some: (-math.prod(sizes[axis] for axis in some), -len(some), sorted(some)))
        made: list[tuple[tuple[int, ...], int, Fold]] = []
        for i, some in enumerate(order):
            source = next((j for j in reversed(range(i)) if some < order[j]), -1)
            left = [axis for axis in axes if source < 0 or axis in order[source]]
            fold = Fold.of([sizes[axis] for axis in left], [axis in some for axis in left])
            made.append((tuple(places[some]), source, fold))
        return cls(math.prod(shape), len(wanted), tuple(made))

    def add_up(self, table: Reals) -> list[Reals]:
        """All of them."""
        found: list[Reals] = []
        for _, source, fold in self.made:
            found.append(fold.add_up(table if source < 0 else found[source]))
        by_place = {place: small for (places, _, _), small in zip(self.made, found, strict=True) for place in places}
        return [by_place[place] for place in range(self.many)]

    def add(self, table: Reals, parts: Sequence[Reals]) -> None:
        """Add one smaller table for each of them to all cells that are added up to its own."""
        sums = [sum((parts[place] for place in places[1:]), parts[places[0]]) for places, _, _ in self.made]
        own = [False] * len(sums)  # what is ours to change
        for i in reversed(range(len(sums))):
            _, source, fold = self.made[i]
            if source >= 0 and not own[source]:
                sums[source], own[source] = sums[source].copy(), True
            fold.add(table if source < 0 else sums[source], sums[i])


def contract(
    sizes: Sequence[int], one: tuple[Sequence[int], Reals], other: tuple[Sequence[int], Reals], left: Sequence[int]
) -> Reals:
    """The product of two tables, added up over all columns but some: products of matrices, one for all cells that both keep."""
    tables, names = [], []
    for (columns, table), others in ((one, other[0]), (other, one[0])):
        kept = [column in left or column in others for column in columns]
        columns = tuple(column for column, stays in zip(columns, kept, strict=True) if stays)
        names.append(columns)
        tables.append(Fold.of(table.shape, kept).add_up(table.ravel()).reshape([sizes[column] for column in columns]))
    both = [column for column in names[0] if column in names[1] and column in left]
    gone = [column for column in names[0] if column in names[1] and column not in left]
    first, second = ([column for column in some if column not in both and column not in gone] for some in names)
    orders = ((*both, *first, *gone), (*both, *gone, *second))
    turned = [table.transpose([own.index(c) for c in order]) for table, own, order in zip(tables, names, orders, strict=True)]
    high, wide, deep, last = (math.prod(sizes[column] for column in some) for some in (both, first, gone, second))
    made = np.matmul(turned[0].reshape(high, wide, deep), turned[1].reshape(high, deep, last))
    order = (*both, *first, *second)
    found: Reals = made.reshape([sizes[column] for column in order]).transpose([order.index(column) for column in left])
    return found
