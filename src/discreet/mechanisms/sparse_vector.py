"""The sparse vector technique.

**Theorem** (Lyu, Su, Li 2017, algorithm 7 and theorem 4). Compare a stream of queries, each moving by at most ``sensitivity``
between neighbours, with a threshold: the threshold gets Laplace noise of scale sensitivity / e1, once; every query gets fresh
noise of scale 2 c sensitivity / e2 (c sensitivity / e2 if ``monotonic``: all queries move the same way); only "above" or "below"
leaves, and after c times "above" nothing more does. This is (e1 + e2)-differentially private however many queries are asked, and
queries may be chosen after seeing earlier answers. With ``value_epsilon`` = e3, each "above" also releases its value with Laplace
noise of scale c sensitivity / e3 on *fresh* randomness, for e1 + e2 + e3 in all.

e1 : e2 = 1 : (2c)^(2/3) (1 : c^(2/3) if monotonic) minimises the variance of the comparison. The noise lives on a lattice that
contains ``sensitivity``, and comparisons are exact; the proof shifts noise by multiples of the sensitivity only, so it
holds on the lattice word for word. Fresh noise on the threshold, noise that forgets c, or releasing the compared value are the
known broken variants; none of them can be expressed here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NoReturn, cast

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Booleans, Number, Reals
from discreet.balls import ball, precision, upper
from discreet.calls import called_as
from discreet.errors import Exhausted, ParameterError, ValueRefused
from discreet.exact import nearest, positive, probability, whole
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.values import Numbers, Value, read_number, read_numbers
from discreet.noise import laplace as noise
from discreet.noise.bits import CHUNK
from discreet.privacy import Privacy, pure
from discreet.privacy.losses import Box, Family, response
from discreet.privacy.neighbours import Neighbours, read_neighbours

_MOST_ANSWERS = 10**9
_FINE = 20  # binary digits between a real sensitivity and the lattice


@called_as("sensitivity=1, epsilon=1, cutoff=3")
@dataclass(frozen=True, init=False)
class SparseVector(Mechanism):
    """Finds queries above a threshold and pays only for those found.

    >>> finder = SparseVector(sensitivity=1, epsilon=1, cutoff=2)
    >>> answers = finder.release([0, 0, 10**6, 0, 10**6, 0], threshold=10**3)
    >>> answers
    [False, False, True, False, True]
    """

    sensitivity: int | Fraction
    epsilon: Fraction
    cutoff: int
    monotonic: bool
    value_epsilon: Fraction | None
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated
    _integral: bool = field(repr=False)

    label = "sparse vector technique"

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number,
        cutoff: int,
        monotonic: bool = False,
        value_epsilon: Number | None = None,
        neighbours: Neighbours | None = None,
    ) -> None:
        if not isinstance(monotonic, bool):
            raise ParameterError(f"monotonic must be True or False, not {monotonic!r}.")
        self._fill(sensitivity=read_sensitivity(sensitivity), epsilon=positive("epsilon", epsilon, "a number such as 1"))
        if whole("cutoff", cutoff) > _MOST_ANSWERS:
            raise ParameterError(f"cutoff must be at most {_MOST_ANSWERS:,}; write a smaller one.")
        self._fill(cutoff=int(cutoff), monotonic=monotonic, neighbours=read_neighbours(neighbours), value_epsilon=None)
        self._fill(_integral=isinstance(self.sensitivity, int))
        if value_epsilon is not None:
            self._fill(value_epsilon=positive("value_epsilon", value_epsilon, "a number such as 0.5, or leave it out"))
        if max(self.scales) / self.step > noise.LARGEST_SCALE:
            raise ParameterError(f"epsilon = {epsilon} is too small for {self.cutoff} answers; write a larger one.")
        self.values  # noqa: B018 - noise that no grid can hold is refused here

    @property
    def values(self) -> Laplace | None:
        """What releases the values that are above, where those are paid for."""
        if self.value_epsilon is None:
            return None
        return Laplace(sensitivity=self.sensitivity, epsilon=self.value_epsilon / self.cutoff)

    @property
    def privacy(self) -> Privacy:
        """Pure: epsilon for the comparisons, plus value_epsilon for released values.

        One query that moves from half a sensitivity below the threshold to half above attains randomized response: the lower
        bound.
        """
        first, second = self.scales
        with precision(160):
            a, b, x = ball(Fraction(first)), ball(Fraction(second)), ball(Fraction(self.sensitivity) / 2)
            wrong = (b * b * (-x / b).exp() - a * a * (-x / a).exp()) / (2 * (b * b - a * a))
            worst = Box(self.epsilon + (self.value_epsilon or 0))
            attained = response(wrong if first != second else (2 + x / a) * (-x / a).exp() / 4)
        return Privacy.of(Family("SparseVector", worst, attained), self.neighbours)

    @cached_property
    def scales(self) -> tuple[Fraction, Fraction]:
        """Noise scales of the threshold and of every query."""
        factor = self.cutoff if self.monotonic else 2 * self.cutoff
        ratio = Fraction(round(1024 * factor ** (2 / 3)), 1024)  # any positive split is private; this one is nearly optimal
        first = self.epsilon / (1 + ratio)
        return self.sensitivity / first, factor * self.sensitivity / (self.epsilon - first)

    @cached_property
    def step(self) -> Fraction:
        """The lattice of the noise: 1 for integers, else the sensitivity divided by a power of two."""
        largest = max(self.scales)
        if isinstance(self.sensitivity, int) and largest <= noise.LARGEST_SCALE:
            return Fraction(1)
        fine = noise.LARGEST_SCALE * self.sensitivity / largest  # how many steps a sensitivity may have
        return Fraction(self.sensitivity) / (1 << min(_FINE, max(0, int(fine).bit_length() - 1)))

    def start(self, threshold: Number) -> Stream:
        """Open a stream of comparisons with one threshold: ask it query after query, each chosen as late as you like."""
        return Stream(self, threshold)

    def release(self, values: Sequence[Number] | NDArray[np.generic], threshold: Number) -> list[bool | int | float]:
        """Answers in order, up to and including the last "above" that is paid for.

        An answer is True or False; with ``value_epsilon`` it is False or the released value.
        """
        self.read(values)  # refused before the threshold's noise is drawn
        return self.start(threshold).answer(values)

    def read(self, values: Value) -> Numbers:
        """The numbers to be compared; those that could not be released, where releases are paid for, are refused."""
        return self.values.read(values) if self.values else read_numbers(values)

    def error(self, confidence: Number = 0.95, *, queries: int) -> float:
        """With at least this probability, all of ``queries`` answers are right about values at least this far from the threshold.

        A union bound over the noise of the threshold and of every query (as Dwork and Roth, theorem 3.24).
        """
        miss = 1 - probability("confidence", confidence, zero=False, hint="a number such as 0.95")
        first, second = self.scales
        with precision(160):
            return upper(ball((whole("queries", queries) + 1) / miss).log() * ball(first + second) + 2 * ball(self.step))

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label}, epsilon {float(self.epsilon):.4g} for {self.cutoff:,} above the threshold"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """By the query that moved most: the whole stream is paid for once."""
        moves = changes(before, after)
        far = max(map(abs, moves), default=Fraction(0))
        words = show_change(before, after, far, self.sensitivity, "every query")
        ways = frozenset(x > 0 for x in moves if x)
        return Moved(pure(self.epsilon) if far else FREE, words, None, before.facts[1], ways, self.monotonic)


class Stream:
    """One run of the technique. It holds the noisy threshold, so it cannot be copied, pickled or taken into a forked process."""

    def __init__(self, technique: SparseVector, threshold: Number) -> None:
        try:
            bar = read_number(threshold)
        except ValueRefused:
            raise ParameterError("The threshold must be one finite number, such as 100.") from None
        self._technique = technique
        self._lock = threading.Lock()
        self._process = os.getpid()
        first, self._query_scale = (scale / technique.step for scale in technique.scales)
        self._threshold = bar
        self._bar = bar + int(noise.discrete(first, 1)[0]) * technique.step
        self._left = technique.cutoff

    @property
    def left(self) -> int:
        """How many more times "above" can be answered."""
        return self._left

    def ask(self, value: Number) -> bool | int | float:
        """Whether the noisy value reaches the noisy threshold (or the released value, where those are paid for)."""
        read_number(value)  # one value, one answer, one payment
        return self.answer([value])[0]

    def answer(self, values: Sequence[Number] | NDArray[np.generic]) -> list[bool | int | float]:
        """``ask`` for many values at once, ending with the last "above" that is paid for."""
        if os.getpid() != self._process:
            raise Exhausted(
                "This stream belongs to another process; both would answer from one payment. Start a new stream here."
            )
        numbers, release = self._technique.read(values), self._technique.values
        near = numbers.near()
        answers: list[bool | int | float] = []
        with self._lock:
            if self._left == 0:
                raise Exhausted(f"All {self._technique.cutoff} answers above the threshold are spent; pay for a new stream.")
            for start in range(0, near.size, CHUNK):
                above = self._above(numbers, near, start)
                found = np.flatnonzero(above)[: self._left]
                self._left -= found.size
                answers += above[: found[-1] + 1 if self._left == 0 else None].tolist()
                if release:
                    for i in found:
                        value = numbers.exact(start + int(i))
                        answers[start + i] = cast(
                            "int | float", release.release(int(value) if self._technique._integral else value)
                        )
                if self._left == 0:
                    break
        return answers

    def _above(self, numbers: Numbers, near: Reals, start: int) -> Booleans:
        here = slice(start, start + CHUNK)
        return let_out(
            self._technique, numbers.flat[here], lambda: self._compare(near[here], start, numbers.exact), self._threshold, self
        )

    def _compare(self, near: Reals, start: int, exact: Callable[[int], Fraction]) -> Booleans:
        """Which values plus fresh noise reach the bar: in floats where those are surely right, exactly otherwise."""
        drawn = noise.discrete(self._query_scale, near.size)
        step, bar = nearest(self._technique.step), nearest(self._bar)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = near + drawn * step - bar
            sure = np.abs(gap) > 2.0**-36 * (np.abs(near) + np.abs(drawn) * step + abs(bar))
        above: Booleans = gap >= 0
        for i in np.flatnonzero(~(sure & np.isfinite(gap))):  # too close, or beyond the doubles
            above[i] = exact(start + int(i)) + int(drawn[i]) * self._technique.step >= self._bar
        return above

    def __reduce__(self) -> NoReturn:
        raise Exhausted("A stream cannot be copied or pickled: two copies would answer from one payment. Start a new stream.")
