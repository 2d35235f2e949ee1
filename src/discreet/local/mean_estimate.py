"""The mean of all who reported, without bias, with its standard error.

The standard error comes from the spread of the reports, so it holds the noise and the differences between people: right for the
population of which they are a sample, a little cautious for these people alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import probability
from discreet.local.outlook import normal_factor
from discreet.local.scale import Scale
from discreet.mechanisms.values import Number
from discreet.tables import html_table

if TYPE_CHECKING:
    import pandas

__all__ = ["MeanEstimate"]


@dataclass(frozen=True)
class MeanEstimate:
    """May lie outside the bounds: that is what makes it unbiased. ``consistent()`` never does."""

    value: float
    standard_error: float
    count: int
    _scale: Scale = field(repr=False, kw_only=True)
    _reach: float = field(repr=False, kw_only=True)

    def __float__(self) -> float:
        return self.value

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Ends that cover the mean with this probability, for more than a few dozen reports."""
        arm = normal_factor(confidence) * self.standard_error
        return self.value - arm, self.value + arm

    def consistent(self) -> float:
        """The estimate moved into the bounds: free, but no longer unbiased."""
        return min(max(self.value, float(self._scale.lower)), float(self._scale.upper))

    def influence(self, hostile: Number = 0.01) -> float:
        """How far this share of hostile clients among the senders can move the estimate."""
        return float(probability("hostile", hostile, zero=True, hint="a share such as 0.01")) * self._reach

    def to_pandas(self) -> pandas.DataFrame:
        """A data frame of one row: mean, standard_error, lower, upper, consistent."""
        try:
            import pandas
        except ImportError:
            raise ParameterError("to_pandas() needs pandas; run pip install pandas.") from None
        low, high = self.interval()
        columns = {"mean": [self.value], "standard_error": [self.standard_error], "lower": [low], "upper": [high]}
        return pandas.DataFrame({**columns, "consistent": [self.consistent()]})

    def _line(self) -> str:
        low, high = self.interval()
        places = min(max(0, 1 - math.floor(math.log10(self.standard_error))), 12) if self.standard_error > 0 else 6
        return f"{self.value:.{places}f}, 95 % interval {low:.{places}f} to {high:.{places}f}"

    def _notes(self) -> list[str]:
        return [
            f"Mean of the {self.count:,} people who reported, clamped to the declared bounds.",
            f"If 1 % of the senders were hostile, they could move it by {self.influence():.2g}.",
        ]

    def __str__(self) -> str:
        return "\n".join([self._line(), "", *self._notes()])

    def _repr_html_(self) -> str:
        return html_table(["mean"], [[self._line()]], notes=self._notes())
