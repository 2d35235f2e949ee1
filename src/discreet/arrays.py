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


HEIGHT = 1024  # rows of one product, at most
_LOW = 64  # and at least
_ALONE = 2**18  # multiplications up to which a library asks no threads to help


def multiply(rows: Reals, matrix: Reals) -> Reals:
    """``rows @ matrix``, in which every line is made of its own row alone, to the last digit.

    A library of linear algebra computes the last digits of a line by other instructions where there are more rows beside it, or
    fewer: then what one person's row gives would change with somebody else's. So products always have the same number of rows:
    so few that no threads are asked to help, which spin for longer than they work, unless even few are much work.
    """
    few = 1 << (_ALONE // max(matrix.size, 1)).bit_length() - 1 if matrix.size <= _ALONE else 0
    height = min(few, HEIGHT) if few >= _LOW else HEIGHT
    made, some = np.empty((len(rows), matrix.shape[1])), np.zeros((height, rows.shape[1]))
    for start in range(0, len(rows), height):
        part = rows[start : start + height]
        some[: len(part)], some[len(part) :] = part, 0.0
        made[start : start + height] = (some @ matrix)[: len(part)]
    return made
