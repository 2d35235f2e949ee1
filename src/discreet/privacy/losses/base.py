"""What every privacy loss can say about itself.

A *pair* (P, Q) is the worst a mechanism can do on neighbours, in one direction; its privacy loss is L = ln P/Q under P.
Everything that composition needs follows from the moments M(s) = E_P[e^(s L)] of the finite part of L:

    K(x) = ln M(x) for real x,   and   phi(t) = M(x + it) / M(x),

phi being the characteristic function of the loss under the law tilted by e^(x L). Mass at infinity (total disclosure) is kept
apart. Pairs compose: losses add, moments multiply (parameters fixed in advance; Zhu, Dong, Wang 2022 for dominating pairs).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.arrays import Complex, Reals
from discreet.balls import arb, ball, precision, upper
from discreet.errors import ParameterError
from discreet.exact import read_fraction
from discreet.privacy.losses.law import Law

if TYPE_CHECKING:
    from discreet.privacy.losses.atoms import Atoms, Listed

Facts = dict[str, Any]

UNIT = 2.0**-53
"""Half a unit in the last place: the relative error of one rounding."""


class Loss(ABC):
    """The privacy loss of one mechanism over its worst pair of neighbours, in one direction. Immutable.

    A family is a frozen dataclass, and one line of ``register`` in this room's ``__init__``.
    """

    kind: ClassVar[str]  # its name in stored guarantees: never renamed or re-used

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
    def pure_mass(self) -> float:
        """P's mass where the loss is ``pure``, from below; 0 where it has none there, or none that is known."""
        return 0.0

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

    def increment(self, x: float, t: Reals) -> Complex:
        """phi(t) - 1 under the tilt x, as well known as phi, or better where it is small."""
        return self.characteristic(x, t) - 1

    def scatter(self, x: float) -> tuple[float, float] | None:  # noqa: ARG002 - most need no such bound
        """The variance of the tilted loss, from below, and how far apart its values lie, from above; None where not known."""
        return None

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

    # What it is called, how it is drawn, and how it is kept.

    @property
    def title(self) -> str:
        """What it is called in a title: its kind, and the parameter that matters."""
        return self.kind

    def distribution(self) -> Law:
        """The law of one use, for looking at."""
        raise ParameterError(f"A loss of kind {self.kind!r} has no law in closed form; ask .delta(epsilon) instead.")

    def facts(self) -> Facts:
        """Its kind and the parameters that define it, for JSON: ``read_loss`` makes the same loss of them."""
        return {"kind": self.kind, **{field.name: _write(getattr(self, field.name)) for field in fields(self)}}  # type: ignore[arg-type]

    @classmethod
    def from_facts(cls, facts: Facts) -> Loss:
        """The loss of this kind with these parameters, read by the types of its fields."""
        return cls(**{field.name: _READERS[str(field.type)](facts, field.name) for field in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Family(Loss):
    """A mechanism bounded by one pair, while a simpler case of it attains another."""

    name: str
    worst: Loss
    attained: Loss
    kind = "family"

    @property
    def title(self) -> str:
        return self.name

    def distribution(self) -> Law:
        return self.worst.distribution()

    @property
    def infinity(self) -> Fraction:
        return self.worst.infinity

    @property
    def pure(self) -> Fraction | None:
        return self.worst.pure

    @property
    def pure_below(self) -> Fraction | None:
        return self.attained.pure_below

    @property
    def pure_mass(self) -> float:
        return self.attained.pure_mass

    @property
    def rho(self) -> Fraction | None:
        return self.worst.rho

    @property
    def member(self) -> Loss:
        return self.attained.member

    @property
    def divisor(self) -> Fraction | None:
        return self.worst.divisor

    @property
    def reverse(self) -> Loss:
        return Family(self.name, self.worst.reverse, self.attained.reverse)

    def log_moment(self, x: float) -> float:
        return self.worst.log_moment(x)

    def characteristic(self, x: float, t: Reals) -> Complex:
        return self.worst.characteristic(x, t)

    def rounding(self, x: float, t: float) -> float:
        return self.worst.rounding(x, t)

    def reach(self, x: float) -> float:
        return self.worst.reach(x)

    def decay(self, x: float, t: float) -> float:
        return self.worst.decay(x, t)

    def hockey_stick(self, epsilon: Fraction) -> arb | None:
        return self.worst.hockey_stick(epsilon)

    def mean_variance(self) -> tuple[float, float]:
        return self.worst.mean_variance()

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms | None:
        return self.worst.lattice(step, up=up)

    def group(self, size: int) -> Family:
        """What one record attains, a group attains; of more nothing is known here."""
        return Family(self.name, self.worst.group(size), self.attained)


Parts = tuple[tuple[Loss, int], ...]
"""A composition: losses, and how often each is used."""


def title_of(parts: Parts) -> str:
    """A short name for a composition.

    >>> from discreet.privacy import gdp, pure
    >>> title_of((100 * pure(0.1) + gdp(1)).parts)
    'Gaussian μ = 1 + 100 × pure ε = 0.1'
    """
    if not parts:
        return "no cost"
    if len(parts) > _LONGEST:
        return f"{sum(count for _, count in parts):,} uses of {len(parts)} mechanisms"
    ordered = sorted(parts, key=lambda part: part[1])
    return " + ".join(f"{count:,} × {loss.title}" if count > 1 else loss.title for loss, count in ordered)


def tanh_rho(epsilon: Fraction) -> Fraction:
    """epsilon tanh(epsilon / 2), rounded up: the tight zero-concentrated cost of pure differential privacy. Never above epsilon
    itself, so that shares of a large one, each rounded, cost no more than the whole."""
    with precision(160):
        return min(Fraction(upper(ball(epsilon) * (ball(epsilon) / 2).tanh())), epsilon)


# Losses as plain facts, so that a stored guarantee keeps its meaning.


def register(*families: type[Loss]) -> None:
    """Let stored guarantees name these kinds of loss."""
    KINDS.update({family.kind: family for family in families})


def read_loss(facts: Facts) -> Loss:
    """The loss that these facts describe."""
    if facts["kind"] not in KINDS:
        raise ParameterError(f"This version of discreet knows no loss of kind {facts['kind']!r}; update discreet.")
    return KINDS[facts["kind"]].from_facts(facts)


def _write(value: object) -> object:
    if isinstance(value, Loss):
        return value.facts()
    return value if isinstance(value, bool) else str(value)


def _read_exact(facts: Facts, name: str) -> Fraction:
    value = read_fraction(str(facts[name]))
    if value < 0 or (name == "delta" and value > 1) or (name == "rate" and not 0 < value < 1):
        raise ParameterError(f"A stored guarantee has an impossible {name}; give what Privacy.to_json() wrote.")
    return value


KINDS: dict[str, type[Loss]] = {}
_READERS: dict[str, Callable[[Facts, str], object]] = {
    "Fraction": _read_exact,
    "int": lambda facts, name: int(facts[name]),
    "bool": lambda facts, name: bool(facts[name]),
    "str": lambda facts, name: str(facts[name]),
    "Loss": lambda facts, name: read_loss(facts[name]),
}
_LONGEST = 3  # parts that are named in a title
