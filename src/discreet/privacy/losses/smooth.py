"""Losses whose density is proportional to e^(l/2) between -epsilon and epsilon, with or without atoms at the ends.

For such a density the P- and Q-mass of any cell [a, b] have the ratio e^((a+b)/2), that of its middle: cells round to a lattice
without loss of balance.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.privacy.losses.base import UNIT, Atoms, Loss
from discreet.privacy.losses.listed import Listed, listed_atoms

__all__ = ["Smooth"]

_PIECES = 1 << 11  # on either side of 0


class Smooth(Loss):
    """A loss given by ``between``."""

    epsilon: Fraction

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def divisor(self) -> Fraction:
        return self.epsilon

    @abstractmethod
    def between(self, left: Reals, width: Reals | float) -> tuple[Reals, float]:
        """P-masses of the density over cells that start at ``left``, and P's mass on the atom at epsilon.

        Within ``error`` of themselves: exponents are known to 4 units of epsilon.
        """

    @property
    def error(self) -> float:
        return (64 + 8 * float(self.epsilon)) * UNIT

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        """Cells of the density between multiples of the step.

        Up: split into the cell's two ends so that both masses are kept (connect the dots): refining dominates. The right end gets
        p_right = (p - q e^a) / (1 - e^-h) = p / (1 + e^(-h/2)). Down: merge into its middle, on a lattice of half the step.
        """
        wanted = step or self.epsilon / 64
        cells = int(2 * self.epsilon / wanted)
        h, e = float(wanted), float(self.epsilon)
        mass, top = self.between(-e + h * np.arange(cells, dtype=np.float64), h)
        masses = np.zeros(cells + 1 if up else 2 * cells + 1)
        if up:
            masses[1:] += mass / (1 + math.exp(-h / 2))
            masses[:-1] += mass / (1 + math.exp(h / 2)) if h < 1400 else 0.0
        else:
            masses[1::2] += mass
        masses[0] += top * math.exp(-e)
        masses[-1] += top
        return Atoms(-self.epsilon, wanted if up else wanted / 2, masses, self.error)

    def pieces(self, *, up: bool) -> Listed:
        return listed_atoms(self.lattice(self.epsilon / _PIECES, up=up))
