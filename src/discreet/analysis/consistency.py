"""Consistency: estimates made into counts that could be real, none below zero, whole where wanted, and adding up.

All of it is post-processing of noisy numbers, and free. It is not without bias: cut off at zero, a cell whose estimate is x plus
noise Z rises by E[max(0, Z - x)] on average, half of the mean size of the noise where the cell is empty. A thousand empty cells
add up to hundreds of people who do not exist. So ``project`` keeps the total that was measured, and takes away elsewhere what is
added here: the total stays as unbiased as it was, but for cutting it off at zero itself and rounding it, while small cells are
still raised and large ones lowered.

Where questions overlap, cells are no more than means to answer them: many are measured badly of which sums are measured well, and
the nearest cells may have sums that are far off. ``nearest_counts`` looks for cells whose answers are near instead.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from discreet.arrays import Integers, Reals
from discreet.errors import ParameterError

_LARGEST = 2.0**50  # of a count: sums of some are whole doubles
_ROUNDS = 200  # over all cells
_NEAR = 1e-3  # of one unit, in answers


def clamping_bias(count: float, deviation: float, law: Literal["laplace", "gaussian"]) -> float:
    """By how much a count rises on average when noise of this standard deviation is added and the sum is cut off at zero.

    >>> round(clamping_bias(0, 10, "gaussian"), 2), round(clamping_bias(30, 10, "gaussian"), 4)
    (3.99, 0.0038)
    """
    if not (0 <= count < math.inf and 0 < deviation < math.inf) or law not in ("laplace", "gaussian"):
        raise ParameterError('A bias is that of a count of at least 0 with a deviation above 0 and law "laplace" or "gaussian".')
    if law == "laplace":
        scale = deviation / math.sqrt(2)
        return scale / 2 * math.exp(-count / scale)
    z = count / deviation
    return deviation * math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) - count * math.erfc(z / math.sqrt(2)) / 2


def project(estimates: Reals, total: float, variances: Reals | None = None) -> Reals:
    """The nearest numbers that are nowhere negative and have this total (0, if it is below): least squares, by variance if given.

    >>> project(np.array([5.0, -1.0, 3.0]), 7.0).tolist()
    [4.5, 0.0, 2.5]
    """
    flat = np.asarray(estimates, dtype=np.float64).ravel()
    spread = np.ones_like(flat) if variances is None else np.asarray(variances, dtype=np.float64).ravel()
    if spread.shape != flat.shape or not flat.size or not (np.isfinite(flat).all() and np.isfinite(total) and (spread > 0).all()):
        raise ParameterError("Finite estimates are projected, at least one, with a variance above 0 each.")
    if total <= 0:
        return np.zeros(np.shape(estimates))
    # The solution is max(0, e - h v), falling in h: those stay positive for which e / v > h.
    order = np.argsort(-flat / spread, kind="stable")
    heights = (np.cumsum(flat[order]) - total) / np.cumsum(spread[order])
    last = np.flatnonzero(flat[order] / spread[order] > heights)[-1]
    found = np.maximum(flat - heights[last] * spread, 0.0)
    scaled: Reals = found * (total / found.sum())
    return scaled.reshape(np.shape(estimates))


def round_to_total(cells: Reals, total: int) -> Integers:
    """Whole numbers near cells that are nowhere negative, with this total: those with the largest remainders are rounded up.

    >>> round_to_total(np.array([1.4, 2.4, 3.2]), 7).tolist()
    [2, 2, 3]
    """
    flat = np.asarray(cells, dtype=np.float64).ravel()
    if not flat.size or not ((flat >= 0) & (flat < 2**52)).all() or not abs(flat.sum() - total) <= 0.5 + 1e-9 * total:
        raise ParameterError("Cells of at least 0 are rounded to their own total, which is a whole number.")
    whole = np.floor(flat).astype(np.int64)
    extra = int(total) - int(whole.sum())
    up = min(max(extra, 0), flat.size)
    whole[np.argsort(whole - flat, kind="stable")[:up]] += 1
    whole[np.argmax(whole)] += extra - up  # 0, but for what sums of very large doubles are off by
    return whole.reshape(np.shape(cells))


def whole_counts(estimates: Reals, total: float, variances: Reals | None = None) -> Integers:
    """Whole numbers nowhere negative near these estimates, whose total is the one given, rounded; margins add them up.

    Where noise is so large that doubles do not hold all whole numbers, estimates are cut off.

    >>> whole_counts(np.array([[5.2, -1.0], [3.1, 0.4]]), 8.3).sum()
    np.int64(8)
    """
    wanted = max(0, round(min(total, _LARGEST)))
    estimates = np.clip(estimates, -_LARGEST, _LARGEST)
    return round_to_total(project(estimates, wanted, variances), wanted)


def nearest_counts(estimates: Reals, gram: Reals) -> Integers:
    """Whole numbers x nowhere negative for which (x - e)^T G (x - e) is small, e the estimates of cells: with G = W^T W, whose
    answers to the questions W are near those of the estimates, whatever becomes of cells.

    Least squares among numbers that are not negative, cell by cell and in a bounded number of rounds; then rounded, and moved by
    1 where that brings answers nearer.

    >>> nearest_counts(np.array([5.2, -3.1, 4.0]), np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])).tolist()
    [2, 0, 4]
    """
    sizes = gram.diagonal()
    some = np.flatnonzero(sizes > 0)
    found = np.maximum(estimates, 0.0)
    slope = gram @ (found - estimates)
    for _ in range(_ROUNDS):
        farthest = 0.0
        for i in some:
            step = max(-found[i], -slope[i] / sizes[i])
            if step:
                found[i] += step
                slope += step * gram[i]
                farthest = max(farthest, abs(step) * math.sqrt(sizes[i]))
        if farthest < _NEAR:
            break
    counts = np.rint(found)
    slope = gram @ (counts - estimates)
    for _ in range(_ROUNDS * len(counts)):
        up, down = sizes + 2 * slope, np.where(counts > 0, sizes - 2 * slope, 0.0)  # what the square would gain
        cell, sign = (int(up.argmin()), 1) if up.min() < down.min() else (int(down.argmin()), -1)
        if min(up[cell], down[cell]) >= -_NEAR:
            break
        counts[cell] += sign
        slope += sign * gram[cell]
    return counts.astype(np.int64)
