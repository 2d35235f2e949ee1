"""The law of a sum of several kinds of noise of whole units, by its characteristic function, which is the product of theirs.

For discrete Laplace noise that is (1 - q)^2 / (1 - 2 q cos t + q^2), for rounded Gaussian noise the sum of exp(-s^2 u^2 / 2)
sin(u/2) / (u/2) over u = t + 2 pi j. One Fourier transform gives the distribution on 4,096 points, 14 standard deviations to
either side; masses are spread there over a hundredth of a standard deviation, which three hundredths are added for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from discreet.arrays import Reals
from discreet.plan.release import Spread

_POINTS, _WIDE = 2**12, 14.0  # of a distribution: how many, and deviations to either side
_SMEARED = 1.5  # points over which a mass is spread
_TRANSFORMED = 2**6  # groups at a time


def reach_of_several(spreads: Sequence[Spread], weights: Sequence[Reals], many: Sequence[Reals], miss: float) -> Reals:
    """The half-width that a sum of several kinds of noise stays within, but for ``miss``, in every group. Of each kind: its
    spread, its weight, which is nowhere negative, and how many such noises there are."""
    groups = weights[0].size
    if groups > _TRANSFORMED:
        parts = [slice(start, start + _TRANSFORMED) for start in range(0, groups, _TRANSFORMED)]
        return np.concatenate(
            [reach_of_several(spreads, [one[at] for one in weights], [one[at] for one in many], miss) for at in parts]
        )
    each = list(zip(spreads, weights, many, strict=True))
    total = np.sqrt(sum((count * (weight * one.deviation) ** 2 for one, weight, count in each), np.zeros(groups)))
    jump = np.maximum.reduce([weight * one.unit for one, weight, _ in each])
    step = 2 * np.maximum(np.maximum(_WIDE * total, 1.5 * jump), 1e-300) / _POINTS
    at = 2 * np.pi * np.arange(_POINTS // 2 + 1) / _POINTS  # frequencies, by the points
    found = np.broadcast_to(np.exp(-((_SMEARED * at) ** 2) / 2), (groups, len(at))).copy()
    for one, weight, count in each:
        found *= _characteristic(one, (weight / step)[:, None] * at) ** count[:, None]
    masses = np.maximum(np.fft.irfft(found, _POINTS, axis=1)[:, : _POINTS // 2], 0.0)  # around 0, and upwards
    masses[:, 0] /= 2
    above = 1 - 2 * np.cumsum(masses, axis=1)  # P(|X| > point + 1/2)
    place = np.argmax(above < miss, axis=1)
    return np.where(place > 4 * _SMEARED, (place + 0.5 + 3 * _SMEARED) * step, 0.0)  # nearer than that all is 0


def _characteristic(spread: Spread, at: Reals) -> Reals:
    """The characteristic function of one noise, at frequencies of its real units; of small units it is looked up."""
    if spread.mechanism is None:
        square = (spread.scale * at) ** 2
        return np.asarray(1 / (1 + square) if spread.law == "laplace" else np.exp(-square / 2))
    turns = np.abs(np.remainder(spread.unit * at + np.pi, 2 * np.pi) - np.pi)
    places, values = _looked_up(spread)
    return np.interp(turns, places, values)


@lru_cache(maxsize=256)
def _looked_up(spread: Spread) -> tuple[Reals, Reals]:
    """The same between 0 and pi, in units, denser near 0, where it bends; at a scale of 0.05 noise is never anything but 0."""
    scale, u = max(spread.scale / spread.unit, 0.05), np.pi * np.linspace(0, 1, _POINTS) ** 2
    if spread.law == "laplace":
        q = math.exp(-1 / scale)
        return u, (1 - q) ** 2 / ((1 - q) ** 2 + 4 * q * np.sin(u / 2) ** 2)
    far = math.ceil(0.5 + 1 / scale)  # beyond it less than exp(-19)
    turned = np.add.outer(2 * np.pi * np.arange(-far, far + 1.0), u)
    return u, (np.exp(-((scale * turned) ** 2) / 2) * np.sinc(turned / (2 * np.pi))).sum(axis=0)
