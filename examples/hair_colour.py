"""Which hair colour is the most common? 500 dark, 399 brown, epsilon = 0.1.

The utility theorem: with probability 1 - beta the winner's count is within (2/epsilon) ln(4/beta) of the best. At distance 100
that is beta = 4 e^-5, so dark wins with probability at least 0.973.
"""

import math

import discreet as dp

counts = {"dark": 500, "brown": 399, "blond": 60, "red": 41}
colours, scores = list(counts), list(counts.values())

exponential = dp.Exponential(sensitivity=1, epsilon=0.1)
beta = 4 * math.exp(-5)
print(f"beta = 4 e^-5: the winner is within {exponential.utility_bound(beta=beta, candidates=4):.4f} of the best")
print(f"so P(dark) >= {1 - beta:.3f}; exactly, it is {exponential.probabilities(scores)[0]:.4f}")
print(f"exponential mechanism: {exponential.choose(colours, scores)}")

# Counts all move the same way when a person joins or leaves, so Lap(1/epsilon) is enough; not when a person is replaced.
joins = dp.NoisyMax(sensitivity=1, epsilon=0.1, monotonic=True)
replaced = dp.NoisyMax(sensitivity=1, epsilon=0.1)
print(f"report noisy max, scale {joins.scale} (add or remove): {joins.choose(colours, scores)}")
print(f"report noisy max, scale {replaced.scale} (replace): {replaced.choose(colours, scores)}")
