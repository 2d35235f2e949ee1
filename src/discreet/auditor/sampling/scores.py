"""A learned score for outputs of several parts: logistic regression on all columns, then small trees for what it leaves over.

The score only has to order outputs by how much they speak for a; ``number_cells`` finds out from draws that the score was not
learned from what each value of it means. A poor score costs power, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.sampling.features import Table

__all__ = ["Score", "learn_score", "recent"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_ROWS = 8_000  # more draws hardly improve a score, but they do improve what is known of its meaning
_MEANING = 50_000
_WORDS = 4
_RIDGE = 3.0
_STEPS = 4
_TREES = 16
_BINS = 16
_RATE = 0.3
_PLACES = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)
_LEAF = 20.0  # a weight that pulls small leaves to 0


@dataclass(frozen=True)
class _Split:
    column: int
    edge: float
    low: float
    high: float


@dataclass(frozen=True)
class Score:
    """Names of columns, how to scale them, weights of the regression, and trees of two levels (a root and its two splits)."""

    numbers: tuple[tuple[str, float, float], ...]  # column, middle, spread
    words: tuple[tuple[str, int], ...]  # column, word
    weights: Floats
    trees: tuple[tuple[int, float, _Split, _Split], ...]

    def __call__(self, table: Table, rows: Ints, *, trees: bool) -> Floats:
        """The score of these outputs of a table, with or without the trees."""
        matrix = _matrix(table, self.numbers, self.words, rows)
        return np.asarray(
            matrix @ self.weights + sum((_leaves(tree, matrix) for tree in self.trees if trees), np.zeros(rows.size))
        )


def recent(size: int, half: int, most: int = _MEANING) -> Ints:
    """Every second draw, the latest of them when there are many."""
    return np.arange(half, size, 2)[-most:]


def _rarer(column: Ints) -> list[int]:
    """Words of a column but for the most frequent one, which the others imply."""
    words, counts = np.unique(column, return_counts=True)
    return [int(word) for word in words[np.argsort(-counts)][1 : _WORDS + 1]]


def learn_score(table: Table, half: int) -> Score | None:
    """Learn from every second draw; None when nothing varies that could be combined."""
    rows = recent(table.size, half, _ROWS)
    numbers = []
    for name, column in table.numbers.items():
        present = column[rows]
        present = present[~np.isnan(present)]
        if "grain" not in name and present.size > 20:
            low, middle, high = np.quantile(present, (0.1, 0.5, 0.9))
            if spread := max(high - low, float(present.std()) if high == low else 0.0):
                numbers.append((name, float(middle), float(spread)))
    single = len(numbers) == 1
    if single:  # one number: a curve through several places, which needs no trees
        name, _, spread = numbers[0]
        column = table.numbers[name][rows]
        numbers = [(name, float(place), spread / 3) for place in np.unique(np.nanquantile(column, _PLACES))]
    words = [(name, word) for name, column in table.words.items() for word in _rarer(column[rows])]
    if len(numbers) + len(words) < 2:
        return None
    scaled = tuple(numbers)
    matrix, on_a = _matrix(table, scaled, tuple(words), rows), table.on_a[rows].astype(np.float64)
    weights = _regress(matrix, on_a)
    return Score(scaled, tuple(words), weights, () if single else _boost(matrix, on_a, matrix @ weights))


def _matrix(
    table: Table, numbers: tuple[tuple[str, float, float], ...], words: tuple[tuple[str, int], ...], rows: Ints
) -> Floats:
    columns = [np.ones(rows.size)]
    for name, middle, spread in numbers:
        column = table.numbers[name][rows]
        columns.append(np.where(np.isnan(column), 0.0, np.tanh((column - middle) / (2 * spread))))
    columns += [(table.words[name][rows] == word).astype(np.float64) for name, word in words]
    return np.column_stack(columns)


def _regress(matrix: Floats, on_a: Floats) -> Floats:
    """Logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(matrix.shape[1])
    ridge = _RIDGE * np.eye(matrix.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (on_a - chance) - _RIDGE * weights
        curvature = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + ridge
        weights = weights + np.linalg.solve(curvature, slope)
    return weights


def _boost(matrix: Floats, on_a: Floats, score: Floats) -> tuple[tuple[int, float, _Split, _Split], ...]:
    """Trees of two levels, each fitted to what is left of the sides after the score so far."""
    edges = [np.unique(np.quantile(column, np.arange(1, _BINS) / _BINS)) for column in matrix.T]
    binned = [np.searchsorted(edge, column, side="left") for edge, column in zip(edges, matrix.T, strict=True)]
    trees = []
    for _ in range(_TREES):
        chance = 1 / (1 + np.exp(-np.clip(score, -30, 30)))
        slope, curvature = on_a - chance, chance * (1 - chance)
        everything = np.ones(on_a.size, dtype=bool)
        column, edge, _, _ = _split(binned, edges, slope, curvature, everything)
        below = matrix[:, column] <= edge
        halves = [_Split(*_split(binned, edges, slope, curvature, half)) for half in (below, ~below)]
        tree = (column, edge, halves[0], halves[1])
        score = score + _leaves(tree, matrix)
        trees.append(tree)
    return tuple(trees)


def _split(
    binned: list[Ints], edges: list[Floats], slope: Floats, curvature: Floats, rows: NDArray[np.bool_]
) -> tuple[int, float, float, float]:
    """The best cut of these rows: column, edge, and the steps below and above it."""
    best, found = -1.0, (0, 0.0, 0.0, 0.0)
    slopes, curvatures = slope[rows], curvature[rows]
    for index, (bins, cuts) in enumerate(zip(binned, edges, strict=True)):
        if not cuts.size:
            continue
        g = np.cumsum(np.bincount(bins[rows], slopes, cuts.size + 1))
        h = np.cumsum(np.bincount(bins[rows], curvatures, cuts.size + 1))
        gain = g[:-1] ** 2 / (h[:-1] + _LEAF) + (g[-1] - g[:-1]) ** 2 / (h[-1] - h[:-1] + _LEAF)
        at = int(gain.argmax())
        if gain[at] > best:
            steps = g[at] / (h[at] + _LEAF), (g[-1] - g[at]) / (h[-1] - h[at] + _LEAF)
            best, found = float(gain[at]), (index, float(cuts[at]), _RATE * float(steps[0]), _RATE * float(steps[1]))
    return found


def _leaves(tree: tuple[int, float, _Split, _Split], matrix: Floats) -> Floats:
    column, edge, below, above = tree
    low = np.where(matrix[:, below.column] <= below.edge, below.low, below.high)
    high = np.where(matrix[:, above.column] <= above.edge, above.low, above.high)
    return np.asarray(np.where(matrix[:, column] <= edge, low, high))
