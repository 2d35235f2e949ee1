"""Sums of turning terms, sum_z w_z (e^(i t l_z) - 1), at many multiples t of one step: what characteristic functions are made of.

Subtracting 1 keeps the digits of small losses: where phi is 1 + something small, the small part is known relatively. With t = b
+ c, b from a coarse grid and c from a fine one, e^(itl) - 1 = (e^(ibl) - 1) + e^(ibl) (e^(icl) - 1): a sum for each b, and a
matrix product for all b and c. Exponentials are needed for the two grids only: about twice the root of the number of nodes.

**Rounding.** With Im l >= 0, |e^(itl)| <= 1. Each e^z - 1 is computed to 16 units of itself for a given z; z = itl errs by 8
units of |z| (t is a multiple of the step to 4 units); sums are taken over 32
complex terms at a time, which costs at most 64 sqrt(2) < 96 units of their moduli in whatever order a library adds, and those
are added up, n / 32 more. In all that is at most 128 + n / 32 units of sum |w| (|e^(ibl) - 1| + |e^(icl) - 1|) <= t sum |w| |l|,
since b + c = t: less than ``units(n)``.

``Nodes`` are the sums the other way round, over the nodes t for one loss: where most nodes are there they stand in rows of one
matrix, whose columns are turned alike and whose sums are then turned row by row; else each is turned by itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.arrays import Complex, Integers, Reals

__all__ = ["Nodes", "expm1", "turned_sums", "units"]

_FEWEST, _MOST = 16, 128  # points of the fine grid
_EXPONENTIAL = 20  # products take as long
_TERMS = 32  # added up at a time
_BLOCK = 1 << 18
_ROWS = 12  # small matrices: larger ones are given to threads, which spin
_COLUMNS = 1024  # of nodes
_DENSE = 4  # times as many places as nodes may stand in a matrix


def units(terms: int) -> float:
    """Of rounding, for each unit of t and of the mean modulus of the losses."""
    return 2 * (80 + terms / _TERMS)


def turned_sums(t: Reals, losses: Reals | Complex, weights: Reals | Complex) -> Complex:
    """One sum for each t; the imaginary parts of the losses must not be negative."""
    if t.size < _FEWEST:
        return _direct(t, losses, weights)
    step = float(t[-1]) / max(1, round(float(t[-1]) / float(np.diff(t).min())))
    index = np.rint(t / step).astype(np.int64)
    if not np.abs(index * step - t).max() <= 4e-16 * t[-1]:  # few are left, no two of them neighbours
        return _direct(t, losses, weights)
    columns = min(max(1 << (t.size.bit_length() // 2), _FEWEST), _MOST)
    lines = index // columns
    row = np.cumsum(np.diff(lines, prepend=lines[0]) != 0)
    coarse = np.empty(row[-1] + 1, dtype=np.int64)
    coarse[row] = lines
    if _EXPONENTIAL * (columns + coarse.size - t.size) + columns * coarse.size > 0:  # few nodes of each row are left
        return _direct(t, losses, weights)
    fine = expm1(np.multiply.outer(1j * step * np.arange(columns), losses)).T
    result = np.empty((coarse.size, columns), dtype=np.complex128)
    for rows in np.array_split(np.arange(coarse.size), -(-coarse.size // _ROWS)):  # never one alone: threads would get it
        jump = expm1(np.multiply.outer(1j * step * columns * coarse[rows], losses))
        still = (jump * weights).sum(axis=1)
        jump += 1
        jump *= weights
        block = np.repeat(still[:, None], columns, axis=1)
        for first in range(0, losses.size, _TERMS):
            block += jump[:, first : first + _TERMS] @ fine[first : first + _TERMS]
        result[rows] = block
    found: Complex = result[row, index % columns]
    return found


def _direct(t: Reals, losses: Reals | Complex, weights: Reals | Complex) -> Complex:
    rows = max(1, _BLOCK // losses.size)
    result = np.empty(t.size, dtype=np.complex128)
    for start in range(0, t.size, rows):
        some = slice(start, start + rows)
        if np.isrealobj(losses) and np.isrealobj(weights):  # e^(ib) - 1 = -2 sin^2(b/2) + i sin b
            turned = np.multiply.outer(t[some], losses)
            half = np.sin(turned / 2)
            result.real[some] = -2 * (half * half * weights).sum(axis=1)
            result.imag[some] = (np.sin(turned) * weights).sum(axis=1)
        else:
            result[some] = (expm1(np.multiply.outer(1j * t[some], losses)) * weights).sum(axis=1)
    return result


def expm1(z: Complex) -> Complex:
    """e^z - 1 = (e^a - 1) cos b - 2 sin^2(b/2) + i e^a sin b, to a few units of its modulus."""
    a, b = z.real, z.imag
    small = np.expm1(a)
    half = np.sin(b / 2)
    result = np.empty_like(z)
    result.real = small * np.cos(b) - 2 * half * half
    result.imag = (small + 1) * np.sin(b)
    return result


@dataclass(frozen=True, eq=False)
class Nodes:
    """Values at multiples of one step."""

    step: float
    index: Integers  # ascending: nodes are index * step
    values: Complex  # at these, or a matrix of all from 0 on

    @classmethod
    def of(cls, step: float, index: Integers, values: Complex) -> Nodes:
        rows = int(index[-1]) // _COLUMNS + 1 if index.size else 0
        if 0 < rows * _COLUMNS <= _DENSE * index.size:
            matrix = np.zeros(rows * _COLUMNS, dtype=np.complex128)
            matrix[index] = values
            values = matrix.reshape(rows, _COLUMNS)
        return cls(step, index, values)

    def turned(self, loss: float) -> float:
        """The real part of the sum of values * e^(-i t loss), within 96 units of the values' moduli and 8 of t |loss| of them.

        Each is multiplied by two rounded exponentials and added up pairwise, twice where they stand in rows.
        """
        turn, last = -1j * loss * self.step, int(self.index[-1]) if self.index.size else 0
        fine, coarse = np.exp(turn * np.arange(_COLUMNS)), np.exp(turn * _COLUMNS * np.arange(last // _COLUMNS + 1))
        if self.values.ndim == 1:
            phases = coarse[self.index // _COLUMNS] * fine[self.index % _COLUMNS]
            return float((self.values * phases).real.sum())
        rows = [(some * fine).sum(axis=1) for some in np.array_split(self.values, -(-len(self.values) // 32))]
        return float((np.concatenate(rows) * coarse).real.sum())
