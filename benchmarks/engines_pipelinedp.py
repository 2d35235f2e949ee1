"""PipelineDP on Spark, on the rows of ``benchmarks/engines_peers.py``: counts and sums by group of persons, bounded."""

from __future__ import annotations

import os
import sys
from operator import itemgetter

os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers run Python too

import pipeline_dp
from engines_processes import measured, session


def ask(file: str) -> list[object]:
    """Both at once, over rows that are Python's."""
    rows = session().read.parquet(file).select("person", "grp", "value").rdd.map(tuple)
    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=1e-6)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.SparkRDDBackend(session().sparkContext))
    asked = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
        max_partitions_contributed=3,
        max_contributions_per_partition=5,
        min_value=0,
        max_value=100,
    )
    columns = pipeline_dp.DataExtractors(
        privacy_id_extractor=itemgetter(0), partition_extractor=itemgetter(1), value_extractor=itemgetter(2)
    )
    found = engine.aggregate(rows, asked, columns, public_partitions=[f"g{i}" for i in range(100)])
    budget.compute_budgets()
    return [found.collect()]


if __name__ == "__main__":
    measured(ask, *sys.argv[1:])
