"""Files of Parquet note the least and the greatest cell of a column, and leave out what has no place among them: no row may
decide by that what becomes of another."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from engine.driving import PURE, agree, count, planned
from pyarrow import parquet

from discreet.schema.columns import Column, category, integer, number, text
from discreet.schema.units import rows

NUMBERS: dict[str, Column] = {
    "whole": integer(-5, 5),
    "whole, filled": integer(-5, 5, missing=2),
    "one step": number(-5, 5, step=1),
    "halves": number(0, 10, step=0.5),
    "bits": number(0, 1, step=1),
    "code": category(1, 3, 5),
}
BESIDE: list[list[float | None]] = [[], [3.0], [-7.0], [255.0, 0.5], [None, 1.0], [math.inf]]


@pytest.mark.diagonal
@pytest.mark.parametrize("beside", BESIDE, ids=repr)
@pytest.mark.parametrize("declared", NUMBERS.values(), ids=NUMBERS)
def test_what_is_no_number_is_missing_whatever_stands_beside_it(
    declared: Column, beside: list[float | None], tmp_path: Path
) -> None:
    """Ten rows of NaN were the upper bound each, as soon as there was a number in another row."""
    cells = [*[math.nan] * 10, *beside]
    files = [tmp_path / f"{name}.parquet" for name in ("doubles", "floats", "polars")]
    parquet.write_table(pa.table({"x": pa.array(cells, pa.float64())}), files[0])
    parquet.write_table(pa.table({"x": pa.array(cells, pa.float32())}), files[1])
    pl.DataFrame({"x": cells}, schema={"x": pl.Float64}).write_parquet(files[2])
    sums = "count(x) AS n" if isinstance(declared, type(category(1))) else "count(x) AS n, sum(x) AS s"
    for question in (
        f"SELECT {sums} FROM data",
        f"SELECT {sums} FROM data WHERE x <= 3",
        "SELECT x, count(*) AS n FROM data GROUP BY x",
    ):
        plan = planned(question, {"x": declared}, rows(), PURE)
        for file in files:
            agree(plan, count(plan, str(file)), [{"x": cell} for cell in cells])


@pytest.mark.diagonal
@pytest.mark.parametrize("question", ["x = '?'", "x IN ('?', 'b')", "x < 'a'", "x LIKE '?%'", "x IS NOT NULL", "x <> 'b'"])
@pytest.mark.parametrize(
    "declared", [category("?", "b"), category("?", "b", missing="b"), text()], ids=["words", "filled", "text"]
)
def test_bad_bytes_are_question_marks_whatever_stands_beside_them(declared: Column, question: str, tmp_path: Path) -> None:
    """What is noted are the bytes: as soon as there was another word, no question mark was looked for among them."""
    file = tmp_path / "bytes.parquet"
    asked = [f"SELECT count(*) AS n FROM data WHERE {question}"]
    asked += ["SELECT x, count(*) AS n FROM data GROUP BY x"] if isinstance(declared, type(category(1))) else []
    for beside in ([], [b"b"], [b"b", b"\xfe\xfe"], [b"?"], [None]):
        cells = pa.array([*[b"\xff"] * 4, *beside], pa.binary())
        parquet.write_table(pa.table({"x": pa.Array.from_buffers(pa.string(), len(cells), cells.buffers())}), file)
        words = [None if one is None else one.decode("ascii", "replace").replace("\ufffd", "?") for one in cells.to_pylist()]
        for each in asked:
            plan = planned(each, {"x": declared}, rows(), PURE)
            agree(plan, count(plan, str(file)), [{"x": word} for word in words])
