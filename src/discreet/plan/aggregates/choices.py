"""Aggregates that are chosen privately: quantiles, the most common value, the best of some candidates.

A quantile is a cell of a histogram, with the ends of an interval; how far values lie apart is not known, so neither is a standard
error. A most common value and a best candidate are one of a public list, and have neither.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.exact import probability
from discreet.mechanisms.quantile import Quantile as QuantileMechanism
from discreet.mechanisms.selection import Selection
from discreet.plan.aggregates.base import Aggregate, Context, Estimate, Expected, OfExpression, OfNumbers, Spelling, Typical
from discreet.plan.expressions import Expression, Literal, Value, columns_of, substitute
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.expressions.facts import Facts
from discreet.plan.expressions.values import kind_of
from discreet.plan.measures import HALVES, measure_value
from discreet.plan.release import Largest, Need, Ranked, Release, Released
from discreet.plan.statistics import MOST_CELLS, MOST_WORK, Axis, Histogram, Sums, list_axis
from discreet.schema.units import Unit


@dataclass(frozen=True)
class Quantile(OfNumbers):
    """The value below which a share of what is not missing lies; a half is the median.

    >>> from discreet.plan.expressions import Column
    >>> Quantile(Column("age"), Fraction(1, 2)).spelled
    'median(age)'
    """

    of: Expression
    share: Fraction
    interval: bool = True  # without one, the value has all that is paid

    spellings = (
        Spelling("median", ("median",), fixed={"share": Fraction(1, 2)}),
        Spelling("median_only", ("median_only",), fixed={"share": Fraction(1, 2), "interval": False}),
        Spelling("quantile", python="quantile", extra="share"),
        Spelling("quantile_only", python="quantile_only", extra="share", fixed={"interval": False}),
    )

    @classmethod
    def make(cls, of: Expression | None, *, share: object = None, interval: bool = True, **_: object) -> Quantile:
        exact = probability("share", share, zero=False, hint="0.5 for the median")
        return super().make(of, share=exact, interval=interval)

    @property
    def spelled(self) -> str:
        return f"median{self._only}({self.of})" if self.share == Fraction(1, 2) else str(self)

    @property
    def _only(self) -> str:
        return "" if self.interval else "_only"

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        return self  # a quantile of truth values is one of two

    def needs(self, context: Context) -> tuple[Need, ...]:
        facts = context.of(self.of)
        if facts.lower is None or facts.upper is None or facts.kind != "number":
            raise ParameterError(
                f"A quantile of {self.of} is chosen between public bounds, and none are known; declare them, "
                f"or write least(greatest({self.of}, 0), 100) with bounds that make sense."
            )
        most = max(2**8, min(MOST_CELLS, MOST_WORK // context.groups))
        width = facts.step or (facts.upper - facts.lower) / (most - 1) or Fraction(1)
        if (facts.upper - facts.lower) / width + 1 > most:
            width *= math.ceil((facts.upper - facts.lower) / width / (most - 2))
        count = math.ceil((facts.upper - facts.lower) / width) + 1
        axis = Axis(self.of, count, facts.lower, width, facts.upper, exact=width == facts.step)
        return (Ranked(Histogram((axis,)), self.share, self.interval),)

    def takes(self, releases: Sequence[Release]) -> int:
        return 3 if self.interval else 1

    def estimate(self, released: Sequence[Released]) -> Estimate:
        """From the cells chosen for the value and, where they were asked for, the ends of its interval."""
        axis = _histogram(released[0].release).axes[0]
        first, width, last, rounded = float(axis.first), float(axis.width), float(axis.last), 0.0 if axis.exact else 0.5

        def at(place: Reals) -> Reals:
            return np.clip(first + place * width, first, last)

        if not self.interval:
            return Estimate(at(released[0].units.astype(np.float64)))
        middle, low, high = (one.units.astype(np.float64) for one in released)
        return Estimate(at(middle), None, at(np.minimum(low, middle) - rounded), at(np.maximum(high, middle) + rounded))

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        ranks = _rows_short(releases[0])
        return Expected(None, f"within {ranks:,} rows of the quantile", ranks)

    def __str__(self) -> str:
        return f"quantile{self._only}({self.of}, {Literal(self.share)})"


@dataclass(frozen=True)
class Mode(OfExpression):
    """The most common value, of a declared list of values."""

    of: Expression

    spellings = (Spelling("mode", ("mode",), "most_common"),)

    def check(self, facts: Mapping[str, Facts]) -> None:
        if listing(self.of, facts) is None:
            raise ParameterError(f"{self} needs a declared list of values; declare a category, or a coarser step.")

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        if not any(True for _ in columns_of(self.of)):
            raise ParameterError("The most common value is that of a column or an expression over columns.")

    def needs(self, context: Context) -> tuple[Need, ...]:
        axis = list_axis(self.of, context.of(self.of))
        if axis is None or axis.count * context.groups > MOST_WORK:
            raise ParameterError(
                f"The most common value of {self.of} is chosen from a public list, and there is none, or too long a one; "
                "declare a category, or group into fewer values first."
            )
        return (Largest(Histogram((axis,)), str(self)),)

    def result(self, facts: Mapping[str, Facts]) -> Facts:
        return Facts(infer(self.of, facts).kind)

    def estimate(self, released: Sequence[Released]) -> Estimate:
        return _chosen(released[0], _histogram(released[0].release).axes[0].values or ())

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        ranks = _rows_short(releases[0])
        return Expected(None, f"a value with at most {ranks:,} rows fewer than the commonest", ranks)

    def __str__(self) -> str:
        return f"mode({self.of})"


@dataclass(frozen=True)
class Best(Aggregate):
    """The candidate with the largest sum of a score, an expression over the columns and ``candidate``."""

    candidates: tuple[Value, ...]
    score: Expression

    name = "best"

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        if grouped:
            raise ParameterError(
                "A best candidate is chosen for the whole table; leave out GROUP BY, or use WHERE for one group."
            )

    def written(self) -> Iterator[tuple[Expression, int]]:
        yield from ((score, 5) for score in self._scores())  # a sum for every candidate is more work than their terms say

    def filtered(self, test: Expression) -> Aggregate:
        raise ParameterError("count(DISTINCT ...) and choose(...) have no FILTER; put the condition into WHERE.")

    def needs(self, context: Context) -> tuple[Need, ...]:
        """All on one grid, the finest that any of them needs."""
        each = [(score, context.of(score)) for score in self._scores()]
        step = min(measure_value(*one, largest=HALVES).step for one in each)
        while any(measure_value(*one, largest=HALVES, step=step).step != step for one in each):
            step *= 2
        label = f"scores of {len(each)} candidates"
        return (Largest(Sums(tuple(measure_value(*one, step=step) for one in each)), label),)

    def result(self, facts: Mapping[str, Facts]) -> Facts:
        return Facts(kind_of(self.candidates[0]))

    def estimate(self, released: Sequence[Released]) -> Estimate:
        return _chosen(released[0], self.candidates)

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        (release,) = releases
        assert isinstance(release.mechanism, Selection)
        short = release.mechanism.error(candidates=len(self.candidates)) * float(release.statistic.worth) / 2**release.bits
        return Expected(None, f"a candidate whose score is at most {short:,.4g} below the best")

    def _scores(self) -> Iterator[Expression]:
        yield from (substitute(self.score, "candidate", candidate) for candidate in self.candidates)

    def __str__(self) -> str:
        return f"choose([{', '.join(str(Literal(value)) for value in self.candidates)}], {self.score})"


def _histogram(release: Release) -> Histogram:
    assert isinstance(release.statistic, Histogram)
    return release.statistic


def _rows_short(release: Release) -> int:
    """By how many rows a choice among the cells of a histogram may miss, with 95 % confidence."""
    assert isinstance(release.mechanism, (QuantileMechanism, Selection))
    return math.ceil(release.mechanism.error(candidates=_histogram(release).count) / (1 << release.bits))


def _chosen(released: Released, values: Sequence[Value]) -> Estimate:
    """A value of a public list."""
    return Estimate([values[int(place)] for place in released.units])
