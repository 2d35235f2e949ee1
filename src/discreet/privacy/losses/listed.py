"""A sampled loss as a list of values, which need not lie on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

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
        return _is_listed(self.whole.base)

    @property
    def law(self) -> tuple[Reals, Reals, float]:
        """Losses, ascending, their masses, and the relative error of these."""
        losses, mass, error, _ = _list(self.whole, self.up)
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
        blur = _list(self.whole, self.up)[3]
        _, weights = self._weights(x)
        size = float(weights @ np.abs(losses)) / float(weights.sum())
        depth = float(weights @ np.abs(np.log(mass))) / float(weights.sum())
        still = losses.size / 64 + 128 + 8 * depth
        return (
            (still + 24 * abs(x) * size + t * size * (units(losses.size) + 2 * still)) * UNIT
            + error * (1 + 2 * t * size)
            + (t + abs(x)) * blur
        )

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
    up = up or _is_listed(whole.base)
    _, mass, error, _ = _list(whole, up)
    above = np.cumsum(mass[::-1]) * (1 + error + mass.size * UNIT)
    skip = min(int(np.searchsorted(above, most, side="right")), mass.size - 1)
    return Listed(whole, up, skip, float(above[skip - 1]) if skip else 0.0)


def _is_listed(base: Loss) -> bool:
    """Whether the base's atoms are all of its values."""
    return isinstance(base, Atomic) and base.lattice(None, up=True) is base.atoms


@lru_cache(maxsize=64)
def _list(whole: SampledLattice, up: bool) -> tuple[Reals, Reals, float, float]:
    """Losses, ascending, their masses, the relative error of these, and how far the base's losses may be off.

    P becomes (1 - q) Q + q P, l becomes ln(1 - q + q e^l), or minus that. 1 - q is taken from the exact rate.
    """
    base, q, rest = whole.base, float(whole.rate), float(1 - whole.rate)
    atoms = base.lattice(None if _is_listed(base) else base.divisor and base.divisor / _CELLS, up=up)
    assert atoms is not None
    held = atoms.mass > 0
    l, p = atoms.losses[held], atoms.mass[held]  # noqa: E741 - a loss
    other = np.exp(np.minimum(np.log(p) - l, 0.0))
    near, far = np.minimum(l, 40.0), np.maximum(l, 40.0)
    grown = q * np.expm1(near)
    losses = np.where(grown > -0.5, np.log1p(np.maximum(grown, -0.5)), np.log(rest + q * np.exp(near)))
    losses = np.where(l > 40, far + math.log(q) + np.log1p(rest / q * np.exp(-far)), losses)
    mixed = rest * other + q * p
    if base.infinity:  # as P has mass where Q has none, so has Q where P has none: there the ratio is 1 - q
        empty = float(base.infinity)
        losses = np.append(math.log(rest), losses)
        mixed, other = np.append(rest * empty, mixed), np.append(empty, other)
    error = atoms.error + (64 + 4 * float(np.abs(np.log(p)).max() + np.abs(l).max())) * UNIT
    if whole.adding:
        losses, mixed = -losses[::-1], other[::-1]
    kept = mixed > 0
    return losses[kept], mixed[kept], error, atoms.blur
