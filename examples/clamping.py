"""Noisy counts may be negative. Setting those to zero makes every one of them better, and their total much worse.

A count of 0 with noise X is released as max(0, X), whose mean is not 0 but q / (1 - q^2), with q = e^-epsilon. Over thousands
of empty bins that adds up to people who do not exist. So clamp what is shown, and compute totals from what was released.
"""

import math

import discreet as dp

epsilon, bins, people = 0.1, 10_000, 1_000
counts = [10] * (people // 10) + [0] * (bins - people // 10)  # most bins are empty

noise = dp.Laplace(sensitivity=dp.sensitivity.histogram().l1, epsilon=epsilon)
released = noise.release(counts).tolist()
clamped = [max(0, count) for count in released]

q = math.exp(-epsilon)
print(f"an empty bin, clamped: {q / (1 - q**2):.3f} people on average")
print(f"all {bins - people // 10:,} empty bins, clamped: {(bins - people // 10) * q / (1 - q**2):,.0f} people who do not exist")
print(f"total of {people:,} people: {sum(released):,} as released, {sum(clamped):,} after clamping")
print(f"as released it is within {1.96 * (bins * noise.variance) ** 0.5:,.0f} of the truth, 95 % of the time")

# A total of its own costs little and knows best.
total = dp.Laplace(sensitivity=1, epsilon=epsilon / 10)
print(f"a tenth of the budget for the total alone: within {total.error()}")
