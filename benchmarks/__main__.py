"""`make bench`: side-by-side with the peers, each benchmark in a virtual environment with the peers it compares.

python -m benchmarks [NAME ...] [--WORD ...]     words that begin with -- are for the benchmarks themselves
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Benchmark script -> the peers it needs (pinned: a ratio means little without its versions).
PEERS = {
    "noise": ["opendp==0.16.0"],
    "accounting": ["dp-accounting==0.6.0"],
    "adult": [],
    "compositions": [],
    "engines": [],
    "engines_peers": ["pyspark[connect]==4.3.0"],  # which runs two of the below, each on the Spark that it supports
    "query": ["opendp[polars]==0.16.0"],
    "audit_board": ["opendp==0.16.0", "diffprivlib==0.6.6", "scikit-learn==1.7.2", "python-dp==1.1.5"],
    "audit_board_smartnoise": ["smartnoise-sql==1.0.10", "opendp==0.14.2", "pandas==2.3.3"],
    "audit_detection": [],
    "audit_calibration": [],
    "heavy_hitters": [],
    "intervals": [],
    "learning_rows": ["scikit-learn==1.9.1"],
    "learning_tables": ["scikit-learn==1.9.1", "pandas<3"],
    "learning": [
        "scikit-learn==1.9.1",
        "pandas==3.1.1",
    ],  # which runs the two of that name below, each in an environment of its own
    "one_run": ["scikit-learn==1.9.1"],
    "parsing": [],
    "ratios": [],
    "regression": [],
    "set_union": [],
    "speed": [],
    "synthetic_errors": [],
    "texts": [],
    "synthetic": ["scikit-learn==1.9.1"],  # which runs the two below, each in an environment of its own
    # What the peers need but do not declare, and the newest versions under which they still run.
    "local": ["pure-ldp==1.2.0", "multi-freq-ldpy==0.2.5", "numpy<2.3", "xxhash<4", "scikit-learn", "statsmodels"],
}


PARTS = {
    "synthetic_opendp": ["opendp[mbi,polars]==0.16.0", "pandas==2.3.3"],  # which it needs for rows, and does not declare
    "synthetic_smartnoise": ["smartnoise-synth==1.0.8"],
    "engines_tumult": ["tmlt.analytics==0.21.0"],
    "engines_pipelinedp": ["pipeline-dp==0.3.1", "pyspark==3.5.6", "setuptools"],
    "learning_interpret": ["interpret-core==0.7.2", "scikit-learn==1.9.1", "pandas<3"],
    "learning_diffprivlib": ["diffprivlib==0.6.6", "scikit-learn==1.6.1", "pandas<3"],
}  # of another one
ALONE = {"engines_tumult", "engines_pipelinedp"}  # which need an older numpy than discreet does
PEERS |= PARTS


def environment(name: str) -> Path:
    """A virtual environment with the peers of one benchmark, and with discreet unless they stand alone."""
    folder = ROOT / ".bench" / name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    discreet = [] if name in ALONE else ["--editable", str(ROOT)]
    subprocess.run([python, "-m", "pip", "install", "--quiet", *discreet, *PEERS[name]], check=True)
    return python


def main() -> None:
    words = [word for word in sys.argv[1:] if word.startswith("--")]
    names = [word for word in sys.argv[1:] if word not in words]
    for name in names or [name for name in PEERS if name not in PARTS]:
        print(f"== {name}", flush=True)
        subprocess.run([environment(name), str(ROOT / "benchmarks" / f"{name}.py"), *words], check=True)


if __name__ == "__main__":
    main()
