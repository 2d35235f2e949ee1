"""Statements in every dialect: their texts are pinned, because the proofs of bounding are about them."""

from __future__ import annotations

from typing import Any

import pytest
from engine.driving import PURE, RHO, planned
from engine.second import SECOND
from golden.pins import pin

from discreet.engine.base import groups_of
from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.postgres.dialect import DIALECT as POSTGRES
from discreet.engine.spark.dialect import DIALECT as SPARK
from discreet.engine.sql.counting import Counting
from discreet.engine.sql.dialect import Dialect
from discreet.engine.sql.statement import Raw, Statement
from discreet.plan.plan import Plan
from discreet.plan.statistics import Histogram, Sums
from discreet.schema.columns import category, integer, number, text
from discreet.schema.units import person, rows

COLUMNS = {"age": integer(0, 120), "debt": number(0, 100, step=0.1), "drug": category("yes", "no"), "city": text(length=20)}
RAW = {"age": ("Age", "BIGINT"), "debt": ("debt", "DOUBLE"), "drug": ("drug", "VARCHAR"), "city": ("city", "VARCHAR")}
_NAMES = {
    "spark": {"VARCHAR": "STRING"},
    "postgres": {"BIGINT": "bigint", "DOUBLE": "double precision", "VARCHAR": "text"},
}  # of types, where they are others
UNITS = {"rows": rows(), "persons": person("id", rows=2, groups=1)}
LISTED = "SELECT drug, count(*) AS n, sum(debt / 3) AS s, avg(age) AS a FROM data WHERE city <> 'x' GROUP BY drug"
CHOICES = "SELECT age // 40 AS k, median(debt) AS m, mode(drug) AS c FROM data GROUP BY k"
CODED = "SELECT drug, count(*) AS n, sum(age) AS s FROM data GROUP BY drug"
OPEN = "SELECT city, count(*) AS n FROM data GROUP BY city"


def written(plan: Plan, dialect: Dialect) -> dict[str, Any]:
    """The statements of a plan, by what they count."""
    named = _NAMES.get(dialect.name, {})
    raw = {name: (of, named.get(kind, kind)) for name, (of, kind) in (RAW | {"id": ("id", "BIGINT")}).items()}
    counting = Counting(plan, Raw(dialect.quote("the table"), raw), dialect, "salt")
    if plan.keys.size is None:
        return {"keys": said(counting.open_keys())}
    groups = groups_of(plan)
    sums = [(measure, one.bits) for one in plan.releases if isinstance(one.statistic, Sums) for measure in one.statistic.of]
    cells = {one.statistic for one in plan.releases if isinstance(one.statistic, Histogram)}
    found = {"sums": said(counting.sums(sums, groups))} if sums else {}
    return found | {
        str(one): said(counting.histogram(one, groups, streamed=not dialect.windows)) for one in sorted(cells, key=str)
    }


def said(statement: Statement) -> list[Any]:
    return [statement.text.split("\n"), {name: str(value) for name, value in statement.parameters.items()}]


@pytest.mark.parametrize("dialect", [DIALECT, SECOND, POSTGRES, SPARK], ids=lambda dialect: dialect.name)
def test_statements(dialect: Dialect) -> None:
    found = {}
    for who, unit in UNITS.items():
        for question, share in ((LISTED, PURE), (LISTED, RHO), (CHOICES, PURE), (OPEN, RHO)):
            norm = "L1" if share is PURE else "L2"
            found[f"{who}, {norm}: {question}"] = written(planned(question, COLUMNS, unit, share), dialect)
    if dialect is DIALECT:  # as files of Parquet are read: cells come as places in a list of values
        declared = COLUMNS | {"age": integer(18, 120)}
        counting = Counting(
            planned(CODED, declared, UNITS["rows"]), Raw(dialect.quote("the table"), RAW, coded=True), dialect, ""
        )
        measures = [one for release in counting.plan.releases for one in release.statistic.of]  # type: ignore[union-attr]
        found[f"rows, Parquet: {CODED}"] = {"quick sums": said(counting.quick_sums(measures, groups_of(counting.plan)))}
    pin(f"statements_in_{dialect.name}", found)


def test_nothing_of_duckdb_is_pasted_into_statements() -> None:
    """What the second dialect writes otherwise, no statement writes by itself."""
    plan = planned(LISTED.replace(" / 3", ""), COLUMNS, UNITS["persons"], RHO)
    lines = written(plan, SECOND)["sums"][0][1:]  # without the cleaning, which is DuckDB's
    assert not any(token in line for line in lines for token in ('"', "$", "e0 ", "HUGEINT", "//"))
