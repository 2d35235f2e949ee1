"""A cluster of two workers, one of which dies while it counts: the numbers are the same. Stopped, it can be asked no more."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
from spark.cluster import SIZE, asked, shown
from spark.comparing import counted, engine_over

TESTS = Path(__file__).parents[1]


def test_a_worker_that_dies_changes_no_number(tmp_path: Path) -> None:
    made = f"SELECT id * id % 4001 AS id, id * 7 % 23 AS code, id * 31 % 127 AS age FROM range({SIZE}) AS t(id)"
    plan = asked()
    with duckdb.connect() as database:
        expected = shown(counted(engine_over(plan, database.sql(made).to_arrow_table()), plan))
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "spark.cluster", str(tmp_path / "found.json")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["killed"]
    assert told["found"] == expected
    assert "Spark cannot be reached" in told["stopped"]
