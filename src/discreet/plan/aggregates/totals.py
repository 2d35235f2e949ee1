"""Totals over groups: ``sum(count(*)) OVER ()``, and ``OVER (PARTITION BY region)`` within groups that have keys in common.

A total is arithmetic on what was released for every group, and costs nothing. It is a linear form of as many noises as there are
groups, and its own group's noise is one of them: in ``count(*) / sum(count(*)) OVER ()`` the numerator has that noise too, and
Fieller's interval counts it once. What the noises of the other groups add is told apart by the keys that those groups share with
this one (``Partition``), so that totals within different keys know what they have in common as well.

>>> from discreet.plan.aggregates import Count
>>> print(Total(Count()))
sum(count(*)) OVER ()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from discreet.arrays import Reals
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Aggregate, Context, Estimate, Expected, Typical
from discreet.plan.expressions import Expression
from discreet.plan.expressions.facts import Facts
from discreet.plan.forms import Form, Linear
from discreet.plan.partition import Partition
from discreet.plan.release import Need, Release, Released
from discreet.schema.units import Unit

_MISS = 0.05
_MOST_KEYS = 6  # that groups are compared by


@dataclass(frozen=True)
class Total(Aggregate):
    """The sum of an aggregate over all groups, or over those with the same keys, beside every group."""

    of: Aggregate
    within: tuple[Expression, ...] = ()
    partition: Partition | None = field(default=None, compare=False, repr=False)

    @property
    def spelled(self) -> str:
        return self._text(self.of.spelled)

    @property
    def parts(self) -> tuple[Aggregate, ...]:
        return self.of.parts

    def with_numbers(self, facts: Mapping[str, Facts]) -> Aggregate:
        return replace(self, of=self.of.with_numbers(facts))

    def check(self, facts: Mapping[str, Facts]) -> None:
        self.of.check(facts)
        if not self.of.additive:
            raise ParameterError(
                f"Groups are added up where that means something: counts and sums, as in sum(count(*)) OVER (), and not "
                f"{self.of.spelled}; select it by itself, and add up the noisy result, which is free."
            )

    def check_place(self, unit: Unit, *, grouped: bool) -> None:
        self.of.check_place(unit, grouped=grouped)
        if len(self.within) > _MOST_KEYS:
            raise ParameterError(f"Totals are taken within at most {_MOST_KEYS} keys; name fewer after PARTITION BY.")

    def written(self) -> Iterator[tuple[Expression, int]]:
        return self.of.written()

    def filtered(self, test: Expression) -> Aggregate:
        raise ParameterError("A total of groups has no FILTER; put the condition within it: sum(count(*) FILTER (...)) OVER ().")

    def each(self, change: Callable[[Aggregate], Aggregate]) -> Aggregate:
        return replace(self, of=self.of.each(change))

    def placed(self, partition: Partition) -> Aggregate:
        return replace(self, partition=partition)

    def needs(self, context: Context) -> tuple[Need, ...]:
        return self.of.needs(context)

    def takes(self, releases: Sequence[Release]) -> int:
        return self.of.takes(releases)

    def form(self, released: Sequence[Released]) -> Form | None:
        """The sum over the groups of a part: the group's own noise, and that of all others in the part."""
        each = self.of.form(released)
        assert isinstance(each, Linear)
        size = each.values.size
        partition = self.partition or Partition(dict.fromkeys(self.within, (None,) * size), size)  # previews: one part
        inside = partition.places(self.within)
        part = partition.part(sorted(inside))
        values: Reals = np.zeros(each.values.size)
        np.add.at(values, part, each.values)
        weights = dict(each.weights)
        for common, many in partition.others.items():
            if common >= inside and many.any():
                weights |= {replace(one, among=common, many=many): weight for one, weight in each.weights.items()}
        return Linear(values[part], weights)

    def estimate(self, released: Sequence[Released]) -> Estimate:
        form = self.form(released)
        assert isinstance(form, Linear)
        return Estimate(form.values, form.deviation, *form.interval(_MISS), whole=form.whole)

    def expected(self, releases: Sequence[Release], typical: Typical) -> Expected:
        """Of as many groups as there can be."""
        if typical.groups is None:
            return Expected(None, "that of all groups together that will be chosen")
        half = float(self._typical(releases, typical.groups).half(_MISS)[0])
        return Expected(half, f"± {half:,.4g}{' at most' if self.within else ''}")

    def _typical(self, releases: Sequence[Release], groups: int) -> Linear:
        one = self.of.form([Released(release, np.zeros(_numbers(release))) for release in releases])
        assert isinstance(one, Linear)
        others = {replace(s, among=frozenset(), many=groups - 1): weight for s, weight in one.weights.items() if groups > 1}
        return Linear(one.values, {**one.weights, **others})

    def _text(self, of: str) -> str:
        keys = f"PARTITION BY {', '.join(map(str, self.within))}" if self.within else ""
        return f"sum({of}) OVER ({keys})"

    def __str__(self) -> str:
        return self._text(str(self.of))


def _numbers(release: Release) -> int:
    """How many noisy numbers a release has in one group."""
    return len(getattr(release.statistic, "of", ())) or 1
