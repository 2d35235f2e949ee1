"""SQL questions as one request to the gate: plans that are paid for together, counted, let out, and made into answers.

**Digest.** A ledger knows questions again by a hash of the public facts that make them the same. Facts are plain JSON in words of
their own, written out one by one, so that no renaming inside discreet ends a free repeat: what is asked (as far as it touches
data, so without HAVING, ORDER BY and LIMIT), what is declared, who is protected, and what is released how. They are not what is
paid, because what was paid more for may be asked again for less; and what tables hold is no part of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cached_property

from discreet.arrays import Reals
from discreet.curator.answer import Answer, Column, refine
from discreet.curator.former import former_digest
from discreet.curator.gate import Outcome, Price, Reservation
from discreet.engine.base import Engine, Found, Groups, groups_of
from discreet.mechanisms import Threshold
from discreet.plan.aggregates.base import Estimate
from discreet.plan.cost import Cost
from discreet.plan.expressions import Value
from discreet.plan.partition import Partition
from discreet.plan.plan import Plan, price
from discreet.plan.release import Release, Released
from discreet.plan.statistics import Sums
from discreet.schema.columns import Boolean, Category, Date, Integer, Number, Text
from discreet.schema.columns import Column as Declared
from discreet.schema.units import Person, Rows, Unit

_VERSION = 2  # 1: hashes of the texts of Python objects (``former``)

# For every declaration: its type in the owner's file, and what it says.
_DECLARED: dict[type, tuple[str, tuple[str, ...]]] = {
    Integer: ("integer", ("lower", "upper", "missing", "decimal")),
    Number: ("number", ("lower", "upper", "step", "missing", "decimal")),
    Category: ("category", ("values", "missing")),
    Boolean: ("boolean", ("missing",)),
    Date: ("date", ("lower", "upper", "missing", "format")),
    Text: ("text", ("missing", "length")),
    Rows: ("rows", ("neighbours", "size")),
    Person: ("person", ("id", "rows", "groups", "neighbours", "size")),
}


@dataclass(frozen=True)
class Plans:
    """Plans that are paid for together, and what they cost."""

    plans: tuple[Plan, ...]
    cost: Cost

    @property
    def question(self) -> str:
        return "; ".join(str(plan.query.released) for plan in self.plans)

    @property
    def tables(self) -> frozenset[str]:
        """The private tables that are read, where there are several."""
        asked = [plan.query.people.rows if plan.query.people else plan.query for plan in self.plans]
        return frozenset(one.table for rows in asked for one in rows.tables)

    @cached_property
    def digest(self) -> str:
        return digest_of(self.plans)

    @property
    def former(self) -> Sequence[str]:
        """Of texts of Python objects; and, where means are released as pairs, of the two numbers that they were before."""
        apart = digest_of([_apart(plan) for plan in self.plans])
        return (former_digest(self.plans), *({apart} - {self.digest}))

    @cached_property
    def price(self) -> Price | None:
        costs = [plan.privacy for plan in self.plans if plan.privacy is not None]
        return Price(sum(costs[1:], costs[0]), self.cost) if costs else None

    def rehearse(self, engine: Engine) -> None:
        for plan in self.plans:
            engine.rehearse(plan)

    def run(self, engine: Engine | None, reserved: Reservation) -> list[Answer]:
        """All noisy numbers; HAVING, ORDER BY and LIMIT come afterwards."""
        return [replace(_released(plan, engine, reserved), cost=str(self.cost)) for plan in self.plans]

    def write(self, result: list[Answer], remarks: tuple[str, ...]) -> list[str]:
        return [replace(answer, remarks=(*answer.remarks, *remarks)).to_json() for answer in result]

    def read(self, texts: list[str]) -> list[Answer]:
        return [Answer.from_json(text) for text in texts]

    def finish(self, outcome: Outcome[list[Answer]]) -> list[Answer]:
        """What is free: HAVING, ORDER BY, LIMIT on the noisy result, and what is left of the budget."""
        return [
            replace(
                refine(answer, plan.query),
                cost="nothing" if self.price is None else answer.cost,
                left=outcome.left,
                question=str(plan.query),
                remarks=(*answer.remarks, *outcome.remarks),
                repeated=outcome.repeated,
            )
            for answer, plan in zip(outcome.result, self.plans, strict=True)
        ]


def _apart(plan: Plan) -> Plan:
    """The same question with a count and a sum for every mean that is a pair."""
    pairs = any(isinstance(one.statistic, Sums) and one.statistic.is_pair for one in plan.releases)
    return price(plan.query, plan.private, plan.share, pairs=False) if pairs else plan


def _released(plan: Plan, engine: Engine | None, reserved: Reservation) -> Answer:
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
    return answer_of(plan, groups, let_out(plan, groups, counts, reserved))


def _ordered(keys: list[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """In an order that says nothing about the data."""
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
        found = aggregate.placed(partition.of(aggregate.within)).estimate([released[release] for release in behind])
        outputs[output.name] = Column(
            _values(found), _floats(found.errors), _floats(found.lower), _floats(found.upper), behind[-1].how
        )
    split = tuple(release.description for release in plan.releases)
    kinds = {name: facts.kind for name, facts in plan.query.result(plan.facts).items()}
    return Answer(str(plan.query.released), keys, outputs, split, "", "", kinds=kinds)


def _values(found: Estimate) -> tuple[Value, ...]:
    """Plain values."""
    if isinstance(found.values, list):
        return tuple(found.values)
    return tuple(int(x) if found.whole else float(x) for x in found.values)


def _floats(numbers: Reals | None) -> tuple[float, ...] | None:
    return None if numbers is None else tuple(float(x) for x in numbers)


def _keys(plan: Plan, groups: Groups) -> dict[str, tuple[Value, ...]]:
    if not plan.keys.keys:
        return {}
    rows = plan.keys.rows() if groups.product else list(zip(*groups.listed, strict=True))
    columns = zip(*rows, strict=True) if rows else [() for _ in plan.keys.keys]
    return {
        name: tuple(float(v) if isinstance(v, Fraction) else v for v in column)
        for name, column in zip(plan.keys.names, columns, strict=True)
    }


def digest_of(plans: Sequence[Plan]) -> str:
    """The hash of the facts of questions that are asked together."""
    facts = {"discreet": "questions", "version": _VERSION, "questions": [facts_of(plan) for plan in plans]}
    return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()


def facts_of(plan: Plan) -> dict[str, object]:
    """What makes a question the same as another one."""
    schema, rows = plan.private, plan.query.people.rows if plan.query.people else plan.query
    several = len([one for one in rows.tables if one.joined]) > 1
    read = tuple(f"{one.table}." for one in rows.tables) if schema.tables else ("",)
    return {
        "query": str(plan.query.released),
        **({"tables": [[one.table, one.how, one.most] for one in rows.tables]} if several else {}),
        "columns": {name: _declared(column) for name, column in schema.columns.items() if name.startswith(read)},
        "unit": _declared(schema.unit),
        "public": sorted(schema.public),
        "delta": str(plan.share.named) if plan.keys.size is None else None,
        "releases": [[release.label, release.how] for release in plan.releases],
    }


def _declared(declaration: Declared | Unit) -> dict[str, object]:
    kind, names = _DECLARED[type(declaration)]
    return {"type": kind, **{name: _plain(getattr(declaration, name)) for name in names}}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction | date) else value
