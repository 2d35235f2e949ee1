"""The law of a sum of losses: composition, as far as it can be drawn.

Atoms are summed directly (all terms are positive, so every digit is kept). The rest is convolved on a lattice by FFT: each law
is put on it with half of every cell at either end, and the result is moved and stretched so that its mean and variance are
right. That is numerical: good to about 1e-4 of the answer, not certified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Reals
from discreet.privacy.law import Law, Spread, merge
from discreet.privacy.losses.atoms import Atoms

__all__ = ["total_law"]

Uses = Sequence[tuple[Law, int]]
Points = tuple[Reals, Reals]

_LEAST = 1e-60  # atoms with less mass are left out
_MOST = 1 << 22  # sums of two atoms that are looked at


def total_law(uses: Uses) -> Law:
    """The law of the sum of independent losses, each taken so often."""
    finite = [(law, count) for law, count in uses if count]
    mean = math.fsum(count * law.mean for law, count in finite)
    variance = math.fsum(count * law.variance for law, count in finite)
    low = math.fsum(count * law.support[0] for law, count in finite)
    high = math.fsum(count * law.support[1] for law, count in finite)
    kept = math.exp(math.fsum(count * math.log1p(-law.infinity) for law, count in finite))
    points: Points | None = (np.zeros(1), np.ones(1))
    for law, count in finite:
        power = _power((law.losses, law.masses), count)
        points = _sum(points, power) if points and power else None
    losses, masses = points or (np.empty(0), np.empty(0))
    spread = None
    if points is None or any(law.spread for law, _ in finite):
        spread = _Lattice(finite, mean, variance, points is not None).spread(low, high)
    return Law(losses, masses, spread, 1 - kept, (low, high), mean, variance, points is None)


def _sum(a: Points, b: Points) -> Points | None:
    """All sums of an atom of one and an atom of the other; None where there are too many."""
    if not (a[0].size and b[0].size):
        return np.empty(0), np.empty(0)
    if _even(a[0]) and _even(b[0]) and a[0].size > 1 and b[0].size > 1 and _same_step(a[0], b[0]):
        if a[0].size * b[0].size > _MOST << 5:
            return None
        masses = np.convolve(a[1], b[1])
        step = (a[0][-1] - a[0][0]) / (a[0].size - 1)
        losses = a[0][0] + b[0][0] + step * np.arange(masses.size)
    elif a[0].size * b[0].size > _MOST:
        return None
    else:
        losses, masses = merge(np.add.outer(a[0], b[0]).ravel(), np.multiply.outer(a[1], b[1]).ravel())
    held = np.flatnonzero(masses >= _LEAST)
    inside = slice(held[0], held[-1] + 1) if held.size else slice(0)
    return losses[inside], masses[inside]


def _power(atoms: Points, count: int) -> Points | None:
    """The sum of ``count`` draws, by repeated doubling."""
    result: Points | None = None
    square: Points | None = atoms
    while True:
        if square is None:
            return None
        if count & 1:
            result = square if result is None else _sum(result, square)
            if result is None:
                return None
        count >>= 1
        if not count:
            return result
        square = _sum(square, square)


def _even(losses: Reals) -> bool:
    gaps = np.diff(losses)
    return gaps.size == 0 or bool(np.ptp(gaps) <= 1e-9 * gaps[0])


def _same_step(a: Reals, b: Reals) -> bool:
    return bool(abs((a[1] - a[0]) - (b[1] - b[0])) <= 1e-9 * (a[1] - a[0]))


@dataclass(frozen=True)
class _Lattice:
    """The part of a total law that is not listed as atoms."""

    uses: Uses
    mean: float
    variance: float
    listed: bool  # atoms are known apart and have to be taken out here

    def spread(self, low: float, high: float) -> Spread:
        x, mass = self._tilted(0.0)
        heights, rises = mass / float(x[1] - x[0]), np.cumsum(mass) - mass / 2
        return Spread(
            max(low, float(x[0])),
            min(high, float(x[-1])),
            lambda v: np.interp(v, x, heights, left=0.0, right=0.0),
            lambda v: np.interp(v, x, rises, left=0.0, right=float(rises[-1])),
            lambda v: np.array([self._above(float(one)) for one in np.ravel(v)]).reshape(np.shape(v)),
        )

    @cached_property
    def _laws(self) -> tuple[Fraction, list[Atoms], list[Atoms]]:
        """The step, the laws on the lattice, and their atoms alone."""
        count = sum(self._counts)
        longest = max((law.spread.high - law.spread.low for law, _ in self.uses if law.spread), default=0.0)
        step = Fraction(max(math.sqrt(self.variance) * min(1 / 2048, 1 / (32 * math.sqrt(count))), longest / 2**15))
        whole = [_on_lattice(law, step, dense=True) for law, _ in self.uses]
        return step, whole, [_on_lattice(law, step, dense=False) for law, _ in self.uses]

    @property
    def _counts(self) -> list[int]:
        return [count for _, count in self.uses]

    def _tilted(self, tilt: float) -> tuple[Reals, Reals]:
        """Losses and masses, good to about 12 digits of the law tilted by e^(tilt L)."""
        step, whole, atoms = self._laws
        low, mass = _convolved(whole, self._counts, tilt)
        weight = math.fsum(k * math.log(max(float(a.mass.sum()), 1e-300)) for a, k in zip(atoms, self._counts, strict=True))
        if self.listed and weight > -32:
            start, known = _convolved(atoms, self._counts, tilt)
            place = start - low + np.arange(known.size)
            inside = (place >= 0) & (place < mass.size)
            mass[place[inside]] -= known[inside]
            mass = np.maximum(mass, 0.0)
        mean, variance = self._moments
        away = np.asarray(float(step) * (low + np.arange(mass.size)) - mean, dtype=np.float64)
        return self.mean + away * math.sqrt(self.variance / variance), mass

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and variance as they are on the lattice."""
        mean = variance = 0.0
        for atoms, (_, count) in zip(self._laws[1], self.uses, strict=True):
            share = atoms.mass / atoms.mass.sum()
            middle = float(share @ atoms.losses)
            mean, variance = mean + count * middle, variance + count * float(share @ (atoms.losses - middle) ** 2)
        return mean, variance

    def _above(self, x: float) -> float:
        losses, mass = self._tilted(self._saddle(x))
        # Each point stands for half a cell to either side; the cell around x counts in part.
        return float(mass @ np.clip((losses - x) / (losses[1] - losses[0]) + 0.5, 0.0, 1.0))

    def _saddle(self, x: float) -> float:
        """A tilt under which the mean is near x (roughly is enough); 0 for losses below the mean."""

        def mean(tilt: float) -> float:
            total = 0.0
            for atoms, (_, count) in zip(self._laws[1], self.uses, strict=True):
                exponents = tilt * atoms.losses
                weights = atoms.mass * np.exp(exponents - exponents.max())
                total += count * float(weights @ atoms.losses) / float(weights.sum())
            return total

        low, high = 0.0, 1 / math.sqrt(self.variance)
        while mean(high) < x and high * float(self._laws[0]) < 1:
            low, high = high, 2 * high
        for _ in range(5 if x > self.mean else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < x else (low, middle)
        return low


def _convolved(laws: list[Atoms], counts: list[int], tilt: float) -> tuple[int, Reals]:
    """The masses of a sum, and the number of the lattice point at which they start, by FFT under a tilt.

    The window holds 10 standard deviations to either side and the farthest that one draw reaches; what lies outside of it wraps.
    """
    step, scale, mean, variance, far = float(laws[0].step), 0.0, 0.0, 0.0, [0.0, 0.0]
    tilted = []
    for law, count in zip(laws, counts, strict=True):
        index = int(law.first / law.step) + np.arange(law.mass.size)
        exponents = tilt * step * index
        weights = law.mass * np.exp(exponents - exponents.max())
        scale += count * (float(exponents.max()) + math.log(weights.sum()))
        weights /= weights.sum()
        middle = float(weights @ index)
        mean, variance = mean + count * middle, variance + count * float(weights @ (index - middle) ** 2)
        seen = index[(np.cumsum(weights) > 1e-14 / count) & (np.cumsum(weights[::-1])[::-1] > 1e-14 / count)]
        far = [max(far[0], middle - float(seen[0])), max(far[1], float(seen[-1]) - middle)]
        tilted.append((index, weights, count))
    least, most = (sum(count * int(index[end]) for index, _, count in tilted) for end in (0, -1))
    low = max(least, math.floor(mean - 10 * math.sqrt(variance) - far[0]))
    high = min(most, math.ceil(mean + 10 * math.sqrt(variance) + far[1]))
    size = 1 << max(3, (high - low + 1).bit_length())
    product = np.ones(size // 2 + 1, dtype=np.complex128)
    for index, weights, count in tilted:
        product *= np.fft.rfft(np.bincount(index % size, weights, size)) ** count
    points = np.arange(low, high + 1)
    law_out = np.maximum(np.fft.irfft(product, size)[points % size], 0.0)
    return low, law_out * np.exp(np.minimum(scale - tilt * step * points, 600.0))


def _on_lattice(law: Law, step: Fraction, *, dense: bool) -> Atoms:
    """Atoms shared between their two neighbours on the lattice, cells of the density between their two ends."""
    h = float(step)
    ends = [*law.losses[:1], *law.losses[-1:]] + ([law.spread.low, law.spread.high] if law.spread else [])
    first, last = math.floor(min(ends) / h), math.ceil(max(ends) / h) + 1
    mass = np.zeros(last - first + 1)
    place = np.maximum(law.losses / h - first, 0.0)
    cell = np.floor(place).astype(np.int64)
    np.add.at(mass, cell, law.masses * (1 - place + cell))
    np.add.at(mass, cell + 1, law.masses * (place - cell))
    if dense and law.spread:
        knots = h * np.arange(first, last + 1)
        inside = (knots > law.spread.low) & (knots < law.spread.high)
        all_of_it = 1 - law.infinity - float(law.masses.sum())
        below = np.where(knots <= law.spread.low, 0.0, all_of_it)
        above = all_of_it - below
        below[inside], above[inside] = law.spread.below(knots[inside]), law.spread.above(knots[inside])
        cells = np.maximum(np.where(below[1:] < above[:-1], np.diff(below), -np.diff(above)), 0.0)
        mass[:-1] += cells / 2
        mass[1:] += cells / 2
    held = np.flatnonzero(mass)
    start, stop = (int(held[0]), int(held[-1]) + 1) if held.size else (0, 1)
    return Atoms((first + start) * step, step, mass[start:stop])
