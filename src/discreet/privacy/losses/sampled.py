"""Poisson subsampling: every record takes part with probability ``rate``, independently, under add/remove neighbours.

**Theorem** (Zhu, Dong, Wang 2022, theorem 11). If (P, Q) dominates a mechanism, then ((1 - q) Q + q P, Q) dominates it on a
sample of rate q when a record is removed, and (Q, (1 - q) Q + q P) when one is added (for pairs that are their own mirror
image). A loss l becomes ln(1 - q + q e^l), or minus that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import ParameterError
from discreet.exact import down, up
from discreet.privacy.losses.atoms import LEAST, Atoms, Listed
from discreet.privacy.losses.base import UNIT, Family, Loss
from discreet.privacy.losses.boxes import Box
from discreet.privacy.losses.gaussian import Gaussian
from discreet.privacy.losses.law import Law
from discreet.privacy.losses.moments import Moments
from discreet.privacy.losses.rounding import Smooth, atoms_to_cells, bound_stretch, round_cells
from discreet.privacy.losses.sampled_gaussian import SampledGaussian, no_groups

_EVERYBODY = Fraction(1, 2**40)
_NOBODY = Fraction(1, 2**200)
_NO_PRIVACY = 600  # beyond this epsilon probabilities leave the doubles
_NO_NOISE = Fraction(64)  # (sensitivity / sigma)^2


@dataclass(frozen=True)
class SampledLattice(Loss):
    """Any loss with a lattice form (pure, randomized response, Laplace, bounded range ...) on a Poisson sample.

    Built from the base's own law, or one that dominates it or is dominated, as a list: sampling whole laws keeps domination. Its
    losses ln(1 - q + q e^l) are gathered into the cells of a lattice that starts at its least loss and contains its largest.
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
        with precision(160):
            return None if (largest := self._largest) is None else Fraction(upper(largest))

    @property
    def pure_below(self) -> Fraction | None:
        with precision(160):
            return None if (largest := self._largest) is None else max(Fraction(0), Fraction(lower(largest)))

    @property
    def pure_mass(self) -> float:
        """Removing, (1 - q) Q + q P of the base's own; adding, Q's mass where P has none, or its mirror image."""
        if self.adding:
            return (down(self.base.infinity) if self.base.infinity else self.base.pure_mass) * (1 - 2.0**-40)
        if self.base.pure is None:
            return 0.0
        return self.base.pure_mass * (down(1 - self.rate) * math.exp(-up(self.base.pure)) + float(self.rate)) * (1 - 2.0**-40)

    @property
    def _largest(self) -> arb | None:
        sign = -1 if self.adding else 1
        if self.adding and (self.base.infinity or self.base.pure is None):
            return -(-ball(self.rate)).log1p()
        if self.base.pure is None:
            return None
        return sign * (ball(self.rate) * ball(sign * self.base.pure).expm1()).log1p()

    @property
    def rho(self) -> Fraction | None:
        """No more than without sampling (the divergence is convex in the pair); none where the base may disclose everything."""
        return None if self.base.infinity else self.base.rho

    @property
    def reverse(self) -> SampledLattice:
        return SampledLattice(self.base.reverse, self.rate, not self.adding)

    @property
    def member(self) -> Loss:
        return self if self.base.member is self.base else sample(self.base.member, self.rate, adding=self.adding).member

    def listed(self, *, up: bool) -> Listed:
        return _sampled_list(self, up)

    @property
    def _default(self) -> Listed:
        """What stands for it where a bound from above will do, or only a place to work is looked for."""
        return _sampled_list(self, True)

    def log_moment(self, x: float) -> float:
        """Infinity where the base's own is out of reach: what its list leaves out matters there."""
        return self._default.log_moment(x) if math.isfinite(self.base.log_moment(x)) else math.inf

    def cumulants(self, x: float) -> tuple[float, float, float]:
        return self._default.cumulants(x)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return self._default.characteristic(x, t)

    def rounding(self, x: float, t: float) -> float:
        return self._default.rounding(x, t)

    def work(self, x: float) -> int:
        return self._default.work(x)

    def reach(self, x: float) -> float:
        return self._default.reach(x)

    def mean_variance(self) -> tuple[float, float]:
        return self._default.mean_variance()

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        """One use in closed form, from the base's: Balle, Barthe, Gaboardi 2018, theorem 2 (and Steinke 2022, theorem 29).

        Removing, ((1 - q) Q + q P - e^x Q)+ = q (P - e^y Q)+ with e^y = 1 + (e^x - 1) / q, so delta_q(x) = q delta(y).
        Adding, (Q - e^x ((1 - q) Q + q P))+ = w (Q - e^y P)+ with w = 1 - e^x (1 - q) and e^y = e^x q / w where w > 0, and
        0 elsewhere; the base is its own mirror image, so delta_q(x) = w delta(y). In both y >= 0. As delta falls, its
        values at both ends of a ball around y enclose it.
        """
        q, factor = ball(self.rate), ball(epsilon).exp()
        weight = 1 - factor * (1 - q) if self.adding else q
        if not weight > 0:
            return ball(0).union(weight.upper()) if weight.upper() > 0 else ball(0)
        y = (factor * q / weight).log() if self.adding else (1 + ball(epsilon).expm1() / q).log()
        high, low = (self.base.hockey_stick(max(_exact(end), Fraction(0))) for end in (y.lower(), y.upper()))
        return None if high is None or low is None else weight * low.union(high)

    @property
    def divisor(self) -> Fraction:
        losses = self._default.losses
        return Fraction(float(losses[-1])) - Fraction(float(losses[0]))

    @property
    def exact(self) -> bool:
        """Two losses always lie on a lattice of their own."""
        return self.base.exact and self._default.losses.size == 2

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        law = self.listed(up=up)
        if self.exact:
            return Atoms(Fraction(float(law.losses[0])), self.divisor, law.mass, law.error, law.lost, law.blur)
        h = step or self.divisor / 256
        if isinstance(self.base, Smooth):
            return self._smooth(self.base, h, up=up)
        first = Fraction(float(law.losses[0]))
        return atoms_to_cells(law.losses, law.mass, first, h, up=up, error=law.error, blur=law.blur, lost=law.lost)

    def _smooth(self, base: Smooth, h: Fraction, *, up: bool) -> Atoms:
        """Cells of the sampled density, whose edges come from cells of the base's; both end atoms are on the lattice.

        On a cell [a, b] of the base's losses, q = p e^(-(a+b)/2), and with r the rate the sampled pair's surplus is r (p - q e^a)
        = r p (1 - e^(-(b-a)/2)), its deficit r (q e^b - p) = r p (e^((b-a)/2) - 1). Adding, both are exchanged and divided by the
        density ratio at the other end. Edges: 1 + (e^o - 1) / r is known to 4 units of its second term, which moves o by 4 units
        of |1 - e^-o|; a to 4 units of itself, which moves o by that times the slope do / da <= 1.
        """
        rate, keep, losses = float(self.rate), float(1 - self.rate), self._default.losses
        sign = -1 if self.adding else 1
        cells = round(self.divisor / h)
        outer = (sign * np.linspace(float(losses[0]), float(losses[-1]), cells + 1))[::sign]
        end = float(base.epsilon)
        with np.errstate(divide="ignore", invalid="ignore"):  # at the very ends
            inner = np.clip(np.nan_to_num(np.log1p(np.expm1(outer) / rate), nan=-end), -end, end)
        inner[0], inner[-1] = -end, end
        slope = 1 / (1 + keep / rate * np.exp(-inner))
        blur = 8 * UNIT * float((np.abs(np.expm1(-outer)) + slope * np.abs(inner) + np.abs(outer)).max())
        width = np.diff(inner)
        p, top = base.between(inner[:-1], width)
        q = p * np.exp(-(inner[:-1] + inner[1:]) / 2)
        mass, surplus, deficit = keep * q + rate * p, rate * p * -np.expm1(-width / 2), rate * p * np.expm1(width / 2)
        if self.adding:
            mass, surplus, deficit = q, deficit * np.exp(-outer[1:]), surplus * np.exp(-outer[:-1])
        mass, surplus, deficit = mass[::sign], surplus[::sign], deficit[::sign]
        error = base.error + 8 * UNIT * end
        slack = error * (surplus + deficit) + bound_stretch(h, mass, blur)
        first = Fraction(float(losses[0]))
        atoms = round_cells(first, h, mass, surplus, deficit, slack, up=up, error=error, blur=blur)
        low, high = top * math.exp(-end), top  # P's masses at -end and end; Q's are the other way round
        atoms.mass[1] += low if self.adding else keep * high + rate * low
        atoms.mass[1 + cells] += high if self.adding else keep * low + rate * high
        return atoms

    @property
    def title(self) -> str:
        return f"{self.base.title} on a {float(100 * self.rate):.3g} % sample"

    def distribution(self) -> Law:
        return self.base.distribution().sample(self.rate, adding=self.adding)

    def group(self, size: int) -> Loss:
        raise no_groups(size)


@dataclass(frozen=True)
class SampledMoments(Moments):
    """Any mechanism with these bounds on moments, on a Poisson sample; one use has the base's curve, moved.

    Its moments are at most those without sampling (the divergence is convex in the pair). Of one use more is known, whatever the
    base's delta is: as in ``SampledLattice``, delta_q(x) = q delta(y) with e^y = 1 + (e^x - 1) / q when a record is removed. When
    one is added it is w delta(z), w = 1 - e^x (1 - q) <= q and e^z = e^x q / w, which is no more, as z >= y: with a = e^x - 1,
    e^z - e^y has the sign of (1 + a) q^2 - (a + q) (q - a + a q) = a^2 (1 - q).
    """

    base: Loss
    rate: Fraction
    kind = "sampled moments"

    @property
    def title(self) -> str:
        return f"{self.base.title} on a {float(100 * self.rate):.3g} % sample"

    @property
    def rho(self) -> Fraction | None:
        return self.base.rho

    def log_moment(self, x: float) -> float:
        return self.base.log_moment(x)

    @property
    def member(self) -> Loss:
        return sample(self.base.member, self.rate).member

    def hockey_stick(self, epsilon: Fraction) -> arb:  # noqa: ARG002
        """No more than the rate: who is not sampled loses nothing."""
        return ball(0).union(ball(self.rate).upper())

    def group(self, size: int) -> Loss:
        """Nobody loses more than if all were sampled."""
        return self.base.group(size)


@lru_cache(maxsize=256)
def _sampled_list(loss: SampledLattice, up: bool) -> Listed:
    """The base's law as a list, each loss l moved to +-ln(1 - q + q e^l).

    The new loss is computed to 16 units of itself: ln(1 + q (e^l - 1)) where that sum is above 1/2, else ln((1 - q) + q e^l),
    whose terms do not cancel; it moves by at most the slope there times what l was off (twice that: the slope changes little over
    so small a move). A new mass (1 - q) Q + q P is as good as both its terms, Q = P e^-l being known to 4 units of |ln P| + |l|
    more, and to what l was off; |ln P| is within |ln q| or |ln(1 - q)| + |l| of the new mass's. Masses next to underflow, which
    have hardly any digits, are counted as lost. The base's pair is its own mirror image: where a value is listed, so is minus
    that value, with Q's mass there, though P's may be next to underflow; so what Q has off the list is what P has.
    """
    law, q, keep = loss.base.pieces(up=up), float(loss.rate), float(1 - loss.rate)
    assert law is not None
    inner, log_mass, known, off = _with_mirror_images(law)
    far = float(np.abs(inner).max(initial=0.0))
    with np.errstate(under="ignore"):
        mass, other = np.append(np.exp(log_mass[: inner.size - law.mass.size]), law.mass), np.exp(log_mass - inner)
        mixed = keep * other + q * mass
        small, large = np.minimum(inner, 600.0), np.maximum(inner, 600.0)
        rise = q * np.expm1(small)
        near = np.where(rise < -0.5, np.log(keep + q * np.exp(small)), np.log1p(np.maximum(rise, -0.75)))
        losses = np.where(inner > 600, large + math.log(q) + np.log1p(keep / q * np.exp(-large)), near)
    slope = 1 / (1 + keep / q * np.exp(-np.clip(inner, -600.0, 600.0)))
    moved = known + off + 4 * UNIT * (4 + np.abs(log_mass) + np.abs(inner))
    doubts = moved if loss.adding else (keep * other * moved + q * mass * known) / np.maximum(mixed, 1e-320) + 8 * UNIT
    blurs = 16 * UNIT * np.abs(losses) + 2 * slope * off
    if loss.base.infinity:  # as P has mass where Q has none, so has Q where P has none: there the ratio is 1 - q
        empty = float(loss.base.infinity)
        edge = math.log(keep) if q > 0.5 else math.log1p(-q)
        losses, blurs, doubts = np.append(edge, losses), np.append(16 * UNIT * abs(edge), blurs), np.append(8 * UNIT, doubts)
        mixed, other = np.append(keep * empty, mixed), np.append(empty, other)
    if loss.adding:
        losses, mixed, blurs, doubts = -losses[::-1], other[::-1], blurs[::-1], doubts[::-1]
    held = mixed > LEAST
    return Listed(
        losses[held],
        mixed[held],
        law.error + (32 + 8 * far - 8 * math.log(q) - 8 * math.log(keep)) * UNIT,
        float(blurs.max()),
        law.lost + losses.size * LEAST,
        doubts[held],
        blurs[held],
    )


def _with_mirror_images(law: Listed) -> tuple[Reals, Reals, Reals, Reals]:
    """Losses, logarithms of P's masses, and what those and these are known to; at the front all -l that P hardly reaches."""
    missing = law.losses > -float(law.losses[0]) * (1 + 2.0**-30)
    far, log_mass, known = law.losses[missing][::-1], law._points[1], law.mass_errors + 4 * UNIT
    if not far.size:
        return law.losses, log_mass, known, law.loss_errors
    doubts, off = known[missing][::-1], law.loss_errors[missing][::-1]
    doubts = doubts + off + 4 * UNIT * (4 + np.abs(log_mass[missing][::-1]) + far)
    return (
        np.append(-far, law.losses),
        np.append(log_mass[missing][::-1] - far, log_mass),
        np.append(doubts, known),
        np.append(off, law.loss_errors),
    )


def _exact(end: arb) -> Fraction:
    mantissa, exponent = end.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def sample(loss: Loss, rate: Fraction, *, adding: bool = False) -> Loss:
    """The loss of a mechanism on a Poisson sample."""
    if rate < _NOBODY:  # a larger sample costs no less
        return Family("sampled hardly anybody", sample(loss, _NOBODY, adding=adding), Box(Fraction(0)))
    if 1 - rate < _EVERYBODY:  # no less than on everybody from above, no more than on a few less from below
        return Family("nearly everybody", loss, sample(loss.member, 1 - _EVERYBODY, adding=adding))
    if isinstance(loss, Gaussian):
        if loss.squared_mu > _NO_NOISE:  # sampling never costs more, and hardly less where there is next to no noise
            return Family("sampled Gaussian with next to no noise", loss, SampledGaussian(_NO_NOISE, rate, adding))
        return SampledGaussian(loss.squared_mu, rate, adding)
    if loss.pure is not None and loss.pure > _NO_PRIVACY:
        return Family("sampled, with next to no privacy", loss, Box(Fraction(0)))
    if isinstance(loss, Moments):  # what attained the bound is sampled
        return Family(f"sampled {loss.kind}", SampledMoments(loss, rate), sample(loss.member, rate, adding=adding))
    if isinstance(loss, Family):
        return Family(f"sampled {loss.name}", sample(loss.worst, rate, adding=adding), sample(loss.attained, rate, adding=adding))
    if loss.divisor is None or loss.reverse != loss:
        raise ParameterError(
            f"A guarantee of kind {loss.kind!r} names no pair that could be sampled; sample the mechanism's own guarantee."
        )
    if loss.rho is not None and loss.rho > _NO_PRIVACY:  # of a noise so small that its own masses leave the doubles
        return Family("sampled, with next to no noise", loss, Box(Fraction(0)))
    return SampledLattice(loss, rate, adding)
