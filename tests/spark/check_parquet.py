"""Spark leaves out parts of a Parquet file by the least and the greatest cell that are noted of them: no row may decide by that
what becomes of another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date as day
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from engine.driving import PURE, agree, planned
from pyarrow import parquet
from spark.comparing import counted, engine_over

from discreet.schema.columns import Category, Column, category, date, integer, number, text
from discreet.schema.units import rows

GROUPED = "SELECT x, count(*) AS n FROM data GROUP BY x"


def write(file: Path, kind: pa.DataType, parts: Sequence[Sequence[object]]) -> Path:
    """A file with a part for each of these lists of cells, whose bounds are noted."""
    schema = pa.schema([("x", kind)])
    with parquet.ParquetWriter(file, schema, write_page_index=True) as writer:
        for cells in parts:
            writer.write_table(pa.table({"x": pa.array(cells, kind)}, schema=schema))
    return file


def same(question: str, declared: Column, cells: Sequence[object], file: Path, spark: Any) -> None:
    """Spark counts what the reference counts."""
    plan = planned(question, {"x": declared}, rows(), PURE)
    engine = engine_over(plan, file, spark)
    try:
        agree(plan, counted(engine, plan), [{"x": cell} for cell in cells])
    finally:
        engine.close()


@pytest.mark.diagonal
@pytest.mark.parametrize("test", ["x <= 3", "NOT x > 3", "x = 0 OR x = 3", None])
@pytest.mark.parametrize("beside", [[], [3.0], [255.0, 0.5], [None, -0.0, -7.0], [math.inf]], ids=repr)
@pytest.mark.parametrize("declared", [integer(-5, 5), integer(-5, 5, missing=2), number(0, 10, step=0.5), category(1, 3, 5)])
@pytest.mark.parametrize("written", ["doubles", "floats", "polars"])
def test_what_is_no_number_is_missing_whatever_stands_beside_it(
    interpreted: Any, written: str, declared: Column, beside: list[float | None], test: str | None, tmp_path: Path
) -> None:
    """Bounds leave NaN out, and -0.0 may stand for 0.0."""
    cells = [*[math.nan] * 4, *beside]
    file = tmp_path / "x.parquet"
    if written == "polars":
        pl.DataFrame({"x": [*cells, 9.0]}, schema={"x": pl.Float64}).write_parquet(file)
    else:
        write(file, pa.float64() if written == "doubles" else pa.float32(), [cells, [9.0]])
    sums = "count(x) AS n" if isinstance(declared, Category) else "count(x) AS n, sum(x) AS s"
    same(GROUPED if test is None else f"SELECT {sums} FROM data WHERE {test}", declared, [*cells, 9.0], file, interpreted)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "test", ["x = '\ufffd'", "x IN ('\ufffd', 'b')", "x > 'a'", "x LIKE '\ufffd%'", "x IS NOT NULL", "x <> 'b'"]
)
@pytest.mark.parametrize("beside", [[], [b"b"], [b"b", b"\xfe\xfe"], [b"\xef\xbf\xbd"], [None]], ids=repr)
@pytest.mark.parametrize("declared", [category("\ufffd", "b"), category("\ufffd", "b", missing="b"), text()])
def test_bad_bytes_have_one_fate_whatever_stands_beside_them(
    interpreted: Any, declared: Column, beside: list[bytes | None], test: str, tmp_path: Path
) -> None:
    """What is noted are the bytes, 0xff above all words; as a text they are the sign 0xefbfbd, below them. No list has them."""
    cells = pa.array([*[b"\xff"] * 4, *beside], pa.binary())
    bad = pa.Array.from_buffers(pa.string(), len(cells), cells.buffers())
    parquet.write_table(pa.table({"x": bad}), tmp_path / "x.parquet", write_page_index=True)
    words = [
        None if one is None or (isinstance(declared, Category) and one > b"\xef\xff") else one.decode("utf-8", "replace")
        for one in cells.to_pylist()
    ]
    same(f"SELECT count(*) AS n FROM data WHERE {test}", declared, words, tmp_path / "x.parquet", interpreted)


@pytest.mark.parametrize("test", ["= {0}", "< {0}", ">= {0}", "<> {0}"])
def test_comparisons_that_bounds_are_asked_are_of_what_is_declared(interpreted: Any, test: str, tmp_path: Path) -> None:
    """Every cell is a part of its own: beyond the bounds, missing, and as far from them as its type goes."""
    days = [day(1, 1, 1), day(2024, 1, 1), day(2024, 1, 5), day(2024, 1, 10), day(9999, 12, 31), None]
    file = write(tmp_path / "days.parquet", pa.date32(), [[one] for one in days])
    asked = f"SELECT count(*) AS n FROM data WHERE x {test}".format("DATE '2024-01-10'")
    same(asked, date("2024-01-01", "2024-01-10"), days, file, interpreted)
    whole = [-(2**63), -1, 0, 3, 5, 7, 2**63 - 1, None]
    file = write(tmp_path / "whole.parquet", pa.int64(), [[one] for one in whole])
    same(
        f"SELECT count(*) AS n, sum(x) AS s FROM data WHERE x {test}".format(5),
        integer(0, 5, missing=5),
        whole,
        file,
        interpreted,
    )
