"""Square tables of numbers with their errors, such as correlations, and the principal components of one."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Reals
from discreet.canvas import finish, new_axes
from discreet.display import decimals, figure, html_table, text_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

_NORMAL = 1.959964


@dataclass(frozen=True, repr=False, eq=False)
class Square:
    """A symmetric table of numbers, with standard errors and the ends of 95 % intervals of each; the same names on both sides."""

    title: str
    names: tuple[str, ...]
    values: Reals
    errors: Reals
    lower: Reals
    upper: Reals
    notes: tuple[str, ...] = ()

    def __getitem__(self, pair: tuple[str, str]) -> float:
        """The number of two names."""
        return float(self.values[self._place(pair)])

    def interval(self, one: str, other: str) -> tuple[float, float]:
        """The 95 % interval of the number of two names."""
        place = self._place((one, other))
        return float(self.lower[place]), float(self.upper[place])

    def _place(self, pair: tuple[str, str]) -> tuple[int, int]:
        if not isinstance(pair, tuple) or len(pair) != 2 or not {*pair} <= {*self.names}:
            raise KeyError(f'This table has a number for every two of {", ".join(self.names)}; write table["a", "b"].')
        return self.names.index(pair[0]), self.names.index(pair[1])

    def to_pandas(self) -> pandas.DataFrame:
        """The numbers as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.values, index=list(self.names), columns=list(self.names))

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """A heat map; needs matplotlib."""
        ax = new_axes(ax, square=True)
        most = float(np.max(np.abs(self.values))) or 1.0
        ax.imshow(self.values, cmap="RdBu_r", vmin=-most, vmax=most)
        places = range(len(self.names))
        ax.set_xticks(list(places), list(self.names), rotation=45, ha="right")
        ax.set_yticks(list(places), list(self.names))
        for i, j in itertools.product(places, places):
            ax.text(j, i, f"{self.values[i, j]:.2g}", ha="center", va="center", fontsize=8)
        return finish(ax, title or self.title)

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = []
        for i, name in enumerate(self.names):
            cells = []
            for j in range(len(self.names)):
                value, half = float(self.values[i, j]), float(self.upper[i, j] - self.lower[i, j]) / 2
                places = decimals(half)
                cells.append(f"{figure(value, places)} ± {figure(half, places)}" if half else figure(value))
            rows.append([name, *cells])
        return [self.title, *self.names], rows

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([text_table(headers, rows, "<" + ">" * len(self.names)), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, "<" + ">" * len(self.names), notes=self.notes)


@dataclass(frozen=True, repr=False, eq=False)
class Components:
    """Principal components of a correlation or covariance matrix: eigenvalues, their shares of the variance, and loadings."""

    names: tuple[str, ...]
    variances: Reals  # the largest first
    errors: Reals  # standard errors of the eigenvalues, from noise
    loadings: Reals  # a row for every name, a column for every component
    notes: tuple[str, ...] = ()

    @property
    def shares(self) -> Reals:
        """Of the whole variance."""
        whole = float(self.variances.sum())
        return self.variances / whole if whole else np.zeros_like(self.variances)

    def to_pandas(self) -> pandas.DataFrame:
        """The loadings as a pandas DataFrame."""
        import pandas

        names = [f"component {i + 1}" for i in range(len(self.names))]
        return pandas.DataFrame(self.loadings, index=list(self.names), columns=names)

    def plot(self, ax: Axes | None = None, *, title: str | None = None) -> Axes:
        """The share of every component; needs matplotlib."""
        ax = new_axes(ax)
        whole = float(self.variances.sum()) or 1.0
        ax.bar(range(1, len(self.names) + 1), self.shares, yerr=_NORMAL * self.errors / whole, capsize=3)
        ax.set_xlabel("component")
        ax.set_ylabel("share of the variance")
        return finish(ax, title or "Principal components")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        count = min(len(self.names), 6)
        headers = ["", *(f"component {i + 1}" for i in range(count))]
        rows = [["variance", *(f"{self.variances[i]:.4g} ± {_NORMAL * self.errors[i]:.2g}" for i in range(count))]]
        rows.append(["share", *(f"{self.shares[i]:.1%}" for i in range(count))])
        rows += [[name, *(f"{self.loadings[k, i]:.3f}" for i in range(count))] for k, name in enumerate(self.names)]
        return headers, rows

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([text_table(headers, rows, "<" + ">" * len(headers[1:])), *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, "<" + ">" * len(headers[1:]), notes=self.notes)
