"""Help with declarations: noisy histograms on public grids, and the declaration that they speak for.

A grid is a list of ascending tests, such as ``income <= 1000``: a row is in the cell whose number is how many of them fail. That
is a function of this row and of public facts, so a row is in one cell, and one protected unit moves a histogram as
``plan.statistics`` says of all histograms. Everything here is made of noisy cells, of their law, which is public, and of nothing
else: tails, shares and suggestions are free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.curator.answer import Answer, Column
from discreet.plan.cost import Cost
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import Frame
from discreet.plan.noises import Noise, reach
from discreet.plan.release import Additive, Release, Released, Spread
from discreet.plan.statistics import Histogram, list_axis

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_MISS = 0.05
_UNSEEN = 0.01
_MOST = 6  # noises that are added up one by one; the others count as one of their variance


@dataclass(frozen=True, repr=False)
class Advice:
    """A table of noisy cells, and what is suggested by them."""

    table: Answer

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a pandas DataFrame."""
        return self.table.to_pandas()

    def plot(self, output: str | None = None, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """Bars with 95 % intervals, of counts unless told; needs matplotlib."""
        return self.table.plot(output or next(iter(self.table.outputs)), ax, title=title)

    def __str__(self) -> str:
        return str(self.table)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


@dataclass(frozen=True)
class Cells(Additive):
    """Noise on every cell of a histogram that is called something."""

    label: str = ""

    @classmethod
    def of(cls, place: Expression, facts: Mapping[str, Facts], label: str) -> Cells:
        """The cells that ``place_of`` numbers."""
        axis = list_axis(place, infer(place, facts))
        assert axis is not None
        return cls(Histogram((axis,)), label=label)

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        return tuple(replace(one, label=self.label) for one in super().releases(frame, share))


def place_of(value: Expression, tests: Sequence[Expression]) -> Expression:
    """The number of the cell that a value is in: of ascending tests, how many do not hold; missing where the value is.

    Tests are halved, so that an engine compares every row a few times, however many cells there are.

    >>> from discreet.plan.expressions import Column
    >>> x = Column("x")
    >>> print(place_of(x, [Call("<=", (x, Literal(1))), Call("<=", (x, Literal(5)))]))
    CASE WHEN (x IS NULL) THEN NULL ELSE CASE WHEN (x <= 5) THEN CASE WHEN (x <= 1) THEN 0 ELSE 1 END ELSE 2 END END
    """

    def between(first: int, last: int) -> Expression:
        if first == last:
            return Literal(first)
        middle = (first + last) // 2
        return Call("case", (tests[middle], between(first, middle), between(middle + 1, last)))

    return Call("case", (Call("is_null", (value,)), Literal(None), between(0, len(tests))))


Interval = tuple[float, float, float]  # an estimate, and the ends of its interval


@dataclass(frozen=True)
class Line:
    """A sum of cells with its standard error, and its share of all cells; each with the ends of its interval."""

    count: Interval
    error: float
    share: Interval


@dataclass(frozen=True, eq=False)
class Counts:
    """The noisy cells of one histogram, and the law of their noise."""

    cells: Reals
    spread: Spread

    @classmethod
    def of(cls, released: Released) -> Counts:
        return cls(released.real.ravel(), released.release.spread)

    def half(self, weights: Reals, miss: float = _MISS) -> float:
        """The half-width of an interval of a weighted sum of cells."""
        sizes = np.sort(np.abs(weights[weights != 0]))[::-1].tolist()
        rest = (math.hypot(*sizes[_MOST:]),) if len(sizes) > _MOST else ()
        return _half(self.spread, (*sizes[:_MOST], *rest), miss)

    def total(self, weights: Reals, miss: float = _MISS) -> Interval:
        """A weighted sum of cells, of which none is negative."""
        found, half = float(weights @ self.cells), self.half(weights, miss)
        return max(found, 0.0), max(found - half, 0.0), max(found + half, 0.0)

    def everybody(self, miss: float = _MISS) -> Interval:
        """The sum of all cells."""
        return self.total(np.ones_like(self.cells), miss)

    def line(self, weights: Reals) -> Line:
        """A sum of cells, and its share of all."""
        found, half = float(weights @ self.cells), self.half(weights)
        error = self.spread.deviation * math.hypot(*weights.tolist())
        share = share_of(self.total(weights, _MISS / 2), self.everybody(_MISS / 2))
        return Line((found, found - half, found + half), error, share)

    @property
    def threshold(self) -> float:
        """What no noise exceeds in any cell, 99 % of the time."""
        return self.spread.half(1 - 2 * _UNSEEN / len(self.cells))

    def seen(self) -> NDArray[np.bool_]:
        """The cells in which more is than noise explains: none if all are empty, 99 % of the time."""
        return np.asarray(self.cells > self.threshold)


@lru_cache(maxsize=1024)
def _half(spread: Spread, weights: tuple[float, ...], miss: float) -> float:
    return float(reach([Noise(spread, np.full(1, weight)) for weight in weights], miss)[0]) if weights else 0.0


def share_of(part: Interval, whole: Interval) -> Interval:
    """One sum over another that it is a part of: intervals that miss half as often each make one that misses no more often than
    is said. Where noise explains the whole, nothing is known."""
    if not whole[1]:
        return math.nan, 0.0, 1.0
    return min(part[0] / whole[0], 1.0), min(part[1] / whole[2], 1.0), min(part[2] / whole[1], 1.0)


def as_columns(lines: Sequence[Line], what: str, mechanism: str) -> dict[str, Column]:
    """Counts and shares, a line each."""
    counts, lower, upper = zip(*(line.count for line in lines), strict=True)
    counted = Column(
        tuple(int(one) if one.is_integer() else one for one in counts),
        tuple(line.error for line in lines),
        lower,
        upper,
        mechanism,
    )
    shares, low, high = zip(*(line.share for line in lines), strict=True)
    return {what: counted, "share": Column(tuple(map(known, shares)), None, low, high, mechanism)}


def known(number: float) -> float | None:
    """A number, or None where nothing is known of it."""
    return None if math.isnan(number) else number


def percent(share: float) -> str:
    """A share in words.

    >>> percent(0.03141), percent(0.00004), percent(0.0)
    ('3.1 %', 'under 0.1 %', 'under 0.1 %')
    """
    return "under 0.1 %" if share < 0.001 else f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"
