"""Cells of columns: every value is in one, engines number them as we do, and decoding gives a value of the same cell."""

from __future__ import annotations

import datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.mechanisms.base import recorded
from discreet.synthetic.domain import Coding, code, facts_of_column

CASES: dict[str, tuple[Any, Any, int]] = {
    "integers": (dp.integer(-3, 3), None, 8),
    "integers in runs": (dp.integer(0, 99, missing=0), 7, 7),
    "integers from edges": (dp.integer(0, 99), [0, 18, 65], 4),
    "edges that leave the first out": (dp.integer(0, 99), [18], 3),
    "numbers": (dp.number(0, 2, step=0.25), None, 10),
    "fine numbers": (dp.number(-1, 1_000_000, step=0.01, missing=0), None, 512),
    "words": (dp.category("a", "b"), None, 3),
    "whole numbers that are listed": (dp.category(7, 3, missing=3), None, 2),
    "truth": (dp.boolean(), None, 3),
    "days": (dp.date("2020-01-01", "2020-01-31"), None, 32),
    "days in runs": (dp.date("2020-01-01", "2026-12-31"), 84, 84),
}


@pytest.mark.parametrize("name", CASES)
def test_every_value_is_decoded_into_its_own_cell(name: str) -> None:
    column, bins, cells = CASES[name]
    coding = code("x", facts_of_column(column), bins)
    assert coding.count == cells
    assert len({coding.label(cell) for cell in range(cells)}) == cells
    assert Coding.read(coding.facts) == coding
    for cell in range(coding.count):
        for within in {0, int(coding.widths[cell]) - 1}:
            (value,) = coding.decode(np.array([cell]), np.array([within])).to_pylist()
            assert coding.find(value).tolist() == [one == cell for one in range(cells)]
    if coding.ordered:
        assert int(coding.widths[: coding.present].sum()) == coding.end - coding.starts[0]


def counted(column: Any, values: list[Any], folder: Path, **more: Any) -> tuple[Coding, list[int]]:
    """How an engine numbers values: a column's own counts before noise."""
    source = pa.table({"x": pa.array(values), "y": ["a"] * len(values)})
    curator = clinic(folder, source, columns={"x": column, "y": dp.category("a", missing="a")})
    with recorded() as record:
        model = curator.synthesize(rho=1, seconds=0.1, **more)
    (own, *_) = (release.value for release in record)
    return model.domain.columns[0], [int(n) for n in np.ravel(own)]


@pytest.mark.parametrize(
    ("column", "values", "more"),
    [
        (dp.integer(-3, 3), [-9, -3, 0, 3, 5, None], {}),
        (dp.integer(0, 99), [0, 13, 14, 15, 98, 99, None], {"bins": {"x": 7}}),
        (dp.integer(0, 99), [0, 17, 18, 64, 65, 99, None], {"bins": {"x": [0, 18, 65]}}),
        (dp.number(0, 2, step=0.25), [0.0, 0.1, 0.13, 1.0, 1.9, 2.0, None], {}),
        (dp.number(0, 1_000_000, step=0.01), [0.0, 19.53, 19.54, 999_999.99, None], {}),
        (dp.category("a", "b"), ["a", "b", "c", None], {}),
        (dp.category(7, 3), [3, 7, 8, None], {}),
        (dp.boolean(), [True, False, None], {}),
        (dp.date("2020-01-01", "2020-01-31"), [datetime.date(2019, 1, 1), datetime.date(2020, 1, 31), None], {}),
        (
            dp.date("2020-01-01", "2026-12-31"),
            [datetime.date(2020, 1, 31), datetime.date(2026, 12, 31), None],
            {"bins": {"x": 84}},
        ),
        (dp.text(), ["Oslo", "Bergen", "Ulm", None], {"keys": {"x": ["Oslo", "Ulm"]}}),
    ],
)
def test_an_engine_numbers_cells_as_we_do(column: Any, values: list[Any], more: dict[str, Any], tmp_path: Path) -> None:
    coding, found = counted(column, values, tmp_path, **more)
    wanted = np.zeros(coding.count, dtype=int)
    for value in values:
        wanted += coding.find(_cleaned(column, coding, value))
    assert found == wanted.tolist()


def _cleaned(column: Any, coding: Coding, value: Any) -> Any:
    """What a declaration makes of a cell: clamped, on the grid, or missing."""
    if value is None or (coding.values is not None and value not in coding.values):
        return None
    if coding.values is not None:
        return value
    value = min(max(value, column.lower), column.upper)
    if isinstance(value, datetime.date):
        return value
    steps = Fraction(value).limit_denominator(10**6) / column.step
    return (steps + Fraction(1, 2)).__floor__() * column.step


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"columns": ["age", "agee"]}, "agee is no declared column; there are age, sex"),
        ({"columns": []}, "one column or more, each named once"),
        ({"columns": ["age", "AGE"]}, "one column or more, each named once"),
        ({"columns": ["city"]}, "city has no declared values"),
        ({"bins": {"agee": 3}}, "bins= names agee"),
        ({"bins": 3}, "bins= says of which column"),
        ({"bins": {"sex": 3}}, "sex has a list of values"),
        ({"bins": {"age": 0}}, "bins of age must be a whole number of at least 1"),
        ({"bins": {"age": [50, 20]}}, "begin in increasing order"),
        ({"bins": {"age": [0, 500]}}, "within its bounds"),
        ({"bins": {"age": "many"}}, "a number of them, or where each begins"),
        ({"bins": {"debt": 10**6}}, "debt has more than 4,096 cells"),
        ({"targets": ["height"]}, "height is no column of this model"),
        ({"workload": [["age", "age"]]}, "each named once"),
        ({"facts": ["age + 1"]}, "no condition"),
        ({"facts": ["age < 0 AND age IS NOT NULL"]}, "No row can satisfy"),
        (
            {"facts": ["visits < age AND age IS NOT NULL", "age < 5 AND visits > 7", "visits IS NOT NULL"]},
            "No row can satisfy all these facts at once",
        ),
        ({"facts": ["visits < age", "sex = 'f' OR age > 3", "sex = 'f' OR visits < 3"], "seconds": 0.001}, "seconds=60"),
        ({"facts": ["debt > age"]}, "a cell of debt has several"),
        ({"seconds": 0}, "seconds must be above 0"),
        ({"watch": None, "wokload": []}, "knows no wokload"),
    ],
)
def test_what_public_facts_forbid_is_refused_before_payment(more: dict[str, Any], said: str, tmp_path: Path) -> None:
    curator = clinic(tmp_path, table(100))
    with pytest.raises(dp.errors.ParameterError, match=said):
        curator.synthesize(rho=1, **more)
    assert curator.budget.spent.rho == 0
    assert len(curator.history()) == 0
