"""Numbers and days as somebody wrote them in texts: read as declared and in no other way, and nothing else is touched."""

from __future__ import annotations

import csv
import datetime
import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine.cells import CELLS, COLUMNS, SPELLED, WRITTEN
from engine.cells import MIXED as MIXED_CELLS
from engine.reference import reference_clean
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.reopened import raw_session

from discreet.engine.duckdb.cleaning import MIXED, clean, clean_id
from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sources.source import open_source
from discreet.engine.sql.dialect import quoted, text_literal
from discreet.schema.columns import Column, date, integer, number, text


def read(source: object, columns: dict[str, Column]) -> dict[str, list[object]]:
    """What declarations make of the raw column ``x``."""
    opened = open_source(source)
    wanted = ", ".join(f"{clean(column, 'x', opened.raw['x'])} AS {quoted(said)}" for said, column in columns.items())
    with raw_session(opened) as session:
        return session.fetch(f"SELECT {wanted} FROM {DuckDBSession.relation}")


def texts(cells: Sequence[str | None]) -> pa.Table:
    return pa.table({"x": pa.array(cells, pa.string())})


def read_texts(column: Column, *cells: str | None) -> list[object]:
    return read(texts(cells), {"x": column})["x"]


def agree(source: object, columns: dict[str, Column], cells: Sequence[object]) -> None:
    for said, values in read(source, columns).items():
        wanted = [(repr(cell)[:60], reference_clean(columns[said], cell)) for cell in cells]
        assert [(repr(cell)[:60], value) for cell, value in zip(cells, values, strict=True)] == wanted, said


DECLARED = {said: column for said, column in COLUMNS.items() if column.kind == "number"} | WRITTEN


@pytest.mark.parametrize("held", sorted(CELLS))
def test_every_type_is_read_as_the_reference_reads_it(held: str) -> None:
    """Texts in the declared spelling, and everything that is no text as if nothing had been declared."""
    kind, cells = CELLS[held]
    agree(pa.table({"x": pa.array(cells, kind)}), WRITTEN, cells)


@pytest.mark.parametrize("way", ["arrow", "csv", "parquet", "polars"])
def test_every_way_in_reads_alike(way: str, tmp_path: Path) -> None:
    cells = [cell for cell in SPELLED if "\n" not in cell or way != "csv"]
    sources = {"arrow": texts(cells), "polars": pl.from_arrow(texts(cells))}
    if way == "csv":
        with open(tmp_path / "x.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["x", "y"], *([cell, 1] for cell in cells)])
    elif way == "parquet":
        pq.write_table(texts(cells), tmp_path / "x.parquet")
    agree(sources.get(way, tmp_path / f"x.{way}"), DECLARED, cells)


NUMERALS = st.from_regex(
    r"[ \t]?[+-]?[0-9]{1,4}([.,' \u00a0][0-9]{2,4}){0,3}([.,][0-9]{0,3})?(e[+-]?[0-9])?[ \n]?", fullmatch=True
)
LONG = st.from_regex(r"-?[1-9][0-9]{0,2}([.,][0-9]{3}){4,8}", fullmatch=True)


@settings(deadline=None, max_examples=examples(12))
@given(st.lists(NUMERALS | LONG | st.text("0123456789., '-+e", max_size=9), min_size=20, max_size=60))
def test_any_numeral_is_read_as_the_reference_reads_it(cells: list[str]) -> None:
    columns: dict[str, Column] = {f"number {sign}": number(-1000, 10**7, step=0.01, decimal=sign) for sign in ".,"}
    columns |= {f"integer {sign}": integer(-(2**63) + 1, 2**63 - 1, decimal=sign) for sign in ".,"}
    agree(texts(cells), columns, cells)


FORMATS = [
    "%d.%m.%Y",
    "%m/%d/%Y",
    "%Y%m%d",
    "%d%m%Y%H%M",
    "%d %b %Y",
    "%B%d, %Y",
    "%Y-%m-%dT%H:%M:%S",
    "%S:%M:%H %d-%m-%Y",
    "%d%b%Y",
]
DAYS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31))


@settings(deadline=None, max_examples=examples(15))
@given(st.sampled_from(FORMATS), st.lists(DAYS, min_size=1, max_size=20), st.data())
def test_any_day_is_read_as_the_reference_reads_it(format: str, days: list[datetime.datetime], data: st.DataObject) -> None:
    """Days that were written in the format are found again; what is left after a change of a few signs is as in the reference."""
    column = date("0001-01-01", "9999-12-31", format=format)
    cells = [day.strftime(format.replace("%Y", f"{day.year:04}")) for day in days]
    assert read_texts(column, *cells) == [day.date() for day in days]
    signs = st.tuples(st.integers(0, 20), st.sampled_from("019 ./-:T,xM\t\u0663"), st.integers(0, 1))
    for i, cell in enumerate(cells):
        place, sign, gone = data.draw(signs)
        cells[i] = cell[:place] + sign + cell[place + gone :]
    agree(texts(cells), {format: column}, cells)


def test_a_comma_or_a_point_is_the_decimal_sign() -> None:
    comma, point = number(0, 10_000, step=0.01, decimal=","), number(0, 10_000, step=0.01)
    cells = ["12,50", "12.50", "1.100,50", "1,100.50", "1 100,50", "1'100.50", "1.125", "1,125", "0.125", "0,125"]
    assert read_texts(comma, *cells) == [1250, None, 110050, None, 110050, None, 112500, 113, None, 13]
    assert read_texts(point, *cells) == [None, 1250, None, 110050, None, 110050, 113, 112500, 13, None]


def test_whole_numbers_with_groups_are_exact() -> None:
    column = integer(-(2**63) + 1, 2**63 - 1, decimal=",")
    cells = [
        "9.223.372.036.854.775.806",
        "9007199254740993",
        "9.007.199.254.740.993",
        "12,0",
        "12,5",
        "9.223.372.036.854.775.808",
    ]
    assert read_texts(column, *cells) == [2**63 - 2, 2**53 + 1, 2**53 + 1, 12, None, 2**63 - 1]


LOOSE = {  # what DuckDB reads of a text in a format: more than is meant
    "a day of one digit": ("5.3.2024", "%d.%m.%Y", "2024-03-05", "2024-03-05"),
    "space around": (" 05.03.2024\n", "%d.%m.%Y", "2024-03-05", "2024-03-05"),
    "names in any case": ("05 mAR 2024", "%d %b %Y", "2024-03-05", "2024-03-05"),
    "a year of two digits": ("05.03.24", "%d.%m.%Y", "0024-03-05", None),
    "no year": ("05.03.0", "%d.%m.%Y", "0001-03-05 (BC)", None),
    "infinity": ("infinity", "%d.%m.%Y", "1900-01-01", None),
    "minus infinity": ("-infinity", "%d.%m.%Y", "1900-01-01", None),
    "epoch": ("epoch", "%d.%m.%Y", "1900-01-01", None),
    "space between": ("05   Mar 2024", "%d %b %Y", "2024-03-05", None),
    "a digit too few": ("2024035", "%Y%m%d", "2024-03-05", None),
    "text behind": ("05.03.2024 BC", "%d.%m.%Y", None, None),
    "a sign": ("05.03.-2024", "%d.%m.%Y", None, None),
    "a fifth digit": ("05.03.20245", "%d.%m.%Y", None, None),
    "another name": ("05 March 2024", "%d %b %Y", None, None),
    "a leap second": ("05.03.2024 23:59:60", "%d.%m.%Y %H:%M:%S", None, None),
}


@pytest.mark.parametrize("case", LOOSE)
def test_days_are_read_less_loosely_than_duckdb_does(case: str) -> None:
    cell, format, theirs, ours = LOOSE[case]
    with duckdb.connect() as database:
        (found,) = database.execute("SELECT CAST(CAST(try_strptime(?, ?) AS DATE) AS VARCHAR)", [cell, format]).fetchone() or ()
    assert found == theirs
    day = None if ours is None else datetime.date.fromisoformat(ours)
    assert read_texts(date("0001-01-01", "9999-12-31", format=format), cell) == [day]


@pytest.mark.parametrize("held", sorted(set(CELLS) - {"int64", "uint64"}))
def test_pandas_reads_alike(held: str) -> None:
    kind, cells = CELLS[held]
    agree(pa.table({"x": pa.array(cells, kind)}).to_pandas(), WRITTEN, cells)


def test_mixed_objects_of_pandas_are_read_each_by_itself() -> None:
    cells = [*MIXED_CELLS, *SPELLED] * 20  # more than the engine reads at once
    agree(pd.DataFrame({"x": pd.Series(cells, dtype=object)}), WRITTEN, cells)


SMALL: list[object] = [None, 1.125, 1, 20240305, True, "1.125", "1,5", "x", "05.03.2024", "20240305", math.nan, Decimal("1.125")]
SMALL += [datetime.date(2024, 5, 3), "2024-05-03", datetime.datetime(2024, 5, 3, 10), b"1,5"]


@settings(deadline=None, max_examples=examples(20))
@given(st.lists(st.sampled_from(SMALL), min_size=1, max_size=6))
def test_no_row_decides_how_another_row_is_read(cells: list[object]) -> None:
    agree(pd.DataFrame({"x": cells}), WRITTEN, [cell.decode() if isinstance(cell, bytes) else cell for cell in cells])


MARKED: list[tuple[str | None, str]] = [(cell, mark) for cell in ("1.125", "2024-05-03", "") for mark in ("text", "value")]
MARKED += [("true", "value"), (None, "text")]


def test_a_text_among_values_does_not_decide_how_they_are_read() -> None:
    """The type of columns of mixed objects says which cells were texts."""
    columns: dict[str, Column] = {
        "number": number(0, 10**6, step=Fraction(1, 1000), decimal=","),
        "integer": integer(0, 10**6, decimal=","),
        "day": date("2000-01-01", "2030-01-01", format="%Y-%d-%m"),
        "text": text(),
    }
    wanted = [f"{clean(column, 'x', MIXED)} AS {said}" for said, column in columns.items()]
    said = [(mark, "NULL" if cell is None else text_literal(cell)) for cell, mark in MARKED]
    held = [f"row({cell}, NULL)" if mark == "text" else f"row(NULL, {cell})" for mark, cell in said]
    rows = [f"SELECT {i} AS i, {cell}::{MIXED} AS x" for i, cell in enumerate(held)]
    wanted.append(f"CAST({clean_id('x', MIXED)} AS VARCHAR) AS id")
    with raw_session(open_source(pa.table({"x": [1]}))) as session:
        found = session.fetch(f"SELECT {', '.join(wanted)} FROM ({' UNION ALL '.join(rows)}) ORDER BY i")
    turned, plain = datetime.date(2024, 3, 5), datetime.date(2024, 5, 3)
    assert found == {
        "number": [1125000, 1125, None, None, None, None, 1000, None],
        "integer": [1125, None, None, None, None, None, 1, None],
        "day": [None, None, turned, plain, None, None, None, None],
        "text": [cell for cell, _ in MARKED],
        "id": [cell or None for cell, _ in MARKED],
    }


def test_an_enumeration_is_made_of_texts() -> None:
    with raw_session(open_source(pa.table({"x": [1]}))) as session:
        sql = clean(number(0, 10, step=0.5, decimal=","), "x", "ENUM('1,5', '1.5')")
        cells = "SELECT unnest(['1,5', '1.5', NULL])::ENUM('1,5', '1.5') AS x"
        assert session.fetch(f"SELECT {sql} AS v FROM ({cells})")["v"] == [3, None, None]
