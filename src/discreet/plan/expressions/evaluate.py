"""What an expression means on one row, and what is publicly known of its values on all rows.

``OPERATIONS`` is everything that an expression may call.

>>> from discreet.plan.expressions import Call, Column, Literal
>>> from discreet.plan.expressions.facts import Facts
>>> half = Call("//", (Column("age"), Literal(50)))
>>> evaluate(half, {"age": 77})
1.0
>>> listing(half, {"age": Facts("number", False, Fraction(0), Fraction(120), Fraction(1))})
(0, 1, 2)
>>> OPERATIONS["year"].takes, OPERATIONS["%"].meaning(-7.0, 3.0)
(('date',), 2.0)
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, Literal, Value, columns_of, nodes, size
from discreet.plan.expressions.arithmetic import ARITHMETIC
from discreet.plan.expressions.automata import PATTERNS
from discreet.plan.expressions.conversions import CONVERSIONS
from discreet.plan.expressions.dates import DATES
from discreet.plan.expressions.facts import LARGE, NOTHING, Facts, Operation
from discreet.plan.expressions.logic import LOGIC
from discreet.plan.expressions.reals import REALS
from discreet.plan.expressions.text import WORDS

__all__ = ["MOST_ROWS", "OPERATIONS", "Operation", "agreed", "evaluate", "infer", "listing", "on_grid"]

_MOST_STEPS = 2**22  # a few seconds of work
MOST_ROWS = 2**16  # rows on which an expression is evaluated to list its values


def evaluate(expression: Expression, row: Mapping[str, Value]) -> Value:
    """The value of an expression on a row: numbers are floats, None is missing, NaN too."""
    if isinstance(expression, Column):
        return _plain(row[expression.name])
    if isinstance(expression, Literal):
        return _plain(expression.value)
    operation = _operation(expression)
    if operation.defined is not None:
        return evaluate(operation.defined(*expression.arguments), row)
    values = [evaluate(argument, row) for argument in expression.arguments]
    if operation.strict and any(value is None for value in values):
        return None
    return operation.meaning(*values)


def infer(expression: Expression, facts: Mapping[str, Facts], known: dict[int, tuple[Expression, Facts]] | None = None) -> Facts:
    """What holds of an expression's values, from facts about its columns; wrong types are refused.

    Who asks about every part of an expression gives a ``known``, where parts are kept by identity: a tower is then inferred once.
    """
    if isinstance(expression, Column):
        if expression.name not in facts:
            raise ParameterError(f"There is no column {expression.name} here; there are {', '.join(facts)}.")
        return facts[expression.name]
    if isinstance(expression, Literal):
        return _facts_of(expression.value)
    if known is not None and id(expression) in known:
        return known[id(expression)][1]
    operation = _operation(expression)
    if operation.constant is not None:
        for argument in expression.arguments[operation.constant :]:
            if not isinstance(argument, Literal):
                raise ParameterError(f"{operation.name} takes constants here, not {argument}; write the value itself.")
    found = operation.facts([infer(argument, facts, known) for argument in expression.arguments])
    if known is not None:
        known[id(expression)] = expression, found  # held, so that nothing else gets its identity
    return found


def listing(expression: Expression, facts: Mapping[str, Facts]) -> tuple[Value, ...] | None:
    """All values an expression can have (except missing), in order: None where they are unknown or too many."""
    found = infer(expression, facts)
    listed = found.listed()
    if listed is not None:
        return listed
    names = list(dict.fromkeys(columns_of(expression)))
    choices: list[tuple[Value, ...]] = []
    for name in names:
        many = facts[name].size
        if many is None or many * math.prod(map(len, choices)) > MOST_ROWS:
            return None
        choices.append((facts[name].listed() or ()) + ((None,) if facts[name].nullable else ()))
    if not agreed(expression, facts):
        return None
    count = math.prod(map(len, choices))
    if count > MOST_ROWS or count * size(expression, _MOST_STEPS) > _MOST_STEPS:
        return None
    values = {evaluate(expression, dict(zip(names, row, strict=True))) for row in itertools.product(*choices)}
    exact = {on_grid(value, found.step) for value in values if value is not None}
    return tuple(sorted(exact))  # type: ignore[type-var]


def agreed(expression: Expression, facts: Mapping[str, Facts]) -> bool:
    """Whether every engine gives an expression the same value: about the case of letters beyond ASCII they differ."""
    if size(expression, _MOST_STEPS) > _MOST_STEPS:
        return False
    if not any(isinstance(one, Call) and one.name in ("lower", "upper") for one in nodes(expression)):
        return True
    texts = [one.value for one in nodes(expression) if isinstance(one, Literal) and isinstance(one.value, str)]
    for name in columns_of(expression):
        if facts[name].kind == "text":
            listed = facts[name].values
            if listed is None:
                return False
            texts += [value for value in listed if isinstance(value, str)]
    return all(text.isascii() for text in texts)


def _operation(call: Call) -> Operation:
    if call.name not in OPERATIONS:
        raise ParameterError(f"There is no operation {call.name}; there are {', '.join(sorted(OPERATIONS))}.")
    return OPERATIONS[call.name]


def _plain(value: Value) -> Value:
    if isinstance(value, (int, Fraction, float)) and not isinstance(value, bool):
        number = float(value) + 0.0
        return None if math.isnan(number) else number
    return value


def _facts_of(value: Value) -> Facts:
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return Facts("boolean", False, values=(value,))
    if isinstance(value, str):
        return Facts("text", False, values=(value,), length=len(value))
    if isinstance(value, datetime.date):
        day = Fraction(value.toordinal())
        return Facts("date", False, day, day, Fraction(1), (value,))
    if isinstance(value, float) and not math.isfinite(value):
        raise ParameterError("A number in a question must be finite; write a number such as 1000.")
    exact = Fraction(repr(value)) if isinstance(value, float) else Fraction(value)
    if abs(exact) > LARGE:
        raise ParameterError("A number in a question must be at most 1e150 in size.")
    shown = int(exact) if exact.denominator == 1 else exact
    return Facts("number", False, exact, exact, abs(exact) or Fraction(1), (shown,))


def on_grid(value: Value, step: Fraction | None) -> Value:
    """The multiple of a step that is nearest to a calculated number."""
    if step is None or not isinstance(value, float):
        return value
    exact = round(Fraction(value) / step) * step
    return int(exact) if exact.denominator == 1 else exact


_ALL = (*ARITHMETIC, *REALS, *LOGIC, *WORDS, *PATTERNS, *CONVERSIONS, *DATES)
OPERATIONS: Mapping[str, Operation] = MappingProxyType({one.name: one for one in _ALL})
