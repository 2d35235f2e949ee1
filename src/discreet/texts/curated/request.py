"""What is asked of a column of texts, as a request to the gate: priced by public facts, paid for once, free when asked again.

A unit, a row or a person with all their rows, is read as the set of its words; no more of them count than was said. What is
measured is kept in the ledger as plain JSON, and what is concluded from it costs nothing.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.desk import Desk
from discreet.curator.digest import facts_of, hash_facts
from discreet.curator.gate import Price, Reservation
from discreet.curator.question import Question
from discreet.engine.base import Engine
from discreet.errors import ParameterError
from discreet.exact import shown, whole
from discreet.mechanisms import Linear
from discreet.mechanisms.matrix.strategy import Margins
from discreet.mechanisms.rows.block import Block, Blocks, Reader
from discreet.mechanisms.rows.sets import Owned
from discreet.plan.cost import Cost, Terms
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.plan import Reading, plan_rows
from discreet.privacy import Privacy, pure, zcdp
from discreet.schema.sensitivity import Neighbours
from discreet.texts.tokens import MOST_CHARACTERS, Tokenizer

State = dict[str, Any]
Result = TypeVar("Result")

_DECLARED = ("columns", "unit", "public", "tables", "query")
_TEXT = "t"
MOST_WORDS = 2**10  # of one unit


@dataclass(frozen=True, eq=False)
class Documents:
    """A column of texts, and what of it is read: its words by public rules, at most ``words`` distinct ones of a unit."""

    desk: Desk
    column: str
    reading: Reading
    words: int
    tokenizer: Tokenizer
    tables: frozenset[str]

    @classmethod
    def of(
        cls, rows: Question, column: str, words: int, tokenizer: Tokenizer | None, beside: Mapping[str, Any] | None = None
    ) -> Documents:
        """Of the rows that a question is about; ``beside``: other columns that are read with it."""
        rules = Tokenizer() if tokenizer is None else tokenizer
        if not isinstance(rules, Tokenizer):
            raise ParameterError("tokenizer= is a Tokenizer; write tokenizer=dp.texts.Tokenizer(case='keep').")
        if not isinstance(column, str):
            raise ParameterError('Which column holds the texts? Write its name, such as "notes".')
        if whole("words", words) > MOST_WORDS:
            raise ParameterError(f"words= is how many distinct words of one person count, at most {MOST_WORDS:,}; write 20.")
        text = rows.read(column)
        facts = {name: facts_of_column(one) for name, one in rows.facts.columns.items()}
        if infer(text, facts).kind != "text":
            raise ParameterError(
                f"{shown(column)} holds no texts; name a column that is declared as dp.text() or dp.category(...)."
            )
        query = rows.rows.people.rows if rows.rows.people else rows.rows
        reading = plan_rows(rows.rows, rows.desk.schema, {_TEXT: text, **(beside or {})})
        return cls(rows.desk, str(text), reading, int(words), rules, frozenset(one.table for one in query.tables))

    @property
    def replaced(self) -> bool:
        return self.reading.plan.schema.unit.neighbours == "replace"

    def owned(self, block: Block) -> Owned:
        """The words of every row of an open block."""
        items: list[str] = []
        rows: list[int] = []
        for row, tokens in enumerate(self.tokens(block)):
            items += tokens
            rows += [row] * len(tokens)
        return items, np.array(rows, dtype=np.int64)

    def tokens(self, block: Block) -> Iterator[list[str]]:
        """Row by row; what is missing is an empty text."""
        for text in block[_TEXT]:
            yield self.tokenizer.tokens(text[:MOST_CHARACTERS]) if isinstance(text, str) else []

    @property
    def facts(self) -> dict[str, object]:
        """What makes two readings the same, as plain JSON."""
        plan = {name: fact for name, fact in facts_of(self.reading.plan).items() if name in _DECLARED}
        return {"column": self.column, "words": self.words, "tokenizer": self.tokenizer.facts, **plan}


class Asked(ABC, Generic[Result]):
    """What is asked of documents. A frozen dataclass with ``documents``, in a file of its own."""

    kind: ClassVar[str]  # by which a ledger knows it for ever
    documents: Documents

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """What tells it from others of its kind, as plain JSON; not what is paid."""

    @abstractmethod
    def measure(self, read: Reader, reserved: Reservation, share: Cost) -> State:
        """What is let out, as plain JSON."""

    @abstractmethod
    def conclude(self, state: State, paid: Paid) -> Result:
        """What is made of it, for free."""

    def reserve(self, share: Cost) -> Privacy:
        """What it costs: all of the share, and no delta unless it says so."""
        return pure(share.amount) if share.epsilon is not None else zcdp(share.amount)

    def told(self, share: Cost) -> Mapping[str, object]:  # noqa: ARG002
        """What of a cost tells it from others of its kind: not how much it is, but a delta that was chosen."""
        return {}

    @abstractmethod
    def foresee(self, share: Cost) -> list[str]:
        """Sentences of a preview, from public facts."""


@dataclass(frozen=True)
class Paid:
    """What is said of a result: what it cost, what is left, and remarks."""

    cost: str
    privacy: Privacy
    left: str
    repeated: bool
    remarks: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """What was let out, and what it cost then, which may be more than who asks again offers."""

    state: State
    cost: str
    privacy: Privacy


@dataclass(frozen=True, eq=False)
class Measuring(Generic[Result]):
    """The request."""

    asked: Asked[Result]
    cost: Cost  # as it was asked for
    share: Cost  # what it spends
    former: tuple[str, ...] = ()

    @property
    def question(self) -> str:
        documents = self.asked.documents
        return f"{self.asked.kind} of {documents.column}, of {documents.reading.plan.query.source}"

    @cached_property
    def digest(self) -> str:
        facts = {**self.asked.facts, **self.asked.told(self.share), **self.asked.documents.facts}
        return hash_facts([{"texts": self.asked.kind, "version": 1, **facts}])

    @property
    def price(self) -> Price:
        neighbours = self.asked.documents.reading.plan.schema.unit.neighbours
        return Price(self.asked.reserve(self.share).under(neighbours), self.cost)

    def rehearse(self, engine: Engine) -> None:
        engine.rehearse(self.asked.documents.reading)

    def run(self, engine: Engine | None, reserved: Reservation) -> Measured:
        assert engine is not None
        reading = self.asked.documents.reading

        def read() -> Blocks:
            return engine.rows(reading, reserved.salt)

        return Measured(self.asked.measure(read, reserved, self.share), str(self.cost), self.price.privacy)

    def write(self, result: Measured, remarks: tuple[str, ...]) -> list[str]:
        paid = {"cost": result.cost, "privacy": result.privacy.to_json()}
        facts = {"discreet": "texts", "version": 1, "state": result.state, "remarks": list(remarks), **paid}
        return [json.dumps(facts, allow_nan=False)]

    def read(self, texts: list[str]) -> Measured:
        facts = json.loads(texts[0])
        if (facts.get("discreet"), facts.get("version")) != ("texts", 1):
            raise ParameterError("This was measured by another version of discreet, in another way; ask for more, for a new one.")
        return Measured(facts["state"], str(facts["cost"]), Privacy.from_json(facts["privacy"]))


@dataclass(frozen=True, repr=False)
class Outlook:
    """What a question about texts would cost, and how much noise it would have."""

    cost: str
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"Would cost {self.cost}. No data was read.", *self.notes])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Offer(Generic[Result]):
    """A question about texts, to be previewed, or released for a cost."""

    asked: Asked[Result]

    @called_as("epsilon=1")
    def preview(self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number | None = None) -> Outlook:
        """What ``release`` would cost: free, and without looking at the data."""
        request, documents = self._request(Terms(epsilon, rho, delta)), self.asked.documents
        fits, before = documents.desk.foresee(request, documents.tables)
        return Outlook(str(request.cost), tuple(filter(None, [fits, *self.asked.foresee(request.share), before])))

    @called_as("epsilon=1")
    def release(self, *, epsilon: Number | None = None, rho: Number | None = None, delta: Number | None = None) -> Result:
        """The result; paid for first, free when asked again."""
        request, documents = self._request(Terms(epsilon, rho, delta)), self.asked.documents
        outcome = documents.desk.ask(request, documents.desk.tables.reading(documents.tables))
        measured = outcome.result
        paid = Paid(measured.cost, measured.privacy, outcome.left.brief, outcome.repeated, outcome.remarks)
        return self.asked.conclude(measured.state, paid)

    def _request(self, terms: Terms) -> Measuring[Result]:
        desk = self.asked.documents.desk
        desk.check_process()
        cost = terms.asked(desk.budget)
        return Measuring(self.asked, cost, terms.spend(cost, desk.budget, 1))

    def __str__(self) -> str:
        return f"{self.asked.kind} of {self.asked.documents.column}: preview(epsilon=...) or release(epsilon=...)."

    __repr__ = __str__


def settle(asked: Asked[Result], epsilon: Number | None, rho: Number | None, delta: Number | None) -> Result | Offer[Result]:
    """What a verb gives back: with a cost its result, without one a question to go on with."""
    offer = Offer(asked)
    return offer if epsilon is None and rho is None else offer.release(epsilon=epsilon, rho=rho, delta=delta)


def counting(size: int, places: int, share: Cost, *, replaced: bool) -> Linear:
    """Noise on so many counts, of which one unit moves at most ``places`` by 1."""
    strategy = Margins((size,), (((0,), 1),))  # every count by itself
    neighbours: Neighbours = "replace" if replaced else "add-remove"
    return Linear(strategy=strategy, cells=places, neighbours=neighbours, epsilon=share.epsilon, rho=share.rho)
