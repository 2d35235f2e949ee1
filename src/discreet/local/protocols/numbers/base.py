"""A protocol for means: a value is a place on a public grid, 0 .. steps, and every report an unbiased measurement of it.

**The guarantee**: for any two values x, x' of one person and any report y, P(y | x) <= e^epsilon P(y | x').
"""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError
from discreet.local.protocols.base import Protocol
from discreet.noise.coins import uniform

MOST_STEPS = 2**40
"""The finest grid of values."""


class MeanProtocol(Protocol):
    """A protocol for means. Measurements are in units of the scale: 0 is the lower bound, 1 the upper."""

    steps: int
    parameter_names: ClassVar[tuple[str, ...]] = ("steps",)

    @classmethod
    def best(cls, epsilon: Fraction, steps: int) -> Self:
        """The member with the least error."""
        return cls(epsilon, steps)  # type: ignore[call-arg]

    def check(self) -> None:
        """Refuse grids that the arithmetic does not cover."""
        if not 1 <= self.steps <= MOST_STEPS:
            raise ParameterError("There must be 1 to 2^40 steps between the bounds; write a coarser step.")

    @abstractmethod
    def variance(self, places: Reals) -> Reals:
        """Of one report's measurement for values at these places (from 0 to 1): the closed form."""

    @abstractmethod
    def summary(self, tally: Integers, count: int) -> tuple[float, float]:
        """Mean and variance of the measurements."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The largest measurement: how far one hostile report pulls."""

    @property
    @abstractmethod
    def jump(self) -> float:
        """How far apart two measurements can be, rare ones included: what a normal interval of few reports may miss."""

    def interval(self, place: float, error: float, count: int, z: float) -> tuple[float, float]:
        """Places between which the mean of all who reported is, for an estimated place and its standard error.

        The normal interval of ``z`` standard errors, half a report longer at both ends (a correction for continuity): what is
        rare has not happened yet among few reports.
        """
        arm = z * error + self.jump / (2 * count)
        return place - arm, place + arm

    @property
    def worst(self) -> float:
        """The largest variance over all values."""
        codes = np.unique(np.rint(np.linspace(0.0, 1.0, 65) * self.steps))
        return float(self.variance(codes / self.steps).max())


class HistogramProtocol(MeanProtocol):
    """A protocol with few different reports, which are counted one by one."""

    @property
    @abstractmethod
    def scores(self) -> Reals:
        """The measurement that each report stands for."""

    def summary(self, tally: Integers, count: int) -> tuple[float, float]:
        shares = tally / count
        mean = float(shares @ self.scores)
        return mean, float(shares @ (self.scores - mean) ** 2)

    @cached_property
    def jump(self) -> float:
        return float(np.ptp(self.scores))

    @cached_property
    def reach(self) -> float:
        return float(np.abs(self.scores).max())


def round_places(codes: Integers, steps: int, last: int) -> Integers:
    """codes / steps * last, rounded up or down at random so that the mean is exact: integers and exact coins only.

    >>> round_places(np.array([0, 15]), 15, 6)
    array([0, 6])
    """
    whole, rest = np.divmod(codes * last, steps)
    return whole + (uniform(steps, codes.size) < rest)
