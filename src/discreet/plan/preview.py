"""What a question would cost and how far off its answers would be: from public facts alone, for free, without any data.

Errors are half-widths of 95 % intervals. That of a sum is exact. That of a mean or variance depends on how many rows a group
has, which is private: it is stated for the declared size, spread evenly over the groups, or else for 1,000 rows; and on the mean
and variance themselves: it is the largest there can be.

The other way round, from the error that is wanted to the cost that buys it: errors fall as the cost grows, so the least cost is
found by halving, and rounded up to three digits. Errors of means, shares and quotients also fall as groups grow: they are bought
for the fewest rows that a group has, as far as that is public. What is bought never depends on data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.display import html_table, text_table
from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.aggregates.base import Typical
from discreet.plan.cost import Accuracy, Cost, Currency, Terms
from discreet.plan.expressions import Column
from discreet.plan.plan import Plan, price
from discreet.plan.query import Output, Query
from discreet.plan.statistics import ROWS, Sums
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.table import Schema
from discreet.schema.units import Rows

_TYPICAL = 1000
_CHEAPEST, _DEAREST = Fraction(1, 10**9), Fraction(10**4)  # costs among which one is found for an accuracy
_MANY = 10_000


@dataclass(frozen=True)
class PreviewLine:
    """One output: how it is released, and the half-width of its 95 % interval (None where there is no such number); ``ranks``: by
    how many rows a choice may miss."""

    output: str
    mechanism: str
    error: float | None
    meaning: str
    ranks: int | None = None


@dataclass(frozen=True, repr=False)
class Preview:
    """A question's price and expected errors."""

    question: str
    cost: str
    groups: int | None
    lines: tuple[PreviewLine, ...]
    parts: tuple[tuple[str, str], ...]
    halve: str
    fits: str
    remarks: tuple[str, ...] = ()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["output", "mechanism", "95 % error"], [[line.output, line.mechanism, line.meaning] for line in self.lines]

    def _notes(self) -> list[str]:
        groups = "groups chosen privately" if self.groups is None else f"{self.groups:,} group{'s' if self.groups != 1 else ''}"
        split = "; ".join(f"{what}: {how}" for what, how in self.parts)
        return [
            f"Would cost {self.cost}; {groups}. No data was read.",
            f"Split evenly: {split}." if split else "",
            self.halve,
            self.fits,
            *self.remarks,
        ]

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([text_table(headers, rows), *(note for note in self._notes() if note)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, notes=[note for note in self._notes() if note])


def preview_lines(plan: Plan, fewest: int | None = None) -> tuple[PreviewLine, ...]:
    """A line for every output that is shown; one for the keys, where they are all that is asked for. ``fewest``: the rows that
    every group surely has."""
    if not plan.behind:
        keys = ", ".join(plan.keys.names)
        if plan.keys.size is None:
            return (PreviewLine(keys, plan.releases[0].how, None, "keys that enough share"),)
        return (PreviewLine(keys, "public", None, "exact: declarations list them, and no row is looked at"),)
    return tuple(_line(plan, output, fewest) for output in plan.query.outputs if output.shown)


def _line(plan: Plan, output: Output, fewest: int | None) -> PreviewLine:
    releases = plan.behind[output.name]
    expected = output.aggregate.expected(releases, _typical(plan, fewest))
    return PreviewLine(output.name, releases[-1].how, expected.error, expected.meaning, expected.ranks)


def _typical(plan: Plan, fewest: int | None) -> Typical:
    """The group that errors are stated for: of the fewest rows that one may have; or else the declared size, spread evenly over
    the groups; or else of 1,000 rows."""
    unit, each = plan.schema.unit, "" if plan.keys.size == 1 and not plan.query.keys else " for every group"
    rows = "rows" if plan.query.people is None else "persons"
    if fewest is not None:
        return Typical(fewest, f"for {fewest:,} {rows} and more", each, plan.keys.size)
    if unit.size is None:
        return Typical(_TYPICAL, f"for {_TYPICAL:,} {rows}", each, plan.keys.size)
    size = max((unit.size if isinstance(unit, Rows) else unit.size * unit.rows) // (plan.keys.size or 1), 1)
    return Typical(size, f"for {size:,} {rows}" if plan.query.keys else "for the whole table", each, plan.keys.size)


def plan_within(terms: Terms, queries: Sequence[Query], schema: Schema, budget: Budget) -> tuple[tuple[Plan, ...], Cost]:
    """Plans within these terms, and their cost, split over the questions evenly; refused where it does not suit the budget."""

    def plans_at(cost: Cost) -> tuple[Plan, ...]:
        share = terms.spend(cost, budget, len(queries)).part(Fraction(1, len(queries)))
        return tuple(price(query, schema, share) for query in queries)

    fewest = terms.fewest
    if terms.accuracy is None:
        cost = terms.asked(budget)
    else:
        if terms.epsilon is not None or terms.rho is not None:
            raise ParameterError("Give a cost or an accuracy, not both: the one follows from the other.")
        currency: Currency = "rho" if budget.kind == "concentrated" else "epsilon"
        cost = Cost(currency, _cost_for(terms.accuracy, lambda amount: plans_at(Cost(currency, amount)), fewest))
    return plans_at(cost), cost


def offer(plans: Sequence[Plan], cost: Cost, account: Account, before: str = "", fewest: int | None = None) -> Preview:
    """Cost, noise and error of questions that are paid for together; ``before`` says whether they were asked before."""
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    total = sum(costs[1:], costs[0]) if costs else None
    lines = tuple(line for plan in plans for line in preview_lines(plan, fewest))
    sizes = [plan.keys.size for plan in plans]
    return Preview(
        question="; ".join(str(plan.query) for plan in plans),
        cost=str(cost) if costs else "nothing",
        groups=None if None in sizes else sum(size or 0 for size in sizes),
        lines=lines,
        parts=tuple(release.description for plan in plans for release in plan.releases),
        halve=_halve(account, cost.amount) if costs and any(plan.behind for plan in plans) else "",
        fits="" if total is None else _fits(account, total),
        remarks=(
            *([before] if before else []),
            *_advice(plans),
            *_without_delta(plans, cost, account, fewest),
            f"Budget: {account.brief}.",
        ),
    )


def _advice(plans: Sequence[Plan]) -> Iterator[str]:
    """A share that a declaration would save: a column that can be missing needs a count of its own."""
    for plan in plans:
        sums = [release.statistic for release in plan.releases if isinstance(release.statistic, Sums)]
        counted = [one.of[0] for one in sums]
        own = [one.of[0] for one in sums if one.is_pair or one.of[0].what == "present"]
        apart = [str(m.of) for m in own if m.nullable and isinstance(m.of, Column)]
        if apart and ROWS in counted:
            yield f"{', '.join(apart)} may be missing and has a count of its own; declare missing= to save its share."


def _without_delta(plans: Sequence[Plan], cost: Cost, account: Account, fewest: int | None) -> Iterator[str]:
    """What the same epsilon gives in a budget without a delta, and when a delta pays.

    Of m such questions that fill a budget of epsilon E, each has E / m without a delta, and errors grow like m; with a delta
    each has the m-th part of the budget's rho, and errors grow like sqrt(m). So it pays from (g / l)^2 (r / R) (E / e)^2
    questions on, where g and l are the errors with and without it at e, which costs r of the budget's R.
    """
    budget = account.budget
    if budget.kind != "approximate" or budget.epsilon is None or any(plan.keys.size is None for plan in plans):
        return
    alone = Cost("epsilon", cost.amount / len(plans))
    both = ((preview_lines(one, fewest), preview_lines(price(one.query, one.private, alone), fewest)) for one in plans)
    pairs = [
        (line, other)
        for lines, others in both
        for line, other in zip(lines, others, strict=True)
        if line.error and other.error and math.isfinite(line.error + other.error)
    ]
    if not pairs:
        return
    rho, most = budget.rho_of(cost.amount), budget.most_rho or Fraction(1)
    gain = float(rho / most * (budget.epsilon / cost.amount) ** 2)
    many = max(1, math.ceil(max(((one.error or 0) / (other.error or 1)) ** 2 for one, other in pairs) * gain))
    errors = ", ".join(f"{other.output} ± {other.error:,.4g}" for _, other in pairs)
    when = "for a single one" if many == 1 else f"from about {many:,} such questions on"
    yield f"Without a delta the same epsilon would give {errors}; in a budget of this epsilon a delta pays {when}."


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


def _cost_for(accuracy: Accuracy, plans_at: Callable[[Fraction], Sequence[Plan]], fewest: int | None) -> Fraction:
    """The least epsilon (or rho) at which every output's 95 % half-width, or its distance in ranks, is as small as wanted."""

    def fits(cost: Fraction) -> bool:
        lines = [line for plan in plans_at(cost) for line in preview_lines(plan, fewest) if line.output in wanted]
        errors = [(line.ranks if line.error is None else line.error, wanted[line.output]) for line in lines]
        return all(error is not None and error <= most for error, most in errors)

    wanted = _wanted(accuracy, plans_at(Fraction(1)), fewest)
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


def _wanted(accuracy: Accuracy, plans: Sequence[Plan], fewest: int | None) -> dict[str, Fraction]:
    lines = {line.output: line for plan in plans for line in preview_lines(plan, fewest)}
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
        ranked = [name for name in wanted if lines[name].error is None]
        if ranked and len(ranked) < len(wanted):
            raise ParameterError(
                f"The error of {ranked[0]} is a number of rows, and that of other outputs a half-width; give accuracy= for each, "
                "as {name: number}."
            )
    for plan in plans:
        for output in plan.query.outputs:
            if output.name not in wanted:
                continue
            if lines[output.name].error is None and lines[output.name].ranks is None:
                raise ParameterError(
                    f"The error of {output.name} is neither a half-width nor a number of rows; give accuracy= for other outputs, "
                    "as {name: half-width}, and a cost for this one."
                )
            if output.aggregate.depends_on_size and plan.schema.unit.size is None and fewest is None:
                raise ParameterError(
                    f"The error of {output.name} depends on how many rows there are, which is private; write at_least= with a "
                    "number that every group surely has, such as the lower end of a count that you have asked for, declare a "
                    "rough size that is public (unit=rows(size=10_000)), or ask with a cost."
                )
    return wanted
