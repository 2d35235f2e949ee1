"""Days as features: counted from the first that is declared, the same from arrays and from a curator's table."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from learn.watching import far, watch

import discreet as dp
from discreet.errors import ParameterError
from discreet.learn import GaussianNB, LinearRegression
from discreet.learn.features import feature_of
from discreet.mechanisms.rows.block import MISSING

FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2022, 12, 31)
COLUMN = dp.date("2020-01-01", "2022-12-31")
DAYS = [FIRST, datetime.date(2020, 3, 1), LAST, datetime.date(1999, 1, 1), datetime.date(2050, 1, 1)]
UNITS = [0, 60, 1095, 0, 1095]


@pytest.mark.parametrize(
    "cells",
    [
        DAYS,
        [day.isoformat() for day in DAYS],
        [datetime.datetime(day.year, day.month, day.day, 23, 59) for day in DAYS],
        np.array(DAYS, dtype="datetime64[D]"),
        np.array(DAYS, dtype="datetime64[ns]"),
        pd.to_datetime(pd.Series(DAYS)),
        pl.Series(DAYS),
    ],
    ids=["dates", "texts", "moments", "numpy", "nanoseconds", "pandas", "polars"],
)
def test_days_are_counted_however_they_are_given(cells: Any) -> None:
    assert feature_of("d", COLUMN).code(np.asarray(cells)).tolist() == UNITS


@pytest.mark.parametrize("cell", ["", "2020-02-30", "yesterday", None, float("nan"), 7, np.datetime64("NaT"), pd.NaT, [1]])
def test_what_is_no_day_is_missing(cell: Any) -> None:
    cells = np.empty(1, dtype=object)
    cells[0] = cell
    assert feature_of("d", COLUMN).code(cells).tolist() == [MISSING]
    assert feature_of("d", dp.date("2020-01-01", "2022-12-31", missing="2020-01-03")).code(cells).tolist() == [2]


def test_a_curator_counts_the_same_days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"d": pd.to_datetime(pd.Series(DAYS)), "y": [True, False, True, False, True]})
    clinic = dp.Curator(
        frame,
        unit=dp.rows(size=5),
        columns={"d": COLUMN, "y": dp.boolean()},
        budget=dp.Budget(epsilon=2, delta=1e-6),
        ledger=tmp_path / "x.ledger",
        people="made up",
    )
    here = GaussianNB(epsilon=1, delta=1e-6, bounds={"d": COLUMN}, classes=[False, True], unit=dp.rows(size=5))
    one = watch(monkeypatch, lambda: here.fit(frame[["d"]], frame.y))
    other = watch(monkeypatch, lambda: clinic.fit(GaussianNB(), features=["d"], target="y", epsilon=1))
    assert [a.tolist() for a in one.sums] == [b.tolist() for b in other.sums]
    assert far(one, one) == [0.0]


def test_a_day_is_no_number_to_predict() -> None:
    with pytest.raises(ParameterError, match="target="):
        LinearRegression(epsilon=1, bounds=(0, 1), target=COLUMN).fit([[0.5]], [FIRST])
