"""Replicas: tables that the private one could be, by all that was released; how far they differ is how far a model may be off.

Three things are not known of the table, and a replica has a draw of each.

* **Noise.** What was measured is drawn again: the fitted counts with fresh noise of the same size, to which a model is fitted.
  Rare values, which are joined, are shared out by their own counts with fresh noise (a parametric bootstrap).
* **What was not measured.** What columns have to do with one another that no measurement has together is the model's guess, the
  most even there is. How wrong such guesses are was seen whenever a marginal was measured: before it was, the model had guessed
  it too, and missed by more than noise and the next point explain. A cell of m rows is off by sqrt(f) m^(3/4) more, and all
  these marginals say what f is (``strangeness``): small cells are off by more of their rows than large ones. They were chosen
  as the worst, so that what was never measured is hardly worse. A replica's table over the columns that are asked about gets
  errors as large: half of them the same for whole runs of values, which do not cancel in sums, half of them cell by cell. So
  does what joined cells are made of.
* **The draw.** The private table is one of many that the same distribution would give: its counts scatter around guesses as
  independent rows do.

The last two leave alone what was measured: the table is scaled until it agrees in the joined cells of every set of columns that
some measurement has together, or in the runs by which it has them (iterative proportional fitting, Deming and Stephan 1940),
with what was measured, drawn again, where that is clear, and with the replica's model elsewhere.

All of it is computed of released numbers, and free. Randomness is the system's; no guarantee depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.noise.bits import words
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import Fit, fit
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.rounds.measuring import Measurements
from discreet.synthetic.rounds.merging import Merged
from discreet.synthetic.rounds.run import total_of
from discreet.synthetic.rows import draw_cells, spread_cells
from discreet.synthetic.zeros import Zeros

COUNT = 10
_STEPS = 100  # of a fit
_WHOLE = 2**18  # cells of a table that is made whole; of a larger one as many rows are drawn
_DRAWN = 2**16
_SCALED = 12  # rounds of proportional fitting
_UNKNOWN = 1.0  # strangeness where no guess was ever held against anything
_SMOOTH = 3  # waves of a factor of an ordered column


@dataclass(frozen=True, eq=False)
class Weighted:
    """Combinations of cells of some columns, and how many rows each stands for."""

    cells: tuple[Integers, ...]
    rows: Reals

    def sums(self, axes: Sequence[int], joined: Sequence[Merged]) -> tuple[Integers, Reals]:
        """For every combination its place in the table over joined cells of some of the columns, and the rows of that table."""
        place = np.zeros(len(self.rows), dtype=np.int64)
        for axis in axes:
            place = place * joined[axis].count + joined[axis].places[self.cells[axis]]
        found: Reals = np.bincount(place, self.rows, math.prod(joined[axis].count for axis in axes)).astype(np.float64)
        return place, found


@dataclass(frozen=True, eq=False)
class Replica:
    """A model of one draw of what was measured."""

    levels: Levels
    merged: tuple[Merged, ...]
    fitted: Fit
    total: float

    def project(self, columns: Columns) -> Reals:
        """The probabilities of all cells of some columns."""
        return spread_out(self.levels.project(self.fitted.beliefs, columns), columns, self.merged)

    def rows(self, columns: Columns, domain: Domain) -> Weighted:
        """All combinations of some columns; of too many, rows that are drawn."""
        sizes = [domain.sizes[column] for column in columns]
        if math.prod(sizes) <= _WHOLE:
            cells = np.unravel_index(np.arange(math.prod(sizes)), sizes)
            return Weighted(tuple(one.astype(np.int64) for one in cells), self.total * self.project(columns).ravel())
        drawn = self.levels.cells(draw_cells(self.fitted.beliefs, _DRAWN))
        fine = tuple(spread_cells(drawn[column], self.merged[column]) for column in columns)
        return Weighted(fine, np.full(_DRAWN, self.total / _DRAWN))


def spread_out(table: Reals, columns: Columns, merged: Sequence[Merged]) -> Reals:
    """A table over joined cells, over all of them."""
    for axis, column in enumerate(columns):
        if not merged[column].is_plain:
            table = np.moveaxis(np.tensordot(table, merged[column].table, axes=(axis, 0)), -1, axis)
    return table


@dataclass(frozen=True, eq=False)
class Replicas:
    """Some replicas of one model, made of what it was made of."""

    domain: Domain
    measured: Measurements
    noisy: tuple[Seen, ...]
    model: Replica
    zeros: Zeros

    @cached_property
    def all(self) -> tuple[Replica, ...]:
        return tuple(self._draw() for _ in range(COUNT))

    def _draw(self) -> Replica:
        own, levels = self.measured.own, self.model.levels
        merged, again = [], list[Seen]()
        for coding, one, before in zip(self.domain.columns, own, self.model.merged, strict=True):
            counts = np.maximum(one.real([coding.count]) + one.deviation * normals(coding.count), 0.0)
            sums = np.bincount(before.places, counts)[before.places]
            merged.append(Merged(before.places, np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), before.shares)))
        for noisy in self.noisy:
            fitted = self.model.total * levels.project(self.model.fitted.beliefs, noisy.columns, noisy.coarse)
            noise = np.broadcast_to(noisy.deviation, fitted.shape) * normals(fitted.size).reshape(fitted.shape)
            again.append(Seen(noisy.columns, noisy.coarse, fitted + noise, noisy.deviation))
        total, tree = total_of(again), self.model.fitted.tree
        fitted_again = fit(tree, [levels.noisy(one) for one in again], total, _STEPS, None, levels.zeros(self.zeros).tables)
        return Replica(levels, tuple(merged), fitted_again, total)

    @cached_property
    def strangeness(self) -> float:
        """By how much more than noise and chance a guess is off, of columns that were not measured together: the variance of a
        cell, over the number of its rows to the power of 3/2."""
        found, known = [], list[frozenset[int]]()
        for one in self.measured.later:
            if one.missed is not None and not any(known_ >= {*one.columns} for known_ in known):
                away, powers, rows = one.missed
                excess = away - len(one.counts) * one.deviation**2 - rows
                found.append(max(0.0, excess) / max(powers, 1.0))
            known.append(frozenset(one.columns))
        late = found[len(found) // 2 :]
        return float(np.mean(late)) if late else _UNKNOWN

    def known(self, columns: Columns) -> list[tuple[int, ...]]:
        """Which of these columns, by their places, were measured together by joined cells: the largest such sets."""
        sets = {
            frozenset(columns.index(column) for column in one.columns if column in columns and column not in one.coarse)
            for one in self.noisy
        }
        sets |= {frozenset(columns.index(column) for column in table if column in columns) for table, _ in self.zeros.tables} - {
            frozenset()
        }
        return [tuple(sorted(one)) for one in sets if one and not any(one < other for other in sets)]

    def known_by_runs(self, columns: Columns) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Those that were measured together, some of them by runs; and which."""
        sets = {
            (
                tuple(columns.index(column) for column in one.columns if column in columns),
                tuple(columns.index(column) for column in one.coarse if column in columns),
            )
            for one in self.noisy
        }
        return sorted((own, coarse) for own, coarse in sets if coarse and len(own) > 1)

    def disturbed(self, replica: Replica, columns: Columns) -> Weighted:
        """A replica's table over some columns, wrong about what was not measured, and one draw."""
        plain, known = replica.rows(columns, self.domain), self.known(columns)
        joined = [replica.merged[column] for column in columns]
        together = any(len(one) == len(columns) for one in known)
        unknown = self._unclear(plain.cells, joined) if together else np.ones(len(plain.rows), dtype=bool)
        pairs = [(a, b) for a in range(len(columns)) for b in range(a) if not any({a, b} <= {*one} for one in known)]
        wrong = normals(len(unknown)) * np.maximum(plain.rows, 1e-9) ** -0.25 * math.sqrt(0.5 if pairs else 1.0)
        for a, b in pairs:
            place, sums = plain.sums((a, b), joined)
            both = np.prod([self._factor(columns[axis])[plain.cells[axis]] for axis in (a, b)], axis=0)
            wrong += math.sqrt(0.5) * both * np.maximum(sums, 1e-9)[place] ** -0.25
        drawn = poisson(plain.rows * np.maximum(0.0, 1 + math.sqrt(self.strangeness) * wrong))
        rows = np.where(unknown, drawn, plain.rows)
        wanted = []
        for one, coarse in self.known_by_runs(columns):
            runs = [self._by_run(joined[axis], columns[axis]) if axis in coarse else joined[axis] for axis in range(len(columns))]
            wanted.append(self._measured_again(one, coarse, columns, *plain.sums(one, runs)))
        singles = self._singles(known)
        wanted += [self._measured_again(one, (), columns, *plain.sums(one, joined)) for one in (*known, *singles)]
        for _ in range(_SCALED):
            for place, sums in wanted:
                here = np.bincount(place, rows, len(sums))
                rows = rows * (sums / np.where(here > 0, here, 1.0))[place]
        return Weighted(plain.cells, rows)

    @staticmethod
    def _singles(known: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Every column by itself, where it is known with others: it is measured best."""
        return [(axis,) for axis in sorted({axis for one in known if len(one) > 1 for axis in one})]

    def _by_run(self, joined: Merged, column: int) -> Merged:
        """Cells by the runs of a wide column."""
        runs = self.model.levels.runs[column]
        assert runs is not None, "it was measured by runs"
        return Merged(runs[joined.places], joined.shares)

    def _measured_again(
        self, axes: Sequence[int], coarse: Sequence[int], columns: Columns, place: Integers, sums: Reals
    ) -> tuple[Integers, Reals]:
        """What a table is scaled to: what was measured, with fresh noise, where that is clear; a model that agrees with all that
        was measured as well as it can may be off from each. Elsewhere what the replica says."""
        own = tuple(tuple(columns[axis] for axis in some) for some in (axes, coarse))
        same = [one for one in self.noisy if (one.columns, one.coarse) == own]
        if not same:
            return place, sums
        best = min(same, key=lambda one: float(np.mean(one.deviation)))
        counts, spread = best.counts.ravel(), np.broadcast_to(best.deviation, best.counts.shape).ravel()
        return place, np.where(counts > 3 * spread, counts + spread * normals(len(counts)), sums)

    @staticmethod
    def _unclear(cells: Sequence[Integers], joined: Sequence[Merged]) -> NDArray[np.bool_]:
        """Which combinations have a cell that is joined with others."""
        found = np.zeros(len(cells[0]), dtype=bool)
        for own, one in zip(cells, joined, strict=True):
            found |= (np.bincount(one.places) > 1)[one.places][own]
        return found

    def _factor(self, column: int) -> Reals:
        """A random function of a column's cells, of mean square 1: of few waves where cells have an order."""
        coding = self.domain.columns[column]
        found = normals(coding.count)
        if coding.ordered and coding.present > _SMOOTH:
            at = (np.arange(coding.present) + 0.5) / coding.present
            waves = np.stack([np.cos(math.pi * k * at) for k in range(1, _SMOOTH + 1)])
            found[: coding.present] = normals(_SMOOTH) @ waves * math.sqrt(2 / _SMOOTH)
        return found

    def spread(self, columns: Columns, known: Reals | None) -> Reals:
        """The standard deviation of every cell of a marginal, in rows. ``known``: that of the noise of a measurement that has all
        these columns, which is not all of it where cells are joined."""
        counts = self.model.total * self.model.project(columns)
        more = counts + self.strangeness * counts**1.5
        if known is None:
            squares = sum(((one.total * one.project(columns) - counts) ** 2 for one in self.all), np.zeros(counts.shape))
            found: Reals = np.sqrt(squares / COUNT + more)
            return found
        places = [one.ravel() for one in np.indices(counts.shape)]
        unclear = self._unclear(places, [self.model.merged[column] for column in columns]).reshape(counts.shape)
        if len(columns) == 1:
            more = np.full(counts.shape, self.measured.own[columns[0]].deviation ** 2)
        spread: Reals = np.sqrt(known**2 + np.where(unclear, more, 0.0))
        return spread


def normals(count: int) -> Reals:
    """Independent standard normals (Box and Muller 1958), good enough for an estimate of errors."""
    even = (words(2 * count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    found: Reals = np.sqrt(-2 * np.log(1 - even[:count])) * np.cos(2 * math.pi * even[count:])
    return found


def poisson(means: Reals) -> Reals:
    """Independent whole numbers of these means: by adding up probabilities, and of large means rounded normals."""
    found = np.maximum(0.0, np.rint(means + np.sqrt(means) * normals(len(means))))
    few = np.flatnonzero(means < 30)
    even = (words(len(few)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    chance = np.exp(-means[few])
    upto, numbers = chance.copy(), np.zeros(len(few))
    for k in range(1, 80):
        above = even > upto
        if not above.any():
            break
        numbers += above
        chance = chance * means[few] / k
        upto += chance
    found[few] = numbers
    return found
