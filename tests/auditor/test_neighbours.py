"""Made-up pairs are neighbours, and among them is everything that broke somebody's library."""

from __future__ import annotations

import datetime
import math
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.auditor.neighbours import (
    STORAGES,
    Pair,
    extreme_pairs,
    find_type,
    list_ordinary,
    list_strange,
    names_groups,
    neighbours,
)
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

COLUMNS: dict[str, Any] = {
    "x": dp.integer(0, 300),
    "y": dp.number(-1, 1, step=0.25),
    "g": dp.category("a", "b"),
    "k": dp.category(1, 5),
    "t": dp.text(),
    "b": dp.boolean(),
    "d": dp.date("2020-01-01", "2020-12-31"),
}
UNITS: dict[str, Unit] = {
    "rows": dp.rows(),
    "rows replaced": dp.rows(neighbours="replace", size=7),
    "persons": dp.person("id", rows=2, groups=2),
    "persons replaced": dp.person("id", rows=2, groups=2, neighbours="replace"),
}


def are_neighbours(pair: Pair, unit: Unit) -> None:
    before, after = ([tuple(map(repr, row.values())) for row in table.to_pylist()] for table in (pair.before, pair.after))
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    assert pair.before.schema == pair.after.schema  # the types of columns are public
    if not isinstance(unit, Person):
        assert new.total() <= 1
        assert gone.total() <= (unit.neighbours == "replace")
        assert unit.neighbours != "replace" or len(before) == len(after)
        return
    names = [name for name, _ in pair.columns]
    persons = {row[names.index("id")] for row in (*gone, *new)}
    assert len(persons) <= 1
    if unit.neighbours == "add-remove":
        assert not persons & {row[names.index("id")] for row in before}  # all of a person comes or goes


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_extreme_pairs_are_neighbours(unit: Unit) -> None:
    schema = Schema(COLUMNS, unit)
    pairs = extreme_pairs(schema)
    for pair in pairs:
        are_neighbours(pair, unit)
        assert set(pair.before.column_names) == {*COLUMNS, *(["id"] if isinstance(unit, Person) else [])}
    assert pairs == extreme_pairs(schema)
    assert len({str(pair.name) for pair in pairs}) > 8


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_random_pairs_are_neighbours(unit: Unit) -> None:
    @settings(deadline=None, max_examples=examples(30))
    @given(neighbours(Schema(COLUMNS, unit), rows=4))
    def search(pair: Pair) -> None:
        are_neighbours(pair, unit)
        assert len(pair.rest) <= 4

    search()


def test_an_id_that_is_also_declared_is_one_column() -> None:
    schema = Schema({"x": dp.integer(0, 9), "id": dp.text()}, dp.person("id", rows=1, groups=1))
    assert extreme_pairs(schema)[0].before.column_names == ["x", "id"]
    settings(max_examples=1)(given(neighbours(schema))(lambda pair: are_neighbours(pair, schema.unit)))()


def test_extremes_are_there() -> None:
    def cells(unit: str, name: str) -> list[Any]:
        pairs = extreme_pairs(Schema(COLUMNS, UNITS[unit]))
        return [cell for pair in pairs for cell in pair.after[name].to_pylist()]

    numbers, reals, texts = cells("rows", "x"), cells("rows", "y"), cells("rows", "t")
    assert {0, 300, -1, 301, 2**53 + 1, 2**63 - 1, -(2**63), None, "1e308", "NaN", "-inf"} <= {*numbers}
    assert any(isinstance(x, float) and math.isnan(x) for x in reals)
    assert any(str(x) == "-0.0" for x in reals)
    assert {math.inf, -math.inf, 1e308, -1e308, 5e-324, -1.0, 1.0} <= {x for x in reals if isinstance(x, float)}
    assert {"Zorblax", "", "\N{SLIGHTLY SMILING FACE}" * 3, None} <= {*texts}
    assert max(len(x) for x in texts if x) == 10_000
    assert {datetime.date.min, datetime.date.max} <= {*cells("rows", "d")}


def test_persons_at_their_worst_are_there() -> None:
    pairs = {pair.name: pair for pair in extreme_pairs(Schema(COLUMNS, UNITS["persons"]))}
    assert len(pairs["1,000 rows of one person"].into) == 1000
    everywhere = pairs["one person in all groups"].after.to_pylist()
    assert {(row["g"], row["k"], row["b"]) for row in everywhere if row["id"] == "p-1"} == {
        (g, k, b) for g in "ab" for k in (1, 5) for b in (False, True)
    }
    assert len(pairs["one row too many"].into) == 3


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_cell_fits_the_type_of_its_column(name: str, storage: Any) -> None:
    column = COLUMNS[name]
    cells = [*list_ordinary(column, storage), *list_strange(column, storage)]
    assert pa.array(cells, pa.type_for_alias(find_type(column, storage))).null_count == 1
    assert names_groups(column) == (name in "gktb")


@given(st.integers(0, 5))
def test_a_pair_says_what_it_is(rows: int) -> None:
    pair = Pair("many", (("x", "int64"),), ((1,),) * rows, (), ((2,), (3,)))
    assert str(pair).startswith("many: nothing, against 2 rows (2,), (3,) of x")
    assert ("in common" in str(pair)) == bool(rows)
