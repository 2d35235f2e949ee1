"""How many rows does a mean need? Noise on the mean against noise on every value, for the same privacy of everybody.

Values in [-b, b], error at most alpha with probability 95 %. On the mean: sigma^2 = 2 b^2 / (rho n^2), which falls like 1 /
n^2. On every value: sigma^2 = 2 b^2 / rho, and the mean of n such values has sigma^2 / n. No composition is needed for that:
everybody is in one value only. Privacy noise alone is meant; how far a sample is from its population comes on top.
"""

import discreet as dp

b, rho = 5, 0.5
for alpha in (1, 0.1, 0.01):
    needed = dp.needed.mean(lower=-b, upper=b, accuracy=alpha, rho=rho, neighbours="replace")
    print(f"alpha = {alpha}: {needed.rows:,} rows with noise on the mean, {needed.local:,} with noise on every value")

# The lecture's n is public. Where it is private, a noisy sum over a noisy count needs hardly more, or even less.
for cost in ({"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"rho": 0.5}):
    public, private = (
        dp.needed.mean(lower=-b, upper=b, accuracy=0.1, neighbours=neighbours, **cost).rows
        for neighbours in ("replace", "add-remove")
    )
    print(f"{cost}: {public} rows if their number is public, {private} if it is private")

print(f"a share to 1 %, epsilon = 1: {dp.needed.share(accuracy=0.01, epsilon=1)}")
print(f"a count to 1 % of itself, epsilon = 1: {dp.needed.count(accuracy=0.01, epsilon=1).rows} rows")
