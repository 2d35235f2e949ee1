"""Many counting queries: ask each by itself, or add up the bins of one noisy histogram.

By themselves, k queries share epsilon, and their error grows like k, or like sqrt(k) with a delta (advanced composition). From
a histogram over a universe X a query adds up at most |X| noises: sqrt(|X| log k) / (epsilon n), whatever k is. So the histogram
wins at the latest when there are more queries than bins.
"""

import math
import tempfile
from pathlib import Path

import pyarrow as pa

import discreet as dp

epsilon, delta, size, n = 1, 1e-6, 64, 10_000  # |X| = 64 bins, n people

one_bin = dp.Laplace(sensitivity=dp.sensitivity.histogram().l1, epsilon=epsilon)
for k in (1, 10, 100, 1_000, 10_000):
    miss = 0.05 / k  # all k answers are within their errors 95 % of the time
    pure = dp.Laplace(sensitivity=k, epsilon=epsilon).error(1 - miss)
    gauss = dp.Gaussian(sensitivity=math.sqrt(k), epsilon=epsilon, delta=delta).error(1 - miss)
    histogram = math.sqrt(2 * size * one_bin.variance * math.log(2 / miss))  # sums of 64 bins: nearly Gaussian
    best = min((pure, "one by one"), (gauss, "one by one, with a delta"), (histogram, "from the histogram"))[1]
    print(f"k = {k:,}: off by {pure / n:.4f}, {gauss / n:.4f} (delta), {histogram / n:.4f} (histogram): {best}")

# All 2,080 ranges of ages, answered from one release: no range is off by more than the last column says.
people = [3 * (i % 20) + i % 2 for i in range(n)]
truth = [people.count(age) for age in range(size)]
noisy = one_bin.release(truth).tolist()
ranges = [(low, high) for low in range(size) for high in range(low + 1, size + 1)]
worst = max(abs(sum(noisy[low:high]) - sum(truth[low:high])) for low, high in ranges)
print(f"{len(ranges):,} ranges from one histogram: the worst is off by {worst} of {n:,} people")

# A curator compares the two, and what lies between them, by itself.
with tempfile.TemporaryDirectory() as folder:
    hospital = dp.Curator(
        pa.table({"age": people}),
        unit=dp.rows(),
        columns={"age": dp.integer(0, size - 1)},
        budget=dp.Budget(epsilon=epsilon),
        ledger=Path(folder, "hospital.ledger"),
    )
    asked = hospital.workload([dp.ranges("age")])
    print(next(remark for remark in asked.preview(epsilon=1).remarks if "answered from" in remark))
    answer = asked.release(epsilon=1)
    off = max(abs(row["n"] - sum(truth[row["lower"] : row["upper"] + 1])) for row in answer.rows())
    print(f"{len(answer):,} ranges from that strategy: the worst is off by {off:.0f}")
