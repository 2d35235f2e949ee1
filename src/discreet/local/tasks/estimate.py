"""Shares of all who reported, estimated without bias, with their standard errors.

An estimate may lie below 0 or above 1: that is what makes it unbiased, and sums and averages of estimates right. ``consistent()``
gives shares that are none of both, for showing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from discreet.arrays import Integers, Number, Reals
from discreet.exact import probability
from discreet.local.domains.categorical import Item
from discreet.local.protocols.base import Rates
from discreet.local.result import Cells, Result, normal_factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Estimate", "norm_sub"]

_SHOWN = 20
_LATTICE = 1 / 32  # of a squared report: counts are whole, and a variance far below that of rounding is none


@dataclass(frozen=True, eq=False)
class Estimate(Result):
    """One share a value, in the order of the domain (or of the candidates).

    ``values``, ``standard_error`` and ``interval`` are about the people whose reports were counted.
    """

    items: Sequence[Item]
    values: Reals
    standard_error: Reals
    count: int
    complete: bool = True  # whether everybody has one of these values, so that the shares add up to 1
    _rates: Rates = field(repr=False, kw_only=True)
    align = "<>>>>"

    @classmethod
    def of(cls, items: Sequence[Item], support: Integers, count: int, rates: Rates, *, complete: bool = True) -> Estimate:
        """The estimate for these numbers of supporting reports among ``count``."""
        values = (support / count - rates.lie) / rates.gain
        likely = np.clip(values, 0.0, 1.0)
        variance = likely * (rates.truth * (1 - rates.truth)) + (1 - likely) * (rates.lie * (1 - rates.lie))
        return cls(items, values, np.sqrt(variance / count) / rates.gain, count, complete, _rates=rates)

    def __getitem__(self, item: Item) -> float:
        try:
            return float(self.values[self.items.index(item)])
        except ValueError:
            raise KeyError("This value is not among those that were estimated.") from None

    def to_dict(self) -> dict[Item, float]:
        """Value to share."""
        return dict(zip(self.items, self.values.tolist(), strict=True))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Lower and upper ends that cover each share with this probability, one share at a time.

        The share is that of the people whose reports were counted: k of n have the value, and the number C of supporting reports
        is a sum of two binomials, of k with probability p and n - k with q. The ends are the score interval with the correction
        of half a report: all f with |C - E_f| - 1/2 <= z sqrt(Var_f + 1/32), where the last term only matters where C hardly
        varies. At 95 % the exact coverage is at least 0.95 over 12,000 settings of n, k, p and q, and 0.94 is held to by the
        tests and by ``benchmarks/local.py``; where many reported, it is as narrow as the normal interval.
        """
        z, rates, people = normal_factor(confidence), self._rates, self.count
        unit = z * z / (people * rates.gain**2)
        still = unit * (rates.lie * (1 - rates.lie) + _LATTICE / people)
        slope = unit * (rates.truth * (1 - rates.truth) - rates.lie * (1 - rates.lie))
        low, high = (self.values + side * 0.5 / (people * rates.gain) for side in (-1, 1))
        lower = np.minimum(low, low + slope / 2 - np.sqrt(np.maximum(slope * slope / 4 + slope * low + still, 0.0)))
        upper = np.maximum(high, high + slope / 2 + np.sqrt(np.maximum(slope * slope / 4 + slope * high + still, 0.0)))
        # The variance is a square of nothing below 0 and above 1: where these shares fit the count, the interval holds them.
        lower = np.where(low <= math.sqrt(max(still, 0.0)), np.minimum(lower, 0.0), lower)
        upper = np.where(1 - high <= math.sqrt(max(still + slope, 0.0)), np.maximum(upper, 1.0), upper)
        return lower, upper

    def consistent(self) -> Reals:
        """Shares of at least 0 that add up to 1 (at most 1 for some candidates of an open domain): Norm-Sub.

        Free, and far nearer to the truth in large domains; but no longer unbiased.
        """
        return norm_sub(self.values, exactly=self.complete)

    def influence(self, hostile: Number = 0.01) -> float:
        """How far this share of hostile clients among the senders can move one value's estimate."""
        return float(probability("hostile", hostile, zero=True, hint="a share such as 0.01")) * self._rates.influence

    def columns(self) -> dict[str, list[object]]:
        """item, share, standard_error, lower, upper, consistent."""
        low, high = self.interval()
        numbers = {"share": self.values, "standard_error": self.standard_error, "lower": low, "upper": high}
        listed = {name: column.tolist() for name, column in (numbers | {"consistent": self.consistent()}).items()}
        return {"item": list(self.items), **listed}

    def _cells(self) -> Cells:
        """The largest shares, as text."""
        (low, high), tidy = self.interval(), self.consistent()
        order = np.argsort(-self.values, kind="stable")[:_SHOWN]
        worst = float(self.standard_error[order].min())
        places = min(max(0, 1 - math.floor(math.log10(100 * worst))), 9) if worst > 0 else 2
        numbers = [(self.values[i], low[i], high[i], tidy[i]) for i in order]
        rows = [[str(self.items[i]), *(f"{100 * x:.{places}f}" for x in row)] for i, row in zip(order, numbers, strict=True)]
        notes = [f"Percent of the {self.count:,} people who reported; 95 % intervals, one at a time."]
        if len(self.items) > _SHOWN:
            notes.append(f"The {_SHOWN} largest of {len(self.items):,} values; to_pandas() has all.")
        notes.append(f"If 1 % of the senders were hostile, they could move a share by {100 * self.influence():.2g} points.")
        return ["value", "%", "from", "to", "consistent"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The largest shares as bars with their 95 % intervals."""
        from discreet.local.chart import plot

        return plot(self, ax)


def norm_sub(values: Reals, *, exactly: bool = True) -> Reals:
    """The nearest shares of at least 0 that add up to 1 (to at most 1 unless ``exactly``): all lowered alike, then cut at 0.

    >>> norm_sub(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    positive = np.maximum(values, 0.0)
    if not exactly and positive.sum() <= 1:
        return positive
    below = values - values.max()  # lowering all alike first loses no digits of the rest, however large they are
    falling = -np.sort(-below)
    excess = (np.cumsum(falling) - 1) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    lowered: Reals = np.maximum(below - excess[last], 0.0)
    return lowered
