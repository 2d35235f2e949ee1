"""Goodness of fit, with a false-alarm rate low enough that a failing test means a wrong sampler.

A p-value below ``ALARM`` = 1e-9 is a failure. Cells are pooled until every expectation is at least 50; the chi-square
approximation is then too small by a factor below 100 this far out (the exact Poisson tail of a lone cell of 50 is 40 times
the normal one), so **each comparison raises a false alarm with probability below 1e-7**.
Power: with n draws in up to ten cells, one whose chance p is off by 10 sqrt(p / n) fails the test 99 times in 100, and in up to
sixty cells by 14 sqrt(p / n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import chi2

ALARM = 1e-9
_LEAST = 50.0


def chi_square(observed: Sequence[float] | np.ndarray, expected: Sequence[float] | np.ndarray) -> float:
    """The p-value of counts against their expectations, which must add up to the same total."""
    seen, hoped = _pool(np.asarray(observed, dtype=float), np.asarray(expected, dtype=float))
    assert abs(seen.sum() - hoped.sum()) < 1e-6 * hoped.sum() + 1e-3
    assert seen.size > 1, "everything was pooled into one cell: draw more"
    return float(chi2.sf(((seen - hoped) ** 2 / hoped).sum(), seen.size - 1))


def _pool(seen: np.ndarray, hoped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge runs of neighbouring cells until each expects enough; what is left at the end joins the last cell."""
    ends, total = [], 0.0
    for i, cell in enumerate(hoped):
        total += cell
        if total >= _LEAST:
            ends.append(i + 1)
            total = 0.0
    ends[-1] = hoped.size
    starts = [0, *ends[:-1]]
    return np.add.reduceat(seen, starts), np.add.reduceat(hoped, starts)


def fit(draws: np.ndarray, law: Callable[[int], object], low: int, high: int) -> float:
    """The p-value of integer draws against a mass function; everything outside low .. high is one cell."""
    masses = np.array([float(law(x)) for x in range(low, high + 1)])  # type: ignore[arg-type]
    inside = (draws >= low) & (draws <= high)
    counts = np.bincount(draws[inside] - low, minlength=high - low + 1)
    outside = max(0.0, 1.0 - masses.sum())
    return chi_square([*counts, np.count_nonzero(~inside)], [*(masses * draws.size), outside * draws.size])


def fit_bins(draws: np.ndarray, cdf: Callable[[int], object], edges: Sequence[int]) -> float:
    """The p-value of draws counted in the bins (-inf, e0], (e0, e1], ..., (en, inf)."""
    counts = np.bincount(np.searchsorted(np.asarray(edges), draws, side="left"), minlength=len(edges) + 1)
    steps = np.diff([0.0, *(float(cdf(edge)) for edge in edges), 1.0])  # type: ignore[arg-type]
    return chi_square(counts, steps * draws.size)


def two_samples(left: np.ndarray, right: np.ndarray) -> float:
    """The p-value that two samples of integers have one law, whatever it is."""
    low, high = int(min(left.min(), right.min())), int(max(left.max(), right.max()))
    a, b = (np.bincount(sample - low, minlength=high - low + 1).astype(float) for sample in (left, right))
    share = left.size / (left.size + right.size)
    smaller = min(share, 1 - share)
    pooled_a, total = _pool(a, (a + b) * smaller)
    total /= smaller
    expected = total * share
    statistic = ((pooled_a - expected) ** 2 / (total * share * (1 - share))).sum()
    return float(chi2.sf(statistic, total.size - 1))
