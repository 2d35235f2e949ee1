"""One odd cell among others: whatever pandas makes of the column that holds it, the others mean what they meant."""

from __future__ import annotations

import datetime
import enum
import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine.test_cleaning import cleaned
from support.depth import turns

from discreet.engine.sources.frames import arrow_of
from discreet.schema.columns import boolean, date, number, text


class Number(int, enum.Enum):
    ONE = 1


class Real(float):
    def __repr__(self) -> str:
        return "real"


WEST = datetime.timezone(datetime.timedelta(hours=-5))
REGULAR: dict[str, object] = {
    "int": 5,
    "float": 5.5,
    "float32": np.float32(0.1),
    "long double": np.longdouble("1.5"),
    "int8": np.int8(5),
    "enum": Number.ONE,
    "subclass": Real(1.5),
    "bool": True,
    "numpy bool": np.True_,
    "text": "1,5",
    "bytes": b"5",
    "datetime": datetime.datetime(2020, 1, 1, 10),
    "zoned": datetime.datetime(2020, 1, 1, 23, tzinfo=WEST),
    "Timestamp": pd.Timestamp("2020-01-01 10:00"),
    "zoned Timestamp": pd.Timestamp("2020-01-01 23:00", tz="America/New_York"),
    "datetime64[ns]": np.datetime64("2020-01-01T10:00:00.123456789", "ns"),
    "datetime64[D]": np.datetime64("2020-01-01", "D"),
    "datetime64[s]": np.datetime64("20000-01-01T10:00:00", "s"),
    "BC": np.datetime64("-0043-03-15T10:00:00", "us"),
    "date": datetime.date(2020, 1, 1),
    "timedelta64": np.timedelta64(5, "s"),
    "Timedelta": pd.Timedelta(hours=2),
    "time": datetime.time(3),
    "Period": pd.Period("2020-01-01", "D"),
    "Decimal": Decimal("5.50"),
    "complex": 5 + 0j,
    "uuid-like": "6fa459ea-ee8a-3ca4-894e-db77e160355e",
}
ODD: dict[str, object] = {
    **{name: REGULAR[name] for name in ("int", "float", "bool", "text", "bytes", "Timestamp", "zoned", "date", "Timedelta")},
    **{name: REGULAR[name] for name in ("Period", "Decimal", "enum", "subclass", "datetime64[ns]", "timedelta64", "long double")},
    "none": None,
    "NaN": math.nan,
    "NaT": pd.NaT,
    "list": [1],
    "object": object(),
    "huge": 2**70,
    "i": 1j,
}
COLUMNS = {
    "text": text(),
    "number": number(-100, 100, step=0.25, decimal=","),
    "date": date("0001-01-01", "9999-12-31"),
    "boolean": boolean(),
}


def literal(cells: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame(cells)


def from_dicts(cells: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame([dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)])


def joined(cells: dict[str, list[object]]) -> pd.DataFrame:
    parts = [pd.DataFrame({name: held[:-1] for name, held in cells.items()})]
    return pd.concat([*parts, pd.DataFrame({name: held[-1:] for name, held in cells.items()})], ignore_index=True)


def categories(cells: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(held).astype("category") for name, held in cells.items()})


def converted(cells: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame(cells).convert_dtypes()


def objects(cells: dict[str, list[object]]) -> pd.DataFrame:
    return pd.DataFrame({name: pd.Series(held, dtype=object) for name, held in cells.items()})


@pytest.mark.parametrize("build", [literal, from_dicts, joined, categories, converted], ids=lambda build: build.__name__)
def test_one_odd_row_changes_no_other(build: Callable[[dict[str, list[object]]], pd.DataFrame]) -> None:
    """All pairs of what a column holds and one cell that is something else, also as ids; usually a third of them."""
    built = tried = 0
    for turn, (held, one) in enumerate(REGULAR.items()):
        expected = read(objects({"x": [one, one, one]}))
        for odd, cell in turns({"the same": one, **ODD}, turn, always=("the same",)).items():
            tried += 1
            try:
                frame = build({"x": [one, one, cell]})
            except Exception:  # pandas has no such frame
                continue
            if isinstance(one, bool | np.bool_) and frame["x"].dtype.kind in "iu":
                continue  # pandas has made ones of truth values before anybody could see them
            assert read(frame) == expected, (held, odd)
            built += 1
    assert built > 0.9 * tried


_READ: dict[tuple[object, ...], list[tuple[object, ...]]] = {}


def read(frame: pd.DataFrame) -> list[tuple[object, ...]]:
    """What the first two rows mean under every declaration, and as ids; columns that arrive alike are cleaned once."""
    arrived = arrow_of(frame, ("x",)).column(0)[:2]
    key = (str(arrived.type), str(arrived.cast(pa.int64()) if pa.types.is_timestamp(arrived.type) else arrived.to_pylist()))
    if key not in _READ:
        found = cleaned(frame, "x", COLUMNS)  # type: ignore[arg-type]
        _READ[key] = [tuple(values[i] for values in found.values()) for i in range(2)]
    return _READ[key]


def test_arrow_means_what_objects_mean() -> None:
    """A typed Arrow array of Python values is read as an object column of them is."""
    for held in ("int", "float", "bool", "text", "bytes", "datetime", "zoned", "date", "Decimal", "time", "Timedelta"):
        typed = pa.array([REGULAR[held]] * 2)
        if held == "zoned":
            typed = typed.cast(pa.timestamp("us", "America/New_York"))
        made = cleaned(pa.table({"x": typed}), "x", COLUMNS)
        assert [tuple(values[i] for values in made.values()) for i in range(2)] == read(objects({"x": [REGULAR[held]] * 2}))
