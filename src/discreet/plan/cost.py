"""What questions cost: an exact amount of epsilon or rho as it was asked for, and what it spends under a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import positive, root
from discreet.privacy.budget import Budget

Currency = Literal["epsilon", "rho"]
Accuracy = float | int | Fraction | Mapping[str, object]  # half-widths of 95 % intervals, one for all or by output


@dataclass(frozen=True)
class Cost:
    """An amount of pure epsilon or of rho, and a delta for open keys.

    ``named`` is what a ledger knows that delta by, one name for all that were not told; ``words`` is how the amount was written.

    >>> print(Cost("epsilon", Fraction(1, 2)), Cost("rho", Fraction(1, 10), words="0.10"))
    epsilon=0.5 rho=0.10
    """

    currency: Currency
    amount: Fraction
    delta: Fraction = Fraction(0)
    named: Fraction = Fraction(0)
    words: str = ""

    @property
    def epsilon(self) -> Fraction | None:
        return self.amount if self.currency == "epsilon" else None

    @property
    def rho(self) -> Fraction | None:
        return self.amount if self.currency == "rho" else None

    def part(self, share: Fraction) -> Cost:
        """That much of it; the delta is for one purpose, and stays."""
        return replace(self, amount=self.amount * share)

    def contest(self, times: int) -> Fraction:
        """The epsilon of a selection that is paid ``times`` times: rho is epsilon^2 / 8 for the exponential mechanism."""
        return self.amount / times if self.currency == "epsilon" else root(8 * self.amount / times)

    def __str__(self) -> str:
        return f"{self.currency}={self.words or format(float(self.amount), 'g')}"


@dataclass(frozen=True)
class Terms:
    """On what terms questions are asked: an epsilon, or a rho, or the half-widths that are wanted; a delta for open keys; and
    how many rows every group surely has, as far as that is public: declared, or the lower end of a count that was released."""

    epsilon: object = None
    rho: object = None
    delta: object = None
    accuracy: Accuracy | None = None
    at_least: object = None

    @property
    def fewest(self) -> int | None:
        """The least number of rows of a group."""
        if self.at_least is None:
            return None
        found = floor(positive("at_least", self.at_least, "a number of rows that every group surely has, such as 1000"))
        if not 0 < found <= 2**62:
            raise ParameterError("at_least is a number of rows that every group surely has; write a number such as 1000.")
        return found

    def asked(self, budget: Budget) -> Cost:
        """The cost as it was asked for; refused where it is not in the budget's own currency."""
        if budget.kind == "concentrated":
            if self.epsilon is not None or self.rho is None:
                raise ParameterError("This budget is a rho (zero-concentrated privacy); ask with a rho, for example rho=0.01.")
            return Cost("rho", positive("rho", self.rho, "a number such as 0.01"), words=str(self.rho))
        if self.rho is not None:
            raise ParameterError("This budget is an epsilon, not a rho; ask with an epsilon, for example epsilon=0.5.")
        if self.epsilon is None:
            raise ParameterError("What may this question cost? Write an epsilon, for example epsilon=0.5.")
        # A number of numpy says its shortest decimal, by which it is charged, in str() and not in format().
        return Cost("epsilon", positive("epsilon", self.epsilon, "a number such as 0.5"), words=str(self.epsilon))

    def spend(self, cost: Cost, budget: Budget, questions: int) -> Cost:
        """What some questions that are asked together at this cost spend: a pure epsilon or else a rho; the delta is each one's.

        Unless told, the delta for open keys is the same share of what the budget has for keys as the rho is of its rho, and at
        most a quarter, so that as many questions fit by their deltas as by their rhos. Asked again for less, a question stays the
        same.
        """
        if budget.kind == "pure":
            if self.delta is not None:
                raise ParameterError("This budget has no delta; leave delta= out, or open a Budget(epsilon=..., delta=...).")
            return cost
        rho = cost.amount if cost.currency == "rho" else budget.rho_of(cost.amount)
        if self.delta is not None:
            told = positive("delta", self.delta, "a small chance such as 1e-7")
            return Cost("rho", rho, told, told)
        assert budget.most_rho is not None
        return Cost("rho", rho, budget.leaks / max(4, ceil(questions * budget.most_rho / rho)), budget.leaks / 4)
