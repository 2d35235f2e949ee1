"""Synthetic data of a table in Spark: the same numbers before noise as DuckDB's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synthetic.clinic import table
from synthetic.test_engines import compare


def test_spark_counts_what_duckdb_counts(spark: Any, tmp_path: Path) -> None:
    compare(tmp_path, {"duckdb": table(400), "spark": spark.createDataFrame(table(400))})
