"""The shape of a number among all who reported: shares of bins, quantiles, and how far they can be trusted.

The estimate of the shape is smoothed and has no closed-form error: spikes narrower than a few bins come out lower and wider than
they are. Intervals of quantiles do not believe it: they come from the counts of reports, and hold for any shape. Intervals of the
shares of bins come from a bootstrap: the counts are drawn again from themselves, and the shape is found anew. That is after
privacy, so it is free; it shows the noise, not the bias of smoothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.exact import probability
from discreet.local.domains.scale import Scale
from discreet.local.protocols.numbers.square_wave import SquareWave
from discreet.local.result import Cells, Result, normal_factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DistributionEstimate", "quantiles_of"]

_REPLICATES = 200
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class DistributionEstimate(Result):
    """``values`` are the shares of the bins between ``edges``; they are at least 0 and add up to 1."""

    edges: Reals
    values: Reals
    count: int
    _tally: Integers = field(repr=False, kw_only=True)
    _wave: SquareWave = field(repr=False, kw_only=True)
    align = ">>>>"

    @classmethod
    def of(cls, scale: Scale, wave: SquareWave, tally: Integers, count: int) -> DistributionEstimate:
        """The estimate for these counts of cells."""
        edges = float(scale.lower) + np.linspace(0.0, 1.0, wave.bins + 1) * scale.width
        return cls(edges, wave.shares(tally.astype(np.float64)), count, _tally=tally.copy(), _wave=wave)

    @cached_property
    def _replicates(self) -> Reals:
        drawn = np.random.default_rng(0).multinomial(self.count, self._tally / self.count, size=_REPLICATES)  # after privacy
        return self._wave.shares(drawn.astype(np.float64))

    @property
    def standard_error(self) -> Reals:
        """Of every bin's share: bootstrap, noise only."""
        return np.asarray(self._replicates.std(axis=0, ddof=1))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Bootstrap ends for every bin's share, one at a time."""
        low, high = np.quantile(self._replicates, _ends(confidence), axis=0)
        return low, high

    def quantile(self, share: Number) -> float:
        """The number below which this share of the people are."""
        wanted = float(probability("share", share, zero=False, hint="a number such as 0.5"))
        return float(quantiles_of(self.values, self.edges, wanted))

    def quantile_interval(self, share: Number, confidence: Number = 0.95) -> tuple[float, float]:
        """Ends that cover a quantile of the people who reported with this probability, whatever the shape is.

        Nothing is smoothed: F(x), the share at or below a bin, is estimated without bias (``SquareWave.cumulative``). F never
        falls, so its mean over some bins that end at x is at most F(x), and over some that begin at x at least F(x): averaging
        errs on the safe side only. The ends are those of all bins which may hold the quantile, F(x - 1) < share <= F(x), by the
        normal law; they are edges of bins, and hold the smoothed estimate too.
        """
        wanted, z = float(probability("share", share, zero=False, hint="a number such as 0.5")), normal_factor(confidence)
        below, variance = self._wave.cumulative(self._tally.astype(np.float64))
        window, bins = self._wave.window_for(self.count, z), np.arange(below.size)
        nobody, everybody = np.zeros(window), np.ones(window)
        shares = np.cumsum(np.concatenate([[0.0], nobody, below, everybody])) / window
        squares = np.cumsum(np.concatenate([[0.0], nobody, variance, nobody])) / window**2
        here, next_one, after = bins, bins + window, bins + 2 * window
        least = shares[next_one] - shares[here] - z * np.sqrt(squares[next_one] - squares[here])  # F(x - 1) is not below this
        most = shares[after] - shares[next_one] + z * np.sqrt(squares[after] - squares[next_one])  # F(x) is not above this
        ends = int(np.flatnonzero(most >= wanted)[0]), int(np.flatnonzero(least < wanted)[-1])
        found = self.quantile(share)
        return min(found, float(self.edges[min(ends)])), max(found, float(self.edges[max(ends) + 1]))

    def mean(self) -> float:
        """The mean of the shape. ``dp.local.Mean`` measures it without bias."""
        return float(self.values @ (self.edges[:-1] + self.edges[1:]) / 2)

    def columns(self) -> dict[str, list[object]]:
        """from, to, share, and the bootstrap's standard_error, lower, upper."""
        low, high = self.interval()
        bins = {"from": self.edges[:-1], "to": self.edges[1:], "share": self.values}
        numbers = bins | {"standard_error": self.standard_error, "lower": low, "upper": high}
        return {name: column.tolist() for name, column in numbers.items()}

    def _cells(self) -> Cells:
        numbers = [(share, self.quantile(share), *self.quantile_interval(share)) for share in _QUANTILES]
        rows = [[f"{share:.0%}", *(f"{number:.6g}" for number in found)] for share, *found in numbers]
        notes = [
            f"Quantiles of the {self.count:,} people who reported, from a smoothed shape of {self._wave.bins:,} bins.",
            "95 % intervals that hold for any shape, spikes and all; quantile_interval says how.",
        ]
        return ["quantile", "value", "from", "to"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The shape with its bootstrap band."""
        from discreet.canvas import BLUE, finish, new_axes

        axes, (low, high) = new_axes(ax), self.interval()
        axes.stairs(100 * self.values, self.edges, color=BLUE)
        below, above = (np.append(100 * end, 100 * end[-1]) for end in (low, high))
        axes.fill_between(self.edges, below, above, step="post", alpha=0.25, color=BLUE)
        axes.set_xlabel("value")
        axes.set_ylabel("percent of people in a bin, bootstrap 95 %")
        return finish(axes, f"Shape from {self.count:,} randomised reports")


def quantiles_of(shares: Reals, edges: Reals, wanted: float) -> float:
    """Where the sum of the shares reaches ``wanted``, evenly inside a bin."""
    sums = np.concatenate([[0.0], np.cumsum(shares)])
    return float(np.interp(wanted, sums / sums[-1], edges))


def _ends(confidence: Number) -> list[float]:
    wanted = float(probability("confidence", confidence, zero=False, hint="a number such as 0.95"))
    return [(1 - wanted) / 2, (1 + wanted) / 2]
