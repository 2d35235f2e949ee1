"""Tail bounds of sums of independent numbers, each drawn evenly from a row of its own."""

from __future__ import annotations

import math

import numpy as np

from discreet.arrays import Reals

_STEPS, _CLOSE = 40, 0.05  # towards a threshold, and how near the logarithm of its chance comes
_UNEVEN = 2.0**-31  # rows may be drawn from as buckets are, evenly to within 2^-32; as much again for rounding


def bound_sums(rows: Reals, miss: float) -> float:
    """A number that the sum of one entry of each row, drawn evenly, exceeds with a chance of at most ``miss``; or infinity.

    **Theorem.** Rows have mean 0; X is the sum, K(l) = log E e^(l X), and Y is X under the law tilted by e^(l X), with mean
    c = K'(l), variance s^2, and third absolute moments of its terms which add up to r. Then P(X >= c) is e^(K(l) - l c) times
    E[e^(-l (Y - c)); Y >= c], the integral of l e^(-l u) P(c <= Y <= c + u): at most 1, and by the theorem of Berry and Esseen
    (Shevtsova 2010: 0.56 r / s^3 at either end) at most 1 / (l s sqrt(2 pi)) + 1.12 r / s^3. So every l > 0 has a number c and a
    bound on its chance; the least c that is seldom enough is looked for, and any that is found is right.

    >>> bound_sums(np.array([[-1.0, 1.0]] * 30), 1e-6) <= 30
    True
    """
    spread = math.sqrt(float((rows**2).mean(axis=1).sum()))
    if spread == 0.0:
        return 0.0
    allowed, low, high, found, power = math.log(miss), 0.0, math.inf, math.inf, 2.0  # of a normal law, chances are e^(-c l^2)
    tilt, before = math.sqrt(-2 * allowed) / spread, (1.0, -1.0)
    for step in range(_STEPS):
        mean, log_chance = _bound_tail(rows, tilt)
        if log_chance <= allowed:
            high, found = tilt, mean
            if allowed < log_chance + _CLOSE:
                break
        else:
            low = tilt
        here = tilt, min(log_chance, allowed / 100)
        if step:
            power = math.log(here[1] / before[1]) / math.log(here[0] / before[0])
        before, tilt = here, tilt * ((allowed - _CLOSE / 2) / here[1]) ** (1 / max(power, 0.5))
        if high == math.inf:
            tilt = max(tilt, 1.25 * low)
        elif not low < tilt < high:
            tilt = (low + high) / 2
    return found


def _bound_tail(rows: Reals, tilt: float) -> tuple[float, float]:
    """The mean c of the tilted sum, and a bound on the logarithm of the chance that the sum reaches it."""
    top = rows.max(axis=1, keepdims=True)
    weights = np.exp(tilt * (rows - top))
    totals = weights.sum(axis=1, keepdims=True)
    weights /= totals
    means = (weights * rows).sum(axis=1, keepdims=True)
    apart = np.abs(rows - means)
    squares = weights * apart * apart
    variance, third = float(squares.sum()), float((squares * apart).sum())
    mean = float(means.sum())
    cumulant = float((tilt * top + np.log(totals / rows.shape[1])).sum())
    beyond = min(1.0, 1 / (tilt * math.sqrt(2 * math.pi * variance)) + 1.12 * third / variance**1.5) if variance > 1e-200 else 1.0
    return mean, cumulant - tilt * mean + math.log(beyond) + rows.size * _UNEVEN
