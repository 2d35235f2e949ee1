"""What Spark makes of cells and counts of rows, value by value: decided by the engine alone, whatever stands above it."""

from __future__ import annotations

from support.in_spark import check


def test_cells_and_counts_in_spark() -> None:
    check("spark.check_cells", "spark.check_counting")
