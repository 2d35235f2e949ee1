"""Tumult Analytics on the rows of ``benchmarks/engines_peers.py``: counts and sums by group of persons, bounded."""

from __future__ import annotations

import os
import sys

os.environ["PYSPARK_PYTHON"] = sys.executable  # its workers run Python too

from engines_processes import measured, session
from tmlt.analytics import (
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)


def ask(file: str) -> list[object]:
    """One question for counts and one for sums: an evaluation gives one column."""
    rows = session().read.parquet(file)
    unit = AddRowsWithID(id_column="person")
    asked = Session.from_dataframe(privacy_budget=RhoZCDPBudget(1.0), source_id="data", dataframe=rows, protected_change=unit)
    keys = KeySet.from_dict({"grp": [f"g{i}" for i in range(100)]})
    bounded = QueryBuilder("data").enforce(MaxGroupsPerID("grp", 3)).enforce(MaxRowsPerGroupPerID("grp", 5)).groupby(keys)
    queries = [bounded.count(), bounded.sum("value", 0, 100)]
    return [asked.evaluate(query, RhoZCDPBudget(0.2)).collect() for query in queries]


if __name__ == "__main__":
    measured(ask, *sys.argv[1:])
