"""A tree of word classes, and the steps from word to word in it.

A word's class lies in a larger class, that one in a larger one, up to the root which holds all words. Two words are on level l of
each other when the l-th class of the one is the first that also holds the other; ``steps[l]`` is how far that is (l, unless
told). Steps up the tree obey the strong triangle inequality, s(x, z) <= max(s(x, y), s(y, z)): the class that holds x and y and
the one that holds y and z both hold y, so one lies in the other. Words are in the order of the tree and a class is a stretch of
it, so how many words stand on a level, and which, is known without looking at any.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Integers, Number, Reals
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.texts.distances.base import Distance, Levels, Near, check_unit
from discreet.texts.vocabulary import Vocabulary, check_vocabulary

_MOST_LEVELS, _FARTHEST = 64, 1000
_CLASSES = '{"monday": ("time", "day"), "london": ("place", "city")}'
_MARKS = "(marks)"


@called_as('["monday", "friday", "london"], {"monday": "day", "friday": "day", "london": "city"}')
@dataclass(frozen=True, init=False)
class Tree(Distance):
    """Word classes within word classes. ``classes`` gives each word the names of its classes, from the root down.

    Marks such as <other> and <nothing> are a class of their own. ``steps`` says how far the other words of the word's own class
    are, then those of the next larger class, and so on; (0, 1) makes words of one class the same to the tree.

    >>> days = Tree(["monday", "friday", "london"], {"monday": ["day"], "friday": ["day"], "london": ["city"]})
    >>> days.distance("monday", "friday"), days.distance("monday", "london")
    (Fraction(1, 1), Fraction(2, 1))
    """

    vocabulary: Vocabulary
    classes: tuple[tuple[int, ...], ...]
    """Of every item, from the smallest class to the largest below the root."""
    ups: tuple[int, ...]
    unit: Fraction
    kind: ClassVar[str] = "tree"

    def __init__(
        self,
        vocabulary: Vocabulary,
        classes: Mapping[str, Sequence[str] | str],
        *,
        steps: Sequence[int] | None = None,
        unit: Number = 1,
    ) -> None:
        words = check_vocabulary(vocabulary)
        if not isinstance(classes, Mapping):
            raise ParameterError(f"classes= gives every word its classes, from the root down; write {_CLASSES}.")
        outside = [word for word in words.words if word not in classes]
        if outside:
            raise ParameterError(
                f"{len(outside):,} of the {len(words.words):,} words are in no class, {outside[0]!r} among them; give each one, "
                "or leave them out of the vocabulary, whose unknown= says what becomes of them then."
            )
        paths = [_read_path(classes[word]) for word in words.words]
        depth = max(map(len, paths))
        marks = words.size - len(words.words)
        whole = [(_MARKS,)] * marks + paths
        numbers = []
        for level in range(depth, 0, -1):  # a class is its whole path; a shorter one is filled up below
            known: dict[tuple[str, ...], int] = {}
            numbers.append(tuple(known.setdefault(path[:level], len(known)) for path in whole))
        self._fill(words, tuple(numbers), range(1, depth + 2) if steps is None else steps, unit)

    @classmethod
    def flat(cls, vocabulary: Vocabulary) -> Tree:
        """The tree without classes: every word is one step from every other."""
        made = cls.__new__(cls)
        made._fill(vocabulary, (), (1,), 1)
        return made

    @classmethod
    def brown(
        cls,
        vocabulary: Vocabulary,
        *,
        language: str = "en",
        cuts: Sequence[int] = (4, 8, 18),
        steps: Sequence[int] | None = None,
    ) -> Tree:
        """Brown clusters: classes of words that stand beside the same words; ``cuts`` are the bits of their paths, rising.

        Of the list that comes with discreet, or of spacy-lookups-data (``pip install "discreet[text]"``), also German ("de") and
        Spanish ("es"). Words without a cluster are one class.
        """
        from discreet.texts.sources import brown_clusters

        words = check_vocabulary(vocabulary)
        rising = isinstance(cuts, Sequence) and all(type(bits) is int and 1 <= bits <= 64 for bits in cuts)
        if not rising or not cuts or list(cuts) != sorted(set(cuts)):
            raise ParameterError("cuts= are rising numbers of bits; write cuts=(4, 8, 18).")
        clusters = brown_clusters(language)
        paths = {word: [str(clusters.get(word, 0) % 2**bits) for bits in cuts] for word in words.words}
        return cls(words, paths, steps=steps)

    def _fill(self, vocabulary: Vocabulary, classes: tuple[tuple[int, ...], ...], steps: object, unit: object) -> None:
        ups = tuple(steps) if isinstance(steps, (Sequence, range)) and not isinstance(steps, str) else (None,)
        whole = all(type(up) is int and 0 <= up <= _FARTHEST for up in ups)
        if not whole or len(ups) != len(classes) + 1 or list(ups) != sorted(ups) or ups[-1] == 0 or len(ups) > _MOST_LEVELS:
            raise ParameterError(
                f"steps= are {len(classes) + 1} whole numbers up to {_FARTHEST}, none below the one before, the last above 0: "
                "how far words of the same class are, then of the next larger one, up to the root."
            )
        fields = {"vocabulary": vocabulary, "classes": classes, "ups": ups, "unit": check_unit(rational("unit", unit))}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @cached_property
    def steps(self) -> Integers:
        return np.array([0, *self.ups], dtype=np.int64)

    @cached_property
    def _order(self) -> Integers:
        """The items in the order of the tree; within the smallest class, in the order of codes."""
        return np.lexsort([np.arange(self.size), *(np.array(level) for level in self.classes)])

    @cached_property
    def _ends(self) -> tuple[Integers, Integers]:
        """Of every item and level, the stretch of the order that holds its class: a row a level, its own place first."""
        place = np.empty(self.size, dtype=np.int64)
        place[self._order] = np.arange(self.size)
        first, last = [place], [place + 1]
        for level in self.classes:
            numbers = np.array(level)
            lows, highs = np.full(numbers.max() + 1, self.size), np.zeros(numbers.max() + 1, dtype=np.int64)
            np.minimum.at(lows, numbers, place)
            np.maximum.at(highs, numbers, place + 1)
            first.append(lows[numbers])
            last.append(highs[numbers])
        return np.array([*first, np.zeros_like(place)]), np.array([*last, np.full_like(place, self.size)])

    def rows(self, codes: Integers) -> Levels:
        levels: NDArray[np.uint8] = (codes[:, None] != np.arange(self.size)).astype(np.uint8)
        for level in self.classes:
            numbers = np.array(level)
            levels += numbers[codes][:, None] != numbers
        return levels

    def near(self, codes: Integers) -> Near:
        first, last = (ends[:, codes] for ends in self._ends)
        sizes = (last - first).T
        return Stretches(np.diff(sizes, axis=1, prepend=0), first, last, self._order)

    @property
    def block(self) -> int:
        return 2**16

    def best(self, scores: Reals, weights: Reals) -> Reals:
        """By classes: where a class holds a nearer item as well, that one's weight is larger, and counted on its own level."""
        found: Reals = scores * weights[0]
        for level, numbers in enumerate((*self.classes, np.zeros(self.size, dtype=np.int64)), start=1):
            places = np.asarray(numbers)
            largest = np.zeros(places.max() + 1)
            np.maximum.at(largest, places, scores)
            np.maximum(found, weights[level] * largest[places], out=found)
        return found

    @property
    def facts(self) -> dict[str, object]:
        packed = [base64.b64encode(np.array(level, dtype="<u4").tobytes()).decode() for level in self.classes]
        return {"kind": self.kind, "classes": packed, "steps": list(self.ups), "unit": str(self.unit)}

    @classmethod
    def from_facts(cls, vocabulary: Vocabulary, facts: dict[str, object]) -> Tree:
        try:
            packed = [base64.b64decode(text, validate=True) for text in facts["classes"]]  # type: ignore[attr-defined]
            levels = [np.frombuffer(raw, dtype="<u4").tolist() for raw in packed]
        except (binascii.Error, ValueError):
            raise ParameterError("The classes of this tree are not a tree's.") from None
        for number, level in enumerate(levels):
            within = levels[number - 1] if number else range(vocabulary.size)
            if (
                len(level) != vocabulary.size
                or max(level) >= vocabulary.size
                or len({*zip(within, level, strict=True)}) != len({*within})
            ):
                raise ParameterError("The classes of this tree do not lie within one another: a class is in one larger class.")
        made = cls.__new__(cls)
        made._fill(vocabulary, tuple(map(tuple, levels)), facts["steps"], Fraction(str(facts["unit"])))
        return made

    def __repr__(self) -> str:
        return f"Tree({self.size:,} items, steps={self.ups}, unit={self.unit})"


@dataclass(frozen=True, eq=False)
class Stretches(Near):
    """Around every item, the stretches of the tree's order: a class, without the smaller one in it, is what stands on a level."""

    counts: Integers
    first: Integers
    last: Integers
    order: Integers

    def pick(self, places: Integers, levels: Integers, ranks: Integers) -> Integers:
        inner = np.maximum(levels - 1, 0)
        low, left = self.first[levels, places], self.first[inner, places]
        before = np.where(levels > 0, left - low, 1)  # on level 0 there is the item alone
        behind = self.last[inner, places] + ranks - before
        return self.order[np.where(ranks < before, low + ranks, behind)]


def _read_path(path: object) -> tuple[str, ...]:
    """The classes of one word, the largest first."""
    names = (path,) if isinstance(path, str) else tuple(path) if isinstance(path, (list, tuple)) else ()
    if not names or not all(isinstance(name, str) for name in names) or len(names) >= _MOST_LEVELS:
        raise ParameterError(f"A word's classes are names, from the root down, at least one; write {_CLASSES}.")
    return names
