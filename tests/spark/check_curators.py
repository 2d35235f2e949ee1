"""Curators of tables in Spark: the owner's file, every verb, versions, addresses and what is cached."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark.check_session import ASKED, FACTS
from typer.testing import CliRunner

import discreet as dp
from discreet.cli import app
from discreet.engine.spark.session import SparkEngineSession
from discreet.engine.sql.engine import SqlEngine
from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.secret import open_secret

__all__ = ["ledger"]

COLUMNS = {
    "age": dp.integer(0, 120),
    "debt": dp.number(0, 1000, step=0.5),
    "sex": dp.category("f", "m"),
    "ward": dp.category("eye", "ear", "heart"),
}
VERBS: dict[str, Callable[[Any], object]] = {
    "moments": lambda hospital: hospital.moments(["age", "debt"], rho=0.1),
    "regress": lambda hospital: hospital.regress("debt ~ age + sex", rho=0.1),
    "workload": lambda hospital: hospital.workload([dp.marginal("sex", "ward"), "age < 30"], rho=0.1),
    "histogram": lambda hospital: hospital.histogram("age", edges=[0, 18, 30, 45, 65, 120], rho=0.1),
    "table": lambda hospital: hospital.table(by=["sex", "ward"], rho=0.1),
}  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "people.ledger"


def rows(size: int = 1000) -> pa.Table:
    draw = np.random.default_rng(5)
    ward = np.array(["eye", "ear", "heart", "none"], dtype=object)[draw.integers(0, 4, size)]
    sex = np.array(["f", "m", None], dtype=object)[draw.integers(0, 3, size)]
    return pa.table({"age": draw.integers(-5, 130, size), "debt": draw.normal(300, 300, size), "sex": sex, "ward": ward})


def test_every_verb_is_counted_as_duckdb_counts(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All whole numbers behind an answer; of synthetic data, what they are judged by."""
    counted: list[list[Any]] = []
    count = SqlEngine.count

    def watch(self: SqlEngine, plan: Any, groups: Any, salt: str) -> Any:
        found = count(self, plan, groups, salt)
        counted[-1].append([np.asarray(open_secret(one)).tolist() for one in found.values()])
        return found

    monkeypatch.setattr(SqlEngine, "count", watch)
    found: dict[str, list[Any]] = {}
    model: Any = None
    for engine, source in (("duckdb", rows()), ("spark", spark.createDataFrame(rows()))):
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / engine))
        facts = {"unit": dp.rows(), "columns": COLUMNS, "budget": dp.Budget(rho=10), "version": "1"}
        with dp.Curator(source, ledger=tmp_path / f"{engine}.ledger", **facts) as hospital:  # type: ignore[arg-type]
            counted.append([])
            model = model or hospital.synthesize(rho=0.1, seconds=0.1)
            for verb, ask in (VERBS | {"quality": lambda asked, model=model: asked.quality(model, rho=0.1)}).items():
                counted.append([])
                ask(hospital)
                assert counted[-1], verb
                found.setdefault(verb, []).append(counted[-1])
    for verb, (first, second) in found.items():
        assert first == second, verb


TOML = """
version = 1
engine = "spark"
source = "spark:{folder}/*.parquet"
ledger = "people.ledger"
[unit]
person = "id"
rows = 1
groups = 1
[budget]
epsilon = 10
delta = 1e-6
[columns]
age = {{ type = "integer", lower = 0, upper = 120 }}
"""


def test_the_owners_file_and_the_command_line(spark: Any, ledger: Path, tmp_path: Path) -> None:  # noqa: ARG001
    pq.write_table(pa.table({"id": range(1000), "age": [40] * 1000}), tmp_path / "people.parquet")
    file = tmp_path / "people.toml"
    file.write_text(TOML.format(folder=tmp_path))
    with dp.open(file) as hospital:
        assert abs(hospital.sql(ASKED, epsilon=5)["n"][0] - 1000) < 100
    done = CliRunner().invoke(app, ["query", str(file), ASKED, "--epsilon", "5"])
    assert done.exit_code == 0, done.output
    assert "free" in done.output
    file.write_text(TOML.format(folder=tmp_path).replace('"spark"', '"postgres"'))
    with pytest.raises(ParameterError, match=r"which spark does; leave engine out, or give what it reads: .*spark reads spark:"):
        dp.open(file)


@pytest.mark.parametrize("version", ["3.5.6", "2.4", "nobody knows"])
def test_a_spark_that_is_too_old_is_refused_unpaid(
    spark: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    with dp.Curator(spark.range(9).selectExpr("id", "id AS age"), ledger=ledger, version="1", **FACTS) as hospital:
        with monkeypatch.context() as older:
            older.setattr(type(spark), "version", property(lambda _: version))
            with pytest.raises(ParameterError, match=f"This is Spark {version}, and discreet needs Spark 4"):
                hospital.sql(ASKED, epsilon=1)
        assert float(hospital.budget.spent.epsilon) == 0


def test_a_connect_server_that_does_not_answer_is_said_to_be_away(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is there, or somebody who does not speak as Spark does. PySpark itself would go on for minutes."""
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr("discreet.engine.spark.failures._PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for port in (1, silent.getsockname()[1]):
            session = SparkSession(connection=f"sc://127.0.0.1:{port}")
            session.client.set_retry_policies([])  # for the end of it, when PySpark says goodbye
            tried: list[object] = []
            monkeypatch.setattr(type(session.client), "_analyze", lambda *_, tried=tried, **__: tried.append(1))
            with pytest.raises(EngineError, match="Spark cannot be reached"):
                dp.Curator(session.range(3), ledger=ledger, version="1", **FACTS)
            assert not tried
            assert not ledger.exists()


def test_a_connect_server_that_goes_away_costs_nothing(connected: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = connected.range(9).selectExpr("id", "id AS age")
    with dp.Curator(frame, ledger=ledger, version="1", **FACTS) as hospital:
        hospital.sql(ASKED, epsilon=1)
        channel = connected.client._channel
        closed = type("Closed", (), {"subscribe": lambda *_, **__: None, "unsubscribe": lambda *_: None})()
        monkeypatch.setattr("discreet.engine.spark.failures._PATIENCE", 0.2)
        monkeypatch.setattr(connected.client, "_channel", closed)
        with pytest.raises(EngineError, match="Spark cannot be reached"):
            hospital.sql("SELECT avg(age) AS a FROM data", epsilon=1)
        monkeypatch.setattr(connected.client, "_channel", channel)
        assert float(hospital.budget.spent.epsilon) == 1


def test_what_spark_cached_of_files_that_were_replaced_is_not_counted(spark: Any, ledger: Path, tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    pq.write_table(pa.table({"id": range(3), "age": [1] * 3}), file)
    cached = spark.read.parquet(f"{tmp_path}/*.parquet").cache()
    assert cached.count() == 3
    pq.write_table(pa.table({"id": range(5000), "age": [1] * 5000}), file)
    with dp.Curator(f"spark:{tmp_path}/*.parquet", ledger=ledger, **FACTS) as hospital:
        assert abs(hospital.sql(ASKED, epsilon=5)["n"][0] - 5000) < 100
    cached.unpersist()


def test_a_table_that_is_replaced_while_it_is_counted(spark: Any, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one whose columns stand in another order, so that ages would be persons; nothing is released."""
    run, replaced = SparkEngineSession._asked, threading.Event()

    def asked(self: Any, sql: str, bound: Any, tag: str) -> Any:
        if self.relation in sql and not replaced.is_set():
            replaced.set()
            spark.sql("CREATE OR REPLACE TEMPORARY VIEW turned AS SELECT id % 3 AS age, id AS id FROM range(9)")
        return run(self, sql, bound, tag)

    spark.sql("CREATE OR REPLACE TEMPORARY VIEW turned AS SELECT id, id % 3 AS age FROM range(9)")
    monkeypatch.setattr(SparkEngineSession, "_asked", asked)
    with dp.Curator("spark:turned", ledger=ledger, version="1", **FACTS) as hospital:
        with pytest.raises(EngineError, match="changed"):
            hospital.sql(ASKED, epsilon=1)
        assert replaced.is_set()
        assert float(hospital.budget.spent.epsilon) == 1
