"""Results: what a collector concludes from its reports (``Result``), and what to expect of them beforehand (``Plan``)."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, TypeVar

import numpy as np

from discreet.arrays import Number, Reals
from discreet.canvas import BLUE, finish, new_axes, stacked_axes
from discreet.display import clean, html_table, text_table
from discreet.errors import ParameterError
from discreet.exact import probability

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

Cells = tuple[list[str], list[list[str]], list[str]]
_MOST_BARS, _LONGEST_LABEL = 30, 40


class Result(ABC):
    """An estimate that prints as a table: a kind of it says what its columns are, and which cells and notes are for people."""

    align: ClassVar[str]

    @abstractmethod
    def columns(self) -> dict[str, list[object]]:
        """Everything with all digits, as in the data frame."""

    @abstractmethod
    def _cells(self) -> Cells:
        """Headers, rows and notes."""

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """A picture with 95 % intervals."""

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame with all digits; shares are fractions of 1."""
        try:
            import pandas
        except ImportError:
            raise ParameterError("to_pandas() needs pandas; run pip install pandas.") from None
        return pandas.DataFrame(self.columns())

    def __str__(self) -> str:
        headers, rows, notes = self._cells()
        return "\n".join([text_table(headers, rows, self.align), "", *notes])

    def _repr_html_(self) -> str:
        headers, rows, notes = self._cells()
        return html_table(headers, rows, self.align, notes=notes)


def normal_factor(confidence: Number) -> float:
    """How many standard errors an interval reaches to each side.

    >>> round(normal_factor(0.95), 2)
    1.96
    """
    wanted = probability("confidence", confidence, zero=False, hint="a number such as 0.95")
    return NormalDist().inv_cdf(float(1 + wanted) / 2)


@dataclass(frozen=True)
class Plan:
    """The expected quality and cost of ``n`` reports, from public facts alone. Print it."""

    n: int
    protocol: str
    parameters: dict[str, int]
    reason: str
    epsilon: float
    standard_error: float
    meaning: str
    """What the standard error is of, in words."""
    bits: float
    server: str
    influence: float
    """How far 1 % hostile clients can move the answer, in the unit of the standard error."""
    warnings: tuple[str, ...] = ()

    def _quality(self) -> list[list[str]]:
        return [
            ["standard error", f"{self.standard_error:.3g} {self.meaning}"],
            ["1 % hostile", f"move that by up to {self.influence:.3g}"],
        ]

    def _rows(self) -> list[list[str]]:
        said = ", ".join(f"{name} {number:,}" for name, number in self.parameters.items())
        return [
            ["protocol", f"{self.protocol} ({said})" if said else self.protocol],
            ["why", self.reason],
            ["privacy", f"epsilon {self.epsilon:.6g} a report, local and pure"],
            ["reports", f"{self.n:,} of {math.ceil(self.bits):,} bits"],
            ["server", self.server],
            *self._quality(),
        ]

    def __str__(self) -> str:
        lines = [f"{name:<15} {text}" for name, text in self._rows()]
        return "\n".join([*lines, *(f"WARNING: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._rows(), notes=[f"WARNING: {warning}" for warning in self.warnings])


Part = TypeVar("Part", Result, Plan)


class PerAttribute(dict[str, Part]):
    """The plan or the estimate of every attribute, by its name. Print it."""

    def __str__(self) -> str:
        return "\n\n".join(f"{clean(name)}\n{part}" for name, part in self.items())

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{html.escape(clean(name))}</h4>{part._repr_html_()}" for name, part in self.items())


class Estimates(PerAttribute[Result]):
    """The estimate of every attribute that anybody has reported."""

    def plot(self) -> list[Axes]:
        """A picture of every attribute, one below the other."""
        axes = stacked_axes(len(self))
        for ax, (name, part) in zip(axes, self.items(), strict=True):
            title = part.plot(ax).get_title(loc="left")
            ax.set_title(f"{clean(name)}: {title}".replace("$", r"\$"), loc="left", fontsize=11)
        return axes


def plot_shares(items: Sequence[object], values: Reals, ends: tuple[Reals, Reals], count: int, ax: Axes | None) -> Axes:
    """Bars with 95 % intervals, the largest share on top."""
    order = np.argsort(-values, kind="stable")[:_MOST_BARS]
    shares, (low, high) = 100 * values[order], (100 * end[order] for end in ends)
    ax = new_axes(ax)
    arms = np.maximum([shares - low, high - shares], 0.0)
    ax.barh(range(order.size), shares, xerr=arms, color=BLUE, ecolor="#222222", capsize=3)
    ax.set_yticks(range(order.size), [_shorten(str(items[i])) for i in order], fontsize=8)
    ax.invert_yaxis()
    ax.set_xlabel("percent, with 95 % intervals")
    kept = "" if order.size == len(items) else f", the largest {order.size} of {len(items):,}"
    return finish(ax, f"Shares from {count:,} randomised reports{kept}")


def _shorten(label: str) -> str:
    short = label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1]}…"
    return clean(short).replace("$", r"\$")  # a dollar would start a formula
