"""Poisson subsampling: every record takes part with probability ``rate``, independently, under add/remove neighbours.

**Theorem** (Zhu, Dong, Wang 2022, theorem 11). If (P, Q) dominates a mechanism, then ((1 - q) Q + q P, Q) dominates it on a
sample of rate q when a record is removed, and (Q, (1 - q) Q + q P) when one is added (for pairs that are their own mirror
image). A loss l becomes ln(1 - q + q e^l), or minus that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.balls import arb, ball, precision, upper
from discreet.errors import ParameterError
from discreet.privacy.losses.base import UNIT, Atomic, Atoms, Complex, Loss, Reals
from discreet.privacy.losses.boxes import Box
from discreet.privacy.losses.cells import atoms_to_cells, round_cells
from discreet.privacy.losses.families import Family, Moments
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.sampled_gaussian import SampledGaussian
from discreet.privacy.losses.smooth import Smooth

__all__ = ["SampledLattice", "sample"]

_EVERYBODY = Fraction(1, 2**40)
_NO_PRIVACY = 600  # beyond this epsilon probabilities leave the doubles
_NO_NOISE = Fraction(64)  # (sensitivity / sigma)^2


@dataclass(frozen=True)
class SampledLattice(Loss):
    """Any loss with a lattice form (pure, randomized response, Laplace, bounded range ...) on a Poisson sample.

    Built from the base's own lattice law, rounded up or down: sampling keeps domination. Its losses ln(1 - q + q e^l) are
    gathered into the cells of a lattice that starts at its least loss and contains its largest.
    """

    base: Loss
    rate: Fraction
    adding: bool = False
    kind = "sampled"

    @property
    def infinity(self) -> Fraction:
        return Fraction(0) if self.adding else self.rate * self.base.infinity

    @property
    def pure(self) -> Fraction | None:
        if self.adding and (self.base.infinity or self.base.pure is None):
            with precision(160):
                return Fraction(upper(-ball(1 - self.rate).log()))
        if self.base.pure is None:
            return None
        with precision(160):
            sign = -1 if self.adding else 1
            return Fraction(upper(sign * (1 + ball(self.rate) * ball(sign * self.base.pure).expm1()).log()))

    @property
    def rho(self) -> Fraction | None:
        """No more than without sampling (the divergence is convex in the pair); none where the base may disclose everything."""
        return None if self.base.infinity else self.base.rho

    @property
    def reverse(self) -> SampledLattice:
        return SampledLattice(self.base.reverse, self.rate, not self.adding)

    @property
    def member(self) -> Loss:
        return sample(self.base.member, self.rate, adding=self.adding) if self.base.member is not self.base else self

    def _law(self, step: Fraction | None, *, up: bool) -> tuple[Reals, Reals, Reals]:
        """Losses, ascending, with the P- and Q-masses of the sampled pair."""
        atoms = self.base.lattice(step, up=up)
        assert atoms is not None
        q = float(self.rate)
        with np.errstate(under="ignore"):
            other = np.exp(np.minimum(atoms.log_mass - atoms.losses, 0.0))
        mixed = (1 - q) * other + q * atoms.mass
        small, large = np.minimum(atoms.losses, 40.0), np.maximum(atoms.losses, 40.0)
        far = large + math.log(q) + np.log1p((1 - q) / q * np.exp(-large))
        losses = np.where(atoms.losses > 40, far, np.log1p(q * np.expm1(small)))
        if self.base.infinity:  # as P has mass where Q has none, so has Q where P has none: there the ratio is 1 - q
            empty = float(self.base.infinity)
            losses = np.append(math.log1p(-q), losses)
            mixed, other = np.append((1 - q) * empty, mixed), np.append(empty, other)
        return (-losses[::-1], other[::-1], mixed[::-1]) if self.adding else (losses, mixed, other)

    @cached_property
    def _default(self) -> tuple[Reals, Reals]:
        losses, mass, _ = self._law(None, up=True)
        return losses[mass > 0], mass[mass > 0]

    def log_moment(self, x: float) -> float:
        return self.cumulants(x)[0]

    def cumulants(self, x: float) -> tuple[float, float, float]:
        losses, mass = self._default
        exponents = x * losses
        top = float(exponents.max())
        weights = mass * np.exp(exponents - top)
        total = float(weights.sum())
        mean = float(weights @ losses) / total
        return top + math.log(total), mean, float(weights @ (losses - mean) ** 2) / total

    def characteristic(self, x: float, t: Reals) -> Complex:
        losses, mass = self._default
        weights = mass * np.exp(x * losses - float((x * losses).max()))
        result: Complex = np.exp(1j * np.multiply.outer(t, losses)) @ (weights / weights.sum())
        return result

    def rounding(self, x: float, t: float) -> float:
        return math.inf if not isinstance(self.base, Atomic) else super().rounding(x, t) + 64 * UNIT

    def reach(self, x: float) -> float:  # noqa: ARG002
        return float(np.abs(self._default[0]).max())

    def mean_variance(self) -> tuple[float, float]:
        losses, mass = self._default
        mass = mass / mass.sum()
        mean = float(mass @ losses)
        return mean, float(mass @ (losses - mean) ** 2)

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        """One use in closed form, from the base's: Balle, Barthe, Gaboardi 2018, theorem 2 (and Steinke 2022, theorem 29).

        Removing, ((1 - q) Q + q P - e^x Q)+ = q (P - e^y Q)+ with e^y = 1 + (e^x - 1) / q, so delta_q(x) = q delta(y).
        Adding, (Q - e^x ((1 - q) Q + q P))+ = w (Q - e^y P)+ with w = 1 - e^x (1 - q) and e^y = e^x q / w where w > 0, and
        0 elsewhere; the base is its own mirror image, so delta_q(x) = w delta(y). In both y >= 0. As delta falls, its
        values at both ends of a ball around y enclose it.
        """
        if self.base.hockey_stick(Fraction(0)) is None:
            return None
        q, factor = ball(self.rate), ball(epsilon).exp()
        weight = 1 - factor * (1 - q) if self.adding else q
        if not weight > 0:
            return ball(0).union(weight.upper()) if weight.upper() > 0 else ball(0)
        y = (factor * q / weight).log() if self.adding else (1 + ball(epsilon).expm1() / q).log()
        high, low = (self.base.hockey_stick(max(_exact(end), Fraction(0))) for end in (y.lower(), y.upper()))
        assert high is not None
        assert low is not None
        return weight * low.union(high)

    @property
    def divisor(self) -> Fraction:
        losses, _ = self._default
        return Fraction(float(losses[-1] - losses[0]))

    @property
    def exact(self) -> bool:
        """Two losses always lie on a lattice of their own."""
        return self.base.exact and self._default[0].size == 2

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        if self.exact:
            reach = self.reach(0.0)
            return Atoms(Fraction(float(self._default[0][0])), self.divisor, self._default[1], blur=64 * UNIT * reach)
        h = step or self.divisor / 256
        if isinstance(self.base, Smooth):
            return self._smooth(self.base, h, up=up)
        fine = self.base.divisor
        losses, p, q = self._law(fine and fine / 256, up=up)
        return atoms_to_cells(losses, p, q, Fraction(float(losses[0])), h, up=up)

    def _smooth(self, base: Smooth, h: Fraction, *, up: bool) -> Atoms:
        """Cells of the sampled density, whose edges come from cells of the base's; both end atoms are on the lattice."""
        rate, (losses, _) = float(self.rate), self._default
        sign = -1 if self.adding else 1
        first = Fraction(float(losses[0]))
        cells = round(self.divisor / h)
        edges = np.linspace(float(losses[0]), float(losses[-1]), cells + 1)
        end = float(base.epsilon)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # at the very ends
            inner = np.clip(np.nan_to_num(np.log1p(np.expm1(sign * edges) / rate), nan=-end), -end, end)[::sign]
        p, q, top = base.between(inner)
        mixed = ((1 - rate) * q + rate * p)[::sign]
        atoms = round_cells(first, h, *((q[::sign], mixed) if self.adding else (mixed, q)), up=up)
        low, high = top * math.exp(-end), top  # P's masses at -end and end; Q's are the other way round
        atoms.mass[1] += low if self.adding else (1 - rate) * high + rate * low
        atoms.mass[1 + cells] += high if self.adding else (1 - rate) * low + rate * high
        return atoms

    def group(self, size: int) -> Loss:
        raise ParameterError(f"A group of {size} on a sample has no closed form here; take .group({size}) before .sampled(...).")


def _exact(end: arb) -> Fraction:
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def sample(loss: Loss, rate: Fraction, *, adding: bool = False) -> Loss:
    """The loss of a mechanism on a Poisson sample."""
    if 1 - rate < _EVERYBODY:  # no less than on everybody from above, no more than on a few less from below
        return Family("nearly everybody", loss, sample(loss.member, 1 - _EVERYBODY, adding=adding))
    if isinstance(loss, Gaussian):
        if loss.squared_mu > _NO_NOISE:  # sampling never costs more, and hardly less where there is next to no noise
            return Family("sampled Gaussian with next to no noise", loss, SampledGaussian(_NO_NOISE, rate, adding))
        return SampledGaussian(loss.squared_mu, rate, adding)
    if loss.pure is not None and loss.pure > _NO_PRIVACY:
        return Family("sampled, with next to no privacy", loss, Box(Fraction(0)))
    if isinstance(loss, Moments):  # sampling never costs more: the bound stands, and what attained it is sampled
        return Family(f"sampled {loss.kind}", loss, sample(loss.member, rate, adding=adding))
    if isinstance(loss, Family):
        return Family(f"sampled {loss.name}", sample(loss.worst, rate, adding=adding), sample(loss.attained, rate, adding=adding))
    if loss.divisor is None or loss.reverse != loss:
        raise ParameterError(
            f"A guarantee of kind {loss.kind!r} names no pair that could be sampled; sample the mechanism's own guarantee."
        )
    return SampledLattice(loss, rate, adding)
