"""A budget: what all questions about one data set may cost together, fixed before the first is asked.

* ``Budget(epsilon=E)``: pure; epsilons add up.
* ``Budget(rho=R)``: zero-concentrated; rhos add up. A ``delta`` beside it pays for thresholds of open keys only.
* ``Budget(epsilon=E, delta=D)``: half of D converts a rho into an epsilon, the other half pays for thresholds. It holds while
  the pure sum OR the zero-concentrated sum holds.

**Theorem** (the third kind). Let an adaptive interaction stop before both of these fail: epsilons within E; rhos within the
largest rho that is (E, D/2)-DP; in either case deltas within D/2. Then it is (E, D)-DP, for the neighbours under which every
question's own guarantee holds.

*Proof.* A question that is (epsilon, delta)-DP is, with probability delta, a leak, and otherwise epsilon-DP (Kairouz, Oh,
Viswanath 2015); both sums price the same split, so all leaks together have probability at most D/2. Let A be the transcripts
without a leak whose pure sum held to the end, and B the others without a leak. The loss of a transcript in A is at most E, so
P(S and A) <= e^E Q(S and A). Those in B are also transcripts of the interaction that stops with the second sum, which
is (E, D/2)-DP (the filters' theorem), so P(S and B) <= e^E Q(S and B) + D/2. Together P(S) <= e^E Q(S) + D.

Amounts are plain numbers, for looking at; exact sums stay inside accounts. A float is read as its shortest decimal everywhere in
discreet. So "rounded up" means that this decimal is not below the exact amount: three times 0.1 is shown as 0.3, and a remaining
0.1 may be asked for by typing 0.1.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from discreet.balls import ball, log, lower, precision
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import positive, probability, rational
from discreet.privacy.guarantee import zcdp

if TYPE_CHECKING:
    from discreet.privacy.account import Account

Kind = Literal["pure", "concentrated", "approximate"]
_MOST = 10**9
_WRITE = "write Budget(epsilon=3), Budget(epsilon=3, delta=1e-6) or Budget(rho=0.5)"


@called_as("epsilon=3, delta=1e-6")
@dataclass(frozen=True, init=False, repr=False)
class Budget:
    """The total that a data set's questions may cost; ``open()`` starts an account of what is spent.

    >>> Budget(epsilon=3, delta=1e-6)
    Budget(epsilon=3, delta=1e-06)
    >>> budget = Budget(epsilon=3, delta=1e-6)
    >>> print(budget.kind, round(float(budget.rho_of(0.5)), 6))
    approximate 0.006225
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    def __init__(self, *, epsilon: object = None, delta: object = None, rho: object = None) -> None:
        if (epsilon is None) == (rho is None):
            raise ParameterError(f"A budget has either an epsilon or a rho; {_WRITE}.")
        for name, value in (("epsilon", epsilon), ("rho", rho)):
            exact = None if value is None else positive(name, value, "a number such as 3")
            if exact is not None and exact > _MOST:
                raise ParameterError(f"A budget with {name} above 10^9 protects nobody; {_WRITE}.")
            object.__setattr__(self, name, exact)
        leak = None if delta is None else probability("delta", delta, zero=False, hint="a small chance such as 1e-6")
        object.__setattr__(self, "delta", leak)
        if self.kind == "approximate" and not self.most_rho:
            raise ParameterError("This epsilon is too small for its delta to buy anything; write Budget(epsilon=3, delta=1e-6).")

    @property
    def kind(self) -> Kind:
        """Which sums are kept: "pure", "concentrated" or "approximate"."""
        if self.rho is not None:
            return "concentrated"
        return "pure" if self.delta is None else "approximate"

    @property
    def conversion(self) -> Fraction:
        """The delta with which a rho is read as an epsilon: half of an approximate budget's, else 0."""
        return (self.delta or Fraction(0)) / 2 if self.kind == "approximate" else Fraction(0)

    @property
    def leaks(self) -> Fraction:
        """The delta that thresholds of open keys may spend together."""
        return (self.delta or Fraction(0)) - self.conversion

    @property
    def most_rho(self) -> Fraction | None:
        """The largest sum of rhos that holds; None for a pure budget."""
        return _rho_of(self.epsilon, self.conversion) if self.kind == "approximate" and self.epsilon else self.rho

    def rho_of(self, epsilon: object) -> Fraction:
        """The largest rho, rounded down, that is (epsilon, delta')-DP at an approximate budget's conversion delta'."""
        if self.kind != "approximate":
            other = "rho=" if self.kind == "concentrated" else "epsilon= of pure mechanisms"
            raise ParameterError(f"Only Budget(epsilon=..., delta=...) reads an epsilon as a rho; ask with {other}.")
        asked = positive("epsilon", epsilon, "a number such as 0.5")
        found = _rho_of(asked, self.conversion) if asked <= _MOST else Fraction(0)
        if not found:
            raise ParameterError(
                f"With delta = {float(self.conversion):g} no noise is known to cost this epsilon; write a number such as 0.5."
            )
        return found

    def open(self) -> Account:
        """An account of this budget with nothing spent."""
        from discreet.privacy.account import Account

        return Account.open(self)

    def __str__(self) -> str:
        return ", ".join(f"{name} {float(amount):.12g}" for name, amount in self._given().items())

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={_write_number(amount)}' for name, amount in self._given().items())})"

    def _given(self) -> dict[str, Fraction]:
        given = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta}
        return {name: amount for name, amount in given.items() if amount is not None}

    def to_json(self) -> str:
        """A text that means the same budget for ever."""
        return json.dumps({"discreet": "budget", "version": 1, **{name: str(amount) for name, amount in self._given().items()}})

    @classmethod
    def from_json(cls, text: str) -> Budget:
        """The budget that ``to_json`` wrote."""
        try:
            facts = json.loads(text)
            known = facts.pop("discreet") == "budget" and facts.pop("version") == 1
            budget = cls(**{name: Fraction(amount) for name, amount in facts.items() if isinstance(amount, str)})
            if not known or set(facts) != set(budget._given()):
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
            raise ParameterError("This text is no budget known here; give what to_json() wrote, or update discreet.") from None
        return budget


@lru_cache(maxsize=1024)
def _rho_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho for which ``zcdp(rho).epsilon(delta) <= epsilon``, to about nine digits; 0 where none is found.

    By Canonne, Kamath, Steinke (2020), proposition 12, every x > 0 gives a rho that holds, (x epsilon + ln delta - c(x)) / (x
    (x+1)) with c(x) = x ln x - (1+x) ln(1+x). It rises and then falls with x; bisection of ln x finds the top.
    """
    from discreet.privacy.accountant.tails import moment_epsilon

    target, log_delta = float(epsilon), log(delta)

    def falling(x: float) -> bool:
        gained = x * target + log_delta + x * math.log1p(1 / x) + math.log1p(x)
        return gained * x / (x + 1) + log_delta + math.log1p(x) > 0

    low, high = -60.0, 60.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if falling(math.exp(middle)) else (middle, high)
    x = Fraction(math.exp(high))
    with precision(192):
        chernoff = -ball(x) * ball(1 + 1 / x).log() - ball(1 + x).log()
        rho = Fraction(max(0.0, lower((ball(x * epsilon) + ball(delta).log() - chernoff) / ball(x * (x + 1)))))
    # The published bound, which is one of moments, picks its order a little less well: give way until it agrees, so that the two
    # never contradict.
    for _ in range(64):
        if not rho or (cost := Fraction(moment_epsilon(zcdp(rho).parts, delta))) <= epsilon:
            return rho
        less = max(Fraction(1, 2), 1 - 2 * (cost - epsilon) / cost) - Fraction(1, 2**44)
        rho = Fraction(float(rho * less)) if rho * less > Fraction(1, 10**300) else Fraction(0)
    return Fraction(0)


def _write_number(amount: Fraction) -> str:
    """A number as its author may have written it."""
    if amount.denominator == 1:
        return str(amount)
    return repr(float(amount)) if rational("amount", float(amount)) == amount else repr(amount)


@dataclass(frozen=True)
class Amount:
    """An epsilon, a delta and a rho, None where a budget has no such currency; ``float()`` gives the one it is counted in."""

    epsilon: float | None
    delta: float
    rho: float | None
    kind: Kind

    def __float__(self) -> float:
        counted = self.rho if self.kind == "concentrated" else self.epsilon
        return 0.0 if counted is None else counted


def round_amount(
    rounded: Callable[[Fraction], float], kind: Kind, epsilon: Fraction | None, delta: Fraction, rho: Fraction | None
) -> Amount:
    """Exact amounts, all rounded in one direction."""
    return Amount(None if epsilon is None else rounded(epsilon), rounded(delta), None if rho is None else rounded(rho), kind)


def decimal_up(exact: Fraction) -> float:
    """The float nearest to an amount of at least 0 whose decimal is not below it.

    >>> decimal_up(Fraction(3, 10)), Fraction(repr(decimal_up(Fraction(1, 3)))) > Fraction(1, 3)
    (0.3, True)
    """
    near = float(exact)
    if exact and near < sys.float_info.min:  # digits of smaller floats are not reliable
        return sys.float_info.min
    return near if rational("amount", near) >= exact else math.nextafter(near, math.inf)


def decimal_down(exact: Fraction) -> float:
    """The float nearest to an amount of at least 0 whose decimal is not above it.

    >>> decimal_down(Fraction(3, 10)), Fraction(repr(decimal_down(Fraction(5, 9)))) < Fraction(5, 9)
    (0.3, True)
    """
    near = float(exact)
    if near < sys.float_info.min:
        return 0.0
    return near if rational("amount", near) <= exact else math.nextafter(near, 0.0)


def cut_digits(exact: Fraction, whole: Callable[[Fraction], int], digits: int = 8) -> Fraction:
    """A number of at least 0 cut to a few decimal digits by ``math.floor`` or ``math.ceil``.

    >>> cut_digits(Fraction(2, 3), math.floor), cut_digits(Fraction(0), math.ceil)
    (Fraction(33333333, 50000000), Fraction(0, 1))
    """
    if not exact:
        return exact
    size = math.floor(math.log10(exact.numerator) - math.log10(exact.denominator))
    size += exact >= Fraction(10) ** (size + 1)  # logarithms may be off by one beside a power of ten
    size -= exact < Fraction(10) ** size
    unit = Fraction(10) ** (size - digits + 1)
    return whole(exact / unit) * unit
