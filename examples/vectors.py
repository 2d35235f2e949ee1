"""Several numbers at once: a query into R^k gets noise in every coordinate, scaled by how far the whole vector moves.

Somebody who smokes, drinks and takes drugs is in all three counts: the vector moves by 3 in L1 norm, by sqrt(3) in L2 norm. Of
the counts of a histogram one person is in one only, and k of them cost what one does.
"""

import math

import discreet as dp

counts = [212, 391, 2]  # who smokes, drinks, takes drugs; a person may do all three
laplace = dp.Laplace(sensitivity=3, epsilon=1)
gaussian = dp.Gaussian(sensitivity=math.nextafter(math.sqrt(3), 2), epsilon=1, delta=1e-6)  # a root rounded up, never down
print(f"overlapping counts, Laplace: scale {laplace.scale} in every coordinate, released {laplace.release(counts).tolist()}")
print(f"overlapping counts, Gaussian: sigma {gaussian.sigma:.2f}, released {gaussian.release(counts).round().tolist()}")

hair = [500, 399, 60, 41]  # everybody has one colour
histogram = dp.Laplace(sensitivity=dp.sensitivity.histogram().l1, epsilon=1)
print(f"disjoint counts, Laplace: scale {histogram.scale} in every coordinate, released {histogram.release(hair).tolist()}")

for k in (10, 100, 1000):
    pure = dp.Laplace(sensitivity=k, epsilon=1).error()
    approximate = dp.Gaussian(sensitivity=math.sqrt(k), epsilon=1, delta=1e-6).error()
    print(f"{k} overlapping counts: off by {pure:,.0f} with Laplace noise, by {approximate:,.0f} with Gaussian noise")
