"""On what terms questions are asked: a cost, or an accuracy that a cost is found for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.accuracy import Accuracy, cost_for
from discreet.plan.plan import Plan, price, share_of
from discreet.plan.query import Query
from discreet.privacy.budget import Budget
from discreet.schema.table import Schema

__all__ = ["Priced", "Terms"]


@dataclass(frozen=True)
class Priced:
    """Plans that are paid for together, the cost in the asker's words ("epsilon=0.5"), and its exact amount."""

    plans: tuple[Plan, ...]
    asked: str
    amount: Fraction


@dataclass(frozen=True)
class Terms:
    """A pure or converted epsilon, or a rho, or the half-widths that are wanted; a delta for open keys."""

    epsilon: object = None
    rho: object = None
    delta: object = None
    accuracy: Accuracy | None = None

    def priced(self, queries: Sequence[Query], schema: Schema, budget: Budget) -> Priced:
        """Plans within these terms, the cost split over the questions evenly; refused where they do not suit the budget."""
        currency = "rho" if budget.kind == "concentrated" else "epsilon"

        def plans_at(cost: object) -> tuple[Plan, ...]:
            share = share_of(budget, **{currency: cost}, delta=self.delta, questions=len(queries))
            return tuple(price(query, schema, share.part(Fraction(1, len(queries)))) for query in queries)

        if self.accuracy is None:
            share_of(budget, epsilon=self.epsilon, rho=self.rho, delta=self.delta)
            cost = self.rho if currency == "rho" else self.epsilon
            # !s: a number of numpy says its shortest decimal, by which it is charged, in str() and not in format().
            return Priced(plans_at(cost), f"{currency}={cost!s}", positive(currency, cost))
        if self.epsilon is not None or self.rho is not None:
            raise ParameterError("Give a cost or an accuracy, not both: the one follows from the other.")
        found = cost_for(self.accuracy, plans_at)
        return Priced(plans_at(found), f"{currency}={float(found):g}", found)
