"""SQL questions as one request to the gate: plans that are paid for together, counted, let out, and made into answers."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from discreet.curator.answer import Answer, refine
from discreet.curator.gate import Engine, Outcome, Price, Reservation
from discreet.curator.releases import answer_of, noisy
from discreet.engine.base import Found, groups_of
from discreet.mechanisms import Threshold
from discreet.plan.cost import Cost
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan

__all__ = ["Plans"]


@dataclass(frozen=True)
class Plans:
    """Plans that are paid for together, and what they cost."""

    plans: tuple[Plan, ...]
    cost: Cost

    @property
    def question(self) -> str:
        return "; ".join(str(plan.query.released) for plan in self.plans)

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(plan.digest for plan in self.plans).encode()).hexdigest()

    @property
    def former(self) -> Sequence[str]:
        return ()

    @cached_property
    def price(self) -> Price | None:
        costs = [plan.privacy for plan in self.plans if plan.privacy is not None]
        return Price(sum(costs[1:], costs[0]), self.cost) if costs else None

    def rehearse(self, engine: Engine) -> None:
        for plan in self.plans:
            engine.rehearse(plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> list[Answer]:
        """All noisy numbers; HAVING, ORDER BY and LIMIT come afterwards."""
        return [replace(_released(plan, engine, reserved), cost=str(self.cost)) for plan in self.plans]

    def write(self, result: list[Answer], remarks: tuple[str, ...]) -> list[str]:
        return [replace(answer, remarks=(*answer.remarks, *remarks)).to_json() for answer in result]

    def read(self, texts: list[str]) -> list[Answer]:
        return [Answer.from_json(text) for text in texts]

    def finish(self, outcome: Outcome[list[Answer]]) -> list[Answer]:
        """What is free: HAVING, ORDER BY, LIMIT on the noisy result, and what is left of the budget."""
        return [
            replace(
                refine(answer, plan.query),
                cost="nothing" if self.price is None else answer.cost,
                left=outcome.left,
                question=str(plan.query),
                remarks=(*answer.remarks, *outcome.remarks),
                repeated=outcome.repeated,
            )
            for answer, plan in zip(outcome.result, self.plans, strict=True)
        ]


def _released(plan: Plan, engine: Engine | None, reserved: Reservation) -> Answer:
    """Count, and add noise; all parts are charged before the first is let out."""
    for part in plan.parts:
        reserved.spend(part.privacy)
    chosen: list[tuple[Value, ...]] | None = None
    if plan.keys.size is None:
        assert engine is not None
        choice = plan.parts[0].mechanism
        assert isinstance(choice, Threshold)
        chosen = _ordered(choice.select(engine.keys(plan, reserved.salt)))
    groups = groups_of(plan, chosen)
    counts: Found = {}
    if engine is not None and groups.size:
        counts = engine.count(plan, groups, reserved.salt)
    return answer_of(plan, groups, noisy(plan, groups, counts))


def _ordered(keys: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """In an order that says nothing about the data."""
    return sorted(keys, key=lambda key: tuple((str(type(value)), value) for value in key))
