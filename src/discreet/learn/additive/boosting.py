"""Boosting of one-feature histograms: an additive model from a few noisy releases, each of all features at once.

A model is a sum of shapes, one effect for every bin of every feature. The first release, with half of the cost, counts what
rows there are in every bin, class by class or with the sum of the target; it says which bins are joined, how strong the
curvature is in each, and where to begin: at naive Bayes, held back. Every later one is a histogram of clipped residuals by bin,
of all features together, and moves every effect by a damped Newton step that is drawn towards 0 as far as noise explains it.
The later half of the models is averaged, since their noise is independent. All rounds and their shares are fixed in advance.

Before all this, for a number, a sixteenth of the cost buys how many rows there are and the sum of the target. Where these rows,
less the noise of their number, are fewer than five standard deviations of what a bin will be counted with, shapes would be
noise: all that is left buys the mean once more, and there are no shapes (``learn.moments``).

**Sensitivity.** A row lies in one bin of each of F features, and adds the same vector v to each; with the norm of v at most 1 /
sqrt(F) its norm is at most 1 in L2; with L1, and one release only, 1 / F. Vectors are rounded and checked in whole numbers
(``Residuals``), those of a person together. **Guarantee**: that of Gaussian mechanisms whose shares add up to the cost
(``learn.payment``), for rows that are added or removed, or replaced, or for persons; the rest is computed of what was let out.
Cyclic boosting with Gaussian noise is due to Nori, Caruana, Bu, Shen and Kulkarni (2021), who release feature by feature.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.learn.additive.bins import Bins, Joined
from discreet.learn.moments import Mean, learn_mean, pool
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.mechanisms.rows.block import MISSING, Block, Reader, change
from discreet.mechanisms.rows.held import hold
from discreet.mechanisms.rows.sums import Added, Ball, Sparse, Total, add_up

FIRST = Fraction(1, 2)  # of the cost, for the first release
CLIP = 0.5  # of a residual: of a chance, or of half the distance between the bounds of a target
_LOOK = Fraction(1, 16)  # of the cost, for the mean of a number
_FEW = 5.0  # standard deviations of the noise of a bin, and fewer rows have no shapes
_FASTEST, _RATE = 0.5, 1.5  # of a step: the largest, and what it is by the root of the number of features
LEAST = 8.0  # standard deviations of noise that a joined bin holds

Released = tuple[Reals, float]  # lines of noisy numbers by bin, and the standard deviation of each


@dataclass(frozen=True, eq=False)
class Residuals(Added):
    """What rows add to histograms of every feature at once: each the same few numbers, in its bin of every feature.

    Numbers are rounded so that F times the square of their norm, in whole numbers, is at most the square of the ball's radius, or
    F times their norm the radius. What does not fit, or is not finite, adds nothing.
    """

    codes: Integers  # rows x features: places in all lists together
    values: Reals  # rows x lines
    bins: int

    @property
    def width(self) -> int:
        return int(self.values.shape[1]) * self.bins

    @property
    def count(self) -> int:
        return len(self.codes)

    def total(self, ball: Ball, starts: Integers | None) -> Integers:
        lines, features = self.values.shape[1], self.codes.shape[1]
        if starts is not None:
            places = (self.codes[:, :, None] + self.bins * np.arange(lines)).reshape(len(self.codes), -1)
            rows = np.repeat(np.arange(len(places)), places.shape[1])
            values = np.broadcast_to(self.values[:, None, :], (*self.codes.shape, lines)).reshape(-1)
            return Sparse(rows, places.ravel(), values, self.width, len(places)).total(ball, starts)
        radius = math.isqrt(ball.radius**2 // features) if ball.order == 2 else ball.radius // features
        whole = Ball(radius, ball.step, ball.order).round(self.values)
        flat = self.codes.ravel()
        each = [np.bincount(flat, np.repeat(whole[:, j], features), self.bins) for j in range(lines)]
        return np.concatenate(each).astype(np.int64)  # whole, and below 2^53: 2^16 rows of at most 2^26 each


@dataclass(frozen=True, eq=False)
class Beginning:
    """Where boosting begins, by what was counted first."""

    intercept: Reals  # one for every score
    effects: Reals  # scores x bins
    curvature: Reals  # of one row, for every score
    held: Reals  # rows in every bin, none below 0
    rows: float
    noise: Reals  # its standard deviation in the effects, to first order


class Head(ABC):
    """What is predicted: how many scores a row has, what rows add first, and what their residuals are."""

    scores: int
    lines: int  # that are counted first
    prior: float  # the standard deviation of an effect, as it is believed before
    clip: float  # the norm of residuals
    answers: float  # the share of the curvature with which clipped residuals answer to a change of effects
    look: Fraction  # of the cost, for the mean of what is predicted, before all else

    @abstractmethod
    def count(self, labels: Integers) -> Reals:
        """What rows add first: one number a line."""

    @abstractmethod
    def largest(self, order: int) -> float:
        """The largest norm of that, in L1 or L2."""

    @abstractmethod
    def held(self, counted: Reals) -> Reals:
        """The rows in every bin, by what was counted."""

    @abstractmethod
    def begin(self, counted: Reals, deviation: Reals, joined: Joined, known: Mean | None) -> Beginning:
        """Where boosting begins."""

    @abstractmethod
    def residuals(self, labels: Integers, scores: Reals) -> Reals:
        """What a row's target is above what its scores say; rows without a target have 0."""


@dataclass(frozen=True, eq=False)
class Shapes:
    """The model: an intercept and the effects of every bin, for every score; and the standard deviation of noise in them."""

    intercept: Reals
    effects: Reals  # scores x bins of ``Bins``
    deviations: Reals

    def scores(self, codes: Integers) -> Reals:
        """Of rows by their bins, one line a row."""
        found: Reals = self.intercept + np.stack([line[codes].sum(axis=1) for line in self.effects], axis=1)
        return found


def shares(head: Head, rounds: int, pure: bool) -> list[Fraction]:
    """What the first release and every later one costs, of the whole. Under a pure epsilon there is one release."""
    rest = 1 - head.look
    return [rest] if pure or not rounds else [FIRST * rest, *[(1 - FIRST) * rest / rounds] * rounds]


def count_noise(head: Head, features: int, payment: Payment, first: Fraction) -> float:
    """The standard deviation of the rows of a bin, as the first release counts them."""
    scale = head.largest(payment.order) * (features if payment.pure else math.sqrt(features))
    return max(payment.deviation(payment.ball(1), first), 1e-12) * scale


def boost(rows: Rows, bins: Bins, head: Head, payment: Payment, rounds: int) -> Shapes:
    """The model, from one release and then so many."""
    first, *later = shares(head, rounds, payment.pure)
    features = len(bins.features)
    known = learn_mean(rows, payment, head.look) if head.look else None
    if known is not None and known.count - known.doubt < _FEW * count_noise(head, features, payment, first):
        mean, none = known.join(learn_mean(rows, payment, payment.left)), np.zeros((1, bins.total))
        return Shapes(np.array([mean.drawn]), none, none)
    reader = rows.prepare(
        lambda block: {"codes": (bins.code(block.columns) + bins.offsets).astype(np.int32), "y": rows.labels(block)}
    )
    counted, deviation = _release(
        reader,
        bins.total,
        head.lines,
        features,
        payment,
        first,
        head.largest(payment.order),
        lambda block: head.count(_labels(block)),
    )
    joined = bins.join(head.held(counted), LEAST * deviation)
    start = head.begin(joined.sum(counted), deviation * np.sqrt(joined.many), joined, known)
    rate = min(_FASTEST, _RATE / math.sqrt(features))
    model = _Descent(joined, start, rate, head)
    again = hold(
        lambda: change(reader(), lambda block: {"codes": joined.places[block["codes"]].astype(np.int32), "y": _labels(block)})
    )
    for share in later:
        shapes = model.shapes

        def residuals(block: Block, shapes: Shapes = shapes) -> Reals:
            return head.residuals(_labels(block), shapes.scores(np.asarray(block["codes"], dtype=np.int64)))

        model.move(*_release(again, joined.total, head.scores, features, payment, share, head.clip, residuals))
    found = model.averaged
    return Shapes(found.intercept, found.effects[:, joined.places], found.deviations[:, joined.places])


def _release(
    reader: Reader,
    bins: int,
    lines: int,
    features: int,
    payment: Payment,
    share: Fraction,
    norm: float,
    of: Callable[[Block], Reals],
) -> Released:
    """A noisy histogram, lines x bins, of what rows add in all of their bins, up to a norm; and the deviation of its noise."""
    scale = norm * (features if payment.pure else math.sqrt(features))
    total: Total = add_up(
        reader(),
        lambda block: Residuals(np.asarray(block["codes"], dtype=np.int64), of(block) / scale, bins),
        payment.ball(1),
        lines * bins,
    )
    deviation = max(payment.deviation(total.ball, share), 1e-12) * scale
    return payment.release(total, share).reshape(lines, bins) * scale, deviation


class _Descent:
    """Effects that are moved by noisy gradients, and the mean of the later half of them."""

    def __init__(self, joined: Joined, start: Beginning, rate: float, head: Head) -> None:
        self.joined, self.start, self.rate, self.prior, self.answers = joined, start, rate, head.prior, head.answers
        self.intercept, self.effects = start.intercept, self._centre(rate * start.effects)
        self.weights = np.maximum(start.curvature[:, None] * start.held, 0.0)  # what Newton divides by
        self.path = [(self.intercept, self.effects)]
        self.noise = [rate * start.noise]  # that came in with the beginning and with every step
        self.stays = [np.ones_like(self.effects)]  # what a step leaves of the noise before it
        self.before: tuple[Reals, Reals] | None = None

    @property
    def shapes(self) -> Shapes:
        return Shapes(self.intercept, self.effects, np.zeros_like(self.effects))

    def move(self, gradient: Reals, deviation: float) -> None:
        """One step, shorter than the last where that went too far."""
        per = np.stack([self.joined.by_feature(line) for line in gradient]).mean(axis=1)
        pull = gradient - per[:, None] * (self.start.held / self.start.rows)
        if self.before is not None:
            step, last = self.before
            bent, expected = float((step * (last - pull)).sum()), float((step * step * self.weights).sum())
            if bent * self.rate > expected > 0:
                self.rate = expected / bent
        damped = self.weights / (self.weights**2 + (deviation / self.prior) ** 2)
        moved = self._centre(self.effects + self.rate * damped * pull)
        self.before = moved - self.effects, pull
        self.noise.append(self.rate * damped * deviation)
        self.stays.append(1 - self.rate * self.answers * damped * self.weights)  # the next gradient answers to noise too
        self.intercept = self.intercept + per / (self.start.rows * self.start.curvature)
        self.effects = moved
        self.path.append((self.intercept, self.effects))

    @property
    def averaged(self) -> Shapes:
        """The mean of the later half, and the standard deviation of the noise in it: what comes in with a step is in all that
        follow, less what these take back, bin by bin, and what centring takes away."""
        first = (len(self.path) + 1) // 2
        later = range(first, len(self.path)) or range(len(self.path))
        squares = np.zeros_like(self.effects)
        for i, noise in enumerate(self.noise):
            left, share = np.ones_like(noise), np.zeros_like(noise)
            for turn in range(i, len(self.path)):
                left = left * self.stays[turn] if turn > i else left
                share = share + left if turn in later else share
            squares += (noise * share / len(later)) ** 2
        intercepts, effects = zip(*(self.path[turn] for turn in later), strict=True)
        return Shapes(np.mean(intercepts, axis=0), np.mean(effects, axis=0), np.sqrt(self._centre_squares(squares)))

    def _centre_squares(self, squares: Reals) -> Reals:
        """Variances of effects that are centred, of those of independent ones that are not."""
        held = self.joined.by_feature(self.start.held)
        part = self.start.held / np.where(held > 0, held, 1.0)[self.joined.owner]
        all_of = np.stack([self.joined.by_feature(line * part**2) for line in squares])
        found: Reals = squares * (1 - 2 * part) + all_of[:, self.joined.owner]
        return np.maximum(found, 0.0)

    def _centre(self, effects: Reals) -> Reals:
        """Effects whose mean over rows is 0, feature by feature."""
        held = self.joined.by_feature(self.start.held)
        means = np.stack([self.joined.by_feature(line * self.start.held) for line in effects]) / np.where(held > 0, held, 1.0)
        found: Reals = effects - means[:, self.joined.owner]
        return found


def _labels(block: Block) -> Integers:
    return np.asarray(block["y"], dtype=np.int64)


class Classes(Head):
    """Classes by the logarithm of their odds: one score where there are two, one a class where there are more.

    A row whose class has a chance below 1/2 has its residual clipped, which then does not move: of p (1 - p), the curvature, a
    share of p or 1 - p answers, whichever is larger: about 1/8 a row for chances up to 0.8, half of what it is at the beginning.
    """

    prior, answers, look = 0.5, 0.5, Fraction(0)

    def __init__(self, classes: int) -> None:
        self.lines = classes
        self.scores = 1 if classes <= 2 else classes
        self.clip = CLIP if classes <= 2 else CLIP * math.sqrt(2)

    def count(self, labels: Integers) -> Reals:
        found: Reals = (labels[:, None] == np.arange(self.lines)).astype(np.float64)
        return found

    def largest(self, order: int) -> float:  # noqa: ARG002
        return 1.0

    def held(self, counted: Reals) -> Reals:
        found: Reals = counted.sum(axis=0)
        return found

    def begin(self, counted: Reals, deviation: Reals, joined: Joined, known: Mean | None) -> Beginning:  # noqa: ARG002
        many = max(_total(joined, counted.sum(axis=0)), 2 * float(deviation.min()), 1.0)
        shares = np.clip([_total(joined, line) / many for line in counted], 0.01, 0.99)
        shares = shares / shares.sum()
        logs, held = np.log(shares), np.maximum(counted.sum(axis=0), 0)
        prior = (
            self.lines * shares[:, None] * deviation
        )  # rows as if there were these: where noise is all, a bin is like the others
        likely = np.log(np.maximum(counted, 0) + prior) - logs[:, None]
        squares = (deviation / (np.maximum(counted, 0) + prior)) ** 2
        if self.scores > 1:
            noise = np.sqrt(squares * (1 - 2 / self.lines) + squares.sum(axis=0) / self.lines**2)
            return Beginning(logs, likely - likely.mean(axis=0), shares * (1 - shares), held, many, noise)
        if self.lines < 2:
            none = np.zeros((1, joined.total))
            return Beginning(np.zeros(1), none, np.ones(1), held, many, none)
        noise = np.sqrt(squares.sum(axis=0, keepdims=True))
        return Beginning(logs[1:] - logs[0], likely[1:] - likely[0], shares[1:] * shares[0], held, many, noise)

    def residuals(self, labels: Integers, scores: Reals) -> Reals:
        if self.scores == 1:
            gap = (labels == self.lines - 1)[:, None] - _chances(np.hstack([np.zeros_like(scores), scores]))[:, 1:]
        else:
            gap = (labels[:, None] == np.arange(self.lines)) - _chances(scores)
        return np.where((labels == MISSING)[:, None], 0.0, gap)


class Numbers(Head):
    """A number, scaled to between -1 and 1, by its mean."""

    scores, lines, prior, clip, answers, look = 1, 2, 0.2, CLIP, 1.0, _LOOK
    _SUM = 2.0  # what a sum weighs against a count

    def __init__(self, steps: int, *, persons: bool) -> None:
        self.steps, self.persons = steps, persons

    def count(self, labels: Integers) -> Reals:
        return np.stack([labels != MISSING, self._SUM * self._scaled(labels)], axis=1)

    def largest(self, order: int) -> float:
        return 1 + self._SUM if order == 1 else math.hypot(1, self._SUM)

    def _scaled(self, labels: Integers) -> Reals:
        return np.where(labels == MISSING, 0.0, 2.0 / self.steps * labels - 1.0)

    def held(self, counted: Reals) -> Reals:
        found: Reals = counted[0]
        return found

    def begin(self, counted: Reals, deviation: Reals, joined: Joined, known: Mean | None) -> Beginning:
        assert known is not None
        counts, sums = counted[0], counted[1] / self._SUM
        count = _total(joined, counts)
        if not self.persons:  # whose rows, added up, are clipped in another way there
            count, _ = pool((count, _total_noise(joined, deviation)), (known.count, known.doubt))
        many = max(count, 2 * float(deviation.min()), 1.0)
        mean, held = known.drawn, np.maximum(counts, 0)
        damped = held / (held**2 + (deviation / self._SUM / self.prior) ** 2)
        effects = (sums - mean * counts) * damped
        noise = damped * deviation * np.hypot(1 / self._SUM, mean + effects)
        return Beginning(np.array([mean]), effects[None], np.ones(1), held, many, noise[None])

    def residuals(self, labels: Integers, scores: Reals) -> Reals:
        gap = self._scaled(labels)[:, None] - np.clip(scores, -1, 1)
        return np.where((labels == MISSING)[:, None], 0.0, gap)


def _total(joined: Joined, counts: Reals) -> float:
    """A sum over rows, which every feature tells: their mean, each by how little noise it has."""
    weights = 1 / joined.by_feature(joined.many)
    return float(joined.by_feature(counts) @ weights / weights.sum())


def _total_noise(joined: Joined, deviation: Reals) -> float:
    """The standard deviation of such a sum, of those of its bins."""
    return float(deviation[0] / math.sqrt(joined.many[0]) / math.sqrt((1 / joined.by_feature(joined.many)).sum()))


def _chances(scores: Reals) -> Reals:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Reals = powers / powers.sum(axis=1, keepdims=True)
    return found
