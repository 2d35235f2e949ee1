"""Outputs as columns: what a bet may look at.

Every output gets an exact token and a shape token; every path a column of numbers and a column of words; and over all numbers
of an output their sum, extremes, the place of the largest, how many are not 0, and the grain. The **grain** of a number is the
power of two on whose multiples it lies: naive floating-point noise betrays its input there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.outcomes import NUMBER, Outcome, Shape

__all__ = ["Table"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WIDEST = 48  # columns of one kind; more are seen through sums and extremes only
_GRAINS = 8
_COLUMNS = 200


class Table:
    """All draws so far, as columns that grow. Numbers are NaN where an output has none, words -1."""

    def __init__(self) -> None:
        self.on_a: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.tokens: Ints = np.zeros(0, dtype=np.int64)
        self.shapes: Ints = np.zeros(0, dtype=np.int64)
        self.numbers: dict[str, Floats] = {}
        self.words: dict[str, Ints] = {}
        self.kinds: list[Shape] = []  # shape number -> shape
        self.texts: dict[str, list[str]] = {}  # column of words -> word number -> word
        self.examples: list[Outcome] = []  # token number -> output, for the first few
        self._shape_of: dict[Shape, int] = {}
        self._token_of: dict[tuple[int, int], int] = {}
        self._codes: dict[str, list[int]] = {}  # column of words -> shape number -> word number

    @property
    def size(self) -> int:
        return int(self.on_a.size)

    def add(self, outcomes: Sequence[Outcome], on_a: Sequence[bool]) -> Table:
        """The same columns for new draws only; they are then part of this table too."""
        shapes = np.array([self._shape(shape) for shape, _ in outcomes], dtype=np.int64)
        tokens = np.array([self._token(int(s), o) for s, o in zip(shapes, outcomes, strict=True)], dtype=np.int64)
        columns: dict[str, Floats] = {}
        order = np.argsort(shapes, kind="stable")
        for at in np.split(order, np.flatnonzero(np.diff(shapes[order])) + 1):
            shape, values = shapes[at[0]], [outcomes[index][1] for index in at]
            if values[0]:
                matrix = np.array(values, dtype=np.float64)
                for name, column in _columns(self.kinds[shape], matrix).items():
                    if (
                        name in self.numbers or name in columns or len({**self.numbers, **columns}) < _COLUMNS
                    ):  # once known, always
                        columns.setdefault(name, np.full(len(outcomes), np.nan))[at] = column
        words = {name: np.array(codes, dtype=np.int64)[shapes] for name, codes in self._codes.items()}
        block = Table()
        block.on_a, block.tokens, block.shapes = np.array(on_a, dtype=bool), tokens, shapes
        block.numbers, block.words = columns, words
        self._append(block)
        for name in self.numbers:
            block.numbers.setdefault(name, np.full(len(outcomes), np.nan))
        return block

    def _append(self, block: Table) -> None:
        before = self.size
        self.on_a = np.concatenate([self.on_a, block.on_a])
        self.tokens = np.concatenate([self.tokens, block.tokens])
        self.shapes = np.concatenate([self.shapes, block.shapes])
        for name in {**self.numbers, **block.numbers}:
            old = self.numbers.get(name, np.full(before, np.nan))
            new = block.numbers.get(name, np.full(block.size, np.nan))
            self.numbers[name] = np.concatenate([old, new])
        for name, column in block.words.items():
            self.words[name] = np.concatenate([self.words.get(name, np.full(before, -1)), column])

    def _shape(self, shape: Shape) -> int:
        known = self._shape_of.get(shape)
        if known is not None:
            return known
        number = self._shape_of[shape] = len(self.kinds)
        self.kinds.append(shape)
        for codes in self._codes.values():
            codes.append(-1)
        for path, word in shape:
            if path not in self._codes:
                if len(self._codes) >= _WIDEST:
                    continue
                self._codes[path], self.texts[path] = [-1] * len(self.kinds), []
            known_words = self.texts[path]
            if word not in known_words and len(known_words) < 1000:
                known_words.append(word)
            self._codes[path][number] = known_words.index(word) if word in known_words else 1000
        return number

    def _token(self, shape: int, output: Outcome) -> int:
        key = (shape, hash(output[1]))
        known = self._token_of.get(key)
        if known is None:
            known = self._token_of[key] = len(self._token_of)
            if known < 1000:
                self.examples.append(output)
        return known


def _paths(shape: Shape) -> list[str]:
    """The path of every number of a shape, in order."""
    paths: list[str] = []
    for path, word in shape:
        if word.startswith(NUMBER) and word.endswith("]"):
            sides = [int(side) for side in word[word.index("[") + 1 : -1].split(",")]
            paths += [f"{path}[{','.join(map(str, index))}]" for index in np.ndindex(*sides)]
        elif word.startswith(NUMBER):
            paths.append(path)
    return paths


def _columns(shape: Shape, matrix: Floats) -> dict[str, Floats]:
    """The columns of numbers of outputs of one shape."""
    paths = _paths(shape)
    grains = grain(matrix[:, :_GRAINS])
    columns = {f"output{path}": matrix[:, index] for index, path in enumerate(paths[:_WIDEST])}
    columns |= {f"the grain of output{path}": grains[:, index] for index, path in enumerate(paths[:_GRAINS])}
    if len(shape) > 1 or len(paths) > 1:
        named: dict[str, Callable[[Floats], Floats]] = {
            "the sum of the output": lambda m: m.sum(axis=1),
            "the largest number of the output": lambda m: m.max(axis=1),
            "the smallest number of the output": lambda m: m.min(axis=1),
            "the place of the largest number": lambda m: m.argmax(axis=1).astype(float),
            "the numbers that are not 0": lambda m: np.count_nonzero(m, axis=1).astype(float),
        }
        columns |= {name: make(matrix) for name, make in named.items()}
        columns["the finest grain of the output"] = grain(matrix).min(axis=1)
        columns["how many parts there are"] = np.full(matrix.shape[0], float(len(shape)))
        columns["how many numbers there are"] = np.full(matrix.shape[0], float(len(paths)))
    return columns


def grain(values: Floats) -> Floats:
    """The largest k for which a number is a multiple of 2^k (0 is one of all).

    >>> grain(np.array([1.0, 0.5, 6.0, 0.1, 0.0])).tolist()
    [0.0, -1.0, 1.0, -55.0, 1100.0]
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest = (mantissa & -mantissa).astype(np.float64)
    zeros = np.log2(lowest, where=lowest > 0, out=np.zeros_like(lowest))
    return np.where(values == 0, 1100.0, exponent - 53 + zeros)
