"""Conditions on cells as they are, and keys that are made once a group: the same rows as with every cell cleaned first."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from engine.driving import agree, count, count_in_turn, planned, table
from engine.reference import reference_clean
from support.depth import deep

from discreet.engine.duckdb.dialect import DIALECT
from discreet.engine.sql.conditions import as_it_is, compared_column
from discreet.plan.expressions import Call, Literal
from discreet.plan.expressions import Column as Named
from discreet.schema.columns import Column, boolean, category, date, integer
from discreet.schema.units import person, rows

DAYS = [datetime.date(2024, 1, 1) + datetime.timedelta(days) for days in range(-2, 8)]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda x, c: x < c,
    "<=": lambda x, c: x <= c,
    ">": lambda x, c: x > c,
    ">=": lambda x, c: x >= c,
    "=": lambda x, c: x == c,
    "<>": lambda x, c: x != c,
}
CASES: dict[str, tuple[Column, pa.DataType, list[Any], list[str]]] = {
    "integers": (integer(2, 5), pa.int64(), [*range(-1, 9), 2**53 + 1, -(2**63), None], [*"0123456", "2.5", "4.5", "5.5"]),
    "small integers": (integer(2, 5), pa.uint8(), [*range(9), 255, None], [*"0123456", "1.5"]),
    "two integers": (integer(3, 4), pa.int32(), [*range(1, 6), None], [*"12345"]),
    "missing is a number": (integer(2, 5, missing=3), pa.int64(), [*range(9), None], [*"123456"]),
    "wide integers": (integer(-(2**60), 2**60), pa.int64(), [2**53, 2**53 + 1, -(2**62), 0, None], [*"01"]),
    "integers in doubles": (integer(2, 5), pa.float64(), [1.0, 2.0, 2.5, 3.0, float("nan"), 1e300, None], [*"1235"]),
    "dates": (date(DAYS[2], DAYS[7]), pa.date32(), [*DAYS, None], [f"DATE '{day}'" for day in DAYS]),
    "missing is a date": (date(DAYS[2], DAYS[7], missing=DAYS[4]), pa.date32(), [*DAYS, None], [f"DATE '{d}'" for d in DAYS]),
}


def value(text: str) -> object:
    return datetime.date.fromisoformat(text[6:-1]) if text.startswith("DATE") else Fraction(text)


@pytest.mark.parametrize("case", CASES)
def test_comparisons_are_those_of_cleaned_cells(case: str) -> None:
    column, kind, cells, constants = CASES[case]
    clean = [reference_clean(column, cell) for cell in cells]
    source = pa.table({"x": pa.array(cells, kind)})
    asked, expected = [], []
    for sign, holds in SIGNS.items():
        for constant in constants:
            condition = f"x {sign} {constant}"
            expected.append(sum(one is not None and holds(one, value(constant)) for one in clean))
            by = count if len(asked) % deep(1, 3) == 0 else count_in_turn  # all engines, or usually every third time
            asked.append(by(planned(f"SELECT count(*) AS n FROM data WHERE {condition}", {"x": column}, rows()), source))
    assert [next(iter(found.values())) for found in asked] == [[number] for number in expected]


def test_some_are_compared_as_they_are() -> None:
    def form(sign: str, constant: Any, column: Column | None = None, kind: str = "BIGINT") -> str:
        return as_it_is(Call(sign, (Named("x"), Literal(constant))), column or integer(2, 5), kind, DIALECT)

    assert [form("<", c) for c in (2, 3, 5, 6)] == ["", "cell", "cell", ""]
    assert [form("<=", c) for c in (1, 2, 4, 5)] == ["", "cell", "cell", ""]
    assert form("=", Fraction(5, 2)) == "cell"
    assert (
        form("=", 5)
        == form("=", True)
        == form("=", "3")
        == form("<", 3, kind="DOUBLE")
        == form("<", 3, integer(2, 5, missing=2))
        == ""
    )
    words = category("yes", "no", missing="no")
    assert form("=", "yes", words, "VARCHAR") == "word"
    assert form("=", "no", words, "VARCHAR") == form("=", "maybe", words, "VARCHAR") == form("<>", "yes", words, "VARCHAR") == ""
    assert compared_column(Call("<", (Named("x"), Named("y")))) is None


@pytest.mark.parametrize("missing", [None, "no"])
def test_words_are_those_of_cleaned_cells(missing: str | None) -> None:
    column, cells = category("yes", "no", missing=missing), ["yes", "no", "maybe", "YES", "yes" * 99, "", None]
    source, counts = pa.table({"x": cells}), Counter(reference_clean(column, cell) for cell in cells)
    for condition, words in (
        ("x = 'yes'", ["yes"]),
        ("x = 'no'", ["no"]),
        ("x IN ('no', 'yes')", ["yes", "no"]),
    ):
        found = count(planned(f"SELECT count(*) AS n FROM data WHERE {condition}", {"x": column}, rows()), source)
        assert next(iter(found.values())) == [sum(counts[word] for word in words)]


KEYS: dict[str, tuple[Column, pa.DataType, list[Any]]] = {
    "clamped": (integer(1, 3), pa.int32(), [-5, 0, 1, 2, 3, 4, 99, None]),
    "clamped, with a value for missing ones": (integer(1, 3, missing=2), pa.int64(), [-5, 1, 2, 3, 4, None]),
    "doubles": (integer(0, 3), pa.float64(), [-0.0, 0.0, 1.0, 1.5, 3.0, 7.0, float("nan"), float("inf"), None]),
    "listed": (category(1, 2, 5), pa.int16(), [0, 1, 2, 3, 5, 6, None]),
    "listed, with a value for missing ones": (category(1, 2, 5, missing=5), pa.int64(), [0, 1, 2, 3, 5, None]),
    "words": (category("a", "b", missing="b"), pa.string(), ["a", "b", "c", "a" * 99, None]),
    "words for numbers": (category("1", "2"), pa.int64(), [1, 2, 3, None]),
    "dates": (date(DAYS[2], DAYS[4]), pa.date32(), [*DAYS, None]),
    "truths": (boolean(missing=False), pa.bool_(), [True, False, None]),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("unit", [rows(), person("pid", rows=9, groups=9)], ids=["rows", "persons"])
@pytest.mark.parametrize("case", KEYS)
def test_keys_that_are_made_once_a_group(case: str, unit: Any) -> None:
    """Several cells become one key, and sums of both widths are added up exactly."""
    column, kind, cells = KEYS[case]
    given = [{"k": cell, "v": 3 * j - 7, "w": j * 2**40, "pid": j} for j, cell in enumerate(cells * 3)]
    columns = {"k": column, "v": integer(-5, 20), "w": integer(0, 2**50)}
    for asked in ("count(*) AS n, sum(v) AS s", "count(*) AS n, sum(w) AS s"):
        plan = planned(f"SELECT k, {asked} FROM data GROUP BY k", columns, unit)
        agree(plan, count(plan, table(plan, given, {"k": kind})), given)
