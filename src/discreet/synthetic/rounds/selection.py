"""What is measured next: the marginal that the model gets most wrong, chosen privately (AIM).

The rule is that of McKenna, Mullins, Sheldon and Miklau (2022).

A candidate is a set of columns. Its score is w (|x - m|_1 - b): x its counts, m those of the model so far, b what noise alone
would leave of the first if it were measured, and w how much of what is wanted it says. One unit moves x by at most s in L1
norm, so that a score moves by at most s times the largest w, up or down, and is chosen by the exponential mechanism at that
sensitivity (``mechanisms.values.misfits``, ``mechanisms.selection``). It is then measured with noise, and the model fitted again.

The shares of the cost begin small. Where a measurement moved the model by no more than its noise explains, there is nothing left
to see at that noise, and the shares are multiplied by 4, half the noise (annealing). The last round has all that is left,
to the last unit. Rounds and sizes are limited by public facts; no clock decides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.synthetic.inference.tree import Columns, Tree
from discreet.synthetic.rounds.levels import Levels

Marginal = tuple[Columns, Columns]  # columns, and those of them that are counted by runs

WEIGHT = 2**8  # the largest w
_MOST_CANDIDATES = 1500
SELECTION = Fraction(1, 10)  # of a round
_OWN = Fraction(1, 3)  # of all, for every column's own counts: their errors are part of those of every marginal
_ANNEALED = 4
LOOKS = 15 * 2**20  # at two drawn rows, at one marginal: a million takes about a twentieth of a second
_PATIENT = 30  # seconds from which a fit has a prior
_ROUGH = 100  # steps that it begins with
_AIMED = 3  # times as much weighs what has a target


@dataclass(frozen=True)
class Limits:
    """What a fit may take: rounds, cells of the model and of one marginal, and steps of the descent in a round and at the end;
    looks at rows that are drawn of it, to balance them; and steps of a fit with a prior at the end, which is made of what a few
    steps without one find."""

    rounds: int
    cells: int
    marginal: int
    steps: int
    last: int
    looks: int
    shrunk: int = 0

    @classmethod
    def of(cls, seconds: Fraction, columns: int) -> Limits:
        """For about so many seconds of a processor: a public number, which no clock is asked about."""
        scale = float(seconds) / 15
        cells = int(min(max(150_000 * scale, 2_000), 4_000_000))
        steps = int(min(max(33 * math.sqrt(scale), 10), 200))
        last = int(min(max(500 * math.sqrt(scale), 50), 2_000))
        looks = int(min(LOOKS * scale * max(scale, 1.0), 2**40))  # where noise is the limit, drawn rows are what is left to mend
        shrunk = int(min(150 * math.sqrt(scale), 600)) if seconds >= _PATIENT else 0
        last = min(last, _ROUGH) if shrunk else last
        return cls(max(3 * columns, 12), cells, max(cells // 16, 256), steps, last, looks, shrunk)


@dataclass(frozen=True)
class Candidates:
    """The marginals among which one is chosen, and the weight of each."""

    weights: Mapping[Columns, int]

    @classmethod
    def of(cls, columns: int, workload: Sequence[Columns] | None, targets: Sequence[int]) -> Candidates:
        """Unless told by a workload, all pairs, and triples where they are few enough. A set weighs by how many columns it has in
        common with those that are wanted, and three times as much where it has a target."""
        sets = None if workload is None else {part for one in workload for part in _parts(one)}
        if sets is None:
            triples = math.comb(columns, 3) + math.comb(columns, 2) <= _MOST_CANDIDATES
            sets = {one for size in (2, 3)[: 1 + triples] for one in itertools.combinations(range(columns), size)}
            wanted: Sequence[Columns] = sorted(sets)
        else:
            wanted = list(workload or ())
        if len(sets) > 4 * _MOST_CANDIDATES:
            raise ParameterError(
                f"{len(sets):,} marginals are candidates, and at most {4 * _MOST_CANDIDATES:,} are compared; name fewer columns, "
                "or a smaller workload."
            )
        common = {
            one: float(sum(len({*one} & {*other}) for other in wanted)) if workload is not None else len(one) for one in sets
        }
        common = {one: found * (_AIMED if {*one} & {*targets} else 1) for one, found in common.items()}
        most = max(common.values(), default=1.0)
        return cls({one: max(1, round(WEIGHT * math.sqrt(common[one] / most))) for one in sorted(common)})

    def by_level(self, levels: Levels) -> list[Marginal]:
        """All of them by joined cells; and those with wide columns by runs of these too."""
        coarse = [(one, levels.coarse(one)) for one in self.weights]
        return [*((one, ()) for one in self.weights), *(one for one in coarse if one[1])]

    @staticmethod
    def within(some: Sequence[Marginal], levels: Levels, tree: Tree, limits: Limits, spent: Fraction) -> list[Marginal]:
        """Those that leave the model small enough: it grows with what is spent."""
        most = max(tree.cells, limits.cells * max(0.1, float(spent)))
        axes = [levels.axes_of(*one) for one in some]
        return [one for one, own in zip(some, axes, strict=True) if tree.holder(own) is not None or tree.grown(own) <= most]


def _parts(columns: Columns) -> list[Columns]:
    """All sets of two or more columns of one."""
    return [part for size in range(2, len(columns) + 1) for part in itertools.combinations(columns, size)]


@dataclass
class Schedule:
    """What is left of a cost, exactly, and the share of the next round."""

    left: Fraction
    rounds: int
    next: Fraction = Fraction(0)

    def own(self, sizes: Sequence[int]) -> list[Fraction]:
        """Shares for every column's own counts. Noise of deviation s leaves an error of n s in n cells, and s^-2 is paid for, so
        that the sum of errors is least where shares grow as n^(2/3)."""
        parts = [round(2**8 * size ** (2 / 3)) for size in sizes]
        whole = self.left * _OWN if self.rounds else self.left
        shares = [whole * Fraction(part, sum(parts)) for part in parts]
        self.left -= sum(shares, Fraction(0))
        self.next = self.left / max(self.rounds, 1)
        return shares

    def take(self) -> Fraction | None:
        """The share of the next round, all that is left where it is the last; None where there is nothing."""
        if self.left <= 0:
            return None
        share = self.next if self.left >= 2 * self.next else self.left
        self.left -= share
        return share

    def anneal(self) -> None:
        """Larger shares from now on."""
        self.next *= _ANNEALED

    def give_back(self, share: Fraction) -> None:
        """A share that was taken and not spent."""
        self.left += share

    def again(self, share: Fraction) -> Fraction:
        """As much once more, for what was lost; at most half of what is left."""
        share = min(share, self.left / 2)
        if share <= 0:
            raise ParameterError(
                "What was let out was lost when a process died, before it could be kept, and nothing is left of what was paid; "
                "ask for a little more, or less, which is paid for anew."
            )
        self.left -= share
        return share
