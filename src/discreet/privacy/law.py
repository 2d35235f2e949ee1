"""The law of one use's privacy loss, in closed form: atoms, a density between them, and mass at infinity.

L = ln P/Q under P, for the worst pair (P, Q) of neighbours that the loss describes. Most pairs are their own mirror image, so
that Q[L > l] = P[L < -l]; that is all that sampling needs. Floating-point arithmetic, good to about 12 digits, not certified:
the certified bounds on epsilon and delta do not pass through here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.privacy.losses import (
    Atomic,
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Family,
    Gaussian,
    Laplace,
    Loss,
    Moments,
    SampledGaussian,
    SampledLattice,
)

__all__ = ["Law", "Spread", "law_of", "merge"]

_normal_tail = np.vectorize(lambda x: math.erfc(x / math.sqrt(2)) / 2, otypes=[np.float64])
_MANY = 1 << 20  # atoms of a discrete Laplace law; above, the loss's own coarser lattice has to do
_FAR = 12.0  # standard deviations of a Gaussian: beyond, there is less than 1e-32


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


def law_of(loss: Loss) -> Law:
    """The law of one use; a guarantee that only bounds moments is refused, because many laws fit under it."""
    if isinstance(loss, Moments):
        raise ParameterError(
            f"A {loss.kind} guarantee names no loss distribution; it only bounds Renyi divergences, and many mechanisms fit "
            "under it. Ask the mechanism's own guarantee for its loss, or gdp(mu) for that of Gaussian noise."
        )
    if isinstance(loss, Family):
        return law_of(loss.worst)
    if isinstance(loss, SampledGaussian):
        return _sampled(law_of(Gaussian(loss.squared_mu)), loss.rate, loss.adding, loss.mean_variance())
    if isinstance(loss, SampledLattice):
        return _sampled(law_of(loss.base), loss.rate, loss.adding, None)
    if isinstance(loss, DiscreteLaplace) and loss.sensitivity < _MANY:
        return _discrete_laplace(loss)
    if isinstance(loss, Atomic):
        # The discrete Gaussian's 2^-1000 at infinity is an allowance for values left out, not a disclosure.
        leak = 0.0 if isinstance(loss, DiscreteGaussian) else float(loss.infinity)
        ends = (-math.inf, math.inf) if isinstance(loss, DiscreteGaussian) else None
        return _atomic(loss.atoms.losses, loss.atoms.mass, leak, ends)
    if isinstance(loss, (Laplace, BoundedRange)):
        return _exponential(loss)
    if isinstance(loss, Gaussian):
        return _gaussian(*loss.mean_variance())
    raise ParameterError(f"A loss of kind {loss.kind!r} has no law in closed form; ask .delta(epsilon) instead.")


def merge(losses: Reals, masses: Reals) -> tuple[Reals, Reals]:
    """Atoms sorted, with equal losses (but for rounding) added up and masses of zero left out."""
    losses, masses = losses[masses > 0], masses[masses > 0]
    if not losses.size:
        return losses, masses
    order = np.argsort(losses, kind="stable")
    losses, masses = losses[order], masses[order]
    new = np.diff(losses, prepend=-np.inf) > 1e-11 * float(np.abs(losses).max())
    return losses[new], np.add.reduceat(masses, np.flatnonzero(new))


def _atomic(losses: Reals, masses: Reals, leak: float, ends: tuple[float, float] | None = None) -> Law:
    losses, masses = merge(losses, masses)
    share = masses / masses.sum()
    mean = float(share @ losses)
    ends = ends or (float(losses[0]), float(losses[-1]))
    return Law(losses, masses, None, leak, ends, mean, float(share @ (losses - mean) ** 2))


def _discrete_laplace(loss: DiscreteLaplace) -> Law:
    """Losses (d - 2j) / scale: q^j (1 - q) / (1 + q) inside, all that lies beyond at either end."""
    d, scale = loss.sensitivity, float(loss.scale)
    j = np.arange(d, -1, -1)
    masses = np.exp(-j / scale) * -math.expm1(-1 / scale)
    masses[0], masses[-1] = math.exp(-d / scale), 1.0
    return _atomic((d - 2 * j) / scale, masses / (1 + math.exp(-1 / scale)), 0.0)


def _exponential(loss: Laplace | BoundedRange) -> Law:
    """A density proportional to e^(x/2) on (-e, e): 1/4 e^((x-e)/2) between the Laplace atoms, all of a bounded range."""
    e, scale = float(loss.epsilon), 0.5 if isinstance(loss, Laplace) else 1 / -math.expm1(-float(loss.epsilon))
    spread = Spread(
        -e,
        e,
        lambda x: scale / 2 * np.exp((x - e) / 2),
        lambda x: scale * np.exp((x - e) / 2) * -np.expm1(-(x + e) / 2),
        lambda x: scale * -np.expm1((x - e) / 2),
    )
    ends = [-e, e] if isinstance(loss, Laplace) else []
    masses = [math.exp(-e) / 2, 0.5] if isinstance(loss, Laplace) else []
    return Law(np.array(ends), np.array(masses), spread, 0.0, (-e, e), *loss.mean_variance())


def _gaussian(mean: float, variance: float) -> Law:
    sd = math.sqrt(variance)
    spread = Spread(
        mean - _FAR * sd,
        mean + _FAR * sd,
        lambda x: np.exp(-(((x - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi)),
        lambda x: _normal_tail((mean - x) / sd),
        lambda x: _normal_tail((x - mean) / sd),
    )
    return Law(np.empty(0), np.empty(0), spread, 0.0, (-math.inf, math.inf), mean, variance)


def _sampled(base: Law, rate: Fraction, adding: bool, moments: tuple[float, float] | None) -> Law:
    """P' = (1-q) Q + q P against Q (removing), or Q against that (adding): a loss l becomes +-ln(1 - q + q e^l)."""
    q = float(rate)

    def moved(x: Reals) -> Reals:
        l = np.log1p(q * np.expm1(np.minimum(x, 30.0)))  # noqa: E741 - a loss
        return np.where(x > 30, x + np.log(q) + np.log1p((1 - q) / q * np.exp(-np.maximum(x, 30.0))), l)

    def back(x: Reals) -> Reals:
        l = np.log1p(np.expm1(np.minimum(x, 30.0)) / q)  # noqa: E741 - a loss
        return np.where(x > 30, x - np.log(q) + np.log1p(-(1 - q) * np.exp(-np.maximum(x, 30.0))), l)

    def stretch(x: Reals) -> Reals:
        return 1 / (q * np.exp(-x) - np.expm1(-x))

    low, high = (float(v) for v in moved(np.array(base.support)))
    sign, support = (-1, (-high, -low)) if adding else (1, (low, high))
    other = np.exp(np.log(base.masses) - base.losses)  # Q-mass
    edge = sign * math.log1p(-q)  # the loss where Q has mass and P none
    losses = np.append(sign * moved(base.losses), edge)
    masses = np.append(other if adding else (1 - q) * other + q * base.masses, base.infinity * (1 if adding else 1 - q))
    losses, masses = merge(losses, masses)
    if base.infinity:
        support = (min(support[0], edge), max(support[1], edge))
    leak = 0.0 if adding else q * base.infinity
    if (old := base.spread) is None:
        return _atomic(losses, masses, leak, support)
    left, right = sorted(float(v) for v in sign * moved(np.array([old.low, old.high])))
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
        points, mass = np.append(losses, sign * moved(l)), np.append(masses, dense)
        mean = float(mass @ points)
        moments = mean, float(mass @ (points - mean) ** 2)
    return Law(losses, masses, spread, leak, support, *moments)
