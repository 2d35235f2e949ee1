"""Drive the engine by hand, without the curator: plan, count, open; and compare with the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
from engine import reference_counting as reference

from discreet.engine.base import groups_of
from discreet.engine.sources.public import facts_of_public
from discreet.engine.sources.source import open_source
from discreet.engine.sql.engine import DuckDBEngine
from discreet.mechanisms.secret import opened
from discreet.plan.cost import Cost
from discreet.plan.plan import Plan, price
from discreet.plan.query import Query
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Histogram, KeyCounts, Persons, Sums
from discreet.schema.columns import Column
from discreet.schema.table import Schema
from discreet.schema.units import Person, Unit

__all__ = ["PURE", "RHO", "agree", "count", "keys", "planned", "table"]

PURE = Cost("epsilon", Fraction(1))
RHO = Cost("rho", Fraction(1, 2), Fraction(1, 10**6))
Rows = Sequence[Mapping[str, Any]]


def planned(
    question: str | Query,
    columns: Mapping[str, Column],
    unit: Unit,
    share: Cost = PURE,
    public: Mapping[str, Rows] | None = None,
) -> Plan:
    """A priced plan; public tables are given as rows."""
    known = {name: facts_of_public(open_source(pa.Table.from_pylist(list(rows)))) for name, rows in (public or {}).items()}
    schema = Schema(columns, unit, known)
    return price(parse_query(question, schema) if isinstance(question, str) else question, schema, share)


def table(plan: Plan, rows: Rows, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    """Rows as an Arrow table of the columns that a plan's schema names; types are inferred unless given."""
    return pa.table({name: pa.array([row[name] for row in rows], (types or {}).get(name)) for name in _names(plan)})


def count(plan: Plan, source: object, chosen: Any = None, public: Mapping[str, Rows] | None = None) -> dict[Any, Any]:
    """Every statistic of a plan, opened: integers by group, or by group and cell."""
    with_public = {name: open_source(pa.Table.from_pylist(list(rows))) for name, rows in (public or {}).items()}
    engine = DuckDBEngine(open_source(source, columns=_names(plan)), plan.schema, with_public)
    try:
        found = {
            counted: opened(secret) for counted, secret in engine.count(plan, groups_of(plan, chosen), reference.SALT).items()
        }
    finally:
        engine.close()
    return {
        (statistic, bits): [row.tolist() for row in held] if statistic.tabular else [int(x) for x in held]
        for (statistic, bits), held in found.items()
    }


def keys(plan: Plan, source: object) -> dict[tuple[Any, ...], int]:
    """Open keys, opened."""
    engine = DuckDBEngine(open_source(source, columns=_names(plan)), plan.schema, {})
    try:
        return opened(engine.keys(plan, reference.SALT))
    finally:
        engine.close()


def agree(plan: Plan, found: Mapping[Any, Any], rows: Rows, chosen: Any = None, public: Mapping[str, Rows] | None = None) -> None:
    """The engine's integers are those of the reference."""
    given = reference.lines(plan, rows, public)
    groups = reference.group_numbers(plan, chosen)
    wanted = {(one.statistic, one.bits) for one in plan.releases if one.mechanism is not None}
    assert set(found) == {(statistic, bits) for statistic, bits in wanted if not isinstance(statistic, KeyCounts)}
    for (statistic, bits), held in found.items():
        if isinstance(statistic, Sums):
            ranges = [one for each in reference.sums(plan, [(m, bits) for m in statistic.of], given, groups) for one in each]
            _within(held, ranges, str(statistic))
        elif isinstance(statistic, Persons):
            assert held == reference.persons(plan, given, groups)
        else:
            assert isinstance(statistic, Histogram)
            scale = 2 ** (bits - statistic.bits(plan.schema.unit))
            expected = reference.histogram(plan, statistic, given, groups)
            assert held == [[scale * cell for cell in line] for line in expected], str(statistic)


def _within(held: Sequence[int], ranges: Sequence[tuple[Fraction, Fraction]], name: str) -> None:
    assert len(held) == len(ranges)
    for number, (low, high) in zip(held, ranges, strict=True):
        assert low <= number <= high, (name, number, float(low), float(high))


def _names(plan: Plan) -> list[str]:
    unit = plan.schema.unit
    return [*plan.schema.columns, *([unit.id] if isinstance(unit, Person) and unit.id not in plan.schema.columns else [])]
