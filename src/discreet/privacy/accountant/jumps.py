"""Compositions whose delta is a matter of a few rare large losses: those are taken apart.

On small samples nearly all losses are next to nothing, and delta consists of the few outcomes in which one step is not. A
contour that carries the rest along cancels: its nodes are numbers around 1 and its answer is delta, so that rounding weighs 1
/ delta; and it fades late, since the many tiny losses hardly turn. So each step throws a coin: with probability chi(z) its
loss counts as *small* (``CutGaussian``: a smooth cut at a loss of half of epsilon), else as a *jump*, and

    delta = E[(1 - e^(e - L))+; all small] + E[(1 - e^(e - L))+; at least one jump],

exactly. The first term has light tails and a contour at its own, larger tilt. The second belongs to a positive measure with
moments A - B, A = prod a_i^k_i and B = prod (a_i - b_i)^k_i, a_i being a step's moments and b_i those of its jumps: a loss of
its own (``Jumps``), to which everything in ``smoothing`` applies. It is computed as A (1 - e^u), u = sum k_i ln(1 - b_i /
a_i), from b_i that is a sum over the jumps alone: it is small, relatively known, and fades as soon as jumps turn. What is cut
from a_i is cut from b_i as well, and counts as lost.

**Rounding.** Let a_i and b_i be divided by a_i at 0, so that |a_i|, |a_i - b_i| <= 1 and |b_i| <= d_i, their value at 0. As
all factors are at most 1, A - B moves by at most sum k_i (beta_i + N alpha_i) if b_i is off by beta_i and a_i by alpha_i, N =
sum k_j d_j bounding every difference of products of some of the factors; off by a little, factors may exceed 1 a little: times
e^(sum k_i (alpha_i + beta_i)). With N <= 1/2 the mass m = 1 - prod (1 - d_i)^k_i is at least N / 1.3, and relatively as well
known as the d_i, since k d (1 - d)^(k-1) <= 1 - (1 - d)^k.

A - B is a sum over i of B's powers before i, A's after it, and g_i = a_i^k_i - (a_i - b_i)^k_i, |g_i| <= k_i d_i. In units of
rounding, a logarithm of 1 + s errs by 20 |s| where |s| <= 1/2 and by 4 (|ln |1 + s|| + 4.2) elsewhere; a power by that times
k, and 8 k times the logarithm. As |a_i - 1| <= t E|L_i| and |a_i - b_i - 1| <= t E|L_i| + 2 d_i, that is 72 k_i t E|L_i| + 40
at most, but for 8 k |ln |1 + s|| |1 + s|^k <= 3. If k_i = 1, g_i is b_i. Else it is a_i^k (1 - e^(k l)), l = ln(1 + w), w =
-b_i / a_i. With y = |a_i| > e^-700, ln a_i still errs by 8 k |ln y|, beside k_i d_i (y + d_i)^(k-1): at most 8 (1.5 + 2800
d_i), or less than t E|L_i|. And l errs by 45 |w| if |w| <= 1/2: then |a_i - b_i|^k / |a_i| <= 1.5, in all 68. Else y <= 2 d_i
and |a_i - b_i| <= 3 d_i; it errs by 8 |b_i| / |a_i - b_i| + 4 (5 + |ln |1 + w||), beside 3 (3 d_i)^(k-1), in all by 8 + 50600
d_i. With d_i <= 1/32 and N / m <= 1.3, ``_UNITS`` (1 + n + 512 d) cover all of it, n parts and the largest d_i.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.contour import find_saddle, log_moment
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian
from discreet.privacy.accountant.cutting import Kept, crossing, expected_error
from discreet.privacy.accountant.smoothing import Smoothed, log1p, open_smoothed
from discreet.privacy.accountant.turning import expm1
from discreet.privacy.losses.base import UNIT, Loss, Parts
from discreet.privacy.losses.sampled_gaussian import no_groups

__all__ = ["Apart", "Jumps", "beyond", "place_of", "small_part", "take_apart"]

_UNITS = 512
_RISE = 10.0  # of the coin's curve, beyond that of the normal law: steep enough for jumps to fade, gentle enough for few points
_SHARE = 0.5  # of epsilon: two small losses hardly ever reach it
_RARE = 2.0**-5  # jumps: d_i at most
_COARSE = 1 << 19  # terms
_NODES = 1 << 18
_PRECISE = 1e-7  # of delta
_LOST = 2e-10  # of delta, where no cut that loses less leaves enough to see
_FACTORS = (1.0, 0.7, 0.5, 0.35, 0.25)  # of the tilt


@dataclass(frozen=True)
class Jumps(Loss):
    """All steps of sampled Gaussians together, where at least one of them is a jump beyond ``loss``; counted as one use."""

    steps: tuple[tuple[CutGaussian, int], ...]
    loss: float
    kind = "jumps"

    @property
    def pure(self) -> Fraction | None:
        return None

    @property
    def rho(self) -> Fraction | None:
        return None

    def _shares(self, x: float) -> list[float]:
        """d_i."""
        return [math.exp(min(beyond(step, self.loss).log_moment(x) - step.log_moment(x), 0.0)) for step, _ in self.steps]

    def _mass(self, x: float) -> tuple[float, float]:
        """m, and N; 1 where jumps are no longer rare."""
        shares = self._shares(x)
        if not max(shares) <= _RARE or not (often := sum(k * d for (_, k), d in zip(self.steps, shares, strict=True))) <= 0.5:
            return 1.0, math.inf
        return -math.expm1(math.fsum(k * math.log1p(-d) for (_, k), d in zip(self.steps, shares, strict=True))), often

    def log_moment(self, x: float) -> float:
        """From above where jumps are not rare."""
        total = math.fsum(k * step.log_moment(x) for step, k in self.steps)
        if not math.isfinite(total) or not all(math.isfinite(beyond(step, self.loss).log_moment(x)) for step, _ in self.steps):
            return math.inf
        return total + math.log(self._mass(x)[0])

    def cumulants(self, x: float) -> tuple[float, float, float]:
        """Roughly, of the masses where they are rare."""
        h = 1e-3 * x
        low, middle, high = (self.rough_moment(y) for y in (x - h, x, x + h))
        return middle, (high - low) / (2 * h), (high - 2 * middle + low) / (h * h)

    def rough_moment(self, x: float) -> float:
        """K(x), to some digits; infinity where jumps are not rare."""
        total, often = 0.0, 0.0
        for step, k in self.steps:
            whole, far = step.cumulants(x)[0], beyond(step, self.loss).cumulants(x)[0]
            if not far - whole <= math.log(_RARE) or not whole < math.inf:
                return math.inf
            total, often = total + k * whole, often - k * math.log1p(-math.exp(far - whole))
        return total + math.log(-math.expm1(-often)) if often <= 0.5 else math.inf

    def is_rare(self, x: float) -> bool:
        """Whether ``characteristic`` is right within ``rounding`` at this tilt."""
        return math.isfinite(self.log_moment(x)) and math.isfinite(self._mass(x)[1])

    def characteristic(self, x: float, t: Reals) -> Complex:
        total, before = np.zeros(t.size, dtype=np.complex128), np.ones(t.size, dtype=np.complex128)
        for (step, k), share in zip(self.steps, self._shares(x), strict=True):
            small, b = step.increment(x, t), share * beyond(step, self.loss).characteristic(x, t)
            a, gone = np.exp(float(k) * log1p(small)), small == -1  # where nothing is left of the first, only the second is
            g = b if k == 1 else np.where(gone, -((-b) ** k), -a * expm1(float(k) * log1p(-b / np.where(gone, 1, 1 + small))))
            total, before = total * a + before * g, before * np.exp(float(k) * log1p(small - b))
        result: Complex = total / self._mass(x)[0]
        return result

    def rounding(self, x: float, t: float) -> float:
        mass, often = self._mass(x)
        far = math.fsum(
            k * d * beyond(step, self.loss).rounding(x, t) for (step, k), d in zip(self.steps, self._shares(x), strict=True)
        )
        near, still = (math.fsum(k * step.rounding(x, u) for step, k in self.steps) for u in (t, 0.0))
        known = max(beyond(step, self.loss).rounding(x, 0.0) + step.rounding(x, 0.0) for step, _ in self.steps) + 64 * UNIT
        if math.isinf(often):  # the moment, from above
            return still + known
        turned = 72 * t * math.fsum(k * step.mean_modulus(x) for step, k in self.steps)
        moved = (far + often * near) / mass * math.exp(min(far + near, 1.0))
        return moved + still + 2 * known + (_UNITS * (1 + len(self.steps) + 512 * max(self._shares(x))) + 1.5 * turned) * UNIT

    def work(self, x: float) -> int:
        return sum(step.work(x) + beyond(step, self.loss).work(x) for step, _ in self.steps)

    def reach(self, x: float) -> float:
        return max(step.reach(x) for step, _ in self.steps)

    def decay(self, x: float, t: float) -> float:
        """|A - B| <= sum k_i |b_i| times the largest modulus that the other factors may have."""
        most, sums = 0.0, 0.0
        for (step, k), share in zip(self.steps, self._shares(x), strict=True):
            b = share * beyond(step, self.loss).decay(x, t)
            modulus = math.log(min(1.0, step.decay(x, t) + b))
            sums += k * modulus
            most += k * b * math.exp(-modulus)
        return min(1.0, most * math.exp(sums) / self._mass(x)[0] * (1 + 2.0**-30) + 2.0**-50)

    def mean_variance(self) -> tuple[float, float]:
        _, mean, variance = self.cumulants(1.0)
        return mean, variance

    def group(self, size: int) -> Loss:
        raise no_groups(size)


def beyond(step: CutGaussian, loss: float) -> CutGaussian:
    """Its jumps beyond this loss."""
    place = place_of(step, loss)
    return replace(step, begin=place, rise=_RISE + place)


def small_part(step: CutGaussian, loss: float) -> CutGaussian:
    """What is no jump."""
    jumps = beyond(step, loss)
    return CutGaussian(step.whole, jumps.begin, jumps.rise, digits=step.digits)


def place_of(step: CutGaussian, loss: float) -> float:
    """The outcome z that has this loss."""
    mu, q = math.sqrt(step.whole.squared_mu), float(step.whole.rate)
    return (math.log1p(math.expm1(loss) / q) if loss < 600 else loss - math.log(q)) / mu + mu / 2


@dataclass(frozen=True)
class Apart:
    """Contours for outcomes without and with jumps; their sum bounds the finite part of delta."""

    contours: tuple[Smoothed, Smoothed]
    lost: float  # mass that is cut
    epsilon: float  # what they are good for

    @property
    def is_precise(self) -> bool:
        """Whether nothing else has to be tried."""
        return self.width <= _PRECISE

    @property
    def width(self) -> float:
        """Of its bracket of delta, relative."""
        low, high = self.delta(self.epsilon)
        return (high - low) / high if high else 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the finite part of delta(epsilon)."""
        return self.bound(epsilon, top=False), self.bound(epsilon, top=True)

    def bound(self, epsilon: float, *, top: bool) -> float:
        """One of them; what is cut counts for nothing, or as disclosed."""
        total = sum(contour.bound(epsilon, top=top) for contour in self.contours)
        return (total + self.lost) * (1 + 2.0**-50) if top else total * (1 - 2.0**-50)

    def estimate(self, epsilon: float) -> float:
        return sum(contour.estimate(epsilon) for contour in self.contours)


@lru_cache(maxsize=16)
def take_apart(kept: Kept, effort: int, log_delta: float | None) -> Apart | None:
    """Contours for the saddle's epsilon, or for the one that belongs to a delta; None where there are no jumps, or not rarely."""
    saddle = kept.saddle
    for _ in range(8):
        e, found = saddle.epsilon, _open(replace(kept, saddle=saddle), _COARSE)
        if found is None:
            return None
        if log_delta is None:
            level = math.log(min(max(found.estimate(e), 1e-320), 1.0))
            if abs(level - saddle.log_delta) < 1:
                break
            saddle = replace(saddle, log_delta=level)
        else:
            near = min(max(crossing(found, math.exp(log_delta), e), e / 3), 3 * e)  # estimates are good nearby
            if abs(near - e) < 0.05 * near:
                break
            saddle = replace(saddle, epsilon=near)
    assert found is not None
    e = saddle.epsilon
    slope = math.log(max(found.estimate(e), 1e-320) / max(found.estimate(1.1 * e), 1e-320)) / (0.1 * e)
    return _open(_cheapest(replace(kept, saddle=saddle), max(slope, saddle.tilt)), effort)


def _cheapest(kept: Kept, slope: float) -> Kept:
    """Another tilt, and with it no cut at all or a lower one, where less is expected to be lost, cut or smoothed away."""
    parts, saddle, uses = kept.parts, kept.saddle, sum(count for _, count in kept.parts)
    most = math.exp(max(saddle.log_delta + math.log(_LOST / uses), -700.0))
    best, least = kept, math.inf
    for level, factors in ((None, _FACTORS), (0.0, _FACTORS), (most, (1.0, 2.0, 4.0, 8.0))):
        cut = parts if level is None else tuple((_recut(loss, level), count) for loss, count in parts)
        lost = kept.lost if level is None else math.fsum(count * loss.lost for loss, count in cut) * (1 + 2.0**-40)
        steps, others = _steps(cut)
        jumps = Jumps(steps, _SHARE * saddle.epsilon)
        for x in (factor * saddle.tilt for factor in factors):
            if not jumps.is_rare(x):
                continue
            both = ((jumps, 1), *others)
            here = replace(saddle, tilt=x, log_scale=log_moment(both, x))
            error = expected_error(both, here, (25 - saddle.log_delta) / x, _NODES, slope) + lost / math.exp(saddle.log_delta)
            if error < least:
                best, least = Kept(cut, lost, here), error
    return best


def _recut(loss: Loss, most: float) -> Loss:
    """A step cut where at most so much of its mass is lost; 0: not at all."""
    return cut_gaussian(loss.whole, most, 1.0 if most else 0.0, loss.digits) if isinstance(loss, CutGaussian) else loss


def _steps(parts: Parts) -> tuple[tuple[tuple[CutGaussian, int], ...], Parts]:
    """What may jump, and the others."""
    steps = tuple((loss, count) for loss, count in parts if isinstance(loss, CutGaussian) and not loss.whole.adding)
    return steps, tuple(part for part in parts if part not in steps)


def _open(kept: Kept, effort: int) -> Apart | None:
    saddle = kept.saddle
    steps, others = _steps(kept.parts)
    jumps = Jumps(steps, _SHARE * saddle.epsilon)
    if not (steps and saddle.epsilon > 0 and jumps.is_rare(saddle.tilt)):
        return None
    small = tuple((small_part(step, jumps.loss), count) for step, count in steps)
    light = find_saddle((*small, *others), epsilon=saddle.epsilon)
    light = replace(light, epsilon=saddle.epsilon, log_delta=saddle.log_delta)
    rest = open_smoothed((*small, *others), light, min(effort, _COARSE << 1), _NODES)
    far = open_smoothed(((jumps, 1), *others), saddle, effort, _NODES)
    return Apart((rest, far), kept.lost, saddle.epsilon) if rest and far else None
