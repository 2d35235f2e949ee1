"""Vectors on a grid, and the distance between them rounded up to whole steps.

Entries are whole numbers and no vector is longer than 511, so squared distances S are whole numbers below 2^20. The distance in
steps is the least k with k^2 g^2 >= S, for a whole ``grid`` g: the Euclidean distance over g, rounded *up*.

**Rounding up keeps the triangle inequality.** ceil is monotone and ceil(a + b) <= ceil(a) + ceil(b), so from d(x, z) <= d(x, y) +
d(y, z) follows ceil d(x, z) <= ceil d(x, y) + ceil d(y, z). (Rounding to the nearest step would not keep it: 0.9 <= 0.45 + 0.45
would become 1 <= 0 + 0.)

**Floats decide nothing.** Products and sums of entries stay below 2^24 (Cauchy and Schwarz), so float32 holds them exactly in any
order. ceil(sqrt(S - 1/2) / g) is the step: at S = (kg)^2 and S = (kg)^2 + 1 the root is off the boundary by a relative 2^-22 or
more, and a rounded root and a rounded product err by 3 * 2^-24.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import shown, whole
from discreet.texts.distances.base import Distance, Levels, check_unit
from discreet.texts.tokens import Tokenizer
from discreet.texts.vocabulary import Vocabulary, check_vocabulary

LONGEST = 511
_SCALE = 500  # of a vector of length 1
_MOST_NUMBERS = 1024
_WRONG = "Vectors have the same length, 1 to 1,000 numbers, all finite"


@called_as('["red", "blue"], {"red": [1, 0], "blue": [0.8, 0.6]}')
@dataclass(frozen=True, init=False, eq=False)
class Vectors(Distance):
    """A vector for every word, centred, brought to length 1 and put on a grid; distances are from 0 to 2, in steps of grid / 500.

    Marks such as <other> are at right angles to all words and to each other. The vectors must be public: those that were trained
    on the texts they protect void every promise.

    >>> colours = Vectors(["red", "blue", "green"], {"red": [9, 0], "blue": [0, 9], "green": [1, 9]})
    >>> colours.distance("blue", "green") < colours.distance("blue", "red") <= colours.diameter
    True
    """

    vocabulary: Vocabulary
    entries: NDArray[np.int16]
    """A row of whole numbers for every item."""
    grid: int
    unit: Fraction
    kind: ClassVar[str] = "vectors"

    def __init__(self, vocabulary: Vocabulary, vectors: Mapping[str, object], *, grid: int = 10) -> None:
        words = check_vocabulary(vocabulary)
        if not isinstance(vectors, Mapping):
            raise ParameterError('vectors= gives every word its numbers; write {"red": [1, 0], "blue": [0.8, 0.6]}.')
        missing = [word for word in words.words if word not in vectors]
        if missing:
            raise ParameterError(
                f"{len(missing):,} of the {len(words.words):,} words have no vector, {missing[0]!r} among them; leave them out "
                "of the vocabulary, whose unknown= says what becomes of them then, or take Vectors.load(path)."
            )
        self._fill(words, _put_on_grid(_read_rows([vectors[word] for word in words.words]), words), grid)

    @classmethod
    def load(cls, path: str | Path, vocabulary: Vocabulary | None = None, *, count: int = 20_000, grid: int = 10) -> Vectors:
        """Vectors of a file in the text format of GloVe or word2vec: a word and its numbers a line, perhaps their sizes first.

        Without a vocabulary, the first ``count`` words that are one word by the tokenizer's rules make one.
        """
        rules = Tokenizer() if vocabulary is None else check_vocabulary(vocabulary).tokenizer
        most = whole("count", count, least=2)
        wanted = None if vocabulary is None else set(check_vocabulary(vocabulary).words)
        found: dict[str, object] = {}
        for word, numbers in _read_file(path):
            if word not in found and (word in wanted if wanted is not None else rules.tokens(word) == [word]):
                found[word] = numbers
                if len(found) == (most if wanted is None else len(wanted)):
                    break
        return cls(Vocabulary(list(found)) if vocabulary is None else vocabulary, found, grid=grid)

    def _fill(self, vocabulary: Vocabulary, entries: NDArray[np.int16], grid: object) -> None:
        step = whole("grid", grid)
        if step > LONGEST:
            raise ParameterError(f"grid must be at most {LONGEST}, in five hundredths of a vector's length; write grid=10.")
        entries.setflags(write=False)
        unit = check_unit(Fraction(step, _SCALE))
        for name, value in {"vocabulary": vocabulary, "entries": entries, "grid": step, "unit": unit}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def _floats(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The entries, and their squared lengths less a half."""
        exact = self.entries.astype(np.int64)
        return self.entries.astype(np.float32), ((exact**2).sum(axis=1) - 0.5).astype(np.float32)

    @cached_property
    def steps(self) -> Integers:
        longest = int((self.entries.astype(np.int64) ** 2).sum(axis=1).max())
        return np.arange(-(-_root_up(4 * longest) // self.grid) + 1)

    def rows(self, codes: Integers) -> Levels:
        entries, lengths = self._floats
        squares = np.multiply(entries[codes], -2, dtype=np.float32) @ entries.T
        squares += (lengths[codes] + np.float32(0.5))[:, None]
        squares += lengths
        round_up(squares, self.grid)
        return squares.astype(np.uint8) if self.steps.size <= 256 else squares.astype(np.uint16)

    @property
    def facts(self) -> dict[str, object]:
        packed = base64.b64encode(self.entries.astype("<i2").tobytes()).decode()
        return {"kind": self.kind, "entries": packed, "numbers": int(self.entries.shape[1]), "grid": self.grid}

    @classmethod
    def from_facts(cls, vocabulary: Vocabulary, facts: dict[str, object]) -> Vectors:
        try:
            raw = base64.b64decode(facts["entries"], validate=True)  # type: ignore[arg-type]
            entries = np.frombuffer(raw, dtype="<i2").reshape(vocabulary.size, facts["numbers"])  # type: ignore[call-overload]
        except (binascii.Error, ValueError):
            raise ParameterError("The vectors of this task are not one for every item.") from None
        if not 1 <= entries.shape[1] <= _MOST_NUMBERS or (entries.astype(np.int64) ** 2).sum(axis=1).max() > LONGEST**2:
            raise ParameterError(f"A vector of this task is longer than {LONGEST}, or has too many numbers.")
        made = cls.__new__(cls)
        made._fill(vocabulary, entries.astype(np.int16), facts["grid"])
        return made

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Vectors)
            and (self.vocabulary, self.grid) == (other.vocabulary, other.grid)
            and np.array_equal(self.entries, other.entries)
        )

    def __hash__(self) -> int:
        return hash((self.vocabulary, self.grid, self.entries.tobytes()))

    def __repr__(self) -> str:
        return f"Vectors({self.size:,} items of {self.entries.shape[1]} numbers, unit={self.unit})"


def round_up(squares: NDArray[np.float32], grid: int) -> None:
    """Squared distances less a half become steps, in place."""
    np.maximum(squares, 0, out=squares)
    np.sqrt(squares, out=squares)
    squares *= np.float32(1) / np.float32(grid)
    np.ceil(squares, out=squares)


def _root_up(square: int) -> int:
    """The least whole number whose square is not below."""
    low = math.isqrt(square)
    return low if low * low == square else low + 1


def _read_rows(rows: list[object]) -> Reals:
    try:
        numbers = np.array(rows, dtype=np.float64)
    except (ValueError, TypeError):
        raise ParameterError(f"{_WRONG}; one of these is not.") from None
    if numbers.ndim != 2 or not 1 <= numbers.shape[1] <= 1000 or not (np.abs(numbers) < 1e100).all():
        raise ParameterError(f"{_WRONG}; one of these is not, or has NaN or infinity in it.")
    return numbers


def _put_on_grid(numbers: Reals, words: Vocabulary) -> NDArray[np.int16]:
    """Centred, of length 1, times 500, rounded; the marks have an axis each. Rounding makes no vector longer than 511."""
    centred = numbers - numbers.mean(axis=0)
    lengths = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    scaled = np.rint(_SCALE * centred / np.where(lengths > 0, lengths, 1.0))
    over = np.sqrt((scaled**2).sum(axis=1, keepdims=True))
    scaled = np.where(over > LONGEST, np.trunc(scaled * (LONGEST / np.maximum(over, 1.0))), scaled)
    marks = words.size - len(words.words)
    entries = np.zeros((words.size, numbers.shape[1] + marks), dtype=np.int16)
    entries[marks:, : numbers.shape[1]] = scaled
    entries[np.arange(marks), numbers.shape[1] + np.arange(marks)] = _SCALE
    return entries


def _read_file(path: str | Path) -> Iterator[tuple[str, Reals]]:
    """Words and numbers; a line that has another number of them than the first is refused by its number."""
    try:
        with Path(path).open(encoding="utf-8", errors="strict") as file:
            width = 0
            for number, line in enumerate(file, start=1):
                word, _, rest = line.rstrip().partition(" ")
                numbers = rest.split(" ")
                if number == 1 and len(numbers) == 1 and word.isdecimal():
                    continue  # the sizes, as word2vec writes them
                width = width or len(numbers)
                try:
                    yield word, np.array(numbers, dtype=np.float64)
                except ValueError:
                    raise ParameterError(f"Line {number:,} of {path} is not a word and {width} numbers.") from None
                if len(numbers) != width:
                    raise ParameterError(f"Line {number:,} of {path} is not a word and {width} numbers.")
    except UnicodeDecodeError:
        raise ParameterError(f"{path} is not a text in UTF-8; give vectors in text format.") from None
    except (OSError, TypeError, ValueError) as problem:
        if isinstance(problem, ParameterError):
            raise
        reason = getattr(problem, "strerror", None) or "it is no path"
        raise ParameterError(f"The vectors in {shown(path)} cannot be read ({reason}); check its name.") from None
