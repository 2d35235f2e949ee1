"""Margins of one table, closed under intersection: the error of measuring them, in closed form, and how to share a budget out.

Let E_A average a table over the axes outside A. These projections commute, and E_A E_B is E of the intersection; so for a family
of margins that has with any two their intersection, the differences R_A = E_A - (all R_B, B < A) project on spaces that are at
right angles. Measuring every margin A with precision t_A (one over the variance of one cell of it) gives the cells of the table
a precision matrix whose value on the space of R_B is

    l_B = sum over A >= B of t_A s_A,        s_A: cells of the table in one cell of the margin,

so that least squares has the covariance sum of R_B / l_B, and a workload the total squared error sum of c_B / l_B, where c_B is
how much of it lies in that space (Xiao, He, Zhang, Kifer 2023; a tree is the family of the margins over the first digits).

**Sharing out.** A concentrated budget buys sum p_A t_A = 1, where p_A is the square by which a unit moves the margin; a pure one
sum p_A e_A = 1 with t_A = e_A^2. With x_A = p_A t_A, or p_A e_A, these are shares of one cost, and the descent is that of tables
with margins (``plan.margins.lattice``). Under a concentrated budget the problem is convex: no shares have an error below
2 f - max(g_A / p_A), where f is the error here and g_A minus its derivative by t_A.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.analysis.counting.workloads import Axes, Workload
from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.mechanisms.matrix.strategy import Margins
from discreet.plan.margins.lattice import descend

MOST_MARGINS = 2**10
_ENOUGH = 1e-9  # of an error: steps that gain less are not taken
_FINEST = 2**8  # the largest factor of a margin


@dataclass(frozen=True, eq=False)
class Lattice:
    """Margins of a table of some shape, with any two also their intersection; those of fewer axes first."""

    shape: tuple[int, ...]
    sets: tuple[Axes, ...]

    @classmethod
    def around(cls, shape: tuple[int, ...], sets: Iterable[Axes]) -> Lattice:
        """The smallest one that has all of these."""
        found: set[frozenset[int]] = set()
        for axes in sets:
            found |= {frozenset(axes)} | {one & frozenset(axes) for one in found}
            if len(found) > MOST_MARGINS:
                raise ParameterError(f"More than {MOST_MARGINS:,} margins belong together here; ask for fewer.")
        return cls(shape, tuple(sorted((tuple(sorted(one)) for one in found), key=lambda axes: (len(axes), axes))))

    @cached_property
    def below(self) -> Reals:
        """1 where the second margin is one of the first, or it."""
        sets = [frozenset(axes) for axes in self.sets]
        return np.array([[float(small <= large) for small in sets] for large in sets])

    @cached_property
    def apart(self) -> Reals:
        """Its inverse: R_A as a sum of averages E_B."""
        found: Reals = np.rint(np.linalg.inv(self.below))
        return found

    @cached_property
    def sizes(self) -> Reals:
        """Cells of the table in one cell of each margin."""
        return np.array([self.size(axes) for axes in self.sets], dtype=np.float64)

    def size(self, axes: Axes) -> int:
        return math.prod(side for axis, side in enumerate(self.shape) if axis not in axes)

    def energies(self, workload: Workload) -> Reals:
        """How much of the workload lies in each space."""
        return self.share_out([workload.overlap(self.shape, axes) / self.size(axes) for axes in self.sets])

    def share_out(self, averages: list[float]) -> Reals:
        """The same, from how much lies in what each margin knows."""
        found = self.apart @ np.array(averages)
        return np.where(found > 1e-12 * max(averages), found, 0.0)

    def precisions(self, measured: Reals) -> Reals:
        """l_B, for margins measured with these precisions."""
        return self.below.T @ (self.sizes * measured)

    def error(self, energies: Reals, measured: Reals) -> float:
        """The total squared error of least squares; infinite where something is asked that is not measured."""
        asked = energies > 0
        with np.errstate(divide="ignore"):
            return float((energies[asked] / self.precisions(measured)[asked]).sum())

    def shares(self, energies: Reals, prices: Reals, *, pure: bool, start: Reals | None = None, rounds: int = 1000) -> Reals:
        """The precisions of all margins that make the error least, at a cost of 1; under a pure budget, least near the start."""
        power = 2 if pure else 1
        first = prices * (np.ones(len(self.sets)) if start is None else start)
        found = descend(first / first.sum(), self.sizes / prices**power, self.below, energies, power, rounds, _ENOUGH)
        return (found / prices) ** power

    def strategy(self, measured: Reals, energies: Reals, cells: int) -> Margins:
        """Margins with whole factors, near these precisions; whatever is asked for is measured."""
        factors = np.rint(np.sqrt(measured / measured.max()) * _FINEST).astype(np.int64)
        factors[(self.precisions(factors.astype(np.float64)) == 0) & (energies > 0)] = 1
        common = math.gcd(*factors.tolist())
        return Margins(
            self.shape, tuple((axes, int(one) // common) for axes, one in zip(self.sets, factors, strict=True) if one), cells
        )
