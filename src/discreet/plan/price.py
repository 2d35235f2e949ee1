"""A question with its price: its groups, its parts, and what the whole costs, all from public facts.

The cost is split evenly over the statistics a question needs, and what two outputs have in common is paid once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil

from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.check import check
from discreet.plan.evaluate import infer
from discreet.plan.facts import Facts, facts_of_column
from discreet.plan.keys import Keys, keys_of
from discreet.plan.measures import MOST_WORK, Statistic, statistics
from discreet.plan.parts import Frame, Part, Share, key_part, parts_of, public
from discreet.plan.query import Query
from discreet.privacy import Privacy
from discreet.privacy.budget import Budget
from discreet.schema.table import Schema

__all__ = ["Plan", "facts_of", "price", "share_of"]


@dataclass(frozen=True)
class Plan:
    """A question, its groups, its parts, and the statistics behind every output."""

    query: Query
    schema: Schema
    keys: Keys
    parts: tuple[Part, ...]
    behind: Mapping[str, tuple[Statistic, ...]]
    share: Share

    @cached_property
    def privacy(self) -> Privacy | None:
        """What the whole question costs; None if its answer is public."""
        costs = [part.privacy for part in self.parts if part.privacy is not None]
        return sum(costs[1:], costs[0]).under(self.schema.unit.neighbours) if costs else None

    @cached_property
    def digest(self) -> str:
        """What makes two questions the same: the part that touches data, and the facts it is asked under; not what is paid."""
        schema = self.schema
        leak = self.share.named if self.keys.size is None else 0
        text = f"{self.query.released}\n{sorted(schema.columns.items())}\n{schema.unit}\n{sorted(schema.public)}\n{leak}"
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def frame(self) -> Frame:
        return _frame(self.query, self.schema, self.keys)


def facts_of(schema: Schema) -> dict[str, Facts]:
    """What is declared, by the names that questions use."""
    facts = {name: facts_of_column(column) for name, column in schema.columns.items()}
    for table, columns in schema.public.items():
        facts |= {f"{table}.{name}": facts_of_column(column) for name, column in columns.items()}
    return facts


def share_of(budget: Budget, *, epsilon: object = None, rho: object = None, delta: object = None, questions: int = 1) -> Share:
    """What some questions may cost together, in the budget's own currency; the delta is each one's."""
    if budget.kind == "concentrated":
        if epsilon is not None or rho is None:
            raise ParameterError("This budget is a rho (zero-concentrated privacy); ask with a rho, for example rho=0.01.")
        return _with_delta(budget, positive("rho", rho, "a number such as 0.01"), delta, questions)
    if rho is not None:
        raise ParameterError("This budget is an epsilon, not a rho; ask with an epsilon, for example epsilon=0.5.")
    if epsilon is None:
        raise ParameterError("What may this question cost? Write an epsilon, for example epsilon=0.5.")
    amount = positive("epsilon", epsilon, "a number such as 0.5")
    if budget.kind == "pure":
        if delta is not None:
            raise ParameterError("This budget has no delta; leave delta= out, or open a Budget(epsilon=..., delta=...).")
        return Share(amount, None)
    return _with_delta(budget, budget.rho_of(amount), delta, questions)


def price(query: Query, schema: Schema, share: Share) -> Plan:
    """Split a cost over what a question needs, and calibrate every mechanism to its part."""
    facts = facts_of(schema)
    check(query, schema, facts)
    keys = keys_of(query, facts)
    frame = _frame(query, schema, keys)
    behind = statistics(query.outputs, lambda of: infer(of, facts), keys.size or 2**10)
    needed = list(dict.fromkeys(statistic for each in behind.values() for statistic in each))
    if (keys.size or 1) * len(needed) > MOST_WORK:
        raise ParameterError(
            f"{keys.size:,} groups times {len(needed)} statistics are more than {MOST_WORK:,} numbers; ask for less at a time."
        )
    paying = sum(not public(statistic, frame) for statistic in needed) + (keys.size is None)
    each = share.part(Fraction(1, max(paying, 1)))
    parts = [part for statistic in needed for part in parts_of(statistic, frame, each)]
    if keys.size is None:
        if frame.exchanged:
            raise ParameterError('Open keys are chosen for neighbours "add-remove"; list the keys, or choose those neighbours.')
        if not share.delta:
            raise ParameterError(
                "The values of these keys are not public, and choosing which to show costs a delta, which this budget has not; "
                "declare a category, list the keys (WHERE key IN (...)), or open a Budget(epsilon=..., delta=...)."
            )
        parts.insert(0, key_part(frame, each))
    return Plan(query, schema, keys, tuple(parts), behind, share)


def _frame(query: Query, schema: Schema, keys: Keys) -> Frame:
    whole_table = query.where is None and not query.keys and all(join.keep for join in query.joins)
    return Frame(schema.unit, keys.size, whole_table)


def _with_delta(budget: Budget, rho: Fraction, delta: object, questions: int) -> Share:
    """A rho with a delta for open keys: unless told, the same share of what the budget has for keys as of its rho, and at most a
    quarter, so that as many questions fit by their deltas as by their rhos. Asked again for less, a question stays the same.
    """
    if delta is not None:
        told = positive("delta", delta, "a small chance such as 1e-7")
        return Share(None, rho, told, told)
    assert budget.most_rho is not None
    return Share(None, rho, budget.leaks / max(4, ceil(questions * budget.most_rho / rho)), budget.leaks / 4)
