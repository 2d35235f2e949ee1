"""No row decides whether a question fails: it is refused for everybody before payment, or answered for everybody."""

from __future__ import annotations

import random
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.depth import deep, spread
from support.random_expressions import DECLARED, KINDS, VALUES, draw, rows

import discreet as dp
from discreet.errors import BudgetExceeded, ParameterError
from discreet.plan.expressions import Value

RICH = dp.Budget(epsilon=10**6, delta=1e-6)
LONG = "x" * 1_000_000


def curator(source: object, place: Path, **more: object) -> dp.Curator:
    name = str(uuid.uuid4())
    facts = {"unit": dp.rows(), "budget": RICH, "ledger": place / f"{name}.ledger", "people": name}
    return dp.Curator(source, **(facts | more))  # type: ignore[arg-type]


def outcome(people: dp.Curator, question: str) -> str:
    """Whether a question is answered, or how it is refused; a refusal costs nothing."""
    before = len(people.history())
    try:
        people.sql(question, epsilon=1)
    except ParameterError as refusal:
        assert len(people.history()) == before
        return str(refusal)
    return "answered"


MANY = ", ".join(["n"] * 2000)
WIDE = ", ".join(["n"] * 60)


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        (f"SELECT count(*) AS z FROM data WHERE CASE WHEN who = 'w2' THEN length(concat({MANY})) > 5 ELSE TRUE END", False),
        (f"SELECT count(*) AS z FROM data WHERE CASE WHEN who = 'w2' THEN length(concat({WIDE})) > 5 ELSE TRUE END", True),
        (f"SELECT concat({MANY}) AS k, count(*) AS z FROM data GROUP BY k", False),
        ("SELECT concat(n, n, n) AS k, count(*) AS z FROM data GROUP BY k", True),
        ("SELECT who, count(*) AS z FROM data WHERE contains(lower(n), 'y') GROUP BY who", True),
        (
            f"SELECT choose(['a', '{'b' * 70_000}'], CASE WHEN concat(who, candidate) = 'a' THEN 1 ELSE 0 END) AS z FROM data",
            False,
        ),
        ("SELECT sum(length(concat(n, who))) AS z FROM data", True),
    ],
    ids=["case", "short case", "key", "short key", "lower", "candidates", "sum"],
)
def test_a_long_text_changes_nothing(question: str, answered: bool, tmp_path: Path) -> None:
    found = set()
    for last in spread(("short", LONG, LONG * 20), 2):
        frame = pd.DataFrame({"who": [f"w{i}" for i in range(3)], "n": ["a", "b", last]})
        found.add(outcome(curator(frame, tmp_path, columns={"who": dp.text(length=50), "n": dp.text()}), question))
    assert len(found) == 1
    assert (found == {"answered"}) is answered


def test_a_public_tables_long_text_changes_nothing(tmp_path: Path) -> None:
    maps = pd.DataFrame({"region": ["n", "s"], "outline": ["short", "y" * 50_000]})
    found = set()
    for region in ("n", "s"):
        people = curator(
            pd.DataFrame({"region": ["n", region]}), tmp_path, columns={"region": dp.category("n", "s")}, public={"maps": maps}
        )
        for times in (1, 3, 300):
            text = f"concat(data.region, {', '.join(['outline'] * times)})"
            found.add(
                (
                    times,
                    outcome(people, f"SELECT count(*) AS z FROM data JOIN maps ON data.region = maps.region WHERE {text} = 'a'"),
                )
            )
    assert {times for times, said in found if said == "answered"} == {1}
    assert len(found) == 3


def test_a_text_that_was_cut_matches_no_category_and_ids_are_whole(tmp_path: Path) -> None:
    cells = ["ab", "ab" + LONG, "abc", LONG]
    people = curator(pd.DataFrame({"c": cells}), tmp_path, columns={"c": dp.category("ab", "abc")})
    found = people.sql("SELECT c, count(*) AS n FROM data GROUP BY c", epsilon=1000)
    assert found["n"] == (1, 1)
    ids = [LONG + "a", LONG + "b", LONG + "a", "#" + "0" * 64]
    people = curator(
        pd.DataFrame({"id": ids, "c": ["ab"] * 4}),
        tmp_path,
        columns={"c": dp.category("ab")},
        unit=dp.person("id", rows=1, groups=1),
    )
    assert people.sql("SELECT count(DISTINCT id) AS n FROM data", epsilon=1000).value == 3
    people = curator(pd.DataFrame({"c": [LONG]}), tmp_path, columns={"c": dp.text(length=5)})
    assert people.sql("SELECT count(*) AS n FROM data WHERE c = 'xxxxx'", epsilon=1000).value == 1


MOMENTS = {
    "date": dp.date("1900-01-01", "2100-01-01"),
    "category": dp.category("1970-01-01 00:00:00"),
    "text": dp.text(),
    "boolean": dp.boolean(),
    "number": dp.number(0, 1),
}


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_of_parquet_beyond_the_calendar(unit: str, tmp_path: Path) -> None:
    for end in spread((2**63 - 1, 2**62, -(2**62), -(2**63) + 1, -(2**63)), 2):
        cells = pa.array([0, 0, end], pa.int64()).view(pa.timestamp(unit))
        file = tmp_path / f"{unit}{end}.parquet"
        pq.write_table(pa.table({**dict.fromkeys((*MOMENTS, "id"), cells), "v": [1, 1, 1], "s": ["ä"] * 3}), file)
        columns = {**MOMENTS, "v": dp.integer(0, 1), "s": dp.category("ä")}
        counts = ", ".join(f'count("{name}") AS "{name}"' for name in MOMENTS)
        (row,) = (
            curator(file, tmp_path, columns=columns)
            .sql(f"SELECT sum(v) AS v, count(s) AS s, {counts} FROM data", epsilon=9000)
            .rows()
        )
        assert (row["v"], row["s"], row["boolean"], row["number"]) == (3, 3, 0, 0)
        assert all(row[name] in (2, 3) for name in ("date", "category", "text"))
        people = curator(file, tmp_path, columns={"v": dp.integer(0, 1)}, unit=dp.person("id", rows=5, groups=1))
        assert people.sql("SELECT count(DISTINCT id) AS n FROM data", epsilon=1000).value in (1, 2)


def test_ids_beyond_the_signed_integers(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "x.duckdb")) as database:
        cells = ", ".join(f"({cell}::UHUGEINT, {i % 3})" for i, cell in enumerate((0, 5, 2**127 - 1, 2**127, 2**128 - 1)))
        database.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES {cells}) AS t(id, v)")
    people = curator(tmp_path / "x.duckdb", tmp_path, columns={"v": dp.integer(0, 2)}, unit=dp.person("id", rows=1, groups=1))
    assert people.sql("SELECT count(DISTINCT id) AS n FROM data", epsilon=1000).value == 5
    assert sum(people.sql("SELECT v, count(DISTINCT id) AS n FROM data GROUP BY v", epsilon=1000)["n"]) == 5  # type: ignore[arg-type]


BYTES = [uuid.UUID(int=i).bytes for i in (2**127 + 1, 2**126)]
REFUSED = [pa.array(BYTES, pa.binary(16)), pa.array(BYTES, pa.binary()), pa.array([[1], [2]]), pa.array([1, 2], pa.time32("s"))]
REFUSED += [pa.array([1, 2], pa.duration("s")), pa.array([{"a": 1}, {"a": 2}]), pa.nulls(2)]


@pytest.mark.parametrize("ids", REFUSED, ids=lambda ids: str(ids.type))
def test_ids_that_tell_nobody_apart_are_refused(ids: pa.Array, tmp_path: Path) -> None:
    table = pa.table({"id": ids, "v": [1, 1]})
    pq.write_table(table, tmp_path / "x.parquet")
    as_number = [tmp_path / "x.parquet"] if not pa.types.is_duration(ids.type) else []  # there a duration is a whole number
    for source in (table, *as_number, pl.from_arrow(table)):
        with pytest.raises(ParameterError, match="cannot tell persons apart"):
            curator(source, tmp_path, columns={"v": dp.integer(0, 1)}, unit=dp.person("id", rows=1, groups=1)).sql(
                "SELECT count(*) AS n FROM data", epsilon=1
            )


def test_ids_that_are_uuids_are_read(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array(BYTES, pa.binary(16)).cast(pa.uuid()), "v": [1, 1]})
    people = curator(table, tmp_path, columns={"v": dp.integer(0, 1)}, unit=dp.person("id", rows=1, groups=1))
    assert people.sql("SELECT count(DISTINCT id) AS n FROM data", epsilon=1000).value == 2


def test_a_public_day_beyond_the_calendar_is_refused_in_a_sentence(tmp_path: Path) -> None:
    for day in (2_932_897, 2**31 - 1, -(2**31) + 1):
        days = pa.table({"v": [1], "day": pa.array([day], pa.int32()).view(pa.date32())})
        with pytest.raises(ParameterError, match="years 1 to 9999"):
            curator(pd.DataFrame({"v": [1]}), tmp_path, columns={"v": dp.integer(0, 1)}, public={"days": days})


FRAME = pd.DataFrame({"v": [1, 2, 3] * 100, "w": ["a", "b", "c"] * 100, "z": ["p", "q", "r"] * 100})
COLUMNS = {"v": dp.integer(0, 10), "w": dp.text(), "z": dp.text()}


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("v", rows=100, groups=3)], ids=["rows", "persons"])
@pytest.mark.parametrize("key", ["x / 0", "x // 0", "nullif(x, x) / 0"])
def test_a_key_that_is_always_missing_is_refused(key: str, unit: object, tmp_path: Path) -> None:
    people = curator(FRAME.assign(x=FRAME["v"]), tmp_path, columns={"x": dp.integer(0, 10)}, unit=unit)
    said = outcome(people, f"SELECT {key} AS k, count(*) AS n FROM data GROUP BY k")
    assert "missing in every row" in said


def test_listed_keys_hold_beside_open_ones(tmp_path: Path) -> None:
    people = curator(FRAME, tmp_path, columns=COLUMNS)
    found = people.group_by("w", "z", keys={"w": ["a", "x"]}).agg(n=dp.count()).release(epsilon=100)
    assert [(row["w"], row["z"]) for row in found.rows()] == [("a", "p")]
    persons = curator(FRAME, tmp_path, columns=COLUMNS, unit=dp.person("v", rows=100, groups=3))
    found = persons.group_by("w", "z", keys={"z": ["nobody"]}).agg(n=dp.count()).release(epsilon=100)
    assert found.rows() == []


def test_large_numbers_do_not_warn(tmp_path: Path) -> None:
    people = curator(FRAME, tmp_path, columns=COLUMNS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = people.sql("SELECT variance(v * 1e138) AS z, stddev(v * 1e138) AS s FROM data", epsilon=1000)
        assert found["z"][0] == pytest.approx(2 / 3 * 1e276, rel=0.2)
        assert "1e140" in outcome(people, "SELECT variance(v * 1e142) AS z FROM data")
        people.sql("SELECT variance(v * 1e138) AS z FROM data WHERE v > 100", epsilon=0.001)


@pytest.mark.parametrize("epsilon", [np.float32(0.1), np.float64(0.1), np.float16(0.1), np.longdouble("0.1"), 0.1], ids=repr)
def test_what_is_charged_is_what_is_shown(epsilon: float, tmp_path: Path) -> None:
    people = curator(FRAME, tmp_path, columns=COLUMNS, budget=dp.Budget(epsilon=1))
    assert people.sql("SELECT count(*) AS n FROM data", epsilon=epsilon).cost == "epsilon=0.1"
    assert people.budget.spent.epsilon == 0.1


def test_as_many_questions_with_open_keys_fit_as_without(tmp_path: Path) -> None:
    """Each question's delta is its share of the budget's; a repeat for less is free, and a refusal names delta=."""
    budget = dp.Budget(epsilon=3, delta=1e-6)
    people = curator(FRAME, tmp_path, columns=COLUMNS, budget=budget)
    asked = "SELECT w, count(*) AS n FROM data WHERE v > {} GROUP BY w"
    for i in range(8):
        people.sql(asked.format(i), epsilon=0.5)
    assert people.sql(asked.format(0), epsilon=0.25).repeated
    with pytest.raises(BudgetExceeded, match="smaller delta="):
        people.sql(asked.format(9), epsilon=0.1, delta=5e-7)
    together = curator(FRAME, tmp_path, columns=COLUMNS, budget=budget)
    assert len(together.batch([asked.format(i) for i in range(6)], epsilon=1)) == 6


def questions(chance: random.Random) -> Iterator[str]:
    """Random questions of every kind, most of them strange."""
    while True:
        where = "" if chance.random() < 0.5 else f" WHERE {draw('boolean', chance.choice([1, 2, 3]), chance)}"
        key = draw(chance.choice(KINDS), chance.choice([0, 1, 2, 3]), chance)
        number = draw("number", chance.choice([1, 2, 3]), chance)
        bounded = f"least(greatest({number}, -5), 5)"
        made = chance.choice(["count(*)", "count({})", "sum({})", "avg({})", "var_pop({})", "quantile({}, 0.3)", "mode({})"])
        made = made.format(chance.choice([number, bounded]))
        keyed = chance.random() < 0.6
        yield f"SELECT {f'{key} AS k, ' if keyed else ''}{made} AS z FROM data{where}{' GROUP BY k' if keyed else ''}"


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("person", rows=2, groups=2)], ids=["rows", "persons"])
def test_every_question_that_is_paid_for_has_an_answer(unit: object, tmp_path: Path) -> None:
    chance = random.Random(f"{unit} 3")
    table: list[dict[str, Value]] = [{**row, "person": i % 7} for i, row in enumerate(rows(40, chance))]
    assert set(VALUES) == set(DECLARED)
    people = curator(pa.Table.from_pylist(table), tmp_path, columns=DECLARED, unit=unit)
    answered = 0
    for question in questions(chance):
        paid = len(people.history())
        try:
            people.sql(question, epsilon=1, delta=1e-9)
        except ParameterError:
            assert len(people.history()) == paid, question
        else:
            answered += 1
        if answered == deep(15, 6):
            break
