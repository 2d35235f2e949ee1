"""What a question would cost and how far off its answers would be: from public facts alone, for free, without any data.

Errors are half-widths of 95 % intervals. That of a sum is exact. That of a mean or variance depends on how many rows a group
has, which is private: it is stated for the declared size, spread evenly over the groups, or else for 1,000 rows; and on the mean
and variance themselves: it is the largest there can be.
"""

from __future__ import annotations

from dataclasses import dataclass

from discreet.plan.aggregates.base import Typical
from discreet.plan.display import html_table, text_table
from discreet.plan.plan import Plan
from discreet.plan.query import Output
from discreet.schema.units import Rows

__all__ = ["Preview", "PreviewLine", "preview_lines"]

_TYPICAL = 1000


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
    return tuple(_line(plan, output) for output in plan.query.outputs)


def _line(plan: Plan, output: Output) -> PreviewLine:
    releases = plan.behind[output.name]
    expected = output.aggregate.expected(releases, _typical(plan))
    return PreviewLine(output.name, releases[-1].how, expected.error, expected.meaning)


def _typical(plan: Plan) -> Typical:
    """The group that errors are stated for: the declared size, spread evenly over the groups, or else of 1,000 rows."""
    unit, each = plan.schema.unit, "" if plan.keys.size == 1 and not plan.query.keys else " for every group"
    if unit.size is None:
        return Typical(_TYPICAL, f"for {_TYPICAL:,} rows", each)
    size = max((unit.size if isinstance(unit, Rows) else unit.size * unit.rows) // (plan.keys.size or 1), 1)
    return Typical(size, f"for {size:,} rows" if plan.query.keys else "for the whole table", each)
