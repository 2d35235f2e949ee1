"""Running sums: after every step the sum so far, with noise that grows with the logarithm of the number of steps.

**Theorem** (the matrix mechanism for streams; Denisov, McMahan, Rush, Smith, Thakurta 2022, theorem 2.1, for streams that
depend on earlier answers). Let x_1, x_2, ... be vectors, C a lower triangular matrix of whole numbers, and release y_t = sum
over j <= t of C_tj x_j + z_t with Gaussian noise of standard deviation sigma in every coordinate. If neighbours differ in at
most k steps (``participations``), every two of them at least b apart (``apart``), and in each by at most D in L2 norm
(``sensitivity``), then this is Gaussian differential privacy with mu = D S / sigma, where S^2 is the largest sum of <c_i,
c_j> over i and j in a set of k such steps, c_i being the columns of C; also when x_t is chosen after y_1, ..., y_(t-1).
*Proof.* Where differences are d_i, the square of how far C x moves is the sum of <c_i, c_j> <d_i, d_j>, at most D^2 S^2 as no
<c_i, c_j> is below 0. Adaptively, C being lower triangular, y is the Gaussian mechanism asked step by step, and Gaussian
noise on vectors chosen along the way costs no more than the sum of the squares that they move by, which is bounded for every
way the stream may go.

**The matrix.** C_tj = c_(t-j), c_m = binom(2m, m) / 4^m rounded to a multiple of 2^-20: the square root of the matrix of
ones, whose error is within a small constant of the least that any matrix has (Fichtenberger, Henzinger, Upadhyay 2023). c
falls, so that <c_i, c_j> is largest for the earliest steps that are as near to each other as they may be: S^2 belongs to the
steps 1, 1 + b, ..., 1 + (k - 1) b, and is computed in whole numbers.

Running sums are linear in y: the series of B = A C^-1, for A the matrix of ones, applied to what was released. That is free.
"""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.errors import Exhausted, ParameterError, ValueRefused
from discreet.exact import nearest, root_up, whole
from discreet.exact import sensitivity as read_sensitivity
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.values import Value, read_numbers
from discreet.privacy import Privacy
from discreet.privacy.losses import Gaussian as Loss
from discreet.privacy.neighbours import Neighbours, read_neighbours

_FINE = 20  # binary digits of the matrix
_MOST_STEPS = 2**16


@called_as("steps=365, sensitivity=1, rho=0.5")
@dataclass(frozen=True, init=False)
class RunningSums(Mechanism):
    """Sums so far of a stream of whole numbers, or of vectors of them; for ``epsilon`` and ``delta``, or ``rho``.

    >>> visitors = RunningSums(steps=365, sensitivity=1, epsilon=1, delta=1e-6)
    >>> stream = visitors.start()
    >>> today = stream.add(1200)
    >>> so_far = stream.add(900)
    """

    steps: int
    sensitivity: int | Fraction
    participations: int
    apart: int
    neighbours: Neighbours | None = field(repr=False)  # under which the sensitivity holds, where that is stated
    squared_reach: int = field(repr=False)  # S^2, in units of the matrix
    noise: Gaussian = field(repr=False)  # as it is drawn, in units of the matrix

    label = "Gaussian noise on running sums"

    def __init__(
        self,
        *,
        steps: int,
        sensitivity: Number,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        participations: int = 1,
        apart: int = 1,
        neighbours: Neighbours | None = None,
    ) -> None:
        if whole("steps", steps) > _MOST_STEPS:
            raise ParameterError(f"steps must be at most {_MOST_STEPS:,}; write a smaller number, or add up several steps first.")
        many, far = whole("participations", participations), whole("apart", apart)
        exact = read_sensitivity(sensitivity)
        self._fill(steps=int(steps), sensitivity=exact, neighbours=read_neighbours(neighbours))
        self._fill(participations=many, apart=far, squared_reach=_reach(self.steps, many, far))
        norm = root_up(self.squared_reach * Fraction(exact) ** 2)
        if rho is None and (epsilon is None or delta is None):
            raise ParameterError(
                "RunningSums takes epsilon with delta, or rho; write RunningSums(steps=365, sensitivity=1, rho=0.5)."
            )
        sigma = root_up(Gaussian(sensitivity=norm, epsilon=epsilon, delta=delta, rho=rho).squared_sigma)
        self._fill(noise=Gaussian(sensitivity=-(-norm.numerator // norm.denominator), sigma=sigma, neighbours=neighbours))

    @property
    def privacy(self) -> Privacy:
        """That of the whole stream, however its steps are chosen."""
        square = self.squared_reach * Fraction(self.sensitivity) ** 2
        return Privacy.of(Loss(square / self.noise.squared_sigma), self.neighbours)

    @property
    def grid(self) -> float:
        """What is released before it is added up is a multiple of this public step."""
        return float(self.noise.grid) * 2.0**-_FINE

    def variances(self) -> Reals:
        """The variance of every running sum, step by step."""
        return np.asarray(np.cumsum(_series(self.steps) ** 2) * self.noise.variance * 4.0**-_FINE)

    def error(self, confidence: Number = 0.95) -> float:
        """With at least this probability, the last running sum, whose noise is largest, is no farther from the truth."""
        series = _series(self.steps)
        rounding = float(np.abs(series).sum()) * float(self.noise.grid) / 2
        reach = Gaussian(sensitivity=1.0, sigma=nearest(self.noise.squared_sigma) ** 0.5).error(confidence)
        return float((reach * np.sqrt((series**2).sum()) + rounding) * 2.0**-_FINE * (1 + 1e-9))

    def start(self) -> Stream:
        """Open a stream: add step after step, each chosen as late as you like."""
        return Stream(self)

    def release(self, values: Value) -> Reals:
        """All running sums of a stream that is already there: a number or a vector a step."""
        numbers = _read(values)
        if len(numbers) > self.steps:
            raise ValueRefused(f"The noise was made for {self.steps:,} steps; give it no more, or pay for more.")
        answers = _measure(numbers, len(numbers))
        noisy = let_out(self, answers, lambda: np.asarray(self.noise.release(answers)))
        return _add_up(noisy.astype(np.float64), self.steps)

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        spread = float(np.sqrt(self.variances()[-1])) * unit
        return f"{self.label}, of standard deviation {spread:,.4g} after {self.steps:,} steps"

    def moved(self, before: Recording, after: Recording) -> Moved:
        """In L2 norm, in units of the matrix: squares of all steps of a stream add up."""
        square = sum((x * x for x in changes(before, after)), Fraction(0))
        declared = root_up(self.squared_reach * Fraction(self.sensitivity) ** 2)
        cost = Privacy.of(Loss(square / self.noise.squared_sigma)) if square else FREE
        return Moved(cost, show_change(before, after, square, declared, "L2"))


class Stream:
    """One run. It holds what was added, without noise, so it cannot be copied, pickled or taken into a forked process."""

    def __init__(self, mechanism: RunningSums) -> None:
        self._mechanism = mechanism
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._added: list[NDArray[np.generic]] = []
        self._noisy: list[Reals] = []

    @property
    def left(self) -> int:
        """How many more steps can be added."""
        return self._mechanism.steps - len(self._added)

    def add(self, value: Value | Number) -> Reals | float:
        """The noisy sum of all that was added, this included."""
        if os.getpid() != self._process:
            raise Exhausted(
                "This stream belongs to another process; both would answer from one payment. Start a new stream here."
            )
        alone = isinstance(value, (int, np.integer))
        vector = _read([value] if alone else value).ravel()  # type: ignore[list-item]
        with self._lock:
            if not self.left:
                raise Exhausted(f"All {self._mechanism.steps:,} steps are released; pay for a new stream.")
            if self._added and vector.size != self._added[0].size:
                raise ValueRefused(f"Every step has as many numbers as the first, {self._added[0].size:,}; give it that many.")
            rows = np.stack([*self._added, vector])
            answer = _measure(rows, 1)[0]
            noisy = let_out(self._mechanism, answer, lambda: np.asarray(self._mechanism.noise.release(answer)))
            self._added.append(vector)
            self._noisy.append(noisy.astype(np.float64))
            series = _series(self._mechanism.steps)[: len(self._noisy)]
            total = np.tensordot(series[::-1], np.stack(self._noisy), axes=1) * 2.0**-_FINE
        return float(total[0]) if alone else total

    def __reduce__(self) -> NoReturn:
        raise Exhausted("A stream cannot be copied or pickled: two copies would answer from one payment. Start a new stream.")


@lru_cache(maxsize=16)
def _column(steps: int) -> Integers:
    """c_0, c_1, ... in units of 2^-20: nearest whole numbers of exact fractions, so that they fall."""
    exact, found = Fraction(1), []
    for m in range(steps):
        found.append(round(exact * 2**_FINE))
        exact = _short(exact * Fraction(2 * m + 1, 2 * m + 2))
    return np.minimum.accumulate(np.array(found, dtype=np.int64))


def _short(number: Fraction) -> Fraction:
    """A fraction that stays small: 80 binary digits are more than enough for 20."""
    return Fraction(number.numerator * 2**80 // number.denominator, 2**80)


def _reach(steps: int, many: int, apart: int) -> int:
    """S^2: the sum of <c_i, c_j> over the steps 0, b, 2b, ... of which there are at most k."""
    column = _column(steps)
    chosen = range(0, min(steps, many * apart), apart)
    summed = np.zeros(steps, dtype=np.int64)  # of the chosen columns: the square of their sum is the sum of all products
    for start in chosen:
        summed[start:] += column[: steps - start]
    return sum(x * x for x in summed.tolist())


@lru_cache(maxsize=16)
def _series(steps: int) -> Reals:
    """b_0, b_1, ... of the series 1 / ((1 - x) c(x)), c in units of 1: what makes running sums of releases."""
    c = _column(steps) * 2.0**-_FINE
    inverse = np.zeros(steps)
    inverse[0] = 1.0
    for m in range(1, steps):
        inverse[m] = -float(c[1 : m + 1] @ inverse[m - 1 :: -1][:m])
    return np.cumsum(inverse)


def _read(values: Value) -> NDArray[np.generic]:
    """Whole numbers, a row a step."""
    numbers = read_numbers(values, integral=True)
    shape = numbers.shape if len(numbers.shape) > 1 else (numbers.size, 1)
    if not numbers.size or len(shape) > 2:
        raise ValueRefused("Give a whole number, or a vector of them, for every step.")
    flat = np.array([int(x) for x in numbers.flat], dtype=object) if isinstance(numbers.flat, list) else numbers.flat
    return np.asarray(flat).reshape(shape)


def _measure(rows: NDArray[np.generic], last: int) -> NDArray[np.generic]:
    """The ``last`` rows of C x, exactly: in int64 where everything surely fits, else in Python's own integers."""
    column = _column(len(rows))
    largest = max(abs(int(rows.max())), abs(int(rows.min())))
    if rows.dtype == np.int64 and largest * int(column.sum()) < 2**62:
        kernel: NDArray[np.generic] = column
    else:
        rows, kernel = rows.astype(object), column.astype(object)
    return np.stack([np.dot(kernel[t::-1], rows[: t + 1]) for t in range(len(rows) - last, len(rows))])


def _add_up(noisy: Reals, steps: int) -> Reals:
    """Running sums of what was released, step by step."""
    series = _series(steps)
    sums = np.stack([series[t::-1] @ noisy[: t + 1] for t in range(len(noisy))]) * 2.0**-_FINE
    return sums[:, 0] if sums.shape[1] == 1 else sums
