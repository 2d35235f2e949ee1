"""The engine against the plain Python reference: every aggregate, hostile cells, every way in, and no order of rows matters."""

from __future__ import annotations

import csv
import datetime
import itertools
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, Rows, agree, count, count_in_turn, keys, marginal, planned, rehearse, table
from engine.hostile import CELLS, COLUMNS, TYPES, UNITS, hostile
from engine.reference_counting import lines, open_keys
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet
from support.depth import deep, examples
from support.patience import calls

from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.engine.duckdb.session import DuckDBSession
from discreet.mechanisms.secret import open_secret
from discreet.plan.aggregates import Best, Count
from discreet.plan.aggregates.soft import forms_of, numbers_of
from discreet.plan.expressions import Call
from discreet.plan.expressions import Column as Name
from discreet.plan.query import Output, Query
from discreet.plan.release import Released
from discreet.schema.columns import category, integer, number, text
from discreet.schema.units import Unit, person, rows

QUESTIONS = {
    "sums": "SELECT drug, count(*) AS n, count(age) AS a, sum(debt) AS s, avg(age) AS m, sum(big) AS b FROM data GROUP BY drug",
    "spread": "SELECT smokes, drug, var_pop(debt) AS v, stddev_pop(age) AS w, avg(share) AS m FROM data GROUP BY smokes, drug",
    "whole": "SELECT count(*) AS n, sum(debt) AS s, median(age) AS m, mode(drug) AS c, sum(share) AS h FROM data",
    "ranks": "SELECT code, quantile(debt, 0.9) AS q, median(share) AS m, mode(age // 50) AS c FROM data GROUP BY code",
    "decades": "SELECT age // 10 AS d, count(*) AS n, sum(CASE WHEN smokes THEN debt ELSE 0 END) AS s FROM data GROUP BY d",
    "years": "SELECT year(day) AS y, count(*) AS n, sum(days(day, DATE '2020-01-01')) AS s FROM data WHERE age >= 18 GROUP BY y",
    "bins": "SELECT bin(debt, 0, 1, 100, 20000) AS k, count(debt) AS n, sum(debt / 7) AS s FROM data GROUP BY k",
    "tenths": "SELECT least(age, 9) * 0.1 AS k, count(*) AS n, mode(least(age, 9) * 0.1) AS c FROM data GROUP BY k",
    "written": "SELECT year(ordered) AS y, count(price) AS n, sum(price) AS p, avg(grouped) AS g, median(price) AS m "
    "FROM data WHERE ordered < DATE '2021-01-01' OR price > 10 GROUP BY y",
    "case": "SELECT CASE WHEN age < 18 THEN 'young' WHEN drug = 'yes' THEN 'user' ELSE 'other' END AS k, avg(debt) AS m "
    "FROM data WHERE NOT (city = 'b') GROUP BY k",
}


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS.keys())
def test_engine_counts_what_the_reference_counts(question: str, unit: Unit, share: Any) -> None:
    plan = planned(question, COLUMNS, unit, share)
    held = hostile(150, seed=len(question))
    both = share is PURE  # the norm in which persons are bounded changes one line of one statement
    agree(plan, (count if both else count_in_turn)(plan, table(plan, held, TYPES)), held)


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_marginals_over_several_expressions(unit: Unit, share: Any) -> None:
    """Cells of two and three expressions, by value and by nearness, in groups and without."""
    held = hostile(150, seed=3)
    for question in (
        "SELECT mode(drug) AS d, median(age // 10) AS a FROM data",
        "SELECT code, median(age // 40) AS a, mode(smokes) AS s, mode(drug) AS d FROM data WHERE age > 3 GROUP BY code",
    ):
        plan = marginal(planned(question, COLUMNS, unit, share))
        frame = table(plan, held, TYPES)
        agree(plan, count(plan, frame), held)
        rehearse(plan, frame)


@settings(deadline=None, max_examples=examples(30))
@given(
    st.lists(st.fixed_dictionaries({name: st.sampled_from(cells) for name, cells in CELLS.items()}), max_size=12),
    st.sampled_from(list(QUESTIONS.values())),
    st.integers(1, 3),
    st.integers(1, 3),
    st.sampled_from([PURE, RHO]),
)
def test_any_small_table(held: Rows, question: str, r: int, g: int, share: Any) -> None:
    plan = planned(question, COLUMNS, person("id", rows=r, groups=g), share)
    agree(plan, count_in_turn(plan, table(plan, held, TYPES)), held)


@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["person"]], ids=["rows", "person"])
@pytest.mark.parametrize("size", [0, 1])
def test_a_table_of_nobody_and_of_one(size: int, unit: Unit) -> None:
    for question in (QUESTIONS["whole"], QUESTIONS["sums"]):
        plan = planned(question, COLUMNS, unit)
        held = [{name: cells[0] for name, cells in CELLS.items()}] * size
        agree(plan, count(plan, table(plan, held, TYPES)), held)


@pytest.mark.parametrize("way", ["parquet", "csv"])
def test_every_way_in_counts_alike(way: str, tmp_path: Path) -> None:
    """Text cells of a CSV mean what typed cells mean; NaN is a missing number either way."""
    held = [row for row in hostile(120, seed=5) if row["drug"] != "yes\0"]
    path = tmp_path / f"table.{way}"
    for unit, question in (("rows", "sums"), ("person", "sums"), ("rows", "written")):
        plan = planned(QUESTIONS[question], COLUMNS, UNITS[unit], RHO)
        frame = table(plan, held, TYPES)
        if way == "parquet":
            parquet.write_table(frame, path, row_group_size=7)
        else:
            with path.open("w", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(frame.column_names)
                writer.writerows([["" if cell is None else cell for cell in row.values()] for row in frame.to_pylist()])
        found = count(plan, str(path))
        empty = [{name: None if cell == "" else cell for name, cell in row.items()} for row in held]  # a CSV knows no empty text
        agree(plan, found, held if way == "parquet" else empty)


def test_order_chunks_and_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    held = list(hostile(4000, seed=8))
    for question, share in ((QUESTIONS["sums"], RHO), (QUESTIONS["ranks"], PURE), (QUESTIONS["spread"], PURE)):
        plan = planned(question, COLUMNS, person("id", rows=50, groups=1), share)
        first = count(plan, table(plan, held, TYPES))
        shuffled = random.Random(1).sample(held, len(held))
        chunks = pa.concat_tables([table(plan, shuffled[i : i + 333], TYPES) for i in range(0, len(held), 333)])
        for threads in (1, 2):
            monkeypatch.setattr("os.cpu_count", lambda threads=threads: threads)
            assert count_in_turn(plan, chunks) == first


@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
def test_one_person_with_a_hundred_thousand_rows(share: Any) -> None:
    """They weigh as much as their cap, and sums that leave 64 bits on the way fail nothing."""
    size = 100_000
    plan = planned(
        "SELECT count(*) AS n, sum(big) AS b, avg(debt) AS m, median(age) AS q FROM data", COLUMNS, UNITS["person"], share
    )
    cells = {"age": 7, "debt": 10_000.0, "share": None, "big": 2**63 - 1, "drug": "no", "code": 1, "smokes": None, "day": None}
    cells |= {"city": "a", "id": "p"}
    frame = pa.table({name: pa.repeat(pa.scalar(cells.get(name), kind), size) for name, kind in TYPES.items()})
    found = {str(statistic): held for (statistic, _), held in count(plan, frame).items()}
    assert 2**63 * 2 * (1 - 2**-38) < found["sum(big)"][0] <= (2**63 - 1) * 2
    assert 2 * 2**15 - 1 <= found["count(*)"][0] <= 2 * 2**15
    if share is RHO:
        assert found["count(debt)"] == found["count(*)"]
    else:  # a pair: the largest value adds all to one number, and nothing to the other
        all_of_it, nothing = found["count and sum of debt, as a pair"]
        assert nothing == 0
        assert all_of_it == pytest.approx(2 * (10_000 + 100) * 100, rel=1e-4)  # cents above the least
    assert found["121 cells of age"] == [[0] * 121]  # each of so many rows weighs less than a 4096th


def test_a_million_rows_are_counted_quickly() -> None:
    size = 1_000_000
    plan = planned(
        "SELECT drug, count(*) AS n, sum(debt) AS s FROM data GROUP BY drug",
        {k: COLUMNS[k] for k in ("drug", "debt")},
        UNITS["one"],
        RHO,
    )
    ids = pa.array(range(size)).cast(pa.string()).slice(0, size // 2)
    frame = pa.table(
        {"drug": pa.repeat("yes", size), "debt": pa.repeat(1.5, size), "id": pa.chunked_array([ids, pa.repeat("me", size // 2)])}
    )
    found: dict[str, Any] = {}
    made = calls(lambda: found.update({str(statistic): held for (statistic, _), held in count(plan, frame).items()}))
    assert made < 20_000  # about 1,400: nothing is done row by row in Python
    half = size // 2 * 2**15
    assert half <= found["count(*)"][0] <= half + 2**15
    assert half + 2**15 - 1 <= found["count(*)"][0]


IDS: dict[str, list[Any]] = {
    "integers": [1, 2, None, 2**62, 2**62 + 1, -5],
    "doubles": [1.0, 1.5, math.nan, None, -0.0, 0.0, 1e300, 2.0**53],
    "texts": ["", "a", "A", "a ", None, "é", "y" * 100_000, "1", "1.0"],
    "truths": [True, False, None],
    "days": [datetime.date(2020, 1, 1), None, datetime.date(1, 1, 1)],
}


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("ids", IDS.values(), ids=IDS.keys())
def test_ids_of_every_type(ids: list[Any], share: Any) -> None:
    draw = random.Random(3)
    held = [{"age": draw.choice(CELLS["age"]), "drug": draw.choice(["yes", "no"]), "id": draw.choice(ids)} for _ in range(60)]
    columns = {"age": COLUMNS["age"], "drug": COLUMNS["drug"]}
    question = "SELECT drug, count(DISTINCT id) AS d, count(*) AS n, median(age) AS m FROM data GROUP BY drug"
    plan = planned(question, columns, person("id", rows=2, groups=1), share)
    agree(plan, count(plan, table(plan, held)), held)


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_scores_of_candidates(unit: Unit) -> None:
    score = Call("case", (Call("<", (Name("age"), Name("candidate"))), Name("debt"), Call("neg", (Name("candidate"),))))
    plan = planned(Query((Output("best", Best((10, 18, 65), score)), Output("n", Count()))), COLUMNS, unit, RHO)
    held = hostile(80, seed=2)
    agree(plan, count(plan, table(plan, held, TYPES)), held)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT city, count(*) AS n FROM data GROUP BY city",
        "SELECT city, drug, age // 60 AS a, count(*) AS n FROM data GROUP BY city, drug, a",
    ],
    ids=["one", "three"],
)
@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["person"], UNITS["one"]], ids=["rows", "person", "one"])
def test_open_keys_and_then_what_is_counted_over_the_chosen(question: str, unit: Unit) -> None:
    plan = planned(question, COLUMNS, unit, RHO)
    held = hostile(150, seed=4)
    frame = table(plan, held, TYPES)
    found = keys(plan, frame)
    assert found == open_keys(plan, lines(plan, held))
    assert found
    assert not any("dunno" in key for key in found)  # outside its list a category is missing, in an open key too
    chosen = sorted(found)[::2]
    agree(plan, count(plan, frame, chosen), held, chosen)


LONG = {"city": text(length=300), "name": text(length=300), "age": integer(0, 120)}


@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["person"]], ids=["rows", "person"])
@pytest.mark.parametrize("keys_of", ["city", "city || name", "city, name, age // 60"])
def test_long_open_keys_are_counted_by_their_hashes(keys_of: str, unit: Unit) -> None:
    """What an engine keeps of a key is short, whatever an analyst makes of it; what is shown is the key."""
    draw = random.Random(6)
    texts = ["x", "y" * 64, "y" * 65, "y" * 66, "é" * 33, "#" + "0" * 64, "", None, "z" * 299]
    held = [
        {"city": draw.choice(texts), "name": draw.choice(texts), "age": draw.choice([5, 70, None]), "id": str(i % 9)}
        for i in range(90)
    ]
    plan = planned(f"SELECT {keys_of}, count(*) AS n, sum(age) AS s FROM data GROUP BY {keys_of}", LONG, unit, RHO)
    frame = table(plan, held)
    found = keys(plan, frame)
    assert found == open_keys(plan, lines(plan, held))
    assert max(len(str(value)) for key in found for value in key) > 64
    chosen = sorted(found, key=str)[::2]
    agree(plan, count(plan, frame, chosen), held, chosen)
    rehearse(plan, frame)


REGIONS: Rows = [
    {"drug": "yes", "zone": "east", "rate": 3},
    {"drug": "no", "zone": "west", "rate": -7},
    {"drug": "rare", "zone": "far", "rate": 2**53},
]


@pytest.mark.parametrize("join", ["JOIN", "LEFT JOIN"])
@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["person"]], ids=["rows", "person"])
def test_public_tables_are_looked_up(unit: Unit, join: str) -> None:
    question = (
        f"SELECT regions.zone, count(*) AS n, sum(regions.rate) AS r, sum(age * regions.rate) AS s FROM data {join} regions "
        "ON data.drug = regions.drug WHERE regions.rate IS NULL OR regions.rate < 100 GROUP BY regions.zone"
    )
    public = {"regions": REGIONS}
    plan = planned(question, COLUMNS, unit, RHO, public)
    held = hostile(100, seed=6)
    agree(plan, count(plan, table(plan, held, TYPES), public=public), held, public=public)


ZONES: Rows = [{"zone": "east", "land": "A", "next": "west"}, {"zone": "west", "land": "B", "next": "far"}]


@pytest.mark.diagonal
@pytest.mark.parametrize("joins", [*itertools.product(["JOIN", "LEFT JOIN"], repeat=3)], ids=" ".join)
@pytest.mark.parametrize("unit", [UNITS["rows"], UNITS["person"]], ids=["rows", "person"])
def test_public_tables_are_looked_up_through_one_another_and_twice(unit: Unit, joins: tuple[str, str, str]) -> None:
    first, second, third = joins
    question = (
        f"SELECT z.land AS here, other.land AS there, count(*) AS n, sum(r.rate + length(other.zone)) AS s FROM data "
        f"{first} regions r ON data.drug = r.drug {second} zones z ON r.zone = z.zone {third} zones other ON z.next = other.zone "
        "WHERE r.rate IS NULL OR r.rate < 100 GROUP BY here, there"
    )
    public = {"regions": REGIONS, "zones": ZONES}
    plan = planned(question, COLUMNS, unit, RHO, public)
    held = hostile(100, seed=7)
    agree(plan, count(plan, table(plan, held, TYPES), public=public), held, public=public)


@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("key", ["1", "code"])
def test_means_of_heavy_persons_are_means(key: str, share: Any) -> None:
    """Everybody has a hundred rows of mean 10. One weight for count and sum keeps it; clipping them apart made 16 of it."""
    columns = {"x": integer(0, 100), "code": category(1, 2, 30)}
    cells = [{"x": 100 if i % 10 == 0 else 0, "code": (1, 2, 30)[i % 3], "id": f"p{p}"} for p in range(20) for i in range(90)]
    by = f"SELECT {key} AS k, avg(x) AS m FROM data GROUP BY k" if key == "code" else "SELECT avg(x) AS m FROM data"
    plan = planned(by, columns, person("id", rows=8, groups=1), share)
    found = count(plan, table(plan, cells))
    agree(plan, found, cells)
    released = [Released(one, np.array(found[one.statistic, one.bits], dtype=object)) for one in plan.releases]
    size, total = forms_of(plan.releases).values(numbers_of(released))
    for weighted, moved in zip(size, total, strict=True):
        assert pytest.approx(50 + moved / weighted, rel=1e-3) == 10
    # Twenty persons are worth eight rows each, and that in all groups together: in L1, or in L2.
    worth = sum(size) if share is PURE else sum(x**2 for x in size) ** 0.5
    assert worth == pytest.approx(20 * 8, rel=1e-3)


MANY = {
    "steps": (integer(-2000, 4000), [None, -(2**40), -2000, -7, 0, 3, 3999, 4000, 2**40]),
    "a few hundred": (integer(0, 299), [None, -1, 0, 150, 299, 300]),
    "halves": (number(0, 2100, step=0.5), [None, math.nan, math.inf, -0.0, 0.24, 0.26, 7.5, 2100.0, 1e300]),
    "no steps": (category(*(i * i for i in range(5000))), [None, 2, 0, 1, 4, 49, 4999**2]),
}


OF_MANY = ("count(*) AS n, sum(v) AS s", "sum(big) AS b, count(v) AS n", "avg(v) AS m")


def columns_by(key: str) -> dict[str, Any]:
    return {"k": MANY[key][0], "v": number(0, 100, step=0.01), "big": integer(-(2**62), 2**62)}


def many(key: str) -> list[dict[str, Any]]:
    """Rows of a few of many keys, with odd cells."""
    cells: list[Any] = MANY[key][1]  # type: ignore[assignment]
    values, large = (None, math.nan, 0.004, 0.006, 99.5, 1e9), (None, 2**62, -(2**62), 5)
    return [
        {"k": cells[i % len(cells)], "v": values[i % 6], "big": large[i // 3 % 4], "who": i % 7 if i % 11 else None}
        for i in range(400)
    ]


@pytest.mark.diagonal
@pytest.mark.parametrize("unit", [rows(), person("who", rows=2, groups=2)], ids=["rows", "persons"])
@pytest.mark.parametrize("key", MANY)
def test_many_keys_that_are_numbers(key: str, unit: Unit) -> None:
    """They come as they are, and find their groups here: those that are none of the list, or missing, have none. Sums are exact
    beyond 64 bits too."""
    held = many(key)
    for place, asked in enumerate(OF_MANY):
        by = count if place < deep(len(OF_MANY), 1) else count_in_turn  # all engines, or usually one of them after the first
        plan = planned(f"SELECT k, {asked} FROM data GROUP BY k", columns_by(key), unit)
        agree(plan, by(plan, table(plan, held)), held)
        for few in (held[:0], [one | {"k": None} for one in held[:3]]):
            types = {
                "k": pa.float64() if key == "halves" else pa.int64(),
                "v": pa.float64(),
                "big": pa.int64(),
                "who": pa.int64(),
            }
            agree(plan, by(plan, table(plan, few, types)), few)


def test_many_pairs_of_numbers() -> None:
    columns = {"a": integer(1, 90), "b": category(*range(60, 0, -1)), "v": integer(0, 5)}
    held = [{"a": i % 93, "b": i % 67 or None, "v": i % 7} for i in range(2000)]
    plan = planned("SELECT b, a, count(*) AS n, sum(v) AS s FROM data WHERE a > 3 GROUP BY b, a", columns, rows())
    agree(plan, count(plan, table(plan, held)), held)


def test_many_keys_take_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of a declared range are not sent to the engine, nor is what it counts of them made of Python's numbers."""
    asked: list[Any] = []
    stream = DuckDBSession.stream
    monkeypatch.setattr(DuckDBSession, "stream", lambda self, *given: asked.append(given) or stream(self, *given))
    monkeypatch.setattr(DuckDBSession, "fetch", lambda *_: pytest.fail("all of it at once"))
    plan = planned("SELECT k, count(*) AS n, sum(k) AS s FROM data GROUP BY k", {"k": integer(0, 99_999)}, rows())
    engine = open_engine(open_source(pa.table({"k": [5, 7, 7, 10**6]})), plan.private, {})
    found = engine.count(plan, groups_of(plan), "")
    assert [parameters for _, parameters in asked] == [{}]
    for secret in found.values():
        assert open_secret(secret).dtype == np.int64  # type: ignore[union-attr]
    assert [int(open_secret(secret).sum()) for secret in found.values()] == [4, 5 + 7 + 7 + 99_999]  # type: ignore[union-attr]
    engine.close()
