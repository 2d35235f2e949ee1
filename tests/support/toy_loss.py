"""A toy family of losses: randomized response between two options, by somebody who often says nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.privacy.losses.atoms import Atomic, Atoms
from discreet.privacy.losses.base import tanh_rho


@dataclass(frozen=True)
class Abstaining(Atomic):
    """Losses +-epsilon, and 0 with probability ``silent``."""

    epsilon: Fraction
    silent: Fraction
    kind = "abstaining"

    @property
    def title(self) -> str:
        return f"{self.kind} ε = {float(self.epsilon):.4g}, silent {float(100 * self.silent):.3g} %"

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def rho(self) -> Fraction:
        """No more than without silence: the divergence is convex in the pair."""
        return tanh_rho(self.epsilon)

    @cached_property
    def atoms(self) -> Atoms:
        lie, spoken = 1 / (1 + math.exp(float(self.epsilon))), float(1 - self.silent)
        mass = np.array([spoken * lie, float(self.silent), spoken * (1 - lie)])
        return Atoms(-self.epsilon, self.epsilon, mass)

    def group(self, size: int) -> Abstaining:
        """Pure for one record is pure for a group, in steps."""
        return Abstaining(size * self.epsilon, Fraction(0))
