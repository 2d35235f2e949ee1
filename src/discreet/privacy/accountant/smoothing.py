"""Composition by a contour integral that always ends: the payoff is smoothed by a little Gaussian noise, from both sides.

delta(e) = E[f(L - e)] with f(u) = (1 - e^-u)+. Where the characteristic function of L does not provably fade (atoms, few
steps), f is replaced by functions whose transforms do. Let Z be the loss of a Gaussian mechanism with a small mu, independent
of L, and F(u) = E[f(u + Z)].

**Upper bound.** f <= F: adding a mechanism never lowers delta (Jensen, E[e^-Z] = 1).

**Lower bound.** F(u) - f(u) <= mu / sqrt(2 pi) e^(-u/2 - u^2 / (2 mu^2)). Proof: with v = |u|, F - f is the hockey-stick of Z
at v for u < 0, and e^-u times it for u > 0 (E[(e^-Z - e^u)+] is the hockey-stick with the pair exchanged, and the pair is its
own mirror image). Both are e^(-u/2) g(v), where g(v) = e^(-v/2) Phi(mu/2 - v/mu) - e^(v/2) Phi(-mu/2 - v/mu) = phi(v/mu)
e^(-mu^2/8) (m(v/mu - mu/2) - m(v/mu + mu/2)), m being Mills' ratio. As m is convex the difference falls in v, so g(v) <= g(0)
e^(-v^2 / (2 mu^2)), and g(0) = 2 Phi(mu/2) - 1 <= mu / sqrt(2 pi).

Their transforms over e are M(s) e^(mu^2 s (s+1) / 2) times 1 / (s (s+1)) for F, and 1 / (s (s+1)) - mu^2 e^(mu^2 / 8) for what
lies below f. Sums over nodes are as in ``contour``: a full sum exceeds its integral by aliases that are >= 0, both for F and
for the bump that is subtracted, so only the lower bound takes the aliases of F off. The bracket is about mu^2 (x + 1) wide in
epsilon.

Beyond the last node T the modulus is at most e^(-mu^2 t^2 / 2) of that at 0: what is left out is at most 1 / (pi T) e^(-mu^2
T^2 / 2) for F, and mu^2 e^(mu^2/8) / (pi mu^2 T) e^(-mu^2 T^2 / 2) for the bump.

**Many uses** of losses that differ by at most D fade long before: |phi(t)|^2 = E cos(t (L - L')) <= 1 - 4 t^2 V / pi^2 for t <=
pi / D, V being the variance, since cos u <= 1 - 2 u^2 / pi^2 for |u| <= pi. So k uses have |phi| <= e^(-a t^2), a = 2 k V /
pi^2, up to pi / D, where the smoothing takes over: no node in between is needed. If D is large, so has to be mu: then the lower
bound is a shift, F(u - c) <= f(u) + P[Z > c], since f(u - c + z) <= f(u) for z <= c; with c = mu^2 / 2 + mu a, P[Z > c] <=
e^(-a^2 / 2).

**Nodes fade one loss at a time.** At each node the product of moduli is bounded as the losses are multiplied in; once the bound
is below the precision aimed at, the node is given up and the bound counts as its error (all other factors are at most 1).
Rounding is bounded as in ``contour``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Complex, Reals
from discreet.privacy.accountant.contour import LEAST, Saddle, decay, log_moment, scaled, search_tilts
from discreet.privacy.accountant.turning import Nodes
from discreet.privacy.losses.atoms import Atomic
from discreet.privacy.losses.base import UNIT, Loss, Parts

__all__ = ["EACH", "Smoothed", "log1p", "open_smoothed", "window"]

_GOAL = 1e-11  # of the answer, for each source of error that can be chosen
_FINEST = 8e-10  # of epsilon, from ten uses on: no need to smooth less
_FINE = 4e-8  # with fewer
_MOST_NODES = 1 << 17  # to begin with
_MANY_NODES = 1 << 20  # where most of them are given up
_WIDE = 1.0  # mu: from here on the payoff is moved
_BLOCK = 1 << 16
EACH = 4  # terms: what a node takes for every loss, beside its sum
_DIFFERENT = 8  # losses: among so many some turn at any node
_ALONE = 8  # times as much as in a matrix
_FACTORS = (1.02, 1.05, 1.2, 1.5, 2.0, 3.0, 6.0)  # of the tilt, tried in Chernoff bounds


@dataclass(frozen=True)
class Smoothed:
    """The nodes that did not fade, and what the others may add up to."""

    tilt: float
    log_scale: float  # K(x), the smoothing included
    known: float  # how well
    width: float
    bump: float  # mu^2 e^(mu^2/8)
    shift: float  # c
    missed: float  # P[Z > c]
    beyond: tuple[tuple[float, float], ...]  # larger tilts y with their K(y), for Chernoff bounds
    above: Nodes  # phi / (s (s+1)), twice for t > 0
    below: Nodes  # the same without bumps: phi (1 / (s (s+1)) - mu^2 e^(mu^2/8))
    noise: tuple[float, float]  # errors of the two sums
    turning: tuple[float, float]  # the same, for each unit of |epsilon|
    work: int  # terms that were computed
    faded: bool  # by itself: more of them would say no more

    def estimate(self, epsilon: float) -> float:
        """delta(epsilon), but for errors: to find where to work."""
        return math.exp(min(self.log_scale - self.tilt * epsilon, 600.0)) / self.width * self.above.turned(epsilon)

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the finite part of delta(epsilon)."""
        return self.bound(epsilon, top=False), self.bound(epsilon, top=True)

    def bound(self, epsilon: float, *, top: bool) -> float:
        """One of them: E[F(L - epsilon)] from above, or the same without bumps, or moved, from below."""
        epsilon += 0.0 if top else self.shift
        exponent = self.log_scale - self.tilt * epsilon
        slack = math.expm1(min(self.known + 512 * UNIT * (1 + abs(self.log_scale) + abs(self.tilt * epsilon)), 1.0))
        if not exponent < 600 or slack > 0.5:
            return 1.0 if top else 0.0
        error = self.noise[top] + self.turning[top] * abs(epsilon)
        if top:
            total = max(self.above.turned(epsilon) + error, 0.0) * (1 + 2 * slack) * (1 + 2.0**-40)
            return min(1.0, scaled(total / self.width, exponent, up=True))
        total = self.below.turned(epsilon) - error
        low = scaled((total - abs(total) * 2 * slack) / self.width, exponent, up=False) - self._alias(epsilon)
        return max(0.0, max(0.0, low * (1 - 2.0**-40)) - (self.missed if self.shift else 0.0))

    def _alias(self, epsilon: float) -> float:
        left, best = math.exp(-self.tilt * self.width), math.inf
        for y, top in self.beyond:
            shift = (y - self.tilt) * self.width
            best = min(best, top + 1e-9 * (1 + abs(top)) - y * epsilon - shift - math.log(-math.expm1(-shift)))
        return (left / -math.expm1(-self.tilt * self.width) + math.exp(min(best, 600.0))) * (1 + 1e-9) + 2 * LEAST


@lru_cache(maxsize=64)
def open_smoothed(
    parts: Parts, saddle: Saddle, effort: int, nodes: int = _MOST_NODES, finest: float | None = None
) -> Smoothed | None:
    """A smoothed contour for answers near the saddle, of about ``effort`` terms; None where its moments are out of reach.

    Its payoff is smoothed by mu^2 = ``finest`` epsilon / (tilt + 1) if that can be had, or by what suits most.
    """
    x, goal = saddle.tilt, saddle.log_delta + math.log(_GOAL)
    plain, counts = log_moment(parts, x), sum(count for _, count in parts)
    width, beyond = window(parts, saddle)
    if not (math.isfinite(plain) and beyond):
        return None
    known = math.fsum(count * loss.rounding(x, 0.0) for loss, count in parts) + 16 * UNIT * (len(parts) + 8)
    if not known < 0.1:
        return None
    parts = tuple(sorted(parts, key=lambda part: (part[0].work(x), -part[1])))
    step, most = 2 * math.pi / width, min(nodes, effort / _work(parts, x))
    surplus = plain - x * saddle.epsilon - goal  # how far moduli have to fall, in logarithms
    # Hardly any smoothing if it fades by itself; else what is wanted; else what can be had.
    usual = _FINE if counts < 10 else _FINEST / (2 if len(parts) < 8 else 1)  # nodes of few losses are cheap
    wish = min(math.sqrt((usual if finest is None else finest) * max(saddle.epsilon, 1e-3 * saddle.spread) / (x + 1)), 1.0)
    had = math.sqrt(2 * max(surplus - math.log(math.pi * most * step), 8.0)) / (most * step)
    scatters = _scatters(parts, x)
    scattered = [math.sqrt(2 * max(surplus, 8.0)) / until for _, until in scatters]
    for mu in (1e-3 * wish, wish, *(mu for mu in scattered if wish < mu < had)):
        end = _end(parts, x, mu, scatters, 8 * step, most * step, surplus)
        if end < most * step:
            break
    else:
        mu = max(wish, had)
    if not (mu < 1e3 and abs(surplus) < 600):
        return None  # it would smooth everything away
    size = math.ceil(end / step) + 1
    sums = np.zeros((2, 2))  # errors of the two sums, and the same for each unit of |epsilon|
    index, laws, work = list[NDArray[np.int64]](), list[Complex](), 0
    for start in range(0, size, _BLOCK):
        j: NDArray[np.int64] = np.arange(start, min(start + _BLOCK, size))
        t: Reals = j.astype(np.float64) * step
        s, second = x + 1j * t, np.where(j > 0, 2.0, 1.0).astype(np.float64)
        weights = np.array([second / np.abs(s * (s + 1)), second])
        # A node may be given up when all of them together stay below the goal: in F, and in the bump, which weighs mu^2.
        floor = math.log(width / size) - surplus - np.log(np.maximum(weights[0], weights[1] * mu * mu))
        kept = _Nodes(t, mu, x, floor, max(2 * effort - work, 0.0))
        kept.fade(parts)
        errors = kept.errors()  # sums, not products of matrices: those are given to threads, which spin
        sums += np.array([(weights * errors).sum(1), 8 * UNIT * (weights[:, kept.held] * np.abs(kept.law) * kept.at).sum(1)])
        index.append(j[kept.held])
        laws.append(kept.law)
        work += kept.work
    held, law = np.concatenate(index), np.concatenate(laws)
    if mu > wish and size > nodes * 0.99 and held.size < nodes >> 4 and nodes == _MOST_NODES:
        more = min(_MANY_NODES, int(2 * nodes * effort / work))  # farther ones are given up sooner
        if more > 2 * nodes:
            return open_smoothed(parts, saddle, effort, more, finest)
    last = (size - 1) * step
    tails = [width / math.pi * tail for tail in _beyond(parts, x, mu, scatters, last)]
    noise = [(float(part) + tail) * (1 + 2.0**-20) for part, tail in zip(sums[0], tails, strict=True)]
    away = math.sqrt(2 * (30 - min(saddle.log_delta, 0.0)))
    s, doubled = x + 1j * step * held, law * np.where(held > 0, 2.0, 1.0)
    bump = mu * mu * math.exp(mu * mu / 8) * (1 + 2.0**-40) if mu < _WIDE else 0.0
    smooth = doubled / (s * (s + 1))
    above = Nodes.of(step, held, smooth)
    return Smoothed(
        x,
        plain + mu * mu * x * (x + 1) / 2,
        known,
        width,
        bump,
        (mu * mu / 2 + mu * away) * (1 + 2.0**-40) if mu >= _WIDE else 0.0,
        math.exp(-away * away / 2) + LEAST,
        tuple((y, top + mu * mu * y * (y + 1) / 2) for y, top in beyond),
        above,
        Nodes.of(step, held, smooth - bump * doubled) if bump else above,
        (noise[0] + bump * noise[1] * (1 + 2.0**-40), noise[0]),
        (float(sums[1][0] + bump * sums[1][1] * (1 + 2.0**-40)), float(sums[1][0])),
        work,
        mu < wish and work < effort,
    )


def window(parts: Parts, saddle: Saddle) -> tuple[float, tuple[tuple[float, float], ...]]:
    """W for which aliases are below the goal, and the Chernoff bounds that say so."""
    x, goal = saddle.tilt, saddle.log_delta + math.log(_GOAL)

    def above(y: float) -> float:
        top = log_moment(parts, y)
        return top + math.fsum(count * loss.rounding(y, 0.0) for loss, count in parts) if math.isfinite(top) else math.inf

    right, beyond = search_tilts(above, x, _FACTORS, saddle.epsilon, goal)
    return max(-goal / x, 8 * saddle.spread, right), beyond


def _end(parts: Parts, x: float, mu: float, scatters: _Scatters, end: float, most: float, surplus: float) -> float:
    """Where what is beyond has fallen by ``surplus``, or ``most``."""
    while end < most and math.log(max(_beyond(parts, x, mu, scatters, end)[0] / math.pi, 1e-300)) > -surplus:
        end = min(1.5 * end, most)
    return end


def _beyond(parts: Parts, x: float, mu: float, scatters: _Scatters, t: float) -> tuple[float, float]:
    """Bounds on the integrals beyond t of the smoothed |phi| / u^2 and of the smoothed |phi|."""
    best = (math.inf, math.inf)
    for rate, until in [(0.0, t), *scatters]:
        far = max(t, until)
        smooth = math.exp(-((mu * far) ** 2) / 2) * decay(parts, x, far)
        first, second = smooth / far, smooth / (mu * mu * far)
        if far > t:
            near = math.exp(-rate * t * t)
            first, second = first + near / t, second + near / (2 * rate * t)
        best = min(best, (first, second))
    return best


_Scatters = list[tuple[float, float]]


def _scatters(parts: Parts, x: float) -> _Scatters:
    """Pairs (a, T) with |phi(t)| <= e^(-a t^2) for t <= T."""
    found = [(count, loss.scatter(x)) for loss, count in parts]
    return [
        (2 * count * known[0] / math.pi**2 * (1 - 2.0**-20), math.pi / known[1] * (1 - 2.0**-20))
        for count, known in found
        if known is not None and known[0] > 0 < known[1]
    ]


def two_values(loss: Loss) -> bool:
    """Whether the modulus of its characteristic function is a matter of one sine."""
    return isinstance(loss, Atomic) and loss.atoms.mass.size == 2


class _Nodes:
    """The nodes still held (``at``, their ``limits`` and ``law``), and bounds on the modulus at those given up."""

    def __init__(self, t: Reals, mu: float, x: float, log_floor: Reals, most: float) -> None:
        self.t, self.at, self.x, self.mu, self.log_floor, self.work = t, t, x, mu, log_floor, 0
        self.logs, self.terms = -((mu * t) ** 2) / 2, 1  # of the limits: products of many factors leave the doubles
        self.given_up = np.zeros(t.size)
        self.held: NDArray[np.int64] = np.arange(t.size)
        self.law: Complex = np.empty(0, dtype=np.complex128)  # until it is needed: most nodes are given up before
        self.depth = np.empty(0)  # units by which the law may be off, but for those of its factors
        self.started = False
        self.shifts: list[float] = []  # phases t * sum(shifts) that the law still lacks; added up at once, so that none is lost
        self.most = most  # terms that may be computed

    def fade(self, parts: Parts) -> None:
        """Take all losses in, those first that give most nodes up for least work, until none is held."""
        for loss, count in parts:
            if two_values(loss) and self.at.size:
                self.bound(loss, count)
        for loss, count in parts:
            each = self._work(loss)
            if self.at.size * each > self.most - self.work:  # the farthest are given up
                self._keep(np.arange(self.at.size) < max(64, (self.most - self.work) / each))
            if self.at.size:
                self.multiply(loss, count)

    def _work(self, loss: Loss) -> int:
        """Terms a node takes now: scattered ones are no matrix."""
        return EACH + loss.work(self.x) * (_ALONE if self.at.size < self.t.size / 8 else 1)

    @property
    def limits(self) -> Reals:
        """Bounds on the moduli of what is multiplied so far, its errors included; beyond e^600 nothing is known anyway.

        A sum of logarithms errs by a unit of itself a term, and by those of the terms.
        """
        logs = np.minimum(self.logs, 600.0)
        result: Reals = np.exp(logs) * (1 + (64 + (16 + self.terms) * np.abs(logs)) * UNIT)
        return result

    def _limit(self, loss: Loss, count: int, log_modulus: Reals, times: int = 1) -> None:
        """ln(|phi| + error) = ln |phi| + ln(1 + error / |phi|), which keeps the digits of moduli close to 1."""
        still, fast = times * loss.rounding(self.x, 0.0), times * loss.rounding(self.x, float(self.t[-1]))
        error = self.at * ((fast - still) / float(self.t[-1])) + still
        known = np.maximum(log_modulus, -600.0)
        self.logs, self.terms = self.logs + float(count) * (known + np.log1p(error * np.exp(-known))), self.terms + 1
        keep = self.logs > self.log_floor  # what is given up counts in full, wherever the line is drawn
        if keep.mean() < 0.95:
            self._keep(keep)

    def _keep(self, keep: NDArray[np.bool_]) -> None:
        """Hold these nodes; of the others their limits count as errors."""
        self.given_up[self.held[~keep]] = self.limits[~keep]
        self.held, self.at = self.held[keep], self.at[keep]
        self.logs, self.log_floor = self.logs[keep], self.log_floor[keep]
        if self.started:
            self.law, self.depth = self.law[keep], self.depth[keep]

    def bound(self, loss: Loss, count: int) -> None:
        """|phi|^2 = 1 - 4 p (1 - p) sin^2(t gap / 2) for two values with masses p and 1 - p."""
        assert isinstance(loss, Atomic)
        _, weights = loss._weights(self.x)
        share = 4 * float(weights[0] * weights[1]) / float(weights.sum()) ** 2
        turned = np.sin(self.at * (float(loss.atoms.step) / 2))
        self.work += self.at.size
        # The square errs by less than 2^-48, which is added before the root is taken.
        # This bounds the true modulus; the computed one may be larger by its rounding, and the product's error counts that again.
        self._limit(loss, count, np.log(np.maximum(1 - share * turned * turned, 0.0) + 2.0**-48) / 2, times=2)

    def multiply(self, loss: Loss, count: int) -> None:
        """Multiply the law at the nodes held by phi^count."""
        if not self.started:
            self.started = True
            mu, x = self.mu, self.x
            self.law, self.depth = np.exp(mu * mu * (-0.5 * self.at**2 + 1j * (x + 0.5) * self.at)), np.zeros(self.at.size)
        small = self._turn(loss, count) - 1 if two_values(loss) else loss.increment(self.x, self.at)
        self.work += self.at.size * self._work(loss)
        log_phi = log1p(small)
        if count == 1:
            self.law = self.law * (1 + small)
            self.depth = self.depth + 1
        else:
            self.law = self.law * np.exp(float(count) * log_phi)
            self.depth = self.depth + 1 + float(count) * np.abs(log_phi)
        if not two_values(loss):
            self._limit(loss, count, log_phi.real)

    def _turn(self, loss: Loss, count: int) -> Complex:
        """phi of two values but for the phase of the first, which is left for the end."""
        assert isinstance(loss, Atomic)
        _, weights = loss._weights(self.x)
        self.shifts.append(count * float(loss.atoms.first))
        phase, share = self.at * float(loss.atoms.step), float(weights[1]) / float(weights.sum())
        phi = np.empty(self.at.size, dtype=np.complex128)
        phi.real = 1 - share + share * np.cos(phase)
        phi.imag = share * np.sin(phase)
        return phi

    def errors(self) -> Reals:
        """Of all nodes; values that are not known at all are left out, at an error of 1."""
        if self.shifts:
            self.law = self.law * np.exp(1j * math.fsum(self.shifts) * self.at)
        limits = self.limits
        known = (limits < 2) & np.isfinite(self.law)
        self.law = np.where(known, self.law, 0.0)
        size = np.abs(self.law)
        far = self.mu * self.mu * (self.x + 1) * float(self.t[-1])  # phases of Z
        units = 16 * (self.depth + 12 + far) * limits + 96 * size  # of the sum, which is pairwise
        result = self.given_up.copy()
        result[self.held] = np.where(known, np.maximum(limits - size, 0.0) + units * UNIT, 1.0)
        return result


def log1p(small: Complex) -> Complex:
    """ln(1 + small) to a few units of its modulus, also where that is tiny."""
    a, b = small.real, small.imag
    inside = 2 * a + a * a + b * b
    real = np.where(inside > -0.5, np.log1p(np.maximum(inside, -0.5)) / 2, np.log(np.maximum(np.abs(1 + small), 1e-300)))
    result: Complex = real + 1j * np.arctan2(b, 1 + a)
    return result


def _work(parts: Parts, x: float) -> float:
    """Terms a node costs: nearly all are given up after some twenty uses, or more of losses that hardly ever vary."""
    work, bounds, uses = 0.0, 0.0, 0.0
    for i, (loss, count) in enumerate(parts):
        known, each = loss.scatter(x), loss.work(x) + EACH
        work, bounds = work + each, bounds + (1 if two_values(loss) else each)
        uses += count * (min(1.0, 4 * known[0] / known[1] ** 2) if known else 1.0)
        if uses > 20 and i >= _DIFFERENT:
            return bounds / 2  # one by one
    return work
