"""What a task about shares will give for so many reports."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.local.outlook import Outlook
from discreet.local.protocols.base import FrequencyProtocol
from discreet.local.result import normal_factor

__all__ = ["Plan", "plan_for"]


@dataclass(frozen=True)
class Plan(Outlook):
    """The standard error and the influence are of one value's share, for a value as common as the average one."""

    targets: float = 1.0
    """How many values hostile clients can lift at once."""

    @property
    def detectable(self) -> float:
        """The smallest share that a 95 % interval tells from 0."""
        return normal_factor(0.95) * self.standard_error

    def _quality(self) -> list[list[str]]:
        at_once = f", for about {self.targets:,.0f} values at once" if self.targets > 1 else ""
        return [
            ["standard error", f"{100 * self.standard_error:.3g} {self.meaning}"],
            ["lost in noise", f"shares below {100 * self.detectable:.3g} %"],
            ["1 % hostile", f"move a share by up to {100 * self.influence:.3g} percentage points{at_once}"],
        ]


def plan_for(protocol: FrequencyProtocol, n: int, reason: str) -> Plan:
    """The plan of ``n`` reports."""
    size = max(protocol.size, 2)
    variance = protocol.rates.variance(1 / size)
    error, z = math.sqrt(variance / n), normal_factor(0.95)
    warnings = []
    if z * error >= max(1 / size, 0.1):
        needed = math.ceil(variance * (z / 0.05) ** 2)
        warnings.append(
            f"the answer will be noise: with {n:,} reports at epsilon {float(protocol.epsilon):.6g}, shares are only known to "
            f"within {100 * z * error:,.0f} percentage points. Ask {needed:,} people for 5 points, or allow a larger epsilon."
        )
    return Plan(
        n=n,
        protocol=protocol.name,
        parameters=protocol.parameters,
        reason=reason,
        epsilon=float(protocol.epsilon),
        standard_error=error,
        meaning="percentage points a value",
        bits=protocol.bits,
        server=protocol.server,
        influence=0.01 * protocol.rates.influence,
        warnings=tuple(warnings),
        targets=protocol.targets,
    )
