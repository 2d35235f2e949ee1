"""Losses without their farthest values, and the tilt at which a smoothed contour works on them.

Laws on samples are heavy-tailed: one large loss in many steps is what delta consists of, and the tilt that a saddle-point
estimate finds may belong to losses far beyond. First each loss is cut where at most a trillionth of delta is lost (``Parts``
that are kept, and what is lost in all: a lower bound leaves it out, since every outcome counts for at least 0, and an upper
bound counts it as disclosed). Then a coarse contour says roughly which epsilon belongs to delta, and the tilt that is best for
that epsilon is used. None of this is precise, and nothing has to be.

A sampled loss that is cut is a list, which need not lie on a lattice. Its characteristic function is 1 plus a sum of small terms
(``turned_sums``), so that it keeps its digits where nearly all losses are small, as they are at small rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.contour import Saddle, find_saddle, saddle_at
from discreet.privacy.accountant.cut_gaussian import cut_gaussian, turned_sums, units
from discreet.privacy.accountant.smoothing import Smoothed, open_smoothed, window
from discreet.privacy.losses import SampledGaussian, SampledLattice
from discreet.privacy.losses.atoms import Atomic
from discreet.privacy.losses.base import UNIT, Loss, Parts
from discreet.privacy.losses.sampled_gaussian import no_groups

__all__ = ["CutSample", "Kept", "cut_losses", "cut_sample", "settle"]


@dataclass(frozen=True)
class CutSample(Loss):
    """The listed law of a sampled loss that dominates it (``up``) or is dominated by it, without its ``skip`` largest values."""

    whole: SampledLattice
    up: bool
    skip: int
    cut: float  # the mass of those
    kind = "cut sample"

    @property
    def pure(self) -> Fraction | None:
        return self.whole.pure

    @property
    def rho(self) -> Fraction | None:
        return self.whole.rho

    @property
    def lost(self) -> float:
        return self.cut + self.whole.listed(up=self.up).lost

    @property
    def exact(self) -> bool:
        """Whether it is the law itself: the base's values are all listed."""
        base = self.whole.base
        return isinstance(base, Atomic) and base.lattice(None, up=True) is base.atoms

    @property
    def law(self) -> tuple[Reals, Reals, float]:
        """Losses, ascending, their masses, and the relative error of these."""
        law = self.whole.listed(up=self.up)
        stop = law.losses.size - self.skip
        return law.losses[:stop], law.mass[:stop], law.error + 4 * UNIT * float(np.abs(np.log(law.mass)).max())

    def _weights(self, x: float) -> tuple[float, Reals]:
        losses, mass, _ = self.law
        exponents = x * losses + np.log(mass)
        top = float(exponents.max())
        return top, np.exp(exponents - top)

    def log_moment(self, x: float) -> float:
        top, weights = self._weights(x)
        return top + math.log(float(weights.sum()))

    def cumulants(self, x: float) -> tuple[float, float, float]:
        top, weights = self._weights(x)
        losses, total = self.law[0], float(weights.sum())
        mean = float(weights @ losses) / total
        return top + math.log(total), mean, float(weights @ (losses - mean) ** 2) / total

    def characteristic(self, x: float, t: Reals) -> Complex:
        _, weights = self._weights(x)
        return 1 + turned_sums(t, self.law[0], weights / weights.sum())

    def rounding(self, x: float, t: float) -> float:
        """Losses are known to 16 units of themselves and to what the base's were off by, which powers and phases multiply;
        phi - 1 is known as well as the masses."""
        losses, mass, error = self.law
        off = max(0.0, self.whole.listed(up=self.up).blur - 16 * UNIT * float(np.abs(losses).max()))
        _, weights = self._weights(x)
        size = float(weights @ np.abs(losses)) / float(weights.sum())
        depth = float(weights @ np.abs(np.log(mass))) / float(weights.sum())
        still = losses.size / 64 + 128 + 8 * depth
        turning = still + 24 * abs(x) * size + t * size * (units(losses.size) + 2 * still)
        return turning * UNIT + error * (1 + 2 * t * size) + (t + abs(x)) * off

    def work(self, x: float) -> int:  # noqa: ARG002
        return 1 + self.law[0].size // 16  # of a matrix product

    def reach(self, x: float) -> float:  # noqa: ARG002
        return float(np.abs(self.law[0]).max())

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(0.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise no_groups(size)


def cut_sample(whole: SampledLattice, most: float, *, up: bool) -> CutSample:
    """The law without the largest values that together hold at most ``most``."""
    law = whole.listed(up=up)
    above = np.cumsum(law.mass[::-1]) * (1 + law.error + (law.mass.size + 4096) * UNIT)
    skip = min(int(np.searchsorted(above, most, side="right")), law.mass.size - 1)
    return CutSample(whole, up, skip, float(above[skip - 1]) if skip else 0.0)


_LOST = -27.6  # ln of the share of delta that may be lost
_COARSE = 1 << 18  # terms


@dataclass(frozen=True)
class Kept:
    """A composition that is cut: its kept part, and a bound on the mass of the rest."""

    parts: Parts
    lost: float
    saddle: Saddle


def cut_losses(parts: Parts, log_delta: float, *, top: bool) -> tuple[Parts, float]:
    """The kept part, in a form that has a characteristic function, and what is lost."""
    most = math.exp(max(log_delta + _LOST - math.log(sum(count for _, count in parts)), -730.0))
    kept, lost = [], 0.0
    for loss, count in parts:
        if isinstance(loss, SampledGaussian):
            loss = cut_gaussian(loss, most)
        elif isinstance(loss, SampledLattice):
            loss = cut_sample(loss, most, up=top)
        lost += count * loss.lost
        kept.append((loss, count))
    return tuple(kept), lost * (1 + 2.0**-40)


def settle(parts: Parts, *, top: bool, epsilon: float | None = None, log_delta: float | None = None) -> Kept | None:
    """A cut composition and the tilt for this epsilon, or for the epsilon that belongs to this delta."""
    target = -14.0 if log_delta is None else log_delta
    kept, lost = cut_losses(parts, target, top=top)
    saddle = find_saddle(kept, epsilon=epsilon, log_delta=log_delta)
    for _ in range(6):
        saddle = replace(saddle, log_delta=target, epsilon=saddle.epsilon if epsilon is None else epsilon)
        coarse = open_smoothed(kept, saddle, _COARSE)
        if coarse is None:
            return None
        if epsilon is not None:
            found = math.log(max(min(coarse.estimate(epsilon), 1.0), 1e-320))
            if abs(found - target) < 1:
                break
            target = max(found, target - 60)
            kept, lost = cut_losses(parts, target, top=top)
            saddle = find_saddle(kept, epsilon=epsilon)
        else:
            near = _crossing(coarse, math.exp(target), max(saddle.epsilon, saddle.spread))
            if abs(near - saddle.epsilon) < 0.02 * max(near, 1 / saddle.tilt):
                break
            saddle = replace(find_saddle(kept, epsilon=near), epsilon=near)
    saddle = replace(saddle, log_delta=target, epsilon=saddle.epsilon if epsilon is None else epsilon)
    return Kept(kept, lost, _lower_tilt(kept, saddle) if lost else saddle)


def _lower_tilt(parts: Parts, saddle: Saddle) -> Saddle:
    """A smaller tilt where that takes fewer nodes for the same digits: moments rise steeply where rare losses begin to matter."""
    best, least = saddle, math.inf
    for factor in (1.0, 0.85, 0.7, 0.55, 0.4):
        if (found := saddle_at(parts, factor * saddle.tilt)) is None:
            continue
        here = replace(found, epsilon=saddle.epsilon, log_delta=saddle.log_delta)
        cost = math.log(window(parts, here)[0]) + here.log_scale - here.tilt * here.epsilon - math.log(here.tilt)
        if cost < least:
            best, least = here, cost
    return best


def _crossing(coarse: Smoothed, delta: float, far: float) -> float:
    """Roughly where the estimate falls to delta."""
    low, high = 0.0, far
    for _ in range(60):
        if coarse.estimate(high) < delta:
            break
        low, high = high, 2 * high
    for _ in range(20):
        middle = (low + high) / 2
        low, high = (middle, high) if coarse.estimate(middle) >= delta else (low, middle)
    return high
