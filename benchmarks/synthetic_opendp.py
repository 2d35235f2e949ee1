"""OpenDP's MST on the rows of ``benchmarks/synthetic.py``: one fit, its CPU time and memory, and the rows that it makes.

It takes the rho that is worth the epsilon and the delta.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl

PARTS = (0.999, 0.99, 0.98, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92, 0.91, 0.9)  # many budgets it refuses by a double's last digit


def main() -> None:
    rows, sizes = np.load(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    rho, out = float(sys.argv[4]), sys.argv[5]
    dp.enable_features("contrib")
    data = pl.LazyFrame({name: rows[:, i] for i, name in enumerate(sizes)})
    keys = {name: list(range(size)) for name, size in sizes.items()}
    for part in PARTS:
        start = time.process_time()
        context = dp.Context.compositor(data=data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho))
        try:
            found = context.query(rho=rho * part).contingency_table(keys=keys, algorithm=dp.mbi.MST()).release()
            break
        except dp.OpenDPException as problem:
            refused = problem
    else:
        raise refused
    fitted = time.process_time()
    drawn = found.synthesize(method="sample")
    sampled = time.process_time()
    np.save(out, np.stack([drawn[name].to_numpy() for name in sizes], axis=1))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"fit": fitted - start, "draw": sampled - fitted, "peak": peak}))


if __name__ == "__main__":
    main()
