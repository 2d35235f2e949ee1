"""Privacy filters: budgets that hold when the next question, and its price, depend on the answers so far.

**Theorem.** Let mechanisms run one after the other, each to its end, each chosen (with its privacy parameters) from what the
earlier ones answered, and let the interaction stop before the sum of prices would pass a total fixed at the start. Then the
whole interaction satisfies the total, for the neighbours under which every single guarantee holds (guarantees that state
different ones are refused; see ``discreet.privacy.neighbours``):

* pure epsilons, or pairs (epsilon, delta), added up: (epsilon, delta)-DP (Rogers, Roth, Ullman, Vadhan 2016);
* delta-approximate rho-zCDP, rhos and deltas added up (Whitehouse, Ramdas, Rogers, Wu 2023);
* Renyi divergences of one order, added up (Feldman and Zrnic 2021); with several orders each must stay within its own cap, so
  each is such a filter. Picking the best order at the end is not proved, and not offered;
* Gaussian differential privacy, mu^2 added up (Smith and Thakurta 2022; Koskela, Tobaben, Honkela 2023).

Composing whole loss curves and stopping at a target is none of these, and wrong. A batch that is planned in advance may be
priced by its curve and spent as one entry: ``approximate(Fraction(batch.epsilon(1e-7)), 1e-7)``.

What is spent is book-keeping, not a guarantee at a moment of your choosing (an odometer); only for sums of pure epsilons does
the running total bound the loss of every transcript. A refusal follows from prices alone: it tells nothing about the data.

**Prices**: what one use of a mechanism costs in the currencies of the filters, whether neighbours differ by one record more or
one less.

* (epsilon, delta): the largest finite loss and the probability of total disclosure. On a Poisson sample of rate q the pair
  (ln(1 + q (e^epsilon - 1)), q delta) holds in both directions (Balle, Barthe, Gaboardi 2018, theorem 8).
* (rho, delta): the law's own zero-concentrated cost, or e tanh(e/2) of anything (e, delta)-DP (Kairouz, Oh, Viswanath 2015: with
  probability delta a leak, else a post-processed randomized response), whichever is less.
* D_order: exact for Gaussian noise, zCDP and Renyi facts; else the moments from above, order * rho, or epsilon, whichever is
  least. Total disclosure has no finite divergence.

Prices are exact where they are rational and rounded up where they are not. They add up, since each holds given the past.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar, Self

from discreet.calls import called_as
from discreet.errors import BudgetExceeded, ParameterError
from discreet.exact import positive, probability, rational, root_up, up
from discreet.privacy.guarantee import Privacy
from discreet.privacy.losses import Box, Concentrated, Gaussian, Leak, Loss, Renyi, SampledLattice
from discreet.privacy.losses.base import tanh_rho
from discreet.privacy.neighbours import Neighbours, read_neighbours, share_neighbours

__all__ = ["ApproximateFilter", "ConcentratedFilter", "Filter", "GaussianFilter", "PureFilter", "RenyiFilter"]

Price = tuple[Fraction, ...] | None
_BITS = 2048  # a sum whose denominator outgrows this is rounded up, so that spending never gets slower


@lru_cache(maxsize=1024)
def as_approximate(loss: Loss) -> Price:
    """(epsilon, delta), or None."""
    sides = [loss, loss.reverse]
    if isinstance(loss, SampledLattice):  # adding is covered by what removing costs
        sides = [loss.reverse if loss.adding else loss]
    largest = [side.pure for side in sides if side.pure is not None]
    return (max(largest), max(side.infinity for side in sides)) if len(largest) == len(sides) else None


@lru_cache(maxsize=1024)
def as_concentrated(loss: Loss) -> Price:
    """(rho, delta), or None."""
    own, other, pair = loss.rho, loss.reverse.rho, as_approximate(loss)
    costs = [(tanh_rho(pair[0]), pair[1])] if pair else []
    if own is not None and other is not None and not _leaks(loss):
        costs.append((max(own, other), Fraction(0)))
    return min(costs) if costs else None


@lru_cache(maxsize=1024)
def as_divergence(loss: Loss, order: Fraction) -> Fraction | None:
    """D_order, or None where it is not known to be finite."""
    if _leaks(loss):
        return None
    if isinstance(loss, Renyi):
        return _chord(loss, order)
    cost, pair = as_concentrated(loss), as_approximate(loss)
    bounds = [order * cost[0]] if cost else []
    bounds += [pair[0]] if pair else []
    if not isinstance(loss, (Gaussian, Concentrated)):
        from discreet.privacy.accountant.tails import log_moment_bound

        x = up(order - 1)  # divergences grow with the order
        moment = max(log_moment_bound(((side, 1),), x) for side in (loss, loss.reverse))
        bounds += [max(Fraction(0), Fraction(moment)) / Fraction(x)] if math.isfinite(moment) else []
    return min(bounds) if bounds else None


def add_prices(privacy: Privacy, price: Callable[[Loss], Price]) -> tuple[Fraction, Fraction] | None:
    """What a guarantee costs in a pair of currencies; None where it has no price."""
    costs = [(price(loss), count) for loss, count in privacy.parts]
    if any(cost is None for cost, _ in costs):
        return None
    first, second = (sum((cost[i] * count for cost, count in costs if cost), Fraction(0)) for i in (0, 1))
    return first, second


def _leaks(loss: Loss) -> bool:
    return bool(loss.infinity or loss.reverse.infinity)


def _chord(loss: Renyi, order: Fraction) -> Fraction | None:
    """K(x) = x D_(1+x) is convex and K(0) = 0: between known orders it lies below the chord, beyond the last nothing is known."""
    x = order - 1
    knots = [(Fraction(0), Fraction(0)), *((known - 1, (known - 1) * value) for known, value in loss.divergences)]
    for (left, low), (right, high) in pairwise(knots):
        if left < x <= right:
            return (low + (high - low) * (x - left) / (right - left)) / x
    return None


def _add(spent: Fraction, price: Fraction) -> Fraction:
    """Their sum: exact, until it would be too long to keep adding to."""
    amount = spent + price
    return amount if amount.denominator.bit_length() <= _BITS else Fraction(math.ceil(amount * 2**_BITS), 2**_BITS)


Amounts = dict[str, Fraction]
_HINT = "a small chance such as 1e-6"


@dataclass(frozen=True, init=False, repr=False)
class Filter(ABC):
    """A total fixed at the start and what is spent of it, exact and by currency. Spending gives a new filter."""

    kind: ClassVar[str]
    takes: ClassVar[str]  # what it adds up, or what to write for anything else
    worst: ClassVar[type[Box | Gaussian]] = Box  # the loss that the totals describe
    _sums: tuple[tuple[str, Fraction, Fraction], ...]  # currency, total, spent
    neighbours: Neighbours | None = None  # of all that is spent; None while nothing stated any
    assumed: bool = False  # whether something spent, that stated none, was taken to mean these

    def _open(self, total: Amounts) -> None:
        object.__setattr__(self, "_sums", tuple((name, cap, Fraction(0)) for name, cap in total.items()))

    @abstractmethod
    def _price(self, loss: Loss) -> Price:
        """One use of a mechanism, rounded up; None where it has no price in these currencies."""

    @property
    def guarantee(self) -> Privacy:
        """What the whole adaptive interaction satisfies, whatever was asked and whenever the asking stopped."""
        return self._state_neighbours(Privacy.of(self.worst(*self.total.values())))

    def _state_neighbours(self, privacy: Privacy) -> Privacy:
        return replace(privacy, neighbours=self.neighbours, assumed=self.assumed)

    @property
    def total(self) -> Amounts:
        """What there was at the start."""
        return {name: cap for name, cap, _ in self._sums}

    @property
    def spent(self) -> Amounts:
        """What is spent so far: book-keeping, not a guarantee of its own (sums of pure epsilons excepted)."""
        return {name: spent for name, _, spent in self._sums}

    @property
    def left(self) -> Amounts:
        """What may still be spent."""
        return {name: cap - spent for name, cap, spent in self._sums}

    def fits(self, privacy: Privacy) -> bool:
        """Whether ``spend`` would accept this guarantee."""
        try:
            return bool(self.spend(privacy))
        except (BudgetExceeded, ParameterError):
            if isinstance(privacy, Privacy):
                return False
            raise

    def spend(self, privacy: Privacy) -> Self:
        """The filter after this guarantee is paid for; refused, with nothing spent, where that would pass the total."""
        asked = self._price_all(privacy)
        stated = share_neighbours(self.neighbours, privacy.neighbours)
        after = tuple((name, cap, _add(spent, asked[name])) for name, cap, spent in self._sums)
        if any(spent > cap for _, cap, spent in after):
            raise BudgetExceeded(self.spent, asked, self.left)
        silent = [bool(privacy.parts) and privacy.neighbours is None, any(self.spent.values()) and self.neighbours is None]
        return self._after(after, stated, stated is not None and (self.assumed or privacy.assumed or any(silent)))

    def _after(self, sums: tuple[tuple[str, Fraction, Fraction], ...], stated: Neighbours | None, assumed: bool) -> Self:
        new = copy(self)
        for name, value in {"_sums": sums, "neighbours": stated, "assumed": assumed}.items():
            object.__setattr__(new, name, value)
        return new

    def _price_all(self, privacy: Privacy) -> Amounts:
        if not isinstance(privacy, Privacy):
            raise ParameterError(f"A filter spends guarantees, not {type(privacy).__name__}; write filter.spend(m.privacy).")
        asked = dict.fromkeys(self.total, Fraction(0))
        for loss, count in privacy.parts:
            price = self._price(loss)
            if price is None:
                raise ParameterError(f"A guarantee of kind {loss.kind!r} has no price here: {self.takes}.")
            asked = {name: amount + count * one for (name, amount), one in zip(asked.items(), price, strict=True)}
        return asked

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{spent} of {cap} {name} spent' for name, cap, spent in self._sums)})"

    def to_json(self) -> str:
        """A text that means the same filter for ever."""
        total, spent = ({name: str(amount) for name, amount in facts.items()} for facts in (self.total, self.spent))
        facts = {"discreet": "filter", "version": 1, "kind": self.kind, "total": total, "spent": spent}
        if self.neighbours is not None:  # without a relation the first version says all
            facts |= {"version": 2, "neighbours": self.neighbours, "assumed": self.assumed}
        return json.dumps(facts)

    @staticmethod
    def from_json(text: str) -> Filter:
        """The filter that ``to_json`` wrote, of whichever kind."""
        try:
            facts = json.loads(text)
            known = facts["discreet"] == "filter" and facts["version"] in (1, 2) and facts["kind"] in _KINDS
            stated, assumed = (read_neighbours(facts["neighbours"]), facts["assumed"]) if facts["version"] == 2 else (None, False)
            total, spent = ({name: Fraction(amount) for name, amount in facts[part].items()} for part in ("total", "spent"))
            new = _KINDS[facts["kind"]]._again(total)
            known = known and isinstance(assumed, bool) and (stated is not None) == (facts["version"] == 2)
            if not known or new.total != total or not all(0 <= spent[name] <= total[name] for name in total | spent):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
            raise ParameterError("This text is no filter known here; give what to_json() wrote, or update discreet.") from None
        return new._after(tuple((name, total[name], spent[name]) for name in total), stated, assumed)

    @classmethod
    def _again(cls, total: Amounts) -> Self:
        return cls(**total)


@called_as("epsilon=1")
class PureFilter(Filter):
    """Pure epsilons, added up.

    >>> from discreet.privacy import pure
    >>> budget = PureFilter(epsilon=1).spend(3 * pure(0.3))
    >>> budget.left, budget.fits(pure(0.1)), budget.fits(pure(0.2))
    ({'epsilon': Fraction(1, 10)}, True, False)
    """

    kind, takes = "pure", "a PureFilter adds up pure epsilons; for what has none open a ConcentratedFilter"

    def __init__(self, *, epsilon: object) -> None:
        self._open({"epsilon": positive("epsilon", epsilon)})

    def _price(self, loss: Loss) -> Price:
        cost = as_approximate(loss)
        return cost[:1] if cost and not cost[1] else None


@called_as("epsilon=1, delta=1e-6")
class ApproximateFilter(Filter):
    """Epsilons and deltas, each added up; a curve is stated as such a pair first: ``approximate(Fraction(p.epsilon(d)), d)``."""

    kind, takes = "approximate", "state it as an epsilon and a delta first, approximate(Fraction(p.epsilon(1e-7)), 1e-7)"

    def __init__(self, *, epsilon: object, delta: object) -> None:
        self._open({"epsilon": positive("epsilon", epsilon), "delta": probability("delta", delta, zero=True, hint=_HINT)})

    def _price(self, loss: Loss) -> Price:
        return as_approximate(loss)


@called_as("rho=0.5")
class ConcentratedFilter(Filter):
    """Zero-concentrated costs (Gaussian noise mu^2/2, exponential mechanism epsilon^2/8 ...) and leaks, each added up.

    >>> from discreet.privacy import approximate, gdp
    >>> ConcentratedFilter(rho=0.5, delta=1e-6).spend(gdp(1)).left
    {'rho': Fraction(0, 1), 'delta': Fraction(1, 1000000)}
    """

    kind, takes = "concentrated", "a ConcentratedFilter adds up zero-concentrated costs; state the mechanism's own guarantee"

    def __init__(self, *, rho: object, delta: object = 0) -> None:
        self._open({"rho": positive("rho", rho), "delta": probability("delta", delta, zero=True, hint=_HINT)})

    def _price(self, loss: Loss) -> Price:
        return as_concentrated(loss)

    @property
    def guarantee(self) -> Privacy:
        """With probability delta anything, else rho-zCDP. With a delta, groups are refused: spend ``p.group(k)`` instead."""
        rho, delta = self.total.values()
        return self._state_neighbours(Privacy(((Concentrated(rho), 1), (Leak(Fraction(0), delta), int(delta > 0)))))


@called_as("{2: 0.1, 8: 0.5}")
class RenyiFilter(Filter):
    """Renyi divergences, added up at orders fixed at the start; all must stay within their caps.

    >>> from discreet.privacy import gdp
    >>> RenyiFilter({2: 1, 16: 6}).spend(gdp(0.5)).left
    {'order 2': Fraction(3, 4), 'order 16': Fraction(4, 1)}
    """

    kind, takes = "renyi", "a RenyiFilter adds up Renyi divergences, finite at all its orders; open it with orders that are known"

    def __init__(self, caps: Mapping[object, object]) -> None:
        if not isinstance(caps, Mapping) or not caps:
            raise ParameterError("A RenyiFilter takes orders and their caps; write RenyiFilter({2: 0.5, 16: 4}).")
        exact = {rational("A Renyi order", order, "an order above 1"): positive("A cap", cap) for order, cap in caps.items()}
        if min(exact) <= 1 or len(exact) < len(caps):
            raise ParameterError("Renyi orders must be above 1 and all different; write RenyiFilter({2: 0.5, 16: 4}).")
        self._open({f"order {order}": exact[order] for order in sorted(exact)})

    @classmethod
    def _again(cls, total: Amounts) -> Self:
        return cls({Fraction(name.removeprefix("order ")): cap for name, cap in total.items()})

    @property
    def _orders(self) -> list[Fraction]:
        return [Fraction(name.removeprefix("order ")) for name in self.total]

    def _price(self, loss: Loss) -> Price:
        costs = [as_divergence(loss, order) for order in self._orders]
        return None if None in costs else tuple(cost for cost in costs if cost is not None)

    @property
    def guarantee(self) -> Privacy:
        return self._state_neighbours(Privacy.of(Renyi(tuple(zip(self._orders, self.total.values(), strict=True)))))


@called_as("mu=1")
class GaussianFilter(Filter):
    """mu^2 of Gaussian noise, added up. Refused, having no mu or no proof: zCDP, Renyi, pure, approximate, discrete, sampled.

    >>> from discreet.privacy import gdp
    >>> GaussianFilter(mu=1).spend(2 * gdp(0.5)).left
    {'mu^2': Fraction(1, 2)}
    """

    kind, takes = "gaussian", "a GaussianFilter takes Gaussian noise only, not discrete or sampled; open a ConcentratedFilter"
    worst = Gaussian

    def __init__(self, *, mu: object) -> None:
        self._open({"mu^2": positive("mu", mu) ** 2})

    @classmethod
    def _again(cls, total: Amounts) -> Self:
        return cls(mu=root_up(total["mu^2"]))

    def _price(self, loss: Loss) -> Price:
        return (loss.squared_mu,) if isinstance(loss, Gaussian) else None


_KINDS = {one.kind: one for one in (PureFilter, ApproximateFilter, ConcentratedFilter, RenyiFilter, GaussianFilter)}
