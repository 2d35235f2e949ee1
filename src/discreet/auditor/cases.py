"""The pairs of neighbours that an audit tries, each with the Python lines that make it again."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from discreet.auditor.neighbours import Pair, extreme_pairs, split
from discreet.display import clean
from discreet.errors import ParameterError
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person

_LONGEST = 300
_EXAMPLE = "write pairs = [([1, 2], [1]), ([1], [])]"


@dataclass(frozen=True, eq=False)
class Case:
    """Two neighbouring inputs. ``code`` defines ``a`` and ``b``; ``pair`` is there when a schema made them."""

    name: str
    a: object
    b: object
    code: str
    pair: Pair | None = None

    @property
    def words(self) -> str:
        """The two inputs, short enough to read; they are made up, so they may be shown."""
        return str(self.pair) if self.pair is not None else f"{self.name}: {_cut(self.a)} and {_cut(self.b)}"

    @classmethod
    def of(cls, pair: Pair, schema: Schema) -> Case:
        """A pair that a schema made: tables, or where it has several, dictionaries of them by name."""
        if schema.tables:
            return cls._of_several(pair, schema)
        code = [
            "import datetime",
            "from math import inf, nan",
            "from discreet.auditor.neighbours import Pair",
            f"pair = {pair!r}",
            "a, b = pair.before, pair.after",
        ]
        return cls(pair.name, pair.before, pair.after, "\n".join(code), pair)

    @classmethod
    def _of_several(cls, pair: Pair, schema: Schema) -> Case:
        assert isinstance(schema.unit, Person)
        tables, id = tuple(schema.tables), schema.unit.id
        code = [
            "import datetime",
            "from math import inf, nan",
            "from discreet.auditor.neighbours import Pair, split",
            f"pair = {pair!r}",
            f"a, b = (split(one, {tables!r}, {id!r}) for one in (pair.before, pair.after))",
        ]
        return cls(pair.name, split(pair.before, tables, id), split(pair.after, tables, id), "\n".join(code), pair)


def read_pairs(pairs: object, origin: str = "pairs") -> list[Case]:
    """Pairs that somebody wrote down; ``origin`` is a Python expression for them, where inputs are not literals.

    >>> [case.words for case in read_pairs([([1, 5], [1])])]
    ['pair 1: [1, 5] and [1]']
    """
    if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Sequence) or not pairs:
        raise ParameterError(f"An audit needs a list of pairs of neighbouring inputs; {_EXAMPLE}.")
    for pair in pairs:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise ParameterError(f"Every pair is two neighbouring inputs (a, b); {_EXAMPLE}.")
    return [Case(f"pair {i + 1}", a, b, _code(a, b, origin, i)) for i, (a, b) in enumerate(pairs)]


def make_cases(schema: Schema) -> list[Case]:
    """Neighbours at their worst, as Arrow tables, for the facts that a data owner declares."""
    return [Case.of(pair, schema) for pair in extreme_pairs(schema)]


def read_schema(file: str | os.PathLike[str]) -> Schema:
    """The columns and the protected unit of an owner's file, such as hospital.toml; its tables are not opened."""
    from discreet.curator.configuration import read

    facts = read(file)
    if isinstance(facts["source"], dict):
        return Schema.of_tables(cast(dict[str, dict[str, Column]], facts["columns"]), facts["unit"])
    return Schema(cast(dict[str, Column], facts["columns"]), facts["unit"])


def _code(a: object, b: object, origin: str, place: int) -> str:
    """The pair as literals if Python can read them back, else where it is found."""
    try:
        text = f"{a!r}, {b!r}"
        if len(text) <= _LONGEST and ast.literal_eval(text) == (a, b):
            return f"a, b = {text}"
    except Exception:  # no literals, then
        pass
    return f"pairs = list({origin})\na, b = pairs[{place}]"


def _cut(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = type(value).__name__
    return clean(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
