"""Attacks on what a Spark session may be told: settings, functions, schemas and views that could make numbers others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, planned, table
from engine.hostile import COLUMNS, TYPES, UNITS, hostile
from engine.test_counting import QUESTIONS
from spark.comparing import alike, counted, engine_over

import discreet as dp
from discreet.engine import open_public, open_source
from discreet.engine.spark.session import SparkEngineSession, check_settings, setting, taken_functions
from discreet.errors import DiscreetError, EngineError, ParameterError

REFUSED = {
    "spark.sql.legacy.ctePrecedencePolicy": "LEGACY",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.parser.quotedRegexColumnNames": "true",
    "spark.sql.crossJoin.enabled": "false",
    "spark.sql.functionResolution.sessionOrder": "first",
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_that_change_what_a_text_means_are_refused(spark: Any, name: str) -> None:
    plan = planned(QUESTIONS["case"], COLUMNS, UNITS["rows"])
    engine = engine_over(plan, table(plan, hostile(5, seed=1), TYPES), spark)
    before = spark.conf.get(name, None)
    spark.conf.set(name, REFUSED[name])
    try:
        with pytest.raises(EngineError, match=name):
            engine.rehearse(plan)
    finally:
        spark.conf.unset(name) if before is None else spark.conf.set(name, before)
        engine.close()


def test_settings_are_asked_for_as_they_are_and_not_as_they_were_set(spark: Any) -> None:
    """The environment of a server may turn ANSI mode off where nobody set it; and versions know other settings."""
    assert setting(spark, "spark.sql.no.such.setting") is None
    assert setting(spark, "spark.sql.ansi.enabled") == "true"

    class Conf:
        def get(self, name: str, *unless_set: str) -> str:
            return unless_set[0] if unless_set else {"spark.sql.ansi.enabled": "false"}.get(name) or spark.conf.get(name)

    with pytest.raises(ParameterError, match=r"spark\.sql\.ansi\.enabled is not true"):
        check_settings(SimpleNamespace(conf=Conf()))  # type: ignore[arg-type]


NO_MATTER = {
    "spark.sql.ansi.relationPrecedence": "true",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "false",
    "spark.sql.legacy.charVarcharAsString": "true",
    "spark.sql.function.concatBinaryAsString": "true",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.subexpressionElimination.enabled": "false",
}


def test_numbers_are_the_same_under_settings_that_are_no_matter(spark: Any) -> None:
    """Interpreted, unplanned, with other types of literals, and in a schema whose texts have no case."""
    spark.conf.set("spark.sql.collation.schemaLevel.enabled", "true")
    spark.sql("CREATE DATABASE IF NOT EXISTS loose DEFAULT COLLATION UTF8_LCASE")
    before = {name: spark.conf.get(name, None) for name in NO_MATTER}
    try:
        spark.sql("USE loose")
        for name, value in NO_MATTER.items():
            spark.conf.set(name, value)
        for question, unit, share in (("written", "person", PURE), ("years", "one", RHO)):
            plan = planned(QUESTIONS[question], COLUMNS, UNITS[unit], share)
            alike(plan, table(plan, hostile(100, seed=len(question)), TYPES), spark)
        plan = planned("SELECT k, count(*) AS n FROM data GROUP BY k", {"k": dp.category("ab", "AB", "Ab")}, dp.rows())
        alike(plan, pa.table({"k": ["ab", "AB", "AB", "aB", "Ab ", None]}), spark)
        plan = planned(
            "SELECT k, count(*) AS n FROM data GROUP BY k", {"k": dp.text(length=9)}, dp.person("id", rows=1, groups=1), RHO
        )
        alike(plan, pa.table({"k": ["ab", "AB", "AB"], "id": ["x", "X", "y"]}), spark)
    finally:
        spark.sql("USE default")
        for name, value in before.items():
            spark.conf.unset(name) if value is None else spark.conf.set(name, value)


def test_functions_and_views_of_the_session_stand_for_nothing_of_ours(interpreted: Any) -> None:
    spark = interpreted
    plan = planned(QUESTIONS["sums"], COLUMNS, UNITS["person"], RHO)
    held = table(plan, hostile(60, seed=3), TYPES)
    names = ["floor", "isnan", "md5", "sum", "least"]
    for name in names:
        spark.udf.register(name, lambda *_: 7, "int")
    for view in ("lines", "keys", "cells", "grouped", "made", "`cleaned rows`"):
        spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW {view} AS SELECT 1 AS k0, 2 AS i, 'x' AS person")
    try:
        assert taken_functions(spark) == sorted(names)  # which is asked where Spark would take them for its own
        alike(plan, held, spark)
    finally:
        for name in names:
            spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {name}")
        for view in ("lines", "keys", "cells", "grouped", "made", "cleaned rows"):
            spark.catalog.dropTempView(view)


def test_nothing_is_left_behind_where_a_table_cannot_be_opened(spark: Any) -> None:
    before = {one.name for one in spark.catalog.listTables()}
    public = open_public(pa.table({"k": ["x"]}))
    source = open_source(spark.range(3))
    made = SparkEngineSession._frame
    try:
        SparkEngineSession._frame = lambda *_: 1 / 0  # type: ignore[assignment]
        with pytest.raises(EngineError):
            SparkEngineSession(source, {"places": public})
    finally:
        SparkEngineSession._frame = made  # type: ignore[method-assign]
    assert {one.name for one in spark.catalog.listTables()} == before


@pytest.mark.parametrize("name", ["people; DROP TABLE people", "a b", "`", "people -- x", "(SELECT 1)", "range(9)"])
def test_names_that_are_none_run_nothing(spark: Any, name: str) -> None:  # noqa: ARG001
    with pytest.raises(DiscreetError) as refused:
        open_source(f"spark:{name}")
    assert "defect" not in str(refused.value)


def test_sums_at_the_end_of_what_a_decimal_holds(interpreted: Any) -> None:
    """Products of the largest numbers there can be, in as many rows as a group may weigh: nothing overflows."""
    most = 2**53
    columns = {"a": dp.integer(-most, most), "b": dp.integer(-most, most)}
    held = pa.table({"a": [most, -most, most] * 20, "b": [-most, most, most] * 20, "id": ["p", "q", "r"] * 20})
    for unit in (dp.rows(), dp.person("id", rows=20, groups=1)):
        plan = planned("SELECT variance(a) AS v, sum(b) AS s, avg(a) AS m FROM data", columns, unit, RHO)
        alike(plan, held, interpreted)


def test_a_file_of_another_type_among_many_is_no_other_number(interpreted: Any, tmp_path: Any) -> None:
    """One missing number makes doubles of a column where frames are written one by one: counted as everywhere, or refused."""
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"age": pa.array([1, 2, 3], pa.int64())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"age": pa.array([4.0, None], pa.float64())}), tmp_path / "b.parquet")
    plan = planned("SELECT count(*) AS n, sum(age) AS s FROM data", {"age": dp.integer(0, 9)}, dp.rows())
    engine, said = engine_over(plan, tmp_path, interpreted), ""
    try:
        found = sorted(value for values in counted(engine, plan).values() for value in values)
    except EngineError as refused:
        found, said = [5, 10], str(refused)
    assert found == [5, 10]
    assert "age" not in said
    engine.close()


def test_ansi_mode_that_ends_while_it_counts_ends_the_question(spark: Any) -> None:
    plan = planned(QUESTIONS["case"], COLUMNS, UNITS["rows"])
    engine = engine_over(plan, table(plan, hostile(5, seed=1), TYPES), spark)
    held = engine._session  # type: ignore[attr-defined]
    run = held._asked

    def asked(sql: str, bound: Any, tag: str) -> Any:
        spark.conf.set("spark.sql.ansi.enabled", "false")
        return run(sql, bound, tag)

    held._asked = asked
    try:
        with pytest.raises((EngineError, ParameterError), match="ansi"):
            counted(engine, plan)
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")
        engine.close()
