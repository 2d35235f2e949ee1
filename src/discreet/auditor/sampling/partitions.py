"""A partition of the outputs into cells, with an estimate for each of the chance that its outputs come from a.

Tokens have a cell each, what was never seen has one too. Numbers are cut at their quantiles and at the extreme order statistics
(a leak may be rare), or between their values when these are few; neighbouring cells lend each other what they learned, as far as
past draws cannot tell them apart, so that the chance of a tail is learned from all of its draws.

Estimates are made for several samples at once: in ``counts`` (samples x 2 sides x cells) and in what is made of it, the first
axis is the sample and the last one the cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from discreet.arrays import Booleans, Integers, Reals

_TOKENS = 500
_FEW = 64
_PARTS = 32
_EXTREMES = (3, 6, 12, 24, 48, 96, 144)
_CURVE = 8  # cells at least
_RIDGE = 1.0
_STEPS = 8
_PLACES = np.array([0.1, 0.5, 0.9])


@dataclass(frozen=True)
class Partition:
    """``edges`` for numbers (cell 0 has NaN), or ``cell_of`` for tokens; ``middles`` are typical numbers of cells.

    ``halves`` are past draws (2 halves x 2 sides x cells): every second one, so that what was learned from one half can be tried
    on the other.
    """

    halves: Reals
    edges: Reals | None = None
    cell_of: Integers | None = None
    middles: Reals | None = None

    @property
    def counts(self) -> Reals:
        """Past draws (2 sides x cells)."""
        return np.asarray(self.halves.sum(axis=0))

    def place(self, column: Reals | Integers) -> Integers:
        """The cell of every output."""
        if self.edges is not None:
            return np.where(np.isnan(column), 0, np.searchsorted(self.edges, column, side="left") + 1)
        assert self.cell_of is not None
        known = np.minimum(column.astype(np.int64) + 1, self.cell_of.size - 1)
        return np.asarray(self.cell_of[known])

    def tally(self, column: Reals | Integers, on_a: Booleans) -> Reals:
        """How many outputs fall into each cell, on a and on b."""
        return _tally(self.place(column), on_a, self.halves.shape[2])

    def estimate(self, counts: Reals) -> dict[str, Reals]:
        """The chance of a in every cell, given draws: the ``mean`` of what is likely; ``shrunk``, half a standard deviation
        closer to one half; and for numbers ``smooth``, a curve."""
        if self.edges is None:
            mean, spread = _estimate_apart(counts)
        else:
            parts = _estimate_apart(counts[:, :, :1]), _estimate_together(counts[:, :, 1:])
            mean, spread = (np.concatenate(pair, axis=1) for pair in zip(*parts, strict=True))
        shrunk = 0.5 + np.sign(mean - 0.5) * np.maximum(0.0, np.abs(mean - 0.5) - spread / 2)
        found = {"mean": mean, "shrunk": shrunk}
        if self.middles is not None and self.middles.size >= _CURVE:
            curves = [_fit_curve(self.middles, sample[:, 1:]) for sample in counts]
            found["smooth"] = np.concatenate([mean[:, :1], curves], axis=1)
        return found


def _tally(cells: Integers, on_a: Booleans, size: int) -> Reals:
    return np.array([np.bincount(cells[on_a], minlength=size), np.bincount(cells[~on_a], minlength=size)], dtype=np.float64)


def _halves(cells: Integers, on_a: Booleans, size: int) -> Reals:
    return np.array([_tally(cells[half::2], on_a[half::2], size) for half in (0, 1)])


def partition_tokens(tokens: Integers, on_a: Booleans) -> Partition:
    """A cell for each of the frequent tokens; one for the rare, and one for those never seen (as singletons once were).

    Tokens are numbered from 0 in the order of their first appearance, -1 is one of its own.
    """
    shifted = tokens + 1
    size = int(shifted.max(initial=0)) + 1
    often = np.bincount(shifted, minlength=size)
    frequent = np.argsort(-often, kind="stable")[:_TOKENS]
    frequent = frequent[often[frequent] >= 2]
    cell_of = np.ones(size + 1, dtype=np.int64)  # 0: never seen, 1: rare
    cell_of[frequent] = np.arange(2, frequent.size + 2)
    cell_of[-1] = 0
    halves = _halves(cell_of[shifted], on_a, frequent.size + 2)
    halves[:, :, 0] = _halves((often == 1)[shifted].astype(np.int64), on_a, 2)[:, :, 1]
    return Partition(halves, cell_of=cell_of)


def partition_numbers(column: Reals, on_a: Booleans) -> Partition:
    """Cells between edges; edges that separate nothing are dropped."""
    present = ~np.isnan(column)
    values = np.sort(column[present])
    distinct = values[np.flatnonzero(np.diff(values, prepend=np.nan) != 0)]
    if distinct.size <= _FEW:
        edges, middles = distinct[:-1] + np.diff(distinct) / 2, distinct
    else:
        places = [values.size * part // _PARTS for part in range(1, _PARTS)]
        places += [place for k in _EXTREMES for place in (k - 1, values.size - k - 1) if 2 * k < values.size]
        edges = np.unique(values[np.array(places)])
        ends = np.concatenate([[0], np.searchsorted(values, edges, side="right"), [values.size]])
        middles = values[np.minimum((ends[:-1] + ends[1:]) // 2, values.size - 1)]
    cells = Partition(np.zeros((2, 2, edges.size + 2)), edges=edges, middles=middles)
    return replace(cells, halves=_halves(cells.place(column), on_a, edges.size + 2))


def _estimate_apart(counts: Reals) -> tuple[Reals, Reals]:
    """The mean and the standard deviation of the chance of a in every cell by itself, given its past draws."""
    a, b = counts[:, 0], counts[:, 1]
    mean = (a + 0.5) / (a + b + 1)
    return mean, np.sqrt(mean * (1 - mean) / (a + b + 2))


def _estimate_together(counts: Reals) -> tuple[Reals, Reals]:
    """The same when neighbouring cells may have one chance: averaged over all ways to halve the row of cells, halve the halves,
    and stop anywhere, each weighted by how well it explains past draws (context-tree weighting, Willems et al. 1995)."""
    cells = counts.shape[2]
    levels = [np.pad(counts, ((0, 0), (0, 0), (0, (1 << max(0, (cells - 1).bit_length())) - cells)))]
    while levels[-1].shape[2] > 1:
        levels.append(levels[-1][:, :, ::2] + levels[-1][:, :, 1::2])
    explained = _log_evidence(levels[0])
    stops = [np.ones_like(explained)]
    for level in levels[1:]:  # from single cells up: is the whole better explained by one chance, or by those of its halves?
        whole, apart = _log_evidence(level), explained[:, ::2] + explained[:, 1::2]
        both = np.logaddexp(whole, apart)
        stops.append(np.exp(whole - both))
        explained = both - np.log(2)
    mean, square, reach = np.zeros((len(counts), 1)), np.zeros((len(counts), 1)), np.ones((len(counts), 1))
    for level, stop in zip(reversed(levels), reversed(stops), strict=True):  # and down: reach is the weight not yet stopped
        if level.shape[2] > 1:
            mean, square, reach = (np.repeat(column, 2, axis=1) for column in (mean, square, reach))
        here, spread = _estimate_apart(level)
        mean, square = mean + reach * stop * here, square + reach * stop * (here**2 + spread**2)
        reach = reach * (1 - stop)
    return mean[:, :cells], np.sqrt(np.maximum(0.0, square - mean**2))[:, :cells]


def _log_evidence(counts: Reals) -> Reals:
    """The log-probability of the sides in each cell when its chance is drawn from Beta(1/2, 1/2)."""
    a, b = counts[:, 0], counts[:, 1]
    return np.asarray(_log_gamma(a + 0.5) + _log_gamma(b + 0.5) - _log_gamma(a + b + 1) - np.log(np.pi))


def _log_gamma(x: Reals) -> Reals:
    """Stirling's series, after a shift by 8: good to 1e-10."""
    y = x + 8
    inverse = 1 / y
    square = inverse * inverse
    series = (y - 0.5) * np.log(y) - y + 0.5 * np.log(2 * np.pi) + inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    return np.asarray(series - np.log(x * (x + 1) * (x + 2) * (x + 3) * (x + 4) * (x + 5) * (x + 6) * (x + 7)))


def _fit_curve(middles: Reals, counts: Reals) -> Reals:
    """The chance of a as a smooth function of a number: logistic regression on the number and its square, with a ridge."""
    total = counts.sum(axis=0)
    low, centre, high = middles[np.searchsorted(total.cumsum(), total.sum() * _PLACES)]
    x = np.clip((middles - centre) / (high - low or middles[-1] - middles[0]), -3, 3)
    basis = np.stack([np.ones_like(x), x, x**2])
    weights = np.zeros(3)
    for _ in range(_STEPS):  # Newton's
        chance = 1 / (1 + np.exp(-(weights @ basis).clip(-30, 30)))
        slope = basis @ (counts[0] - total * chance) - _RIDGE * weights
        curvature = (basis * (total * chance * (1 - chance))) @ basis.T + _RIDGE * np.eye(3)
        step = np.linalg.solve(curvature, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return np.asarray(1 / (1 + np.exp(-(weights @ basis).clip(-30, 30))))
