"""Slips in the words of a category: a text that is none of its declared values would be paid for, and match nobody.

>>> print(misspelt("country", "fr", ("DE", "FR", "IT")))
country has no value 'fr'; did you mean 'FR'? Declared are 'DE', 'FR', 'IT'.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression, Literal, quoted
from discreet.schema.columns import Category
from discreet.schema.columns import Column as Declared

__all__ = ["check_words", "misspelt", "words_of"]

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
