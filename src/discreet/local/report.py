"""What a client sends: one report as compact JSON, or a batch of them in columns, both with the hash of the task they belong to.

    {"v":1,"task":"<SHA-256 of the task>","r":17}

``r`` is a number, a list of numbers or base64 text, as the protocol says. There is no time, no name and no value in it. A nonce,
``"nonce":"..."``, is optional; it lets a collector refuse a report that arrives twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.local.protocols.base import Plain, Protocol, Rows
from discreet.noise.bits import words

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow

__all__ = ["VERSION", "Batch", "Report", "UnreadableFile", "new_nonces", "report_facts"]

VERSION = 1


class UnreadableFile(Exception):
    """A file of reports is damaged; collectors count it and go on."""


@dataclass(frozen=True)
class Report:
    """One randomised answer.

    >>> Report("ab12", 3).to_json()
    '{"v":1,"task":"ab12","r":3}'
    """

    task: str
    r: Plain
    nonce: str | None = None

    def to_json(self) -> str:
        """Compact JSON, on one line."""
        facts: dict[str, object] = {"v": VERSION, "task": self.task, "r": self.r}
        if self.nonce is not None:
            facts["nonce"] = self.nonce
        return json.dumps(facts, separators=(",", ":"))


@dataclass(frozen=True, eq=False)
class Batch:
    """Randomised answers of many people to one task, one row each."""

    task: str
    rows: Rows
    nonces: tuple[str, ...] | None = None
    _protocol: Protocol = field(repr=False, kw_only=True)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> Report:
        return Report(self.task, self._protocol.plain(self.rows[place]), self.nonces[place] if self.nonces else None)

    def __iter__(self) -> Iterator[Report]:
        return (self[place] for place in range(len(self)))

    def to_arrow(self) -> pyarrow.Table:
        """An Arrow table with the column ``r`` (and ``nonce``) that carries the task's hash."""
        from discreet.local.columns import to_arrow

        return to_arrow(self)

    def to_parquet(self, path: str | Path) -> None:
        """A Parquet file that carries the task's hash."""
        from discreet.local.columns import to_parquet

        to_parquet(self, path)


def report_facts(report: object) -> dict[str, object] | None:
    """The JSON object of a report, whatever was sent; None where it is none."""
    if isinstance(report, Report):
        return {"v": VERSION, "task": report.task, "r": report.r, "nonce": report.nonce}
    if isinstance(report, (str, bytes)):
        try:
            report = json.loads(report)
        except (ValueError, RecursionError):
            return None
    return report if isinstance(report, dict) else None


def new_nonces(count: int) -> tuple[str, ...]:
    """128 random bits each, as text."""
    text = words(2 * count).tobytes().hex()
    return tuple(text[start : start + 32] for start in range(0, 32 * count, 32))
