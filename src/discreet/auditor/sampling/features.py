"""Outputs as columns: what a bet may look at.

Every output gets an exact token and a shape token; every path a column of numbers and a column of words; and over all numbers
of an output their sum, extremes, the place of the largest, how many are not 0, and the grain. The **grain** of a number is the
power of two on whose multiples it lies: naive floating-point noise betrays its input there, in the low bits. If these are to be
ignored, there are no grains, and of every float the leading 24 bits only: a function of the output, as good to bet on as any.
Where there are many paths, those are looked at that told the sides apart in past draws.
"""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from discreet.auditor.sampling.outputs import Outcome, Shape, number_paths, said_beside
from discreet.auditor.sampling.screening import Screen, best_words

__all__ = ["FINEST", "GRAIN", "Table", "tame", "wild"]

GRAIN, FINEST = "the grain", "the finest grain"  # how names of columns begin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_WIDEST = 48  # columns of one kind that are looked at in full
_GRAINS = 8
_KEPT = 8_000_000  # numbers of wide outputs that are kept, should their column be chosen later
_WORDS = 1_000  # different ones in a column
_SUMMARIES = 8  # columns over all parts of an output
_SHORT = 16  # numbers of an output that is its own token
_LEADING = 24  # bits of a float that are looked at when low ones are ignored
_HUGE = 1000  # exponent of a float that could overflow when it is rounded
_LARGE = 1e150  # squares and sums of what is below stay floats


class Table:
    """All draws so far, as columns that grow. Numbers are NaN where an output has none, words -1."""

    def __init__(self, *, low_bits: bool = True) -> None:
        self._low_bits = low_bits
        self.on_a: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.tokens: Ints = np.zeros(0, dtype=np.int64)
        self.shapes: Ints = np.zeros(0, dtype=np.int64)
        self.numbers: dict[str, Floats] = {}
        self.words: dict[str, Ints] = {}
        self.kinds: list[Shape] = []  # shape number -> shape
        self.texts: dict[str, dict[str, int]] = {}  # column of words -> word -> its number
        self.partial: set[str] = set()  # columns of numbers that are NaN also where nobody looked
        self.examples: list[Outcome] = []  # token number -> output, for the first few
        self._shape_of: dict[Shape, int] = {}
        self._token_of: dict[tuple[int, object], int] = {}
        self._codes: dict[str, array[int]] = {}  # column of words -> shape number -> word number
        self._chosen_words: list[str] = []
        self._parts: list[int] = []  # shape number -> how many parts there are
        self._paths: dict[str, int] = {}  # of numbers
        self._names: list[str] = []  # path number -> path
        self._layouts: dict[tuple[str, ...], int] = {}  # shapes with the same paths of numbers are treated alike
        self._layout_of: list[int] = []  # shape number -> layout number
        self._columns: list[tuple[Ints, Ints]] = []  # layout number -> paths, and the places that are parts of the output
        self._screens = [Screen("output", _WIDEST, lambda m: m)]
        if low_bits:
            self._screens.append(Screen(f"{GRAIN} of output", _GRAINS, grain))
        self._kept: list[tuple[Ints, Ints, Floats]] = []  # rows, paths, numbers
        self._room = _KEPT
        self._forgets = False  # whether some numbers were neither kept nor looked at

    @property
    def size(self) -> int:
        return int(self.on_a.size)

    @property
    def width(self) -> int:
        """How many columns of numbers there could be, grains apart."""
        return len(self._paths) + _SUMMARIES

    def add(self, outcomes: Sequence[Outcome], on_a: Sequence[bool]) -> Table:
        """The same columns for new draws only; they are then part of this table too."""
        block = Table()
        if not self._low_bits:
            outcomes = [(shape, tuple(map(_leading, numbers))) for shape, numbers in outcomes]
        block.on_a = np.array(on_a, dtype=bool)
        block.shapes = shapes = np.array([self._shape(shape) for shape, _ in outcomes], dtype=np.int64)
        block.tokens = np.array([self._token(int(s), o) for s, o in zip(shapes, outcomes, strict=True)], dtype=np.int64)
        layouts, parts = np.array(self._layout_of, dtype=np.int64)[shapes], np.array(self._parts, dtype=np.float64)[shapes]
        order = np.argsort(layouts, kind="stable")
        for at in np.split(order, np.flatnonzero(np.diff(layouts[order])) + 1):
            paths, own = self._columns[layouts[at[0]]]
            if paths.size:
                matrix = tame(np.array([outcomes[index][1] for index in at], dtype=np.float64))
                found = self._look(block.on_a, at, paths, matrix)
                if paths.size > 1 or parts[at].max() > 1:
                    summary = _summary(matrix[:, own] if own.size else matrix)
                    found |= {
                        name: column for name, column in summary.items() if self._low_bits or name != f"{FINEST} of the output"
                    }
                for name, column in found.items():
                    block.numbers.setdefault(name, np.full(block.size, np.nan))[at] = column
        if max(self._parts) > 1:
            if "how many parts there are" not in self.numbers:  # earlier draws had parts when nobody counted them, too
                self.numbers["how many parts there are"] = np.array(self._parts, dtype=np.float64)[self.shapes]
            block.numbers["how many parts there are"] = parts
        for name in self._chosen_words:
            block.words[name] = np.array(self._codes[name], dtype=np.int64)[shapes]
        self._append(block)
        for name in self.numbers:
            block.numbers.setdefault(name, np.full(block.size, np.nan))
        return block

    def _look(self, on_a: NDArray[np.bool_], at: Ints, paths: Ints, matrix: Floats) -> dict[str, Floats]:
        """The columns of new outputs of one layout that are chosen; all of them are screened where they are many."""
        found: dict[str, Floats] = {}
        for screen in self._screens:
            for place in np.flatnonzero(np.isin(paths, screen.chosen)):
                found[f"{screen.prefix}{self._names[paths[place]]}"] = screen.view(matrix[:, place])
            if screen.crowded:
                screen.count(paths, matrix, on_a[at])
        if self._screens[0].crowded and matrix.size <= self._room:
            self._room -= matrix.size
            self._kept.append((at + self.size, paths, matrix))
        else:
            self._forgets = True
        return found

    def choose(self) -> None:
        """Where there are too many paths, look from now on at those that tell most."""
        names = self._names
        for screen in self._screens:
            if not screen.crowded:
                continue
            before, screen.chosen = screen.chosen, screen.best()  # from past draws only
            for path in set(before) - set(screen.chosen):
                self.numbers.pop(f"{screen.prefix}{names[path]}", None)
            for path in set(screen.chosen) - set(before):
                column = np.full(self.size, np.nan)
                for rows, paths, matrix in self._kept:
                    for place in np.flatnonzero(paths == path):
                        column[rows] = screen.view(matrix[:, place])
                self.numbers[f"{screen.prefix}{names[path]}"] = column
                if self._forgets:
                    self.partial.add(f"{screen.prefix}{names[path]}")
        if len(self._codes) > _WIDEST:
            columns = {name: np.array(codes, dtype=np.int64)[self.shapes] for name, codes in self._codes.items()}
            best = best_words(list(columns.values()), self.on_a, _WIDEST)
            self.words = {name: column for place, (name, column) in enumerate(columns.items()) if place in best}
            self._chosen_words = list(self.words)

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
                self._codes[path], self.texts[path] = array("h", [-1]) * len(self.kinds), {}
                if len(self._chosen_words) < _WIDEST:
                    self._chosen_words.append(path)
            words = self.texts[path]
            self._codes[path][number] = words.setdefault(word, len(words)) if len(words) < _WORDS else words.get(word, _WORDS)
        self._parts.append(sum(not said_beside(path) for path, _ in shape))
        self._layout_of.append(self._layout(tuple(number_paths(shape))))
        return number

    def _layout(self, paths: tuple[str, ...]) -> int:
        if paths not in self._layouts:
            self._layouts[paths] = len(self._columns)
            numbers = [self._paths.setdefault(path, len(self._paths)) for path in paths]
            own = [place for place, path in enumerate(paths) if not said_beside(path)]
            self._columns.append((np.array(numbers, dtype=np.int64), np.array(own, dtype=np.int64)))
            self._names = list(self._paths)
            for screen in self._screens:
                screen.know(len(self._paths))
        return self._layouts[paths]

    def _token(self, shape: int, output: Outcome) -> int:
        numbers = output[1]  # the value itself, or all of it in a digest: hash(-1) is hash(-2)
        key = numbers if len(numbers) <= _SHORT else blake2b(marshal.dumps(numbers, 2), digest_size=16).digest()
        known = self._token_of.get((shape, key))
        if known is None:
            known = self._token_of[shape, key] = len(self._token_of)
            if known < 1000:
                self.examples.append(output)
        return known


def _summary(matrix: Floats) -> dict[str, Floats]:
    """Columns over all numbers of an output."""
    named: dict[str, Callable[[Floats], Floats]] = {
        "the sum of the output": lambda m: m.sum(axis=1),
        "the largest number of the output": lambda m: m.max(axis=1),
        "the smallest number of the output": lambda m: m.min(axis=1),
        "the place of the largest number": lambda m: m.argmax(axis=1).astype(float),
        "the numbers that are not 0": lambda m: np.count_nonzero(m, axis=1).astype(float),
        f"{FINEST} of the output": lambda m: grain(m).min(axis=1),
        "how many numbers there are": lambda m: np.full(m.shape[0], float(m.shape[1])),
    }
    return {name: make(matrix) for name, make in named.items()}


def _leading(number: float | int) -> float | int:
    """A float without its low bits.

    >>> _leading(0.1), _leading(1 / 3 + 2**-40) == _leading(1 / 3), _leading(3)
    (0.10000000149011612, True, 3)
    """
    if isinstance(number, int):
        return number
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(fraction, _LEADING)), exponent - _LEADING) if exponent < _HUGE else number


def tame(values: Floats) -> Floats:
    """The same numbers, the largest by their logarithm, so that no sum or square of them overflows; their order is kept."""
    size = np.abs(values)
    return np.where(size <= _LARGE, values, np.sign(values) * _LARGE * (1 + np.log(np.maximum(size, _LARGE) / _LARGE)))


def wild(value: float) -> float:
    """Back from ``tame``.

    >>> [f"{wild(float(tame(np.array(x)))):.6g}" for x in (-3.5, 1e200, -1e308)]
    ['-3.5', '1e+200', '-1e+308']
    """
    return value if abs(value) <= _LARGE else float(np.sign(value)) * _LARGE * float(np.exp(abs(value) / _LARGE - 1))


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
