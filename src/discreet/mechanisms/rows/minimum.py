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
bound of every rounding on the way (``_doubt``), and where that bound is too wide, by balls. Newton's steps, each shortened until
it makes the gradient shorter, find such a point, always, since J is smooth and strongly convex, for up to 2^28 rows; how many
steps it takes depends on the rows, and so does the time, which is not protected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import EntropyError, ParameterError, ValueRefused
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
_ROWS = 2**10  # that are added up at a time
_ROUND = 2.0**-52
_PASSES = 500
MOST = 2**10
"""Weights that are found together."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Logistic losses of rows: blocks of ``z``, lines of ``width`` numbers of which the last is 1, and of ``label``, the class of
    each row, or ``MISSING``, which loses nothing. For one line, two classes, the second is to score above ``margin``."""

    read: Reader
    lines: int
    width: int
    margin: float

    def slope(self, weights: Reals) -> tuple[Reals, Reals, tuple[int, int]]:
        """The gradient of the sum of losses, its second derivatives, and of how many rows, in how many pieces, they are."""
        total, size, pieces = np.zeros(self.lines * self.width), 0, 0
        bent = np.zeros((total.size, total.size))
        for z, label, weight in self.rows():
            rest, bends = self._rest(z @ weights.reshape(self.lines, -1).T, label, weight)
            total += (rest.T @ z).ravel()
            size, pieces = size + len(z), pieces + 1
            for i in range(self.lines):
                for j in range(i + 1):
                    at = np.s_[i * self.width : (i + 1) * self.width, j * self.width : (j + 1) * self.width]
                    bent[at] += (z * bends(i, j)[:, None]).T @ z
        lower_half = np.tril_indices(total.size, -1)
        bent.T[lower_half] = bent[lower_half]
        return total, bent, (size, pieces)

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

    def _rest(self, scores: Reals, label: Integers, weight: Reals) -> tuple[Reals, Callable[[int, int], Reals]]:
        with np.errstate(over="ignore"):
            if self.lines == 1:
                sign = np.where(label == 1, 1.0, -1.0)
                chance = 1 / (1 + np.exp(sign * scores[:, 0] - self.margin))
                bend = weight * chance * (1 - chance)
                return (-sign * chance * weight)[:, None], lambda _i, _j: bend
            raised = np.exp(scores - scores.max(axis=1, keepdims=True))
            chances = raised / raised.sum(axis=1, keepdims=True)
        rest = (chances - (label[:, None] == np.arange(self.lines))) * weight[:, None]
        return rest, lambda i, j: weight * chances[:, i] * ((i == j) - chances[:, j])

    def slope_in_balls(self, weights: Reals) -> list[arb]:
        """The gradient of the sum of losses, rigorously, row by row."""
        lines = [[arb(float(x)) for x in line] for line in weights.reshape(self.lines, -1)]
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

    @property
    def grid(self) -> Fraction:
        """The step of the slope, a power of two."""
        magnitude = self.scale.numerator.bit_length() - self.scale.denominator.bit_length()
        return Fraction(2) ** (magnitude - _FINE)

    @property
    def short(self) -> Fraction:
        """g of theorem 2: what is certified, and how far the slope lies from the ideal one."""
        numbers = self.lines * self.width
        return self.certified + (math.isqrt(numbers) + 1) * self.grid / 2

    @property
    def certified(self) -> Fraction:
        """A power of two that is within reach of doubles: they err by 2^-50 of the slope, of which a step is 2^-40."""
        return max(_SHORT, _STEPS * self.grid)

    @property
    def last(self) -> Fraction:
        """The scale of the noise on the weights."""
        return 2 * self.short / (Fraction(min(self.ridge)) * _LEFT * self.epsilon)

    @property
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
        found = _descend(losses, slope, ridge, float(self.certified))
        return np.array(cube.rounded(self.last / self.step, [Fraction(float(one)) / self.step for one in found]), dtype=object)

    def moved(self, before: Recording, after: Recording) -> Moved:
        """How far the slopes of two sums of losses lie apart at a few points, in the norm of the noise."""
        one, other = before.value, after.value
        assert isinstance(one, Losses)
        assert isinstance(other, Losses)
        far = max(self._distance(one.slope(at)[0], other.slope(at)[0]) for at in self._points())
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


def _descend(losses: Losses, slope: Reals, ridge: Reals, most: float = float(_SHORT)) -> Reals:
    """A point at which the gradient of all is certified to be short, ``most`` at the most."""
    weights = np.zeros(slope.size)

    def look(at: Reals) -> tuple[Reals, Reals, float, float]:
        gradient, bent, many = losses.slope(at)
        gradient = gradient + ridge * at + slope
        size = float(np.linalg.norm(gradient))
        return gradient, bent, size if math.isfinite(size) else math.inf, _doubt(losses, at, slope, ridge, *many)

    gradient, bent, size, doubt = look(weights)
    passes = 0
    while size * (1 + 2.0**-30) + doubt > most:
        step, share = np.linalg.solve(bent + np.diag(ridge), gradient), 1.0
        while True:
            passes += 1
            tried = weights - share * step
            found = look(tried)
            if found[2] <= (1 - share / 4) * size:
                weights, (gradient, bent, size, doubt) = tried, found
                break
            share /= 2
            if share < 2.0**-20 or passes > _PASSES:  # doubles say no more
                if _certify_in_balls(losses, weights, slope, ridge) <= most:
                    return weights
                raise ValueRefused("No minimum was found that could be certified: there are more rows than 2^28.")
    return weights


def _doubt(losses: Losses, weights: Reals, slope: Reals, ridge: Reals, rows: int, pieces: int) -> float:
    """How far the norm of a gradient in doubles may be from that of the true one.

    With u = 2^-52, twice what one rounding errs by: a score of m products errs by (m + 1) u |w|_1, and its difference from a
    margin or from the largest score by 2 u (|w|_1 + margin) more; a chance moves by at most half of that, and errs by 2^-45 +
    (k + 4) u by ``exp`` (16 units in the last place, see ``noise.lazy``), the sum over classes and the division; a weight rounds
    once. A sum of c rows, each at most 1, errs by (c + 1) u c in any order, that of q such sums by q u n. The ridge and the slope
    err by 3 u of themselves and of the sum.
    """
    size = float(np.abs(weights).reshape(losses.lines, -1).sum(axis=1).max())
    each = (losses.width + 6) * _ROUND * (size + losses.margin) + 2.0**-45 + (losses.lines + 5) * _ROUND
    added = (_ROWS + 1 + pieces) * _ROUND
    beside = 3 * _ROUND * (float(np.abs(ridge * weights).max()) + float(np.abs(slope).max()) + rows)
    return 1.001 * math.sqrt(weights.size) * (rows * (each + added) + beside)


def _certify_in_balls(losses: Losses, weights: Reals, slope: Reals, ridge: Reals) -> float:
    """The norm of the gradient of all, from above."""
    with precision(256):
        total = losses.slope_in_balls(weights)
        square = arb(0)
        for one, at, much, up in zip(total, weights, ridge, slope, strict=True):
            square += (one + arb(float(much)) * arb(float(at)) + arb(float(up))) ** 2
        return upper(square.sqrt())
