"""X^T X with noise: sums of products as they came out, in units in which all numbers are in [-1, 1].

A column of a design is a product of numbers in one cell of some categories (``Cell``); the product of two is the number of
one release (``Product``) in one cell. Where two places of X^T X are the same release (a one-hot column's square and its sum)
they have the same noise, which ``Gram`` keeps track of: every error is that of a linear form of releases.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.expressions import Call, Expression, Literal, Value

_SHARE = re.compile(r"\(CASE WHEN (.+) THEN 0\.5 (?:WHEN \(NOT \1\) THEN -0\.5 ELSE NULL|ELSE -0\.5) END \+ 0\.5\)")  # as_share


class Product(NamedTuple):
    """Numbers to multiply, as often as they stand there, in every cell of some categories; texts of expressions, in order."""

    by: tuple[str, ...] = ()
    of: tuple[str, ...] = ()

    def times(self, other: Product) -> Product:
        """The product of two columns of a design."""
        return Product(tuple(sorted({*self.by, *other.by})), tuple(sorted((*self.of, *other.of))))


@dataclass(frozen=True)
class Scale:
    """Where a number is measured from, and in what: z = (x - middle) / half is in [-1, 1]."""

    middle: float
    half: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Matrix:
    """Noisy sums of products in units in which all numbers are in [-1, 1], and the standard deviations of their noise."""

    numbers: Mapping[str, Scale]
    levels: Mapping[str, tuple[Value, ...]]
    sums: Mapping[Product, tuple[Reals, float]]  # of every cell, the axes in the order of ``by``
    stretch: float  # by how much wider than Gaussian noise of the same deviation an interval is
    weighed: tuple[str, ...] = ()  # numbers by which rows are weighed, and the least that one can weigh
    least: float | None = None

    def gram(self, columns: Sequence[Cell]) -> Gram:
        """The sums of the products of every two columns."""
        size = len(columns)
        values, sources = np.zeros((size, size)), np.full((size, size), -1)
        known: dict[tuple[Product, tuple[int, ...]], int] = {}
        deviations: list[float] = []
        for i, j in itertools.combinations_with_replacement(range(size), 2):
            a, b = columns[i], columns[j]
            where = dict(a.at)
            if any(where.setdefault(name, level) != level for name, level in b.at):
                continue  # no row is in two cells
            product = a.product.times(b.product)
            cell = tuple(where[name] for name in product.by)
            found, deviation = self.sums[product]
            values[i, j] = values[j, i] = found[cell]
            number = known.setdefault((product, cell), len(known))
            if number == len(deviations):
                deviations.append(deviation)
            sources[i, j] = sources[j, i] = number
        return Gram(values, sources, np.array(deviations), self.stretch)

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.numbers, *self.levels)


class Cell(NamedTuple):
    """One column of a design: a product of numbers in [-1, 1], in one cell of some categories and 0 in all others."""

    of: tuple[str, ...] = ()
    at: tuple[tuple[str, int], ...] = ()

    @property
    def product(self) -> Product:
        return Product(tuple(sorted(name for name, _ in self.at)), tuple(sorted(self.of)))


@dataclass(frozen=True, eq=False)
class Gram:
    """X^T X with noise: where two of its numbers are the same sum (a one-hot column's square and its total), they share its
    noise. ``sources`` numbers the sums; -1 is a public 0."""

    values: Reals
    sources: NDArray[np.int64]
    deviations: Reals
    stretch: float

    def noise(self, left: Reals, right: Reals) -> Reals:
        """The covariance of the noise of L M r for rows of ``left`` and one column ``right``."""
        size, count = len(self.values), len(self.deviations)
        held = np.zeros((size, count + 1))
        np.add.at(held, (np.arange(size)[:, None], self.sources), right[None, :])  # -1 is the last, and left out
        parts = (left @ held[:, :count]) * self.deviations
        covariance: Reals = parts @ parts.T
        return covariance

    def form(self, left: Reals, right: Reals) -> Reals:
        """The weights of all sums in l M r."""
        held = np.zeros(len(self.deviations) + 1)
        np.add.at(held, self.sources, np.outer(left, right))
        return held[:-1]

    def deviation(self, vector: Reals) -> float:
        """The standard deviation of the noise of v M v."""
        return float(np.linalg.norm(self.form(vector, vector) * self.deviations))

    @property
    def variances(self) -> Reals:
        """Of every number's noise."""
        return np.append(self.deviations, 0.0)[self.sources] ** 2


def describe(product: Product) -> str:
    """What is summed up, in words."""
    parts = [f"({spell(name)})^{count}" if count > 1 else spell(name) for name, count in _powers(product.of)]
    what = f"sum of {' * '.join(parts)}" if parts else "rows"
    return f"{what} by {', '.join(map(bare, product.by))}" if product.by else what


def as_share(of: Expression, *, nullable: bool) -> Expression:
    """A truth value as 0 or 1, in halves, so that the middle of its bounds is on its grid."""
    half = Literal(Fraction(1, 2))
    less = Literal(Fraction(-1, 2))
    no: tuple[Expression, ...] = (Call("not", (of,)), less, Literal(None)) if nullable else (less,)
    return Call("+", (Call("case", (of, half, *no)), half))


def _powers(of: Sequence[str]) -> Iterator[tuple[str, int]]:
    return ((name, of.count(name)) for name in dict.fromkeys(of))


def spell(name: str) -> str:
    """A number as it was written: a truth value without what makes 0 and 1 of it."""
    found = _SHARE.fullmatch(name)
    return bare(found[1] if found else name)


def bare(text: str) -> str:
    """An expression without the brackets around it."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") and _closes_last(text) else text


def _closes_last(text: str) -> bool:
    depth = 0
    for i, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return i == len(text) - 1
    return False
