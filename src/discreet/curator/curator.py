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

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.desk import Desk
from discreet.curator.inspection import Look, Reading, as_table, ask_shares, look_at_all, looked_at
from discreet.curator.plans import Part, Select
from discreet.curator.question import VERBS, Inquiry, Question
from discreet.curator.rendering import History
from discreet.curator.tables import Tables
from discreet.errors import DiscreetError, ParameterError
from discreet.ledger.people import check, check_name
from discreet.ledger.place import Named, Place, resolve
from discreet.plan.aggregates import Askable
from discreet.plan.cost import Accuracy, Terms
from discreet.plan.expressions import Value
from discreet.plan.preview import Preview, Priceable
from discreet.plan.sql import parse_query
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.columns import Column
from discreet.schema.units import Unit

_SIZE = re.compile(r"(?=.*[1-9])[0-9]+(\.[0-9]+)?\s*[KMGT]i?B", re.ASCII | re.IGNORECASE)


@called_as('"hospital.parquet", unit=rows(), columns={"age": integer(0, 120)}, budget=Budget(epsilon=3, delta=1e-6)')
class Curator:
    """Answers questions about one table, or several about the same persons, until the budget is spent. Threads may share it.

    ``source`` is a path (.csv, .tsv, .parquet, .duckdb, patterns of them), a frame (Arrow, pandas, polars), or an address of a
    table that stays where it is (``postgresql://user@host/database?table=schema.visits``). ``unit`` says who is protected,
    ``rows()`` or ``person("id", rows=, groups=)``; ``columns`` what is publicly known of each column; ``budget`` what all
    questions about these people may cost together, ever. What was spent is kept in ``ledger``, a file beside the table unless
    told, or a list on a server ("postgresql://..."): tables about the same people share one, and ``people`` says whose it
    is ("patients of the clinic").
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
        ledger: Named | None = None,
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
        whose = "" if people is None else check_name(people)
        tables = Tables(source, columns, unit, public or {}, table=table, memory=memory, version=version, at_most=at_most)
        place = resolve(tables.ledger_path(whose) if ledger is None else ledger)
        self._desk = Desk(tables, budget, place, whose)
        if self._desk.view() is None:
            for facts in tables.facts():
                check(place, whose, facts)
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
        answer: Answer = self._desk.release(self._asked([text]), Terms(epsilon, rho, delta, accuracy, at_least))[0]
        return answer

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
        several: object = text
        if isinstance(several, (list, tuple)):
            raise ParameterError("preview is about one question; for several together write preview_batch([...], epsilon=0.5).")
        return self._desk.offer(self._asked([text]), Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as('["SELECT ...", "SELECT ..."], epsilon=0.5')
    def batch(
        self,
        questions: Sequence[str | Inquiry[Any]],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> list[Any]:
        """Several questions for one cost, split over them evenly, reserved as one entry."""
        return self._desk.release(self._asked(questions), Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as('["SELECT ...", "SELECT ..."], epsilon=0.5')
    def preview_batch(
        self,
        questions: Sequence[str | Inquiry[Any]],
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Preview:
        """What ``batch`` would cost and how far off it would be."""
        return self._desk.offer(self._asked(questions), Terms(epsilon, rho, delta, accuracy, at_least))

    def table(self, name: str | Sequence[str] | Mapping[str, str] | None = None, **asked: Any) -> Any:
        """Begin a question about one of several private tables, to which ``join`` adds others; or, with a list ``by``, a table
        of counts or sums with its margins."""
        return self._question().table(name, **asked)

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
        self._desk.check_process()
        tables = self._desk.tables
        if epsilon is None and rho is None:
            tables.sources()
            ledger = self._desk.ledger()
            for table, declared in looked_at(tables, ledger.salt):
                ledger.note_look(declared, table)
            return look_at_all(tables.alone())
        reading = Reading.of(tables.schema)
        texts, asked = ask_shares(reading)
        selects = [Select(parse_query(text, reading.schema), reading.schema, reading.sources) for text in texts]
        return as_table(self._desk.release(selects, Terms(epsilon, rho)), asked)

    # The budget.

    @property
    def budget(self) -> Account:
        """What is spent and what is left, at this moment."""
        ledger = self._desk.view()
        return self._desk.budget.open() if ledger is None else ledger.account

    @property
    def ledger(self) -> Place:
        """Where spending is written down: a path, or an address without its password."""
        return self._desk.place

    @property
    def people(self) -> str | None:
        """Whose budget it is; None where nobody said."""
        ledger = self._desk.view()
        return (self._desk.people if ledger is None else ledger.people or self._desk.people) or None

    @called_as("")
    def history(self) -> History:
        """All questions that were paid for: a tuple of entries, which is printed as a table."""
        ledger = self._desk.view()
        entries = () if ledger is None else ledger.history()
        return History(replace(entry, data="") for entry in entries)  # a fingerprint is never shown

    # The table.

    def progress(self) -> float | None:
        """How far the scan under way is, from 0 to 1; None when that is not known."""
        return self._desk.tables.progress()

    def close(self) -> None:
        """Let go of the table; the ledger stays."""
        self._desk.tables.close()

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in VERBS:
                return getattr(self._question(), name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *VERBS])

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise DiscreetError("A curator holds private data and cannot be copied or stored; open it again from its own facts.")

    def __repr__(self) -> str:
        return f"<Curator of {len(self._desk.schema.columns)} columns: {self.budget.brief}>"

    def _question(self) -> Question:
        return Question(self._desk)

    def _asked(self, questions: Sequence[str | Inquiry[Any]]) -> list[Priceable[Part[Any, Any]]]:
        """What a batch asks: SQL, and what this curator began."""
        listed = list(questions) if isinstance(questions, Iterable) and not isinstance(questions, str) else []
        if not listed:
            raise ParameterError('A batch is a list of questions; write batch(["SELECT ...", "SELECT ..."], epsilon=0.5).')
        asked = list[Priceable[Part[Any, Any]]]()
        for one in listed:
            if isinstance(one, Inquiry):
                if one.desk is not self._desk:
                    raise ParameterError(
                        "This question was begun by another curator; begin it with the one that is to answer it."
                    )
                asked.append(one.asked())
            else:
                asked.append(self._desk.read(one))
        return asked
