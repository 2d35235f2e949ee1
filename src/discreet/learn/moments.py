"""Second moments of rows as one noisy matrix, of which linear models are made.

Of z = (1, x_1 ... x_d, y), in which numbers lie between -1 and 1, a row adds the products z_i z_j: those of i = j once, and of
i < j times sqrt(2), so that the norm of what it adds is |z|^2, the Frobenius norm of z z^T. Released with one Gaussian noise,
the matrix has half the variance beside its diagonal that it has on it (lecture exercise 4.8, with the number of rows in its
corner). Under a pure epsilon the norm is that of L1, and noise is Laplace's.

The norm is clipped, to that of a row whose numbers are evenly spread between their bounds. To clip z z^T is to weigh the row:
least squares of weighed rows estimate the same coefficients, and means and variances are those of weighed rows. So a smaller
norm costs no more than rows at the corners of the box lose, and all noise is less. Rows without a target add nothing; of
persons the rows are added up first.

Of few rows the matrix is noise, and a line that is made of it worse than none. Where the number of rows is declared that is known
beforehand; else an eighth of the cost buys it, with the sum of the target. Where noise of the matrix would be more than 0.4 of
the rows, less the noise of their number, the mean of the target is all that is bought, for all that is left, and slopes are 0:
by public numbers and noisy ones alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.analysis.linear.gram import Matrix, Product, Scale
from discreet.arrays import Reals
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.sums import Dense, add_up

_LAPLACE = 1.09  # 95 % of a Laplace law are within 1.09 times as many standard deviations as of a Gaussian one
_FIRST = Fraction(1, 8)  # of the cost, for the number of rows and the sum of the target, where the number is not declared
_ROW = 0.5  # what a row's 1 weighs there against its target
_VAGUE = 0.4  # noise of the matrix against the number of rows, above which no line is looked for
_USUAL = 1 / 16  # the square of a mean, where the bounds of the target are from -1 to 1
RESPONSE = "y"


@dataclass(frozen=True)
class Mean:
    """Of the target, from -1 to 1: how many rows have one, and the sum of it, both with the deviations of their noise."""

    count: float
    doubt: float
    total: float
    noise: float

    @property
    def drawn(self) -> float:
        """The mean, drawn to the middle of the bounds as far as noise explains it."""
        count = max(self.count, 2 * self.doubt, 1.0)
        return draw_in(float(np.clip(self.total / count, -1, 1)), self.noise / count)

    def join(self, other: Mean) -> Mean:
        """Both, each by how little noise it has."""
        count, doubt = pool((self.count, self.doubt), (other.count, other.doubt))
        return Mean(count, doubt, *pool((self.total, self.noise), (other.total, other.noise)))


def draw_in(mean: float, noise: float) -> float:
    """A noisy mean, brought to 0 as noise grows: what noise explains is taken off, if a third of what is believed of its square
    is what was found, and two thirds a public guess (empirical Bayes)."""
    square = max((mean**2 - noise**2 + 2 * _USUAL) / 3, 0.0)
    return mean * square / (square + noise**2) if noise else mean


def pool(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Two noisy numbers of the same, with the deviations of each, as one."""
    if not one[1] or not other[1]:
        return one if not one[1] else other
    trust = one[1] ** 2 / (one[1] ** 2 + other[1] ** 2)
    return one[0] + trust * (other[0] - one[0]), one[1] * math.sqrt(1 - trust)


def learn_line(rows: Rows, payment: Payment) -> Mean | tuple[Reals, Reals]:
    """What is known for a line, for all of a cost: moments, or the mean of the target where these would be mostly noise."""
    first = None if rows.size is not None else learn_mean(rows, payment, _FIRST)
    size = float(rows.size or 1) if first is None else first.count - first.doubt
    if payment.deviation(payment.ball(_usual_norm(rows, payment.order)), payment.left) <= _VAGUE * size:
        return learn_moments(rows, payment, payment.left)
    found = learn_mean(rows, payment, payment.left)
    return found if first is None else first.join(found)


def learn_mean(rows: Rows, payment: Payment, share: Fraction) -> Mean:
    """The number of rows that have a target and the sum of it, by one release."""
    row = 0.0 if rows.size is not None else _ROW
    ball = payment.ball(1)
    length = 1 + row if payment.pure else math.hypot(1, row)

    def of(block: Block) -> Dense:
        z = lines(rows, block)
        return Dense(np.stack([row * z[:, 0], z[:, -1]], axis=1) / length)

    total = add_up(rows.read(), of, ball, 2)
    noise = payment.deviation(ball, share) * length
    counted, summed = (payment.release(total, share) * length).tolist()
    return (
        Mean(float(rows.size), 0.0, summed, noise) if rows.size is not None else Mean(counted / row, noise / row, summed, noise)
    )


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
