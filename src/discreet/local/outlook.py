"""What a task will give for so many reports, from public facts alone: before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.tables import html_table

__all__ = ["Outlook"]


@dataclass(frozen=True)
class Outlook:
    """The expected quality and cost of ``n`` reports. Print it."""

    n: int
    protocol: str
    parameters: dict[str, int]
    reason: str
    epsilon: float
    standard_error: float
    meaning: str
    """What the standard error is of, in words."""
    bits: float
    server: str
    influence: float
    """How far 1 % hostile clients can move the answer, in the unit of the standard error."""
    warnings: tuple[str, ...] = ()

    def _quality(self) -> list[list[str]]:
        return [
            ["standard error", f"{self.standard_error:.3g} {self.meaning}"],
            ["1 % hostile", f"move that by up to {self.influence:.3g}"],
        ]

    def _rows(self) -> list[list[str]]:
        said = ", ".join(f"{name} {number:,}" for name, number in self.parameters.items())
        return [
            ["protocol", f"{self.protocol} ({said})" if said else self.protocol],
            ["why", self.reason],
            ["privacy", f"epsilon {self.epsilon:.6g} a report, local and pure"],
            ["reports", f"{self.n:,} of {math.ceil(self.bits):,} bits"],
            ["server", self.server],
            *self._quality(),
        ]

    def __str__(self) -> str:
        lines = [f"{name:<15} {text}" for name, text in self._rows()]
        return "\n".join([*lines, *(f"WARNING: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._rows(), notes=[f"WARNING: {warning}" for warning in self.warnings])
