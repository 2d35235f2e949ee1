"""Questions of the curator's language, asked of a model: free, and with errors that say how far the private table may be off.

A question is answered on rows of the model: all combinations of the columns that it names, each as often as the model says, or
rows that are drawn where there are too many. The same statements count them that count private tables, without noise, and what
is counted is scaled to the number of rows that the model stands for. Its error is the root mean square of how far the answers of
replicas are from it (``replicas``), and its interval 95 % of Student's distribution with as many degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.curator.answer import Answer, refine
from discreet.curator.answer import Column as Output
from discreet.curator.gate import Reservation
from discreet.curator.plans import Measured, answer_of, measure
from discreet.engine import open_engine, open_source
from discreet.errors import ParameterError
from discreet.mechanisms import Gaussian, Laplace, Linear
from discreet.plan.cost import Cost
from discreet.plan.expressions import Expression, columns_of
from discreet.plan.plan import Plan, price
from discreet.plan.query import Query
from discreet.plan.release import Released
from discreet.plan.sql import parse_query
from discreet.privacy import Privacy
from discreet.schema.columns import Column, boolean, category, date, integer, number
from discreet.schema.table import Schema
from discreet.schema.units import Rows
from discreet.synthetic.domain import Coding, Domain
from discreet.synthetic.replicas import Replicas, Weighted
from discreet.synthetic.rows import decode_cells, share_rows

if TYPE_CHECKING:
    import pyarrow

_ROWS = 2**17  # by which a question is answered
_EXACT = Cost("rho", Fraction(10**15))  # at which noise is rounded to none, or to far less than a part in a million
_SAID = "Of the model; intervals are for the private table, by what was released of it."
_STUDENT = 2.228  # of 95 %, with ten degrees of freedom


def ask(text: str, replicas: Replicas, left: str) -> Answer:
    """The answer of a model, of which these are replicas."""
    schema = Schema({one.name: declared(one) for one in replicas.domain.columns}, Rows())
    query = parse_query(text, schema)
    plan = price(query, schema, _EXACT)
    columns = _named(query, replicas.domain)
    found = _answer(plan, replicas.model.rows(columns, replicas.domain), columns, replicas.domain)
    others = [_answer(plan, replicas.disturbed(one, columns), columns, replicas.domain) for one in replicas.all]
    outputs = {name: _with_error(column, [other.outputs[name] for other in others]) for name, column in found.outputs.items()}
    return replace(refine(replace(found, outputs=outputs), query), question=str(query), left=left)


def declared(coding: Coding) -> Column:
    """What is publicly known of a column of a model."""
    if coding.kind == "boolean":
        return boolean(**({} if coding.nullable else {"missing": False}))
    if coding.values is not None:
        missing = {} if coding.nullable else {"missing": coding.values[0]}
        return category(*(coding.values or ("",)), **missing)  # type: ignore[arg-type]
    first, last = coding.value(0), coding.at(coding.end - 1)
    missing = {} if coding.nullable else {"missing": first}
    if coding.kind == "date":
        return date(first, last, **missing)  # type: ignore[arg-type]
    if coding.step == 1:
        return integer(first, last, **missing)  # type: ignore[arg-type]
    return number(first, last, step=coding.step, **missing)  # type: ignore[arg-type]


def _named(query: Query, domain: Domain) -> tuple[int, ...]:
    """The columns that a question is about; the first where it names none."""
    parts: list[Expression] = [key.of for key in query.keys] + ([] if query.where is None else [query.where])
    parts += [one for output in query.outputs for one, _ in output.aggregate.written()]
    names = {name for part in parts for name in columns_of(part)}
    if query.joins or query.people is not None or query.tables:
        raise ParameterError("A model is one table without persons, so it is asked without joins and subqueries.")
    return domain.places(sorted(names)) if names else (0,)


def _answer(plan: Plan, rows: Weighted, columns: Sequence[int], domain: Domain) -> Answer:
    """What rows say, for as many as they stand for."""
    drawn, many = share_rows(rows.rows, _ROWS), float(rows.rows.sum())
    table = _decode([one[drawn] for one in rows.cells], [domain.columns[column] for column in columns])
    known = {name: column for name, column in plan.schema.columns.items() if name in table.column_names}
    engine = open_engine(open_source(table), Schema(known, plan.schema.unit), {})
    try:
        found = measure(plan, engine, Reservation(plan.privacy or Privacy()))
    finally:
        engine.close()
    return _scaled(found, many / len(drawn) if len(drawn) else 0.0)


def _decode(cells: Sequence[Any], codings: Sequence[Coding]) -> pyarrow.Table:
    import pyarrow

    arrays = [decode_cells(coding, own) for coding, own in zip(codings, cells, strict=True)]
    return pyarrow.table(dict(zip((one.name for one in codings), arrays, strict=True)))


def _scaled(found: Measured, by: float) -> Answer:
    """An answer of counts and sums that stand for more rows, or fewer; what was chosen stays."""
    released = {}
    for release, one in found.released.items():
        additive = isinstance(release.mechanism, (Laplace, Gaussian, Linear))
        units = np.array([round(int(unit) * by) for unit in one.units.ravel()], dtype=object).reshape(one.units.shape)
        released[release] = Released(release, units if additive else one.units)
    answer = answer_of(found.plan, found.groups, released)
    return replace(answer, cost="nothing", parts=(), remarks=(_SAID,))


def _with_error(column: Output, others: Sequence[Output]) -> Output:
    """A column of an answer with the errors that replicas show; none where it holds no numbers."""
    values = [_number(one) for one in column.values]
    if any(one is None for one in values) and not any(one is not None for one in values):
        return Output(column.values, mechanism="model")
    errors = []
    for i, value in enumerate(values):
        away = [(_number(other.values[i]) or 0.0) - (value or 0.0) for other in others]
        errors.append(math.sqrt(sum(one**2 for one in away) / len(away)))
    ends = [
        tuple((value or 0.0) + side * _STUDENT * error for value, error in zip(values, errors, strict=True)) for side in (-1, 1)
    ]
    return Output(column.values, tuple(errors), ends[0], ends[1], "model")


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool) else None
