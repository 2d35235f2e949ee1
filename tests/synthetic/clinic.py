"""A made-up clinic with a column of every kind, in which some columns have to do with one another."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp

COLUMNS: dict[str, Any] = {
    "age": dp.integer(0, 99),
    "sex": dp.category("f", "m"),
    "smokes": dp.boolean(),
    "debt": dp.number(0, 20_000, step=0.01),
    "day": dp.date("2020-01-01", "2020-12-31"),
    "visits": dp.integer(0, 12),
    "city": dp.text(),
}


def table(rows: int = 4000, seed: int = 3) -> pa.Table:
    draw = np.random.default_rng(seed)
    sex = draw.choice(["f", "m"], rows)
    age = draw.integers(18, 90, rows)
    smokes = draw.random(rows) < np.where(sex == "m", 0.6, 0.1)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(int(x)) for x in draw.integers(0, 366, rows)]
    return pa.table(
        {
            "who": draw.integers(0, max(1, rows // 4), rows),
            "age": age,
            "sex": sex,
            "smokes": pa.array([None if lost else bool(one) for one, lost in zip(smokes, draw.random(rows) < 0.1, strict=True)]),
            "debt": np.round(draw.gamma(2.0, 900.0, rows), 2),
            "day": days,
            "visits": np.minimum(draw.geometric(0.4, rows) - 1, 12),
            "city": draw.choice(["Oslo", "Bergen"], rows),
        }
    )


def clinic(folder: Path, source: Any = None, *, unit: Any = None, budget: Any = None, columns: Any = None) -> dp.Curator:
    return dp.Curator(
        table() if source is None else source,
        unit=unit or dp.rows(),
        columns=columns or COLUMNS,
        budget=budget or dp.Budget(rho=10**7),
        ledger=folder / "clinic.ledger",
    )
