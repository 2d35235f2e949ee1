"""Scalar expressions as SQL text.

No row can make the text raise an error, whatever its values: divisors are tested, positions are literals, nothing private is
cast. Every constant is bound, never pasted.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from fractions import Fraction

from discreet.engine.sql.dialect import Dialect
from discreet.engine.sql.magnitude import is_tame
from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, Literal, Value
from discreet.plan.expressions.evaluate import OPERATIONS
from discreet.plan.expressions.facts import Facts
from discreet.plan.expressions.text import labels
from discreet.schema.columns import Kind

_LONGEST = 1_000_000  # a guard repeats its arguments, so nesting can make a text explode

Bind = Callable[[Value], str]


def write(
    expression: Expression, columns: Mapping[str, str], bind: Bind, dialect: Dialect, facts: Mapping[str, Facts] | None = None
) -> str:
    """The SQL of an expression.

    ``columns`` gives, for every name, SQL that yields DOUBLE for a number, else VARCHAR, BOOLEAN or DATE. ``bind`` keeps a
    constant for the engine and returns its placeholder, which may appear several times in the text (``$3``, not ``?``).
    ``facts`` about the columns say where an engine that fails on doubles that are too large or too small needs no guards.

    >>> from discreet.engine.duckdb.dialect import DIALECT
    >>> write(Call("<", (Column("age"), Literal(18))), {"age": "t.a"}, lambda value: "$1", DIALECT)
    '(t.a < CAST($1 AS DOUBLE))'
    """
    if isinstance(expression, Column):
        return columns[expression.name]
    if isinstance(expression, Literal):
        return _constant(expression.value, bind, dialect)
    defined = OPERATIONS[expression.name].defined
    if defined is not None:
        return write(defined(*expression.arguments), columns, bind, dialect, facts)
    if expression.name == "bin":
        text = _bin(expression, columns, bind, dialect, facts)
    elif expression.name == "date_trunc":
        text = dialect.templates[_by_constant(expression)].format(write(expression.arguments[0], columns, bind, dialect, facts))
    else:
        given = _rewritten(expression, dialect)
        inside = [write(argument, columns, bind, dialect, facts) for argument in given]
        text = _call(expression, inside, dialect, facts)
    if len(text) > _LONGEST:
        raise ParameterError("This expression is too deeply nested to be written for the engine; use fewer nested divisions.")
    return f"({text})"


def _rewritten(call: Call, dialect: Dialect) -> tuple[Expression, ...]:
    """The arguments of a call, with its constant as the engine writes it."""
    rewrite = dialect.rewritten.get(call.name)
    if rewrite is None:
        return call.arguments
    first, constant, *others = call.arguments
    assert isinstance(constant, Literal)
    return first, Literal(rewrite(str(constant.value))), *others


def _call(call: Call, inside: list[str], dialect: Dialect, facts: Mapping[str, Facts] | None) -> str:
    if call.name == "case":
        pairs = zip(inside[:-1:2], inside[1::2], strict=True)
        return f"CASE {' '.join(f'WHEN {test} THEN {value}' for test, value in pairs)} ELSE {inside[-1]} END"
    if call.name in ("and", "or"):
        return f" {call.name.upper()} ".join(inside)
    doubtful = [text for text, argument in zip(inside, call.arguments, strict=True) if not isinstance(argument, Literal)]
    present = " AND ".join(f"{text} IS NOT NULL" for text in doubtful) or "TRUE"
    guarded = f"{call.name} guarded"
    name = guarded if guarded in dialect.templates and not is_tame(call, facts) else call.name
    return dialect.templates[name].format(*inside, all=", ".join(inside), rest=", ".join(inside[1:]), present=present)


def _by_constant(call: Call) -> str:
    """The name of a template that is of an operation and its constant, which is then no argument."""
    constant = call.arguments[1]
    assert isinstance(constant, Literal)
    return f"{call.name} {constant.value}"


def _bin(call: Call, columns: Mapping[str, str], bind: Bind, dialect: Dialect, facts: Mapping[str, Facts] | None) -> str:
    value = write(call.arguments[0], columns, bind, dialect, facts)
    edges = [argument.value for argument in call.arguments[1:] if isinstance(argument, Literal)]
    assert all(isinstance(edge, (int, float, Fraction)) for edge in edges)
    names = labels(edges)  # type: ignore[arg-type]
    if len(value) * len(edges) > _LONGEST:
        raise ParameterError("This expression is too deeply nested to be written for the engine; use fewer bins.")
    text = f"CASE WHEN {value} < {_constant(edges[0], bind, dialect)} THEN NULL"
    for i, (name, edge) in enumerate(zip(names, edges[1:], strict=True)):
        sign = "<=" if i == len(names) - 1 else "<"
        text += f" WHEN {value} {sign} {_constant(edge, bind, dialect)} THEN {_constant(name, bind, dialect)}"
    return f"{text} END"


def _constant(value: Value, bind: Bind, dialect: Dialect) -> str:
    if value is None:
        return "NULL"
    return f"CAST({bind(_plain(value))} AS {dialect.types[_kind(value)]})"


def _plain(value: Value) -> Value:
    return float(value) + 0.0 if isinstance(value, (int, Fraction)) and not isinstance(value, bool) else value


def _kind(value: Value) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    return "date" if isinstance(value, datetime.date) else "number"
