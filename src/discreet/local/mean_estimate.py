"""The mean of all who reported, without bias, with its standard error.

The standard error comes from the spread of the reports, so it holds the noise and the differences between people: right for the
population of which they are a sample, a little cautious for these people alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.exact import probability
from discreet.local.result import Result, normal_factor
from discreet.local.scale import Scale
from discreet.mechanisms.values import Number
from discreet.tables import decimals, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MeanEstimate"]


@dataclass(frozen=True)
class MeanEstimate(Result):
    """May lie outside the bounds: that is what makes it unbiased. ``consistent()`` never does."""

    value: float
    standard_error: float
    count: int
    _scale: Scale = field(repr=False, kw_only=True)
    _reach: float = field(repr=False, kw_only=True)
    align = ">>>"

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

    def columns(self) -> dict[str, list[object]]:
        """One row: mean, standard_error, lower, upper, consistent."""
        low, high = self.interval()
        numbers = {"mean": self.value, "standard_error": self.standard_error, "lower": low, "upper": high}
        return {name: [number] for name, number in (numbers | {"consistent": self.consistent()}).items()}

    def _cells(self) -> tuple[list[str], list[list[str]], list[str]]:
        places = decimals(self.standard_error)
        notes = [
            f"Mean of the {self.count:,} people who reported, clamped to the declared bounds; 95 % interval.",
            f"If 1 % of the senders were hostile, they could move it by {self.influence():.2g}.",
        ]
        return ["mean", "from", "to"], [[figure(x, places) for x in (self.value, *self.interval())]], notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The mean with its 95 % interval, between the declared bounds."""
        from discreet.privacy.canvas import BLUE, finish, new_axes

        axes, arm = new_axes(ax), self.value - self.interval()[0]
        axes.errorbar([self.value], [0], xerr=[arm], fmt="o", color=BLUE, ecolor="#222222", capsize=4)
        axes.axvspan(float(self._scale.lower), float(self._scale.upper), color=BLUE, alpha=0.08)
        axes.set_yticks([])
        axes.set_xlabel("mean, with its 95 % interval; shaded: the declared bounds")
        return finish(axes, f"Mean from {self.count:,} randomised reports")
