"""What an aggregate needs of its expression, numbers between bounds or a declared list; and what to write otherwise."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Literal
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.expressions.facts import Facts
from discreet.plan.query import Aggregate, Count, Mean, Mode, Quantile, Sum, Variance

__all__ = ["check_needs", "instead_of", "plain"]


def check_needs(found: Aggregate, facts: Mapping[str, Facts]) -> None:
    """Refuse an aggregate of something that has not the type, the bounds or the list that it needs."""
    if isinstance(found, (Sum, Mean, Variance, Quantile)):
        known = infer(found.of, facts)
        if known.kind != "number":
            raise ParameterError(f"{plain(found)} needs numbers, and {found.of} is a {known.kind}; {instead_of(found, facts)}.")
        if known.lower is None or known.upper is None:
            raise ParameterError(
                f"Nothing bounds {found.of}; write least(greatest({found.of}, 0), 100) with bounds that suit it."
            )
    elif isinstance(found, Mode) and listing(found.of, facts) is None:
        raise ParameterError(f"{found} needs a declared list of values; declare a category, or a coarser step.")
    elif isinstance(found, Count) and found.of is not None:
        infer(found.of, facts)


def instead_of(found: Sum | Mean | Variance | Quantile, facts: Mapping[str, Facts]) -> str:
    """What to write for an aggregate of something that may be no number."""
    of, known = found.of, infer(found.of, facts)
    if known.kind == "number":
        return f"write {plain(found)}"
    if known.kind == "boolean":
        return f"write count(*) FILTER (WHERE {of}), or avg(CAST({of} AS INTEGER)) for the share"
    if known.kind == "date":
        first = Literal(datetime.date(2020, 1, 1) if known.lower is None else datetime.date.fromordinal(int(known.lower)))
        return f"write {plain(replace(found, of=Call('days', (of, first))))} for the days since then"
    if listing(of, facts) is None:
        return f"write GROUP BY {of} with count(*)"
    return f"write mode({of}) for its most common value (in Python: most_common)"


def plain(found: Aggregate) -> str:
    """An aggregate as it was probably written.

    >>> from discreet.plan.expressions import Column
    >>> plain(Quantile(Column("age"), Fraction(1, 2)))
    'median(age)'
    """
    return f"median({found.of})" if isinstance(found, Quantile) and found.share == Fraction(1, 2) else str(found)
