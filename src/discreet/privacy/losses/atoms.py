"""Losses given as lists of values: on a lattice (``Atoms``), or anywhere on the line (``Listed``).

A list is what a density that is cut into cells, or a law on a sample, comes down to.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Complex, Reals, dot
from discreet.privacy.losses.base import UNIT, Loss
from discreet.privacy.losses.law import Law, list_law

LEAST = 2.0**-1018
"""Masses up to this are next to underflow, where doubles have hardly any digits: lists leave them out."""


@dataclass(frozen=True)
class Atoms:
    """A loss on the lattice first + step * (0, 1, 2, ...), with these P-masses.

    Each mass m is right within ``error`` and 4 units for every unit of |ln m| (what an exponential loses), relatively.
    """

    first: Fraction
    step: Fraction
    mass: Reals
    error: float = 64 * UNIT
    lost: float = 0.0  # P-mass that is not on the lattice, to be counted as disclosure by upper bounds
    blur: float = 0.0  # how far ``first`` and ``step`` may put a loss from where it is

    @cached_property
    def losses(self) -> Reals:
        """Counted from the one closest to 0, so that each is right within 8 units of itself."""
        start = min(max(round(-self.first / self.step), 0), self.mass.size - 1)
        places = np.arange(-start, self.mass.size - start, dtype=np.float64)
        return float(self.first + start * self.step) + float(self.step) * places

    @cached_property
    def log_mass(self) -> Reals:
        with np.errstate(divide="ignore"):
            return np.log(self.mass)

    def doubt(self, weights: Reals) -> float:
        """How far weights made of these masses may be off, as a share of their sum: it bounds the error of any transform."""
        return self.error + 8 * UNIT * dot(weights, np.abs(np.maximum(self.log_mass, -800.0))) / float(weights.sum())


def transform(losses: Reals, weights: Reals, t: Reals) -> Complex:
    """E[e^(i t L)] of a listed law, in blocks of a million terms."""
    result, rows = np.empty(t.size, dtype=np.complex128), max(1, (1 << 20) // losses.size)
    for start in range(0, t.size, rows):
        turned = np.exp(1j * np.multiply.outer(t[start : start + rows], losses))
        turned *= weights
        result[start : start + rows] = turned.sum(axis=1)
    return result


class _Finite(Loss):
    """A loss with finitely many values: its moments are sums over ``_points``."""

    @property
    @abstractmethod
    def _points(self) -> tuple[Reals, Reals]:
        """The losses, and the logarithms of their P-masses."""

    def _weights(self, x: float) -> tuple[float, Reals]:
        losses, log_mass = self._points
        exponents = x * losses + log_mass
        top = float(exponents.max())
        return top, np.exp(exponents - top)

    def log_moment(self, x: float) -> float:
        top, weights = self._weights(x)
        return top + math.log(weights.sum())

    def characteristic(self, x: float, t: Reals) -> Complex:
        _, weights = self._weights(x)
        return transform(self._points[0], weights / weights.sum(), t)

    def cumulants(self, x: float) -> tuple[float, float, float]:
        top, weights = self._weights(x)
        losses, total = self._points[0], float(weights.sum())
        mean = dot(weights, losses) / total
        return top + math.log(total), mean, dot(weights, (losses - mean) ** 2) / total

    def work(self, x: float) -> int:  # noqa: ARG002
        return self._points[0].size

    def reach(self, x: float) -> float:  # noqa: ARG002 - the same for every tilt
        return float(np.abs(self._points[0]).max())


class Atomic(_Finite):
    """A loss with finitely many values on a lattice: everything follows from ``atoms``."""

    @cached_property
    @abstractmethod
    def atoms(self) -> Atoms:
        """The law of the finite part."""

    @property
    def _points(self) -> tuple[Reals, Reals]:
        return self.atoms.losses, self.atoms.log_mass

    @property
    def exact(self) -> bool:
        return True

    @property
    def pure_mass(self) -> float:
        atoms, mass = self.atoms, float(self.atoms.mass[-1])
        if self.pure is None or not mass or self.lattice(None, up=True) is not atoms:
            return 0.0
        there = not atoms.blur and atoms.first + (atoms.mass.size - 1) * atoms.step == self.pure
        return mass * (1 - atoms.error + 8 * UNIT * math.log(mass)) if there else 0.0

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:  # noqa: ARG002
        return self.atoms

    def pieces(self, *, up: bool) -> Listed:  # noqa: ARG002
        return listed_atoms(self.atoms)

    @property
    def divisor(self) -> Fraction:
        return self.atoms.step

    def rounding(self, x: float, t: float) -> float:
        """Twice (a sum over another one): their lengths, what losses, tilts and phases lose, and the masses' own errors."""
        _, weights = self._weights(x)
        return (2 * weights.size + 256 + 8 * (t + 2 * abs(x)) * self.reach(x)) * UNIT + 2 * self.atoms.doubt(weights)

    @property
    def lost(self) -> float:
        return self.atoms.lost

    def distribution(self) -> Law:
        return list_law(self.atoms.losses, self.atoms.mass, float(self.infinity))

    def mean_variance(self) -> tuple[float, float]:
        mass = self.atoms.mass / self.atoms.mass.sum()
        mean = dot(mass, self.atoms.losses)
        return mean, dot(mass, (self.atoms.losses - mean) ** 2)


@dataclass(frozen=True, eq=False)
class Listed(_Finite):
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
        return self.doubts if self.doubts is not None else self.error + 4 * UNIT * np.abs(self._points[1])

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

    @cached_property
    def _points(self) -> tuple[Reals, Reals]:
        return self.losses, np.log(self.mass)

    def rounding(self, x: float, t: float) -> float:
        """As for atoms on a lattice; the losses themselves are exact here, up to ``blur``."""
        _, weights = self._weights(x)
        doubt = self.error + 8 * UNIT * dot(weights, np.abs(self._points[1])) / float(weights.sum())
        return (2 * weights.size + 256 + 8 * (t + abs(x)) * self.reach(x)) * UNIT + 2 * doubt

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
