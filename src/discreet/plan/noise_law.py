"""How noise spreads: of one noisy sum, and of combinations of two, as intervals need it.

This is arithmetic on public facts after the release: it decides no privacy, so plain doubles serve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.arrays import Number, Reals
from discreet.mechanisms import Gaussian, Laplace
from discreet.plan.measures import Measure
from discreet.plan.parts import Part

__all__ = ["Spread", "outside", "spread_of"]


@dataclass(frozen=True)
class Spread:
    """The noise of one sum in real units: its law, its scale (Laplace) or standard deviation (Gaussian)."""

    law: Literal["laplace", "gaussian", "none"]
    scale: float
    mechanism: Laplace | Gaussian | None = None
    unit: float = 1.0

    @property
    def deviation(self) -> float:
        return math.sqrt(self.mechanism.variance) * self.unit if self.mechanism else 0.0

    def half(self, confidence: Number = 0.95) -> float:
        """The half-width of an interval."""
        return float(self.mechanism.error(confidence)) * self.unit if self.mechanism else 0.0


def spread_of(part: Part) -> Spread:
    """The noise that a part's mechanism adds, in real units."""
    worth = float(part.statistic.worth) if isinstance(part.statistic, Measure) else 1.0
    unit = worth / 2**part.bits
    if isinstance(part.mechanism, Laplace):
        return Spread("laplace", float(part.mechanism.scale) * unit, part.mechanism, unit)
    if isinstance(part.mechanism, Gaussian):
        return Spread("gaussian", part.mechanism.sigma * unit, part.mechanism, unit)
    return Spread("none", 0.0)


def outside(distance: Reals, one: Spread, other: Spread, factor: Reals) -> Reals:
    """P(|X + factor Y| > distance) for the noises X and Y of two sums."""
    a, b = np.full_like(distance, one.scale), np.abs(factor) * other.scale
    if one.law == "gaussian" or other.law == "gaussian":
        spread = np.sqrt(a**2 + b**2)
        tail: Reals = np.where(spread > 0, _erfc(distance / np.maximum(spread, 1e-300) / math.sqrt(2)), distance <= 0)
        return tail
    large, small = np.maximum(a, b), np.minimum(a, b)
    large = np.maximum(large, 1e-300)
    ratio = np.minimum(small / large, 1 - 1e-6)  # equal scales: the limit, to six digits
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        short = np.where(ratio > 0, ratio**2 * np.exp(-distance / np.maximum(large * ratio, 1e-300)), 0.0)
        both: Reals = (np.exp(-distance / large) - short) / (1 - ratio**2)
        return both


def _erfc(x: Reals) -> Reals:
    return np.array([math.erfc(v) for v in np.atleast_1d(x)]).reshape(np.shape(x))
