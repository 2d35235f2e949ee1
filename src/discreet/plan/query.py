"""A question as a frozen value: what is counted, of which rows, by which keys, and what is done with the noisy result.

SQL text and the builder both end here. ``str(query)`` is canonical, and what the ledger stores.

>>> from discreet.plan.aggregates import Count
>>> print(Query((Output("n", Count()),), keys=(Key("drug_use", Column("drug_use")),)))
SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.plan.aggregates.base import Aggregate
from discreet.plan.expressions import Column, Expression, Literal, Value, Written, quoted, rename
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts

__all__ = ["Join", "Key", "Order", "Output", "Query"]


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
class Join:
    """Every row looks up one row of a public table. ``keep``: rows without a match stay, their public columns missing."""

    table: str
    on: tuple[tuple[Expression, str], ...]  # an expression over the private columns = a column of the public table
    keep: bool = False


@dataclass(frozen=True)
class Order:
    """Sort the noisy result by an expression over its columns."""

    by: Expression
    descending: bool = False


@dataclass(frozen=True)
class Query:
    """One question. ``having``, ``order`` and ``limit`` see names of outputs and keys only, after noise."""

    outputs: tuple[Output, ...]
    where: Expression | None = None
    keys: tuple[Key, ...] = ()
    joins: tuple[Join, ...] = ()
    having: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None

    @property
    def released(self) -> Query:
        """The part that touches data: what is done with the noisy result afterwards is free, and no part of it."""
        return replace(self, outputs=tuple(replace(one, shown=True) for one in self.outputs), having=None, order=(), limit=None)

    def result(self, facts: Mapping[str, Facts]) -> dict[str, Facts]:
        """What is known of the columns of the noisy result."""
        found = {key.name: infer(key.of, facts) for key in self.keys}
        return found | {output.name: output.aggregate.result(facts) for output in self.outputs}

    def __str__(self) -> str:
        columns = [_named(str(key.of), key.name) for key in self.keys]
        columns += [_named(str(output.aggregate), output.name) for output in self.outputs if output.shown]
        hidden = {output.name: Written(str(output.aggregate)) for output in self.outputs if not output.shown}
        text = f"SELECT {', '.join(columns)} FROM data"
        for join in self.joins:
            on = " AND ".join(f"{mine} = {Column(f'{join.table}.{theirs}')}" for mine, theirs in join.on)
            text += f" {'LEFT ' if join.keep else ''}JOIN {quoted(join.table)} ON {on}"
        if self.where is not None:
            text += f" WHERE {self.where}"
        if self.keys:
            text += " GROUP BY " + ", ".join(map(_grouped, self.keys))
        if self.having is not None:
            text += f" HAVING {rename(self.having, hidden)}"
        if self.order:
            orders = [f"{rename(order.by, hidden)}{' DESC' if order.descending else ''}" for order in self.order]
            text += " ORDER BY " + ", ".join(orders)
        return text if self.limit is None else f"{text} LIMIT {self.limit}"


def _named(text: str, name: str) -> str:
    shown = quoted(name)
    return text if text == shown else f"{text} AS {shown}"


def _grouped(key: Key) -> str:
    listed = "" if key.values is None else f" IN ({', '.join(str(Literal(value)) for value in key.values)})"
    return f"{key.of}{listed}"
