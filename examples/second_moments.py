"""Sums of squares and X^T X under zero-concentrated privacy: exercises 4.7 and 4.8, with n and not 1 in the corner.

Values in [-b, b]: the sum of squares moves by b^2 when a row is added or removed, so sigma^2 = b^4 / (2 rho). X has a column of
ones beside x, so X^T X is n, sum of x, sum of x^2: three numbers, which one row at b moves as far as they go. With noise the
matrix may have a negative eigenvalue, which no table's has; it is set to 0 afterwards, which is free.
"""

import tempfile
from fractions import Fraction

import pyarrow as pa

import discreet as dp

b, rho = 5, Fraction(1, 2)
squares = dp.Gaussian(sensitivity=b**2, rho=rho)
assert squares.squared_sigma == Fraction(b**4) / (2 * rho)
print(f"sum of squares: sigma^2 = {float(squares.squared_sigma):g} = b^4 / (2 rho)")

# One symmetric Gaussian matrix: the Frobenius norm of a row's (1, x)^T (1, x), in units of b, is at most 2; noise beside the
# diagonal has half the variance. Released one by one, the three numbers have shares of 1/4, 2/4 and 1/4 of rho.
shares = {"n": Fraction(1, 4), "sum of x": Fraction(2, 4), "sum of x^2": Fraction(1, 4)}
bounds = {"n": 1, "sum of x": b, "sum of x^2": b**2}
spent = sum(dp.Gaussian(sensitivity=bounds[name], rho=rho * share).privacy.rho for name, share in shares.items())
print(f"n, sum of x and sum of x^2 together: rho = {spent:g}")
for name, share in shares.items():
    print(f"{name}: sigma^2 = {float(Fraction(bounds[name]) ** 2 / (2 * rho * share)):g}")

few = pa.table({"x": [4.9, 5.0, 4.8, 5.0]})  # hardly any variance: noise decides its sign
with tempfile.TemporaryDirectory() as folder:
    table = dp.Curator(few, unit=dp.rows(), columns={"x": dp.number(-b, b)}, budget=dp.Budget(rho=1), ledger=f"{folder}/l")
    found = table.moments(["x"], rho=rho)
assert found.covariance["x", "x"] >= 0
print(f"never a negative variance: {found.covariance['x', 'x'] >= 0}; n in the corner, noisy, too")
