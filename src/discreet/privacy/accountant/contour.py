"""Composition by a contour integral: delta(epsilon) with a lower and an upper bound.

With s = x + it, x > 0, delta(e) e^(x e) has Fourier transform M(s) / (s (s+1)) (integrate (1 - e^(e - L))_+ e^(s e) over e).
Poisson's summation formula for the trapezoid rule of step dt = 2 pi / W then says exactly

    S(e) = e^(-x e) / W * sum_j M(x + i j dt) e^(-i j dt e) / (s_j (s_j + 1)) = sum_m e^(x m W) delta(e + m W).

All terms on the right are >= 0: **the full sum is an upper bound**. A lower bound subtracts the aliases m != 0:
m < 0 adds up to at most e^(-xW) / (1 - e^(-xW)), since delta <= 1; m > 0 to at most e^(K(y) - y e) e^(-(y-x) W) / (1 -
e^(-(y-x) W)) for any y > x, since delta(e) <= M(y) e^(-y e) (Chernoff).

Only nodes up to T are summed. With |phi| <= decay(T) beyond T the rest is at most e^(K(x) - x e) decay(T) / (pi T), because
the sum over j dt > T of dt / (pi (j dt)^2) is at most 1 / (pi T).

Rounding: node j's product of powers errs by at most prod (|phi_i| + r_i)^k_i - prod |phi_i|^k_i, r_i being each loss's own
bound, and by (16 + 4 n) (k + 4) units for n logarithms, their sum, the exponential and products (k = all counts together; a
logarithm is at most pi beside its real part l, and e^-l l < 1); and never by more than 1 + |value|, since |phi| <= 1. Phases j dt
e err by 4 j dt |e| units; the sum of n terms by n units of their sizes. K(x) is known to the sum of k_i r_i (a moment errs like
phi at 0), and x e to a few units: e^(K - x e) then to e^ that, which is no longer 1 + that when k is large.

Losses that are only known within ``blur`` move e by that much, to the safe side.

Doubles below 2^-1022 have fewer digits, and their products err by half of 2^-1074 instead: factors that are so small are never
made (``scaled``), and whatever is added or taken off afterwards is rounded away from the truth by ``LEAST``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from discreet.arrays import Complex, Reals
from discreet.privacy.losses.base import UNIT, Parts

__all__ = ["LEAST", "Contour", "Saddle", "find_saddle", "log_moment", "open_contour", "scaled", "search_tilts"]

LEAST = 2.0**-1074
"""What underflowed is not nothing."""

_MOST_NODES = 1 << 17
_MOST_WORK = 1 << 23  # terms: a third of a second or so
_FACTORS = (1.05, 1.2, 1.5, 2.0, 3.0, 6.0)  # of the tilt, tried in Chernoff bounds
_DEEP = 600.0  # minus ln of what is far above the smallest doubles
_GOAL = 1e-14  # of the answer, for each source of error that can be chosen


@dataclass(frozen=True)
class Contour:
    """Nodes of one contour, ready to answer for any epsilon near the one it was opened for."""

    tilt: float
    log_scale: float  # K(x)
    scale_error: float  # of K(x)
    width: float
    t: Reals
    values: Complex  # phi at the nodes
    noise: Reals  # a bound on their error
    tail: float  # decay(T)
    beyond: tuple[tuple[float, float], ...]  # larger tilts y with K(y) from above, for Chernoff bounds
    blur: float

    def __post_init__(self) -> None:
        numbers = (self.tilt, self.log_scale, self.scale_error, self.width, self.tail, self.blur, float(self.noise.sum()))
        if not (all(map(math.isfinite, numbers)) and np.isfinite(self.values).all() and self.beyond):
            raise ArithmeticError("a contour through numbers that are none")

    def delta(self, epsilon: float, *, up: bool) -> float:
        """A bound on the finite part of delta(epsilon), from above or below."""
        epsilon += (-1 if up else 1) * (self.blur + 4 * UNIT * abs(epsilon))  # delta falls in epsilon
        exponent = self.log_scale - self.tilt * epsilon
        known = self.scale_error + 512 * UNIT * (1 + abs(self.log_scale) + abs(self.tilt * epsilon))
        if exponent + known > 600:
            return math.inf if up else 0.0  # too far from the saddle to say anything
        total, error = self._sum(epsilon)
        if up:
            return scaled(max(0.0, total + error) / self.width, exponent + known, up=True)
        return max(0.0, scaled((total - error) / self.width, exponent - known, up=False) - self._alias(epsilon))

    def _sum(self, epsilon: float) -> tuple[float, float]:
        s = self.tilt + 1j * self.t
        kernel = np.exp(-1j * self.t * epsilon) / (s * (s + 1))
        kernel[1:] *= 2
        total = float((self.values * kernel).real.sum())
        phases = 4 * UNIT * self.t * abs(epsilon) + (2 * self.t.size + 32) * UNIT
        error = float((np.abs(kernel) * (self.noise + np.abs(self.values) * phases)).sum())
        return total, (error + self.tail * self.width / (math.pi * float(self.t[-1]))) * (1 + 2.0**-30)

    def _alias(self, epsilon: float) -> float:
        left = math.exp(-self.tilt * self.width)
        best = math.inf
        for y, top in self.beyond:
            shift = (y - self.tilt) * self.width
            best = min(best, top + 1e-9 * (1 + abs(y * epsilon)) - y * epsilon - shift - math.log(-math.expm1(-shift)))
        return (left / (1 - left) + math.exp(min(best, 600.0))) * (1 + 1e-9) + 2 * LEAST


def scaled(total: float, exponent: float, *, up: bool) -> float:
    """total e^exponent to a few units, and where it is next to underflow, from above or below: it is rounded there once."""
    deep = exponent < -_DEEP
    found = total * math.exp(exponent + _DEEP) * math.exp(-_DEEP) if deep else total * math.exp(exponent)
    return found + LEAST if up else found - LEAST


def log_moment(parts: Parts, x: float) -> float:
    """K(x) of the whole composition."""
    return math.fsum(count * loss.log_moment(x) for loss, count in parts)


def log_moment_above(parts: Parts, x: float) -> float:
    """K(x) with what it may err by; infinity where it is out of reach."""
    k = log_moment(parts, x)
    return k + log_moment_error(parts, x, k) if math.isfinite(k) else math.inf


def log_moment_error(parts: Parts, x: float, k: float) -> float:
    """What K(x) may err by: each loss's own bound, and the rounding of large values and their sum."""
    return math.fsum(count * loss.rounding(x, 0.0) for loss, count in parts) + 512 * UNIT * (1 + abs(k))


def search_tilts(
    above: Callable[[float], float], x: float, factors: tuple[float, ...], epsilon: float, goal: float
) -> tuple[float, tuple[tuple[float, float], ...]]:
    """The width at which aliases to the right are below e^goal, by Chernoff bounds at tilts y > x; and these, with K(y).

    That width falls and then rises with y, as K is convex: so not all of them are tried.
    """
    found: dict[int, tuple[float, float]] = {}

    def wide(place: int) -> float:
        y = x * factors[place]
        if not math.isfinite(top := above(y)):
            return math.inf
        found[place] = y, top
        return (top - y * epsilon - goal) / (y - x)

    best = middle = len(factors) // 2
    least = wide(middle)
    while best > 0 and ((here := wide(best - 1)) < least or math.isinf(least)):
        best, least = best - 1, here
    while middle <= best < len(factors) - 1 and (here := wide(best + 1)) < least:
        best, least = best + 1, here
    return least, tuple(found[place] for place in sorted(found))


@lru_cache(maxsize=32)
def open_contour(parts: Parts, saddle: Saddle) -> Contour | None:
    """A contour good for answers near the saddle; None where |phi| cannot be proved to fade soon enough."""
    x, log_delta = saddle.tilt, saddle.log_delta
    scale = log_moment(parts, x)
    if not (math.isfinite(scale) and log_moment_error(parts, x, scale) < 1):  # nothing would be known
        return None
    goal = log_delta + math.log(_GOAL)
    width = max(-goal / x, 8 * saddle.spread)
    right, beyond = search_tilts(lambda y: log_moment_above(parts, y), x, _FACTORS, saddle.epsilon, goal)
    if not beyond:
        return None
    width = max(width, right)
    step = 2 * math.pi / width
    end = max(8 * step, 8 / saddle.spread)
    most = min(_MOST_NODES, _MOST_WORK / sum(loss.work(x) for loss, _ in parts))
    while end / step <= most:
        faded = decay(parts, x, end)
        if math.log(max(faded, 1e-300)) <= goal - (scale - x * saddle.epsilon) + math.log(math.pi * end):
            break
        end *= 1.5
    else:
        return None
    t: Reals = np.arange(math.ceil(end / step) + 1, dtype=np.float64) * step
    product, upper, counts = np.zeros(t.size, dtype=np.complex128), np.zeros(t.size), 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for loss, count in parts:
            phi = loss.characteristic(x, t)
            product += float(count) * np.log(phi)
            still, fast = loss.rounding(x, 0.0), loss.rounding(x, float(t[-1]))
            upper += float(count) * np.log(np.abs(phi) + still + (fast - still) * (t / t[-1]))
            counts += count
        values = np.exp(product)
        values[~np.isfinite(values)] = 0.0
        largest = np.exp(np.minimum(upper, 50.0))
    units = (16 + 4 * len(parts)) * (counts + 4) * UNIT
    noise = np.minimum(np.maximum(largest - np.abs(values), 0.0) + units * largest, 1 + np.abs(values))
    try:
        return Contour(x, scale, log_moment_error(parts, x, scale), width, t, values, noise, faded, beyond, _blur(parts))
    except ArithmeticError:
        return None


def _blur(parts: Parts) -> float:
    return math.fsum(count * loss.blur for loss, count in parts)


def decay(parts: Parts, x: float, t: float) -> float:
    """A bound on |phi| of the whole composition at and beyond t."""
    return math.exp(math.fsum(count * math.log(max(loss.decay(x, t), 1e-300)) for loss, count in parts) * (1 - 2.0**-40))


@dataclass(frozen=True)
class Saddle:
    """Where to work: the tilt, and what a saddle-point estimate expects there. Precision is irrelevant to the bounds."""

    tilt: float
    log_scale: float
    epsilon: float
    log_delta: float
    spread: float  # standard deviation of the tilted loss


def saddle_at(parts: Parts, x: float) -> Saddle | None:
    """The saddle point that a tilt belongs to; None where numbers leave the doubles."""
    k = slope = bend = 0.0
    for loss, count in parts:
        k_i, slope_i, bend_i = loss.cumulants(x)
        k, slope, bend = k + count * k_i, slope + count * slope_i, bend + count * bend_i
    epsilon = slope - 1 / x - 1 / (x + 1)
    curve = max(bend, 0.0) + 1 / x**2 + 1 / (x + 1) ** 2
    log_delta = k - x * epsilon - math.log(x * (x + 1)) - math.log(2 * math.pi * curve) / 2
    if not all(map(math.isfinite, (k, epsilon, log_delta, bend))):
        return None
    return Saddle(x, k, epsilon, min(log_delta, 0.0), math.sqrt(max(bend, 1e-300)))


@lru_cache(maxsize=256)
def find_saddle(parts: Parts, *, epsilon: float | None = None, log_delta: float | None = None) -> Saddle:
    """The tilt for a wanted epsilon or ln delta, by bisection of its logarithm (both move one way with it, or nearly)."""
    spread = math.sqrt(sum(count * loss.mean_variance()[1] for loss, count in parts)) or 1e-6
    if math.isinf(spread):
        raise OverflowError("more uses than doubles can count")
    low, high = math.log(min(0.02 / spread, 1.0)), math.log(100 / spread)
    best = None
    for _ in range(40):
        middle = (low + high) / 2
        here = saddle_at(parts, math.exp(middle))
        if here is None:
            high = middle
            continue
        best = here
        ahead = here.epsilon - epsilon if epsilon is not None else (log_delta or 0.0) - here.log_delta
        if abs(ahead) < (0.5 if epsilon is None else 0.1 * here.spread) or high - low < 1e-3:
            break
        low, high = (low, middle) if ahead > 0 else (middle, high)
    return best or saddle_at(parts, math.exp(low)) or Saddle(math.exp(low), 0.0, 0.0, 0.0, spread)
