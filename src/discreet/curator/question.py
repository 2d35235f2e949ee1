"""Questions in the making, that can be asked: every verb gives a new one; the same query as SQL text makes.

What can be asked is an ``Inquiry``: previewed, released, or put into a batch. A ``Question`` is one; analyses of rooms above this
one are others, begun by a verb of theirs on the rows that a question has chosen.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from types import MethodType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.desk import Desk
from discreet.curator.plans import Part, Select
from discreet.errors import ParameterError
from discreet.exact import whole
from discreet.plan.aggregates import NAMED, Aggregate, Askable, Asked, Best, Computed, Count, Distinct, named
from discreet.plan.cost import Accuracy, Terms
from discreet.plan.expressions import Call, Expression, Literal, Value, Written, conjuncts
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.expressions.values import check_candidate, check_words, plain_values, words_of
from discreet.plan.preview import Preview, Priceable
from discreet.plan.query import Key, Levels, Order, Output, Query
from discreet.plan.sql import parse_expression, parse_link, parse_result, parse_traits
from discreet.plan.sql.scope import Scope, private
from discreet.schema.table import Schema

_TRAITS = {"count": "count", "sum": "sum", "mean": "avg"}  # of what may be made of one person's rows


# Verbs of the rooms above this one, and the module of each: a function of that name that takes a question, which says about
# which rows, and makes an ``Inquiry``, or a request of its own to the gate. A line comes with its room, which is loaded when its
# verb is first used.
VERBS: dict[str, str] = {
    "moments": "discreet.analysis.linear.moments",
    "regress": "discreet.analysis.linear.regression",
    "bounds": "discreet.analysis.bounds",
    "contributions": "discreet.analysis.contributions",
    "histogram": "discreet.analysis.histograms",
    "table": "discreet.analysis.tables",
    "workload": "discreet.analysis.counting.workload",
    "synthesize": "discreet.synthetic.synthesize",
    "quality": "discreet.synthetic.quality",
    "fit": "discreet.learn.request",
    "score": "discreet.learn.around.scoring",
    "vocabulary": "discreet.texts.curated.found",
    "word_counts": "discreet.texts.curated.counts",
    "cooccurrences": "discreet.texts.curated.counts",
    "classify": "discreet.texts.curated.classifier",
}

Result = TypeVar("Result")


class Inquiry(ABC, Generic[Result]):
    """What can be asked at a desk: alone, or in a batch."""

    desk: Desk

    @abstractmethod
    def asked(self) -> Priceable[Part[Any, Result]]:
        """What is asked, to be priced."""

    @called_as("epsilon=0.5")
    def preview(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Preview:
        """What ``release`` would cost and how far off it would be: free, and without looking at the data."""
        return self.desk.offer([self.asked()], Terms(epsilon, rho, delta, accuracy, at_least))

    @called_as("epsilon=0.5")
    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        accuracy: Accuracy | None = None,
        at_least: Number | None = None,
    ) -> Result:
        """What was asked for, noisy; paid for first, free when asked again."""
        result: Result = self.desk.release([self.asked()], Terms(epsilon, rho, delta, accuracy, at_least))[0]
        return result


@dataclass(frozen=True, repr=False)
class Question(Inquiry[Answer]):
    """Built verb by verb, then previewed or released."""

    desk: Desk
    _query: Query = field(default_factory=lambda: Query(()))
    _within: Scope | None = None  # what is in sight, where that is not the private table

    def person(self, *unnamed: object, **traits: Askable | str) -> Question:
        """A table of one row a person, with these columns: what is made of each person's rows (those that ``where`` chose).

        ``n=count()``, ``total=sum("cost")``, ``rate=sum("cost") / count()``, or as SQL, ``sex="any_value(sex)"``. All that
        follows is about persons. Every trait is clamped by public bounds; nobody is left out for having many rows.
        """
        if unnamed or not traits:
            raise ParameterError("Every column of a person needs a name; write person(n=count(), sex='any_value(sex)').")
        if self._query.people is not None or self._query.keys or self._query.outputs:
            raise ParameterError(
                "person() makes one row of each person's rows, once, before group_by() and agg(); write it first."
            )
        written = {name: _written(name, trait) for name, trait in traits.items()}
        within = parse_traits(written, self._query, self._source() or private(self.desk.schema))
        return replace(self, _query=Query((), people=within.people), _within=within)

    def table(self, name: str | Sequence[str] | Mapping[str, str] | None = None, **asked: Any) -> Any:
        """About one of several private tables; or, with a list ``by``, a table of counts or sums with its margins."""
        if name is None:
            return self._verb("table")(**asked)
        if isinstance(name, (Sequence, Mapping)) and not isinstance(name, str):
            return self._verb("table")(name, **asked)
        if asked:
            raise ParameterError('A table of margins has no name, and a private table nothing else; write table(by=["sex"]).')
        if self._within is not None:
            raise ParameterError('A question begins with one table; write table("patients").join("visits").')
        return self._linked(name, left=False)

    @called_as('"visits"')
    def join(self, name: str, *, left: bool = False) -> Question:
        """With the rows that the same person has in another private table; ``left``: rows without any stay."""
        if self._within is None or self._query.people is not None or self._query.keys or self._query.outputs:
            raise ParameterError('Tables are joined before all else is said; write table("patients").join("visits").where(...).')
        return self._linked(name, left=left)

    def _linked(self, name: str, *, left: bool) -> Question:
        within = parse_link(name, self.desk.schema, self._within, left=left)
        return replace(self._with(tables=within.private), _within=within)

    @called_as('"age >= 18"')
    def where(self, condition: str) -> Question:
        """Only rows for which this holds; repeated, all must hold."""
        parts = (*conjuncts(self._query.where), *conjuncts(self.read(condition)))
        return self._with(where=parts[0] if len(parts) == 1 else Call("and", parts))  # as SQL connects them

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Question:
        """One group for every combination of these; ``keys`` lists the values of a column that has no declared list."""
        _check_names(of)
        _check_mapping(keys, next(iter((*of, *named)), "city"))
        listed = dict(keys or {})
        new = []
        for name, text in [*((text, text) for text in of), *named.items()]:
            values = listed.pop(name, None)
            key = self.read(text)
            new.append(Key(name, key, None if values is None else _listed(name, key, values, self.facts)))
        if listed:
            raise ParameterError(
                f"keys= lists values of {', '.join(listed)}, which is not grouped by; write group_by(name, keys=...)."
            )
        return self._with(keys=(*self._query.keys, *new))

    def keyed(self, *keys: Key) -> Question:
        """One group for every combination of keys that a verb has read."""
        return self._with(keys=(*self._query.keys, *keys))

    def leveled(self, levels: Levels) -> Question:
        """The same with margins: a row for every combination of some of the keys, the others added up over."""
        return self._with(levels=levels)

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """What is asked for in every group."""
        return tuple(output.aggregate for output in self._query.outputs)

    def agg(self, *unnamed: object, **outputs: Askable) -> Question:
        """What to ask for, by the name of the answer's column; ``agg({"debt": ["sum", "mean"]})`` makes debt_sum, debt_mean."""
        facts = {name: facts_of_column(column) for name, column in self.facts.columns.items()}
        asked = named(unnamed, outputs, NAMED)
        new = tuple(Output(name, self._aggregate(one).with_numbers(facts)) for name, one in asked.items())
        for output in new:
            output.aggregate.check(facts)
        return self._with(outputs=(*self._query.outputs, *new))

    @called_as('[100, 200], score="..."')
    def choose(self, candidates: Sequence[Value], *, score: str) -> Question:
        """The candidate with the largest sum of ``score``, an expression over the columns and ``candidate``."""
        check_candidate(self.facts.columns)
        listed = plain_values("Candidates", candidates, "choose([200, 500], score=...)")
        best = Best(listed, self.read(score, names=("candidate",)))
        return self._with(outputs=(*self._query.outputs, Output(best.name, best)))

    @called_as('"n > 100"')
    def having(self, condition: str) -> Question:
        """Only rows of the noisy result for which this holds, repeated, all must: free. It may name columns of the answer, and
        aggregates that are not in it, as SQL writes them: those are released and paid for too."""
        found, outputs = self._result(condition)
        parts = (*conjuncts(self._query.having), *conjuncts(found))
        return self._with(having=parts[0] if len(parts) == 1 else Call("and", parts), outputs=outputs)

    @called_as('"n"')
    def order_by(self, of: str, *, descending: bool = False) -> Question:
        """Sort the noisy result by an expression over its columns: free. Aggregates may stand in it as in ``having``."""
        words = of.split() if isinstance(of, str) else []
        if len(words) > 1 and words[-1].lower() in ("asc", "desc"):
            down = ", descending=True" if words[-1].lower() == "desc" else ""
            raise ParameterError(
                f"{words[-1]} is no part of an expression; write order_by({_quoted(' '.join(words[:-1]))}{down})."
            )
        found, outputs = self._result(of)
        return self._with(order=(*self._query.order, Order(found, descending)), outputs=outputs)

    @called_as("10")
    def limit(self, rows: int) -> Question:
        """The first rows of the noisy result: free."""
        return self._with(limit=whole("limit", rows, 0))

    def asked(self) -> Select:
        """What is asked, to be priced."""
        self._source()
        if not any(output.shown for output in self._query.outputs):
            raise ParameterError("Nothing is asked for yet; write agg(n=count()).")
        return Select(self._query, self.desk.schema)

    @property
    def rows(self) -> Query:
        """The rows that it is about, for a verb that says itself what it makes of them."""
        self._source()
        if self._query.keys or self._query.outputs:
            raise ParameterError("This verb says itself what is asked of the rows; leave group_by() and agg() out before it.")
        return self._query

    @property
    def facts(self) -> Schema:
        """The facts about the table that is asked about."""
        return self.desk.schema if self._within is None else self._within.schema

    def read(self, text: str, names: Collection[str] = ()) -> Expression:
        """An expression over the columns in sight, and these names."""
        return parse_expression(text, self.desk.schema, names=names, within=self._source())

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in VERBS:
                return self._verb(name)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted([*super().__dir__(), *VERBS])

    def _verb(self, name: str) -> MethodType:
        return MethodType(getattr(import_module(VERBS[name]), name), self)

    def __str__(self) -> str:
        return str(self._query)

    __repr__ = __str__

    def _result(self, text: str) -> tuple[Expression, tuple[Output, ...]]:
        """An expression over the noisy result, and the outputs that the question then has."""
        return parse_result(text, self._query, self.desk.schema, self._source())

    def _aggregate(self, asked: Askable) -> Aggregate:
        keys = {key.name: key.of for key in self._query.keys}
        found = asked.aggregate(lambda text: keys.get(text) or self.read(text))
        if self._query.people is None:
            return found
        return found.each(lambda part: Count() if isinstance(part, Distinct) else part)  # a row is a person

    def _source(self) -> Scope | None:
        """What is in sight, where that is not the one private table."""
        if self._within is None and self.desk.schema.tables:
            raise ParameterError(f'There are several private tables; say which: table("{next(iter(self.desk.schema.tables))}").')
        return self._within

    def _with(self, **changes: object) -> Question:
        return replace(self, _query=replace(self._query, **changes))  # type: ignore[arg-type]


def _quoted(name: object) -> str:
    return f'"{str(name)[:60]}"'


def _written(name: str, trait: object) -> str:
    """A trait of a person as SQL writes it."""
    if isinstance(trait, str):
        return trait
    if isinstance(trait, Computed):
        inside = (one if isinstance(one, Literal) else Written(_written(name, one)) for one in trait.of)
        return str(Call(trait.operation, tuple(inside)))
    if not isinstance(trait, Asked) or trait.kind not in _TRAITS:
        raise ParameterError(
            f'{name} is made of one person\'s rows: write count(), sum("cost") or mean("cost"), or SQL such as "any_value(sex)", '
            '"max(age)" or "sum(cost) / count(*)".'
        )
    chosen = "" if trait.where is None else f" FILTER (WHERE {trait.where})"
    return f"{_TRAITS[trait.kind]}({'*' if trait.of is None else trait.of}){chosen}"


def _check_names(of: Sequence[object]) -> None:
    for one in of:
        if isinstance(one, (list, tuple)):
            raise ParameterError(f"group_by takes names and not a list; write group_by({', '.join(map(_quoted, one))}).")


def _check_mapping(keys: object, name: object) -> None:
    if keys is not None and not isinstance(keys, Mapping):
        raise ParameterError(f"keys= says of which column it lists the values; write keys={{{_quoted(name)}: [...]}}.")


def _listed(name: str, key: Expression, values: object, schema: Schema) -> tuple[Value, ...]:
    """The values of a key that the asker lists."""
    found = plain_values(f"The listed keys of {name}", values, f"keys={{{_quoted(name)}: [...]}}")
    check_words((key, *map(Literal, found)), words_of(schema.columns))
    return found
