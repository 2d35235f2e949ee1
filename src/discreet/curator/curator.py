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
import threading
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from discreet.curator.answer import Answer
from discreet.curator.gate import ask
from discreet.curator.offer import offer
from discreet.curator.question import Question
from discreet.engine.duckdb.engine import DuckDBEngine
from discreet.engine.duckdb.public import facts_of_public, is_unique, read_public
from discreet.engine.duckdb.sources import Source, open_source
from discreet.errors import DiscreetError, ParameterError
from discreet.ledger.entry import Entry
from discreet.ledger.ledger import Ledger
from discreet.plan.accuracy import Accuracy
from discreet.plan.builder import Asked, Draft
from discreet.plan.expressions import Value
from discreet.plan.preview import Preview
from discreet.plan.query import Join, Query
from discreet.plan.sql import parse_query
from discreet.plan.terms import Priced, Terms
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Rows, Unit

__all__ = ["Curator"]

_STRIPES = 64


class Curator:
    """Answers questions about one table until its budget is spent. Safe to share between threads."""

    def __init__(
        self,
        source: object,
        *,
        unit: Unit,
        columns: Mapping[str, Column],
        budget: Budget,
        ledger: str | os.PathLike[str] | None = None,
        public: Mapping[str, object] | None = None,
        table: str | None = None,
        memory: str | None = None,
    ) -> None:
        if not isinstance(budget, Budget):
            raise ParameterError("What may all questions cost together? Write budget=Budget(epsilon=3, delta=1e-6).")
        Schema(columns, unit)  # what is wrong with the facts is said before any file is opened
        self._public = {name: read_public(given) for name, given in (public or {}).items()}
        self._schema = Schema(dict(columns), unit, {name: facts_of_public(held) for name, held in self._public.items()})
        wanted = [*columns, *([unit.id] if isinstance(unit, Person) else [])]
        self._source = open_source(source, table=table, columns=wanted)
        if unit.neighbours == "replace" and isinstance(unit, Rows) and self._source.lines:
            raise ParameterError(
                "A line of CSV that cannot be read is left out, so the number of rows is not public; under "
                'neighbours="replace" give the table as Parquet, or a frame.'
            )
        self._ledger = Ledger.open(_ledger_path(ledger, self._source), budget)
        self._memory = memory
        self._process = os.getpid()
        self._unique: dict[tuple[str, tuple[str, ...]], bool] = {}  # whether a join looks up one row
        self._engine: DuckDBEngine | None = None
        self._opening = threading.Lock()
        self._asking = [threading.Lock() for _ in range(_STRIPES)]
        if budget.delta is not None and unit.size is not None and budget.delta * unit.size >= 1:
            warnings.warn(
                f"delta {float(budget.delta):g} is not below 1 / {unit.size:,}: revealing somebody outright could satisfy it; "
                "write a delta well below one over the number of persons.",
                stacklevel=2,
            )

    # Asking. A cost is epsilon= or rho=, whichever the budget has; accuracy= asks for the cost that buys it.

    def sql(
        self, text: str, *, epsilon: object = None, rho: object = None, delta: object = None, accuracy: Accuracy | None = None
    ) -> Answer:
        """The noisy answer to one SELECT over ``data``; paid for first, free when asked again."""
        return self._release(self._parsed([text]), Terms(epsilon, rho, delta, accuracy))[0]

    def preview(
        self, text: str, *, epsilon: object = None, rho: object = None, delta: object = None, accuracy: Accuracy | None = None
    ) -> Preview:
        """What ``sql`` would cost and how far off it would be: free, and without looking at the data."""
        return self._offer(self._parsed([text]), Terms(epsilon, rho, delta, accuracy))

    def batch(
        self,
        texts: Sequence[str],
        *,
        epsilon: object = None,
        rho: object = None,
        delta: object = None,
        accuracy: Accuracy | None = None,
    ) -> list[Answer]:
        """Several questions for one cost, split over them evenly, reserved as one entry."""
        return self._release(self._parsed(texts), Terms(epsilon, rho, delta, accuracy))

    def preview_batch(
        self,
        texts: Sequence[str],
        *,
        epsilon: object = None,
        rho: object = None,
        delta: object = None,
        accuracy: Accuracy | None = None,
    ) -> Preview:
        """What ``batch`` would cost and how far off it would be."""
        return self._offer(self._parsed(texts), Terms(epsilon, rho, delta, accuracy))

    def where(self, condition: str) -> Question:
        """Begin a question about the rows for which this holds."""
        return self._question().where(condition)

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Question:
        """Begin a question with a group for every combination of these."""
        return self._question().group_by(*of, keys=keys, **named)

    def agg(self, **outputs: Asked) -> Question:
        """Begin a question about the whole table."""
        return self._question().agg(**outputs)

    def choose(self, candidates: Sequence[Value], *, score: str) -> Question:
        """Begin a choice of the candidate with the largest sum of ``score``, an expression over columns and ``candidate``."""
        return self._question().choose(candidates, score=score)

    # The budget.

    @property
    def budget(self) -> Account:
        """What is spent and what is left, at this moment."""
        return self._ledger.account

    def history(self) -> tuple[Entry, ...]:
        """All questions that were paid for."""
        return tuple(replace(entry, data="") for entry in self._ledger.history())  # a fingerprint is never shown

    # The table.

    def progress(self) -> float | None:
        """How far the scan under way is, from 0 to 1; None when that is not known."""
        engine = self._engine
        return None if engine is None else engine.progress()

    def close(self) -> None:
        """Let go of the table; the ledger stays."""
        with self._opening:
            if self._engine is not None:
                self._engine.close()
            self._engine = None

    def __enter__(self) -> Curator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce_ex__(self, _: object) -> NoReturn:
        raise DiscreetError("A curator holds private data and cannot be copied or stored; open it again from its own facts.")

    def __repr__(self) -> str:
        return f"<Curator of {len(self._schema.columns)} columns: {self._ledger.account}>"

    def _question(self) -> Question:
        return Question(Draft(self._schema), self._release, self._offer)

    def _parsed(self, texts: Sequence[str]) -> list[Query]:
        if isinstance(texts, str) or not texts:
            raise ParameterError('A batch is a list of questions; write batch(["SELECT ...", "SELECT ..."], epsilon=0.5).')
        return [parse_query(text, self._schema) for text in texts]

    def _priced(self, queries: Sequence[Query], terms: Terms) -> Priced:
        """Everything that can be refused is refused here, before data or budget is touched."""
        for join in (join for query in queries for join in query.joins):
            self._check_join(join)
        return terms.priced(queries, self._schema, self._ledger.budget)

    def _check_join(self, join: Join) -> None:
        on = tuple(column for _, column in join.on)
        if (join.table, on) not in self._unique:
            columns = [(name, self._schema.public[join.table][name].kind) for name in on]
            self._unique[join.table, on] = is_unique(self._public[join.table], columns)
        if not self._unique[join.table, on]:
            raise ParameterError(
                f"Several rows of {join.table} have the same {', '.join(on)}, so a row would be counted more than once; "
                "join on columns that tell its rows apart."
            )

    def _release(self, queries: Sequence[Query], terms: Terms) -> list[Answer]:
        if os.getpid() != self._process:
            raise DiscreetError("This process was forked from the one that opened the curator; open it again here.")
        priced = self._priced(queries, terms)
        stripe = int(sha256("\n".join(plan.digest for plan in priced.plans).encode()).hexdigest(), 16) % _STRIPES
        with self._asking[stripe]:  # two threads with the same question: the second one gets the first one's answer
            return ask(priced, self._ledger, self._open, self._fingerprint)

    def _offer(self, queries: Sequence[Query], terms: Terms) -> Preview:
        return offer(self._priced(queries, terms), self._ledger.account)

    def _fingerprint(self) -> str:
        salt = self._ledger.salt
        return sha256("\n".join(held.fingerprint(salt) for held in (self._source, *self._public.values())).encode()).hexdigest()

    def _open(self) -> DuckDBEngine:
        with self._opening:
            if self._engine is None:
                self._engine = DuckDBEngine(self._source, self._schema, self._public, memory=self._memory)
            return self._engine


def _ledger_path(given: str | os.PathLike[str] | None, source: Source) -> Path:
    if given is not None:
        return Path(given)
    if source.origin is None:
        raise ParameterError('A frame has no place beside which a ledger could lie; write ledger="hospital.ledger".')
    return source.origin.with_suffix(".ledger") if source.origin.is_file() else source.origin / "discreet.ledger"
