"""Every refusal discreet can utter.

    DiscreetError
    ├── ParameterError      a public parameter (epsilon, scale, candidates ...) is outside what the theorem covers
    ├── ValueRefused        the private value cannot be handled (NaN, wrong type, too large for the grid)
    ├── Exhausted           a mechanism has given all the answers it was paid for
    ├── BudgetExceeded      what is left of a budget is less than what was asked; says spent, requested and left
    ├── LedgerRefused       the ledger of a budget is missing, rolled back, damaged, cannot be written, or is a second one for
    │                       what looks like the same people; nothing is answered
    ├── EngineError         the engine could not finish a question (memory, disk, a file that changed); it never says on which row
    └── EntropyError        the system's generator failed, or recorded words ran out

A message is a sentence: what was asked, what holds, what to write instead. A ``ValueRefused`` never
quotes the value, because that value is somebody's data.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

__all__ = ["BudgetExceeded", "DiscreetError", "EngineError", "EntropyError", "Exhausted", "LedgerRefused", "ParameterError"]
__all__ += ["ValueRefused"]


class DiscreetError(Exception):
    """The root of the tree: catch this to catch every refusal of discreet."""


class ParameterError(DiscreetError, ValueError):
    """A public parameter is missing, malformed, or outside what the theorem covers."""


class ValueRefused(DiscreetError, ValueError):
    """A private value cannot be handled; the message never contains it."""


class Exhausted(DiscreetError):
    """A mechanism has already given all the answers that its privacy cost covers."""


class BudgetExceeded(DiscreetError):
    """A budget has less left than was requested, and nothing was spent. Amounts are exact, by currency (epsilon, rho ...).

    ``said`` is for budgets whose currencies do not simply add up: what is refused and what would fit, in words.
    """

    def __init__(
        self, spent: Mapping[str, Fraction], requested: Mapping[str, Fraction], left: Mapping[str, Fraction], said: str = ""
    ) -> None:
        super().__init__(spent, requested, left, said)
        self.spent, self.requested, self.left, self.said = dict(spent), dict(requested), dict(left), said

    def __str__(self) -> str:
        if self.said:
            return f"This would exceed the budget: {self.said}"

        def text(amount: Fraction) -> str:
            return f"{float(min(amount, Fraction(10) ** 300)):.12g}"

        over = [name for name, amount in self.requested.items() if amount > self.left[name]] or list(self.requested)
        said = (
            f"{name} {text(self.requested[name])} requested, {text(self.spent[name])} spent, {text(self.left[name])} left"
            for name in over[:3]
        )
        less = "with a smaller delta=, or list the keys" if over == ["delta"] else "for less"
        return f"This would exceed the budget: {'; '.join(said)}. Ask {less}, or stop here."


class LedgerRefused(DiscreetError):
    """The ledger of a budget cannot be trusted, or not be written; nothing is answered from it."""


class EngineError(DiscreetError, RuntimeError):
    """The engine could not finish a question; the message never contains a cell, nor says on which row."""


class EntropyError(DiscreetError, RuntimeError):
    """Randomness could not be had, or cannot be what it claims to be."""
