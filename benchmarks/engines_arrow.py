"""DuckDB, over an Arrow table in memory: what ``benchmarks.engines`` needs to know of it. For ratios only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow

from benchmarks.engines import peak_here as peak
from benchmarks.engines import used_here as used

__all__ = ["GROWTH", "RATIOS", "close", "make", "peak", "plain", "source", "used"]

RATIOS = (5_000_000, 10_000_000)
GROWTH = ()


def make(columns: str, rows: int, folder: Path) -> pyarrow.Table:  # noqa: ARG001
    with duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")
        return database.sql(f"SELECT {columns} FROM range({rows})").to_arrow_table()


def source(made: pyarrow.Table) -> pyarrow.Table:
    return made


def plain(made: pyarrow.Table, sql: str) -> Callable[[], object]:
    database = duckdb.connect(config={"preserve_insertion_order": "false"})
    database.register("data", made)
    return lambda: database.execute(sql).fetchall()


def close(made: pyarrow.Table) -> None:
    """It goes with its last name."""
