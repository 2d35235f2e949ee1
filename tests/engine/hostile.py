"""A table of hostile cells, and who is protected in it."""

from __future__ import annotations

import datetime
import math
import random
from typing import Any

import pyarrow as pa
from engine.driving import Rows

from discreet.schema.columns import Column, boolean, category, date, integer, number, text
from discreet.schema.units import Unit, person, rows

__all__ = ["CELLS", "COLUMNS", "TYPES", "UNITS", "hostile"]

COLUMNS: dict[str, Column] = {
    "age": integer(0, 120),
    "debt": number(-100, 10_000, step=0.01),
    "share": number(0, 1, missing=0.5),
    "big": integer(-(2**63) + 1, 2**63 - 1),
    "drug": category("yes", "no", "it's"),
    "code": category(1, 2, 30, missing=2),
    "smokes": boolean(),
    "day": date("2019-06-01", "2021-02-28"),
    "city": text(),
    "price": number(0, 2000, step=0.5, decimal=","),
    "grouped": integer(-5000, 5000, missing=7),
    "ordered": date("2019-06-01", "2021-02-28", format="%d.%m.%Y"),
}
CELLS: dict[str, list[Any]] = {
    "age": [0, 5, 17, 18, 64, 120, 121, -3, 2**63 - 1, None],
    "debt": [0.0, -0.0, 1.005, 0.015, 9_999.99, 1e308, -1e308, math.inf, -math.inf, math.nan, None, 5e-324],
    "share": [0.0, 0.25, 1.0, 2.0, math.nan, None, 1 / 3],
    "big": [2**63 - 1, -(2**63), 0, 1, -1, 2**53 + 1, None],
    "drug": ["yes", "no", "it's", "dunno", "", "YES", None, "yes\0"],
    "code": [1, 2, 30, 3, -1, 2**62, None],
    "smokes": [True, False, None],
    "day": [datetime.date(2019, 1, 1), datetime.date(2019, 12, 31), datetime.date(2020, 2, 29), datetime.date(2031, 1, 1), None],
    "city": ["a", "b", "", "Köln", "a/1:b", None],
    "price": ["12,50", "1.100,5", "1.125", "12.5", "1,100.50", "1'000", "-,5", "inf", "NaN", "9" * 400, "x", "", None],
    "grouped": ["1,100", "-4 000", "1,10", "0,100", "1,100.5", "9,007,199,254,740,993", "true", "", None],
    "ordered": ["31.12.2019", "29.2.2020", "29.02.2021", "01.01.0000", "01.01.20", "2020-01-01", "infinity", " 1.3.2020\t", None],
    "id": ["p", "q", "r", "r ", "s/0", "", None, "x" * 300, "1", "1.0"],
}
TYPES = {
    "age": pa.int64(),
    "debt": pa.float64(),
    "share": pa.float64(),
    "big": pa.int64(),
    "drug": pa.string(),
    "code": pa.int64(),
    "smokes": pa.bool_(),
    "day": pa.date32(),
    "city": pa.string(),
    "price": pa.string(),
    "grouped": pa.string(),
    "ordered": pa.string(),
    "id": pa.string(),
}
UNITS: dict[str, Unit] = {
    "rows": rows(),
    "person": person("id", rows=2, groups=2),
    "one": person("id", rows=1, groups=1),
    "replace": person("id", rows=3, groups=1, neighbours="replace"),
}


def hostile(size: int, seed: int) -> Rows:
    """Rows of hostile cells, the same for the same seed; ids are few, so that persons have many rows."""
    draw = random.Random(seed)
    return [{name: draw.choice(cells) for name, cells in CELLS.items()} for _ in range(size)]
