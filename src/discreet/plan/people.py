"""One row a person: what is made of one person's own rows, as the columns of a table in which a row is a person.

``SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) AS t`` asks about persons. The query within, grouped by
the protected person and by nothing else, is a table whose columns are the ``Trait``s of a person: counts, sums, means, extremes
of that person's rows. The question around it is then an ordinary one, of a table with these columns, in which every person has
one row or none: its unit is ``Person(id, rows=1, groups=1)``, with the neighbours that were declared.

**Theorem.** Let two private tables be neighbours: all rows of one person P were added, removed, or exchanged for others. Then
their tables of one row a person differ in the row of P alone: it comes, goes, or is another one. *Proof.* A row without an id
is in neither. WHERE and a look into a public table are functions of one row and of public facts, so the rows that are left of
anybody but P are the same. GROUP BY the id puts rows into one group exactly if they have the same id, so a trait of another
person Q is a function of Q's rows and of public facts: every trait is exact, whatever the order of rows (sums and counts of
whole numbers; the least and the greatest by a total order), and none is an engine's own choice. HAVING is a condition on the
traits of one person. So the row of Q is the same in both tables, or in neither. P has one row at most, before and after. ∎ What
is declared for the neighbours of a table with ``rows=1, groups=1`` therefore holds for every question around it.

**Bounds** are public. R = rows x groups of the declared unit is how many rows a person is thought to have; it decides no more
than where numbers are clamped. count(*) is clamped to [1, R] (a person without rows is not there), a count of what may be
missing or is filtered to [0, R], and so is a count of different values, and one of the rows that share the most common value
(``fullest``: rows in the group where a person has most); a sum of values in [l, h] to [min(l, R l), max(h, R h)]. A mean lies in
[l, h] by itself; it is the exact sum over the exact count, of all rows however many, as doubles, rounded to a thousandth of a
step (the same on every engine as long as the sum is below 2^53 units). A median is half the sum of the one or two values in the
middle, a whole number of half steps. A person with more rows than R is clamped and never left
out; ``least`` and ``greatest`` around a trait tighten further. ``any_value`` is the least value of a person, of numbers, days,
truth values, and texts by their UTF-8 bytes; what is missing is skipped. An engine's own would depend on where others' rows lie.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.plan.expressions import Column, Expression
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import HALVES, Measure, measure_presence, measure_value
from discreet.schema.columns import Boolean, Category, Date, Integer, Number, Text
from discreet.schema.columns import Column as Declared
from discreet.schema.table import Schema
from discreet.schema.units import OneRow, Person

What = Literal["count", "distinct", "fullest", "sum", "avg", "median", "min", "max", "any_value", "bool_or", "bool_and"]

_COUNTS = ("count", "distinct", "fullest")  # traits that are numbers of rows or values

MOST_TEXT = 2**12  # characters of all texts of one person, which engines keep for all persons at once
_LONG = 80  # characters of a trait, above which it goes by its name
_FINER = 1000  # parts of a step to which means are rounded
_EXACT = 2**53


@dataclass(frozen=True)
class Trait:
    """A named number, text, day or truth value that is made of one person's rows. ``of`` is None for the rows themselves."""

    name: str
    what: What
    of: Expression | None = None

    def measure(self, facts: Mapping[str, Facts], most: int) -> Measure | None:
        """The whole number of every row that it is made of; None where rows are counted, or where it is made of no numbers."""
        if self.of is None or self.what in ("distinct", "fullest"):
            return None
        known = infer(self.of, facts)
        if self.what == "count":
            return measure_presence(self.of, known)
        if known.kind != "number":
            return None
        if self.what == "sum":
            return measure_value(self.of, known, largest=min(HALVES, max(_EXACT // most, 1)))
        private = isinstance(self.of, Column) and "." not in self.of.name
        if self.what == "median":
            return measure_value(self.of, known, largest=HALVES // 2)
        return measure_value(self.of, known, largest=None if private and self.what != "avg" else HALVES)

    def scale(self, measure: Measure) -> int:
        """In how many parts of a step a mean is kept: a thousand, unless there were too many; a median in two."""
        if self.what == "median":
            return 2
        return _FINER if self.what == "avg" and measure.bound * _FINER <= HALVES else 1

    def column(self, facts: Mapping[str, Facts], most: int) -> Declared:
        """What is publicly known of it, as a declared column; ``most``: the rows that a person is thought to have.

        ``missing=`` marks what is never missing.
        """
        known = None if self.of is None else infer(self.of, facts)
        sure = known is None or not known.nullable
        if self.what in _COUNTS:
            different = None if self.what != "distinct" or known is None else known.size
            least, largest = int(sure), most if different is None else max(min(most, different), 1)
            least = least if least < largest else 0
            return Integer(least, largest, least)
        assert known is not None
        assert self.of is not None
        measure = self.measure(facts, most)
        if measure is not None:
            return self._number(measure, facts, most, sure=sure)
        if known.kind == "boolean" or self.what in ("bool_or", "bool_and"):
            return Boolean(False if sure else None)
        if known.kind == "date":
            return self._days(known, sure=sure)
        if known.values:
            words = tuple(dict.fromkeys(str(value) for value in known.values))
            return Category(words, words[0] if sure else None)
        return Text("" if sure else None, max(known.length or 0, 1))

    def _number(self, measure: Measure, facts: Mapping[str, Facts], most: int, *, sure: bool) -> Declared:
        low, high, step, halved = measure.low, measure.high, measure.step / self.scale(measure), self.what in ("avg", "median")
        if self.what == "sum":
            low, high = min(low, most * low), max(high, most * high)
        elif not halved and isinstance(self.of, Column) and facts[self.of.name].values is not None:
            listed = facts[self.of.name].values or ()
            numbers = tuple(value for value in listed if isinstance(value, int))
            return Category(numbers, numbers[0] if sure else None)
        elif not halved and step == 1 and measure.bound > _EXACT:
            return Integer(low, high, low if sure else None)
        high = high if low < high else low + 1
        bounds = low * measure.step, high * measure.step
        return Number(*bounds, step, bounds[0] if sure else None)

    def _days(self, known: Facts, *, sure: bool) -> Date:
        if known.lower is None or known.upper is None:
            raise ParameterError(f"Nothing bounds the days of {self.of}; declare date(first, last).")
        first, last = (datetime.date.fromordinal(int(bound)) for bound in (known.lower, known.upper))
        if first == last:
            first, last = (first, last + _DAY) if last < datetime.date.max else (first - _DAY, last)
        return Date(first, last, first if sure else None)

    def __str__(self) -> str:
        if self.what == "distinct":
            return f"count(DISTINCT {self.of})"
        if self.what == "fullest":
            return f"count(*) of the most common {self.of}"
        return f"{self.what}({'*' if self.of is None else self.of})"


_DAY = datetime.timedelta(1)


def most_rows(schema: Schema) -> int:
    """R: how many rows a person is thought to have in all, rows in each of so many groups."""
    assert isinstance(schema.unit, Person)
    return schema.unit.rows * schema.unit.groups


def person_table(traits: Sequence[Trait], schema: Schema, facts: Mapping[str, Facts]) -> Schema:
    """The public facts about a table of one row a person; ``schema`` and ``facts``: those about the private table."""
    if not isinstance(schema.unit, Person):
        raise ParameterError(
            "Here every row is somebody (unit=rows()), and nothing says which rows are one person's; ask about the rows, or "
            'declare unit=person("patient_id", rows=8, groups=3).'
        )
    _check_texts(traits, facts)
    columns = {trait.name: trait.column(facts, most_rows(schema)) for trait in traits}
    unit = schema.unit
    return Schema(columns, OneRow(unit.id, 1, 1, unit.neighbours, unit.size), schema.public)


def _check_texts(traits: Sequence[Trait], facts: Mapping[str, Facts]) -> None:
    kept = [infer(trait.of, facts).length or 0 for trait in traits if trait.of is not None and trait.what not in _COUNTS]
    if sum(kept) > MOST_TEXT:
        raise ParameterError(
            f"The texts of one person may have {sum(kept):,} characters together, and at most {MOST_TEXT:,} are kept; "
            "write any_value(left(x, 100)) for any_value(x), or declare a smaller length: text(length=100)."
        )


def describe_bounds(traits: Sequence[Trait], schema: Schema) -> str:
    """That a person counts once, and where what is made of their rows is clamped; ``schema``: of one row a person."""
    clamped = []
    for trait in traits:
        column = schema.columns[trait.name]
        if trait.what in (*_COUNTS, "sum") and isinstance(column, Integer | Number):
            text = str(trait)
            what = text if len(text) <= _LONG else trait.name
            clamped.append(f"{what} from {_shown(column.lower)} to {_shown(column.upper)}")
    if not clamped:
        return "Every person counts once, with one row made of all their rows."
    return f"Every person counts once, with one row made of all their rows; clamped are {', '.join(clamped)}."


def _shown(number: int | Fraction) -> str:
    return f"{int(number):,}" if number == int(number) else f"{float(number):,.6g}"
