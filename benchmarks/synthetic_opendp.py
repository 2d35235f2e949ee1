"""OpenDP's MST on the rows of ``benchmarks/synthetic.py``: one fit, its CPU time and memory, and the rows that it makes.

It takes the rho that is worth the epsilon and the delta, less a hair: it refuses most budgets half-way by the last digit of a
double, where the shares of its selections, each rounded, add up to more than their whole. ``fits`` finds one where they do not.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl

ONE_WAY, MEASURED = 0.5, 0.9  # the shares of its settings


def below(number: float) -> float:
    return math.nextafter(number, -math.inf)


def added_up(parts: list[float]) -> float:
    """The sum of doubles, each step rounded up."""
    total = 0.0
    for part in parts:
        near = total + part
        total = math.nextafter(near, math.inf) if Fraction(near) < Fraction(total) + Fraction(part) else near
    return total


def fits(rho: float, columns: int) -> bool:
    """Whether what it selects with adds up to no more than what it has for that."""
    several = below(below(rho - rho * ONE_WAY))
    selecting = below(below(several - several * MEASURED))
    return added_up([below(selecting / (columns - 1))] * (columns - 1)) <= selecting


def main() -> None:
    rows, sizes = np.load(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
    rho, out = float(sys.argv[4]), sys.argv[5]
    dp.enable_features("contrib")
    data = pl.LazyFrame({name: rows[:, i] for i, name in enumerate(sizes)})
    keys = {name: list(range(size)) for name, size in sizes.items()}
    less = next(rho * (1 - i * 1e-6) for i in range(1, 1000) if fits(rho * (1 - i * 1e-6), len(sizes)))
    start = time.process_time()
    context = dp.Context.compositor(data=data, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=rho))
    found = context.query(rho=less).contingency_table(keys=keys, algorithm=dp.mbi.MST(oneway_split=ONE_WAY)).release()
    fitted = time.process_time()
    drawn = found.synthesize(method="sample")
    sampled = time.process_time()
    rows = np.stack([drawn[name].to_numpy() for name in sizes], axis=1).astype(np.float64)
    np.save(out, np.nan_to_num(rows).astype(np.int64))  # it draws nulls, which nobody declared: they become the first value
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"fit": fitted - start, "draw": sampled - fitted, "peak": peak}))


if __name__ == "__main__":
    main()
