"""A sampled loss without its farthest values: a list, which need not lie on a lattice, in the form that long sums of steps need.

The values left out hold at most ``lost``: a lower bound may leave them out, since every outcome counts for at least 0, and an
upper bound counts them as disclosed. Characteristic functions are 1 plus a sum of small terms (``turning``), so that they keep
their digits where nearly all losses are small, as they are at small rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.turning import turned_sums, units
from discreet.privacy.losses.base import UNIT, Atomic, Loss
from discreet.privacy.losses.sampled import SampledLattice
from discreet.privacy.losses.sampled_gaussian import no_groups

__all__ = ["CutSample", "cut_sample"]


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
