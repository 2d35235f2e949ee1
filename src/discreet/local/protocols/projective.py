"""Projective geometry response: report a point that lies on the own value's hyperplane more often than on any other's.

**Theorem** (Feldman, Nelson, Nguyen, Talwar 2022). Values are points of PG(t - 1, q), q prime. With probability
p = w e^epsilon / (w e^epsilon + K - w) the report is a uniform one of the w points on the value's hyperplane, else a uniform one
of the K - w others. So a report is e^epsilon times likelier for the values whose hyperplane it is on, and any two hyperplanes
share the same number of points. The error is within a few percent of the best possible, a report has log2 K bits, and one Fourier
transform of q^t cells decodes any number of reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.local.protocols.base import FrequencyProtocol, Rows, chance_inside
from discreet.local.protocols.geometry import Geometry, is_prime
from discreet.noise.coins import Chance, bernoulli, uniform

MOST_CELLS = 2**24
"""The largest transform a collector is asked for: 16.8 million cells, 256 MB."""


@dataclass(frozen=True)
class Projective(FrequencyProtocol):
    """Projective geometry response. The report is a point's number, 0 .. K - 1.

    >>> Projective(Fraction(1), 10_000, 3, 10).cells
    29524
    """

    epsilon: Fraction
    size: int
    prime: int
    dimension: int
    name: ClassVar[str] = "projective"
    parameter_names: ClassVar[tuple[str, ...]] = ("prime", "dimension")

    def __post_init__(self) -> None:
        if not is_prime(self.prime):
            raise ParameterError(f"The field of a projective geometry must be prime here, not {self.prime}; write prime=3.")
        if self.dimension < 2 or self.geometry.vectors > MOST_CELLS or self.geometry.points < self.size:
            raise ParameterError(
                f"The projective geometry of dimension {self.dimension} over {self.prime} elements must have at least "
                f"{self.size:,} points and at most {MOST_CELLS:,} vectors; leave the choice to discreet."
            )

    @classmethod
    def offers(cls, epsilon: Fraction, size: int) -> list[Projective]:
        """For every prime, the smallest geometry with enough points; dimension 2 would be k-ary with more values than needed."""
        found = []
        for prime in filter(is_prime, range(2, 256)):
            dimension = 3
            while (prime**dimension - 1) // (prime - 1) < size:
                dimension += 1
            if prime**dimension <= MOST_CELLS:
                found.append(cls(epsilon, size, prime, dimension))
        return found

    @cached_property
    def geometry(self) -> Geometry:
        return Geometry(self.prime, self.dimension, self.size)

    @property
    def _near_and_far(self) -> tuple[int, int]:
        near = self.geometry.on_a_hyperplane
        return near, self.geometry.points - near

    def _draw(self, codes: Integers) -> Integers:
        # Vectors with <u, v> = 0 but u = 0 cover the near points evenly; those with <u, v> = 1 are the far points, once each.
        free = self.prime ** (self.dimension - 1)
        near = bernoulli(Chance(chance_inside(*self._near_and_far, self.epsilon)), codes.size)
        on, off = uniform(free - 1, codes.size) + 1, uniform(free, codes.size)
        return self.geometry.meeting(codes, np.where(near, on, off), (~near).astype(np.int64))

    def likelihood(self, row: Rows, code: int) -> arb:
        near, far = self._near_and_far
        truth = self.supporting()[0]
        return truth / near if self._meets(int(row.item()), code) else (1 - truth) / far

    def _meets(self, report: int, code: int) -> bool:
        pairs = zip(self.geometry.vector(report), self.geometry.vector(code), strict=True)
        return sum(a * b for a, b in pairs) % self.prime == 0

    def supporting(self) -> tuple[arb, arb]:
        near, far = self._near_and_far
        truth = chance_inside(near, far, self.epsilon)()
        shared = self.geometry.on_two
        return truth, truth * shared / near + (1 - truth) * (near - shared) / far

    @property
    def cells(self) -> int:
        return self.geometry.points

    def support(self, tally: Integers) -> Integers:
        return self.geometry.incidences(tally)

    @property
    def targets(self) -> float:
        return self.size * self.geometry.on_a_hyperplane / self.geometry.points

    @property
    def server(self) -> str:
        cells = self.geometry.vectors
        return f"{self.cells:,} counters, one addition a report, one Fourier transform of {cells:,} cells"
