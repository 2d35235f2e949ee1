"""What a workload may ask beside single conditions: all ranges of a column, its prefixes, or the cells of a marginal.

Each stands for many counting questions over few cells, and is read as what it is, so that the best strategy for it is found at
once. Bins are those of ``bin``: from an edge to below the next, the last with its own upper edge.
"""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from typing import Literal as OneOf

from discreet.analysis.counting.cells import list_values
from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Literal, Value
from discreet.plan.expressions.facts import Facts

__all__ = ["marginal", "prefixes", "ranges"]

MOST_ASKED = 2**17  # questions of one workload
MOST_EDGES = 2**12


@dataclass(frozen=True)
class Ordered:
    """All ranges of a column, or all that begin with its least value; between edges, or of its declared values."""

    what: OneOf["ranges", "prefixes"]
    column: str
    edges: tuple[Value, ...] | None

    def pairs(self, cells: int) -> list[tuple[int, int]]:
        """The first and the last cell of every question."""
        if self.what == "prefixes":
            return [(0, last) for last in range(cells)]
        return [(first, last) for first in range(cells) for last in range(first, cells)]

    def asks(self, cells: int) -> int:
        """How many questions there are."""
        return cells if self.what == "prefixes" else cells * (cells + 1) // 2

    def read(self, facts: Mapping[str, Facts]) -> Bins:
        """The cells that its questions are made of."""
        known = _known(self.column, facts)
        if known.kind not in ("number", "date"):
            raise ParameterError(
                f"{self.column} has no order in which there are {self.what}; name a column of numbers or dates, or marginal()."
            )
        edges = None if self.edges is None else tuple(_edge(edge, self.column, known) for edge in self.edges)
        ends = list_values(self.column, facts) if edges is None else edges
        if known.values is not None and edges is None:
            ends = tuple(sorted(ends))  # type: ignore[type-var]
        cells = len(ends) - (edges is not None)
        if edges is None and cells < 2:
            raise ParameterError(f"{self.column} has one value only, so that there is nothing to cut; ask about another column.")
        if self.asks(cells) > MOST_ASKED:
            raise ParameterError(
                f"{self.column} has {cells:,} cells and {self.asks(cells):,} {self.what}, and at most {MOST_ASKED:,} questions "
                "are asked at once; write edges= that cut it into fewer."
            )
        return Bins(self.column, ends, edges is None)

    def __str__(self) -> str:
        edges = "" if self.edges is None else f", edges=[{', '.join(str(Literal(edge)) for edge in self.edges)}]"
        return f"{self.what}({Column(self.column)}{edges})"


@dataclass(frozen=True)
class Bins:
    """Neighbouring cells of a column: one for every value, or from one edge to the next."""

    column: str
    ends: tuple[Value, ...]
    single: bool  # values, and not edges

    @property
    def count(self) -> int:
        return len(self.ends) - (not self.single)

    def limits(self, first: int, last: int) -> tuple[Value, Value]:
        """The values, or edges, that some cells lie between."""
        return self.ends[first], self.ends[last if self.single else last + 1]

    def tests(self, first: int, last: int) -> tuple[Call, ...]:
        """What all holds of the rows in these cells."""
        of, (low, high) = Column(self.column), self.limits(first, last)
        if self.single and first == last:
            return (Call("=", (of, Literal(low))),)
        until = "<=" if self.single or last + 1 == self.count else "<"
        return Call(">=", (of, Literal(low))), Call(until, (of, Literal(high)))


@dataclass(frozen=True)
class Marginal:
    """Every combination of the declared values of some columns."""

    columns: tuple[str, ...]

    def read(self, facts: Mapping[str, Facts]) -> list[tuple[Value, ...]]:
        """The combinations."""
        for name in self.columns:
            _known(name, facts)
        listed = [list_values(name, facts) for name in self.columns]
        if math.prod(map(len, listed)) > MOST_ASKED:
            widest = max(self.columns, key=lambda name: facts[name].size or 0)
            raise ParameterError(
                f"{self} has {math.prod(map(len, listed)):,} cells, and at most {MOST_ASKED:,} are asked about at once; {widest} "
                f"has {facts[widest].size:,} values: leave it out, or ask for its ranges with edges=."
            )
        return list(itertools.product(*listed))

    def tests(self, values: Sequence[Value]) -> tuple[Call, ...]:
        """What all holds of the rows of one combination."""
        return tuple(Call("=", (Column(name), Literal(value))) for name, value in zip(self.columns, values, strict=True))

    def __str__(self) -> str:
        return f"marginal({', '.join(str(Column(name)) for name in self.columns)})"


Item = str | Ordered | Marginal


@called_as('"age", edges=[0, 18, 65, 120]')
def ranges(column: str, *, edges: Sequence[object] | None = None) -> Ordered:
    """For ``workload``: how many rows there are in every range of a column, from any of its edges to any other; without edges,
    from any declared value to any other, both included.

    >>> str(ranges("age", edges=[0, 18, 65, 120]))
    'ranges(age, edges=[0, 18, 65, 120])'
    """
    return Ordered("ranges", _name("ranges", column), _edges(edges))


@called_as('"age", edges=[0, 18, 65, 120]')
def prefixes(column: str, *, edges: Sequence[object] | None = None) -> Ordered:
    """For ``workload``: the cumulative distribution of a column: how many rows there are from its first edge, or its least value,
    to each of the others.

    >>> str(prefixes("age"))
    'prefixes(age)'
    """
    return Ordered("prefixes", _name("prefixes", column), _edges(edges))


@called_as('"sex", "ward"')
def marginal(column: str | Sequence[str], *others: str) -> Marginal:
    """For ``workload``: how many rows have each combination of the declared values of these columns.

    >>> str(marginal("sex", "ward"))
    'marginal(sex, ward)'
    """
    listed = (*column, *others) if isinstance(column, (list, tuple)) else (column, *others)
    names = tuple(_name("marginal", name) for name in listed)
    if not names or len({*names}) < len(names):
        raise ParameterError('A marginal names its columns, at least one, and each once; write marginal("sex", "ward").')
    return Marginal(names)


def _name(what: str, column: object) -> str:
    if not isinstance(column, str) or not column:
        raise ParameterError(f'{what} takes the name of a column; write {what}("age").')
    return column


def _edges(edges: object) -> tuple[Value, ...] | None:
    if edges is None:
        return None
    said = "edges= is a list of at least two numbers or dates that increase; write edges=[0, 18, 65, 120]."
    if isinstance(edges, str) or not hasattr(edges, "__iter__"):
        raise ParameterError(said)
    found = [*itertools.islice(edges, MOST_EDGES + 2)]
    if len(found) > MOST_EDGES + 1:
        raise ParameterError(f"edges= cuts a column into at most {MOST_EDGES:,} cells; write fewer.")
    plain: list[Any] = [one.item() if hasattr(one, "item") else one for one in found]
    days = all(isinstance(one, str | datetime.date) and not isinstance(one, datetime.datetime) for one in plain)
    numbers = all(isinstance(one, int | float | Fraction) and not isinstance(one, bool) for one in plain)
    try:
        read: list[Value] = [_day(one) for one in plain] if days else [_number(one) for one in plain] if numbers else []
    except (ValueError, OverflowError):
        raise ParameterError(said) from None
    if len(read) < 2 or any(not a < b for a, b in itertools.pairwise(read)):  # type: ignore[operator]
        raise ParameterError(said)
    return tuple(read)


def _day(edge: object) -> datetime.date:
    return edge if isinstance(edge, datetime.date) else datetime.date.fromisoformat(str(edge))


def _number(edge: float | Fraction) -> int | Fraction:
    exact = Fraction(repr(edge)) if isinstance(edge, float) else Fraction(edge)
    return int(exact) if exact.denominator == 1 else exact


def _known(name: str, facts: Mapping[str, Facts]) -> Facts:
    if name not in facts:
        raise ParameterError(f"There is no column {name[:60]} here; there are {', '.join([*facts][:20])}.")
    return facts[name]


def _edge(edge: Value, column: str, facts: Facts) -> Value:
    if isinstance(edge, datetime.date) != (facts.kind == "date"):
        wanted = 'dates; write edges=["2020-01-01", "2021-01-01"]' if facts.kind == "date" else "numbers; write edges=[0, 10, 20]"
        raise ParameterError(f"{column} is cut by {wanted}.")
    return edge
