"""Synthetic data that is asked for but not yet paid: what it would cost, take and show, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.desk import Desk
from discreet.display import figure, text_table
from discreet.plan.cost import Terms
from discreet.synthetic.balancing import most_cells
from discreet.synthetic.model import Synthetic
from discreet.synthetic.request import Asked, Synthesis
from discreet.synthetic.rounds.levels import RUNS
from discreet.synthetic.rounds.run import Progress
from discreet.synthetic.rounds.selection import Schedule

_ALWAYS = 2**26  # bytes of libraries and of what is read at a time
_TABLES = 12  # of the model's size that a fit holds at once
_WATCHED = 7  # numbers for every cell by which drawn rows are balanced
_CLEAR = 3.0  # standard deviations of noise that a count must exceed to be told apart
_MOST_LINES = 30


@dataclass(frozen=True, repr=False)
class Outlook:
    """What a model would cost and take."""

    cost: str
    fits: str
    cells: int
    model: int
    memory: int
    rounds: int
    seconds: str
    lines: tuple[tuple[str, int, float], ...]  # a column, its cells, and the standard deviation of their noise
    before: str = ""

    def __str__(self) -> str:
        wide = math.log10(self.cells)
        cells = figure(self.cells) if wide < 15 else f"10^{wide:.0f}"
        some = [[name, f"{many:,}", f"{noise:,.1f}", f"{_CLEAR * noise:,.0f} rows"] for name, many, noise in self.lines]
        notes = [
            f"Would cost {self.cost}. No data was read. {self.fits}".rstrip(),
            f"{cells} combinations of cells; a model of at most {self.model:,} cells, about "
            f" {self.memory / 2**20:,.0f} MB beside the table, at most {self.rounds} rounds at first noise, about "
            f"{self.seconds} s of a processor or less.",
            "Values with fewer rows than the last column says are noise by themselves: they are joined with others.",
            self.before,
        ]
        table = text_table(["column", "cells", "noise", "told apart from"], some[:_MOST_LINES], "<>>>")
        return "\n".join(
            [table, *([f"... and {len(some) - _MOST_LINES} more"] if len(some) > _MOST_LINES else []), *filter(None, notes)]
        )

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Offer:
    """What is asked, to be previewed, or released for a cost."""

    desk: Desk
    asked: Asked
    tables: frozenset[str]
    watch: Callable[[Progress], None] | None = None

    @called_as("epsilon=1")
    def preview(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Outlook:
        """What ``release`` would cost and take: free, and without looking at the data."""
        request = self._request(Terms(epsilon, rho))
        fits, before = self.desk.foresee(request, self.tables)
        domain, limits = self.asked.domain, self.asked.aim.limits
        shares = Schedule(request.payment.left, self.asked.aim.rounds).own(domain.sizes)
        lines = tuple(
            (one.name, one.count, request.payment.deviation(share)) for one, share in zip(domain.columns, shares, strict=True)
        )
        sets, ways = self.asked.aim.candidates.weights, (domain.sizes, [min(size, RUNS + 1) for size in domain.sizes])
        held = sum(min(math.prod(sizes[column] for column in one), limits.marginal) for one in sets for sizes in ways)
        memory = _ALWAYS + 8 * max(_TABLES * limits.cells + held, _WATCHED * most_cells(limits.looks))
        seconds = str(self.asked.words["seconds"])
        return Outlook(str(request.cost), fits, domain.cells, limits.cells, memory, limits.rounds, seconds, lines, before)

    @called_as("epsilon=1")
    def release(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Synthetic:
        """The model; paid for first, free when asked again."""
        request, aim = self._request(Terms(epsilon, rho)), self.asked.aim
        request.price  # noqa: B018 - what cannot be bought is refused before there is a ledger
        outcome = self.desk.ask(request, self.desk.tables.reading(self.tables))
        measured = replace(outcome.result, remarks=(*outcome.result.remarks, *outcome.remarks))
        share = replace(request.share, amount=measured.cost.amount)  # which may be more than who asks again offers
        paid = replace(request, share=share).price.privacy
        model = Synthetic.of(measured.domain(aim.domain), measured, aim.limits, aim.zeros, paid)
        return replace(model, left=outcome.left.brief, repeated=outcome.repeated)

    def _request(self, terms: Terms) -> Synthesis:
        self.desk.check_process()
        cost = terms.asked(self.desk.budget)
        texts = sum(1 for one in self.asked.bought if not one.runs)
        return Synthesis(self.asked, cost, terms.spend(cost, self.desk.budget, max(texts, 1)), self.watch)

    def __str__(self) -> str:
        return f"Synthetic data of {', '.join(self.asked.domain.names)}: preview(epsilon=...) or release(epsilon=...)."

    __repr__ = __str__
