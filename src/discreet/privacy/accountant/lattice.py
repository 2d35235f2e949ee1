"""Composition on a lattice: a law that dominates and a law that is dominated, convolved by FFT under a tilt.

All laws live on multiples of one step h (plus an offset). Under the tilt x each is normalised, transformed, raised to its
count and multiplied; the inverse transform is the tilted law f of the total loss on a window of n points, and delta(e) = e^K
sum f(l) e^(-x l) (1 - e^(e-l)) over l > e. Tilting puts the mass where delta is decided, so that rounding, which is relative
to all mass, is relative to the answer.

**Rounding.** Every output of a radix-2^k FFT is a sum of all inputs, each multiplied by one rounded factor and added once a
level: its error is at most 16 log2(n) units of the inputs' sum (a level costs at most 8 roundings). So |F_i| is known to r_i =
16 log2(n) units plus the masses' own relative error; products and powers to prod (|F_i| + r_i)^k_i - prod |F_i|^k_i and (16 +
4 m) (k + 4) units for m logarithms and their sum (as for the contour), never more than 1 + |product|; f to the mean of those
errors plus 16 log2(n) units of the mean of |F|. Sums of n terms of one sign add n units, exponentials 64 + 8 |x l| units; e^K
is known to e^ the error of K.

Losses are where they are said to be within ``blur``, so delta is asked for at an epsilon moved by as much, to the safe side.

**Wrapping.** The window leaves out tilted mass of at most 2^-60 on either side (Chernoff, on the atoms themselves, what their
moments may err by added). Wrapped mass only adds to f inside; the lower bound subtracts 2^-59 times the largest weight. Mass
outside of the window that should count where it is, above or (for an epsilon below the window) below it, is at most 2^-59 and
weighs at most 1.

What is only ``Expected``, to find where to work, takes one lattice of few points and no tilt, and bounds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.arrays import Integers, Reals, dot
from discreet.privacy.accountant.contour import scaled
from discreet.privacy.losses.atoms import Atoms
from discreet.privacy.losses.base import UNIT

__all__ = ["MOST_POINTS", "Convolution", "Expected", "common_step", "convolve", "expect_samples"]

MOST_POINTS = 1 << 21  # over all laws: each is transformed
_LEFT_OUT = 2.0**-60
_FEW_POINTS = 1 << 13  # of what is only expected


@dataclass(frozen=True)
class Convolution:
    """The tilted law of the total loss on a window, with a bound on its error."""

    losses: Reals
    law: Reals
    error: float
    tilt: float
    log_scale: float
    scale_error: float
    blur: float  # how far a loss may be from where it is said to be
    whole: bool  # the window holds the whole support

    def __post_init__(self) -> None:
        numbers = (self.error, self.tilt, self.log_scale, self.scale_error, self.blur, float(self.law.sum()))
        if not all(map(math.isfinite, (*numbers, float(self.losses[0]), float(self.losses[-1])))):
            raise ArithmeticError("a convolution of numbers that are none")

    def delta(self, epsilon: float, *, up: bool) -> float:
        """A bound on the finite part of delta(epsilon), from above or below."""
        epsilon += (-1 if up else 1) * (self.blur + 4 * UNIT * abs(epsilon))  # delta falls in epsilon
        start = int(np.searchsorted(self.losses, epsilon, side="right"))
        stop = int(np.searchsorted(self.losses, epsilon + 60 / self.tilt))  # beyond it weights are below e^-60
        losses = self.losses[start:stop]
        law = self.law[start:stop] + self.error if up else np.maximum(self.law[start:stop] - self.error, 0.0)
        weights = np.exp(-self.tilt * (losses - epsilon)) * -np.expm1(epsilon - losses)
        total = float((law * weights).sum())
        largest = self.tilt**self.tilt / (self.tilt + 1) ** (self.tilt + 1) if self.tilt < 100 else 1 / self.tilt
        spill = 0.0 if self.whole else 2 * _LEFT_OUT * (1.0 if up else largest)
        if up and stop < self.losses.size:
            spill += math.exp(-60) * (1 + 2.0**-20)
        exponent = self.log_scale - self.tilt * epsilon
        phases = 16 * self.tilt * (abs(float(self.losses[-1])) + abs(epsilon)) + 512 * abs(self.log_scale)
        slack = (law.size + 256 + phases) * UNIT + self.scale_error
        if up:
            return scaled(total + spill, exponent + slack, up=True) if exponent + slack < 700 else math.inf
        kept = max(0.0, total * math.exp(-slack) - spill) * (1 - 16 * UNIT)
        return max(0.0, scaled(kept, min(exponent, 700.0), up=False))


def convolve(parts: Sequence[tuple[Atoms, int]], tilt: float) -> Convolution | None:
    """The composition of lattice laws, each repeated so often; None where the window would be too large."""
    step = common_step([atoms.step for atoms, _ in parts])
    h = float(step)
    first = sum((count * atoms.first for atoms, count in parts), Fraction(0))
    tilted = [(_Tilted.of(atoms, tilt), count, int(atoms.step / step)) for atoms, count in parts]
    span = sum(count * (atoms.mass.size - 1) * int(atoms.step / step) for atoms, count in parts)
    if not 0 < h < math.inf or not all(math.isfinite(law.log_scale) and law.error < 1 for law, _, _ in tilted):
        return None
    spread = math.sqrt(math.fsum(count * law.spread**2 for law, count, _ in tilted))
    if min(12 * spread / h, float(span)) * len(parts) > MOST_POINTS:  # no window is smaller
        return None
    low, high = _window(tilted, h, span)
    # The circle holds the window; a circle longer than the whole support wraps nothing.
    size = 1 << max(3, (high - low).bit_length())
    if size * len(parts) > MOST_POINTS:
        return None
    if size > span:
        low = 0
    level = 16 * math.log2(size) * UNIT
    log_law, log_bound = np.zeros(size // 2 + 1, dtype=np.complex128), np.zeros(size // 2 + 1)
    scale = scale_error = 0.0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for law, count, stride in tilted:
            folded = np.zeros(size)  # each law wound around the circle, from its own first point
            np.add.at(folded, (np.arange(law.weights.size) * (stride % size)) % size, law.weights)
            spectrum = np.fft.rfft(folded)
            # Powers as logarithms; beside each |F| what it may be at most, for the error of the product.
            log_law += float(count) * np.log(spectrum)
            log_bound += float(count) * np.log(np.abs(spectrum) + level + law.error)
            scale += count * law.log_scale
            scale_error += count * law.error
        product = np.exp(log_law)
        product[~np.isfinite(product)] = 0.0  # a factor of 0
        bound = np.exp(np.minimum(log_bound, 50.0))
    units = (16 + 4 * len(parts)) * (float(sum(count for _, count, _ in tilted)) + 4) * UNIT
    noise = np.minimum(np.maximum(bound - np.abs(product), 0.0) + units * bound, 1 + np.abs(product))
    both = np.full(size // 2 + 1, 2.0)
    both[0] = both[-1] = 1.0  # every other frequency stands for two
    error = float((both * (noise + level * np.minimum(bound, 1 + np.abs(product)))).sum()) / size
    start = float(first + low * step)
    blur = sum(count * atoms.blur for atoms, count in parts) + 4 * UNIT * (abs(start) + h * size)
    # Back from the circle to the line: the window starts at its point ``low``.
    circle = np.fft.irfft(product, size)
    losses: Reals = start + h * np.arange(size, dtype=np.float64)
    law_out = np.maximum(circle[(low % size + np.arange(size)) % size], 0.0)
    try:
        return Convolution(losses, law_out, error * (1 + 2.0**-20), tilt, scale, scale_error, blur, size > span)
    except ArithmeticError:
        return None


@dataclass(frozen=True)
class _Tilted:
    weights: Reals
    log_scale: float
    error: float
    mean: float
    spread: float

    @classmethod
    def of(cls, atoms: Atoms, tilt: float) -> _Tilted:
        exponents = tilt * atoms.losses
        top = float((exponents + atoms.log_mass).max())
        weights = np.exp(exponents + atoms.log_mass - top)
        total = float(weights.sum())
        weights = weights / total
        index = np.arange(weights.size) * float(atoms.step)
        mean = float((weights * index).sum())  # long products of vectors are given to threads, which spin
        spread = math.sqrt(max(float((weights * (index - mean) ** 2).sum()), 0.0))
        rounding = (weights.size + 64 + 8 * tilt * float(np.abs(atoms.losses).max()) + 8 * abs(top)) * UNIT
        return cls(weights, top + math.log(total), atoms.doubt(weights) + rounding, mean, spread)

    @cached_property
    def _held(self) -> tuple[Integers, Reals]:
        """Positions that hold mass, and its logarithms."""
        held = np.flatnonzero(self.weights)
        return held, np.log(self.weights[held])

    def log_tail(self, step: float, power: float) -> float:
        """ln E[e^(power * (position - mean))] of one draw, position counted from the first atom, from above."""
        held, logs = self._held
        place = held * step
        exponents = power * (place - self.mean) + logs
        top = float(exponents.max())
        terms = np.exp(exponents - top)
        total = float(terms.sum())
        lengths = float((terms * (8 * abs(power) * (place + self.mean) - 4 * logs)).sum()) / total
        return top + math.log(total) + self.error + (self.weights.size + 64 + lengths + 4 * abs(top)) * UNIT


def _window(tilted: Sequence[tuple[_Tilted, int, int]], h: float, span: int) -> tuple[int, int]:
    """First and last lattice point outside of which at most 2^-60 of the tilted mass lies on either side."""
    mean = sum(count * law.mean for law, count, _ in tilted)
    spread = math.sqrt(sum(count * law.spread**2 for law, count, _ in tilted)) or h
    long = sum(law.weights.size for law, _, _ in tilted) > 1 << 16  # then some will do
    ends, powers = [], (2.0, 6.5, 13.0) if long else (1.0, 2.0, 4.0, 6.5, 9.0, 13.0, 20.0)
    for side in (-1, 1):
        best = math.inf
        for power in powers:
            p = side * power / spread
            log_moment = sum(count * law.log_tail(h * stride, p) for law, count, stride in tilted)
            best = min(best, (log_moment + 42.0) / abs(p))
        ends.append(mean + side * best)
    margin = 8 * UNIT * (mean + abs(ends[0]) + abs(ends[1]))
    low, high = math.floor((ends[0] - margin) / h) - 1, math.ceil((ends[1] + margin) / h) + 1
    return max(low, 0), min(max(high, low + 8), span)


def common_step(steps: Sequence[Fraction]) -> Fraction:
    """The largest step of which all are multiples."""
    result = steps[0]
    for step in steps[1:]:
        denominator = math.lcm(result.denominator, step.denominator)
        result = Fraction(math.gcd(int(result * denominator), int(step * denominator)), denominator)
    return result


@dataclass(frozen=True, eq=False)
class Expected:
    """delta at many epsilons, to a per cent or so."""

    epsilons: Reals
    logs: Reals  # of delta there

    def log_delta(self, epsilon: float) -> float:
        return float(np.interp(epsilon, self.epsilons, self.logs))

    def epsilon(self, log_delta: float) -> float:
        """Where it falls to this delta; 0 where it is below all along."""
        return float(np.interp(-log_delta, -self.logs, self.epsilons, left=0.0))


def expect_samples(steps: Sequence[tuple[float, float, int]], far: float) -> Expected:
    """Gaussian noise on samples: steps of mu, rate and count, up to twice the epsilon ``far``.

    Losses beyond are added up; others are shared by three points so as to keep mean and variance.
    """
    near, line, variance = [], np.zeros(2), 0.0
    for mu, rate, count in steps:
        z: Reals = np.arange(-9.0, mu + 9.0, min(0.05, 0.1 / mu))
        losses = np.log1p(rate * np.expm1(np.minimum(mu * z - mu * mu / 2, 600.0)))
        other = np.exp(-z * z / 2)
        other /= other.sum()
        mass, close = other * np.exp(losses), losses < 2 * far
        line += count * np.array([mass[~close].sum(), other[~close].sum()])
        variance += count * dot(mass[close], losses[close] ** 2)
        near.append((losses[close], mass[close], count))
    step, size = 2 * (4 * far + 12 * math.sqrt(variance)) / _FEW_POINTS, _FEW_POINTS
    log_law = np.zeros(size // 2 + 1, dtype=np.complex128)
    for losses, mass, count in near:
        place = np.rint(losses / step)
        rest = losses / step - place
        shares = (mass * rest * (rest - 1) / 2, mass * (1 - rest * rest), mass * rest * (rest + 1) / 2)
        index = (place.astype(np.int64) + np.array([[-1], [0], [1]])) % size
        log_law += count * np.log(np.fft.rfft(np.bincount(index.ravel(), np.concatenate(shares), size)) + 1e-300)
    law = np.maximum(np.fft.irfft(np.exp(log_law), size)[: size // 2], 0.0)
    epsilons: Reals = step * np.arange(law.size, dtype=np.float64)
    held = epsilons <= 2 * far
    above, below = (np.cumsum(some[::-1])[::-1][held] for some in (law, law * np.exp(-epsilons)))
    epsilons = epsilons[held]  # exponentials of the others leave the doubles
    delta = above - np.exp(epsilons) * below + np.maximum(line[0] - np.exp(epsilons) * line[1], 0.0)
    logs: Reals = np.log(np.maximum(np.minimum.accumulate(delta), 1e-300))
    return Expected(epsilons, logs)
