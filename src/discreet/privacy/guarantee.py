"""A guarantee: an immutable value that knows its whole privacy-loss curve.

It carries its neighbour relation where that is stated (``neighbours=``, see ``discreet.privacy.neighbours``); a mechanism's
guarantee holds for the neighbours under which its sensitivity was computed. Guarantees add up (``a + b``) and repeat (``k * a``)
when their parameters are fixed in advance; for parameters chosen along the way use a filter (``discreet.privacy.filters``).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import not_negative, positive, probability, rational, up, whole
from discreet.privacy.losses import Box, Concentrated, Gaussian, Loss, Renyi
from discreet.privacy.losses.base import Parts, read_loss, title_of
from discreet.privacy.losses.batch import batch
from discreet.privacy.losses.parts import canonical, directions, disclosure, merge, supremum
from discreet.privacy.losses.sampled import sample
from discreet.privacy.neighbours import Neighbours, read_neighbours, share_neighbours

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from discreet.privacy.loss_variable import LossVariable

_MOST = 10**100
_DELTA = "a small chance such as 1e-6"
_NEAR = (0.0, 2.0**-20, 2.0**-14)  # above order 1, by which an error of rounding is divided: a larger order may bound better
_UNSAMPLED = {
    "replace": (
        "Sampling saves by the theorem for records that are added or removed, and this guarantee is for replaced ones; compute "
        'the sensitivity for neighbours="add-remove", and sample that guarantee.'
    ),
    "local": (
        "A local guarantee gains nothing from a sample: whoever reports is seen to report. Leave .sampled(...) out; hiding who "
        "reported what is shuffling, discreet.local.amplified(task, ...)."
    ),
}
_UNBATCHED = {
    "add-remove": (
        "A batch of fixed size is drawn from a public number of records, which one that is added or removed would change; "
        'compute the sensitivity for neighbours="replace", or draw a Poisson sample: .sampled(rate).'
    ),
    "local": "A local guarantee gains nothing from a batch: whoever reports is seen to report. Leave .batched(...) out.",
}


@called_as("")
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

    parts: Parts = ()
    neighbours: Neighbours | None = None  # None: unstated, those under which the sensitivities hold
    assumed: bool = False  # whether a part that stated no neighbours was taken to mean these
    uses: int = field(default=-1, compare=False)  # of mechanisms: Gaussians melt into one part, and still are several

    def __post_init__(self) -> None:
        if not _are_parts(self.parts) or not isinstance(self.assumed, bool) or not isinstance(self.uses, int):
            raise ParameterError(
                "A guarantee is made by its own function, and by + and *; write pure(1), zcdp(0.5) or 10 * gdp(1)."
            )
        object.__setattr__(self, "parts", canonical(tuple(self.parts)))
        stated = read_neighbours(self.neighbours) if self.parts else None  # what costs nothing holds for all neighbours
        object.__setattr__(self, "neighbours", stated)
        object.__setattr__(self, "assumed", bool(self.assumed and stated))
        object.__setattr__(self, "uses", max(self.uses, sum(count for _, count in self.parts)) if self.parts else 0)

    @classmethod
    def of(cls, loss: Loss, neighbours: Neighbours | None = None) -> Privacy:
        """The guarantee of one use of a mechanism with this loss."""
        return cls(((loss, 1),), neighbours)

    # Composition.

    def __add__(self, other: Privacy | int) -> Privacy:
        if isinstance(other, int) and other == 0:
            return self  # so that sum([...]) works
        if not isinstance(other, Privacy):
            return NotImplemented
        stated = share_neighbours(self.neighbours, other.neighbours)
        silent = any(one.parts and one.neighbours is None for one in (self, other))
        assumed = stated is not None and (self.assumed or other.assumed or silent)
        return self._made(merge(self.parts, other.parts), stated, self.uses + other.uses, assumed=assumed)

    @classmethod
    def _made(cls, parts: Parts, stated: Neighbours | None, uses: int, *, assumed: bool = False) -> Privacy:
        """The guarantee of parts that are canonical already: nothing is sorted again."""
        made = cls.__new__(cls)
        for name, value in (("parts", parts), ("neighbours", stated if parts else None), ("assumed", assumed), ("uses", uses)):
            object.__setattr__(made, name, value)
        return made

    __radd__ = __add__

    def __mul__(self, times: int) -> Privacy:
        count = whole("The number of repetitions", times, least=0)
        parts = tuple((loss, count * k) for loss, k in self.parts)
        return Privacy(parts, self.neighbours, self.assumed, count * self.uses)

    __rmul__ = __mul__

    def group(self, size: int) -> Privacy:
        """The guarantee when up to ``size`` records change together (a family, a person with several records)."""
        members = whole("The size of a group", size)
        if members == 1:
            return self
        return replace(self, parts=tuple((loss.group(members), count) for loss, count in self.parts))

    def under(self, neighbours: Neighbours) -> Privacy:
        """The guarantee for these neighbours, where it has one.

        What is unstated is told. A record that is replaced is one removed and one added, so add/remove guarantees hold for
        replaced records as those of a group of two. A local guarantee holds for a table to which every person gave one report,
        when one person's value is replaced.

        >>> pure(1).under("replace").neighbours, pure(1, neighbours="add-remove").under("replace").epsilon()
        ('replace', 2.0)
        """
        wanted = read_neighbours(neighbours)
        if wanted is None or self.neighbours == wanted:
            return self
        if self.neighbours is None:
            return self._made(self.parts, wanted, self.uses)
        if wanted != "replace":
            raise ParameterError(
                f'A guarantee for neighbours "{self.neighbours}" says nothing for neighbours "{wanted}"; '
                "compute the sensitivity for those, and state the mechanism's guarantee anew."
            )
        return replace(self.group(2) if self.neighbours == "add-remove" else self, neighbours=wanted)

    def sampled(self, rate: object) -> Privacy:
        """The guarantee on a Poisson sample: every record takes part with this probability. For add/remove neighbours.

        Exact for Gaussian and Laplace noise, valid for every other guarantee that has a pair; unstated neighbours are assumed
        to be add/remove. Sample each use, then compose: ``1000 * m.privacy.sampled(0.01)`` draws a fresh sample a thousand times.
        After ``group(k)`` all k records take part, or none; where each is drawn by itself at rate q, one at least takes part
        with probability 1 - (1 - q)^k, and ``group(k).sampled(1 - (1 - q)**k)`` holds (joint convexity).
        """
        share = rational("rate", rate, "a share such as 0.01")
        if not 0 <= share <= 1:
            raise ParameterError(f"A sampling rate must lie between 0 and 1, not {rate}; write a share such as 0.01.")
        if share == 0 or not self.parts:
            return Privacy()
        if share == 1:
            return self
        if self.uses != 1:
            raise ParameterError(
                "Sample each use before composing: write 1000 * m.privacy.sampled(0.01), not (1000 * m.privacy).sampled(0.01)."
            )
        if self.neighbours in ("replace", "local"):
            raise ParameterError(_UNSAMPLED[self.neighbours])
        return Privacy(((sample(self.parts[0][0], share), 1),), "add-remove", self.assumed or self.neighbours is None)

    def batched(self, size: int, of: int) -> Privacy:
        """The guarantee on a batch of fixed size, drawn without replacement from a public number of records that may be replaced.

        Batches of all uses are drawn afresh: ``1000 * m.privacy.batched(64, of=50_000)``. Unstated neighbours are assumed to be
        replaced ones. The theorem is in ``discreet.privacy.losses.batch``.

        >>> steps = 1000 * gdp(1).batched(100, of=10_000)
        >>> steps.neighbours, round(steps.epsilon(delta=1e-6), 1)
        ('replace', 2.5)
        """
        records = whole("of", of)
        if whole("size", size, least=0) > records:
            raise ParameterError(f"A batch of {size} cannot be drawn from {records} records; write .batched(64, of=50_000).")
        if size == 0 or not self.parts:
            return Privacy()
        if size == records:
            return self
        if self.uses != 1:
            raise ParameterError(
                "Draw a batch for each use before composing: write 1000 * m.privacy.batched(64, of=50_000), not "
                "(1000 * m.privacy).batched(64, of=50_000)."
            )
        if self.neighbours in ("add-remove", "local"):
            raise ParameterError(_UNBATCHED[self.neighbours])
        return Privacy(
            ((batch(self.parts[0][0], Fraction(size, records)), 1),), "replace", self.assumed or self.neighbours is None
        )

    # Numbers, rounded against ourselves.

    def epsilon(self, delta: object = 0) -> float:
        """The smallest epsilon known to hold with this delta (infinity where none does): an upper bound."""
        return self.epsilon_bounds(delta)[1]

    def delta(self, epsilon: object) -> float:
        """The smallest delta known to hold with this epsilon: an upper bound."""
        return self.delta_bounds(epsilon)[1]

    def epsilon_bounds(self, delta: object = 0) -> tuple[float, float]:
        """Certified lower and upper bounds on the smallest epsilon for this delta."""
        from discreet.privacy.accountant.composition import epsilon_bounds

        return epsilon_bounds(self.parts, probability("delta", delta, zero=True, hint=_DELTA))

    def delta_bounds(self, epsilon: object) -> tuple[float, float]:
        """Certified lower and upper bounds on the smallest delta for this epsilon: the hockey-stick E[(1 - e^(epsilon - L))+]."""
        from discreet.privacy.accountant.composition import delta_bounds

        return delta_bounds(self.parts, not_negative("epsilon", epsilon))

    def renyi(self, alpha: object) -> float:
        """The Renyi divergence of this order, from above."""
        from discreet.privacy.accountant.composition import log_moment_bound

        order = rational("alpha", alpha, "an order above 1, such as 2")
        if order <= 1:
            raise ParameterError(f"A Renyi order must be above 1, not {alpha}; write a number such as 2.")
        if not self.parts:
            return 0.0
        x, bounds = up(order - 1), [0.0]  # divergences grow with the order, up to the largest loss
        for parts in directions(self.parts):
            if disclosure(parts):
                return math.inf
            largest = supremum(parts)
            moments = [log_moment_bound(parts, y) / y * (1 + 2.0**-50) for y in {max(x, z) for z in _NEAR} if y < math.inf]
            bounds.append(min(moments if largest is None else [*moments, up(largest)], default=math.inf))
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
        from discreet.privacy.accountant.composition import tradeoff

        return tradeoff(self.parts, rate)

    # Looking at it.

    @property
    def loss(self) -> LossVariable:
        """The privacy loss as a random variable: support, atoms, density or mass, mean, variance, cdf."""
        from discreet.privacy.loss_variable import LossVariable

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
        relation = f", neighbours {self.neighbours}{' (assumed)' if self.assumed else ''}" if self.neighbours else ""
        return f"Privacy({title_of(self.parts)}{relation})"

    # Keeping it.

    def to_json(self) -> str:
        """A text that means the same guarantee for ever."""
        facts = {"discreet": "privacy", "version": 1, "parts": [{**loss.facts(), "count": k} for loss, k in self.parts]}
        if self.neighbours is not None or self.uses != sum(count for _, count in self.parts):  # more than version 1 can say
            facts |= {"version": 2, "neighbours": self.neighbours, "assumed": self.assumed, "uses": self.uses}
        return json.dumps(facts)

    @classmethod
    def from_json(cls, text: str) -> Privacy:
        """The guarantee that ``to_json`` wrote."""
        try:
            facts = json.loads(text)
            if facts["discreet"] != "privacy" or facts["version"] not in (1, 2):
                raise ParameterError("This is not a guarantee that this version of discreet can read; update discreet.")
            parts = tuple((read_loss(part), whole("count", part["count"])) for part in facts["parts"])
            if facts["version"] == 1:
                return cls(parts)
            if not isinstance(facts["assumed"], bool):
                raise ValueError
            return cls(parts, facts["neighbours"], facts["assumed"], whole("uses", facts["uses"], least=0))
        except (ArithmeticError, KeyError, TypeError, ValueError, AttributeError) as problem:
            if isinstance(problem, ParameterError):
                raise
            raise ParameterError("This text is not a guarantee; give what Privacy.to_json() wrote.") from None


def _size(name: str, value: object) -> Fraction:
    exact = positive(name, value)
    if exact > _MOST:
        raise ParameterError(f"{name} above 10^100 promises nothing to anybody; write a number such as 1.")
    return exact


@called_as("0.5")
def pure(epsilon: object, *, neighbours: Neighbours | None = None) -> Privacy:
    """Pure differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] (Dwork and Roth, definition 2.4)."""
    return Privacy.of(Box(_size("epsilon", epsilon)), neighbours)


@called_as("0.5, 1e-6")
def approximate(epsilon: object, delta: object, *, neighbours: Neighbours | None = None) -> Privacy:
    """Approximate differential privacy: P[M(D) in S] <= e^epsilon P[M(D') in S] + delta (Dwork and Roth, definition 2.4)."""
    return Privacy.of(Box(not_negative("epsilon", epsilon), probability("delta", delta, zero=True, hint=_DELTA)), neighbours)


@called_as("0.1")
def zcdp(rho: object, *, neighbours: Neighbours | None = None) -> Privacy:
    """Zero-concentrated privacy: Renyi divergence at most rho * alpha at every order alpha > 1 (Bun and Steinke 2016)."""
    return Privacy.of(Concentrated(_size("rho", rho)), neighbours)


@called_as("{2: 0.1, 8: 0.5}")
def renyi(divergences: dict[object, object], *, neighbours: Neighbours | None = None) -> Privacy:
    """Renyi differential privacy: the divergence of each order is at most the value given (Mironov 2017)."""
    if not isinstance(divergences, dict) or not divergences:
        raise ParameterError("renyi takes orders and values; write renyi({2: 0.1, 8: 0.5}).")
    facts = sorted(
        (rational("A Renyi order", order), positive("A Renyi divergence", value)) for order, value in divergences.items()
    )
    if facts[0][0] <= 1:
        raise ParameterError("A Renyi order must be above 1; write renyi({2: 0.1}).")
    return Privacy.of(Renyi(tuple(facts)), neighbours)


@called_as("0.5")
def gdp(mu: object, *, neighbours: Neighbours | None = None) -> Privacy:
    """Gaussian differential privacy: no easier to tell neighbours apart than N(0, 1) from N(mu, 1) (Dong, Roth, Su 2019)."""
    return Privacy.of(Gaussian(_size("mu", mu) ** 2), neighbours)


def _are_parts(given: object) -> bool:
    """Losses, and how often each is used."""
    if not isinstance(given, (tuple, list)):
        return False
    pairs = [(*part,) for part in given if isinstance(part, (tuple, list))]
    return len(pairs) == len(given) and all(len(p) == 2 and isinstance(p[0], Loss) and isinstance(p[1], int) for p in pairs)
