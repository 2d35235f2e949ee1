"""Losses whose density is proportional to e^(l/2) between -epsilon and epsilon, with or without atoms at the ends.

For such a density the P- and Q-mass of any cell [a, b] have the ratio e^((a+b)/2), that of its middle: cells round to a lattice
without loss of balance.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction

import numpy as np

from discreet.privacy.losses.base import Atoms, Loss, Reals

__all__ = ["Smooth"]


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
    def between(self, edges: Reals) -> tuple[Reals, Reals, float]:
        """P- and Q-masses of the density between neighbouring edges, and P's mass on the atom at epsilon."""

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        """Cells of the density between multiples of the step.

        Up: split into the cell's two ends so that both masses are kept (connect the dots): refining dominates. The right end gets
        p_right = (p - q e^a) / (1 - e^-h) = p / (1 + e^(-h/2)). Down: merge into its middle, on a lattice of half the step.
        """
        wanted = step or self.epsilon / 64
        cells = int(2 * self.epsilon / wanted)
        h, e = float(wanted), float(self.epsilon)
        mass, _, top = self.between(-e + h * np.arange(cells + 1, dtype=np.float64))
        masses = np.zeros(cells + 1 if up else 2 * cells + 1)
        if up:
            share = 1 / (1 + math.exp(-h / 2))
            masses[1:] += mass * share
            masses[:-1] += mass * (1 - share)
        else:
            masses[1::2] += mass
        masses[0] += top * math.exp(-e)
        masses[-1] += top
        return Atoms(-self.epsilon, wanted if up else wanted / 2, masses)
