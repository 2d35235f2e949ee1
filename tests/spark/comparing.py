"""The same plan counted by DuckDB and by Spark: whole numbers that must not differ in one bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from engine import reference_counting as reference
from engine.driving import _names, _public

from discreet.engine import open_engine, open_source
from discreet.engine.base import Engine, groups_of
from discreet.engine.duckdb.session import open_source as open_frame
from discreet.mechanisms.secret import open_secret
from discreet.plan.plan import Plan
from discreet.plan.statistics import KeyCounts

__all__ = ["alike", "counted", "counted_keys", "engine_over"]

Rows = Sequence[Mapping[str, Any]]


def engine_over(plan: Plan, tables: Any, spark: Any = None, public: Mapping[str, Rows] | None = None) -> Engine:
    """An engine over an Arrow table or a Parquet file, or several by name: of a Spark session, or DuckDB's."""
    several = tables if isinstance(tables, dict) else {"": tables}
    given = {name: one if spark is None else _frame(spark, one) for name, one in several.items()}
    wanted = None if isinstance(tables, dict) else _names(plan)
    sources = {name: (open_frame if spark is None else open_source)(one, columns=wanted) for name, one in given.items()}
    return open_engine(sources if isinstance(tables, dict) else sources[""], plan.private, _public(public))


def _frame(spark: Any, given: Any) -> Any:
    return spark.read.parquet(str(given)) if isinstance(given, Path) else spark.createDataFrame(given)


def counted(engine: Engine, plan: Plan, chosen: Any = None) -> dict[Any, Any]:
    """Every statistic of a plan, opened."""
    found = {key: open_secret(secret) for key, secret in engine.count(plan, groups_of(plan, chosen), reference.SALT).items()}
    return {
        (statistic, bits): [row.tolist() for row in held] if statistic.tabular else [int(x) for x in held]
        for (statistic, bits), held in found.items()
    }


def counted_keys(engine: Engine, plan: Plan) -> dict[Any, int]:
    """Open keys, opened, as rows have them."""
    found = open_secret(engine.keys(plan, reference.SALT))
    return dict(zip(engine.spell(plan, list(found), reference.SALT), found.values(), strict=True))


def alike(plan: Plan, tables: Any, spark: Any, public: Mapping[str, Rows] | None = None, *, rehearse: bool = False) -> None:
    """Both engines count the same; of open keys, then over every second of them."""
    engines = [engine_over(plan, tables, one, public) for one in (None, spark)]
    try:
        if rehearse:
            engines[1].rehearse(plan)
        chosen = None
        if any(isinstance(one.statistic, KeyCounts) for one in plan.releases):
            first, second = (counted_keys(engine, plan) for engine in engines)
            assert first == second
            assert first
            chosen = sorted(first, key=str)[::2]
        first, second = (counted(engine, plan, chosen) for engine in engines)
        assert first
        assert first == second, [str(key[0]) for key in first if first[key] != second[key]]
    finally:
        for engine in engines:
            engine.close()


def arrow(rows: Rows, types: Mapping[str, pa.DataType]) -> pa.Table:
    """Rows as an Arrow table."""
    return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})
