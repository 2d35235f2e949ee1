"""The cost of questions: what is asked for, the plans that it buys, what an accuracy costs, and what a budget still holds.

From the error that is wanted to the cost that buys it: errors fall as the cost grows, so the least cost is found by halving, from
public facts alone, and rounded up to three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.expressions import Column
from discreet.plan.plan import Plan, price, share_of
from discreet.plan.preview import Preview, preview_lines
from discreet.plan.query import Mean, Query, Variance
from discreet.plan.release import described
from discreet.plan.statistics import ROWS, Measure
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.table import Schema

__all__ = ["Accuracy", "Cost", "Terms", "cost_for", "offer"]


@dataclass(frozen=True)
class Cost:
    """What is asked for: an exact amount of epsilon or of rho, in the asker's own words where there are any.

    >>> print(Cost("epsilon", Fraction(1, 2)), Cost("rho", Fraction(1, 10), "0.10"))
    epsilon=0.5 rho=0.10
    """

    currency: Literal["epsilon", "rho"]
    amount: Fraction
    words: str = ""

    @property
    def epsilon(self) -> Fraction | None:
        """The epsilon that was asked for, if it was one."""
        return self.amount if self.currency == "epsilon" else None

    def __str__(self) -> str:
        return f"{self.currency}={self.words or format(float(self.amount), 'g')}"


@dataclass(frozen=True)
class Terms:
    """A pure or converted epsilon, or a rho, or the half-widths that are wanted; a delta for open keys."""

    epsilon: object = None
    rho: object = None
    delta: object = None
    accuracy: Accuracy | None = None

    def plan(self, queries: Sequence[Query], schema: Schema, budget: Budget) -> tuple[tuple[Plan, ...], Cost]:
        """Plans within these terms, the cost split over the questions evenly; refused where they do not suit the budget."""
        currency: Literal["epsilon", "rho"] = "rho" if budget.kind == "concentrated" else "epsilon"

        def plans_at(cost: object) -> tuple[Plan, ...]:
            share = share_of(budget, **{currency: cost}, delta=self.delta, questions=len(queries))
            return tuple(price(query, schema, share.part(Fraction(1, len(queries)))) for query in queries)

        if self.accuracy is None:
            share_of(budget, epsilon=self.epsilon, rho=self.rho, delta=self.delta)
            cost = self.rho if currency == "rho" else self.epsilon
            # A number of numpy says its shortest decimal, by which it is charged, in str() and not in format().
            return plans_at(cost), Cost(currency, positive(currency, cost), str(cost))
        if self.epsilon is not None or self.rho is not None:
            raise ParameterError("Give a cost or an accuracy, not both: the one follows from the other.")
        found = cost_for(self.accuracy, plans_at)
        return plans_at(found), Cost(currency, found)


Accuracy = float | int | Fraction | Mapping[str, object]

_CHEAPEST, _DEAREST = Fraction(1, 10**9), Fraction(10**4)


def cost_for(accuracy: Accuracy, plans_at: Callable[[Fraction], Sequence[Plan]]) -> Fraction:
    """The least epsilon (or rho) at which every output's 95 % half-width is as small as wanted."""

    def fits(cost: Fraction) -> bool:
        return all(
            line.error is not None and line.error <= wanted[line.output]
            for plan in plans_at(cost)
            for line in preview_lines(plan)
            if line.output in wanted
        )

    wanted = _wanted(accuracy, plans_at(Fraction(1)))
    if not fits(_DEAREST):
        raise ParameterError("No cost buys this accuracy; ask for a larger error, or for fewer or smaller things.")
    low, high = math.log(_CHEAPEST), math.log(_DEAREST)
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(Fraction(math.exp(middle))) else (middle, high)
    cost = Fraction(math.exp(high))
    size = math.floor(math.log10(cost)) - 2
    rounded = math.ceil(cost / Fraction(10) ** size) * Fraction(10) ** size
    return rounded if fits(rounded) else rounded + Fraction(10) ** size


def _wanted(accuracy: Accuracy, plans: Sequence[Plan]) -> dict[str, Fraction]:
    lines = {line.output: line for plan in plans for line in preview_lines(plan)}
    if isinstance(accuracy, Mapping):
        unknown = [name for name in accuracy if name not in lines]
        if unknown or not accuracy:
            raise ParameterError(
                f"accuracy= names outputs ({', '.join(lines)}), not {', '.join(map(str, unknown))}; write one of them."
            )
        wanted = {name: positive(f"accuracy of {name}", value, "a half-width such as 10") for name, value in accuracy.items()}
    else:
        half = positive("accuracy", accuracy, "a half-width such as 10")
        wanted = {name: half for name, line in lines.items() if line.error is None or line.error > 0}
    for plan in plans:
        for output in plan.query.outputs:
            if output.name not in wanted:
                continue
            if lines[output.name].error is None:
                raise ParameterError(
                    f"The error of {output.name} is a number of rows, not a half-width; give accuracy= for other outputs, "
                    "as {name: half-width}, and a cost for this one."
                )
            if isinstance(output.aggregate, (Mean, Variance)) and plan.schema.unit.size is None:
                raise ParameterError(
                    f"The error of {output.name} depends on how many rows there are, which is private; declare a rough size "
                    "that is public (unit=rows(size=10_000)), or ask with a cost."
                )
    return wanted


_MANY = 10_000


def offer(plans: Sequence[Plan], cost: Cost, account: Account, before: str = "") -> Preview:
    """Cost, noise and error of questions that are paid for together; ``before`` says whether they were asked before."""
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    total = sum(costs[1:], costs[0]) if costs else None
    lines = tuple(line for plan in plans for line in preview_lines(plan))
    sizes = [plan.keys.size for plan in plans]
    return Preview(
        question="; ".join(str(plan.query) for plan in plans),
        cost=str(cost) if costs else "nothing",
        groups=None if None in sizes else sum(size or 0 for size in sizes),
        lines=lines,
        parts=tuple(described(part) for plan in plans for part in plan.parts),
        halve=_halve(account, cost.amount) if costs else "",
        fits="" if total is None else _fits(account, total),
        remarks=(*([before] if before else []), *_advice(plans), f"Budget: {account.brief}."),
    )


def _advice(plans: Sequence[Plan]) -> Iterator[str]:
    """A share that a declaration would save: a column that can be missing needs a count of its own."""
    for plan in plans:
        counted = [part.statistic for part in plan.parts if isinstance(part.statistic, Measure)]
        apart = [str(m.of) for m in counted if m.what == "present" and isinstance(m.of, Column)]
        if apart and ROWS in counted:
            yield f"{', '.join(apart)} may be missing and has a count of its own; declare missing= to save its share."


def _halve(account: Account, amount: Fraction) -> str:
    """Errors fall as 1 / epsilon under pure budgets and as 1 / sqrt(rho) under others."""
    budget = account.budget
    if budget.kind == "pure":
        return f"To halve the error, ask with epsilon={float(2 * amount):g}."
    if budget.kind == "concentrated":
        return f"To halve the error, ask with rho={float(4 * amount):g}."
    goal, low, high = 4 * budget.rho_of(amount), float(amount), 8 * float(amount)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if budget.rho_of(Fraction(middle)) >= goal else (middle, high)
    return f"To halve the error, ask with epsilon={math.ceil(high * 1000) / 1000:g}."


def _fits(account: Account, cost: Privacy) -> str:
    """How many such questions the budget still holds."""
    count = 0
    while count < _MANY and account.fits((count + 1) * cost if count < 8 else 2 * count * cost):
        count = count + 1 if count < 8 else 2 * count
    low, high = count, 2 * count
    while count >= 8 and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if account.fits(middle * cost) else (low, middle)
    if not count:
        return "It does not fit into what is left of the budget."
    many = "More than " if low >= _MANY else ""
    return f"{many}{min(low, _MANY):,} such question{'s' if low != 1 else ''} would fit into what is left."
