"""The verb ``synthesize``: a model of a whole table, from rows that are asked about and for a cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.exact import positive, shown, whole
from discreet.plan.expressions import Value, columns_of
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.schema.columns import Text
from discreet.schema.table import Schema
from discreet.schema.units import Person
from discreet.synthetic.buying import purchase
from discreet.synthetic.domain import Domain, code
from discreet.synthetic.inference.tree import Columns
from discreet.synthetic.model import Synthetic
from discreet.synthetic.offer import Offer
from discreet.synthetic.request import Asked
from discreet.synthetic.rounds.run import Aim, Progress
from discreet.synthetic.rounds.selection import Candidates, Limits
from discreet.synthetic.zeros import Zeros

_SMALL = 256  # cells of a table that is measured as one histogram
_MOST_COLUMNS = 256


@called_as("epsilon=1")
def synthesize(
    question: Question,
    *,
    epsilon: Number | None = None,
    rho: Number | None = None,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, object] | None = None,
    keys: Mapping[str, Sequence[Value]] | None = None,
    bought: str | Sequence[str] = (),
    rows: int | None = None,
    targets: str | Sequence[str] = (),
    workload: Sequence[Sequence[str]] | None = None,
    facts: str | Sequence[str] = (),
    seconds: Number = 15,
    watch: Callable[[Progress], None] | None = None,
) -> Synthetic | Offer:
    """A model of the whole table, of which rows can be drawn: paid for once, free when asked again.

    Without a cost it is a question to go on with, which can be previewed.

    ``columns``: those that it has, all that are declared unless told. ``bins``: of numbers and days, how many runs of values, or
    where each begins. ``keys``: the values of texts that have no declared list; all others are missing. ``bought``: columns whose
    cells are bought for a part of the price: the values of a text that enough people share, runs of a number or of days with
    about as many rows each. ``rows``: for how many rows a person counts, as the unit says unless told. ``targets``: columns that
    matter most, such as one that is to be predicted. ``workload``: sets of columns whose joint counts matter; all unless told.
    ``facts``: conditions that hold in every row, such as ``child_age < age``. ``seconds``: about how much work the fit may take.
    ``watch`` is called after every release, with what was released.
    """
    what = ask_for(question, columns, bins, keys, bought, rows, targets, workload, facts, seconds)
    offer = Offer(question.desk, what, tables_of(question), watch)
    return offer if epsilon is None and rho is None else offer.release(epsilon=epsilon, rho=rho)


def tables_of(question: Question) -> frozenset[str]:
    """The private tables that a question reads, where there are several."""
    query = question.rows.people.rows if question.rows.people else question.rows
    return frozenset(one.table for one in query.tables)


def ask_for(
    question: Question,
    columns: Sequence[str] | None,
    bins: Mapping[str, object] | None,
    keys: Mapping[str, Sequence[Value]] | None,
    bought: str | Sequence[str],
    rows: int | None,
    targets: str | Sequence[str],
    workload: Sequence[Sequence[str]] | None,
    facts: str | Sequence[str],
    seconds: Number,
) -> Asked:
    """What is asked for; all that public facts forbid is refused."""
    schema = question.facts
    known = {name: facts_of_column(column) for name, column in schema.columns.items()}
    cut, listed = _checked("bins", bins, known), _checked("keys", keys, known)
    paid = _named([bought] if isinstance(bought, str) else bought, known, ()) if bought else []
    closed = [name for name, column in schema.columns.items() if not isinstance(column, Text) or name in (*listed, *paid)]
    names = _named(columns, known, closed)
    if len(names) > _MOST_COLUMNS:
        raise ParameterError(
            f"{len(names)} columns are more than {_MOST_COLUMNS}, the most of one model; name fewer, columns=[...]."
        )
    purchases = {name: purchase(name, known[name], cut.get(name), listed.get(name)) for name in names if name in paid}
    domain = Domain(
        tuple(
            purchases[name].stand_in if name in purchases else code(name, known[name], cut.get(name), listed.get(name))
            for name in names
        )
    )
    allowed = positive("seconds", seconds, "about how much work a fit may take, such as 15")
    limits = Limits.of(Fraction(allowed), len(names))
    wanted = None if workload is None else [domain.places(one) for one in workload]
    aims = domain.places(targets) if targets else ()
    if domain.cells <= _SMALL and len(names) > 1 and workload is None:
        wanted = [tuple(range(len(names)))]
    conditions = [question.read(text) for text in ([facts] if isinstance(facts, str) else facts)]
    for condition in conditions:
        if unknown := {*columns_of(condition)} & {*purchases}:
            raise ParameterError(
                f"{condition} is tried on cells of {min(unknown)}, and these are bought; leave it out of bought=, or of facts=."
            )
    zeros = Zeros.of(conditions, domain, known, limits.cells)
    words: dict[str, object] = {
        "targets": [names[i] for i in aims],
        "workload": None if wanted is None else [list(one) for one in wanted],
        "facts": [str(one) for one in conditions],
        "seconds": str(allowed),
    }
    if purchases:
        words["bought"] = [[one.name, one.runs] for one in purchases.values()]
    aim = Aim(domain, limits, _candidates(domain, wanted, aims), zeros)
    return Asked(question.rows, _counting(question, rows), aim, words, tuple(purchases.values()))


def _counting(question: Question, rows: int | None) -> Schema:
    """The facts about the private table, with so many rows of a person."""
    schema = question.desk.schema
    if rows is None:
        return schema
    if not isinstance(schema.unit, Person) or question.rows.people is not None:
        raise ParameterError("rows= says for how many rows a person counts, and here everybody has one; leave it out.")
    return replace(schema, unit=replace(schema.unit, rows=whole("rows", rows)))


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
