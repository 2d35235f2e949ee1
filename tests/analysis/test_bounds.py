"""Bounds of a column: one row is in one cell of a public grid, whatever it holds, and bounds follow from noisy cells alone."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine.driving import count_in_turn
from engine.moves import moves, prepared, tight

import discreet as dp
from discreet.analysis.advice import Counts
from discreet.analysis.base import Noisy
from discreet.analysis.bounds import Bounds, Grid, _declare, write_column
from discreet.auditor.curators import replay_curator
from discreet.curator.plans import Receipt
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions.evaluate import evaluate
from discreet.schema.table import Schema

COLUMNS = {"age": dp.integer(0, 20), "income": dp.number(0, 100), "born": dp.date("2020-01-01", "2020-12-31"), "ward": dp.text()}
PURE, RHO = Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 2), Fraction(1, 10**6))
SIZE = 4000


def table() -> pa.Table:
    chance = np.random.default_rng(3)
    return pa.table(
        {
            "pid": np.arange(SIZE) // 4,
            "age": chance.integers(0, 100, SIZE),
            "income": chance.lognormal(10, 0.8, SIZE),
            "born": pa.array(chance.integers(-5000, 15_000, SIZE).astype("datetime64[D]")),
            "ward": [f" {x:,.1f} " for x in chance.uniform(-2000, -1100, SIZE)],
            "degrees": chance.normal(0, 8, SIZE),
        }
    )


def curator(folder: Path, held: Any = None, *, unit: Any = None, budget: Any = None, **more: Any) -> Any:
    folder.mkdir(exist_ok=True)
    return dp.Curator(
        table() if held is None else held,
        unit=unit or dp.rows(),
        columns=COLUMNS,
        budget=budget or dp.Budget(epsilon=10**6),
        ledger=folder / "a.ledger",
        people="them",
        **more,
    )


# The grid.


@pytest.mark.parametrize("type", ["integer", "number"])
def test_every_number_is_in_the_cell_that_holds_it(type: Any) -> None:
    grid = Grid.of(type, "x", None)
    place = _place(grid)
    values = [0, 1, -1, 2, 3, -7, 10, 999, 1000, 10**9, 10**9 + 5000, -(10**12), 5 * 10**18]
    values += [Fraction(1, 10**6), Fraction(-1, 2), Fraction(3, 2)] if type == "number" else []
    for value in values:
        cell = grid.cells[int(evaluate(place, dict.fromkeys(grid.columns, value)))]  # type: ignore[arg-type]
        assert cell.low is None or cell.low <= value  # type: ignore[operator]
        assert cell.high is None or value <= cell.high  # type: ignore[operator]
    assert evaluate(place, dict.fromkeys(grid.columns)) is None
    lows, highs = [cell.low for cell in grid.cells[1:]], [cell.high for cell in grid.cells[:-1]]
    assert lows == highs  # neighbours meet


def test_every_day_is_in_the_cell_that_holds_it() -> None:
    grid = Grid.of("date", "x", None)
    place, day = _place(grid), datetime.timedelta(1)
    for value in (datetime.date.min, datetime.date(1999, 12, 31), datetime.date(2000, 1, 1), datetime.date.max):
        cell = grid.cells[int(evaluate(place, {"x": value}))]  # type: ignore[arg-type]
        assert (cell.low or datetime.date.min) <= value <= (cell.high or datetime.date.max)  # type: ignore[operator]
    assert all(a.high + day == b.low for a, b in zip(grid.cells, grid.cells[1:], strict=False))  # type: ignore[operator]


def _place(grid: Grid) -> Any:
    from discreet.analysis.advice import place_of

    return place_of(grid.value, grid.tests)


# How far one unit moves it.


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of fewer cells, which is quicker."""
    monkeypatch.setattr("discreet.analysis.bounds._POWERS", 1)


ODD: list[Any] = [0.0, 3.0, -3.0, math.nan, math.inf, -math.inf, 1e300, -1e300, 5e-324, None, 2.0**53]


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize(
    "unit",
    [
        dp.rows(),
        dp.rows(neighbours="replace", size=4),
        dp.person("pid", rows=3, groups=2),
        dp.person("pid", rows=3, groups=2, neighbours="replace"),
    ],
    ids=str,
)
@pytest.mark.usefixtures("few")
def test_declared_sensitivities_hold_and_are_attained(tmp_path: Path, unit: Any, share: Cost) -> None:
    study = curator(tmp_path, unit=unit).bounds("income").priced(share)
    (plan,) = study.plans
    many = isinstance(unit, type(dp.person("pid", rows=1, groups=1)))
    extra = [[value] for value in ODD] + ([[3.0] * 3, [-3.0] * 50, [3.0] * 3 + [-3.0] * 3] if many else [])
    extra += [[]] if many or unit.neighbours == "add-remove" else []
    found = []
    for own in extra:
        values, who = [1.0, 20.0, *own], ["a", "b", *["new"] * len(own)]
        held = {name: pa.array(values, pa.float64()) for name in study.grid.columns}
        rest = {name: pa.nulls(len(values)) for name in ("age", "income", "born", "ward")}
        found.append(prepared(plan, count_in_turn(plan, pa.table({**rest, **held, "pid": who}))))
    reached = False
    for before in found if unit.neighbours == "replace" else found[-1:]:
        for after in found:
            ((moved, allowed),) = moves(plan, before, after).values()
            assert moved <= allowed
            reached |= tight(moved, allowed, squares=share.epsilon is None)
    assert reached


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("pid", rows=2, groups=1)], ids=str)
@pytest.mark.usefixtures("few", "replayed")
def test_an_audit_replays_it(unit: Any) -> None:
    facts = Schema({"age": dp.integer(0, 20)}, unit)

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=dp.Budget(epsilon=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.bounds("age", epsilon=1), facts)  # type: ignore[attr-defined]
    assert found.releases == found.pairs > 0
    assert not found.violated


# What is suggested.


@pytest.mark.parametrize(
    ("unit", "budget"),
    [
        (dp.rows(), dp.Budget(epsilon=200)),
        (dp.person("pid", rows=4, groups=1), dp.Budget(epsilon=200, delta=1e-6)),
        (dp.person("pid", rows=4, groups=1), dp.Budget(rho=200)),
    ],
    ids=str,
)
def test_bounds_hold_what_is_there(tmp_path: Path, unit: Any, budget: Any) -> None:
    """Declared too narrowly, or not at all. Noise is at most 20 rows of 4,000 in any cell, but for 1e-9."""
    held, cost = curator(tmp_path, unit=unit, budget=budget), {"rho" if budget.kind == "concentrated" else "epsilon": 20}
    assert held.bounds("age", **cost).suggested == dp.integer(0, 100)
    assert held.bounds("income", **cost).suggested in (dp.number(0, 100_000), dp.number(0, 200_000))
    born = held.bounds("born", **cost).suggested
    assert (born.lower.year, born.upper.year) in {(a, b) for a in (1950, 1956, 1957, 1958) for b in (2010, 2011)}
    assert held.bounds("ward", type="number", **cost).suggested == dp.number(-2000, -1000)
    found = held.where("age >= 10").bounds("degrees", **cost)
    assert found.suggested in (dp.number(-20, 20), dp.number(-50, 20), dp.number(-20, 50), dp.number(-50, 50))
    assert write_column(found.suggested) in str(found)
    assert "as far as noise lets see" in str(found)


def test_at_a_huge_epsilon_shares_are_exact(tmp_path: Path) -> None:
    """No cell is off by one (below 1e-400)."""
    held, incomes = curator(tmp_path), table()["income"].to_numpy()
    found = held.bounds("income", clamped=0.1, epsilon=1000)
    lower, upper = float(found.suggested.lower), float(found.suggested.upper)
    assert np.mean(incomes > upper) <= 0.05 < np.mean(incomes > upper / 2)
    assert lower == 0
    counts = dict(zip(found.table["income"], found.table["rows"], strict=True))
    assert counts["20,000 to 50,000"] == ((incomes > 20_000) & (incomes <= 50_000)).sum()
    assert sum(counts.values()) == SIZE


def test_previews_read_no_data_and_repeats_are_free(tmp_path: Path) -> None:
    held = curator(tmp_path, tmp_path / "nowhere.parquet", budget=dp.Budget(epsilon=3))
    assert "rows in every cell" in str(held.bounds("income").preview(epsilon=1))
    held = curator(tmp_path / "other", budget=dp.Budget(epsilon=3))
    first, again = held.bounds("income", epsilon=1), held.bounds("income", clamped=0.2, epsilon=0.5)
    assert again.table.repeated
    assert held.budget.spent.epsilon == 1
    assert float(again.suggested.upper) <= float(first.suggested.upper)
    assert len(first.to_pandas()) == len(first.table)
    assert "<table" in first._repr_html_()
    with pytest.raises(ParameterError, match="ask it by itself"):
        held.batch(["SELECT count(*) AS n FROM data", held.bounds("income")], epsilon=1)


def test_files_are_read_for_columns_that_nobody_declared(tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("pid,age,income,born,ward,degrees\n" + "1,5,10,2020-01-01,x,-3.5\n" * 300)
    for name, says in (("t.parquet", 20), ("t.csv", -2)):
        held = curator(tmp_path / "both", tmp_path / name)
        assert held.bounds("degrees", epsilon=10).suggested.upper in (says, 50)
        assert held.sql("SELECT count(*) AS n FROM data", epsilon=10).value > 0


def test_a_preview_knows_a_repeat_of_what_is_read_otherwise(tmp_path: Path) -> None:
    """Of a frame too, of which less was read before."""
    held = curator(tmp_path)
    held.sql("SELECT count(*) AS n FROM data", epsilon=1)
    held.bounds("degrees", epsilon=1)
    assert any("Asked before: free" in remark for remark in held.bounds("degrees").preview(epsilon=1).remarks)
    assert held.bounds("degrees", epsilon=1).table.repeated


def test_of_several_tables_one_is_meant(tmp_path: Path) -> None:
    visits = pa.table({"pid": np.arange(900) % 100, "cost": np.full(900, 70.0), "other": np.full(900, -70)})
    held = dp.Curator(
        {"patients": pa.table({"pid": np.arange(100), "age": np.full(100, 30)}), "visits": visits},
        unit=dp.person("pid", rows=9, groups=1),
        columns={"patients": {"age": dp.integer(0, 9)}, "visits": {"cost": dp.number(0, 1)}},
        budget=dp.Budget(epsilon=10**5),
        ledger=tmp_path / "a.ledger",
    )
    assert held.table("visits").bounds("cost", epsilon=1000).suggested == dp.number(50, 100)  # type: ignore[attr-defined]
    assert held.table("visits").bounds("other", epsilon=1000).suggested == dp.number(-100, -50)  # type: ignore[attr-defined]
    both = held.table("patients").join("visits")
    assert both.bounds("patients.age", epsilon=1000).suggested == dp.integer(20, 50)  # type: ignore[attr-defined]
    with pytest.raises(ParameterError, match="Which table"):
        both.bounds("age", epsilon=1)  # type: ignore[attr-defined]


# Nothing in a table makes it fail.


@pytest.mark.diagonal
@pytest.mark.parametrize("epsilon", [0.01, 1000])
@pytest.mark.parametrize(
    "values",
    [[], [5.0], ODD, [1e300] * 50, ["text"] * 50, [True] * 50, [0] * 50, [2**63 - 1] * 50, [math.nan] * 50],
    ids=["nobody", "one", "odd", "huge", "texts", "truth", "zeros", "longest", "nan"],
)
def test_no_value_makes_it_fail(tmp_path: Path, values: list[Any], epsilon: float, request: pytest.FixtureRequest) -> None:
    """In a grid of fewer cells too, but for values of all sizes."""
    if values is not ODD:
        request.getfixturevalue("few")
    held = pa.table({"x": values, "age": pa.nulls(len(values), pa.int64())})
    one = dp.Curator(
        held, unit=dp.rows(), columns={"age": dp.integer(0, 1)}, budget=dp.Budget(epsilon=10**5), ledger=tmp_path / "a.ledger"
    )
    for type in ("number", "integer", "date"):
        found = one.bounds("x", type=type, epsilon=epsilon)  # type: ignore[attr-defined]
        assert str(found)
        assert one.budget.spent.epsilon > 0
        if values in ([], ["text"] * 50, [math.nan] * 50) and epsilon == 1000:
            assert found.suggested is None
            assert "nothing is suggested" in str(found)
        if values == [0] * 50 and epsilon == 1000 and type != "date":
            assert (found.suggested.lower, found.suggested.upper) == (0, 1)
        if values == [1e300] * 50 and epsilon == 1000 and type != "date":
            assert "beyond all that is told apart" in str(found)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: c.bounds("ward", epsilon=1), "without an order"),
        (lambda c: c.bounds("nobody", epsilon=1), "no column nobody"),
        (lambda c: c.bounds("data.age", epsilon=1), "no column of the private table"),
        (lambda c: c.bounds("age", type="text", epsilon=1), "type= is"),
        (lambda c: c.bounds("age", clamped=0, epsilon=1), "clamped= is the share"),
        (lambda c: c.bounds("age", clamped="some", epsilon=1), "clamped must be a number"),
        (lambda c: c.bounds(5, epsilon=1), "Bounds are of one column"),
        (lambda c: c.bounds(epsilon=1), 'write bounds\\("income"'),
        (lambda c: c.group_by("age // 5").bounds("age", epsilon=1), "leave group_by"),
    ],
)
def test_what_is_refused_costs_nothing(tmp_path: Path, ask: Any, says: str) -> None:
    held = curator(tmp_path)
    with pytest.raises(ParameterError, match=says):
        ask(held)
    assert held.budget.spent.epsilon == 0


def test_traits_of_persons_have_bounds_already(tmp_path: Path) -> None:
    held = curator(tmp_path, unit=dp.person("pid", rows=4, groups=1))
    with pytest.raises(ParameterError, match="leave person"):
        held.person(n=dp.count()).bounds("n", epsilon=1)


# From made-up noise.


def test_suggestions_and_intervals_over_many_draws(tmp_path: Path) -> None:
    """10,000 rows at epsilon 0.1, with a fixed seed: bounds that are right within a cell, nearly always; and the share of values
    beyond them is covered as often as is said."""
    study = curator(tmp_path).bounds("income").priced(Cost("epsilon", Fraction(1, 10)))
    chance, names = np.random.default_rng(4), [str(cell) for cell in study.grid.cells]
    exact = np.zeros(len(names), dtype=int)
    for name, rows in (
        ("100 to 200", 400),
        ("200 to 500", 4500),
        ("500 to 1,000", 4700),
        ("1,000 to 2,000", 380),
        ("1e+09 to 2e+09", 20),
    ):
        exact[names.index(name if name in names else "1,000,000,000 to 2,000,000,000")] = rows
    account, right, covered = dp.Budget(epsilon=1).open(), 0, 0
    for _ in range(100):
        noisy = exact + np.round(chance.laplace(0, 10, len(exact))).astype(int)
        found: Bounds = study.finish(Noisy(((noisy[None],),), study.share, "made up"), Receipt(account))
        right += (found.suggested.lower, found.suggested.upper) in {(0, 2000), (0, 1000), (100, 2000)}  # type: ignore[union-attr]
        share = Counts(noisy.astype(float), study.plans[0].releases[0].spread).line((exact == 20).astype(float)).share
        covered += share[1] <= 0.002 <= share[2]
    assert right >= 97
    assert covered >= 95


def test_any_range_of_the_grid_can_be_declared() -> None:
    """Whatever noise makes of it: bounds that are wider than the range, and by no more than a tenth and a little, or 1."""
    grid = Grid.of("number", "x", None).cells[1:-1]
    for first in grid[::7]:
        for last in grid[grid.index(first) :: 5]:
            low, high = Fraction(first.low), Fraction(last.high)  # type: ignore[arg-type]
            found: Any = _declare("number", low, high, None)
            assert found.lower <= low <= high <= found.upper
            assert found.upper - found.lower <= (high - low) * Fraction(112, 100) + (low == high)
            assert eval(write_column(found), {"dp": dp}) == found


def test_declarations_are_written_as_their_owner_writes_them() -> None:
    columns = (
        dp.integer(-5, 1000),
        dp.number(0, 0.5),
        dp.date("2020-01-01", "2021-01-01", format="%d.%m.%Y"),
        dp.number(0, 5, decimal=","),
    )
    for column in columns:
        assert eval(write_column(column), {"dp": dp}) == column
