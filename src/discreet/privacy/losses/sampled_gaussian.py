"""Gaussian noise on a Poisson sample: the loss of private stochastic gradient descent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball, lower, precision, upper
from discreet.errors import ParameterError
from discreet.privacy.losses.atoms import Atoms
from discreet.privacy.losses.base import UNIT, Loss
from discreet.privacy.losses.gaussian import Gaussian, normal_cdf
from discreet.privacy.losses.law import Law
from discreet.privacy.losses.rounding import bound_stretch, round_cells


@dataclass(frozen=True)
class SampledGaussian(Loss):
    """Gaussian noise on a Poisson sample: L = +-ln r(z), r(z) = 1 - q + q e^(mu z - mu^2/2), z standard normal under Q.

    Moments are E[r^c], c = 1 + s (removing) or -s (adding), by the trapezoid rule on a line at height y above the real axis,
    where r^(it) fades instead of turning: there 0 < arg r < mu y and |r^(it)| = e^(-t arg r). (Adding, the line lies below;
    the result is the conjugate.)

    **Bound.** phi(z) r(z)^c is analytic for |Im z| < pi / mu. The rule of step h on the line errs by at most 2 G / (e^(2 pi y
    / h) - 1), G bounding the integral of the modulus on the lines y above and y below (the real axis): relative to M(x), e^(2
    y^2) since |phi| grows by e^(Im^2/2) and |r| <= r(Re z), times cos(mu y)^-x when adding, since |r| >= r(Re z) cos(mu Im /
    2). **It does not depend on t.** h is chosen to make it 2^-60. The range leaves out less than 2^-59 of M(x): with c >= 1,
    r^c <= 1 - q + q e^(c (mu z - mu^2/2)) to the right and r <= 1 to the left; adding, r^-x <= (1 - q)^-x to the left and 1 to
    the right; and M(x) >= 1.
    """

    squared_mu: Fraction
    rate: Fraction
    adding: bool = False
    kind = "sampled Gaussian"

    @property
    def title(self) -> str:
        return f"{Gaussian(self.squared_mu).title} on a {float(100 * self.rate):.3g} % sample"

    def distribution(self) -> Law:
        return Gaussian(self.squared_mu).distribution().sample(self.rate, self.mean_variance(), adding=self.adding)

    @property
    def pure(self) -> Fraction | None:
        if not self.adding:
            return None
        with precision(160):
            return Fraction(upper(-(-ball(self.rate)).log1p()))

    @property
    def pure_below(self) -> Fraction | None:
        if not self.adding:
            return None
        with precision(160):
            return max(Fraction(0), Fraction(lower(-(-ball(self.rate)).log1p())))

    @property
    def rho(self) -> Fraction:
        """No more than without sampling: the divergence is convex in the pair."""
        return self.squared_mu / 2

    @property
    def reverse(self) -> SampledGaussian:
        return SampledGaussian(self.squared_mu, self.rate, not self.adding)

    @property
    def _mu(self) -> float:
        return math.sqrt(self.squared_mu)

    @property
    def _keep(self) -> float:
        """1 - rate with all its digits."""
        return float(1 - self.rate)

    def _line(self, x: float) -> _Line:
        return _line(self._mu, float(self.rate), self._keep, self.adding, x)

    def log_moment(self, x: float) -> float:
        return self.cumulants(x)[0]

    def cumulants(self, x: float) -> tuple[float, float, float]:
        if x < 0 or (1 + x) * self._mu > _FARTHEST:
            return math.inf, math.inf, math.inf
        line = self._line(x)
        total = float(line.weights.sum())
        mean = float(line.weights @ line.losses) / total
        return line.log_scale + math.log(total), mean, float(line.weights @ (line.losses - mean) ** 2) / total

    def characteristic(self, x: float, t: Reals) -> Complex:
        line = self._line(x)
        total = float(line.weights.sum())
        result = np.empty(t.size, dtype=np.complex128)
        for start in range(0, t.size, 512):
            block = np.exp(np.multiply.outer(1j * t[start : start + 512], line.log_ratio) + line.exponent)
            result[start : start + 512] = block.sum(axis=1)  # pairwise: 32 units
        result /= total
        return result.conj() if self.adding else result

    def rounding(self, x: float, t: float) -> float:
        """ln r errs by 40 units of itself and 4 of its argument's weight in it; powers and phases multiply that."""
        line = self._line(x)
        modulus = np.exp(line.exponent.real)
        size = (1 + abs(x) + t) * 48 * np.abs(line.log_ratio) + np.abs(line.z) ** 2 + 4 * self._mu * np.abs(line.z) * abs(x)
        spread = float(modulus @ (96 + 2 * size)) / float(line.weights.sum())
        return (spread + 64) * UNIT + 2.0**-57

    def work(self, x: float) -> int:
        return self._line(x).z.size

    def reach(self, x: float) -> float:
        return self._mu * (self._mu * (abs(x) + 1) + 12)

    def decay(self, x: float, t: float) -> float:
        """A bound on |phi| at and beyond t: the integral of the modulus at height y, for several y.

        The modulus is phi(z) r(z+iy)^w r(z-iy)^(conj w) with w = (c + it)/2, analytic for |Im z| < pi/mu - y; moved by a, its
        factor e^(-t arg r) becomes e^(-t (arg r(y+a) + arg r(y-a)) / 2) <= 1. So the rule's bound holds for it as well.
        """
        exponents, arguments, total = _moduli(self, x)
        best = float(np.exp(exponents - t * arguments).sum(axis=1).min()) / total
        return min(1.0, best * (1 + 2.0**-30) + 2.0**-50)

    def hockey_stick(self, epsilon: Fraction) -> arb:
        mu, q, factor = ball(self.squared_mu).sqrt(), ball(self.rate), ball(epsilon).exp()
        if not self.adding:
            edge = ((factor - 1 + q) / q).log() / mu + mu / 2
            return (1 - q - factor) * normal_cdf(-edge) + q * normal_cdf(mu - edge)
        rest = 1 / factor - 1 + q
        if not rest > 0:  # no loss is larger; or so nearly that its sign is not known, and delta is at most e^epsilon rest
            return ball(0) if rest <= 0 else ball(0).union((factor * rest).upper())
        edge = (rest / q).log() / mu + mu / 2
        return (1 - factor * (1 - q)) * normal_cdf(edge) - factor * q * normal_cdf(edge - mu)

    @property
    def divisor(self) -> Fraction:
        return Fraction(0)  # any step will do

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms | None:
        """Cells by normal distribution functions; at both ends the rest of the mass goes to the safe side.

        At an edge with loss o, e^o = 1 - q + q f, f = 1 + (e^o - 1) / q. So a cell's surplus is q (P - f Q), f at its left, and
        its deficit q (f Q - P), f at its right end; adding, both are exchanged and divided by e^o there. f is known to 4 units of
        f and f - 1, and e^(mu z - mu^2/2) at the edge that is computed, z, is f to 4 units of |ln f| + mu^2: so much for o, too.
        """
        h = step or Fraction(1, 1024)
        mu, q, keep, width = self._mu, float(self.rate), self._keep, float(h)
        sign = -1 if self.adding else 1
        ends = sign * log_shifted(np.array([-9.0, mu + 9.0]), mu, q, keep, 0.0)[0]
        first = math.floor(float(ends.min()) / width) - 1
        last = math.floor(float(self.pure or Fraction(float(ends.max()))) / width) + 1
        if last - first > _MOST_CELLS:
            return None
        outer = sign * np.arange(first, last + 1) * width
        f = 1 + np.expm1(outer) / q
        with np.errstate(divide="ignore"):
            log_f = np.log(np.maximum(f, 0.0))
        rough = np.abs(np.maximum(log_f, -800.0)) + mu * mu + 1
        z = sign * (log_f / mu + mu / 2)  # adding, the loss falls in z
        (base, base_error), (moved, moved_error) = _between(z), _between(z - sign * mu)
        slope = q * np.maximum(f, 0.0) * np.exp(-outer)
        blur = 8 * UNIT * float((np.abs(np.expm1(-outer)) + slope * rough + np.abs(outer)).max())
        gaps = [sign * q * (moved - f[:-1] * base), -sign * q * (moved - f[1:] * base)]
        slack = q * np.zeros(base.size)
        for edge in (slice(None, -1), slice(1, None)):
            known = 16 * UNIT * (rough[edge] * np.abs(f[edge]) + np.abs(f[edge] - 1)) * base
            slack = np.maximum(slack, q * (moved_error + np.abs(f[edge]) * base_error + known + 16 * UNIT * moved))
        p, error = (keep * base + q * moved, keep * base_error + q * moved_error)
        if self.adding:
            p, error = base, base_error
            gaps = [gaps[0] * np.exp(-outer[:-1]), gaps[1] * np.exp(-outer[1:])]
            slack = slack * np.exp(-outer[1:])
        p = p + error if up else np.maximum(p - error, 0.0)
        surplus, deficit = (np.maximum(gap, 0.0) for gap in gaps)
        slack = slack + bound_stretch(h, p, blur)
        atoms = round_cells(first * h, h, p, surplus, deficit, slack, up=up, error=32 * UNIT, blur=blur)
        if not up:
            return atoms
        if self.adding:  # what lies below the lattice is raised to its lowest point
            atoms.mass[0] += math.erfc(9 / math.sqrt(2))
            return atoms
        return replace(atoms, lost=math.erfc(9 / math.sqrt(2)))

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(0.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise no_groups(size)


def no_groups(size: int) -> ParameterError:
    """The refusal of a group on a sample."""
    return ParameterError(
        f"A group of {size} on a sample has no closed form here; write .group({size}).sampled(rate) where its records take "
        f"part together, and .group({size}).sampled(1 - (1 - rate)**{size}) where each is drawn by itself."
    )


def _between(z: Reals) -> tuple[Reals, Reals]:
    """Normal probabilities between neighbouring points, from whichever tail keeps their digits, and their errors.

    A tail at z errs by 4 units of itself (the function) and by those of z / sqrt(2), 2 units of z^2 + 1 at most.
    """
    tail, seen = np.zeros(z.size), np.abs(z) < 39  # beyond it a tail underflows
    tail[seen] = [math.erfc(v) / 2 for v in (np.abs(z[seen]) / math.sqrt(2)).tolist()]
    below, above = np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail)
    left = z[1:] < 0
    share = (8 + 4 * np.square(np.clip(z, -40, 40))) * UNIT
    error = np.where(left, (share * below)[1:] + (share * below)[:-1], (share * above)[1:] + (share * above)[:-1])
    return np.maximum(np.where(left, np.diff(below), -np.diff(above)), 0.0), error


def log_shifted(z: Reals, mu: float, rate: float, keep: float, angle: float) -> tuple[Reals, Reals]:
    """Real and imaginary part of ln r(z + i angle / mu), each to a relative few units."""
    return log_ratio(mu * z - mu * mu / 2, angle, rate, keep)


def log_ratio(y: Reals, angle: Reals | float, rate: float, keep: float) -> tuple[Reals, Reals]:
    """Real and imaginary part of ln r, r = keep + rate e^w, w = y + i angle: r - 1 = rate (e^w - 1), as keep = 1 - rate."""
    turn = np.sin(angle / 2)
    y_small, y_large = np.minimum(y, 40.0), np.maximum(y, 40.0)
    real = rate * (np.expm1(y_small) - 2 * turn * turn * np.exp(y_small))
    imaginary = rate * np.exp(y_small) * np.sin(angle)
    with np.errstate(divide="ignore"):
        modulus = np.log1p(2 * real + real * real + imaginary * imaginary) / 2
    front = 1 + real
    if rate > 0.5:  # r may come close to 0, where 1 + (r - 1) has no digits left
        close = keep + rate * np.exp(y_small) * np.cos(angle)
        modulus = np.where(real < -0.25, np.log(np.hypot(close, imaginary)), modulus)
        front = np.where(real < -0.25, close, front)
    # Far out, r is q e^w up to (1 - q) e^-w / q: take the large part out.
    rest = keep / rate * np.exp(-y_large)
    far = y_large + math.log(rate) + np.log1p(2 * rest * np.cos(angle) + rest * rest) / 2
    argument = np.where(y > 40, np.arctan2(np.sin(angle), np.cos(angle) + rest), np.arctan2(imaginary, front))
    return np.where(y > 40, far, modulus), argument


_SHARES = np.geomspace(1e-3, 1.0, 14)  # of the largest height tried in ``decay``
_MOST_CELLS = 1 << 20
_FARTHEST = 2000.0  # standard deviations: tilts that look farther out are of no use


@dataclass(frozen=True, eq=False)
class _Line:
    """A grid: the real axis for moments, the line above it for characteristic functions."""

    z: Reals
    height: float
    losses: Reals  # on the real axis
    weights: Reals  # phi(z) r(z)^c on the real axis, divided by e^top
    top: float
    log_ratio: Complex  # on the line
    exponent: Complex  # ln of phi r^c on the line, minus top
    log_scale: float  # top and the grid's step


@lru_cache(maxsize=8)
def _moduli(loss: SampledGaussian, x: float) -> tuple[Reals, Reals, float]:
    """On lines of several heights, one a row: ln of the modulus at t = 0, and the argument of r by which it falls in t; M(x)."""
    line, mu, power = loss._line(x), loss._mu, -x if loss.adding else 1 + x
    angles = min(1.5, 1.5 * mu * line.height) * _SHARES[:, None]
    modulus, argument = log_ratio(mu * line.z - mu * mu / 2, angles, float(loss.rate), loss._keep)
    return power * modulus - line.z**2 / 2 + (angles / mu) ** 2 / 2 - line.top, argument, float(line.weights.sum())


@lru_cache(maxsize=128)
def _line(mu: float, rate: float, keep: float, adding: bool, x: float) -> _Line:
    power = -x if adding else 1 + x
    height = min(1.2 / mu, 1.5)
    if adding:
        height = min(height, math.sqrt(20 / (x + 1)) / mu)
    growth = 2 * height * height - (x * math.log(math.cos(mu * height)) if adding else 0.0)
    step = 2 * math.pi * height / (growth + 44)
    if adding:
        low, high = -math.sqrt(2 * (42 - x * (math.log(keep) if rate > 0.5 else math.log1p(-rate)))), 9.5
    else:
        # r^c <= 1 - q + q e^(c y): a normal law centred at (1 + x) mu, weighted q e^(x (x + 1) mu^2 / 2), against M(x) >= 1
        surplus = max(0.0, math.log(rate) + x * (x + 1) * mu * mu / 2)
        low, high = -9.5, max(9.5, (1 + x) * mu + math.sqrt(2 * (42 + surplus)))
    z: Reals = np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step
    losses, _ = log_shifted(z, mu, rate, keep, 0.0)
    exponent = power * losses - z * z / 2
    top = float(exponent.max())
    modulus, argument = log_shifted(z, mu, rate, keep, mu * height)
    log_ratio = (modulus + 1j * argument).astype(np.complex128)
    on_line = (power * log_ratio - (z + 1j * height) ** 2 / 2 - top).astype(np.complex128)
    scale = top + math.log(step / math.sqrt(2 * math.pi))
    return _Line(z, height, -losses if adding else losses, np.exp(exponent - top), top, log_ratio, on_line, scale)
