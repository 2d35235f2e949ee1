"""Statistics: what engines count, whole numbers on a public grid for every group; and how far one protected unit can move them.

There are five. ``Sums``: over the rows of a group, of one whole number a row (a ``Measure``) whose least and largest value are
public. ``Margin``: the same where groups are added up. ``Persons``: distinct persons. ``Histogram``: rows by cell, over one or
several expressions. ``KeyCounts``: units by key, where the keys are open. A statistic knows no mechanism; what it declares
here, every mechanism is calibrated to.

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
* **Histograms**: a row is in one cell of one group and adds 1: b = 1, and the cells of all groups are the groups. A person's rows
  weigh r together in each of m chosen groups, all in one cell at worst: the same norms, but even without groups a person who is
  replaced leaves one cell and enters another.

* **Margins**: persons are bounded in L1 whatever the noise, once for all levels: cells of at most r, together at most r m. Of
  the k cells that a level adds up to one, k' = min(k, m) are a person's at worst. The level moves by r m in L1; in L2 most
  where as many as possible are full, by r sqrt(q k'^2 + e^2) with m = q k' + e. Rows are in one cell of every level. What is
  exchanged moves a level of one cell by r m (h - l); of rows by h - l.
* **Sums apart** (``Sums.apart``): of k measures of the whole table, all from l to h with 0 between, of which at most one is not 0
  in any row, as sums by level of a category are. A row's vector is one of t e_j with l <= t <= h, so it moves the k sums as it
  moves groups. The weights of a person's rows add up to at most r, whatever the levels, so a person's vector is in r times the
  convex hull of these, 0 included; numbers that are cut off towards zero stay there. What is convex is furthest apart at its
  corners: all norms are r times those of a row, for rows added, removed and replaced. Other sums of the same plan have the
  same weights, so that levels add up to the whole, which they need not where levels are keys. The same holds of measures whose
  vector in any row is in a set that is known by its largest norms (``Sums.reach``); two rows are at most twice as far apart.
* **Persons of one row** (``OneRow``): r = m = 1, and rows are whole.

Weighted numbers are kept in ``2**bits`` parts of a unit and cut off towards zero, so that the bounds hold for whole numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from discreet.errors import ParameterError
from discreet.exact import root_up
from discreet.plan.expressions import Expression, Value
from discreet.plan.expressions.facts import Facts, tell_apart
from discreet.plan.measures import COARSE, FINER, Frame, Measure, Norms, norms_of_persons, round_norms
from discreet.schema.sensitivity import move
from discreet.schema.units import OneRow, Person, Rows, Unit

MOST_CELLS = 2**16  # of one histogram in which a quantile is sought
MOST_WORK = 2**23  # cells of all groups together
CELL_BITS = 12  # of a person's weight in a histogram


@dataclass(frozen=True)
class Contest:
    """How far one unit moves the scores among which the largest is chosen, in ``2**-bits`` units; in how many contests it takes
    part; and whether it moves all scores the same way."""

    sensitivity: int
    times: int
    monotonic: bool
    bits: int


@dataclass(frozen=True)
class Sums:
    """The sums of some measures in every group, one measure after the other: usually of one; of the two of a mean that is a pair
    (``aggregates.soft``); of as many as there are candidates, where one is chosen for the whole table. ``apart``: what they are,
    in words, where they have a sensitivity together: because no row adds to two of them, or because of what one row adds to all
    of them at most, which ``reach`` says, in L1 and, squared, in L2."""

    of: tuple[Measure, ...]
    apart: str = ""
    reach: tuple[int, int] | None = None

    tabular: ClassVar[bool] = False

    @cached_property
    def _hash(self) -> int:
        return hash((self.of, self.apart, self.reach))

    def __hash__(self) -> int:  # once: of many measures it takes long
        return self._hash

    @property
    def worth(self) -> Fraction:
        """What one unit is worth: the same for all measures."""
        return self.of[0].worth

    def norms(self, frame: Frame) -> Norms:
        """Of the one measure that there is, of both of a pair together, or of all that are apart."""
        if self.apart:
            return self._apart(frame)
        if self.is_pair:
            return self._pair(frame)
        (measure,) = self.of
        return measure.norms(frame)

    @property
    def is_pair(self) -> bool:
        """Whether these are the two numbers of a mean, which have a sensitivity together."""
        return not self.apart and len(self.of) == 2 and self.of[1].what != "value"

    def _apart(self, frame: Frame) -> Norms:
        """Of a row in one of them, or in all of them within their reach; of a person r times as much."""
        assert frame.groups == 1, "a person's weights add up to r in the whole table"
        low, high = min(0, *(one.low for one in self.of)), max(0, *(one.high for one in self.of))
        if self.reach is None:
            l1, square = move(low, high, grouped=True, neighbours=frame.unit.neighbours)
        else:
            l1, square = (2 * self.reach[0], 4 * self.reach[1]) if frame.exchanged else self.reach
        if not isinstance(frame.unit, Person):
            return round_norms(l1, square)
        bits = 0 if isinstance(frame.unit, OneRow) else max(0, 16 - max(-low, high).bit_length())
        rows = frame.unit.rows << bits
        return round_norms(rows * l1, rows**2 * square, bits)

    def _pair(self, frame: Frame) -> Norms:
        """A row adds S to soft counts together, whatever it holds; to a sum around the middle and b times a count at most 2b,
        and so much is also the most by which one row for another moves these two."""
        value, other = self.of
        soft, unit = other.what == "rest", frame.unit
        row, rows = value.high if soft else 2 * value.bound, unit.rows if isinstance(unit, Person) else 1
        bits = max(0, 16 - row.bit_length()) if isinstance(unit, Person) else 0
        if frame.exchanged and frame.groups == 1 and not soft:
            return Norms(rows * row << bits, rows * row << bits, bits)
        if isinstance(unit, Person):
            return norms_of_persons(rows * row << bits, frame, bits, signed=not soft)
        l1, square = move(0, row, grouped=True, neighbours=unit.neighbours)
        return round_norms(l1, square if soft else l1**2)

    def contest(self, frame: Frame) -> Contest:
        """Candidates' sums: each moves by at most the largest norm; all the same way if no score, or every score, is negative."""
        sizes = [measure.norms(Frame(frame.unit, 1, frame.whole_table)) for measure in self.of]
        bits = max(size.bits for size in sizes)
        one_way = all(measure.low >= 0 for measure in self.of) or all(measure.high <= 0 for measure in self.of)
        return Contest(max(size.l1 << (bits - size.bits) for size in sizes), 1, one_way and not frame.exchanged, bits)

    def public(self, unit: Unit) -> int:
        """The sum where it is the same for all neighbours: every row of a table of public size adds the same."""
        return (unit.size or 0) * self.of[0].high

    def __str__(self) -> str:
        if self.apart:
            return self.apart
        if self.is_pair:
            return f"count and sum of {self.of[0].of}, as a pair"
        return ", ".join(map(str, self.of))


@dataclass(frozen=True)
class Margin:
    """The sums of a measure where groups are added up: of ``keys`` with so many values each (``sizes``) some are ``kept``."""

    of: Measure
    keys: tuple[str, ...]
    sizes: tuple[int, ...]
    kept: tuple[int, ...]

    tabular: ClassVar[bool] = False

    @property
    def worth(self) -> Fraction:
        return self.of.worth

    @property
    def count(self) -> int:
        """The cells that are left."""
        return math.prod(self.sizes[axis] for axis in self.kept)

    def norms(self, frame: Frame) -> Norms:
        """How far one unit moves what is left, in the same parts of a unit at all levels, so that cells are counted once."""
        unit, low, high = frame.unit, min(self.of.low, 0), max(self.of.high, 0)
        if isinstance(unit, Rows):
            if self.count == 1 and frame.whole_table and self.of.always and frame.exchanged:
                low, high = self.of.low, self.of.high  # a row is always there
            return _in_parts(*move(low, high, grouped=self.count > 1, neighbours=unit.neighbours), self.of.bound, 0)
        bits = 0 if isinstance(unit, OneRow) else max(0, 16 - self.of.bound.bit_length())
        row, most = unit.rows * self.of.bound << bits, frame.most
        if frame.exchanged and self.count == 1:
            span = unit.rows * most * (high - low) << bits
            return _in_parts(span, span**2, row, bits)
        added = min(math.prod(self.sizes) // self.count, most)
        full, rest = divmod(most, added)
        times = (4 if self.of.low < 0 else 2) if frame.exchanged else 1
        l1, square = row * most * min(times, 2), times * row**2 * (full * added**2 + rest**2)
        return _in_parts(l1, square, row, bits)

    def public(self, unit: Unit) -> int:
        """The sum where it is the same for all neighbours."""
        return Sums((self.of,)).public(unit)

    def __str__(self) -> str:
        return f"{self.of} by {', '.join(self.keys[axis] for axis in self.kept)}" if self.kept else f"{self.of} in all"


@dataclass(frozen=True)
class Persons:
    """Distinct persons of every group."""

    worth: ClassVar[Fraction] = Fraction(1)
    tabular: ClassVar[bool] = False

    def norms(self, frame: Frame) -> Norms:
        """A person counts once in each of its groups."""
        return Norms(1, 1) if frame.exchanged and frame.groups == 1 else norms_of_persons(1, frame, 0)

    def __str__(self) -> str:
        return "count(DISTINCT person)"


@dataclass(frozen=True)
class Axis:
    """The cells of one expression: cell i is ``values[i]``, or what is nearest to ``first + i * width``, up to ``last``."""

    of: Expression
    count: int
    first: Fraction = Fraction(0)
    width: Fraction = Fraction(1)
    last: Fraction = Fraction(0)
    values: tuple[Value, ...] | None = None
    exact: bool = True  # whether nothing is rounded into a cell

    def __post_init__(self) -> None:
        if self.values is not None and (len(tell_apart(self.values)), len(self.values)) != (self.count, self.count):
            raise ParameterError(f"A row could be in two cells of {self.of}; list values that differ as doubles.")


@dataclass(frozen=True)
class Histogram:
    """Rows by cell in every group. Over several axes a cell is a combination, numbered as the last axis turns fastest."""

    axes: tuple[Axis, ...]

    worth: ClassVar[Fraction] = Fraction(1)
    tabular: ClassVar[bool] = True  # a line of cells for every group

    @property
    def count(self) -> int:
        """The cells of one group."""
        return math.prod(axis.count for axis in self.axes)

    def bits(self, unit: Unit) -> int:
        """Cells are counted in ``2**-bits`` rows."""
        return CELL_BITS if isinstance(unit, Person) and not isinstance(unit, OneRow) else 0

    def norms(self, frame: Frame) -> Norms:
        """How far one unit moves all cells of all groups."""
        if isinstance(frame.unit, Rows):
            return round_norms(*move(0, 1, grouped=True, neighbours=frame.unit.neighbours))
        bits = self.bits(frame.unit)
        return norms_of_persons(frame.unit.rows << bits, frame, bits)

    def contest(self, frame: Frame, *, ranks: bool = False) -> Contest:
        """What one unit weighs in a group's histogram, and how many contests its price must be multiplied by.

        A unit that comes or goes takes part in m contests. One that is replaced leaves m and enters m. For counts of which the
        largest wins, a contest that one unit both leaves and enters is moved by twice the range of one that it only leaves (the
        selection is not called monotonic then), and m contests of full price cover both cases. Losses of a quantile (``ranks``)
        move by the whole range either way: 2m, but in no more contests than there are groups.
        """
        unit, bits = frame.unit, self.bits(frame.unit)
        times, weight = (unit.groups, unit.rows << bits) if isinstance(unit, Person) else (1, 1)
        if ranks and frame.exchanged:
            times *= 2
        times = times if frame.groups is None else min(times, frame.groups)
        return Contest(weight, times, not frame.exchanged, bits)

    def __str__(self) -> str:
        return f"{self.count:,} cells of {', '.join(str(axis.of) for axis in self.axes)}"


@dataclass(frozen=True)
class KeyCounts:
    """The units that share every key, where keys are open."""

    worth: ClassVar[Fraction] = Fraction(1)
    tabular: ClassVar[bool] = False

    def __str__(self) -> str:
        return "keys"


Statistic = Sums | Margin | Persons | Histogram | KeyCounts


def list_axis(of: Expression, facts: Facts) -> Axis | None:
    """A cell for every value of a public list, where there is one."""
    listed = facts.listed()
    values = None if listed is None else tell_apart(listed)
    return None if values is None else Axis(of, len(values), values=values)


def _in_parts(l1: int, square: int, row: int, bits: int) -> Norms:
    """The same in parts of a unit that are fine enough for what one row adds, at every level alike."""
    finer = 0 if row > COARSE else FINER
    return Norms(l1, math.ceil(root_up(Fraction(square)) * 2**finer), bits, finer)
