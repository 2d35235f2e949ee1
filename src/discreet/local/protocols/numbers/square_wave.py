"""The square wave: report a number near the own one more often than one far away; and what shape the numbers have.

**Theorem** (Li, Wang, Lopuhaä-Zwakenberg, Škorić, Li 2020). The bounds are cut into bins, and the report is a cell of a longer
row, on which every bin has its window (see ``window.py``). So a report is at most e^epsilon times likelier for one value of a
person than for any other. The paper's real-valued wave is drawn here on a public grid with exact coins.

The shape is found by expectation maximisation on the counts of cells with a little smoothing in every round (EMS), which keeps
it from fitting the noise. Everything after the counts is free of privacy cost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import Protocol, Rows
from discreet.local.protocols.numbers.window import Window

_ROUNDS = 10_000
_NEVER = 1e-300  # less than any chance that matters
_STILL = 1e-6  # the rounds end when no more than this share moves


@dataclass(frozen=True)
class SquareWave(Protocol):
    """The square wave. The report is a cell, 0 .. bins + 2 arm - 1; the window of a bin reaches ``arm`` cells to both sides.

    >>> SquareWave(Fraction(1), 64, choose_arm(Fraction(1), 64)).cells
    96
    """

    epsilon: Fraction
    bins: int
    arm: int
    name: ClassVar[str] = "square wave"
    parameter_names: ClassVar[tuple[str, ...]] = ("bins", "arm")

    def __post_init__(self) -> None:
        if not 2 <= self.bins <= 2**14 or not 0 <= self.arm <= self.bins:
            raise ParameterError("A distribution has 2 to 16,384 bins; write bins=256, or leave the choice to discreet.")

    @cached_property
    def _window(self) -> Window:
        return Window(self.epsilon, self.cells, 2 * self.arm + 1)

    def _draw(self, codes: Integers) -> Rows:
        return self._window.draw(codes)

    def likelihood(self, row: Rows, code: int) -> arb:
        return self._window.likelihood(int(row.item()), code)

    def total_variation(self) -> arb:
        """Of two windows without a common cell; those of nearer bins differ less."""
        start, far = (self._window.likelihood(cell, 0) for cell in (0, self.cells - 1))
        return (start - far) * self._window.width

    @property
    def cells(self) -> int:
        return self.bins + 2 * self.arm

    def expected(self, shares: Reals) -> Reals:
        """How common each cell is among reports when the bins have these shares; along the last axis."""
        far, lift = self._window.rates
        sums = np.concatenate([np.zeros((*shares.shape[:-1], 1)), np.cumsum(shares, axis=-1)], axis=-1)
        cell = np.arange(self.cells)
        high = sums[..., np.minimum(cell + 1, self.bins)]
        return np.asarray(far + lift * (high - sums[..., np.maximum(cell + 1 - self._window.width, 0)]))

    def cumulative(self, counts: Reals) -> tuple[Reals, Reals]:
        """Unbiased estimates of the share of people at or below every bin, whatever the shape is, and their variances.

        Cell j is reported with probability far + lift (F(j) - F(j - w)), where F is that share and w the width of a window. So
        the cells x, x - w, x - 2 w, ... tell F(x), and x + w, x + 2 w, ... tell 1 - F(x); both are weighted by how many they are.
        Estimates for fewer than w bins in a row use different cells. No cell is rarer than ``far``, so variances are not either.
        """
        (far, lift), width, total = self._window.rates, self._window.width, max(float(counts.sum()), 1.0)
        rows = -(-self.cells // width)
        seen = np.zeros((2, rows * width))
        seen[0, : self.cells] = (counts / total - far) / lift
        seen[1, : self.cells] = np.maximum(counts / total, far)
        sums = np.cumsum(seen.reshape(2, rows, width), axis=1)
        below, above = sums.reshape(2, -1)[:, : self.bins], (sums[:, -1:] - sums).reshape(2, -1)[:, : self.bins]
        place = np.arange(self.bins)
        before, after = place // width + 1, (self.cells - 1 - place) // width
        weight = after / (before + after)
        share = weight * below[0] + (1 - weight) * (1 - above[0])
        variance = (weight**2 * below[1] + (1 - weight) ** 2 * above[1]) / (lift * lift * total)
        share[-1], variance[-1] = 1.0, 0.0  # everybody
        return share, variance

    def window_for(self, people: int, z: float) -> int:
        """Over how many bins in a row those estimates are best averaged, from public facts: noise falls, and blur grows."""
        noise = math.sqrt(0.5 / (self.cells * max(people, 1))) / self._window.rates[1]
        return int(min(max(round(min(z * noise * self.bins, 1e9) ** (2 / 3)), 1), self._window.width))

    def shares(self, counts: Reals) -> Reals:
        """The shares of the bins that best explain these counts of cells (EMS), for many runs of counts at once.

        Every round takes two steps and goes on where they lead (SQUAREM, Varadhan and Roland 2008), then one more: many times
        fewer steps to the same shape.
        """
        found = np.full((*counts.shape[:-1], self.bins), 1 / self.bins)
        for _ in range(_ROUNDS):
            once = self._step(counts, found)
            change = once - found
            if np.abs(change).sum(axis=-1).max() < _STILL:
                return once
            twice = self._step(counts, once)
            bend = twice - once - change
            length = np.sqrt((change**2).sum(axis=-1, keepdims=True) / np.maximum((bend**2).sum(axis=-1, keepdims=True), _NEVER))
            far = np.maximum(length, 1.0)  # 1 is where two steps lead
            ahead = np.maximum(found + 2 * far * change + far**2 * bend, 0.1 * twice)  # no share is lost
            found = self._step(counts, ahead / ahead.sum(axis=-1, keepdims=True))
        return found

    def _step(self, counts: Reals, found: Reals) -> Reals:
        """One step of expectation maximisation, and a little smoothing."""
        far, lift = self._window.rates
        totals = counts.sum(axis=-1, keepdims=True)
        ratio = counts / (np.maximum(self.expected(found), _NEVER) * totals)  # of cells that nobody named, 0 / 0 is 0
        sums = np.concatenate([np.zeros((*ratio.shape[:-1], 1)), np.cumsum(ratio, axis=-1)], axis=-1)
        first = np.arange(self.bins)
        inside = sums[..., first + self._window.width] - sums[..., first]
        return _smooth(found * (far * sums[..., -1:] + lift * inside))


def choose_arm(epsilon: Fraction, bins: int) -> int:
    """The half-width that tells most: (eps e^eps - e^eps + 1) / (2 e^eps (e^eps - 1 - eps)) of the range."""
    eps = min(float(epsilon), 50.0)
    if eps < 1e-3:
        return bins // 2  # the limit; the formula loses its digits
    share = (eps * math.exp(eps) - math.expm1(eps)) / (2 * math.exp(eps) * (math.expm1(eps) - eps))
    return math.floor(share * bins)


def _smooth(shares: Reals) -> Reals:
    """Each bin the average of itself (twice) and its neighbours; the total stays 1."""
    padded = np.concatenate([shares[..., :1], shares, shares[..., -1:]], axis=-1)
    mixed = (padded[..., :-2] + 2 * shares + padded[..., 2:]) / 4
    return np.asarray(mixed / mixed.sum(axis=-1, keepdims=True))
