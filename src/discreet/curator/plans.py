"""What is asked together, as one request to the gate: parts that are paid for together, counted, let out, and finished for free.

A part is a question at its share of the cost: it has plans, which are counted and let out, and makes of noisy numbers what it
was asked for. A ``Select`` is SQL, or the builder's, and ends in an ``Answer``; those of rooms above this one end in what they
like. They may stand side by side.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar

from discreet.curator.answer import Answer, Column, agreed, made_whole, refine, write_facts
from discreet.curator.digest import columns_meant, digest_of, facts_of, former_digest, hash_facts, meaning_of
from discreet.curator.gate import Outcome, Price, Reservation
from discreet.engine.base import Engine, Found, Groups, groups_of
from discreet.mechanisms import Threshold
from discreet.plan.cost import Cost
from discreet.plan.expressions import Value
from discreet.plan.margins.levels import estimate_levels, level_rows
from discreet.plan.partition import Partition
from discreet.plan.plan import Plan, Prepared, prepare, price
from discreet.plan.preview import PreviewLine, preview_lines
from discreet.plan.query import Query
from discreet.plan.release import Release, Released
from discreet.plan.statistics import Sums
from discreet.privacy.account import Account
from discreet.schema.table import Schema

_MANY = 2**12  # groups of a question that is remembered as it was prepared

Kept = TypeVar("Kept")
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Measured:
    """The noisy numbers of one plan: what came out of every release, over these groups."""

    plan: Plan
    groups: Groups
    released: Mapping[Release, Released]

    def __getitem__(self, name: str) -> list[Released]:
        """What came out of the releases behind a name."""
        return [self.released[release] for release in self.plan.behind[name]]


@dataclass(frozen=True)
class Receipt:
    """What is said of a result when it leaves: what is left of the budget, remarks, and whether it was given before."""

    left: Account
    remarks: tuple[str, ...] = ()
    repeated: bool = False


class Part(ABC, Generic[Kept, Result]):
    """A question at its share of a cost. What is ``kept`` in the ledger is made of noisy numbers; what is asked for is made of
    that whenever it is asked again, and may therefore depend on the question, and on nothing that has no noise."""

    plans: tuple[Plan, ...]  # what is counted and let out

    @property
    @abstractmethod
    def question(self) -> str:
        """What was asked, as a ledger says it."""

    @property
    @abstractmethod
    def facts(self) -> dict[str, object]:
        """What makes it the same as another one, as plain JSON; not what is paid."""

    @property
    def reading(self) -> tuple[Schema, Mapping[str, str]] | None:
        """Other declarations under which the table is read, and the columns that they mean; None for its own."""
        return None

    @property
    def described(self) -> tuple[tuple[str, str], ...]:
        """What is released, and how, in words."""
        return tuple(release.description for plan in self.plans for release in plan.releases)

    @property
    def advice(self) -> tuple[str, ...]:
        """What else is said of it in a preview."""
        return ()

    @abstractmethod
    def lines(self, fewest: int | None = None) -> tuple[PreviewLine, ...]:
        """How far off every output will be. ``fewest``: the rows that every group surely has."""

    @abstractmethod
    def keep(self, measured: Sequence[Measured], cost: str) -> Kept:
        """What the ledger keeps of the noisy numbers of its plans, and of what was paid for them."""

    @abstractmethod
    def write(self, kept: Kept, remarks: tuple[str, ...]) -> str:
        """That as text, with remarks."""

    @abstractmethod
    def read(self, text: str) -> Kept:
        """The same from text."""

    @abstractmethod
    def finish(self, kept: Kept, receipt: Receipt) -> Result:
        """What was asked for: free."""

    @property
    def serve(self) -> Callable[[str], Kept | None] | None:
        """What finds in the text that was kept of another question what this one needs, paid at least as much; None where no
        other question serves."""
        return None


@dataclass(frozen=True)
class Plans:
    """Parts that are paid for together, and what they cost."""

    parts: tuple[Part[Any, Any], ...]
    cost: Cost

    @property
    def plans(self) -> tuple[Plan, ...]:
        return tuple(plan for part in self.parts for plan in part.plans)

    @property
    def question(self) -> str:
        return "; ".join(part.question for part in self.parts)

    @property
    def tables(self) -> frozenset[str]:
        """The private tables that are read, where there are several."""
        asked = [plan.query.people.rows if plan.query.people else plan.query for plan in self.plans]
        return frozenset(one.table for rows in asked for one in rows.tables)

    @cached_property
    def digest(self) -> str:
        return hash_facts([part.facts for part in self.parts])

    @property
    def former(self) -> Sequence[str]:
        """Of texts of Python objects; of questions with their names; and, where means are released as pairs, of the two numbers
        that they were before."""
        selects = [part for part in self.parts if isinstance(part, Selected)]
        if len(selects) < len(self.parts):
            return (hash_facts([facts_of(one.plan) if isinstance(one, Selected) else one.facts for one in self.parts]),)
        plans = [one.plan for one in selects]
        apart, named = [_apart(plan) for plan in plans], digest_of(plans)
        more = () if all(one is plan for one, plan in zip(apart, plans, strict=True)) else (digest_of(apart),)
        return (former_digest(plans), named, *more)

    @cached_property
    def price(self) -> Price | None:
        costs = [plan.privacy for plan in self.plans if plan.privacy is not None]
        return Price(sum(costs[1:], costs[0]), self.cost) if costs else None

    def rehearse(self, engine: Engine) -> None:
        for plan in self.plans:
            engine.rehearse(plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> list[Any]:
        """All noisy numbers, as the ledger keeps them: counts and sums agree where several parts say something of them."""
        cost = "nothing" if self.price is None else str(self.cost)
        found: list[Any] = [part.keep([measure(plan, engine, reserved) for plan in part.plans], cost) for part in self.parts]
        selects = {i: part.plan for i, part in enumerate(self.parts) if isinstance(part, Selected)}
        for i, answer in zip(selects, agreed([(plan, found[i]) for i, plan in selects.items()]), strict=True):
            found[i] = answer
        return found

    def write(self, result: list[Any], remarks: tuple[str, ...]) -> list[str]:
        return [part.write(kept, remarks) for part, kept in zip(self.parts, result, strict=True)]

    def read(self, texts: list[str]) -> list[Any]:
        return [part.read(text) for part, text in zip(self.parts, texts, strict=True)]

    @property
    def serve(self) -> Callable[[list[str]], list[Any] | None] | None:
        """What is asked alone may be in what was paid for another question."""
        serve = self.parts[0].serve if len(self.parts) == 1 else None
        if serve is None:
            return None

        def found(texts: list[str]) -> list[Any] | None:
            return [kept for text in texts if (kept := serve(text)) is not None][:1] or None

        return found

    def finish(self, outcome: Outcome[list[Any]], remarks: Sequence[tuple[str, ...]]) -> list[Any]:
        """What was asked for; ``remarks`` on every part."""
        return [
            part.finish(kept, Receipt(outcome.left, (*outcome.remarks, *more), outcome.repeated))
            for part, kept, more in zip(self.parts, outcome.result, remarks, strict=True)
        ]


@dataclass(frozen=True)
class Select:
    """A SELECT, or the same from the builder, of a table of which these facts are public. ``columns`` are those that it means,
    where it is read otherwise than declared."""

    query: Query
    schema: Schema
    columns: Mapping[str, str] | None = None
    _prepared: dict[bool, Prepared] = field(default_factory=dict, repr=False, compare=False)  # for epsilons, and for rhos

    def priced(self, share: Cost) -> Selected:
        """The same at this cost; what no cost changes is found out once."""
        pure = share.epsilon is not None
        prepared = self._prepared.get(pure) or prepare(self.query, self.schema, pure=pure)
        if (prepared.keys.size or 0) <= _MANY:
            self._prepared[pure] = prepared
        return Selected((prepared.priced(share),), self.columns)


@dataclass(frozen=True)
class Selected(Part[Answer, Answer]):
    """A SELECT at its price."""

    plans: tuple[Plan, ...]
    columns: Mapping[str, str] | None = None

    @property
    def plan(self) -> Plan:
        """The one that it has."""
        return self.plans[0]

    @property
    def reading(self) -> tuple[Schema, Mapping[str, str]] | None:
        return None if self.columns is None else (self.plan.private, self.columns)

    @property
    def question(self) -> str:
        return str(self.plan.query.released)

    @property
    def facts(self) -> dict[str, object]:
        return meaning_of(self.plan)

    def lines(self, fewest: int | None = None) -> tuple[PreviewLine, ...]:
        return preview_lines(self.plan, fewest)

    def keep(self, measured: Sequence[Measured], cost: str) -> Answer:
        """All noisy numbers; HAVING, ORDER BY and LIMIT come afterwards."""
        (one,) = measured
        return replace(answer_of(one.plan, one.groups, one.released), cost=cost)

    def write(self, kept: Answer, remarks: tuple[str, ...]) -> str:
        """With what its columns mean, by which they are found under other names."""
        facts = replace(kept, remarks=(*kept.remarks, *remarks)).facts()
        return write_facts({**facts, "means": columns_meant(self.plan)})

    def read(self, text: str) -> Answer:
        facts = json.loads(text)
        means = facts.pop("means", None)
        kept = Answer.from_facts(facts)
        return kept if means is None else self._named(kept, *means)

    def _named(self, kept: Answer, keys: list[str], outputs: list[str]) -> Answer:
        """An answer to the same question under the names, and in the order, of this one."""
        query, (mine, wanted) = self.plan.query, columns_meant(self.plan)
        by_key, by_output = dict(zip(keys, kept.keys, strict=True)), dict(zip(outputs, kept.outputs, strict=True))
        kinds = {name: facts.kind for name, facts in query.result(self.plan.facts).items()}
        found = replace(
            kept,
            keys={key.name: kept.keys[by_key[of]] for key, of in zip(query.keys, mine, strict=True)},
            outputs={one.name: kept.outputs[by_output[of]] for one, of in zip(query.outputs, wanted, strict=True)},
            kinds=kinds,
        )
        if keys == mine:
            return found
        columns = list(found.keys.values())
        places = {row: i for i, row in enumerate(zip(*columns, strict=True))}
        if self.plan.keys.size is None:
            order = _ordered(list(places))
        else:
            order = list(zip(*_keys(self.plan, groups_of(self.plan)).values(), strict=True))
        return found.picked([places[row] for row in order])

    def finish(self, kept: Answer, receipt: Receipt) -> Answer:
        """HAVING, ORDER BY, LIMIT on the noisy result, and what is left of the budget."""
        return replace(
            refine(made_whole(kept, self.plan), self.plan.query),
            left=receipt.left,
            question=str(self.plan.query),
            remarks=(*kept.remarks, *receipt.remarks),
            repeated=receipt.repeated,
        )


def _apart(plan: Plan) -> Plan:
    """The same question with a count and a sum for every mean that is a pair."""
    pairs = any(isinstance(one.statistic, Sums) and one.statistic.is_pair for one in plan.releases)
    return price(plan.query, plan.private, plan.share, pairs=False) if pairs else plan


def measure(plan: Plan, engine: Engine | None, reserved: Reservation) -> Measured:
    """Count, and add noise."""
    chosen: list[tuple[Value, ...]] | None = None
    if plan.keys.size is None:
        assert engine is not None
        choice = plan.releases[0].mechanism
        assert isinstance(choice, Threshold)
        reserved.spend(plan.releases[0].privacy)
        chosen = _ordered(engine.spell(plan, choice.select(engine.keys(plan, reserved.salt)), reserved.salt))
    groups = groups_of(plan, chosen)
    counts: Found = {}
    if engine is not None and groups.size:
        counts = engine.count(plan, groups, reserved.salt)
    return Measured(plan, groups, let_out(plan, groups, counts, reserved))


def _ordered(keys: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """In an order that says nothing about the data."""
    if len({tuple(map(type, key)) for key in keys}) <= 1:
        return sorted(keys)
    return sorted(keys, key=lambda key: tuple((str(type(value)), value) for value in key))


def let_out(plan: Plan, groups: Groups, counts: Found, reserved: Reservation) -> dict[Release, Released]:
    """Every statistic through its mechanism; public ones from public facts."""
    behind = dict.fromkeys(release for those in plan.behind.values() for release in those)
    unit = plan.schema.unit
    return {one: Released(one, reserved.release(one, counts.get((one.statistic, one.bits)), groups.size, unit)) for one in behind}


def answer_of(plan: Plan, groups: Groups, released: Mapping[Release, Released]) -> Answer:
    """Estimates for every output, in the order of the groups."""
    outputs, keys = {}, _keys(plan, groups)
    partition = Partition(dict(zip((key.of for key in plan.query.keys), keys.values(), strict=True)), groups.size)
    for output in plan.query.outputs:
        behind, aggregate = plan.behind[output.name], output.aggregate
        if plan.query.levels is None:
            found = aggregate.placed(partition.of(aggregate.within)).estimate([released[release] for release in behind])
        else:
            found = estimate_levels(plan.query.levels, aggregate, {release: released[release] for release in behind})
        outputs[output.name] = Column.of(found, behind[-1].how)
    split = tuple(release.description for release in plan.releases)
    kinds = {name: facts.kind for name, facts in plan.query.result(plan.facts).items()}
    margins = plan.query.levels is not None
    return Answer(str(plan.query.released), keys, outputs, split, "", "", kinds=kinds, margins=margins)


def _keys(plan: Plan, groups: Groups) -> dict[str, tuple[Value, ...]]:
    if not plan.keys.keys:
        return {}
    columns: Iterable[tuple[Value, ...]]
    if plan.query.levels is None and (len(groups.listed) == 1 or not groups.product):
        columns = map(tuple, groups.listed)
    else:
        rows = plan.keys.rows() if plan.query.levels is None else level_rows(plan.query.levels, plan.keys)
        columns = zip(*rows, strict=True) if rows else [() for _ in plan.keys.keys]
    return {
        name: tuple(float(v) if isinstance(v, Fraction) else v for v in column) if Fraction in {*map(type, column)} else column
        for name, column in zip(plan.keys.names, columns, strict=True)
    }
