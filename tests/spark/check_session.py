"""What a Spark session shows, refuses and leaves behind; and curators of tables in it."""

from __future__ import annotations

import _thread
import contextlib
import datetime
import io
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine.driving import PURE, RHO, planned, table
from engine.hostile import COLUMNS, TYPES, UNITS, hostile
from engine.test_counting import QUESTIONS
from spark.comparing import counted, counted_keys, engine_over

import discreet as dp
from discreet.engine import open_source
from discreet.engine.base import groups_of
from discreet.engine.spark.session import SparkEngineSession
from discreet.engine.spark.source import SparkSource, _named
from discreet.engine.sql.bounding import P
from discreet.errors import EngineError, ParameterError
from discreet.mechanisms.secret import open_secret

CELL = "Zorblax-4711"
SALT = "5a17" * 16
OPEN = "SELECT city, count(*) AS n FROM data GROUP BY city"


def secrets_of(salt: str) -> list[str]:
    """The salt, and the numbers that are made of it."""
    from hashlib import sha256

    numbers = (1 + int.from_bytes(sha256(f"{name} {salt}".encode()).digest()) % (P - 1) for name in "ABC")
    return [salt, *map(str, numbers)]


@pytest.fixture
def frame(spark: Any) -> Any:
    rows = pa.table({"id": list(range(1000)), "age": [i % 130 for i in range(1000)], "word": [CELL] * 1000})
    return spark.createDataFrame(rows)


@pytest.mark.parametrize("how", ["spark", "connected"])
def test_no_plan_log_or_event_shows_what_is_secret(how: str, request: pytest.FixtureRequest, logs: Path) -> None:
    spark, session = request.getfixturevalue("spark"), request.getfixturevalue(how)
    question = "SELECT drug, count(DISTINCT id) AS d FROM data GROUP BY drug" if how == "spark" else OPEN
    plan = planned(question, COLUMNS, UNITS["one"], RHO)
    engine = engine_over(plan, table(plan, hostile(20, seed=1), TYPES), session)
    held, seen = engine._session, list[str]()  # type: ignore[attr-defined]
    run = held._asked

    def asked(sql: str, bound: Any, tag: str) -> Any:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            for mode in ("extended", "codegen"):
                session.sql(sql, args=bound).explain(mode=mode)
        assert "Physical Plan" in said.getvalue()
        seen.append(said.getvalue())
        seen.append(f"{sql} {bound}")
        return run(sql, bound, tag)

    held._asked = asked
    spark.sparkContext.setLogLevel("DEBUG")
    try:
        if question == OPEN:
            open_secret(engine.keys(plan, SALT))
        else:
            engine.count(plan, groups_of(plan), SALT)
    finally:
        spark.sparkContext.setLogLevel("WARN")
        engine.close()
    assert any("IDENTIFIER(:secrets)" in text for text in seen)
    written = [path.read_text(errors="replace") for path in logs.rglob("*") if path.is_file() and path.suffix != ".crc"]
    assert any("SparkListenerSQLExecutionStart" in text for text in written)
    assert any("DEBUG org.apache.spark" in text for text in written)
    for text in (*seen, *written):
        assert not [secret for secret in secrets_of(SALT) if secret in text]


@pytest.mark.parametrize("how", ["spark", "connected"])
def test_settings_under_which_numbers_could_be_others_are_refused(how: str, request: pytest.FixtureRequest) -> None:
    session = request.getfixturevalue(how)
    plan = planned(QUESTIONS["case"], COLUMNS, UNITS["rows"])
    engine = engine_over(plan, table(plan, hostile(5, seed=1), TYPES), session)
    session.conf.set("spark.sql.ansi.enabled", "false")
    try:
        for ask in (lambda: engine_over(plan, table(plan, hostile(5, seed=2), TYPES), session), lambda: counted(engine, plan)):
            with pytest.raises((ParameterError, EngineError), match=r"spark.sql.ansi.enabled is not true"):
                ask()
    finally:
        session.conf.set("spark.sql.ansi.enabled", "true")
        engine.close()


def test_statements_mean_the_same_under_other_settings(spark: Any) -> None:
    """Zones, cases, escapes and quotes are no matter."""
    others = {
        "spark.sql.session.timeZone": "America/New_York",
        "spark.sql.caseSensitive": "true",
        "spark.sql.parser.escapedStringLiterals": "true",
        "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        "spark.sql.ansi.enforceReservedKeywords": "true",
    }
    odd = "a'b${x}`"
    columns = {"when": dp.date("2019-12-01", "2020-12-31"), odd: dp.category("it's", "a\\n", "${x}")}
    moments = [datetime.datetime(2020, 1, 1, 2, tzinfo=datetime.UTC), datetime.datetime(2020, 6, 30, 23, tzinfo=datetime.UTC)]
    held = pa.table({"when": pa.array(moments * 3, pa.timestamp("us", "UTC")), odd: ["it's", "a\\n", "${x}"] * 2})
    question = f'SELECT month("when") AS m, "{odd}" AS k, count(*) AS n FROM data GROUP BY m, k'
    plan = planned(question, columns, UNITS["rows"])
    expected = counted(engine_over(plan, held), plan)
    before = {name: spark.conf.get(name) for name in others}
    try:
        for name, value in others.items():
            spark.conf.set(name, value)
        engine = engine_over(plan, held, spark)
        assert counted(engine, plan) == expected
        engine.close()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def test_whatever_spark_says_carries_no_cell(frame: Any) -> None:
    session = SparkEngineSession(open_source(frame), {})
    for sql in ("CAST(word AS INT)", "CAST(word AS DATE)", "raise_error(word)", "word.nothing", "1 / (id - id)"):
        with pytest.raises(EngineError) as refused:
            session.fetch(f"SELECT max({sql}) AS x FROM {session.relation}")
        assert CELL not in str(refused.value)
        assert refused.value.__context__ is None
    session.close()


@pytest.mark.parametrize("how", ["spark", "connected"])
def test_an_interruption_stops_the_jobs(how: str, request: pytest.FixtureRequest) -> None:
    session = request.getfixturevalue(how)
    held = SparkEngineSession(open_source(session.range(10)), {})
    shares: list[float | None] = []
    begun = threading.Event()

    def interrupt() -> None:
        for _ in range(400):
            shares.append(held.progress())
            if shares[-1] is not None:
                break
            time.sleep(0.05)
        begun.set()
        _thread.interrupt_main()

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    many = "range(0, 100000000, 1, 16)"
    endless = f"SELECT count(*) AS n FROM {many} AS a CROSS JOIN {many} AS b WHERE a.id * b.id % 7 = 9"
    with pytest.raises(KeyboardInterrupt):
        held.fetch(endless)
    watcher.join()
    assert begun.is_set()
    assert shares[-1] is not None
    assert 0 <= shares[-1] <= 1
    assert held.progress() is None
    tracker = request.getfixturevalue("spark").sparkContext.statusTracker()
    for _ in range(200):
        if not tracker.getActiveJobsIds():
            break
        time.sleep(0.05)
    assert not tracker.getActiveJobsIds()
    assert held.fetch(f"SELECT count(*) AS n FROM {held.relation}") == {"n": [10]}
    held.close()


def test_views_go_when_the_session_does(spark: Any, frame: Any) -> None:
    plan = planned(OPEN, COLUMNS, UNITS["person"], RHO)
    engine = engine_over(plan, table(plan, hostile(20, seed=1), TYPES), spark)
    counted_keys(engine, plan)
    mark = engine._session._mark  # type: ignore[attr-defined]
    assert any(one.name.startswith(mark) for one in spark.catalog.listTables())
    engine.close()
    engine.close()
    assert not [one.name for one in spark.catalog.listTables() if one.name.startswith(mark)]
    assert frame.count() == 1000


def test_types_of_spark_are_read_or_missing(spark: Any) -> None:
    cells = {
        "CAST(5 AS TINYINT)": ("TINYINT", 5),
        "CAST('5' AS VARCHAR(3))": ("STRING", 5),
        "CAST('5' AS STRING) COLLATE UNICODE_CI": ("STRING", 5),
        "CAST(' 5' AS BINARY)": ("STRING", 5),
        "X'FF'": ("STRING", None),
        "CAST(X'35FF' AS STRING)": ("STRING", None),
        "CAST(5.0 AS DECIMAL(38, 18))": ("DECIMAL(38,18)", 5),
        "CAST(5 AS DECIMAL(3, 0))": ("DECIMAL(3,0)", 5),
        "TIMESTAMP '2020-01-01'": ("TIMESTAMP", None),
        "TIMESTAMP_NTZ '2020-01-01'": ("TIMESTAMP_NTZ", None),
        "INTERVAL 5 DAY": ("STRING", None),
        "array(5)": ("STRING", None),
        "map(5, 5)": ("STRING", None),
        "struct(5)": ("STRING", None),
        "parse_json('5')": ("STRING", None),
        "NULL": ("STRING", None),
    }
    listed = ", ".join(f"{sql} AS c{i}" for i, sql in enumerate(cells))
    source = open_source(spark.sql(f"SELECT {listed}"))
    assert [*source.raw.values()] == [kind for kind, _ in cells.values()]
    from discreet.engine.spark.cleaning import clean

    session = SparkEngineSession(source, {})
    column = dp.integer(0, 9)
    made = ", ".join(f"{clean(column, f'`{name}`', kind)} AS {name}" for name, kind in source.raw.items())
    assert [*session.fetch(f"SELECT {made} FROM {session.relation}").values()] == [[value] for _, value in cells.values()]
    assert {"c3", "c4", "c10", "c11", "c12", "c13", "c14", "c15"} == source.no_ids
    session.close()


FACTS: dict[str, Any] = {
    "unit": dp.person("id", rows=1, groups=1),
    "columns": {"age": dp.integer(0, 120)},
    "budget": dp.Budget(epsilon=10, delta=1e-6),
}
ASKED = "SELECT count(*) AS n, avg(age) AS a FROM data"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "people.ledger"


def test_a_curator_of_a_dataframe(frame: Any, ledger: Path) -> None:
    with dp.Curator(frame, ledger=ledger, **FACTS) as hospital:
        with pytest.raises(ParameterError, match=r'version="2026-11"'):
            hospital.sql(ASKED, epsilon=1)
        assert float(hospital.budget.spent.epsilon) == 0
    with dp.Curator(frame, ledger=ledger, version="1", **FACTS) as hospital:
        first = hospital.sql(ASKED, epsilon=5)
        assert abs(first["n"][0] - 1000) < 100
        assert hospital.sql(ASKED, epsilon=5).repeated
    with (
        pytest.raises(ParameterError, match="leave memory= out"),
        dp.Curator(frame, ledger=ledger, version="1", memory="1GB", **FACTS) as hospital,
    ):
        hospital.sql("SELECT count(*) AS m FROM data", epsilon=1)


@pytest.mark.parametrize("how", ["path", "table"])
def test_files_and_tables_are_known_by_their_files(spark: Any, frame: Any, ledger: Path, tmp_path: Path, how: str) -> None:
    place = tmp_path / "people.parquet"
    if how == "table":
        spark.sql("DROP TABLE IF EXISTS people")
        frame.write.saveAsTable("people")
    else:
        pq.write_table(frame.toArrow(), place)
    source = "spark:people" if how == "table" else f"spark:{tmp_path}/*.parquet"
    with dp.Curator(source, ledger=ledger, **FACTS) as hospital:
        assert not hospital.sql(ASKED, epsilon=2).repeated
        assert hospital.sql(ASKED, epsilon=2).repeated
        if how == "table":
            frame.write.insertInto("people")
        else:
            pq.write_table(frame.limit(900).toArrow(), place)
        assert not hospital.sql(ASKED, epsilon=2).repeated
        if how == "table":
            spark.sql("DROP TABLE people")
        else:
            place.unlink()
        spent = hospital.budget.spent.epsilon
        with pytest.raises(EngineError, match="Spark cannot read the table"):
            hospital.sql(ASKED, epsilon=2)
        assert hospital.budget.spent.epsilon == spent


def test_files_are_known_through_connect_as_well(spark: Any, connected: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "people.parquet")
    found = []
    for session in (spark, connected):
        frame, identified = _named(session, f"{tmp_path}/*.parquet")
        assert identified
        found.append(SparkSource(("id",), {"id": "BIGINT"}, frame, identified=True).fingerprint(b"salt"))
    assert found[0] == found[1]


def test_what_cannot_be_opened_is_said_before_anything_is_paid(spark: Any, frame: Any, ledger: Path) -> None:
    facts = {**FACTS, "ledger": ledger, "version": "1"}
    for source, said in (
        ("spark:", "which table of Spark"),
        (frame.withColumnRenamed("age", "years"), "no column age"),
        (frame.selectExpr("id", "age", "word AS Age"), "differ in the case"),
        (frame.selectExpr("array(id) AS id", "age"), "cannot tell persons apart"),
        (spark.readStream.format("rate").load(), "A stream has no end"),
    ):
        with pytest.raises(ParameterError, match=said), dp.Curator(source, **facts) as hospital:
            hospital.sql(ASKED, epsilon=1)
    for source in ("spark:no.such_table", "spark:/no/such.parquet"):
        with pytest.raises(EngineError, match="cannot read the table"), dp.Curator(source, **facts) as hospital:
            hospital.sql(ASKED, epsilon=1)


def test_a_failure_while_counting_leaves_the_price_spent(frame: Any, ledger: Path) -> None:
    """Nothing is released, and what was paid stays spent; a type that changes is refused before."""
    failing = frame.selectExpr("id", "CAST(CASE WHEN id = 7 THEN word ELSE '5' END AS INT) AS age")
    with dp.Curator(failing, ledger=ledger, version="1", **FACTS) as hospital:
        with pytest.raises(EngineError) as refused:
            hospital.sql(ASKED, epsilon=1)
        assert CELL not in str(refused.value)
        assert float(hospital.budget.spent.epsilon) == 1


def test_sums_that_fill_no_64_bits(spark: Any) -> None:
    """Whole numbers are widened before they are added up: Spark would add them in their own type."""
    columns = {"big": dp.integer(-(2**63) + 1, 2**63 - 1), "wide": dp.integer(-(2**63) + 1, 2**63 - 1)}
    held = pa.table({"big": [2**63 - 1] * 9, "wide": pa.array([Decimal(10**37)] * 9, pa.decimal128(38, 0)), "id": ["p"] * 9})
    for unit in (dp.rows(), dp.person("id", rows=3, groups=1)):
        plan = planned("SELECT sum(big) AS s, avg(wide) AS a FROM data", columns, unit, PURE)
        engines = [engine_over(plan, held, one) for one in (None, spark)]
        first, second = (counted(engine, plan) for engine in engines)
        assert first == second
        assert max(max(map(abs, values)) for values in first.values()) > 2**63
        engines[1].close()
