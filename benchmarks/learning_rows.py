"""Logistic regression of ten million rows from a curator: the memory that it takes while rows stream, and the time.

A table of ten columns is drawn into a Parquet file, in parts, so that making it takes little memory too. A curator fits it at
(1, 1e-6), rows added or removed, with the number of rows declared. Beside it stands the same for a tenth of the rows: if
blocks stream, the peak of memory is about the same, whatever the number of rows. The peak is that of a process of its own,
above what it has when discreet and scikit-learn are loaded; most of it is the engine's.

``python benchmarks/learning_rows.py [rows]`` prints both; the exit code is 1 if one of them takes more than 400 MB, or if the fit
finds less than 95 % of what is there.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

COLUMNS = 10
PART = 2**18
SLOPES = np.linspace(-1, 1, COLUMNS)
ROWS = 10_000_000
MOST, LEAST = 400.0, 0.95  # MB, and the cosine of slopes that were found with those that the table was drawn with
CONSOLE = Console(width=120)


def draw(path: Path, rows: int) -> None:
    """A table whose label is a logistic function of its columns."""
    random = np.random.default_rng(rows)
    writer = None
    for first in range(0, rows, PART):
        x = random.normal(size=(min(PART, rows - first), COLUMNS)).astype(np.float32)
        y = random.random(len(x)) < 1 / (1 + np.exp(-2 * (x @ SLOPES)))
        part = pa.table({**{f"x{j}": x[:, j] for j in range(COLUMNS)}, "y": y})
        writer = writer or pq.ParquetWriter(path, part.schema)
        writer.write_table(part)
    assert writer is not None
    writer.close()


def fit(path: Path, rows: int) -> dict[str, float]:
    """In a process of its own: what it takes, in MB and CPU seconds, and how well slopes agree with those of the table."""
    import discreet as dp
    from discreet import learn

    before = peak()
    start = time.process_time()
    curator = dp.Curator(
        str(path),
        unit=dp.rows(size=rows),
        columns={**{f"x{j}": dp.number(-4, 4, step=0.001) for j in range(COLUMNS)}, "y": dp.boolean()},
        budget=dp.Budget(epsilon=1, delta=1e-6),
        ledger=path.with_suffix(f".{rows}.ledger"),
        people=f"drawn {rows}",
    )
    model = curator.fit(learn.LogisticRegression(), features=[f"x{j}" for j in range(COLUMNS)], target="y", epsilon=1)
    slopes = model.coef_[0]
    agreement = float(slopes @ SLOPES / (np.linalg.norm(slopes) * np.linalg.norm(SLOPES)))
    return {"memory": peak() - before, "loaded": before, "seconds": time.process_time() - start, "agreement": agreement}


def peak() -> float:
    """The largest memory of this process so far, in MB. What getrusage says begins with that of the process which started this
    one, as large as that was, and would hide what is smaller."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return next(float(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024


def measure(rows: int) -> dict[int, dict[str, float]]:
    """A tenth of the rows and all of them: what each takes, in a process of its own."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for many in (rows // 10, rows):
            path = Path(folder, f"{many}.parquet")
            draw(path, many)
            words = [sys.executable, __file__, "fit", str(path), str(many)]
            found[many] = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    return found


def is_right(one: dict[str, float]) -> bool:
    return one["memory"] <= MOST and one["agreement"] > LEAST


def main() -> None:
    if len(sys.argv) == 4:  # a process of its own
        print(json.dumps(fit(Path(sys.argv[2]), int(sys.argv[3]))))
        return
    found = measure(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    printed = Table(
        "rows", "memory, MB", "CPU s", "agreement of slopes", title="Logistic regression from a curator, (1, 1e-6) +-"
    )
    for many, one in found.items():
        printed.add_row(f"{many:,}", f"{one['memory']:,.0f}", f"{one['seconds']:,.1f}", f"{one['agreement']:.5f}")
    CONSOLE.print(printed)
    sys.exit(not all(map(is_right, found.values())))


if __name__ == "__main__":
    main()
