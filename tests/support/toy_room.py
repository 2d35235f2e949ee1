"""A room above the curator with one verb, a marginal over two columns: a toy, for tests that show what a new room takes."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

import numpy as np

import discreet as dp
from discreet.curator.gate import Price, Reservation
from discreet.engine.base import Engine, groups_of
from discreet.plan.cost import Cost, Terms
from discreet.plan.expressions import Column
from discreet.plan.plan import Plan, price
from discreet.plan.release import Additive
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Axis, Frame, Histogram
from discreet.schema.columns import Category
from discreet.schema.table import Schema


@dataclass(frozen=True)
class Marginal:
    """Rows by every combination of the values of two columns: one histogram, one release."""

    schema: Schema
    columns: tuple[str, str]
    cost: Cost
    spent: Cost
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return f"Rows by {' and '.join(self.columns)}."

    @property
    def digest(self) -> str:
        return sha256(json.dumps({"discreet": "marginal", "version": 1, "columns": self.columns}).encode()).hexdigest()

    @cached_property
    def plan(self) -> Plan:
        declared = {name: self.schema.columns[name] for name in self.columns}
        values = {name: column.values for name, column in declared.items() if isinstance(column, Category)}
        axes = tuple(Axis(Column(name), len(values[name]), values=values[name]) for name in self.columns)
        whole = price(parse_query("SELECT count(*) AS n FROM data", self.schema), self.schema, self.spent)
        needed = Additive(Histogram(axes)).releases(Frame(self.schema.unit, 1, True), self.spent)
        return replace(whole, releases=needed, behind={})

    @property
    def price(self) -> Price:
        assert self.plan.privacy is not None
        return Price(self.plan.privacy, self.cost)

    def rehearse(self, engine: Engine) -> None:
        engine.rehearse(self.plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> list[list[float]]:
        assert engine is not None
        (release,) = self.plan.releases
        groups = groups_of(self.plan)
        counts = engine.count(self.plan, groups, reserved.salt)
        noisy = reserved.release(release, counts[release.statistic, release.bits], groups.size, self.schema.unit)
        sizes = [len(column.values) for column in map(self.schema.columns.__getitem__, self.columns)]  # type: ignore[union-attr]
        cells = np.asarray(noisy, dtype=float).reshape(sizes) * float(release.worth)
        return [list(map(float, row)) for row in cells]

    def write(self, result: list[list[float]], remarks: tuple[str, ...]) -> list[str]:
        return [json.dumps([result, remarks])]

    def read(self, texts: list[str]) -> list[list[float]]:
        found: list[list[float]] = json.loads(texts[0])[0]
        return found


def marginal(curator: dp.Curator, first: str, second: str, **cost: object) -> list[list[float]]:
    """Rows by two columns, with noise; paid for first, free when asked again."""
    terms, budget = Terms(**cost), curator._budget
    asked = terms.asked(budget)
    return curator._ask(Marginal(curator._tables.schema, (first, second), asked, terms.spend(asked, budget, 1))).result
