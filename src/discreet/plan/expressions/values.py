"""Values that an asker writes: lists in Python, of candidates or keys, and the words of a category.

Lists are plain, exact and all of one kind, checked before anything is paid. A text that is none of a category's declared values
would be paid for, and match nobody: it is refused with the value that was probably meant.

>>> plain_values("Candidates", [1, 2.5])
(1, Fraction(5, 2))
>>> print(misspelt("country", "fr", ("DE", "FR", "IT")))
country has no value 'fr'; did you mean 'FR'? Declared are 'DE', 'FR', 'IT'.
"""

from __future__ import annotations

import datetime
import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression, Literal, Value, quoted
from discreet.plan.expressions.facts import LARGE
from discreet.schema.columns import Category, Kind
from discreet.schema.columns import Column as Declared


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
    if isinstance(value, (np.float16, np.float32)):
        value = float(str(value))  # its own shortest decimal, and not that of the double that it is
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


_MOST = 8  # values that a message lists
_LONG = 40  # characters of one


def words_of(columns: Mapping[str, Declared]) -> dict[str, tuple[str, ...]]:
    """The declared words of every category, by its name."""
    categories = {name: column.values for name, column in columns.items() if isinstance(column, Category)}
    return {name: values for name, values in categories.items() if isinstance(values[0], str)}


def check_words(arguments: Sequence[Expression], words: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse a comparison of a category by itself with a text that it cannot be."""
    texts = [one.value for one in arguments if isinstance(one, Literal) and isinstance(one.value, str)]
    for one in arguments:
        if isinstance(one, Column) and one.name in words:
            for text in texts:
                if text not in words[one.name]:
                    raise misspelt(one.name, text, words[one.name])


def misspelt(column: str, text: str, declared: Sequence[str]) -> ParameterError:
    """That a category has no such value, and which it has; the text is the asker's own."""
    folded = {word.strip().casefold(): word for word in reversed(declared)}
    near = difflib.get_close_matches(text[:_LONG].strip().casefold(), folded, n=1)
    meant = f"did you mean {_shown(folded[near[0]])}? Declared are" if near else "declared are"
    listed = ", ".join(map(_shown, declared[:_MOST])) + (", ..." if len(declared) > _MOST else "")
    return ParameterError(f"{quoted(column)} has no value {_shown(text)}; {meant} {listed}.")


def _shown(text: str) -> str:
    plain = "".join(sign if sign.isprintable() else "?" for sign in text[:_LONG])
    return str(Literal(plain if len(text) <= _LONG else f"{plain}..."))
