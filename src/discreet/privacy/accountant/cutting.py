"""Losses without their farthest values, and the tilt at which a smoothed contour works on them.

Laws on samples are heavy-tailed: one large loss in many steps is what delta consists of, and the tilt that a saddle-point
estimate finds may belong to losses far beyond. First each loss is cut where at most a trillionth of delta is lost (``Parts``
that are kept, and what is lost in all: a lower bound leaves it out, since every outcome counts for at least 0, and an upper
bound counts it as disclosed). Then a coarse contour says roughly which epsilon belongs to delta, and the tilt that is best for
that epsilon is used. None of this is precise, and nothing has to be.

A sampled loss that is cut is a list, which need not lie on a lattice. Its characteristic function is 1 plus a sum of small terms
(``turning``), so that it keeps its digits where nearly all losses are small, as they are at small rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.contour import Saddle, decay, find_saddle, saddle_at
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.sampled_density import SampledDensity, has_path
from discreet.privacy.accountant.smoothing import Smoothed, open_smoothed, window
from discreet.privacy.accountant.turning import turned_sums, units
from discreet.privacy.losses import SampledGaussian, SampledLattice
from discreet.privacy.losses.atoms import Atomic
from discreet.privacy.losses.base import UNIT, Loss, Parts
from discreet.privacy.losses.sampled_gaussian import no_groups

__all__ = ["CutSample", "Kept", "cut_losses", "cut_sample", "settle"]

_LOST = -27.6  # ln of the share of delta that may be lost
_COARSE = 1 << 18  # terms
_EFFORT, _NODES = 1 << 24, 1 << 18  # terms and nodes of a contour, roughly


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
    def law(self) -> tuple[Reals, Reals]:
        """Losses, ascending, and their masses."""
        law = self.whole.listed(up=self.up)
        stop = law.losses.size - self.skip
        return law.losses[:stop], law.mass[:stop]

    def _weights(self, x: float) -> tuple[float, Reals]:
        losses, mass = self.law
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
        """Sums over the tilted law: of what losses are off by, which powers and phases multiply, and of what masses are, which
        moments keep and phi - 1 multiplies by |e^(itl) - 1| <= t |l|. A sum is pairwise, over blocks of 128 terms in 8 lanes: 19
        units and one for each doubling, which 64 exceed together with those of the exponential and the quotient."""
        losses, mass = self.law
        law = self.whole.listed(up=self.up)
        _, weights = self._weights(x)
        weights = weights / float(weights.sum()) * (1 + 2.0**-30)
        size, depth = float(weights @ np.abs(losses)), float(weights @ np.abs(np.log(mass)))
        doubts, off = law.mass_errors[: losses.size], float(weights @ law.loss_errors[: losses.size])
        doubt, turned = float(weights @ doubts), float((weights * doubts) @ np.abs(losses))
        still = 64 + 8 * depth
        turning = still + 24 * abs(x) * size + t * size * (units(losses.size) + 2 * still)
        return turning * UNIT + doubt + t * (doubt * size + turned) + (t + abs(x)) * off

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
    above = np.cumsum(law.mass[::-1] * (1 + law.mass_errors[::-1])) * (1 + (law.mass.size + 4096) * UNIT)
    skip = min(int(np.searchsorted(above, most, side="right")), law.mass.size - 1)
    return CutSample(whole, up, skip, float(above[skip - 1]) if skip else 0.0)


@dataclass(frozen=True)
class Kept:
    """A composition that is cut: its kept part, and a bound on the mass of the rest."""

    parts: Parts
    lost: float
    saddle: Saddle


def cut_losses(parts: Parts, log_delta: float, *, top: bool, share: float = 1.0) -> tuple[Parts, float]:
    """The kept part, in a form that has a characteristic function, and what is lost; ``share`` says how steeply it is cut."""
    most = math.exp(max(log_delta + _LOST - math.log(sum(count for _, count in parts)), -730.0))
    kept, lost = [], 0.0
    for loss, count in parts:
        if isinstance(loss, SampledGaussian):
            loss = cut_gaussian(loss, most, share)
        elif isinstance(loss, SampledLattice) and has_path(loss):
            loss = SampledDensity(loss)
        elif isinstance(loss, SampledLattice):
            loss = cut_sample(loss, most, up=top or loss.base.exact)  # exact ones serve both sides
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
    return _cheapest(parts, Kept(kept, lost, saddle), top=top) if lost else Kept(kept, lost, saddle)


def _cheapest(parts: Parts, kept: Kept, *, top: bool) -> Kept:
    """A smaller tilt, and with it a gentler cut or none, where that takes fewer terms for the same digits.

    Moments rise steeply where rare losses begin to matter.
    """
    best, least, saddle = kept, math.inf, kept.saddle
    gentler = [(0.0, (0.85, 0.7, 0.55))] if any(isinstance(loss, CutGaussian) for loss, _ in kept.parts) else []
    for share, factors in [(1.0, (1.0, 0.85, 0.7, 0.55, 0.4)), *gentler]:
        cut, lost = (kept.parts, kept.lost) if share else cut_losses(parts, saddle.log_delta, top=top, share=share)
        for factor in factors:
            if (found := saddle_at(cut, factor * saddle.tilt)) is None:
                continue
            here = replace(found, epsilon=saddle.epsilon, log_delta=saddle.log_delta)
            width = window(cut, here)[0]
            if not width < math.inf:
                continue
            cost = _error(cut, here, width)
            if cost < least:
                best, least = Kept(cut, lost, here), cost
    return best


def _error(parts: Parts, saddle: Saddle, width: float) -> float:
    """Roughly what a smoothed contour would err by, relative to delta: rounding, and smoothing where nothing else fades."""
    x, surplus = saddle.tilt, saddle.log_scale - saddle.tilt * saddle.epsilon - saddle.log_delta
    still, turned = (math.fsum(count * loss.rounding(x, t) for loss, count in parts) for t in (0.0, x))
    rounding = (still + 3 * (turned - still)) / x * math.exp(min(surplus, 600.0))
    lists = not any(isinstance(loss, CutGaussian) for loss, _ in parts)  # most of their nodes are given up
    end = 2 * math.pi / width * min(_NODES << 2 if lists else _NODES, _EFFORT / sum(loss.work(x) for loss, _ in parts))
    faded = surplus + 25 + math.log(max(decay(parts, x, end), 1e-300)) < 0
    return rounding + (0.0 if faded else (9 * x / end) ** 2)


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
