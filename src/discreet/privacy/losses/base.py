"""What every privacy loss can say about itself.

A *pair* (P, Q) is the worst a mechanism can do on neighbours, in one direction; its privacy loss is L = ln P/Q under P.
Everything that composition needs follows from the moments M(s) = E_P[e^(s L)] of the finite part of L:

    K(x) = ln M(x) for real x,   and   phi(t) = M(x + it) / M(x),

phi being the characteristic function of the loss under the law tilted by e^(x L). Mass at infinity (total disclosure) is kept
apart. Pairs compose: losses add, moments multiply (parameters fixed in advance; Zhu, Dong, Wang 2022 for dominating pairs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from discreet.arrays import Complex, Reals
from discreet.balls import arb

if TYPE_CHECKING:
    from discreet.privacy.losses.atoms import Atoms, Listed

__all__ = ["UNIT", "Loss"]

UNIT = 2.0**-53
"""Half a unit in the last place: the relative error of one rounding."""


class Loss(ABC):
    """The privacy loss of one mechanism over its worst pair of neighbours, in one direction. Immutable."""

    kind: ClassVar[str]

    @property
    def infinity(self) -> Fraction:
        """The probability of total disclosure, not below the truth."""
        return Fraction(0)

    @property
    @abstractmethod
    def pure(self) -> Fraction | None:
        """The largest finite loss, not below the truth; None where there is none."""

    @property
    def pure_below(self) -> Fraction | None:
        """The same, not above the truth: what a lower bound may say."""
        return self.pure

    @property
    @abstractmethod
    def rho(self) -> Fraction | None:
        """The zero-concentrated cost of the finite part, not below the truth; None where there is none."""

    @cached_property
    def order(self) -> str:
        """Where it stands in a composition; equal for losses that are counted together."""
        return repr(self)

    @cached_property
    def _number(self) -> float:
        """Its first parameter as a double, kept: compositions of hundreds of losses ask for it again and again."""
        return float(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    @abstractmethod
    def log_moment(self, x: float) -> float:
        """K(x), within 256 units of rounding of max(1, |K|); infinity where it diverges."""

    def cumulants(self, x: float) -> tuple[float, float, float]:
        """K(x), K'(x), K''(x): good enough to choose where to work, not to bound anything."""
        h = 1e-3 * x
        low, middle, high = (self.log_moment(y) for y in (x - h, x, x + h))
        return middle, (high - low) / (2 * h), (high - 2 * middle + low) / (h * h)

    @abstractmethod
    def characteristic(self, x: float, t: Reals) -> Complex:
        """phi(t) under the tilt x."""

    def rounding(self, x: float, t: float) -> float:
        """An absolute bound on the error of ``characteristic`` at t, a constant plus a multiple of t."""
        return (256 + 8 * t * self.reach(x)) * UNIT

    def listed(self, *, up: bool) -> Loss:  # noqa: ARG002 - most have a characteristic function themselves
        """A loss whose ``characteristic`` is right within ``rounding``, dominating this one (``up``) or dominated by it."""
        return self

    def pieces(self, *, up: bool) -> Listed | None:  # noqa: ARG002
        """A whole law that dominates or is dominated, as a list that can be sampled; None where it has no such form."""
        return None

    @property
    def lost(self) -> float:
        """P-mass that ``characteristic`` leaves out and upper bounds count as disclosure."""
        return 0.0

    @property
    def blur(self) -> float:
        """How far from its place ``characteristic`` may put a loss."""
        return 0.0

    @abstractmethod
    def reach(self, x: float) -> float:
        """How large the losses that matter under the tilt x are: the scale of the phases t L."""

    def work(self, x: float) -> int:  # noqa: ARG002 - closed forms cost next to nothing
        """How many terms one value of ``characteristic`` takes."""
        return 1

    def decay(self, x: float, t: float) -> float:  # noqa: ARG002 - the bound that always holds
        """A bound on |phi| at and beyond t."""
        return 1.0

    def hockey_stick(self, epsilon: Fraction) -> arb | None:  # noqa: ARG002 - most have no closed form
        """delta(epsilon) of one use in closed form, at the current precision."""
        return None

    @abstractmethod
    def mean_variance(self) -> tuple[float, float]:
        """Mean and variance of the finite part of the loss."""

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms | None:  # noqa: ARG002
        """A lattice law that dominates this one (``up``) or is dominated by it; None where it has no such form.

        Losses that live on a lattice return it whatever ``step``; others use a step that divides ``divisor``.
        """
        return None

    @property
    def exact(self) -> bool:
        """Whether ``lattice`` is the law itself, up to rounding."""
        return False

    @property
    def divisor(self) -> Fraction | None:
        """What the lattice's step must divide; None where the loss has no lattice."""
        return None

    @property
    def member(self) -> Loss:
        """A pair that some mechanism of the family attains: itself, unless it only bounds a family."""
        return self

    @property
    def reverse(self) -> Loss:
        """The pair of the opposite direction (a record removed instead of added)."""
        return self

    @abstractmethod
    def group(self, size: int) -> Loss:
        """The loss when ``size`` records change instead of one."""

    def facts(self) -> dict[str, str]:
        """The parameters that define it, for JSON."""
        return {field.name: str(getattr(self, field.name)) for field in fields(self)}  # type: ignore[arg-type]
