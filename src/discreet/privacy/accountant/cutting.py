"""Where to work on a smoothed contour: losses that practically never happen are cut off, then the tilt is settled.

Laws on samples are heavy-tailed: one large loss in many steps is what delta consists of, and the tilt that a saddle-point
estimate finds may belong to losses far beyond. First each loss is cut where at most a trillionth of delta is lost (``Parts``
that are kept, and what is lost in all: a lower bound leaves it out, an upper bound counts it as disclosed). Then a coarse
contour says roughly which epsilon belongs to delta, and the tilt that is best for that epsilon is used. None of this is
precise, and nothing has to be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from discreet.privacy.accountant.contour import Parts, Saddle, decay, find_saddle, saddle_at
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.cut_sample import cut_sample
from discreet.privacy.accountant.smoothing import Smoothed, open_smoothed, window
from discreet.privacy.losses import SampledGaussian, SampledLattice

__all__ = ["Kept", "cut_losses", "settle"]

_LOST = -27.6  # ln of the share of delta that may be lost
_COARSE = 1 << 18  # terms
_EFFORT, _NODES = 1 << 24, 1 << 18  # terms and nodes of a contour, roughly


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
