"""Runs in a process of its own: a cluster of two workers, one of which is killed while a question is counted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from engine.driving import RHO, planned
from pyspark.sql import SparkSession
from spark.comparing import counted
from spark.conftest import JAVA

from discreet.errors import EngineError
from discreet.schema.columns import category, integer
from discreet.schema.units import person

QUESTION = "SELECT code, count(*) AS n, sum(age) AS s, median(age) AS m FROM data GROUP BY code"
SIZE = 400_000


def asked() -> Any:
    return planned(QUESTION, {"code": category(*range(20)), "age": integer(0, 120)}, person("id", rows=2, groups=2), RHO)


def rows(spark: Any) -> Any:
    """Rows that both engines can make."""
    return spark.range(0, SIZE, 1, 12).selectExpr("id * id % 4001 AS id", "id * 7 % 23 AS code", "id * 31 % 127 AS age")


def shown(found: dict[Any, Any]) -> dict[str, Any]:
    return {str(key[0]): values for key, values in found.items()}


def executors(driver: int) -> list[int]:
    listed = subprocess.run(["pgrep", "-f", "-P", str(driver), "CoarseGrainedExecutorBackend"], capture_output=True, text=True)
    return [int(pid) for pid in listed.stdout.split()]


def main() -> None:
    spark = (
        SparkSession.builder.master("local-cluster[2,1,600]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.memory", "600m")
        .config("spark.driver.memory", "600m")
        .config("spark.sql.shuffle.partitions", "6")
        .config("spark.driver.extraJavaOptions", JAVA)
        .config("spark.executor.extraJavaOptions", JAVA)
        .getOrCreate()
    )
    children = subprocess.run(["pgrep", "-P", str(os.getpid()), "java"], capture_output=True, text=True).stdout.split()
    driver = int(children[0])
    plan = asked()
    from discreet.engine import open_engine, open_source

    engine = open_engine(open_source(rows(spark), columns=["code", "age", "id"]), plan.private, {})
    tracker, killed = spark.sparkContext.statusTracker(), list[int]()

    def kill() -> None:
        """One worker, when some tasks of a shuffle are done and others are not."""
        while not killed:
            for stage in map(tracker.getStageInfo, tracker.getActiveStageIds()):
                if stage is not None and stage.numTasks > stage.numCompletedTasks > 0 and executors(driver):
                    killed.append(executors(driver)[0])
                    os.kill(killed[0], signal.SIGKILL)
                    return
            time.sleep(0.005)

    watcher = threading.Thread(target=kill, daemon=True)
    watcher.start()
    found: Any = shown(counted(engine, plan))
    spark.stop()
    try:
        said: Any = shown(counted(engine, plan))
    except EngineError as failure:
        said = str(failure)
    Path(sys.argv[1]).write_text(json.dumps({"killed": killed, "found": found, "stopped": said}))


if __name__ == "__main__":
    main()
