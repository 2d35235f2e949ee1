"""Report noisy max: noise on every score, and only the winner's name leaves. One epsilon, however many candidates.

The lecture takes Lap(1/epsilon). That is enough when all scores move the same way as a person joins, as counts do. Where one
may rise while another falls, as when a person is replaced, it needs Lap(2/epsilon).
"""

import math

import discreet as dp

colours, counts = ["dark", "brown", "blond", "red"], [500, 480, 60, 41]
epsilon = 0.1

print(f"all {len(colours)} noisy counts, one by one: epsilon = {len(colours) * epsilon:g}; the winner alone: {epsilon}")
for words, law in {
    "exponential mechanism": dp.Exponential(sensitivity=1, epsilon=epsilon, monotonic=True),
    "permute-and-flip": dp.PermuteAndFlip(sensitivity=1, epsilon=epsilon, monotonic=True),
    "report noisy max": dp.NoisyMax(sensitivity=1, epsilon=epsilon, monotonic=True),
}.items():
    wins = sum(law.choose(colours, counts) == "dark" for _ in range(1_000)) / 1_000
    print(f"{words}: dark wins {wins:.0%} of the time; the winner is within {law.error(candidates=4):.1f} of the best (95 %)")

# A person moves from right to left: scores 0 and 0 become 1 and -1. With noise of scale b on both, right still wins with
# probability e^(-d) (1/2 + d/4), where d = 2/b; before it was 1/2.
for words, law in {
    "as if monotonic": dp.NoisyMax(sensitivity=1, epsilon=1, monotonic=True),
    "as it must be": dp.NoisyMax(sensitivity=1, epsilon=1),
}.items():
    d = 2 / float(law.scale)
    loss = math.log(0.5 / (math.exp(-d) * (0.5 + d / 4)))
    print(f"claimed epsilon = 1, {words} (scale {law.scale}): this person loses {loss:.3f}")
