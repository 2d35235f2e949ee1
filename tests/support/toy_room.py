"""A room above the curator with one verb, a marginal over some columns: a toy, for tests that show what a new room takes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from discreet.curator.gate import Price, Reservation
from discreet.curator.question import Question
from discreet.engine.base import groups_of
from discreet.plan.cost import Cost, Terms
from discreet.plan.plan import Plan, price_marginal


@dataclass(frozen=True)
class Marginal:
    """A request: one statistic, one mechanism, one release."""

    plan: Plan
    cost: Cost
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        return self.plan.releases[0].label

    @property
    def digest(self) -> str:
        return sha256(self.question.encode()).hexdigest()

    @property
    def price(self) -> Price | None:
        return None if self.plan.privacy is None else Price(self.plan.privacy, self.cost)

    def rehearse(self, engine: Any) -> None:
        engine.rehearse(self.plan)

    def run(self, engine: Any, reserved: Reservation) -> list[int]:
        (release,), groups = self.plan.releases, groups_of(self.plan)
        counts = engine.count(self.plan, groups, reserved.salt)
        noisy = reserved.release(release, counts[release.statistic, release.bits], groups.size, self.plan.schema.unit)
        return [int(cell) for cell in np.ravel(noisy)]

    def write(self, result: list[int], remarks: tuple[str, ...]) -> list[str]:
        return [json.dumps([result, *remarks])]

    def read(self, texts: list[str]) -> list[int]:
        found: list[int] = json.loads(texts[0])[0]
        return found


def marginal(rows: Question, *of: str, **cost: object) -> list[float]:
    """Rows by every combination of values, the last column turning fastest; paid for first, free when asked again."""
    desk, terms = rows.desk, Terms(**cost)
    asked = terms.asked(desk.budget)
    plan = price_marginal([rows.read(text) for text in of], rows.rows, desk.schema, terms.spend(asked, desk.budget, 1))
    return [float(units * plan.releases[0].worth) for units in desk.ask(Marginal(plan, asked)).result]
