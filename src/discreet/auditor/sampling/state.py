"""The test of whether runs are independent. A function that keeps state gives no independent draws, and nothing can be concluded.

What Python shows of its memory is looked at exactly (``memory``). What it does not show can only be seen in the outputs: runs on
one input must look the same early and late, and each the same whatever came before. The tests are exact and share an error of
1e-7 among all columns there are, all lags, and all ends that an audit may come to (it stops after a batch, whichever refutes the
claim): a function without state, whatever its outputs look like and however rare some of them are, is called one that keeps state
with probability at most 1e-7.

Each draw is a fair coin and a fresh run, so pairs (side, output) are independent with one law, and so are the outputs of one
side. Given all draws as a set, every order of them is then equally likely. All tests here look at a column whose entries are
functions of one draw each (and of the set of all draws, as a median is), so under that null their tails are theorems:

**Trend.** Sort the entries into ordered classes. S sums, over the classes, Mann and Whitney's U of each against all lower ones,
in time (Jonckheere and Terpstra's statistic). These U are independent, and the law of U for k among n has the generating function
of the Gaussian binomial coefficient: centred, E exp(x U) = prod_{i<=k} g((n-k+i) x / 2) / g(i x / 2) with g(y) = sinh(y) / y. Now
y^2 / 6 - log g(y) grows with y > 0, because its slope y/3 - coth y + 1/y is positive; so log E exp(x U) is at most
x^2/24 sum_i ((n-k+i)^2 - i^2) = x^2/2 Var U. Hence P(S >= z sd) <= exp(-z^2 / 2), for every z: no approximation.

**Autocorrelation.** Bend a row of n zeros and ones, k of them ones, into a ring by steps of length ``lag`` (which divides n - 1,
so that one ring has all of them). In a random order the number of runs of ones is r with probability
C(k, r) C(n-k-1, r-1) / C(n-1, k-1). It is log-concave in r, so its tails are below geometric series.

**Change point.** All k draws that are not of the commonest kind are among the first m of n with probability C(m, k) / C(n, k).

Which columns are looked at may depend on the draws: the error is divided by the number of all there could have been.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.auditor.sampling.containers import UNREAD
from discreet.auditor.sampling.features import Sample, is_lowest_bit
from discreet.auditor.sampling.memory import Memory, find_stored_randomness
from discreet.auditor.sampling.outputs import is_stored_answer
from discreet.auditor.sampling.runs import Sampler
from discreet.display import clean

_ERROR = 1e-7
_ENDS = 150  # batches of an audit at most: they grow by 15 %
_FEWEST = 40
_LAGS = range(1, 8)
_COLUMNS = 24  # that are looked at
_TOKENS = 5
_CLASSES = 8
_NOTHING = (("", "None"),)


@dataclass(frozen=True)
class Obstacle:
    """Why a function cannot be audited; ``uninformative``: on this pair, which says nothing about others."""

    text: str
    uninformative: bool = False


def find_obstacle(sample: Sample, sampler: Sampler, memory: Memory, *, refuted: bool) -> Obstacle | None:
    """Why the draws cannot be trusted; None if nothing speaks against them."""
    if sampler.never_returned:
        return Obstacle(f"the function did not return within {sampler.longest:.2g} seconds, on either input")
    if not sample.size:
        stopped = "it was stopped before a single run was through"
        return Obstacle(stopped if sampler.interrupted else "there was no time for a single run", uninformative=True)
    if sampler.repeats:
        return _state("a curator gave stored answers again, which are not draws; open a fresh ledger in every run")
    if not refuted and (nothing := find_silence(sample, sampler)) is not None:
        return nothing
    sides = (sample.tokens[sample.on_a], sample.tokens[~sample.on_a])
    constant = [side.size > 0 and bool((side == side[0]).all()) for side in sides]
    if sample.size >= _FEWEST and all(constant):
        if sides[0][0] == sides[1][0]:
            constantly = "every run gave the same output: the function is constant, or hands out stored answers"
            return Obstacle(constantly, uninformative=True)
        if _answers_from_store(sampler):
            return _state("it gives the same answer to the same input again and again, from a curator's store")
    remembers = memory.changed
    if kept := find_stored_randomness(memory, sampler):
        return _state(kept)
    if remembers and sampler.interrupted:
        return Obstacle("it was stopped by hand before it was known whether runs depend on what the function remembers")
    seen = find_dependence(sample)
    return _state(seen) if seen else None


def _state(how: str) -> Obstacle:
    return Obstacle(f"the function keeps state: {how}")


def find_silence(sample: Sample, sampler: Sampler) -> Obstacle | None:
    """Why outputs say nothing at all; None if some do."""
    if sampler.failures >= sample.size:
        return Obstacle(f"every run raised {sampler.failure}", uninformative=True)
    if all(shape == _NOTHING for shape in sample.known_shapes):
        return Obstacle("the function returned nothing; return the release", uninformative=True)
    unread = [word.removesuffix(f", {UNREAD}") for shape in sample.known_shapes for _, word in shape if word.endswith(UNREAD)]
    if unread:
        return Obstacle(f"the function returned a {clean(unread[0])}, {UNREAD}; return a list", uninformative=True)
    return None


def find_dependence(sample: Sample) -> str:
    """How outputs depend on when they came, in words; empty if that cannot be seen."""
    columns = 2 * sample.width + 2 * _TOKENS
    sides = [np.flatnonzero(sample.on_a == on_a) for on_a in (True, False)]
    unlikely = math.log(_ERROR / _ENDS / (1 + columns * (2 + 3 * len(_LAGS))))
    if bound_change_point(sample.tokens) < unlikely:
        return "its outputs changed for good after the first few runs"
    correlated = "an output depends on the one before it"
    middles = []
    for rows in sides:
        looked_at = {} if rows.size < _FEWEST else dict(_list_columns(sample, rows))
        if any(bound_trend(column) < unlikely for column in looked_at.values()):
            return "late outputs differ from early ones on the same input"
        middles.append({name: column > min(np.median(column), column.max() - 1) for name, column in looked_at.items()})
        if any(bound_autocorrelation(above, lag) < unlikely for above in middles[-1].values() for lag in _LAGS):
            return correlated
    for name in middles[0].keys() & middles[1].keys():
        above = np.zeros(sample.size, dtype=bool)
        for rows, middle in zip(sides, middles, strict=True):
            above[rows] = middle[name]
        if any(bound_autocorrelation(above, lag) < unlikely for lag in _LAGS):
            return correlated
    return ""


def _list_columns(sample: Sample, rows: Integers) -> Iterator[tuple[str, Integers]]:
    """Columns worth comparing over time, as ordered classes: numbers, how far from the middle, frequent tokens, shapes."""
    for name in [name for name in sample.numbers if not is_lowest_bit(name) and name not in sample.incomplete][:_COLUMNS]:
        column = sample.numbers[name][rows]
        if not np.isnan(column).all():
            yield name, _sort_into_classes(column)
            yield f"how far from the middle {name} is", _sort_into_classes(np.abs(column - np.nanmedian(column)))
    for kind, tokens in (("shape", sample.shapes[rows]), ("token", sample.tokens[rows])):
        values, counts = np.unique(tokens, return_counts=True)
        rank = np.sort(counts)[::-1]
        least = int(rank[_TOKENS]) if values.size > _TOKENS else 0  # none of those that only their age would tell apart
        for token in values[counts > least]:
            yield f"{kind} {token}", (tokens == token).astype(np.int64)


def _answers_from_store(sampler: Sampler) -> bool:
    """Whether one run more is answered from a curator's store."""
    found = False

    def watch(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        if event == "call" and frame.f_code.co_name == "__post_init__":
            found = found or is_stored_answer(frame.f_locals.get("self"))

    before = sys.getprofile()
    for on_a in (True, False):
        sys.setprofile(watch)
        try:
            sampler.rerun(on_a)
        finally:
            sys.setprofile(before)
    return found


def _sort_into_classes(column: Reals) -> Integers:
    """The entries in up to eight ordered classes of about equal size; NaN is the lowest, a class of its own."""
    present = ~np.isnan(column)
    edges = np.unique(np.quantile(column[present], np.arange(1, _CLASSES) / _CLASSES)) if present.any() else np.zeros(0)
    return np.where(present, np.searchsorted(edges, column, side="left") + 1, 0)


def bound_trend(ordered: Integers) -> float:
    """The logarithm of a bound on the chance of a trend in time as strong as this one, up or down.

    >>> bound_trend(np.zeros(8, dtype=np.int64)), round(bound_trend(np.arange(8)), 2)
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


def bound_autocorrelation(ones: Booleans, lag: int) -> float:
    """The logarithm of a bound on the chance that draws so far apart are so often alike, or so seldom."""
    n = ones.size - (ones.size - 1) % lag  # lag divides n - 1
    row = ones[:n]
    k = int(row.sum())
    if not 0 < k < n:
        return 0.0
    runs = int((row & ~np.roll(row, lag)).sum())
    return min(0.0, math.log(2) + min(_bound_tail(n, k, runs, -1), _bound_tail(n, k, runs, 1)))


def _bound_tail(n: int, k: int, runs: int, step: int) -> float:
    """The logarithm of a bound on the chance of at most (step -1), or at least (step 1), so many runs of ones."""
    here, further = _log_runs(n, k, runs), _log_runs(n, k, runs + step)
    if further >= here:
        return 0.0
    return min(0.0, here - math.log1p(-math.exp(further - here)))


def _log_runs(n: int, k: int, runs: int) -> float:
    return _log_choices(k, runs) + _log_choices(n - k - 1, runs - 1) - _log_choices(n - 1, k - 1)


def bound_change_point(tokens: Integers) -> float:
    """The logarithm of the chance that all outputs but those of the commonest kind come so early, or so late."""
    values, counts = np.unique(tokens, return_counts=True)
    others = np.flatnonzero(tokens != values[counts.argmax()]) if values.size else np.zeros(0)
    if not 0 < others.size < tokens.size:
        return 0.0
    span, kinds = int(min(others[-1] + 1, tokens.size - others[0])), int((counts == counts.max()).sum())
    return min(0.0, math.log(2 * kinds) + _log_choices(span, others.size) - _log_choices(tokens.size, others.size))


def _log_choices(n: int, k: int) -> float:
    """The logarithm of a binomial coefficient."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) if 0 <= k <= n else -math.inf
