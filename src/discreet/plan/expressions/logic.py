"""Comparisons, three-valued logic, and choices between values."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.plan.expressions.facts import TRUTH, Facts, Operation, Takes, union


def _truth(nullable: bool) -> Facts:
    return Facts("boolean", nullable, values=(False, True))


def _strictly(_: Sequence[Facts]) -> Facts:
    return TRUTH


def _loosely(arguments: Sequence[Facts]) -> Facts:
    return _truth(any(argument.nullable for argument in arguments))


def _compare(relation: Callable[[object, object], bool]) -> Callable[[Value, Value], bool]:
    def meaning(a: Value, b: Value) -> bool:
        if a != a or b != b:  # NaN is above all numbers and equal to itself, as engines have it
            return relation(a != a, b != b)
        return relation(a, b)

    return meaning


def _and(*values: bool | None) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def _or(*values: bool | None) -> bool | None:
    if any(value is True for value in values):
        return True
    return None if any(value is None for value in values) else False


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    parts = {"%": ".*", "_": "."}
    return re.compile("".join(parts.get(sign) or re.escape(sign) for sign in re.sub("%+", "%", pattern)), re.DOTALL)


def matches(text: str, pattern: str) -> bool:
    """SQL's LIKE without an escape: ``%`` is any text, ``_`` any one character.

    >>> matches("Lisbon", "L%b_n")
    True
    """
    return _pattern(pattern).fullmatch(text) is not None


def _case(*arguments: Value) -> Value:
    for test, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        if test is True:
            return value
    return arguments[-1]


def _case_facts(arguments: Sequence[Facts]) -> Facts:
    tests, values = arguments[:-1:2], (*arguments[1::2], arguments[-1])
    if len(arguments) % 2 == 0:
        raise ParameterError("CASE needs a value for every WHEN; write CASE WHEN age < 18 THEN 0 ELSE 1 END.")
    for test in tests:
        if test.kind != "boolean":
            raise ParameterError(f"CASE WHEN takes a condition, not a {test.kind}; write CASE WHEN age < 18 THEN 0 ELSE 1 END.")
    kinds = sorted({value.kind for value in values if value.values != ()})
    if len(kinds) > 1:
        raise ParameterError(f"The values of a CASE are of several types: {' and '.join(kinds)}; give them one type.")
    return union(values, any(value.nullable for value in values))


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _coalesce_facts(arguments: Sequence[Facts]) -> Facts:
    return union(arguments, all(argument.nullable for argument in arguments))


def _nullif(a: Value, b: Value) -> Value:
    return None if b is not None and a == b else a


def _nullif_facts(arguments: Sequence[Facts]) -> Facts:
    return union(arguments[:1], True)


_EQUAL: Takes = ("same", "same")

LOGIC = (
    Operation("=", 2, 2, _EQUAL, _compare(operator.eq), _strictly),
    Operation("<>", 2, 2, _EQUAL, _compare(operator.ne), _strictly),
    Operation("<", 2, 2, _EQUAL, _compare(operator.lt), _strictly),  # type: ignore[arg-type]
    Operation("<=", 2, 2, _EQUAL, _compare(operator.le), _strictly),  # type: ignore[arg-type]
    Operation(">", 2, 2, _EQUAL, _compare(operator.gt), _strictly),  # type: ignore[arg-type]
    Operation(">=", 2, 2, _EQUAL, _compare(operator.ge), _strictly),  # type: ignore[arg-type]
    Operation("and", 2, None, ("boolean",), _and, _loosely, strict=False),
    Operation("or", 2, None, ("boolean",), _or, _loosely, strict=False),
    Operation("not", 1, 1, ("boolean",), operator.not_, _strictly),
    Operation("is_null", 1, 1, ("any",), lambda value: value is None, _strictly, strict=False),
    Operation("in", 2, None, ("same",), lambda value, *listed: value in listed, _strictly, constant=1),
    Operation("like", 2, 2, ("text", "text"), matches, _strictly, constant=1),
    Operation("case", 3, None, ("any",), _case, _case_facts, strict=False),
    Operation("coalesce", 2, None, ("same",), _coalesce, _coalesce_facts, strict=False),
    Operation("nullif", 2, 2, _EQUAL, _nullif, _nullif_facts, strict=False),
)
