"""Linear forms of releases, and their quotients: what most aggregates and most arithmetic on them are.

A linear form knows with which weight each release is in it, so that what two of them share is not counted twice: in
``sum(x) / count(*)`` beside ``avg(x)``, or in the difference of two means over one count, the same noise is the same noise.

The interval of a linear form is the half-width of its noise. That of a quotient N / D holds every r for which N - r D is
explained by noise alone (Fieller 1954): N - r D is again a linear form, and has the mean 0 where r is the true quotient, so that
the interval covers as often as it says, however noisy D is, up to the rounding of noise to units. Where 0 itself explains D,
every r does: then nothing is known of the quotient but the range that public bounds give it, and it has no value. Ends are looked
for by halving where one or two kinds of noise have a law that is quickly looked up; of more kinds they are the roots of a
quadratic, (N - r D)^2 = z^2 times the variance of its noise, with the z that the law of the noise has at that end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.plan.noises import Many, Noise, explains, halved, reach
from discreet.plan.release import Release, Released

_DOUBLINGS, _STEPS, _ROUNDS = 64, 24, 2
TINY = 1e-6  # of a unit: where noise is hardly ever anything but 0, numbers are looked for from here on


@dataclass(frozen=True)
class Source:
    """What a form has its noise from: one of the noisy numbers of a release (most have one in every group); those of its own
    group, or (``among``) the ``many`` of all other groups that have these keys in common with it and no others."""

    release: Release
    place: int = 0
    among: frozenset[int] | None = None
    many: Many = field(default=1, compare=False, repr=False)


@dataclass(frozen=True, eq=False)
class Linear:
    """A weighted sum of releases, in every group; without weights it is a public number."""

    values: Reals
    weights: Mapping[Source, float] = field(default_factory=dict)

    def plus(self, other: Linear, sign: float = 1.0) -> Linear:
        """The sum, or the difference, of two forms; releases whose noise cancels out are left out."""
        weights = dict(self.weights)
        for source, weight in other.weights.items():
            weights[source] = weights.get(source, 0.0) + sign * weight
        return Linear(self.values + sign * other.values, {source: weight for source, weight in weights.items() if weight})

    def times(self, factor: float) -> Linear:
        """A multiple."""
        return Linear(self.values * factor, {source: weight * factor for source, weight in self.weights.items() if factor})

    def same(self, other: Linear) -> bool:
        """Whether two forms are the same number."""
        return self.weights == other.weights and np.array_equal(self.values, other.values)

    @property
    def constant(self) -> float | None:
        """The public number that it is in all groups."""
        if self.weights or (self.values != self.values[:1]).any():
            return None
        return float(self.values[0]) if self.values.size else 1.0

    @property
    def deviation(self) -> Reals:
        """The standard deviation of its noise."""
        return np.sqrt(sum((one.deviation**2 for one in self._noises), np.zeros_like(self.values)))

    @property
    def whole(self) -> bool:
        """Whether it is a whole number, with noise and without."""
        return all(
            weight.is_integer() and not one.release.bits and one.release.worth.denominator == 1
            for one, weight in self.weights.items()
        )

    def noises(self, value: Reals) -> list[Noise]:  # noqa: ARG002 - the same at every value
        """Its noises."""
        return self._noises

    @property
    def _noises(self) -> list[Noise]:
        return [Noise(one.release.spread, np.full(1, weight), one.many) for one, weight in self.weights.items()]

    def half(self, miss: float) -> Reals:
        """The half-width of its interval."""
        return reach(self._noises, miss)

    def interval(self, miss: float) -> tuple[Reals, Reals]:
        """The ends of its interval."""
        half = self.half(miss)
        return self.values - half, self.values + half

    def moved(self, source: Source, by: Reals | float) -> Reals:
        """Its values if a noisy number had been this much larger."""
        return self.values + self.weights.get(source, 0.0) * by


@dataclass(frozen=True, eq=False)
class Ratio:
    """The quotient of two linear forms; ``low`` and ``high``: public bounds of the true one."""

    over: Linear
    under: Linear
    low: float = -math.inf
    high: float = math.inf

    @property
    def weights(self) -> Mapping[Source, float]:
        """The noisy numbers that it is made of, each with one of its weights."""
        return {**self.under.weights, **self.over.weights}

    def known(self, miss: float) -> NDArray[np.bool_]:
        """Where the denominator is surely not 0."""
        return np.asarray(np.abs(self.under.values) > self.under.half(miss))

    def best(self, miss: float) -> Reals:
        """The quotient, within its bounds; NaN where nothing is known of it."""
        known = self.known(miss)
        quotient = self.over.values / np.where(known, self.under.values, 1.0)
        return np.where(known, np.clip(quotient, self.low, self.high), np.nan)

    def errors(self, miss: float) -> Reals:
        """Standard errors, to first order; infinite where nothing is known."""
        best, known = self.best(miss), self.known(miss)
        r = np.where(known, best, 0.0)
        total = np.zeros_like(r)
        for source, over, under in self._both():
            total = total + Noise(source.release.spread, over - r * under, source.many).deviation ** 2
        return np.where(known, np.sqrt(total) / np.where(known, np.abs(self.under.values), 1.0), np.inf)

    def within(self, z: Reals | float) -> tuple[Reals, Reals]:
        """The least and the largest quotient with N - r D within z standard deviations of its noise, between its bounds."""
        of_over, of_both, of_under = (np.zeros_like(self.under.values) for _ in range(3))
        for source, over, under in self._both():
            variance = source.many * np.square(source.release.spread.deviation)  # infinite where a float's ** would raise
            of_over, of_both, of_under = (
                total + weight * variance
                for total, weight in ((of_over, over * over), (of_both, over * under), (of_under, under * under))
            )
        with np.errstate(all="ignore"):
            a = self.under.values**2 - z**2 * of_under
            b = self.over.values * self.under.values - z**2 * of_both
            c = self.over.values**2 - z**2 * of_over
            root = np.sqrt(np.maximum(b**2 - a * c, 0.0))
            ends = (b - root) / a, (b + root) / a
            low, high = np.where(a > 0, ends[0], -math.inf), np.where(a > 0, ends[1], math.inf)
        return np.clip(low, self.low, self.high), np.clip(high, self.low, self.high)

    def _inverted(self, miss: float, sign: int) -> Reals:
        """An end of its interval, by the quadratic."""
        r = np.where(self.known(miss), np.nan_to_num(self.best(miss)), 0.0)
        found = r
        for _ in range(_ROUNDS):
            noises = self.noises(r)
            deviation = np.sqrt(sum((one.deviation**2 for one in noises), np.zeros_like(r)))
            z = reach(noises, miss) / np.where(deviation > 0, deviation, 1.0)
            found = self.within(z)[sign > 0]
            r = np.where(np.isfinite(found), found, r)
        return found

    def interval(self, miss: float) -> tuple[Reals, Reals]:
        """The ends of its interval."""
        known = self.known(miss)
        if len({(one.release.spread, over, under) for one, over, under in self._both()}) > 2:
            lower, upper = (self._inverted(miss, sign) for sign in (-1, 1))
            return np.where(known, lower, self.low), np.where(known, upper, self.high)
        raw = np.where(known, self.over.values / np.where(known, self.under.values, 1.0), 0.0)
        start = np.clip(raw, self.low, self.high)

        def possible(r: Reals) -> NDArray[np.bool_]:
            return explains(np.abs(self.over.values - r * self.under.values), self.noises(r), miss) & known

        lower, upper = self._end(start, possible, -1.0), self._end(start, possible, 1.0)
        return np.where(known, lower, self.low), np.where(known, upper, self.high)

    def _end(self, start: Reals, possible: Callable[[Reals], NDArray[np.bool_]], sign: float) -> Reals:
        units = [abs(weight) * one.release.spread.unit for one, weight in self.over.weights.items()]
        first = (self.over.deviation + TINY * max(units, default=0.0)) / np.maximum(np.abs(self.under.values), 1e-300)
        return last_possible(start, possible, first, self.low if sign < 0 else self.high, sign)

    def _both(self) -> list[tuple[Source, float, float]]:
        sources = dict.fromkeys((*self.over.weights, *self.under.weights))
        return [(one, self.over.weights.get(one, 0.0), self.under.weights.get(one, 0.0)) for one in sources]

    def noises(self, r: Reals) -> list[Noise]:
        """The noises of N - r D."""
        return [Noise(source.release.spread, over - r * under, source.many) for source, over, under in self._both()]

    def moved(self, source: Source, by: Reals | float) -> Reals:
        """Its values if a noisy number had been this much larger."""
        return self.over.moved(source, by) / self.under.moved(source, by)


Form = Linear | Ratio


def last_possible(
    start: Reals, possible: Callable[[Reals], NDArray[np.bool_]], first: Reals, bound: float | Reals, sign: float | Reals
) -> Reals:
    """How far one can go from the best number, upwards or down, with noise still explaining it: by doubling a first step, and
    then by halving what is between; the bound where even that is possible."""
    step = first + 1e-9 * np.abs(start) + 1e-300
    low, high = np.where(np.less(sign, 0), bound, -math.inf), np.where(np.less(sign, 0), math.inf, bound)
    near, far = start.copy(), np.clip(start + sign * step, low, high)
    beyond = possible(far)
    for _ in range(_DOUBLINGS):
        further = beyond & (far != bound)
        if not further.any():
            break
        step = np.where(further, 2 * step, step)
        near, far = np.where(further, far, near), np.where(further, np.clip(far + sign * step, low, high), far)
        beyond = possible(far)
    return np.where(beyond, bound, halved(near, far, possible, _STEPS))


def sum_of(released: Released) -> Linear:
    """One noisy sum."""
    noisy = released.release.mechanism is not None
    return Linear(released.real, {Source(released.release): 1.0} if noisy else {})


def public(value: float, like: Reals) -> Linear:
    """A constant, in every group."""
    return Linear(np.full_like(like, value))


def add(a: Form, b: Form, sign: float = 1.0) -> Form | None:
    """The sum or difference of two forms, where that is a form."""
    if isinstance(a, Linear) and isinstance(b, Linear):
        return a.plus(b, sign)
    if isinstance(a, Ratio) and isinstance(b, Ratio):
        if not a.under.same(b.under):
            return None
        low, high = (b.low, b.high) if sign > 0 else (-b.high, -b.low)
        return Ratio(a.over.plus(b.over, sign), a.under, a.low + low, a.high + high)
    if isinstance(a, Ratio):
        assert isinstance(b, Linear)
        return _shifted(a, b, sign)
    assert isinstance(b, Ratio)
    negative = multiply(b, public(-1.0, a.values)) if sign < 0 else b
    return _shifted(negative, a, 1.0) if isinstance(negative, Ratio) else None


def _shifted(ratio: Ratio, by: Linear, sign: float) -> Ratio | None:
    value = by.constant
    if value is None:
        return None
    value *= sign
    return Ratio(ratio.over.plus(ratio.under.times(value)), ratio.under, ratio.low + value, ratio.high + value)


def multiply(a: Form, b: Form) -> Form | None:
    """The product of two forms, where that is a form: one of them is a public number, or a quotient loses its denominator."""
    for one, other in ((a, b), (b, a)):
        factor = one.constant if isinstance(one, Linear) else None
        if factor is not None and isinstance(other, Linear):
            return other.times(factor)
        if factor is not None and isinstance(other, Ratio):
            ends = sorted((other.low * factor, other.high * factor)) if factor else [0.0, 0.0]
            return Ratio(other.over.times(factor), other.under, *ends)
        if isinstance(one, Ratio) and isinstance(other, Linear) and one.under.same(other):
            return one.over
    return None


def divide(a: Form, b: Form) -> Form | None:
    """The quotient of two forms, where that is a form."""
    if isinstance(b, Linear):
        factor = b.constant
        if factor is not None:
            return multiply(a, public(1 / factor, b.values)) if factor else None
        return Ratio(a, b) if isinstance(a, Linear) else None
    if isinstance(a, Ratio) and a.under.same(b.under):
        return Ratio(a.over, b.over)
    return None
