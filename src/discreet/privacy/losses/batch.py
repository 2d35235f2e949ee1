"""Fixed batches: m of n records, drawn without replacement, when one record is replaced and n is public.

**Theorem** (Balle, Barthe, Gaboardi 2018, theorem 9; Zhu, Dong, Wang 2022, theorem 11). Let (P, Q) dominate a mechanism for
replaced records, and be its own mirror image; let q = m / n. On a batch, the hockey-stick of order a >= 1 is at most that of
((1 - q) Q + q P, Q), and for a < 1 at most that of (P, (1 - q) P + q Q). *Proof.* The batch holds the record that differs with
probability q; given all others, the two outputs are (1 - q) A + q B and (1 - q) A + q C, where A is what batches without it give.
A batch without it and one with it differ in one replaced record once the latter's is exchanged for another of the table, so that
A, B and C dominate each other as P and Q do; joint convexity (advanced, for a >= 1) does the rest. Orders below 1 are the other
way round of those above, and neighbours here have no direction.

**The pair.** These two curves meet at a = 1, and are one pair's: its losses above 0 are those of ((1 - q) Q + q P, Q), with their
masses, those below 0 are their mirror image (a loss -l has e^-l times the mass of l), and what is left lies at 0. There is
something left: above and below 0 lie (2 - q) Q[L > 0] + q P[L > 0] <= Q[L > 0] + Q[L < 0] <= 1, for P[L > 0] = Q[L < 0] is not
below Q[L > 0]. No single mechanism need attain it. ((1 - q) Q + q P, Q) is attained, by a sum in which all other records are 0.

A law that dominates losses above 0 in every order a >= 1 does so in all orders once both are completed in this way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb
from discreet.errors import ParameterError
from discreet.privacy.losses.atoms import Atoms, Listed, listed_atoms
from discreet.privacy.losses.base import UNIT, Family, Loss
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.law import Law, Spread, merge_atoms
from discreet.privacy.losses.rounding import atoms_to_cells
from discreet.privacy.losses.sampled import SampledLattice, sample
from discreet.privacy.losses.sampled_gaussian import SampledGaussian

_POINTS = 1 << 12  # of a list that stands for a density, on either side of 0
_SEEN = 9.0  # standard deviations: where lattices of sampled Gaussians end


@dataclass(frozen=True)
class Batch(Loss):
    """A loss that is its own mirror image, on a batch of this share of all records."""

    base: Loss
    rate: Fraction
    kind = "batch"

    @cached_property
    def drawn(self) -> Loss:
        """The pair of a removed record on a Poisson sample, from which losses above 0 are taken."""
        return sample(self.base, self.rate)

    @property
    def member(self) -> Loss:
        """The same, of what the base attains: a base that only bounds a family is attained by none of it."""
        return self.drawn.member

    @property
    def infinity(self) -> Fraction:
        return self.drawn.infinity

    @property
    def pure(self) -> Fraction | None:
        return self.drawn.pure

    @property
    def pure_below(self) -> Fraction | None:
        return self.member.pure_below

    @property
    def rho(self) -> Fraction | None:
        """No more than on all records: Renyi divergences are quasi-convex in the pair."""
        return None if self.base.infinity else self.base.rho

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        return self.drawn.hockey_stick(epsilon)

    @cached_property
    def _list(self) -> Listed:
        """What dominates it, up to ``lost``: a list is enough where a bound from above, or a place to work, is looked for."""
        if isinstance(self.drawn, SampledLattice):
            return _mirror_list(self.drawn.listed(up=True), float(self.infinity))
        atoms = self.lattice(Fraction(2) ** math.floor(math.log2(self._end / _POINTS)), up=True)
        assert atoms is not None
        return listed_atoms(atoms)

    @property
    def _end(self) -> float:
        """Where the list of a sampled Gaussian ends."""
        assert isinstance(self.base, Gaussian)
        mu = math.sqrt(self.base.squared_mu)
        return math.log1p(float(self.rate) * math.expm1(mu * (_SEEN + mu / 2)))

    def log_moment(self, x: float) -> float:
        """That of the list, and of what it leaves out: with r the ratio of densities, r^(1+x) <= 1 - q + q e^((1+x) l) by
        convexity, which is normal, and r^-x <= 1."""
        listed = self._list.log_moment(x)
        if not isinstance(self.base, Gaussian):
            return listed if math.isfinite(self.base.log_moment(x)) else math.inf
        mu = math.sqrt(self.base.squared_mu)
        moved = math.log(self.rate) + x * (x + 1) * mu * mu / 2 + _log_tail(_SEEN - x * mu)
        rest = np.logaddexp(moved, math.log(2) + _log_tail(_SEEN + mu))
        return float(np.logaddexp(listed, rest))

    def cumulants(self, x: float) -> tuple[float, float, float]:
        return self._list.cumulants(x)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return self._list.characteristic(x, t)

    def rounding(self, x: float, t: float) -> float:
        return self._list.rounding(x, t) + 64 * UNIT

    def listed(self, *, up: bool) -> Loss:
        return self._list if up else self.drawn.listed(up=False)

    @property
    def lost(self) -> float:
        return self._list.lost

    def work(self, x: float) -> int:
        return self._list.work(x)

    def reach(self, x: float) -> float:
        return self._list.reach(x)

    def mean_variance(self) -> tuple[float, float]:
        return self._list.mean_variance()

    @property
    def divisor(self) -> Fraction:
        return Fraction(0)  # any step will do: every lattice holds 0

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms | None:
        """Losses above 0 rounded as those of the pair that is drawn are, and mirrored."""
        h = step or Fraction(1, 1024)
        if isinstance(self.drawn, SampledGaussian):
            atoms = self.drawn.lattice(h, up=up)
            return None if atoms is None else _mirror_lattice(atoms)
        law = self._list if up else _mirror_list(self.drawn.listed(up=False), float(self.infinity))  # type: ignore[arg-type]
        first = -h * math.ceil(Fraction(float(law.losses[-1])) / h)
        return atoms_to_cells(law.losses, law.mass, first, h, up=up, error=law.error, blur=law.blur, lost=law.lost)

    @property
    def title(self) -> str:
        return f"{self.base.title} on a batch of {float(100 * self.rate):.3g} %"

    def distribution(self) -> Law:
        above, below = self.drawn.distribution(), self.drawn.reverse.distribution()
        losses = np.concatenate((below.losses[below.losses < 0], above.losses[above.losses > 0]))
        masses = np.concatenate((below.masses[below.losses < 0], above.masses[above.losses > 0]))
        spread, dense = None, 0.0
        if above.spread is not None and below.spread is not None:
            high, low = above.spread, below.spread
            zero = np.zeros(1)
            dense = float(high.above(zero)[0] + low.below(zero)[0])

            def split(x: Reals, right: Reals, left: Reals) -> Reals:
                return np.where(x > 0, right, left)

            spread = Spread(
                low.low,
                high.high,
                lambda x: split(x, high.density(np.abs(x)), low.density(-np.abs(x))),
                lambda x: split(x, dense - high.above(np.abs(x)), low.below(-np.abs(x))),
                lambda x: split(x, high.above(np.abs(x)), dense - low.below(-np.abs(x))),
            )
        left = max(0.0, 1 - above.infinity - dense - float(masses.sum()))
        losses, masses = merge_atoms(np.append(losses, 0.0), np.append(masses, left))
        return Law(losses, masses, spread, above.infinity, (below.support[0], above.support[1]), *self.mean_variance())

    def group(self, size: int) -> Loss:
        raise ParameterError(
            f"A group of {size} replaced records on a batch has no closed form here; sample the guarantee of a group, "
            f".group({size}).batched(size, of), where all of its records are in the batch, or none."
        )


def _mirror_lattice(atoms: Atoms) -> Atoms:
    """Losses above 0 with their mirror image; at 0 what is left, and what rounding may have taken from it."""
    middle = round(-atoms.first / atoms.step)
    above = atoms.mass[middle + 1 :]
    places = np.arange(1, above.size + 1, dtype=np.float64)
    with np.errstate(under="ignore"):
        below = above * np.exp(-float(atoms.step) * places)
    known = atoms.doubt(np.maximum(atoms.mass, 1e-320)) + (16 + 2 * above.size) * UNIT
    left = max(0.0, 1 - atoms.lost - float(above.sum()) - float(below.sum())) + 4 * known
    mass = np.concatenate((below[::-1], [left], above))
    return replace(atoms, first=-above.size * atoms.step, mass=mass, error=atoms.error + 16 * UNIT * (1 + _far(atoms)))


def _mirror_list(law: Listed, infinity: float) -> Listed:
    held = law.losses > 0
    above, mass, off, known = law.losses[held], law.mass[held], law.loss_errors[held], law.mass_errors[held]
    with np.errstate(under="ignore"):
        below = mass * np.exp(-above)
    doubts = known + off + 8 * UNIT * (1 + above)
    left = max(0.0, 1 - infinity - law.lost - float(mass.sum()) - float(below.sum()))
    left += 2 * float(mass @ known + below @ doubts) + (16 + 2 * above.size) * UNIT
    kept = below > 0
    return Listed(
        np.concatenate((-above[kept][::-1], [0.0], above)),
        np.concatenate((below[kept][::-1], [left], mass)),
        law.error + 16 * UNIT * (1 + float(above.max(initial=0.0))),
        law.blur,
        law.lost,
        np.concatenate((doubts[kept][::-1], [8 * UNIT], known)),
        np.concatenate((off[kept][::-1], [0.0], off)),
    )


def _far(atoms: Atoms) -> float:
    return float(abs(atoms.first)) + float(atoms.step) * atoms.mass.size


def _log_tail(z: float) -> float:
    """ln of a normal law's tail beyond z, from above."""
    return -z * z / 2 - math.log(2) if z > 0 else 0.0


def batch(loss: Loss, rate: Fraction) -> Loss:
    """The loss of a mechanism for replaced records, on a batch of this share of all of them."""
    drawn = sample(loss, rate)  # refuses what names no pair
    if isinstance(drawn, (SampledGaussian, SampledLattice)):
        return Batch(loss, rate)
    if isinstance(loss, Family):
        return Family(f"{loss.name} on a batch", batch(loss.worst, rate), drawn.member)
    return Family(f"{loss.kind} on a batch", loss, drawn.member)  # a batch never costs more than all records
