"""A protocol for frequencies that nobody needs: k-ary randomized response whose reports count from the end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from discreet.arrays import Integers
from discreet.balls import arb
from discreet.local.protocols.base import Rows
from discreet.local.protocols.k_ary import KAry


@dataclass(frozen=True)
class Backwards(KAry):
    """The report is size - 1 less a value's number."""

    name: ClassVar[str] = "backwards"

    def _draw(self, codes: Integers) -> Integers:
        return self.size - 1 - super()._draw(codes)

    def likelihood(self, row: Rows, code: int) -> arb:
        return super().likelihood(np.array(self.size - 1 - row.item()), code)

    def support(self, tally: Integers) -> Integers:
        return tally[::-1]
