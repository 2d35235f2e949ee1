"""A question as a frozen value: what is counted, of which rows, by which keys, and what is done with the noisy result.

SQL text and the builder both end here. ``str(query)`` is canonical, and what the ledger stores.

>>> from discreet.plan.aggregates import Count
>>> print(Query((Output("n", Count()),), keys=(Key("drug_use", Column("drug_use")),)))
SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import combinations

from discreet.plan.aggregates.base import Aggregate
from discreet.plan.expressions import Column, Expression, Literal, Value, Written, quoted, rename
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.people import Trait
from discreet.plan.private import Private


@dataclass(frozen=True)
class Output:
    """A named aggregate. One that is not ``shown`` is there for HAVING and ORDER BY: paid for, and left out of the answer."""

    name: str
    aggregate: Aggregate
    shown: bool = True


@dataclass(frozen=True)
class Key:
    """A named expression to group by. ``values``: the keys to list, when the asker gives them."""

    name: str
    of: Expression
    values: tuple[Value, ...] | None = None


@dataclass(frozen=True)
class Levels:
    """The levels of a table with margins: for each the places of the keys that it keeps; others are added up over. ``weights``:
    how much the error of each matters. ``whole``: counts are made whole, and not negative, at the end."""

    asked: tuple[tuple[int, ...], ...]
    weights: tuple[Fraction, ...] = ()
    whole: bool = False

    def write(self, keys: Sequence[str]) -> str:
        """As SQL writes it."""
        places = range(len(keys))
        every = {part for size in range(len(keys) + 1) for part in combinations(places, size)}
        if {*self.asked} == every:
            return f"CUBE ({', '.join(keys)})"
        return f"GROUPING SETS ({', '.join('(' + ', '.join(keys[i] for i in level) + ')' for level in self.asked)})"


@dataclass(frozen=True)
class Join:
    """Every row looks up one row of a public table. ``keep``: rows without a match stay, their public columns missing.

    An expression over private columns, and over those of public tables joined before it, equals a column of the table. ``alias``:
    what it goes by where the same table was joined before.
    """

    table: str
    on: tuple[tuple[Expression, str], ...]
    keep: bool = False
    alias: str = ""

    @property
    def name(self) -> str:
        """What its columns are known by."""
        return self.alias or self.table

    def __str__(self) -> str:
        on = " AND ".join(f"{mine} = {Column(f'{self.name}.{theirs}')}" for mine, theirs in self.on)
        called = f" AS {quoted(self.alias)}" if self.alias else ""
        return f"{'LEFT ' if self.keep else ''}JOIN {quoted(self.table)}{called} ON {on}"


@dataclass(frozen=True)
class Order:
    """Sort the noisy result by an expression over its columns; what is missing comes last, or first."""

    by: Expression
    descending: bool = False
    missing_first: bool = False

    def __str__(self) -> str:
        return f"{self.by}{' DESC' if self.descending else ''}{' NULLS FIRST' if self.missing_first else ''}"


@dataclass(frozen=True)
class People:
    """A table of one row a person, which a question may be about: ``traits`` of those of their rows that a question without
    outputs chooses. ``id`` is the column that persons are known by."""

    id: str
    rows: Query
    traits: tuple[Trait, ...]

    def __str__(self) -> str:
        made = ", ".join([quoted(self.id), *(_named(str(trait), trait.name) for trait in self.traits)])
        return f"SELECT {made} FROM {self.rows.source} GROUP BY {quoted(self.id)}"


def people_of(private: Private, *, several: bool) -> People:
    """The persons that IN asks for, by what is made of their rows in a private table; ``several``: it is one of several."""
    first = (Private(private.table, private.person),) if several else ()
    return People(private.person, Query((), private.where, tables=first), private.traits)


@dataclass(frozen=True)
class Query:
    """One question. ``having``, ``order``, ``limit`` and ``offset`` see names of outputs and keys only, after noise. Without
    outputs it asks which keys there are."""

    outputs: tuple[Output, ...]
    where: Expression | None = None
    keys: tuple[Key, ...] = ()
    joins: tuple[Join, ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    people: People | None = None  # the table that it is about, where that is not the private one
    tables: tuple[Private, ...] = ()  # the private tables that it reads, where "data" is not the only one
    levels: Levels | None = None  # of a table with margins

    @cached_property
    def released(self) -> Query:
        """The part that touches data: what is done with the noisy result afterwards is free, and no part of it."""
        outputs = tuple(replace(one, shown=True) for one in self.outputs)
        levels = None if self.levels is None else replace(self.levels, whole=False)
        return replace(self, outputs=outputs, having=None, order=(), limit=None, offset=0, levels=levels)

    @property
    def source(self) -> str:
        """The rows that it is about, from FROM to WHERE."""
        tables = " ".join(str(one) for one in self.tables if one.joined) or "data"
        text = tables if self.people is None else f"({self.people}) AS persons"
        text = " ".join([text, *map(str, self.joins)])
        tests = [str(one) for one in self.tables if not one.joined] + ([] if self.where is None else [str(self.where)])
        return f"{text} WHERE {' AND '.join(tests)}" if tests else text

    def result(self, facts: Mapping[str, Facts]) -> dict[str, Facts]:
        """What is known of the columns of the noisy result."""
        found = {key.name: infer(key.of, facts) for key in self.keys}
        return found | {output.name: output.aggregate.result(facts) for output in self.outputs}

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        columns = [_named(str(key.of), key.name) for key in self.keys]
        columns += [_named(str(output.aggregate), output.name) for output in self.outputs if output.shown]
        hidden = {output.name: Written(str(output.aggregate)) for output in self.outputs if not output.shown}
        text = f"SELECT {', '.join(columns)} FROM {self.source}"
        if self.keys:
            keys = [*map(grouped, self.keys)]
            text += " GROUP BY " + (", ".join(keys) if self.levels is None else self.levels.write(keys))
        if self.having is not None:
            text += f" HAVING {rename(self.having, hidden)}"
        if self.order:
            text += " ORDER BY " + ", ".join(str(replace(order, by=rename(order.by, hidden))) for order in self.order)
        text += "" if self.limit is None else f" LIMIT {self.limit}"
        return f"{text} OFFSET {self.offset}" if self.offset else text


def _named(text: str, name: str) -> str:
    shown = quoted(name)
    return text if text == shown else f"{text} AS {shown}"


def grouped(key: Key) -> str:
    """A key as GROUP BY writes it: what is grouped by, and the values that are listed."""
    listed = "" if key.values is None else f" IN ({', '.join(str(Literal(value)) for value in key.values)})"
    return f"{key.of}{listed}"
