"""Laws cut into lattice cells, rounded up (dominating) or down (dominated).

Cell j is the interval [a, b], a = first + j h, b = a + h, with P-mass p and Q-mass q. Cutting a law into cells and keeping only
the masses is post-processing; what is left to do is to move each cell onto lattice points.

*Up* (connect the dots, Doroshenko et al. 2022): p_right + p_left = p and p_right e^-b + p_left e^-a = q put the cell on its two
ends with both masses kept. The cell is a merger of its ends, so this dominates; and so does any larger p_right.

*Down*: a cell gives half to each end. At a lattice point, the half cell above has too much P (surplus p - q e^a), the half
cell below too little (deficit q e^b - p); merged as far as the two balance they have exactly that point's loss. What is left
of the half above moves down to the point; what is left of the half below moves down to the next point. Merging and lowering
losses never raise the hockey-stick, and any smaller part may be merged.

**No cancellation.** Surplus and deficit are differences of nearly equal numbers, so they are never computed as such: for a list
of losses l they are sums of p_i (1 - e^(a - l_i)) and p_i (e^(b - l_i) - 1), for a density closed forms, all positive. They come
with a bound ``slack`` on their errors, by which both roundings are pushed in their safe direction: p_right = surplus / (1 -
e^-h) is raised, and the merged part of a half cell, surplus / deficit, is lowered in the numerator and raised in the denominator.

Cells whose true edges lie within ``blur`` of the lattice's are moved onto them, P-masses kept; that stretches a cell by at most
2 blur / h, and surplus and deficit (at most p (e^h - 1)) by the same share: ``bound_stretch`` says how much that is.

Densities proportional to e^(l/2) between -epsilon and epsilon (``Smooth``), with or without atoms at the ends, round without
loss of balance: the P- and Q-mass of any cell [a, b] have the ratio e^((a+b)/2), that of its middle.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.privacy.losses.atoms import Atoms, Listed, listed_atoms
from discreet.privacy.losses.base import UNIT, Loss
from discreet.privacy.losses.law import Law, Spread

_ON = 2.0**-30  # of a step: losses this close below a lattice point count as on it


def round_cells(
    first: Fraction,
    step: Fraction,
    p: Reals,
    surplus: Reals,
    deficit: Reals,
    slack: Reals,
    *,
    up: bool,
    error: float,
    blur: float,
) -> Atoms:
    """Move the cells [first + j step, first + (j + 1) step] onto their lattice, which starts one step before ``first``."""
    gain = -math.expm1(-float(step))
    masses = np.zeros(p.size + 2)  # points first - 1, first, ...
    slack = slack + 16 * UNIT * (surplus + deficit)
    if up:
        # p_right of every cell goes to its right end, the rest to its left end; more to the right is always safe.
        right = np.clip((surplus + slack) / gain, 0.0, p)
        masses[2:] += right
        masses[1:-1] += p - right
    else:
        # At each right end: as much of the half cells on both sides as balances is merged there, all else moves down.
        above = np.append(np.maximum(surplus[1:] - slack[1:], 0.0), 0.0)  # of the cell above each right end
        below = deficit + slack
        matched = np.minimum(1.0, np.divide(above, below, out=np.zeros_like(above), where=below > 0)) * (1 - 16 * UNIT)
        masses[2:] += matched * p / 2
        masses[1:-1] += (2 - matched) * p / 2
    return Atoms(first - step, step, masses, error + 64 * UNIT, blur=blur)


def bound_stretch(step: Fraction, p: Reals, blur: float) -> Reals:
    """What ``blur`` of the edges may change surplus and deficit by."""
    h = float(step)
    return 4 * blur / h * math.expm1(min(2 * h, 600.0)) * p


def round_atoms(atoms: Atoms, step: Fraction, *, up: bool) -> Atoms:
    """A lattice law moved onto another lattice, which starts where it starts."""
    blur = atoms.blur + 8 * UNIT * float(np.abs(atoms.losses).max())
    return atoms_to_cells(atoms.losses, atoms.mass, atoms.first, step, up=up, error=atoms.error, blur=blur, lost=atoms.lost)


def atoms_to_cells(
    losses: Reals, p: Reals, first: Fraction, step: Fraction, *, up: bool, error: float, blur: float, lost: float = 0.0
) -> Atoms:
    """Any ascending atoms from ``first`` on, gathered into cells and rounded.

    The place of a loss within its cell is known to 8 units of the farthest loss, and so are the two exponents. A loss within
    2^-30 of a step below a lattice point, or what it is known to, is taken to lie on it: ``blur`` covers the move.
    """
    h, start = float(step), float(first)
    known = 8 * UNIT * max(abs(start), float(np.abs(losses).max()))
    cell = np.floor((losses - start) / h + max(_ON, 2 * known / h)).astype(np.int64)
    place = (losses - start) - h * cell
    inside = np.clip(place, 0.0, h)
    gathered = np.zeros((3, int(cell.max()) + 1))
    with np.errstate(over="ignore"):
        for row, part in enumerate((p, p * -np.expm1(-inside), p * np.minimum(np.expm1(h - inside), 1e300))):
            np.add.at(gathered[row], cell, part)
    mass, surplus, deficit = gathered
    slack = (known * math.exp(min(h, 300.0)) + (losses.size + 16) * UNIT * math.expm1(min(h, 300.0))) * mass
    snap = max(0.0, float(-place.min()))
    rounded = round_cells(
        first, step, mass, surplus, deficit, slack, up=up, error=error + (losses.size + 64) * UNIT, blur=blur + snap + known
    )
    return replace(rounded, lost=lost)


_PIECES = 1 << 11  # on either side of 0


class Smooth(Loss):
    """A loss given by ``between``."""

    epsilon: Fraction

    @property
    def pure(self) -> Fraction:
        return self.epsilon

    @property
    def divisor(self) -> Fraction:
        return self.epsilon

    @abstractmethod
    def between(self, left: Reals, width: Reals | float) -> tuple[Reals, float]:
        """P-masses of the density over cells that start at ``left``, and P's mass on the atom at epsilon.

        Within ``error`` of themselves: exponents are known to 4 units of epsilon.
        """

    @property
    def error(self) -> float:
        return (64 + 8 * float(self.epsilon)) * UNIT

    def lattice(self, step: Fraction | None, *, up: bool) -> Atoms:
        """Cells of the density between multiples of the step.

        Up: split into the cell's two ends so that both masses are kept (connect the dots): refining dominates. The right end gets
        p_right = (p - q e^a) / (1 - e^-h) = p / (1 + e^(-h/2)). Down: merge into its middle, on a lattice of half the step.
        """
        wanted = step or self.epsilon / 64
        cells = int(2 * self.epsilon / wanted)
        h, e = float(wanted), float(self.epsilon)
        mass, top = self.between(-e + h * np.arange(cells, dtype=np.float64), h)
        masses = np.zeros(cells + 1 if up else 2 * cells + 1)
        if up:
            masses[1:] += mass / (1 + math.exp(-h / 2))
            masses[:-1] += mass / (1 + math.exp(h / 2)) if h < 1400 else 0.0
        else:
            masses[1::2] += mass
        masses[0] += top * math.exp(-e)
        masses[-1] += top
        return Atoms(-self.epsilon, wanted if up else wanted / 2, masses, self.error)

    def pieces(self, *, up: bool) -> Listed:
        return listed_atoms(self.lattice(self.epsilon / _PIECES, up=up))

    @property
    def title(self) -> str:
        return f"{self.kind} ε = {float(self.epsilon):.4g}"

    def _law(self, scale: float, top: float) -> Law:
        """With the density scale / 2 e^((x - epsilon) / 2), and P's mass ``top`` on the atom at epsilon."""
        e = float(self.epsilon)
        spread = Spread(
            -e,
            e,
            lambda x: scale / 2 * np.exp((x - e) / 2),
            lambda x: scale * np.exp((x - e) / 2) * -np.expm1(-(x + e) / 2),
            lambda x: scale * -np.expm1((x - e) / 2),
        )
        ends, masses = ([-e, e], [top * math.exp(-e), top]) if top else ([], [])
        return Law(np.array(ends), np.array(masses), spread, 0.0, (-e, e), *self.mean_variance())
