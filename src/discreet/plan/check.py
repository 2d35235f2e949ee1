"""What must hold of a question whoever made it, SQL text, the builder or a program: checked before it is priced.

The engine relies on it. A text where a condition belongs would be converted row by row, and a row whose text cannot be would
make the question fail: an answer about that row which nobody paid for.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.errors import ParameterError
from discreet.plan.evaluate import infer
from discreet.plan.expressions import Expression, columns_of
from discreet.plan.facts import Facts
from discreet.plan.query import Best, Distinct, Mode, Query
from discreet.plan.values import kind_of
from discreet.schema.table import Schema
from discreet.schema.units import Rows

__all__ = ["check", "facts_of_result"]


def check(query: Query, schema: Schema, facts: Mapping[str, Facts]) -> None:
    """Refuse what is not of the type, or has not the columns, that its place in the question needs."""
    _condition(query.where, facts, "Rows are chosen by a condition that is true or false; write for example age >= 18.")
    for key in query.keys:
        if not any(True for _ in columns_of(key.of)):
            raise ParameterError("Groups are made by columns or expressions over them; write for example region.")
        infer(key.of, facts)
    for output in query.outputs:
        if isinstance(output.aggregate, Distinct) and isinstance(schema.unit, Rows):
            raise ParameterError("Here every row is a person (unit=rows()); write count(*).")
        if isinstance(output.aggregate, Best) and query.keys:
            raise ParameterError(
                "A best candidate is chosen for the whole table; leave out GROUP BY, or use WHERE for one group."
            )
        if isinstance(output.aggregate, Mode) and not any(True for _ in columns_of(output.aggregate.of)):
            raise ParameterError("The most common value is that of a column or an expression over columns.")
    after = facts_of_result(query, facts)
    _names(after, len(query.keys) + len(query.outputs))
    _condition(query.having, after, "Rows of the result are kept by a condition, true or false; write for example n > 100.")
    for order in query.order:
        infer(order.by, after)


def facts_of_result(query: Query, facts: Mapping[str, Facts]) -> dict[str, Facts]:
    """What is known of the columns of the noisy result."""
    found = {key.name: infer(key.of, facts) for key in query.keys}
    for output in query.outputs:
        made = output.aggregate
        if isinstance(made, Mode):
            found[output.name] = Facts(infer(made.of, facts).kind)
        else:
            found[output.name] = Facts(kind_of(made.candidates[0]) if isinstance(made, Best) else "number")
    return found


def _condition(condition: Expression | None, facts: Mapping[str, Facts], otherwise: str) -> None:
    if condition is not None and infer(condition, facts).kind != "boolean":
        raise ParameterError(otherwise)


def _names(after: Mapping[str, Facts], count: int) -> None:
    for name in after:
        if not name or len(name) > 200 or not name.isprintable():
            raise ParameterError(f"{name[:40]!r} cannot name a column of the result; write a word such as n.")
    if len({name.lower() for name in after}) < count:
        raise ParameterError("Two columns of the result have the same name; name them apart.")
