"""One curator of several private tables about the same persons: how they are opened, paid for, known again and looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, DiscreetError, LedgerRefused, ParameterError
from discreet.ledger import people as register

UNIT = dp.person("pid", rows=4, groups=2)
COLUMNS: dict[str, Any] = {
    "patients": {"age": dp.integer(0, 120), "sex": dp.category("m", "f")},
    "visits": {"cost": dp.number(0, 500, step=1), "ward": dp.category("eye", "ear"), "days": dp.integer(0, 30, missing=0)},
}
PATIENTS = pa.table({"pid": ["a", "b", "c", None], "age": [30, 40, 50, 60], "sex": ["m", "f", "f", "m"]})
VISITS = pa.table({
    "pid": ["a", "a", "b", "d", None], "cost": [10, 20, 300, 5, 7], "ward": ["eye", "ear", "eye", "eye", "ear"],
    "days": [1, None, 3, 4, 5],
})  # fmt: skip
RICH = dp.Budget(epsilon=10**9)
MUCH = 10**6  # noise of a scale of 0.002: what is rounded is right but for one time in e^250
BOTH = "SELECT sum(cost) AS n FROM patients JOIN visits USING (pid)"
FIRST = "SELECT count(*) AS n FROM patients"


def files(folder: Path) -> dict[str, Path]:
    found = {"patients": folder / "patients.parquet", "visits": folder / "visits.parquet"}
    pq.write_table(PATIENTS, found["patients"])
    pq.write_table(VISITS, found["visits"])
    return found


def clinic(source: Any, ledger: Path | None = None, **more: Any) -> dp.Curator:
    facts: dict[str, Any] = {"unit": UNIT, "columns": COLUMNS, "budget": RICH, "ledger": ledger}
    return dp.Curator(source, **(facts | more))


def frames(**others: Any) -> dict[str, Any]:
    return {"patients": PATIENTS, "visits": VISITS} | others


def test_questions_about_one_and_about_both(tmp_path: Path) -> None:
    people = clinic(frames(), tmp_path / "c.ledger")
    assert round(people.sql(FIRST, epsilon=MUCH).value) == 3
    assert round(people.sql(BOTH, epsilon=MUCH).value) == 330
    assert round(people.sql("SELECT count(DISTINCT pid) AS n FROM visits", epsilon=MUCH).value) == 3
    left = people.sql("SELECT count(*) AS n, count(days) AS d FROM patients LEFT JOIN visits USING (pid)", epsilon=MUCH)
    assert (round(left["n"][0]), round(left["d"][0])) == (4, 3)  # a missing day is 0, and a missing visit has none
    assert [entry.question for entry in people.history()] == [
        "SELECT count(*) AS n FROM patients",
        "SELECT sum(visits.cost) AS n FROM patients JOIN visits USING (pid)",
        "SELECT count(DISTINCT person) AS n FROM visits",
        "SELECT count(*) AS n, count(visits.days) AS d FROM patients LEFT JOIN visits USING (pid)",
    ]
    assert round(people.batch([FIRST, BOTH], epsilon=2 * MUCH)[1].value) == 330
    assert "Asked before: free" in str(people.preview(BOTH, epsilon=MUCH))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"unit": dp.rows()}, "nobody has an id"),
        ({"columns": {"patients": COLUMNS["patients"]}}, "by the same names"),
        ({"columns": {"patients": {"age": dp.integer(0, 120)}, "visits": dp.integer(0, 1)}}, "table by table"),
        ({"at_most": {"drugs": 1}}, "at_most="),
        ({"at_most": {"visits": 0}}, "at least 1"),
        ({"at_most": {"visits": 2**13}}, "from 1 to 4,096"),
        ({"at_most": 5}, "at_most="),
        ({"table": "patients"}, "table="),
        ({"public": {"Visits": pa.table({"x": [1]})}}, "name of its own"),
        ({"source": frames(visits=VISITS.drop_columns(["pid"]))}, "no column pid"),
        ({"source": frames(visits=VISITS.set_column(0, "pid", pa.array([True] * 5)))}, "different types"),
        ({"source": frames(visits=VISITS.set_column(0, "pid", pa.array([1] * 5, pa.date32())))}, "date in visits"),
        ({"source": {}}, "by name"),
        ({"source": {"a b": PATIENTS, "visits": VISITS}, "columns": {"a b": {}, "visits": COLUMNS["visits"]}}, "cannot name"),
    ],
)
def test_what_is_refused_at_opening(given: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=says):
        clinic(given.pop("source", frames()), tmp_path / "c.ledger", **given)
    assert not (tmp_path / "c.ledger").exists()


def test_in_python(tmp_path: Path) -> None:
    people = clinic(frames(), tmp_path / "c.ledger", people="these")
    both = people.table("patients").join("visits")
    people.sql(BOTH, epsilon=MUCH)
    assert both.agg(n=dp.sum("cost")).release(epsilon=MUCH).repeated
    left = (
        people.table("patients").join("visits", left=True).where("age > 30").group_by("sex").agg(n=dp.count(), d=dp.count("days"))
    )
    text = "SELECT sex, count(*) AS n, count(days) AS d FROM patients LEFT JOIN visits USING (pid) WHERE age > 30 GROUP BY sex"
    assert str(left) == people.sql(text, epsilon=MUCH).question
    assert left.release(epsilon=MUCH).repeated
    each = both.person(k=dp.count(), sex="any_value(sex)").agg(n=dp.mean("k"))
    within = "SELECT pid, count(*) AS k, any_value(sex) AS sex FROM patients JOIN visits USING (pid) GROUP BY pid"
    text = f"SELECT avg(k) AS n FROM ({within})"
    assert round(2 * each.release(epsilon=MUCH).value) == 3  # two visits, and one
    assert people.sql(text, epsilon=MUCH).repeated
    assert people.table("visits").agg(n=dp.persons()).release(epsilon=MUCH).value == pytest.approx(3, abs=0.1)
    for wrong, says in [
        (lambda: people.where("age > 3"), "say which"),
        (lambda: people.agg(n=dp.count()).release(epsilon=1), "say which"),
        (lambda: people.table("drugs"), "no private table"),
        (lambda: both.join("visits"), "no other private table"),
        (lambda: both.agg(n=dp.count()).join("visits"), "before all else"),
        (lambda: both.table("visits"), "begins with one table"),
        (lambda: both.where("weight > 3"), "no column weight"),
    ]:
        with pytest.raises(ParameterError, match=says):
            wrong()
    remarks = people.preview(BOTH, epsilon=1).remarks
    assert "Of each person's rows at most 8 of patients and 8 of visits are joined." in remarks
    with pytest.raises(ParameterError, match="one private table"):
        clinic(PATIENTS, tmp_path / "d.ledger", columns=COLUMNS["patients"], people="others").table("patients")


def test_one_table_takes_no_declaration_of_joins(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="there is one"):
        clinic(PATIENTS, tmp_path / "c.ledger", columns=COLUMNS["patients"], at_most={"patients": 1})


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.uint64()])
def test_whole_numbers_of_any_width_are_one_type_of_id(kind: pa.DataType, tmp_path: Path) -> None:
    patients = PATIENTS.set_column(0, "pid", pa.array([1, 2, 3, None], pa.int64()))
    visits = VISITS.set_column(0, "pid", pa.array([1, 1, 2, 4, None], kind))
    assert round(clinic(frames(patients=patients, visits=visits), tmp_path / "c.ledger").sql(BOTH, epsilon=MUCH).value) == 330


def test_tables_of_every_kind(tmp_path: Path) -> None:
    place = files(tmp_path)
    PATIENTS.to_pandas().to_csv(tmp_path / "patients.csv", index=False)
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        database.execute(f"CREATE TABLE people AS SELECT * FROM '{place['patients']}'")
        database.execute(f"CREATE TABLE seen AS SELECT * FROM '{place['visits']}'")
    database_file = tmp_path / "clinic.duckdb"
    sources: list[tuple[Any, dict[str, Any]]] = [
        (place, {}),
        ({"patients": tmp_path / "patients.csv", "visits": VISITS.to_pandas()}, {}),
        ({"patients": PATIENTS, "visits": place["visits"]}, {}),
        ({"patients": database_file, "visits": database_file}, {"table": {"patients": "people", "visits": "seen"}}),
    ]
    for i, (source, more) in enumerate(sources):
        people = clinic(source, tmp_path / f"{i}.ledger", people=f"number {i}", **more)
        assert round(people.sql(BOTH, epsilon=MUCH).value) == 330
        people.close()


def test_what_a_question_does_not_read_may_change_or_be_gone(tmp_path: Path) -> None:
    place = files(tmp_path)
    people = clinic(place)
    assert people.ledger.name == "people-by-pid.ledger"
    first, both = people.sql(FIRST, epsilon=MUCH), people.sql(BOTH, epsilon=MUCH)
    assert people.sql(FIRST, epsilon=MUCH).repeated
    assert people.sql(BOTH, epsilon=MUCH).repeated
    pq.write_table(VISITS.slice(0, 2), place["visits"])
    assert people.sql(FIRST, epsilon=MUCH).repeated
    again = people.sql(BOTH, epsilon=MUCH)
    assert not again.repeated
    assert [round(one.value) for one in (first, both, again)] == [3, 330, 30]
    place["visits"].unlink()
    before = people.budget.spent.epsilon
    assert round(people.sql("SELECT sum(age) AS n FROM patients", epsilon=MUCH).value) == 120
    with pytest.raises(ParameterError, match="no file"):
        people.sql("SELECT count(*) AS n FROM patients JOIN visits USING (pid)", epsilon=MUCH)
    people.preview("SELECT count(*) AS n FROM patients JOIN visits USING (pid)", epsilon=MUCH)
    assert people.budget.spent.epsilon == before + MUCH


def test_a_declared_version_is_of_all_tables(tmp_path: Path) -> None:
    place = files(tmp_path)
    assert not clinic(place, version="1").sql(BOTH, epsilon=10).repeated
    pq.write_table(VISITS.slice(0, 2), place["visits"])
    assert clinic(place, version="1").sql(BOTH, epsilon=10).repeated
    assert not clinic(place, version="2").sql(BOTH, epsilon=10).repeated


def test_how_many_rows_are_joined_is_part_of_the_question(tmp_path: Path) -> None:
    one = clinic(frames(), tmp_path / "c.ledger")
    one.sql(FIRST, epsilon=10)
    one.sql(BOTH, epsilon=10)
    other = clinic(frames(), tmp_path / "c.ledger", at_most={"visits": 1})
    assert other.sql(FIRST, epsilon=10).repeated
    assert not other.sql(BOTH, epsilon=10).repeated


def test_every_table_pays_from_the_one_ledger(tmp_path: Path) -> None:
    place = files(tmp_path)
    clinic(place, tmp_path / "c.ledger").sql(FIRST, epsilon=1)
    alone: dict[str, Any] = {"unit": UNIT, "columns": COLUMNS["visits"], "budget": RICH}
    with pytest.raises(LedgerRefused, match="second budget"):  # though no question has read it yet
        dp.Curator(place["visits"], ledger=tmp_path / "other.ledger", **alone)
    dp.Curator(place["visits"], ledger=tmp_path / "c.ledger", **alone).sql("SELECT count(*) AS n FROM data", epsilon=1)


def test_a_table_that_pays_elsewhere_is_refused_before_anything_begins(tmp_path: Path) -> None:
    place = files(tmp_path)
    alone: dict[str, Any] = {"unit": UNIT, "columns": COLUMNS["visits"], "budget": RICH}
    dp.Curator(place["visits"], ledger=tmp_path / "c.ledger", **alone).sql("SELECT count(*) AS n FROM data", epsilon=1)
    with pytest.raises(LedgerRefused, match="second budget"):
        clinic(place, tmp_path / "other.ledger")
    assert not (tmp_path / "other.ledger").exists()
    assert clinic(place, tmp_path / "c.ledger").sql(BOTH, epsilon=MUCH).value == pytest.approx(330, abs=0.5)


def test_one_budget(tmp_path: Path) -> None:
    people = clinic(frames(), tmp_path / "c.ledger", budget=dp.Budget(epsilon=2))
    people.sql(FIRST, epsilon=1)
    people.sql(BOTH, epsilon=1)
    with pytest.raises(BudgetExceeded):
        people.sql("SELECT count(*) AS n FROM visits", epsilon=1)


def test_looks_and_shares_of_every_table(tmp_path: Path) -> None:
    people = clinic(frames(), tmp_path / "c.ledger")
    shares = people.check(epsilon=MUCH)
    assert isinstance(shares, dp.curator.answer.Answer)
    found = dict(zip(zip(*shares.keys.values(), strict=True), shares["share"], strict=True))
    assert found["visits.days", "missing"] == pytest.approx(1 / 4, abs=0.01)
    assert found["patients.age", "clamped"] == pytest.approx(0, abs=0.01)
    text = str(people.check())
    assert "patients.age" in text
    assert "visits: 5 rows" in text
    assert not any("looked" in remark for remark in people.sql(BOTH, epsilon=10).remarks)
    narrow = {**COLUMNS, "visits": {**COLUMNS["visits"], "cost": dp.number(0, 400, step=1)}}
    changed = clinic(frames(), tmp_path / "c.ledger", columns=narrow)
    assert any("visits.cost" in remark for remark in changed.sql(FIRST, epsilon=10).remarks)


def test_the_owners_file(tmp_path: Path) -> None:
    files(tmp_path)
    text = """
version = 1
[unit]
person = "pid"
rows = 4
groups = 2
[budget]
epsilon = 1000000000
[tables.patients]
source = "patients.parquet"
at_most = 1
[tables.patients.columns]
age = { type = "integer", lower = 0, upper = 120 }
[tables.visits]
source = "visits.parquet"
[tables.visits.columns]
cost = { type = "number", lower = 0, upper = 500, step = 1 }
"""
    file = tmp_path / "clinic.toml"
    file.write_text(text)
    assert round(dp.open(file).sql(BOTH, epsilon=MUCH).value) == 330
    for wrong, says in [
        (text.replace("at_most = 1", "at_least = 1"), r"\[tables.*unknown key"),
        (text.replace('source = "visits.parquet"', ""), "source must be a text"),
        (text.replace("version = 1", 'version = 1\nsource = "a.csv"'), "table by table"),
        (text.replace("upper = 500", "upper = -1"), r"\[tables.*visits.*columns\] .*cost"),
        (text.replace("at_most = 1", 'at_most = "1"'), "at_most"),
        (text.split("[tables.patients]")[0] + "[tables]\nvisits = 5\n", "no table of keys"),
    ]:
        file.write_text(wrong)
        with pytest.raises(ParameterError, match=says):
            dp.open(file)


LONG = "x" * 100_000
ODD: dict[str, tuple[list[Any], list[Any]]] = {
    "nobody": ([], []),
    "a long id": ([LONG], [LONG]),
    "an empty id": ([""], [""]),
    "no id": ([None], [None]),
    "one side": (["z"] * 300, []),
    "the other side": ([], ["z"] * 300),
    "ten thousand rows on both": (["z"] * 10_000, ["z"] * 10_000),
}


def test_no_row_decides_whether_a_question_fails(tmp_path: Path) -> None:
    """Under little memory: whoever brings rows to both sides, everything is answered, or refused for everybody."""
    questions = [
        BOTH,
        "SELECT ward, count(*) AS n, median(age) AS m FROM patients LEFT JOIN visits USING (pid) GROUP BY ward",
        "SELECT count(*) AS n FROM patients WHERE pid NOT IN (SELECT pid FROM visits WHERE cost > 100)",
        "SELECT avg(k) AS n FROM (SELECT pid, count(*) AS k FROM patients JOIN visits USING (pid) GROUP BY pid) AS t",
        "SELECT count(*) AS n FROM patients JOIN visits ON age = cost",
    ]
    said = set()
    for name, (patients, visits) in ODD.items():
        odd = pa.table({"pid": pa.array(patients, pa.string()), "age": pa.array([999] * len(patients), pa.int64())})
        more = pa.table({"pid": pa.array(visits, pa.string()), "cost": pa.array(range(len(visits)), pa.int64())})
        source = {
            "patients": pa.concat_tables([PATIENTS, odd], promote_options="default"),
            "visits": pa.concat_tables([VISITS, more], promote_options="default"),
        }
        unit = dp.person("pid", rows=64, groups=16)
        people = clinic(source, tmp_path / f"{name}.ledger", people=name, memory="60MB", unit=unit)
        for question in questions:
            try:
                people.sql(question, epsilon=1)
                said.add((question, "answered"))
            except DiscreetError as refusal:
                said.add((question, str(refusal)))
    assert len(said) == len(questions)
    assert [text for _, text in said].count("answered") == len(questions) - 1


@pytest.mark.parametrize("kind", ["Int64", "float64", "float32", "object", "string", "odd"])
def test_ids_of_frames_are_known_again_whatever_holds_them(kind: str, tmp_path: Path) -> None:
    """A missing id makes doubles of whole numbers, and one odd cell makes objects: nobody else's id is read otherwise by that."""
    whole, visits = pd.DataFrame({"pid": [1, 2], "age": [3, 4], "sex": ["m", "f"]}), VISITS.to_pandas()
    ids: list[Any] = [1, 1, 2, 4, "x1" if kind == "odd" else None]
    visits["pid"] = pd.Series(ids, dtype="object" if kind == "odd" else kind)
    for source in ({"patients": whole, "visits": visits}, {"visits": visits, "patients": whole}):
        people = clinic(source, tmp_path / f"{next(iter(source))}.ledger", people=next(iter(source)))
        assert round(people.sql(BOTH, epsilon=MUCH).value) == 330
        others = people.sql("SELECT count(*) FROM visits WHERE pid NOT IN (SELECT pid FROM patients)", epsilon=MUCH)
        assert round(others.value) == (2 if kind == "odd" else 1)


def test_days_are_no_ids_of_whole_numbers(tmp_path: Path) -> None:
    whole, visits = pd.DataFrame({"pid": [1, 2], "age": [3, 4], "sex": ["m", "f"]}), VISITS.to_pandas()
    visits["pid"] = [True, True, False, True, False]
    with pytest.raises(ParameterError, match="whole numbers in patients, boolean in visits"):
        clinic({"patients": whole, "visits": visits}, tmp_path / "c.ledger")


def test_whoever_was_refused_is_refused_again(tmp_path: Path) -> None:
    """The second table pays elsewhere; the first ledger is there, and nobody remembers it."""
    given = frames()
    facts: dict[str, Any] = {"unit": UNIT, "budget": RICH}
    alone = {
        name: dp.Curator(given[name], columns=COLUMNS[name], ledger=tmp_path / f"{name}.ledger", **facts)
        for name in ("patients", "visits")
    }
    alone["patients"].sql("SELECT count(*) AS n FROM data", epsilon=0.1)
    register.forget((tmp_path / "patients.ledger").resolve())
    alone["visits"].sql("SELECT count(*) AS n FROM data", epsilon=0.1)
    both = clinic({name: given[name] for name in alone}, tmp_path / "patients.ledger")
    for _ in range(3):
        with pytest.raises(LedgerRefused, match="second budget"):
            both.sql("SELECT count(*) AS n FROM visits", epsilon=0.1)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("SELECT count(*) AS n FROM patients WHERE pid IN (SELECT pid FROM visits)", "visits is a query"),
        ("SELECT count(*) AS n FROM patients WHERE pid NOT IN (SELECT pid FROM visits)", "visits is a query"),
        ("SELECT count(*) AS n FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid)", "visits is a query"),
    ],
    ids=["in", "not in", "exists"],
)
def test_a_query_that_hides_a_table_is_not_taken_for_it(asked: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match=says):
        clinic(frames(), tmp_path / "c.ledger").sql(
            f"WITH visits AS (SELECT * FROM visits WHERE cost > 50) {asked}", epsilon=MUCH
        )


def test_a_query_that_hides_a_table_is_joined_instead(tmp_path: Path) -> None:
    hidden = "WITH visits AS (SELECT * FROM visits WHERE cost > 100) SELECT count(*) AS n FROM patients JOIN visits USING (pid)"
    people = clinic(frames(), tmp_path / "c.ledger")
    plain = people.sql("SELECT count(*) AS n FROM patients JOIN visits USING (pid) WHERE cost > 100", epsilon=MUCH)
    assert round(people.sql(hidden, epsilon=MUCH).value) == round(plain.value)


def test_a_query_sees_only_those_before_it(tmp_path: Path) -> None:
    people = clinic(frames(), tmp_path / "c.ledger")
    hidden = "WITH a AS (SELECT count(*) AS n FROM visits), visits AS (SELECT * FROM visits WHERE cost > 50) SELECT n FROM a"
    assert people.sql(hidden, epsilon=MUCH).value == pytest.approx(4, abs=0.1)
    own = "WITH visits AS (SELECT ward, count(*) AS n FROM visits GROUP BY ward) SELECT ward, n FROM visits ORDER BY ward"
    assert [round(n) for n in people.sql(own, epsilon=MUCH).outputs["n"].values] == [1, 3]


def test_another_column_that_is_called_like_the_id_is_not_the_id(tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        clinic(frames(), tmp_path / "c.ledger").sql(
            "SELECT count(*) AS n FROM (SELECT cost AS pid, ward FROM visits) AS t JOIN patients USING (pid)", epsilon=MUCH
        )


@pytest.mark.diagonal
@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids="".join)
@pytest.mark.parametrize(
    "ids", [[7, 7, 8], [7.0, 7.0, 8.0, None], [7, 7, 8, "x9"], ["7", "7", "8"]], ids=["whole", "float", "mixed", "text"]
)
def test_the_type_of_ids_decides_nothing(ids: list[object], order: tuple[str, str], tmp_path: Path) -> None:
    """One cell may make texts or doubles of a column of whole numbers: every question is answered all the same. Noise of a
    hundredth of a row is below 1/2 (but for 1e-20)."""
    held = {
        "a": pd.DataFrame({"pid": [7, 8], "g": ["x", "y"]}),
        "b": pd.DataFrame({"pid": ids, "h": ["x", "x", "z", "x"][: len(ids)]}),
    }
    declared = {"a": {"g": dp.category("x", "y")}, "b": {"h": dp.category("x", "y", "z")}}
    clinic = dp.Curator(
        {name: held[name] for name in order},
        unit=dp.person("pid", rows=1, groups=1),
        columns={name: declared[name] for name in order},
        budget=dp.Budget(epsilon=10**4),
        ledger=tmp_path / "types.ledger",
        people="types",
    )
    joined = f"FROM {order[0]} JOIN {order[1]} USING (pid)"
    assert clinic.sql(f"SELECT h, count(DISTINCT pid) AS n {joined} GROUP BY h", epsilon=100)["n"] == (1, 0, 1)
    assert [round(float(n)) for n in clinic.sql(f"SELECT g, count(*) AS n {joined} GROUP BY g", epsilon=100)["n"]] == [1, 1]
    assert clinic.sql("SELECT g, mode(g) AS n FROM a WHERE pid IN (SELECT pid FROM b WHERE h = 'z') GROUP BY g", epsilon=100)["n"]
    assert clinic.sql(f"SELECT h, median(CASE WHEN g = 'x' THEN 1 ELSE 2 END) AS n {joined} GROUP BY h", epsilon=100)["n"]
