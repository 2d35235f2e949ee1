"""A Spark of two cores and what it works: for peers that know nothing of discreet, in environments of their own."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any


@cache
def session() -> Any:
    """A driver with two cores, with the settings of ``benchmarks/engines_spark.py``."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.driver.memory", "4g")
    quiet = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.extraJavaOptions", "-XX:+UseSerialGC")
    return quiet.config("spark.sql.shuffle.partitions", "4").getOrCreate()


def used() -> float:
    """Seconds that this process worked, and all that it started: the driver, and Python's workers."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has just ended
                continue
            parents[int(entry.name)], ticks[int(entry.name)] = int(stat[1]), sum(map(int, stat[11:15]))

    def is_ours(process: int) -> bool:
        while process not in (0, os.getpid()):
            process = parents.get(process, 0)
        return process != 0

    return sum(ticks[one] for one in ticks if is_ours(one)) / os.sysconf("SC_CLK_TCK")


def measured(ask: Callable[[str], list[Any]], small: str, large: str) -> None:
    """What a question about the large table took once the same was asked about a small one, so that all is compiled."""
    ask(small)
    start, before = time.perf_counter(), used()
    found = ask(large)
    took = {"cpu": used() - before, "wall": time.perf_counter() - start, "lines": [len(one) for one in found]}
    print(json.dumps(took))
