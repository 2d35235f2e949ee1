"""Aggregates, and the register of their names in SQL and in Python.

>>> mean("debt"), quantile("age", 0.9)
(Asked(kind='mean', of='debt', extra=None, where=None), Asked(kind='quantile', of='age', extra=0.9, where=None))
>>> from discreet.plan.expressions import Column
>>> print((sum("cost") / count()).aggregate(Column))
(sum(cost) / count(*))
>>> [*named(({"cost": ["sum", "mean"]}, count()), {"n": persons()}, NAMED)]
['cost_sum', 'cost_mean', 'count', 'n']
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.plan.aggregates.asked import Askable, Computed, Read, named, ratio
from discreet.plan.aggregates.base import Aggregate, Spelling
from discreet.plan.aggregates.choices import Best, Mode, Quantile
from discreet.plan.aggregates.combined import Combined
from discreet.plan.aggregates.pairs import Paired
from discreet.plan.aggregates.present import Present
from discreet.plan.aggregates.sums import Count, Distinct, Mean, Sum, Variance
from discreet.plan.aggregates.totals import Total

__all__ = [
    "NAMED",
    "PYTHON",
    "SQL",
    "Aggregate",
    "Askable",
    "Asked",
    "Best",
    "Combined",
    "Computed",
    "Count",
    "Distinct",
    "Mean",
    "Mode",
    "Present",
    "Quantile",
    "Sum",
    "Total",
    "Variance",
]
__all__ += ["count", "mean", "median", "most_common", "named", "persons", "quantile", "ratio", "register", "stddev"]
__all__ += ["sum", "total", "variance"]

SQL: dict[str, tuple[type[Aggregate], Spelling]] = {}  # by the names of functions of one expression
PYTHON: dict[str, tuple[type[Aggregate], Spelling]] = {}  # by the names of functions


def register(aggregate: type[Aggregate]) -> None:
    """Let SQL and Python know an aggregate by its names."""
    for spelling in aggregate.spellings:
        SQL.update(dict.fromkeys(spelling.sql, (aggregate, spelling)))
        if spelling.python is not None:
            PYTHON[spelling.python] = aggregate, spelling


register(Count)
register(Distinct)
register(Sum)
register(Mean)
register(Variance)
register(Paired)
register(Quantile)
register(Mode)


@dataclass(frozen=True)
class Asked(Askable):
    """An aggregate that a question will ask for, by its name in Python; ``of`` is an expression as SQL writes it, and so is
    ``where``, a condition on the rows that it is of."""

    kind: str
    of: str | None = None
    extra: object = None
    where: str | None = None

    def aggregate(self, read: Read) -> Aggregate:
        if isinstance(self.of, str) and self.of.strip() == "*":
            raise ParameterError("A star stands for no expression; write count() for the number of rows.")
        found, spelling = PYTHON[self.kind]
        more = {} if spelling.extra is None else {spelling.extra: self.extra}
        made = found.make(None if self.of is None else read(self.of), **spelling.fixed, **more)
        return made if self.where is None else made.filtered(read(self.where))


@called_as('"age"')
def count(of: str | None = None, *, where: str | None = None) -> Asked:
    """Rows, or rows in which something is not missing; ``where``: of rows for which this holds."""
    return Asked("count", of, where=where)


@called_as("")
def persons() -> Asked:
    """Distinct persons."""
    return Asked("persons")


@called_as('"debt"')
def sum(of: str, *, where: str | None = None) -> Asked:
    """The sum of what is not missing; ``where``: of rows for which this holds."""
    return Asked("sum", of, where=where)


@called_as('"age"')
def mean(of: str, *, where: str | None = None) -> Asked:
    """The mean of what is not missing; ``where``: of rows for which this holds."""
    return Asked("mean", of, where=where)


@called_as('"age"')
def variance(of: str) -> Asked:
    """The population variance of what is not missing."""
    return Asked("variance", of)


@called_as('"age"')
def stddev(of: str) -> Asked:
    """The population standard deviation of what is not missing."""
    return Asked("stddev", of)


@called_as('"age"')
def median(of: str, *, interval: bool = True) -> Asked:
    """The value below which half of what is not missing lies; without an ``interval`` the value has its whole share."""
    return quantile(of, 0.5, interval=interval)


@called_as('"age", 0.9')
def quantile(of: str, share: object, *, interval: bool = True) -> Asked:
    """The value below which a share of what is not missing lies; without an ``interval`` the value has its whole share."""
    if not isinstance(interval, bool):
        raise ParameterError("interval is True or False; write interval=False for the value alone.")
    return Asked("quantile" if interval else "quantile_only", of, share)


@dataclass(frozen=True)
class AskedTotal(Askable):
    """The sum over groups of what is asked for, beside every group."""

    of: Askable
    within: tuple[str, ...] = ()

    def aggregate(self, read: Read) -> Aggregate:
        return Total(self.of.aggregate(read), tuple(map(read, self.within)))


@called_as("count()")
def total(of: Askable, *, within: str | Sequence[str] = ()) -> AskedTotal:
    """The sum of a count or sum over all groups, or over those with the same keys ``within``: ``count() / total(count())``."""
    if not isinstance(of, Askable):
        raise ParameterError(
            f'A total is of an aggregate, not of {type(of).__name__}; write total(count()), or total(sum("debt")).'
        )
    keys = (within,) if isinstance(within, str) else tuple(within)
    return AskedTotal(of, keys)


@called_as('"ward"')
def most_common(of: str) -> Asked:
    """The commonest value of a declared list."""
    return Asked("most_common", of)


# The aggregates of one column that a dictionary may name, by pandas' words too.
NAMED: dict[str, Callable[..., Asked]] = {
    "count": count,
    "sum": sum,
    "mean": mean,
    "avg": mean,
    "median": median,
    "std": stddev,
    "stddev": stddev,
    "var": variance,
    "variance": variance,
    "mode": most_common,
    "most_common": most_common,
}
