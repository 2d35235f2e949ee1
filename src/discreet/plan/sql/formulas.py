"""Arithmetic around aggregates: which formulas are read, in the SELECT list, in HAVING and in ORDER BY.

A formula is an expression as any other, with aggregates in the place of columns; a column outside an aggregate has no one value
in a group, and is refused.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from discreet.errors import ParameterError
from discreet.plan.aggregates import Aggregate
from discreet.plan.aggregates.combined import combine
from discreet.plan.expressions import Column, Expression
from discreet.plan.expressions.facts import Facts
from discreet.plan.query import Output
from discreet.plan.sql.reductions import read_as_written
from discreet.plan.sql.scalars import aggregates_in, is_aggregate, scalar
from discreet.plan.sql.scope import Scope


def read_formula(node: exp.Expression, scope: Scope) -> Output:
    """The aggregate that a node means, alone or computed of several, by the name of a column that was given none."""
    parts: dict[str, Aggregate] = {}
    facts: dict[str, Facts] = {}

    def special(inner: object) -> Expression | None:
        if is_aggregate(inner):
            found = read_as_written(inner, scope)
            name = str(len(parts))
            parts[name], facts[name] = found, found.result(scope.facts)
            return Column(name)
        if isinstance(inner, exp.Column):
            raise ParameterError(
                f"{str(inner.name)[:60]} stands beside an aggregate and outside of all, where a group has no one value of it; "
                f"write avg({str(inner.name)[:60]}), or select it by itself and GROUP BY it."
            )
        return None

    written = combine(scalar(node, replace(scope, facts=facts, special=special, words={})), parts)
    found = written.with_numbers(scope.facts)
    found.check(scope.facts)
    return Output(written.name, found)


def is_formula(node: object) -> bool:
    """Whether a node computes with aggregates, and with nothing else but constants: more than one, or something around one."""
    if not isinstance(node, exp.Expression) or not aggregates_in(node):
        return False
    return is_aggregate(node) or not any(
        isinstance(one, exp.Column) for one in node.walk(prune=is_aggregate) if not is_aggregate(one)
    )
