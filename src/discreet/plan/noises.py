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
_FINE = 50  # cells a scale: noises of fewer units are looked at unit by unit
_FARTHEST = {"laplace": 40.0, "gaussian": 9.0}  # scales beyond which noise is not looked for
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


def above(distance: float, noises: Sequence[tuple[Spread, float]]) -> float:
    """P(X > distance) for a weighted sum X of one noise or two, rounded up: exact while the coarser one has a scale of less than
    100 units; of a wider one a few units at a time count as the largest of them."""
    some = [(spread, abs(weight)) for spread, weight in noises if weight * spread.scale]
    some.sort(key=lambda one: (one[0].scale / one[0].unit, one[0].scale * one[1]))
    if not some:
        return float(distance < 0)
    fine, weight = some[-1]
    if len(some) == 1:
        return float(_at_least(fine, np.array([np.floor(distance / (weight * fine.unit)) + 1]))[0])
    (coarse, other), _ = some
    units = coarse.scale / coarse.unit
    width = max(1, math.floor(units / _FINE))
    far = math.ceil(_FARTHEST[coarse.law] * units / width)
    cells = width * np.arange(-far, far + 1.0)
    reached = _at_least(coarse, cells)
    with np.errstate(all="ignore"):  # beyond all doubles nothing is known, and what is no number fits nowhere
        rest = distance - other * coarse.unit * (cells + width - 1)
        inside = (reached - np.append(reached[1:], 0.0)) @ _at_least(fine, np.floor(rest / (weight * fine.unit)) + 1)
    return min(1.0, float(inside + 1 - reached[0]))


def _at_least(spread: Spread, units: Reals) -> Reals:
    """P(X >= k) in whole units: q^k / (1 + q) for discrete Laplace noise, k > 0; P(Z >= k - 1/2) for rounded Gaussian noise."""
    rate = spread.unit / spread.scale
    if spread.law == "gaussian":
        return np.array([math.erfc(x) / 2 for x in (rate / math.sqrt(2) * (units - 0.5)).tolist()])
    tails: Reals = np.exp(-rate * np.where(units > 0, units, 1 - units)) / (1 + math.exp(-rate))
    return np.where(units > 0, tails, 1 - tails)


@lru_cache(maxsize=1024)
def scale_of(spread: Spread, miss: float) -> float:
    """The scale (Laplace) or standard deviation (Gaussian) of real-valued noise that is not less far from 0 at ``miss``."""
    quantile = math.log(1 / miss) if spread.law == "laplace" else _normal(miss)
    return max(spread.scale, spread.half(1 - miss) / quantile)


def _normal(miss: float) -> float:
    return NormalDist().inv_cdf(1 - miss / 2)
