"""One odd cell changes the count of its own row, and nothing else: no error, and no other row's meaning."""

from __future__ import annotations

import datetime
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp

pytestmark = pytest.mark.usefixtures("reopened")

DECLARED = {
    "text": dp.text(),
    "category": dp.category("a", "b"),
    "boolean": dp.boolean(),
    "date": dp.date("1900-01-01", "2100-01-01"),
    "number": dp.number(0, 10),
    "comma": dp.number(0, 10, decimal=","),
    "day": dp.date("1900-01-01", "2100-01-01", format="%d.%m.%Y"),
}


def columns(cells: object) -> dict[str, object]:
    """The same cells in a column for every declaration."""
    return dict.fromkeys(DECLARED, cells)


def counted(source: object, folder: Path) -> dict[str, int]:
    """How many cells are there, under every declaration; noise of scale 1/1000 is 0 but once in 1e400."""
    budget, place = dp.Budget(epsilon=7000), folder / f"{len(list(folder.iterdir()))}.ledger"
    facts = {"unit": dp.rows(), "columns": DECLARED, "budget": budget, "people": f"the people of {place.name}"}
    asked = ", ".join(f'count("{name}") AS "{name}"' for name in DECLARED)
    with dp.Curator(source, ledger=place, **facts) as curator:  # type: ignore[arg-type]
        row = curator.sql(f"SELECT {asked} FROM data", epsilon=7000).rows()[0]
    return {name: int(row[name]) for name in DECLARED}


def same_but_for_one(without: dict[str, int], with_one: dict[str, int]) -> None:
    assert {name: with_one[name] - count in (0, 1) for name, count in without.items()} == dict.fromkeys(without, True)


TIMES = [pa.duration("s"), pa.duration("ms"), pa.time32("s"), pa.time64("us"), pa.time64("ns")]
STAMPS = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")]


@pytest.mark.spread(7)
@pytest.mark.parametrize(
    ("kind", "holder"),
    [
        *((kind, holder) for kind in TIMES for holder in ("arrow", "parquet")),
        *((kind, "arrow") for kind in STAMPS),
        *((kind, "polars") for kind in (pa.duration("ms"), pa.timestamp("us"))),
    ],
    ids=str,
)
def test_cells_beyond_every_calendar(kind: pa.DataType, holder: str, tmp_path: Path) -> None:
    wide, top = (pa.int32(), 2**31 - 1) if pa.types.is_time32(kind) else (pa.int64(), 2**63 - 1)
    if holder == "parquet" and pa.types.is_duration(kind):
        top = 10**12  # farther ones have no place in a file

    def held(cells: list[int]) -> object:
        table = pa.table(columns(pa.array(cells, wide).view(kind)))
        if holder == "parquet":
            pq.write_table(table, tmp_path / "x.parquet")
            return tmp_path / "x.parquet"
        return pl.from_arrow(table) if holder == "polars" else table

    without = counted(held([3, 5, 7]), tmp_path)
    same_but_for_one(without, counted(held([3, 5, 7, top]), tmp_path))
    beside = counted(held([3, 5, 7, top, top - 1, -top, -top - 1]), tmp_path)  # at both ends, none of which changes the three
    assert all(0 <= beside[name] - count <= 4 for name, count in without.items())


HOURS = pd.Timedelta(hours=2)


ODD = [
    (5.0, 1j),
    (5.0, complex("nan")),
    (5, 1j),
    (HOURS, "?"),
    (HOURS, 5),
    (datetime.time(3), "?"),
    (pd.Timestamp("2020-01-01"), HOURS),
    (True, 1j),
    ("a", HOURS),
    ([1], "a"),
    ("1,5", b"7"),
    ("é", b"x"),
    ("31.12.2020", b"?"),
    ("1,5", 2**64),
    (1, 2**64),
    (pd.Interval(0, 1), "a"),
    (b"a", "\ud800"),
    (b"\xff", "a"),
]


@pytest.mark.spread(10)
@pytest.mark.parametrize(
    ("others", "odd", "kind"),
    [*((*pair, "found") for pair in ODD), *((*pair, ("object", "category")[i % 2]) for i, pair in enumerate(ODD))],
    ids=ascii,
)
def test_the_type_of_one_cell_says_nothing_about_the_others(others: object, odd: object, kind: str, tmp_path: Path) -> None:
    def held(*cells: object) -> pd.DataFrame:
        column = pd.Series(cells, dtype=None if kind == "found" else object)
        hashable = all(not isinstance(cell, list) for cell in cells)
        return pd.DataFrame(columns(column.astype("category") if kind == "category" and hashable else column))

    same_but_for_one(counted(held(*[others] * 20), tmp_path), counted(held(*[others] * 20, odd), tmp_path))


@pytest.mark.parametrize("holder", ["pandas", "arrow", "dictionary", "polars", "parquet", "database"])
def test_bytes_are_the_texts_they_spell(holder: str, tmp_path: Path) -> None:
    cells = [b"1,5", "é".encode(), b"31.12.2020", b"\xff", None]
    table = pa.table(columns(pa.array(cells, pa.binary())))
    source: object = {
        "pandas": lambda: pd.DataFrame(columns(cells)),
        "arrow": lambda: table,
        "dictionary": lambda: pa.table(columns(table.column("text").dictionary_encode())),
        "polars": lambda: pl.from_arrow(table),
    }.get(holder, lambda: tmp_path / f"x.{holder}")()
    if holder == "parquet":
        pq.write_table(table, tmp_path / "x.parquet")
    if holder == "database":
        source = tmp_path / "x.duckdb"
        with duckdb.connect(str(source)) as database:
            database.register("given", table)
            database.execute("CREATE TABLE t AS SELECT * FROM given")
    found = counted(source, tmp_path)
    assert (found["text"], found["comma"], found["day"], found["number"]) == (3, 1, 1, 0)
