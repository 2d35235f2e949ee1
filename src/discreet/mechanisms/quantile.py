"""A quantile, by private selection among the cells of a public grid.

Let n be the number of values (or the sum of their weights), and for a cell v let lt(v) be how many lie below it and le(v) how
many below or in it. The share-quantile is a cell with lt(v) <= T <= le(v), T = share * n, and any other cell misses it by

    loss(v) = max(lt(v) - T, T - le(v), 0)      rows.

**Sensitivity.** When one value is added or removed, lt(v) - T and T - le(v) each move by at most max(share, 1 - share), so loss
does; when one is replaced by another, by at most 1. For a person whose values weigh at most ``weight`` together it is ``weight``
times that.

**Theorem** (McSherry and Talwar 2007; Smith 2011 for quantiles). The exponential mechanism (or permute-and-flip) on -loss is
epsilon-private for these neighbours, and with probability at least 1 - b the chosen cell misses by at most ln(cells / b) / w, w =
epsilon / (2 sensitivity): a bound in rows, whatever the data.

**An interval.** Aim ``offset`` rows below T. If the cell L that wins misses by less than the offset, then lt(L) < T, and L is not
above the quantile; likewise from the other side. So that there is always a cell that misses by nothing, twice ``offset``
public values are imagined in the first cell and in the last; they are the same for every data set and change no difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numpy as np

from discreet.arrays import Integers, Number
from discreet.errors import ParameterError
from discreet.exact import positive, probability, whole
from discreet.mechanisms.base import Mechanism, Moved, Recording, let_out
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, move_contests
from discreet.mechanisms.values import Histograms, Table
from discreet.privacy import Privacy
from discreet.schema.sensitivity import Neighbours

_FINEST = 10**4  # a share has at most four decimal places, so that losses stay whole numbers below 2^62


@dataclass(frozen=True, init=False)
class Quantile(Mechanism):
    """Chooses the cell of a histogram where a share of the values lies below.

    >>> median = Quantile(share=0.5, epsilon=50)
    >>> int(median.release(np.array([[0, 100, 900, 100]]))[0])
    2
    """

    share: Fraction
    weight: int
    side: int
    selection: Exponential | PermuteAndFlip = field(repr=False)

    def __init__(
        self,
        *,
        share: Number,
        epsilon: Number,
        weight: int = 1,
        side: int = 0,
        concentrated: bool = False,
        neighbours: Neighbours = "add-remove",
    ) -> None:
        """``side``: -1 or 1 for the lower or upper end of an interval. ``concentrated``: the law that costs least rho."""
        exact = probability("share", share, zero=False, hint="0.5 for the median")
        if exact.denominator > _FINEST:
            raise ParameterError(f"A share may have at most four decimal places; write {round(float(exact), 4)}.")
        moved = max(exact.numerator, exact.denominator - exact.numerator) if neighbours == "add-remove" else exact.denominator
        sensitivity = whole("weight", weight) * moved
        law = Exponential if concentrated else PermuteAndFlip
        selection = law(sensitivity=sensitivity, epsilon=positive("epsilon", epsilon, "a number such as 0.5"))
        self._fill(share=exact, weight=weight, side=side, selection=selection)

    @property
    def privacy(self) -> Privacy:
        """Of one histogram, when one person, whose values in it weigh at most ``weight``, comes or goes (or is replaced)."""
        return self.selection.privacy

    def error(self, confidence: Number = 0.95, *, candidates: int) -> float:
        """With at least this probability the cell that is chosen misses the quantile by no more (in units of weight)."""
        return self.selection.error(confidence, candidates=candidates) / self.share.denominator

    def release(self, counts: Table | Secret[Table], confidence: Number = 0.975) -> Integers:
        """The cell chosen in every row of a table of counts.

        With ``side``, the end of an interval that holds the quantile with at least this ``confidence``.
        """
        table = open_secret(counts)

        def draw() -> Integers:
            return np.array([self.selection.release(scores) for scores in self.scores(table, confidence)], dtype=np.int64)

        return let_out(self, table, draw, confidence)

    def scores(self, table: Table, confidence: Number = 0.975) -> Iterator[Integers]:
        """What the cells of every row are chosen by: minus their losses, in parts of the share's denominator."""
        cells = table.width if isinstance(table, Histograms) else table.shape[1]
        offset, padding, most = self.limits(cells, confidence)
        for row in table:
            yield self._scores(np.minimum(row, most), offset, padding)

    def limits(self, cells: int, confidence: Number = 0.975) -> tuple[int, int, int]:
        """The offset and the padding of an interval's end, and the largest count: all public. Beyond it counts are cut off,
        which moves no two tables further apart, and keeps every number below 2^62."""
        scale = self.share.denominator
        offset = int(self.error(confidence, candidates=cells) * scale) + 2 if self.side else 0
        most = (2**61 - 4 * offset * scale) // (scale * cells)
        if most < 2**20:
            raise ParameterError("So small an epsilon, spread over so many cells, leaves no quantile; write a larger epsilon.")
        return offset, 2 * offset, most

    def _scores(self, row: Integers, offset: int, padding: int) -> Integers:
        """All in whole numbers: losses are multiplied by the share's denominator, and so are ``offset`` and ``padding``."""
        share, scale = self.share.numerator, self.share.denominator
        below_or_in = np.cumsum(row)
        aim = share * int(below_or_in[-1]) + self.side * offset + padding
        le = below_or_in * scale + padding
        lt = le - row * scale
        if padding:
            lt[0] = 0
            le[-1] += padding
        scores: Integers = -np.maximum(np.maximum(lt - aim, aim - le), 0)
        return scores

    @property
    def label(self) -> str:
        return self.selection.label

    def describe(self, *, unit: float = 1.0, times: int = 1) -> str:
        return self.selection.describe(unit=unit, times=times)

    def moved(self, before: Recording, after: Recording) -> Moved:
        """As far as the scores of its cells."""
        confidence = cast("Number", before.facts[0])
        one, other = (self.scores(cast("Table", held.value), confidence) for held in (before, after))
        return move_contests(self.selection, one, other)
