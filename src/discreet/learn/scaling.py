"""Where inputs lie: their means and spreads from one noisy sum, so that a model sees numbers of about one size.

A row adds (a, b x, c (x^2 - 1/2)) of its inputs x, which lie between -1 and 1. Squares are measured from their middle, so that
they move half as far. The weights a, b and c share out a norm of 1, L2 or L1: nothing is ever clipped, and one release pays for
the number of rows, the means and the variances together. Where the number of rows is declared, a is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.sums import Order, Outer, add_up, direct

_COUNT, _SUM = 0.15, 0.55  # shares of the norm; the rest is for squares
_LEAST = 2e-3  # of a variance
_USUAL = 0.09  # of one that is not measured


@dataclass(frozen=True)
class Weights:
    """What a count, inputs and their squares are multiplied by; 0 for what is not asked."""

    count: float
    input: float
    square: float

    @classmethod
    def of(cls, inputs: int, order: Order, *, count: bool = True, squares: bool = True) -> Weights:
        """Those for which the norm of what a row adds is at most 1."""
        shares = [_COUNT if count else 0.0, _SUM, 1 - _COUNT - _SUM if squares else 0.0]
        one, two, three = (share / sum(shares) for share in shares)
        if order == 1:
            return cls(one, two / inputs, 2 * three / inputs)
        return cls(math.sqrt(one), math.sqrt(two / inputs), 2 * math.sqrt(three / inputs))

    def line(self, x: Reals) -> Reals:
        """What rows add."""
        count = np.full((len(x), 1), self.count)
        return np.hstack([count, self.input * x, self.square * (x * x - 0.5)] if self.square else [count, self.input * x])

    def width(self, inputs: int) -> int:
        return 1 + (2 if self.square else 1) * inputs


@dataclass(frozen=True, eq=False)
class Scaling:
    """Noisy facts about inputs: so many rows, and the mean and the standard deviation of each."""

    size: float
    mean: Reals
    spread: Reals

    def apply(self, x: Reals) -> Reals:
        """Inputs around their means, in their standard deviations."""
        return (x - self.mean) / self.spread


def learn_scaling(rows: Rows, payment: Payment, share: Fraction, *, squares: bool = True) -> Scaling:
    """For a share of the cost; rows whose target is missing add nothing. Without ``squares`` spreads are a public guess."""
    d = rows.width
    weights = Weights.of(d, payment.order, count=rows.size is None, squares=squares)

    def of(block: Block) -> Outer:
        return Outer(_present(rows, block), *direct(weights.line(rows.inputs(block)), payment.order))

    total = add_up(rows.read(), of, payment.outer_ball(1), weights.width(d))
    noise = payment.deviation(total.ball, share)
    noisy = payment.release(total, share)
    size = float(rows.size) if rows.size is not None else max(noisy[0] / weights.count, noise / weights.count, 1.0)
    mean = np.clip(noisy[1 : d + 1] / weights.input / size, -1, 1)
    if not squares:
        return Scaling(size, mean, np.full(d, math.sqrt(_USUAL)))
    variance = noisy[d + 1 :] / weights.square / size + 0.5 - mean**2
    least = min(max(_LEAST, noise / weights.square / size), 1.0)
    return Scaling(size, mean, np.sqrt(np.clip(variance, least, 1.0)))


def _present(rows: Rows, block: Block) -> Reals:
    if rows.target is None:
        return np.ones((block.height, 1))
    labels: Integers = rows.labels(block)
    return np.asarray(labels != MISSING, dtype=np.float64)[:, None]
