"""What must hold of a question whoever made it, SQL text, the builder or a program: checked before it is priced.

The engine relies on it. A text where a condition belongs would be converted row by row, and a row whose text cannot be would
make the question fail: an answer about that row which nobody paid for. So would a text that grows with a row's own, as
``concat(name, name, ...)`` does, until it fills the memory: what a question makes of one row, and how long it is to an engine, is
bounded here, from declarations and from its own text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from discreet.errors import ParameterError
from discreet.plan.evaluate import infer
from discreet.plan.expressions import Call, Expression, Literal, columns_of, substitute
from discreet.plan.facts import Facts
from discreet.plan.operations import OPERATIONS
from discreet.plan.query import Best, Count, Distinct, Mode, Query
from discreet.plan.values import kind_of
from discreet.schema.table import Schema
from discreet.schema.units import Rows

__all__ = ["MOST_KEY", "MOST_TERMS", "MOST_TEXT", "check", "facts_of_result", "terms"]

MOST_TERMS = 2**15  # of a question, each as often as an engine may have to write it
MOST_TEXT = 2**16  # characters that a question makes of one row; engines hold some thousand rows at a time
MOST_KEY = 2**12  # characters of the keys of one row, which engines keep for all groups at once


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
    _check_size(query, facts)
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


def terms(expression: Expression) -> int:
    """How many columns, constants and operations an engine has to write; guards against errors repeat what they guard.

    >>> from discreet.plan.expressions import Column
    >>> terms(Call("/", (Literal(1), Column("age"))))
    5
    """
    if not isinstance(expression, Call):
        return 1
    times = len(expression.arguments) if expression.name == "bin" else OPERATIONS[expression.name].written
    return 1 + times * sum(map(terms, expression.arguments))


def _written(query: Query) -> Iterator[tuple[Expression, int]]:
    """The expressions of a question over rows, and how often each is written: whether it is missing may be counted apart, and
    a sum for every candidate is more work than their terms say."""
    if query.where is not None:
        yield query.where, 1
    for key in query.keys:
        yield key.of, 1
        yield from ((Literal(value), 1) for value in key.values or ())
    yield from ((mine, 1) for join in query.joins for mine, _ in join.on)
    for output in query.outputs:
        made = output.aggregate
        if isinstance(made, Best):
            yield from ((substitute(made.score, "candidate", candidate), 5) for candidate in made.candidates)
        elif not isinstance(made, Distinct) and made.of is not None:
            yield made.of, 1 if isinstance(made, Count) else 2


def _check_size(query: Query, facts: Mapping[str, Facts]) -> None:
    count, characters, seen = 0, 0, set[Expression]()
    for expression, times in _written(query):
        count += times * terms(expression)
        if count > MOST_TERMS:
            raise ParameterError(
                f"This question has more than {MOST_TERMS:,} terms as an engine has to write it; ask about less at a time, with "
                "fewer nested divisions, candidates or listed values."
            )
        characters += _made(expression, facts, seen)
    if characters > MOST_TEXT:
        raise ParameterError(
            f"This question makes texts of up to {characters:,} characters of one row, and at most {MOST_TEXT:,} are made; "
            "write left(x, 100) for x, or declare a smaller length: text(length=100)."
        )
    keys = sum(infer(key.of, facts).length or 0 for key in query.keys)
    if keys > MOST_KEY:
        raise ParameterError(
            f"The keys of one row may have {keys:,} characters together, and at most {MOST_KEY:,} are grouped by; "
            "write GROUP BY left(x, 100) for GROUP BY x, or declare a smaller length: text(length=100)."
        )


def _made(expression: Expression, facts: Mapping[str, Facts], seen: set[Expression]) -> int:
    """The characters of all texts that are made on the way to an expression's value; each text that was not seen before."""
    if not isinstance(expression, Call) or expression in seen:
        return 0
    seen.add(expression)
    known = infer(expression, facts)
    mine = known.length or 0 if known.kind == "text" and known.values != () else 0
    return mine + sum(_made(argument, facts, seen) for argument in expression.arguments)


def _condition(condition: Expression | None, facts: Mapping[str, Facts], otherwise: str) -> None:
    if condition is not None and infer(condition, facts).kind != "boolean":
        raise ParameterError(otherwise)


def _names(after: Mapping[str, Facts], count: int) -> None:
    for name in after:
        if not name or len(name) > 200 or not name.isprintable():
            raise ParameterError(f"{name[:40]!r} cannot name a column of the result; write a word such as n.")
    if len({name.lower() for name in after}) < count:
        raise ParameterError("Two columns of the result have the same name; name them apart.")
