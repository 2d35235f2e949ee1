"""The mean of n bounded values (n public, one value replaced), with the classic, the zero-concentrated and the exact Gaussian.

Values in [-b, b]: the mean moves by 2b/n. Noise on the mean beats noise on every value by a factor n in variance of the sum.
"""

from fractions import Fraction

import discreet as dp

b, n, rho = 5.0, 1_000, 0.5
moved = dp.sensitivity.mean(lower=-b, upper=b, size=n).l2

concentrated = dp.Gaussian(sensitivity=moved, rho=rho)
assert concentrated.squared_sigma == Fraction(2 * 25 * 2, 1_000_000)  # sigma^2 = 2 b^2 / (rho n^2)
print(f"rho = {rho}: sigma = {concentrated.sigma:.6f}, error {concentrated.error():.6f} (95 %)")

classic = dp.Gaussian.classic(sensitivity=moved, epsilon=0.9, delta=1e-6)
exact = dp.Gaussian(sensitivity=moved, epsilon=0.9, delta=1e-6)
print(f"epsilon = 0.9, delta = 1e-6: classic sigma = {classic.sigma:.6f}, exact sigma = {exact.sigma:.6f}")

try:
    dp.Gaussian.classic(sensitivity=moved, epsilon=1, delta=1e-6)
except dp.errors.ParameterError as refusal:
    print(f"epsilon = 1: {refusal}")

# The sum of squares moves by b^2 when a record is added or removed: sigma^2 = b^4 / (2 rho).
squares = dp.Gaussian(sensitivity=dp.sensitivity.sum(lower=0.0, upper=b * b).l2, rho=rho)
assert squares.squared_sigma == 625
print(f"sum of squares: sigma = {squares.sigma:.3f}")
