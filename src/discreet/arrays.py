"""Types of arrays and numbers that every room shares, and one sum over them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Complex = NDArray[np.complex128]
Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

Number = int | float | Fraction | Decimal
"""What a caller may write for a number: exact, or a float, which means its shortest decimal."""


def dot(weights: Reals, values: Reals) -> float:
    """The sum of weights * values, pairwise; a long product of vectors would be given to threads, which spin."""
    return float((weights * values).sum())
