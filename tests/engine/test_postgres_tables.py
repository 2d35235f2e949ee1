"""PostgreSQL and DuckDB on tables that are long, and on tables that are odd: the same integers for every kind of statistic."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, count, keys, planned
from engine.reference_counting import SALT
from support.postgres import a_database, server

from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.engine.postgres.server import server_of
from discreet.engine.postgres.session import PostgresSession
from discreet.engine.postgres.source import read_address
from discreet.mechanisms.secret import open_secret
from discreet.schema.columns import Column, boolean, category, date, integer, number, text
from discreet.schema.units import Unit, person, rows

FORMS = [
    "é",
    "e\u0301",
    "\ufb01",
    "fi",
    "Å",
    "\u212b",
    "A\u030a",
    "ß",
    "SS",
    "ss",
    "İ",
    "i",
    "ı",
    "\u1e9e",
    "日本",
    "\U0001f600",
    "a b",
    " a",
    "a ",
]
COLUMNS: dict[str, Column] = {
    "word": category(*FORMS[:12]),
    "free": text(length=30),
    "real": number(-1000, 1000, step=0.01),
    "exact": number(-(10**6), 10**6, step=0.05),
    "huge": integer(-(2**63) + 1, 2**63 - 1),
    "day": date("0001-01-01", "9999-12-31"),
    "moment": date("1900-01-01", "2100-01-01"),
    "flag": boolean(),
    "code": integer(0, 50),
}
CELLS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "word": (pa.string(), [*FORMS, None]),
    "free": (pa.string(), [*FORMS, None, "x" * 40, "", "007", "7"]),
    "real": (
        pa.float64(),
        [0.0, -0.0, 1e308, -1e308, math.inf, -math.inf, math.nan, None, 5e-324, 0.005, 2.675, 999.995, -0.015],
    ),
    "exact": (
        pa.decimal128(38, 10),
        [None, *map(Decimal, ("0.025", "-0.025", "1e20", "-1e20", "999999.975", "0.1", "12.3456789012"))],
    ),
    "huge": (pa.int64(), [2**63 - 1, -(2**63), 0, 1, -1, 2**53 + 1, None, 10**18, -(10**18) - 1]),
    "day": (pa.date32(), [datetime.date.min, datetime.date.max, datetime.date(2024, 2, 29), datetime.date(1582, 10, 10), None]),
    "moment": (
        pa.timestamp("us", "UTC"),
        [None, *(datetime.datetime(y, 6, 1, tzinfo=datetime.UTC) for y in (1, 1899, 2024, 9999))],
    ),
    "flag": (pa.bool_(), [True, False, None]),
    "code": (pa.int64(), [0, 7, 50, 51, -1, None, 2**40]),
    "id": (pa.string(), ["7", "07", "007", "7.0", "7 ", "", None, *FORMS, str(2**80), str(10**17), "-5", "x" * 300, "y" * 300]),
}
UNITS: dict[str, Unit] = {"rows": rows(), "persons": person("id", rows=3, groups=2)}
QUESTIONS = [
    "SELECT word, count(*) AS n, sum(real) AS s, avg(exact) AS a, variance(real) AS v FROM data GROUP BY word",
    "SELECT code, sum(huge) AS s, count(huge) AS n, median(real) AS m, quantile(exact, 0.9) AS q FROM data GROUP BY code",
    "SELECT flag, mode(word) AS o, count(DISTINCT id) AS d FROM data WHERE real > -5 OR day < DATE '2000-01-01' GROUP BY flag",
    "SELECT year(moment) AS y, count(*) AS n, sum(ln(abs(real) + 1) * 10) AS s FROM data WHERE moment > DATE '2000-01-01' "
    "GROUP BY y",
    "SELECT upper(free) = lower(free) AS same, count(*) AS n, sum(length(free)) AS s FROM data GROUP BY same",
    "SELECT regexp_matches(free, '^[^a-z]') AS odd, sum(real % 7) AS s, sum(round(real / 3)) AS r FROM data GROUP BY odd",
]


def some(size: int, seed: int) -> pa.Table:
    draw = random.Random(seed)
    return pa.table({name: pa.array([draw.choice(cells) for _ in range(size)], kind) for name, (kind, cells) in CELLS.items()})


def asked(question: str, unit: Unit) -> list[Any]:
    if isinstance(unit, type(rows())) and "DISTINCT id" in question:
        question = question.replace("count(DISTINCT id)", "count(*)")
    return [planned(question, COLUMNS, unit, share) for share in (PURE, RHO)]


def without_id(table: pa.Table, unit: Unit) -> pa.Table:
    return table if isinstance(unit, type(person("id", rows=1, groups=1))) else table.drop_columns(["id"])


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_odd_tables(question: str, unit: str) -> None:
    for plan in asked(question, UNITS[unit]):
        found = count(plan, without_id(some(150, seed=3), UNITS[unit]))
        assert any(any(map(bool, held)) for held in found.values())


@pytest.mark.parametrize("unit", UNITS)
def test_open_keys_of_odd_tables(unit: str) -> None:
    plan = planned("SELECT free, code, count(*) AS n FROM data GROUP BY free, code", COLUMNS, UNITS[unit], RHO)
    assert len(keys(plan, without_id(some(300, seed=5), UNITS[unit]))) > 30


def test_a_long_table() -> None:
    """Whole persons of many rows; the benchmark has a million rows."""
    draw, size = random.Random(6), 20_000
    held: Mapping[str, list[Any]] = {
        "g": [f"g{int(100 * draw.random() ** 1.5)}" for _ in range(size)],
        "x": [100 * draw.random() for _ in range(size)],
        "n": [draw.randrange(1000) for _ in range(size)],
        "id": [int(2000 * draw.random() ** 2) for _ in range(size)],
    }
    columns: dict[str, Column] = {
        "g": category(*(f"g{i}" for i in range(100))),
        "x": number(0, 100, step=0.01),
        "n": integer(0, 1000),
    }
    for question, share in (
        ("SELECT g, count(*) AS n1, sum(x) AS s, avg(n) AS a, median(x) AS m FROM data GROUP BY g", RHO),
        ("SELECT g, count(DISTINCT id) AS d, variance(x) AS v FROM data WHERE n < 900 GROUP BY g", PURE),
    ):
        assert count(planned(question, columns, person("id", rows=5, groups=3), share), pa.table(held))


def test_a_value_is_planned_as_often_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is named several times over is one, however many values it is made of; or the server copies them all."""
    planned_as = []
    fetch = PostgresSession.fetch

    def watched(self: PostgresSession, sql: str, parameters: Mapping[str, object]) -> Any:
        explained = "\n".join(map(str, fetch(self, f"EXPLAIN {sql}", parameters)["QUERY PLAN"]))
        planned_as.append((explained.count("InitPlan ") + explained.count("SubPlan "), sql.count("AS of_both")))
        return fetch(self, sql, parameters)

    monkeypatch.setattr(PostgresSession, "fetch", watched)
    deep = "real * exact / (code + real) * (exact - code * real) / (real + 3) * exact"
    assert count(planned(f"SELECT sum({deep}) AS s FROM data", COLUMNS, rows(), RHO), without_id(some(50, seed=3), rows()))
    ((plans, written),) = planned_as
    assert written > 2
    assert plans <= 2 * written  # each may be asked for beneath a node of its own


@pytest.mark.parametrize("who", ["rows", "persons"])
def test_texts_without_case_are_told_apart_by_their_bytes(who: str) -> None:
    """A type to which yes and YES are one: as keys, in conditions, and as persons."""
    words = ["yes", "YES", "Yes", "no", "straße", "STRASSE", None]
    held = pa.table({"word": words * 9, "id": [f"{'pP'[i % 2]}{i % 10}" for i in range(63)]})
    columns = {"word": category("yes", "YES", "no", "straße")}
    unit = rows() if who == "rows" else person("id", rows=2, groups=1)
    plan = planned(
        "SELECT word, count(*) AS n, count_if(word IN ('yes', 'no')) AS some FROM data GROUP BY word", columns, unit, RHO
    )
    with a_database() as database:
        server().run("CREATE EXTENSION citext", "CREATE TABLE loose (word citext, id citext)", database=database)
        listed = ", ".join(f"({repr(row['word']).replace('None', 'NULL')}, {row['id']!r})" for row in held.to_pylist())
        server().run(f"INSERT INTO loose VALUES {listed}", database=database)
        source = open_source(f"{server().url(database)}&table=public.loose", columns=["word", "id"])
        engine = open_engine(source, plan.private, {})
        found = engine.count(plan, groups_of(plan), SALT)
        engine.close()
        server_of(read_address(f"{server().url(database)}&table=public.loose").conninfo).close()
    expected = count(plan, held)
    assert {key: [int(x) for x in open_secret(one)] for key, one in found.items()} == expected  # type: ignore[union-attr]
    assert sum(sum(values) for values in expected.values()) > 0
