"""Rows for learners: cleaned and coded alike on all engines, and of a person no more than count."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from engine import hostile
from engine.driving import read_rows
from engine.on_postgres import engine_on_postgres, without_nuls

from discreet.errors import ParameterError
from discreet.mechanisms.rows.block import MISSING
from discreet.mechanisms.secret import open_secret
from discreet.plan.expressions import Column as Name
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.measures import measure_value
from discreet.plan.plan import Reading, plan_rows
from discreet.plan.query import Query
from discreet.plan.sql import parse_expression
from discreet.plan.statistics import list_axis
from discreet.schema.columns import boolean, category, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import Unit, person, rows

COLUMNS = {
    "age": integer(0, 120),
    "debt": number(-10, 10, step=0.01),
    "drug": category("a", "b", "it's"),
    "ill": boolean(),
    "note": text(length=5),
}
TABLE = pa.table(
    {
        "pid": pa.array([1, 1, 1, 1, 2, 2, None, 3]),
        "age": pa.array([5, 50, 130, None, -3, 7, 7, 7]),
        "debt": pa.array([0.004, -99.0, float("nan"), 2.675, None, 1.0, 1.0, float("inf")]),
        "drug": pa.array(["a", "it's", "z", None, "b", "b", "a", ""]),
        "ill": pa.array([True, False, None, True, True, False, True, False]),
        "note": pa.array(["long words", "", None, "é日本語本日", "x", "y", "z", "a\nb"]),
    }
)


def asked(unit: Unit, where: str | None = None, names: tuple[str, ...] = (*COLUMNS,)) -> Reading:
    schema = Schema(COLUMNS, unit)
    what: dict[str, Any] = {}
    for name in names:
        facts = facts_of_column(COLUMNS[name])
        numbers = COLUMNS[name].kind == "number" and name != "drug"
        what[name] = measure_value(Name(name), facts) if numbers else list_axis(Name(name), facts) or Name(name)
    return plan_rows(Query((), None if where is None else parse_expression(where, schema)), schema, what)


def test_cells_are_cleaned_and_coded() -> None:
    found = [line for (line,) in read_rows(asked(rows()), TABLE)]
    assert len(found) == 8
    assert (5, 0, 0, 1, "long ") in found
    assert (50, -1000, 2, 0, "") in found
    assert (120, MISSING, MISSING, MISSING, None) in found
    assert (MISSING, 268, MISSING, 1, "é日本語本") in found
    assert (0, MISSING, 1, 1, "x") in found
    assert (7, 1000, MISSING, 0, "a\nb") in found


def test_rows_are_those_of_the_question() -> None:
    assert [line for (line,) in read_rows(asked(rows(), "age >= 50 AND ill = false", ("age",)), TABLE)] == [(50,)]


@pytest.mark.parametrize("most", [1, 2, 3, 8])
def test_a_person_has_no_more_rows_than_count_and_stands_together(most: int) -> None:
    """Rows without an id belong to nobody."""
    found = read_rows(asked(person("pid", rows=most, groups=1), names=("age", "note")), TABLE)
    assert sorted(map(len, found)) == sorted([min(most, 4), min(most, 2), 1])


def test_which_rows_count_depends_on_the_person_and_the_salt_only() -> None:
    """Another person's rows come or go, in any order: nothing else changes; and another salt chooses others."""
    random_rows = random.Random(3)
    lines = [{"pid": i % 7, "age": random_rows.randrange(100), "note": str(i)} for i in range(70)]
    lines += [dict(lines[0]), dict(lines[0])]  # rows that are alike

    def choose(some: list[dict[str, Any]], salt: str = "salt") -> list[list[tuple[Any, ...]]]:
        table = pa.table({name: [one.get(name) for one in some] for name in ("pid", "age", "note")})
        full = table.append_column("debt", pa.nulls(len(some), pa.float64())).append_column(
            "drug", pa.nulls(len(some), pa.string())
        )
        full = full.append_column("ill", pa.nulls(len(some), pa.bool_()))
        return read_rows(asked(person("pid", rows=3, groups=2), names=("age", "note")), full, salt)

    every = choose(lines)
    assert [len(one) for one in every] == [3] * 7
    mixed = random_rows.sample(lines, len(lines))
    assert choose(mixed) == every
    fewer = choose([one for one in mixed if one["pid"] != 4])
    assert len(fewer) == 6
    assert all(one in every for one in fewer)
    assert choose(lines, "another") != every


HOSTILE = pa.table(
    {
        **{name: pa.array([one[name] for one in hostile.hostile(60, 5)], kind) for name, kind in hostile.TYPES.items()},
        "pid": pa.array([i % 9 for i in range(60)]),
    }
)


def hostile_reading(unit: Unit) -> Reading:
    """All columns of hostile cells that a learner can read."""
    schema = Schema({name: column for name, column in hostile.COLUMNS.items() if name not in ("big", "day", "ordered")}, unit)
    what: dict[str, Any] = {}
    for name, column in schema.columns.items():
        facts = facts_of_column(column)
        measured = name in ("age", "debt", "share", "price", "grouped")
        what[name] = measure_value(Name(name), facts) if measured else list_axis(Name(name), facts) or Name(name)
    return plan_rows(Query(()), schema, what)


@pytest.mark.parametrize("unit", [rows(), person("id", rows=2, groups=1)], ids=str)
def test_hostile_cells_are_the_same_whole_numbers_on_all_engines(unit: Unit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Infinite, odd and broken ones; on a server five rows at a time, so that persons stand in several batches."""
    monkeypatch.setattr("discreet.engine.postgres.session._BATCH", 5)
    found = read_rows(hostile_reading(unit), HOSTILE)
    assert len(found) > 5
    assert all(type(cell) is int for one in found for line in one for cell in line[:6] + line[7:])


def test_rows_of_a_server_are_not_all_here_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever leaves early has read one page, and the server lets go of the rest."""
    monkeypatch.setattr("discreet.engine.postgres.session._BATCH", 5)
    asked_for = hostile_reading(rows())
    engine = engine_on_postgres({"": without_nuls(HOSTILE)}, asked_for.plan.schema, {}, "pages")
    assert engine is not None
    with engine.reading():
        batches = engine.rows(asked_for, "salt")
        assert open_secret(next(batches)).height == 5
        batches.close()  # type: ignore[attr-defined]
        assert sum(open_secret(one).height for one in engine.rows(asked_for, "salt")) == 60


def test_no_rows_are_no_units() -> None:
    for unit in (rows(), person("pid", rows=2, groups=1)):
        assert read_rows(asked(unit), TABLE.slice(0, 0)) == []


def test_what_cannot_be_read_is_refused_by_public_facts() -> None:
    wide = Schema({"x": integer(-(2**62), 2**62)}, rows())
    with pytest.raises(ParameterError, match="coarser step"):
        plan_rows(Query(()), wide, {"x": measure_value(Name("x"), facts_of_column(wide.columns["x"]))})
