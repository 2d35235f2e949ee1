"""An aggregate: one column of an answer, from what it is called to what it makes of noisy numbers.

To add one, write a class with these verbs and register it in ``aggregates``: SQL and Python then know it by its names, and it is
checked, priced, previewed, counted and answered like all others.
"""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Expression, Literal, Value
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.expressions.facts import Facts
from discreet.plan.forms import Form
from discreet.plan.measures import Measure
from discreet.plan.partition import Partition
from discreet.plan.release import Need, Release, Released
from discreet.schema.units import Unit


@dataclass(frozen=True)
class Spelling:
    """How an aggregate is written: its name in messages, its names in SQL, its function in Python; and what these fix."""

    name: str
    sql: tuple[str, ...] = ()
    python: str | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    extra: str | None = None  # what a second argument in Python is
    pair: bool = False  # whether SQL gives it two expressions


@dataclass(frozen=True)
class Context:
    """What an aggregate may know when it says what it needs: public facts, how many groups there can be, its neighbours, and
    which means are released as pairs (``pairs``, by what they are of), from which their count is read as well (``counted``)."""

    facts: Mapping[str, Facts]
    groups: int = 1
    beside: tuple[Aggregate, ...] = ()
    pairs: Mapping[Expression, Need] = field(default_factory=dict)
    counted: Mapping[Measure, Need] = field(default_factory=dict)

    def of(self, expression: Expression) -> Facts:
        """What is known of an expression."""
        return infer(expression, self.facts)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Values of one output in every group, with standard errors and the ends of intervals; choices have neither. ``whole``: they
    are whole numbers."""

    values: Reals | list[Value]
    errors: Reals | None = None
    lower: Reals | None = None
    upper: Reals | None = None
    whole: bool = False


@dataclass(frozen=True)
class Typical:
    """The group that an error is stated for: how many rows it has, and in words of what and of which groups that is said; how
    many groups there are, where that is known."""

    rows: int
    of: str = ""
    each: str = ""
    groups: int | None = 1


@dataclass(frozen=True)
class Expected:
    """How far off an answer will be: the half-width of its 95 % interval (None where there is no such number), and in words;
    ``ranks``: by how many rows a choice may miss."""

    error: float | None
    meaning: str
    ranks: int | None = None


class Aggregate(ABC):
    """One value of many rows. Subclasses are frozen dataclasses whose ``str()`` is canonical SQL."""

    spellings: ClassVar[tuple[Spelling, ...]] = ()
    depends_on_size: ClassVar[bool] = False  # whether its error depends on how many rows there are
    paired: ClassVar[bool] = False  # whether it can be read from a count and a sum that are released as a pair

    @classmethod
    def make(cls, of: Expression | None, **fixed: Any) -> Self:
        """The aggregate of an expression."""
        if of is None:
            name = cls.spellings[0].name
            raise ParameterError(f"{name} takes one expression; write {name}(x).")
        return cls(of, **fixed)  # type: ignore[call-arg]

    @property
    def spelled(self) -> str:
        """As it was probably written."""
        return str(self)

    @property
    def name(self) -> str:
        """The name of a column that was given none."""
        return name_from(self.spelled)

    @property
    def averages(self) -> Expression | None:
        """What it needs the sum of around a middle, and the count."""
        return None

    @property
    def additive(self) -> bool:
        """Whether groups can be added up: it is a linear form of what is released."""
        return False

    @property
    def within(self) -> tuple[Expression, ...]:
        """The keys within which it adds up groups."""
        return ()

    def placed(self, partition: Partition) -> Aggregate:
        """The same, told which of these keys groups have in common."""
        return self

    def each(self, change: Callable[[Aggregate], Aggregate]) -> Aggregate:
        """The same, with the aggregates of rows that it is made of changed."""
        return change(self)

    @property
    def parts(self) -> tuple[Aggregate, ...]:
        """The aggregates that it is made of: itself, unless it computes with others."""
        return (self,)

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        """The same, where truth values are counted as 0 and 1: their mean is a share."""
        return self

    def check(self, facts: Mapping[str, Facts]) -> None:
        """Refuse an expression that has not the type, the bounds or the list that is needed, with what to write instead."""

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        """Refuse a question in which this has no meaning, whoever made it."""

    @abstractmethod
    def written(self) -> Iterator[tuple[Expression, int]]:
        """The expressions over rows, and how often an engine has to write each: whether it is missing may be counted apart."""

    @abstractmethod
    def filtered(self, test: Expression) -> Aggregate:
        """The same of rows that pass a test."""

    @abstractmethod
    def needs(self, context: Context) -> tuple[Need, ...]:
        """What has to be released for it."""

    def result(self, facts: Mapping[str, Facts]) -> Facts:
        """What is known of the column that it makes."""
        return Facts("number")

    @abstractmethod
    def estimate(self, released: Sequence[Released]) -> Estimate:
        """The answer, from what came out of its releases in the order of its needs: free."""

    def takes(self, releases: Sequence[Release]) -> int:
        """How many of some releases, which begin with its own, are its own."""
        return 1

    def form(self, released: Sequence[Released]) -> Form | None:
        """What it is of its releases, where that is a linear form or the quotient of two: arithmetic knows what is shared."""
        return None

    @abstractmethod
    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        """How far off it will be in a group."""


class OfExpression(Aggregate):
    """An aggregate of what is not missing of an expression."""

    of: Expression

    def written(self) -> Iterator[tuple[Expression, int]]:
        yield self.of, 2

    def filtered(self, test: Expression) -> Aggregate:
        return replace(self, of=Call("case", (test, self.of, Literal(None))))  # type: ignore[type-var]


class OfNumbers(OfExpression):
    """An aggregate of numbers between public bounds."""

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        found = as_number(self.of, facts)
        return self if found is self.of else replace(self, of=found)  # type: ignore[type-var]

    def check(self, facts: Mapping[str, Facts]) -> None:
        known = infer(self.of, facts)
        if known.kind != "number":
            raise ParameterError(f"{self.spelled} needs numbers, and {self.of} is a {known.kind}; {self.instead(facts)}.")
        if known.lower is None or known.upper is None:
            raise ParameterError(f"Nothing bounds {self.of}; write least(greatest({self.of}, 0), 100) with bounds that suit it.")

    def instead(self, facts: Mapping[str, Facts]) -> str:
        """What to write for an aggregate of something that may be no number."""
        of, known = self.of, infer(self.of, facts)
        if known.kind == "number":
            return f"write {self.spelled}"
        if known.kind == "boolean":
            return f"write count(*) FILTER (WHERE {of}), or avg({of}) for the share"
        if known.kind == "date":
            first = Literal(datetime.date(2020, 1, 1) if known.lower is None else datetime.date.fromordinal(int(known.lower)))
            days = replace(self, of=Call("days", (of, first)))  # type: ignore[type-var]
            return f"write {days.spelled} for the days since then"
        if listing(of, facts) is None:
            return f"write GROUP BY {of} with count(*)"
        return f"write mode({of}) for its most common value (in Python: most_common)"


def as_number(of: Expression, facts: Mapping[str, Facts]) -> Expression:
    """The same, where a truth value is 0 or 1."""
    known = infer(of, facts)
    if known.kind != "boolean":
        return of
    no: tuple[Expression, ...] = (Call("not", (of,)), Literal(0), Literal(None)) if known.nullable else (Literal(0),)
    return Call("case", (of, Literal(1), *no))


def name_from(text: str) -> str:
    """A column's name from the text of what is in it.

    >>> name_from("avg(debt)"), name_from("stddev_pop((age + 1))")
    ('avg_debt', 'stddev_age_1')
    """
    words = re.findall(r"\w+", text.replace("var_pop", "var").replace("stddev_pop", "stddev"))
    return "_".join(words)[:60] or "key"
