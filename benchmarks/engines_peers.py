"""Spark beside Spark: counts and sums by group of persons, each in at most three groups with five rows, by discreet, Tumult
Analytics and PipelineDP.

The same Parquet files, two cores, the same settings of the driver, each on the Spark that it supports and in an environment of
its own. Every one is asked about a small table first, so that all is compiled, and then once about the large one. Time is that of
all processes: this one, the driver, and workers that run Python. discreet rehearses the question and pays in a ledger, twice
durably; sums and counts are all that is asked, because a mean is made of them for nothing. Exit code 1 where it is not five times
faster.

    python -m benchmarks.engines_peers [MILLIONS [engines_tumult] [engines_pipelinedp]]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

MOST = 5  # times as fast, at least
PEERS = {"engines_tumult": "Tumult Analytics 0.21, Spark 3.5", "engines_pipelinedp": "PipelineDP 0.3.1, Spark 3.5"}
QUESTION = "SELECT grp, count(*) AS n, sum(value) AS s FROM data GROUP BY grp"


def ask(file: str) -> list[object]:
    """The whole of a question: parsing, pricing, rehearsal, two entries of a ledger, counting, noise."""
    import discreet as dp
    from benchmarks.engines_processes import session

    session()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(XDG_STATE_HOME=folder, LOCALAPPDATA=folder)
        columns = {"grp": dp.category(*(f"g{i}" for i in range(100))), "value": dp.number(0, 100, step=0.01)}
        with dp.Curator(
            f"spark:{file}",
            unit=dp.person("person", rows=5, groups=3),
            columns=columns,
            budget=dp.Budget(epsilon=3, delta=1e-6),
            ledger=Path(folder) / "people.ledger",
        ) as asked:
            return [asked.sql(QUESTION, epsilon=1)["n"]]


def main(millions: float, names: list[str]) -> int:
    from benchmarks.__main__ import environment
    from benchmarks.engines_spark import columns_of, written

    shown = Table(f"{millions:g} million rows", "CPU s", "wall s", "times discreet's CPU", "times discreet's wall")
    slow = []
    with tempfile.TemporaryDirectory() as folder:
        places = []
        for name, size in (("small", 0.01), ("large", millions)):
            (Path(folder) / name).mkdir()
            places.append(written(columns_of(size), int(size * 10**6), Path(folder) / name))
        first: dict[str, float] = {}
        for name in ("engines_peers", *(names or PEERS)):
            python = Path(sys.executable) if name == "engines_peers" else environment(name)
            script = [str(HERE / f"{name}.py"), *(["--ask"] if name == "engines_peers" else [])]
            alone = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
            said = subprocess.run(
                [str(python), *script, *places], check=True, capture_output=True, text=True, env=alone, cwd=folder
            )
            took = json.loads(said.stdout.splitlines()[-1])
            first = first or took
            ratios = [took[how] / first[how] for how in ("cpu", "wall")]
            slow += [name] if name in PEERS and min(ratios) < MOST else []
            shown.add_row(
                PEERS.get(name, "discreet, Spark 4"),
                *(f"{took[how]:.1f}" for how in ("cpu", "wall")),
                *(f"{r:.1f}" for r in ratios),
            )
            print(name, took, flush=True)
    Console().print(shown)
    print(f"at least {MOST} times as fast: {'held' if not slow else f'missed beside {slow}'}")
    return 1 if slow else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--ask"]:
        from benchmarks.engines_processes import measured

        measured(ask, *sys.argv[2:])
    else:
        raise SystemExit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10.0, sys.argv[2:]))
