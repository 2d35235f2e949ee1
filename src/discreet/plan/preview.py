"""What a question would cost and how far off its answers would be: from public facts alone, for free, without any data.

Errors are half-widths of 95 % intervals. That of a sum is exact. That of a mean or variance depends on how many rows a group
has, which is private: it is stated for the declared size, spread evenly over the groups, or else for 1,000 rows; and on the mean
and variance themselves: it is the largest there can be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.mechanisms.quantile import Quantile as QuantileMechanism
from discreet.mechanisms.selection import Selection
from discreet.plan import estimates
from discreet.plan.display import html_table, text_table
from discreet.plan.plan import Plan
from discreet.plan.query import Mean, Sum, Variance
from discreet.plan.release import Part, named, spread_of
from discreet.plan.statistics import CELL_BITS, Commonest, Measure, Ranked, Scores
from discreet.schema.units import Person, Rows

__all__ = ["Preview", "PreviewLine", "preview_lines"]

_TYPICAL = 1000
_TRIED = 21  # means, and variances, at which an error is tried


@dataclass(frozen=True)
class PreviewLine:
    """One output: how it is released, and the half-width of its 95 % interval (None where there is no such number)."""

    output: str
    mechanism: str
    error: float | None
    meaning: str


@dataclass(frozen=True, repr=False)
class Preview:
    """A question's price and expected errors."""

    question: str
    cost: str
    groups: int | None
    lines: tuple[PreviewLine, ...]
    parts: tuple[tuple[str, str], ...]
    halve: str
    fits: str
    remarks: tuple[str, ...] = ()

    def _table(self) -> tuple[list[str], list[list[str]]]:
        return ["output", "mechanism", "95 % error"], [[line.output, line.mechanism, line.meaning] for line in self.lines]

    def _notes(self) -> list[str]:
        groups = "groups chosen privately" if self.groups is None else f"{self.groups:,} group{'s' if self.groups != 1 else ''}"
        split = "; ".join(f"{what}: {how}" for what, how in self.parts)
        return [
            f"Would cost {self.cost}; {groups}. No data was read.",
            f"Split evenly: {split}.",
            self.halve,
            self.fits,
            *self.remarks,
        ]

    def __str__(self) -> str:
        headers, rows = self._table()
        return "\n".join([text_table(headers, rows), *(note for note in self._notes() if note)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headers, rows = self._table()
        return html_table(headers, rows, notes=[note for note in self._notes() if note])


def preview_lines(plan: Plan) -> tuple[PreviewLine, ...]:
    """A line for every output."""
    parts: dict[object, list[Part]] = {}
    for part in plan.parts:
        parts.setdefault(part.statistic, []).append(part)
    return tuple(_line(plan, output.name, [parts[s][0] for s in plan.behind[output.name]]) for output in plan.query.outputs)


def _line(plan: Plan, name: str, behind: Sequence[Part]) -> PreviewLine:
    first, how = behind[0], named(behind[-1])
    aggregate = next(output.aggregate for output in plan.query.outputs if output.name == name)
    statistic = first.statistic
    if isinstance(statistic, Ranked) and isinstance(first.mechanism, QuantileMechanism):
        weight = 1 << CELL_BITS if isinstance(plan.schema.unit, Person) else 1
        rows = math.ceil(first.mechanism.error(candidates=statistic.cells.count) / weight)
        return PreviewLine(name, how, None, f"within {rows:,} rows of the quantile")
    if isinstance(statistic, Commonest) and isinstance(first.mechanism, Selection):
        weight = 1 << CELL_BITS if isinstance(plan.schema.unit, Person) else 1
        rows = math.ceil(first.mechanism.error(candidates=statistic.cells.count) / weight)
        return PreviewLine(name, how, None, f"a value with at most {rows:,} rows fewer than the commonest")
    if isinstance(statistic, Scores) and isinstance(first.mechanism, Selection):
        short = first.mechanism.error(candidates=len(statistic.of)) * float(statistic.of[0].step) / 2**first.bits
        return PreviewLine(name, how, None, f"a candidate whose score is at most {short:,.4g} below the best")
    where = "" if plan.keys.size == 1 and not plan.query.keys else " for every group"
    if isinstance(aggregate, (Mean, Variance)):
        size = _group_size(plan)
        error = _ratio_error(aggregate, behind, float(size), root=isinstance(aggregate, Variance) and aggregate.root)
        of = "for the whole table" if not plan.query.keys and _public_size(plan) else f"for {size:,} rows"
        return PreviewLine(name, how, error, f"± {error:,.4g} at most, {of}")
    if isinstance(aggregate, Sum) and len(behind) == 2:
        value = behind[1].statistic
        assert isinstance(value, Measure)
        zero = np.zeros(1)
        found = estimates.total(zero, zero, spread_of(behind[0]), spread_of(behind[1]), float(value.shift * value.step))
        assert found.upper is not None
        return PreviewLine(name, how, float(found.upper[0]), f"± {found.upper[0]:,.4g}{where}")
    half = spread_of(first).half()
    if first.mechanism is None:
        return PreviewLine(name, how, 0.0, "exact: it is public")
    return PreviewLine(name, how, half, f"± {half:,.4g}{where}" if half else f"± 0{where}: right at least 95 % of the time")


def _ratio_error(aggregate: Mean | Variance, behind: Sequence[Part], size: float, *, root: bool) -> float:
    """The largest half-width that a group of this many rows can have, whatever its mean and variance are."""
    spreads = [spread_of(part) for part in behind]
    value = behind[1].statistic
    assert isinstance(value, Measure)
    low, high = float(value.low * value.step), float(value.high * value.step)
    means = np.linspace(low, high, _TRIED)
    if isinstance(aggregate, Mean):
        found = estimates.mean(np.full_like(means, size), size * means, spreads[0], spreads[1], value)
    else:
        square = behind[2].statistic
        assert isinstance(square, Measure)
        shares, means = (grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, _TRIED) ** 3, means))  # roots are steep near 0
        variances = shares * (high - means) * (means - low)
        squares = size * (variances + means**2 - float(square.lift * square.step**2))
        sums = (np.full_like(means, size), size * means, squares)
        found = estimates.variance(sums, (spreads[0], spreads[1], spreads[2]), square, root=root)
    assert found.lower is not None
    assert found.upper is not None
    return float(np.max(found.upper - found.lower)) / 2


def _public_size(plan: Plan) -> int | None:
    return plan.schema.unit.size


def _group_size(plan: Plan) -> int:
    size = _public_size(plan)
    if size is None:
        return _TYPICAL
    rows = size if isinstance(plan.schema.unit, Rows) else size * plan.schema.unit.rows
    return max(rows // (plan.keys.size or 1), 1)
