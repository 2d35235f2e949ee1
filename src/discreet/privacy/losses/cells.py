"""Laws cut into lattice cells, rounded up (dominating) or down (dominated).

Cell j is the interval [a, a + h], a = first + j h, with P-mass p and Q-mass q. Cutting a law into cells and keeping only the
masses is post-processing; what is left to do is to move each cell onto lattice points.

*Up* (connect the dots, Doroshenko et al. 2022): p_right + p_left = p and p_right e^-(a+h) + p_left e^-a = q put the cell on
its two ends with both masses kept. The cell is a merger of its ends, so this dominates.

*Down*: a cell gives half to each end. At a lattice point, the half cell above has too much P (surplus p - q e^a), the half
cell below too little (deficit q e^a - p); merged as far as the two balance they have exactly that point's loss. What is left
of the half above moves down to the point; what is left of the half below moves down to the next point. Merging and lowering
losses never raise the hockey-stick.

Both are pushed by 8 units of p / h in their safe direction, for the rounding of the differences.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.privacy.losses.base import UNIT, Atoms, Reals

__all__ = ["atoms_to_cells", "round_cells", "rounded_atoms"]


def round_cells(first: Fraction, step: Fraction, p: Reals, q: Reals, *, up: bool) -> Atoms:
    """Move the cells [first + j step, first + (j + 1) step] onto their lattice."""
    h = float(step)
    left = float(first) + np.arange(p.size) * h
    gain = -math.expm1(-h)
    doubt = 8 * UNIT / gain
    masses = np.zeros(p.size + 2)  # points first - 1, first, ...
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # far out q is 0 and e^l beyond the doubles
        at_left, at_right = q * np.exp(left), q * np.exp(left + h)
        if up:
            right = np.clip((p - np.nan_to_num(at_left)) / gain + doubt * p, 0.0, p)
            masses[2:] += right
            masses[1:-1] += p - right
        else:
            surplus = np.maximum((p - np.where(np.isnan(at_left), p, at_left)) / 2, 0.0)  # of cell j, at its left end
            deficit = np.maximum((np.where(np.isnan(at_right), np.inf, at_right) - p) / 2, 0.0)  # at its right end
            masses[1:-1] += p / 2
            above = np.append(surplus[1:], 0.0)  # the cell above each right end
            matched = np.where(deficit > 0, np.minimum(1.0, above / deficit), 1.0)
            matched = np.clip(np.nan_to_num(matched) - doubt, 0.0, 1.0)
            matched[p <= 0] = 0.0
            masses[2:] += matched * p / 2
            masses[1:-1] += (1 - matched) * p / 2
    return Atoms(first - step, step, masses, 2**12 * UNIT, blur=64 * UNIT * float(np.abs(left).max(initial=0.0)))


def rounded_atoms(atoms: Atoms, step: Fraction, *, up: bool) -> Atoms:
    """A lattice law moved onto another lattice, which starts where it starts."""
    moved = atoms_to_cells(atoms.losses, atoms.mass, atoms.mass * np.exp(-atoms.losses), atoms.first, step, up=up)
    return replace(moved, lost=atoms.lost)


def atoms_to_cells(losses: Reals, p: Reals, q: Reals, first: Fraction, step: Fraction, *, up: bool) -> Atoms:
    """Any ascending atoms from ``first`` on, gathered into cells and rounded."""
    # An atom on a lattice point belongs to the cell above; one a rounding error below the last point is on it.
    cell = np.floor((losses - float(first)) / float(step) + 2.0**-30).astype(np.int64)
    gathered = np.zeros((2, int(cell.max()) + 1))
    np.add.at(gathered[0], cell, p)
    np.add.at(gathered[1], cell, q)
    return round_cells(first, step, gathered[0], gathered[1], up=up)
