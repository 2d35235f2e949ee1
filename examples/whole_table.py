"""What a delta may hide: the whole table with probability delta, or every row with probability delta. Both are (0, delta)-DP.

The first is a catastrophe once in 1/delta times. The second leaks somebody's row with probability 1 - (1 - delta)^n, about n
delta: delta must be far below 1/n.
"""

import random

import discreet as dp

table = [("Alice", 2024, 32, "yes"), ("Bob", 2020, 21, "no"), ("Charlie", 2023, 45, "no"), ("Xander", 2020, 31, "yes")]
delta = 0.2  # large, to see it happen


def whole_table(rows):
    return rows if random.random() < delta else []


for claim in ({"epsilon": 0, "delta": delta}, {"epsilon": 1}):
    finding = dp.audit(whole_table, table, table[1:], draws=500, error=1e-6, **claim)
    print(f"the whole table with probability {delta} claims {claim}: refuted? {finding.violated}")

loss = dp.approximate(0, delta).loss  # no loss at all, or an infinite one
print(f"its loss: {loss.atoms[0]} and {loss.atoms[-1]}")

for n in (100, 10_000, 1_000_000):
    leaks = ", ".join(f"{chance:g}: {dp.formulas.leak_somebody(chance, n):.4f}" for chance in (1e-2, 1e-4, 1e-6))
    print(f"every row with probability delta, {n:,} rows: somebody's leaks with probability (delta = {leaks})")
print(dp.approximate(1, 1e-4).explain(delta=1e-4, people=10_000).split("\n\n")[-1])
