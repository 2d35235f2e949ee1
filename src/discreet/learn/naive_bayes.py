"""Gaussian naive Bayes: each input of a class is normal, by itself; all of it from one noisy sum.

A row adds to its class what ``scaling`` says of it: 1, its inputs and their squares, weighed so that the norm is at most 1
whatever the row holds. One release of k (1 + 2 d) numbers pays for counts, means and variances together.

**Guarantee.** That of one Gaussian (or, for a pure epsilon, Laplace) mechanism on a sum that one unit moves by at most the
declared norm: rows added or removed, or replaced, or persons (``mechanisms.rows.sums``).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.calls import called_as
from discreet.learn.base import Classifier, State
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.learn.scaling import Weights
from discreet.mechanisms.rows.block import Block
from discreet.mechanisms.rows.sums import Outer, add_up, direct

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

    def _numbers(self, rows: Rows) -> int:
        return rows.classes * (2 * rows.width + 1)

    def _learn(self, rows: Rows, payment: Payment) -> State:
        d, k = rows.width, rows.classes
        weights = Weights.of(d, payment.order)

        def of(block: Block) -> Outer:
            label = (rows.labels(block)[:, None] == np.arange(k)).astype(np.float64)
            return Outer(label, *direct(weights.line(rows.inputs(block)), payment.order))

        total = add_up(rows.read(), of, payment.outer_ball(1), k * (1 + 2 * d))
        spread = payment.deviation(total.ball, Fraction(1))
        noisy = payment.release(total, Fraction(1)).reshape(k, 1 + 2 * d)
        count = np.maximum(noisy[:, 0] / weights.count, max(1.0, 2 * spread / weights.count))
        mean = np.clip(noisy[:, 1 : d + 1] / weights.input / count[:, None], -1, 1)
        square = noisy[:, d + 1 :] / weights.square / count[:, None] + 0.5
        least = np.clip(spread / weights.input / count, _LEAST, 1.0)[:, None]
        variance = np.clip(square - mean**2, least, 1.0)
        return {"count": count.tolist(), "mean": mean.tolist(), "variance": variance.tolist()}

    def _accept(self, state: State) -> None:
        self.class_count_ = np.array(state["count"])
        self.class_prior_ = self.class_count_ / self.class_count_.sum()
        self.theta_, self.var_ = np.array(state["mean"]), np.array(state["variance"])

    def _scores(self, inputs: Reals) -> Reals:
        constant = np.log(self.class_prior_) - 0.5 * np.log(2 * math.pi * self.var_).sum(axis=1)
        precision, pull = 1 / self.var_, self.theta_ / self.var_
        found: Reals = constant - 0.5 * (inputs**2 @ precision.T - 2 * inputs @ pull.T + (self.theta_ * pull).sum(axis=1))
        return found
