"""DuckDB, over Parquet: what ``benchmarks.engines`` needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import duckdb

from benchmarks.engines import peak_here as peak
from benchmarks.engines import used_here as used

__all__ = ["GROWTH", "RATIOS", "close", "make", "peak", "plain", "source", "used"]

RATIOS = (5_000_000, 10_000_000)
GROWTH = (10**5, 10**6, 10**7, 10**8)


def make(columns: str, rows: int, folder: Path) -> str:
    file = str(folder / "data.parquet")
    with duckdb.connect() as database:
        database.execute("SET enable_progress_bar = false")
        database.execute(f"COPY (SELECT {columns} FROM range({rows})) TO '{file}' (FORMAT parquet)")
    return file


def source(made: str) -> str:
    return made


def plain(made: str, sql: str) -> Callable[[], object]:
    database = duckdb.connect(config={"preserve_insertion_order": "false", "memory_limit": "4GiB"})
    database.execute(f"CREATE VIEW data AS SELECT * FROM '{made}'")
    return lambda: database.execute(sql).fetchall()


def close(made: str) -> None:
    Path(made).unlink()
