"""A sampled loss with a density, as a sum over points of a path: Laplace noise and the exponential mechanism on samples.

Under Q the base's loss l has density g(l) = g(0) e^(-l/2) on (-e, e), and atoms at both ends or none. On a sample of rate q its
ratio is r(l) = 1 - q + q e^l, the loss +-ln r. Moments are E[r^c], c = 1 + s (removing) or -s (adding). The integral over the
density is taken along l(v) = e tanh v + i b (1 - tanh^2 v), -inf < v < inf, above the real axis, by the trapezoid rule of step h:
there r^(it) fades instead of turning. (Adding, the path lies below; the result is the conjugate.)

**Bound.** The rule errs by at most 2 G / (e^(2 pi d / h) - 1), G bounding the modulus' integral on v = u + iw, |w| <= d. With
C = cosh 2u, k = cos 2w, s = sin 2w, tanh v = (sinh 2u + i s) / (C + k), so that

    Im l = (e s (C + k) + 2 b (C k + 1)) / (C + k)^2,   |Re l| <= e + b |s|   (since sinh 2u / (C + k)^2 <= 1/2 for k >= 0).

Im l >= 0 on the whole strip if tan 2d = 2 b / e, for then -2 b k (C + k) + 2 b (C k + 1) = 2 b (1 - k^2); and it is at most its
value at u = 0, e tan d + b / cos^2 d, which is kept below 2 (below pi/2 when adding). So 0 <= arg r, and |r^(it)| = e^(-t arg r)
is at most 1 for every t >= 0: **G does not depend on t.** Removing, |r| <= r(Re l), at most r(e + b s). Adding, |r| is at least
what it is at the least Re l and the largest Im l. The integral of |l'| <= |sech^2 v| (e + 2b) is at most (e + 2b) 4 d / sin 2d.
h is chosen to make the error 2^-59 of M(x), which is at least 1 (r has mean 1) and at least what the last bit of the density next
to an end holds. The ends of the path are left out where the rest holds less: |l'| <= 4 e^(-2|v|) (e + 2b).

**Decay** needs no more: at any t' >= t the sum is at most the sum of its terms' moduli, which fall in t.

**Rounding** is that of ``turning``: phi - 1 is a sum of small terms, and so is M(x) - 1, as Q's own mass is 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.turning import expm1, turned_sums, units
from discreet.privacy.losses import SampledLattice
from discreet.privacy.losses.base import UNIT, Loss
from discreet.privacy.losses.rounding import Smooth
from discreet.privacy.losses.sampled_gaussian import log_ratio, no_groups

__all__ = ["SampledDensity", "has_path"]

_MOST_POINTS = 1 << 12
_FARTHEST = 100.0  # losses: no path over more has so few points


@dataclass(frozen=True)
class SampledDensity(Loss):
    """A sampled loss whose base has a density; moments and characteristic functions are sums over a path.

    ``digits`` says how much smaller than 2^-59 the rule's error shall be, in logarithms: that many uses multiply it.
    """

    whole: SampledLattice
    digits: float = 0.0
    kind = "sampled density"

    @property
    def pure(self) -> Fraction | None:
        return self.whole.pure

    @property
    def rho(self) -> Fraction | None:
        return self.whole.rho

    def _path(self, x: float) -> _Path:
        path = _path(self.whole, x, self.digits)
        assert path is not None, "asked at a tilt without moments"
        return path

    def log_moment(self, x: float) -> float:
        return self.cumulants(x)[0]

    def cumulants(self, x: float) -> tuple[float, float, float]:
        if x < 0 or (path := _path(self.whole, x, self.digits)) is None:
            return math.inf, math.inf, math.inf
        sign = -1 if self.whole.adding else 1
        shares, losses = path.weights / path.total, sign * path.log_ratio
        mean = float((shares @ losses).real)
        return math.log1p(path.excess), mean, float((shares @ (losses - mean) ** 2).real)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return 1 + self.increment(x, t)

    def increment(self, x: float, t: Reals) -> Complex:
        path = self._path(x)
        result = turned_sums(t, path.log_ratio, path.weights) / path.total
        return result.conj() if self.whole.adding else result

    def scatter(self, x: float) -> tuple[float, float]:
        _, _, variance = self.cumulants(x)
        low, high = self._path(x).log_ratio[-2:].real  # the ends
        return variance * (1 - 2.0**-20), float(high - low) * (1 + 2.0**-20)

    def rounding(self, x: float, t: float) -> float:
        path = self._path(x)
        return (path.still + t * path.turned) * UNIT + 2.0**-57 * math.exp(-self.digits)

    def work(self, x: float) -> int:
        return 1 + self._path(x).weights.size // 16  # of a matrix product

    def reach(self, x: float) -> float:
        return float(np.abs(self._path(x).log_ratio).max())

    def decay(self, x: float, t: float) -> float:
        """A bound on |phi| at and beyond t."""
        path = self._path(x)
        moduli = np.abs(path.weights) @ np.exp(-t * path.log_ratio.imag)
        return min(1.0, float(moduli) / path.total * (1 + 2.0**-30) + 2.0**-50)

    def mean_variance(self) -> tuple[float, float]:
        return self.cumulants(0.0)[1:]

    def group(self, size: int) -> Loss:
        raise no_groups(size)


def has_path(whole: SampledLattice, digits: float = 0.0) -> bool:
    """Whether a path of not too many points is known for it."""
    return isinstance(whole.base, Smooth) and _path(whole, 0.0, digits) is not None


@dataclass(frozen=True, eq=False)
class _Path:
    """Points of the path, the atoms among them: ln r, and g r^c l' h."""

    log_ratio: Complex
    weights: Complex
    total: float  # M(x)
    excess: float  # M(x) - 1
    still: float  # units of rounding of M(x)
    turned: float  # units of rounding of phi, for each unit of t


@lru_cache(maxsize=128)
def _path(whole: SampledLattice, x: float, digits: float) -> _Path | None:
    base, adding, most = whole.base, whole.adding, 1.5 if whole.adding else 2.0
    assert isinstance(base, Smooth)
    e, rate, keep, power = float(base.epsilon), float(whole.rate), float(1 - whole.rate), -x if adding else 1 + x
    if e > _FARTHEST:
        return None
    spread, top = base.between(np.array([-e]), 2 * e)
    height = 0.5 * float(spread[0]) / -math.expm1(-e)  # of Q's density at -e, which falls like e^-(l + e)/2 from there
    ends, _ = log_ratio(np.array([-e, e]), 0.0, rate, keep)
    if max(power * float(ends.max()), power * float(ends.min())) > 600:
        return None
    # Large powers grow along the path: a lower one may do with fewer points, and loses fewer digits.
    least = min((_points(e, height, rate, keep, power, most / 2**i, digits) for i in range(8)), key=lambda found: found[0])
    points, step, last, b = least
    if not points < _MOST_POINTS:
        return None
    v: Reals = np.arange(-math.ceil(last / step), math.ceil(last / step) + 1, dtype=np.float64) * step
    tanh, fall = np.tanh(v), 1 / np.cosh(v) ** 2
    places = e * tanh + 1j * b * fall
    base_weights = height * np.exp(-(places + e) / 2) * (step * fall * (e - 2j * b * tanh))
    modulus, argument = log_ratio(places.real, places.imag, rate, keep)
    ratios: Complex = np.concatenate([modulus + 1j * argument, ends]).astype(np.complex128)
    other = np.concatenate([base_weights, np.array([top, top * math.exp(-e)])])  # Q's atoms at -e and e
    small = other * expm1(power * ratios)
    excess = float(small.real.sum())
    weights = other * np.exp(power * ratios)
    total = 1 + excess
    # ln r errs by 16 units of itself, and by what l errs, 16 units of e + b, times the weight of q e^l in r.
    share = np.minimum(rate * np.exp(np.append(places.real, [-e, e]) - ratios.real), 1 / keep + 2 if keep else 2.0)
    errors = 16 * np.abs(ratios) + share * 16 * (e + b)
    each = 64 + 16 * (e + b) + 8 * np.abs(np.append(v, [0.0, 0.0]))
    still = float(np.abs(small) @ each + np.abs(weights) @ (abs(power) * errors)) / total
    known = units(v.size + 2) + each + still + abs(power) * errors
    turned = float(np.abs(weights) @ (known * np.abs(ratios) + errors)) / total
    return _Path(ratios, weights, total, excess, still, turned)


def _points(
    e: float, height: float, rate: float, keep: float, power: float, most: float, more: float
) -> tuple[float, float, float, float]:
    """How many points a path takes on whose strip Im l is at most ``most``; their step in v, the last of them, and b."""
    d, b = _strip(e, most)
    far, highest = e + b * math.sin(2 * d), e * math.tan(d) + b / math.cos(d) ** 2
    end, edge, angle = (-e, -far, highest) if power <= 0 else (e, far, 0.0)
    bit = min(e, 1 / (1 + abs(power)))
    inside = end - math.copysign(bit, end)
    (largest, nearly), _ = log_ratio(np.array([edge, inside]), np.array([angle, 0.0]), rate, keep)
    # ln of the integral of the modulus on the strip, and of what M(x) is at least.
    integral = math.log(height * (e + 2 * b) * 4 * d / math.sin(2 * d)) + (far - e) / 2 + power * float(largest)
    least = max(0.0, math.log(height * bit) - (max(inside, end) + e) / 2 + power * float(nearly))
    digits = max(integral - least, 0.0) + more
    step, last = 2 * math.pi * d / (digits + 43), (digits + 45) / 2
    return 2 * last / step, step, last, b


def _strip(e: float, most: float) -> tuple[float, float]:
    """d and b with tan 2d = 2 b / e, as wide as e tan d + b / cos^2 d <= ``most`` allows, and below pi / 4."""
    low, high = 0.0, 0.75
    for _ in range(40):
        middle = (low + high) / 2
        b = e * math.tan(2 * middle) / 2
        low, high = (middle, high) if e * math.tan(middle) + b / math.cos(middle) ** 2 <= most else (low, middle)
    return low, e * math.tan(2 * low) / 2
