"""What the three selection mechanisms share: candidates, their scores, and a noisy contest that only the winner leaves.

``sensitivity`` bounds how far any one score can move between neighbours. ``monotonic=True`` asserts more: that between
neighbours all scores move the same way, as counts do when a record is *added or removed* (never when one is
replaced); then half the noise is enough.

The candidates are the caller's, from the public domain: a candidate list read off the data is itself a leak.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.balls import arb, ball, precision
from discreet.calls import called_as
from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability, whole
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.histograms import Table
from discreet.mechanisms.recording import let_out, recorder
from discreet.mechanisms.secret import Secret, opened
from discreet.mechanisms.values import Numbers, nearest, read_numbers
from discreet.noise.selection import Noise, noisy_argmax
from discreet.privacy import Privacy
from discreet.privacy.losses import Box, Family, response
from discreet.privacy.neighbours import Neighbours, read_neighbours

__all__ = ["Scores", "Selection", "distances", "read_contest"]

C = TypeVar("C")
Scores = Sequence[Number] | NDArray[np.generic]


@called_as("sensitivity=1, epsilon=0.1")
@dataclass(frozen=True, init=False)
class Selection(ABC):
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
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon, "a number such as 0.1"))
        object.__setattr__(self, "monotonic", monotonic)
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

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
        return let_out(self, scores, lambda: np.array([self._winner(row) for row in opened(scores)], dtype=np.int64), "each")

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


def _wide(flat: NDArray[np.generic]) -> bool:
    """Whether differences of these integers can leave int64."""
    return flat.dtype == np.int64 and int(flat.max()) - int(flat.min()) >= 2**63
