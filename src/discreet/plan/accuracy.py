"""The other way round: from the error that is wanted to the cost that buys it.

Errors fall as the cost grows, so the least cost is found by halving, from public facts alone, and rounded up to three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.exact import positive
from discreet.plan.plan import Plan
from discreet.plan.preview import preview_lines
from discreet.plan.query import Mean, Variance

__all__ = ["Accuracy", "cost_for"]

Accuracy = float | int | Fraction | Mapping[str, object]

_CHEAPEST, _DEAREST = Fraction(1, 10**9), Fraction(10**4)


def cost_for(accuracy: Accuracy, plans_at: Callable[[Fraction], Sequence[Plan]]) -> Fraction:
    """The least epsilon (or rho) at which every output's 95 % half-width is as small as wanted."""

    def fits(cost: Fraction) -> bool:
        return all(
            line.error is not None and line.error <= wanted[line.output]
            for plan in plans_at(cost)
            for line in preview_lines(plan)
            if line.output in wanted
        )

    wanted = _wanted(accuracy, plans_at(Fraction(1)))
    if not fits(_DEAREST):
        raise ParameterError("No cost buys this accuracy; ask for a larger error, or for fewer or smaller things.")
    low, high = math.log(_CHEAPEST), math.log(_DEAREST)
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(Fraction(math.exp(middle))) else (middle, high)
    cost = Fraction(math.exp(high))
    size = math.floor(math.log10(cost)) - 2
    rounded = math.ceil(cost / Fraction(10) ** size) * Fraction(10) ** size
    return rounded if fits(rounded) else rounded + Fraction(10) ** size


def _wanted(accuracy: Accuracy, plans: Sequence[Plan]) -> dict[str, Fraction]:
    lines = {line.output: line for plan in plans for line in preview_lines(plan)}
    if isinstance(accuracy, Mapping):
        unknown = [name for name in accuracy if name not in lines]
        if unknown or not accuracy:
            raise ParameterError(
                f"accuracy= names outputs ({', '.join(lines)}), not {', '.join(map(str, unknown))}; write one of them."
            )
        wanted = {name: positive(f"accuracy of {name}", value, "a half-width such as 10") for name, value in accuracy.items()}
    else:
        half = positive("accuracy", accuracy, "a half-width such as 10")
        wanted = {name: half for name, line in lines.items() if line.error is None or line.error > 0}
    for plan in plans:
        for output in plan.query.outputs:
            if output.name not in wanted:
                continue
            if lines[output.name].error is None:
                raise ParameterError(
                    f"The error of {output.name} is a number of rows, not a half-width; give accuracy= for other outputs, "
                    "as {name: half-width}, and a cost for this one."
                )
            if isinstance(output.aggregate, (Mean, Variance)) and plan.schema.unit.size is None:
                raise ParameterError(
                    f"The error of {output.name} depends on how many rows there are, which is private; declare a rough size "
                    "that is public (unit=rows(size=10_000)), or ask with a cost."
                )
    return wanted
