"""A guarantee: an immutable value that knows its whole privacy-loss curve.

The neighbour relation is that of whoever states it: a mechanism's guarantee holds for the neighbours under which its
sensitivity was computed. Guarantees add up (``a + b``) and repeat (``k * a``) when their parameters are fixed in advance; for
parameters chosen along the way use a filter (``discreet.privacy.filters``).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational, shown, up, whole
from discreet.privacy import composition
from discreet.privacy.losses import Box, Concentrated, Gaussian, Loss, Renyi
from discreet.privacy.losses.sampled import sample
from discreet.privacy.reading import read_loss, write_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.variable import LossVariable

__all__ = ["Privacy", "approximate", "gdp", "pure", "renyi", "zcdp"]

_MOST = 10**100
_DELTA = "a small chance such as 1e-6"


@dataclass(frozen=True)
class Privacy:
    """What a release, or a whole batch of them, costs. Upper bounds are never below the truth.

    >>> batch = 100 * pure(0.1) + zcdp(0.2)
    >>> round(batch.epsilon(delta=1e-6), 2)
    6.23
    >>> low, high = (100 * pure(0.1)).epsilon_bounds(delta=1e-6)
    >>> low <= high < low * (1 + 1e-9)
    True
    """

    parts: composition.Parts = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", composition.canonical(tuple(self.parts)))

    @classmethod
    def of(cls, loss: Loss) -> Privacy:
        """The guarantee of one use of a mechanism with this loss."""
        return cls(((loss, 1),))

    @classmethod
    def _sorted(cls, parts: composition.Parts) -> Privacy:
        made = cls.__new__(cls)
        object.__setattr__(made, "parts", parts)
        return made

    # Composition.

    def __add__(self, other: Privacy | int) -> Privacy:
        if isinstance(other, Privacy):
            return Privacy._sorted(composition.merge(self.parts, other.parts))
        if isinstance(other, int) and other == 0:
            return self  # so that sum([...]) works
        return NotImplemented

    __radd__ = __add__

    def __mul__(self, times: int) -> Privacy:
        count = whole("The number of repetitions", times, least=0)
        return Privacy(tuple((loss, count * k) for loss, k in self.parts))

    __rmul__ = __mul__

    def group(self, size: int) -> Privacy:
        """The guarantee when up to ``size`` records change together (a family, a person with several records)."""
        members = whole("The size of a group", size)
        return self if members == 1 else Privacy(tuple((loss.group(members), count) for loss, count in self.parts))

    def sampled(self, rate: object) -> Privacy:
        """The guarantee on a Poisson sample: every record takes part with this probability. For add/remove neighbours only.

        Exact for Gaussian and Laplace noise, valid for every other guarantee that has a pair. Sample each use, then compose:
        ``1000 * m.privacy.sampled(0.01)`` draws a fresh sample a thousand times.
        """
        share = rational("rate", rate, "a share such as 0.01")
        if not 0 <= share <= 1:
            raise ParameterError(f"A sampling rate must lie between 0 and 1, not {rate}; write a share such as 0.01.")
        if share == 0:
            return Privacy()
        if share == 1:
            return self
        if len(self.parts) != 1 or self.parts[0][1] != 1:
            raise ParameterError(
                "Sample each use before composing: write 1000 * m.privacy.sampled(0.01), not (1000 * m.privacy).sampled(0.01)."
            )
        return Privacy.of(sample(self.parts[0][0], share))

    # Numbers, rounded against ourselves.

    def epsilon(self, delta: object = 0) -> float:
        """The smallest epsilon known to hold with this delta (infinity where none does): an upper bound."""
        return self.epsilon_bounds(delta)[1]

    def delta(self, epsilon: object) -> float:
        """The smallest delta known to hold with this epsilon: an upper bound."""
        return self.delta_bounds(epsilon)[1]

    def epsilon_bounds(self, delta: object = 0) -> tuple[float, float]:
        """Certified lower and upper bounds on the smallest epsilon for this delta."""
        return composition.epsilon_bounds(self.parts, probability("delta", delta, zero=True, hint=_DELTA))

    def delta_bounds(self, epsilon: object) -> tuple[float, float]:
        """Certified lower and upper bounds on the smallest delta for this epsilon: the hockey-stick E[(1 - e^(epsilon - L))+]."""
        return composition.delta_bounds(self.parts, _epsilon(epsilon))

    def renyi(self, alpha: object) -> float:
        """The Renyi divergence of this order, from above."""
        order = rational("alpha", alpha, "an order above 1, such as 2")
        if order <= 1:
            raise ParameterError(f"A Renyi order must be above 1, not {alpha}; write a number such as 2.")
        if composition.disclosure(self.parts):
            return math.inf
        if not self.parts:
            return 0.0
        x, bounds = up(order - 1), [0.0]  # divergences grow with the order, up to the largest loss
        for parts in composition.directions(self.parts):
            largest = composition.supremum(parts)
            moment = composition.log_moment_bound(parts, x) / x * (1 + 2.0**-50) if x < math.inf else math.inf
            bounds.append(moment if largest is None else min(moment, up(largest)))
        return max(bounds)

    @property
    def rho(self) -> float:
        """The zero-concentrated cost, from above (infinity where there is none)."""
        costs = [count * loss.rho if loss.rho is not None and not loss.infinity else None for loss, count in self.parts]
        return math.inf if None in costs else up(sum((cost for cost in costs if cost is not None), Fraction(0)))

    def tradeoff(self, fpr: object) -> float:
        """The least false-negative rate an attacker can have at this false-positive rate, from below.

        Every (epsilon, delta) on the curve forbids rates with fnr < 1 - delta - e^epsilon fpr and fnr < e^-epsilon (1 - delta
        - fpr) (Wasserman and Zhou 2010; Dong, Roth, Su 2019).
        """
        rate = rational("fpr", fpr, "a rate such as 0.01")
        if not 0 <= rate <= 1:
            raise ParameterError(f"A false-positive rate must lie between 0 and 1, not {fpr}; write a rate such as 0.01.")
        return composition.tradeoff(self.parts, float(rate))

    # Looking at it.

    @property
    def loss(self) -> LossVariable:
        """The privacy loss as a random variable: support, atoms, density or mass, mean, variance, cdf."""
        from discreet.privacy.variable import LossVariable

        return LossVariable(self.parts)

    def explain(self, *, delta: object = 1e-6, people: int | None = None) -> str:
        """What an attacker can gain, in plain words and numbers."""
        from discreet.privacy.explanation import explain

        return explain(self, delta=delta, people=people)

    def plot(self, kind: str = "delta", **options: object) -> Axes:
        """One picture: "delta" (the curve with its bracket), "loss" (the loss's law) or "tradeoff"."""
        from discreet.privacy import plots

        return plots.plot(self, kind, **options)

    def __repr__(self) -> str:
        from discreet.privacy.names import name_of

        return f"Privacy({name_of(self.parts)})"

    # Keeping it.

    def to_json(self) -> str:
        """A text that means the same guarantee for ever."""
        return json.dumps(
            {"discreet": "privacy", "version": 1, "parts": [{**write_loss(loss), "count": k} for loss, k in self.parts]}
        )

    @classmethod
    def from_json(cls, text: str) -> Privacy:
        """The guarantee that ``to_json`` wrote."""
        try:
            facts = json.loads(text)
            if facts["discreet"] != "privacy" or facts["version"] != 1:
                raise ParameterError("This is not a guarantee that this version of discreet can read; update discreet.")
            return cls(tuple((read_loss(part), whole("count", part["count"])) for part in facts["parts"]))
        except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, ParameterError):
                raise
            raise ParameterError("This text is not a guarantee; give what Privacy.to_json() wrote.") from None


def _epsilon(epsilon: object) -> Fraction:
    exact = rational("epsilon", epsilon)
    if exact < 0:
        raise ParameterError(f"epsilon must be at least 0, not {shown(epsilon)}; write a number such as 1.")
    return exact


def _size(name: str, value: object) -> Fraction:
    exact = positive(name, value)
    if exact > _MOST:
        raise ParameterError(f"{name} above 10^100 promises nothing to anybody; write a number such as 1.")
    return exact


def pure(epsilon: object) -> Privacy:
    """Pure differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] (Dwork and Roth, definition 2.4)."""
    return Privacy.of(Box(_size("epsilon", epsilon)))


def approximate(epsilon: object, delta: object) -> Privacy:
    """Approximate differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] + delta (Dwork and Roth, definition 2.4)."""
    return Privacy.of(Box(_epsilon(epsilon), probability("delta", delta, zero=True, hint=_DELTA)))


def zcdp(rho: object) -> Privacy:
    """Zero-concentrated privacy: Renyi divergence at most rho * alpha at every order alpha > 1 (Bun and Steinke 2016)."""
    return Privacy.of(Concentrated(_size("rho", rho)))


def renyi(divergences: dict[object, object]) -> Privacy:
    """Renyi differential privacy: the divergence of each order is at most the value given (Mironov 2017)."""
    if not isinstance(divergences, dict) or not divergences:
        raise ParameterError("renyi takes orders and values; write renyi({2: 0.1, 8: 0.5}).")
    facts = sorted(
        (rational("A Renyi order", order), positive("A Renyi divergence", value)) for order, value in divergences.items()
    )
    if facts[0][0] <= 1:
        raise ParameterError("A Renyi order must be above 1; write renyi({2: 0.1}).")
    return Privacy.of(Renyi(tuple(facts)))


def gdp(mu: object) -> Privacy:
    """Gaussian differential privacy: no easier to tell neighbours apart than N(0, 1) from N(mu, 1) (Dong, Roth, Su 2019)."""
    return Privacy.of(Gaussian(_size("mu", mu) ** 2))
