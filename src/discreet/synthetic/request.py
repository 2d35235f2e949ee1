"""Synthetic data as a request to the gate: reserved once, then measured adaptively within that, and committed once.

The engine counts rows by all columns together, as the cells that somebody is in: one scan, or a few where the columns are too
many for one number. Of these all marginals are made, still secret. Released are every column's own counts, and then round by
round the choice of a marginal and its counts (``selection``). What is done next depends on what was released and on public facts
alone, so that on neighbouring tables that gave the same noisy numbers it runs the same way.

An interrupt (Ctrl-C) ends the rounds: what was measured is kept, and the price stays what it was.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.curator.digest import facts_of, hash_facts
from discreet.curator.gate import Price, Reservation
from discreet.engine.base import Engine, groups_of
from discreet.errors import ParameterError
from discreet.mechanisms import Laplace
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import Records, add_up, join_cells, misfits, read_records
from discreet.plan.cost import Cost
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import Frame
from discreet.plan.plan import Needs, Plan, price_needs
from discreet.plan.query import Query
from discreet.plan.release import Need, Release
from discreet.plan.statistics import Histogram
from discreet.schema.table import Schema
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.fit import Fit, Noisy, fit
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.measuring import Measurement, Measurements, Payment, choose, measure
from discreet.synthetic.merging import keep_apart, merge
from discreet.synthetic.selection import SELECTION, WEIGHT, Candidates, Limits, Schedule
from discreet.synthetic.zeros import Zeros

_WIDEST = 2**62  # cells of one scan
_MOST_SCANS = 64
_MOST = 2.0**50  # units of all cells of a guess
GUESSED = 8  # bits of a guess beyond those of an engine's counts
_DECLARED = ("columns", "unit", "public", "tables")


@dataclass(frozen=True)
class Progress:
    """What was just released: so many rounds are done, this share of the cost is spent."""

    rounds: int
    spent: float
    columns: tuple[str, ...]
    deviation: float


@dataclass(frozen=True)
class Asked:
    """What is asked for, by public facts: which cells, of which rows, and what is to be like the table."""

    query: Query
    schema: Schema
    domain: Domain
    limits: Limits
    candidates: Candidates
    zeros: Zeros
    words: Mapping[str, object]  # what tells it from others, as plain JSON

    def plans(self, cost: Cost) -> tuple[tuple[Plan, Columns], ...]:
        """What the engine counts, and the columns of each."""
        found = []
        for columns in _scans(
            self.domain.sizes, max((len(one) for one in self.candidates.weights), default=1), self.domain.names
        ):
            axes = tuple(self.domain.columns[column].axis() for column in columns)
            counted = _Joint(Histogram(axes))

            def needs(_: Mapping[str, Facts], counted: _Joint = counted) -> Needs:
                return {"rows": (counted,)}

            found.append((price_needs(self.query, self.schema, cost, needs, [axis.of for axis in axes]), columns))
        return tuple(found)


@dataclass(frozen=True)
class _Joint(Need):
    """A histogram over many columns, of which no more than marginals are ever released."""

    statistic: Histogram

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:  # noqa: ARG002 - the request releases by itself
        size = self.statistic.norms(frame)
        return (Release(self.statistic, Laplace(sensitivity=size.l1, epsilon=1), 1, size.bits, str(self.statistic)),)


@dataclass(frozen=True)
class Synthesis:
    """The request."""

    asked: Asked
    cost: Cost  # as it was asked for
    share: Cost  # what it spends: a pure epsilon, or a rho
    watch: Callable[[Progress], None] | None = None
    former: tuple[str, ...] = ()

    @cached_property
    def plans(self) -> tuple[tuple[Plan, Columns], ...]:
        return self.asked.plans(self.share)

    @cached_property
    def payment(self) -> Payment:
        plan, _ = self.plans[0]
        (release,) = plan.releases
        return Payment(self.share, release.statistic.norms(Frame(plan.schema.unit, 1, False)))  # type: ignore[union-attr]

    @property
    def question(self) -> str:
        return f"synthetic data of {', '.join(self.asked.domain.names)}, of {self.asked.query.source}"

    @cached_property
    def digest(self) -> str:
        facts = {name: fact for name, fact in facts_of(self.plans[0][0]).items() if name in _DECLARED}
        cells = [one.facts for one in self.asked.domain.columns]
        return hash_facts([{"synthesis": 1, "question": self.question, "cells": cells, "asked": dict(self.asked.words), **facts}])

    @property
    def price(self) -> Price:
        return Price(self.payment.privacy.under(self.plans[0][0].schema.unit.neighbours), self.cost)

    def rehearse(self, engine: Engine) -> None:
        for plan, _ in self.plans:
            engine.rehearse(plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> Measurements:
        """Count, then measure round by round."""
        assert engine is not None
        return Run(self.asked, self.payment, str(self.cost), reserved, self.watch, self.count(engine, reserved)).measure()

    def count(self, engine: Engine, reserved: Reservation) -> Scans:
        """What all marginals are made of."""
        scans = []
        for plan, columns in self.plans:
            (release,) = plan.releases
            counted = engine.count(plan, groups_of(plan), reserved.salt)[release.statistic, release.bits]
            sizes = [self.asked.domain.sizes[column] for column in columns]
            scans.append((columns, read_records(counted, sizes)))  # type: ignore[arg-type]
        return Scans(scans)

    def write(self, result: Measurements, remarks: tuple[str, ...]) -> list[str]:
        return [result.write(remarks)]

    def read(self, texts: list[str]) -> Measurements:
        return Measurements.read(texts[0])


@dataclass(frozen=True)
class Scans:
    """What the engine counted, and which columns each scan has."""

    of: Sequence[tuple[Columns, Secret[Records]]]

    def marginal(self, columns: Columns, bits: int = 0) -> Secret[Integers]:
        own, records = next(one for one in self.of if {*columns} <= {*one[0]})
        return add_up(records, [own.index(column) for column in columns], bits)

    def joined(self, places: Sequence[Integers]) -> Scans:
        """The same by joined cells."""
        return Scans([(own, join_cells(records, [places[column] for column in own])) for own, records in self.of])


@dataclass
class Run:
    """One run: what is released goes through the reservation, and decides what is released next."""

    asked: Asked
    payment: Payment
    paid: str
    reserved: Reservation
    watch: Callable[[Progress], None] | None
    scans: Scans

    def measure(self) -> Measurements:
        """Own counts of all columns; then marginals, until nothing is left or somebody interrupts."""
        domain, limits = self.asked.domain, self.asked.limits
        rounds = limits.rounds if len(self.asked.candidates.weights) > 1 else len(self.asked.candidates.weights)
        schedule = Schedule(self.payment.cost.amount, rounds)
        own = []
        for column, share in enumerate(schedule.own(domain.sizes)):
            own.append(self._measure((column,), self.scans.marginal((column,), self.payment.finer), share))
            self._say(schedule, 0, (column,), own[-1])
        places = join(domain, own, self.asked.zeros)
        later: list[Measurement] = []
        choices: list[Fraction] = []
        complete = False
        try:
            self._rounds(schedule, own, places, later, choices)
            complete = True
        except KeyboardInterrupt:
            pass
        return Measurements(tuple(own), places, tuple(later), tuple(choices), self.payment.cost, self.paid, complete)

    def _measure(self, columns: Columns, counts: Secret[Integers], share: Fraction) -> Measurement:
        return measure(columns, counts, share, self.payment, self.reserved)

    def _say(self, schedule: Schedule, rounds: int, columns: Columns, measured: Measurement) -> None:
        if self.watch is not None:
            spent = 1 - float(schedule.left / self.payment.cost.amount)
            self.watch(Progress(rounds, spent, tuple(self.asked.domain.names[column] for column in columns), measured.deviation))

    def _rounds(
        self,
        schedule: Schedule,
        own: Sequence[Measurement],
        places: Sequence[Integers],
        later: list[Measurement],
        choices: list[Fraction],
    ) -> None:
        if schedule.left <= 0:
            return
        asked, payment = self.asked, self.payment
        state = _State.begin(asked, own, places)
        scans = self.scans.joined(places)
        secrets = {one: scans.marginal(one) for one in asked.candidates.weights if state.size(one) <= asked.limits.marginal}
        while (share := schedule.take()) is not None:
            spent = 1 - schedule.left / payment.cost.amount
            some = [one for one in asked.candidates.within(state.model.tree, asked.limits, spent) if one in secrets]
            chosen = some[0] if len(some) == 1 else None
            if len(some) > 1:
                mechanism, price = payment.choice(share * SELECTION, WEIGHT, GUESSED)
                deviation = payment.deviation(share - price)
                unit = 2 ** (payment.norms.bits + GUESSED)
                scores = misfits(
                    [secrets[one] for one in some],
                    [in_units(state.guess(one), unit) for one in some],
                    [asked.candidates.weights[one] for one in some],
                    [round(min(math.sqrt(2 / math.pi) * deviation * state.size(one) * unit, _MOST)) for one in some],
                    GUESSED,
                )
                chosen = some[choose(mechanism, scores, self.reserved)]
                choices.append(price)
                share -= price
            elif chosen is None:
                chosen = (max(range(len(own)), key=lambda column: state.sizes[column]),)
            before = state.guess(chosen)
            later.append(self._measure(chosen, scans.marginal(chosen, payment.finer), share))
            self._say(schedule, len(later), chosen, later[-1])
            state.add(later[-1])
            if np.abs(state.guess(chosen) - before).sum() <= math.sqrt(2 / math.pi) * later[-1].deviation * before.size:
                schedule.anneal()


@dataclass
class _State:
    """The model so far."""

    asked: Asked
    sizes: tuple[int, ...]
    measured: list[Noisy]
    total: float
    model: Fit

    @classmethod
    def begin(cls, asked: Asked, own: Sequence[Measurement], places: Sequence[Integers]) -> _State:
        measured = [noisy_own(one, where) for one, where in zip(own, places, strict=True)]
        sizes, total = tuple(int(where.max()) + 1 for where in places), total_of(measured)
        model = refit(sizes, measured, total, 2 * asked.limits.steps, None, asked.zeros)
        return cls(asked, sizes, measured, total, model)

    def size(self, columns: Columns) -> int:
        return math.prod(self.sizes[column] for column in columns)

    def guess(self, columns: Columns) -> Reals:
        """What the model says of a marginal, in rows."""
        return self.total * self.model.beliefs.project(columns)

    def add(self, one: Measurement) -> None:
        """Fit again, with one more."""
        self.measured.append(one.noisy(self.sizes))
        self.model = refit(self.sizes, self.measured, self.total, self.asked.limits.steps, self.model, self.asked.zeros)


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


def _scans(sizes: Sequence[int], together: int, names: Sequence[str]) -> list[Columns]:
    """Sets of columns, each with few enough cells to be numbered, such that any so many columns are in one of them."""
    if math.prod(sizes) <= _WIDEST:
        return [tuple(range(len(sizes)))]
    most, cells = int(_WIDEST ** (1 / together)), 1
    blocks: list[list[int]] = [[]]
    for column in sorted(range(len(sizes)), key=lambda column: -sizes[column]):
        if cells * sizes[column] > most:
            blocks.append([])
            cells = 1
        blocks[-1].append(column)
        cells *= sizes[column]
    some = itertools.combinations(blocks, min(together, len(blocks)))
    found = [tuple(sorted(itertools.chain.from_iterable(one))) for one in some]
    if len(found) > _MOST_SCANS:
        widest = sorted(range(len(sizes)), key=lambda i: -sizes[i])[:3]
        raise ParameterError(
            f"{len(sizes)} columns with 10^{math.log10(math.prod(sizes)):.0f} combinations of cells take {len(found):,} scans of "
            f"the table, and at most {_MOST_SCANS} are made; name fewer columns, a workload of pairs, or fewer bins for "
            f"{', '.join(f'{names[i]} ({sizes[i]:,} cells)' for i in widest)}."
        )
    return found
