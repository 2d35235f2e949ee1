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
from functools import lru_cache
from typing import Protocol

import numpy as np

from discreet.arrays import Complex, Reals, dot
from discreet.privacy.accountant.contour import Saddle, decay, find_saddle, saddle_at
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.sampled_density import SampledDensity, has_path
from discreet.privacy.accountant.smoothing import EACH, open_smoothed, window
from discreet.privacy.accountant.turning import turned_sums, units
from discreet.privacy.losses import SampledGaussian, SampledLattice
from discreet.privacy.losses.atoms import Atomic, Listed
from discreet.privacy.losses.base import UNIT, Loss, Parts
from discreet.privacy.losses.rounding import Smooth
from discreet.privacy.losses.sampled_gaussian import no_groups

__all__ = ["CutList", "Kept", "crossing", "cut_list", "cut_losses", "expected_error", "has_sides", "settle"]

_LOST = -27.6  # ln of the share of delta that may be lost
_COARSE = 1 << 19  # terms
_SAME = 0.01  # of a tilt
_MANY = 10**6  # uses: moments of each need digits beyond the doubles' around 1
_EFFORT, _NODES = 1 << 24, 1 << 18  # terms and nodes of a contour, roughly


@dataclass(frozen=True)
class CutList(Loss):
    """A loss as a list that dominates it (``up``) or is dominated by it, without some values at either end.

    Moments are 1 plus a sum of small terms as well, while exponents are small: masses add up to what is not disclosed, exactly.
    """

    whole: Loss
    up: bool
    start: int
    stop: int
    cut: float  # the mass of what is left out
    kind = "cut list"

    @property
    def pure(self) -> Fraction | None:
        return self.whole.pure

    @property
    def rho(self) -> Fraction | None:
        return self.whole.rho

    @property
    def lost(self) -> float:
        return self.cut + self._listed.lost

    @property
    def exact(self) -> bool:
        """Whether it is the law itself: the base's values are all listed."""
        base = self.whole.base if isinstance(self.whole, SampledLattice) else self.whole
        return isinstance(base, Atomic) and base.lattice(None, up=True) is base.atoms

    @property
    def _listed(self) -> Listed:
        return list_of(self.whole, up=self.up)

    @property
    def law(self) -> tuple[Reals, Reals]:
        """Losses, ascending, and their masses."""
        law = self._listed
        return law.losses[self.start : self.stop], law.mass[self.start : self.stop]

    def log_moment(self, x: float) -> float:
        return _moments(self, x).log_moment

    def cumulants(self, x: float) -> tuple[float, float, float]:
        found = _moments(self, x)
        return found.log_moment, found.mean, found.variance

    def characteristic(self, x: float, t: Reals) -> Complex:
        return 1 + self.increment(x, t)

    def increment(self, x: float, t: Reals) -> Complex:
        return turned_sums(t, self.law[0], _moments(self, x).weights)

    def rounding(self, x: float, t: float) -> float:
        found = _moments(self, x)
        return found.still + t * found.turned

    def scatter(self, x: float) -> tuple[float, float]:
        """Of what lies within three standard deviations, if that is not much less: for values farther apart cos <= 1 will do,
        and with the share m in an interval m^2 times the variance inside is what remains."""
        losses, weights = self.law[0], _moments(self, x).weights
        _, mean, variance = self.cumulants(x)
        near = np.abs(losses - mean) <= 3 * math.sqrt(variance)
        share = float(weights[near].sum())
        middle = dot(weights[near], losses[near]) / share if share else 0.0
        inside = share * dot(weights[near], (losses[near] - middle) ** 2)
        if inside > 0.1 * variance:
            losses, variance = losses[near], inside
        return variance * (1 - 2.0**-20), float(losses[-1] - losses[0]) * (1 + 2.0**-20)

    def work(self, x: float) -> int:  # noqa: ARG002
        return 1 + self.law[0].size // 16  # of a matrix product

    def reach(self, x: float) -> float:  # noqa: ARG002
        return float(np.abs(self.law[0]).max())

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(0.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise no_groups(size)


@dataclass(frozen=True, eq=False)
class _Moments:
    weights: Reals  # the tilted law
    log_moment: float
    mean: float
    variance: float
    still: float  # what log_moment may err by
    turned: float  # what phi may err by, for each unit of t


@lru_cache(maxsize=256)
def _moments(loss: CutList, x: float) -> _Moments:
    """The tilted law, and what sums over it may err by.

    Losses are off by little, which powers and phases multiply; so are masses, which moments keep and phi - 1 multiplies by
    |e^(itl) - 1| <= t |l|. A sum is pairwise, over blocks of 128 terms in 8 lanes: 19 units and one for each doubling, which 64
    exceed together with those of an exponential, products and the quotient. An exponential loses 4 units for each unit of its
    exponent.
    """
    losses, mass = loss.law
    listed = loss._listed
    doubts, off = listed.mass_errors[loss.start : loss.stop], listed.loss_errors[loss.start : loss.stop]
    exponents = x * losses
    if float(np.abs(exponents).max()) < 30:  # M(x) = the mass kept + a sum of small terms
        whole = float(1 - loss.whole.infinity)
        terms = mass * np.expm1(exponents)
        excess = (float(terms.sum()) - loss.cut) / whole
        weights = mass * np.exp(exponents) / (whole * (1 + excess))
        shares = np.abs(terms) / (whole * (1 + excess))
        log_moment = math.log1p(excess) + (
            math.log1p(-float(loss.whole.infinity)) if loss.whole.infinity < 0.5 else math.log(whole)
        )
        still = dot(shares, doubts + (64 + 8 * np.abs(exponents)) * UNIT) + loss.cut * 2.0**-30 + 8 * UNIT * abs(log_moment)
    else:
        exponents = exponents + np.log(mass)
        top = float(exponents.max())
        weights = np.exp(exponents - top)
        total = float(weights.sum())
        weights, log_moment = weights / total, top + math.log(total)
        still = dot(weights, doubts + 8 * UNIT * (np.abs(np.log(mass)) + np.abs(x * losses))) + (64 + 8 * abs(log_moment)) * UNIT
    size = np.abs(losses)
    still = (still + abs(x) * dot(weights, off)) * (1 + 2.0**-30)
    known = doubts + still + abs(x) * off + (64 + units(losses.size) + 8 * (np.abs(np.log(mass)) + abs(x) * size)) * UNIT
    mean = dot(weights, losses)
    variance = dot(weights, (losses - mean) ** 2)
    return _Moments(weights, log_moment, mean, variance, still, dot(weights, known * size + off) * (1 + 2.0**-30))


@lru_cache(maxsize=16)
def list_of(whole: Loss, *, up: bool) -> Listed:
    """A whole law as a list."""
    law = whole.listed(up=up) if isinstance(whole, SampledLattice) else whole.pieces(up=up)
    assert isinstance(law, Listed)
    return law


def cut_list(whole: Loss, most: float, *, up: bool) -> CutList:
    """The law without the values at either end that together hold at most ``most``."""
    law = list_of(whole, up=up)
    size, cut, skips = law.mass.size, 0.0, []
    for mass in (law.mass * (1 + law.mass_errors), (law.mass * (1 + law.mass_errors))[::-1]):
        total = np.cumsum(mass) * (1 + (size + 4096) * UNIT)
        skip = min(int(np.searchsorted(total, most / 2, side="right")), (size - 1) // 2)
        skips.append(skip)
        cut += float(total[skip - 1]) if skip else 0.0
    return CutList(whole, up, skips[0], size - skips[1], cut * (1 + 2.0**-40))


class Estimate(Protocol):
    """What says roughly what delta is."""

    def estimate(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class Kept:
    """A composition that is cut: its kept part, and a bound on the mass of the rest."""

    parts: Parts
    lost: float
    saddle: Saddle


def cut_losses(parts: Parts, log_delta: float, *, top: bool, share: float = 1.0) -> tuple[Parts, float]:
    """The kept part, in a form that has a characteristic function, and what is lost; ``share`` says how steeply it is cut."""
    uses = sum(count for _, count in parts)
    most = math.exp(max(log_delta + _LOST - math.log(uses), -730.0))
    kept, lost = [], 0.0
    for loss, count in parts:
        many = count > _MANY
        digits = math.log(count) if many else 0.0
        if isinstance(loss, SampledGaussian):
            loss = cut_gaussian(loss, most, share, digits)
        elif isinstance(loss, SampledLattice) and has_path(loss, digits):
            loss = SampledDensity(loss, digits)
        elif isinstance(loss, SampledLattice) or (isinstance(loss, Atomic) and (many or _is_long(loss))):
            loss = cut_list(loss, most, up=top)
        elif many and isinstance(loss, Smooth) and has_path(whole := SampledLattice(loss, Fraction(1)), digits):
            loss = SampledDensity(whole, digits)
        lost += count * loss.lost
        kept.append((loss, count))
    return tuple(kept), lost * (1 + 2.0**-40)


def _is_long(loss: Atomic) -> bool:
    """Whether its list has so many values that sums over it are worth a matrix product."""
    return loss.atoms.mass.size > 64 and not has_sides(loss)


def settle(parts: Parts, *, top: bool, epsilon: float | None = None, log_delta: float | None = None) -> Kept | None:
    """A cut composition and the tilt for this epsilon, or for the epsilon that belongs to this delta."""
    return _settled(parts, top or not any(has_sides(loss) for loss, _ in parts), epsilon, log_delta)


def has_sides(loss: Loss) -> bool:
    """Whether its list is not its law, so that upper and lower bounds need different ones."""
    base = loss.base if isinstance(loss, SampledLattice) else loss
    if isinstance(base, Atomic):
        return base.lattice(None, up=True) is not base.atoms
    return isinstance(loss, SampledLattice) and not has_path(loss)


@lru_cache(maxsize=32)
def _settled(parts: Parts, top: bool, epsilon: float | None, log_delta: float | None) -> Kept | None:
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
            near = crossing(coarse, math.exp(target), max(saddle.epsilon, saddle.spread))
            if abs(near - saddle.epsilon) < 0.02 * max(near, 1 / saddle.tilt):
                break
            before, saddle = saddle.tilt, replace(find_saddle(kept, epsilon=near), epsilon=near)
            if abs(saddle.tilt - before) < _SAME * before:
                break  # another contour would be the same one
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
            lists = not any(isinstance(loss, CutGaussian) for loss, _ in cut)  # most of their nodes are given up
            cost = expected_error(cut, here, width, _NODES << 2 if lists else _NODES, here.tilt)
            if cost < least:
                best, least = Kept(cut, lost, here), cost
    return best


def expected_error(parts: Parts, saddle: Saddle, width: float, nodes: int, slope: float) -> float:
    """Roughly what a smoothed contour would err by, relative to delta: rounding, and smoothing where nothing else fades.

    ``slope`` is that of ln delta in epsilon.
    """
    x, surplus = saddle.tilt, saddle.log_scale - saddle.tilt * saddle.epsilon - saddle.log_delta
    still, turned = (math.fsum(count * loss.rounding(x, t) for loss, count in parts) for t in (0.0, x))
    rounding = (still + 3 * (turned - still)) / x * math.exp(min(surplus, 600.0))
    end = 2 * math.pi / width * min(nodes, _EFFORT / sum(loss.work(x) + EACH for loss, _ in parts))
    faded = surplus + 25 + math.log(max(decay(parts, x, end), 1e-300)) < 0
    return rounding + (0.0 if faded else (9 * slope / end) ** 2)


def crossing(coarse: Estimate, delta: float, far: float) -> float:
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
