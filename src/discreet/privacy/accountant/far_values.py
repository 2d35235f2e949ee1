"""Lists on small samples whose values reach far beyond epsilon: what lies there is added up in closed form.

As in ``far_jumps``, but for losses with a list of values (discrete noise, randomized response on samples), where no coin is
needed: a step is *far* where its value is above a cut c > e, and A is the event that at least one step is. With E_P[e^-L; A] =
Q(A),

    E_P[f(L - e); A] = P(A) - e^e Q(A) + E_Q[(e^e - e^L)+; A],

and what is kept is the same lists without their far values, whose tilt may be many times as large as that of the whole.

**What is off the line**, the last term, is at least 0. If it is not, a step has some far value l and the others together a loss
below e - l: a chance under Q of at most p(l - e), so that the term is at most e^e sum k_i Q_i(l) p(l - e) over all far values.
No step loses less than ln(1 - q): p(b) = 0 if b exceeds -sum k_i ln(1 - q_i). Else ln p(b) <= sum k_i ln E_Q[r_i^-y] - y b for
any y > 0 (Markov; each mean is at least 1, so that one step more does no harm). The cut is the lowest at which next to nothing
is off.

**Rounding.** Masses P(l) and losses are known to what their list says, Q(l) = P(l) e^-l to a few units more, and E_Q[r^-y] is 1
plus a sum of small terms. What is not on the list at all has P-mass ``lost``, and Q-mass of at most lost / (1 - q), as r >= 1 -
q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from discreet.arrays import Reals
from discreet.privacy.accountant.contour import Saddle, log_moment, saddle_at
from discreet.privacy.accountant.cutting import CutList, Kept, crossing, cut_list, list_of
from discreet.privacy.accountant.far_jumps import Masses, Split, belongs, follow_line
from discreet.privacy.accountant.smoothing import open_smoothed, window
from discreet.privacy.losses import SampledLattice
from discreet.privacy.losses.atoms import Listed
from discreet.privacy.losses.base import UNIT, Parts

__all__ = ["FarValues", "split_values"]

_OFF = 1e-12  # of delta: as much may be off the line, and be lost
_LARGEST = 0.5  # rates
_FARTHEST = 200.0  # epsilon: exponentials of a larger one leave the doubles
_HARDLY = 30.0  # minus ln of a chance that hardly matters
_SHARES = tuple(1.5**i for i in range(-8, 5))  # of the tilt that finds it
_TILTS = tuple(24.0 * 0.8**i for i in range(32))  # times epsilon
_MORE = 4.0  # ln of how much more than the least a contour may be about: rounding weighs as much more
_COARSE = 1 << 19  # terms
_NODES = 1 << 21
_NINE, _FOUR = 2e-10, 1e-6  # of epsilon: what smoothing may cost from ten uses on, and before
_FINE = 1e-10  # of delta: no need for more
_LEAST = 1e-290  # masses: smaller ones leave the doubles


@dataclass(frozen=True)
class FarValues:
    """At least one of the steps has a far value: one that its cut list does not hold at its upper end."""

    steps: tuple[tuple[CutList, int], ...]
    masses: tuple[Masses, ...]
    lost: float

    @property
    def uses(self) -> int:
        return sum(k for _, k in self.steps)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on what they add to delta; what is lost counts for nothing, or as disclosed."""
        off = sum(float(_off(step, k, self.steps, epsilon)[0].sum()) for step, k in self.steps) * (1 + 1e-6)
        line = [follow_line(self.masses, [k for _, k in self.steps], epsilon, side) for side in (-1, 1)]
        return line[0], line[1] + off + self.lost

    def estimate(self, epsilon: float) -> float:
        return follow_line(self.masses, [k for _, k in self.steps], min(epsilon, 600.0), 0)


def _off(step: CutList, k: int, steps: tuple[tuple[CutList, int], ...], epsilon: float) -> tuple[Reals, Reals]:
    """At most so much of each far value is off the line; and these values."""
    law = list_of(step.whole, up=True)
    losses, mass = law.losses[step.stop :], law.mass[step.stop :]
    known = law.loss_errors[step.stop :] + 4 * UNIT * (losses + abs(epsilon))
    with np.errstate(under="ignore"):
        return k * mass * np.exp(epsilon - losses) * _chance(steps, losses - epsilon - known), losses


def _chance(steps: tuple[tuple[CutList, int], ...], back: Reals) -> Reals:
    """p: that steps take back more than this."""
    surely, bounds = _taken_back(tuple((step.whole, k) for step, k in steps))
    if not bounds:
        return np.where(back > surely, 0.0, 1.0)
    logs = np.min([height - y * back for y, height in bounds], axis=0)
    result: Reals = np.where(back > surely, 0.0, np.exp(np.minimum(logs, 0.0)) * (1 + 1e-9))
    return result


@lru_cache(maxsize=16)
def _taken_back(parts: Parts) -> tuple[float, list[tuple[float, float]]]:
    """The most that steps ever take back, and pairs of y and a bound on the sum of ln E_Q[r^-y]."""
    laws = []
    for whole, k in parts:
        assert isinstance(whole, SampledLattice)
        law, q = list_of(whole, up=True), float(whole.rate)
        laws.append((law, k, q, law.mass * np.exp(-law.losses), law.lost / (1 - q) * (1 + 1e-9)))
    surely = -math.fsum(k * math.log1p(-q) for _, k, q, _, _ in laws) * (1 + 2.0**-40)
    spread = math.sqrt(
        math.fsum(k * float((other * np.minimum(np.abs(law.losses), q) ** 2).sum()) for law, k, q, other, _ in laws)
    )
    bounds = []
    for y in (share * math.sqrt(2 * _HARDLY) / spread for share in _SHARES):
        if y * max(q for _, _, q, _, _ in laws) > 200:  # exponentials grow out of hand
            break
        height = 0.0
        for law, k, q, other, left in laws:
            terms, sizes = other * np.expm1(-y * law.losses), (law.losses.size + 64 + 8 * y * np.abs(law.losses)) * UNIT
            known = np.abs(terms) * (law.mass_errors + law.loss_errors + sizes) + 2 * y * law.loss_errors * (
                other + np.abs(terms)
            )
            mean = float(terms.sum()) + 2 * float(known.sum()) + left * math.exp(-y * math.log1p(-q))
            height += k * math.log1p(max(mean, 0.0))
        bounds.append((y, height * (1 + 2.0**-40)))
    return surely, bounds


@lru_cache(maxsize=16)
def split_values(parts: Parts, near: Kept, log_delta: float | None, effort: int) -> Split | None:
    """For the epsilon that is near, or for the one that belongs to this delta; None where it does not apply."""
    wholes = [loss for loss, _ in parts if isinstance(loss, SampledLattice) and not loss.adding]
    if len(wholes) < len(parts) or not all(map(_has_list, wholes)):
        return None
    e, level = near.saddle.epsilon, near.saddle.log_delta if log_delta is None else log_delta
    coarse, close, settled = None, e, False
    for _ in range(6):
        if not e < _FARTHEST or (coarse := _open(parts, e, level, _COARSE)) is None:
            return None
        if log_delta is not None:
            close = min(max(crossing(coarse, math.exp(log_delta), e), e / 3), 3 * e)  # estimates are good nearby
        settled = abs(close - e) <= 0.02 * e
        if settled:
            break
        e = close
    assert coarse is not None
    if coarse.width <= _FINE and settled:
        return replace(coarse, epsilon=close)
    found = _open(parts, e, level, effort, _finest(coarse, close))
    return replace(found, epsilon=close) if found and (settled or belongs(found, level)) else None


def _has_list(loss: SampledLattice) -> bool:
    return not loss.infinity and loss.rate <= _LARGEST and cut_list(loss, 0.0, up=True).exact


def _finest(coarse: Split, e: float) -> float | None:
    """How little the payoff has to be smoothed, from a bracket as wide as its square and what epsilon makes of that."""
    contour, level = coarse.contours[0], coarse.estimate(e)
    if not contour.bump or not 0 < coarse.width < 0.5 or not level > 0:
        return None
    slope = math.log(max(level / max(coarse.estimate(1.01 * e), 1e-320), 1.0)) / 0.01
    few = coarse.far.uses < 10
    wanted = contour.bump * (_FOUR if few else _NINE) * slope / coarse.width * (contour.tilt + 1) / e
    return min(max(wanted, _NINE / 16), 1e-6 if few else 1e-8)


def _open(parts: Parts, e: float, log_delta: float, effort: int, finest: float | None = None) -> Split | None:
    far = _cut(parts, e, math.exp(log_delta) * _OFF) if e > 0 else None
    saddle = _find_tilt(far.steps, e, log_delta) if far else None
    if far is None or saddle is None:
        return None
    contour = open_smoothed(far.steps, saddle, effort, _NODES, finest)
    return Split((contour,), far, e) if contour else None


def _cut(parts: Parts, e: float, most: float) -> FarValues | None:
    """Steps cut at the lowest value beyond epsilon above which at most so much is off the line."""
    uses = sum(k for _, k in parts)
    cuts = [cut_list(loss, most / uses, up=True) for loss, _ in parts]
    laws = [list_of(loss, up=True) for loss, _ in parts]
    above = tuple(
        (CutList(cut.whole, True, cut.start, int(np.searchsorted(law.losses, e, side="right")), 0.0), k)
        for cut, law, (_, k) in zip(cuts, laws, parts, strict=True)
    )
    off, values = (np.concatenate(both) for both in zip(*(_off(step, k, above, e) for step, k in above), strict=True))
    order = np.argsort(-values, kind="stable")
    allowed = int(np.searchsorted(np.cumsum(off[order]), most, side="right"))
    lowest, steps, masses, lost = math.inf, list[tuple[CutList, int]](), list[Masses](), 0.0
    if allowed:
        lowest = float(values[order[allowed - 1]])
        if allowed < values.size and values[order[allowed]] == lowest:
            return None  # equal ones belong together
    for cut, law, (loss, k) in zip(cuts, laws, parts, strict=True):
        far = slice(int(np.searchsorted(law.losses, lowest, side="left")), law.losses.size)
        if (found := _far_masses(law, far)) is None:
            return None
        below = float(law.mass[: cut.start].sum()) * (1 + 2.0**-30)
        steps.append((CutList(loss, True, cut.start, far.start, below + float(law.mass[far].sum())), k))
        masses.append(found)
        lost += k * (below + law.lost)
    return FarValues(tuple(steps), tuple(masses), lost * (1 + 2.0**-40))


def _far_masses(law: Listed, far: slice) -> Masses | None:
    """n and d of these values; None where they leave the doubles, or are no longer rare."""
    losses, mass = law.losses[far], law.mass[far]
    if not losses.size:
        return 0.0, 0.0, 0.0, 0.0
    with np.errstate(under="ignore"):
        n, d = float((mass * np.exp(-losses)).sum()), float((mass * -np.expm1(-losses)).sum())
    if not min(n, d) > _LEAST or not n + d < 0.5:
        return None
    doubts, offs, spare = law.mass_errors[far], law.loss_errors[far], (losses.size + 64) * UNIT
    return n, float((doubts + offs).max()) + spare, d, float((doubts + 2 * offs / losses).max()) + spare


def _find_tilt(steps: Parts, e: float, log_delta: float) -> Saddle | None:
    """The tilt that needs the fewest nodes: smoothing by mu takes about sqrt(surplus) window / mu of them."""
    heights = {x: log_moment(steps, x) - x * e for x in (share / e for share in _TILTS)}
    enough = max(min(heights.values()), log_delta) + _MORE
    best, least = None, math.inf
    for x, height in heights.items():
        if not height <= enough < math.inf or (here := saddle_at(steps, x)) is None:
            continue
        saddle = Saddle(x, height + x * e, e, log_delta, here.spread)
        cost = window(steps, saddle)[0] * math.sqrt(max(height - log_delta, 0.0) + 25)
        if cost < least:
            best, least = saddle, cost
    return best
