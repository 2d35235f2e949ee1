"""Histograms: bins of one or several columns, whose noise is the same however many there are; drawn as what they are."""

from __future__ import annotations

import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.errors import ParameterError
from discreet.plan.expressions.facts import Facts
from discreet.schema.table import Schema

mpl.use("Agg")
from matplotlib import pyplot

DAYS = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1), datetime.date(2023, 1, 1), datetime.date(2026, 12, 31)]


@pytest.fixture
def hospital(tmp_path: Path) -> Any:
    return curator(tmp_path, budget=dp.Budget(epsilon=10**7))


@pytest.fixture(autouse=True)
def _closed() -> object:
    yield
    pyplot.close("all")


def test_unknown_words_are_answered_with_an_example(hospital: Any) -> None:
    with pytest.raises(ParameterError, match=r"histogram\(\) knows no buckets; write histogram\(\"age\", edges="):
        hospital.histogram("age", buckets=10)


def test_equal_bins_lie_between_declared_bounds(hospital: Any) -> None:
    found = hospital.histogram(["debt", "ward"], bins=4, epsilon=10**4)
    assert list(dict.fromkeys(found["debt"])) == ["[0, 2500)", "[2500, 5000)", "[5000, 7500)", "[7500, 10000]"]
    held, ward = np.clip(table()["debt"].to_numpy(), 0, 10_000), table()["ward"].to_pylist()
    known = np.array([one is not None for one in ward])
    counts = [sum(row["n"] for row in found.rows() if row["debt"] == name) for name in dict.fromkeys(found["debt"])]
    assert counts == pytest.approx(np.histogram(held[known], 4, (0, 10_000))[0], abs=5)
    assert list(hospital.histogram("age", bins=7, epsilon=10**4)["age"])[-1] == "[108, 126]"  # whole numbers have whole widths
    for bins, says in ((1, "from 2 to"), (2.5, "whole number"), (True, "whole number"), (10**7, "from 2 to")):
        with pytest.raises(ParameterError, match=says):
            hospital.histogram("age", bins=bins, epsilon=1)
    with pytest.raises(ParameterError, match="nobody"):
        hospital.histogram("nobody", bins=3, epsilon=1)


def test_a_million_values_are_refused_unlisted(hospital: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Facts, "listed", None)
    with pytest.raises(ParameterError, match="debt has too many values"):
        hospital.histogram("debt")


def test_bins_hold_what_numpy_puts_in_them(hospital: Any) -> None:
    """Noise of scale 1e-3: no count is off by one (below 1e-300)."""
    edges = [0, 18, 40, 65, 120]
    answer = hospital.histogram("age", edges=edges, epsilon=1000)
    assert answer["age"] == ("[0, 18)", "[18, 40)", "[40, 65)", "[65, 120]")
    ages = table()["age"].to_numpy()
    assert list(answer["n"]) == np.histogram(ages, edges)[0].tolist()
    both = hospital.histogram(["age", "drug_use"], edges={"age": [0, 50.5, 100]}, epsilon=1000)
    drugs = table()["drug_use"].to_pylist()
    truth = {}
    for age, drug in zip(ages, drugs, strict=True):
        key = ("[0, 50.5)" if age < 50.5 else "[50.5, 100]", drug)
        truth[key] = truth.get(key, 0) + 1
    assert {(row["age"], row["drug_use"]): row["n"] for row in both} == truth
    days = np.array(table()["admitted"].to_pylist())
    by_day = hospital.where("age >= 18").histogram("admitted", edges=DAYS, epsilon=1000)
    inside = [((days >= a) & (days < b) & (ages >= 18)).sum() for a, b in pairwise(DAYS)]
    assert list(by_day["n"]) == inside
    assert by_day["admitted"][0] == "[2020-01-01, 2021-01-01)"
    written = hospital.histogram("admitted", edges=[str(day) for day in DAYS], epsilon=1000)
    assert written["admitted"] == by_day["admitted"]
    assert len(hospital.histogram("drug_use").release(epsilon=1)) == 2
    assert len(hospital.histogram("age // 10").release(epsilon=1)) == 13


def test_noise_is_the_same_however_many_bins(hospital: Any) -> None:
    few, many = (hospital.histogram("age", edges=edges).preview(epsilon=1) for edges in ([0, 60, 120], range(121)))
    assert few.lines[0].error == many.lines[0].error == dp.Laplace(sensitivity=1, epsilon=1).error()
    thousand = hospital.histogram("debt", edges=list(range(0, 10_001, 10))).preview(epsilon=1)
    assert (thousand.groups, thousand.lines[0].error) == (1000, few.lines[0].error)


def test_it_is_a_question_of_persons_too(tmp_path: Path) -> None:
    hospital: Any = curator(tmp_path, unit=dp.person("patient", rows=4, groups=2), budget=dp.Budget(rho=1))
    question = hospital.histogram("age", edges=[0, 50, 120])
    assert question.release(rho=0.5).rows() == question.release(rho=0.25).rows()
    assert hospital.budget.spent.rho == 0.5


def test_bad_bins_cost_nothing(hospital: Any) -> None:
    for columns, edges, says in (
        ("age", [0, 120], "at least three"),
        ("age", [], "edges of age"),
        ("age", range(10_000_001), "At most 2,000 bins"),
        ("age", [0, 10, 5, 120], "must increase"),
        ("age", [0, 10, 10, 120], "must increase"),
        ("age", [0, float("nan"), 120], "edges of age"),
        ("age", [0, float("inf"), 120], "edges of age"),
        ("age", ["a", "b", "c"], "numbers"),
        ("age", [True, 2, 3], "numbers"),
        ("age", 7, "edges of age"),
        ("age", {"debt": [0, 1, 2]}, "no column of this histogram"),
        ("admitted", [0, 1, 2], "dates"),
        ("admitted", ["2020-01-01", "soon", "2026-01-01"], "no day"),
        ("admitted", None, "too many values"),
        ("debt", None, "too many values"),
        ("city", None, "city"),
        ("drug_use", [0, 1, 2], "leave its edges out"),
        ("nobody", [0, 1, 2], "nobody"),
        (["age", "drug_use"], [0, 1, 2], "said for each"),
        (["age", "age"], None, "once"),
        ([f"age // {i}" for i in range(1, 201)], None, "at most 12 columns"),
        ([], None, "A histogram is of a column"),
        (7, None, "A histogram is of a column"),
        (["age", "debt"], {"age": range(1901), "debt": range(1901)}, "3,610,000 groups"),
    ):
        with pytest.raises(ParameterError, match=says):
            hospital.histogram(columns, edges=edges, epsilon=1)
    assert hospital.budget.spent.epsilon == 0


@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it() -> None:
    facts = Schema({"age": COLUMNS["age"]}, dp.rows(neighbours="replace", size=8))

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=dp.Budget(epsilon=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.histogram("age", edges=[0, 40, 80, 120], epsilon=1), facts)  # type: ignore[attr-defined]
    assert found.releases > 0
    assert not found.violated


def bars(ax: Any) -> list[tuple[float, float]]:
    return [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches]


def test_bars_have_their_true_widths_and_touch(hospital: Any) -> None:
    answer = hospital.histogram("age", edges=[0, 18, 40, 65, 120], epsilon=1)
    ax = answer.plot()
    assert bars(ax) == [(0, 18), (18, 40), (40, 65), (65, 120)]
    areas = [bar.get_height() * bar.get_width() for bar in ax.patches]
    assert areas == pytest.approx(list(answer["n"]))
    assert ax.get_ylabel() == "n per unit of age"
    even = hospital.histogram("age", edges=range(0, 121, 10), epsilon=1)
    assert [bar.get_height() for bar in even.plot().patches] == list(even["n"])
    days = hospital.histogram("admitted", edges=[datetime.date(2020, month, 1) for month in range(1, 13)], epsilon=1).plot()
    assert days.get_ylabel() == "n"
    assert all(a[1] == b[0] for a, b in pairwise(bars(days)))


def test_two_keys_of_many_values_are_a_map_and_margins_are_left_out(hospital: Any) -> None:
    answer = hospital.histogram(["age", "age // 17"], edges={"age": range(0, 121, 15)}, epsilon=1)
    ax = answer.plot()
    (image,) = ax.images
    assert image.get_array().shape == (8, 8)
    assert image.get_array()[1][0] == answer["n"][1]
    table = hospital.table(by=["drug_use", "ward"], missing=None, epsilon=1).plot()
    assert len(table.patches) == 6
