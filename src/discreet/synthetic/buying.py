"""Cells that are bought: the values of an open text, and where the runs of a number or of days begin, for a part of the price.

**Texts.** The keys that enough units share, by private selection (``mechanisms.threshold``); all others are missing. It takes a
delta, and neighbours that come or go.

**Runs.** Fine cells of equal width, up to 2^16, are the leaves of a tree with 16 branches. The counts of every level are
released, each a histogram that one unit moves as far as any other, for even parts of the share. A leaf's share is that of its
nodes among their siblings, from the top down, where counts that noise explains are nothing; half of the runs begin where these
shares add up to multiples of 1 over their number, so that they have about as many rows each, and a value that many rows have is
alone. The other half begin in equal steps, because values are drawn evenly within a run, and a long tail is not even.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.curator.gate import Letting, Reservation
from discreet.engine.base import Engine, groups_of
from discreet.errors import ParameterError
from discreet.mechanisms import Laplace, Threshold
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.values import add_up, join_cells, read_records
from discreet.plan.cost import Cost
from discreet.plan.expressions import Column
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import Frame
from discreet.plan.plan import Plan, price_needs
from discreet.plan.query import Key, Query
from discreet.plan.release import Need, Release
from discreet.plan.statistics import Axis, Histogram
from discreet.privacy import Privacy
from discreet.schema.table import Schema
from discreet.synthetic.domain import Coding, code
from discreet.synthetic.rounds.measuring import Payment

_EACH, _ALL = Fraction(1, 20), Fraction(1, 4)  # of the cost, for one column and for all that are bought
_BRANCHES = 16
_LEAVES, _DAYS = 2**16, 2**12  # fine cells of a number; of days an engine tells every one apart by name
_RUNS = 64
_MOST_KEYS = 128


@dataclass(frozen=True)
class Purchase:
    """A column whose cells are bought, and what is publicly known of it. ``runs``: how many are to have about as many rows each;
    0 for the keys of a text."""

    name: str
    facts: Facts
    runs: int

    @property
    def stand_in(self) -> Coding:
        """As many cells as there can be, by which limits are set before anything is bought."""
        if not self.runs:
            return Coding(self.name, "text", True, tuple(f"{i}" for i in range(_MOST_KEYS)))
        return code(self.name, self.facts, self.runs)

    @property
    def fine(self) -> Coding:
        """The leaves."""
        assert self.facts.lower is not None
        assert self.facts.upper is not None
        assert self.facts.step is not None
        low, high = (
            round_(end / self.facts.step) for round_, end in ((math.ceil, self.facts.lower), (math.floor, self.facts.upper))
        )
        width = -(-(high - low + 1) // (_DAYS if self.facts.kind == "date" else _LEAVES))
        starts = tuple(range(low, high + 1, width))
        return Coding(self.name, self.facts.kind, self.facts.nullable, None, starts, high + 1, self.facts.step)

    def plan(self, query: Query, schema: Schema, share: Cost) -> Plan:
        """What the engine counts for it."""
        if not self.runs:
            return price_needs(replace(query, keys=(Key(self.name, Column(self.name)),)), schema, share, lambda _: {})
        return plan_counts(query, schema, share, [self.fine.axis()])


def purchase(name: str, facts: Facts, runs: object, keys: object) -> Purchase:
    """What is bought of a column."""
    if facts.kind == "text" and facts.values is None:
        if keys is not None:
            raise ParameterError(
                f"The values of {name} are listed in keys=, so that they need not be bought; write one of the two."
            )
        return Purchase(name, facts, 0)
    if facts.values is not None or facts.lower is None or facts.upper is None or facts.step is None:
        raise ParameterError(
            f"{name} has a list of values that is public, so that there is nothing to buy; leave it out of bought=."
        )
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int)):
        raise ParameterError(f"Where runs of {name} begin is bought, so bins= says how many; write bins={{{name!r}: 20}}.")
    return Purchase(name, facts, code(name, facts, _RUNS if runs is None else runs).present)


@dataclass(frozen=True)
class _Joint(Need):
    """A histogram over many columns, of which no more than marginals are ever released."""

    statistic: Histogram

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:  # noqa: ARG002 - the request releases by itself
        size = self.statistic.norms(frame)
        return (Release(self.statistic, Laplace(sensitivity=size.l1, epsilon=1), 1, size.bits, str(self.statistic)),)


def plan_counts(query: Query, schema: Schema, share: Cost, axes: Sequence[Axis]) -> Plan:
    """Rows by all of these axes together: what the engine counts, and the request releases by itself."""
    return price_needs(query, schema, share, lambda _: {"rows": (_Joint(Histogram(tuple(axes))),)}, [axis.of for axis in axes])


def count_rows(engine: Engine, plan: Plan, salt: str) -> Secret[object]:
    """What the engine counts for it."""
    (release,) = plan.releases
    return engine.count(plan, groups_of(plan), salt)[release.statistic, release.bits]  # type: ignore[return-value]


@dataclass(frozen=True)
class Purchases:
    """All that is bought for one model, each with its share of the cost."""

    of: tuple[Purchase, ...]
    query: Query
    schema: Schema
    cost: Cost

    @property
    def share(self) -> Cost:
        return self.cost.part(min(_EACH, _ALL / max(len(self.of), 1)))

    def plans(self) -> list[Plan]:
        return [one.plan(self.query, self.schema, self.share) for one in self.of]

    @property
    def keys(self) -> tuple[Privacy, ...]:
        """What the choice of every text's keys costs."""
        plans = (plan for one, plan in zip(self.of, self.plans(), strict=True) if not one.runs)
        return tuple(plan.privacy for plan in plans if plan.privacy is not None)

    def buy(self, engine: Engine, reserved: Reservation, payment: Payment) -> dict[str, Coding]:
        """The cells of every column that is bought."""
        found = {}
        for one, plan in zip(self.of, self.plans(), strict=True):
            if one.runs:
                found[one.name] = self._buy_runs(one, plan, engine, reserved, payment)
            else:
                chosen = reserved.release_kept(_Keys(plan, engine, reserved.salt), engine.keys(plan, reserved.salt)) or []
                found[one.name] = Coding(one.name, "text", True, tuple(map(str, chosen[:_MOST_KEYS])))
        return found

    def _buy_runs(self, one: Purchase, plan: Plan, engine: Engine, reserved: Reservation, payment: Payment) -> Coding:
        fine = one.fine
        records = read_records(count_rows(engine, plan, reserved.salt), [fine.count])  # type: ignore[arg-type]
        depth = max(1, math.ceil(math.log(fine.present, _BRANCHES) - 1e-9))
        shares, letting = np.ones(1), Letting(payment.noise(self.share.amount / depth))
        for level in range(1, depth + 1):
            places = np.arange(fine.count) // _BRANCHES ** (depth - level)
            nodes = int(places[fine.present - 1]) + 1
            places[fine.present :] = nodes  # what is missing is in no run
            counts = reserved.release_kept(letting, add_up(join_cells(records, [places]), (0,), payment.finer))
            noisy = None if counts is None else np.array(counts[:nodes], dtype=np.float64) / 2**payment.bits
            shares = _descend(shares, nodes, noisy, payment.deviation(self.share.amount / depth))
        return replace(fine, starts=_begin(fine.starts, shares, one.runs))


@dataclass(frozen=True)
class _Keys:
    """The choice of a text's keys, as a reservation lets it out: in an order that says nothing."""

    plan: Plan
    engine: Engine
    salt: str

    @property
    def privacy(self) -> Privacy | None:
        return self.plan.privacy

    def let_out(self, counts: Secret[object]) -> list[str]:
        choice = self.plan.releases[0].mechanism
        assert isinstance(choice, Threshold)
        chosen = self.engine.spell(self.plan, choice.select(counts), self.salt)  # type: ignore[arg-type]
        return sorted({str(key) for (key,) in chosen if key is not None})


def _descend(above: Reals, nodes: int, counts: Reals | None, deviation: float) -> Reals:
    """The shares of all nodes of a level, of those above it."""
    parent = np.arange(nodes) // _BRANCHES
    clear = np.ones(nodes) if counts is None else np.maximum(counts - deviation, 0.0)
    sums, many = np.bincount(parent, clear, len(above)), np.bincount(parent, minlength=len(above))
    among = np.where(sums[parent] > 0, clear / np.where(sums > 0, sums, 1.0)[parent], 1 / many[parent])
    found: Reals = above[parent] * among
    return found


def _begin(starts: Sequence[int], shares: Reals, runs: int) -> tuple[int, ...]:
    """Where runs begin: half of them in equal steps, so that no tail is one run; the others where shares add up to the next
    multiple, and around a leaf that has a whole one by itself."""
    half = max(1, runs // 2)
    crossed = np.floor(np.append(0.0, np.cumsum(shares)) * half + 1e-9)
    begins = {i * len(starts) // half for i in range(half)} | {int(i) for i in np.flatnonzero(shares * half >= 1)}
    begins |= {int(i) + 1 for i in np.flatnonzero(np.diff(crossed) > 0)}
    return tuple(starts[i] for i in sorted(begins) if i < len(starts))
