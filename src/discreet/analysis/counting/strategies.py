"""The choice of a strategy: what is measured so that the questions of a workload have the least total squared error.

Everything here is decided by public facts, the workload, the kind of budget and what one unit contributes, and by no clock and no
coin. Tried, and compared by their exact error after rounding to whole numbers, are

* ``identity``: the cells. Every question adds up its own.
* ``separate``: the questions themselves, sharing the budget by weight.
* ``tree``: ordered cells in blocks of b, of b^2 and so on, for b from 2 to 16 and every height; budget shared out by level (Hay,
  Rastogi, Miklau, Suciu 2010; Qardaji, Yang, Li 2013).
* ``margins``: margins of a table and their intersections; budget shared out by margin.
* ``optimal``: under a concentrated budget and up to 1,024 cells, the best there is.

**Theorem** (Li, Hay, Rastogi, Miklau, McGregor 2010; Denisov, McMahan, Rush, Smith, Thakurta 2022). Let V = W^T W. Under Gaussian
noise, where one unit is in one cell and is added or removed, the least total squared error is the minimum of tr(V X^-1) over
X > 0 with diag X <= 1, X = A^T A. For every l > 0 no X has less than (tr S)^2 / sum l, where S is the root of L V L and L is
diag(sqrt(l)); X = L^-1 S L^-1 has that much where l = diag S, so l is replaced by diag S until it stays. For l = 1 the bound is
(sum of the singular values of W)^2 / n. Units that contribute more, or are replaced, move a strategy no less far: it bounds their
error too.

Errors are compared at the cost that is asked for: noise on whole numbers is smaller than its continuous law says where there is
little of it. Of strategies within a hundredth of the least error the first in this list is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.analysis.consistency import nearest_counts, whole_counts
from discreet.analysis.counting.lattice import Lattice
from discreet.analysis.counting.least_squares import LeastSquares, least_squares
from discreet.analysis.counting.workloads import Axes, Marginals, Questions, Workload
from discreet.arrays import Integers, Number, Reals
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, Linear
from discreet.mechanisms.matrix.strategy import Contribution, Margins, Matrix, Strategy

Kind = Literal["pure", "concentrated"]

MOST_DENSE = 1024  # cells for which the optimum is sought, in a few seconds
_SCALE = 2**16  # of the optimum's columns
_ROUNDS = 20  # towards the optimum
_AXES = 6  # of a table of which all margins are tried
_WORK = 2**30  # of inverting the questions themselves


@dataclass(frozen=True)
class Tried:
    """A strategy that was tried, and the root mean squared error of the workload's questions under it."""

    name: str
    error: float


@dataclass(frozen=True, eq=False)
class Design:
    """A workload, and the mechanism that measures the strategy chosen for it.

    ``bound`` is an error that no strategy is below, where that is known; it is for noise that is not small beside 1.
    """

    workload: Workload
    name: str
    mechanism: Linear
    tried: tuple[Tried, ...]
    bound: float | None
    _solved: LeastSquares

    @property
    def strategy(self) -> Strategy:
        return self.mechanism.strategy

    @property
    def facts(self) -> dict[str, object]:
        """What tells it from other designs for the same workload and unit, as plain JSON; noisy answers are those of one of them.

        The choice may change with the cost, so what is stored of a release is read by these facts.
        """
        strategy = self.strategy
        if isinstance(strategy, Margins):
            levels = [[list(axes), factor] for axes, factor in strategy.levels]
            return {"strategy": self.name, "shape": list(strategy.shape), "levels": levels}
        if self.name == "optimal":  # there is one, and its last digits may be rounded elsewhere in another way
            return {"strategy": self.name, "scale": _SCALE}
        return {"strategy": self.name, "largest": int(np.abs(strategy.written_out()).max())}

    def cells(self, noisy: NDArray[np.generic]) -> Reals:
        """The cells, estimated from what the mechanism released."""
        return self._solved.cells(noisy)

    def estimate(self, noisy: NDArray[np.generic]) -> Reals:
        """The answers to the workload's questions, estimated from what the mechanism released: they add up as the cells do."""
        return self.workload.answer(self.cells(noisy))

    def counts(self, cells: Reals) -> Integers:
        """Estimated cells as counts that could be real: near these where cells are what is asked, else with answers near theirs.

        The total counts as much as all questions together, if it was measured: many cells cut off at zero would lift it."""
        workload = self.workload
        if workload.disjoint:
            return whole_counts(cells, float(cells.sum()))
        gram = workload.gram()
        if np.allclose(self.cells(self.strategy.answer(np.ones(len(cells), dtype=np.int64))), 1.0, atol=1e-6):
            (total,) = self._solved.factors(Questions(np.ones((1, len(cells)), dtype=np.int64)))
            gram += float(workload.weights @ self.factors / total)
        return nearest_counts(cells, gram)

    @cached_property
    def factors(self) -> Reals:
        """The variance of every one of these estimates, where a measured answer has variance 1."""
        return self._solved.factors(self.workload)

    @property
    def variances(self) -> Reals:
        """The variance of every one of these estimates."""
        return self.factors * self.mechanism.variance

    @property
    def error(self) -> float:
        """Their root mean squared error, by weight."""
        return next(one.error for one in self.tried if one.name == self.name)


@dataclass(frozen=True, eq=False)
class Candidates:
    """The strategies that are tried for a workload, at any cost of one kind."""

    workload: Workload
    kind: Kind
    contribution: Contribution
    named: tuple[tuple[str, Strategy], ...]  # a name may have several
    _bound: float | None  # on the total squared error at rho = 1/2, for a weight of 1

    @cached_property
    def _solved(self) -> list[tuple[LeastSquares, float]]:
        solved = [least_squares(strategy) for _, strategy in self.named]
        return [(one, one.total(self.workload) / self.workload.mass) for one in solved]

    def choose(self, *, epsilon: Number | None = None, delta: Number | None = None, rho: Number | None = None) -> Design:
        """The strategy of least error at this cost: an epsilon for a pure budget, else a rho, or an epsilon with a delta."""
        if (self.kind == "pure") != (rho is None and delta is None):
            raise ParameterError(f"These strategies are for a {self.kind} budget; ask in its own currency.")
        one = self.contribution
        found: dict[str, tuple[float, Linear, LeastSquares]] = {}
        for (name, strategy), (solved, mean) in zip(self.named, self._solved, strict=True):
            cost = {"epsilon": epsilon, "delta": delta, "rho": rho}
            law = Linear(strategy=strategy, **cost, weight=one.weight, cells=one.cells, neighbours=one.neighbours)
            error = math.sqrt(mean * law.variance)
            if name not in found or error < found[name][0]:
                found[name] = error, law, solved
        least = min(error for error, _, _ in found.values())
        name = next(name for name, (error, _, _) in found.items() if error <= least * 1.01)
        bound = None
        if self._bound is not None:
            continuous = Gaussian(sensitivity=float(one.weight), epsilon=epsilon, delta=delta, rho=rho)
            bound = continuous.sigma * math.sqrt(self._bound / self.workload.mass)
        _, mechanism, solved = found[name]
        return Design(
            self.workload, name, mechanism, tuple(Tried(name, error) for name, (error, _, _) in found.items()), bound, solved
        )


def candidates(workload: Workload, kind: Kind, contribution: Contribution | None = None) -> Candidates:
    """The strategies to try, for what one unit contributes: a row that is added or removed, unless told.

    >>> from discreet.analysis.counting.workloads import Questions
    >>> design = candidates(Questions([[1, 1, 1, 1]]), "pure").choose(epsilon=1)
    >>> design.name, design.strategy.written_out().tolist()
    ('separate', [[1, 1, 1, 1]])
    """
    if kind not in ("pure", "concentrated"):
        raise ParameterError('A budget is "pure" or "concentrated"; an epsilon with a delta is spent as a concentrated one.')
    one, pure = contribution or Contribution(), kind == "pure"
    named = [*_structured(workload, one, pure=pure)]
    bound = None
    if not pure:
        named += [(name, _finer(strategy)) for name, strategy in named]
    if not pure and workload.cells <= MOST_DENSE:
        best, bound = _optimal(workload.gram())
        named.append(("optimal", best))
    elif not pure and isinstance(workload, Marginals):
        bound = _bound(workload)
    return Candidates(workload, kind, one, tuple(named), bound)


def _structured(workload: Workload, one: Contribution, *, pure: bool) -> Iterator[tuple[str, Strategy]]:
    every = tuple(range(len(workload.shape)))
    yield "identity", Margins(workload.shape, ((every, 1),))
    separate = _separate(workload, pure=pure)
    if separate is not None:
        yield "separate", separate
    if len(workload.shape) == 1 and workload.cells > 2 and not isinstance(workload, Marginals):
        yield "tree", _tree(workload, one, pure=pure)
    elif isinstance(workload, Marginals) or 1 < len(every) <= _AXES:
        yield "margins", _margins(workload, one, pure=pure)


def _separate(workload: Workload, *, pure: bool) -> Strategy | None:
    """Errors w / e^2 at the cost of a sum of e are least for e = w^(1/3), and w / t at the cost of a sum of t for t = w^(1/2)."""
    power = 1 / 3 if pure else 1 / 4
    if isinstance(workload, Marginals):
        heavy = np.array([workload.parts(axes) * weight for axes, weight in workload.margins.items()])
        factors = _whole((heavy / heavy.max()) ** power)
        return Margins(workload.shape, tuple(zip(workload.margins, factors, strict=True)))
    most = _WORK if isinstance(workload, Questions) else _WORK >> 6
    if workload.size * workload.cells * min(workload.size, workload.cells) > most:
        return None
    rows = workload.written_out()
    heavy = workload.weights
    factors = _whole((heavy / heavy.max()) ** power) if np.abs(rows).max() < 2**14 else [1] * workload.size
    return Matrix(rows * np.array(factors)[:, None])


def _whole(shares: Reals, finest: int = 2**6) -> list[int]:
    """Whole numbers of at least 1 near these shares."""
    found = [max(1, round(float(share) * finest)) for share in shares]
    return [one // math.gcd(*found) for one in found]


def _finer(strategy: Strategy) -> Strategy:
    """The same on a finer grid, where rounding adds less to Gaussian noise that is not much larger than 1."""
    if isinstance(strategy, Margins):
        return Margins(strategy.shape, tuple((axes, factor << 8) for axes, factor in strategy.levels), strategy.cells)
    rows = strategy.written_out()
    return Matrix(rows << 8) if np.abs(rows).max() < 2**12 else strategy


def _tree(workload: Workload, one: Contribution, *, pure: bool) -> Strategy:
    """Blocks of b, b^2, ... cells, and all."""
    n = workload.cells
    overlaps: dict[int, float] = {}

    def average(block: int, size: int) -> float:
        if block not in overlaps:
            overlaps[block] = workload.overlap((-(-n // block), block), (0,))
        return overlaps[block] / size

    best: tuple[float, Lattice, Reals, Reals, Reals] | None = None
    for base in range(2, min(16, n - 1) + 1):
        for height in range(1, math.ceil(math.log(n, base) - 1e-9)):
            shape = (-(-n // base**height), *[base] * height)
            lattice = Lattice(shape, tuple(tuple(range(many)) for many in range(height + 2)))
            sizes = [lattice.size(axes) for axes in lattice.sets]
            energies = lattice.share_out([average(min(size, n), size) for size in sizes])
            prices = _prices(lattice, n, one, pure=pure)
            measured = lattice.shares(energies, prices, pure=pure, rounds=60)
            error = lattice.error(energies, measured)
            if best is None or error < best[0]:
                best = error, lattice, energies, prices, measured
    assert best is not None
    _, lattice, energies, prices, measured = best
    start = np.sqrt(measured) if pure else measured
    return lattice.strategy(lattice.shares(energies, prices, pure=pure, start=start), energies, n)


def _margins(workload: Workload, one: Contribution, *, pure: bool) -> Strategy:
    """Those that are asked for, the cells, and what these have in common; or all there are."""
    every: Axes = tuple(range(len(workload.shape)))
    if isinstance(workload, Marginals):
        sets = [*workload.margins, every]
    else:
        sets = [tuple(axis for axis in every if mask >> axis & 1) for mask in range(1 << len(every))]
    lattice = Lattice.around(workload.shape, sets)
    energies = lattice.energies(workload)
    prices = _prices(lattice, workload.cells, one, pure=pure)
    starts = [np.ones(len(lattice.sets))]
    if pure:  # several valleys
        starts += [np.where(np.arange(len(lattice.sets)) == place, 1.0, 0.01) for place in range(len(lattice.sets))][-8:]
    found = [lattice.shares(energies, prices, pure=pure, start=start) for start in starts]
    return lattice.strategy(min(found, key=lambda measured: lattice.error(energies, measured)), energies, workload.cells)


def _prices(lattice: Lattice, cells: int, one: Contribution, *, pure: bool) -> Reals:
    alone = [Margins(lattice.shape, ((axes, 1),), cells) for axes in lattice.sets]
    return np.array([float(margin.l1(one) if pure else margin.square(one)) for margin in alone])


def _optimal(gram: Reals) -> tuple[Matrix, float]:
    """The optimum in whole numbers, and the best bound on the way; V is made regular, and the bound allows for it."""
    n = len(gram)
    ridge = 1e-6 * np.trace(gram) / n
    held, bound, least = np.ones(n), 0.0, math.inf
    for _ in range(_ROUNDS):
        sides = np.sqrt(held)
        values, vectors = np.linalg.eigh(sides[:, None] * (gram + ridge * np.eye(n)) * sides)
        roots = np.sqrt(np.maximum(values, 0))
        diagonal = vectors**2 @ roots
        sure = values - ridge * held.max() - 1e-12 * values.max()  # eigenvalues of V itself are at least these
        bound = max(bound, np.sqrt(np.maximum(sure, 0)).sum() ** 2 / held.sum())
        longest = (diagonal / held).max()
        if roots.sum() * longest < least:
            least = roots.sum() * longest
            best = (vectors * (roots / longest)) @ vectors.T / np.outer(sides, sides)  # its largest diagonal entry is 1
        if least <= bound * (1 + 1e-4):
            break
        held = diagonal
    factor = np.linalg.cholesky(best).T  # which there is but one of, on any machine
    return Matrix(np.rint(factor * _SCALE).astype(np.int64)), bound


def _bound(workload: Marginals) -> float:
    """The singular-value bound of margins, in closed form (a theorem of Xiao, He, Zhang and Kifer 2023: it is attained)."""
    every: Axes = tuple(range(len(workload.shape)))
    lattice = Lattice.around(workload.shape, [*workload.margins, every])
    sizes = lattice.share_out((workload.cells / lattice.sizes).tolist())
    return float(np.sqrt(lattice.energies(workload) * sizes).sum() ** 2) / workload.cells
