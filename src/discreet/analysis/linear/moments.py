"""Moments: ``hospital.moments(["age", "debt"], epsilon=1)``, from one noisy matrix the number of rows, means, covariances,
correlations, principal components and linear models.

The matrix is X^T X with a column of ones, so that n stands in its corner; categories have a column for every level. It is
released as one symmetric matrix would be (``products``), over the rows in which nothing that is named is missing. Standard
errors and intervals are those of its noise: to first order, from the covariance that the noise of all its numbers is known to
have. They cover the statistic after clamping and rounding to the grid. Where a variance is not four standard errors from 0,
or the number of rows, nothing is known of what is divided by it.

Noise may make eigenvalues of a covariance negative, which those of no table are: they are set to 0, which is free and only
brings the matrix nearer to the true one, since positive semidefinite matrices are a convex set.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.analysis.base import Analysis, Paid
from discreet.analysis.linear.gram import Cell, Gram, Matrix, Product, bare
from discreet.analysis.linear.products import ProductsAsked
from discreet.analysis.linear.regression import Regression, conclude
from discreet.analysis.linear.square import Components, Square
from discreet.arrays import Number, Reals
from discreet.calls import called_as
from discreet.curator import rendering
from discreet.curator.answer import Answer, Column
from discreet.curator.question import Question
from discreet.display import decimals, figure, html_table, label, text_table
from discreet.errors import ParameterError
from discreet.plan.cost import Accuracy
from discreet.plan.expressions.evaluate import infer
from discreet.plan.plan import facts_of

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

MOST_COLUMNS = 60
_NORMAL = 1.959964
_SURE = 4.0  # standard errors from 0 of what is divided by


@dataclass(frozen=True, repr=False, eq=False)
class Moments:
    """What one noisy matrix says: ``n``, ``means``, ``covariance``, ``correlation``, ``pca()``, ``regress(formula)``: free."""

    asked: MomentsAsked
    matrix: Matrix
    paid: Paid

    @cached_property
    def _cells(self) -> list[Cell]:
        """A column of ones, of every number, and of every level of every category."""
        return [Cell(), *_cells_of(self.asked, self.matrix)]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns; a level as ``ward[eye]``."""
        levels = self.matrix.levels
        return tuple(
            bare(cell.of[0]) if cell.of else "".join(f"{bare(name)}[{label(levels[name][i])}]" for name, i in cell.at)
            for cell in self._cells[1:]
        )

    @cached_property
    def _gram(self) -> Gram:
        return self.matrix.gram(self._cells)

    @property
    def n(self) -> float:
        """The noisy number of rows in which nothing that is named is missing."""
        return float(self._gram.values[0, 0])

    @property
    def n_error(self) -> float:
        """The standard error of the number of rows; 0 where it is public."""
        return math.sqrt(float(self._gram.variances[0, 0]))

    @cached_property
    def _units(self) -> tuple[Reals, Reals]:
        """The middle and half the range of every column."""
        scales = [self.matrix.numbers[cell.of[0]] if cell.of else None for cell in self._cells[1:]]
        return (
            np.array([0.0 if one is None else one.middle for one in scales]),
            np.array([1.0 if one is None else one.half for one in scales]),
        )

    @cached_property
    def _known(self) -> bool:
        return self.n > max(_SURE * self.n_error, 1.0)

    @cached_property
    def _size(self) -> float:
        return max(self.n, self.n_error, 1.0)

    @cached_property
    def _means(self) -> Reals:
        """In units in which numbers are in [-1, 1], and levels 0 or 1."""
        lowest = np.array([-1.0 if cell.of else 0.0 for cell in self._cells[1:]])
        return np.clip(self._gram.values[0, 1:] / self._size, lowest, 1.0)

    @property
    def means(self) -> Answer:
        """The mean of every number, and the share of every level, with standard errors and intervals."""
        middle, half = self._units
        corner = np.eye(len(self._cells))[0]
        errors = np.sqrt([self._squared(corner, one) for one in self._centred]) / self._size
        lowest = np.array([-1.0 if cell.of else 0.0 for cell in self._cells[1:]])
        reach = _NORMAL * self._gram.stretch * errors if self._known else np.full_like(errors, 2.0)
        lower, upper = np.clip(self._means - reach, lowest, 1.0), np.clip(self._means + reach, lowest, 1.0)
        values, lowers, uppers = (_floats(middle + half * one) for one in (self._means, lower, upper))
        column = Column(values, _floats(half * errors), lowers, uppers)
        return self.paid.answer({"column": self.names}, {"mean": column}, {})

    @cached_property
    def _centred(self) -> Reals:
        """Rows that take the mean from every column."""
        count = len(self._cells)
        return np.eye(count)[1:] - np.outer(self._means, np.eye(count)[0])

    def _squared(self, left: Reals, right: Reals, less: Reals | float = 0.0) -> float:
        """The variance of a form of the noise."""
        return float(np.sum(((self._gram.form(left, right) - less) * self._gram.deviations) ** 2))

    @cached_property
    def _scatter(self) -> tuple[Reals, Reals, int]:
        """Sums of squares and products around the means, as they came out and with no negative eigenvalue, and how many were."""
        raw = self._centred @ self._gram.values @ self._centred.T
        values, vectors = np.linalg.eigh(raw)
        return raw, (vectors * np.maximum(values, 0.0)) @ vectors.T, int((values < 0).sum())

    @cached_property
    def _repairs(self) -> tuple[str, ...]:
        count = self._scatter[2]
        return (f"{count} negative eigenvalue{'s' if count > 1 else ''}, made by noise, set to 0.",) if count else ()

    @cached_property
    def covariance(self) -> Square:
        """Population covariances of these rows, of numbers in their own units, and of levels as 0 and 1."""
        raw, repaired, _ = self._scatter
        corner = np.eye(len(self._cells))[0]
        count, form = len(raw), self._gram.form(corner, corner)
        errors = np.zeros_like(raw)
        for i, j in itertools.combinations_with_replacement(range(count), 2):
            spread = math.sqrt(self._squared(self._centred[i], self._centred[j], raw[i, j] / self._size * form))
            errors[i, j] = errors[j, i] = spread / self._size
        half = np.outer(self._units[1], self._units[1])
        reach = _NORMAL * self._gram.stretch * errors if self._known else np.full_like(errors, 2.0)
        value, centre = repaired / self._size, raw / self._size
        floor = np.where(np.eye(count, dtype=bool), 0.0, -1.0)
        lower = np.clip(np.minimum(centre - reach, value), floor, 1.0)
        upper = np.clip(np.maximum(centre + reach, value), floor, 1.0)
        return Square("covariance", self.names, value * half, errors * half, lower * half, upper * half, self._repairs)

    @cached_property
    def correlation(self) -> Square:
        """Correlations of these rows, from -1 to 1; with intervals from -1 to 1 where a variance may be 0."""
        raw, repaired, _ = self._scatter
        count = len(raw)
        spread = np.sqrt([self._squared(one, one) for one in self._centred])
        sure = self._known & (np.diag(raw) > _SURE * spread)
        safe = np.where(sure, np.diag(raw), 1.0)
        kept = np.sqrt(np.maximum(np.diag(repaired), 1e-300))
        values, errors = np.clip(repaired / np.outer(kept, kept), -1.0, 1.0), np.zeros_like(raw)
        lower, upper = np.eye(count) * 2 - 1, np.ones_like(raw)
        for i, j in itertools.combinations(range(count), 2):
            scale, both = math.sqrt(safe[i] * safe[j]), bool(sure[i] and sure[j])
            centre = float(np.clip(raw[i, j] / scale, -1.0, 1.0)) if both else 0.0
            own = (
                self._gram.form(self._centred[i], self._centred[i]) / safe[i]
                + self._gram.form(self._centred[j], self._centred[j]) / safe[j]
            )
            error = (
                math.sqrt(self._squared(self._centred[i], self._centred[j], centre / 2 * scale * own)) / scale if both else 1.0
            )
            reach = _NORMAL * self._gram.stretch * error if both else 1.0
            ends = min(centre - reach, values[i, j]), max(centre + reach, values[i, j])
            errors[i, j] = errors[j, i] = min(error, 1.0)
            lower[i, j] = lower[j, i] = max(ends[0], -1.0)
            upper[i, j] = upper[j, i] = min(ends[1], 1.0)
        np.fill_diagonal(values, 1.0)
        return Square("correlation", self.names, values, errors, lower, upper, self._repairs)

    def pca(self, *, scaled: bool = True) -> Components:
        """Principal components: of correlations, or of covariances where not ``scaled``; standard errors are those of noise."""
        _, repaired, _ = self._scatter
        half = self._units[1]
        deviations = np.sqrt(np.maximum(np.diag(repaired), 1e-300))
        scale = 1 / deviations if scaled else half / math.sqrt(self._size)
        values, vectors = np.linalg.eigh(repaired * np.outer(scale, scale))
        order = np.argsort(values)[::-1]
        values, vectors = np.maximum(values[order], 0.0), vectors[:, order]
        rows = (vectors * scale[:, None]).T @ self._centred
        errors = np.array([self._gram.deviation(row) for row in rows])
        signs = np.where(vectors[np.argmax(np.abs(vectors), axis=0), range(len(values))] < 0, -1.0, 1.0)
        return Components(self.names, values, errors, vectors * signs, self._repairs)

    @called_as('"debt ~ age"')
    def regress(self, formula: str) -> Regression:
        """A linear model whose products are all in this matrix, over its rows: free."""
        return conclude(self.asked.rows, formula, self.matrix, self.paid)

    def to_pandas(self) -> pandas.DataFrame:
        """The means as a pandas DataFrame."""
        return self.means.to_pandas()

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """The correlations as a heat map; needs matplotlib."""
        return self.correlation.plot(ax, title=title)

    def _heads(self) -> list[str]:
        error = _NORMAL * self.n_error
        return [f"{figure(round(self.n))}{f' ± {figure(error, decimals(error))}' if error else ''} rows"]

    def _table(self) -> tuple[list[str], list[list[str]]]:
        means, rows = self.means, []
        headers, right = self.correlation._table()
        texts = rendering.cells(means, list(range(len(self.names))))[1]
        deviations = np.sqrt(np.maximum(np.diag(self.covariance.values), 0.0))
        for (_, mean, away), deviation, (_, *cells) in zip(texts, deviations, right, strict=True):
            rows.append([f"{mean} {away}", figure(float(deviation), decimals(float(deviation) / 50)), *cells])
        return ["", "mean", "std deviation", *headers[1:]], [[name, *row] for name, row in zip(self.names, rows, strict=True)]

    def _notes(self) -> list[str]:
        asked = replace(self.means, outputs={"mean": Column((0.0,) * len(self.names))})
        says = "On the right: correlations. Intervals (95 %) are of noise, and cover these rows' own moments after clamping."
        return [says, *self._repairs, *rendering.notes(asked)]

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([*self._heads(), text_table(headers, rows, "<" + ">" * (len(headers) - 1)), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, "<" + ">" * (len(headers) - 1), notes=[*self._heads(), *self._notes()])


@dataclass(frozen=True)
class MomentsAsked(ProductsAsked[Moments]):
    """Moments that are asked for."""

    def conclude(self, matrix: Matrix, paid: Paid) -> Moments:
        return Moments(self, matrix, paid)

    def __str__(self) -> str:
        return f"moments of {', '.join(bare(str(one)) for one in (*self.numbers, *self.categories))}, of {self.rows.rows.source}"


@called_as('["age", "debt"], epsilon=1')
def moments(
    rows: Question,
    columns: Sequence[str],
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Moments | Analysis[Moments]:
    """Means, covariances and correlations of some columns or expressions over them, from one noisy matrix."""
    if isinstance(columns, str) or not columns or not all(isinstance(one, str) for one in columns):
        raise ParameterError('moments takes a list of columns; write moments(["age", "debt"]).')
    if len(columns) > MOST_COLUMNS:
        raise ParameterError(
            f"{len(columns)} columns have {len(columns) * (len(columns) + 1) // 2:,} products; name at most {MOST_COLUMNS}."
        )
    named = list(dict.fromkeys(map(rows.read, columns)))
    facts = facts_of(rows.facts, rows.rows.tables)
    categories = tuple(one for one in named if infer(one, facts).kind in ("text", "boolean", "date"))
    blank = MomentsAsked(rows, tuple(one for one in named if one not in categories), categories, ()).checked()
    cells = [Cell(), *_cells_of(blank, None)]
    weights: dict[Product, Fraction] = {}
    for i, j in itertools.combinations_with_replacement(range(len(cells)), 2):
        product = cells[i].product.times(cells[j].product)
        weights[product] = max(weights.get(product, Fraction(0)), Fraction(1 if i == j else 2))
    return replace(blank, weights=tuple(weights.items())).settle(epsilon, rho, accuracy, at_least)


def _cells_of(asked: ProductsAsked[Moments], matrix: Matrix | None) -> list[Cell]:
    """Of numbers and categories in the order in which they were named: one for every level, or, to be priced, the first."""
    numbers = [Cell((name,)) for name in (asked.measures if matrix is None else map(str, asked.numbers))]
    levels = asked.levels if matrix is None else {str(one): matrix.levels[str(one)] for one in asked.categories}
    return [
        *numbers,
        *(Cell((), ((name, i),)) for name, values in levels.items() for i in range(1 if matrix is None else len(values))),
    ]


def _floats(numbers: Reals) -> tuple[float, ...]:
    return tuple(float(x) for x in numbers)
