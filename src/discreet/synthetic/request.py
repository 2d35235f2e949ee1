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
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.curator.digest import facts_of, hash_facts
from discreet.curator.gate import Price, Reservation
from discreet.engine.base import Engine
from discreet.errors import ParameterError
from discreet.mechanisms.values import read_records
from discreet.plan.cost import Cost
from discreet.plan.measures import Frame
from discreet.plan.plan import Plan
from discreet.plan.query import Query
from discreet.privacy import Privacy
from discreet.schema.table import Schema
from discreet.synthetic.buying import Purchase, Purchases, count_rows, plan_counts
from discreet.synthetic.domain import Domain
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.rounds.measuring import Measurements, Payment, Scans, price_of
from discreet.synthetic.rounds.run import Aim, Progress, Run

_WIDEST = 2**62  # cells of one scan
_MOST_SCANS = 64
_DECLARED = ("columns", "unit", "public", "tables")


@dataclass(frozen=True)
class Asked:
    """What is asked for, by public facts: of which rows, which cells, and what is to be like the table."""

    query: Query
    schema: Schema
    aim: Aim
    words: Mapping[str, object]  # what tells it from others, as plain JSON
    bought: tuple[Purchase, ...] = ()

    @property
    def domain(self) -> Domain:
        return self.aim.domain

    def plans(self, cost: Cost, domain: Domain) -> tuple[tuple[Plan, Columns], ...]:
        """What the engine counts, by these cells, and the columns of each scan."""
        together = max((len(one) for one in self.aim.candidates.weights), default=1)
        return tuple(
            (plan_counts(self.query, self.schema, cost, [domain.columns[column].axis() for column in columns]), columns)
            for columns in _scans(domain.sizes, together, domain.names)
        )

    def purchases(self, cost: Cost) -> Purchases:
        """What is bought first."""
        return Purchases(self.bought, self.query, self.schema, cost)


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
        return self.asked.plans(self.share, self.asked.domain)

    @cached_property
    def purchases(self) -> Purchases:
        return self.asked.purchases(self.share)

    @cached_property
    def payment(self) -> Payment:
        plan, _ = self.plans[0]
        (release,) = plan.releases
        norms = release.statistic.norms(Frame(plan.schema.unit, 1, False))  # type: ignore[union-attr]
        keys, runs = self.purchases.keys, sum(1 for one in self.asked.bought if one.runs)
        bought = (*map(price_of, keys), *(self.purchases.share.amount for _ in range(runs)))
        return Payment(self.share, norms, sum(keys, Privacy()), bought)

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
        for plan in (*self.purchases.plans(), *(plan for plan, _ in self.plans)):
            engine.rehearse(plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> Measurements:
        """Buy cells, count, then measure round by round."""
        assert engine is not None
        asked, payment = self.asked, self.payment
        if asked.bought:
            cells = self.purchases.buy(engine, reserved, payment)
            domain = Domain(tuple(cells.get(one.name, one) for one in asked.domain.columns))
            asked = replace(asked, aim=replace(asked.aim, domain=domain))
        scans = self.count(engine, reserved, asked.plans(self.share, asked.domain), asked.domain)
        return Run(asked.aim, payment, reserved, self.watch, scans).measure(str(self.cost))

    def count(
        self,
        engine: Engine,
        reserved: Reservation,
        plans: Sequence[tuple[Plan, Columns]] | None = None,
        domain: Domain | None = None,
    ) -> Scans:
        """What all marginals are made of."""
        sizes, scans = (domain or self.asked.domain).sizes, []
        for plan, columns in self.plans if plans is None else plans:
            counted = count_rows(engine, plan, reserved.salt)
            scans.append((columns, read_records(counted, [sizes[column] for column in columns])))  # type: ignore[arg-type]
        return Scans(scans)

    def write(self, result: Measurements, remarks: tuple[str, ...]) -> list[str]:
        return [result.write(remarks)]

    def read(self, texts: list[str]) -> Measurements:
        return Measurements.read(texts[0])


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
