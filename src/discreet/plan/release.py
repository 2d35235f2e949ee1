"""The parts of a release: every statistic with the mechanism that lets it out, calibrated to its share of the cost.

Sums get Laplace noise under pure budgets and Gaussian noise under all others, where it costs less; selections get
permute-and-flip and the exponential mechanism, for the same reason. A quantile is three selections: half of its share for the
value, and a quarter for each end of its interval.

How noise spreads: of one noisy sum, and of combinations of two, as intervals need it.

This is arithmetic on public facts after the release: it decides no privacy, so plain doubles serve.

Mechanisms and their noise in words, for previews and answers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

import numpy as np

from discreet.arrays import Number, Reals
from discreet.exact import root
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip, Threshold
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.selection import Selection
from discreet.plan.statistics import Commonest, Measure, Persons, Ranked, Scores, Statistic, cell_norms, norms
from discreet.privacy import Privacy
from discreet.schema.units import Person, Unit

__all__ = [
    "Frame",
    "KeyChoice",
    "Mechanism",
    "Part",
    "Share",
    "Spread",
    "described",
    "key_part",
    "named",
    "outside",
    "parts_of",
    "spread_of",
]

Mechanism = Laplace | Gaussian | Selection | Quantile | Threshold


@dataclass(frozen=True)
class KeyChoice:
    """The private choice of open keys."""

    def __str__(self) -> str:
        return "keys"


@dataclass(frozen=True)
class Part:
    """One statistic and the mechanism that releases it; no mechanism: what it releases is public."""

    statistic: Statistic | KeyChoice
    mechanism: Mechanism | None
    times: int = 1  # contests in which one unit takes part
    bits: int = 0  # sums are counted in 2**-bits units

    @property
    def privacy(self) -> Privacy | None:
        return None if self.mechanism is None else self.times * self.mechanism.privacy

    @property
    def side(self) -> int:
        return self.mechanism.side if isinstance(self.mechanism, Quantile) else 0


@dataclass(frozen=True)
class Share:
    """What something may cost: a pure epsilon or else a rho, and a delta for open keys; ``named``: what a ledger knows that
    delta by, which is one name for all that were not told."""

    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction = Fraction(0)
    named: Fraction = Fraction(0)

    def part(self, share: Fraction) -> Share:
        """That much of it; the delta is for one purpose, and stays."""
        return replace(self, epsilon=self.epsilon and self.epsilon * share, rho=self.rho and self.rho * share)

    def contest(self, times: int) -> Fraction:
        """The epsilon of a selection that is paid ``times`` times: rho is epsilon^2 / 8 for the exponential mechanism."""
        return self.epsilon / times if self.epsilon is not None else root(8 * (self.rho or Fraction(0)) / times)


@dataclass(frozen=True)
class Frame:
    """What a question's sensitivities depend on: who is protected, how many groups there are, whether rows can be left out."""

    unit: Unit
    groups: int | None
    whole_table: bool

    @property
    def exchanged(self) -> bool:
        return self.unit.neighbours == "replace"


def parts_of(statistic: Statistic, frame: Frame, share: Share) -> tuple[Part, ...]:
    """Release one statistic within a share of the cost."""
    match statistic:
        case Measure() | Persons():
            size = norms(statistic, frame.unit, frame.groups, whole_table=frame.whole_table)
            if size.l1 == 0:
                return (Part(statistic, None),)
            if share.epsilon is not None:
                return (Part(statistic, Laplace(sensitivity=size.l1, epsilon=share.epsilon), bits=size.bits),)
            return (Part(statistic, Gaussian(sensitivity=size.l2, rho=share.rho), bits=size.bits + size.finer),)
        case Ranked():
            shares = {0: Fraction(1, 2), -1: Fraction(1, 4), 1: Fraction(1, 4)}
            return tuple(_ranked(statistic, frame, share.part(portion), side) for side, portion in shares.items())
        case Commonest():
            weight, times = cell_norms(frame.unit, frame.groups, quantile=False)
            return (Part(statistic, _selection(weight, share, times, monotonic=not frame.exchanged), times),)
        case Scores():
            return (_scored(statistic, frame, share),)


def public(statistic: Statistic, frame: Frame) -> bool:
    """Whether a statistic is the same for all neighbours, and so free."""
    return isinstance(statistic, Measure) and not norms(statistic, frame.unit, frame.groups, whole_table=frame.whole_table).l1


def key_part(frame: Frame, share: Share) -> Part:
    """Choose open keys by how many units share them; each of a unit's keys is chosen on its own.

    For a rho: keys cost epsilon tanh(epsilon / 2) <= epsilon^2 / 2 each.
    """
    times = frame.unit.groups if isinstance(frame.unit, Person) else 1
    epsilon = share.epsilon / times if share.epsilon is not None else root(2 * (share.rho or Fraction(0)) / times)
    return Part(KeyChoice(), Threshold(epsilon=epsilon, delta=share.delta / times), times)


def _ranked(statistic: Ranked, frame: Frame, share: Share, side: int) -> Part:
    weight, times = cell_norms(frame.unit, frame.groups, quantile=True)
    mechanism = Quantile(
        share=statistic.share,
        epsilon=share.contest(times),
        weight=weight,
        side=side,
        concentrated=share.epsilon is None,
        neighbours=frame.unit.neighbours,
    )
    mechanism.limits(statistic.cells.count)  # refused now rather than after payment
    return Part(statistic, mechanism, times)


def _scored(statistic: Scores, frame: Frame, share: Share) -> Part:
    """Candidates' sums: each moves by at most the largest norm; all the same way if no score, or every score, is negative."""
    sizes = [norms(measure, frame.unit, 1, whole_table=frame.whole_table) for measure in statistic.of]
    one_way = all(measure.low >= 0 for measure in statistic.of) or all(measure.high <= 0 for measure in statistic.of)
    bits = max(size.bits for size in sizes)
    moved = max(size.l1 << (bits - size.bits) for size in sizes)
    return Part(statistic, _selection(moved, share, 1, monotonic=one_way and not frame.exchanged), 1, bits)


def _selection(sensitivity: int, share: Share, times: int, *, monotonic: bool) -> Selection:
    law = PermuteAndFlip if share.epsilon is not None else Exponential
    return law(sensitivity=max(sensitivity, 1), epsilon=share.contest(times), monotonic=monotonic)


@dataclass(frozen=True)
class Spread:
    """The noise of one sum in real units: its law, its scale (Laplace) or standard deviation (Gaussian)."""

    law: Literal["laplace", "gaussian", "none"]
    scale: float
    mechanism: Laplace | Gaussian | None = None
    unit: float = 1.0

    @property
    def deviation(self) -> float:
        return math.sqrt(self.mechanism.variance) * self.unit if self.mechanism else 0.0

    def half(self, confidence: Number = 0.95) -> float:
        """The half-width of an interval."""
        return float(self.mechanism.error(confidence)) * self.unit if self.mechanism else 0.0


def spread_of(part: Part) -> Spread:
    """The noise that a part's mechanism adds, in real units."""
    worth = float(part.statistic.worth) if isinstance(part.statistic, Measure) else 1.0
    unit = worth / 2**part.bits
    if isinstance(part.mechanism, Laplace):
        return Spread("laplace", float(part.mechanism.scale) * unit, part.mechanism, unit)
    if isinstance(part.mechanism, Gaussian):
        return Spread("gaussian", part.mechanism.sigma * unit, part.mechanism, unit)
    return Spread("none", 0.0)


def outside(distance: Reals, one: Spread, other: Spread, factor: Reals) -> Reals:
    """P(|X + factor Y| > distance) for the noises X and Y of two sums."""
    a, b = np.full_like(distance, one.scale), np.abs(factor) * other.scale
    if one.law == "gaussian" or other.law == "gaussian":
        spread = np.sqrt(a**2 + b**2)
        tail: Reals = np.where(spread > 0, _erfc(distance / np.maximum(spread, 1e-300) / math.sqrt(2)), distance <= 0)
        return tail
    large, small = np.maximum(a, b), np.minimum(a, b)
    large = np.maximum(large, 1e-300)
    ratio = np.minimum(small / large, 1 - 1e-6)  # equal scales: the limit, to six digits
    with np.errstate(divide="ignore", under="ignore", over="ignore"):
        short = np.where(ratio > 0, ratio**2 * np.exp(-distance / np.maximum(large * ratio, 1e-300)), 0.0)
        both: Reals = (np.exp(-distance / large) - short) / (1 - ratio**2)
        return both


def _erfc(x: Reals) -> Reals:
    return np.array([math.erfc(v) for v in np.atleast_1d(x)]).reshape(np.shape(x))


def named(part: Part) -> str:
    """The mechanism of a part."""
    mechanism = part.mechanism
    if mechanism is None:
        return "public"
    if isinstance(mechanism, (Laplace, Gaussian)):
        return f"{type(mechanism).__name__} noise"
    if isinstance(mechanism, Threshold):
        return "private key selection"
    law = mechanism.selection if isinstance(mechanism, Quantile) else mechanism
    return "exponential mechanism" if isinstance(law, Exponential) else "permute-and-flip"


def described(part: Part) -> tuple[str, str]:
    """What a part is of, and how it is released."""
    mechanism, what = part.mechanism, str(part.statistic)
    if isinstance(mechanism, Laplace):
        return what, f"Laplace noise of scale {spread_of(part).scale:,.4g}"
    if isinstance(mechanism, Gaussian):
        return what, f"Gaussian noise of standard deviation {spread_of(part).scale:,.4g}"
    if isinstance(mechanism, Threshold):
        return what, f"shown when about {mechanism.cut:,} or more share them (delta {float(part.times * mechanism.delta):.2g})"
    if mechanism is None:
        return what, "public: it is the same for all neighbours"
    end = {-1: ", lower end", 1: ", upper end"}.get(part.side, "")
    law = mechanism.selection if isinstance(mechanism, Quantile) else mechanism
    return what + end, f"{named(part)}, epsilon {float(law.epsilon):.4g} for every group"
