"""A preview with the budget in view: what the question would leave, and what would halve its error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from discreet.plan.expressions import Column
from discreet.plan.plan import Plan
from discreet.plan.preview import Preview, preview_lines
from discreet.plan.release import described
from discreet.plan.statistics import ROWS, Measure
from discreet.plan.terms import Priced
from discreet.privacy import Privacy
from discreet.privacy.account import Account

__all__ = ["offer"]

_MANY = 10_000


def offer(priced: Priced, account: Account, before: str = "") -> Preview:
    """Cost, noise and error of questions that are paid for together; ``before`` says whether they were asked before."""
    plans = priced.plans
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    total = sum(costs[1:], costs[0]) if costs else None
    lines = tuple(line for plan in plans for line in preview_lines(plan))
    sizes = [plan.keys.size for plan in plans]
    return Preview(
        question="; ".join(str(plan.query) for plan in plans),
        cost=priced.asked if costs else "nothing",
        groups=None if None in sizes else sum(size or 0 for size in sizes),
        lines=lines,
        parts=tuple(described(part) for plan in plans for part in plan.parts),
        halve=_halve(account, priced.amount) if costs else "",
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
