"""Cells that are bought within the one price: what is found, what it costs, what one unit moves, and what is refused."""

from __future__ import annotations

import datetime
import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from synthetic.clinic import clinic, table

import discreet as dp
from discreet.auditor import curators
from discreet.auditor.curators import replay_curator
from discreet.mechanisms.base import recorded
from discreet.schema.table import Schema
from discreet.synthetic.buying import _begin, _descend
from discreet.synthetic.rounds.measuring import price_of

BUDGET = dp.Budget(epsilon=50, delta=1e-6)


def test_keys_and_runs_are_bought_for_a_part_of_the_one_price(tmp_path: Path) -> None:
    """The price is exactly the sum of its parts, and one entry; the keys are those that enough share, and no others."""
    draw = np.random.default_rng(2)
    rare = ["only once"] + [None] * 50
    source = pa.table(
        {
            "city": [*draw.choice(["Oslo", "Bergen", "x'; DROP"], 3949).tolist(), *rare],
            "debt": np.round(np.append(np.zeros(2000), draw.gamma(1.0, 300.0, 2000)), 2),
            "day": [datetime.date(2020, 1, 1) + datetime.timedelta(int(i)) for i in draw.integers(0, 2000, 4000)],
        }
    )
    columns = {"city": dp.text(), "debt": dp.number(0, 10**6, step=0.01), "day": dp.date("2000-01-01", "2030-01-01")}
    curator = clinic(tmp_path, source, columns=columns, budget=BUDGET)
    with recorded() as record:
        model = curator.synthesize(epsilon=20, seconds=0.05, bought=["city", "debt", "day"], bins={"debt": 40})
    (entry,) = curator.history()
    assert model.measured.spent == model.measured.cost.amount == price_of(entry.privacy)
    assert sum((price_of(one.mechanism.privacy) for one in record), Fraction(0)) == price_of(entry.privacy)
    city, debt, day = model.domain.columns
    assert city.values == ("Bergen", "Oslo", "x'; DROP")
    assert debt.starts[0] == 0
    assert debt.end == 10**8 + 1
    assert sum(1 for start in debt.starts if start < 150_000) >= 10  # of 40 runs, where nearly all rows are
    assert debt.starts[1] <= 2 * 1526  # nothing is a value of its own: one leaf of 2^16
    assert len(day.starts) <= 130
    drawn = model.sample(4000).to_arrow()
    assert {*drawn["city"].to_pylist()} <= {"Bergen", "Oslo", "x'; DROP", None}
    assert np.median(drawn["debt"].drop_null().to_numpy()) < 60
    assert model.measured.domain(curator.synthesize(seconds=0.05).asked.domain).columns == model.domain.columns
    again = curator.synthesize(epsilon=20, seconds=0.05, bought=["city", "debt", "day"], bins={"debt": 40})
    assert again.repeated
    assert again.domain == model.domain
    loaded = dp.Synthetic.load(model.save(tmp_path / "m.npz"))
    assert loaded.domain == model.domain
    assert len(curator.quality(model, epsilon=1).lines) >= 3


def test_where_nobody_shares_a_key_there_is_none(tmp_path: Path) -> None:
    """No rows, or every key once: the same shape, the same price, and no key."""
    for name, source in {
        "none": table(3).slice(0, 0),
        "once": pa.table(
            {**dict(zip(table(40).column_names, table(40).columns, strict=True)), "city": [f"k{i}" for i in range(40)]}
        ),
    }.items():
        (tmp_path / name).mkdir()
        with clinic(tmp_path / name, source, budget=BUDGET) as curator:
            model = curator.synthesize(epsilon=1, columns=["city", "sex", "debt"], bought=["city", "debt"], seconds=0.02)
        assert model.domain.columns[0].values == ()
        assert {*model.sample(30).to_arrow()["city"].to_pylist()} == {None}
        assert model.measured.spent == model.measured.cost.amount
        assert [row["city"] for row in model.sql("SELECT city, count(*) AS n FROM data GROUP BY city").rows()][-1:] in (
            [None],
            [""],
            [],
        )


@pytest.mark.usefixtures("replayed")
@pytest.mark.parametrize("unit", ["rows", "persons"])
def test_neighbours_never_move_what_is_bought_beyond_what_is_declared(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replayed on extreme neighbours, with the steps that the ledger keeps; rows of a person count as the call says."""
    some = curators.extreme_pairs
    monkeypatch.setattr(
        curators, "extreme_pairs", lambda schema: itertools.islice(some(schema), 0, None, 11 if unit == "rows" else 4)
    )
    columns: dict[str, Any] = {"x": dp.integer(0, 50), "t": dp.text(length=5)}
    protected = dp.rows() if unit == "rows" else dp.person("id", rows=2, groups=2)
    more = {} if unit == "rows" else {"rows": 3}

    def make(source: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=protected, columns=columns, budget=dp.Budget(epsilon=8, delta=1e-3), ledger=ledger)

    found = replay_curator(
        make,
        lambda curator: str(curator.synthesize(epsilon=4, seconds=0.02, bought=["x", "t"], bins={"x": 6}, **more)),
        Schema(columns, protected),
    )
    assert not found.violated, str(found)
    assert found.releases >= 4 * found.pairs


@pytest.mark.parametrize("rows", [1, 2, 5])
def test_a_person_counts_for_as_many_rows_as_the_call_says(rows: int, tmp_path: Path) -> None:
    """With hardly any noise the rows of all persons weigh what each may, and the sensitivity is that."""
    source = table(400)
    who = source["who"].to_pylist()
    unit = dp.person("who", rows=2, groups=3)
    curator = clinic(tmp_path, source, unit=unit, budget=dp.Budget(rho=10**9))
    with recorded() as record:
        model = curator.synthesize(rho=10**6, columns=["sex", "smokes"], rows=rows)
    weighed = sum(min(rows, who.count(one)) for one in {*who})
    assert model.rows == pytest.approx(weighed, rel=0.01)
    assert {one.mechanism.sensitivity for one in record} == {rows << 12}


def test_what_cannot_be_bought_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    asked: list[tuple[dict[str, Any], str]] = [
        ({"bought": ["nowhere"]}, "nowhere is no declared column"),
        ({"bought": ["sex"]}, "sex has a list of values that is public"),
        ({"bought": ["city"], "keys": {"city": ["Oslo"]}}, "listed in keys="),
        ({"bought": ["debt"], "bins": {"debt": [0, 10]}}, "bins= says how many"),
        ({"bought": "visits", "facts": ["visits <= age"]}, "visits, and these are bought"),
        ({"rows": 3}, "here everybody has one"),
        ({"rows": 0}, "rows"),
    ]
    curator = clinic(tmp_path, table(20), budget=BUDGET)
    for more, said in asked:
        with pytest.raises(dp.errors.ParameterError, match=said):
            curator.synthesize(epsilon=1, **more)
    pure = clinic(tmp_path / "pure", table(20), budget=dp.Budget(epsilon=3))
    with pytest.raises(dp.errors.ParameterError, match="costs a delta, which this budget has not"):
        pure.synthesize(epsilon=1, bought=["city"])
    replaced = clinic(tmp_path / "replaced", table(20), unit=dp.rows(neighbours="replace", size=20), budget=BUDGET)
    with pytest.raises(dp.errors.ParameterError, match='neighbours "add-remove"'):
        replaced.synthesize(epsilon=1, bought=["city"])
    persons = clinic(tmp_path / "persons", table(20), unit=dp.person("who", rows=1, groups=1), budget=BUDGET)
    with pytest.raises(dp.errors.ParameterError, match="rows"):
        persons.synthesize(epsilon=1, rows=0)
    with pytest.raises(dp.errors.ParameterError, match="everybody has one"):
        persons.person(n="count(*)").synthesize(epsilon=1, rows=2)
    for one in (curator, pure, replaced, persons):
        assert not one.history()


def test_shares_descend_and_runs_begin_where_rows_are() -> None:
    top = _descend(np.ones(1), 2, np.array([30.0, -5.0]), 1.0)
    assert top.tolist() == [1.0, 0.0]
    below = _descend(top, 20, np.append([100.0, 1.0, 300.0], np.zeros(17)), 1.0)
    assert below[:4].tolist() == pytest.approx([99 / 398, 0, 299 / 398, 0])
    assert below.sum() == pytest.approx(1)
    assert _descend(np.ones(1), 4, None, 1.0).tolist() == [0.25] * 4  # a level that was lost
    starts = tuple(range(0, 200, 10))
    assert _begin(starts, np.append([0.9, 0.1], np.zeros(18)), 4) == (0, 10, 20, 100)
    assert _begin(starts, np.full(20, 0.05), 2) == (0,)
