"""What a task will give for so many reports, from public facts alone: before anybody is asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.local.protocol import FrequencyProtocol
from discreet.tables import html_table

__all__ = ["Plan", "plan_for"]

_Z = 1.959964  # 95 %


@dataclass(frozen=True)
class Plan:
    """The expected quality and cost of ``n`` reports. Print it."""

    n: int
    protocol: str
    parameters: dict[str, int]
    reason: str
    epsilon: float
    standard_error: float
    """Of one value's share, for a value as common as the average one."""
    bits: float
    server: str
    influence: float
    """How far 1 % hostile clients can move one value's share."""
    targets: float
    warnings: tuple[str, ...]

    @property
    def detectable(self) -> float:
        """The smallest share that a 95 % interval tells from 0."""
        return _Z * self.standard_error

    def _rows(self) -> list[list[str]]:
        said = ", ".join(f"{name} {number:,}" for name, number in self.parameters.items())
        at_once = f", for about {self.targets:,.0f} values at once" if self.targets > 1 else ""
        return [
            ["protocol", f"{self.protocol} ({said})" if said else self.protocol],
            ["why", self.reason],
            ["privacy", f"epsilon {self.epsilon:.6g} a report, local and pure"],
            ["reports", f"{self.n:,} of {math.ceil(self.bits):,} bits"],
            ["standard error", f"{100 * self.standard_error:.3g} percentage points a value"],
            ["lost in noise", f"shares below {100 * self.detectable:.3g} %"],
            ["server", self.server],
            ["1 % hostile", f"move a share by up to {100 * self.influence:.3g} percentage points{at_once}"],
        ]

    def __str__(self) -> str:
        lines = [f"{name:<15} {text}" for name, text in self._rows()]
        return "\n".join([*lines, *(f"WARNING: {warning}" for warning in self.warnings)])

    def _repr_html_(self) -> str:
        return html_table(["", ""], self._rows(), notes=[f"WARNING: {warning}" for warning in self.warnings])


def plan_for(protocol: FrequencyProtocol, n: int, reason: str) -> Plan:
    """The plan of ``n`` reports."""
    size = max(protocol.size, 2)
    variance = protocol.rates.variance(1 / size)
    error = math.sqrt(variance / n)
    warnings = []
    if _Z * error >= max(1 / size, 0.1):
        needed = math.ceil(variance * (_Z / 0.05) ** 2)
        warnings.append(
            f"the answer will be noise: with {n:,} reports at epsilon {float(protocol.epsilon):.6g}, shares are only known to "
            f"within {100 * _Z * error:,.0f} percentage points. Ask {needed:,} people for 5 points, or allow a larger epsilon."
        )
    return Plan(
        n,
        protocol.name,
        protocol.parameters,
        reason,
        float(protocol.epsilon),
        error,
        protocol.bits,
        protocol.server,
        0.01 * protocol.rates.influence,
        protocol.targets,
        tuple(warnings),
    )
