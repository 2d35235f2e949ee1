"""Gaussian naive Bayes: each input of a class is normal, by itself; all of it from one noisy sum.

A row adds to its class the vector (a, b x, c (x^2 - 1/2)) of its inputs x, which lie between -1 and 1: squares are measured from
their middle, so that they move half as far. With a^2 + d max(b^2, ...) chosen so that its norm is at most 1 whatever the row
holds, nothing is ever clipped, and one release of k (1 + 2 d) numbers pays for counts, means and variances together.

**Guarantee.** That of one Gaussian (or, for a pure epsilon, Laplace) mechanism on a sum in which one unit moves by at most the
declared norm: rows added or removed, or replaced, or persons (``mechanisms.rows.sums``).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.learn.base import Classifier, State
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.rows.sums import Outer, add_up, direct

_COUNT, _SUM = 0.15, 0.55  # shares of the norm, squared; the rest is for squares
_LEAST = 2e-3  # of a variance, of inputs between -1 and 1


@called_as("epsilon=1, delta=1e-5, bounds=(0, 1), classes=[0, 1]")
class GaussianNB(Classifier):
    """Naive Bayes for numbers, and for lists as inputs of 0 and 1.

    >>> model = GaussianNB(epsilon=1, delta=1e-5, bounds=(0, 10), classes=["a", "b"])
    >>> model.fit([[1], [9]] * 500, ["a", "b"] * 500).predict([[0.5], [9.5]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self, *, epsilon: object = None, delta: object = None, bounds: object = None, classes: object = None, unit: object = None
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes, self.unit = epsilon, delta, bounds, classes, unit

    def _learn(self, rows: Rows, payment: Payment) -> State:
        d, k = rows.width, rows.classes
        weights = _weights(d, payment.order)

        def of(block: Block) -> Outer:
            x = rows.inputs(block)
            line = np.hstack([np.full((len(x), 1), weights[0]), weights[1] * x, weights[2] * (x * x - 0.5)])
            label = (rows.labels(block)[:, None] == np.arange(k)).astype(np.float64)
            return Outer(label, *direct(line, payment.order))

        total = add_up(rows.read(), of, payment.outer_ball(1), k * (1 + 2 * d))
        spread = payment.deviation(total.ball, Fraction(1))
        noisy = payment.release(total, Fraction(1)).reshape(k, 1 + 2 * d)
        least = max(1.0, 2 * spread / weights[0])
        count = np.maximum(noisy[:, 0] / weights[0], least)
        mean = np.clip(noisy[:, 1 : d + 1] / weights[1] / count[:, None], -1, 1)
        square = noisy[:, d + 1 :] / weights[2] / count[:, None] + 0.5
        floor = np.maximum(_LEAST, spread / weights[1] / count)[:, None]
        variance = np.clip(square - mean**2, floor, 1.0)
        return {"count": count.tolist(), "mean": mean.tolist(), "variance": variance.tolist()}

    def _accept(self, state: State) -> None:
        self.class_count_ = np.array(state["count"])
        self.class_prior_ = self.class_count_ / self.class_count_.sum()
        self.theta_, self.var_ = np.array(state["mean"]), np.array(state["variance"])

    def _scores(self, inputs: Any) -> Reals:
        constant = np.log(self.class_prior_) - 0.5 * np.log(2 * math.pi * self.var_).sum(axis=1)
        squares = (
            inputs**2 @ (1 / self.var_).T - 2 * inputs @ (self.theta_ / self.var_).T + (self.theta_**2 / self.var_).sum(axis=1)
        )
        found: Reals = constant - 0.5 * squares
        return found


def _weights(d: int, order: int) -> tuple[float, float, float]:
    """What counts, inputs and squares are multiplied by, so that the norm of a row's vector is at most 1."""
    squares = 1 - _COUNT - _SUM
    if order == 1:
        return _COUNT, _SUM / d, 2 * squares / d
    return math.sqrt(_COUNT), math.sqrt(_SUM / d), 2 * math.sqrt(squares / d)
