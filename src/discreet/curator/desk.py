"""Where questions are taken: priced by public facts, and brought to the gate with the ledger that pays for them.

A curator has one, and so has every question that it began. Rooms above the curator's ask here too, in two ways: with something
that has a price for every share of a cost (``Priceable``), which may stand beside others, be previewed and bought by accuracy; or
with a ``Request`` of their own to the gate, which decides as it goes what it measures next.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from discreet.curator.gate import Outcome, Request, ask, find_served, serving_of
from discreet.curator.inspection import looked_at, remark_bounds, remark_changes
from discreet.curator.plans import Part, Plans, Select
from discreet.curator.tables import Tables
from discreet.errors import DiscreetError, ParameterError
from discreet.ledger.ledger import Ledger
from discreet.ledger.people import check
from discreet.ledger.place import Place
from discreet.ledger.results import amount_paid
from discreet.plan.cost import Terms
from discreet.plan.plan import Plan
from discreet.plan.preview import Preview, Priceable, offer, price_within
from discreet.plan.sql import parse_query
from discreet.privacy.budget import Budget
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

_STRIPES = 64
_LONG, _MANY = 2**12, 2**8  # a text, and how many of them, that are remembered

Result = TypeVar("Result")


class Desk:
    """Tables, the budget, and the ledger that keeps it. Threads may share it; a forked process may not."""

    def __init__(self, tables: Tables, budget: Budget, place: Place, people: str) -> None:
        self.tables, self.budget, self.place, self.people = tables, budget, place, people
        self._process = os.getpid()
        self._opening = threading.Lock()
        self._asking = [threading.Lock() for _ in range(_STRIPES)]
        self._opened: Ledger | None = None
        self._seen: Ledger | None = None
        self._files = frozenset[str]()  # those that pay from it
        self._texts: dict[str, Select] = {}  # what was asked in SQL before

    @property
    def schema(self) -> Schema:
        """What is publicly known of the tables."""
        return self.tables.schema

    def read(self, text: str) -> Select:
        """The question that a text asks. It is read once: what is previewed is asked next, and what is asked is asked again."""
        if not isinstance(text, str) or text not in self._texts:
            select = Select(parse_query(text, self.schema), self.schema)
            if len(text) >= _LONG or len(self._texts) >= _MANY:
                return select
            self._texts[text] = select
        return self._texts[text]

    def release(self, asked: Sequence[Priceable[Part[Any, Any]]], terms: Terms) -> list[Any]:
        """What was asked, paid for together."""
        self.check_process()
        request = self.plan(asked, terms)
        with self._reading(request) as tables:
            outcome = self.ask(request, tables)
        together = _remark_totals(request.plans, self.schema.unit) if len(request.parts) > 1 else ()
        return request.finish(outcome, [(*together, *self.remarks(part.plans)) for part in request.parts])

    def offer(self, asked: Sequence[Priceable[Part[Any, Any]]], terms: Terms) -> Preview:
        """What that would cost and how far off it would be."""
        request, ledger = self.plan(asked, terms), self.view()
        before = ""
        if ledger is not None:
            with self._reading(request) as tables:  # of which nothing is opened
                before = _describe_repeat(request, ledger, tables)
        account = self.budget.open() if ledger is None else ledger.account
        found = offer(asked, request.parts, request.cost, account, before, terms.fewest)
        return replace(found, remarks=(*found.remarks, *self.remarks(request.plans)))

    def plan(self, asked: Sequence[Priceable[Part[Any, Any]]], terms: Terms) -> Plans:
        """Everything that can be refused is refused here, before data or budget is touched."""
        request = Plans(*price_within(terms, asked, self.budget))
        for query in (plan.query for plan in request.plans):
            for join in (*query.joins, *(query.people.rows.joins if query.people else ())):
                self.tables.check(join)
        if any(part.reading != request.parts[0].reading for part in request.parts):
            raise ParameterError("One of these reads the table otherwise than it is declared; ask it by itself, not in a batch.")
        return request

    def ask(self, request: Request[Result], tables: Tables | None = None) -> Outcome[Result]:
        """The result of a request to the gate."""
        self.check_process()
        tables, rehearsed = tables or self.tables, None
        tables.check_there()  # what is missing is missed before a ledger is made
        if request.price is not None and self.view() is None:  # and so is what no budget pays for, or no engine can count
            self.budget.open().spend(request.price.privacy, request.price.cost.epsilon)
            engine = tables.engine("")
            request.rehearse(engine)
            rehearsed = engine.layout
        with self._asking[int(request.digest, 16) % _STRIPES]:  # of two threads with the same one, the second gets the first's
            return ask(request, self.ledger(), tables, rehearsed)

    def check_process(self) -> None:
        """Refuse to go on in a forked process: its parent does, with the same ledger."""
        if os.getpid() != self._process:
            raise DiscreetError("This process was forked from the one that opened the curator; open it again here.")

    def remarks(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        """That persons are bounded, and that declarations were changed after a look."""
        ledger = self.view()
        bounds = tuple(dict.fromkeys(remark for plan in plans for remark in remark_bounds(plan, self.schema.unit)))
        if ledger is None or not ledger.looks:
            return bounds
        looked = looked_at(self.tables, ledger.salt)
        changes = (remark for table, now in looked for remark in remark_changes(now, table, ledger.looks))
        return (*bounds, *dict.fromkeys(changes))

    def foresee(self, request: Request[Any], tables: frozenset[str]) -> tuple[str, str]:
        """Whether a request fits what is left of the budget, and whether it was asked before, in a sentence each; the second may
        be empty."""
        ledger = self.view()
        account = self.budget.open() if ledger is None else ledger.account
        fits = request.price is None or account.fits(request.price.privacy)
        said = "It fits what is left of the budget." if fits else "It is more than is left of the budget."
        return said, "" if ledger is None else _describe_repeat(request, ledger, self.tables.reading(tables))

    def view(self) -> Ledger | None:
        """The ledger to read from, which need not be one that can be written; None as long as there is none."""
        with self._opening:
            if self._opened is None and self._seen is None:
                self._seen = Ledger.view(self.place, self.budget, self.schema.unit.protected, self.people)
            return self._opened or self._seen

    def ledger(self) -> Ledger:
        """The ledger; the first question makes it."""
        tables, unit = self.tables.facts(), self.schema.unit.protected
        files = frozenset(file for table in tables for file in table.files)
        with self._opening:
            if self._opened is None:
                for table in tables[1:]:  # before the ledger is made for the first
                    check(self.place, self.people, table)
                opened = Ledger.open(self.place, self.budget, unit, self.people, tables[0], self.tables.first_name)
                for table in tables[1:]:
                    opened.pay_for(self.people, table)
                self._opened = opened
            elif files != self._files:  # of a pattern
                for table in tables:
                    self._opened.pay_for(self.people, table)
            self._files = files
            return self._opened

    @contextmanager
    def _reading(self, request: Plans) -> Iterator[Tables]:
        """The tables that a request reads, as it reads them."""
        reading = request.parts[0].reading
        if reading is None:
            yield self.tables.reading(request.tables)
            return
        with self.tables.declared_as(*reading) as tables:
            yield tables.reading(request.tables)


def _describe_repeat(request: Request[Result], ledger: Ledger, tables: Tables) -> str:
    """What a preview says of a request that was answered before: from the ledger alone, no table is looked at."""
    if request.price is None:
        return ""
    declared, table = tables.declared_fingerprint(ledger.salt), tables.name(ledger.salt)
    entries, same, alike = ledger.repeats(request.digest, table, declared, request.former, tables.declared)
    if not any(amount_paid(entry) >= request.price.cost.amount for entry in entries):
        if (serve := serving_of(request)) is not None:
            others, unchanged, _ = ledger.repeats(None, table, declared, (), tables.declared)
            if unchanged and find_served(serve, others) is not None:
                return "What was paid for before says this too: free, unless the table changed since it was last opened."
        return "Asked before, for less: it would be paid for again." if entries and same else ""
    if same is False:
        return "Asked before, but the table changed since: it would be paid for again."
    if same is None:
        other = "" if alike else "; the same rows in another form would be paid for again"
        return f"Asked before: free if this table holds the same as that one did{other}."
    return "Asked before: free." if declared else "Asked before: free, unless the table changed since it was last opened."


def _remark_totals(plans: Sequence[Plan], unit: Unit) -> tuple[str, ...]:
    """What is said of questions that are asked together where persons count differently in each."""
    keys = [plan.query.keys for plan in plans if plan.query.people is None]
    if not isinstance(unit, Person) or all(one == keys[0] for one in keys):
        return ()
    return (
        "Totals of what was asked together may differ: persons are bounded by the groups of each question. Ask for one table, "
        "table(by=[...]), where they must be the same.",
    )
