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

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.curator.gate import Letting, Reservation
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import misfits
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import Fit, Noisy, fit
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.rounds.measuring import Measurement, Measurements, Payment, Scans
from discreet.synthetic.rounds.merging import keep_apart, merge
from discreet.synthetic.rounds.selection import SELECTION, WEIGHT, Candidates, Limits, Schedule
from discreet.synthetic.zeros import Zeros

_MEAN = math.sqrt(2 / math.pi)  # of the size of a standard normal
_MOST = 2.0**50  # units of all cells of a guess
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
        complete = False
        try:
            self._rounds(schedule, own, places)
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
        )

    def _own(self, schedule: Schedule) -> list[Measurement]:
        own: list[Measurement] = []
        shares = schedule.own(self.aim.domain.sizes)
        for column, share in enumerate(shares):
            counts, found, paid = self.scans.marginal((column,), self.payment.finer), None, share
            while found is None:
                then = shares[column + 1] if column + 1 < len(shares) else None
                found = self._measure((column,), counts, paid, then)
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
        self, columns: Columns, counts: Secret[Integers], share: Fraction, then: Fraction | None = None
    ) -> Measurement | None:
        payment = self.payment
        after = None if then is None else Letting(payment.noise(then))
        released = self._let_out(Letting(payment.noise(share)), counts, share, after)
        if released is None:
            return None
        return Measurement(columns, tuple(released), share, payment.deviation(share), payment.bits)

    def _say(self, schedule: Schedule, columns: Columns, measured: Measurement) -> None:
        if self.watch is not None:
            spent = 1 - float(schedule.left / self.payment.cost.amount)
            names = tuple(self.aim.domain.names[column] for column in columns)
            self.watch(Progress(len(self.later), spent, names, measured.deviation))

    def _rounds(self, schedule: Schedule, own: Sequence[Measurement], places: Sequence[Integers]) -> None:
        if schedule.left <= 0:
            return
        aim, payment = self.aim, self.payment
        state = _State.begin(aim, own, places)
        scans = self.scans.joined(places)
        secrets = {one: scans.marginal(one) for one in aim.candidates.weights if state.size(one) <= aim.limits.marginal}
        while (share := schedule.take()) is not None:
            spent = 1 - schedule.left / payment.cost.amount
            some = [one for one in aim.candidates.within(state.model.tree, aim.limits, spent) if one in secrets]
            chosen: Columns = (max(range(len(own)), key=lambda column: state.sizes[column]),)  # where there is no candidate
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
                chosen = some[place[0]]
            before = state.guess(chosen)
            found = self._measure(chosen, scans.marginal(chosen, payment.finer), share)
            if found is None:
                continue
            self.later.append(found.against(before))
            self._say(schedule, chosen, found)
            state.add(found)
            if np.abs(state.guess(chosen) - before).sum() <= _MEAN * found.deviation * before.size:
                schedule.anneal()

    def _score(
        self, some: Sequence[Columns], secrets: Mapping[Columns, Secret[Integers]], state: _State, deviation: float
    ) -> Secret[Integers]:
        """How wrong the model is about every candidate, still secret."""
        unit = 2 ** (self.payment.norms.bits + GUESSED)
        return misfits(
            [secrets[one] for one in some],
            [in_units(state.guess(one), unit) for one in some],
            [self.aim.candidates.weights[one] for one in some],
            [round(min(_MEAN * deviation * state.size(one) * unit, _MOST)) for one in some],
            GUESSED,
        )


@dataclass
class _State:
    """The model so far."""

    aim: Aim
    sizes: tuple[int, ...]
    measured: list[Noisy]
    total: float
    model: Fit

    @classmethod
    def begin(cls, aim: Aim, own: Sequence[Measurement], places: Sequence[Integers]) -> _State:
        measured = [noisy_own(one, where) for one, where in zip(own, places, strict=True)]
        sizes, total = tuple(int(where.max()) + 1 for where in places), total_of(measured)
        model = refit(sizes, measured, total, 2 * aim.limits.steps, None, aim.zeros)
        return cls(aim, sizes, measured, total, model)

    def size(self, columns: Columns) -> int:
        return math.prod(self.sizes[column] for column in columns)

    def guess(self, columns: Columns) -> Reals:
        """What the model says of a marginal, in rows."""
        return self.total * self.model.beliefs.project(columns)

    def add(self, one: Measurement) -> None:
        """Fit again, with one more."""
        self.measured.append(one.noisy(self.sizes))
        self.model = refit(self.sizes, self.measured, self.total, self.aim.limits.steps, self.model, self.aim.zeros)


def refit(sizes: Sequence[int], measured: Sequence[Noisy], total: float, steps: int, start: Fit | None, zeros: Zeros) -> Fit:
    """The model of all that was measured; ``start``: that of all but the last."""
    sets = [one.columns for one in measured]
    tree = grow_tree(sizes, sets, zeros) if start is None else _grown(start.tree, sets, zeros)
    return fit(tree, measured, total, steps, start, zeros.tables)


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


def noisy_own(one: Measurement, places: Integers) -> Noisy:
    """A column's own counts, by joined cells.

    Noise of many cells that are empty is a large number where they are joined, and would stay one half of the time, when it is
    above 0: such counts are drawn towards 0 as far as noise explains them, so that rare values are not drawn too often.
    """
    many = np.bincount(places)
    counts, spread = np.bincount(places, one.real([len(places)])).astype(np.float64), one.deviation * np.sqrt(many)
    drawn = np.where(counts > 0, counts * np.maximum(0, 1 - (spread / np.where(counts > 0, counts, 1.0)) ** 2), counts)
    return Noisy(one.columns, np.where(many > 1, drawn, counts), spread)


def total_of(measured: Sequence[Noisy]) -> float:
    """The number of rows that measurements speak for, each as much as its noise lets it; at least one."""
    sums = [(float(one.counts.sum()), float((np.broadcast_to(one.deviation, one.counts.shape) ** 2).sum())) for one in measured]
    return max(1.0, sum(total / variance for total, variance in sums) / sum(1 / variance for _, variance in sums))
