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
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

from discreet.privacy.accountant.contour import Saddle, find_saddle, log_moment, saddle_at
from discreet.privacy.accountant.cut_gaussian import CutGaussian, tail_masses
from discreet.privacy.accountant.cutting import crossing
from discreet.privacy.accountant.jumps import Jumps, beyond, place_of, small_part
from discreet.privacy.accountant.smoothing import Smoothed, open_smoothed
from discreet.privacy.losses import SampledGaussian
from discreet.privacy.losses.base import UNIT, Parts

__all__ = ["Split", "split_far"]

_SHARE = 0.5  # of epsilon, where jumps begin
_OFF = 28.0  # ln of how little is off the line
_HARDLY = 50.0  # minus ln of a chance that does not matter
_MANY = 10**6  # uses: moments of each need digits beyond the doubles' around 1
_RARELY = 0.2  # tilt times epsilon: jumps with a smaller one are no longer rare
_STEEPEST = 24.0  # cuts: steeper ones take too many points
_TILTS = (16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125, 0.06, 0.03)  # times epsilon
_COARSE = 1 << 19  # terms
_NODES = 1 << 18
_FEW = 10  # uses: fewer need not be known as well
_PRECISE, _ENOUGH, _FINE = 1e-7, 1e-5, 1e-10  # of delta

Steps = tuple[tuple[CutGaussian, int], ...]


@dataclass(frozen=True)
class FarJumps:
    """At least one of the steps is far: not kept by its coin."""

    steps: Steps
    jump: float | None  # the loss beyond which a kept step is no longer small, where those are split
    masses: tuple[tuple[float, float, float, float], ...]  # n_i and d_i, each with a bound on its relative error
    around: float  # sum k_j E(l_j)+

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on what they add to delta, without what is small as well."""
        off, twice = self._off(epsilon)
        return self._line(epsilon, -1) - twice, self._line(epsilon, 1) + off

    def estimate(self, epsilon: float) -> float:
        return self._line(epsilon, 0)

    def _line(self, epsilon: float, side: int) -> float:
        """P(A) - e^e Q(A) = (P(A) - Q(A)) - (e^e - 1) Q(A), from below (-1) or above (1)."""
        stay = drop = 0.0
        for (n, n_error, d, d_error), (_, k) in zip(self.masses, self.steps, strict=True):
            n, d = n * (1 - side * n_error), d * (1 + side * d_error)
            stay += k * math.log1p(-n)
            drop += k * math.log1p(-d / (1 - n))
        gained, other = -math.exp(stay) * math.expm1(drop), -math.expm1(epsilon) * math.expm1(stay)
        return gained - other + side * (64 * len(self.steps) + 8 * (abs(stay) + abs(drop))) * UNIT * (gained + other)

    def _off(self, epsilon: float) -> tuple[float, float]:
        """At most so much is off the line, and so much is small as well."""
        back, chance = _taken_back(self.steps)
        off = twice = rest = 0.0
        for (step, k), (n, n_error, _, _) in zip(self.steps, self.masses, strict=True):
            m, q = place_of(step, epsilon + back), float(step.whole.rate)
            most = math.expm1(epsilon) - math.expm1(-back) + q
            off += k * (2 * most * _tail(step, m) + math.exp(epsilon) * n * (1 + n_error) * chance)
            if self.jump is not None:
                jump = beyond(step, self.jump)
                m = max(m, jump.begin + 4 / jump.rise)
                twice += k * (_loss_at(step, m) + self.around) * _tail(step, m)
                rest += k * math.exp(-math.exp(jump.rise * (m - jump.begin)) * (1 - 1e-9)) * _beyond(step, m)
        return off * (1 + 1e-6), (twice + rest) * (1 + 1e-6)


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
    far: FarJumps
    epsilon: float  # what they are good for

    @property
    def is_precise(self) -> bool:
        """Whether nothing else has to be tried."""
        return self.width <= (_PRECISE if sum(k for _, k in self.far.steps) >= _FEW else _ENOUGH)

    @property
    def width(self) -> float:
        """Of its bracket of delta, relative."""
        low, high = self.delta(self.epsilon)
        return (high - low) / high if high else 0.0

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the finite part of delta(epsilon)."""
        lows, highs = zip(self.far.delta(epsilon), *(contour.delta(epsilon) for contour in self.contours), strict=True)
        spare = 2.0**-50 * sum(map(abs, highs + lows))
        return max(0.0, sum(lows) - spare), sum(highs) + spare

    def estimate(self, epsilon: float) -> float:
        """delta(epsilon), but for errors: to find where to work."""
        return self.far.estimate(epsilon) + sum(contour.estimate(epsilon) for contour in self.contours)


@lru_cache(maxsize=16)
def split_far(parts: Parts, epsilon: float | None, log_delta: float | None, effort: int) -> Split | None:
    """For this epsilon, or for the one that belongs to this delta; None where it does not apply."""
    steps = tuple((loss, k) for loss, k in parts if isinstance(loss, SampledGaussian) and not loss.adding and loss.rate <= 0.5)
    if len(steps) < len(parts):
        return None
    bare = tuple((CutGaussian(loss, 0.0, 0.0, digits=math.log(k) if k > _MANY else 0.0), k) for loss, k in steps)
    e, level = (epsilon, 0.0) if epsilon is not None else (_guess(bare, log_delta or 0.0), log_delta or 0.0)
    work, found = _COARSE, None
    for _ in range(6):
        guess = math.log(max(_one_jump(bare, e), 1e-300)) if log_delta is None else log_delta
        found = _open(bare, e, guess, work)
        if found is None or (found.width > 0.5 and work > _COARSE):
            return found
        if log_delta is None:
            level = math.log(max(found.estimate(e), 1e-300))
            break
        near = 0.0 if found.estimate(0.0) < math.exp(log_delta) else crossing(found, math.exp(log_delta), e)
        near = min(near, 3 * e) if len(found.contours) == 1 else min(max(near, e / 3), 3 * e)  # estimates are good nearby
        if abs(near - e) <= 0.05 * near:
            break
        e, work = near, 8 * _COARSE if found.width > 0.5 else work
    assert found is not None
    return found if found.width <= _FINE and found.epsilon == e else _open(bare, e, level, effort)


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


def _open(bare: Steps, e: float, log_delta: float, effort: int) -> Split | None:
    jump, back = _SHARE * e, _taken_back(bare)[0]
    steps, masses = list[tuple[CutGaussian, int]](), []
    for step, k in bare:
        start = beyond(step, jump)
        slope = max(start.rise, min(10 * step.whole._mu, _STEEPEST))
        cut = max(place_of(step, e + back), start.begin + 4 / start.rise) + _OFF / slope
        tail = tail_masses(CutGaussian(step.whole, 0.0, 0.0, cut, slope))
        if tail is None:
            return None
        steps.append((replace(step, cut=cut, slope=slope), k))
        masses.append(tail)
    kept = tuple(steps)
    jumps: Parts = ((Jumps(kept, jump), 1),)
    tilt, jumping = _tilt(kept, e, e + back), _tilt(jumps, e, e + back) if e else None
    if tilt is None:
        return None
    if jumping is None or (jumping < tilt / 2 and jumping * (e + back) < _RARELY):
        contour = open_smoothed(kept, _saddle(kept, tilt, e, log_delta), effort, _NODES)
        return Split((contour,), FarJumps(kept, None, tuple(masses), 0.0), e) if contour else None
    small = tuple((small_part(step, jump), k) for step, k in bare)
    around = math.fsum(k * step.mean_modulus(0.0) for step, k in small) * (1 + 2.0**-20)
    light = replace(find_saddle(small, epsilon=e), epsilon=e, log_delta=log_delta)
    rest = open_smoothed(small, light, min(effort, 16 * _COARSE), _NODES)
    near = open_smoothed(jumps, _saddle(jumps, jumping, e, log_delta), effort, _NODES)
    return Split((rest, near), FarJumps(kept, jump, tuple(masses), around), e) if rest and near else None


def _saddle(parts: Parts, tilt: float, e: float, log_delta: float) -> Saddle:
    found = saddle_at(parts, tilt)
    spread = found.spread if found else 1e-150
    return Saddle(tilt, log_moment(parts, tilt), e, log_delta, spread)


def _tilt(parts: Parts, e: float, scale: float) -> float | None:
    """As large as it can be without more weight on losses beyond epsilon."""
    loss, tilts = parts[0][0], [share / scale for share in _TILTS]
    able = [x for x in tilts if not isinstance(loss, Jumps) or loss.is_rare(x)]
    heights = [(x, log_moment(parts, x) - x * e) for x in able]
    best = min((height for _, height in heights), default=math.inf)
    return next((x for x, height in heights if height <= best + 0.5 < math.inf), None)
