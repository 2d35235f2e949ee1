"""Second moments of rows as one noisy matrix, of which linear models are made.

Of z = (1, x_1 ... x_d, y), in which numbers lie between -1 and 1, a row adds the products z_i z_j: those of i = j once, and of
i < j times sqrt(2), so that the norm of what it adds is |z|^2, the Frobenius norm of z z^T. Released with one Gaussian noise,
the matrix has half the variance beside its diagonal that it has on it (lecture exercise 4.8, with the number of rows in its
corner). Under a pure epsilon the norm is that of L1, and noise is Laplace's.

The norm is clipped, to that of a row whose numbers are evenly spread between their bounds. To clip z z^T is to weigh the row:
least squares of weighed rows estimate the same coefficients, and means and variances are those of weighed rows. So a smaller
norm costs no more than rows at the corners of the box lose, and all noise is less. Rows without a target add nothing; of
persons the rows are added up first.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.analysis.linear.gram import Matrix, Product, Scale
from discreet.arrays import Reals
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.sums import Dense, add_up

_LAPLACE = 1.09  # 95 % of a Laplace law are within 1.09 times as many standard deviations as of a Gaussian one
RESPONSE = "y"


def learn_moments(rows: Rows, payment: Payment, share: Fraction = Fraction(1)) -> tuple[Reals, Reals]:
    """The noisy matrix of sums of products, 1 first and the target last, and the standard deviations of its noise."""
    size = 1 + rows.width + (rows.target is not None)
    above = np.triu_indices(size)
    weights = np.where(above[0] == above[1], 1.0, math.sqrt(2) if payment.order == 2 else 1.0)
    ball = payment.ball(_usual_norm(rows, payment.order))

    def of(block: Block) -> Dense:
        z = lines(rows, block)
        return Dense(z[:, above[0]] * z[:, above[1]] * weights)

    total = add_up(rows.read(), of, ball, len(weights))
    deviation = payment.deviation(ball, share)
    noisy = payment.release(total, share) / weights
    found, spread = np.zeros((size, size)), np.zeros((size, size))
    for half, numbers in ((found, noisy), (spread, deviation / weights)):
        half[above] = numbers
        half.T[above] = numbers
    found[0, 0] = max(found[0, 0], 2 * spread[0, 0], 1.0)  # so few rows that noise may be all of them are taken for more
    return found, spread


def _usual_norm(rows: Rows, order: int) -> Fraction:
    """The norm of what a row adds whose numbers are evenly spread from -1 to 1: each has a mean square of 1/3, and a mean size of
    1/2; a list is 1 in one input."""
    numbers = sum(feature.values is None for feature in rows.features) + (rows.target is not None)
    listed = 1 + sum(feature.values is not None for feature in rows.features)
    if order == 2:
        return listed + Fraction(numbers, 3)
    size = listed + Fraction(numbers, 2)
    return size * (size + 1) / 2


def lines(rows: Rows, block: Block) -> Reals:
    """1, inputs and target of every row; 0 where the target is missing."""
    x = rows.inputs(block)
    if rows.target is None:
        return np.hstack([np.ones((len(x), 1)), x])
    labels = rows.labels(block)
    z = np.hstack([np.ones((len(x), 1)), x, rows.target.inputs(labels)])
    return np.where((labels == MISSING)[:, None], 0.0, z)


def as_matrix(sums: Reals, spread: Reals, *, pure: bool) -> Matrix:
    """The same as the analyses of linear models take it: x0, x1 ... and the response, all from -1 to 1."""
    names = [*(f"x{i}" for i in range(len(sums) - 2)), RESPONSE]
    held = {}
    for i in range(len(sums)):
        for j in range(i, len(sums)):
            of = tuple(sorted(names[k - 1] for k in (i, j) if k))
            held[Product((), of)] = (np.array(sums[i, j]), float(spread[i, j]))
    numbers = {name: Scale(0.0, 1.0, -1.0, 1.0) for name in names}
    return Matrix(numbers, {}, held, _LAPLACE if pure else 1.0)
