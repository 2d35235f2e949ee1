"""Values that a program gives, as plain ones: what is meant is the shortest decimal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.plan.expressions.values import plain_values


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.float32(1e20), 10**20),
        (np.int64(3), 3),
        (np.float32(3), 3),
    ],
)
def test_a_number_means_its_shortest_decimal(given: Any, meant: Any) -> None:
    assert plain_values("Candidates", [given], "choose([200, 500], score=...)") == (meant,)
