"""Few values in all: every outcome of a composition is listed, with its loss and its mass.

Losses with a handful of values (pure, randomized response, discrete Laplace, these on samples), used a few times, have few
outcomes together: for each loss, how often each of its values came up. Their number is known before anything is computed.
delta(e) is then a sum of terms >= 0, sum of m (1 - e^(e - l)) over l > e.

**Rounding.** A mass is a product of powers of masses, each known to its own relative error, and a multinomial coefficient: its
logarithm errs by the sum of count * error_i + 16 units for each unit of its own size. A loss is a sum of count * loss_i, each
known to 8 units of itself and to its ``blur``: epsilon is moved by that much to the safe side. Sums of n terms of one sign add
n units; the values 1 - e^(e - l) come from expm1, to 4 units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Reals
from discreet.privacy.accountant.cutting import cut_sample
from discreet.privacy.losses import Atomic, Loss, SampledLattice
from discreet.privacy.losses.base import UNIT, Parts

__all__ = ["Outcomes", "list_outcomes"]

_MOST = 1 << 17  # outcomes


@dataclass(frozen=True)
class Outcomes:
    """Losses, ascending, with their masses; ``error`` is relative to masses, ``blur`` absolute for losses."""

    losses: Reals
    masses: Reals
    error: float
    blur: float

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the finite part of delta(epsilon)."""
        away = self.blur + 4 * UNIT * abs(epsilon)
        slack = self.error + (self.losses.size + 64) * UNIT
        low, high = (self._at(epsilon + shift) for shift in (away, -away))
        return max(0.0, low * (1 - slack)), min(1.0, high * (1 + slack) + 5e-324)

    def _at(self, epsilon: float) -> float:
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        return float((self.masses[start:] * -np.expm1(epsilon - self.losses[start:])).sum())


@lru_cache(maxsize=16)
def list_outcomes(parts: Parts) -> Outcomes | None:
    """Every outcome; None where there are too many, or where a loss is not a list of values."""
    laws, size = [], 1
    for loss, count in parts:
        if (law := _values(loss)) is None or count > _MOST:
            return None
        laws.append((*law, count))
        size *= math.comb(count + law[0].size - 1, count)
        if size > _MOST:
            return None
    losses, logs, error, blur = np.zeros(1), np.zeros(1), 64 * UNIT, 0.0
    for values, masses, relative, doubt, count in laws:
        each, log_mass, depth = _repeated(values, masses, count)
        losses, logs = np.add.outer(losses, each).ravel(), np.add.outer(logs, log_mass).ravel()
        error += count * relative + 32 * UNIT * (count + depth + 4)
        blur += count * (doubt + 8 * UNIT * float(np.abs(values).max()))
    order = np.argsort(losses, kind="stable")
    blur += 8 * UNIT * len(laws) * float(np.abs(losses).max())
    return Outcomes(losses[order], np.exp(logs[order]), math.expm1(min(error, 1.0)), blur)


def _values(loss: Loss) -> tuple[Reals, Reals, float, float] | None:
    """Losses, masses, the relative error of masses and the absolute one of losses."""
    if isinstance(loss, SampledLattice) and (law := cut_sample(loss, 0.0, up=True)).exact:
        losses, masses, error = law.law
        return losses, masses, error, loss.listed(up=True).blur
    if isinstance(loss, Atomic) and (atoms := loss.lattice(None, up=True)) is loss.atoms:
        held = atoms.mass > 0
        return atoms.losses[held], atoms.mass[held], atoms.error, atoms.blur
    return None


def _repeated(values: Reals, masses: Reals, count: int) -> tuple[Reals, Reals, float]:
    """All ways in which ``count`` uses share the values: total losses, ln of their masses, and how large those logarithms are."""
    if count == 1:
        return values, np.log(masses), float(np.abs(np.log(masses)).max())
    losses, logs, left = np.zeros(1), np.full(1, math.lgamma(count + 1)), np.full(1, count)
    log_masses = np.log(masses)
    factorials = np.array([math.lgamma(n + 1) for n in range(count + 1)])
    for i, (value, log_mass) in enumerate(zip(values.tolist(), log_masses.tolist(), strict=True)):
        last = i == values.size - 1
        parent = np.arange(left.size) if last else np.repeat(np.arange(left.size), left + 1)
        n = left if last else np.concatenate([np.arange(room + 1) for room in left.tolist()])
        losses, logs, left = losses[parent] + n * value, logs[parent] + n * log_mass - factorials[n], left[parent] - n
    depth = float(math.lgamma(count + 1) + count * np.abs(log_masses).max())
    return losses, logs, depth
