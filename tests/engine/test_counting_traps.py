"""Traps that an engine has for exact counting: names, types, doubles that are equal, rounding at the edge."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import pandas
import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, agree, count, planned, table
from engine.hostile import COLUMNS, TYPES, UNITS, hostile
from pyarrow import parquet

from discreet.engine import open_engine, open_source
from discreet.engine.base import groups_of
from discreet.engine.duckdb import session
from discreet.errors import ParameterError
from discreet.mechanisms.secret import open_secret
from discreet.plan.aggregates import Count, Sum
from discreet.plan.expressions import Call, Literal
from discreet.plan.expressions import Column as Name
from discreet.plan.query import Key, Output, Query
from discreet.schema.columns import Column, boolean, category, date, integer, number, text
from discreet.schema.units import Unit, person, rows


@pytest.mark.parametrize("name", ["cleaned", "lines", "keys", "cells", "heavy", "chosen", "person"])
def test_no_name_in_a_public_table_meets_a_name_of_ours(name: str) -> None:
    public = {name: [{"drug": "yes", "person": 1, "c0": 5, "k0": 6, "i": 7, "x": 8}]}
    question = (
        f"SELECT {name}.person AS p, count(*) AS n, sum({name}.c0) AS s FROM data "
        f"JOIN {name} ON data.drug = {name}.drug GROUP BY p"
    )
    plan = planned(question, COLUMNS, UNITS["person"], PURE, public)
    held = hostile(40, seed=7)
    agree(plan, count(plan, table(plan, held, TYPES), public=public), held, public=public)


@pytest.mark.parametrize("cells", [[datetime.datetime(2020, 1, 1)], [datetime.time(3)]], ids=["stamp", "time"])
def test_private_texts_are_never_converted_to_a_public_type(cells: list[Any]) -> None:
    """A conversion that fails would depend on private texts."""
    public = {"other": [{"k": cell} for cell in cells]}
    query = "SELECT count(*) AS n FROM data JOIN other ON data.city = other.k"
    plan = planned(query, COLUMNS, UNITS["rows"], PURE, public)
    held = hostile(20, seed=1)
    assert list(count(plan, table(plan, held, TYPES), public=public).values()) == [[0]]


def test_numbers_that_are_one_double_are_one_key() -> None:
    """Engines compare doubles. Two keys that are one double would count every row twice, at the price of one."""
    literals = ", ".join(f"0.1{'0' * 17}{i}" for i in range(1, 9))
    tests = " ".join(f"WHEN age = {i} THEN {word}" for i, word in enumerate(literals.split(", ")))
    plan = planned(f"SELECT CASE {tests} ELSE 0.1 END AS k, count(*) AS n FROM data GROUP BY k", COLUMNS, UNITS["rows"])
    held = hostile(50, seed=1)
    assert sum(map(sum, count(plan, table(plan, held, TYPES)).values())) == 50
    near = {"id": category(2**53, 2**53 + 1)}
    plan = planned("SELECT id, count(*) AS n FROM data GROUP BY id", near, rows())
    assert list(count(plan, pa.table({"id": [2**53, 2**53 + 1]})).values()) == [[2]]
    for values in ((1, 1.0, True), ("1", "1.0"), (1, math.nan), (1, 10**400), (None,)):
        with pytest.raises(ParameterError, match="must all be of its type"):
            planned(Query((Output("n", Count()),), keys=(Key("k", Name("age"), values),)), COLUMNS, rows())
    plan = planned(Query((Output("n", Count()),), keys=(Key("k", Name("drug"), ("no", "dunno", "no")),)), COLUMNS, rows())
    expected = sum(row["drug"] == "no" for row in held)
    assert list(count(plan, table(plan, held, TYPES)).values()) == [[expected, 0]]  # junk that is asked for is missing


@pytest.mark.parametrize("top", [2**52 - 1, 2**52, 2**52 + 1, 2**53 - 1, 2**53])
def test_rounding_carries_nothing_over_a_bound(top: int) -> None:
    """Above 2^52 a double plus a half rounds to even: 2^52 + 1 became 2^52 + 2."""
    for of in (Call("+", (Name("x"), Literal(0))), Call("neg", (Name("x"),))):
        plan = planned(Query((Output("s", Sum(of)),)), {"x": number(-top, top, step=1)}, rows())
        (release,) = plan.releases
        for value in (top, -top):
            (held,) = count(plan, pa.table({"x": [value]})).values()
            assert abs(held[0]) <= release.statistic.of[0].bound  # type: ignore[union-attr]


def test_public_numbers_beyond_doubles_fail_nothing() -> None:
    public = {"r": [{"k": 1, "z": 2**63 - 1}, {"k": 2, "z": 2**52 + 1}]}
    plan = planned("SELECT sum(r.z) AS s FROM data JOIN r ON data.code = r.k", COLUMNS, UNITS["rows"], PURE, public)
    held = hostile(30, seed=1)
    agree(plan, count(plan, table(plan, held, TYPES), public=public), held, public=public)


def test_one_row_that_changes_the_type_of_all_ids_changes_nobody_else() -> None:
    """A missing id turns a frame's integers into doubles, a word into texts; nobody's groups may hang on it."""
    columns = {"drug": category("a", "b", "c", "d")}
    plan = planned("SELECT drug, count(DISTINCT id) AS d FROM data GROUP BY drug", columns, person("id", rows=1, groups=1))
    frame = pandas.DataFrame({"drug": ["a", "b", "c", "d"] * 50, "id": [i // 4 - 9 for i in range(200)]})
    (before,) = count(plan, frame).values()
    assert sum(before) == 50
    missing = pandas.concat([frame, pandas.DataFrame({"drug": ["a"], "id": [math.nan]})])
    assert [before] == list(count(plan, missing).values())
    word = pandas.concat([frame.astype({"id": object}), pandas.DataFrame({"drug": ["a"], "id": ["x"]})])
    assert [[before[0] + 1, *before[1:]]] == list(count(plan, word).values())
    for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint64(), pa.string()):
        typed = pa.table({"drug": frame["drug"][36:], "id": pa.array(frame["id"][36:]).cast(kind)})
        assert sum(*count(plan, typed).values()) == 41


@pytest.mark.parametrize("unit", [rows(), person("id", rows=9, groups=3)], ids=["rows", "person"])
def test_sums_beyond_64_bits_are_exact(unit: Any) -> None:
    """One group beyond 2^63 beside one just below: a list of such integers must never become doubles on the way."""
    held = [{**hostile(1, seed=1)[0], "big": 2**63 - 1, "drug": drug, "id": "p"} for drug in ("yes", "yes", "no")]
    plan = planned("SELECT drug, sum(big) AS b FROM data GROUP BY drug", COLUMNS, unit)
    (sums,) = count(plan, table(plan, held, TYPES)).values()
    assert sums[:2] == [2 * (2**63 - 1), 2**63 - 1]


def test_sums_are_the_same_in_doubles_and_in_wide_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned("SELECT drug, count(*) AS n, sum(debt) AS s, avg(age) AS m FROM data GROUP BY drug", COLUMNS, rows())
    held = hostile(300, seed=3)
    quick = count(plan, table(plan, held, TYPES))
    monkeypatch.setattr("discreet.engine.sql.engine._EXACT", 0)  # doubles are never trusted
    assert count(plan, table(plan, held, TYPES)) == quick


@pytest.mark.parametrize("unit", [rows(), person("id", rows=2, groups=2)], ids=["rows", "person"])
def test_what_an_analyst_writes_fills_no_memory(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 MB of keys that a question makes of short texts, where there are 25 MB and no disk: keys are told apart by hashes, and
    only those that were chosen are held."""
    monkeypatch.setitem(session._SETTINGS, "max_temp_directory_size", "1MB")
    size = 20_000
    long = f"concat({', '.join(['t'] * 200)})"
    plan = planned(f"SELECT {long} AS k, count(*) AS n FROM data GROUP BY k", {"t": text(length=20)}, unit, RHO)
    frame = pa.table({"t": [f"{i:020}" for i in range(size)], "id": [str(i) for i in range(size)]})
    engine = open_engine(open_source(frame), plan.schema, {}, memory="25MB")
    try:
        found = open_secret(engine.keys(plan, "salt"))
        assert len(found) == size
        chosen = engine.spell(plan, list(found)[:3], "salt")
        assert all(len(key) == 200 * 20 for (key,) in chosen)
        (counts,) = engine.count(plan, groups_of(plan, chosen), "salt").values()
        assert min(open_secret(counts)) == max(open_secret(counts)) > 0  # type: ignore[type-var]
    finally:
        engine.close()


def test_cells_that_are_keys_by_themselves_are_looked_up_as_they_are(tmp_path: Path) -> None:
    """Words of many lengths and capitals, whole numbers of any width beside those of the list, and truth values: one key each.
    All that is not listed is nobody's, however much of it there is; in files of Parquet, of which long words are cut, too."""
    columns = {"word": category("a", "ä", "", "a b"), "code": category(-1, 0, 7, 2**53 - 1), "truth": boolean()}
    words = [
        "a",
        "A",
        "a ",
        "ä",
        "a\u0308",
        "",
        "a b",
        None,
        "a" * 17,
        "ä" * 9,
        "a bc",
        "a b ",
        "a b\0",
        "a b\u0308",
        "\U0001f600" * 4,
        *(f"w{i}" for i in range(500)),
    ]
    codes = [-1, 0, 7, 8, 2**53 - 1, 2**53, 2**53 + 1, 2**62, -(2**53), None]
    held = [
        {"word": word, "code": codes[i % len(codes)], "truth": (True, False, None)[i % 3]}
        for i, word in enumerate(words * 3 + ["a", "ä", "", "a b"] * 30)
    ]
    types = {"word": pa.string(), "code": pa.int64(), "truth": pa.bool_()}
    for keys in ("word", "code", "truth", "word, truth", "word, code, truth"):
        plan = planned(f"SELECT {keys}, count(*) AS n, sum(code) AS s FROM data GROUP BY {keys}", columns, rows(), PURE)
        agree(plan, count(plan, table(plan, held, types)), held)
        parquet.write_table(table(plan, held, types), tmp_path / "keys.parquet")
        agree(plan, count(plan, str(tmp_path / "keys.parquet")), held)
    some = planned("SELECT word, count(*) AS n FROM data WHERE word IN ('a', 'ä') GROUP BY word", columns, rows(), PURE)
    agree(some, count(some, table(some, held, types)), held)


@pytest.mark.parametrize("declared", [category("true", "false"), category("1", "0"), category("false", "true", missing="false")])
def test_truth_values_that_are_declared_as_words_are_these_words(declared: Column, tmp_path: Path) -> None:
    """Whether they are the only key or not: a number in the place of a truth value is another word."""
    columns, held = {"b": declared, "n": integer(0, 1)}, [{"b": (True, True, False, None)[i % 4], "n": i % 2} for i in range(12)]
    types = {"b": pa.bool_(), "n": pa.int64()}
    for keys in ("b", "b, n"):
        plan = planned(f"SELECT {keys}, count(*) AS many, sum(n) AS s FROM data GROUP BY {keys}", columns, rows(), PURE)
        agree(plan, count(plan, table(plan, held, types)), held)
        parquet.write_table(table(plan, held, types), tmp_path / "truths.parquet")
        agree(plan, count(plan, str(tmp_path / "truths.parquet")), held)


def test_keys_are_the_same_in_whatever_way_their_cells_are_grouped(tmp_path: Path) -> None:
    """Cells are grouped by as small whole numbers, or so that the engine looks up a list of values: what is missing, beyond its
    bounds or beyond a byte is where the reference has it, in memory and in files of Parquet."""
    day, far = datetime.date(2024, 1, 1), [datetime.date(1, 1, 1), datetime.date(9999, 12, 31), None]
    ages, codes = [None, -(2**31), -1, 0, 5, 99, 100, 255, 256, 2**31 - 1], [None, -1, 0, 7, 8, 255, 256, -249, 2**31 - 1]
    held = [
        {
            "age": ages[i % len(ages)],
            "code": codes[i % len(codes)],
            "day": [day, *(day + datetime.timedelta(j) for j in (-1, 1, 9, 10)), *far][i % 8],
            "truth": (True, False, None)[i % 3],
        }
        for i in range(720)
    ]
    types = {"age": pa.int32(), "code": pa.int32(), "day": pa.date32(), "truth": pa.bool_()}
    last = day + datetime.timedelta(9)
    for columns in (
        {"age": integer(0, 99), "code": category(0, 7, 255), "day": date(day, last), "truth": boolean()},
        {
            "age": integer(0, 99, missing=3),
            "code": category(0, 7, 255, missing=7),
            "day": date(day, last, missing=last),
            "truth": boolean(missing=False),
        },
        {"age": integer(-5, 5000), "code": category(-1, 7, 256), "day": date(day, last), "truth": boolean()},
    ):
        parquet.write_table(pa.Table.from_pylist(held, pa.schema(types)), tmp_path / "keys.parquet")
        for keys in ("age", "code", "day", "truth", "code, truth"):
            for where in ("", " WHERE age < 50"):
                sql = f"SELECT {keys}, count(*) AS n, sum(age) AS s FROM data{where} GROUP BY {keys}"
                plan = planned(sql, columns, rows(), PURE)
                agree(plan, count(plan, table(plan, held, types)), held)
                agree(plan, count(plan, str(tmp_path / "keys.parquet")), held)


def test_whole_numbers_in_files_of_parquet_are_clamped_like_others(tmp_path: Path) -> None:
    """They are clamped by functions that make a bound of a missing cell: whatever the bounds, what stands for missing ones, and
    how wide a cell is, the sums are those of the reference, of which no engine counts in that way."""
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    ends = [(0, 1000), (18, 120), (-7, 7), (-9, -2)]
    bounds = [
        *(integer(*each) for each in ends),
        *(integer(*each, missing=each[0]) for each in ends),
        integer(18, 120, missing=40),
    ]
    columns = {f"{kind}_{j}": bound for kind in kinds for j, bound in enumerate(bounds)}
    columns |= {"wide": integer(0, 2**20), "word": category("a", "b")}
    types = {name: next((kind for kind in kinds if name.startswith(f"{kind}_")), pa.int64()) for name in columns} | {
        "word": pa.string()
    }

    def cells(kind: pa.DataType) -> list[int | None]:
        bits, signed = kind.bit_width, str(kind).startswith("int")
        ends = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return [*ends, None, *(x for x in (-10, -8, -7, -1, 0, 1, 2, 17, 18, 40, 120, 121) if ends[0] <= x <= ends[1])]

    given = {name: cells(types[name]) for name in columns if name != "word"}
    held = [
        {name: None if i < 3 else some[(i * (j + 1)) % len(some)] for j, (name, some) in enumerate(given.items())}
        | {"word": ("a", "b", "c", None)[i % 4]}
        for i in range(60)
    ]
    for test in ("", " WHERE wide <> 1"):
        totals = ", ".join(f"sum({name}) AS s{j}" for j, name in enumerate(given))
        for sql in (f"SELECT {totals} FROM data{test}", f"SELECT word, count(*) AS n, {totals} FROM data{test} GROUP BY word"):
            plan = planned(sql, columns, rows(), PURE)
            parquet.write_table(table(plan, held, types), tmp_path / "whole.parquet")
            agree(plan, count(plan, str(tmp_path / "whole.parquet")), held)
