"""What an aggregate needs counted: whole numbers on a public grid, one for every group.

A measure is the sum, over the rows of a group, of one whole number a row, whose least and largest value are public. Means and
variances are taken around the middle of the declared range: half the bound, half the noise.

>>> from discreet.plan.expressions import Column
>>> from discreet.plan.expressions.facts import Facts
>>> from fractions import Fraction
>>> age = Facts("number", False, Fraction(0), Fraction(120), Fraction(1))
>>> [str(m) for m in needs(Mean(Column("age")), lambda _: age)]
['count(*)', 'sum(age - 60)']

How far one protected unit can move a statistic, in whole units: the declarations that every release stands on.

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
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import root_up
from discreet.plan.expressions import Column, Expression, Value, substitute
from discreet.plan.expressions.facts import Facts
from discreet.plan.query import Aggregate, Best, Count, Mean, Mode, Output, Quantile, Sum, Variance
from discreet.schema.columns import default_step
from discreet.schema.units import Person, Rows, Unit

__all__ = [
    "CELL_BITS",
    "MOST_WORK",
    "ROWS",
    "Cells",
    "Commonest",
    "Measure",
    "Norms",
    "Persons",
    "Ranked",
    "Scores",
    "Statistic",
    "cell_norms",
    "needs",
    "norms",
    "statistics",
]

MOST_CELLS = 2**16  # of one histogram in which a quantile is sought
MOST_WORK = 2**23  # cells of all groups together
_HALVES = 2**52  # up to here a double and a half are a double, so that rounding carries nothing over a bound
_LARGEST_ROOT = 2**31  # its square is a 64-bit integer
_LARGEST_VALUE = 10**140  # sums of many of its squares are doubles


@dataclass(frozen=True)
class Measure:
    """``rows``: 1 a row; ``present``: 1 where ``of`` is not missing; ``value``: its units less ``shift``; ``square``: the square
    of that, less ``lift``."""

    what: Literal["rows", "present", "value", "square"]
    low: int  # the least and the largest number that a row adds
    high: int
    of: Expression | None = None
    nullable: bool = False
    step: Fraction = Fraction(1)  # what one unit of the value is worth
    shift: int = 0
    lift: int = 0

    @property
    def bound(self) -> int:
        """The most one row adds, in size."""
        return max(abs(self.low), abs(self.high))

    @property
    def worth(self) -> Fraction:
        """What one unit of the measure is worth."""
        return self.step**2 if self.what == "square" else self.step

    def __str__(self) -> str:
        if self.of is None:
            return "count(*)"
        middle = f" - {float(self.shift * self.step):g}" if self.shift else ""
        return {
            "rows": "count(*)",
            "present": f"count({self.of})",
            "value": f"sum({self.of}{middle})",
            "square": f"sum(({self.of}{middle})^2)",
        }[self.what]


@dataclass(frozen=True)
class Persons:
    """Distinct persons of every group."""

    def __str__(self) -> str:
        return "count(DISTINCT person)"


@dataclass(frozen=True)
class Cells:
    """A histogram of every group: rows by cell, where cell i is ``values[i]``, or what is nearest to ``first + i * width``."""

    of: Expression
    count: int
    first: Fraction = Fraction(0)
    width: Fraction = Fraction(1)
    values: tuple[Value, ...] | None = None
    exact: bool = True  # whether nothing is rounded into a cell

    def __str__(self) -> str:
        return f"{self.count:,} cells of {self.of}"


@dataclass(frozen=True)
class Ranked:
    """The cell of every group's histogram below which a share of the rows lies."""

    cells: Cells
    share: Fraction

    def __str__(self) -> str:
        return f"quantile({self.cells.of}, {float(self.share):g})"


@dataclass(frozen=True)
class Commonest:
    """The fullest cell of every group's histogram."""

    cells: Cells

    def __str__(self) -> str:
        return f"mode({self.cells.of})"


@dataclass(frozen=True)
class Scores:
    """One sum for every candidate, over the whole table."""

    of: tuple[Measure, ...]

    def __str__(self) -> str:
        return f"scores of {len(self.of)} candidates"


Statistic = Measure | Persons | Ranked | Commonest | Scores
FactsOf = Callable[[Expression], Facts]

ROWS = Measure("rows", 1, 1)


def statistics(outputs: tuple[Output, ...], facts: FactsOf, groups: int) -> dict[str, tuple[Statistic, ...]]:
    """What every output needs, by its name; what two outputs share is the same value. ``groups``: how many there can be."""
    averaged = {output.aggregate.of for output in outputs if isinstance(output.aggregate, (Mean, Variance))}
    found: dict[str, tuple[Statistic, ...]] = {}
    for output in outputs:
        aggregate = output.aggregate
        if isinstance(aggregate, Sum) and aggregate.of in averaged:
            found[output.name] = needs(Mean(aggregate.of), facts)  # a mean and a count say the sum already
        elif isinstance(aggregate, (Quantile, Mode)):
            cells = _cells(aggregate, facts(aggregate.of), groups)
            found[output.name] = (Ranked(cells, aggregate.share) if isinstance(aggregate, Quantile) else Commonest(cells),)
        else:
            found[output.name] = needs(aggregate, facts)
    return found


def needs(aggregate: Aggregate, facts: FactsOf) -> tuple[Statistic, ...]:
    """The sums behind one aggregate."""
    match aggregate:
        case Count(None):
            return (ROWS,)
        case Count(of) if of is not None:
            return (_present(of, facts(of)),)
        case Sum(of):
            return (_value(of, facts(of), centred=False),)
        case Mean(of):
            return (_present(of, facts(of)), _value(of, facts(of), centred=True))
        case Variance(of, _):
            value = _value(of, facts(of), centred=True, largest=_LARGEST_ROOT)
            if value.bound * value.step > _LARGEST_VALUE:
                raise ParameterError(f"{of} can grow beyond 1e140, and its squares beyond all doubles; write it in larger units.")
            top = value.bound**2
            square = Measure("square", -(top // 2), top - top // 2, of, value.nullable, value.step, value.shift, top // 2)
            return (_present(of, facts(of)), value, square)
        case Best(candidates, score):
            return (_scores(candidates, score, facts),)
        case _:
            return (Persons(),)


def _present(of: Expression, facts: Facts) -> Measure:
    return Measure("present", 0, 1, of, True) if facts.nullable else ROWS


def _value(of: Expression, facts: Facts, *, centred: bool, largest: int | None = None, step: Fraction | None = None) -> Measure:
    if facts.kind != "number" or facts.lower is None or facts.upper is None:
        raise ParameterError(
            f"{of} has no known bounds, so one row could change its sum by anything; "
            f"declare them, or write least(greatest({of}, 0), 100) with bounds that make sense."
        )
    unit = step or facts.step or default_step(facts.lower, facts.upper)
    private = isinstance(of, Column) and "." not in of.name
    most = largest or (2**63 if private else _HALVES)  # an expression, and a public column, is calculated in doubles
    while max(abs(facts.lower), abs(facts.upper)) / unit > most:
        unit *= 2
    low, high = math.floor(facts.lower / unit), math.ceil(facts.upper / unit)
    shift = (low + high) // 2 if centred else 0
    return Measure("value", low - shift, high - shift, of, facts.nullable, unit, shift)


def _scores(candidates: tuple[Value, ...], score: Expression, facts: FactsOf) -> Scores:
    """All on one grid, the finest that any of them needs."""
    each = [substitute(score, "candidate", candidate) for candidate in candidates]
    step = min(_value(one, facts(one), centred=False, largest=_HALVES).step for one in each)
    while any(_value(one, facts(one), centred=False, largest=_HALVES, step=step).step != step for one in each):
        step *= 2
    return Scores(tuple(_value(one, facts(one), centred=False, step=step) for one in each))


def _cells(aggregate: Quantile | Mode, facts: Facts, groups: int) -> Cells:
    if isinstance(aggregate, Mode):
        values = facts.listed()
        if values is None or len(values) * groups > MOST_WORK:
            raise ParameterError(
                f"The most common value of {aggregate.of} is chosen from a public list, and there is none, or too long a one; "
                "declare a category, or group into fewer values first."
            )
        return Cells(aggregate.of, len(values), values=values)
    if facts.lower is None or facts.upper is None or facts.kind != "number":
        raise ParameterError(
            f"A quantile of {aggregate.of} is chosen between public bounds, and none are known; declare them, "
            f"or write least(greatest({aggregate.of}, 0), 100) with bounds that make sense."
        )
    most = max(2**8, min(MOST_CELLS, MOST_WORK // groups))
    width = facts.step or (facts.upper - facts.lower) / (most - 1) or Fraction(1)
    if (facts.upper - facts.lower) / width + 1 > most:
        width *= math.ceil((facts.upper - facts.lower) / width / (most - 2))
    count = math.ceil((facts.upper - facts.lower) / width) + 1
    return Cells(aggregate.of, count, facts.lower, width, exact=width == facts.step)


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
