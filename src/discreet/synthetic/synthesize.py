"""The verb ``synthesize``: a model of a whole table, from rows that are asked about and for a cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import positive, shown
from discreet.plan.expressions import Value
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.schema.columns import Text
from discreet.synthetic.domain import Domain, code
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.model import Synthetic
from discreet.synthetic.offer import Offer
from discreet.synthetic.request import Asked, Progress
from discreet.synthetic.selection import Candidates, Limits
from discreet.synthetic.zeros import Zeros

_SMALL = 256  # cells of a table that is measured as one histogram
_MOST_COLUMNS = 256


@called_as("epsilon=1")
def synthesize(
    rows: Question,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, object] | None = None,
    keys: Mapping[str, Sequence[Value]] | None = None,
    targets: str | Sequence[str] = (),
    workload: Sequence[Sequence[str]] | None = None,
    facts: Sequence[str] = (),
    seconds: Number = 15,
    watch: Callable[[Progress], None] | None = None,
) -> Synthetic | Offer:
    """A model of the whole table, of which rows can be drawn: paid for once, free when asked again.

    Without a cost it is a question to go on with, which can be previewed.

    ``columns``: those that it has, all that are declared unless told. ``bins``: of numbers and days, how many runs of values, or
    where each begins. ``keys``: the values of texts that have no declared list; all others are missing. ``targets``: columns that
    matter most, such as one that is to be predicted. ``workload``: sets of columns whose joint counts matter; all unless told.
    ``facts``: conditions that hold in every row, such as ``child_age < age``. ``seconds``: about how much work the fit may take.
    ``watch`` is called after every release, with what was released.
    """
    what = ask_for(rows, columns, bins, keys, targets, workload, facts, seconds)
    offer = Offer(rows.desk, what, tables_of(rows), watch)
    return offer if epsilon is None and rho is None else offer.release(epsilon=epsilon, rho=rho)


def tables_of(rows: Question) -> frozenset[str]:
    """The private tables that a question reads, where there are several."""
    query = rows.rows.people.rows if rows.rows.people else rows.rows
    return frozenset(one.table for one in query.tables)


def ask_for(
    rows: Question,
    columns: Sequence[str] | None,
    bins: Mapping[str, object] | None,
    keys: Mapping[str, Sequence[Value]] | None,
    targets: str | Sequence[str],
    workload: Sequence[Sequence[str]] | None,
    facts: Sequence[str],
    seconds: Number,
) -> Asked:
    """What is asked for; all that public facts forbid is refused."""
    schema = rows.facts
    known = {name: facts_of_column(column) for name, column in schema.columns.items()}
    cut, listed = _checked("bins", bins, known), _checked("keys", keys, known)
    names = _named(
        columns, known, [name for name, column in schema.columns.items() if not isinstance(column, Text) or name in listed]
    )
    if len(names) > _MOST_COLUMNS:
        raise ParameterError(
            f"{len(names)} columns are more than {_MOST_COLUMNS}, the most of one model; name fewer, columns=[...]."
        )
    domain = Domain(tuple(code(name, known[name], cut.get(name), listed.get(name)) for name in names))
    allowed = positive("seconds", seconds, "about how much work a fit may take, such as 15")
    limits = Limits.of(Fraction(allowed), len(names))
    wanted = None if workload is None else [domain.places(one) for one in workload]
    aims = domain.places(targets) if targets else ()
    if domain.cells <= _SMALL and len(names) > 1 and workload is None:
        wanted = [tuple(range(len(names)))]
    candidates = _candidates(domain, wanted, aims)
    conditions = [rows.read(text) for text in ([facts] if isinstance(facts, str) else facts)]
    zeros = Zeros.of(conditions, domain, known, limits.cells)
    words = {
        "targets": [names[i] for i in aims],
        "workload": None if wanted is None else [list(one) for one in wanted],
        "facts": [str(one) for one in conditions],
        "seconds": str(allowed),
    }
    return Asked(rows.rows, rows.desk.schema, domain, limits, candidates, zeros, words)


def _candidates(domain: Domain, wanted: Sequence[Columns] | None, aims: Columns) -> Candidates:
    if domain.cells <= _SMALL and wanted is not None and len(wanted) == 1 and len(wanted[0]) == len(domain.columns):
        return Candidates({wanted[0]: 1})  # the whole histogram
    return Candidates.of(len(domain.columns), wanted, aims)


def _named(columns: Sequence[str] | None, known: Mapping[str, Facts], every: Sequence[str]) -> list[str]:
    if columns is None:
        found = list(every)
    else:
        by_lower = {name.lower(): name for name in known}
        asked = [columns] if isinstance(columns, str) else list(columns)
        strange = [name for name in asked if not isinstance(name, str) or name.lower() not in by_lower]
        if strange:
            raise ParameterError(f"{shown(strange[0])} is no declared column; there are {', '.join(list(known)[:20])}.")
        found = [by_lower[name.lower()] for name in asked]
    if not found or len({*found}) < len(found):
        raise ParameterError('Synthetic data has one column or more, each named once; write columns=["age", "sex"].')
    return found


def _checked(what: str, given: Mapping[str, Any] | None, known: Mapping[str, Facts]) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise ParameterError(f'{what}= says of which column; write {what}={{"age": ...}}.')
    by_lower = {name.lower(): name for name in known}
    strange = [name for name in given or {} if not isinstance(name, str) or name.lower() not in by_lower]
    if strange:
        raise ParameterError(
            f"{what}= names {shown(strange[0])}, which is no declared column; there are {', '.join(list(known)[:20])}."
        )
    return {by_lower[name.lower()]: one for name, one in (given or {}).items()}
