"""What an audit learns from past draws: for every column of the sample, which outputs come from a; learned anew after each batch.

Where outputs have several parts a **score** is learned too: logistic regression on all columns, then small trees for what it
leaves over. The score only has to order outputs by how much they speak for a; a partition of it finds out, from draws that the
score was not learned from, what each value of it means. A poor score costs power, never validity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.auditor.sampling.betting import Trials
from discreet.auditor.sampling.features import Sample, is_lowest_bit
from discreet.auditor.sampling.partitions import Partition, partition_numbers, partition_tokens

_AGAIN = 1.4  # columns are chosen and scores learned anew when there are so many times more draws
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


class Learner:
    """Partitions of the outputs by column; nothing is guessed before the first batch."""

    def __init__(self) -> None:
        self.partitions: dict[tuple[str, str], Partition] = {}
        self.scores: list[_Score] = []  # one learned from each half of the draws
        self._learned = 0

    def learn(self, sample: Sample) -> None:
        """Sort all past draws into cells."""
        if sample.size >= _AGAIN * self._learned:
            sample.choose()
            self._learn_scores(sample)
        on_a = sample.on_a
        found = {("token", ""): partition_tokens(sample.tokens, on_a), ("shape", ""): partition_tokens(sample.shapes, on_a)}
        for name, words in sample.words.items():
            found["word", name] = partition_tokens(words, on_a)
        for name, numbers in sample.numbers.items():
            found["number", name] = partition_numbers(numbers, on_a)
        if self.scores:  # what a score means is learned from draws that it was not learned from
            rows = [_select(sample.size, 1 - half) for half in (0, 1)]
            for name in ("", "trees") if self.scores[0].trees else ("",):
                values = [score(sample, rest, trees=bool(name)) for score, rest in zip(self.scores, rows, strict=True)]
                found["score", name] = partition_numbers(np.concatenate(values), on_a[np.concatenate(rows)])
        self.partitions = {key: cells for key, cells in found.items() if np.count_nonzero(cells.counts.sum(axis=0)) > 1}

    def _learn_scores(self, sample: Sample) -> None:
        self._learned = sample.size
        scores = [_learn_score(sample, half) for half in (0, 1)]
        self.scores = [score for score in scores if score is not None] if None not in scores else []

    def try_out(self, block: Sample) -> dict[str, Trials]:
        """Every guess tried on new draws; and, so that one knows what to hope for, each half of the past draws on the other."""
        tried: dict[str, Trials] = {}
        for (kind, name), cells in self.partitions.items():
            seen = cells.tally(self.column(block, kind, name), block.on_a)
            one, two = cells.halves
            past = (one + two).sum(axis=0), one.sum(axis=0), two.sum(axis=0)
            for manner, (both, first, second) in cells.estimate(np.array([one + two, one, two])).items():
                tried[f"{kind} {name} {manner}"] = ((both, past[0], seen), (first, past[1], two), (second, past[2], one))
        return tried

    def column(self, block: Sample, kind: str, name: str) -> Reals | Integers:
        """What one of the partitions looks at."""
        if kind == "score":
            rows = np.arange(block.size)
            return np.asarray(sum(score(block, rows, trees=bool(name)) for score in self.scores) / len(self.scores))
        if kind == "number":
            return block.numbers[name]
        return block.words[name] if kind == "word" else block.tokens if kind == "token" else block.shapes


@dataclass(frozen=True)
class _Split:
    column: int
    edge: float
    low: float
    high: float


@dataclass(frozen=True)
class _Score:
    """Names of columns, how to scale them, weights of the regression, and trees of two levels (a root and its two splits)."""

    numbers: tuple[tuple[str, float, float], ...]  # column, middle, spread
    words: tuple[tuple[str, int], ...]  # column, word
    weights: Reals
    trees: tuple[tuple[int, float, _Split, _Split], ...]

    def __call__(self, sample: Sample, rows: Integers, *, trees: bool) -> Reals:
        """The score of these outputs of a sample, with or without the trees."""
        matrix = _matrix(sample, self.numbers, self.words, rows)
        return np.asarray(
            matrix @ self.weights + sum((_leaves(tree, matrix) for tree in self.trees if trees), np.zeros(rows.size))
        )


def _select(size: int, half: int, most: int = _MEANING) -> Integers:
    """Every second draw, the latest of them when there are many."""
    return np.arange(half, size, 2)[-most:]


def _rarer(column: Integers) -> list[int]:
    """Words of a column but for the most frequent one, which the others imply."""
    words, counts = np.unique(column, return_counts=True)
    return [int(word) for word in words[np.argsort(-counts)][1 : _WORDS + 1]]


def _learn_score(sample: Sample, half: int) -> _Score | None:
    """Learn from every second draw; None when nothing varies that could be combined."""
    rows = _select(sample.size, half, _ROWS)
    numbers = []
    for name, column in sample.numbers.items():
        present = column[rows]
        present = present[~np.isnan(present)]
        if not is_lowest_bit(name) and present.size > 20:
            low, middle, high = np.quantile(present, (0.1, 0.5, 0.9))
            if spread := max(high - low, float(present.std()) if high == low else 0.0):
                numbers.append((name, float(middle), float(spread)))
    single = len(numbers) == 1
    if single:  # one number: a curve through several places, which needs no trees
        name, _, spread = numbers[0]
        column = sample.numbers[name][rows]
        numbers = [(name, float(place), spread / 3) for place in np.unique(np.nanquantile(column, _PLACES))]
    words = [(name, word) for name, column in sample.words.items() for word in _rarer(column[rows])]
    if len(numbers) + len(words) < 2:
        return None
    scaled = tuple(numbers)
    matrix, on_a = _matrix(sample, scaled, tuple(words), rows), sample.on_a[rows].astype(np.float64)
    weights = _regress(matrix, on_a)
    return _Score(scaled, tuple(words), weights, () if single else _boost(matrix, on_a, matrix @ weights))


def _matrix(
    sample: Sample, numbers: tuple[tuple[str, float, float], ...], words: tuple[tuple[str, int], ...], rows: Integers
) -> Reals:
    columns = [np.ones(rows.size)]
    for name, middle, spread in numbers:
        column = sample.numbers[name][rows]
        columns.append(np.where(np.isnan(column), 0.0, np.tanh((column - middle) / (2 * spread))))
    columns += [(sample.words[name][rows] == word).astype(np.float64) for name, word in words]
    return np.column_stack(columns)


def _regress(matrix: Reals, on_a: Reals) -> Reals:
    """Logistic regression with a ridge, by Newton's method."""
    weights = np.zeros(matrix.shape[1])
    ridge = _RIDGE * np.eye(matrix.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(matrix @ weights, -30, 30)))
        slope = matrix.T @ (on_a - chance) - _RIDGE * weights
        curvature = (matrix * (chance * (1 - chance))[:, None]).T @ matrix + ridge
        weights = weights + np.linalg.solve(curvature, slope)
    return weights


def _boost(matrix: Reals, on_a: Reals, score: Reals) -> tuple[tuple[int, float, _Split, _Split], ...]:
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
    binned: list[Integers], edges: list[Reals], slope: Reals, curvature: Reals, rows: Booleans
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


def _leaves(tree: tuple[int, float, _Split, _Split], matrix: Reals) -> Reals:
    column, edge, below, above = tree
    low = np.where(matrix[:, below.column] <= below.edge, below.low, below.high)
    high = np.where(matrix[:, above.column] <= above.edge, above.low, above.high)
    return np.asarray(np.where(matrix[:, column] <= edge, low, high))
