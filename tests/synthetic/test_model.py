"""What anyone may do with a model: draw rows, also under conditions, ask for marginals, read the report, save and load it."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from synthetic.clinic import COLUMNS, clinic, table

import discreet as dp

ASKED: dict[str, Any] = {"rho": 100, "seconds": 1, "facts": ["visits <= age"], "keys": {"city": ["Oslo"]}}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dp.Synthetic:
    """All columns, with hardly any noise. It is made before a test has a state folder of its own."""
    folder = tmp_path_factory.mktemp("clinic")
    with pytest.MonkeyPatch.context() as patched:
        for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
            patched.setenv(name, str(folder / "state"))
        found = clinic(folder).synthesize(**ASKED)
    assert isinstance(found, dp.Synthetic)
    return found


def test_rows_are_of_the_declared_types_and_within_the_declared_domain(model: dp.Synthetic) -> None:
    rows = model.sample(20_000)
    assert len(rows) == 20_000
    found = rows.to_arrow()
    assert found.column_names == ["age", "sex", "smokes", "debt", "day", "visits", "city"]
    kinds = [pa.int64(), pa.string(), pa.bool_(), pa.float64(), pa.date32(), pa.int64(), pa.string()]
    assert [field.type for field in found.schema] == kinds
    values = {name: {*found[name].to_pylist()} - {None} for name in found.column_names}
    assert min(values["age"]) >= 0
    assert max(values["age"]) <= 99
    assert values["sex"] <= {"f", "m"}
    assert values["city"] == {"Oslo"}
    assert all(0 <= debt <= 100_000 and abs(debt * 100 - round(debt * 100)) < 1e-6 for debt in values["debt"])
    assert datetime.date(2020, 1, 1) <= min(values["day"]) <= max(values["day"]) <= datetime.date(2020, 12, 31)
    assert found["smokes"].null_count == pytest.approx(2000, rel=0.25)  # missing values are values
    assert all(
        a is None or b is None or a <= b for a, b in zip(*(found[name].to_pylist() for name in ("visits", "age")), strict=True)
    )


def test_rows_are_like_the_table(model: dp.Synthetic) -> None:
    """With hardly any noise what columns have to do with one another is there, and means and medians survive."""
    source, drawn = table(), model.sample(40_000).to_arrow()
    for columns in (("sex", "smokes"), ("sex",), ("visits",)):
        truth, found = (Counter(zip(*(one[name].to_pylist() for name in columns), strict=True)) for one in (source, drawn))
        away = sum(abs(truth[key] / 4000 - found[key] / 40_000) for key in {*truth, *found}) / 2
        assert away < 0.02
    for name in ("age", "debt", "visits"):  # of debt 5 % are 90, and one row too many in its far tail makes no more than 4
        truth, found = (np.array(one[name].to_pylist(), dtype=float) for one in (source, drawn))
        assert np.nanmean(found) == pytest.approx(truth.mean(), rel=0.05)
        assert np.nanmedian(found) == pytest.approx(np.median(truth), rel=0.04, abs=0.5)


def test_a_skewed_count_has_its_mean(tmp_path: Path) -> None:
    """No bias from counts that must not be negative: of 1,001 possible values few are taken, and noise is on all of them."""
    draw = np.random.default_rng(8)
    values = np.minimum(draw.geometric(0.2, 5000) - 1, 1000)
    source = pa.table({"n": values, "g": draw.choice(["a", "b"], 5000)})
    columns = {"n": dp.integer(0, 1000, missing=0), "g": dp.category("a", "b", missing="a")}
    with clinic(tmp_path, source, columns=columns, budget=dp.Budget(rho=10)) as curator:
        found = curator.synthesize(rho=1, seconds=0.5)
    own = found.measured.own[0]
    noisy = own.real([1001])
    truth = float(noisy @ np.arange(1001)) / found.total
    # The noisy mean has a standard error of deviation * |0, 1, ... 1000| / rows.
    error = own.deviation * float(np.sqrt((np.arange(1001.0) ** 2).sum())) / found.total
    mean = float(np.mean(found.sample(20_000).to_arrow()["n"].to_numpy()))
    assert abs(mean - truth) < 5.5 * error  # a normal is beyond that with probability below 1e-7; clamping only takes noise away
    assert abs(mean - values.mean()) < 5.5 * error


def test_conditions_are_exact(model: dp.Synthetic) -> None:
    drawn = model.sample(3000, where={"sex": "m", "age": (30, 50), "smokes": [True, None]}).to_arrow()
    assert {*drawn["sex"].to_pylist()} == {"m"}
    assert {*drawn["smokes"].to_pylist()} == {True, None}
    assert all(30 <= age <= 50 for age in drawn["age"].to_pylist())
    joint = model.project(model.domain.places(["sex", "smokes"]))
    true, missing = joint[1, 1], joint[1, 2]
    assert drawn["smokes"].null_count / 3000 == pytest.approx(missing / (true + missing), abs=0.05)
    women = model.sample(where={"sex": "f"})
    assert len(women) == pytest.approx(model.total * joint[0].sum(), abs=1)
    assert len(model.sample(0)) == 0


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"sex": "x"}, "x is no value of sex; its cells are f, m, (missing)"),
        ({"age": (200, 300)}, "No cell of age lies from 200 to 300"),
        ({"age": 10.5}, "10.5 is no value of age"),
        ({"height": 3}, "height is no column of this model"),
        ({}, "where= says what columns are"),
        ({"age": float("nan")}, "must be finite"),
        ({"age": (float("-inf"), 30)}, "must be finite"),
        ({"age": (60, 20)}, "No cell of age lies"),
        ({"age": 10**400}, "is no value of age"),
        ({"sex": []}, "no row is like that"),
        ({"sex": object()}, "is no value of sex"),
        ({"sex": [["f"]]}, "is no value of sex"),
        ({3: "f"}, "is no column"),
        ("sex = 'f'", "where= says what columns are"),
        ({"visits": 12, "age": 3}, "no row is like that"),
        ({"day": 5}, "no day|must be|no value"),
    ],
)
def test_conditions_that_nothing_meets_are_refused(model: dp.Synthetic, where: Any, said: str) -> None:
    with pytest.raises(dp.errors.ParameterError, match=said.replace("(", r"\(").replace(")", r"\)")):
        model.sample(10, where=where)


def test_marginals_say_their_error_where_columns_were_measured_together(model: dp.Synthetic) -> None:
    source = table()
    answer = model.marginal("sex", "smokes")
    truth = Counter(zip(source["sex"].to_pylist(), source["smokes"].to_pylist(), strict=True))
    for row in answer.rows():
        assert row["rows"] == pytest.approx(truth[row["sex"], row["smokes"]], abs=15)
    together = {frozenset(one.columns) for one in model.measured.later}
    known = next(pair for pair in ((0, 1), (1, 2), (0, 2), (1, 5)) if any({*pair} <= one for one in together))
    names = [model.columns[i] for i in known]
    assert model.marginal(*names).outputs["rows"].errors is not None
    apart = next(
        (a, b) for a in range(7) for b in range(a + 1, 7) if not any({a, b} <= one for one in together) and {a, b} != {3, 4}
    )
    other = model.marginal(*(model.columns[i] for i in apart))
    assert other.outputs["rows"].errors is not None
    assert "not measured together" in str(other)
    assert sum(row["rows"] for row in model.marginal("age").rows()) == pytest.approx(model.total)
    with pytest.raises(dp.errors.ParameterError, match="more than 65,536 cells"):
        model.marginal("age", "debt", "day")


def test_the_report_and_the_words(model: dp.Synthetic) -> None:
    report = model.report()
    assert len(report.lines) == len(model.measured.own) + len(model.measured.later)
    assert report.lines[0].columns == "age"
    assert all(0 <= line.distance < 0.2 for line in report.lines)
    assert "columns" in str(report)
    for word in ("Synthetic data of 7 columns", "rho=100", "Measured: 7 columns", "Log-likelihood"):
        assert word in str(model)
    assert model.privacy.neighbours == "add-remove"


def test_rows_in_every_format(model: dp.Synthetic, tmp_path: Path) -> None:
    rows = model.sample(50)
    assert rows.to_polars().shape == (50, 7)
    frame = rows.to_pandas()
    assert frame["smokes"].dtype == "boolean"
    assert str(frame["day"].dtype).startswith("datetime64")
    assert parquet.read_table(rows.save(tmp_path / "a.parquet")).equals(rows.to_arrow())
    assert csv.read_csv(rows.save(tmp_path / "a.csv")).num_rows == 50
    assert repr(rows).startswith("50 synthetic rows of age")
    with pytest.raises(dp.errors.ParameterError, match=r"does not end in \.parquet or \.csv"):
        rows.save(tmp_path / "a.xls")
    with pytest.raises(dp.errors.ParameterError, match="cannot be written"):
        rows.save(tmp_path / "nowhere" / "a.csv")
    with pytest.raises(dp.errors.ParameterError, match="more than 100,000,000"):
        model.sample(10**9)


def test_a_model_is_saved_and_loaded(model: dp.Synthetic, tmp_path: Path) -> None:
    file = model.save(tmp_path / "model.npz")
    again = dp.Synthetic.load(file)
    assert str(again) == str(model)
    for columns in ((0,), (1, 2), (0, 5), (2, 3, 6)):
        np.testing.assert_allclose(again.project(columns), model.project(columns), atol=1e-12)
    assert again.privacy == model.privacy
    assert again.domain == model.domain
    assert len(again.sample(100, where={"sex": "f"})) == 100


def test_damaged_files_are_refused_in_a_sentence(model: dp.Synthetic, tmp_path: Path) -> None:
    good = model.save(tmp_path / "model.npz").read_bytes()
    bad = tmp_path / "bad.npz"
    for damaged in (b"", b"not a model", good[: len(good) // 2], good[:-10], good[:500] + b"\x00" * 50 + good[550:]):
        bad.write_bytes(damaged)
        with pytest.raises(dp.errors.ParameterError, match="is no model, or damaged"):
            dp.Synthetic.load(bad)
    with pytest.raises(dp.errors.ParameterError, match="There is no file"):
        dp.Synthetic.load(tmp_path / "none.npz")
    with np.load(tmp_path / "model.npz") as arrays:
        parts = {name: arrays[name] for name in arrays.files}
    facts = json.loads(parts["facts"].tobytes())
    for change in ({"version": 99}, {"total": "x"}, {"tree": [[2], [[0]], [-1], [[]]]}, {"columns": []}):
        text = json.dumps({**facts, **change}).encode()
        np.savez(bad, **{**parts, "facts": np.frombuffer(text, dtype=np.uint8)})
        with pytest.raises(dp.errors.ParameterError, match=r"no model, or damaged|not written by this version"):
            dp.Synthetic.load(bad)
    np.savez(bad, **{**parts, "log0": np.full_like(parts["log0"], np.nan)})
    with pytest.raises(dp.errors.ParameterError, match="is no model, or damaged"):
        dp.Synthetic.load(bad)


def test_pictures(model: dp.Synthetic) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    assert "age" in model.plot("age").get_title(loc="left")
    assert {text.get_text() for text in model.plot().texts} == {*model.columns}


def test_one_row_a_person_and_some_rows_only(tmp_path: Path) -> None:
    unit = dp.person("who", rows=3, groups=2)
    with clinic(tmp_path, unit=unit, budget=dp.Budget(rho=10**6)) as curator:
        persons = curator.person(n="count(*)", sex="any_value(sex)").synthesize(rho=10**4, seconds=0.2, bins={"n": [1, 2, 4]})
        truth = len({*table()["who"].to_pylist()})
        assert persons.rows == pytest.approx(truth, rel=0.02)
        assert persons.columns == ("n", "sex")
        some = curator.where("sex = 'f'").synthesize(rho=10**4, columns=["sex", "smokes"])
        assert {row["sex"] for row in some.marginal("sex").rows() if row["rows"] > 20} == {"f"}


def test_a_preview_needs_no_data(tmp_path: Path) -> None:
    curator = dp.Curator(
        tmp_path / "later.parquet",
        unit=dp.rows(),
        columns=COLUMNS,
        budget=dp.Budget(epsilon=1, delta=1e-6),
        ledger=tmp_path / "l",
    )
    asked = curator.synthesize(seconds=1)
    text = str(asked.preview(epsilon=0.5))
    for word in ("epsilon=0.5", "No data was read", "fits what is left", "cells", "MB", "told apart from"):
        assert word in text
    assert "more than is left" in str(asked.preview(epsilon=2))
    assert "preview(epsilon=...)" in str(asked)
