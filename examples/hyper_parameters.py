"""Which hyper-parameter is best on private data? Every candidate is tried on every row, and only the winner's name leaves.

Here: from which debt on does a bank expect trouble? The score of a candidate is how many customers it judges rightly; one
customer changes every score by 1 at most. Trying candidates and looking at each result would cost an epsilon a candidate.
"""

import tempfile
from pathlib import Path

import pyarrow as pa

import discreet as dp

debts = [50.0 * i for i in range(1_000)]
failed = [(debt > 30_000) != (i % 9 == 0) for i, debt in enumerate(debts)]  # one in nine is an exception

with tempfile.TemporaryDirectory() as folder:
    bank = dp.Curator(
        pa.table({"debt": debts, "failed": failed}),
        unit=dp.rows(),
        columns={"debt": dp.number(0, 50_000, step=1), "failed": dp.boolean()},
        budget=dp.Budget(epsilon=1),
        ledger=Path(folder) / "bank.ledger",
    )
    candidates = list(range(0, 50_001, 5_000))
    asked = bank.choose(candidates, score="CASE WHEN (debt > candidate) = failed THEN 1 ELSE 0 END")
    print(asked.preview(epsilon=0.5))
    print(f"best of {len(candidates)} thresholds: {asked.release(epsilon=0.5).value:,}; the truth is 30,000")
