"""Histograms: rows by bins of one or several columns. One row is in one bin, so that noise is the same however many there are.

``hospital.histogram("age", edges=[0, 18, 40, 65, 120])`` is the question GROUP BY bin(age, 0, 18, 40, 65, 120) with count(*): on
chosen rows, of persons, in a batch, as any other.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

from discreet.arrays import Number
from discreet.calls import called_as
from discreet.curator.answer import Answer
from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.plan.aggregates import count
from discreet.plan.cost import Accuracy
from discreet.plan.expressions import Call, Expression, Literal, Value
from discreet.plan.expressions.evaluate import infer, listing
from discreet.plan.expressions.facts import MOST_KEYS
from discreet.plan.expressions.values import plain_values
from discreet.plan.plan import facts_of
from discreet.plan.query import Key
from discreet.schema.columns import Kind

Edges = Sequence[Number | datetime.date | str]

_MOST_COLUMNS = 12
_MOST_VALUES = 200  # of a column that is counted value by value
_MOST_BINS = 2000


@called_as('"age", edges=[0, 18, 65, 120]')
def histogram(
    rows: Question,
    columns: str | Sequence[str],
    edges: Edges | Mapping[str, Edges] | None = None,
    *,
    bins: int | None = None,
    epsilon: Number | None = None,
    rho: Number | None = None,
    accuracy: Accuracy | None = None,
    at_least: Number | None = None,
) -> Answer | Question:
    """Rows by bins: ``[0, 18, 65, 120]`` is [0, 18), [18, 65) and [65, 120], and what is outside is in none.

    ``edges`` is a list, for one column, or a dictionary of lists; of dates it lists dates. Categories, truth values and whole
    numbers of at most 200 values need none. ``bins=20`` makes as many of equal width between the declared bounds of every number
    that has no edges.
    """
    names = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, Sequence) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise ParameterError('A histogram is of a column, or of several; write histogram("age", edges=[0, 18, 65, 120]).')
    if len({*names}) < len(names):
        raise ParameterError("A histogram has each of its columns once; leave the second out.")
    if len(names) > _MOST_COLUMNS:
        raise ParameterError(f"A histogram is of at most {_MOST_COLUMNS} columns, not {len(names):,}; take fewer.")
    given = _by_column(edges, names)
    if bins is not None:
        given = {**_equal(rows, [name for name in names if name not in given], bins), **given}
    asked = rows.keyed(*(_key(rows, name, given.get(name)) for name in names)).agg(n=count())
    if epsilon is None and rho is None and accuracy is None:
        return asked
    return asked.release(epsilon=epsilon, rho=rho, accuracy=accuracy, at_least=at_least)


def _by_column(edges: object, names: Sequence[str]) -> dict[str, Edges]:
    if edges is None:
        return {}
    if not isinstance(edges, Mapping):
        if len(names) > 1:
            raise ParameterError(f'Edges of several columns are said for each; write edges={{"{names[0][:40]}": [...]}}.')
        return {names[0]: edges}  # type: ignore[dict-item]
    unknown = [str(name) for name in edges if name not in names]
    if unknown:
        raise ParameterError(
            f"edges= is about {', '.join(unknown)[:100]}, which is no column of this histogram; name it in both."
        )
    return dict(edges)


def _equal(rows: Question, names: Sequence[str], bins: int) -> dict[str, Edges]:
    """Edges of equal bins between the declared bounds of numbers; of whole numbers they are whole, and the last bin may be wider
    than what is declared."""
    if not isinstance(bins, int) or isinstance(bins, bool) or not 2 <= bins <= _MOST_BINS:
        raise ParameterError(f"bins= is a whole number from 2 to {_MOST_BINS:,}; write bins=20, or say edges=.")
    facts = facts_of(rows.facts, rows.rows.tables)
    found: dict[str, Edges] = {}
    for name in names:
        known = infer(rows.read(name), facts)
        if known.kind != "number":
            continue
        if known.lower is None or known.upper is None or known.lower == known.upper:
            raise ParameterError(f"Nothing bounds {name}, so it has no equal bins; declare bounds, or say edges=.")
        width = (known.upper - known.lower) / bins
        if known.step is not None:
            width = math.ceil(width / known.step) * known.step
        found[name] = tuple(
            known.lower + i * width for i in range(bins + 1) if i < 3 or known.lower + (i - 1) * width < known.upper
        )
    return found


def _key(rows: Question, name: str, edges: Edges | None) -> Key:
    of = rows.read(name)
    facts = facts_of(rows.facts, rows.rows.tables)
    known = infer(of, facts)
    kind = known.kind
    if edges is None:
        many = kind in ("number", "date") and _MOST_VALUES < (known.size or 0) <= MOST_KEYS  # which would take seconds to list
        values = None if many else listing(of, facts)
        if values is None or (len(values) > _MOST_VALUES and kind in ("number", "date")):
            example = "[date(2020, 1, 1), date(2021, 1, 1), date(2022, 1, 1)]" if kind == "date" else "[0, 10, 20, 50, 100]"
            raise ParameterError(
                f'{name} has too many values to count each; say where bins begin: edges={{"{name}": {example}}}.'
            )
        return Key(name, of)
    if kind not in ("number", "date"):
        raise ParameterError(f"{name} is a {kind}, and edges are between numbers or dates; leave its edges out.")
    listed = _edges(name, kind, edges)
    return Key(name, Call("bin", (of, *map(Literal, listed))) if kind == "number" else _periods(of, listed))


def _edges(name: str, kind: Kind, edges: object) -> tuple[Value, ...]:
    """The edges of bins in rising order."""
    write = f'edges={{"{name[:40]}": [...]}}'
    if hasattr(edges, "__len__") and len(edges) - 1 > _MOST_BINS:
        raise ParameterError(f"At most {_MOST_BINS:,} bins are made of a column, not {len(edges) - 1:,}; take wider ones.")
    if kind == "date" and isinstance(edges, (list, tuple)):
        edges = [_day(name, one) for one in edges]
    found = plain_values(f"The edges of {name}", edges, write)
    types = (datetime.date,) if kind == "date" else (int, float, Fraction)
    if not all(isinstance(one, types) and not isinstance(one, (bool, datetime.datetime)) for one in found):
        raise ParameterError(
            f"The edges of {name} are {'dates' if kind == 'date' else 'numbers'}, as its values are; one is not."
        )
    if len(found) < 3 and len(found) == len(edges):  # type: ignore[arg-type]
        raise ParameterError(f"{len(found)} edges make no two bins of {name}; write at least three, or ask for count(*).")
    if len(found) < len(edges) or any(not a < b for a, b in pairwise(found)):  # type: ignore[arg-type, operator]
        raise ParameterError(f"The edges of {name} must increase; write them in order, each once.")
    return found


def _day(name: str, edge: object) -> object:
    if not isinstance(edge, str):
        return edge
    try:
        return datetime.date.fromisoformat(edge)
    except ValueError:
        raise ParameterError(f"An edge of {name} is no day; write date(2020, 1, 31), or '2020-01-31'.") from None


def _periods(of: Expression, edges: Sequence[Value]) -> Expression:
    """Bins of days, the last of which includes its last day."""
    last = len(edges) - 2
    cases: list[Expression] = [Call("<", (of, Literal(edges[0]))), Literal(None)]
    for i, (first, end) in enumerate(pairwise(edges)):
        sign, bracket = ("<=", "]") if i == last else ("<", ")")
        cases += [Call(sign, (of, Literal(end))), Literal(f"[{first}, {end}{bracket}")]
    return Call("case", (*cases, Literal(None)))
