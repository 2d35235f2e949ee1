"""What a collector knows: counters, whose number does not depend on how many reports came, and which files are among them.

States of one task add. Each remembers the latest files it has counted, by their SHA-256, and the latest collectors it has taken
in, by names that they are given when they leave: so nothing that is given twice counts twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from discreet.arrays import Integers
from discreet.errors import ParameterError
from discreet.noise.bits import words

__all__ = ["MOST_REMEMBERED", "MOST_REPORTS", "REASONS", "State"]

MOST_REPORTS = 2**32
"""So many reports fit in the counters of every protocol."""

MOST_REMEMBERED = 4096
"""Files and collectors."""

REASONS = ("malformed", "another version", "another task", "duplicate", "unreadable file", "collected before", "no room")
"""Why reports and files are refused."""


@dataclass(eq=False)
class State:
    """``files`` and ``collectors`` are dictionaries for their order alone, the latest last."""

    tally: Integers
    count: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    nonces: set[str] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)
    collectors: dict[str, None] = field(default_factory=dict)

    @classmethod
    def empty(cls, cells: int) -> State:
        """No report yet."""
        return cls(np.zeros(cells, dtype=np.int64))

    def refuse(self, reason: str, count: int = 1) -> None:
        """Count what is not counted."""
        if count:
            self.refused[reason] += count

    def name(self) -> None:
        """Give a state that leaves a name, unless it has one or is empty."""
        if self.count and not self.collectors:
            self.collectors[words(2).tobytes().hex()] = None

    def shares(self, other: State) -> bool:
        """Whether reports are known to be in both."""
        return bool(self.collectors.keys() & other.collectors.keys())

    def add(self, other: State) -> None:
        """Count the other's reports here as well; whose they are is not asked."""
        if self.count + other.count > MOST_REPORTS:
            raise ParameterError(f"A collector holds at most {MOST_REPORTS:,} reports; begin another one.")
        self.tally += other.tally
        self.count += other.count
        self.refused += other.refused
        self.nonces |= other.nonces
        self.files = _latest(self.files | other.files)
        self.collectors = _latest(self.collectors | other.collectors)


def _latest(marks: dict[str, None]) -> dict[str, None]:
    return dict.fromkeys(list(marks)[-MOST_REMEMBERED:])
