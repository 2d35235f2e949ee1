"""Which of many columns are worth a bet: a cheap look at all of them, on past draws only.

An output may have thousands of parts. Every column of numbers is cut at seven places (quantiles of the first draws that have
it), and it is counted on which side its draws lie, for a and for b; the columns where these counts differ most are looked at in
full. That takes a few vectorised comparisons for each new draw, whatever the number of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Screen", "best_words"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sides = NDArray[np.bool_]

_PLACES = np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])


class Screen:
    """A family of columns, one for each path, of which at most ``most`` are chosen; ``view`` makes them from numbers."""

    def __init__(self, prefix: str, most: int, view: Callable[[Floats], Floats]) -> None:
        self.prefix, self.most, self.view = prefix, most, view
        self.chosen: list[int] = []
        self._edges: Floats = np.full((_PLACES.size, 0), np.nan)
        self._above: Floats = np.zeros((2, _PLACES.size, 0))
        self._seen: Floats = np.zeros((2, 0))

    def know(self, paths: int) -> None:
        """There are so many paths now; the first are chosen until something is known."""
        new = paths - self._seen.shape[1]
        if not new:
            return
        self._edges = np.pad(self._edges, ((0, 0), (0, new)), constant_values=np.nan)
        self._above = np.pad(self._above, ((0, 0), (0, 0), (0, new)))
        self._seen = np.pad(self._seen, ((0, 0), (0, new)))
        self.chosen += range(paths - new, paths)[: max(0, self.most - len(self.chosen))]

    @property
    def crowded(self) -> bool:
        return bool(self._seen.shape[1] > self.most)

    def count(self, paths: Ints, matrix: Floats, on_a: Sides) -> None:
        """Look at new draws; ``paths`` are those of the columns of the matrix."""
        values = self.view(matrix)
        new = np.isnan(self._edges[0, paths])
        if new.any():
            self._edges[:, paths[new]] = np.quantile(values[:, new], _PLACES, axis=0, method="lower")
        for side, rows in enumerate((values[on_a], values[~on_a])):
            self._seen[side, paths] += rows.shape[0]
            for place in range(_PLACES.size):
                self._above[side, place, paths] += (rows > self._edges[place, paths]).sum(axis=0)

    def best(self) -> list[int]:
        """The paths that tell the sides apart most."""
        score = _telling(self._above, self._seen[:, None, :]).max(axis=0)
        return [int(path) for path in np.argsort(-score, kind="stable")[: self.most]]


def _telling(hits: Floats, runs: Floats) -> Floats:
    """How far the frequencies of events are apart on the two sides (first axis), in standard deviations."""
    share = hits / np.maximum(runs, 1)
    together = hits.sum(axis=0) / np.maximum(runs.sum(axis=0), 1)
    spread = together * (1 - together) * (1 / np.maximum(runs[0], 1) + 1 / np.maximum(runs[1], 1))
    return np.where(runs.min(axis=0) > 0, np.abs(share[0] - share[1]) / np.sqrt(spread + 1e-12), 0.0)


def best_words(columns: Sequence[Ints], on_a: Sides, most: int) -> list[int]:
    """The same for columns of words, numbered from -1."""
    runs = np.array([[np.count_nonzero(on_a)], [np.count_nonzero(~on_a)]], dtype=np.float64)
    scores = [0.0] * len(columns)
    for place, column in enumerate(columns):
        size = int(column.max(initial=-1)) + 2
        hits = np.array([np.bincount(column[side] + 1, minlength=size) for side in (on_a, ~on_a)], dtype=np.float64)
        scores[place] = float(_telling(hits, runs).max())
    return sorted(np.argsort(-np.array(scores), kind="stable")[:most].tolist())
