"""The mean of all who reported, without bias, with its standard error.

The standard error comes from the spread of the reports, so it holds the noise and the differences between people: right for the
population of which they are a sample, a little cautious for these people alone. It is never less than the noise that the protocol
is known to have, for few reports may agree by chance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.arrays import Number
from discreet.exact import probability
from discreet.local.domains.scale import Scale
from discreet.local.protocols.numbers.base import MeanProtocol
from discreet.local.result import Cells, Result, normal_factor
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
    _protocol: MeanProtocol = field(repr=False, kw_only=True)
    _place: float = field(repr=False, kw_only=True)
    align = ">>>"

    @classmethod
    def of(cls, scale: Scale, protocol: MeanProtocol, place: float, error: float, count: int) -> MeanEstimate:
        """The estimate at a place between the bounds, with its standard error as a part of their distance."""
        return cls(scale.value(place), error * scale.width, count, _scale=scale, _protocol=protocol, _place=place)

    def __float__(self) -> float:
        return self.value

    def interval(self, confidence: Number = 0.95) -> tuple[float, float]:
        """Ends that cover the mean with this probability."""
        error = self.standard_error / self._scale.width
        low, high = self._protocol.interval(self._place, error, self.count, normal_factor(confidence))
        return self._scale.value(low), self._scale.value(high)

    def consistent(self) -> float:
        """The estimate moved into the bounds: free, but no longer unbiased."""
        return min(max(self.value, float(self._scale.lower)), float(self._scale.upper))

    def influence(self, hostile: Number = 0.01) -> float:
        """How far this share of hostile clients among the senders can move the estimate."""
        share = float(probability("hostile", hostile, zero=True, hint="a share such as 0.01"))
        return share * self._protocol.reach * self._scale.width

    def columns(self) -> dict[str, list[object]]:
        """One row: mean, standard_error, lower, upper, consistent."""
        low, high = self.interval()
        numbers = {"mean": self.value, "standard_error": self.standard_error, "lower": low, "upper": high}
        return {name: [number] for name, number in (numbers | {"consistent": self.consistent()}).items()}

    def _cells(self) -> Cells:
        places = decimals(self.standard_error)
        notes = [
            f"Mean of the {self.count:,} people who reported, clamped to the declared bounds; 95 % interval.",
            f"If 1 % of the senders were hostile, they could move it by {self.influence():.2g}.",
        ]
        return ["mean", "from", "to"], [[figure(x, places) for x in (self.value, *self.interval())]], notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The mean with its 95 % interval, between the declared bounds."""
        from discreet.canvas import BLUE, finish, new_axes

        axes, (low, high) = new_axes(ax), self.interval()
        arms = [[self.value - low], [high - self.value]]
        axes.errorbar([self.value], [0], xerr=arms, fmt="o", color=BLUE, ecolor="#222222", capsize=4)
        axes.axvspan(float(self._scale.lower), float(self._scale.upper), color=BLUE, alpha=0.08)
        axes.set_yticks([])
        axes.set_xlabel("mean, with its 95 % interval; shaded: the declared bounds")
        return finish(axes, f"Mean from {self.count:,} randomised reports")
