"""Values that an asker lists in Python, as candidates or as keys: plain, exact, all of one kind, checked before anything is paid.

>>> plain_values("Candidates", [1, 2.5])
(1, Fraction(5, 2))
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.expressions import Value
from discreet.plan.operation import LARGE
from discreet.schema.columns import Kind

__all__ = ["check_candidate", "kind_of", "plain_values"]


def plain_values(what: str, values: object, example: str = "[200, 500]") -> tuple[Value, ...]:
    """The values of a list or array, each once: numbers exact, texts that have a UTF-8, truth values or days."""
    given = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ParameterError(f"{what} are a list of values, from public knowledge; write {example}.")
    found = tuple(_plain(what, value) for value in given)
    if not found:
        raise ParameterError(f"{what} are a list of at least one value, from public knowledge; write {example}.")
    if len({kind_of(value) for value in found}) > 1:
        raise ParameterError(f"{what} must all be of one type: numbers, texts, truth values or days.")
    return tuple(dict.fromkeys(found))


def check_candidate(columns: Mapping[str, object]) -> None:
    """Within a score, ``candidate`` is the candidate: a column of that name would silently mean something else."""
    if any(name.lower() == "candidate" for name in columns):
        raise ParameterError("A column of the table is called candidate, which means the candidate within a score; rename it.")


def kind_of(value: Value) -> Kind:
    """The type of a plain value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, datetime.date):
        return "date"
    return "text" if isinstance(value, str) else "number"


def _plain(what: str, value: object) -> Value:
    if hasattr(value, "item") and not isinstance(value, (int, float, str)):
        value = value.item()  # a scalar of numpy
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value):
        return str(value)
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    finite = value.is_finite() if isinstance(value, Decimal) else not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, (int, Fraction, float, Decimal)) and finite:
        exact = Fraction(repr(float(value))) if isinstance(value, float) else Fraction(value)
        if abs(exact) <= LARGE:
            return int(exact) if exact.denominator == 1 else exact
    raise ParameterError(f"{what} are finite numbers, texts, truth values or days, and one of the values is none of them.")
