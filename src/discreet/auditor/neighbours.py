"""Made-up neighbours: pairs of raw tables that differ in one protected unit, as a schema declares it.

>>> from discreet.schema import integer, rows
>>> pairs = extreme_pairs(Schema({"age": integer(0, 120)}, rows()))
>>> print(pairs[0])
nobody and one row: nothing, against 1 row (0,) of age
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.auditor.extremes import STORAGES, Storage, naming, ordinary, strange, type_name
from discreet.schema.table import Schema
from discreet.schema.units import Person

if TYPE_CHECKING:
    import pyarrow
    from hypothesis.strategies import SearchStrategy

__all__ = ["Maker", "Pair", "Row", "extreme_pairs", "neighbours"]

Row = tuple[object, ...]

_CROWD = 1000  # rows of one person
_MOST_GROUPS = 60


@dataclass(frozen=True)
class Pair:
    """Two tables with ``rest`` in common; one holds a unit's rows ``out`` instead of its rows ``into``."""

    name: str
    columns: tuple[tuple[str, str], ...]  # names, and Arrow's names of their types
    rest: tuple[Row, ...]
    out: tuple[Row, ...]
    into: tuple[Row, ...]

    @property
    def before(self) -> pyarrow.Table:
        return _table(self.columns, self.rest + self.out)

    @property
    def after(self) -> pyarrow.Table:
        return _table(self.columns, self.rest + self.into)

    def __str__(self) -> str:
        names = ", ".join(name for name, _ in self.columns)
        common = f"; in common {_listed(self.rest)}" if self.rest else ""
        return f"{self.name}: {_listed(self.out)}, against {_listed(self.into)} of {names}{common}"


def extreme_pairs(schema: Schema) -> list[Pair]:
    """Neighbours at their worst: the same list every time, the simplest first."""
    return [pair for storage in STORAGES for pair in Maker(schema, storage).pairs()]


def neighbours(schema: Schema, *, rows: int = 8) -> SearchStrategy[Pair]:
    """Neighbours as a strategy of ``hypothesis``, which comes with the extra ``audit``; up to so many rows each."""
    from hypothesis import strategies as st

    def pair(storage: Storage) -> SearchStrategy[Pair]:
        maker = Maker(schema, storage)
        anything = {"int64": st.integers(-(2**63), 2**63 - 1), "double": st.floats(), "string": st.text(max_size=20)}
        cells = [
            st.sampled_from([*ordinary(column, storage), *strange(column, storage)])
            | anything.get(type_name(column, storage), st.none())
            for column in maker.columns.values()
        ]
        row = st.tuples(*cells)
        mine = st.lists(row, min_size=1, max_size=rows if maker.person else 1)
        other = mine if maker.replaces else st.just([])
        rest = st.lists(row, max_size=rows)
        return st.builds(
            lambda rest, out, into: maker.pair("made up", [maker.of(i % 4, row) for i, row in enumerate(rest)], out, into),
            rest,
            other,
            mine,
        )

    return st.sampled_from(STORAGES).flatmap(pair)


class Maker:
    """Pairs of one schema, with columns stored in one way."""

    def __init__(self, schema: Schema, storage: Storage) -> None:
        unit = schema.unit
        self.person = unit if isinstance(unit, Person) else None
        self.replaces = unit.neighbours == "replace"
        self.columns = {name: c for name, c in schema.columns.items() if self.person is None or name != self.person.id}
        self._storage = storage
        types = tuple((name, type_name(column, storage)) for name, column in self.columns.items())
        id_type = "int64" if storage == "doubles" else "string"
        self._types = types if self.person is None else (*types, (self.person.id, id_type))

    def pair(self, name: str, rest: list[Row], out: list[Row], into: list[Row]) -> Pair:
        """``rest`` with their ids, the others without."""
        mine = [tuple(self.of(-1, row) for row in rows) for rows in (out, into)]
        return Pair(name, self._types, tuple(rest), *mine)

    def of(self, who: int, row: Row) -> Row:
        """A row of this person; -1 is the one who comes, goes or is replaced."""
        if self.person is None:
            return row
        return (*row, who if self._storage == "doubles" else f"p{who}")

    def pairs(self) -> Iterator[Pair]:
        low, high = self._ordinary(0), self._ordinary(1)
        rest = [self.of(i, self._ordinary(i)) for i in range(6)]
        out = [low] if self.replaces else []
        if self._storage == "declared":
            for row, other in ((low, high), (high, low)):
                name = "one row and another" if self.replaces else "nobody and one row"
                yield self.pair(name, [], [other] if self.replaces else [], [row])
            yield self.pair("a duplicate", [self.of(i, high) for i in range(4)], out, [high])
        odd = [*self._strange(names=False), *self._strange(names=True)]
        if self.person is None:
            for i, row in enumerate(odd):
                yield self.pair(f"strange row {i + 1} of {len(odd)}, stored as {self._storage}", rest, out, [row])
            return
        yield self.pair(f"all strange rows, stored as {self._storage}", rest, out, odd)
        if self._storage == "declared":
            yield from self._persons(rest, low, high)

    def _persons(self, rest: list[Row], low: Row, high: Row) -> Iterator[Pair]:
        """People with too much of everything."""
        assert self.person is not None
        lows, highs = self._everywhere(0), self._everywhere(1)
        out = lows if self.replaces else []
        yield self.pair("one person in all groups", rest, out, highs)
        yield self.pair("one person in all groups, at the other end", rest, highs if self.replaces else [], lows)
        yield self.pair("one person with everything", rest, out, [*highs, *lows] * self.person.rows)
        yield self.pair("1,000 rows of one person", rest, out, [high] * _CROWD)
        yield self.pair("1,000 rows of one person, at both ends", rest, out, [low, high] * (_CROWD // 2))
        yield self.pair("one row too many", rest, out, [high] * (self.person.rows + 1))
        half = len(highs) // 2
        yield self.pair("one person here or there", rest, highs[:half] if self.replaces else [], highs[half:])

    def _ordinary(self, i: int) -> Row:
        """All columns at their lower end, at their upper end, or between."""
        cells = [ordinary(column, self._storage) for column in self.columns.values()]
        return tuple(cell[i % len(cell)] for cell in cells)

    def _strange(self, *, names: bool) -> list[Row]:
        """Rows in which all names of groups, or else all other cells, are strange, and the others are not."""
        cells = {name: strange(column, self._storage) for name, column in self.columns.items() if naming(column) == names}
        rest = {name: ordinary(column, self._storage) for name, column in self.columns.items() if name not in cells}
        if names and self._storage != "declared" and all(self.columns[name].kind == "text" for name in cells):
            return []  # texts are stored as they were declared
        many = max((len(cell) for cell in cells.values()), default=0)
        chosen = {**cells, **rest}
        return [
            tuple(chosen[name][(i if name in cells else 1) % len(chosen[name])] for name in self.columns) for i in range(many)
        ]

    def _everywhere(self, end: int) -> list[Row]:
        """A row for every combination of names, other cells at one end."""
        cells = [ordinary(c, self._storage) if naming(c) else [ordinary(c, self._storage)[end]] for c in self.columns.values()]
        return list(itertools.islice(itertools.product(*cells), _MOST_GROUPS))


def _table(columns: tuple[tuple[str, str], ...], rows: tuple[Row, ...]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.table(
        {name: pyarrow.array([row[i] for row in rows], pyarrow.type_for_alias(kind)) for i, (name, kind) in enumerate(columns)}
    )


def _listed(rows: tuple[Row, ...]) -> str:
    if not rows:
        return "nothing"
    shown = ", ".join(_cut(row) for row in rows[:3]) + (", ..." if len(rows) > 3 else "")
    return f"{len(rows):,} row{'s' if len(rows) > 1 else ''} {shown}"


def _cut(row: Row) -> str:
    text = repr(row)
    return text if len(text) <= 120 else f"{text[:100]}..."
