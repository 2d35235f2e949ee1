"""Questions written in Python: the same plan as SQL text makes.

>>> mean("debt"), quantile("age", 0.9)
(Asked(kind='mean', of='debt', extra=None), Asked(kind='quantile', of='age', extra=0.9))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from discreet.calls import called_as
from discreet.errors import ParameterError
from discreet.exact import probability, whole
from discreet.plan.expressions import Call, Expression, Value, columns_of, conjuncts
from discreet.plan.expressions import Literal as Constant
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.expressions.values import check_candidate, check_words, plain_values, words_of
from discreet.plan.query import Aggregate, Best, Count, Distinct, Key, Mean, Mode, Order, Output, Quantile, Query, Sum, Variance
from discreet.plan.requirements import check_needs
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
        if isinstance(self.of, str) and self.of.strip() == "*":
            raise ParameterError("A star stands for no expression; write count() for the number of rows.")
        of = parse_expression(self.of, schema)
        if self.kind == "quantile":
            return Quantile(of, probability("share", self.extra, zero=False, hint="0.5 for the median"))
        if self.kind in ("variance", "stddev"):
            return Variance(of, root=self.kind == "stddev")
        if self.kind == "count":
            return Count(of)
        return Sum(of) if self.kind == "sum" else Mean(of) if self.kind == "mean" else Mode(of)


@called_as('"age"')
def count(of: str | None = None) -> Asked:
    """Rows, or rows in which something is not missing."""
    return Asked("count", of)


@called_as("")
def persons() -> Asked:
    """Distinct persons."""
    return Asked("persons")


@called_as('"debt"')
def sum(of: str) -> Asked:
    """The sum of what is not missing."""
    return Asked("sum", of)


@called_as('"age"')
def mean(of: str) -> Asked:
    """The mean of what is not missing."""
    return Asked("mean", of)


@called_as('"age"')
def variance(of: str) -> Asked:
    """The population variance of what is not missing."""
    return Asked("variance", of)


@called_as('"age"')
def stddev(of: str) -> Asked:
    """The population standard deviation of what is not missing."""
    return Asked("stddev", of)


@called_as('"age"')
def median(of: str) -> Asked:
    """The value below which half of what is not missing lies."""
    return Asked("quantile", of, 0.5)


@called_as('"age", 0.9')
def quantile(of: str, share: object) -> Asked:
    """The value below which a share of what is not missing lies."""
    return Asked("quantile", of, share)


@called_as('"ward"')
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
        parts = (*conjuncts(self.query.where), *conjuncts(parse_expression(condition, self.schema)))
        return self._with(where=parts[0] if len(parts) == 1 else Call("and", parts))  # as SQL connects them

    def group_by(self, *of: str, keys: Mapping[str, Sequence[Value]] | None = None, **named: str) -> Draft:
        """One group for every combination of these; ``keys`` lists the values of a column that has no declared list."""
        _check_names(of)
        _check_mapping(keys, next(iter((*of, *named)), "city"))
        listed = dict(keys or {})
        new = []
        for name, text in [*((text, text) for text in of), *named.items()]:
            values = listed.pop(name, None)
            key = parse_expression(text, self.schema)
            new.append(Key(name, key, None if values is None else _listed(name, key, values, self.schema)))
        if listed:
            raise ParameterError(
                f"keys= lists values of {', '.join(listed)}, which is not grouped by; write group_by(name, keys=...)."
            )
        return self._with(keys=(*self.query.keys, *new))

    def agg(self, *unnamed: object, **outputs: Asked) -> Draft:
        """What to ask for, by the name of the answer's column."""
        if unnamed:
            raise ParameterError(
                'Every aggregate needs a name, that of the answer\'s column; write agg(n=count(), debt=mean("debt")).'
            )
        for name, asked in outputs.items():
            if not isinstance(asked, Asked):
                raise ParameterError(f'{name} must be an aggregate such as count() or mean("debt"), not {type(asked).__name__}.')
        new = tuple(Output(name, asked.aggregate(self.schema)) for name, asked in outputs.items())
        for output in new:
            check_needs(output.aggregate, {name: facts_of_column(column) for name, column in self.schema.columns.items()})
        return self._with(outputs=(*self.query.outputs, *new))

    def choose(self, candidates: Sequence[Value], score: str, name: str = "best") -> Draft:
        """The candidate with the largest sum of ``score``, an expression over the columns and ``candidate``."""
        check_candidate(self.schema.columns)
        listed = plain_values("Candidates", candidates, "choose([200, 500], score=...)")
        parsed = parse_expression(score, self.schema, names=("candidate",))
        return self._with(outputs=(*self.query.outputs, Output(name, Best(listed, parsed))))

    def having(self, condition: str) -> Draft:
        """Only rows of the noisy result for which this holds."""
        return self._with(having=self._result(condition))

    def order_by(self, of: str, *, descending: bool = False) -> Draft:
        """Sort the noisy result."""
        words = of.split() if isinstance(of, str) else []
        if len(words) > 1 and words[-1].lower() in ("asc", "desc"):
            down = ", descending=True" if words[-1].lower() == "desc" else ""
            raise ParameterError(
                f"{words[-1]} is no part of an expression; write order_by({_quoted(' '.join(words[:-1]))}{down})."
            )
        return self._with(order=(*self.query.order, Order(self._result(of), descending)))

    def limit(self, rows: int) -> Draft:
        """The first rows of the noisy result."""
        return self._with(limit=whole("limit", rows, 0))

    def finished(self) -> Query:
        """The question, complete."""
        if not self.query.outputs:
            raise ParameterError("Nothing is asked for yet; write agg(n=count()).")
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


def _quoted(name: object) -> str:
    return f'"{str(name)[:60]}"'


def _check_names(of: Sequence[object]) -> None:
    for one in of:
        if isinstance(one, (list, tuple)):
            raise ParameterError(f"group_by takes names and not a list; write group_by({', '.join(map(_quoted, one))}).")


def _check_mapping(keys: object, name: object) -> None:
    if keys is not None and not isinstance(keys, Mapping):
        raise ParameterError(f"keys= says of which column it lists the values; write keys={{{_quoted(name)}: [...]}}.")


def _listed(name: str, key: Expression, values: object, schema: Schema) -> tuple[Value, ...]:
    """The values of a key that the asker lists."""
    found = plain_values(f"The listed keys of {name}", values, f"keys={{{_quoted(name)}: [...]}}")
    check_words((key, *map(Constant, found)), words_of(schema.columns))
    return found
