"""A sampled Gaussian without its farthest losses: what small sampling rates need.

At a rate q the moments E[r^(1+x)] of r = 1 - q + q e^w explode as soon as q^(1+x) e^(x(x+1) mu^2/2) is large, long before the
tilt x that a composition of many steps asks for; that part belongs to losses which practically never happen. So outcomes are
*kept* with probability chi(z) = exp(-e^(a (z - c))), nearly 1 below the cut c and 0 above it, independently of all else.

**Bounds.** With the outcomes that are not kept, delta = E[(1 - e^(e - L))+; kept] + E[...; not kept], and 0 <= (1 - e^(e - L))+
<= 1: leaving them out is a lower bound, counting them as disclosed an upper one. Their mass in one step is at most ``lost`` =
(1 - q) e^(a^2/2 - a c) + q e^(a^2/2 + a mu - a c), since 1 - chi <= e^(a (z - c)) and z is N(0, 1) or N(mu, 1).

**Moments** are those of ``SampledGaussian`` with chi under the integral, which is entire: on the line Im z = b its modulus is
exp(-e^(a (Re z - c)) cos(a b)), at most 1 while a b < pi/2. The trapezoid rule of step h on the line y errs by at most 2 G /
(e^(2 pi y / h) - 1), G bounding the integral of the modulus on every line from -y to 2y. G is not guessed but summed: each of
the factors phi(z) e^(2 y^2), |r|^c and |chi| is monotone between grid points (phi on either side of 0), so that its larger end
bounds it; |r(z + ib)|^c is at most r(z)^c for c > 0 and |r(z + 2iy)|^c for c < 0. The step is halved until the error is 2^-59
of M. The range leaves out less: to the left as in ``SampledGaussian``; to the right, too, or else at its end e^(a (z - c))
cos(2 a y) exceeds c mu z by 100 and grows faster by 60 a unit.

The gentler the slope a, the fewer points: the same mass is lost at a cut that lies farther out. Where the tilt does not reach
that far anyway, nothing is cut (a = 0). Adding a record, L = -ln r is at most -ln(1 - q) and nothing is cut either; the same
line serves tilts that are large.

**What lies beyond.** With a ``rise`` b, only outcomes that would be given up at ``begin`` = d are kept: a factor psi(z) = 1 -
exp(-u), u = e^(b (z - d)), which is nearly 0 below d (``jumps``). While Re u > 0 it has no zeros, and |psi| <= min(2, |u|),
which rises in Re z, so that G is summed as before. To the left of mu/2, where r <= 1, the range leaves out at most e^(b^2/2 -
b d) times what N(b, 1) has there; to the right what is said above. Both are compared with M itself, which may be small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.turning import expm1, turned_sums, units
from discreet.privacy.losses.base import UNIT, Loss
from discreet.privacy.losses.sampled_gaussian import SampledGaussian, log_shifted, no_groups

__all__ = ["CutGaussian", "cut_gaussian", "tail_masses"]

_SHARES = np.geomspace(1e-3, 1.0, 14)  # of the height, tried in ``decay``


@dataclass(frozen=True)
class CutGaussian(Loss):
    """The kept part of a sampled Gaussian's loss; ``cut`` is c, ``slope`` a, ``begin`` d and ``rise`` b (0: they cut nothing).

    ``digits`` says how much smaller than 2^-59 the rule's error shall be, in logarithms: that many uses multiply it.
    """

    whole: SampledGaussian
    cut: float
    slope: float
    begin: float = 0.0
    rise: float = 0.0
    digits: float = 0.0
    kind = "cut sampled Gaussian"

    @property
    def pure(self) -> Fraction | None:
        return self.whole.pure

    @property
    def rho(self) -> Fraction:
        return self.whole.rho

    @property
    def lost(self) -> float:
        """A bound on the mass that is not kept."""
        if not self.slope:
            return 0.0
        mu, q, a, c = math.sqrt(self.whole.squared_mu), float(self.whole.rate), self.slope, self.cut
        base, moved = a * a / 2 - a * c, a * a / 2 + a * mu - a * c
        return ((1 - q) * math.exp(min(base, 0.0)) + q * math.exp(min(moved, 0.0))) * (1 + 2.0**-30) + 5e-324

    def _line(self, x: float) -> _Line | None:
        whole = self.whole
        return _line(
            whole._mu, float(whole.rate), whole._keep, whole.adding, x, self.cut, self.slope, self.begin, self.rise, self.digits
        )

    def _drawn(self, x: float) -> _Line:
        line = self._line(x)
        assert line is not None, "asked at a tilt without moments"
        return line

    def log_moment(self, x: float) -> float:
        if not (0 <= x < _MOST_TILT or (-1 < x < 0 and self.has_low_moments)) or (line := self._line(x)) is None:
            return math.inf
        return math.log(line.total) if self.rise else math.log1p(line.excess)

    def cumulants(self, x: float) -> tuple[float, float, float]:
        """Roughly, by a rule with few points."""
        return _rough_cumulants(self, x)

    @property
    def has_low_moments(self) -> bool:
        """Whether tilts from -1 to 0 are within the proof: 0 < c < 1, so r^c <= 1 + q^c e^(c w), and M >= (1 - q)^c >= 1/2."""
        return not (self.whole.adding or self.slope or self.rise) and self.whole.rate <= Fraction(1, 2)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return 1 + self.increment(x, t)

    def increment(self, x: float, t: Reals) -> Complex:
        line = self._drawn(x)
        result = turned_sums(t, line.log_ratio, line.on_line) / line.total
        return result.conj() if self.whole.adding else result

    def rounding(self, x: float, t: float) -> float:
        line = self._drawn(x)
        once = 0 if self.digits else 2  # of 1 + something small, which many uses do without
        return (once + line.still + line.turning * (1 + abs(x)) + t * line.turned) * UNIT + 2.0**-57 * math.exp(-self.digits)

    def mean_modulus(self, x: float) -> float:
        """E|L| under the tilt x, from above: |phi(t) - 1| is at most t times that."""
        line = self._drawn(x)
        return float(line.weights @ np.abs(line.losses)) / line.total * (1 + 2.0**-20)

    def work(self, x: float) -> int:
        return 1 + self._drawn(x).z.size // 16  # of a matrix product

    def reach(self, x: float) -> float:
        return float(np.abs(self._drawn(x).losses).max())

    def decay(self, x: float, t: float) -> float:
        """A bound on |phi| at and beyond t: the integral of the modulus on lines up to the height y, as in SampledGaussian.

        With w = (c + it) / 2 the modulus is phi(z) (r(z+iy)^w chi(z+iy)^(1/2)) times the mirror image of the bracket: analytic,
        and moved by b <= y at most what G bounds, since cos(a (y+b)) + cos(a (y-b)) >= 2 cos(2 a y) and e^(-t arg r) <= 1.
        """
        line = self._drawn(x)
        exponents, arguments = _moduli(self, x)
        least = float(np.exp(exponents - t * arguments).sum(axis=1).min()) * line.step / math.sqrt(2 * math.pi) / line.total
        return min(1.0, least * (1 + 2.0**-30) + 2.0**-50)

    def mean_variance(self) -> tuple[float, float]:
        return self.whole.mean_variance()

    def group(self, size: int) -> Loss:
        raise no_groups(size)


def cut_gaussian(whole: SampledGaussian, most: float, share: float = 1.0, digits: float = 0.0) -> CutGaussian:
    """Cut where at most ``most`` of its mass is not kept, at a ``share`` of the steepest slope; 0: not at all."""
    if whole.adding or not share:
        return CutGaussian(whole, 0.0, 0.0, digits=digits)
    mu = math.sqrt(whole.squared_mu)
    cut = mu + 3.0
    while True:
        made = CutGaussian(whole, cut, max(2.0, share * (cut - mu)), digits=digits)
        if made.lost <= max(most, 1e-320) or cut > mu + 40 / share:
            return made
        cut += 0.125


def tail_masses(step: CutGaussian) -> tuple[float, float, float, float] | None:
    """n = E_Q[psi] and E_P[psi] - n of what lies beyond, each with a bound on its relative error; None where it is out of reach.

    E_P[psi] is the moment at x = 0. Since r >= 1 - q >= 1/2, the rule of its grid errs for E_Q by at most twice as much, and so
    does its range; the difference is the sum of psi (r - 1) over the same grid.
    """
    if step.whole.adding or not step.rise or step.whole.rate > Fraction(1, 2) or (line := step._line(0.0)) is None:
        return None
    mu, rate, z = step.whole._mu, float(step.whole.rate), line.z
    w = mu * z - mu * mu / 2
    known = 16 * np.abs(line.losses) + np.minimum(rate * np.exp(np.minimum(w, 600.0) - line.losses), 4.0) * (
        32 * np.minimum(1.0, np.abs(w)) + 4 * (np.abs(mu * z) + mu * mu) + np.where(w > 40, -4 * math.log(rate), 0.0)
    )  # units of ln r
    each = 160 + z.size / 64 + 4 * z * z + 12 * step.rise * (np.abs(z - step.begin) + np.abs(z)) + known
    other, gain = line.weights * np.exp(-line.losses), line.weights * -np.expm1(-line.losses)
    n, d, rule = float(other.sum()), float(gain.sum()), 2.0**-55 * line.total
    if not min(n, d) > 0:
        return None
    n_error, d_error = float(other @ each) * UNIT + rule, float(np.abs(gain) @ each + other @ known) * UNIT + rule
    return n, n_error / n * (1 + 2.0**-20), d, d_error / d * (1 + 2.0**-20)


@lru_cache(maxsize=8)
def _moduli(loss: CutGaussian, x: float) -> tuple[Reals, Reals]:
    """On lines of several heights, one a row: ln of the modulus at t = 0, and the argument of r by which it falls in t."""
    line, power = loss._drawn(x), -x if loss.whole.adding else 1 + x
    mu, rate = math.sqrt(loss.whole.squared_mu), float(loss.whole.rate)
    exponents, arguments = [], []
    for height in line.height * _SHARES:
        modulus, argument = log_shifted(line.z, mu, rate, loss.whole._keep, mu * height)
        fading = line.fading * math.cos(loss.slope * height)
        exponents.append(power * modulus - line.z**2 / 2 + height * height / 2 - fading)
        if loss.rise:
            exponents[-1] += np.log(np.abs(_risen(line.z, loss.begin, loss.rise, height)))
        arguments.append(argument)
    return np.array(exponents), np.array(arguments)


_MOST_TILT = 1e18
_FARTHEST = 12.0  # standard deviations: lines that begin farther out are long, and deltas so small need none
_MOST_TERMS = 1 << 13


@dataclass(frozen=True, eq=False)
class _Line:
    """A grid: the real axis for moments, the line above it for characteristic functions. Weights include the grid's step."""

    z: Reals
    step: float
    height: float
    losses: Reals  # on the real axis
    weights: Reals  # phi r^c chi on the real axis
    total: float  # M(x)
    excess: float  # M(x) - 1
    fading: Reals  # -ln chi on the real axis
    log_ratio: Complex  # ln r on the line
    on_line: Complex  # phi r^c chi on the line
    still: float  # units of rounding of M(x)
    turning: float  # the same, for each unit of power
    turned: float  # units of rounding of phi, for each unit of t


def _depth(begin: float) -> float:
    """M with a rise is at least e^-deep, or of no use."""
    return 3 + begin * begin / 2 + math.log1p(begin)


def _range(
    mu: float, rate: float, adding: bool, x: float, cut: float, slope: float, begin: float, rise: float, digits: float
) -> tuple[float, float]:
    """Outside of which next to nothing of M(x) lies."""
    end, power = math.sqrt(2 * (45 + digits)), -x if adding else 1 + x
    if adding:
        return -math.sqrt(2 * (42 + digits - x * math.log1p(-rate))), end
    surplus = max(0.0, math.log(rate) + x * (x + 1) * mu * mu / 2)  # for x < 0 none: q^c e^(c (c - 1) mu^2 / 2) <= 1
    low, high, farthest = -end, max(cut, end), max(end, (1 + x) * mu + math.sqrt(2 * (42 + digits + surplus)))
    if rise:  # less matters, where M is small
        enough = 2 * (42 + digits + _depth(begin))
        low = min(rise - math.sqrt(enough - begin * begin + (rise - begin) ** 2), mu / 2)
        high = max(cut, end, begin)
        farthest = max(end, math.sqrt(enough), (1 + x) * mu + math.sqrt(enough + 2 * surplus))
    if not slope:
        return low, farthest
    cosine = math.cos(2 * slope * min(0.75 / mu, 1.5, 0.7 / max(slope, rise)))
    wanted = (100 + digits) * (1 + power * mu / slope)
    while high < farthest and math.exp(slope * (high - cut)) * cosine < power * mu * high + wanted:
        high += 0.125
    return low, min(high, farthest)


@lru_cache(maxsize=256)
def _rough_cumulants(loss: CutGaussian, x: float) -> tuple[float, float, float]:
    """K, K' and K'' to some digits; infinity where moments are out of reach."""
    whole, steepest = loss.whole, max(loss.slope, loss.rise)
    mu, rate, power = whole._mu, float(whole.rate), -x if whole.adding else 1 + x
    nothing = loss.rise and (loss.begin > _FARTHEST or (loss.slope and loss.begin > loss.cut - 0.5))
    if nothing or not (0 <= x < _MOST_TILT or (-1 < x < 0 and loss.has_low_moments)):
        return math.inf, math.inf, math.inf
    low, high = _range(mu, rate, whole.adding, x, loss.cut, loss.slope, loss.begin, loss.rise, 0.0)
    step = min(0.1, 0.2 / mu, 0.4 / steepest if steepest else 1.0)
    if not (high - low) / step < _MOST_TERMS:
        return math.inf, math.inf, math.inf
    z: Reals = np.arange(low, high + step, step)
    losses = np.log1p(rate * np.expm1(np.minimum(mu * z - mu * mu / 2, 600.0)))
    exponent = power * losses
    if loss.slope:
        exponent = exponent - np.exp(loss.slope * (z - loss.cut))
    if not float(exponent.max()) < 600:
        return math.inf, math.inf, math.inf
    normal = np.exp(-z * z / 2) * (step / math.sqrt(2 * math.pi))
    weights = normal * np.exp(exponent)
    if loss.rise:
        weights = weights * -np.expm1(-np.exp(loss.rise * np.minimum(z - loss.begin, 40 / loss.rise)))
    total = float(weights.sum())
    if loss.rise and total < math.exp(-_depth(loss.begin)):
        return math.inf, math.inf, math.inf
    mean = float((weights * losses).sum()) / total
    variance = float((weights * (losses - mean) ** 2).sum()) / total
    scale = math.log(total) if loss.rise else math.log1p(float((normal * np.expm1(exponent)).sum()))
    return scale, -mean if whole.adding else mean, variance


@lru_cache(maxsize=128)
def _line(
    mu: float,
    rate: float,
    keep: float,
    adding: bool,
    x: float,
    cut: float,
    slope: float,
    begin: float,
    rise: float,
    digits: float,
) -> _Line | None:
    if rise and (begin > _FARTHEST or (slope and begin > cut - 0.5)):
        return None  # nothing lies beyond
    power, deep = -x if adding else 1 + x, _depth(begin)
    steepest = max(slope, rise)
    height = min(0.75 / mu, 1.5, 0.7 / steepest if steepest else 1.5)
    step = 2 * math.pi * height / (2 * height * height + 46 + digits)
    cosine = math.cos(2 * slope * height)
    low, high = _range(mu, rate, adding, x, cut, slope, begin, rise, digits)
    while True:
        if not (high - low) / step < _MOST_TERMS:
            return None
        z: Reals = np.arange(math.floor(low / step), math.ceil(high / step) + 1, dtype=np.float64) * step
        losses, _ = log_shifted(z, mu, rate, keep, 0.0)
        fading = np.exp(slope * (z - cut)) if slope else np.zeros(z.size)
        exponent = power * losses - fading
        if float(exponent.max()) > 600:
            return None
        normal = np.exp(-z * z / 2) * (step / math.sqrt(2 * math.pi))
        excess = float((normal * np.expm1(exponent)).sum())  # pairwise
        weights, total = normal * np.exp(exponent), 1 + excess
        if rise:
            weights = weights * _risen(z, begin, rise, 0.0).real
            total = float(weights.sum())
            if total < math.exp(-deep):
                return None
        ratio = power * (log_shifted(z, mu, rate, keep, 2 * mu * height)[0][:-1] if adding else losses[1:])
        modulus = ratio - np.minimum(np.abs(z[1:]), np.abs(z[:-1])) ** 2 / 2 - fading[:-1] * cosine
        if rise:
            modulus += np.minimum(rise * (z[1:] - begin), math.log(2))
        bound = float(modulus.max()) + math.log(float(np.exp(modulus - modulus.max()).sum()) * step) + 2 * height * height
        wanted = 2 * math.pi * height / (bound - math.log(total) + 43 + digits)
        if step <= wanted:
            break
        step = min(wanted, 0.9 * step)  # a finer rule never errs more
    modulus, argument = log_shifted(z, mu, rate, keep, mu * height)
    log_ratio = (modulus + 1j * argument).astype(np.complex128)
    inner = power * log_ratio - fading * np.exp(1j * slope * height)
    on_line = normal * np.exp(inner + height * height / 2 - 1j * z * height)
    # ln r errs by 16 units of itself and by the weight of q e^w in r times what q e^w errs by.
    w = mu * z - mu * mu / 2
    share = np.minimum(rate * np.exp(np.clip(w, 0.0, 600.0) - modulus), 1 / keep + 2)
    growth = 32 * np.minimum(1.0, np.abs(w) + mu * height)  # e^w - 1 is known relatively
    turning = 16 * np.abs(log_ratio) + share * (
        growth + 4 * (np.abs(mu * z) + mu * mu) + np.where(w > 40, -4 * math.log(rate), 0.0)
    )
    cutting = fading * (16 + 8 * np.abs(slope * (z - cut)) + 8 * slope * abs(cut))
    each = 64 + z.size / 64 + 4 * z * z
    small = (
        np.minimum(np.abs(inner) * np.exp(inner.real.clip(0)), 1 + np.exp(inner.real)) * normal * math.exp(height * height / 2)
    )
    if rise:  # u errs by so much, psi by its |u / (e^u - 1)| < 1.4; phi - 1 is a difference of sums, and the total one more
        on_line = on_line * _risen(z, begin, rise, height)
        cutting, turning = 4 * (cutting + 24 + 3 * rise * (np.abs(z - begin) + np.abs(z))), 4 * turning
        small = 4 * np.abs(on_line)
    size = np.abs(on_line)
    return _Line(
        z,
        step,
        height,
        -losses if adding else losses,
        weights,
        total,
        excess,
        fading,
        log_ratio,
        on_line,
        float(small @ each + size @ cutting) / total,
        float(size @ turning) / total,
        float(size @ ((units(z.size) + 4 * z * z) * np.abs(log_ratio) + turning)) / total,
    )


def _risen(z: Reals, begin: float, rise: float, height: float) -> Complex:
    """psi on a line."""
    return -expm1(-np.exp(rise * np.minimum(z - begin, 40 / rise)) * np.exp(1j * rise * height))
