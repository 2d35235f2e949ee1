"""Measures: one whole number a row, which a sum adds up; and how far one protected unit moves such sums (``statistics`` has the
theorem).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import root_up
from discreet.plan.expressions import Call, Column, Expression, Value
from discreet.plan.expressions import Literal as Constant
from discreet.plan.expressions.facts import Facts
from discreet.schema.columns import default_step
from discreet.schema.sensitivity import move
from discreet.schema.units import OneRow, Person, Rows, Unit

PRODUCT_UNITS = 2**10  # of a factor, so that the products of two are below the bound for engines' quickest exact sums
HALVES = 2**52  # up to here a double and a half are a double, so that rounding carries nothing over a bound
_WIDEST = 2**62  # products of factors stay within 64 bits, whatever the row
COARSE, FINER = 2**10, 8  # norms up to 2^10 that are irrational are rounded up to multiples of 2^-8


@dataclass(frozen=True)
class Frame:
    """What a question's sensitivities depend on: who is protected, how many groups there are (None if the keys are open), and
    whether no row can be left out."""

    unit: Unit
    groups: int | None
    whole_table: bool

    @property
    def exchanged(self) -> bool:
        return self.unit.neighbours == "replace"

    @property
    def most(self) -> int:
        """In how many groups one unit can be."""
        most = self.unit.groups if isinstance(self.unit, Person) else 1
        return most if self.groups is None else min(most, self.groups)


@dataclass(frozen=True)
class Norms:
    """How far a statistic moves: whole numbers, in ``2**-bits`` units of it; ``l2`` in ``2**-(bits + finer)``."""

    l1: int
    l2: int
    bits: int = 0
    finer: int = 0


@dataclass(frozen=True)
class Measure:
    """One whole number a row. ``rows``: always ``high``, which is 1 but in pairs; ``present``: the same where ``of`` is not
    missing; ``value``: its units less ``shift``; ``rest``: ``shift`` less its units; ``square``: the square of a value, less
    ``lift``; ``product``: of the values that are its ``factors``."""

    what: Literal["rows", "present", "value", "rest", "square", "product"]
    low: int  # the least and the largest number that a row adds
    high: int
    of: Expression | None = None
    nullable: bool = False
    step: Fraction = Fraction(1)  # what one unit of the value is worth
    shift: int = 0
    lift: int = 0
    factors: tuple[Measure, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.what, self.low, self.high, self.of, self.step, self.shift, self.lift, self.factors))

    def __hash__(self) -> int:  # once: of long expressions and many factors it takes long
        return self._hash

    @property
    def bound(self) -> int:
        """The most one row adds, in size."""
        return max(abs(self.low), abs(self.high))

    @property
    def worth(self) -> Fraction:
        """What one unit of the measure is worth."""
        return self.step**2 if self.what == "square" else self.step

    @property
    def always(self) -> bool:
        """Whether every row of a table has it: it is made of private columns as they are, which cannot be missing."""
        return not self.nullable and all(one.of is None or is_private(one.of) for one in self.factors or (self,))

    def norms(self, frame: Frame) -> Norms:
        """How far one unit moves the sums of all groups."""
        unit = frame.unit
        low, high = min(self.low, 0), max(self.high, 0)
        if isinstance(unit, Rows):
            if frame.exchanged and frame.groups == 1 and frame.whole_table and self.always:
                low, high = self.low, self.high  # a row is always there
            return round_norms(*move(low, high, grouped=frame.groups != 1, neighbours=unit.neighbours))
        bits = 0 if isinstance(unit, OneRow) else max(0, 16 - self.bound.bit_length())
        if frame.exchanged and frame.groups == 1:
            span = unit.rows * (high - low) << bits
            return Norms(span, span, bits)
        return norms_of_persons(unit.rows * self.bound << bits, frame, bits, signed=self.low < 0)

    def __str__(self) -> str:
        if self.what == "product":
            return f"sum({' * '.join(str(one)[4:-1] if not one.shift else str(one)[3:] for one in self.factors)})"
        if self.what == "rest":
            return f"sum({float(self.shift * self.step):g} - {self.of})"
        if self.of is None:
            return "count(*)"
        middle = f" - {float(self.shift * self.step):g}" if self.shift else ""
        return {
            "rows": "count(*)",
            "present": f"count({self.of})",
            "value": f"sum({self.of}{middle})",
            "square": f"sum(({self.of}{middle})^2)",
        }[self.what]


def is_private(of: Expression) -> bool:
    """Whether it is a column of the one private table, as it is."""
    return isinstance(of, Column) and "." not in of.name


ROWS = Measure("rows", 1, 1)


def measure_presence(of: Expression, facts: Facts) -> Measure:
    """1 for every row in which something is not missing."""
    return Measure("present", 0, 1, of, True) if facts.nullable else ROWS


def measure_value(
    of: Expression, facts: Facts, *, centred: bool = False, largest: int | None = None, step: Fraction | None = None
) -> Measure:
    """A number in units of its step, or of a coarser one where there would be more than ``largest``. ``centred``: around the
    middle of its range, for half the bound and half the noise."""
    if facts.kind != "number" or facts.lower is None or facts.upper is None:
        raise ParameterError(
            f"{of} has no known bounds, so one row could change its sum by anything; "
            f"declare them, or write least(greatest({of}, 0), 100) with bounds that make sense."
        )
    unit = step or facts.step or default_step(facts.lower, facts.upper)
    private = isinstance(of, Column) and "." not in of.name
    most = largest or (2**63 if private else HALVES)  # an expression, and a public column, is calculated in doubles
    while max(abs(facts.lower), abs(facts.upper)) / unit > most:
        unit *= 2
    low, high = math.floor(facts.lower / unit), math.ceil(facts.upper / unit)
    shift = (low + high) // 2 if centred else 0
    return Measure("value", low - shift, high - shift, of, facts.nullable, unit, shift)


def measure_coarse(of: Expression, facts: Facts) -> Measure:
    """A number around the middle of its bounds, in at most ``PRODUCT_UNITS`` units either way, so that products are small."""
    assert facts.lower is not None
    assert facts.upper is not None
    step = facts.step or default_step(facts.lower, facts.upper)
    while (facts.upper - facts.lower) / step > 2 * PRODUCT_UNITS:
        step *= 2
    low, high = math.floor(facts.lower / step), math.ceil(facts.upper / step)
    shift = (low + high) // 2
    return Measure("value", low - shift, high - shift, of, facts.nullable, step, shift)


def measure_level(of: Expression, facts: Facts, level: Value) -> Measure:
    """1 where something has one of its listed values, else 0: never 1 for two of them, which differ as engines compare them.
    Numbers that were calculated have the value that is nearest on their grid."""
    test = Call("=", (of, Constant(level)))
    if facts.kind == "number" and facts.step is not None and not isinstance(of, Column):
        assert isinstance(level, int | float | Fraction)
        ends = [Constant(Fraction(level) + side * facts.step / 2) for side in (-1, 1)]
        test = Call("and", (Call(">=", (of, ends[0])), Call("<", (of, ends[1]))))
    return Measure("value", 0, 1, Call("case", (test, Constant(1), Constant(0))))


def measure_product(*factors: Measure) -> Measure:
    """The product of values, each as often as it stands there; of one it is that value, and of none every row's 1.

    >>> x = Measure("value", -3, 4, Column("x"))
    >>> [(m.low, m.high) for m in (measure_product(x, x), measure_product(x, x, x))]
    [(0, 16), (-27, 64)]
    """
    if len(factors) < 2:
        return factors[0] if factors else ROWS
    if math.prod(max(one.bound, 1) for one in factors) >= _WIDEST:  # an engine multiplies factor by factor
        raise ParameterError(
            "The product of so many numbers could overflow an engine's whole numbers, and then a row would decide whether the "
            "question can be finished; name at most three numbers in a product."
        )
    low, high, step = 1, 1, Fraction(1)
    for one in dict.fromkeys(factors):
        times = factors.count(one)
        ends = (one.low**times, one.high**times)
        least = 0 if times % 2 == 0 and one.low < 0 < one.high else min(ends)
        corners = [a * b for a in (low, high) for b in (least, max(ends))]
        low, high, step = min(corners), max(corners), step * one.step**times
    return Measure("product", low, high, None, any(one.nullable for one in factors), step, factors=factors)


def norms_of_persons(row: int, frame: Frame, bits: int, *, signed: bool = False) -> Norms:
    """Of a person whose rows add at most ``row`` in a group, in its groups."""
    l1, square = row * frame.most, Fraction(row**2 * frame.most)
    return round_norms(2 * l1, (4 if signed else 2) * square, bits) if frame.exchanged else round_norms(l1, square, bits)


def round_norms(l1: int | Fraction, square: int | Fraction, bits: int = 0) -> Norms:
    """An L2 norm that is no whole number, rounded up to one, in parts of a unit where a whole one would be too coarse."""
    root = root_up(Fraction(square))
    finer = 0 if root.denominator == 1 or root > COARSE else FINER
    return Norms(int(l1), math.ceil(root * 2**finer), bits, finer)
