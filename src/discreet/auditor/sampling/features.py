"""The features of outputs: all draws so far as columns, which are what a bet may look at.

Every output gets an exact token and a shape token; every path a column of numbers and a column of words; and over all numbers
of an output their sum, extremes, the place of the largest, how many are not 0, and the lowest bit. The **lowest bit** of a number
is the power of two on whose multiples it lies: naive floating-point noise betrays its input there. If low bits are to be ignored,
there are no such columns, and of every float the leading 24 bits only: a function of the output, as good to bet on as any.

An output may have thousands of parts. They are **screened**, on past draws only: every column of numbers is cut at seven places
(quantiles of the first draws that have it), and it is counted on which side its draws lie, for a and for b; the columns where
these counts differ most are looked at in full. That takes a few vectorised comparisons for each new draw, whatever the number of
columns.
"""

from __future__ import annotations

import marshal
import math
from array import array
from collections.abc import Callable, Sequence
from hashlib import blake2b

import numpy as np

from discreet.arrays import Booleans, Integers, Reals
from discreet.auditor.sampling.outputs import Output, Shape, is_annotation, list_number_paths

_LOWEST, FINEST = "the lowest bit", "the finest lowest bit"  # how names of columns begin


_PLACES = np.array([0, 0.1, 0.25, 0.5, 0.75, 0.9, 1])  # quantiles where columns are cut
_WIDEST = 48  # columns of one kind that are looked at in full
_LOWEST_BITS = 8
_KEPT = 8_000_000  # numbers of wide outputs that are kept, should their column be chosen later
_WORDS = 1_000  # different ones in a column
_SUMMARIES = 8  # columns over all parts of an output
_SHORT = 16  # numbers of an output that is its own token
_LEADING = 24  # bits of a float that are looked at when low ones are ignored
_HUGE = 1000  # exponent of a float that could overflow when it is rounded
_LARGE = 1e150  # squares and sums of what is below stay floats


class Sample:
    """All draws so far, as columns that grow. Numbers are NaN where an output has none, words -1."""

    def __init__(self, *, low_bits: bool = True) -> None:
        self._low_bits = low_bits
        self.on_a: Booleans = np.zeros(0, dtype=bool)
        self.tokens: Integers = np.zeros(0, dtype=np.int64)
        self.shapes: Integers = np.zeros(0, dtype=np.int64)
        self.numbers: dict[str, Reals] = {}
        self.words: dict[str, Integers] = {}
        self.known_shapes: list[Shape] = []  # shape number -> shape
        self.texts: dict[str, dict[str, int]] = {}  # column of words -> word -> its number
        self.incomplete: set[str] = set()  # columns of numbers that are NaN also where nobody looked
        self.examples: list[Output] = []  # token number -> output, for the first few
        self._shape_of: dict[Shape, int] = {}
        self._token_of: dict[tuple[int, object], int] = {}
        self._codes: dict[str, array[int]] = {}  # column of words -> shape number -> word number
        self._chosen_words: list[str] = []
        self._parts: list[int] = []  # shape number -> how many parts there are
        self._paths: dict[str, int] = {}  # of numbers
        self._names: list[str] = []  # path number -> path
        self._layouts: dict[tuple[str, ...], int] = {}  # shapes with the same paths of numbers are treated alike
        self._layout_of: list[int] = []  # shape number -> layout number
        self._columns: list[tuple[Integers, Integers]] = []  # layout number -> paths, and the places that are parts of the output
        self._screens = [_Screen("output", _WIDEST, lambda m: m)]
        if low_bits:
            self._screens.append(_Screen(f"{_LOWEST} of output", _LOWEST_BITS, _lowest_bit))
        self._kept: list[tuple[Integers, Integers, Reals]] = []  # rows, paths, numbers
        self._room = _KEPT
        self._forgets = False  # whether some numbers were neither kept nor looked at

    @property
    def size(self) -> int:
        return int(self.on_a.size)

    @property
    def width(self) -> int:
        """How many columns of numbers there could be, lowest bits apart."""
        return len(self._paths) + _SUMMARIES

    def add(self, outputs: Sequence[Output], on_a: Sequence[bool]) -> Sample:
        """The same columns for new draws only; they are then part of this sample too."""
        block = Sample()
        if not self._low_bits:
            outputs = [(shape, tuple(map(_round_to_leading, numbers))) for shape, numbers in outputs]
        block.on_a = np.array(on_a, dtype=bool)
        block.shapes = shapes = np.array([self._shape(shape) for shape, _ in outputs], dtype=np.int64)
        block.tokens = np.array([self._token(int(s), o) for s, o in zip(shapes, outputs, strict=True)], dtype=np.int64)
        layouts, parts = np.array(self._layout_of, dtype=np.int64)[shapes], np.array(self._parts, dtype=np.float64)[shapes]
        order = np.argsort(layouts, kind="stable")
        for at in np.split(order, np.flatnonzero(np.diff(layouts[order])) + 1):
            paths, own = self._columns[layouts[at[0]]]
            if paths.size:
                matrix = _compress(np.array([outputs[index][1] for index in at], dtype=np.float64))
                found = self._look(block.on_a, at, paths, matrix)
                if paths.size > 1 or parts[at].max() > 1:
                    summary = _summarise(matrix[:, own] if own.size else matrix)
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

    def _look(self, on_a: Booleans, at: Integers, paths: Integers, matrix: Reals) -> dict[str, Reals]:
        """The columns of new outputs of one layout that are chosen; all of them are screened where they are many."""
        found: dict[str, Reals] = {}
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
                    self.incomplete.add(f"{screen.prefix}{names[path]}")
        if len(self._codes) > _WIDEST:
            columns = {name: np.array(codes, dtype=np.int64)[self.shapes] for name, codes in self._codes.items()}
            best = _choose_words(list(columns.values()), self.on_a, _WIDEST)
            self.words = {name: column for place, (name, column) in enumerate(columns.items()) if place in best}
            self._chosen_words = list(self.words)

    def _append(self, block: Sample) -> None:
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
        number = self._shape_of[shape] = len(self.known_shapes)
        self.known_shapes.append(shape)
        for codes in self._codes.values():
            codes.append(-1)
        for path, word in shape:
            if path not in self._codes:
                self._codes[path], self.texts[path] = array("h", [-1]) * len(self.known_shapes), {}
                if len(self._chosen_words) < _WIDEST:
                    self._chosen_words.append(path)
            words = self.texts[path]
            self._codes[path][number] = words.setdefault(word, len(words)) if len(words) < _WORDS else words.get(word, _WORDS)
        self._parts.append(sum(not is_annotation(path) for path, _ in shape))
        self._layout_of.append(self._layout(tuple(list_number_paths(shape))))
        return number

    def _layout(self, paths: tuple[str, ...]) -> int:
        if paths not in self._layouts:
            self._layouts[paths] = len(self._columns)
            numbers = [self._paths.setdefault(path, len(self._paths)) for path in paths]
            own = [place for place, path in enumerate(paths) if not is_annotation(path)]
            self._columns.append((np.array(numbers, dtype=np.int64), np.array(own, dtype=np.int64)))
            self._names = list(self._paths)
            for screen in self._screens:
                screen.know(len(self._paths))
        return self._layouts[paths]

    def _token(self, shape: int, output: Output) -> int:
        numbers = output[1]  # the value itself, or all of it in a digest: hash(-1) is hash(-2)
        key = numbers if len(numbers) <= _SHORT else blake2b(marshal.dumps(numbers, 2), digest_size=16).digest()
        known = self._token_of.get((shape, key))
        if known is None:
            known = self._token_of[shape, key] = len(self._token_of)
            if known < 1000:
                self.examples.append(output)
        return known


class _Screen:
    """A family of columns, one for each path, of which at most ``most`` are chosen; ``view`` makes them from numbers."""

    def __init__(self, prefix: str, most: int, view: Callable[[Reals], Reals]) -> None:
        self.prefix, self.most, self.view = prefix, most, view
        self.chosen: list[int] = []
        self._edges: Reals = np.full((_PLACES.size, 0), np.nan)
        self._above: Reals = np.zeros((2, _PLACES.size, 0))
        self._seen: Reals = np.zeros((2, 0))

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

    def count(self, paths: Integers, matrix: Reals, on_a: Booleans) -> None:
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
        score = _measure_difference(self._above, self._seen[:, None, :]).max(axis=0)
        return [int(path) for path in np.argsort(-score, kind="stable")[: self.most]]


def _measure_difference(hits: Reals, runs: Reals) -> Reals:
    """How far the frequencies of events are apart on the two sides (first axis), in standard deviations."""
    share = hits / np.maximum(runs, 1)
    together = hits.sum(axis=0) / np.maximum(runs.sum(axis=0), 1)
    spread = together * (1 - together) * (1 / np.maximum(runs[0], 1) + 1 / np.maximum(runs[1], 1))
    return np.where(runs.min(axis=0) > 0, np.abs(share[0] - share[1]) / np.sqrt(spread + 1e-12), 0.0)


def _choose_words(columns: Sequence[Integers], on_a: Booleans, most: int) -> list[int]:
    """The same for columns of words, numbered from -1."""
    runs = np.array([[np.count_nonzero(on_a)], [np.count_nonzero(~on_a)]], dtype=np.float64)
    scores = [0.0] * len(columns)
    for place, column in enumerate(columns):
        size = int(column.max(initial=-1)) + 2
        hits = np.array([np.bincount(column[side] + 1, minlength=size) for side in (on_a, ~on_a)], dtype=np.float64)
        scores[place] = float(_measure_difference(hits, runs).max())
    return sorted(np.argsort(-np.array(scores), kind="stable")[:most].tolist())


def _summarise(matrix: Reals) -> dict[str, Reals]:
    """Columns over all numbers of an output."""
    named: dict[str, Callable[[Reals], Reals]] = {
        "the sum of the output": lambda m: m.sum(axis=1),
        "the largest number of the output": lambda m: m.max(axis=1),
        "the smallest number of the output": lambda m: m.min(axis=1),
        "the place of the largest number": lambda m: m.argmax(axis=1).astype(float),
        "the numbers that are not 0": lambda m: np.count_nonzero(m, axis=1).astype(float),
        f"{FINEST} of the output": lambda m: _lowest_bit(m).min(axis=1),
        "how many numbers there are": lambda m: np.full(m.shape[0], float(m.shape[1])),
    }
    return {name: make(matrix) for name, make in named.items()}


def _round_to_leading(number: float | int) -> float | int:
    """A float without its low bits.

    >>> _round_to_leading(0.1), _round_to_leading(1 / 3 + 2**-40) == _round_to_leading(1 / 3), _round_to_leading(3)
    (0.10000000149011612, True, 3)
    """
    if isinstance(number, int):
        return number
    fraction, exponent = math.frexp(number)
    return math.ldexp(round(math.ldexp(fraction, _LEADING)), exponent - _LEADING) if exponent < _HUGE else number


def _compress(values: Reals) -> Reals:
    """The same numbers, the largest by their logarithm, so that no sum or square of them overflows; their order is kept."""
    size = np.abs(values)
    return np.where(size <= _LARGE, values, np.sign(values) * _LARGE * (1 + np.log(np.maximum(size, _LARGE) / _LARGE)))


def expand(value: float) -> float:
    """Back from ``_compress``.

    >>> [f"{expand(float(_compress(np.array(x)))):.6g}" for x in (-3.5, 1e200, -1e308)]
    ['-3.5', '1e+200', '-1e+308']
    """
    return value if abs(value) <= _LARGE else float(np.sign(value)) * _LARGE * float(np.exp(abs(value) / _LARGE - 1))


def _lowest_bit(values: Reals) -> Reals:
    """The largest k for which a number is a multiple of 2^k (0 is one of all).

    >>> _lowest_bit(np.array([1.0, 0.5, 6.0, 0.1, 0.0])).tolist()
    [0.0, -1.0, 1.0, -55.0, 1100.0]
    """
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    lowest = (mantissa & -mantissa).astype(np.float64)
    zeros = np.log2(lowest, where=lowest > 0, out=np.zeros_like(lowest))
    return np.where(values == 0, 1100.0, exponent - 53 + zeros)


def is_lowest_bit(name: str) -> bool:
    """Whether a column of this name has lowest bits."""
    return name.startswith((_LOWEST, FINEST))
