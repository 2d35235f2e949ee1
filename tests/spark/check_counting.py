"""Every kind of statistic, of bounding and of key: Spark's whole numbers are DuckDB's, on hostile rows and on many."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engine.test_counting as counting
import engine.test_joined as joined
import engine.test_people as people
import engine.test_rows as learners
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine.driving import PURE, RHO, marginal, open_rows, planned, table
from engine.hostile import COLUMNS, TYPES, UNITS, hostile
from spark.comparing import alike, engine_over
from support.depth import THOROUGH

from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.units import person, rows

# A statistic with a unit and a norm: every kind of each meets some of the others.
ASKED = [
    ("sums", "rows", PURE),
    ("sums", "person", PURE),
    ("spread", "replace", RHO),
    ("whole", "rows", PURE),
    ("ranks", "person", RHO),
    ("years", "one", RHO),
    ("tenths", "person", RHO),
    ("written", "person", PURE),
    ("case", "replace", RHO),
]
OPEN = "SELECT city, drug, age // 60 AS a, count(*) AS n FROM data GROUP BY city, drug, a"
MARGINAL = "SELECT code, median(age // 40) AS a, mode(smokes) AS s, mode(drug) AS d FROM data WHERE age > 3 GROUP BY code"


COMPILED = ("years", "tenths", "case")  # of each unit one; of rows, through Connect


@pytest.mark.spread(5)
@pytest.mark.parametrize(("question", "unit", "share"), ASKED, ids=lambda one: str(one)[:8])
def test_hostile_rows(question: str, unit: str, share: Any, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark" if question in COMPILED else "interpreted")
    plan = planned(counting.QUESTIONS[question], COLUMNS, UNITS[unit], share)
    alike(plan, table(plan, hostile(150, seed=len(question)), TYPES), spark)


@pytest.mark.parametrize("unit", ["rows", "person"])
def test_marginals_and_open_keys(unit: str, request: pytest.FixtureRequest) -> None:
    """Marginals are compiled thoroughly only: they are wide, and that takes most of their time."""
    spark = request.getfixturevalue("spark" if unit == "rows" else "interpreted")
    for question in (MARGINAL, OPEN) if THOROUGH or unit == "person" else (OPEN,):
        plan = planned(question, COLUMNS, UNITS[unit], RHO)
        plan = plan if question == OPEN else marginal(plan)
        alike(plan, table(plan, hostile(150, seed=4), TYPES), spark, rehearse=True)


def test_long_open_keys(interpreted: Any) -> None:
    long = ["x", "y" * 64, "y" * 65, "é" * 33, "#" + "0" * 64, "", None, "z" * 299, "Å", "A\u030a", "a\\b${x}'"]
    held = [{"city": long[i % 11], "name": long[i % 7], "age": (5, 70, None)[i % 3], "id": str(i % 9)} for i in range(90)]
    by = "city, name, age // 60"
    plan = planned(f"SELECT {by}, sum(age) AS s FROM data GROUP BY {by}", counting.LONG, UNITS["person"], RHO)
    alike(plan, table(plan, held), interpreted)


@pytest.mark.parametrize("key", ["steps", "halves", "no steps"])
@pytest.mark.parametrize("unit", ["rows", "persons"])
def test_many_keys_that_are_numbers(key: str, unit: str, interpreted: Any) -> None:
    who = rows() if unit == "rows" else person("who", rows=2, groups=2)
    plan = planned(f"SELECT k, {counting.OF_MANY[0]} FROM data GROUP BY k", counting.columns_by(key), who)
    alike(plan, table(plan, counting.many(key)), interpreted, rehearse=True)


def test_public_tables(spark: Any) -> None:
    """Also one whose name a table of the session has."""
    spark.createDataFrame([("not this",)], "zone string").createOrReplaceTempView("zones")
    question = (
        "SELECT z.land AS here, count(*) AS n, sum(r.rate + length(z.zone)) AS s FROM data JOIN regions r "
        "ON data.drug = r.drug LEFT JOIN zones z ON r.zone = z.zone WHERE r.rate IS NULL OR r.rate < 100 GROUP BY here"
    )
    public = {"regions": counting.REGIONS, "zones": counting.ZONES}
    plan = planned(question, COLUMNS, UNITS["person"], RHO, public)
    alike(plan, table(plan, hostile(100, seed=7), TYPES), spark, public)
    assert spark.table("zones").columns == ["zone"]


@pytest.mark.parametrize("question", [people.ASKED[3], people.ASKED[9], people.OPEN], ids=lambda question: question[:30])
def test_one_row_a_person(spark: Any, question: str) -> None:
    share = RHO if question == people.OPEN else PURE
    plan = planned(question, people.COLUMNS, person("id", rows=3, groups=2), share, people.PLACES)
    alike(plan, table(plan, people.chance_rows(3), people.TYPES), spark, people.PLACES)


@pytest.mark.parametrize("name", ["two", "in having"])
def test_several_private_tables(name: str, request: pytest.FixtureRequest) -> None:
    spark = request.getfixturevalue("spark" if THOROUGH or name != "two" else "interpreted")
    held = joined.together(joined.base(2), *joined.extreme_persons(3).values())
    plan = joined.planned(joined.JOINED[name], person("id", rows=3, groups=2), RHO)
    alike(plan, joined.frames(held), spark)


MANY = {
    "amount": number(-50, 1000, step=0.01),
    "age": integer(0, 120),
    "city": category(*(f"city {i}" for i in range(40))),
    "code": category(*range(30)),
    "day": date("2020-01-01", "2024-12-31"),
    "smokes": boolean(),
    "note": text(length=30),
}
KEYS = ("city", "code", "smokes", "date_trunc('year', day)", "age // 10")


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200,000 rows of 20,000 persons, most of whom are in many groups, and odd cells here and there."""
    draw, size = np.random.default_rng(7), 200_000
    amount = draw.normal(100, 300, size)
    amount[::997], amount[::1009], amount[::1013] = np.nan, np.inf, -0.0
    note = np.array(["", "a", "Ab", "ÅSE", "ase", "x" * 40, "12.5", "7"], dtype=object)[draw.integers(0, 8, size)]
    table = pa.table(
        {
            "amount": amount,
            "age": pa.array(draw.integers(-5, 130, size), mask=draw.random(size) < 0.01),
            "city": np.array([f"city {i}" for i in range(45)], dtype=object)[draw.integers(0, 45, size)],
            "code": draw.integers(0, 33, size),
            "day": pa.array(draw.integers(18000, 20200, size).astype(np.int32)).cast(pa.date32()),
            "smokes": pa.array(draw.random(size) < 0.3, mask=draw.random(size) < 0.1),
            "note": note,
            "id": (20_000 * draw.random(size) ** 2).astype(np.int64),
        }
    )
    place = tmp_path_factory.mktemp("many") / "many.parquet"
    pq.write_table(table, place, row_group_size=50_000)
    return place


ABOUT_MANY = [
    (KEYS[0], rows(), "count(*) AS n, sum(amount) AS s, avg(age) AS a, variance(age) AS v"),
    (KEYS[1], person("id", rows=3, groups=2), "count(*) AS n, sum(amount) AS s, avg(age) AS a, count(DISTINCT id) AS d"),
    (KEYS[2], person("id", rows=2, groups=1), "median(amount) AS m, mode(city) AS c"),
    (KEYS[3], person("id", rows=4, groups=2), "sum(ln(abs(amount) + 1)) AS l, sum(exp(age / 40)) AS e"),
    (
        KEYS[4],
        person("id", rows=1, groups=3),
        "count_if(regexp_matches(note, '^[0-9]+([.]5)?$')) AS r, sum(length(note)) AS t",
    ),
]


@pytest.mark.parametrize(("by", "unit", "outputs"), ABOUT_MANY, ids=[by for by, *_ in ABOUT_MANY])
def test_many_rows(spark: Any, connected: Any, many: Path, by: str, unit: Any, outputs: str) -> None:
    """On a driver of one's own, and through Connect."""
    plan = planned(f"SELECT {by} AS k, {outputs} FROM data WHERE lower(note) <> 'ase' GROUP BY k", MANY, unit, RHO)
    for session in (spark, connected) if by == KEYS[1] else (spark,):
        alike(plan, many, session)


@pytest.mark.parametrize(("question", "unit"), [("sums", "person"), ("written", "rows")])
def test_hostile_rows_through_connect(connected: Any, question: str, unit: str) -> None:
    plan = planned(counting.QUESTIONS[question], COLUMNS, UNITS[unit], RHO)
    alike(plan, table(plan, hostile(150, seed=len(question)), TYPES), connected, rehearse=True)


def test_a_million_keys(spark: Any, connected: Any) -> None:
    """A list is a table: no statement grows with it. A server is sent a million; a driver has them in hand: a tenth will do."""
    for session, size in ((spark, 10**5), (connected, 10**6)):
        keys = np.arange(size)
        held = pa.table({"code": np.concatenate([keys[:: size // 1000], keys[:500], [-1, 10 * size]])})
        plan = planned("SELECT code, count(*) AS n FROM data GROUP BY code", {"code": integer(0, size - 1)}, rows(), RHO)
        alike(plan, held, session)


@pytest.mark.parametrize("unit", [rows(), person("pid", rows=2, groups=1)], ids=["rows", "person"])
def test_rows_for_learners(spark: Any, connected: Any, unit: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of three rows: persons stand in several of them."""
    monkeypatch.setattr("discreet.engine.spark.session._SOME", 3)
    for reading, held in ((learners.asked(unit), learners.TABLE), (learners.hostile_reading(unit), learners.HOSTILE)):
        engines = [engine_over(reading.plan, held, one) for one in (None, spark, connected)]
        try:
            first, *others = (open_rows(engine, reading) for engine in engines)
        finally:
            for engine in engines:
                engine.close()
        assert first
        assert all(one == first for one in others)
