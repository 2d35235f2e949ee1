"""Which words are common: found prefix by prefix from the counts, and measured at every length that shows them whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from discreet.local.prefixes import Prefixes, hashed
from discreet.local.result import Cells, Result, normal_factor
from discreet.local.spelling import Spelling
from discreet.mechanisms.values import Number
from discreet.noise.lazy import Integers, Reals

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Hitters", "find", "threshold_factor"]

_MISS = 0.05  # chance that any word which nobody has passes a level


@dataclass(frozen=True, eq=False)
class Hitters(Result):
    """The words found, the most common first, with the share of people who have each.

    They were found and measured by the same reports: a word that has just passed looks somewhat more common than it is.
    """

    items: tuple[str, ...]
    values: Reals
    standard_error: Reals
    count: int
    threshold: float
    """Words with a smaller share are lost in the noise."""
    align = "<>>>"

    def __getitem__(self, word: str) -> float:
        if word not in self.items:
            raise KeyError("This word was not found; it may be less common than the threshold.")
        return float(self.values[self.items.index(word)])

    def to_dict(self) -> dict[str, float]:
        """Word to share."""
        return dict(zip(self.items, self.values.tolist(), strict=True))

    def interval(self, confidence: Number = 0.95) -> tuple[Reals, Reals]:
        """Ends that cover each share with about this probability, one at a time."""
        arm = normal_factor(confidence) * self.standard_error
        return self.values - arm, self.values + arm

    def columns(self) -> dict[str, list[object]]:
        """item, share, standard_error, lower, upper."""
        low, high = self.interval()
        numbers = {"share": self.values, "standard_error": self.standard_error, "lower": low, "upper": high}
        return {"item": list(self.items), **{name: column.tolist() for name, column in numbers.items()}}

    def _cells(self) -> Cells:
        low, high = self.interval()
        rows = [
            [word, *(f"{100 * x:.2f}" for x in numbers)]
            for word, *numbers in zip(self.items, self.values, low, high, strict=True)
        ]
        notes = [f"Percent of the {self.count:,} people who reported; 95 % intervals, one at a time."]
        if self.threshold > 1:
            notes.append("There are too few reports to find any word, however common: ask more people, or allow more epsilon.")
        else:
            notes.append(f"Words with a share below about {100 * self.threshold:.2g} % are lost in the noise.")
        return ["word", "%", "from", "to"], rows, notes

    def plot(self, ax: Axes | None = None) -> Axes:
        """The largest shares as bars with their 95 % intervals."""
        from discreet.local.chart import plot

        return plot(self, ax)


def threshold_factor(candidates: int) -> float:
    """So many standard errors that, of ``candidates`` prefixes which nobody has, any passes with a chance of 5 % at most."""
    return NormalDist().inv_cdf(1 - _MISS / max(candidates, 1))


def find(protocol: Prefixes, spelling: Spelling, most: int, tally: Integers, count: int) -> Hitters:
    """Extend the prefixes that stand out, level by level; a word counts at every level at which it has ended."""
    prefixes = np.zeros((1, 0), dtype=np.int64)
    # Where a word is whole, levels are weighted by one over the variance of a rare word: the sums of the weighted shares, of the
    # weights, and of squared weights times what reports and other words in the cell add to the variance.
    sums = np.zeros((1, 4))
    rates, threshold = protocol.inner.rates, 0.0
    for level in range(1, protocol.levels + 1):
        grown = spelling.extended(prefixes)
        parents = {prefix.tobytes(): place for place, prefix in enumerate(prefixes)}
        origin = np.array([parents[row[:-1].tobytes()] for row in grown], dtype=np.int64)
        shares, people, crowd = _level(protocol, level, tally)
        variance = rates.variance(1 / protocol.size) / people + crowd if people else math.inf
        found = shares[hashed(grown, level, protocol.size)]
        line = threshold_factor(len(grown)) * math.sqrt(variance)
        threshold = max(threshold, line)
        whole = (grown[:, -1] == 0) if level < protocol.levels else np.ones(len(grown), dtype=np.bool_)
        best = np.argsort(-found, kind="stable")[:most]
        kept = best[found[best] > line]
        gain = np.where(whole & (people > 0), 1 / variance, 0.0)
        more = np.column_stack([gain * found, gain, gain**2 / max(people, 1), gain**2 * crowd])
        prefixes, sums = grown[kept], (sums[origin] + more)[kept]
        if not len(prefixes):
            break
    prefixes, sums = prefixes[sums[:, 1] > 0], sums[sums[:, 1] > 0]
    weighted, weights, reports, others = sums.T
    values = weighted / weights
    likely = np.clip(values, 0.0, 1.0)
    coins = np.array([rates.variance(share) for share in likely]) * reports
    drawn = likely * (1 - likely) * np.maximum(reports - weights**2 / max(count, 1), 0.0)  # a level sees some of the people only
    errors = np.sqrt(coins + drawn + others) / weights
    order = np.argsort(-values, kind="stable")
    words = [spelling.text(row) for row in prefixes]
    return Hitters(tuple(words[place] for place in order), values[order], errors[order], count, threshold)


def _level(protocol: Prefixes, level: int, tally: Integers) -> tuple[Reals, int, float]:
    """Of one level: the shares of the hashed cells, freed of what other words bring into a cell; the people; and the variance
    which those other words add."""
    inner, cells = protocol.inner, protocol.size
    part = tally[(level - 1) * inner.cells : level * inner.cells]
    people = int(part.sum())
    if people == 0:
        return np.zeros(cells), 0, 0.0
    rates = inner.rates
    raw = (inner.support(part) / people - rates.lie) / rates.gain
    noise = rates.variance(1 / cells) / people
    crowd = min(max(float(raw @ raw) - cells * noise, 0.0), 1.0)  # sum of the squared shares of all prefixes
    return np.asarray((cells * raw - 1) / (cells - 1)), people, crowd / cells
