"""Discrete Gaussian noise, P(x) proportional to exp(-x^2 / 2 sigma^2) on the integers.

Rejection from discrete Laplace noise (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy", 2020):
draw y at scale t = floor(sigma) + 1 and keep it with probability exp(-(|y| - sigma^2/t)^2 / 2 sigma^2). Three in four are kept;
how many rounds that takes depends on coins alone, never on data.

**Bound** for ``coins.accept``: z = |y| - sigma^2/t errs by 2^-52 (|y| + sigma^2/t), so the exponent g = (z / sigma)^2 / 2 errs by
at most 2^-49 (g + sqrt(g) + 1) and e^-g by less than 2^-48.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.arrays import Integers
from discreet.errors import EntropyError, ParameterError
from discreet.exact import root
from discreet.noise import laplace
from discreet.noise.bits import CHUNK
from discreet.noise.coins import accept

__all__ = ["LARGEST_SCALE", "discrete"]

LARGEST_SCALE = 2**51


def discrete(variance: Fraction, size: int) -> Integers:
    """``size`` draws with P(x) proportional to exp(-x^2 / (2 variance)).

    >>> discrete(Fraction(4), 3).shape
    (3,)
    """
    if not 0 < variance <= LARGEST_SCALE**2:
        raise ParameterError("The noise scale must be above 0 and at most 2^51; use the rounded Gaussian on a coarser grid.")
    scale = math.isqrt(math.floor(variance)) + 1
    centre = variance / scale
    kept: list[Integers] = []
    missing, idle = size, 0
    # Below 1e-300 a sigma means: 0, but for a chance that no float and no patience can tell from none.
    sigma = max(float(root(variance)), 1e-300)
    while missing > 0:
        drawn = laplace.discrete(Fraction(scale), min(missing + missing // 2 + 8, CHUNK))
        distance = np.abs(drawn)
        gap = distance - float(centre)

        def exponent(i: int, distance: Integers = distance) -> Fraction:
            return (int(distance[i]) - centre) ** 2 / (2 * variance)

        with np.errstate(over="ignore"):
            steps = gap / sigma
            exponents = steps * steps / 2
        drawn = drawn[accept(exponents, exponent)][:missing]
        kept.append(drawn)
        missing -= drawn.size
        idle = 0 if drawn.size else idle + 1
        if idle > 200:
            raise EntropyError("Two hundred rounds kept no draw; the system's generator cannot be working.")
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)
