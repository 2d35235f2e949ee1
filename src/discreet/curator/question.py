"""A question in the making, that can be asked: every verb gives a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.errors import ParameterError
from discreet.plan.builder import Asked, Draft
from discreet.plan.cost import Accuracy, Terms
from discreet.plan.expressions import Value
from discreet.plan.preview import Preview
from discreet.plan.query import Query
from discreet.schema.table import Schema

__all__ = ["Question"]

Release = Callable[[Sequence[Query], Terms], list[Answer]]
Offer = Callable[[Sequence[Query], Terms], Preview]


@dataclass(frozen=True, repr=False)
class Question:
    """Built verb by verb, then previewed or released."""

    _draft: Draft
    _release: Release
    _offer: Offer

    @called_as('"age >= 18"')
    def where(self, condition: str) -> Question:
        """Only rows for which this holds; repeated, all must hold."""
        return self._with(self._draft.where(condition))

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Question:
        """One group for every combination of these; ``keys`` lists the values of a column that has no declared list."""
        return self._with(self._draft.group_by(*of, keys=keys, **named))

    def agg(self, *unnamed: object, **outputs: Asked) -> Question:
        """What to ask for, by the name of the answer's column."""
        return self._with(self._draft.agg(*unnamed, **outputs))

    @called_as('[100, 200], score="..."')
    def choose(self, candidates: Sequence[Value], *, score: str) -> Question:
        """The candidate with the largest sum of ``score``, an expression over the columns and ``candidate``."""
        return self._with(self._draft.choose(candidates, score))

    @called_as('"n > 100"')
    def having(self, condition: str) -> Question:
        """Only rows of the noisy result for which this holds: free."""
        return self._with(self._draft.having(condition))

    @called_as('"n"')
    def order_by(self, of: str, *, descending: bool = False) -> Question:
        """Sort the noisy result: free."""
        return self._with(self._draft.order_by(of, descending=descending))

    @called_as("10")
    def limit(self, rows: int) -> Question:
        """The first rows of the noisy result: free."""
        return self._with(self._draft.limit(rows))

    @called_as("epsilon=0.5")
    def preview(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
    ) -> Preview:
        """What ``release`` would cost and how far off it would be: free, and without looking at the data."""
        return self._offer([self._draft.finished()], Terms(epsilon, rho, delta, accuracy))

    @called_as("epsilon=0.5")
    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
    ) -> Answer:
        """The noisy answer; paid for first, free when asked again."""
        return self._release([self._draft.finished()], Terms(epsilon, rho, delta, accuracy))[0]

    def query(self, schema: Schema) -> Query:
        """What is asked, of a table with these public facts; a question belongs to the curator that began it."""
        if self._draft.schema is not schema:
            raise ParameterError("This question was begun by another curator; begin it with the one that is to answer it.")
        return self._draft.finished()

    def __str__(self) -> str:
        return str(self._draft.query)

    __repr__ = __str__

    def _with(self, draft: Draft) -> Question:
        return Question(draft, self._release, self._offer)
