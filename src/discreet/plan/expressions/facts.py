"""What is publicly known of an expression's values: their type, bounds, grid, list, and whether they can be missing.

An operation says what follows for the facts about its result. Facts are those of exact arithmetic. The values themselves are
doubles and may miss a bound or a step by their rounding, so whoever counts clamps to the bounds and rounds to the steps; nothing
private rests on the last bit of a double.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal, cast

from discreet.errors import ParameterError
from discreet.plan.expressions import Expression, Value
from discreet.schema.columns import Boolean, Category, Column, Date, Integer, Kind, Number

_EXACT = 2**53  # below it doubles tell whole numbers apart
MOST_KEYS = 2**20  # keys that a question may list


@dataclass(frozen=True)
class Facts:
    """Facts about all values an expression can have, whatever the data. None: nothing is known.

    ``lower``, ``upper`` and ``step`` are of numbers, and of dates as ordinals: every value lies between the bounds and, where a
    step is known, is a multiple of it. ``values`` lists all values there can be (except missing), where such a list is known.
    ``length`` is of texts: the most characters that one can have.
    """

    kind: Kind
    nullable: bool = True
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    values: tuple[Value, ...] | None = None
    length: int | None = None

    @property
    def size(self) -> int | None:
        """How many values there can be."""
        if self.values is not None:
            return len(self.values)
        if self.lower is None or self.upper is None or self.step is None:
            return None
        return int(self.upper / self.step) - int(self.lower / self.step) + 1

    def listed(self) -> tuple[Value, ...] | None:
        """All values there can be, in order, where they are at most ``MOST_KEYS``."""
        if self.values is not None or self.size is None or self.size > MOST_KEYS:
            return self.values
        assert self.lower is not None
        assert self.step is not None
        steps = range(int(self.lower / self.step), int(self.lower / self.step) + self.size)
        if self.kind == "date":
            return tuple(datetime.date.fromordinal(i) for i in steps)
        if self.step.denominator == 1:
            step = int(self.step)
            return tuple(range(steps.start * step, steps.stop * step, step))
        return tuple(i * self.step for i in steps)


def compared(value: Value) -> Value:
    """What an engine compares a value by: numbers as doubles."""
    number = isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
    return float(value) if number else value  # type: ignore[arg-type]


def tell_apart(listed: tuple[Value, ...]) -> tuple[Value, ...]:
    """Every value once: a row that an engine finds equal to two of them would be counted twice."""
    kinds = {*map(type, listed)}
    if kinds == {str} or (kinds == {int} and _are_exact(cast("tuple[int, ...]", listed))):
        return tuple(dict.fromkeys(listed))
    apart: dict[Value, Value] = {}
    for value in listed:
        apart.setdefault(compared(value), value)
    return tuple(apart.values())


def _are_exact(listed: tuple[int, ...]) -> bool:
    """Whether no two whole numbers are one double."""
    return min(listed) > -_EXACT and max(listed) < _EXACT


def facts_of_column(column: Column) -> Facts:
    """What a declaration says."""
    nullable = column.missing is None
    if isinstance(column, (Integer, Number)):
        return Facts("number", nullable, Fraction(column.lower), Fraction(column.upper), column.step)
    if isinstance(column, Category):
        if column.kind == "text":
            return Facts("text", nullable, values=column.values, length=column.length)
        return Facts("number", nullable, *_ends(column), Fraction(1), column.values)
    if isinstance(column, Boolean):
        return Facts("boolean", nullable, values=(False, True))
    if isinstance(column, Date):
        first, last = (Fraction(day.toordinal()) for day in (column.lower, column.upper))
        return Facts("date", nullable, first, last, Fraction(1))
    return Facts("text", nullable, length=column.length)


@lru_cache(maxsize=1024)
def _ends(column: Category) -> tuple[Fraction, Fraction]:
    numbers = [int(value) for value in column.values]
    return Fraction(min(numbers)), Fraction(max(numbers))


LARGE = Fraction(10) ** 150  # no number may grow beyond this
TINY = 1e-150  # a divisor below this in size counts as zero, so that no quotient overflows
NOTHING = Facts("text", True, values=(), length=0)  # of NULL: it has any type
TRUTH = Facts("boolean", False, values=(False, True))

Takes = tuple[Kind | Literal["same", "any"], ...]

_WORDS = {"number": "numbers", "text": "texts", "boolean": "truth values", "date": "dates"}


@dataclass(frozen=True)
class Operation:
    """A row of the table ``evaluate.OPERATIONS``.

    ``takes``: the type of every argument, the last for all further ones; "same" is any type, but one for all. A ``strict``
    operation is missing where an argument is, and its meaning sees no missing value. ``constant``: arguments from
    this one on are literals. ``written``: how often an engine may have to write an argument. ``defined``: the expression of
    other operations that this one stands for; then it has no meaning and no template of its own.
    """

    name: str
    least: int
    most: int | None
    takes: Takes
    meaning: Callable[..., Value]
    rule: Callable[[Sequence[Facts]], Facts]
    strict: bool = True
    constant: int | None = None
    written: int = 1
    defined: Callable[..., Expression] | None = None

    def facts(self, arguments: Sequence[Facts]) -> Facts:
        """What holds of the result, or a refusal where the arguments have wrong types or a wrong number."""
        if len(arguments) < self.least or (self.most is not None and len(arguments) > self.most):
            count = str(self.least) if self.least == self.most else f"{self.least} or more"
            raise ParameterError(f"{self.name} takes {count} arguments, not {len(arguments)}.")
        self._check(arguments)
        found = self.rule(arguments)
        assert found.kind != "text" or found.length is not None  # else a row could make a text as long as it likes
        if not self.strict or found.nullable or not any(argument.nullable for argument in arguments):
            return found
        return replace(found, nullable=True)

    def _check(self, arguments: Sequence[Facts]) -> None:
        same = {fact.kind for i, fact in enumerate(arguments) if self._wanted(i) == "same" and fact.values != ()}
        if len(same) > 1:
            raise ParameterError(
                f"{self.name} takes values of one type, not {' and '.join(_WORDS[kind] for kind in sorted(same))}; "
                "compare a date with DATE '2026-01-31', a text with 'text', a number with 5."
            )
        for i, fact in enumerate(arguments):
            wanted = self._wanted(i)
            if fact.values == () and self.strict:
                raise ParameterError(f"NULL makes no sense in {self.name}; write x IS NULL, or coalesce(x, 0).")
            if wanted not in ("same", "any", fact.kind) and fact.values != ():
                raise ParameterError(f"{self.name} takes {_WORDS[wanted]} here, not {_WORDS[fact.kind]}.")

    def _wanted(self, i: int) -> str:
        return self.takes[min(i, len(self.takes) - 1)]


def undefined(*_: Value) -> Value:
    """The meaning of an operation that is defined by others: nobody asks for it."""
    raise AssertionError


def number_facts(lower: Fraction | None, upper: Fraction | None, step: Fraction | None, nullable: bool = False) -> Facts:
    """Facts about a number, its bounds moved inwards to multiples of the step; numbers that grow too large are refused."""
    if any(bound is not None and abs(bound) > LARGE for bound in (lower, upper)):
        raise ParameterError("A number of this expression can grow beyond 1e150; bound its parts, least(greatest(x, 0), 1000).")
    if step is not None and step < 1 / LARGE:
        step = None  # too fine to be of use
    if step is not None:
        lower = None if lower is None else math.ceil(lower / step) * step
        upper = None if upper is None else math.floor(upper / step) * step
    return Facts("number", nullable, lower, upper, step)


def common_step(arguments: Sequence[Facts]) -> Fraction | None:
    """The largest step of which all of these are multiples."""
    steps = [argument.step for argument in arguments if argument.values != ()]
    if not steps or any(step is None for step in steps):
        return None
    numerators = [step.numerator for step in steps if step is not None]
    denominators = [step.denominator for step in steps if step is not None]
    whole = math.lcm(*denominators)
    return Fraction(math.gcd(*(n * (whole // d) for n, d in zip(numerators, denominators, strict=True))), whole)


def union(arguments: Sequence[Facts], nullable: bool) -> Facts:
    """What holds of a value that is one of these."""
    known = [argument for argument in arguments if argument.values != ()]
    if not known:
        raise ParameterError("Only NULL is left of this expression; write a value.")
    lowers, uppers = [fact.lower for fact in known], [fact.upper for fact in known]
    lower = None if None in lowers else min(low for low in lowers if low is not None)
    upper = None if None in uppers else max(high for high in uppers if high is not None)
    values: tuple[Value, ...] | None = None
    if all(fact.values is not None for fact in known):
        values = tuple(dict.fromkeys(value for fact in known for value in fact.values or ()))
        if known[0].kind != "text":  # words keep the order in which they were written
            values = tuple(sorted(values))  # type: ignore[type-var]
    length = max((fact.length or 0 for fact in known), default=0) if known[0].kind == "text" else None
    return Facts(known[0].kind, nullable, lower, upper, common_step(known), values, length)
