"""One run of the rounds: what is released goes through a reservation, is kept there, and decides what is released next.

Only released numbers and public facts decide, so that on neighbouring tables that gave the same noisy numbers it runs the same
way; and so that a run that goes on after a crash, given again what was kept, comes to where the other one died.

An interrupt (Ctrl-C) ends the rounds: what was measured is kept, and the price stays what it was.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.curator.gate import Letting, Reservation
from discreet.errors import ParameterError
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import misfits
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import Fit, fit
from discreet.synthetic.inference.prior import shrink
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.rounds.levels import Levels, Seen, cut_runs
from discreet.synthetic.rounds.measuring import Measurement, Measurements, Payment, Scans
from discreet.synthetic.rounds.merging import keep_apart, merge
from discreet.synthetic.rounds.selection import SELECTION, WEIGHT, Candidates, Limits, Marginal, Schedule
from discreet.synthetic.zeros import Zeros

_MEAN = math.sqrt(2 / math.pi)  # of the size of a standard normal
_MOST = 2.0**50  # units of all cells of a guess
_Kept = TypeVar("_Kept")
GUESSED = 8  # bits of a guess beyond those of an engine's counts


@dataclass(frozen=True)
class Progress:
    """What was just released: so many rounds are done, this share of the cost is spent."""

    rounds: int
    spent: float
    columns: tuple[str, ...]
    deviation: float


@dataclass(frozen=True)
class Aim:
    """What a run is to find, by public facts and what was bought before it: cells, limits, and what is to be like the table."""

    domain: Domain
    limits: Limits
    candidates: Candidates
    zeros: Zeros

    @property
    def rounds(self) -> int:
        """How many there are at the noise of the first."""
        many = len(self.candidates.weights)
        return self.limits.rounds if many > 1 else many


@dataclass
class Run:
    """One run within what is left of a payment."""

    aim: Aim
    payment: Payment
    reserved: Reservation
    watch: Callable[[Progress], None] | None
    scans: Scans
    lost: list[Fraction] = field(default_factory=list)  # prices of what was let out, and is not known
    choices: list[Fraction] = field(default_factory=list)
    later: list[Measurement] = field(default_factory=list)

    def measure(self, paid: str) -> Measurements:
        """Own counts of all columns; then marginals, until nothing is left or somebody interrupts."""
        schedule = Schedule(self.payment.left, self.aim.rounds)
        own = self._own(schedule)
        places = join(self.aim.domain, own, self.aim.zeros)
        runs = self._runs(own, places)
        complete = False
        try:
            self._rounds(schedule, own, places, runs)
            complete = not self.lost
        except KeyboardInterrupt:
            pass
        return Measurements(
            tuple(own),
            places,
            tuple(self.later),
            tuple(self.choices),
            self.payment.cost,
            paid,
            complete,
            lost=tuple(self.lost),
            bought=self.payment.bought,
            cells=self.aim.domain.columns if self.payment.bought else (),
            runs=runs if any(one is not None for one in runs) else (),
        )

    def _runs(self, own: Sequence[Measurement], places: Sequence[Integers]) -> tuple[Integers | None, ...]:
        """Those of wide columns, where there is a choice among marginals; none of columns of which facts are declared."""
        free = len(self.aim.candidates.weights) > 1
        return tuple(
            cut_runs(coding, seen_own(one, where).counts) if free and column not in self.aim.zeros.columns else None
            for column, (coding, one, where) in enumerate(zip(self.aim.domain.columns, own, places, strict=True))
        )

    def _own(self, schedule: Schedule) -> list[Measurement]:
        own: list[Measurement] = []
        shares = schedule.own(self.aim.domain.sizes)
        for column, share in enumerate(shares):
            counts, found, paid = self.scans.marginal((column,), self.payment.finer), None, share
            while found is None:
                then = shares[column + 1] if column + 1 < len(shares) else None
                found = self._measure(((column,), ()), counts, paid, then)
                if found is None:
                    paid = schedule.again(paid)
            own.append(found)
            self._say(schedule, (column,), found)
        return own

    def _let_out(self, letting: Letting, secret: Secret[Integers], price: Fraction, then: Letting | None) -> list[int] | None:
        """What comes of a release; where nothing does, it is lost, and paid for."""
        self.lost.append(price)
        found: list[int] | None = self.reserved.release_kept(letting, secret, None if then is None else then.privacy)
        if found is not None:
            self.lost.pop()
        return found

    def _measure(
        self, marginal: Marginal, counts: Secret[Integers], share: Fraction, then: Fraction | None = None
    ) -> Measurement | None:
        payment = self.payment
        after = None if then is None else Letting(payment.noise(then))
        released = self._let_out(Letting(payment.noise(share)), counts, share, after)
        if released is None:
            return None
        columns, coarse = marginal
        return Measurement(columns, tuple(released), share, payment.deviation(share), payment.bits, coarse=coarse)

    def _say(self, schedule: Schedule, columns: Columns, measured: Measurement) -> None:
        if self.watch is not None:
            spent = 1 - float(schedule.left / self.payment.cost.amount)
            names = tuple(self.aim.domain.names[column] for column in columns)
            self.watch(Progress(len(self.later), spent, names, measured.deviation))

    def _rounds(
        self,
        schedule: Schedule,
        own: Sequence[Measurement],
        places: Sequence[Integers],
        runs: Sequence[Integers | None],
    ) -> None:
        if schedule.left <= 0:
            return
        aim, payment = self.aim, self.payment
        state = _State.begin(aim, own, places, runs)
        scans, levels = self.scans.joined(places), state.levels

        def count(marginal: Marginal, bits: int = 0) -> Secret[Integers]:
            columns, coarse = marginal
            return scans.marginal(columns, bits, {column: to for column in coarse if (to := runs[column]) is not None})

        secrets = {one: count(one) for one in aim.candidates.by_level(levels) if levels.size(*one) <= aim.limits.marginal}
        while (share := schedule.take()) is not None:
            spent = 1 - schedule.left / payment.cost.amount
            some = aim.candidates.within([*secrets], levels, state.model.tree, aim.limits, spent)
            widest = max(range(len(own)), key=lambda column: levels.sizes[column])
            chosen: Marginal = ((widest,), ())  # where there is no candidate
            if len(some) == 1:
                chosen = some[0]
            elif some:
                mechanism, price = payment.choice(share * SELECTION, WEIGHT, GUESSED)
                share -= price
                scores = self._score(some, secrets, state, payment.deviation(share))
                place = self._let_out(Letting(mechanism), scores, price, Letting(payment.noise(share)))
                if place is None:
                    schedule.give_back(share)
                    continue
                self.choices.append(price)
                chosen = some[_in_this_way(place[0], place[0] < len(some))]
            before = state.guess(chosen)
            found = self._measure(chosen, count(chosen, payment.finer), share)
            if found is None:
                continue
            _in_this_way(found, len(found.counts) == before.size)
            self.later.append(found.against(before))
            self._say(schedule, found.columns, found)
            state.add(found)
            if np.abs(state.guess(chosen) - before).sum() <= _MEAN * found.deviation * before.size:
                schedule.anneal()

    def _score(
        self, some: Sequence[Marginal], secrets: Mapping[Marginal, Secret[Integers]], state: _State, deviation: float
    ) -> Secret[Integers]:
        """How wrong the model is about every candidate, still secret."""
        unit = 2 ** (self.payment.norms.bits + GUESSED)
        return misfits(
            [secrets[one] for one in some],
            [in_units(state.guess(one), unit) for one in some],
            [self.aim.candidates.weights[columns] for columns, _ in some],
            [round(min(_MEAN * deviation * state.levels.size(*one) * unit, _MOST)) for one in some],
            GUESSED,
        )


def _in_this_way(kept: _Kept, fits: bool) -> _Kept:
    """What was kept before a crash, unless it is of a run that chose among other candidates."""
    if not fits:
        raise ParameterError(
            "This was begun by another version of discreet, which went another way; ask for a little more, or less."
        )
    return kept


@dataclass
class _State:
    """The model so far."""

    aim: Aim
    levels: Levels
    measured: list[Seen]
    total: float
    model: Fit

    @classmethod
    def begin(cls, aim: Aim, own: Sequence[Measurement], places: Sequence[Integers], runs: Sequence[Integers | None]) -> _State:
        measured = [seen_own(one, where) for one, where in zip(own, places, strict=True)]
        levels, total = Levels(tuple(one.counts.size for one in measured), tuple(runs)), total_of(measured)
        return cls(aim, levels, measured, total, refit(levels, measured, total, 2 * aim.limits.steps, None, aim.zeros))

    def guess(self, marginal: Marginal) -> Reals:
        """What the model says of a marginal, in rows."""
        return self.total * self.levels.project(self.model.beliefs, *marginal)

    def add(self, one: Measurement) -> None:
        """Fit again, with one more."""
        self.measured.append(one.seen(self.levels))
        self.model = refit(self.levels, self.measured, self.total, self.aim.limits.steps, self.model, self.aim.zeros)


def refit(levels: Levels, measured: Sequence[Seen], total: float, steps: int, start: Fit | None, zeros: Zeros) -> Fit:
    """The model of all that was measured; ``start``: that of all but the last.

    Noise alone leaves half a chi-square number of the sum that is minimised, of as many degrees as there are counts. Steps that
    win less of it than its standard deviation fit noise, and a model without them is nearer to the table (early stopping).
    """
    noisy, never = [levels.noisy(one) for one in measured], levels.zeros(zeros)
    sets = [one.columns for one in noisy]
    tree = grow_tree(levels.shape, sets, never) if start is None else _grown(start.tree, sets, never)
    enough = math.sqrt(sum(one.counts.size for one in measured) / 2)
    return fit(tree, noisy, total, steps, start, never.tables, enough)


def finish(levels: Levels, measured: Sequence[Seen], total: float, limits: Limits, zeros: Zeros) -> Fit:
    """The model at the end: where limits allow for it, with a prior by which what noise explains is left out (``prior``)."""
    found = refit(levels, measured, total, limits.last, None, zeros)
    if not limits.shrunk:
        return found
    noisy, never = [levels.noisy(one) for one in measured], levels.zeros(zeros)
    return shrink(found, noisy, total, limits.shrunk, levels.columns, never.tables)


def grow_tree(sizes: Sequence[int], sets: Sequence[Columns], zeros: Zeros) -> Tree:
    """The tree of what was measured, one set after the other, so that it has no more cells than candidates were chosen by."""
    tree = Tree.over(sizes, [columns for columns, _ in zeros.tables])
    for i in range(len(sets)):
        tree = _grown(tree, sets[: i + 1], zeros)
    return tree


def _grown(tree: Tree, sets: Sequence[Columns], zeros: Zeros) -> Tree:
    """A tree with the last of these sets too."""
    return tree if len(sets[-1]) == 1 else Tree.over(tree.sizes, [*(columns for columns, _ in zeros.tables), *sets], tree)


def join(domain: Domain, own: Sequence[Measurement], zeros: Zeros) -> tuple[Integers, ...]:
    """Which cells of every column are told apart; those of which facts are declared all are."""
    found = []
    for column, coding in enumerate(domain.columns):
        apart = column in zeros.columns
        found.append(
            (keep_apart(coding) if apart else merge(coding, own[column].real([coding.count]), own[column].deviation)).places
        )
    return tuple(found)


def in_units(counts: Reals, unit: int) -> Integers:
    """A guess in whole units, each so small that scores stay within 64 bits, whatever noise has made of it."""
    return np.rint(np.minimum(counts.ravel() * unit, _MOST / counts.size)).astype(np.int64)


def seen_own(one: Measurement, places: Integers) -> Seen:
    """A column's own counts, by joined cells.

    Noise of many cells that are empty is a large number where they are joined, and would stay one half of the time, when it is
    above 0: such counts are drawn towards 0 as far as noise explains them, so that rare values are not drawn too often.
    """
    many = np.bincount(places)
    counts, spread = np.bincount(places, one.real([len(places)])).astype(np.float64), one.deviation * np.sqrt(many)
    drawn = np.where(counts > 0, counts * np.maximum(0, 1 - (spread / np.where(counts > 0, counts, 1.0)) ** 2), counts)
    return Seen(one.columns, (), np.where(many > 1, drawn, counts), spread)


def total_of(measured: Sequence[Seen]) -> float:
    """The number of rows that measurements speak for, each as much as its noise lets it; at least one."""
    sums = [(float(one.counts.sum()), float((np.broadcast_to(one.deviation, one.counts.shape) ** 2).sum())) for one in measured]
    return max(1.0, sum(total / variance for total, variance in sums) / sum(1 / variance for _, variance in sums))
