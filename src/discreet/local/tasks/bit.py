"""One secret bit: the lecture's question, "what share of students take illegal drugs?"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.local.tasks.frequencies import Frequencies

__all__ = ["Bit"]


@called_as("1")
@dataclass(frozen=True, init=False)
class Bit(Frequencies):
    """Yes or no, by randomized response.

    >>> drugs = Bit(epsilon=1, question="Did you ever take illegal drugs?")
    >>> collector = drugs.collector()
    >>> collector.add(drugs.randomize([True] * 300 + [False] * 700))
    >>> 0.0 < collector.estimate()[True] < 0.6
    True
    """

    kind: ClassVar[str] = "bit"

    def __init__(self, epsilon: Number, *, missing: bool | str | None = None, question: str = "", period: str = "") -> None:
        super().__init__(
            (True, False), epsilon, protocol="randomized response", missing=missing, question=question, period=period
        )
