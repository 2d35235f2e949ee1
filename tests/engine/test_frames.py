"""Frames: every cell becomes what it becomes by itself, and only what is asked for is touched."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.engine.duckdb.session import DuckDBSession
from discreet.engine.sources.frames import arrow_of, names_of, unmarked
from discreet.engine.sources.source import open_source


class Spy:
    """An object that must never be asked for its text."""

    def __str__(self) -> str:
        raise AssertionError("asked")

    __repr__ = __str__


def objects(*values: object) -> list[object]:
    frame = pd.DataFrame({"x": pd.Series(list(values), dtype=object)})
    return list(unmarked(arrow_of(frame, ("x",))).column("x").to_pylist())


def test_objects_become_the_texts_of_their_typed_likeness() -> None:
    stamp = pd.Timestamp("2020-01-01 23:00", tz="America/New_York")
    some = uuid.UUID(int=5)
    pairs: list[tuple[object, str | None]] = [
        ("a", "a"),
        (True, "true"),
        (np.bool_(False), "false"),
        (5, "5"),
        (np.int8(-5), "-5"),
        (5.0, "5"),
        (np.float32(0.1), "0.10000000149011612"),
        (1e300, "1e+300"),
        (float("nan"), None),
        (None, None),
        (pd.NA, None),
        (pd.NaT, None),
        (Decimal("5.50"), "5.5"),
        (Decimal("1e100000"), "1e+100000"),
        (Decimal("nan"), None),
        (Decimal("-inf"), "-inf"),
        (datetime.date(2020, 1, 1), "2020-01-01"),
        (datetime.datetime(2020, 1, 1, 10), "2020-01-01 10:00:00"),
        (stamp, "2020-01-02 04:00:00"),
        (np.datetime64("2020-01-01T10:00:00"), "2020-01-01 10:00:00"),
        (datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-5))), "10000-01-01 04:59:59.999999"),
        (datetime.time(10), None),
        (datetime.timedelta(hours=2), None),
        (3 + 0j, "3"),
        (complex("nan"), None),
        (1j, None),
        (some, str(some)),
        (b"abc", "abc"),
        (b"\xff", None),
        ("\ud800", None),
        (10**5000, "inf"),
        (-(10**5000), "-inf"),
        ([1, 2], None),
        ({"a": 1}, None),
        (1j, None),
        (Spy(), None),
    ]
    assert objects(*(value for value, _ in pairs)) == [text for _, text in pairs]
    for value, text in pairs:  # and alone
        assert objects(value) == [text]


@pytest.mark.parametrize("kind", ["complex128", "category", "period[D]", "timedelta64[ns]", "datetime64[s]", "interval"])
def test_every_type_of_pandas_is_read(kind: str) -> None:
    made = {
        "complex128": pd.Series([1j, 2j]),
        "category": pd.Series(["a", None], dtype="category"),
        "period[D]": pd.Series(pd.period_range("2020", periods=2)),
        "timedelta64[ns]": pd.Series(pd.to_timedelta([1, 2])),
        "datetime64[s]": pd.Series(["2020-01-01", None], dtype="datetime64[s]"),
        "interval": pd.Series(pd.interval_range(0, 2)),
    }[kind]
    with DuckDBSession(open_source(pd.DataFrame({"x": made}))) as session:
        assert session.fetch(f"SELECT count(*) AS n FROM {DuckDBSession.relation}") == {"n": [2]}


def test_only_the_columns_that_are_asked_for_are_converted() -> None:
    frame = pd.DataFrame({"age": [1], "spy": pd.Series([Spy()], dtype=object)})
    assert arrow_of(frame, ("age",)).column_names == ["age"]
    lazy = pl.LazyFrame({"age": [1], "word": ["a"]}).with_columns(pl.col("word").cast(pl.Int64, strict=True).alias("broken"))
    assert open_source(lazy, columns=["age"]).raw == {"age": "BIGINT"}


def test_a_frame_that_is_written_to_later_stays_as_it_was() -> None:
    frame = pd.DataFrame({"x": np.arange(3)})
    with DuckDBSession(open_source(frame)) as session:
        frame.loc[0, "x"] = 100
        assert session.fetch(f"SELECT sum(x)::BIGINT AS s FROM {DuckDBSession.relation}") == {"s": [3]}


def test_bytes_that_are_no_text_are_missing(tmp_path: Path) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 3], dtype=np.int32).tobytes())
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfea")])
    with DuckDBSession(open_source(pa.table({"x": broken}))) as session:
        assert session.fetch(f"SELECT lower(x) AS x FROM {DuckDBSession.relation}")["x"] == [None, "a"]
    pq.write_table(pa.table({"x": broken}), tmp_path / "x.parquet")
    with DuckDBSession(open_source(tmp_path / "x.parquet")) as session:
        assert session.fetch(f"SELECT lower(x) AS x FROM {DuckDBSession.relation}")["x"] == ["??", "a"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_moments_beyond_the_calendar_do_not_fail(unit: str, zone: str | None) -> None:
    cells = pa.array([2**62, -(2**62), 2**63 - 1, -(2**63) + 1, 1500, -1], pa.int64()).cast(pa.timestamp(unit, zone))
    with DuckDBSession(open_source(pa.table({"x": cells}))) as session:
        days = session.fetch(f"SELECT CAST(epoch_us(x) AS VARCHAR) AS t FROM {DuckDBSession.relation}")["t"]
    times = {"s": (1_500_000_000, -1_000_000), "ms": (1_500_000, -1_000), "us": (1500, -1), "ns": (1, -1)}[unit]
    assert days[-2:] == [str(time) for time in times]


def test_names_of_what_is_no_frame_are_none() -> None:
    assert names_of([1, 2]) is None
    assert names_of(pa.table({"a": [1]})) == ("a",)
