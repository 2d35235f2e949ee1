"""K-means: centres from a few noisy means, and one centre where no more can be told apart.

The first release, with a quarter of the cost, is the sum of the inputs, of their squares and of 1: where the middle is, how far
rows lie from it, and how many there are. That decides what the rest buys. Where a mean of a k-th of the rows would have noise
longer than rows are far from the middle, k centres cannot be told apart: all of the rest measures the middle once more, and
every centre is there, which is then as if one had been asked for. Where it may be so and is not sure, an eighth of the cost looks
once more at the middle and the distance, at most twice (not under a pure epsilon, which has no shares to spare). Otherwise every
round adds up, for each centre, the rows that are nearest to it, measured from the middle and clipped to that distance, and counts
them; all together they measure the middle too. A mean that noise explains is no centre: it stays in the middle, and what is
found of others is drawn towards it by as much as noise adds to its length (James and Stein); so is the middle itself drawn to
the middle of the bounds. So it is no worse, on average, than one centre that the same cost buys, but for what the looks cost.
Lloyd's algorithm with noise is due to Blum, Dwork, McSherry and Nissim (2005).

**Sensitivity.** Inputs of a row, numbers from -1 to 1 and lists as one 1, have norm at most R = sqrt(F) in L2 and F in L1, for
F features; the vectors are scaled to norm 1 and checked in whole numbers (``mechanisms.rows.sums``). **Guarantee**: that of the
mechanisms whose shares add up to the cost, for rows added or removed, or replaced, or persons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
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
_LOOKS, _LOOK = 2, Fraction(1, 8)  # how often, and for how much, it is looked once more where that does not decide
_ROUNDS = 3
_COUNT, _SQUARE = 0.5, 0.5  # what a row's 1 and its squares weigh in the first release, against its inputs
_MEMBER = 0.3  # what a row's 1 weighs in later ones
_VAGUE = 3.0  # the square of the noise of a centre against that of the distance of rows, above which none is looked for
_USUAL, _BELIEF = 1 / 16, 2.0  # the mean square of a mean, and how much this guess weighs against what is found
_ROUGH = 0.15  # the same of the noise of the middle
_SURE = 2.0  # deviations that are taken off what is known of that distance
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

    def _numbers(self, rows: Rows) -> int:
        return int(self.clusters) * (rows.width + 1)  # type: ignore[call-overload, no-any-return]

    def _check(self, rows: Rows) -> None:  # noqa: ARG002
        if isinstance(self.clusters, bool) or not isinstance(self.clusters, int | np.integer) or not 1 <= self.clusters <= _MOST:
            raise ParameterError(f"clusters= is a whole number from 1 to {_MOST:,}; write clusters=3.")

    def _learn(self, rows: Rows, payment: Payment) -> State:
        many, d = int(self.clusters), rows.width  # type: ignore[call-overload]
        reader = rows.prepare(lambda block: {"x": rows.inputs(block)})
        found = _find_middle(rows, reader, payment)
        for _ in range(_LOOKS if many > 1 and not payment.pure else 0):
            if found.may_be(many, payment) and not found.is_clear(many, payment):
                found = _look_once_more(reader, payment, found, _LOOK, _MEMBER)
        if many == 1 or not found.is_clear(many, payment):
            middle = _look_once_more(reader, payment, found, payment.left).drawn
            return {"centres": np.repeat(middle[None, :], many, axis=0).tolist(), "middle": middle.tolist()}
        middle, reach, share = found.drawn, found.reach, payment.left / _ROUNDS
        centres = middle + _scatter(0, many, d, reach / 2)
        for turn in range(_ROUNDS):
            noisy, deviation = _add_around(reader, payment, found, share, middle, centres)
            counts, far = np.maximum(noisy[:, 0], 2 * deviation) / _MEMBER, found.far(payment)
            found = found.join(noisy.sum(axis=0), deviation * math.sqrt(many), far, middle)
            shift = (found.drawn - middle) / far
            sums = noisy[:, 1:] - noisy[:, :1] / _MEMBER * shift
            kept = _draw_in(sums, deviation, 1.5)[:, None]
            means = _clip(sums / counts[:, None] * far, far, payment.order)
            middle = found.drawn
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


@dataclass(frozen=True, eq=False)
class _Middle:
    """What is known of the mean of all inputs: as it came, with the standard deviation of each number; how far rows lie from it,
    the root of the mean square, and the square that this surely has; and how many rows there are, with its deviation."""

    mean: Reals
    noise: float
    reach: float
    sure: float
    count: float
    doubt: float

    @property
    def drawn(self) -> Reals:
        """The mean, drawn to the middle of the bounds as an empirical Bayesian does: by what is believed to be the mean square of
        its numbers, found less noise and guessed, against that of noise."""
        found = float(self.mean @ self.mean) / len(self.mean) - self.noise**2
        square = max((found + _BELIEF * _USUAL) / (1 + _BELIEF), 0.0)
        return np.clip(self.mean * (square / (square + self.noise**2)), -1, 1)

    def may_be(self, many: int, payment: Payment) -> bool:
        """Whether means of so many parts of the rows can be told apart, as far as is known."""
        return self._blur(many, payment) <= _VAGUE * self.reach**2

    def is_clear(self, many: int, payment: Payment) -> bool:
        """Whether they surely can, and the middle is known much better than by how far rows lie from it."""
        return self._blur(many, payment) <= _VAGUE * self.sure and len(self.mean) * self.noise**2 <= _ROUGH * self.sure

    def _blur(self, many: int, payment: Payment) -> float:
        """The square of the noise of the mean of one of so many parts of the rows, of which there are at least so many, as a
        round buys it with what is left."""
        least = max(self.count - 2 * self.doubt, 1e-9)
        part = payment.deviation(payment.outer_ball(1), payment.left / _ROUNDS) * _length(payment) * many / least
        return len(self.mean) * (part * self.far(payment)) ** 2

    def join(self, noisy: Reals, deviation: float, far: float, around: Reals) -> _Middle:
        """The same with one more noisy sum over all rows, of 1 and of how far they lie from a point: each of both by how little
        noise it has."""
        counted, doubt = float(noisy[0]) / _MEMBER, deviation / _MEMBER
        trust = _trust(self.doubt, doubt)  # none, where the number of rows is declared
        doubt = self.doubt * math.sqrt(1 - trust)
        count = max(self.count + trust * (counted - self.count), 2 * doubt)
        mean, noise = around + noisy[1:] * (far / count), deviation * far / count
        trust = _trust(self.noise, noise)
        found = self.mean + trust * (mean - self.mean)
        return replace(self, mean=found, noise=self.noise * math.sqrt(1 - trust), count=count, doubt=doubt)

    def far(self, payment: Payment) -> float:
        """The distance in the norm of the noise."""
        return self.reach * (math.sqrt(len(self.mean)) if payment.pure else 1.0)


def _trust(own: float, other: float) -> float:
    """What another noisy number of the same weighs against one's own, by their deviations; nothing against an exact one."""
    return own**2 / (own**2 + other**2) if own else 0.0


def _find_middle(rows: Rows, reader: Reader, payment: Payment) -> _Middle:
    """By the first release."""
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
    doubt = deviation / _COUNT
    count, doubt = (max(float(noisy[d]) / _COUNT, 2 * doubt), doubt) if rows.size is None else (float(rows.size), 0.0)
    found = _Middle(noisy[:d] * size / count, deviation * size / count, 1.0, 0.0, count, doubt)
    whole, length = float(noisy[d + 1]) / _SQUARE * features / count, float(found.mean @ found.mean)
    square = whole - float(found.drawn @ found.drawn)
    unsure = [deviation / _SQUARE * features / count, 2 * math.sqrt(length) * found.noise, math.sqrt(2 * d) * found.noise**2]
    least = whole - length + d * found.noise**2 - _SURE * math.hypot(*unsure, (2 * length - whole) * doubt / count)
    return replace(found, reach=math.sqrt(min(max(square, features / 64), features)), sure=max(least, 0.0))


def _look_once_more(reader: Reader, payment: Payment, known: _Middle, share: Fraction, squares: float = 0.0) -> _Middle:
    """The same with a further share; with ``squares`` also how far rows lie from the middle."""
    middle = known.drawn
    (noisy,), deviation = _add_around(reader, payment, known, share, middle, middle[None, :], squares)
    found = known.join(noisy[: 1 + len(middle)], deviation, known.far(payment), middle)
    if not squares:
        return found
    square, unsure = (one / squares * known.reach**2 / found.count for one in (float(noisy[-1]), deviation))
    off = len(middle) * known.noise**2  # of the point from which it was measured
    least = square - off - _SURE * math.hypot(unsure, square * found.doubt / found.count)
    return replace(found, sure=max(found.sure, least))


def _length(payment: Payment, squares: float = 0.0) -> float:
    """Of what a row adds around a centre: its 1, its offset, and the square of it."""
    return 1 + _MEMBER + squares if payment.pure else math.hypot(1, _MEMBER, squares)


def _add_around(
    reader: Reader, payment: Payment, known: _Middle, share: Fraction, middle: Reals, centres: Reals, squares: float = 0.0
) -> tuple[Reals, float]:
    """For every centre what the rows add that are nearest to it: 1, how far they lie from the middle, clipped, and the square of
    that, where it is to weigh anything; noisy, and the deviation of each number."""
    many, d = centres.shape
    far, length = known.far(payment), _length(payment, squares)

    def of(block: Block) -> Outer:
        inputs = np.asarray(block["x"], dtype=np.float64)
        offsets = _clip(inputs - middle, far, payment.order)
        line = [np.full((len(inputs), 1), _MEMBER), offsets / far]
        if squares:
            line.append(squares * (offsets**2).sum(axis=1, keepdims=True) / known.reach**2)
        nearest_one = _nearest(inputs, centres)[:, None] == np.arange(many)
        return Outer(nearest_one.astype(np.float64), *direct(np.hstack(line) / length, payment.order))

    width = 1 + d + (squares > 0)
    total = add_up(reader(), of, payment.outer_ball(1), many * width)
    deviation = payment.deviation(total.ball, share) * length
    return payment.release(total, share).reshape(many, width) * length, deviation


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
