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
from typing import Protocol, TypeVar

from discreet.display import html_table, text_table
from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan import needed
from discreet.plan.aggregates.base import Typical
from discreet.plan.cost import Accuracy, Cost, Currency, Terms
from discreet.plan.expressions import Column
from discreet.plan.margins.levels import expect_levels
from discreet.plan.measures import ROWS
from discreet.plan.plan import Plan
from discreet.plan.query import Output
from discreet.plan.statistics import Sums
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.units import Rows

_TYPICAL = 1000
_CHEAPEST, _DEAREST = Fraction(1, 10**9), Fraction(10**4)  # costs among which one is found for an accuracy
_MANY = 10_000
_SHOWN = 16  # parts of a question, and errors, that are written out


@dataclass(frozen=True)
class PreviewLine:
    """One output: how it is released, and the half-width of its 95 % interval (None where there is no such number); ``ranks``: by
    how many rows a choice may miss; ``sized``: whether the error depends on a number of rows that is private."""

    output: str
    mechanism: str
    error: float | None
    meaning: str
    ranks: int | None = None
    sized: bool = False


class Offered(Protocol):
    """What is asked, at its price."""

    @property
    def question(self) -> str: ...
    @property
    def plans(self) -> tuple[Plan, ...]: ...

    @property
    def described(self) -> tuple[tuple[str, str], ...]:
        """What is released, and how, in words."""

    @property
    def advice(self) -> tuple[str, ...]:
        """What else is said of it in a preview."""

    def lines(self, fewest: int | None = None) -> tuple[PreviewLine, ...]:
        """How far off every output will be. ``fewest``: the rows that every group surely has."""


Priced = TypeVar("Priced", bound=Offered)
Priced_co = TypeVar("Priced_co", bound=Offered, covariant=True)


class Priceable(Protocol[Priced_co]):
    """What may be asked of a curator, alone or together with others: it has a price for every share of a cost."""

    def priced(self, share: Cost) -> Priced_co: ...


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
    even: bool = True  # whether every part has as much of the cost

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["output", "mechanism", "95 % error"], [[line.output, line.mechanism, line.meaning] for line in self.lines]

    def _notes(self) -> list[str]:
        groups = "groups chosen privately" if self.groups is None else f"{self.groups:,} group{'s' if self.groups != 1 else ''}"
        split = "; ".join(f"{what}: {how}" for what, how in self.parts[:_SHOWN])
        split += f"; and {len(self.parts) - _SHOWN} more" if len(self.parts) > _SHOWN else ""
        return [
            f"Would cost {self.cost}; {groups}. No data was read.",
            f"Split {'evenly' if self.even else 'where it helps most'}: {split}." if split else "",
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
    typical, levels = _typical(plan, fewest), plan.query.levels
    if levels is None:
        expected = output.aggregate.expected(releases, typical)
    else:
        expected = expect_levels(levels, output.aggregate, releases, typical)
    sized = output.aggregate.depends_on_size and plan.schema.unit.size is None
    return PreviewLine(output.name, releases[-1].how, expected.error, expected.meaning, expected.ranks, sized)


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


def price_within(terms: Terms, asked: Sequence[Priceable[Priced]], budget: Budget) -> tuple[tuple[Priced, ...], Cost]:
    """What is asked, priced within these terms, and the cost, split evenly; refused where it does not suit the budget."""

    def priced_at(cost: Cost) -> tuple[Priced, ...]:
        share = terms.spend(cost, budget, len(asked)).part(Fraction(1, len(asked)))
        return tuple(one.priced(share) for one in asked)

    fewest = terms.fewest
    if terms.accuracy is None:
        cost = terms.asked(budget)
    else:
        if terms.epsilon is not None or terms.rho is not None:
            raise ParameterError("Give a cost or an accuracy, not both: the one follows from the other.")
        currency: Currency = "rho" if budget.kind == "concentrated" else "epsilon"
        cost = Cost(currency, _cost_for(terms.accuracy, lambda amount: priced_at(Cost(currency, amount)), fewest))
    return priced_at(cost), cost


def offer(
    asked: Sequence[Priceable[Priced]],
    priced: Sequence[Priced],
    cost: Cost,
    account: Account,
    before: str = "",
    fewest: int | None = None,
) -> Preview:
    """Cost, noise and error of what is paid for together; ``before`` says whether it was asked before."""
    plans = [plan for one in priced for plan in one.plans]
    costs = [plan.privacy for plan in plans if plan.privacy is not None]
    total = sum(costs[1:], costs[0]) if costs else None
    sizes = [plan.keys.size for plan in plans]
    return Preview(
        question="; ".join(one.question for one in priced),
        cost=str(cost) if costs else "nothing",
        groups=None if None in sizes else sum(size or 0 for size in sizes),
        lines=tuple(line for one in priced for line in one.lines(fewest)),
        parts=tuple(part for one in priced for part in one.described),
        halve=_halve(account, cost.amount) if costs and any(plan.behind for plan in plans) else "",
        fits="" if total is None else _fits(account, total),
        even=all(plan.query.levels is None and (plan.query.outputs or not plan.behind) for plan in plans),
        remarks=(
            *([before] if before else []),
            *(said for one in priced for said in one.advice),
            *_advice(plans),
            *needed.advise(plans),
            *_without_delta(asked, priced, cost, account, fewest),
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


def _without_delta(
    asked: Sequence[Priceable[Priced]], priced: Sequence[Priced], cost: Cost, account: Account, fewest: int | None
) -> Iterator[str]:
    """What the same epsilon gives in a budget without a delta, and when a delta pays.

    Of m such questions that fill a budget of epsilon E, each has E / m without a delta, and errors grow like m; with a delta
    each has the m-th part of the budget's rho, and errors grow like sqrt(m). So it pays from (g / l)^2 (r / R) (E / e)^2
    questions on, where g and l are the errors with and without it at e, which costs r of the budget's R.
    """
    budget = account.budget
    is_open = any(plan.keys.size is None for one in priced for plan in one.plans)
    if budget.kind != "approximate" or budget.epsilon is None or is_open:
        return
    alone = Cost("epsilon", cost.amount / len(asked))
    both = ((one.lines(fewest), other.priced(alone).lines(fewest)) for one, other in zip(priced, asked, strict=True))
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
    shown = pairs if len(pairs) <= _SHOWN else pairs[: _SHOWN - 1]
    errors = ", ".join(f"{other.output} ± {other.error:,.4g}" for _, other in shown)
    errors += f", and {len(pairs) - len(shown)} more" if len(shown) < len(pairs) else ""
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
    if account.fits(_MANY * cost):
        return f"More than {_MANY:,} such questions would fit into what is left."
    count = 0
    while count < _MANY and account.fits((count + 1) * cost if count < 8 else 2 * count * cost):
        count = count + 1 if count < 8 else 2 * count
    low, high = count, 2 * count
    while count >= 8 and high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if account.fits(middle * cost) else (low, middle)
    if not count:
        return "It does not fit into what is left of the budget."
    return f"{low:,} such question{'s' if low != 1 else ''} would fit into what is left."


def _cost_for(accuracy: Accuracy, priced_at: Callable[[Fraction], Sequence[Offered]], fewest: int | None) -> Fraction:
    """The least epsilon (or rho) at which every output's 95 % half-width, or its distance in ranks, is as small as wanted."""

    def fits(cost: Fraction) -> bool:
        lines = [line for one in priced_at(cost) for line in one.lines(fewest) if line.output in wanted]
        errors = [(line.ranks if line.error is None else line.error, wanted[line.output]) for line in lines]
        return all(error is not None and error <= most for error, most in errors)

    wanted = _wanted(accuracy, priced_at(Fraction(1)), fewest)
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


def _wanted(accuracy: Accuracy, priced: Sequence[Offered], fewest: int | None) -> dict[str, Fraction]:
    every = [line for one in priced for line in one.lines(fewest)]
    lines = {line.output: line for line in every}
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
    for line in every:
        if line.output in wanted and line.error is None and line.ranks is None:
            raise ParameterError(
                f"The error of {line.output} is neither a half-width nor a number of rows; give accuracy= for other outputs, "
                "as {name: half-width}, and a cost for this one."
            )
        if line.output in wanted and line.sized and fewest is None:
            raise ParameterError(
                f"The error of {line.output} depends on how many rows there are, which is private; write at_least= with a "
                "number that every group surely has, such as the lower end of a count that you have asked for, declare a "
                "rough size that is public (unit=rows(size=10_000)), or ask with a cost."
            )
    return wanted
