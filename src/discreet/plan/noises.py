"""Sums of independent noises: how far from 0 a weighted sum may be before noise alone does not explain it.

Gaussian noises add up to Gaussian noise. Of Laplace noises with scales b_1 > b_2 > ... the sum has the characteristic function
prod 1 / (1 + b_i^2 t^2), which partial fractions split into Laplace noises again (Kotz, Kozubowski, Podgorski 2001, 2.3):

    P(|X| > d) = sum c_i exp(-d / b_i),    c_i = prod over j != i of b_i^2 / (b_i^2 - b_j^2)

Equal scales have no such coefficients: scales are moved apart, always upwards, so that a probability is stated too large and
never too small; by at most a thousandth for three noises, one in a hundred for more. Of more than seven noises the smallest
together count as one of the same variance, whose tail at 5 % is heavier than that of their sum.

What a mechanism releases is a whole number of units: where its noise is hardly more than a unit, the half-width that the
mechanism itself states is larger than that of the real law, and the scale is raised to it. All this is arithmetic on public facts
after the release, in plain doubles.

>>> bool(tail(np.array([3.0]), [np.array([1.0])])[0] > 0.0497)
True
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.release import Spread

Weighted = Sequence[tuple[Spread, Reals]]  # noises, and for every group the weight of each

_STEPS = 50  # halvings of a distance
_MOST = 7  # noises that are looked at one by one
_APART = {1: 0.0, 2: 1e-6, 3: 2e-4, 4: 2e-3}  # how far scales are moved apart, in relation
_LEAST = 1e-9  # a scale that is smaller than this in relation to the largest says nothing


def tail(distance: Reals, scales: Sequence[Reals]) -> Reals:
    """P(|X| > distance) for the sum X of Laplace noises with these scales, rounded up."""
    ordered = np.sort(np.array(np.broadcast_arrays(*scales), dtype=np.float64), axis=0)
    if len(ordered) > _MOST:
        rest = np.sqrt((ordered[: 1 - _MOST] ** 2).sum(axis=0))
        ordered = np.sort(np.vstack([rest[None], ordered[1 - _MOST :]]), axis=0)
    largest = ordered[-1]
    some = largest > 0
    unit = np.where(some, largest, 1.0)
    ordered = np.maximum(ordered / unit, _LEAST)
    apart = 1 + _APART.get(len(ordered), 1e-2)
    for i in range(1, len(ordered)):
        np.maximum(ordered[i], ordered[i - 1] * apart, out=ordered[i])
    far = np.maximum(distance, 0.0) / unit
    squares = ordered**2
    with np.errstate(under="ignore"):
        found = np.exp(-far / ordered)
        for i, square in enumerate(squares):
            for j, other in enumerate(squares):
                if j != i:
                    found[i] *= square / (square - other)
    return np.where(some, np.minimum(np.maximum(found.sum(axis=0), 0.0), 1.0), np.where(distance > 0, 0.0, 1.0))


def explains(distance: Reals, noises: Weighted, miss: float) -> NDArray[np.bool_]:
    """Whether noise alone is this far from 0 with probability ``miss`` or more, in every group."""
    effective = [(spread.law, np.abs(weight) * scale_of(spread, miss)) for spread, weight in noises if spread.law != "none"]
    if not effective:
        return np.asarray(distance <= 0)
    if len(effective) > 1:  # sums of whole units jump: half of the largest jump, as for a binomial law
        steps = [np.abs(weight) * spread.unit for spread, weight in noises if spread.law != "none"]
        distance = distance - np.maximum.reduce(np.broadcast_arrays(*steps)) / 2
    if all(law == "gaussian" for law, _ in effective):
        deviation = np.sqrt(sum((scale**2 for _, scale in effective), np.zeros_like(distance)))
        return np.asarray(distance <= _normal(miss) * deviation)
    as_laplace = _normal(miss) / math.log(1 / miss)  # the same half-width, and a heavier tail beyond it
    return np.asarray(tail(distance, [scale if law == "laplace" else scale * as_laplace for law, scale in effective]) >= miss)


def reach(noises: Sequence[tuple[Spread, float]], miss: float) -> float:
    """The half-width that a weighted sum of noises stays within, but for ``miss``."""
    return _reach(tuple((spread, weight) for spread, weight in noises if weight and spread.law != "none"), miss)


@lru_cache(maxsize=1024)
def _reach(some: tuple[tuple[Spread, float], ...], miss: float) -> float:
    if len(some) == 1:
        return abs(some[0][1]) * some[0][0].half(1 - miss)
    weighted = [(spread, np.full(1, weight)) for spread, weight in some]
    low, high = 0.0, 2 * sum(abs(weight) * (spread.half(1 - miss) + 3 * spread.scale) for spread, weight in some)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if explains(np.full(1, middle), weighted, miss)[0] else (low, middle)
    return high


@lru_cache(maxsize=1024)
def scale_of(spread: Spread, miss: float) -> float:
    """The scale (Laplace) or standard deviation (Gaussian) of real-valued noise that is not less far from 0 at ``miss``."""
    quantile = math.log(1 / miss) if spread.law == "laplace" else _normal(miss)
    return max(spread.scale, spread.half(1 - miss) / quantile)


def _normal(miss: float) -> float:
    return NormalDist().inv_cdf(1 - miss / 2)
