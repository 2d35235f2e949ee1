"""Logistic regression, binary and softmax: by noisy gradients of all rows, or, under a pure epsilon, by objective perturbation.

**Gradients.** One share of the cost buys where inputs lie (``scaling``), the others a gradient each: the sum over rows of
(p - y) z, clipped, with noise. All shares are fixed in advance. Steps are long where there is little noise: what decides is

    nu = s sqrt(m) / (n mu),   under a pure epsilon   nu = s m / (n epsilon),

the length of the noise of the whole cost against that of n gradients, of m numbers each and sensitivity s: a public number,
once the number of rows is declared or bought. A step after which the noisy gradient points back was too long, and is taken back
in part. Settings were chosen once, on tables of some hundred to some ten thousand rows,
and hold for all; nobody has to tune them, and whoever does must do so on other data, or pay for it.

*Guarantee.* Gaussian noise on every sum under a rho, or an epsilon and a delta: each share s of mu^2 is Gaussian differential
privacy with s mu^2, and they add up however each gradient depends on the noisy ones before (``payment``). Under a pure epsilon
noise is Laplace's, on sums that are clipped in L1 norm, and epsilons add up. So what is claimed holds at whatever point the
descent stops: no theorem about minima is used.

**Objective perturbation** (``mechanisms.rows.minimum``) is the way of a pure epsilon, where no more than 256 weights are learnt
from no more than a million rows and neither steps nor a clip are asked for: all public facts. Inputs are as their bounds make
them, numbers and lists from -1 to 1; neither their means nor the number of rows has to be bought. Noise in a cube, to which
every number of a row may add 1, is 2.4 times less than Laplace's, which pays for the sum of them all. Of two classes the right
one is asked to be ahead by a margin of 1, so that a row pulls with 0.73 of what it may at most, and not with 1/2, where
weights are small, as they are where noise is large; chances are what such losses say of them, ln p / (1 - p) = ln s(1 + t) -
ln s(1 - t) of a score t, with s the logistic function. *Guarantee.* Pure, by its theorem about approximate minima.

Neighbours are those of the unit (``mechanisms.rows.sums``). The lectures' private empirical risk minimisation (Chaudhuri,
Monteleoni and Sarwate 2011; Bassily, Smith and Thakurta 2014) is this problem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals, multiply
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, whole
from discreet.learn.base import Classifier, State
from discreet.learn.descent import descend
from discreet.learn.features import own_units
from discreet.learn.payment import Payment
from discreet.learn.rows import Rows
from discreet.learn.scaling import Scaling, learn_scaling
from discreet.mechanisms.rows.block import MISSING, Block
from discreet.mechanisms.rows.minimum import Losses
from discreet.mechanisms.rows.sums import RIGHT, Outer, add_up, direct
from discreet.schema.units import Person

_FAR = 2e4  # that all steps go together, at most: beyond it chances are 0 and 1
_STEPS = 400  # the most that may be asked for
_WEIGHTS, _ROWS = 256, 2**20  # up to which a minimum is looked for
_MARGIN = 1.0


@dataclass(frozen=True)
class Course:
    """How the descent goes: how much is paid for scaling, how many steps, the norm to which gradients are clipped, and how long
    all steps are together."""

    scaling: Fraction
    steps: int
    clip: float
    length: float
    momentum: float = 0.5


def plot_course(nu: float, classes: int, *, pure: bool) -> Course:
    """The course for a noise ratio. Chosen once, by hand, on public tables."""
    if pure:
        return Course(Fraction(1, 2), 4 if nu < 0.2 else 2 if nu < 0.3 else 1, 0.1, 30.0 * classes, 0.0)
    clip = min(max(0.08 * (0.05 / nu) ** 0.66, 0.08), 0.8)
    return Course(Fraction(1, 10), 16 if nu > 0.003 else 32, clip, min(max(12 * classes**0.6 / nu, 90.0), _FAR))


@called_as("epsilon=1, delta=1e-5, bounds=(0, 1), classes=[0, 1]")
class LogisticRegression(Classifier):
    """Logistic regression. ``steps`` and ``clip`` are chosen from public facts unless told.

    >>> model = LogisticRegression(epsilon=1, delta=1e-5, bounds=(0, 10), classes=["a", "b"])
    >>> model.fit([[1], [9]] * 500, ["a", "b"] * 500).predict([[0.5], [9.5]]).tolist()
    ['a', 'b']
    """

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        bounds: object = None,
        classes: object = None,
        unit: object = None,
        steps: int | None = None,
        clip: float | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.classes, self.unit = epsilon, delta, bounds, classes, unit
        self.steps, self.clip = steps, clip

    def _check(self, rows: Rows) -> None:
        if self.steps is not None and whole("steps", self.steps) > _STEPS:
            raise ParameterError(f"More than {_STEPS} steps only divide the cost further; write steps=30, or leave it out.")
        if self.clip is not None:
            positive("clip", self.clip, "the norm of the gradient of one row, such as 0.1")
        if rows.classes < 2:
            raise ParameterError("There is one class only, and nothing to tell apart; write classes=[0, 1].")

    def _perturbs(self, rows: Rows, payment: Payment) -> bool:
        """Whether the objective is perturbed, and not its gradients."""
        few = _outputs(rows) * (rows.width + 1) <= _WEIGHTS and (rows.size or 1) <= _ROWS
        return payment.pure and few and self.steps is None and self.clip is None

    def _foresee(self, rows: Rows, payment: Payment) -> list[str]:
        weights = self._numbers(rows)
        if self._perturbs(rows, payment):
            return [f"The minimum of a perturbed loss: {weights:,} weights.", *super()._foresee(rows, payment)]
        if rows.size is None:
            return ["The number of rows is not declared: it is counted for a part of the cost."]
        nu = payment.noise_ratio(weights, rows.size)
        course = plot_course(nu, rows.classes, pure=payment.pure)
        said = f"{course.steps} noisy gradients of {weights:,} numbers; noise ratio {nu:.2g}."
        return [said, *super()._foresee(rows, payment)]

    def _numbers(self, rows: Rows) -> int:
        return _outputs(rows) * (rows.width + 1)

    def _learn(self, rows: Rows, payment: Payment) -> State:
        return self._minimise(rows, payment) if self._perturbs(rows, payment) else self._descend(rows, payment)

    def _minimise(self, rows: Rows, payment: Payment) -> State:
        """By objective perturbation, of inputs from -1 to 1: lists are stretched."""
        outputs = _outputs(rows)
        stretch = np.array([1.0 if one.values is None else 2.0 for one in rows.features for _ in range(one.width)])

        def prepare(block: Block) -> Mapping[str, NDArray[np.generic]]:
            z = np.hstack([rows.inputs(block) * stretch - (stretch - 1), np.ones((block.height, 1))])
            return {"z": z, "label": rows.labels(block)}

        margin = _MARGIN if outputs == 1 else 0.0
        losses = Losses(rows.prepare(prepare), outputs, rows.width + 1, margin)
        found = payment.minimise(losses, Fraction(1), persons=isinstance(rows.unit, Person)).reshape(outputs, -1)
        offset = found[:, -1] - found[:, :-1] @ (stretch - 1)
        return {"weights": (found[:, :-1] * stretch).tolist(), "offset": offset.tolist(), "margin": margin}

    def _descend(self, rows: Rows, payment: Payment) -> State:
        """By noisy gradients."""
        outputs, numbers = _outputs(rows), _outputs(rows) * (rows.width + 1)
        share = plot_course(1.0, rows.classes, pure=payment.pure).scaling
        scaling = learn_scaling(rows, payment, share, squares=not payment.pure)
        course = self._course(payment.noise_ratio(numbers, scaling.size), rows.classes, pure=payment.pure)
        root = (rows.width + 1) if payment.pure else math.sqrt(rows.width + 1)

        def prepare(block: Block) -> Mapping[str, NDArray[np.generic]]:
            z = np.hstack([scaling.apply(rows.inputs(block)), np.ones((block.height, 1))]) / root
            right, length = direct(z, payment.order)
            return {"right": right, "length": length, "label": rows.labels(block)}

        read, ball = rows.prepare(prepare), payment.outer_ball(course.clip)
        each = (1 - share) / course.steps

        def gradient(weights: Reals) -> Reals:
            total = add_up(read(), lambda block: _gradients(block, weights.reshape(outputs, -1)), ball, numbers)
            return payment.release(total, each) / (scaling.size * course.clip)

        stride = course.length * (root if payment.pure else 1.0) * (1 - course.momentum) / course.steps
        noise = payment.deviation(ball, each) / (scaling.size * course.clip)
        found = descend(gradient, np.zeros(numbers), course.steps, stride, course.momentum, noise)
        return _state(found.reshape(outputs, -1) / root, scaling)

    def _course(self, nu: float, classes: int, *, pure: bool) -> Course:
        known = plot_course(nu, classes, pure=pure)
        steps = known.steps if self.steps is None else self.steps
        return Course(known.scaling, steps, float(self.clip or known.clip), known.length, known.momentum)

    def _accept(self, state: State) -> None:
        self._weights, self._offset = np.array(state["weights"]), np.array(state["offset"])
        self._margin = float(state.get("margin", 0.0))
        half, middle = own_units(self.features_)
        self.coef_ = self._weights / half
        self.intercept_ = self._offset - self.coef_ @ middle

    def decision_function(self, X: object) -> Reals:  # noqa: N803
        """Scores of the classes; of two the score of the second."""
        scores = self._inputs(X) @ self._weights.T + self._offset
        found: Reals = scores[:, 0] if len(self._weights) == 1 else scores
        return found

    def _scores(self, inputs: Reals) -> Reals:
        scores = inputs @ self._weights.T + self._offset
        if len(self._weights) > 1:
            return np.asarray(scores)
        odds = np.logaddexp(0, scores - self._margin) - np.logaddexp(0, -scores - self._margin)
        return np.hstack([np.zeros_like(odds), odds])


def _outputs(rows: Rows) -> int:
    """How many scores are learnt: of two classes their difference."""
    return 1 if rows.classes == 2 else rows.classes


def _gradients(block: Block, weights: Reals) -> Outer:
    """Of the loss of every row by its scores, times its inputs."""
    right, length, label = (np.asarray(block[name]) for name in ("right", "length", "label"))
    scores = multiply(right, weights.T) * (length / 2**RIGHT)[:, None]
    if len(weights) == 1:
        rest = 0.5 * (1 + np.tanh(scores / 2)) - (label == 1)[:, None]
    else:
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        rest = likely / likely.sum(axis=1, keepdims=True) - (label[:, None] == np.arange(len(weights)))
    return Outer(np.where((label == MISSING)[:, None], 0.0, rest), right, length)


def _state(weights: Reals, scaling: Scaling) -> State:
    """Weights of standardised inputs as weights of inputs."""
    slopes = weights[:, :-1] / scaling.spread
    offset = weights[:, -1] - slopes @ scaling.mean
    return {"weights": slopes.tolist(), "offset": offset.tolist(), "size": scaling.size}
