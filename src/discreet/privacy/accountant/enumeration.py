"""Few values in all: every outcome of a composition is listed, with its loss and its mass, in two halves.

Losses with a handful of values (pure, randomized response, discrete noise, these on samples), used a few times, have few
outcomes together: for each loss, how often each of its values came up. Their number is known before anything is computed. The
uses are shared between two halves, so that pairs of outcomes need not be listed: with a over one half and b over the other,

    delta(e) = sum over a of m_a g(e - a),   g(y) = sum over b > y of m_b (1 - e^(y - b)).

With b_i the least b above y, g(y) = G_i + (1 - e^(y - b_i)) R_i, R_i being the sum over j >= i of m_j e^(b_i - b_j). G_i = g(b_i)
is the sum over j >= i of (1 - e^(b_j - b_(j+1))) R_(j+1): all terms are >= 0, and nothing cancels.

**What is left out.** Values and outcomes that together hold less than a trillionth of delta are left out: a lower bound may do
so, since every outcome counts for at least 0, and an upper bound counts them as disclosed (``lost``).

**Rounding.** A mass is a product of powers of masses, each known to its own relative error, and a multinomial coefficient: its
logarithm errs by the sum of count * error_i + 16 units for each unit of the sizes of all that is added up for it. Of one loss
that is used c times these are ln c!, the ln n_i! of how often each value came up, together at most ln c!, and n_i |ln m_i|,
together ln c! - sum ln n_i! - ln M for an outcome of mass M: at most 3 ln c! - ln M. A loss is a sum of count * loss_i, each
known to 8 units of itself and to its ``blur``: epsilon is moved by that much to the safe side. Sums of n terms of one sign add n
units each: three of them; exponentials 8 units for each unit of the losses' range; 1 - e^-v comes from expm1, to 4 units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.privacy.accountant.cutting import cut_list
from discreet.privacy.losses import Atomic, Loss, SampledLattice
from discreet.privacy.losses.atoms import LEAST
from discreet.privacy.losses.base import UNIT, Parts

__all__ = ["Outcomes", "list_outcomes"]

_MOST = 1 << 17  # outcomes of a half
_HELD = 1 << 15  # of these, as many may matter
_FAR = 600.0  # range of losses: beyond it their exponentials leave the doubles
_LEFT_OUT = 1e-12  # of delta


@dataclass(frozen=True)
class _Half:
    losses: Reals  # ascending
    masses: Reals

    @property
    def reach(self) -> float:
        return float(np.abs(self.losses).max())

    @property
    def span(self) -> float:
        return float(self.losses[-1] - self.losses[0])


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of one half, and R and G of the other; ``error`` is relative to masses, ``blur`` absolute for losses."""

    half: _Half
    other: Reals
    rest: Reals  # R
    gone: Reals  # G
    error: float
    blur: float
    lost: float

    @property
    def size(self) -> int:
        return self.half.losses.size + self.other.size

    def delta(self, epsilon: float, *, top: bool) -> float:
        """A bound on the finite part of delta(epsilon); what is lost counts as disclosed in the upper one (``top``)."""
        away, spare = self.blur + 8 * UNIT * abs(epsilon), 2 * (self.size + 4) * 2.0**-1074  # products underflow a little
        if not top:
            return max(0.0, self._at(epsilon + away) * (1 - self.error) - spare)
        return min(1.0, (self._at(epsilon - away) * (1 + self.error) + self.lost) * (1 + 2.0**-50) + spare)

    def crossing(self, log_delta: float) -> float | None:
        """Roughly where delta falls to this; None where outcomes are listed in two halves.

        Between neighbouring losses delta is the mass above less e^epsilon times what it has without the record.
        """
        if self.other.size > 1:
            return None
        target, top = math.exp(log_delta), float(self.half.losses[-1])
        gaps, masses = self.half.losses[::-1] - top, self.half.masses[::-1]
        above, without = np.cumsum(masses), np.cumsum(masses * np.exp(-gaps))
        place = int(np.argmax(above - np.exp(np.append(gaps[1:], -math.inf)) * without >= target))
        gap = math.log(max(float(above[place]) - target, LEAST)) - math.log(float(without[place]))  # whose quotient may underflow
        return max(0.0, top + float(self.other[0]) + gap)

    def _at(self, epsilon: float) -> float:
        y = epsilon - self.half.losses
        place = np.searchsorted(self.other, y, side="right")
        held = place < self.other.size
        y, place = y[held], place[held]
        values = self.gone[place] - np.expm1(y - self.other[place]) * self.rest[place]
        return float((self.half.masses[held] * values).sum())


@lru_cache(maxsize=16)
def list_outcomes(parts: Parts, log_delta: float) -> Outcomes | None:
    """Every outcome that matters to a delta of about this size; None where there are too many, or where a loss is no list."""
    uses = sum(count for _, count in parts)
    if uses > _MOST or not all(isinstance(loss, (Atomic, SampledLattice)) for loss, _ in parts):
        return None
    least = max(math.exp(log_delta) * _LEFT_OUT, 1e-303)  # what remains keeps its digits
    laws, lost, error, blur = [], 0.0, 0.0, 0.0
    for loss, count in parts:
        if (law := _values(loss, least / uses)) is None:
            return None
        laws.append((law, count))
        lost, blur = lost + count * law.lost, blur + count * (law.blur + 8 * UNIT * float(np.abs(law.losses).max()))
        error += count * law.error + 32 * UNIT * (count + 4)
    shared = _shared([(law.losses.size, count) for law, count in laws])
    if shared is None:
        return None
    halves = []
    for counts in shared:
        half = _listed([(law, count) for (law, _), count in zip(laws, counts, strict=True) if count])
        held, left = _without_the_least(half, least)
        half = _Half(half.losses[held], half.masses[held])
        if half.losses.size > _HELD or not half.span < _FAR or not half.masses.min() > LEAST:
            return None
        halves.append(half)
        depth = 1 - math.log(half.masses.min()) + 3 * math.fsum(math.lgamma(count + 1) for count in counts)
        lost, error, blur = lost + left, error + 32 * UNIT * depth, blur + 8 * UNIT * (len(laws) + 2) * half.reach
    left_half, other = halves
    error += (left_half.losses.size + 2 * other.losses.size + 16 * other.span + 256) * UNIT
    top = float(other.losses[-1])
    rest = np.exp(other.losses - top) * np.cumsum((other.masses * np.exp(top - other.losses))[::-1])[::-1]
    steps = -np.expm1(-np.diff(other.losses)) * rest[1:]
    gone = np.append(np.cumsum(steps[::-1])[::-1], 0.0)
    if not error < 0.5:
        return None
    return Outcomes(left_half, other.losses, rest, gone, math.expm1(error), blur, lost * (1 + math.expm1(error) + 2.0**-40))


@dataclass(frozen=True)
class _Values:
    losses: Reals
    masses: Reals
    error: float  # relative, of masses
    blur: float  # absolute, of losses
    lost: float


def _values(loss: Loss, least: float) -> _Values | None:
    """The values of one use, without those that together hold less than ``least``."""
    if isinstance(loss, SampledLattice) and (law := cut_list(loss, 0.0, up=True)).exact:
        listed = loss.listed(up=True)
        whole, lost, errors, blurs = _Half(listed.losses, listed.mass), law.lost, listed.mass_errors, listed.loss_errors
    elif isinstance(loss, Atomic) and (atoms := loss.lattice(None, up=True)) is loss.atoms:
        there = atoms.mass > 0
        whole, lost = _Half(atoms.losses[there], atoms.mass[there]), atoms.lost
        errors, blurs = atoms.error + 4 * UNIT * np.abs(np.log(whole.masses)), np.full(whole.losses.size, atoms.blur)
    else:
        return None
    held, left = _without_the_least(whole, least)
    lost += left * (1 + 2 * float(errors.max()))
    return _Values(whole.losses[held], whole.masses[held], float(errors[held].max()), float(blurs[held].max()), lost)


def _without_the_least(half: _Half, least: float) -> tuple[NDArray[np.int64], float]:
    """All but the smallest masses, as long as these hold less than ``least``; and what they hold, from above."""
    order = np.argsort(half.masses, kind="stable")
    total = np.cumsum(half.masses[order]) * (1 + (half.masses.size + 64) * UNIT)
    skip = min(int(np.searchsorted(total, least)), half.masses.size - 1)
    return np.sort(order[skip:]), float(total[skip - 1]) * (1 + 2.0**-20) if skip else 0.0


def _shared(sizes: list[tuple[int, int]]) -> tuple[list[int], list[int]] | None:
    """How many uses of each loss go to either half, so that the larger one is small; None where it is too large."""
    first, second, totals = list[int](), list[int](), [1, 1]
    if math.prod(math.comb(min(count, _MOST) + size - 1, size - 1) for size, count in sizes) <= _MOST >> 5:
        return [count for _, count in sizes], [0] * len(sizes)
    for size, count in sorted(sizes, key=lambda part: -part[0] * part[1]):
        splits = [(n, count - n) for n in {0, count // 2, count - count // 2, count}]
        grown = [[t * math.comb(n + size - 1, size - 1) for t, n in zip(totals, split, strict=True)] for split in splits]
        totals, best = min(zip(grown, splits, strict=True), key=lambda pair: max(pair[0]))
        if max(totals) > _MOST:
            return None
        first.append(best[0])
        second.append(best[1])
    order = np.argsort(sorted(range(len(sizes)), key=lambda i: -sizes[i][0] * sizes[i][1]), kind="stable").tolist()
    return [first[i] for i in order], [second[i] for i in order]


def _listed(laws: list[tuple[_Values, int]]) -> _Half:
    """All outcomes, ascending."""
    losses, logs = np.zeros(1), np.zeros(1)
    for law, count in laws:
        each, log_mass = _repeated(law.losses, law.masses, count)
        losses, logs = np.add.outer(losses, each).ravel(), np.add.outer(logs, log_mass).ravel()
    order = np.argsort(losses, kind="stable")
    return _Half(losses[order], np.exp(logs[order]))


def _repeated(values: Reals, masses: Reals, count: int) -> tuple[Reals, Reals]:
    """All ways in which ``count`` uses share the values: total losses, and ln of their masses."""
    log_masses = np.log(masses)
    if count == 1:
        return values, log_masses
    losses, logs, left = np.zeros(1), np.full(1, math.lgamma(count + 1)), np.full(1, count)
    factorials = np.array([math.lgamma(n + 1) for n in range(count + 1)])
    for i, (value, log_mass) in enumerate(zip(values.tolist(), log_masses.tolist(), strict=True)):
        last = i == values.size - 1
        parent = np.arange(left.size) if last else np.repeat(np.arange(left.size), left + 1)
        n = left if last else _counted(left + 1)
        losses, logs, left = losses[parent] + n * value, logs[parent] + n * log_mass - factorials[n], left[parent] - n
    return losses, logs


def _counted(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... up to each length, one after the other."""
    ends = np.cumsum(lengths)
    result: NDArray[np.int64] = np.arange(int(ends[-1])) - np.repeat(ends - lengths, lengths)
    return result
