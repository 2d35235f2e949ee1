"""What a guarantee is called in a title: "100 × pure ε = 0.1 + Gaussian μ = 1"."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.privacy.accountant.composition import Parts
from discreet.privacy.losses import (
    BoundedRange,
    Box,
    Concentrated,
    DiscreteGaussian,
    DiscreteLaplace,
    Family,
    Gaussian,
    Laplace,
    Loss,
    Response,
    SampledGaussian,
    SampledLattice,
)

__all__ = ["name_of"]

_LONGEST = 3


def name_of(parts: Parts) -> str:
    """A short name for a composition.

    >>> from discreet.privacy import gdp, pure
    >>> name_of((100 * pure(0.1) + gdp(1)).parts)
    'Gaussian μ = 1 + 100 × pure ε = 0.1'
    """
    if not parts:
        return "no cost"
    if len(parts) > _LONGEST:
        return f"{sum(count for _, count in parts):,} uses of {len(parts)} mechanisms"
    return " + ".join(f"{count:,} × {_loss(loss)}" if count > 1 else _loss(loss) for loss, count in sorted(parts, key=_size))


def _size(part: tuple[Loss, int]) -> int:
    return part[1]


def _loss(loss: Loss) -> str:
    match loss:
        case Box(epsilon, delta):
            return f"(ε = {_short(epsilon)}, δ = {_short(delta)})" if delta else f"pure ε = {_short(epsilon)}"
        case Laplace(epsilon) | BoundedRange(epsilon):
            return f"{loss.kind} ε = {_short(epsilon)}"
        case Response(epsilon, options):
            return f"{loss.kind} ε = {_short(epsilon)}, {options} options"
        case DiscreteLaplace():
            return f"{loss.kind} ε = {_short(loss.pure)}"
        case Gaussian(squared_mu):
            return f"Gaussian μ = {math.sqrt(squared_mu):.4g}"
        case DiscreteGaussian(squared_sigma):
            return f"{loss.kind} σ = {math.sqrt(squared_sigma):.4g}"
        case Concentrated(cost):
            return f"zCDP ρ = {_short(cost)}"
        case SampledGaussian(squared_mu, rate):
            return f"Gaussian μ = {math.sqrt(squared_mu):.4g} on a {_share(rate)} sample"
        case SampledLattice(base, rate):
            return f"{_loss(base)} on a {_share(rate)} sample"
        case Family(name):
            return name
    return loss.kind


def _short(value: Fraction) -> str:
    return f"{float(value):.4g}"


def _share(rate: Fraction) -> str:
    return f"{float(100 * rate):.3g} %"
