"""Objective perturbation: the minimum of a sum of losses and a random slope, found by floating point and let out all the same.

Every unit adds a loss of weights w, k lines of m numbers (one line for two classes): the logistic loss of a row whose numbers z
lie between -1 and 1, the last of them 1; that of a person is the mean over their rows. Let G bound the gradient of a unit's
loss in the norm |g| = sum over lines of the largest number of a line: 1 for one line, since |z_j| <= 1, and 2 for k of them,
since the chances of all classes add up to 1. Let J(w) be the sum of losses plus sum of ridge_j w_j^2 / 2, and b a random slope of
density e^(-|b| / t): in every line noise in a cube (``noise.cube``).

**Theorem 1** (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012; noise in a cube: Awan and Slavkovic 2020).
The minimum a of J(w) + b w is (e1 + e2)-differentially private for e1 = G / t where units are added or removed, 2 G / t where
they are replaced, and e2 = r ln(1 + c / r) with r the rank of the second derivatives h of a unit's loss and c a bound of
tr(ridge^-1 h). *Proof.* J is smooth and strictly convex, so that a is the minimum for one b only, b = -J'(a), and a has the
density e^(-|J'(a)| / t) det J''(a) up to a constant. Between neighbours J' moves by at most G, or 2 G. The determinant of
J'' = A + h against that of A = J'' without one unit is that of 1 + A^-1 h: a product of r numbers 1 + x whose x >= 0 add up to
tr(A^-1 h) <= c, since A is at least the ridge; at least 1 and at most (1 + c / r)^r, by the means of numbers. Where a unit is
replaced both determinants stand between these bounds of the one without it. For logistic losses h is v (x) z z^T, with v of
trace at most 1/4 for one line and 1 - 1/k for k, of rank 1 and k - 1, so c = that trace times the sum of 1 / ridge_j. A mean over
rows has the same trace, and any rank: e2 = c, which is never less.

**Theorem 2** (as in approximate minima perturbation, Iyengar et al. 2019). Let w be any point, found in any way, at which the
gradient of J(w) + b w has L2 norm at most g. Then w plus noise in a cube of scale 2 g / (least ridge x e3) is (e1 + e2 + e3)-
differentially private. *Proof.* By strong convexity w lies within g / least ridge of a, in L2 norm and so in its largest number.
Let neighbours D and D' have the same a, by slopes b and b' of their own: the points found of them lie within twice that of each
other, so that what is let out given a is e3-private; and the laws of a are (e1 + e2)-close by theorem 1.

So no minimum has to be exact. What stands for g is a public number. It covers how far the slope that is used, on a grid of
doubles, lies from the ideal one; and the rest is *certified* before anything leaves: the gradient is computed in doubles, with a
bound of every rounding on the way (``doubt``), and where that bound is too wide, by balls.

**Theorem 3** (quasi-self-concordance: Bach 2010). Such a point is always found, whatever the rows. Let d = J''^-1 (J' + b) be
Newton's step, s^2 = d J'' d, and R a bound of how far d moves any two scores of a row against each other: the sum of its numbers'
sizes, and twice that of the largest line where there are several. A step of a share x of d, x <= 1 / max(1, R), lowers the
objective by at least x s^2 / 4. *Proof.* A third derivative of a logistic loss along d is at most R times its second one, and
that of the ridge is 0. So the objective along d lies below F - x s^2 + s^2 (e^(R x) - R x - 1) / R^2, in which the last quotient
is at most (e - 2) x^2. Longer shares are taken where they lower it by x s^2 / 4 as well. Since s^2 is at least the least ridge
times |d|^2, steps with R > 1/2 lower the objective by more than a public number, and can be only so many; where R <= 1/2 a whole
step makes s less than half. What doubles cannot tell, their gradients being rounded, is left to gradients of balls, at points of
as many digits as it takes. So nothing is ever refused, which would say something of the rows; how many steps it takes depends on
them, and so does the time, which is not protected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import EntropyError, ParameterError
from discreet.exact import nearest, positive
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out, show_number
from discreet.mechanisms.rows.block import MISSING, Block, Reader, part
from discreet.mechanisms.secret import Secret, open_secret
from discreet.noise import cube
from discreet.privacy import Privacy, pure
from discreet.privacy.neighbours import Neighbours, read_neighbours

_BENT, _LEFT = Fraction(3, 20), Fraction(1, 64)  # the shares of e2 and of e3
_MOST_BENT = 2  # of e2
_FREE = Fraction(1, 10)  # what the last number, which is 1, has of the sum of 1 / ridge_j
_SHORT = Fraction(1, 2**16)  # the certified norm of a gradient, or so many steps of the slope, if that is more
_STEPS = 2**10
_LARGEST = 2**400  # of the slope's scale: its square is a double
_FINE = 40  # binary digits between the scale of the slope and its grid
_ROWS = 2**8  # that are added up at a time
_ROUND = 2.0**-52
_STUCK = 4  # whole steps that do not make a gradient less than half, after which doubles are taken to say no more
MOST = 2**10
"""Weights that are found together."""


@dataclass(frozen=True, eq=False)
class Look:
    """A sum of losses at a point, its gradient and second derivatives; and of how many rows, in how many pieces, they are."""

    value: float
    slope: Reals
    bent: Reals
    rows: int
    pieces: int


@dataclass(frozen=True, eq=False)
class Losses:
    """Logistic losses of rows: blocks of ``z``, lines of ``width`` numbers of which the last is 1, and of ``label``, the class of
    each row, or ``MISSING``, which loses nothing. For one line, two classes, the second is to score above ``margin``."""

    read: Reader
    lines: int
    width: int
    margin: float

    def look(self, weights: Reals) -> Look:
        """The sum of losses and its first and second derivatives, in doubles."""
        total, lost = np.zeros((2, self.lines * self.width))
        bent, value, size, pieces = np.zeros((total.size, total.size)), 0.0, 0, 0
        for z, label, weight in self.rows():
            loss, rest, bends = self._lose(z @ weights.reshape(self.lines, -1).T, label, weight)
            more = (rest.T @ z).ravel()
            before, total = total, total + more
            lost = lost + ((before - (total - (total - before))) + (more - (total - before)))  # what this rounding lost, exactly
            value += float(loss.sum())
            size, pieces = size + len(z), pieces + 1
            for i in range(self.lines):
                for j in range(i + 1):
                    at = np.s_[i * self.width : (i + 1) * self.width, j * self.width : (j + 1) * self.width]
                    bent[at] += (z * bends(i, j)[:, None]).T @ z
        lower_half = np.tril_indices(total.size, -1)
        bent.T[lower_half] = bent[lower_half]
        return Look(value, total + lost, bent, size, pieces)

    def rows(self) -> Iterator[tuple[Reals, Integers, Reals]]:
        """Rows, their classes and what they weigh, some at a time."""
        for secret in self.read():
            block = open_secret(secret)
            weights = _weigh(block)
            first = 0
            for some in part(Block(block.columns, block.height), _ROWS):
                label = np.asarray(some["label"], dtype=np.int64)
                z = np.clip(np.nan_to_num(np.asarray(some["z"], dtype=np.float64)), -1.0, 1.0)
                yield z, label, np.where(label == MISSING, 0.0, weights[first : first + some.height])
                first += some.height

    def _lose(self, scores: Reals, label: Integers, weight: Reals) -> tuple[Reals, Reals, Callable[[int, int], Reals]]:
        """Of every row its loss, the derivatives of that by its scores, and its second ones."""
        with np.errstate(over="ignore"):
            if self.lines == 1:
                sign = np.where(label == 1, 1.0, -1.0)
                ahead = sign * scores[:, 0] - self.margin
                chance = 1 / (1 + np.exp(ahead))
                bend = weight * chance * (1 - chance)
                return weight * _log_sum(ahead), (-sign * chance * weight)[:, None], lambda _i, _j: bend
            most = scores.max(axis=1, keepdims=True)
            raised = np.exp(scores - most)
            whole = raised.sum(axis=1, keepdims=True)
        chances, right = raised / whole, label[:, None] == np.arange(self.lines)
        loss = weight * (np.log(whole) + most - (scores * right).sum(axis=1, keepdims=True))[:, 0]
        return loss, (chances - right) * weight[:, None], lambda i, j: weight * chances[:, i] * ((i == j) - chances[:, j])

    def slope_in_balls(self, weights: Sequence[Fraction]) -> list[arb]:
        """The gradient of the sum of losses, rigorously, row by row."""
        held = [ball(one) for one in weights]
        lines = [held[first : first + self.width] for first in range(0, len(held), self.width)]
        total = [arb(0)] * (self.lines * self.width)
        for z, label, weight in self.rows():
            for row, one, weighs in zip(z, label, weight, strict=True):
                numbers = [arb(float(x)) for x in row]
                scores = [sum((x * y for x, y in zip(line, numbers, strict=True)), arb(0)) for line in lines]
                for i, rest in enumerate(self._rest_in_ball(scores, int(one))):
                    at = i * self.width
                    total[at : at + self.width] = [
                        old + arb(float(weighs)) * rest * x for old, x in zip(total[at : at + self.width], numbers, strict=True)
                    ]
        return total

    def _rest_in_ball(self, scores: list[arb], label: int) -> list[arb]:
        if self.lines == 1:
            sign = 1 if label == 1 else -1
            return [-sign / (1 + (sign * scores[0] - arb(self.margin)).exp())]
        return [1 / sum(((other - one).exp() for other in scores), arb(0)) - (label == i) for i, one in enumerate(scores)]


def _log_sum(ahead: Reals) -> Reals:
    """ln(1 + e^-x), faster than numpy has it."""
    return np.log1p(np.exp(-np.abs(ahead))) + np.maximum(-ahead, 0.0)


def _weigh(block: Block) -> Reals:
    """1 for a row, or its part of a person, rounded down to 40 digits so that those of a person add up to no more than 1."""
    if block.starts is None:
        return np.ones(block.height)
    many = np.diff(np.append(block.starts, block.height))
    found: Reals = np.repeat(np.floor(2.0**40 / many) * 2.0**-40, many)
    return found


@dataclass(frozen=True, init=False)
class Minimum(Mechanism):
    """Objective perturbation of logistic losses, ``lines`` of ``width`` weights, of rows or, with ``persons``, of means of rows.

    >>> Minimum(epsilon=1, lines=1, width=5).ridge
    (6.86..., 15.4...)
    """

    epsilon: Fraction
    lines: int
    width: int
    persons: bool
    neighbours: Neighbours | None = field(repr=False)
    scale: Fraction  # of the slope
    ridge: tuple[float, float]  # of weights, and of those of the last number

    label = "objective perturbation"

    def __init__(
        self, *, epsilon: Number, lines: int, width: int, persons: bool = False, neighbours: Neighbours = "add-remove"
    ) -> None:
        exact = positive("epsilon", epsilon, "a number such as 1")
        if lines < 1 or width < 2 or lines * width > MOST:
            raise ParameterError(
                f"Objective perturbation finds lines of two weights and more, {MOST:,} in all; lines=1, width=2."
            )
        bent = min(_BENT * exact, Fraction(_MOST_BENT))
        moved = (1 if lines == 1 else 2) * (1 if neighbours == "add-remove" else 2)
        self._fill(epsilon=exact, lines=lines, width=width, persons=persons, neighbours=read_neighbours(neighbours))
        scale = moved / (exact - bent - _LEFT * exact)
        if scale > _LARGEST:
            raise ParameterError("So small an epsilon buys a slope of more than 10^120, which says nothing; write a larger one.")
        self._fill(scale=scale, ridge=_find_ridge(bent, lines, width, persons))

    @property
    def privacy(self) -> Privacy:
        return pure(self.epsilon, neighbours=self.neighbours)

    @cached_property
    def grid(self) -> Fraction:
        """The step of the slope, a power of two."""
        magnitude = self.scale.numerator.bit_length() - self.scale.denominator.bit_length()
        return Fraction(2) ** (magnitude - _FINE)

    @cached_property
    def short(self) -> Fraction:
        """g of theorem 2: what is certified, and how far the slope lies from the ideal one."""
        numbers = self.lines * self.width
        return self.certified + (math.isqrt(numbers) + 1) * self.grid / 2

    @cached_property
    def certified(self) -> Fraction:
        """A power of two that is within reach of doubles: they err by 2^-50 of the slope, of which a step is 2^-40."""
        return max(_SHORT, _STEPS * self.grid)

    @cached_property
    def last(self) -> Fraction:
        """The scale of the noise on the weights."""
        return 2 * self.short / (Fraction(min(self.ridge)) * _LEFT * self.epsilon)

    @cached_property
    def step(self) -> Fraction:
        """What one unit of a released weight is worth, a power of two."""
        magnitude = self.last.numerator.bit_length() - self.last.denominator.bit_length()
        return Fraction(2) ** (magnitude - 10)

    def release(self, value: Losses | Secret[Losses]) -> NDArray[np.object_]:
        """Weights, a line after the other: whole numbers of steps."""
        return let_out(self, value, lambda: self._draw(open_secret(value)))

    def _draw(self, losses: Losses) -> NDArray[np.object_]:
        if (losses.lines, losses.width) != (self.lines, self.width):
            raise ParameterError("These losses have other weights than the mechanism was made for.")
        units = [one for _ in range(self.lines) for one in cube.rounded(self.scale / self.grid, [Fraction(0)] * self.width)]
        if max(map(abs, units)) > 2**53:
            raise EntropyError("Noise of 4,000 scales in a cube has no chance; the system's generator cannot be working.")
        slope = np.array([float(one * self.grid) for one in units])  # exactly
        ridge = np.tile([*[self.ridge[0]] * (self.width - 1), self.ridge[1]], self.lines)
        found = _Objective(losses, slope, ridge, float(self.certified)).descend()
        return np.array(cube.rounded(self.last / self.step, [one / self.step for one in found]), dtype=object)

    def moved(self, before: Recording, after: Recording) -> Moved:
        """How far the slopes of two sums of losses lie apart at a few points, in the norm of the noise."""
        one, other = before.value, after.value
        assert isinstance(one, Losses)
        assert isinstance(other, Losses)
        far = max(self._distance(one.look(at).slope, other.look(at).slope) for at in self._points())
        allowed = self.scale * self.epsilon * (1 - _LEFT) - self.scale * min(_BENT * self.epsilon, Fraction(_MOST_BENT))
        if far > nearest(allowed) * (1 + 1e-9):
            return Moved(FREE, f"has slopes that moved by {far:.6g}, declared {show_number(allowed)} (the largest of a line)")
        return Moved(self.privacy if far else FREE)

    def _distance(self, one: Reals, other: Reals) -> float:
        return float(np.abs(one - other).reshape(self.lines, -1).max(axis=1).sum())

    def _points(self) -> Iterator[Reals]:
        numbers = self.lines * self.width
        for size in (0.0, 1.0, 100.0, -100.0):
            yield size * np.cos(np.arange(numbers) * math.e)
            yield np.full(numbers, size)

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label}, slopes with noise of scale {float(self.scale):,.4g} in a cube"


def _find_ridge(bent: Fraction, lines: int, width: int, persons: bool) -> tuple[float, float]:
    """For which the determinant costs no more: rank ln(1 + c / rank) <= bent, and for persons c <= bent."""
    rank = max(1, lines - 1)
    with precision(160):
        most = bent if persons else Fraction(lower(rank * ball(bent / rank).expm1()))
    trace = Fraction(1, 4) if lines == 1 else 1 - Fraction(1, lines)
    return (
        _above(trace * (width - 1) / (most * (1 - _FREE))),
        _above(trace / (most * _FREE)),
    )


def _above(number: Fraction) -> float:
    """A double that is not below."""
    return math.nextafter(nearest(number), math.inf)


@dataclass(frozen=True, eq=False)
class _Objective:
    """A sum of losses, a ridge and a slope, to be brought to its minimum by theorem 3; ``most``: the norm of a short gradient."""

    losses: Losses
    slope: Reals
    ridge: Reals
    most: float = float(_SHORT)

    def descend(self) -> list[Fraction]:
        """A point at which the gradient is certified to be short."""
        at, stuck = np.zeros(self.slope.size), 0
        here = self.look(at)
        size = float(np.linalg.norm(here.slope))
        while not size * (1 + 2.0**-30) + self.doubt(at, here) <= self.most:
            if stuck == _STUCK:
                return self.descend_in_balls([Fraction(float(one)) for one in at])
            at, found, near = self._step(at, here)
            short = float(np.linalg.norm(found.slope))
            stuck += not (short < size / 2 if near else found.value < here.value)
            here, size = found, short
        return [Fraction(float(one)) for one in at]

    def _step(self, at: Reals, here: Look) -> tuple[Reals, Look, bool]:
        """One step, what is found there, and whether it was one of those that halve."""
        step, reach = self.newton(here.bent, here.slope)
        fall, share = float(step @ here.slope), 1.0
        while True:
            found = self.look(at - share * step)
            if share * max(1.0, reach) <= 1 or found.value <= here.value - share * fall / 4:
                return at - share * step, found, reach <= 0.5
            share /= 2

    def descend_in_balls(self, at: list[Fraction]) -> list[Fraction]:
        """The same with gradients of balls, at points of any number of digits."""
        with precision(256):
            while True:
                gradient = self.slope_in_balls(at)
                if upper(sum((one**2 for one in gradient), arb(0)).sqrt()) <= self.most:
                    return at
                bent = self.losses.look(np.array([nearest(one) for one in at])).bent
                step, reach = self.newton(bent, np.array([float(one) for one in gradient]))
                at = [one - Fraction(float(more) / max(1.0, reach)) for one, more in zip(at, step, strict=True)]

    def newton(self, bent: Reals, slope: Reals) -> tuple[Reals, float]:
        """Newton's step, and how far it moves the scores of any row against each other, at most."""
        step: Reals = np.linalg.solve(bent + np.diag(self.ridge), slope).astype(np.float64)
        sizes = np.abs(step).reshape(self.losses.lines, -1).sum(axis=1)
        return step, float(sizes.max()) * (1 if self.losses.lines == 1 else 2)

    def look(self, at: Reals) -> Look:
        """The objective and its gradient; second derivatives are those of the losses."""
        found = self.losses.look(at)
        value = found.value + float((self.ridge * at * at).sum() / 2 + self.slope @ at)
        return replace(found, value=value, slope=found.slope + self.ridge * at + self.slope)

    def slope_in_balls(self, at: Sequence[Fraction]) -> list[arb]:
        """The gradient, rigorously."""
        total = self.losses.slope_in_balls(at)
        beside = zip(total, at, self.ridge, self.slope, strict=True)
        return [one + arb(float(much)) * ball(place) + arb(float(up)) for one, place, much, up in beside]

    def doubt(self, at: Reals, here: Look) -> float:
        """How far the norm of a gradient in doubles may be from that of the true one.

        With u = 2^-52, twice what one rounding errs by: a score of m products errs by (m + 1) u |w|_1, and its difference from a
        margin or from the largest score by 2 u (|w|_1 + margin) more; a chance moves by at most half of that, and errs by 2^-47
        + (k + 4) u by ``exp`` (16 units in the last place, see ``noise.lazy``, above and below a line), the sum over classes and
        the division; a weight rounds once. A sum of c rows, each at most 1, errs by (c + 1) u c in any order. Where q such sums
        are added up, what each addition loses is added up too, and errs by (q u)^2 n. The ridge and the slope err by 3 u of
        themselves and of the sum.
        """
        size = float(np.abs(at).reshape(self.losses.lines, -1).sum(axis=1).max())
        each = (self.losses.width + 6) * _ROUND * (size + self.losses.margin) + 2.0**-47 + (self.losses.lines + 5) * _ROUND
        added = (_ROWS + 1) * _ROUND + (here.pieces * _ROUND) ** 2
        beside = 3 * _ROUND * (float(np.abs(self.ridge * at).max()) + float(np.abs(self.slope).max()) + here.rows)
        return 1.001 * math.sqrt(at.size) * (here.rows * (each + added) + beside)
