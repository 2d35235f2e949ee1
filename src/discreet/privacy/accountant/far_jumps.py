"""Steps on small samples whose losses reach far beyond epsilon: what lies there is added up in closed form.

Losses on a small sample have heavy tails, and a contour pays for them with a window hundreds of times as wide as epsilon. But
where a step's loss exceeds epsilon by more than all others can take back, delta's payoff f(u) = (1 - e^-u)+ is the line 1 - e^-u.
So each step is cut as in ``cut_gaussian``, at a place c not far above epsilon, by a coin that keeps it with probability chi(z);
A is the event that a step is *far*, that is not kept. With E_P[e^-L; A] = Q(A), exactly

    E_P[f(L - e); A] = P(A) - e^e Q(A) + E_Q[(e^e - e^L)+; A].

**The line.** With n_i = E_Q[1 - chi] of a step and d_i = E_P[1 - chi] - n_i, P(A) = 1 - prod (1 - n_i - d_i)^k_i and Q(A) = 1 -
prod (1 - n_i)^k_i. What is wanted grows with every d_i and falls with every n_i, so that their bounds give its bounds.

**What is off the line.** The last term is at least 0. Under Q steps are independent. Let the others of step i take back less
than B, but for a chance p: either B = sum k_j (-ln(1 - q_j)) and p = 0, as no step loses less than ln(1 - q); or ln p = sum k_j
ln E_Q[r_j^-y] - y B for any y > 0 (Markov; each mean is at least 1, so that one step more does no harm). If they do, e^e - e^L
is above 0 only where l_i < e + B, that is z < m_i, and at most e^e - e^-B (1 - q_i); and 1 - chi <= e^(a (z - c)). So the term
is at most sum k_i ((e^e - e^-B (1 - q_i)) T_i / (1 - q_i) + e^e n_i p), where T_i = E_P[e^(a (z - c)); z < m_i] is a matter of
normal distribution functions.

**What is kept** is split again at half of epsilon (``jumps``): all steps small, or at least one jump among kept ones. The coin
of the small ones does not ask whether they are kept, so that the sum counts too much what is both small and far: at least 0,
and with f(L - e) <= sum (l_j)+ at most sum k_i ((l(m_i) + sum k_j E(l_j)+) T_i + exp(-e^(b (m_i - d))) P[z > m_i]), for any m_i
in the place of the other ones; they are taken so far beyond the jumps' d that the second part is nothing.

**Beside** these steps others may be used on samples (Laplace noise, lists): they are in every contour, never far, take back at
most -sum k_j ln(1 - q_j), and add E min(1, (l_j)+) to the sum of E(l_j)+, as f is at most 1. A step whose far values would be
hardly ever is cut instead, and what is cut counts as lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from discreet.arrays import dot
from discreet.privacy.accountant.contour import Saddle, find_saddle, log_moment, saddle_at
from discreet.privacy.accountant.cut_gaussian import CutGaussian, cut_gaussian, tail_masses
from discreet.privacy.accountant.cutting import crossing, cut_losses, has_sides, list_of
from discreet.privacy.accountant.jumps import Jumps, beyond, place_of, small_part
from discreet.privacy.accountant.lattice import Expected, expect_samples
from discreet.privacy.accountant.smoothing import Smoothed, open_smoothed
from discreet.privacy.losses import SampledGaussian, SampledLattice
from discreet.privacy.losses.base import UNIT, Loss, Parts

__all__ = ["Far", "Masses", "Split", "belongs", "expect", "follow_line", "split_far"]

_SHARE = 0.5  # of epsilon, where jumps begin
_SMALLER = 0.35  # where what is small costs digits
_OFF = 28.0  # ln of how little is off the line, to begin with
_FARTHEST = 9.0  # standard deviations: steps that are cut there are hardly ever
_LOST = -30.0  # ln of the share of delta that may be lost
_LITTLE = 1e-11  # of delta: what may be off
_HARDLY = 50.0  # minus ln of a chance that does not matter
_MANY = 10**6  # uses: moments of each need digits beyond the doubles' around 1
_HIGHEST = 40.0  # tilt times epsilon: what small losses never reach needs no higher one
_RARELY = 0.2  # tilt times epsilon: jumps with a smaller one are no longer rare
_SMALLEST = -25.0  # ln delta: what is expected of less is lost to rounding
_WIDEST = 20.0  # epsilon
_STEEPEST = 24.0  # cuts: steeper ones take too many points
_TILTS = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.06, 0.03)  # times epsilon
_COARSE = 1 << 19  # terms
_NODES = 1 << 18
_FEW = 10  # uses: fewer need not be known as well
_PRECISE, _ENOUGH, _FINE = 1e-7, 1e-5, 1e-10  # of delta
_CLOSE = 2e-10  # of epsilon
_ELSEWHERE = 0.5  # of epsilon: what is as far from where it should be belongs to another delta

Steps = tuple[tuple[CutGaussian, int], ...]
Masses = tuple[float, float, float, float]
"""n_i and d_i, each with a bound on its relative error."""


@dataclass(frozen=True)
class Beside:
    """Other losses on samples: none of their values counts as far."""

    parts: Parts
    lost: float  # mass that is cut
    back: float  # the most that they ever take back
    most: float  # sum k_j E min(1, (l_j)+), from above

    @classmethod
    def of(cls, wholes: Parts, log_delta: float) -> Beside:
        parts, lost = cut_losses(wholes, log_delta, top=True) if wholes else ((), 0.0)
        back = -math.fsum(k * math.log1p(-float(loss.rate)) for loss, k in wholes if isinstance(loss, SampledLattice))
        most = math.fsum(k * _mean(loss) for loss, k in wholes)
        return cls(parts, lost, back * (1 + 2.0**-40), most * (1 + 2.0**-40))


def _mean(loss: Loss) -> float:
    """E min(1, l+) from above: of a list, what is not on it counts as 1."""
    if loss.pure is not None:
        return float(loss.pure)
    law = list_of(loss, up=True)
    return (dot(law.mass, np.maximum(law.losses, 0.0)) + law.lost) * (1 + 1e-6)


class Far(Protocol):
    """What is added up in closed form."""

    @property
    def uses(self) -> int: ...

    def delta(self, epsilon: float) -> tuple[float, float]: ...

    def estimate(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class FarJumps:
    """At least one of the steps is far: not kept by its coin."""

    steps: Steps
    jump: float | None  # the loss beyond which a kept step is no longer small, where those are split
    masses: tuple[Masses, ...]
    around: float  # sum k_j E(l_j)+
    beside: Beside

    @property
    def uses(self) -> int:
        return sum(k for _, k in (*self.steps, *self.beside.parts))

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on what they add to delta, without what is small as well."""
        off, twice = self._off(epsilon)
        return self._line(epsilon, -1) - twice, self._line(epsilon, 1) + off + self.beside.lost

    def estimate(self, epsilon: float) -> float:
        return self._line(min(epsilon, 600.0), 0)

    def _line(self, epsilon: float, side: int) -> float:
        return follow_line(self.masses, [k for _, k in self.steps], epsilon, side)

    def _off(self, epsilon: float) -> tuple[float, float]:
        """At most so much is off the line, and so much is small as well."""
        back, chance = _taken_back(self.steps)
        back += self.beside.back
        off = twice = rest = 0.0
        for (step, k), (n, n_error, _, _) in zip(self.steps, self.masses, strict=True):
            if not n:
                continue
            m, q = place_of(step, epsilon + back), float(step.whole.rate)
            most = math.expm1(epsilon) - math.expm1(-back) + q
            off += k * (2 * most * _tail(step, m) + math.exp(epsilon) * n * (1 + n_error) * chance)
            if self.jump is not None:
                jump = beyond(step, self.jump)
                m = max(m, jump.begin + 4 / jump.rise)
                twice += k * (_loss_at(step, m) + self.around) * _tail(step, m)
                rest += k * math.exp(-math.exp(jump.rise * (m - jump.begin)) * (1 - 1e-9)) * _beyond(step, m)
        return off * (1 + 1e-6), (twice + rest) * (1 + 1e-6)


def follow_line(masses: tuple[Masses, ...], counts: list[int], epsilon: float, side: int) -> float:
    """P(A) - e^e Q(A) = (P(A) - Q(A)) - (e^e - 1) Q(A), from below (-1) or above (1)."""
    moved = [(n * (1 - side * n_error), d * (1 + side * d_error)) for n, n_error, d, d_error in masses]
    stay = math.fsum(k * math.log1p(-n) for (n, _), k in zip(moved, counts, strict=True))
    drop = math.fsum(k * math.log1p(-d / (1 - n)) for (n, d), k in zip(moved, counts, strict=True))
    gained, other = -math.exp(stay) * math.expm1(drop), -math.expm1(epsilon) * math.expm1(stay)
    return gained - other + side * (64 * len(masses) + 8 * (abs(stay) + abs(drop))) * UNIT * (gained + other)


@lru_cache(maxsize=16)
def _taken_back(steps: Steps) -> tuple[float, float]:
    """B, and the chance p that steps take back more."""
    surely = -math.fsum(k * math.log1p(-float(step.whole.rate)) for step, k in steps) * (1 + 2.0**-40)
    others = [(CutGaussian(step.whole.reverse, 0.0, 0.0, digits=step.digits), k) for step, k in steps]
    spread = math.sqrt(math.fsum(k * step.mean_variance()[1] for step, k in others))
    hardly = surely
    for y in (share * math.sqrt(2 * _HARDLY) / spread for share in (0.25, 0.5, 1.0, 2.0)):
        known = [k * (step.log_moment(y) + step.rounding(y, 0.0)) for step, k in others if math.isfinite(step.log_moment(y))]
        if len(known) == len(others):
            hardly = min(hardly, (math.fsum(known) + _HARDLY) / y * (1 + 2.0**-30))
    return (hardly, math.exp(-_HARDLY)) if hardly < surely else (surely, 0.0)


def _loss_at(step: CutGaussian, z: float) -> float:
    """ln r at z, not below 0."""
    mu = step.whole._mu
    return max(0.0, math.log1p(float(step.whole.rate) * math.expm1(mu * z - mu * mu / 2)))


def _tail(step: CutGaussian, m: float) -> float:
    """T = E_P[e^(a (z - c)); z < m]."""
    mu, q, a, c = step.whole._mu, float(step.whole.rate), step.slope, step.cut
    base, moved = a * a / 2 - a * c, a * a / 2 + a * mu - a * c
    return math.exp(base) * _below(m - a) + q * math.exp(moved) * _below(m - a - mu)


def _beyond(step: CutGaussian, m: float) -> float:
    """P[z > m], from above."""
    return _below(-m) + float(step.whole.rate) * _below(step.whole._mu - m)


def _below(z: float) -> float:
    """The normal distribution function."""
    return math.erfc(-z / math.sqrt(2)) / 2


@dataclass(frozen=True)
class Split:
    """Contours for outcomes that are kept, and the far ones; together the finite part of delta."""

    contours: tuple[Smoothed, ...]
    far: Far
    epsilon: float  # what they are good for

    @property
    def is_precise(self) -> bool:
        """Whether nothing else has to be tried."""
        enough, close = (_PRECISE, _CLOSE) if self.far.uses >= _FEW else (_ENOUGH, 1e3 * _CLOSE)
        if self.width <= enough:
            return True
        return self.delta(self.epsilon * (1 - close))[0] >= self.delta(self.epsilon * (1 + close))[1]

    @property
    def width(self) -> float:
        """Of its bracket of delta, relative."""
        low, high = self.delta(self.epsilon)
        return (high - low) / high if high else 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the finite part of delta(epsilon)."""
        return self.bound(epsilon, top=False), self.bound(epsilon, top=True)

    def bound(self, epsilon: float, *, top: bool) -> float:
        """One of them."""
        terms = [self.far.delta(epsilon)[top], *(contour.bound(epsilon, top=top) for contour in self.contours)]
        spare = 2.0**-50 * sum(map(abs, terms))
        return sum(terms) + spare if top else max(0.0, sum(terms) - spare)

    def estimate(self, epsilon: float) -> float:
        """delta(epsilon), but for errors: to find where to work."""
        return self.far.estimate(epsilon) + sum(contour.estimate(epsilon) for contour in self.contours)


@lru_cache(maxsize=16)
def split_far(parts: Parts, epsilon: float | None, log_delta: float | None, effort: int) -> Split | None:
    """For this epsilon, or for the one that belongs to this delta; None where it does not apply."""
    steps = tuple((loss, k) for loss, k in parts if isinstance(loss, SampledGaussian) and not loss.adding and loss.rate <= 0.5)
    others = tuple(part for part in parts if not isinstance(part[0], SampledGaussian))
    if not steps or len(steps) + len(others) < len(parts) or not all(_stands_beside(loss) for loss, _ in others):
        return None
    bare = tuple((CutGaussian(loss, 0.0, 0.0, digits=math.log(k) if k > _MANY else 0.0), k) for loss, k in steps)
    e, level = (epsilon, 0.0) if epsilon is not None else (_guess(bare, log_delta or 0.0), log_delta or 0.0)
    if epsilon is None and others:
        e = max(e, math.fsum(k * loss.mean_variance()[0] for loss, k in parts))
    elif epsilon is None and (expected := expect(parts, level)):
        e = expected.epsilon(level) or e
    work, found, settled = _COARSE, None, False
    for _ in range(6):
        guess = math.log(max(_one_jump(bare, e), 1e-300)) if log_delta is None else log_delta
        found = _open(bare, others, e, guess, work)
        if found is None or (found.width > 0.5 and work > _COARSE):
            return found
        if log_delta is None:
            level, settled = math.log(min(max(found.estimate(e), 1e-300), 1.0)), True
            break
        near = 0.0 if found.estimate(0.0) < math.exp(log_delta) else crossing(found, math.exp(log_delta), e)
        near = min(near, 3 * e) if len(found.contours) == 1 else min(max(near, e / 3), 3 * e)  # estimates are good nearby
        settled = abs(near - e) <= 0.05 * near
        if settled:
            break
        e, work = near, 8 * _COARSE if found.width > 0.5 else work
    assert found is not None
    if found.width <= _FINE and found.epsilon == e:
        return found
    share, off = _closer(found, level)
    if found.epsilon == e and (share, off) == (_SHARE, _OFF) and all(contour.faded for contour in found.contours):
        return found
    result = _open(bare, others, e, level, effort, share, off)
    if share < _SHARE and (result is None or len(result.contours) < len(found.contours)):  # jumps are not that rare
        result = _open(bare, others, e, level, effort, _SHARE, off)
    return result if settled or (result and belongs(result, level)) else None


def belongs(found: Split, log_delta: float) -> bool:
    """Whether what is found is good for about the epsilon that belongs to this delta."""
    near = crossing(found, math.exp(log_delta), found.epsilon)
    return abs(near - found.epsilon) < _ELSEWHERE * near


def _stands_beside(loss: Loss) -> bool:
    """Whether it takes back little, and is the same on both sides of a bracket."""
    known = isinstance(loss, SampledLattice) and not loss.adding and loss.rate <= 0.5 and not loss.infinity
    return known and not has_sides(loss)


def _closer(found: Split, log_delta: float) -> tuple[float, float]:
    """Where jumps begin and how far beyond epsilon steps are cut, such that neither costs many digits."""
    share, least = _SHARE, math.exp(log_delta) * _LITTLE
    off = found.far.delta(found.epsilon)[1] - found.far.estimate(found.epsilon)
    if len(found.contours) > 1:
        low, high = found.contours[0].delta(found.epsilon)
        share = _SMALLER if high - low > 1e2 * least else _SHARE
    return share, _OFF + max(0.0, math.log(max(off / least, 1.0)))


def _one_jump(bare: Steps, e: float) -> float:
    """Roughly delta, if one step does it all: the sum of their own."""
    total = 0.0
    for step, k in bare:
        q, edge = float(step.whole.rate), place_of(step, e)
        total += k * (q * _below(step.whole._mu - edge) - (q + math.expm1(e)) * _below(-edge))
    return total


def _guess(bare: Steps, log_delta: float) -> float:
    low, high = math.log(1e-12), math.log(100.0)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _one_jump(bare, math.exp(middle)) > math.exp(log_delta) else (low, middle)
    return math.exp(high)


@lru_cache(maxsize=16)
def expect(parts: Parts, log_delta: float) -> Expected | None:
    """What to expect of steps alone, around the epsilon that belongs to this delta; None where a rough lattice does not say."""
    steps = [(loss, k) for loss, k in parts if isinstance(loss, SampledGaussian) and not loss.adding]
    if len(steps) < len(parts) or log_delta < _SMALLEST or sum(k for _, k in parts) > _MANY:
        return None
    far = _guess(tuple((CutGaussian(loss, 0.0, 0.0), k) for loss, k in steps), log_delta)
    while far < _WIDEST:
        found = expect_samples([(loss._mu, float(loss.rate), k) for loss, k in steps], far)
        if found.logs[-1] < log_delta:
            return found
        far *= 3
    return None


def _open(
    bare: Steps, others: Parts, e: float, log_delta: float, effort: int, share: float | None = None, off: float | None = None
) -> Split | None:
    beside = Beside.of(others, log_delta)
    jump, back = (_SHARE if share is None else share) * e, _taken_back(bare)[0] + beside.back
    steps, masses, lost = list[tuple[CutGaussian, int]](), [], 0.0
    for step, k in bare:
        start = beyond(step, jump)
        slope = max(start.rise, min(10 * step.whole._mu, _STEEPEST))
        cut = max(place_of(step, e + back), start.begin + 4 / start.rise) + (_OFF if off is None else off) / slope
        tail, kept_step = tail_masses(CutGaussian(step.whole, 0.0, 0.0, cut, slope)), replace(step, cut=cut, slope=slope)
        if tail is None and cut > _FARTHEST and not step.digits:  # it is never far, but for what is lost
            kept_step = cut_gaussian(step.whole, math.exp(max(log_delta + _LOST - math.log(k), -730.0)), 1.0, step.digits)
            tail, lost = (0.0, 0.0, 0.0, 0.0), lost + k * kept_step.lost
        if tail is None or start.begin > kept_step.cut - 2 / start.rise:
            return None
        steps.append((kept_step, k))
        masses.append(tail)
    beside = replace(beside, lost=(beside.lost + lost) * (1 + 2.0**-40))
    kept = tuple(steps)
    whole: Parts = (*kept, *beside.parts)
    jumps: Parts = ((Jumps(kept, jump), 1), *beside.parts)
    tilt, jumping = _tilt(whole, e, e + back), _tilt(jumps, e, e + back) if e else None
    if tilt is None:
        return None
    if jumping is None or (jumping < tilt / 2 and jumping * (e + back) < _RARELY):
        contour = open_smoothed(whole, _saddle(whole, tilt, e, log_delta), effort, _NODES)
        return Split((contour,), FarJumps(kept, None, tuple(masses), 0.0, beside), e) if contour else None
    small = tuple((small_part(step, jump), k) for step, k in bare)
    around = math.fsum(k * step.mean_modulus(0.0) for step, k in small) * (1 + 2.0**-20) + beside.most
    calm: Parts = (*small, *beside.parts)
    light = _saddle(calm, min(find_saddle(calm, epsilon=e).tilt, _HIGHEST / e), e, log_delta)
    rest = open_smoothed(calm, light, min(effort, 16 * _COARSE), _NODES)
    near = open_smoothed(jumps, _saddle(jumps, jumping, e, log_delta), effort, _NODES)
    return Split((rest, near), FarJumps(kept, jump, tuple(masses), around, beside), e) if rest and near else None


def _saddle(parts: Parts, tilt: float, e: float, log_delta: float) -> Saddle:
    found = saddle_at(parts, tilt)
    spread = found.spread if found else 1e-150
    return Saddle(tilt, log_moment(parts, tilt), e, log_delta, spread)


def _tilt(parts: Parts, e: float, scale: float) -> float | None:
    """As large as it can be without more weight on losses beyond epsilon."""
    loss, heights = parts[0][0], [(x, _rough_moment(parts, x) - x * e) for x in (share / scale for share in _TILTS)]
    best = min((height for _, height in heights), default=math.inf)
    able = [x for x, height in heights if height <= best + 0.5 < math.inf]
    return next((x for x in able if not isinstance(loss, Jumps) or loss.is_rare(x)), None)


def _rough_moment(parts: Parts, x: float) -> float:
    return math.fsum(k * (loss.rough_moment(x) if isinstance(loss, Jumps) else loss.cumulants(x)[0]) for loss, k in parts)
