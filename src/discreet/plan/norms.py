"""How far one protected unit can move a statistic, in whole units: the declarations that every release stands on.

Let a row add at most b (``bound``) in size to one group, and let there be K groups.

* **Rows, added or removed**: one group moves by at most b. L1 = L2 = b.
* **Rows, replaced**: two groups move by b each, or one by h - l (h, l: the largest and least a row can add, 0 included where
  it can be filtered out or missing). L1 = max(2b, h - l), L2 = max(sqrt(2) b, h - l); without groups only h - l.
* **Persons, added or removed**: the engine gives every row of a person one weight, the same for all measures, such that the
  person's counts c (weighted rows by group) have norm at most r m in L1, or r sqrt(m) in L2, m = min(g, K). A measure adds at
  most b c in a group, so its norm is at most b times that.
* **Persons, replaced**: the distance of two such vectors, twice the norm; in L2 sqrt(2) times for vectors that are nowhere
  negative.
  Without groups both are numbers from r l to r h: r (h - l).

Weighted numbers are kept in ``2**bits`` parts of a unit and cut off towards zero, so that the bounds hold for whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.exact import root_up
from discreet.plan.expressions import Column
from discreet.plan.measures import Measure, Persons
from discreet.schema.units import Person, Rows, Unit

__all__ = ["CELL_BITS", "Norms", "cell_norms", "norms"]

CELL_BITS = 12  # of a person's weight in a histogram
_COARSE, _FINER = 2**10, 8  # norms up to 2^10 that are irrational are rounded up to multiples of 2^-8


@dataclass(frozen=True)
class Norms:
    """Whole numbers, in ``2**-bits`` units of the measure; ``l2`` in ``2**-(bits + finer)``."""

    l1: int
    l2: int
    bits: int = 0
    finer: int = 0


def norms(measure: Measure | Persons, unit: Unit, groups: int | None, *, whole_table: bool) -> Norms:
    """``groups``: how many there can be, None if the keys are open; ``whole_table``: no row can be filtered out."""
    if isinstance(unit, Rows):
        assert isinstance(measure, Measure)
        plain = measure.of is None or (isinstance(measure.of, Column) and "." not in measure.of.name)
        return _of_rows(measure, unit, groups, whole_table and plain and not measure.nullable)
    most = unit.groups if groups is None else min(unit.groups, groups)
    if isinstance(measure, Persons):
        count, squares, bits, signed, span = most, Fraction(most), 0, False, 1
    else:
        bits = max(0, 16 - measure.bound.bit_length())
        row = unit.rows * measure.bound << bits
        count, squares, signed = row * most, Fraction(row**2 * most), measure.low < 0
        span = unit.rows * (max(measure.high, 0) - min(measure.low, 0)) << bits
    if unit.neighbours == "add-remove":
        return _irrational(count, squares, bits)
    if groups == 1:
        return Norms(span, span, bits)
    return _irrational(2 * count, (4 if signed else 2) * squares, bits)


def _of_rows(measure: Measure, unit: Rows, groups: int | None, always: bool) -> Norms:
    if unit.neighbours == "add-remove":
        return Norms(measure.bound, measure.bound)
    low, high = (measure.low, measure.high) if always and groups == 1 else (min(measure.low, 0), max(measure.high, 0))
    if groups == 1:
        return Norms(high - low, high - low)
    return _irrational(max(2 * measure.bound, high - low), Fraction(max(2 * measure.bound**2, (high - low) ** 2)), 0)


def _irrational(l1: int, square: Fraction, bits: int) -> Norms:
    """An L2 norm that is no whole number, rounded up to one, in parts of a unit where a whole one would be too coarse."""
    root = root_up(square)
    finer = 0 if root.denominator == 1 or root > _COARSE else _FINER
    return Norms(l1, math.ceil(root * 2**finer), bits, finer)


def cell_norms(unit: Unit, groups: int | None, *, quantile: bool) -> tuple[int, int]:
    """(weight, times): what one unit weighs in a group's histogram, and how many contests its price must be multiplied by.

    A unit that comes or goes takes part in m contests. One that is replaced leaves m and enters m. For counts of which the
    largest wins, a contest that one unit both leaves and enters is moved by twice the range of one that it only leaves (the
    selection is not called monotonic then), and m contests of full price cover both cases. Losses of a quantile move by the
    whole range either way: 2m, but in no more contests than there are groups.
    """
    times, weight = (unit.groups, unit.rows << CELL_BITS) if isinstance(unit, Person) else (1, 1)
    if quantile and unit.neighbours == "replace":
        times *= 2
    return weight, times if groups is None else min(times, groups)
