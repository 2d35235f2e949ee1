"""Randomized response for one bit: the lecture's theta = e^epsilon / (1 + e^epsilon), the tight one.

**Theorem** (Warner 1965). Telling the truth with probability theta and its opposite otherwise is exactly
ln(theta / (1 - theta))-differentially private, locally.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import ParameterError
from discreet.local.protocols.k_ary import KAry

__all__ = ["RandomizedResponse"]


@dataclass(frozen=True)
class RandomizedResponse(KAry):
    """k-ary randomized response for two values; the report is 0 or 1."""

    name: ClassVar[str] = "randomized response"

    def __post_init__(self) -> None:
        if self.size != 2:
            raise ParameterError(f"Randomized response is for two values, not {self.size:,}; write protocol='k-ary'.")
