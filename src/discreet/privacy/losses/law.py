"""The law of one use's privacy loss: atoms, a density between them, and mass at infinity.

L = ln P/Q under P, for the worst pair (P, Q) of neighbours that a loss describes. Most pairs are their own mirror image, so that
Q[L > l] = P[L < -l]; that is all that sampling needs. Floating-point arithmetic, good to about 12 digits, not certified: the
certified bounds on epsilon and delta do not pass through here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals


@dataclass(frozen=True)
class Spread:
    """The part of a law that has a density. The functions take arrays of losses strictly between low and high."""

    low: float  # where the density starts, or is too small to matter
    high: float
    density: Callable[[Reals], Reals]
    below: Callable[[Reals], Reals]  # P[L <= x], of this part only
    above: Callable[[Reals], Reals]  # P[L > x], of this part only


@dataclass(frozen=True)
class Law:
    """Atoms (ascending losses and their masses), a density or none, and the mass at infinity."""

    losses: Reals
    masses: Reals
    spread: Spread | None
    infinity: float
    support: tuple[float, float]  # of the finite part
    mean: float  # of the finite part
    variance: float
    blurred: bool = False  # more atoms than can be listed: they are part of the spread

    def sample(self, rate: Fraction, moments: tuple[float, float] | None = None, *, adding: bool) -> Law:
        """On a Poisson sample: P' = (1-q) Q + q P against Q (removing), or Q against that (adding).

        A loss l becomes +-ln(1 - q + q e^l). ``moments`` are the new mean and variance, where they are known.
        """
        q = float(rate)

        def move(x: Reals) -> Reals:
            l = np.log1p(q * np.expm1(np.minimum(x, 30.0)))  # noqa: E741 - a loss
            return np.where(x > 30, x + np.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(x, 30.0))), l)

        def back(x: Reals) -> Reals:
            l = np.log1p(np.expm1(np.minimum(x, 30.0)) / q)  # noqa: E741 - a loss
            return np.where(x > 30, x - np.log(q) + np.log1p(-(1 - q) * np.exp(-np.maximum(x, 30.0))), l)

        def stretch(x: Reals) -> Reals:
            return 1 / (q * np.exp(-x) - np.expm1(-x))

        low, high = (float(v) for v in move(np.array(self.support)))
        sign, support = (-1, (-high, -low)) if adding else (1, (low, high))
        other = np.exp(np.log(self.masses) - self.losses)  # Q-mass
        edge = sign * math.log1p(-q)  # the loss where Q has mass and P none
        losses = np.append(sign * move(self.losses), edge)
        masses = np.append(other if adding else (1 - q) * other + q * self.masses, self.infinity * (1 if adding else 1 - q))
        losses, masses = merge_atoms(losses, masses)
        if self.infinity:
            support = (min(support[0], edge), max(support[1], edge))
        leak = 0.0 if adding else q * self.infinity
        if (old := self.spread) is None:
            return list_law(losses, masses, leak, support)
        left, right = sorted(float(v) for v in sign * move(np.array([old.low, old.high])))
        if adding:
            spread = Spread(
                left,
                right,
                lambda x: old.density(-back(-x)) * stretch(-x),
                lambda x: old.below(-back(-x)),
                lambda x: old.above(-back(-x)),
            )
        else:
            spread = Spread(
                left,
                right,
                lambda x: (q * old.density(back(x)) + (1 - q) * old.density(-back(x))) * stretch(x),
                lambda x: q * old.below(back(x)) + (1 - q) * old.above(-back(x)),
                lambda x: q * old.above(back(x)) + (1 - q) * old.below(-back(x)),
            )
        if moments is None:  # the density's part by Gauss and Legendre, over the losses before sampling
            nodes, weights = np.polynomial.legendre.leggauss(200)
            l = old.high * nodes  # noqa: E741 - a loss; bases without atoms at infinity are symmetric
            plain, mirrored = old.density(l), old.density(-l)
            dense = old.high * weights * (mirrored if adding else (1 - q) * mirrored + q * plain)
            points, mass = np.append(losses, sign * move(l)), np.append(masses, dense)
            mean = float(mass @ points)
            moments = mean, float(mass @ (points - mean) ** 2)
        return Law(losses, masses, spread, leak, support, *moments)


def merge_atoms(losses: Reals, masses: Reals) -> tuple[Reals, Reals]:
    """Atoms sorted, with equal losses (but for rounding) added up and masses of zero left out."""
    losses, masses = losses[masses > 0], masses[masses > 0]
    if not losses.size:
        return losses, masses
    order = np.argsort(losses, kind="stable")
    losses, masses = losses[order], masses[order]
    new = np.diff(losses, prepend=-np.inf) > 1e-11 * float(np.abs(losses).max())
    return losses[new], np.add.reduceat(masses, np.flatnonzero(new))


def list_law(losses: Reals, masses: Reals, leak: float, ends: tuple[float, float] | None = None) -> Law:
    """A law of atoms only, with this mass at infinity; ``ends`` where its support is wider than what is listed."""
    losses, masses = merge_atoms(losses, masses)
    share = masses / masses.sum()
    mean = float(share @ losses)
    ends = ends or (float(losses[0]), float(losses[-1]))
    return Law(losses, masses, None, leak, ends, mean, float(share @ (losses - mean) ** 2))
