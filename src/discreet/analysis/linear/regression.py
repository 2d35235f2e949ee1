"""Linear regression: ``hospital.regress("debt ~ age + ward", epsilon=1)``, a table of coefficients with intervals.

What is released are the sums of products that the model needs (``products``), in one payment; coefficients are made of them
(``fit``), and so is every other model whose products are among them: that is free. Shares of the cost are those
that make predictions good at any noise. Of d columns that are evenly spread, errors of X^T y count d times, those of X^T X as
often as slopes squared add up, less than once, and those of the response's mean once but for all rows, also where noise drowns
the slopes: so the response's own sum and the number of rows have the most, then the response times each column, then the rest.

Intervals of coefficients hold sampling, as classical least squares does, with errors of equal variance, and noise. They are
about numbers after clamping to declared bounds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.analysis.base import Analysis, Paid
from discreet.analysis.linear.fit import Fit, fit
from discreet.analysis.linear.formula import Column as Designed
from discreet.analysis.linear.formula import Formula, read_formula
from discreet.analysis.linear.given import evaluate_given, read_given
from discreet.analysis.linear.gram import Cell, Matrix, Product, bare, describe, spell
from discreet.analysis.linear.products import ProductsAsked
from discreet.analysis.linear.weighing import FEWEST, remark
from discreet.arrays import Number, Reals
from discreet.calls import called_as
from discreet.canvas import BLUE, GREY, finish, new_axes
from discreet.curator import rendering
from discreet.curator.answer import Answer, Column
from discreet.curator.question import Question
from discreet.display import decimals, figure, html_table, label, text_table
from discreet.errors import ParameterError
from discreet.plan.cost import Accuracy
from discreet.plan.expressions import Expression, Value

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_HALF = Fraction(1, 2)


@dataclass(frozen=True, repr=False, eq=False)
class Regression:
    """Coefficients of a linear model with 95 % intervals, and what else is known of it. It is public; predictions are free."""

    formula: Formula
    columns: tuple[Designed, ...]
    fit: Fit
    matrix: Matrix
    paid: Paid
    asked_of: Question
    at: tuple[tuple[str, int], ...] = ()  # the level that it is of

    @property
    def supported(self) -> bool:
        """Whether noise is small enough for single coefficients to be known."""
        return self.fit.covariance is not None

    @property
    def n(self) -> float:
        """The noisy number of rows."""
        return self.fit.rows

    @property
    def r2(self) -> float:
        """The share of the response's variance that the model explains in these rows, from 0 to 1."""
        return self.fit.explained

    @property
    def residual(self) -> float:
        """The standard deviation of what is left."""
        return self.fit.residual

    @property
    def coefficients(self) -> Answer:
        """A row for every column of the design: its coefficient, with standard error and interval."""
        values, errors = self.fit.coefficients, self.fit.errors
        half = self.fit.factor * errors
        column = Column(tuple(map(float, values)), tuple(map(float, errors)), *_ends(values, half))
        return self.paid.answer({"term": [one.label for one in self.columns]}, {"coefficient": column}, {}, *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is to be said of this fit."""
        found = []
        if self.matrix.least is not None:
            others = [spell(name) for name in self.matrix.weighed if name not in map(str, self.formula.variables)]
            found.append(remark(others, self.matrix.least))
        if not self.supported:
            found.append(
                "There is too much noise for this many coefficients: nothing is known of single ones, and predictions are shrunk "
                "towards the mean. Fewer terms are free; more epsilon, or more rows, would help."
            )
        if self.fit.strained:
            found.append(
                "Noise is all but too large for this many coefficients: where it would mostly be, intervals may cover less often "
                "than they say. Fewer terms are free."
            )
        if self.fit.repaired:
            found.append("Noise had made eigenvalues negative, which no table's are.")
        return tuple(found)

    def __getitem__(self, term: str) -> float:
        """A coefficient by its term."""
        names = [one.label for one in self.columns]
        if term not in names:
            raise KeyError(f"There is no coefficient {term!r}; there are {', '.join(names)}.")
        return float(self.fit.coefficients[names.index(term)])

    def interval(self, term: str) -> tuple[float, float]:
        """The 95 % interval of a coefficient."""
        value = self[term]
        half = float(self.fit.factor * self.fit.errors[[one.label for one in self.columns].index(term)])
        return value - half, value + half

    @called_as('{"age": [30, 60], "ward": ["eye", "eye"]}')
    def predict(self, rows: Any) -> Answer:
        """The response that the model expects for rows of public values, with 95 % intervals: ``expected`` is the mean of such
        rows, ``single`` what one more row would have. ``rows`` is a frame, or a dictionary of columns."""
        given = read_given(rows)
        design = np.array([[_value(one, row) for one in self.columns] for row in self._variables(given)])
        design = design.reshape(len(given), len(self.columns))
        scale = self.matrix.numbers[str(self.formula.response)]
        means = np.clip(design @ self.fit.coefficients, scale.low, scale.high)
        errors = self.fit.error_of(design)
        single = np.sqrt(errors**2 + self.fit.residual_most**2)
        found = {}
        for name, error in (("expected", errors), ("single", single)):
            lower, upper = _ends(means, self.fit.factor * error)
            ends = np.clip(lower, scale.low, scale.high), np.clip(upper, scale.low, scale.high)
            capped = np.minimum(error, scale.high - scale.low)
            lowers, uppers = (tuple(map(float, one)) for one in ends)
            found[name] = Column(tuple(map(float, means)), tuple(map(float, capped)), lowers, uppers)
        keys = {name: tuple(row[name] for row in given) for name in (given[0] if given else {})}
        return self.paid.answer(keys, found, {}, *self.remarks)

    def _variables(self, rows: Sequence[Mapping[str, Value]]) -> Iterator[dict[str, float | int]]:
        """The value of every variable in every row: a number between its bounds, or the place of a level."""
        for row in rows:
            found: dict[str, float | int] = {}
            for one in self.formula.variables:
                value = evaluate_given(one, row)
                name = str(one)
                if one in self.formula.categories:
                    levels = list(self.matrix.levels[name])
                    if value not in levels:
                        raise ParameterError(
                            f"{bare(name)} is one of {', '.join(map(label, levels[:10]))}; a row has another value."
                        )
                    found[name] = levels.index(value)
                elif isinstance(value, (int, float, Fraction)) and not math.isnan(value):
                    scale = self.matrix.numbers[name]
                    found[name] = min(max(float(value), scale.low), scale.high)
                else:
                    raise ParameterError(f"{bare(name)} is a number; a row to predict for has none.")
            yield found

    @called_as('"debt ~ age"')
    def regress(self, formula: str) -> Regression:
        """Another model whose products were all paid for by this one, over the same rows: free."""
        return conclude(self.asked_of, formula, self.matrix, self.paid, self.at)

    def to_pandas(self) -> pandas.DataFrame:
        """The coefficients as a pandas DataFrame."""
        return self.coefficients.to_pandas()

    def rows(self) -> list[dict[str, Value]]:
        """The coefficients, a dictionary for each."""
        return self.coefficients.rows()

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Coefficients but the intercept with their intervals, in units of half a column's range; needs matplotlib."""
        return _draw({None: self}, ax, title or str(self.formula))

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for one, value, error in zip(self.columns, self.fit.coefficients, self.fit.errors, strict=True):
            known, half = math.isfinite(error), self.fit.factor * error
            places = decimals(error if known else abs(value) / 5)
            ends = [figure(float(value - half), places), figure(float(value + half), places)]
            rows.append(
                [
                    one.label,
                    figure(float(value), places),
                    figure(float(error), places) if known else "?",
                    *(ends if known else ["?", "?"]),
                ]
            )
        return ["term", "coefficient", "std error", "lower", "upper"], rows

    def _heads(self) -> list[str]:
        about = "about " if self.fit.rows_error or self.matrix.weighed else ""
        n = f"{about}{figure(round(self.n))} rows{', weighed' if self.matrix.weighed else ''}"
        sure = f" ± {1.96 * self.fit.explained_error:.2f}" if self.supported and self.fit.explained_error < 0.5 else ""
        return [
            str(self.formula),
            f"{n}, R^2 {self.r2:.3f}{sure}, residual standard deviation {figure(self.residual, decimals(self.residual / 50))}",
        ]

    def _notes(self) -> list[str]:
        says = "Intervals (95 %) hold sampling, with errors of equal variance, and privacy noise; numbers are clamped to bounds."
        if self.formula.share:
            says += (
                " The response is a truth value: this is a model of its share, whose errors have nearly equal variance at best."
            )
        asked = replace(self.coefficients, outputs={"coefficient": Column((0.0,) * len(self.columns))})
        return [*([says] if self.supported else []), *rendering.notes(asked)]

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([*self._heads(), text_table(headers, rows, "<>>>>"), *self._notes()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, "<>>>>", notes=[*self._heads(), *self._notes()])


class Regressions(dict[Value, Regression]):
    """A model for every level of a category."""

    def to_pandas(self) -> pandas.DataFrame:
        """All coefficients, with the level in front."""
        import pandas

        return pandas.concat({label(level): one.to_pandas() for level, one in self.items()}, names=["level"]).reset_index(level=0)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Coefficients of all levels beside each other; needs matplotlib."""
        return _draw(self, ax, title or str(next(iter(self.values())).formula))

    def __str__(self) -> str:
        return "\n\n".join(f"{label(level)}: {one}" for level, one in self.items())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{label(level)}</h4>{one._repr_html_()}" for level, one in self.items())


@dataclass(frozen=True)
class RegressionAsked(ProductsAsked[Regression | Regressions]):
    """A linear model that is asked for."""

    formula: Formula
    by: Expression | None = None

    def serves(self, weighed: Sequence[Expression]) -> bool:
        """Models of all that decides over weights do: what is linear in other columns need not be so in rows that are weighed."""
        return {*weighed} <= {*self.formula.variables}

    def conclude(self, matrix: Matrix, paid: Paid) -> Regression | Regressions:
        if self.by is None:
            return conclude(self.rows, self.formula, matrix, paid)
        name = str(self.by)
        return Regressions(
            (level, conclude(self.rows, self.formula, matrix, paid, ((name, place),)))
            for place, level in enumerate(matrix.levels[name])
        )

    def __str__(self) -> str:
        by = "" if self.by is None else f" by {bare(str(self.by))}"
        return f"regression {self.formula}{by}, of {self.rows.rows.source}"


def conclude(
    rows: Question, formula: Formula | str, matrix: Matrix, paid: Paid, at: tuple[tuple[str, int], ...] = ()
) -> Regression:
    """A model from noisy sums: free."""
    if not isinstance(formula, Formula):
        formula = read_formula(rows, formula)
    strange = [spell(str(one)) for one in (formula.response, *formula.variables) if str(one) not in matrix.names]
    if strange:
        raise ParameterError(
            f"{strange[0]} is not in what was paid for ({', '.join(map(spell, matrix.names))}); ask the curator."
        )
    if str(formula.response) in matrix.weighed:
        raise ParameterError(f"{spell(str(formula.response))} decides here how much a row weighs; ask regress() of the curator.")
    columns = formula.columns(matrix.levels)
    lacking = [one for one in _weights(columns, str(formula.response), at) if one not in matrix.sums]
    if lacking:
        raise ParameterError(
            f"These moments do not hold the {describe(lacking[0])}, which the model needs; ask regress() of the curator."
        )
    return Regression(formula, columns, fit(matrix, columns, str(formula.response), at), matrix, paid, rows, at)


@called_as('"debt ~ age + ward", epsilon=1')
def regress(
    rows: Question,
    formula: str,
    *,
    by: str | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Regression | Regressions | Analysis[Regression | Regressions]:
    """A linear model of a response: coefficients with intervals that hold sampling and noise. ``by``: one for every level."""
    model = read_formula(rows, formula)
    group = None if by is None else rows.read(by)
    chosen = [model.response, *(one for one in model.variables if one not in model.categories)]
    categories = [one for one in model.variables if one in model.categories]
    if group is not None and group in (*chosen, *categories):
        raise ParameterError(f"{bare(str(group))} cannot both divide the rows and be in the model; leave it out of one of them.")
    everything = (*categories, *([] if group is None else [group]))
    blank = RegressionAsked(rows, tuple(chosen), everything, (), model, group).checked()
    simple = all(len([one for one in term if one not in model.categories]) < 3 for term in model.terms)
    if group is None and simple and len(chosen) - 1 >= FEWEST:  # of longer products engines' numbers overflow
        blank = replace(blank, weighed=tuple(chosen[1:]))
    at = () if group is None else ((str(group), 0),)
    weights = _weights(model.columns(blank.levels), str(model.response), at)
    return replace(blank, weights=tuple(weights.items())).settle(epsilon, rho, accuracy, at_least)


def _weights(columns: Sequence[Designed], response: str, at: tuple[tuple[str, int], ...]) -> dict[Product, Fraction]:
    """The products that a model needs, and how much each matters to its predictions."""
    one, last = Cell((), at), Cell((response,), at)
    cells = list(dict.fromkeys([one, *(Cell(cell.of, (*cell.at, *at)) for column in columns for cell in column.cells)]))
    count = len(cells) - 1
    found: dict[Product, Fraction] = {}

    def need(a: Cell, b: Cell, weight: Fraction | int) -> None:
        product = a.product.times(b.product)
        found[product] = max(found.get(product, Fraction(0)), Fraction(weight))

    need(one, one, 1 + Fraction(count, 6))
    need(one, last, 2 + Fraction(count, 3))
    need(last, last, Fraction(1, 3))
    for cell in cells[1:]:
        need(one, cell, Fraction(3, 4))
        need(cell, last, 3)
    for a, b in itertools.combinations_with_replacement(cells[1:], 2):
        if not any(level != dict(a.at).get(name, level) for name, level in b.at):
            need(a, b, _HALF + Fraction(3 if a == b else 1, 2 * count))
    return found


def _draw(models: Mapping[Value, Regression], ax: Axes | None, title: str) -> Axes:
    """Coefficients but the intercept with their intervals, a colour for every model; a dotted line where nothing is known."""
    ax = new_axes(ax)
    first = next(iter(models.values()))
    shown = [i for i, one in enumerate(first.columns) if one.numbers or one.at]
    scales = first.matrix.numbers
    sizes = np.array([math.prod((scales[name].high - scales[name].low) / 2 for name in first.columns[i].numbers) for i in shown])
    step = 0.8 / len(models)
    for k, (level, model) in enumerate(models.items()):
        places = np.arange(len(shown)) + (k - (len(models) - 1) / 2) * step
        colour = f"C{k % 10}" if len(models) > 1 else BLUE
        values, halves = model.fit.coefficients[shown] * sizes, model.fit.factor * model.fit.errors[shown] * sizes
        known = np.isfinite(halves)
        name = None if level is None else label(level)
        ax.errorbar(values[known], places[known], xerr=halves[known], fmt="o", color=colour, capsize=3, label=name)
        for value, place in zip(values[~known], places[~known], strict=True):
            ax.axhline(place, color=colour, linestyle=":", linewidth=0.8)
            ax.plot([value], [place], "o", markerfacecolor="white", color=colour)
        if not known.all() and not k:
            ax.plot([], [], "o:", markerfacecolor="white", color=GREY, label="nothing is known")
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_yticks(range(len(shown)), [first.columns[i].label for i in shown])
    ax.invert_yaxis()
    ax.set_xlabel(f"change of {first.formula.explained}, by half a range")
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False)
    return finish(ax, title)


def _ends(values: Reals, half: Reals) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return tuple(map(float, values - half)), tuple(map(float, values + half))


def _value(column: Designed, row: Mapping[str, float | int]) -> float:
    """A column of the design in one row."""
    inside = all(row[name] == level for name, level in column.at)
    return math.prod(row[name] for name in column.numbers) if inside else 0.0
