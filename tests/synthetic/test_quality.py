"""How far a model is from the table: right where noise is none, paid for, free when asked again, one page."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.synthetic.quality import unmeasured


def test_distances_are_those_between_table_and_model(tmp_path: Path) -> None:
    source, names = table(1000), ["age", "sex", "smokes", "visits"]
    with clinic(tmp_path, source, budget=dp.Budget(rho=10**7)) as curator:
        model = curator.synthesize(columns=names, rho=1, seconds=0.2, workload=[["sex", "smokes"]])
        found = curator.quality(model, rho=10**6)
        assert curator.quality(model, rho=10**6).lines == found.lines
        assert len(curator.history()) == 2
    assert {line.columns for line in found.lines if line.order == 2} == {
        ", ".join(pair) for pair in combinations(names, 2) if pair != ("sex", "smokes")
    }
    for line in found.lines:
        places = model.domain.places(line.columns.split(", "))
        fitted = (model.total * model.project(places)).ravel()
        truth = Counter(zip(*(source[name].to_pylist() for name in line.columns.split(", ")), strict=True))
        cells = model.marginal(*line.columns.split(", ")).rows()
        wanted = sum(abs(truth[tuple(row[model.columns[i]] for i in places)] - m) for row, m in zip(cells, fitted, strict=True))
        assert line.distance == pytest.approx(wanted / 2 / model.total, abs=0.01)
    mean, error = found.mean(2)
    assert mean == pytest.approx(sum(line.distance for line in found.lines if line.order == 2) / 5)
    assert error < 1e-3


def test_it_is_one_page(tmp_path: Path) -> None:
    with clinic(tmp_path, table(200), budget=dp.Budget(epsilon=5)) as curator:
        model = curator.synthesize(columns=["sex", "smokes", "visits"], epsilon=1, seconds=0.1)
        found = curator.quality(model, epsilon=1)
        assert curator.budget.spent.epsilon == 2
    page = found.save(tmp_path / "quality.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "sex, visits" in page or "smokes, visits" in page or "visits" in page
    assert "total variation" in str(found)
    assert "<table" in found._repr_html_()
    with pytest.raises(dp.errors.ParameterError, match="cannot be written"):
        found.save(tmp_path / "nowhere" / "quality.html")
    with pytest.raises(dp.errors.ParameterError, match="No marginal of 7 columns"):
        found.mean(7)


def test_what_is_no_model_or_of_another_table_is_refused(tmp_path: Path) -> None:
    with clinic(tmp_path, table(200), budget=dp.Budget(epsilon=5)) as curator:
        with pytest.raises(dp.errors.ParameterError, match="quality\\(\\) is about a model"):
            curator.quality("model", epsilon=1)
        model = curator.synthesize(columns=["sex", "smokes"], epsilon=1, seconds=0.1)
    (tmp_path / "other").mkdir()
    other = clinic(
        tmp_path / "other", table(200).select(["sex"]), columns={"sex": dp.category("f", "m")}, budget=dp.Budget(epsilon=5)
    )
    with pytest.raises(dp.errors.ParameterError, match="The model has a column smokes"):
        other.quality(model, epsilon=1)


def test_sets_that_were_measured_are_left_out(tmp_path: Path) -> None:
    with clinic(tmp_path, table(200), budget=dp.Budget(rho=100)) as curator:
        model = curator.synthesize(columns=["age", "sex", "smokes", "visits"], rho=50, seconds=0.5)
    for one in unmeasured(model):
        assert len(one) == 1 or not any({*one} <= {*own.columns} for own in model.measured.later)
