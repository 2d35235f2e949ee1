"""What differs between the SQL of engines, as tables: names of types, and a template for every scalar operation.

In a template ``{0}``, ``{1}`` ... are the arguments, ``{all}`` all of them and ``{rest}`` all but the first, with commas; and
``{present}`` says that no argument is missing. Arguments come in brackets of their own. What is the same in every SQL (CASE, AND,
OR) needs no table and lives in ``expressions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from discreet.schema.columns import Column, Kind

__all__ = ["Dialect", "quoted", "text_literal"]


@dataclass(frozen=True)
class Dialect:
    """The tokens of one engine. Templates yield DOUBLE for numbers, and raise no error whatever the row."""

    name: str
    types: Mapping[Kind, str]
    templates: Mapping[str, str]
    wide: str  # an integer type in which no sum overflows
    numbered: str  # a list of {n} {values} as a table t{j} of values k and numbers i
    keyed_hash: str  # a text that only the {salt} can tell, for a {person} and a {group}; different for different groups
    hashed: str  # a whole number from 0 to {most} - 1 that only the {salt} can tell, for a {person}
    nth_smallest: str  # an aggregate: the {n}-th smallest {value}
    is_nan: str  # of a {number}
    is_finite: str
    quotient: str  # {0} over {1}, both positive whole numbers, rounded down
    digits: str  # whether a {text} is a whole number of up to 18 digits
    try_whole: str  # the 64-bit integer that a {value} is, or NULL
    whole_types: frozenset[str]  # types of whole numbers, as the source names them
    clean: Callable[..., str]  # (column, raw SQL, raw type, doubles=) -> SQL of a declared value
    clean_key: Callable[[Column, str, str], str]  # the same before its list is asked
    clean_id: Callable[[str, str], str]  # (raw SQL, raw type) -> SQL of a person's id


def quoted(name: str) -> str:
    """A name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A public text as SQL. Quotes are doubled; DuckDB has no other escape in plain literals.

    >>> text_literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''").replace("\x00", "' || chr(0) || '") + "'"
