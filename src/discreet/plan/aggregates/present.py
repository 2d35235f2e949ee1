"""Distinct values: how many of a public list occur, from noisy counts of each.

The histogram of the values is released (its sensitivity stands in ``statistics``), and a value counts where its noisy count
cannot be noise alone. With 95 % confidence all counts at once lie within a half-width h of the noisy ones (each with 1 - 0.05/k,
a union bound over k values). Then whatever is above h occurs, and whatever is below 1 - h, where rows are counted whole, does
not: the number lies between those that surely occur and those that are not excluded. The answer is the first of the two: rare
values are not found, which is what protects the few who have them.

Counting presence itself and adding noise would cost more: one person can make r g values occur, and the noise would be of that
size on a number that is at most k.

>>> from discreet.plan.expressions import Column
>>> print(Present(Column("ward")), Present(Column("ward")).name)
count(DISTINCT ward) count_distinct_ward
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Context, Estimate, Expected, OfExpression, Typical, name_from
from discreet.plan.expressions import Expression, columns_of
from discreet.plan.expressions.evaluate import listing
from discreet.plan.expressions.facts import Facts
from discreet.plan.release import Additive, Release, Released
from discreet.plan.statistics import Histogram, list_axis

_MISS = 0.05


@dataclass(frozen=True)
class Present(OfExpression):
    """How many values of a declared list occur, as far as that can be told from noise."""

    of: Expression

    @property
    def name(self) -> str:
        return name_from(f"count_distinct {self.of}")

    def check(self, facts: Mapping[str, Facts]) -> None:
        if not any(True for _ in columns_of(self.of)):
            raise ParameterError(
                "Distinct values are those of a column or an expression over columns; write count(DISTINCT ward)."
            )
        if not listing(self.of, facts):
            raise ParameterError(
                f"Distinct values of {self.of} are counted where a declaration lists them; declare a category or a coarser step, "
                f"or write SELECT DISTINCT {self.of}, which chooses keys privately."
            )

    def needs(self, context: Context) -> tuple[Additive, ...]:
        self.check(context.facts)
        axis = list_axis(self.of, context.of(self.of))
        assert axis is not None
        return (Additive(Histogram((axis,))),)

    def estimate(self, released: Sequence[Released]) -> Estimate:
        release = released[0].release
        assert isinstance(release.statistic, Histogram)
        counts = released[0].real.reshape(-1, release.statistic.count)
        half, least = _half(release), 1 / 2**release.bits
        sure = np.count_nonzero(counts > max(half, 0.5), axis=1).astype(np.float64)
        possible = np.count_nonzero(counts > least - half, axis=1).astype(np.float64)
        return Estimate(sure, None, sure, np.maximum(possible, sure))

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        return Expected(None, f"values of more than {2 * _half(releases[0]):,.4g} rows are found{typical.each}")

    def __str__(self) -> str:
        return f"count(DISTINCT {self.of})"


def _half(release: Release) -> float:
    """How far all noisy counts of a group are off at most, with 95 % confidence."""
    assert isinstance(release.statistic, Histogram)
    return release.spread.half(1 - _MISS / release.statistic.count)
