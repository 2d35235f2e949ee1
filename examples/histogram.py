"""A histogram: everybody is in one bin, so the noise of a bin does not depend on how many bins there are.

Lap(1/epsilon) on every bin if a record is added or removed, Lap(2/epsilon) if one is replaced. The lecture's exercise: n normal
values, clamped to [-1, 1], in 11 or 1001 bins. How many are in the first two bins and the last two, hardly ever more (3
standard deviations), and how does noise change that?
"""

import math
from statistics import NormalDist

import discreet as dp

epsilon = 0.5
for neighbours in ("add-remove", "replace"):
    noise = dp.Laplace(sensitivity=dp.sensitivity.histogram(neighbours=neighbours).l1, epsilon=epsilon)
    print(f"{neighbours}: scale {noise.scale} on every bin, within {noise.error()} of the truth (95 %), however many bins")

noise = dp.Laplace(sensitivity=dp.sensitivity.histogram().l1, epsilon=epsilon)
cdf = NormalDist().cdf
for bins in (11, 1001):
    width = 2 / bins
    outer, middle = 2 * cdf(-1 + 2 * width), cdf(width / 2) - cdf(-width / 2)
    for n in (100, 1_000, 10_000):
        spread, noises = math.sqrt(n * outer * (1 - outer)), math.sqrt(4 * noise.variance)
        most, noisy = n * outer + 3 * spread, n * outer + 3 * math.hypot(spread, noises)
        print(f"{bins} bins, n = {n:,}: outer four at most {most:.0f}, with noise {noisy:.0f}; middle one {n * middle:.1f}")
print(f"1001 bins and few people: in most bins there is nothing but noise of +-{noise.error()}")
