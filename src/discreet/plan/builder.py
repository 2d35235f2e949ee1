"""Questions written in Python: the same plan as SQL text makes.

>>> mean("debt"), quantile("age", 0.9)
(Asked(kind='mean', of='debt', extra=None), Asked(kind='quantile', of='age', extra=0.9))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.plan.expressions import Call, Expression, Value, columns_of
from discreet.plan.query import Aggregate, Best, Count, Distinct, Key, Mean, Mode, Order, Output, Quantile, Query, Sum, Variance
from discreet.plan.sql import parse_expression
from discreet.schema.table import Schema

__all__ = ["Asked", "Draft", "count", "mean", "median", "most_common", "persons", "quantile", "stddev", "sum", "variance"]

Which = Literal["count", "persons", "sum", "mean", "variance", "stddev", "quantile", "most_common"]


@dataclass(frozen=True)
class Asked:
    """An aggregate that a question will ask for; ``of`` is an expression as SQL writes it."""

    kind: Which
    of: str | None = None
    extra: object = None

    def aggregate(self, schema: Schema) -> Aggregate:
        """What it means for a table."""
        if self.kind == "persons":
            return Distinct()
        if self.of is None:
            return Count()
        of = parse_expression(self.of, schema)
        if self.kind == "quantile":
            return Quantile(of, probability("share", self.extra, zero=False, hint="0.5 for the median"))
        if self.kind in ("variance", "stddev"):
            return Variance(of, root=self.kind == "stddev")
        if self.kind == "count":
            return Count(of)
        return Sum(of) if self.kind == "sum" else Mean(of) if self.kind == "mean" else Mode(of)


def count(of: str | None = None) -> Asked:
    """Rows, or rows in which something is not missing."""
    return Asked("count", of)


def persons() -> Asked:
    """Distinct persons."""
    return Asked("persons")


def sum(of: str) -> Asked:
    """The sum of what is not missing."""
    return Asked("sum", of)


def mean(of: str) -> Asked:
    """The mean of what is not missing."""
    return Asked("mean", of)


def variance(of: str) -> Asked:
    """The population variance of what is not missing."""
    return Asked("variance", of)


def stddev(of: str) -> Asked:
    """The population standard deviation of what is not missing."""
    return Asked("stddev", of)


def median(of: str) -> Asked:
    """The value below which half of what is not missing lies."""
    return Asked("quantile", of, 0.5)


def quantile(of: str, share: object) -> Asked:
    """The value below which a share of what is not missing lies."""
    return Asked("quantile", of, share)


def most_common(of: str) -> Asked:
    """The commonest value of a declared list."""
    return Asked("most_common", of)


@dataclass(frozen=True)
class Draft:
    """A question in the making; every verb gives a new one."""

    schema: Schema
    query: Query = field(default_factory=lambda: Query(()))

    def where(self, condition: str) -> Draft:
        """Only rows for which this holds; repeated, all must hold."""
        new = parse_expression(condition, self.schema)
        old = self.query.where
        return self._with(where=new if old is None else Call("and", (old, new)))

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Draft:
        """One group for every combination of these; ``keys`` lists the values of a column that has no declared list."""
        listed = dict(keys or {})
        new = []
        for name, text in [*((text, text) for text in of), *named.items()]:
            values = listed.pop(name, None)
            if values is not None and not values:
                raise ParameterError(f"keys= lists no value of {name}; list at least one, or leave it out.")
            new.append(Key(name, parse_expression(text, self.schema), None if values is None else tuple(dict.fromkeys(values))))
        if listed:
            raise ParameterError(
                f"keys= lists values of {', '.join(listed)}, which is not grouped by; write group_by(name, keys=...)."
            )
        return self._with(keys=(*self.query.keys, *new))

    def agg(self, **outputs: Asked) -> Draft:
        """What to ask for, by the name of the answer's column."""
        for name, asked in outputs.items():
            if not isinstance(asked, Asked):
                raise ParameterError(f'{name} must be an aggregate such as count() or mean("debt"), not {type(asked).__name__}.')
        new = tuple(Output(name, asked.aggregate(self.schema)) for name, asked in outputs.items())
        return self._with(outputs=(*self.query.outputs, *new))

    def choose(self, candidates: Sequence[Value], score: str, name: str = "best") -> Draft:
        """The candidate with the largest sum of ``score``, an expression over the columns and ``candidate``."""
        if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Sequence) or not candidates:
            raise ParameterError(
                "Candidates are a list in an order of its own, from public knowledge; write choose([...], score=...)."
            )
        exact = tuple(Fraction(repr(c)) if isinstance(c, float) else c for c in candidates)
        parsed = parse_expression(score, self.schema, names=("candidate",))
        return self._with(outputs=(*self.query.outputs, Output(name, Best(exact, parsed))))

    def having(self, condition: str) -> Draft:
        """Only rows of the noisy result for which this holds."""
        return self._with(having=self._result(condition))

    def order_by(self, of: str, *, descending: bool = False) -> Draft:
        """Sort the noisy result."""
        return self._with(order=(*self.query.order, Order(self._result(of), descending)))

    def limit(self, rows: int) -> Draft:
        """The first rows of the noisy result."""
        return self._with(limit=whole("limit", rows, 0))

    def finished(self) -> Query:
        """The question, complete."""
        names = self._names()
        if not self.query.outputs:
            raise ParameterError("Nothing is asked for yet; write agg(n=count()).")
        if len(set(names)) < len(names):
            raise ParameterError("Two columns of the answer have the same name; name them apart.")
        return self.query

    def _result(self, text: str) -> Expression:
        """An expression over the columns of the noisy result, and nothing else."""
        found = parse_expression(text, self.schema, names=self._names())
        strange = [name for name in columns_of(found) if name not in self._names()]
        if strange:
            raise ParameterError(
                f"{', '.join(strange)} is no column of the answer, which has {', '.join(self._names())}; "
                "write agg() and group_by() first, and where() for the rows."
            )
        return found

    def _names(self) -> tuple[str, ...]:
        return (*(key.name for key in self.query.keys), *(output.name for output in self.query.outputs))

    def _with(self, **changes: object) -> Draft:
        return Draft(self.schema, replace(self.query, **changes))  # type: ignore[arg-type]
