"""Answers as rows and frames: the same values everywhere, with types that do not depend on luck."""

from __future__ import annotations

import builtins
import datetime
from dataclasses import replace
from fractions import Fraction

import pandas
import polars
import pyarrow
import pytest

from discreet.curator.answer import Answer, Column
from discreet.errors import ParameterError

DAY = datetime.date(2026, 1, 31)


def table(**rest: object) -> Answer:
    keys = {"ward": ("eye", None), "day": (DAY, None), "old": (True, None), "year": (2025, None), "share": (Fraction(1, 4), None)}
    outputs = {
        "n": Column((41, -3), (2.5, 2.5), (36.0, -8.0), (46.0, 2.0)),
        "debt": Column((1.5, 2), (0.5, float("inf")), (0.5, float("-inf")), (2.5, float("inf"))),
        "hair": Column(("dark", None)),
    }
    return Answer("SELECT ...", keys, outputs, (), "epsilon=1", "", **rest)  # type: ignore[arg-type]


NAMES = ["ward", "day", "old", "year", "share", "n", "n_lower", "n_upper", "n_error"]
NAMES += ["debt", "debt_lower", "debt_upper", "debt_error", "hair"]


def test_rows() -> None:
    first, second = table().rows()
    assert list(first) == NAMES
    assert (first["ward"], first["day"], first["n"], first["n_upper"], first["hair"]) == ("eye", DAY, 41, 46.0, "dark")
    assert (second["ward"], second["debt_upper"], second["hair"]) == (None, float("inf"), None)
    assert "hair_lower" not in first


def test_arrow() -> None:
    arrow = table().to_arrow()
    kinds = [str(kind) for kind in arrow.schema.types]
    assert arrow.column_names == NAMES
    assert kinds[:6] == ["string", "date32[day]", "bool", "int64", "double", "int64"]
    assert kinds[9] == "double"  # a whole number among others
    assert arrow.to_pylist() == table().rows()


def test_polars() -> None:
    frame = table().to_polars()
    assert frame.columns == NAMES
    assert frame.dtypes[:6] == [polars.String, polars.Date, polars.Boolean, polars.Int64, polars.Float64, polars.Int64]
    assert frame.to_dicts() == table().rows()


def test_a_cross_table() -> None:
    keys = {"sex": ("f", "f", "m", "m"), "ward": ("eye", None, "eye", None)}
    answer = replace(table(), keys=keys, outputs={"n": Column((1, 2, 3, 4)), "k": Column((5, 6, 7, 8))}, kinds={})
    assert answer.pivot().to_numpy().tolist() == [[1, 2], [3, 4]]
    assert answer.pivot().columns[0] == "eye"
    assert answer.pivot("k").to_dict()["eye"] == {"f": 5, "m": 7}
    assert list(replace(answer, margins=True).pivot().columns) == ["eye", "all"]
    three = replace(answer, keys={**keys, "day": (1, 1, 1, 2)})
    assert three.pivot().loc["m"].isna().tolist() == [False, True, False]
    with pytest.raises(ParameterError, match="no output 'x'; there are n, k"):
        answer.pivot("x")
    with pytest.raises(ParameterError, match="two keys"):
        replace(answer, keys={"sex": keys["sex"]}).pivot()


def test_pandas() -> None:
    frame = table().to_pandas()
    assert list(frame.columns) == NAMES
    assert [str(frame[name].dtype) for name in ("day", "old", "year", "share", "n", "debt")] == [
        "datetime64[s]",
        "boolean",
        "Int64",
        "float64",
        "int64",
        "float64",
    ]
    assert frame["day"][0] == pandas.Timestamp(DAY)
    assert frame["ward"].isna().tolist() == [False, True]
    assert frame["n"].tolist() == [41, -3]


def test_an_answer_without_rows_keeps_the_types_it_knows() -> None:
    kinds = {"day": "date", "n": "number", "ward": "text"}
    empty = Answer("", {"ward": (), "day": ()}, {"n": Column((), (), (), ())}, (), "", "", kinds=kinds)  # type: ignore[arg-type]
    assert [str(kind) for kind in empty.to_arrow().schema.types] == ["string", "date32[day]"] + ["double"] * 4
    assert empty.to_polars().dtypes[:2] == [polars.String, polars.Date]
    assert str(empty.to_pandas()["day"].dtype) == "datetime64[s]"
    assert len(empty.to_pandas()) == 0


def test_names_that_collide_lose_nothing() -> None:
    outputs = {"n": Column((1,), (0.5,), (0.0,), (2.0,)), "n_lower": Column((5,)), "ward": Column((7,))}
    answer = Answer("", {"ward": ("eye",)}, outputs, (), "", "")
    assert answer.rows() == [{"ward": "eye", "n": 1, "n_lower_": 0.0, "n_upper": 2.0, "n_error": 0.5, "n_lower": 5, "ward_": 7}]
    assert answer.to_arrow().to_pylist() == answer.rows()
    assert len(answer.to_pandas().columns) == 7


def test_numbers_beyond_64_bits_and_broken_texts_are_handed_on_as_well_as_can_be() -> None:
    answer = Answer("", {"key": ("a\ud800",)}, {"n": Column((2**70,))}, (), "", "")
    for frame in (answer.to_arrow().to_pylist(), answer.to_polars().to_dicts(), answer.to_pandas().to_dict("records")):
        assert frame == [{"key": "a?", "n": 2.0**70}]


@pytest.mark.parametrize(("verb", "package"), [("to_pandas", "pandas"), ("to_polars", "polars"), ("to_arrow", "pyarrow")])
def test_a_missing_package_is_named(verb: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = builtins.__import__

    def without(name: str, *rest: object) -> object:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return usual(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ParameterError, match=f"pip install {package}"):
        getattr(table(), verb)()


def test_arrow_is_what_it_says() -> None:
    assert isinstance(table().to_arrow(), pyarrow.Table)
