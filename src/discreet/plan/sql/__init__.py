"""SQL text to a query or an expression, by what is allowed and not by what is forbidden.

>>> from discreet.schema.columns import category, integer
>>> from discreet.schema.table import Schema
>>> from discreet.schema.units import rows
>>> schema = Schema({"age": integer(0, 120), "smokes": category("yes", "no")}, rows())
>>> print(parse_query("select smokes, count(*) from data where age >= 18 group by 1", schema))
SELECT smokes, count(*) AS count FROM data WHERE (age >= 18) GROUP BY smokes
>>> print(parse_expression("age between 18 and 30", schema))
((age >= 18) AND (age <= 30))
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression
from discreet.plan.query import Output, Query
from discreet.schema.table import Schema

if TYPE_CHECKING:
    from discreet.plan.sql.scope import Scope

__all__ = ["parse_expression", "parse_query", "parse_result", "parse_traits"]

_DEEP = "This question is nested too deeply; ask a simpler one."


def parse_query(text: str, schema: Schema) -> Query:
    """The question that one SELECT statement over ``data`` asks; anything else is refused in a sentence."""
    from discreet.plan.sql.select import read_select  # sqlglot is loaded when the first text is read
    from discreet.plan.sql.syntax import select

    try:
        return read_select(select(text), schema)
    except RecursionError:
        raise ParameterError(_DEEP) from None


def parse_expression(text: str, schema: Schema, *, names: Collection[str] = (), within: Scope | None = None) -> Expression:
    """A scalar expression over the private columns, and over ``names``, of which nothing is known yet. ``within``: over what is
    in sight there instead."""
    from discreet.plan.expressions.evaluate import infer
    from discreet.plan.sql.scalars import scalar
    from discreet.plan.sql.scope import private
    from discreet.plan.sql.syntax import only, select

    if not isinstance(text, str):
        raise ParameterError(f"An expression is a text, not {type(text).__name__}; write 'age >= 18'.")
    try:
        tree = select(f"SELECT {text}")
        only(tree, "expressions")
        if len(tree.expressions) != 1:
            raise ParameterError("This should be one expression; write age >= 18.")
        scope = private(schema, free=names) if within is None else replace(within, free=names)
        found = scalar(tree.expressions[0], scope)
        if scope.knows(found):
            infer(found, scope.facts)
    except RecursionError:
        raise ParameterError(_DEEP) from None
    return found


def parse_result(text: str, query: Query, schema: Schema, within: Scope | None) -> tuple[Expression, tuple[Output, ...]]:
    """An expression over the noisy result of a question, names of its columns and aggregates; and all outputs that it then has,
    those that are not selected among them. ``within``: what is in sight of its rows, where that is not the private table."""
    from discreet.plan.expressions.evaluate import infer
    from discreet.plan.sql.scalars import scalar
    from discreet.plan.sql.scope import private
    from discreet.plan.sql.select import results
    from discreet.plan.sql.syntax import only, select

    if not isinstance(text, str):
        raise ParameterError(f"An expression is a text, not {type(text).__name__}; write 'n > 100'.")
    try:
        tree = select(f"SELECT {text}")
        only(tree, "expressions")
        if len(tree.expressions) != 1:
            raise ParameterError("This should be one expression; write n > 100.")
        shown = [output for output in query.outputs if output.shown]
        hidden = [output for output in query.outputs if not output.shown]
        scope = results(within or private(schema), query.keys, shown, hidden)
        found = scalar(tree.expressions[0], scope)
        infer(found, scope.facts)
    except RecursionError:
        raise ParameterError(_DEEP) from None
    return found, (*shown, *hidden)


def parse_link(name: str, schema: Schema, within: Scope | None, *, left: bool) -> Scope:
    """What is in sight of a private table, of several, or of what is in sight ``within`` when that table is joined with it."""
    from discreet.plan.sql.tables.private import begin, link

    if not isinstance(name, str):
        raise ParameterError(f"A table is named by a text, not by {type(name).__name__}; write 'visits'.")
    if not schema.tables:
        raise ParameterError("There is one private table; leave its name out.")
    return begin(name, False, name, schema) if within is None else link(name, within, left=left)


def parse_traits(traits: Mapping[str, str], rows: Query, within: Scope) -> Scope:
    """What is in sight in a table of one row a person: these aggregates, by name, of those rows of each that ``rows`` chooses;
    ``within``: what is in sight of those."""
    from discreet.plan.sql.people import Making
    from discreet.plan.sql.syntax import only, select

    made = Making(within)
    for name, text in traits.items():
        try:
            tree = select(f"SELECT {text}")
            only(tree, "expressions")
            if len(tree.expressions) != 1:
                raise ParameterError(f"{name} should be one aggregate of a person's rows; write count(*), or any_value(sex).")
            made.select(name, tree.expressions[0])
        except RecursionError:
            raise ParameterError(_DEEP) from None
    return made.scope("persons", rows)
