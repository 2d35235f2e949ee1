"""What the three selection mechanisms share: candidates, their scores, and a noisy contest that only the winner leaves.

``sensitivity`` bounds how far any one score can move between neighbours. ``monotonic=True`` asserts more: that between
neighbours all scores move the same way, as counts do when a record is *added or removed* (never when one is
replaced); then half the noise is enough.

The candidates are the caller's, from the public domain: a candidate list read off the data is itself a leak.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, ValueRefused
from discreet.exact import positive, probability, whole
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.grid import Number, finite, nearest
from discreet.noise.lazy import Reals
from discreet.noise.selection import Noise, noisy_argmax
from discreet.privacy import Privacy, pure

__all__ = ["Scores", "Selection", "distances", "read_contest"]

C = TypeVar("C")
Scores = Sequence[Number] | NDArray[np.generic]


@dataclass(frozen=True, init=False)
class Selection(ABC):
    """A private choice among candidates: the same verbs for every law of the noise."""

    sensitivity: int | Fraction
    epsilon: Fraction
    monotonic: bool

    def __init__(self, *, sensitivity: Number, epsilon: Number, monotonic: bool = False) -> None:
        if not isinstance(monotonic, bool):
            raise ParameterError(f"monotonic must be True or False, not {monotonic!r}.")
        object.__setattr__(self, "sensitivity", read_sensitivity(sensitivity))
        object.__setattr__(self, "epsilon", positive("epsilon", epsilon, "a number such as 0.1"))
        object.__setattr__(self, "monotonic", monotonic)

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
        """Pure differential privacy for the neighbours under which the sensitivity (and ``monotonic``) holds."""
        return pure(self.epsilon)

    def release(self, scores: Scores) -> int:
        """The position of the winner, and nothing else."""
        away, exact = distances(scores)
        return noisy_argmax(away, self.weight, self.noise, exact)

    def choose(self, candidates: Sequence[C], scores: Scores) -> C:
        """The winning candidate, and nothing else."""
        if len(candidates) != len(scores):
            raise ParameterError(
                f"There are {len(candidates)} candidates and {len(scores)} scores; give one score for each candidate."
            )
        return candidates[self.release(scores)]

    @abstractmethod
    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """With at least this probability the winner's score is no farther below the best one."""


def read_contest(confidence: Number, candidates: int) -> tuple[Fraction, int]:
    """The chance to miss, and the number of candidates."""
    return 1 - probability("confidence", confidence, zero=False, hint="a number such as 0.95"), whole("candidates", candidates)


class _Exact:
    """Rational distance of one score to the best, on demand."""

    def __init__(self, scores: NDArray[np.generic]) -> None:
        self._scores = scores
        self._best = self._read(int(np.argmax(scores)))

    def _read(self, i: int) -> Fraction:
        score = self._scores[i]
        return Fraction(score.item() if isinstance(score, np.generic) else score)

    def __call__(self, i: int) -> Fraction:
        return self._read(i) - self._best


def distances(scores: Scores) -> tuple[Reals, _Exact]:
    """Every score minus the best, as doubles to a relative 2^-52, and exactly on demand."""
    try:
        array = np.asarray(scores)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=object).reshape(0, 0)
    if array.ndim != 1 or array.dtype.kind not in "iufO" or array.dtype.itemsize > 8:
        raise ValueRefused("Scores must be a flat list or array of numbers, one for each candidate.")
    if array.size == 0:
        raise ParameterError("There is no candidate to choose from; give at least one.")
    if array.dtype == object:
        return _object_distances(array)
    if array.dtype.kind == "f":
        if not np.isfinite(array).all():
            raise ValueRefused(
                "A score is NaN or infinite; give finite scores (clamp them to the bounds that fix the sensitivity)."
            )
        array = array.astype(np.float64)
        with np.errstate(over="ignore"):  # a distance beyond the doubles is as good as infinite to the screen
            return array - array.max(), _Exact(array)
    if int(array.max()) - int(array.min()) >= 2**63:
        return _object_distances(array.astype(object))
    wide = array if array.dtype.itemsize == 8 else array.astype(np.int64)
    return (wide - wide.max()).view(np.int64).astype(np.float64), _Exact(wide)


def _object_distances(scores: NDArray[np.object_]) -> tuple[Reals, _Exact]:
    if not all(finite(score) for score in scores):
        raise ValueRefused("A score is not a finite number; give finite scores, one for each candidate.")
    exact = _Exact(np.array([Fraction(score) for score in scores], dtype=object))
    return np.array([nearest(exact(i)) for i in range(scores.size)]), exact
