"""Private selection: one noisy contest among candidates, which only the winner leaves, under three laws of the noise.

``sensitivity`` bounds how far any one score can move between neighbours. ``monotonic=True`` asserts more: that between
neighbours all scores move the same way, as counts do when a record is *added or removed* (never when one is
replaced); then half the noise is enough.

The candidates are the caller's, from the public domain: a candidate list read off the data is itself a leak.

**Theorem, the exponential mechanism** (McSherry and Talwar 2007). Choosing candidate r with probability proportional to
exp(epsilon s / (2 sensitivity)), s its score, is epsilon-differentially private for the neighbours under which no score moves
by more than ``sensitivity``; if all scores move the same way, exp(epsilon s / sensitivity) is enough. Drawn as the largest of
score + Gumbel noise: the same law.

**Utility** (same paper; Dwork and Roth, theorem 3.11). With probability at least 1 - beta the winner's score is within
(2 sensitivity / epsilon) ln(candidates / (beta best)) of the top score, when ``best`` candidates share it.

**Theorem, report noisy max** (Dwork and Roth, claim 3.9, corrected). The position of the largest score, after independent
Laplace noise of scale 2 sensitivity / epsilon on each, is epsilon-differentially private for the neighbours under which no
score moves by more than ``sensitivity``. Scale sensitivity / epsilon is enough only if all scores move the same way
(``monotonic=True``: counts when a record is added or removed, not when one is replaced); otherwise it costs 2 epsilon.

Only the winner's position may leave: its noisy score has not been paid for. This is not the exponential mechanism; Gumbel noise
would be.

**Theorem, permute-and-flip** (McKenna and Sheldon 2020; Ding et al. 2021). The position of the largest weight * score + Exp(1)
noise, with weight epsilon / (2 sensitivity) (twice that if all scores move the same way), is epsilon-differentially private for
the neighbours under which no score moves by more than ``sensitivity``. Its expected score is never below the exponential
mechanism's, and its error never likelier to exceed any bound, at the same pure epsilon. Under zero-concentrated accounting the
exponential mechanism usually wins.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.balls import arb, ball, precision, upper
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import nearest, positive, probability, whole
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, let_out, recorder, show_number, show_value
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.values import Numbers, Table, Value, read_numbers
from discreet.noise.selection import Noise, noisy_argmax
from discreet.privacy import Privacy, pure
from discreet.privacy.losses import BoundedRange, Box, Family, response
from discreet.privacy.neighbours import Neighbours, read_neighbours

C = TypeVar("C")
Scores = Sequence[Number] | NDArray[np.generic]


@called_as("sensitivity=1, epsilon=0.1")
@dataclass(frozen=True, init=False)
class Selection(Mechanism):
    """A private choice among candidates: the same verbs for every law of the noise."""

    sensitivity: int | Fraction
    epsilon: Fraction
    monotonic: bool
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated

    def __init__(
        self, *, sensitivity: Number, epsilon: Number, monotonic: bool = False, neighbours: Neighbours | None = None
    ) -> None:
        if not isinstance(monotonic, bool):
            raise ParameterError(f"monotonic must be True or False, not {monotonic!r}.")
        self._fill(sensitivity=read_sensitivity(sensitivity), epsilon=positive("epsilon", epsilon, "a number such as 0.1"))
        self._fill(monotonic=monotonic, neighbours=read_neighbours(neighbours))

    @property
    @abstractmethod
    def noise(self) -> Noise:
        """The law of the noise."""

    @property
    def weight(self) -> Fraction:
        """What a score is multiplied by before unit noise is added: epsilon / (2 sensitivity), or twice that if monotonic."""
        return self.epsilon / (self.sensitivity * (1 if self.monotonic else 2))

    @property
    def privacy(self) -> Privacy:
        """Pure at ``epsilon``, for the neighbours under which the sensitivity (and ``monotonic``) holds.

        Two candidates whose scores lead by half of what one record can move attain randomized response; that is the lower bound.
        """
        with precision(160):
            attained = response(self._upset(ball(self.epsilon / 2)))
        return Privacy.of(Family(type(self).__name__, Box(self.epsilon), attained), self.neighbours)

    @abstractmethod
    def _upset(self, lead: arb) -> arb:
        """The chance that the worse of two candidates wins, when the better one leads by ``lead`` units of noise."""

    def release(self, scores: Scores) -> int:
        """The position of the winner, and nothing else."""
        return let_out(self, scores, lambda: self._winner(scores))

    def _winner(self, scores: Scores | Numbers) -> int:
        away, exact = distances(scores)
        return noisy_argmax(away, self.weight, self.noise, exact)

    def release_each(self, scores: Table | Secret[Table]) -> Integers:
        """The position of the winner in every row of a table of scores: one contest, and one cost, a row."""
        return let_out(self, scores, lambda: np.array([self._winner(row) for row in open_secret(scores)], dtype=np.int64), "each")

    def choose(self, candidates: Sequence[C], scores: Scores) -> C:
        """The winning candidate, and nothing else."""
        if isinstance(candidates, (Mapping, Set)) or not hasattr(candidates, "__getitem__") or not hasattr(candidates, "__len__"):
            raise ParameterError("Candidates must be a list, in an order of its own; write choose([...], scores).")
        numbers = read_numbers(scores)
        if len(candidates) != numbers.size:
            raise ParameterError(
                f"There are {len(candidates)} candidates and {numbers.size} scores; give one score for each candidate."
            )
        seen = () if recorder() is None else (tuple(candidates),)  # a million candidates are copied for an audit only
        winner = let_out(self, scores, lambda: self._winner(numbers), *seen)
        return cast(C, getattr(candidates, "iloc", candidates)[winner])  # by position: a pandas column has labels of its own

    @abstractmethod
    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """With at least this probability the winner's score is no farther below the best one."""

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label}, epsilon {float(self.epsilon):.4g} for every group"

    def moved(self, before: Recording, after: Recording) -> Moved:
        if "each" in before.facts:
            return move_contests(self, cast("Table", before.value), cast("Table", after.value))
        return move_contests(self, [before.value], [after.value])

    def _cost(self, epsilon: Fraction) -> Privacy:
        """What a contest costs whose odds move by at most this epsilon."""
        return pure(epsilon)


def read_contest(confidence: Number, candidates: int) -> tuple[Fraction, int]:
    """The chance to miss, and the number of candidates."""
    return 1 - probability("confidence", confidence, zero=False, hint="a number such as 0.95"), whole("candidates", candidates)


def distances(scores: Scores | Numbers) -> tuple[Reals, Callable[[int], Fraction]]:
    """Every score minus the best, as doubles to a relative 2^-52 (minus infinity beyond them), and exactly on demand."""
    numbers = scores if isinstance(scores, Numbers) else read_numbers(scores)
    if len(numbers.shape) != 1:
        raise ValueRefused("Scores must be a flat list or array of numbers, one for each candidate.")
    if numbers.size == 0:
        raise ParameterError("There is no candidate to choose from; give at least one.")
    if isinstance(numbers.flat, list) or _wide(numbers.flat):
        exact = [numbers.exact(i) for i in range(numbers.size)]
        top = max(exact)
        away = [nearest(score - top) or (-5e-324 if score < top else 0.0) for score in exact]  # no distance becomes none
        return np.array(away), lambda i: exact[i] - top
    best = numbers.exact(int(np.argmax(numbers.flat)))
    with np.errstate(over="ignore"):
        near = (numbers.flat - numbers.flat.max()).astype(np.float64, copy=False)
    return near, lambda i: numbers.exact(i) - best


def move_contests(law: Selection, before: Iterable[object], after: Iterable[object]) -> Moved:
    """Contests side by side. Each costs by itself, and a mechanism pays for one: weight * (largest - least change of a
    score), because a constant added to all scores changes nothing."""
    cost, far = FREE, None
    for a, b in zip(before, after, strict=True):
        low, high = _extent(a, b)
        if low == high == 0:
            continue
        if max(-low, high) > law.sensitivity:
            sizes = f"{show_number(max(-low, high))}, declared {show_number(Fraction(law.sensitivity))}"
            far = far or f"a score moved by {sizes}: {show_value(a)} and {show_value(b)}"
        elif law.monotonic and low < 0 < high:
            far = far or f"scores moved both ways, declared monotonic: {show_value(a)} and {show_value(b)}"
        if spread := law.weight * (high - low):
            cost += law._cost(spread)
    return Moved(cost, far)


def _extent(one: object, other: object) -> tuple[Fraction, Fraction]:
    """The least and the largest change of a score."""
    if _small(one) and _small(other):
        change = np.subtract(cast("Integers", other), cast("Integers", one))
        return Fraction(int(change.min())), Fraction(int(change.max()))
    a, b = read_numbers(cast("Value", one)), read_numbers(cast("Value", other))
    moved = [b.exact(i) - a.exact(i) for i in range(a.size)]
    return min(moved), max(moved)


def _small(scores: object) -> bool:
    """Whether differences of these stay within 64 bits."""
    return isinstance(scores, np.ndarray) and scores.dtype == np.int64 and -(2**61) < scores.min() <= scores.max() < 2**61


def _wide(flat: NDArray[np.generic]) -> bool:
    """Whether differences of these integers can leave int64."""
    return flat.dtype == np.int64 and int(flat.max()) - int(flat.min()) >= 2**63


@dataclass(frozen=True, init=False)
class Exponential(Selection):
    """Chooses among candidates, exponentially more often the better they score.

    >>> hair = Exponential(sensitivity=1, epsilon=0.1)
    >>> hair.choose(["dark", "blond", "brown", "red"], [500, 50, 399, 51]) in {"dark", "blond", "brown", "red"}
    True
    >>> round(hair.utility_bound(beta=0.027, candidates=4))
    100
    """

    noise = Noise.GUMBEL
    label = "exponential mechanism"

    @property
    def privacy(self) -> Privacy:
        """Bounded range: better than pure at ``epsilon`` when composed."""
        return Privacy.of(BoundedRange(self.epsilon), self.neighbours)

    def _cost(self, epsilon: Fraction) -> Privacy:
        return Privacy.of(BoundedRange(epsilon))

    def _upset(self, lead: arb) -> arb:
        return 1 / (1 + lead.exp())

    def probabilities(self, scores: Scores) -> Reals:
        """The chance of each candidate. It is a function of the private scores: for study, not for release."""
        away, _ = distances(scores)
        with np.errstate(over="ignore", invalid="ignore"):
            weights = np.where(away == 0, 1.0, np.exp(away * nearest(self.weight)))
        chances: Reals = weights / weights.sum()
        return chances

    def utility_bound(self, beta: Number, candidates: int, best: int = 1) -> float:
        """With probability at least 1 - beta the winner's score is no farther below the best one."""
        miss = probability("beta", beta, zero=False, hint="a small chance such as 0.05")
        count, tied = whole("candidates", candidates), whole("best", best)
        if tied > count:
            raise ParameterError(
                f"best = {tied} candidates cannot share the top score among {count}; write a number up to {count}."
            )
        with precision(160):
            return upper((ball(Fraction(count, tied) / miss)).log() / ball(self.weight))

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """``utility_bound`` at beta = 1 - confidence."""
        miss, count = read_contest(confidence, candidates)
        return self.utility_bound(miss, count)


@dataclass(frozen=True, init=False)
class NoisyMax(Selection):
    """The lecture's report-noisy-max with Laplace noise.

    >>> NoisyMax(sensitivity=1, epsilon=0.5, monotonic=True).scale
    Fraction(2, 1)
    >>> NoisyMax(sensitivity=1, epsilon=0.5).scale
    Fraction(4, 1)
    """

    noise = Noise.LAPLACE
    label = "report noisy max"

    def _upset(self, lead: arb) -> arb:
        return (2 + lead) * (-lead).exp() / 4

    @property
    def scale(self) -> Fraction:
        """The scale of the Laplace noise on every score."""
        return 1 / self.weight

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """A union bound: two Laplace noises differ by more than x with probability (2 + x/b) e^(-x/b) / 4 on one side."""
        miss, count = read_contest(confidence, candidates)
        if count == 1:
            return 0.0
        share = miss * 4 / (count - 1)
        wanted = math.log(share.numerator) - math.log(share.denominator)
        low, high = 0.0, 8.0 - 2 * min(0.0, wanted)
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if math.log(2 + middle) - middle <= wanted else (middle, high)
        return high * nearest(self.scale)


@dataclass(frozen=True, init=False)
class PermuteAndFlip(Selection):
    """Chooses among candidates, never worse than the exponential mechanism at the same pure epsilon.

    >>> PermuteAndFlip(sensitivity=1, epsilon=1, monotonic=True).release([0, 1000])
    1
    """

    noise = Noise.EXPONENTIAL
    label = "permute-and-flip"

    def _upset(self, lead: arb) -> arb:
        return (-lead).exp() / 2

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """The exponential mechanism's bound, which holds here too: ln(candidates / (1 - confidence)) / weight."""
        miss, count = read_contest(confidence, candidates)
        with precision(160):
            return upper((ball(count / miss)).log() / ball(self.weight))
