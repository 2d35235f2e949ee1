"""K-means: centres from a few noisy means, never farther from the middle than noise allows to say.

The first release, with a quarter of the cost, is the sum of the inputs, of their squares and of 1: where the middle is and how
far rows lie from it. Then every round adds up, for each centre, the rows that are nearest to it, measured from the middle and
clipped to that distance, and counts them. A mean that noise explains is no centre: it stays in the middle, and what is found of
others is drawn towards it by as much as noise adds to its length (James and Stein). So it is little worse than one centre where
little can be said. Lloyd's algorithm with noise is due to Blum, Dwork, McSherry and Nissim (2005).

**Sensitivity.** Inputs of a row, numbers from -1 to 1 and lists as one 1, have norm at most R = sqrt(F) in L2 and F in L1, for
F features; the vectors are scaled to norm 1 and checked in whole numbers (``mechanisms.rows.sums``). **Guarantee**: that of the
mechanisms whose shares add up to the cost, for rows added or removed, or replaced, or persons.
"""

from __future__ import annotations

import math
from fractions import Fraction
from hashlib import shake_128
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from discreet.arrays import Integers, Reals, multiply
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.learn.base import Model, State
from discreet.learn.features import own_units
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import Block, Reader
from discreet.mechanisms.rows.sums import Dense, Outer, add_up, direct

_FIRST = Fraction(1, 4)  # of the cost, for the middle
_ROUNDS = 3
_COUNT, _SQUARE = 0.5, 0.5  # what a row's 1 and its squares weigh in the first release, against its inputs
_MEMBER = 0.3  # what a row's 1 weighs in later ones
_MOST = 1000


@called_as("clusters=3, epsilon=1, delta=1e-5, bounds=(0, 1)")
class KMeans(Model):
    """Centres that rows are near to, by distances of inputs that are scaled to their bounds.

    ``predict`` says to which centre a row is nearest; what was fitted has no labels, since these would be its rows.

    >>> model = KMeans(clusters=2, epsilon=2, delta=1e-5, bounds=(0, 10))
    >>> sorted(model.fit([[1, 1], [9, 9]] * 1000).cluster_centers_.round().tolist())
    [[1.0, 1.0], [9.0, 9.0]]
    """

    supervised = False

    def __init__(
        self,
        *,
        clusters: object = 8,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        unit: object = None,
    ) -> None:
        self.clusters = clusters
        self.epsilon, self.delta, self.bounds, self.unit = epsilon, delta, bounds, unit

    def _check(self, rows: Rows) -> None:  # noqa: ARG002
        if isinstance(self.clusters, bool) or not isinstance(self.clusters, int | np.integer) or not 1 <= self.clusters <= _MOST:
            raise ParameterError(f"clusters= is a whole number from 1 to {_MOST:,}; write clusters=3.")

    def _learn(self, rows: Rows, payment: Payment) -> State:
        many, d = int(self.clusters), rows.width  # type: ignore[call-overload]
        reader = rows.prepare(lambda block: {"x": rows.inputs(block)})
        middle, reach = _find_middle(rows, reader, payment)
        centres = middle + _scatter(0, many, d, reach / 2)
        share = (1 - _FIRST) / _ROUNDS
        far = reach * (math.sqrt(d) if payment.pure else 1.0)  # in the norm of the noise
        length = 1 + _MEMBER if payment.pure else math.hypot(1, _MEMBER)
        for turn in range(_ROUNDS):

            def of(block: Block, centres: Reals = centres, middle: Reals = middle) -> Outer:
                inputs = np.asarray(block["x"], dtype=np.float64)
                offsets = _clip(inputs - middle, far, payment.order) / far
                line = np.hstack([np.full((len(inputs), 1), _MEMBER), offsets]) / length
                nearest_one = _nearest(inputs, centres)[:, None] == np.arange(many)
                return Outer(nearest_one.astype(np.float64), *direct(line, payment.order))

            total = add_up(reader(), of, payment.outer_ball(1), many * (1 + d))
            deviation = payment.deviation(total.ball, share) * length
            noisy = payment.release(total, share).reshape(many, 1 + d) * length
            counts = np.maximum(noisy[:, 0], 2 * deviation) / _MEMBER
            shift = _find_shift(noisy, deviation)
            sums = noisy[:, 1:] - noisy[:, :1] / _MEMBER * shift
            kept = _draw_in(sums, deviation, 1.5)[:, None]
            means = _clip(sums / counts[:, None] * far, far, payment.order)
            middle = np.clip(middle + shift * far, -1, 1)
            fresh = _scatter(turn + 1, many, d, reach / 2) if turn < _ROUNDS - 1 else np.zeros((many, d))
            centres = np.clip(middle + np.where(kept > 0, kept * means, fresh), -1, 1)
        return {"centres": centres.tolist(), "middle": middle.tolist()}

    def _accept(self, state: State) -> None:
        self._centres = np.array(state["centres"], dtype=np.float64)
        half, middle = own_units(self.features_)
        self.cluster_centers_ = middle + half * self._centres

    def predict(self, X: Any) -> Integers:  # noqa: N803
        """The place of the nearest centre."""
        check_is_fitted(self)
        return _nearest(self._inputs(X), self._centres)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002, N803
        """Minus the sum of squared distances to the nearest centres, of inputs that are scaled to between -1 and 1."""
        check_is_fitted(self)
        inputs = self._inputs(X)
        return -float(((inputs - self._centres[_nearest(inputs, self._centres)]) ** 2).sum())


def _find_middle(rows: Rows, reader: Reader, payment: Payment) -> tuple[Reals, float]:
    """The mean of the inputs, drawn to the middle of the bounds as noise asks for, and the root mean square distance from it."""
    d, features = rows.width, len(rows.features)
    size = float(features) if payment.pure else math.sqrt(features)
    length = 1 + _COUNT + _SQUARE if payment.pure else math.sqrt(1 + _COUNT**2 + _SQUARE**2)

    def of(block: Block) -> Dense:
        inputs = np.asarray(block["x"], dtype=np.float64)
        squares = (inputs**2).sum(axis=1, keepdims=True) / features  # at most 1
        return Dense(np.hstack([inputs / size, np.full((len(inputs), 1), _COUNT), _SQUARE * squares]) / length)

    total = add_up(reader(), of, payment.ball(1), d + 2)
    deviation = payment.deviation(total.ball, _FIRST) * length
    noisy = payment.release(total, _FIRST) * length
    count = max(float(noisy[d]), 2 * deviation) / _COUNT
    middle = np.clip(noisy[:d] * size / count * _draw_in(noisy[None, :d], deviation, 5.0), -1, 1)
    square = float(noisy[d + 1]) / _SQUARE * features / count - float(middle @ middle)
    return middle, math.sqrt(min(max(square, features / 64), features))


def _find_shift(noisy: Reals, deviation: float) -> Reals:
    """How far all rows together lie from the middle, by what was added up for every centre."""
    counted, *sums = noisy.sum(axis=0).tolist()
    noise = deviation * math.sqrt(len(noisy))
    found: Reals = np.array(sums) * (_MEMBER / max(counted, 2 * noise)) * _draw_in(np.array([sums]), noise, 5.0)
    return found


def _draw_in(sums: Reals, deviation: float, many: float) -> Reals:
    """By how much noisy sums are to be shortened: 0 where their length is what noise explains, up to so many deviations of it."""
    squares, d = (sums**2).sum(axis=1) / deviation**2, sums.shape[1]
    found: Reals = np.where(squares > d + many * math.sqrt(2 * d), 1 - d / np.maximum(squares, d), 0.0)
    return found


def _scatter(turn: int, many: int, d: int, far: float) -> Reals:
    """Points in corners around 0, at a distance: as if drawn, and the same whatever the rows."""
    digest = shake_128(f"corners {turn}".encode()).digest(-(-many * d // 8))
    bits = np.unpackbits(np.frombuffer(digest, dtype=np.uint8))[: many * d].reshape(many, d)
    found: Reals = (2.0 * bits.astype(np.float64) - 1.0) * (far / math.sqrt(d))
    return found


def _clip(lines: Reals, far: float, order: int) -> Reals:
    sizes = np.linalg.norm(lines, ord=order, axis=1)
    found: Reals = lines * np.minimum(1.0, far / np.maximum(sizes, 1e-300))[:, None]
    return found


def _nearest(inputs: Reals, centres: Reals) -> Integers:
    found: Integers = np.argmin((centres**2).sum(axis=1) - 2 * multiply(inputs, centres.T), axis=1)
    return found
