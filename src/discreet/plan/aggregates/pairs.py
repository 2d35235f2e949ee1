"""Aggregates of two expressions, over the rows in which neither is missing: correlation, covariance, and the line through
both.

They are made of noisy sums: of rows, of both numbers, of their product and of the squares that are needed. Numbers are
centred at the middle of their bounds and measured in at most 1,024 units either way; divided by the largest size they are in
[-1, 1], where all is calculated. Errors are carried along to first order through every operation, from the noise of each sum;
a 95 % interval is 1.96 of them either way (1.09 times as many for Laplace noise). Where the number of rows, or a variance
that is divided by, is not four standard errors from 0, nothing is known: there is no value, and the interval is all that
public bounds leave.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Aggregate, Context, Estimate, Expected, OfNumbers, Spelling, Typical, as_number
from discreet.plan.expressions import Call, Expression, Value
from discreet.plan.expressions import Literal as Constant
from discreet.plan.expressions.evaluate import infer
from discreet.plan.expressions.facts import Facts
from discreet.plan.measures import Measure, measure_coarse, measure_presence, measure_product
from discreet.plan.release import Additive, Need, Release, Released
from discreet.plan.statistics import Sums

What = Literal["corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept"]

_NORMAL, _LAPLACE, _SURE = 1.959964, 1.09, 4.0
_SPREAD = 1 / 3  # the variance of numbers that are spread evenly over [-1, 1]
_SQUARES: Mapping[What, str] = {"corr": "ab", "covar_pop": "", "covar_samp": "", "regr_slope": "b", "regr_intercept": "b"}


@dataclass(frozen=True, eq=False)
class _Noisy:
    """A number of every group, and how far each noisy sum moves it, in standard deviations of its noise."""

    value: Reals
    moves: Reals  # a row for every sum

    def plus(self, other: _Noisy, sign: float = 1.0) -> _Noisy:
        return _Noisy(self.value + sign * other.value, self.moves + sign * other.moves)

    def times(self, other: _Noisy | float) -> _Noisy:
        if not isinstance(other, _Noisy):
            return _Noisy(self.value * other, self.moves * other)
        return _Noisy(self.value * other.value, self.moves * other.value + other.moves * self.value)

    def over(self, other: _Noisy) -> _Noisy:
        quotient = self.value / other.value
        return _Noisy(quotient, (self.moves - quotient * other.moves) / other.value)

    def root(self) -> _Noisy:
        found = np.sqrt(self.value)
        return _Noisy(found, self.moves / (2 * found))

    @property
    def error(self) -> Reals:
        found: Reals = np.sqrt(np.sum(self.moves**2, axis=0))
        return found

    def positive(self) -> NDArray[np.bool_]:
        """Where it surely is."""
        return np.asarray(self.value > np.maximum(_SURE * self.error, 1e-300))

    def where(self, sure: NDArray[np.bool_]) -> _Noisy:
        """The same, and 1 where it may be 0."""
        return _Noisy(np.where(sure, self.value, 1.0), np.where(sure, self.moves, 0.0))


@dataclass(frozen=True)
class Paired(OfNumbers):
    """``corr(x, y)``, and others of two numbers; of a line the first is the response, as SQL has it."""

    of: Expression
    other: Expression
    what: What = "corr"

    spellings = (
        Spelling("corr", ("corr",), fixed={"what": "corr"}, pair=True),
        Spelling("covar_pop", ("covar_pop",), fixed={"what": "covar_pop"}, pair=True),
        Spelling("covar_samp", ("covar_samp",), fixed={"what": "covar_samp"}, pair=True),
        Spelling("regr_slope", ("regr_slope",), fixed={"what": "regr_slope"}, pair=True),
        Spelling("regr_intercept", ("regr_intercept",), fixed={"what": "regr_intercept"}, pair=True),
    )
    depends_on_size = True

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        return replace(self, of=as_number(self.of, facts), other=as_number(self.other, facts))

    def check(self, facts: Mapping[str, Facts]) -> None:
        super().check(facts)
        replace(self, of=self.other, other=self.of)._check_one(facts)
        for one in (self.of, self.other):
            known = infer(one, facts)
            if known.lower == known.upper:
                raise ParameterError(f"{one} can only have one value, so there is nothing to compare; leave {self.spelled} out.")

    def _check_one(self, facts: Mapping[str, Facts]) -> None:
        super().check(facts)

    def written(self) -> Iterator[tuple[Expression, int]]:
        yield self.of, 4
        yield self.other, 4

    def filtered(self, test: Expression) -> Aggregate:
        return replace(self, of=Call("case", (test, self.of, Constant(None))))

    def needs(self, context: Context) -> tuple[Need, ...]:
        a, b = self._measures(context)
        squares = [(one, one) for name, one in (("a", a), ("b", b)) if name in _SQUARES[self.what]]
        first, last = sorted((a, b), key=lambda one: str(one.of))  # corr(x, y) and regr_slope(y, x) have these in common
        assert first.of is not None
        present = measure_presence(first.of, replace(context.of(first.of), nullable=first.nullable))
        factors: list[tuple[Measure, ...]] = [(a,), (b,), (first, last), *squares]
        return tuple(Additive(Sums((one,))) for one in (present, *(measure_product(*each) for each in factors)))

    def _measures(self, context: Context) -> tuple[Measure, Measure]:
        """Both numbers, missing where either is."""
        found = []
        for mine, beside in ((self.of, self.other), (self.other, self.of)):
            known, partner = context.of(mine), context.of(beside)
            if partner.nullable:
                there = Call("not", (Call("is_null", (beside,)),))
                mine, known = Call("case", (there, mine, Constant(None))), replace(known, nullable=True)
            found.append(measure_coarse(mine, known))
        return found[0], found[1]

    def takes(self, releases: Sequence[Release]) -> int:
        return 4 + len(_SQUARES[self.what])

    def estimate(self, released: Sequence[Released]) -> Estimate:
        return self._estimate([one.release for one in released], [one.real for one in released])

    def _estimate(self, releases: Sequence[Release], reals: Sequence[Reals]) -> Estimate:
        a, b = (_measure(release) for release in releases[1:3])
        sizes = [float(one.bound * one.step) for one in (a, b)]
        scales = [1.0, *sizes, sizes[0] * sizes[1], *(sizes["ab".index(name)] ** 2 for name in _SQUARES[self.what])]
        sums = []
        for i, (release, real, scale) in enumerate(zip(releases, reals, scales, strict=True)):
            moves = np.zeros((len(releases), len(real)))
            moves[i] = release.spread.deviation / scale
            sums.append(_Noisy(real / scale, moves))
        n, *rest = sums
        enough = n.positive() & (n.value > 1.5)
        n = n.where(enough)
        first, second = rest[0].over(n), rest[1].over(n)
        together = rest[2].over(n).plus(first.times(second), -1.0)
        spreads = [
            square.over(n).plus(mean.times(mean), -1.0)
            for square, mean in zip(rest[3:], (first, second) if self.what == "corr" else (second,), strict=False)
        ]
        sure = enough
        for one in spreads:
            sure = sure & one.positive()
        spreads = [one.where(sure) for one in spreads]
        low, high = -math.inf, math.inf
        if self.what == "corr":
            found, low, high = together.over(spreads[0].times(spreads[1]).root()), -1.0, 1.0
        elif self.what in ("covar_pop", "covar_samp"):
            most = sizes[0] * sizes[1]
            found, low, high = together.times(most), -most, most
            if self.what == "covar_samp":
                one_less = _Noisy(n.value - 1, n.moves)
                found, low, high = found.times(n.over(one_less.where(enough))), 2 * low, 2 * high
        else:
            middles = [float(one.shift * one.step) for one in (a, b)]
            slope = together.over(spreads[0]).times(sizes[0] / sizes[1])
            found = slope
            if self.what == "regr_intercept":
                means = [mean.times(size) for mean, size in zip((first, second), sizes, strict=True)]
                shifted = [_Noisy(mean.value + middle, mean.moves) for mean, middle in zip(means, middles, strict=True)]
                found = shifted[0].plus(slope.times(shifted[1]), -1.0)
        stretch = _LAPLACE if any(release.spread.law == "laplace" for release in releases) else 1.0
        half = _NORMAL * stretch * found.error
        best = np.clip(found.value, low, high)
        values: list[Value] = [float(x) if known else None for x, known in zip(best, sure, strict=True)]
        lower = np.where(sure, np.clip(found.value - half, low, high), low)
        upper = np.where(sure, np.clip(found.value + half, low, high), high)
        return Estimate(values, np.where(sure, found.error, np.inf), lower, upper)

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        """Of rows that are spread evenly over the bounds, with no relation between both numbers."""
        rows = float(typical.rows)
        a, b = (float(_measure(release).bound * _measure(release).step) for release in releases[1:3])
        squares = [rows * _SPREAD * (a if name == "a" else b) ** 2 for name in _SQUARES[self.what]]
        found = self._estimate(releases, [np.array([x]) for x in (rows, 0.0, 0.0, 0.0, *squares)])
        assert found.lower is not None
        assert found.upper is not None
        error = float(found.upper[0] - found.lower[0]) / 2
        if not math.isfinite(error):
            return Expected(math.inf, f"nothing would be known of it {typical.of}")
        return Expected(error, f"± {error:,.4g} about, {typical.of} spread evenly over their bounds")

    def __str__(self) -> str:
        return f"{self.what}({self.of}, {self.other})"


def _measure(release: Release) -> Measure:
    assert isinstance(release.statistic, Sums)
    return release.statistic.of[0]
