"""A toy mechanism: two draws of Laplace noise where one would do.

**Theorem.** The first draw alone makes a sum epsilon-private for the neighbours under which the sensitivity holds; adding another
is post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import discreet as dp
from discreet.exact import positive, probability
from discreet.mechanisms.base import FREE, Mechanism, Moved, Recording, changes, let_out, show_change
from discreet.mechanisms.grid import release_integers
from discreet.noise import laplace as noise
from discreet.privacy import Privacy


@dataclass(frozen=True, init=False)
class Twice(Mechanism):
    """Adds discrete Laplace noise to integers, twice."""

    sensitivity: int
    scale: Fraction
    label = "Laplace noise, twice"
    grid = 1

    def __init__(self, *, sensitivity: int, epsilon: object) -> None:
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "scale", sensitivity / positive("epsilon", epsilon, "a number such as 1"))

    @property
    def privacy(self) -> Privacy:
        return dp.pure(self.sensitivity / self.scale)

    def release(self, value: Any) -> Any:
        return let_out(self, value, lambda: release_integers(value, self._draw))

    def _draw(self, size: int) -> Any:
        return noise.discrete(self.scale, size) + noise.discrete(self.scale, size)

    def error(self, confidence: object = 0.95) -> int:
        """Each draw misses with half the chance."""
        miss = (1 - probability("confidence", confidence, zero=False, hint="a number such as 0.95")) / 2
        return 2 * int(dp.Laplace(sensitivity=self.sensitivity, scale=self.scale).error(1 - miss))

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:  # noqa: ARG002
        return f"{self.label}, of scale {float(self.scale) * unit:,.4g}"

    def moved(self, before: Recording, after: Recording) -> Moved:
        far = sum(map(abs, changes(before, after)), Fraction(0))
        return Moved(dp.pure(far / self.scale) if far else FREE, show_change(before, after, far, self.sensitivity, "L1"))
