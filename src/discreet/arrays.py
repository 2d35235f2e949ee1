"""Types of arrays and numbers that every room shares, and sums over them that are the same every time."""

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


HEIGHT = 1024  # rows of one product


def multiply(rows: Reals, matrix: Reals) -> Reals:
    """``rows @ matrix``, in which every line is made of its own row alone, to the last digit.

    A library of linear algebra computes the last digits of a line by other instructions where there are more rows beside it, or
    fewer: then what one person's row gives would change with somebody else's. So products always have the same number of rows.
    """
    made, some = np.empty((len(rows), matrix.shape[1])), np.zeros((HEIGHT, rows.shape[1]))
    for start in range(0, len(rows), HEIGHT):
        part = rows[start : start + HEIGHT]
        some[: len(part)], some[len(part) :] = part, 0.0
        made[start : start + HEIGHT] = (some @ matrix)[: len(part)]
    return made
