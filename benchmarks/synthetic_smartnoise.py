"""smartnoise's MST on the rows of ``benchmarks/synthetic.py``: one fit, its CPU time and memory, and the rows that it makes."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from snsynth import Synthesizer


def main() -> None:
    rows, sizes = np.load(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    epsilon, out = float(sys.argv[3]), sys.argv[5]
    data = pd.DataFrame({name: rows[:, i] for i, name in enumerate(sizes)})
    start = time.process_time()
    synthesizer = Synthesizer.create("mst", epsilon=epsilon, delta=1e-9)
    synthesizer.fit(data, categorical_columns=list(sizes), preprocessor_eps=0.0)
    fitted = time.process_time()
    drawn = synthesizer.sample(len(data))
    sampled = time.process_time()
    np.save(out, np.stack([drawn[name].to_numpy().astype(int) for name in sizes], axis=1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"fit": fitted - start, "draw": sampled - fitted, "peak": peak}))


if __name__ == "__main__":
    main()
