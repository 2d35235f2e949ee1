"""A protocol of local privacy: randomise on the client, and check and tally reports on the server.

A report is one row of a *fixed form*: a whole number, or so many bytes. A protocol is a frozen value with exact parameters; it
says with which probability each report is drawn (``likelihood``), so that its guarantee can be checked rather than believed.

**The guarantee** of every protocol here: for any two values x, x' of one person and any report y,
P(y | x) <= e^epsilon P(y | x') (pure local differential privacy, Kasiviswanathan et al. 2008).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Booleans, Integers
from discreet.balls import arb, ball, precision
from discreet.noise.bits import CHUNK

Rows = NDArray[np.generic]
Plain = int | str | list[int] | list[int | str]


@dataclass(frozen=True)
class Form:
    """The fixed form of a report: ``width`` numbers of one type, or a single whole number where the width is 0."""

    dtype: str
    width: int = 0

    def empty(self, count: int) -> Rows:
        """Room for so many reports."""
        return np.zeros((count, self.width) if self.width else count, dtype=self.dtype)

    def fits(self, rows: Rows) -> bool:
        """Whether these are reports of this form; a whole number may be of any integer type."""
        if self.width == 0:
            return rows.ndim == 1 and rows.dtype.kind in "iu"
        return rows.ndim == 2 and rows.shape[1] == self.width and rows.dtype == np.dtype(self.dtype)


NUMBER = Form("<i8")


class Protocol(ABC):
    """One way to make, check and tally private reports. Values are coded as whole numbers before they come here."""

    name: ClassVar[str]
    parameter_names: ClassVar[tuple[str, ...]] = ()
    epsilon: Fraction

    @property
    def parameters(self) -> dict[str, int]:
        """The whole numbers that, with epsilon and the domain, determine the protocol."""
        return {name: getattr(self, name) for name in self.parameter_names}

    @property
    def reports(self) -> int:
        """How many different reports there are, 0 .. reports - 1: one a counter, unless the protocol says otherwise."""
        return self.cells

    @property
    def form(self) -> Form:
        """What a report looks like, whatever the value; a whole number unless the protocol says otherwise."""
        return NUMBER

    @property
    def bits(self) -> float:
        """The information in one report."""
        return math.log2(self.reports)

    @property
    def chunk(self) -> int:
        """How many reports are drawn at a time, so that temporaries stay small."""
        return CHUNK

    def randomize(self, codes: Integers) -> Rows:
        """One report for every coded value, each with its own randomness."""
        rows = self.form.empty(codes.size)
        for start in range(0, codes.size, self.chunk):
            here = slice(start, start + self.chunk)
            rows[here] = self._draw(codes[here])
        return rows

    @abstractmethod
    def _draw(self, codes: Integers) -> Rows:
        """Reports for a chunk of values. The same coins are tossed whatever the values are."""

    @abstractmethod
    def likelihood(self, row: Rows, code: int) -> arb:
        """The probability of drawing this report for this value, as a ball at the current precision."""

    def total_variation(self) -> arb:
        """The most by which the laws of a report differ in total variation between two values, or a bound on it.

        A protocol that says nothing else is taken as randomized response between the two: no larger distance is private.
        """
        e = ball(self.epsilon).exp()
        return (e - 1) / (e + 1)

    def valid(self, rows: Rows) -> Booleans:
        """Which rows could have been drawn for some value."""
        numbers = rows.astype(np.int64)
        return (numbers >= 0) & (numbers < self.reports)

    @property
    @abstractmethod
    def cells(self) -> int:
        """The length of the collector's state."""

    def tally(self, rows: Rows) -> Integers:
        """The state of a collector that has seen these (valid) reports; states add. Each report adds 1 to its own counter."""
        return np.bincount(rows.astype(np.int64, copy=False), minlength=self.cells)

    def possible(self, tally: Integers, count: int) -> bool:
        """Whether so many reports can have left this state. Each adds 1 to one counter, unless the protocol says otherwise."""
        return counts_within(tally, count) and int(tally.sum()) == count

    def plain(self, row: Rows) -> Plain:
        """One report as JSON holds it; a whole number unless the protocol says otherwise."""
        return int(row.item())

    def row(self, plain: object) -> Rows | None:
        """The report that JSON held, or None where it has not this protocol's form. Range is checked by ``valid``."""
        return np.array(plain, dtype=np.int64) if type(plain) is int and 0 <= plain < 2**62 else None


@dataclass(frozen=True)
class Rates:
    """How often a report supports the own value (``truth``), how often any other (``lie``), and ``gain`` = truth - lie."""

    truth: float
    lie: float
    gain: float

    def variance(self, share: float) -> float:
        """Of one report's estimate of a value that this share of all people has (noise of the protocol alone)."""
        mixed = share * self.truth * (1 - self.truth) + (1 - share) * self.lie * (1 - self.lie)
        return mixed / self.gain**2

    @property
    def influence(self) -> float:
        """How far a share of hostile clients can move one value's estimate, as a multiple of their share."""
        return (1 - self.lie) / self.gain


class FrequencyProtocol(Protocol):
    """A protocol whose reports each support a set of values: the own one with probability p, any other with probability q < p.

    With C(v) supporting reports among n, (C(v) / n - q) / (p - q) is an unbiased estimate of v's share of the n people, of
    variance [f p (1 - p) + (1 - f) q (1 - q)] / (n (p - q)^2) (Wang, Blocki, Li, Jha 2017).
    """

    size: int

    @classmethod
    def offers(cls, epsilon: Fraction, size: int) -> list[Self]:
        """The members worth considering for so many values; none where the protocol cannot hold them."""
        return [cls(epsilon, size)]  # type: ignore[call-arg]

    @abstractmethod
    def supporting(self) -> tuple[arb, arb]:
        """p and q, as balls at the current precision."""

    def total_variation(self) -> arb:
        """p - q, for any two values v and w.

        Where every report is equally likely for all values it supports, and for all it does not, the laws differ on reports that
        support one of v and w, and those that support v alone are as many as those that support w alone. So the distance is
        P(v alone | v) - P(v alone | w) = P(v alone | v) - P(w alone | v) = p - q. (Unary encoding: the same, bit by bit.)
        """
        truth, lie = self.supporting()
        return truth - lie

    def support(self, tally: Integers) -> Integers:
        """C(v) for every value: its own counter, unless the protocol says otherwise."""
        return tally

    @property
    @abstractmethod
    def targets(self) -> float:
        """How many values one report supports, on average (the most, where that is fixed)."""

    @property
    @abstractmethod
    def server(self) -> str:
        """What collecting costs, in words."""

    @cached_property
    def rates(self) -> Rates:
        """p, q and p - q as floats, with all their digits."""
        with float_precision(self.epsilon):
            truth, lie = self.supporting()
            return Rates(float(truth), float(lie), float(truth - lie))

    @property
    def variance(self) -> float:
        """Of one report, averaged over the values: a value's share is taken as 1 / size."""
        return self.rates.variance(1 / self.size)


def counts_within(tally: Integers, most: int) -> bool:
    """Whether all counters are from 0 to ``most``; sums of them do not wrap then."""
    return bool(((tally >= 0) & (tally <= most)).all())


def float_precision(epsilon: Fraction) -> AbstractContextManager[None]:
    """A precision at which e^epsilon - 1 and e^-epsilon have all digits of a float, however small or large epsilon is."""
    return precision(256 + 4 * epsilon.denominator.bit_length() + 4 * math.ceil(epsilon))


def chance_inside(inside: int, outside: int, epsilon: Fraction) -> Callable[[], arb]:
    """The chance a e^epsilon / (a e^epsilon + b) of reporting one of a likely reports, not one of b others; exact.

    Irrational, so a ball at whatever precision is asked for; ``Chance(chance_inside(...))`` is drawn digit by digit.

    >>> round(float(chance_inside(1, 3, Fraction(1))()), 6)
    0.475367
    """
    odds = Fraction(outside, inside)
    return lambda: 1 / (1 + ball(odds) * (-ball(epsilon)).exp())
