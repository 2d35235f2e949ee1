"""The privacy loss as a random variable: L = ln P/Q under P, the lectures' picture of what a release can give away.

One use has its law in closed form (``Loss.distribution``). For a composition mean and variance are sums, and atoms are summed
directly (all terms are positive, so every digit is kept). The rest is convolved on the accountant's lattice: each law is put on
it with half of every cell at either end, and the result is moved and stretched so that its mean and variance are right. That is
good to about 1e-4 of the answer. Nothing here is certified; the certified numbers are those of ``Privacy``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape

import numpy as np
from numpy.typing import ArrayLike

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.privacy.accountant.lattice import Convolution, convolve
from discreet.privacy.losses.atoms import Atoms
from discreet.privacy.losses.base import Parts, title_of
from discreet.privacy.losses.law import Law, Spread, merge_atoms
from discreet.privacy.losses.parts import canonical

Uses = Sequence[tuple[Law, int]]
Points = tuple[Reals, Reals]

_LEAST = 1e-60  # atoms with less mass are left out
_MOST = 1 << 22  # sums of two atoms that are looked at
_UNDRAWN = "The loss of this composition cannot be drawn; ask .epsilon(delta) or .delta(epsilon) instead."


@dataclass(frozen=True, repr=False)
class LossVariable:
    """The privacy loss of these uses together, over their worst pair of neighbours; for sampled uses, with a record removed.

    >>> from fractions import Fraction
    >>> from discreet.privacy.losses import Laplace
    >>> loss = LossVariable(((Laplace(Fraction(1)), 1),))
    >>> loss
    LossVariable(Laplace ε = 1: from -1 to 1, mean 0.3679, standard deviation 0.8108, 2 atoms)
    >>> [(at, round(chance, 4)) for at, chance in loss.atoms]
    [(-1.0, 0.1839), (1.0, 0.5)]
    >>> float(loss.mass(1)), round(float(loss.density(0)), 4), round(float(loss.cdf(0)), 4)
    (0.5, 0.1516, 0.3033)
    """

    parts: Parts

    def __post_init__(self) -> None:
        for loss, _ in self.parts:
            loss.distribution()  # refuses a guarantee that names no law

    @property
    def reverse(self) -> LossVariable:
        """The loss with the neighbours exchanged: a record added instead of removed. It differs for sampled uses only."""
        return LossVariable(canonical(tuple((loss.reverse, count) for loss, count in self.parts)))

    @cached_property
    def law(self) -> Law:
        """Atoms, density, and mass at infinity."""
        laws = [(loss.distribution(), count) for loss, count in self.parts]
        return laws[0][0] if len(laws) == 1 and laws[0][1] == 1 else _add_laws(laws)

    @property
    def support(self) -> tuple[float, float]:
        """The least and the largest loss there can be; infinity where everything may be disclosed."""
        low, high = self.law.support
        return low, math.inf if self.law.infinity else high

    @property
    def mean(self) -> float:
        """The mean loss, which is the Kullback-Leibler divergence; infinity where everything may be disclosed."""
        return math.inf if self.law.infinity else self.law.mean

    @property
    def variance(self) -> float:
        """The variance of the loss; infinity where everything may be disclosed."""
        return math.inf if self.law.infinity else self.law.variance

    @property
    def atoms(self) -> list[tuple[float, float]]:
        """Every loss that has a probability of its own, and that probability; total disclosure, if any, comes last."""
        self._check_listed()
        pairs = zip(self.law.losses.tolist(), self.law.masses.tolist(), strict=True)
        return [*pairs, (math.inf, self.law.infinity)] if self.law.infinity else [*pairs]

    def mass(self, x: ArrayLike) -> Reals:
        """The probability of exactly this loss."""
        self._check_listed()
        values = np.asarray(x, dtype=np.float64)
        inside = self._steps(values + self._near) - self._steps(values - self._near)
        result: Reals = np.where(values == math.inf, self.law.infinity, inside)
        return result

    def density(self, x: ArrayLike) -> Reals:
        """The density of the loss, atoms apart; zero where there is none."""
        values, dense = np.asarray(x, dtype=np.float64), np.zeros(np.shape(x))
        if spread := self.law.spread:
            inside = (values > spread.low) & (values < spread.high)
            dense[inside] = spread.density(values[inside])
        return dense

    def cdf(self, x: ArrayLike) -> Reals:
        """P[L <= x]."""
        values = np.asarray(x, dtype=np.float64)
        total = self._steps(values + self._near)
        if spread := self.law.spread:
            inside = (values > spread.low) & (values < spread.high)
            total[inside] += spread.below(values[inside])
            total[values >= spread.high] += self._dense
        result: Reals = np.where(values == math.inf, 1.0, np.minimum(total, 1 - self.law.infinity))
        return result

    def tail(self, x: float) -> float:
        """P[L > x], the lectures' reading of delta. Never below delta(x) = E[(1 - e^(x - L))+], the definition's."""
        law = self.law
        rest = math.fsum(law.masses[law.losses > x + self._near].tolist()) + law.infinity
        if law.spread and x < law.spread.high:
            rest += float(law.spread.above(np.array([x]))[0]) if x > law.spread.low else self._dense
        return min(rest, 1.0)

    @property
    def _dense(self) -> float:
        """The probability of all that is not an atom."""
        return max(0.0, 1 - self.law.infinity - math.fsum(self.law.masses.tolist()))

    @property
    def _near(self) -> float:
        """Losses closer than this are the same."""
        return 1e-11 * float(np.abs(self.law.losses).max(initial=0.0))

    def _steps(self, x: Reals) -> Reals:
        """The atoms' share of P[L <= x]."""
        totals = np.append(0.0, np.cumsum(self.law.masses))
        return np.asarray(totals[np.searchsorted(self.law.losses, x, side="right")])

    def _check_listed(self) -> None:
        if self.law.blurred:
            raise ParameterError(
                "This composition has too many atoms to list; ask cdf(x) or density(x), which spread them over a fine lattice."
            )

    def _facts(self) -> dict[str, str]:
        low, high = self.law.support
        facts = {
            "support": f"from {_number(low)} to {_number(high)}",
            "mean": _number(self.law.mean),
            "standard deviation": _number(math.sqrt(self.law.variance)),
        }
        if self.law.losses.size:
            facts["atoms"] = f"{self.law.losses.size:,}"
        if self.law.infinity:
            facts["total disclosure"] = _number(self.law.infinity)
        return facts

    def __repr__(self) -> str:
        facts = self._facts()
        phrases = [facts.pop("support"), *(f"{name} {value}" for name, value in facts.items() if name != "atoms")]
        if "atoms" in facts:
            phrases.insert(3, f"{facts['atoms']} atom{'s' if self.law.losses.size > 1 else ''}")
        return f"LossVariable({title_of(self.parts)}: {', '.join(phrases)})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in self._facts().items())
        return f"<table><caption>Privacy loss of {escape(title_of(self.parts))}</caption>{rows}</table>"


def _number(value: float) -> str:
    return f"{value:.4g}".replace("inf", "infinity")


# The law of a sum of losses, as far as it can be drawn.


def _add_laws(uses: Uses) -> Law:
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
        losses, masses = merge_atoms(np.add.outer(a[0], b[0]).ravel(), np.multiply.outer(a[1], b[1]).ravel())
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
    def _laws(self) -> tuple[list[Atoms], list[Atoms], Convolution]:
        """The laws on one lattice, their atoms alone, and the law of their sum."""
        count = sum(self._counts)
        longest = max((law.spread.high - law.spread.low for law, _ in self.uses if law.spread), default=0.0)
        step = Fraction(max(math.sqrt(self.variance) * min(1 / 2048, 1 / (32 * math.sqrt(count))), longest / 2**15))
        for _ in range(40):
            whole = [_on_lattice(law, step, dense=True) for law, _ in self.uses]
            if total := convolve(list(zip(whole, self._counts, strict=True)), 0.0):
                return whole, [_on_lattice(law, step, dense=False) for law, _ in self.uses], total
            step *= 4  # so many uses are drawn more coarsely
        raise ParameterError(_UNDRAWN)

    @property
    def _counts(self) -> list[int]:
        return [count for _, count in self.uses]

    def _tilted(self, tilt: float) -> tuple[Reals, Reals]:
        """Losses and masses, good to about 12 digits of the law tilted by e^(tilt L)."""
        whole, atoms, total = self._laws
        losses, mass = _convolve(whole, self._counts, tilt) if tilt else (total.losses, total.law * math.exp(total.log_scale))
        weight = math.fsum(k * math.log(max(float(a.mass.sum()), 1e-300)) for a, k in zip(atoms, self._counts, strict=True))
        if self.listed and weight > -32:
            known_losses, known = _convolve(atoms, self._counts, tilt)
            place = round(float(known_losses[0] - losses[0]) / float(whole[0].step)) + np.arange(known.size)
            inside = (place >= 0) & (place < mass.size)
            mass[place[inside]] -= known[inside]
            mass = np.maximum(mass, 0.0)
        mean, variance = self._moments
        return self.mean + (losses - mean) * math.sqrt(self.variance / variance), mass

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and variance as they are on the lattice."""
        mean = variance = 0.0
        for atoms, (_, count) in zip(self._laws[0], self.uses, strict=True):
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
            for atoms, (_, count) in zip(self._laws[0], self.uses, strict=True):
                exponents = tilt * atoms.losses
                weights = atoms.mass * np.exp(exponents - exponents.max())
                total += count * float(weights @ atoms.losses) / float(weights.sum())
            return total

        low, high = 0.0, 1 / math.sqrt(self.variance)
        while mean(high) < x and high * float(self._laws[0][0].step) < 1:
            low, high = high, 2 * high
        for _ in range(5 if x > self.mean else 0):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) < x else (low, middle)
        return low


def _convolve(laws: list[Atoms], counts: list[int], tilt: float) -> tuple[Reals, Reals]:
    """Losses and masses of a sum, by the accountant's convolution under a tilt."""
    for less in (1.0, 0.5, 0.25, 0.0):  # where a tilt reaches too far
        if total := convolve(list(zip(laws, counts, strict=True)), less * tilt):
            return total.losses, total.law * np.exp(np.minimum(total.log_scale - total.tilt * total.losses, 600.0))
    raise ParameterError(_UNDRAWN)


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
