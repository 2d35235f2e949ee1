"""A made-up hospital, small enough to count by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp

COLUMNS = {
    "age": dp.integer(0, 120, missing=40),
    "drug_use": dp.category("yes", "no"),
    "debt": dp.number(0, 10_000, step=0.01),
    "ward": dp.category("eye", "heart", "bone"),
    "city": dp.text(),
    "admitted": dp.date("2020-01-01", "2026-12-31"),
}
REGIONS = pa.table({"ward": ["eye", "heart", "bone"], "floor": [1, 2, 2], "name": ["Eyes", "Hearts", "Bones"]})


def table(rows: int = 2000, persons: int = 500) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "patient": rng.integers(0, persons, rows),
            "age": rng.integers(0, 100, rows),
            "drug_use": rng.choice(["yes", "no"], rows, p=[0.2, 0.8]),
            "debt": rng.gamma(2.0, 900.0, rows),
            "ward": rng.choice(["eye", "heart", "bone"], rows, p=[0.5, 0.3, 0.2]),
            "city": rng.choice(["Oslo", "Bergen"], rows),
            "admitted": pa.array(rng.integers(18_500, 20_000, rows).astype("datetime64[D]")),
        }
    )


def curator(folder: Path, *, unit: object = None, budget: object = None, source: object = None, **more: object) -> dp.Curator:
    return dp.Curator(
        table() if source is None else source,
        unit=unit or dp.rows(),
        columns=COLUMNS,
        budget=budget or dp.Budget(epsilon=3),
        ledger=folder / "hospital.ledger",
        public={"wards": REGIONS},
        **more,
    )
