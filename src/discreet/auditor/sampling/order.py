"""Does the order of draws tell anything? If runs are independent it does not: every order is equally likely.

Each draw is a fair coin and a fresh run, so pairs (side, output) are independent with one law, and so are the outputs of one
side. Given all draws as a set, every order of them is then equally likely. All tests here look at a column whose entries are
functions of one draw each (and of the set of all draws, as a median is), so under that null their tails are theorems:

**Trend.** Sort the entries into ordered classes. S sums, over the classes, Mann and Whitney's U of each against all lower ones,
in time (Jonckheere and Terpstra's statistic). These U are independent, and the law of U for k among n has the generating function
of the Gaussian binomial coefficient: centred, E exp(x U) = prod_{i<=k} g((n-k+i) x / 2) / g(i x / 2) with g(y) = sinh(y) / y. Now
y^2 / 6 - log g(y) grows with y > 0, because its slope y/3 - coth y + 1/y is positive; so log E exp(x U) is at most
x^2/24 sum_i ((n-k+i)^2 - i^2) = x^2/2 Var U. Hence P(S >= z sd) <= exp(-z^2 / 2), for every z: no approximation.

**Echo.** Bend a row of n zeros and ones, k of them ones, into a ring by steps of length ``lag`` (which divides n - 1, so that one
ring has all of them). In a random order the number of runs of ones is r with probability C(k, r) C(n-k-1, r-1) / C(n-1, k-1). It
is log-concave in r, so its tails are below geometric series.

**Change.** All k draws that are not of the commonest kind are among the first m of n with probability C(m, k) / C(n, k).

Which columns are looked at may depend on the draws: the error is divided by the number of all there could have been.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["change", "classes", "echo", "trend"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_CLASSES = 8


def classes(column: Floats) -> Ints:
    """The entries in up to eight ordered classes of about equal size; NaN is the lowest, a class of its own."""
    present = ~np.isnan(column)
    edges = np.unique(np.quantile(column[present], np.arange(1, _CLASSES) / _CLASSES)) if present.any() else np.zeros(0)
    return np.where(present, np.searchsorted(edges, column, side="left") + 1, 0)


def trend(ordered: Ints) -> float:
    """The logarithm of a bound on the chance of a trend in time as strong as this one, up or down.

    >>> trend(np.zeros(8, dtype=np.int64)), round(trend(np.arange(8)), 2)
    (0.0, -5.31)
    """
    total, variance, below = 0.0, 0.0, np.zeros(ordered.size, dtype=bool)
    for kind in np.unique(ordered):
        here = ordered == kind
        k, rest = int(here.sum()), int(below.sum())
        total += float(np.cumsum(below)[here].sum()) - k * rest / 2
        variance += k * rest * (k + rest + 1) / 12
        below |= here
    return min(0.0, math.log(2) - total**2 / variance / 2) if variance else 0.0


def echo(ones: NDArray[np.bool_], lag: int) -> float:
    """The logarithm of a bound on the chance that draws so far apart are so often alike, or so seldom."""
    n = ones.size - (ones.size - 1) % lag  # lag divides n - 1
    row = ones[:n]
    k = int(row.sum())
    if not 0 < k < n:
        return 0.0
    runs = int((row & ~np.roll(row, lag)).sum())
    return min(0.0, math.log(2) + min(_tail(n, k, runs, -1), _tail(n, k, runs, 1)))


def _tail(n: int, k: int, runs: int, step: int) -> float:
    """The logarithm of a bound on the chance of at most (step -1), or at least (step 1), so many runs of ones."""
    here, further = _runs(n, k, runs), _runs(n, k, runs + step)
    if further >= here:
        return 0.0
    return min(0.0, here - math.log1p(-math.exp(further - here)))


def _runs(n: int, k: int, runs: int) -> float:
    return _choices(k, runs) + _choices(n - k - 1, runs - 1) - _choices(n - 1, k - 1)


def change(tokens: Ints) -> float:
    """The logarithm of the chance that all outputs but those of the commonest kind come so early, or so late."""
    values, counts = np.unique(tokens, return_counts=True)
    others = np.flatnonzero(tokens != values[counts.argmax()]) if values.size else np.zeros(0)
    if not 0 < others.size < tokens.size:
        return 0.0
    span, kinds = int(min(others[-1] + 1, tokens.size - others[0])), int((counts == counts.max()).sum())
    return min(0.0, math.log(2 * kinds) + _choices(span, others.size) - _choices(tokens.size, others.size))


def _choices(n: int, k: int) -> float:
    """The logarithm of a binomial coefficient."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if 0 <= k <= n else -math.inf
