"""Neighbours, made up: pairs of raw tables that differ in one protected unit, as a schema declares it, with cells at their worst.

Tables hold a column in the type its owner happens to have, so everything is tried as it was declared, as doubles (with what
doubles can say: NaN, infinities, -0.0) and as text.

>>> from discreet.schema import integer, rows
>>> pairs = extreme_pairs(Schema({"age": integer(0, 120)}, rows()))
>>> print(pairs[0])
nobody and one row: nothing, against 1 row (0,) of age
>>> list_strange(integer(0, 120), "declared")[:4]
[0, 120, -1, 121]
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.mechanisms.base import show_value
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Number, Text
from discreet.schema.table import Schema
from discreet.schema.units import Person

if TYPE_CHECKING:
    import pyarrow
    from hypothesis.strategies import SearchStrategy

Row = tuple[object, ...]
Storage = Literal["declared", "doubles", "text"]
STORAGES: tuple[Storage, ...] = ("declared", "doubles", "text")

_CROWD = 1000  # rows of one person
_MOST_GROUPS = 60
_LONG, _EXACT = 2**63, 2**53
_WORDS = ("Zorblax", "", " ", "\N{SLIGHTLY SMILING FACE}" * 3, "e\u0301", "a\0b", "'; DROP TABLE data; --", "x" * 10_000)
_NUMERALS = ("1e308", "-inf", "NaN", f"{_EXACT + 1}", f"{_LONG}", "-0.0", " 7 ", "0x10", "2026-02-30", "9" * 4000, *_WORDS[:4])


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
        common = f"; in common {_list_rows(self.rest)}" if self.rest else ""
        return f"{self.name}: {_list_rows(self.out)}, against {_list_rows(self.into)} of {names}{common}"


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
            st.sampled_from([*list_ordinary(column, storage), *list_strange(column, storage)])
            | anything.get(find_type(column, storage), st.none())
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
        ids = () if self.person is None else (self.person.id, *(f"{table}.{self.person.id}" for table in schema.tables))
        self.columns = {name: column for name, column in schema.columns.items() if name not in ids}
        self._storage = storage
        types = tuple((name, find_type(column, storage)) for name, column in self.columns.items())
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
        cells = [list_ordinary(column, self._storage) for column in self.columns.values()]
        return tuple(cell[i % len(cell)] for cell in cells)

    def _strange(self, *, names: bool) -> list[Row]:
        """Rows in which all names of groups, or else all other cells, are strange, and the others are not."""
        cells = {
            name: list_strange(column, self._storage) for name, column in self.columns.items() if names_groups(column) == names
        }
        rest = {name: list_ordinary(column, self._storage) for name, column in self.columns.items() if name not in cells}
        if names and self._storage != "declared" and all(self.columns[name].kind == "text" for name in cells):
            return []  # texts are stored as they were declared
        many = max((len(cell) for cell in cells.values()), default=0)
        chosen = {**cells, **rest}
        return [
            tuple(chosen[name][(i if name in cells else 1) % len(chosen[name])] for name in self.columns) for i in range(many)
        ]

    def _everywhere(self, end: int) -> list[Row]:
        """A row for every combination of names, other cells at one end."""
        cells = [
            list_ordinary(c, self._storage) if names_groups(c) else [list_ordinary(c, self._storage)[end]]
            for c in self.columns.values()
        ]
        return list(itertools.islice(itertools.product(*cells), _MOST_GROUPS))


def split(table: pyarrow.Table, tables: Iterable[str], id: str) -> dict[str, pyarrow.Table]:
    """Several private tables of one that was made up for all their columns: neighbours if the two made-up ones are.

    Every row is in each table with its own cells and the same person, unless all its cells there are missing: so some persons
    are on one side only.
    """
    import pyarrow

    found = {}
    for name in tables:
        columns = {full.split(".", 1)[1]: table[full] for full in table.column_names if full.startswith(f"{name}.")}
        made = pyarrow.table({**columns, id: table[id]})
        kept = [any(cell is not None for key, cell in row.items() if key != id) for row in made.to_pylist()]
        found[name] = made.filter(pyarrow.array(kept, pyarrow.bool_()))
    return found


def _table(columns: tuple[tuple[str, str], ...], rows: tuple[Row, ...]) -> pyarrow.Table:
    import pyarrow

    return pyarrow.table(
        {name: pyarrow.array([row[i] for row in rows], pyarrow.type_for_alias(kind)) for i, (name, kind) in enumerate(columns)}
    )


def _list_rows(rows: tuple[Row, ...]) -> str:
    if not rows:
        return "nothing"
    shown = ", ".join(show_value(row) for row in rows[:3]) + (", ..." if len(rows) > 3 else "")
    return f"{len(rows):,} row{'s' if len(rows) > 1 else ''} {shown}"


def find_type(column: Column, storage: Storage) -> str:
    """Arrow's name for the type of a column."""
    if storage == "text" or column.kind == "text":
        return "string"
    match column:
        case Date():
            return "date32" if storage == "declared" else "timestamp[us]"
        case Boolean():
            return "bool" if storage == "declared" else "int64"
        case Number():
            return "double"
    return "int64" if storage == "declared" else "double"


def names_groups(column: Column) -> bool:
    """Whether its values name groups of people, rather than measure anything."""
    return isinstance(column, (Category, Boolean, Text))


def list_ordinary(column: Column, storage: Storage) -> list[object]:
    """The least and the largest value, and one between; all values of a short list."""
    match column:
        case Text():
            return ["Oslo", "Bergen", "Roma"]
        case Category():
            return [_store(value, column, storage) for value in column.values[:20]]
        case Boolean():
            return [_store(value, column, storage) for value in (False, True)]
        case Date():
            noon = column.lower + (column.upper - column.lower) // 2
            return [_store(day, column, storage) for day in (column.lower, column.upper, noon)]
    middle = column.lower + (column.upper - column.lower) / column.step // 2 * column.step
    return [_store(number, column, storage) for number in (column.lower, column.upper, middle)]


def list_strange(column: Column, storage: Storage) -> list[object]:
    """The bounds, and whatever lies beyond them or is no such value at all."""
    cells = list_ordinary(column, storage)[:2]
    kind = find_type(column, storage)
    if kind == "string":
        cells += _WORDS if column.kind == "text" else _NUMERALS
        cells += [str(cell).upper() for cell in cells[:1]]
    elif kind == "double":
        low, high = (float(bound) for bound in _bounds(column))
        cells += [math.nextafter(low, -math.inf), math.nextafter(high, math.inf), math.nan, math.inf, -math.inf]
        cells += [-0.0, 1e308, -1e308, float(_EXACT + 2), 5e-324, low + (high - low) / 3]
    elif kind == "int64":
        low, high = (int(bound) for bound in _bounds(column))
        cells += [max(low - 1, -_LONG), min(high + 1, _LONG - 1), 0, _EXACT + 1, _LONG - 1, -_LONG]
    elif kind == "date32":
        cells += [datetime.date.min, datetime.date.max]
    elif kind == "timestamp[us]":
        cells += [datetime.datetime.min, datetime.datetime.max, datetime.datetime(2026, 1, 1, 23, 59, 59, 999_999)]
    return [*cells, None]


def _bounds(column: Column) -> tuple[Fraction | int, Fraction | int]:
    if isinstance(column, (Integer, Number)):
        return column.lower, column.upper
    if isinstance(column, Category):
        numbers = [value for value in column.values if isinstance(value, int)]
        return min(numbers), max(numbers)
    return 0, 1  # a truth value


def _store(value: object, column: Column, storage: Storage) -> object:
    """A value as a table of this kind holds it."""
    if storage == "text" and isinstance(value, datetime.date):
        return value.isoformat()
    if storage == "text" and isinstance(value, Fraction):
        return str(float(value)) if value.denominator > 1 else str(value.numerator)
    match find_type(column, storage):
        case "string":
            return str(value)
        case "double":
            return float(value)  # type: ignore[arg-type]
        case "int64":
            return int(value)  # type: ignore[call-overload]
        case "timestamp[us]":
            return datetime.datetime.combine(value, datetime.time())  # type: ignore[arg-type]
    return value
