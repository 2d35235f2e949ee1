"""What a collector concludes from its reports: a table in a terminal and in a notebook, a data frame, a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

from discreet.arrays import Number
from discreet.errors import ParameterError
from discreet.exact import probability
from discreet.tables import html_table, text_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

__all__ = ["Cells", "Result", "normal_factor"]

Cells = tuple[list[str], list[list[str]], list[str]]


class Result(ABC):
    """A kind of estimate says what its columns are, and which cells and notes are for people."""

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
