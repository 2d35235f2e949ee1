"""Releases: every statistic with the mechanism that lets it out, calibrated to its share of the cost.

An aggregate says what it *needs*: a statistic and the kind of mechanism for it. What two outputs need alike is one need, paid
once. A need within a share of the cost becomes releases:

* ``Additive``: Laplace noise under pure budgets, Gaussian noise under all others, where it costs less. A pair that stands for
  two numbers has their shares.
* ``Largest``: the largest of some counts or sums, by permute-and-flip or the exponential mechanism, for the same reason.
* ``Ranked``: a quantile is three selections, half of its share for the value, and a quarter for each end of its interval; or one,
  for the whole share, where no interval is asked for.
* ``Strategic``: the cells of a histogram, measured by linear questions that are chosen for the share.
* ``OpenKeys``: keys that enough units share.

How noise spreads (``Spread``) is arithmetic on public facts after the release: it decides no privacy, so plain
doubles serve.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Number, Reals
from discreet.errors import ParameterError
from discreet.exact import nearest, root
from discreet.mechanisms import Exponential, Gaussian, Laplace, Linear, PermuteAndFlip, Threshold
from discreet.mechanisms.matrix.strategy import Contribution
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.secret import Secret
from discreet.mechanisms.selection import Selection
from discreet.plan.cost import Cost
from discreet.plan.measures import Frame
from discreet.plan.statistics import MOST_WORK, Histogram, KeyCounts, Margin, Persons, Statistic, Sums
from discreet.privacy import Privacy
from discreet.schema.units import Person, Unit

Mechanism = Laplace | Gaussian | Linear | Selection | Quantile | Threshold

_LARGEST = 2**1000  # whole numbers up to this are doubles
_WIDEST = 2.0**400  # units of noise: its square, and squares of what it is multiplied by, are doubles
_FARTHEST = 1e290


@dataclass(frozen=True)
class Spread:
    """The noise of one sum in real units: its law, its scale (Laplace) or standard deviation (Gaussian). Without a mechanism it
    is of the real-valued law."""

    law: Literal["laplace", "gaussian", "none"]
    scale: float
    mechanism: Laplace | Gaussian | None = None
    unit: float = 1.0

    @cached_property
    def deviation(self) -> float:
        if self.mechanism is None:
            return {"laplace": math.sqrt(2) * self.scale, "gaussian": self.scale, "none": 0.0}[self.law]
        return math.sqrt(self.mechanism.variance) * self.unit

    def half(self, confidence: Number = 0.95) -> float:
        """The half-width of an interval."""
        if self.mechanism is not None:
            return float(self.mechanism.error(confidence)) * self.unit
        miss = 1 - float(confidence)
        law = {"laplace": math.log(1 / miss), "gaussian": NormalDist().inv_cdf(1 - miss / 2), "none": 0.0}
        return law[self.law] * self.scale

    @cached_property
    def _hash(self) -> int:
        return hash((self.law, self.scale, self.mechanism, self.unit))

    def __hash__(self) -> int:  # once: of fractions it takes long
        return self._hash


@dataclass(frozen=True)
class Release:
    """One statistic and the mechanism that lets it out; no mechanism: what it releases is public."""

    statistic: Statistic
    mechanism: Mechanism | None
    times: int = 1  # contests in which one unit takes part
    bits: int = 0  # the statistic is counted in 2**-bits units
    label: str = ""  # what it is of, in words

    @cached_property
    def privacy(self) -> Privacy | None:
        return None if self.mechanism is None else self.times * self.mechanism.privacy

    @property
    def worth(self) -> Fraction:
        """What one of the units that are counted is worth."""
        return self.statistic.worth / (1 << self.bits)

    @cached_property
    def spread(self) -> Spread:
        """The noise that the mechanism adds, in real units."""
        unit = float(self.statistic.worth) / 2**self.bits
        noise = self.mechanism.noise if isinstance(self.mechanism, Linear) else self.mechanism
        if isinstance(noise, Laplace):
            return Spread("laplace", float(noise.scale) * unit, noise, unit)
        if isinstance(noise, Gaussian):
            return Spread("gaussian", noise.sigma * unit, noise, unit)
        return Spread("none", 0.0)

    def check(self) -> None:
        """Refuse noise so large that no interval could be computed of it, before it is paid for."""
        if self.spread.scale > _WIDEST * self.spread.unit:
            raise ParameterError("So small a cost buys noise of more than 10^120 units, which says nothing; write a larger one.")
        if self.spread.scale > _FARTHEST:
            raise ParameterError(f"The noise of {self.label} would be beyond all doubles; write its columns in larger units.")

    def let_out(self, secret: Secret[Any] | None, groups: int, unit: Unit) -> NDArray[np.generic]:
        """What leaves, for every group: the counted statistic through its mechanism, or a public number; nothing where no group
        was chosen, and so nothing counted."""
        if self.mechanism is None:
            assert isinstance(self.statistic, Sums | Margin)
            size = self.statistic.count if isinstance(self.statistic, Margin) else groups
            return np.full(size, self.statistic.public(unit), dtype=object)
        if secret is None:
            return np.zeros(0, dtype=np.int64)
        if isinstance(self.mechanism, Threshold):
            raise AssertionError("keys are selected before there are groups")
        if not isinstance(self.mechanism, Selection):
            return np.asarray(self.mechanism.release(secret))
        if self.statistic.tabular:
            return self.mechanism.release_each(secret)
        return np.array([self.mechanism.release(secret)])  # type: ignore[arg-type]

    @property
    def how(self) -> str:
        """The mechanism, in words."""
        return "public" if self.mechanism is None else self.mechanism.label

    @property
    def description(self) -> tuple[str, str]:
        """What is released, and how, in words."""
        if self.mechanism is None:
            return self.label, "public: it is the same for all neighbours"
        return self.label, self.mechanism.describe(unit=float(self.statistic.worth) / 2**self.bits, times=self.times)


@dataclass(frozen=True, eq=False)
class Released:
    """What came out of one release: whole units for every group."""

    release: Release
    units: NDArray[np.generic]

    @property
    def real(self) -> Reals:
        """Whole units as real numbers."""
        worth = self.release.worth
        if self.units.dtype == object:
            return np.array([nearest(int(x) * worth) for x in self.units.ravel()], dtype=np.float64).reshape(self.units.shape)
        if max(worth.numerator, worth.denominator) > _LARGEST:
            return self.units.astype(np.float64) * float(worth)
        reals: Reals = self.units.astype(np.float64) * worth.numerator / worth.denominator
        return reals


class Need(ABC):
    """A statistic that is to be released by some kind of mechanism, not yet calibrated."""

    @abstractmethod
    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        """Release it within a share of the cost."""

    def public(self, frame: Frame) -> bool:  # noqa: ARG002 - most never are
        """Whether it is the same for all neighbours, and so free."""
        return False

    @property
    def shares(self) -> Fraction:
        """How many even shares of a question's cost it has."""
        return Fraction(1)


@dataclass(frozen=True)
class Additive(Need):
    """Noise on every number of a statistic."""

    statistic: Sums | Margin | Persons | Histogram
    worth: Fraction = Fraction(1)  # shares: more than one for what stands for several statistics
    label: str = ""  # where other words than the statistic's own are better

    @property
    def shares(self) -> Fraction:
        return self.worth

    def public(self, frame: Frame) -> bool:
        return not self.statistic.norms(frame).l1

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        if isinstance(self.statistic, Histogram) and (frame.groups is None or frame.groups * self.statistic.count > MOST_WORK):
            raise ParameterError(
                f"{self.statistic} are released for listed groups, at most {MOST_WORK:,} numbers in all; list the keys, or ask "
                "for less at a time."
            )
        size, label = self.statistic.norms(frame), self.label or str(self.statistic)
        if size.l1 == 0:
            return (Release(self.statistic, None, label=label),)
        if share.epsilon is not None:
            return (Release(self.statistic, Laplace(sensitivity=size.l1, epsilon=share.epsilon), 1, size.bits, label),)
        return (Release(self.statistic, Gaussian(sensitivity=size.l2, rho=share.rho), 1, size.bits + size.finer, label),)


@dataclass(frozen=True)
class Strategic(Need):
    """The cells of a histogram of the whole table, measured by linear questions: ``choose`` says by which, for what one unit adds
    to the cells and a share of the cost.

    A row is in one cell. A person's rows weigh r together (``Histogram``), all of it in one cell at worst.
    """

    statistic: Histogram
    label: str
    choose: Callable[[Contribution, Cost], Linear]

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        if frame.groups != 1:
            raise ParameterError("Linear questions are measured of the whole table; leave GROUP BY out.")
        bits = self.statistic.bits(frame.unit)
        weight = frame.unit.rows << bits if isinstance(frame.unit, Person) else 1
        measured = self.choose(Contribution(weight, 1, frame.unit.neighbours), share)
        return (Release(self.statistic, measured, 1, bits, self.label),)


@dataclass(frozen=True)
class Largest(Need):
    """The place of the largest number of a statistic, in every group."""

    statistic: Sums | Histogram
    label: str

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        contest = self.statistic.contest(frame)
        law = PermuteAndFlip if share.epsilon is not None else Exponential
        epsilon = share.contest(contest.times)
        mechanism = law(sensitivity=max(contest.sensitivity, 1), epsilon=epsilon, monotonic=contest.monotonic)
        return (Release(self.statistic, mechanism, contest.times, contest.bits, self.label),)


@dataclass(frozen=True)
class Ranked(Need):
    """The cell of every group's histogram below which a share of the rows lies, and then the ends of its interval, if it is to
    have one."""

    statistic: Histogram
    share: Fraction
    interval: bool = True

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        label = f"quantile({self.statistic.axes[0].of}, {float(self.share):g})"
        if not self.interval:
            return (self._release(frame, share, 0, label),)
        sides = ((0, Fraction(1, 2), ""), (-1, Fraction(1, 4), ", lower end"), (1, Fraction(1, 4), ", upper end"))
        return tuple(self._release(frame, share.part(portion), side, label + end) for side, portion, end in sides)

    def _release(self, frame: Frame, share: Cost, side: int, label: str) -> Release:
        contest = self.statistic.contest(frame, ranks=True)
        mechanism = Quantile(
            share=self.share,
            epsilon=share.contest(contest.times),
            weight=contest.sensitivity,
            side=side,
            concentrated=share.epsilon is None,
            neighbours=frame.unit.neighbours,
        )
        mechanism.limits(self.statistic.count)  # refused now rather than after payment
        return Release(self.statistic, mechanism, contest.times, contest.bits, label)


@dataclass(frozen=True)
class OpenKeys(Need):
    """The private choice of open keys by how many units share them; each of a unit's keys is chosen on its own.

    For a rho: keys cost epsilon tanh(epsilon / 2) <= epsilon^2 / 2 each.
    """

    def releases(self, frame: Frame, share: Cost) -> tuple[Release, ...]:
        if frame.exchanged:
            raise ParameterError('Open keys are chosen for neighbours "add-remove"; list the keys, or choose those neighbours.')
        if not share.delta:
            raise ParameterError(
                "The values of these keys are not public, and choosing which to show costs a delta, which this budget has not; "
                "declare a category, list the keys (WHERE key IN (...)), or open a Budget(epsilon=..., delta=...)."
            )
        times = frame.most
        epsilon = share.amount / times if share.currency == "epsilon" else root(2 * share.amount / times)
        return (Release(KeyCounts(), Threshold(epsilon=epsilon, delta=share.delta / times), times, label=str(KeyCounts())),)
