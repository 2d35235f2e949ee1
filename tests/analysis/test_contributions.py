"""Rows and groups a person: counted person by person, never moved further than declared, and turned into advice that is right."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.test_sensitivity import all_parts, attained

import discreet as dp
from discreet.analysis.advice import Counts
from discreet.analysis.base import Noisy
from discreet.analysis.contributions import Contributions, write_unit
from discreet.analysis.distribution import Distribution, Ranges
from discreet.auditor.curators import replay_curator
from discreet.curator.plans import Receipt
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions.facts import Facts
from discreet.plan.release import Spread
from discreet.schema.table import Schema

COLUMNS = {"ward": dp.category("a", "b", "c", "d"), "age": dp.integer(0, 120), "sex": dp.boolean(), "city": dp.text()}
UNIT = dp.person("pid", rows=8, groups=3)
PURE, RHO = Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 2), Fraction(1, 10**6))


def table(rows_of: Any) -> pa.Table:
    """So many rows for every person, in wards by turns."""
    pids = np.repeat(np.arange(len(rows_of)), rows_of)
    turn = np.concatenate([np.arange(n) for n in rows_of] or [np.zeros(0, int)])
    ward = np.array(["a", "b", "c", "d"])[turn.astype(int) % 4]
    return pa.table({"pid": pids, "ward": pa.array(ward, pa.string()), "age": turn % 100, "sex": turn % 2 == 0, "city": ward})


def curator(folder: Path, held: Any, *, unit: Any = UNIT, budget: Any = None) -> Any:
    folder.mkdir(exist_ok=True)
    return dp.Curator(
        held, unit=unit, columns=COLUMNS, budget=budget or dp.Budget(epsilon=10**6), ledger=folder / "a.ledger", people="them"
    )


# Counted.


def test_at_a_huge_epsilon_it_is_the_distribution(tmp_path: Path) -> None:
    """The noise has scale 1/1000: no cell is off by one (below 1e-400)."""
    rows_of = np.array([1] * 50 + [2] * 20 + [9] * 7 + [10] * 3 + [70] * 5 + [5000] * 2)
    found = curator(tmp_path, table(rows_of)).contributions(epsilon=1000)
    cells = dict(zip(found.table["rows"], found.table["persons"], strict=True))
    assert {name: n for name, n in cells.items() if n} == {"1": 50, "2": 20, "9 to 12": 10, "65 to 96": 5, "over 1,024": 2}
    assert round(sum(found.table["share"]), 9) == 1
    cut = found.cut(rows=8)
    assert cut["persons"][0] == 17
    assert cut.outputs["rows"].lower[0] <= 7 * 1 + 3 * 2 + 5 * 62 + 2 * 1017 <= cut.outputs["rows"].upper[0]


def test_what_is_printed_and_what_is_cut_is_one_estimate() -> None:
    """Noise below zero in the tail is no person less: 2 rows at most cut 200 persons of 1,000, whatever is said of the rest."""
    grid = Ranges((1, 2, 3, 4), beyond=True)
    noisy = Distribution(grid, Counts(np.array([500.0, 300.0, 200.0, -6.0, -9.0]), Spread("laplace", 3.0)))
    persons, rows = noisy.shares(2)
    cut = noisy.cut("rows", 2)
    assert (cut["persons_share"][0], cut["rows_share"][0]) == (persons, rows)
    assert persons == pytest.approx(0.2, abs=0.01)
    assert all(low <= best <= high for best, low, high in cut.values())


def test_groups_are_those_that_persons_are_in(tmp_path: Path) -> None:
    """Everybody has as many rows in a ward as in the next, or one more."""
    rows_of = np.array([1] * 30 + [3] * 20 + [9] * 10 + [40] * 5)
    held = curator(tmp_path, table(rows_of))
    found = held.contributions(by="ward", epsilon=1000)
    cells = {(of, n): x for of, n, x in zip(*(found.table[name] for name in ("of", "number", "persons")), strict=True) if x}
    fullest = {("rows in their fullest group", n): x for n, x in (("1", 50), ("3", 10), ("9 to 12", 5))}
    assert cells == fullest | {("groups", "1"): 30, ("groups", "3"): 20, ("groups", "4"): 15}
    both = held.contributions(by=["ward", "sex", "age // 50"], epsilon=1000)
    groups = {
        n: x for of, n, x in zip(*(both.table[name] for name in ("of", "number", "persons")), strict=True) if of == "groups"
    }
    assert {n: x for n, x in groups.items() if x} == {"1": 30, "3": 20, "4": 15}
    assert held.where("age < 2").contributions(by="ward", epsilon=1000).cut(groups=1)["persons"][0] == 35


def test_cells_are_whole_numbers_without_gaps() -> None:
    for most, first, beyond in (
        (2, 1, True),
        (3, 0, True),
        (7, 0, True),
        (8, 1, False),
        (100, 0, True),
        (1024, 1, True),
        (1, 0, False),
    ):
        grid = Ranges.up_to(most, first, beyond=beyond)
        assert grid.lows[0] == first
        assert grid.ends[-1] == most
        assert (grid.lows[1:] == grid.tops[:-1] + 1).all()
        assert (grid.lows <= grid.tops).all()
        assert len(grid.labels) == len(grid.tops) == len(grid.ends) + beyond


def test_the_declared_bound_is_the_end_of_a_cell(tmp_path: Path) -> None:
    """So that what it takes away is no guess."""
    found = curator(tmp_path, table([11] * 50 + [12] * 7), unit=dp.person("pid", rows=11, groups=1)).contributions(epsilon=1000)
    cut = found.cut(rows=11).outputs
    assert [cut[name].values[0] for name in ("persons", "rows")] == [7, 7]
    assert 6.5 < cut["persons"].lower[0] <= cut["persons"].upper[0] < 7.5
    assert found.suggested.rows == 12


# How far one person moves it.


def person_rows(n: int, wards: str = "a", who: str = "new") -> list[dict[str, Any]]:
    return [{"pid": who, "ward": wards[i % len(wards)], "age": 1, "sex": True, "city": "x"} for i in range(n)]


EXTREME = [
    [],
    person_rows(1),
    person_rows(8),
    person_rows(24, "abc"),
    person_rows(5000),
    person_rows(5000, "abcd"),
    person_rows(3, "z"),
    [{**row, "ward": None} for row in person_rows(4)],
    person_rows(2, who=""),
]


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("by", [None, "ward", ["ward", "age"]], ids=str)
def test_one_person_is_in_one_cell_however_many_rows_they_have(tmp_path: Path, by: Any, neighbours: Any, share: Cost) -> None:
    """One cell moves by one, or two when a person is replaced: attained, and never exceeded."""
    unit = dp.person("pid", rows=2, groups=2, neighbours=neighbours)
    study = curator(tmp_path, table([1]), unit=unit).contributions(by=by, cap=16).priced(share)
    (plan,) = study.plans
    assert [release.statistic.norms(_frame(plan)).l1 for release in plan.releases] == [1 + (neighbours == "replace")] * len(
        study.grids
    )
    types = {"pid": pa.string(), "ward": pa.string(), "age": pa.int64(), "sex": pa.bool_(), "city": pa.string()}
    others = [row for i in range(3) for row in person_rows(i + 1, "ab", f"other {i}")]
    assert attained(plan, [others + extra for extra in EXTREME], unit, types) == all_parts(plan)


def _frame(plan: Any) -> Any:
    from discreet.plan.measures import Frame

    return Frame(plan.schema.unit, 1, whole_table=False)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it(neighbours: Any) -> None:
    facts = Schema({"ward": dp.category("a", "b")}, dp.person("pid", rows=2, groups=1, neighbours=neighbours))

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=dp.Budget(epsilon=4), ledger=ledger)

    by = "ward" if neighbours == "replace" else None
    found = replay_curator(make, lambda one: one.contributions(by=by, cap=4, epsilon=1), facts)  # type: ignore[attr-defined]
    assert found.releases == (2 if by else 1) * found.pairs > 0
    assert not found.violated


# Asked like any question.


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=3), dp.Budget(epsilon=3, delta=1e-6), dp.Budget(rho=0.5)], ids=str)
def test_previews_read_no_data_and_repeats_are_free(tmp_path: Path, budget: Any) -> None:
    cost: dict[str, Any] = {"rho": 0.01} if budget.kind == "concentrated" else {"epsilon": 0.5}
    held = curator(tmp_path, tmp_path / "nowhere.parquet", budget=budget)
    assert "persons in every cell" in str(held.contributions(by="ward").preview(**cost))
    held = curator(tmp_path / "other", table([3] * 100), budget=budget)
    first = held.contributions(**cost)
    spent = held.budget.used
    assert spent > 0
    again = held.contributions(later=0.01, **cost)
    assert again.table.repeated
    assert held.budget.used == spent
    assert list(again.table["persons"]) == list(first.table["persons"])
    assert not held.contributions(cap=16, **cost).table.repeated
    frame = first.to_pandas()
    assert len(frame) == len(first.table)
    assert "<table" in first._repr_html_()
    assert "persons" in first.plot().get_title(loc="left")


def test_it_is_bought_by_accuracy_and_stands_in_a_batch(tmp_path: Path) -> None:
    held = curator(tmp_path, table([3] * 100))
    found = held.contributions(accuracy=20)
    assert (found.table.outputs["persons"].upper[0] - found.table.outputs["persons"].lower[0]) / 2 <= 20
    both = held.batch(["SELECT count(*) AS n FROM data", held.contributions()], epsilon=1)
    assert isinstance(both[1], Contributions)


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda c: c.contributions(cap=1, epsilon=1), "cap= is the number up to which"),
        (lambda c: c.contributions(cap="all", epsilon=1), "cap"),
        (lambda c: c.contributions(by="city", epsilon=1), "not all listed"),
        (lambda c: c.contributions(by="nobody", epsilon=1), "nobody"),
        (lambda c: c.contributions(by=5, epsilon=1), "by= is a key"),
        (lambda c: c.contributions(by=["ward", 5], epsilon=1), "by= is a key"),
        (lambda c: c.contributions(later=-1, epsilon=1), "later must be"),
        (lambda c: c.contributions(later="much", epsilon=1), "later must be"),
        (lambda c: c.contributions(rho=1), "epsilon"),
        (lambda c: c.contributions(wards=3), "contributions"),
        (lambda c: c.person(n=dp.count()).contributions(epsilon=1), "persons already"),
        (lambda c: c.group_by("ward").contributions(epsilon=1), "leave group_by"),
    ],
)
def test_what_is_refused_costs_nothing(tmp_path: Path, ask: Any, says: str) -> None:
    held = curator(tmp_path, table([1, 2]))
    with pytest.raises(ParameterError, match=says):
        ask(held)
    assert held.budget.spent.epsilon == 0


def test_numbers_of_many_values_make_no_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From declared bounds, before their million values are listed."""
    held = table([1, 2]).append_column("cost", pa.array([1.0, 2.0, 3.0]))
    columns = {"cost": dp.number(0, 10_000, step=0.01), "day": dp.date("2000-01-01", "2020-12-31"), "age": dp.integer(0, 120)}
    held = held.append_column("day", pa.array([None, None, None], pa.date32()))
    clinic: Any = dp.Curator(held, unit=UNIT, columns=columns, budget=dp.Budget(epsilon=1), ledger=tmp_path / "b.ledger")
    monkeypatch.setattr(Facts, "listed", None)
    with pytest.raises(ParameterError, match=r"cost has 1,000,001 values.*bin\(cost, 0, 10, 100\)"):
        clinic.contributions(by=["age", "cost"])
    with pytest.raises(ParameterError, match=r"day has 7,671 values.*year\(day\)"):
        clinic.contributions(by="day")


def test_rows_are_somebody_each(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="who has one row"):
        curator(tmp_path, table([1]), unit=dp.rows()).contributions(epsilon=1)


def test_cut_is_about_one_bound(tmp_path: Path) -> None:
    found = curator(tmp_path, table([1])).contributions(epsilon=1)
    for wrong, says in (
        ({}, "One bound"),
        ({"rows": 2, "groups": 1}, "One bound"),
        ({"groups": 2}, "not asked"),
        ({"rows": 0}, "rows"),
    ):
        with pytest.raises(ParameterError, match=says):
            found.cut(**wrong)


# Advice.


def concluded(study: Any, cells: Any, account: Any) -> Contributions:
    """What is concluded from these noisy cells."""
    result: Contributions = study.finish(
        Noisy((tuple(np.asarray(one)[None] for one in cells),), study.share, "made up"), Receipt(account)
    )
    return result


def zipf(persons: int, most: int) -> Any:
    """How many persons of so many have 1, 2, ... rows."""
    weights = 1 / np.arange(1, most + 1) ** 2.0
    return np.repeat(np.arange(1, most + 1), np.round(persons * weights / weights.sum()).astype(int))


@pytest.mark.diagonal
@pytest.mark.parametrize(("epsilon", "usual"), [("0.1", 0.07), ("0.5", 0.01), ("100", 0.01)])
@pytest.mark.parametrize("later", ["0.05", "1"])
@pytest.mark.parametrize(
    "rows_of", [zipf(10_000, 300), np.repeat([1, 365], [9000, 1000]), np.full(10_000, 10)], ids=["Zipf", "two", "ten"]
)
def test_advice_is_nearly_as_good_as_the_best_bound(tmp_path: Path, rows_of: Any, epsilon: str, usual: float, later: str) -> None:
    """10,000 persons, and some draws of noise with a fixed seed: by how many of all rows a count is usually off under the advice,
    beyond what it is off under the best bound of all."""
    study = curator(tmp_path, table([1])).contributions(later=float(later)).priced(Cost("epsilon", Fraction(epsilon)))
    account, grid = dp.Budget(epsilon=1).open(), study.grids["rows"]
    exact = np.bincount(np.searchsorted(grid.tops, rows_of), minlength=len(grid.tops))
    chance, scale = np.random.default_rng(5), 1 / float(epsilon)

    def error(most: int) -> float:
        return float(np.hypot(np.maximum(rows_of - most, 0).sum(), np.sqrt(2) * most / float(later)) / rows_of.sum())

    best, found = min(map(error, range(1, 1025))), []
    for _ in range(31):
        advice = concluded(study, [exact + np.round(chance.laplace(0, scale, len(exact))).astype(int)], account)
        assert advice.suggested is not None
        found.append(error(advice.suggested.rows) - best)
    assert np.median(found) < usual


def test_intervals_cover_what_a_bound_takes_away(tmp_path: Path) -> None:
    """Of 400 draws with a fixed seed, all four intervals cover as often as they say."""
    rows_of = zipf(2_000, 300)
    study = curator(tmp_path, table([1])).contributions(cap=64).priced(Cost("epsilon", Fraction(1, 2)))
    account, grid = dp.Budget(epsilon=1).open(), study.grids["rows"]
    capped = np.minimum(rows_of, 65)
    exact, chance = np.bincount(np.searchsorted(grid.tops, capped), minlength=len(grid.tops)), np.random.default_rng(6)
    lost = np.maximum(capped - 9, 0).sum()
    truth = {
        "persons": (rows_of > 9).sum(),
        "persons_share": (rows_of > 9).mean(),
        "rows": lost,
        "rows_share": lost / capped.sum(),
    }
    covered = dict.fromkeys(truth, 0)
    for _ in range(400):
        noise = np.round(chance.laplace(0, 2, len(exact))).astype(int)
        cut = concluded(study, [exact + noise], account).cut(rows=9)
        for name, value in truth.items():
            covered[name] += cut.outputs[name].lower[0] <= value <= cut.outputs[name].upper[0]
    assert min(covered.values()) >= 380


def test_advice_on_groups(tmp_path: Path) -> None:
    """Everybody is in two wards of four, with five rows in each: no more than the end of their cell is asked for. The noise has
    scale 1/500: no cell is off."""
    held = pa.table(
        {"pid": np.repeat(np.arange(5000), 10), "ward": np.tile(list("aaaaabbbbb"), 5000), "age": np.zeros(50_000, int)}
    )
    held = held.append_column("sex", held["age"]).append_column("city", held["ward"])
    found = curator(tmp_path, held).contributions(by="ward", epsilon=1000, later=1)
    assert (found.suggested.rows, found.suggested.groups) == (6, 2)
    assert 'dp.person("pid", rows=6, groups=2)' in str(found)
    eager = curator(tmp_path / "other", held).contributions(by="ward", epsilon=1000, later=0.001)
    assert (eager.suggested.rows, eager.suggested.groups) == (4, 1)


@pytest.mark.diagonal
@pytest.mark.parametrize("rows_of", [[], [1], [10**4] * 3, [1] * 5], ids=["nobody", "one person", "beyond the cap", "a few"])
@pytest.mark.parametrize("by", [None, "ward"])
@pytest.mark.parametrize("epsilon", [0.01, 1000])
def test_nothing_makes_it_fail(tmp_path: Path, rows_of: list[int], by: Any, epsilon: float) -> None:
    """What is said of little data is said from noisy numbers."""
    found = curator(tmp_path, table(rows_of)).contributions(by=by, epsilon=epsilon)
    assert str(found)
    assert found.cut(rows=8)["persons"][0] >= 0
    if epsilon == 1000:
        assert (found.suggested is None) == (not rows_of)
        assert ("more than 1,024 rows" in str(found)) == (len(rows_of) == 3)


def test_a_unit_is_written_as_its_owner_writes_it() -> None:
    unit = dp.person('the "id"', rows=2, groups=1, neighbours="replace", size=5)
    assert eval(write_unit(unit), {"dp": dp}) == unit
