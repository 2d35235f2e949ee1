"""Arithmetic around aggregates: which formulas are read, in the SELECT list, in HAVING and in ORDER BY.

A formula is an expression as any other, with aggregates in the place of columns; a column outside an aggregate has no one value
in a group, and is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import Aggregate, Total
from discreet.plan.aggregates.combined import combine
from discreet.plan.expressions import Column, Expression
from discreet.plan.expressions.facts import Facts
from discreet.plan.query import Output
from discreet.plan.sql.reductions import read_as_written
from discreet.plan.sql.scalars import aggregates_in, is_aggregate, scalar
from discreet.plan.sql.scope import Scope
from discreet.plan.sql.syntax import only, refusal


def read_formula(node: exp.Expression, scope: Scope) -> Output:
    """The aggregate that a node means, alone or computed of several, by the name of a column that was given none."""
    written = _read(node, scope)
    found = written.with_numbers(scope.facts)
    found.check(scope.facts)
    return Output(written.name, found)


def _read(node: exp.Expression, scope: Scope) -> Aggregate:
    """The aggregate that a node means, whether or not it can be answered."""
    parts: dict[str, Aggregate] = {}
    facts: dict[str, Facts] = {}

    def special(inner: object) -> Expression | None:
        if is_aggregate(inner):
            found = _total(inner, scope) if isinstance(inner, exp.Window) else read_as_written(inner, scope)
            name = str(len(parts))
            parts[name], facts[name] = found, found.result(scope.facts)
            return Column(name)
        if isinstance(inner, exp.Column):
            raise ParameterError(
                f"{str(inner.name)[:60]} stands beside an aggregate and outside of all, where a group has no one value of it; "
                f"write avg({str(inner.name)[:60]}), or select it by itself and GROUP BY it."
            )
        return None

    return combine(scalar(node, replace(scope, facts=facts, special=special, words={})), parts)


def _total(node: exp.Window, scope: Scope) -> Aggregate:
    """``sum(count(*)) OVER (PARTITION BY region)``."""
    if node.args.get("order") or node.args.get("spec"):
        raise refusal(
            node,
            "Groups are added up in no order; write sum(count(*)) OVER (), or select count(*) AS n and add up the noisy n one "
            "after the other, which is free",
        )
    only(node, "this", "partition_by", "over")
    only(node.this, "this")
    return Total(_read(node.this.this, scope), tuple(scalar(one, scope) for one in node.args.get("partition_by") or []))


def is_formula(node: object) -> bool:
    """Whether a node computes with aggregates, and with nothing else but constants: more than one, or something around one."""
    if not isinstance(node, exp.Expression) or not aggregates_in(node):
        return False
    return is_aggregate(node) or not any(
        isinstance(one, exp.Column) for one in node.walk(prune=is_aggregate) if not is_aggregate(one)
    )
