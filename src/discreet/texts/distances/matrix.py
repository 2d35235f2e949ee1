"""A matrix of distances that somebody wrote down: checked to be one, and rounded up to whole steps."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers, Number
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import rational
from discreet.texts.distances.base import Distance, Levels, check_unit
from discreet.texts.vocabulary import Vocabulary, check_vocabulary

_MOST_ITEMS, _MOST_STEPS = 1000, 1000


@called_as('["red", "blue"], [[0, 1], [1, 0]]')
@dataclass(frozen=True, init=False, eq=False)
class Distances(Distance):
    """Distances between the words of a small vocabulary, as a matrix; marks such as <other> are as far as the farthest words.

    Rounding up to whole steps of ``unit`` keeps the triangle inequality (see ``vectors.py``); a matrix that is not symmetric, or
    where a way round is shorter than the way, is refused.

    >>> Distances(["red", "blue"], [[0, 1.2], [1.2, 0]], unit=0.5).distance("red", "blue")
    Fraction(3, 2)
    """

    vocabulary: Vocabulary
    matrix: Integers
    """Steps between all items."""
    unit: Fraction
    kind: ClassVar[str] = "matrix"

    def __init__(self, vocabulary: Vocabulary, matrix: object, *, unit: Number = 1) -> None:
        words, step = check_vocabulary(vocabulary), check_unit(rational("unit", unit))
        count = len(words.words)
        try:
            given = np.array(matrix, dtype=object)
            if given.shape != (count, count):
                raise ParameterError(f"The matrix has a row and a column for each of the {count:,} words, in their order.")
            far = np.array([[-int(-rational("a distance", cell) // step) for cell in row] for row in given], dtype=np.int64)
        except (ValueError, TypeError, OverflowError) as problem:
            if isinstance(problem, ParameterError):
                raise
            raise ParameterError("The matrix is not one of numbers; write [[0, 1], [1, 0]].") from None
        marks = words.size - count
        whole = np.full((words.size, words.size), max(int(far.max()), 1), dtype=np.int64)
        whole[marks:, marks:] = far
        whole[np.arange(marks), np.arange(marks)] = 0
        self._fill(words, whole, step)

    def _fill(self, vocabulary: Vocabulary, matrix: Integers, unit: Fraction) -> None:
        _check_metric(matrix)
        matrix.setflags(write=False)
        for name, value in {"vocabulary": vocabulary, "matrix": matrix, "unit": unit}.items():
            object.__setattr__(self, name, value)

    @cached_property
    def steps(self) -> Integers:
        return np.arange(int(self.matrix.max()) + 1)

    def rows(self, codes: Integers) -> Levels:
        return self.matrix[codes].astype(np.uint16)

    @property
    def facts(self) -> dict[str, object]:
        packed = base64.b64encode(self.matrix.astype("<u2").tobytes()).decode()
        return {"kind": self.kind, "matrix": packed, "unit": str(self.unit)}

    @classmethod
    def from_facts(cls, vocabulary: Vocabulary, facts: dict[str, object]) -> Distances:
        try:
            raw = base64.b64decode(facts["matrix"], validate=True)  # type: ignore[arg-type]
            matrix = np.frombuffer(raw, dtype="<u2").reshape(vocabulary.size, vocabulary.size).astype(np.int64)
        except (binascii.Error, ValueError):
            raise ParameterError("The matrix of this task does not fit its vocabulary.") from None
        made = cls.__new__(cls)
        made._fill(vocabulary, matrix, check_unit(Fraction(str(facts["unit"]))))
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Distances) and (self.vocabulary, self.facts) == (other.vocabulary, other.facts)

    def __hash__(self) -> int:
        return hash((self.vocabulary, self.unit, self.matrix.tobytes()))


def _check_metric(matrix: Integers) -> None:
    """Refuse what is no metric."""
    if len(matrix) > _MOST_ITEMS:
        raise ParameterError(f"A matrix is for at most {_MOST_ITEMS:,} items, not {len(matrix):,}; take Vectors or a Tree.")
    if (matrix < 0).any() or matrix.max() > _MOST_STEPS:
        raise ParameterError(f"Distances are from 0 to {_MOST_STEPS:,} steps; write a larger unit=.")
    if matrix.diagonal().any() or (matrix != matrix.T).any():
        raise ParameterError("This is no distance: it must be 0 from each word to itself, and the same in both directions.")
    for middle in matrix:
        if (matrix > middle[:, None] + middle).any():
            raise ParameterError(
                "This is no distance: between two of the words, the way over a third one is shorter than the way itself, and no "
                "metric guarantee would hold."
            )
