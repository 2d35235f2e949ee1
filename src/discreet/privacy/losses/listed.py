"""A law given as a list of losses, anywhere on the line: what a density, cut into cells, or a sampled law comes down to."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.losses.base import UNIT, Atoms, Loss, transform

__all__ = ["Listed", "listed_atoms"]


@dataclass(frozen=True, eq=False)
class Listed(Loss):
    """Losses, ascending, with their P-masses (all above 0); P and Q are whole, so that the law can be mirrored or sampled.

    Each mass m is right within ``error`` and 4 units for every unit of |ln m|, relatively; each loss within ``blur``. Where more
    is known of each, ``doubts`` and ``blurs`` say it.
    """

    losses: Reals
    mass: Reals
    error: float
    blur: float = 0.0
    lost: float = 0.0
    doubts: Reals | None = None
    blurs: Reals | None = None
    kind = "listed"

    @property
    def mass_errors(self) -> Reals:
        """A bound on the relative error of each mass."""
        return self.doubts if self.doubts is not None else self.error + 4 * UNIT * np.abs(np.log(self.mass))

    @property
    def loss_errors(self) -> Reals:
        """A bound on the error of each loss."""
        return self.blurs if self.blurs is not None else np.full(self.losses.size, self.blur)

    @property
    def pure(self) -> Fraction:
        return Fraction(float(self.losses[-1]) + self.blur)

    @property
    def rho(self) -> None:
        return None

    def _weights(self, x: float) -> tuple[float, Reals]:
        exponents = x * self.losses + np.log(self.mass)
        top = float(exponents.max())
        return top, np.exp(exponents - top)

    def log_moment(self, x: float) -> float:
        return self.cumulants(x)[0]

    def cumulants(self, x: float) -> tuple[float, float, float]:
        top, weights = self._weights(x)
        total = float(weights.sum())
        mean = float(weights @ self.losses) / total
        return top + math.log(total), mean, float(weights @ (self.losses - mean) ** 2) / total

    def characteristic(self, x: float, t: Reals) -> Complex:
        _, weights = self._weights(x)
        return transform(self.losses, weights / weights.sum(), t)

    def rounding(self, x: float, t: float) -> float:
        """As for atoms on a lattice; the losses themselves are exact here, up to ``blur``."""
        _, weights = self._weights(x)
        doubt = self.error + 8 * UNIT * float(weights @ np.abs(np.log(self.mass))) / float(weights.sum())
        return (2 * weights.size + 256 + 8 * (t + abs(x)) * self.reach(x)) * UNIT + 2 * doubt

    def work(self, x: float) -> int:  # noqa: ARG002
        return self.losses.size

    def reach(self, x: float) -> float:  # noqa: ARG002 - the same for every tilt
        return float(np.abs(self.losses).max())

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(0.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise NotImplementedError("a list is made of a loss; ask that one")


def listed_atoms(atoms: Atoms) -> Listed:
    """A lattice law as a list; its losses are computed to 8 units of themselves."""
    held = atoms.mass > 0
    losses = atoms.losses[held]
    blurs = atoms.blur + 8 * UNIT * np.abs(losses)
    return Listed(losses, atoms.mass[held], atoms.error, float(blurs.max()), atoms.lost, blurs=blurs)
