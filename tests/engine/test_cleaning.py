"""The SQL of cleaning against its meaning in plain Python, on cells that break engines, through every kind of source."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine.cells import CELLS, COLUMNS, MIXED, TEXTS
from engine.reference import reference_clean, reference_id
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples, turns
from support.reopened import raw_session

from discreet.engine.duckdb.cleaning import clean, clean_id, clean_key, in_doubles
from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sources.source import open_source
from discreet.engine.sql.dialect import quoted
from discreet.errors import ParameterError
from discreet.schema.columns import Column, Integer, category, integer, number, text


def cleaned(source: object, name: str = "x", columns: dict[str, Column] = COLUMNS) -> dict[str, list[object]]:
    """What every declaration makes of one raw column, and its ids."""
    opened = open_source(source)
    raw = opened.raw[name]
    wanted = [f"{clean(column, quoted(name), raw)} AS {quoted(said)}" for said, column in columns.items()]
    with raw_session(opened) as session:
        answer = session.fetch(
            f"SELECT {', '.join(wanted)}, CAST({clean_id(quoted(name), raw)} AS VARCHAR) AS id FROM {DuckDBSession.relation}"
        )
    return {said: answer[said] for said in [*columns, "id"]}


def expected(cells: Sequence[object], columns: dict[str, Column] = COLUMNS) -> dict[str, list[object]]:
    return {said: [reference_clean(column, cell) for cell in cells] for said, column in columns.items()}


def agree(found: dict[str, list[object]], cells: Sequence[object]) -> None:
    for said, values in expected(cells, {said: COLUMNS[said] for said in found if said != "id"}).items():
        assert [(repr(c)[:60], type(v), v) for c, v in zip(cells, found[said], strict=True)] == [
            (repr(c)[:60], type(v), v) for c, v in zip(cells, values, strict=True)
        ], said


@pytest.mark.parametrize("held", CELLS)
def test_arrow_polars_and_parquet_clean_as_the_reference_does(held: str, tmp_path: Path) -> None:
    """Arrow's cells by every declaration; those of the others, which are read in another way, usually by a third each."""
    kind, cells = CELLS[held]
    turn = [*CELLS].index(held)
    table = pa.table({"x": pa.array(cells, kind)})
    agree(cleaned(table), cells)
    if held != "widest decimal":  # of which polars and DuckDB's reader know nothing
        pq.write_table(table, tmp_path / "x.parquet")
        agree(cleaned(tmp_path / "x.parquet", columns=turns(COLUMNS, turn)), cells)
    if held not in ("widest decimal", "half"):
        agree(cleaned(pl.from_arrow(table), columns=turns(COLUMNS, turn + 1)), cells)


@pytest.mark.parametrize("held", sorted(set(CELLS) - {"int64", "uint64"}))
def test_pandas_cleans_as_the_reference_does(held: str) -> None:
    kind, cells = CELLS[held]
    columns = turns(COLUMNS, [*CELLS].index(held), 2)
    agree(cleaned(pa.table({"x": pa.array(cells, kind)}).to_pandas(), columns=columns), cells)


@pytest.mark.parametrize("kind", ["Int64", "int64[pyarrow]", "object"])
def test_whole_numbers_of_pandas_are_exact(kind: str) -> None:
    cells = CELLS["int64"][1]
    agree(cleaned(pd.DataFrame({"x": pd.Series(cells, dtype=kind)})), cells)


def test_csv_cleans_as_the_reference_does(tmp_path: Path) -> None:
    cells = [cell or None for cell in TEXTS]  # an empty field is missing
    with open(tmp_path / "x.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["x", "y"], *([cell, 1] for cell in cells)])
    agree(cleaned(tmp_path / "x.csv"), cells)


def test_mixed_objects_of_pandas_have_each_their_own_fate() -> None:
    frame = pd.DataFrame({"x": pd.Series(MIXED, dtype=object)})
    found = cleaned(frame)
    agree(found, MIXED)
    assert found["id"][:-1] == [reference_id(cell) for cell in MIXED][:-1]  # the last is beyond what a text of digits may cost


SMALL: list[object] = [
    None,
    0,
    1,
    5,
    -3,
    5.0,
    5.7,
    math.nan,
    math.inf,
    -0.0,
    True,
    False,
    "5",
    "5.0",
    "true",
    "yes",
    "",
    "2020-01-01",
]


@settings(deadline=None, max_examples=examples(15))
@given(st.lists(st.sampled_from(SMALL), min_size=1, max_size=6))
def test_no_row_decides_another_rows_fate(cells: list[object]) -> None:
    """pandas chooses a column's type by all its cells; what one becomes must not show it."""
    agree(cleaned(pd.DataFrame({"x": cells})), cells)


@settings(deadline=None, max_examples=examples(8))
@given(st.lists(st.floats() | st.integers(-(2**53), 2**53).map(lambda n: n / 200), min_size=20, max_size=100))
def test_any_double_cleans_as_the_reference_does(cells: list[float]) -> None:
    agree(cleaned(pa.table({"x": pa.array(cells, pa.float64())})), cells)


@settings(deadline=None, max_examples=examples(8))
@given(st.lists(st.text() | st.from_regex(r"[+-]?[0-9]{0,25}[.]?[0-9]{0,25}(e[+-]?[0-9]{1,3})?", fullmatch=True), max_size=60))
def test_any_text_cleans_as_the_reference_does(cells: list[str]) -> None:
    numbers = {said: column for said, column in COLUMNS.items() if "day" not in said}  # DuckDB reads more spellings of dates
    cells = [cell for cell in cells if cell.isascii() or cell.lower().strip() not in ("true", "false")]
    found = cleaned(pa.table({"x": pa.array(cells, pa.string())}), columns=numbers)
    assert {said: found[said] for said in numbers} == expected(cells, numbers)


@settings(deadline=None, max_examples=examples(15))
@given(st.lists(st.integers(-(2**127) + 1, 2**127 - 1), min_size=1, max_size=40))
def test_integers_of_any_width_are_clamped_exactly(cells: list[int]) -> None:
    column = integer(-(2**63) + 1, 2**63 - 1)
    with raw_session(open_source(pa.table({"x": [1]}))) as session:
        for kind in ("HUGEINT", "UHUGEINT"):
            held = cells if kind == "HUGEINT" else [2 * abs(cell) for cell in cells]
            rows = ", ".join(f"('{cell}'::{kind})" for cell in held)
            sql = f"SELECT {clean(column, 'x', kind)} AS v FROM (VALUES {rows}) AS t(x)"
            assert sorted(session.fetch(sql)["v"]) == sorted(reference_clean(column, cell) for cell in held)


@pytest.mark.parametrize(
    "kind", ["INTEGER[]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UUID", "TIME", "INTERVAL", "BLOB", "ENUM('a', 'b')"]
)
def test_types_that_are_no_plain_values_clean_without_an_error(kind: str) -> None:
    source = pa.table({"x": [1]})
    with raw_session(open_source(source)) as session:
        for column in COLUMNS.values():
            sql = f"SELECT {clean(column, 'x', kind)} AS v, {clean_id('x', kind)} AS i FROM (SELECT NULL::{kind} AS x)"
            assert session.fetch(sql)["v"] == [reference_clean(column, None)]


def test_infinite_and_endless_moments_are_clamped_or_missing() -> None:
    far = {"DATE": "infinity", "TIMESTAMP": "infinity", "TIMESTAMP WITH TIME ZONE": "infinity"}
    column = COLUMNS["day"]
    with raw_session(open_source(pa.table({"x": [1]}))) as session:
        for kind, value in far.items():
            for sign, end in (("", column.upper), ("-", column.lower)):
                sql = f"SELECT {clean(column, 'x', kind)} AS v FROM (SELECT '{sign}{value}'::{kind} AS x)"
                assert session.fetch(sql)["v"] == [end]
    late = pa.table({"x": pa.array([2**62, 0], pa.timestamp("s"))})
    assert cleaned(late)["day"] == [None, reference_clean(column, "1970-01-01")]


def test_a_number_never_leaves_its_bounds_by_rounding() -> None:
    top = 2**53 - 1
    cells = [float(top), float(top - 1), float(2**52 + 1), float(-top), 2.0**52 - 0.5]
    found = cleaned(pa.table({"x": cells}))["odd"]
    assert found[:4] == [top, top - 1, 2**52 + 1, -top]
    assert all(-top <= value <= top for value in found)


def test_a_key_is_cleaned_without_its_list() -> None:
    table = pa.table({"x": ["yes", "other", None]})
    with raw_session(open_source(table)) as session:
        sql = f"SELECT {clean_key(category('yes', missing='yes'), 'x', 'VARCHAR')} AS v FROM {DuckDBSession.relation}"
        assert session.fetch(sql)["v"] == ["yes", "other", None]


def test_missing_is_rounded_to_the_grid() -> None:
    table = pa.table({"x": pa.array([None], pa.float64())})
    column = number(0, 1, step=Fraction(1, 4), missing=Fraction(3, 5))
    assert cleaned(table, columns={"c": column})["c"] == [2]


def test_a_step_that_no_double_can_hold_is_refused() -> None:
    with pytest.raises(ParameterError, match="step"):
        clean(number(0, Fraction(1, 10**390), step=Fraction(1, 10**400)), "x", "DOUBLE")


def test_ids_keep_what_cleaning_would_change() -> None:
    cells = ["007", "7", " 7", "", None, "nan"]
    assert cleaned(pa.table({"x": cells}), columns={"t": text()})["id"] == ["007", "7", " 7", None, None, "nan"]
    assert cleaned(pa.table({"x": [5.0, math.nan, 0.1, -0.0]}), columns={"t": text()})["id"] == ["5", None, "0.1", "0"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_nanoseconds_mean_the_same_in_frames_files_and_databases(zone: str | None, tmp_path: Path) -> None:
    """They are rounded down, before 1970 too; also the first and the last, which DuckDB calls infinite."""
    cells = [0, -1, 999, 1500, -1500, 1577836800123456789, -1577836800123456789, 2**63 - 1, -(2**63) + 1, -(2**63), None]
    frame = pa.table({"x": pa.array(cells, pa.timestamp("ns", zone))})
    pq.write_table(frame, tmp_path / "x.parquet")
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        database.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path / 'x.parquet'}'")
    found = cleaned(frame, columns=turns(COLUMNS, zone is None, 2, always=("day", "any day", "note")))
    assert found["id"][:3] == ["1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:00"]
    for file in ("x.parquet", "x.duckdb"):
        assert cleaned(tmp_path / file, columns={said: COLUMNS[said] for said in found if said != "id"}) == found


NARROW = {
    "x": number(-3, 100, step=0.1),
    "few": number(0, 2, step=1),
    "two": number(0, 1, step=1),
    "large": number(-(2**48), 2**48, step=1),
    "larger": number(0, 2**52, step=1),
    "far": number(10**9, 10**9 + 3, step=0.01),
    "third": number(0, 1, step=Fraction(1, 3)),
}


def test_bounds_are_kept_to_the_last_bit() -> None:
    """Around every bound, and around half a step outside it, one double after the other."""
    cells = [math.inf, -math.inf, math.nan, 1e308, -1e308, 5e-324, -0.0]
    for column in NARROW.values():
        for bound in (column.lower, column.upper):
            for away in (-1, -0.5, -0.4, -0.25, -0.1, 0, 0.1, 0.25, 0.4, 0.5, 1):
                near = float(bound) + away * float(column.step)
                cells += [near, *(math.nextafter(near, end) for end in (-math.inf, math.inf))]
    found = cleaned(pa.table({"x": cells}), columns=dict(NARROW))
    for said, values in expected(cells, dict(NARROW)).items():
        assert [(cell, one) for cell, one in zip(cells, found[said], strict=True)] == list(zip(cells, values, strict=True)), said


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
@pytest.mark.parametrize("missing", [None, 7])
@pytest.mark.parametrize("bounds", [(0, 120), (0, 1), (7, 8), (-5, 2**22), (-(2**48), 2**48), (2**47, 2**47 + 9), (-3, -1)])
def test_whole_numbers_are_the_same_as_doubles(kind: str, missing: int | None, bounds: tuple[int, int]) -> None:
    """Also of cells beyond 2^53, of which several are one double."""
    held = pa.type_for_alias(kind)
    near = [end + step for end in (*bounds, 0, 2**31, 2**53, 2**63, -(2**53), -(2**63)) for step in (-513, -2, -1, 0, 1, 2, 513)]
    wide = 2 ** (held.bit_width - (held.to_pandas_dtype()(0).dtype.kind == "i"))
    low = -wide if held.to_pandas_dtype()(0).dtype.kind == "i" else 0
    cells = [cell for cell in near if low <= cell < wide] + [None]
    column = integer(*bounds, missing=missing if missing is None or bounds[0] <= missing <= bounds[1] else None)
    opened = open_source(pa.table({"x": pa.array(cells, held)}))
    assert isinstance(column, Integer)
    assert in_doubles(column, opened.raw["x"])
    with raw_session(opened) as session:
        texts = [clean(column, quoted("x"), opened.raw["x"], doubles=doubles) for doubles in (False, True)]
        found = session.fetch(f"SELECT {texts[0]} AS a, {texts[1]} AS b FROM {DuckDBSession.relation}")
    assert {*map(type, found["b"])} <= {float, type(None)}
    assert found["a"] == found["b"] == [reference_clean(column, cell) for cell in cells]


def test_whole_numbers_that_doubles_may_confuse_are_not_cleaned_as_such() -> None:
    wide, plain = integer(0, 2**48 + 1), integer(0, 120)
    assert isinstance(wide, Integer)
    assert isinstance(plain, Integer)
    assert not in_doubles(wide, "BIGINT")
    assert not any(in_doubles(plain, kind) for kind in ("HUGEINT", "UBIGINT", "UHUGEINT", "DOUBLE", "VARCHAR", "BOOLEAN"))
