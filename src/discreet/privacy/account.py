"""The running account of a budget: what is spent, what is left, and whether one more question fits.

An account is a value: spending gives a new one, and a refusal changes nothing. Sums are the exact ones of the filters; an
approximate budget keeps two of them, and a sum that a question does not fit into, or has no price in, is closed for ever.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from discreet.errors import BudgetExceeded, ParameterError
from discreet.privacy.budget import Amount, Budget, cut_digits, decimal_down, decimal_up, round_amount
from discreet.privacy.filters import (
    ApproximateFilter,
    ConcentratedFilter,
    Filter,
    PureFilter,
    add_prices,
    as_approximate,
    as_concentrated,
)
from discreet.privacy.guarantee import Privacy, zcdp
from discreet.privacy.losses.base import tanh_rho
from discreet.privacy.neighbours import share_neighbours

_ZERO = Fraction(0)


@dataclass(frozen=True, repr=False)
class Account:
    """A budget and what is spent of it.

    >>> from discreet.privacy import pure
    >>> account = Budget(epsilon=0.3).open().spend(pure(0.1)).spend(pure(0.1))
    >>> print(account)
    epsilon 0.2 of 0.3 spent, 0.1 left
    >>> account.remaining.epsilon, account.fits(pure(0.1)), account.fits(pure(0.11))
    (0.1, True, False)
    """

    budget: Budget
    filters: tuple[Filter | None, ...]  # approximate: the pure sum, then the zero-concentrated one; None where closed

    @classmethod
    def open(cls, budget: Budget) -> Account:
        """Nothing spent."""
        filters: tuple[Filter | None, ...]
        if budget.kind == "pure":
            filters = (PureFilter(epsilon=budget.epsilon),)
        elif budget.kind == "concentrated":
            filters = (ConcentratedFilter(rho=budget.rho, delta=budget.leaks),)
        else:
            sums = ApproximateFilter(epsilon=budget.epsilon, delta=budget.leaks)
            filters = (sums, ConcentratedFilter(rho=budget.most_rho, delta=budget.leaks))
        return cls(budget, filters)

    def fits(self, privacy: Privacy) -> bool:
        """Whether ``spend`` would accept this guarantee."""
        return any(each is not None and each.fits(privacy) for each in self.filters)

    def spend(self, privacy: Privacy, asked: Fraction | None = None) -> Account:
        """The account after this guarantee is paid for; refused, with nothing spent, where it does not fit.

        ``asked`` is the epsilon its author typed: an approximate budget's refusal says it again.
        """
        sums = tuple(None if each is None else _spend(each, privacy) for each in self.filters)
        if any(sums):
            return Account(self.budget, sums)  # a sum is closed by a question that only the other one admits
        for each in self.filters:
            share_neighbours(each.neighbours if each is not None else None, privacy.neighbours)
        if self.budget.kind == "approximate":
            raise self._refusal(privacy, asked)
        if self.budget.kind == "pure" and (add_prices(privacy, as_approximate) or (_ZERO, Fraction(1)))[1]:
            raise ParameterError(
                "This question has no pure epsilon, and the budget adds up nothing else; ask with Laplace noise and public keys, "
                "or start with Budget(epsilon=3, delta=1e-6)."
            )
        (each,) = self.filters
        assert each is not None
        each.spend(privacy)
        raise AssertionError("a question that does not fit was accepted")

    # Looking at it.

    @property
    def total(self) -> Amount:
        """What there was at the start."""
        budget, kind = self.budget, self.budget.kind
        return round_amount(decimal_up, kind, budget.epsilon, budget.delta or _ZERO, self._rho(total=True))

    @property
    def spent(self) -> Amount:
        """What is spent, rounded up. Book-keeping: only for a pure budget a guarantee at any moment."""
        epsilon, rho, delta, kind = self._spent_epsilon(), self._rho(), self._leaked(), self.budget.kind
        if rho and kind == "approximate" and epsilon != self._pure_spent():
            delta += self.budget.conversion
        return round_amount(decimal_up, kind, epsilon, delta, rho)

    @property
    def remaining(self) -> Amount:
        """What is left, rounded down: the largest epsilon or rho that fits, and the delta that thresholds may still spend."""
        epsilon, rho, kind = self._left("epsilon"), self._left("rho"), self.budget.kind
        if kind == "approximate":
            epsilon = max(epsilon or _ZERO, self._gaussian_left(rho))
        return round_amount(decimal_down, kind, epsilon, self.budget.leaks - self._leaked(), rho)

    @property
    def used(self) -> Fraction:
        """The share of the budget that is used, from 0 to 1, in the currency that adds up; the better of an approximate
        budget's two sums. The delta of thresholds is a matter of its own."""
        sums = [[(each.spent[name], cap) for name, cap in each.total.items() if name != "delta"] for each in self.filters if each]
        return min(max(spent / cap for spent, cap in both) for both in sums)

    @property
    def brief(self) -> str:
        """The account in a few words, without a full stop."""
        if self.budget.kind == "approximate":
            return f"{_percent(self.used)} of the budget is used: {self._largest()}"
        spent, left, total = self.spent, self.remaining, self.total
        return f"{'rho' if total.epsilon is None else 'epsilon'} {_digits(spent)} of {_digits(total)} spent, {_digits(left)} left"

    def __str__(self) -> str:
        if self.budget.kind == "pure":
            return self.brief
        leaked, leaks = self._leaked(), self.budget.leaks
        on_keys = f"{float(leaked):.6g} of {float(leaks):.6g} is spent on groups that are chosen privately"
        if self.budget.kind == "concentrated":
            return f"{self.brief}; delta: {on_keys}" if leaks else self.brief
        return (
            f"{_percent(self.used)} of the budget ({self.budget}) is used: {self._largest()}{self._several()}.\n"
            "Costs add up as rho, which grows with the square of epsilon: many small questions fit where few large ones do.\n"
            f"Half of the delta ({float(self.budget.conversion):.6g}) turns the sum of rhos into an epsilon, once for all; "
            f"of the other half {on_keys}."
        )

    def _largest(self) -> str:
        """What one question may cost: with Gaussian noise, which is what an epsilon buys; else without."""
        if gaussian := self._gaussian_left(self._left("rho")):
            return f"one question of up to epsilon {_below(gaussian)} still fits"
        if pure := self._left("epsilon"):
            return f"one question of up to epsilon {_below(pure)}, without Gaussian noise, still fits"
        return "nothing more fits"

    def _several(self) -> str:
        """How many questions of a tenth of the epsilon fit, if there is room for more than one."""
        budget, rho = self.budget, self._left("rho")
        try:
            tenth = (budget.epsilon or _ZERO) / 10
            count = 0 if not rho else int(rho / budget.rho_of(tenth))
        except ParameterError:  # so small an epsilon has no price
            return ""
        return f", or {count:,} of epsilon {float(tenth):.6g}" if count > 1 else ""

    def __repr__(self) -> str:
        return f"<Account: {self.brief}>"

    def _left(self, name: str) -> Fraction | None:
        """What is left of a currency: 0 where its sum is closed, None where there never was one."""
        for each in self.filters:
            if each is not None and name in each.total:
                return each.left[name]
        return _ZERO if self.budget.kind == "approximate" else None

    def _rho(self, *, total: bool = False) -> Fraction | None:
        """The sum of rhos, or its limit; None where it is closed or there never was one."""
        for each in self.filters:
            if each is not None and "rho" in each.total:
                return (each.total if total else each.spent)["rho"]
        return self.budget.most_rho if total else None

    def _pure_spent(self) -> Fraction | None:
        each = self.filters[0]
        return None if each is None else each.spent.get("epsilon")

    def _leaked(self) -> Fraction:
        return max(each.spent.get("delta", _ZERO) for each in self.filters if each is not None)

    def _spent_epsilon(self) -> Fraction | None:
        pure, rho, budget = self._pure_spent(), self._rho(), self.budget
        if budget.kind != "approximate" or rho is None or not budget.epsilon:
            return pure
        if not rho or rho == self._rho(total=True):
            converted = budget.epsilon if rho else _ZERO
        else:
            converted = min(budget.epsilon, cut_digits(Fraction(zcdp(rho).epsilon(budget.conversion)), math.ceil))
        return converted if pure is None else min(pure, converted)

    def _gaussian_left(self, rho: Fraction | None) -> Fraction:
        """The largest epsilon, to some digits, whose rho is left."""
        budget = self.budget
        if not rho or budget.epsilon is None:
            return _ZERO
        if rho == self._rho(total=True):
            return budget.epsilon
        epsilon = cut_digits(Fraction(zcdp(rho).epsilon(budget.conversion)), math.floor)
        for _ in range(4):
            try:
                if not epsilon or budget.rho_of(epsilon) <= rho:
                    return epsilon
            except ParameterError:  # so little that it has no price
                break
            epsilon = cut_digits(epsilon * (1 - Fraction(1, 10**8)), math.floor)
        return _ZERO

    # Refusing.

    def _refusal(self, privacy: Privacy, asked: Fraction | None) -> BudgetExceeded | ParameterError:
        price, pure = add_prices(privacy, as_concentrated), add_prices(privacy, as_approximate)
        if price is None:
            return ParameterError(
                "This guarantee has neither an epsilon nor a rho to add up; state the mechanism's own guarantee."
            )
        rho_left, conversion = self._left("rho") or _ZERO, self.budget.conversion
        left = self._gaussian_left(rho_left)
        converted = Fraction(zcdp(price[0]).epsilon(conversion)) if price[0] else _ZERO
        if pure is not None:  # the same mechanism with a smaller epsilon fits up to here
            left = max(self._left("epsilon") or _ZERO, _pure_within(rho_left))
        requested = asked if asked is not None else converted if pure is None else pure[0]
        total_rho = self._rho(total=True) or _ZERO
        leaked = self._leaked()
        delta_left = self.budget.leaks - leaked
        message = ""
        if price[1] > delta_left:
            message = (
                f"delta {float(price[1]):.6g} requested for groups that are chosen privately, {float(leaked):.6g} spent and "
                f"{float(delta_left):.6g} left of the half that pays for them; ask with a smaller delta=, or list the groups. "
            )
        if price[0] > rho_left and (pure is None or pure[0] > (self._left("epsilon") or _ZERO)):
            fits = f"one question of up to epsilon {_below(left)} still fits" if left else "no such question fits any more"
            used = f"{_percent(self.used)} of the budget ({self.budget}) is used"
            message += f"epsilon {float(requested):.6g} requested; {used}, and {fits}. Ask for less, or stop here."
        return BudgetExceeded(
            {"epsilon": self._spent_epsilon() or _ZERO, "rho": total_rho - rho_left, "delta": leaked},
            {"epsilon": requested, "rho": price[0], "delta": price[1]},
            {"epsilon": left, "rho": rho_left, "delta": delta_left},
            message.strip(),
        )

    # Keeping it.

    def to_json(self) -> str:
        """A text that means the same account for ever."""
        filters = [None if each is None else json.loads(each.to_json()) for each in self.filters]
        return json.dumps({"discreet": "account", "version": 1, "budget": json.loads(self.budget.to_json()), "roads": filters})

    @classmethod
    def from_json(cls, text: str) -> Account:
        """The account that ``to_json`` wrote."""
        try:
            facts = json.loads(text)
            opened = _opened(json.dumps(facts["budget"]))
            filters = tuple(None if each is None else Filter.from_json(json.dumps(each)) for each in facts["roads"])
            same = all(_matches(each, first) for each, first in zip(filters, opened.filters, strict=True))
            if facts["discreet"] != "account" or facts["version"] != 1 or not same or not any(filters):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise ParameterError("This text is no account known here; give what to_json() wrote, or update discreet.") from None
        return cls(opened.budget, filters)


def _spend(each: Filter, privacy: Privacy) -> Filter | None:
    """A sum after this guarantee is paid for; None where it does not fit."""
    try:
        return each.spend(privacy)
    except (BudgetExceeded, ParameterError):
        if isinstance(privacy, Privacy):
            return None
        raise


@lru_cache(maxsize=64)
def _opened(budget: str) -> Account:
    """The account of a budget that ``to_json`` wrote, with nothing spent: a ledger has one, in the record of every payment."""
    return Budget.from_json(budget).open()


def _percent(share: Fraction) -> str:
    """A share as people read it, rounded up, and never to 100 % or 0 % where it is not.

    >>> _percent(Fraction(0)), _percent(Fraction(1, 3)), _percent(Fraction(9999, 10000)), _percent(Fraction(1, 10**9))
    ('0 %', '33.4 %', '99.9 %', '0.01 %')
    """
    if share in (0, 1):
        return f"{100 * share} %"
    most = max(cut_digits(100 * share, math.ceil, 3), Fraction(1, 100))
    return f"{float(min(most, Fraction(999, 10))):.6g} %"


def _below(epsilon: Fraction) -> str:
    """An epsilon that may be asked for as it is shown."""
    return f"{float(cut_digits(epsilon, math.floor, 6)):.6g}"


def _digits(amount: Amount) -> str:
    return f"{float(amount):.6g}"


def _pure_within(rho: Fraction) -> Fraction:
    """The largest pure epsilon, to some digits, that costs no more than rho."""
    low, high = _ZERO, rho + 2  # e tanh(e/2) >= e - 1 and more
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if tanh_rho(middle) <= rho else (low, middle)
    return cut_digits(low, math.floor)


def _matches(each: Filter | None, first: Filter | None) -> bool:
    """Whether a stored sum is one of this budget. A rho that another machine's logarithms converted may differ by a trifle."""
    if each is None or first is None:
        return True
    close = all(abs(each.total[name] - cap) <= cap / 2**30 for name, cap in first.total.items())
    exact = all(each.total[name] == cap for name, cap in first.total.items() if name != "rho")
    return each.kind == first.kind and close and exact
