"""The trusted curator: holds a private table, knows public facts about it, takes questions, and lets out noisy answers.

>>> import os, tempfile, pyarrow
>>> from discreet import Budget, integer, rows
>>> folder = tempfile.mkdtemp(); os.environ["XDG_STATE_HOME"] = folder
>>> hospital = Curator(
...     pyarrow.table({"age": [34, 51, 17]}),
...     unit=rows(), columns={"age": integer(0, 120)}, budget=Budget(epsilon=1), ledger=folder + "/hospital.ledger",
... )
>>> hospital.preview("SELECT count(*) AS n FROM data", epsilon=0.5).lines[0].error
6.0
>>> type(hospital.sql("SELECT count(*) AS n FROM data", epsilon=0.5).value).__name__
'int'
>>> hospital.budget.remaining.epsilon
0.5
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MethodType
from typing import TYPE_CHECKING, NoReturn, TypeVar

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.gate import Outcome, Request, ask, describe_repeat
from discreet.curator.inspection import (
    Look,
    Reading,
    as_table,
    ask_shares,
    look_at_all,
    looked_at,
    remark_bounds,
    remark_changes,
)
from discreet.curator.plans import Plans
from discreet.curator.question import Question
from discreet.curator.rendering import History
from discreet.curator.tables import Tables
from discreet.errors import DiscreetError, ParameterError
from discreet.ledger.ledger import Ledger
from discreet.ledger.people import check, check_name
from discreet.ledger.witness import resolve
from discreet.plan.aggregates import Askable
from discreet.plan.cost import Accuracy, Terms
from discreet.plan.expressions import Value
from discreet.plan.plan import Plan
from discreet.plan.preview import Preview, offer, plan_within
from discreet.plan.query import Query
from discreet.plan.sql import parse_query
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.columns import Column
from discreet.schema.units import Unit

_STRIPES = 64
_SIZE = re.compile(r"(?=.*[1-9])[0-9]+(\.[0-9]+)?\s*[KMGT]i?B", re.ASCII | re.IGNORECASE)

# Verbs of the rooms above this one, and the module of each: a function of that name that takes a curator, and makes requests to
# the gate. A line comes with its room, which is loaded when its verb is first used.
VERBS: dict[str, str] = {}

Shown = TypeVar("Shown", Answer, Preview)
Result = TypeVar("Result")


@called_as('"hospital.parquet", unit=rows(), columns={"age": integer(0, 120)}, budget=Budget(epsilon=3, delta=1e-6)')
class Curator:
    """Answers questions about one table, or several about the same persons, until the budget is spent. Threads may share it.

    ``source`` is a path (.csv, .tsv, .parquet, .duckdb, patterns of them) or a frame (Arrow, pandas, polars). ``unit`` says who
    is protected, ``rows()`` or ``person("id", rows=, groups=)``; ``columns`` what is publicly known of each column; ``budget``
    what all questions about these people may cost together, ever. What was spent is kept in ``ledger``, a file beside the table
    unless told: tables about the same people share one, and ``people`` says whose it is ("patients of the clinic").
    ``public`` are tables by name that anybody may know, for joins; ``table`` names the one of a DuckDB database; ``memory``
    bounds the engine, such as "2GB". That a table changed ends free repeats and so is public, unless its owner declares a
    ``version`` that says so instead. Each answer states its guarantee; neighbours are those of the unit.

    Several tables about the same persons are given by name, ``{"patients": ..., "visits": ...}``, as ``source`` and in
    ``columns``. They are joined by the person's id, each with at most ``at_most`` rows of a person, ``{"patients": 1}``; unless
    told, as many as a person may count for.

    Every question takes its cost as ``epsilon=`` or ``rho=``, whichever the budget has, or ``accuracy=``, the half-width of a
    95 % interval to buy, or the ranks by which a quantile may miss (one for all outputs, or a mapping by output); means, shares
    and quotients then need to know how many rows a group has ``at_least``. ``delta=`` is what private selection of open keys may
    spend; unless told, the same share of what the budget has for keys as of its epsilon or rho, and at most a quarter.
    """

    def __init__(
        self,
        source: object,
        *,
        unit: Unit,
        columns: Mapping[str, Column] | Mapping[str, Mapping[str, Column]],
        budget: Budget,
        ledger: str | os.PathLike[str] | None = None,
        people: str | None = None,
        public: Mapping[str, object] | None = None,
        table: str | Mapping[str, str] | None = None,
        version: str | None = None,
        memory: str | None = None,
        at_most: Mapping[str, int] | None = None,
    ) -> None:
        if not isinstance(budget, Budget):
            raise ParameterError("What may all questions cost together? Write budget=Budget(epsilon=3, delta=1e-6).")
        if public is not None and not (isinstance(public, Mapping) and all(isinstance(name, str) for name in public)):
            raise ParameterError('Public tables are given by name; write public={"regions": "regions.csv"}.')
        if memory is not None and not (isinstance(memory, str) and _SIZE.fullmatch(memory.strip())):
            raise ParameterError('The memory of the engine is a size with its unit; write memory="2GB", or leave it out.')
        self._people = "" if people is None else check_name(people)
        self._tables = Tables(source, columns, unit, public or {}, table=table, memory=memory, version=version, at_most=at_most)
        self._budget = budget
        self._place = resolve(self._tables.ledger_path(self._people) if ledger is None else ledger)
        self._process = os.getpid()
        self._opening = threading.Lock()
        self._asking = [threading.Lock() for _ in range(_STRIPES)]
        self._opened: Ledger | None = None
        self._seen: Ledger | None = None
        self._files = frozenset[str]()  # those that pay from it
        if self._view() is None:
            for facts in self._tables.facts():
                check(self._place, self._people, facts)
        if budget.delta is not None and unit.size is not None and budget.delta * unit.size >= 1:
            warnings.warn(
                f"delta {float(budget.delta):g} is not below 1 / {unit.size:,}: revealing somebody outright could satisfy it; "
                "write a delta well below one over the number of persons.",
                stacklevel=3,
            )

    # Asking.

    @called_as('"SELECT count(*) AS n FROM data", epsilon=0.5')
    def sql(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Answer:
        """The noisy answer to one SELECT over ``data``; paid for first, free when asked again."""
        return self._release(self._queries([text]), Terms(epsilon, rho, delta, accuracy, at_least))[0]

    @called_as('"SELECT count(*) AS n FROM data", epsilon=0.5')
    def preview(
        self,
        text: str,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Preview:
        """What ``sql`` would cost and how far off it would be: free, and without looking at the data."""
        return self._offer(self._queries([text]), Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as('["SELECT ...", "SELECT ..."], epsilon=0.5')
    def batch(
        self,
        questions: Sequence[str | Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> list[Answer]:
        """Several questions for one cost, split over them evenly, reserved as one entry."""
        return self._release(self._queries(questions), Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as('["SELECT ...", "SELECT ..."], epsilon=0.5')
    def preview_batch(
        self,
        questions: Sequence[str | Question],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Preview:
        """What ``batch`` would cost and how far off it would be."""
        return self._offer(self._queries(questions), Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as('"visits"')
    def table(self, name: str) -> Question:
        """Begin a question about one of several private tables; ``join`` adds others."""
        return self._question().table(name)

    @called_as('"age >= 18"')
    def where(self, condition: str) -> Question:
        """Begin a question about the rows for which this holds."""
        return self._question().where(condition)

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Question:
        """Begin a question with a group for every combination of these."""
        return self._question().group_by(*of, keys=keys, **named)

    def agg(self, *unnamed: object, **outputs: Askable) -> Question:
        """Begin a question about the whole table."""
        return self._question().agg(*unnamed, **outputs)

    def person(self, *unnamed: object, **traits: Askable | str) -> Question:
        """Begin a question about persons: a table of one row each, with these columns made of their rows."""
        return self._question().person(*unnamed, **traits)

    @called_as('[100, 200], score="..."')
    def choose(self, candidates: Sequence[Value], *, score: str) -> Question:
        """Begin a choice of the candidate with the largest sum of ``score``, an expression over columns and ``candidate``."""
        return self._question().choose(candidates, score=score)

    # Whether declarations fit.

    @called_as("epsilon=0.1")
    def check(self, *, epsilon: Number | None = None, rho: Number | None = None) -> Answer | Look:
        """Which share of every column is missing, unlisted or clamped.

        With a cost it is a question like any other: private, with intervals, paid for. Without, it is a ``Look``: **not
        private**, for the owner's eyes, rounded, printed and never stored. The ledger notes that somebody looked, and answers
        say so where declarations have changed since.
        """
        self._check_process()
        if epsilon is None and rho is None:
            self._tables.sources()
            ledger = self._ledger()
            for table, declared in looked_at(self._tables, ledger.salt):
                ledger.note_look(declared, table)
            return look_at_all(self._tables.alone())
        reading = Reading.of(self._tables.schema)
        texts, asked = ask_shares(reading)
        queries = [parse_query(text, reading.schema) for text in texts]
        request = Plans(*plan_within(Terms(epsilon, rho), queries, reading.schema, self._budget))
        with self._tables.declared_as(reading.schema, reading.sources) as tables:
            outcome = self._ask(request, tables)
        return self._remark(as_table(request.finish(outcome), asked), request.plans)

    # The budget.

    @property
    def budget(self) -> Account:
        """What is spent and what is left, at this moment."""
        ledger = self._view()
        return self._budget.open() if ledger is None else ledger.account

    @property
    def ledger(self) -> Path:
        """Where spending is written down."""
        return self._place

    @property
    def people(self) -> str | None:
        """Whose budget it is; None where nobody said."""
        ledger = self._view()
        return (self._people if ledger is None else ledger.people or self._people) or None

    @called_as("")
    def history(self) -> History:
        """All questions that were paid for: a tuple of entries, which is printed as a table."""
        ledger = self._view()
        entries = () if ledger is None else ledger.history()
        return History(replace(entry, data="") for entry in entries)  # a fingerprint is never shown

    # The table.

    def progress(self) -> float | None:
        """How far the scan under way is, from 0 to 1; None when that is not known."""
        return self._tables.progress()

    def close(self) -> None:
        """Let go of the table; the ledger stays."""
        self._tables.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> MethodType:
            if name in VERBS:
                return MethodType(getattr(import_module(VERBS[name]), name), self)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *VERBS])

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise DiscreetError("A curator holds private data and cannot be copied or stored; open it again from its own facts.")

    def __repr__(self) -> str:
        return f"<Curator of {len(self._tables.schema.columns)} columns: {self.budget.brief}>"

    def _question(self) -> Question:
        return Question(self._tables.schema, self._release, self._offer)

    def _queries(self, questions: Sequence[str | Question]) -> list[Query]:
        asked = list(questions) if isinstance(questions, Iterable) and not isinstance(questions, str) else []
        if not asked:
            raise ParameterError('A batch is a list of questions; write batch(["SELECT ...", "SELECT ..."], epsilon=0.5).')
        schema = self._tables.schema
        return [one.query(schema) if isinstance(one, Question) else parse_query(one, schema) for one in asked]

    def _plan(self, queries: Sequence[Query], terms: Terms) -> Plans:
        """Everything that can be refused is refused here, before data or budget is touched."""
        for query in queries:
            for join in (*query.joins, *(query.people.rows.joins if query.people else ())):
                self._tables.check(join)
        return Plans(*plan_within(terms, queries, self._tables.schema, self._budget))

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise DiscreetError("This process was forked from the one that opened the curator; open it again here.")

    def _release(self, queries: Sequence[Query], terms: Terms) -> list[Answer]:
        self._check_process()
        request = self._plan(queries, terms)
        answers = request.finish(self._ask(request, self._tables.reading(request.tables)))
        return [self._remark(answer, [plan]) for answer, plan in zip(answers, request.plans, strict=True)]

    def _ask(self, request: Request[Result], tables: Tables | None = None) -> Outcome[Result]:
        """The result of a request to the gate: also of those that rooms above this one make."""
        self._check_process()
        (tables or self._tables).sources()  # what is missing is missed before a ledger is made
        with self._asking[int(request.digest, 16) % _STRIPES]:  # of two threads with the same one, the second gets the first's
            return ask(request, self._ledger(), tables or self._tables)

    def _offer(self, queries: Sequence[Query], terms: Terms) -> Preview:
        request, ledger = self._plan(queries, terms), self._view()
        before = "" if ledger is None else describe_repeat(request, ledger, self._tables.reading(request.tables))
        return self._remark(offer(request.plans, request.cost, self.budget, before, terms.fewest), request.plans)

    def _remark(self, shown: Shown, plans: Sequence[Plan]) -> Shown:
        """With remarks on what its numbers are about."""
        return replace(shown, remarks=(*shown.remarks, *self._remarks(plans)))

    def _remarks(self, plans: Sequence[Plan]) -> tuple[str, ...]:
        """That persons are bounded, and that declarations were changed after a look."""
        schema, ledger = self._tables.schema, self._view()
        bounds = tuple(dict.fromkeys(remark for plan in plans for remark in remark_bounds(plan, schema.unit)))
        if ledger is None:
            return bounds
        looked = looked_at(self._tables, ledger.salt)
        changes = (remark for table, now in looked for remark in remark_changes(now, table, ledger.looks))
        return (*bounds, *dict.fromkeys(changes))

    def _view(self) -> Ledger | None:
        """The ledger to read from, which need not be one that can be written; None as long as there is none."""
        with self._opening:
            if self._opened is None and self._seen is None:
                self._seen = Ledger.view(self._place, self._budget, self._tables.schema.unit.protected, self._people)
            return self._opened or self._seen

    def _ledger(self) -> Ledger:
        """The ledger; the first question makes it."""
        tables, unit = self._tables.facts(), self._tables.schema.unit.protected
        files = frozenset(file for table in tables for file in table.files)
        with self._opening:
            if self._opened is None:
                for table in tables[1:]:  # before the ledger is made for the first
                    check(self._place, self._people, table)
                opened = Ledger.open(self._place, self._budget, unit, self._people, tables[0], self._tables.first_name)
                for table in tables[1:]:
                    opened.pay_for(self._people, table)
                self._opened = opened
            elif files != self._files:  # of a pattern
                for table in tables:
                    self._opened.pay_for(self._people, table)
            self._files = files
            return self._opened
