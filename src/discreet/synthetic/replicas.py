"""Replicas: tables that the private one could be, by all that was released; how far they differ is how far a model may be off.

Three things are not known of the table, and a replica has a draw of each.

* **Noise.** What was measured is drawn again: the fitted counts with fresh noise of the same size, to which a model is fitted
  (a parametric bootstrap). Rare values, which are joined, are shared out by counts that they could have by their own noisy ones:
  none is below 0, and many are small (``likely``).
* **What was not measured.** What columns have to do with one another that no measurement has together is the model's guess, the
  most even there is. How wrong such guesses are was seen whenever a marginal was measured: before it was, the model had guessed
  it too, and missed by more than noise and chance explain. Cells are off as if rows came in clumps of 1 + g that are alike: the
  variance of a cell of m rows is (1 + g) m, be it small or large, and g is what was missed for every row of a guess
  (``strangeness``). What was measured by runs of values is known by runs; what a column has to do with others *within* a run is
  a guess, and g that of guesses which were held against values after runs (``within``). So is what joined cells are made of.
  Besides, what changes from run to run changes within them too, and nobody knows how evenly (``slopes``): replicas have as much
  of a slope more, or less, as there is between neighbouring runs.
* **The draw.** The private table is one of many that the same distribution would give: its counts scatter around guesses as
  independent rows do. That is the 1 of 1 + g.

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
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.rounds.measuring import Measurements
from discreet.synthetic.rounds.merging import Merged, spread_out
from discreet.synthetic.rounds.run import grow_tree, total_of
from discreet.synthetic.rounds.slopes import add_slopes, even_out, flatten, runs_of
from discreet.synthetic.rows import draw_cells, spread_cells
from discreet.synthetic.zeros import Zeros

COUNT = 10
_STEPS = 100  # of a fit
_WHOLE = 2**18  # cells of a table that is made whole; of a larger one as many rows are drawn
_DRAWN = 2**16
_SCALED = 12  # rounds of proportional fitting
_DOUBLINGS, _TRIED = 10, 64  # of counts of rare values, and how many are tried
_UNKNOWN = 20.0  # strangeness where no guess was ever held against anything


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

    @cached_property
    def _tree(self) -> Tree:
        """That of what was measured, without slopes."""
        levels = self.model.levels
        return grow_tree(levels.shape, [levels.noisy(one).columns for one in self.noisy], levels.zeros(self.zeros))

    def _draw(self) -> Replica:
        own, levels = self.measured.own, self.model.levels
        merged, again = [], list[Seen]()
        for coding, one, before in zip(self.domain.columns, own, self.model.merged, strict=True):
            counts = likely(one.real([coding.count]), one.deviation)
            sums = np.bincount(before.places, counts)[before.places]
            merged.append(Merged(before.places, np.where(sums > 0, counts / np.where(sums > 0, sums, 1.0), before.shares)))
        for noisy in self.noisy:
            fitted = self.model.total * levels.project(self.model.fitted.beliefs, noisy.columns, noisy.coarse)
            noise = np.broadcast_to(noisy.deviation, fitted.shape) * normals(fitted.size).reshape(fitted.shape)
            again.append(Seen(noisy.columns, noisy.coarse, fitted + noise, noisy.deviation))
        total, never = total_of(again), levels.zeros(self.zeros)
        plain = fit(self._tree, [levels.noisy(one) for one in again], total, _STEPS, None, never.tables)
        most = self.model.fitted.tree.cells
        fitted_again = add_slopes(levels, self.domain.columns, again, plain, total, most, self.zeros)
        return Replica(levels, tuple(merged), fitted_again, total)

    @cached_property
    def strangeness(self) -> float:
        """By how much more than noise and chance guesses are off, of columns that were not measured together: the variance of a
        cell beyond noise, over its rows, less 1.

        It is the mean of the later half of them. They were chosen as the worst, and margins that were known already held a part
        of their rows fast; the one makes it too large, the other too small, and benchmarks show what is left of both.
        """
        found = self._missed[0]
        late = found[len(found) // 2 :]
        return float(np.mean(late)) if late else _UNKNOWN

    @cached_property
    def within(self) -> float:
        """The same of columns that were measured together by runs of values, and of rare values that are joined: by guesses of
        what was measured by values later; without any as of all others."""
        found = self._missed[1]
        return float(np.mean(found)) if found else self.strangeness

    @cached_property
    def _missed(self) -> tuple[list[float], list[float]]:
        """What was missed for every row of a guess: of columns that were not measured together before, and of those that were,
        but by runs of values only."""
        apart, by_runs, known = list[float](), list[float](), list[tuple[frozenset[int], frozenset[int]]]()
        for one in self.measured.later:
            own, coarse = frozenset(one.columns), frozenset(one.coarse)
            before = [runs & own for columns, runs in known if columns >= own]
            if one.missed is not None and not any(runs <= coarse for runs in before):
                away, _, rows = one.missed
                excess = max(0.0, away - len(one.counts) * one.deviation**2 - rows) / max(rows, 1.0)
                (by_runs if before else apart).append(excess)
            known.append((own, coarse))
        return apart, by_runs

    def _clump(self, columns: Columns) -> float:
        """Rows that come together, where these columns are guessed."""
        return 1 + (self.within if any({*columns} <= {*one.columns} for one in self.noisy) else self.strangeness)

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
        if len(columns) == 1:
            unknown = np.zeros(len(plain.rows), dtype=bool)
        else:
            unknown = self._unclear(plain.cells, joined) if together else np.ones(len(plain.rows), dtype=bool)
        clump = self._clump(columns)
        margins = self._margins(plain, columns, joined)
        leant = plain.rows.copy()
        for run, change in self._slopes(plain, columns, joined):
            leant *= np.maximum(0.0, 1 + change * normals(int(run.max()) + 1)[run])
        rows = np.where(unknown, clump * poisson(leant / clump), plain.rows)
        wanted = [self._measured_again(one, coarse, columns, *sums) for one, coarse, sums in margins]
        wanted = [
            _by_value(plain.cells[one[0]], joined[one[0]], *sums) if len(one) == 1 and not coarse else sums
            for (one, coarse, _), sums in zip(margins, wanted, strict=True)
        ]
        for place, sums in wanted:
            rows = _filled(rows, plain.rows, place, sums)
        for _ in range(_SCALED):
            for place, sums in wanted:
                here = np.bincount(place, rows, len(sums))
                rows = rows * (sums / np.where(here > 0, here, 1.0))[place]
        return Weighted(plain.cells, rows)

    def _margins(
        self, plain: Weighted, columns: Columns, joined: Sequence[Merged]
    ) -> list[tuple[tuple[int, ...], tuple[int, ...], tuple[Integers, Reals]]]:
        """What is known of a table: sets of columns, those of them that are known by runs, and their sums."""
        found = []
        for one, coarse in self.known_by_runs(columns):
            runs = [self._by_run(joined[axis], columns[axis]) if axis in coarse else joined[axis] for axis in range(len(columns))]
            found.append((one, coarse, plain.sums(one, runs)))
        known = self.known(columns)
        return found + [(one, (), plain.sums(one, joined)) for one in (*known, *self._singles(known))]

    def _slopes(self, plain: Weighted, columns: Columns, joined: Sequence[Merged]) -> list[tuple[Integers, Reals]]:
        """For every combination the run that it is in, and by how much of itself an even change within the run moves it, for each
        column that is known with others by runs."""
        found = []
        for one, coarse in self.known_by_runs(columns):
            for axis in coarse:
                at, runs = one.index(axis), runs_of(self.model.levels, columns[axis])
                others = [
                    self._by_run(joined[other], columns[other]) if other in coarse and other != axis else joined[other]
                    for other in range(len(columns))
                ]
                place, sums = plain.sums(one, others)
                table = sums.reshape([others[other].count for other in one])
                flat = flatten(table, at, runs)
                change = even_out(flat, at, runs, self.domain.columns[columns[axis]], beyond=True) - flat
                share = change / np.where(table > 1e-9, table, np.inf)
                found.append((runs[joined[axis].places[plain.cells[axis]]], share.ravel()[place]))
        return found

    @staticmethod
    def _singles(known: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Every column by itself, where it is known with others: it is measured best."""
        return [(axis,) for axis in sorted({axis for one in known if len(one) > 1 for axis in one})]

    def _by_run(self, joined: Merged, column: int) -> Merged:
        """Cells by the runs of a wide column."""
        return Merged(runs_of(self.model.levels, column)[joined.places], joined.shares)

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
        return place, np.where(counts > 3 * spread, np.maximum(0.0, counts + spread * normals(len(counts))), sums)

    @staticmethod
    def _unclear(cells: Sequence[Integers], joined: Sequence[Merged]) -> NDArray[np.bool_]:
        """Which combinations have a cell that is joined with others."""
        found = np.zeros(len(cells[0]), dtype=bool)
        for own, one in zip(cells, joined, strict=True):
            found |= (np.bincount(one.places) > 1)[one.places][own]
        return found

    def spread(self, columns: Columns, known: Reals | None) -> Reals:
        """The standard deviation of every cell of a marginal, in rows. ``known``: that of the noise of a measurement that has all
        these columns, which is not all of it where cells are joined."""
        joined, plain = [self.model.merged[column] for column in columns], self.model.rows(columns, self.domain)
        free = plain.rows.copy()
        for one, _, (place, sums) in self._margins(plain, columns, joined):
            if known is None or len(one) < len(columns):
                free *= np.maximum(0.0, 1 - plain.rows / np.maximum(sums[place], 1e-9))
        counts = plain.rows.reshape([self.domain.sizes[column] for column in columns])
        guessed = sum(((one.total * one.project(columns) - counts) ** 2 for one in self.all), np.zeros(counts.shape)) / COUNT
        guessed += self._clump(columns) * free.reshape(counts.shape)
        for _, change in self._slopes(plain, columns, joined):
            guessed += (plain.rows * change).reshape(counts.shape) ** 2
        if known is None:
            return np.sqrt(guessed)
        unclear = self._unclear(plain.cells, joined).reshape(counts.shape)
        if len(columns) == 1:
            guessed = np.full(counts.shape, self.measured.own[columns[0]].deviation ** 2)
        spread: Reals = np.sqrt(known**2 + np.where(unclear, guessed, 0.0))
        return spread


def _by_value(cells: Integers, joined: Merged, _: Integers, sums: Reals) -> tuple[Integers, Reals]:
    """What the joined cells of a column are scaled to, for every cell of them: all were measured by themselves."""
    return cells, sums[joined.places] * joined.shares


def _filled(rows: Reals, plain: Reals, place: Integers, sums: Reals) -> Reals:
    """Rows of which some are in every sum that is not 0: where all were lost, one of its combinations has them, by chance."""
    here = np.bincount(place, rows, len(sums))
    lost = np.flatnonzero(((here <= 0) & (sums > 0))[place] & (plain > 0))
    if not len(lost):
        return rows
    when = -np.log(1 - even(len(lost))) / plain[lost]
    order = lost[np.lexsort((when, place[lost]))]
    first = order[np.unique(place[order], return_index=True)[1]]
    rows = rows.copy()
    rows[first] = sums[place[first]]
    return rows


def likely(counts: Reals, deviation: float) -> Reals:
    """Counts of rare values that noisy ones could come from: each is one of some that are from next to nothing to what would have
    stood out, all doublings alike, by the chance that noise makes of it what was measured (importance resampling)."""
    tried = 4 * deviation * 2.0 ** (-_DOUBLINGS * even(len(counts) * _TRIED).reshape(-1, _TRIED))
    chances = -(((tried - counts[:, None]) / deviation) ** 2) / 2
    upto = np.cumsum(np.exp(chances - chances.max(axis=1, keepdims=True)), axis=1)
    chosen = (upto < even(len(counts))[:, None] * upto[:, -1:]).sum(axis=1)
    found: Reals = tried[np.arange(len(counts)), chosen]
    return found


def normals(count: int) -> Reals:
    """Independent standard normals (Box and Muller 1958), good enough for an estimate of errors."""
    found: Reals = np.sqrt(-2 * np.log(1 - even(count))) * np.cos(2 * math.pi * even(count))
    return found


def even(count: int) -> Reals:
    """Independent numbers from 0 to 1, all alike."""
    found: Reals = (words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return found


def poisson(means: Reals) -> Reals:
    """Independent whole numbers of these means: by adding up probabilities, and of large means rounded normals."""
    found = np.maximum(0.0, np.rint(means + np.sqrt(means) * normals(len(means))))
    few = np.flatnonzero(means < 30)
    tried = even(len(few))
    chance = np.exp(-means[few])
    upto, numbers = chance.copy(), np.zeros(len(few))
    for k in range(1, 80):
        more = tried > upto
        if not more.any():
            break
        numbers += more
        chance = chance * means[few] / k
        upto += chance
    found[few] = numbers
    return found
