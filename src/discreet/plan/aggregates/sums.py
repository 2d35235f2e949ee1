"""Aggregates that are made of noisy sums: counts, sums, means, variances; with standard errors and 95 % intervals.

Means and variances are taken around the middle of the declared range: half the bound, half the noise. Under a pure budget a mean
is one noisy pair (``soft``), of which its count and its sum are linear forms. Estimates are made after the release and cost
nothing. An interval covers the statistic after clamping and bounding: what the table would answer without
noise. Sums have the interval of their noise. A mean is a ratio S / N: its interval holds every r for which S - r N is compatible
with noise alone (Fieller 1954), which is exact for Gaussian noise. Variances take the worst case of the intervals of their three
sums, and so cover more often than they say. Declared bounds cut off what cannot be.

>>> from discreet.plan.expressions import Column
>>> from discreet.plan.expressions.facts import Facts
>>> age = Facts("number", False, Fraction(0), Fraction(120), Fraction(1))
>>> [str(need.statistic) for need in Mean(Column("age")).needs(Context({"age": age}))]
['count(*)', 'sum(age - 60)']
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Aggregate, Context, Estimate, Expected, OfNumbers, Spelling, Typical
from discreet.plan.aggregates.soft import Forms, forms_of, numbers_of
from discreet.plan.expressions import Call, Expression, Literal
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.forms import Form, Ratio, sum_of
from discreet.plan.measures import ROWS, Measure, measure_presence, measure_value
from discreet.plan.release import Additive, Need, Release, Released, Spread
from discreet.plan.statistics import Persons, Sums
from discreet.schema.units import Rows, Unit

_MISS = 0.05
_TRIED = 21  # variances at which an error is tried
_LARGEST_ROOT = 2**31  # its square is a 64-bit integer
_LARGEST_VALUE = 10**140  # sums of many of its squares are doubles


class _Alone(Aggregate):
    """An aggregate that is one noisy sum."""

    @property
    def additive(self) -> bool:
        return True

    def estimate(self, released: Sequence[Released]) -> Estimate:
        (one,) = released
        return _alone(one.real, one.release)

    def form(self, released: Sequence[Released]) -> Form | None:
        (one,) = released
        return sum_of(one)

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        if releases[0].mechanism is None:
            return Expected(0.0, "exact: it is public")
        half = releases[0].spread.half()
        return Expected(half, f"± {half:,.4g}{typical.each}" if half else f"± 0{typical.each}: right at least 95 % of the time")


@dataclass(frozen=True)
class Count(_Alone):
    """Rows; where ``of`` is given, rows in which it is not missing."""

    of: Expression | None = None

    spellings = (Spelling("count", python="count"),)
    paired = True

    @classmethod
    def make(cls, of: Expression | None, **_: object) -> Count:
        return cls(of)

    def check(self, facts: Mapping[str, Facts]) -> None:
        if self.of is not None:
            infer(self.of, facts)

    def written(self) -> Iterator[tuple[Expression, int]]:
        if self.of is not None:
            yield self.of, 1

    def filtered(self, test: Expression) -> Aggregate:
        return Count(Call("case", (test, Literal(1) if self.of is None else self.of, Literal(None))))

    def needs(self, context: Context) -> tuple[Need, ...]:
        """Its own count, or the pair of a mean that has the same."""
        measure = ROWS if self.of is None else measure_presence(self.of, context.of(self.of))
        return (context.counted[measure],) if measure in context.counted else _sums(measure)

    def estimate(self, released: Sequence[Released]) -> Estimate:
        return _counted(released) if _is_pair(released[0].release) else super().estimate(released)

    def form(self, released: Sequence[Released]) -> Form | None:
        if not _is_pair(released[0].release):
            return super().form(released)
        return forms_of([released[0].release]).linear(released)[0]

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        if not _is_pair(releases[0]):
            return super().expected(releases, typical)
        half = forms_of(releases).half(0, 1)
        return Expected(half, f"± {half:,.4g}{typical.each}")

    def __str__(self) -> str:
        return f"count({'*' if self.of is None else self.of})"


@dataclass(frozen=True)
class Distinct(_Alone):
    """Persons: distinct values of the id column."""

    spellings = (Spelling("persons", python="persons"),)
    name = "count_persons"

    @classmethod
    def make(cls, of: Expression | None, **_: object) -> Distinct:
        return cls()

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        if isinstance(unit, Rows):
            raise ParameterError("Here every row is a person (unit=rows()); write count(*).")

    def written(self) -> Iterator[tuple[Expression, int]]:
        yield from ()

    def filtered(self, test: Expression) -> Aggregate:
        raise ParameterError("count(DISTINCT ...) and choose(...) have no FILTER; put the condition into WHERE.")

    def needs(self, context: Context) -> tuple[Additive, ...]:
        return (Additive(Persons()),)

    def __str__(self) -> str:
        return "count(DISTINCT person)"


@dataclass(frozen=True)
class Sum(_Alone, OfNumbers):
    """Sum of what is not missing; beside a mean of the same, made of the mean's two sums, which say it already."""

    of: Expression

    spellings = (Spelling("sum", ("sum",), "sum"),)
    paired = True

    def needs(self, context: Context) -> tuple[Need, ...]:
        if any(other.averages == self.of for other in context.beside):
            return Mean(self.of).needs(context)
        return _sums(measure_value(self.of, context.of(self.of)))

    def estimate(self, released: Sequence[Released]) -> Estimate:
        releases = [one.release for one in released]
        if len(releases) == 1 and not _is_pair(releases[0]):
            return super().estimate(released)
        forms = forms_of(releases)
        count, centred = forms.values(numbers_of(released))
        return _total(centred + forms.middle * count, forms)

    def takes(self, releases: Sequence[Release]) -> int:
        mine = releases[0].statistic
        alone = isinstance(mine, Sums) and mine.of[0].what == "value" and mine.of[0].of == self.of and not mine.of[0].shift
        return 1 if alone else Mean(self.of).takes(releases)

    def form(self, released: Sequence[Released]) -> Form | None:
        if len(released) == 1 and not _is_pair(released[0].release):
            return super().form(released)
        return Mean(self.of).form(released).over

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        if len(releases) == 1 and not _is_pair(releases[0]):
            return super().expected(releases, typical)
        forms = forms_of(releases)
        half = forms.half(1, forms.middle)
        return Expected(half, f"± {half:,.4g}{typical.each}")

    def __str__(self) -> str:
        return f"sum({self.of})"


class _Ratio(OfNumbers):
    """An aggregate that divides noisy sums by a noisy count."""

    depends_on_size = True

    @property
    def averages(self) -> Expression:
        return self.of

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        """The largest half-width that a group of this many rows can have, whatever its mean and variance are."""
        found = self._worst(releases, float(typical.rows))
        assert found.lower is not None
        assert found.upper is not None
        error = float(np.max(found.upper - found.lower)) / 2
        return Expected(error, f"± {error:,.4g} at most, {typical.of}")

    @abstractmethod
    def _worst(self, releases: Sequence[Release], size: float) -> Estimate:
        """The estimates of groups of this size whose intervals are the widest."""


@dataclass(frozen=True)
class Mean(_Ratio):
    """Mean of what is not missing."""

    of: Expression

    spellings = (Spelling("avg", ("avg", "mean"), "mean"),)
    paired = True

    def needs(self, context: Context) -> tuple[Need, ...]:
        if self.of in context.pairs:
            return (context.pairs[self.of],)
        known = context.of(self.of)
        return _sums(measure_presence(self.of, known), measure_value(self.of, known, centred=True))

    def estimate(self, released: Sequence[Released]) -> Estimate:
        forms = forms_of([one.release for one in released])
        return forms.mean(*forms.values(numbers_of(released)))

    def takes(self, releases: Sequence[Release]) -> int:
        return 1 if _is_pair(releases[0]) else 2

    def form(self, released: Sequence[Released]) -> Ratio:
        """The sum over the count, between the declared bounds."""
        forms = forms_of([one.release for one in released])
        count, centred = forms.linear(released)
        return Ratio(centred.plus(count.times(forms.middle)), count, forms.middle + forms.low, forms.middle + forms.high)

    def _worst(self, releases: Sequence[Release], size: float) -> Estimate:
        return forms_of(releases).widest(size)

    def __str__(self) -> str:
        return f"avg({self.of})"


@dataclass(frozen=True)
class Variance(_Ratio):
    """Population variance of what is not missing, or its square root (``root``)."""

    of: Expression
    root: bool = False

    spellings = (
        Spelling("var", ("var", "variance", "variance_pop"), "variance"),
        Spelling("stddev", ("std", "stddev", "stddev_pop", "stddev_samp"), "stddev", {"root": True}),
    )

    def needs(self, context: Context) -> tuple[Additive, ...]:
        known = context.of(self.of)
        value = measure_value(self.of, known, centred=True, largest=_LARGEST_ROOT)
        if value.bound * value.step > _LARGEST_VALUE:
            raise ParameterError(
                f"{self.of} can grow beyond 1e140, and its squares beyond all doubles; write it in larger units."
            )
        top = value.bound**2
        square = Measure("square", -(top // 2), top - top // 2, self.of, value.nullable, value.step, value.shift, top // 2)
        return _sums(measure_presence(self.of, known), value, square)

    def estimate(self, released: Sequence[Released]) -> Estimate:
        count, first, second = released
        sums, spreads = (count.real, first.real, second.real), [one.release.spread for one in released]
        return _variance(sums, (spreads[0], spreads[1], spreads[2]), _measure(second.release), root=self.root)

    def takes(self, releases: Sequence[Release]) -> int:
        return 3

    def _worst(self, releases: Sequence[Release], size: float) -> Estimate:
        spreads = [release.spread for release in releases]
        value, square = _measure(releases[1]), _measure(releases[2])
        low, high = float(value.low * value.step), float(value.high * value.step)
        shares, means = (
            grid.ravel() for grid in np.meshgrid(np.linspace(0, 1, _TRIED) ** 3, _means(value))
        )  # roots are steep near 0
        variances = shares * (high - means) * (means - low)
        squares = size * (variances + means**2 - float(square.lift * square.step**2))
        sums = (np.full_like(means, size), size * means, squares)
        return _variance(sums, (spreads[0], spreads[1], spreads[2]), square, root=self.root)

    def __str__(self) -> str:
        return f"{'stddev_pop' if self.root else 'var_pop'}({self.of})"


def _sums(*measures: Measure) -> tuple[Additive, ...]:
    """A noisy sum of each."""
    return tuple(Additive(Sums((measure,))) for measure in measures)


def _measure(release: Release) -> Measure:
    assert isinstance(release.statistic, Sums)
    return release.statistic.of[0]


def _is_pair(release: Release) -> bool:
    return isinstance(release.statistic, Sums) and release.statistic.is_pair


def _means(value: Measure) -> Reals:
    """All means there can be, around the middle."""
    return np.linspace(float(value.low * value.step), float(value.high * value.step), _TRIED)


def _alone(noisy: Reals, release: Release) -> Estimate:
    """A sum by itself."""
    spread = release.spread
    half, whole = spread.half(), not release.bits and release.worth.denominator == 1
    return Estimate(noisy, np.full_like(noisy, spread.deviation), noisy - half, noisy + half, whole=whole)


def _counted(released: Sequence[Released]) -> Estimate:
    """A count from the pair of a mean; of rows it is a whole number."""
    forms = forms_of([released[0].release])
    count, _ = forms.values(numbers_of(released))
    half, whole = forms.half(0, 1), not released[0].release.bits
    error = np.full_like(count, forms.deviation(0, 1))
    return Estimate(np.rint(count) if whole else count, error, count - half, count + half, whole=whole)


def _total(values: Reals, forms: Forms) -> Estimate:
    """A sum from the sum around a middle and the count."""
    half = forms.half(1, forms.middle)
    return Estimate(values, np.full_like(values, forms.deviation(1, forms.middle)), values - half, values + half)


def _variance(
    sums: tuple[Reals, Reals, Reals], spreads: tuple[Spread, Spread, Spread], square: Measure, *, root: bool
) -> Estimate:
    """A population variance, or its root, from the count, the sum and the sum of squares around a middle.

    Calculated in units of the largest distance from the middle, so that no square of a large number overflows.
    """
    most = (square.high + square.lift) * square.step**2
    reach = float(most) ** 0.5 or 1.0
    count, first, second = sums[0], sums[1] / reach, sums[2] / reach / reach
    deviations = (spreads[0].deviation, spreads[1].deviation / reach, spreads[2].deviation / reach / reach)
    half = [spread.half(1 - _MISS / 3) for spread in spreads]
    halves = [half[0], half[1] / reach, half[2] / reach / reach]
    lift, ceiling = float(Fraction(square.lift, square.high + square.lift or 1)), 1.0 if most else 0.0
    fewest, largest = np.maximum(count - halves[0], 1e-300), np.maximum(count + halves[0], 1e-300)
    enough = count > max(halves[0], 0.5)
    size = np.where(enough, count, 1.0)
    best = np.clip(lift + second / size - (first / size) ** 2, 0.0, ceiling)
    top, bottom = second + halves[2], second - halves[2]
    inner, outer = np.maximum(np.abs(first) - halves[1], 0.0), np.abs(first) + halves[1]
    with np.errstate(over="ignore"):
        upper = lift + np.maximum(top / fewest, top / largest) - (inner / largest) ** 2
        lower = lift + np.minimum(bottom / fewest, bottom / largest) - (outer / fewest) ** 2
    slope = second / size - 2 * (first / size) ** 2
    parts = (deviations[2], 2 * np.abs(first / size) * deviations[1], np.abs(slope) * deviations[0])
    error = np.sqrt(sum((np.asarray(part) ** 2 for part in parts), np.zeros_like(size))) / size
    best, error = np.where(enough, best, ceiling / 2), np.where(enough, error, ceiling / 2)
    lower, upper = np.where(enough, np.clip(lower, 0, ceiling), 0.0), np.where(enough, np.clip(upper, 0, ceiling), ceiling)
    if not root:
        square_reach = float(most) or 1.0
        return Estimate(best * square_reach, error * square_reach, lower * square_reach, upper * square_reach)
    deviation = np.sqrt(best)
    steep = np.sqrt(error)  # near 0 the root is steeper than any line: its error is that of the root itself
    error = error / np.maximum(2 * deviation, np.maximum(steep, 1e-300))
    return Estimate(deviation * reach, error * reach, np.sqrt(lower) * reach, np.sqrt(upper) * reach)
