"""A sampled loss as a list of values, which need not lie on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.privacy.losses.base import UNIT, Atomic, Complex, Loss, Reals
from discreet.privacy.losses.sampled import SampledLattice
from discreet.privacy.losses.turning import turned_sums, units

__all__ = ["Listed", "list_sampled"]

_CELLS = 512  # of a density, on either side of 0


@dataclass(frozen=True)
class Listed(Loss):
    """The law of a sampled loss that dominates it (``up``) or is dominated by it, without its ``skip`` largest values.

    A base with atoms is listed as it is; a density is first put on a lattice of its own, up or down: sampling keeps domination.
    The values left out hold at most ``lost``: a lower bound may leave them out, since every outcome counts for at least 0, and an
    upper bound counts them as disclosed.
    """

    whole: SampledLattice
    up: bool
    skip: int
    lost: float
    kind = "listed"

    @property
    def pure(self) -> Fraction | None:
        return self.whole.pure

    @property
    def rho(self) -> Fraction | None:
        return self.whole.rho

    @property
    def exact(self) -> bool:
        return isinstance(self.whole.base, Atomic)

    @property
    def law(self) -> tuple[Reals, Reals, float]:
        """Losses, ascending, their masses, and the relative error of these."""
        losses, mass, error = _list(self.whole, self.up)
        stop = losses.size - self.skip
        return losses[:stop], mass[:stop], error

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
        """Losses are known to 16 units of themselves, which powers and phases multiply; phi - 1 as well as the masses."""
        losses, mass, error = self.law
        _, weights = self._weights(x)
        size = float(weights @ np.abs(losses)) / float(weights.sum())
        depth = float(weights @ np.abs(np.log(mass))) / float(weights.sum())
        still = losses.size / 64 + 128 + 8 * depth
        return (still + 24 * abs(x) * size + t * size * (units(losses.size) + 2 * still)) * UNIT + error * (1 + 2 * t * size)

    def work(self, x: float) -> int:  # noqa: ARG002
        return 1 + self.law[0].size // 16  # of a matrix product

    def reach(self, x: float) -> float:  # noqa: ARG002
        return float(np.abs(self.law[0]).max())

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(0.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise ParameterError(f"A group of {size} on a sample has no closed form here; take .group({size}) before .sampled(...).")


def list_sampled(whole: SampledLattice, most: float, *, up: bool) -> Listed:
    """The law without the largest values that together hold at most ``most``."""
    _, mass, error = _list(whole, up)
    above = np.cumsum(mass[::-1]) * (1 + error + mass.size * UNIT)
    skip = min(int(np.searchsorted(above, most, side="right")), mass.size - 1)
    return Listed(whole, up or isinstance(whole.base, Atomic), skip, float(above[skip - 1]) if skip else 0.0)


def _list(whole: SampledLattice, up: bool) -> tuple[Reals, Reals, float]:
    key = (whole, up)
    if key not in _kept:
        while len(_kept) > 64:
            _kept.pop(next(iter(_kept)))
        base = whole.base
        step = None if isinstance(base, Atomic) else base.divisor and base.divisor / _CELLS
        atoms = base.lattice(step, up=up)
        assert atoms is not None
        losses, mass, _ = whole._law(step, up=up)
        held = mass > 0
        # What the base's masses err by, and e^(ln mass - loss) on the other side.
        depth = 8 * UNIT * float((np.abs(np.log(mass[held])) * mass[held]).sum() + np.abs(atoms.losses).max())
        _kept[key] = losses[held], mass[held], atoms.error + 64 * UNIT + depth
    return _kept[key]


_kept: dict[tuple[SampledLattice, bool], tuple[Reals, Reals, float]] = {}
