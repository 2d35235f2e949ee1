"""Synthetic data at the gate: what one unit moves, what is spent, what is kept, and that only released numbers decide."""

from __future__ import annotations

import itertools
from collections.abc import Callable
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
from discreet.mechanisms import Exponential, Gaussian, Laplace, PermuteAndFlip
from discreet.mechanisms.base import Recording, recorded
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.values import Histograms, add_up, join_cells, misfits, read_records
from discreet.schema.table import Schema
from discreet.synthetic.request import _scans
from discreet.synthetic.rounds.measuring import Measurements

UNITS: dict[str, Any] = {
    "rows": dp.rows(),
    "rows replaced": dp.rows(neighbours="replace", size=300),
    "persons": dp.person("who", rows=2, groups=3),
    "persons replaced": dp.person("who", rows=2, groups=3, neighbours="replace"),
}
BUDGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pure": (dp.Budget(epsilon=3), {"epsilon": 1.7}),
    "approximate": (dp.Budget(epsilon=3, delta=1e-6), {"epsilon": 1.7}),
    "concentrated": (dp.Budget(rho=1), {"rho": 0.3}),
}


@pytest.mark.diagonal
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("budget", BUDGETS)
def test_the_price_is_the_sum_of_its_parts_to_the_last_unit(unit: str, budget: str, tmp_path: Path) -> None:
    total, cost = BUDGETS[budget]
    curator = clinic(tmp_path, table(300), unit=UNITS[unit], budget=total)
    with recorded() as record:
        model = curator.synthesize(columns=["age", "sex", "smokes"], bins={"age": 50}, seconds=0.1, **cost)
    measured = model.measured
    assert measured.complete
    assert measured.spent == measured.cost.amount  # exact fractions
    assert len(record) == len(measured.own) + len(measured.later) + len(measured.choices)
    parts = sum((release.mechanism.privacy for release in record), dp.Privacy())
    if budget == "pure":
        assert curator.budget.spent.epsilon == 1.7
        assert sum((_epsilon(one) for one in record), Fraction(0)) == measured.cost.amount == Fraction(17, 10)
    else:
        assert Fraction(parts.rho).limit_denominator(10**9) == measured.cost.amount.limit_denominator(10**9)
        assert measured.cost.amount == (Fraction(3, 10) if budget == "concentrated" else total.rho_of(Fraction(17, 10)))
    (entry,) = curator.history()
    assert entry.state == "answered"
    assert curator.synthesize(columns=["age", "sex", "smokes"], bins={"age": 50}, seconds=0.1, **cost).repeated
    assert len(curator.history()) == 1


def _epsilon(release: Recording) -> Fraction:
    mechanism = release.mechanism
    assert isinstance(mechanism, (Laplace, PermuteAndFlip))
    return mechanism.epsilon if isinstance(mechanism, PermuteAndFlip) else Fraction(mechanism.sensitivity) / mechanism.scale


SMALL: dict[str, Any] = {"x": dp.integer(0, 50), "g": dp.category("a", "b", "c"), "b": dp.boolean()}


@pytest.mark.usefixtures("replayed")
@pytest.mark.diagonal
@pytest.mark.parametrize("unit", [*UNITS])
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=8), dp.Budget(epsilon=8, delta=1e-6)], ids=["pure", "approximate"])
def test_neighbours_never_move_what_is_measured_beyond_what_is_declared(
    unit: str, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replayed on extreme neighbours: every value before noise against its sensitivity, every step after the same answers."""
    some = curators.extreme_pairs
    monkeypatch.setattr(
        curators, "extreme_pairs", lambda schema: itertools.islice(some(schema), 0, None, 9 if unit[0] == "r" else 2)
    )
    protected = {
        "rows replaced": dp.rows(neighbours="replace", size=7),
        "persons": dp.person("id", rows=2, groups=2),
        "persons replaced": dp.person("id", rows=2, groups=2, neighbours="replace"),
    }.get(unit, dp.rows())
    schema = Schema(SMALL, protected)

    def make(source: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=protected, columns=SMALL, budget=budget, ledger=ledger)

    found = replay_curator(make, lambda curator: str(curator.synthesize(epsilon=2, seconds=0.02)), schema)
    assert not found.violated, str(found)
    assert found.releases >= 5 * found.pairs


@pytest.mark.usefixtures("replayed")
def test_neighbours_never_move_distances_beyond_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    some, protected = curators.extreme_pairs, dp.person("id", rows=2, groups=2)
    monkeypatch.setattr(curators, "extreme_pairs", lambda schema: itertools.islice(some(schema), 0, None, 3))

    def make(source: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=protected, columns=SMALL, budget=dp.Budget(epsilon=8, delta=1e-6), ledger=ledger)

    def ask(curator: dp.Curator) -> str:
        return str(curator.quality(curator.synthesize(epsilon=2, seconds=0.02), epsilon=2))

    found = replay_curator(make, ask, Schema(SMALL, protected))
    assert not found.violated, str(found)


@pytest.mark.usefixtures("replayed")
def test_an_audit_finds_a_marginal_that_moves_too_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same replay notices where counts are doubled behind the mechanism's back."""
    from discreet.synthetic.rounds import measuring

    schema = Schema(SMALL, dp.rows())
    monkeypatch.setattr(measuring, "add_up", lambda *given: Secret(2 * open_secret(add_up(*given))))

    def make(source: pa.Table, ledger: Path) -> dp.Curator:
        return dp.Curator(source, unit=dp.rows(), columns=SMALL, budget=dp.Budget(epsilon=8), ledger=ledger)

    found = replay_curator(make, lambda curator: str(curator.synthesize(epsilon=2, seconds=0.02)), schema)
    assert found.violated
    assert "moved by 2, declared 1" in str(found)


def table_of(cells: dict[tuple[int, ...], int], sizes: tuple[int, ...]) -> Secret[Any]:
    places = np.array([np.ravel_multi_index(cell, sizes) for cell in cells], dtype=np.int64)
    counts = np.array([*cells.values()], dtype=np.int64)
    return Secret(Histograms(1, int(np.prod(sizes)), np.zeros(len(cells), dtype=np.int64), places, counts))


def test_marginals_of_a_sparse_histogram_are_its_sums() -> None:
    sizes = (3, 4, 2)
    draw = np.random.default_rng(1)
    whole = draw.integers(0, 5, sizes)
    sparse = table_of({cell: int(n) for cell, n in np.ndenumerate(whole) if n}, sizes)
    for counted in (sparse, Secret(whole.reshape(1, -1))):
        records = read_records(counted, sizes)
        for axes in ((0,), (1, 2), (2, 0), (0, 1, 2)):
            kept = whole.transpose([*axes, *(i for i in range(3) if i not in axes)])
            wanted = kept.sum(axis=tuple(range(len(axes), 3))).ravel()
            assert open_secret(add_up(records, axes)).tolist() == wanted.tolist()
            assert open_secret(add_up(records, axes, 8)).tolist() == (256 * wanted).tolist()
    places = [np.array([0, 1, 0]), np.array([0, 0, 0, 1]), np.array([0, 1])]
    joined = open_secret(add_up(join_cells(read_records(sparse, sizes), places), (0, 1)))
    assert joined.tolist() == [
        int(whole[[0, 2], :3].sum()),
        int(whole[[0, 2], 3].sum()),
        int(whole[1, :3].sum()),
        int(whole[1, 3].sum()),
    ]


def test_scores_move_by_their_sensitivity_and_no_further() -> None:
    """A row that comes moves a distance by 1, up where there are too many and down where there are too few, times its weight."""
    guess, weights, less = np.array([10 << 8, 10 << 8]), [256, 100], [0, 77]

    def scores(counts: tuple[int, int]) -> list[int]:
        both = [Secret(np.array(counts)), Secret(np.array(counts))]
        return [int(one) for one in open_secret(misfits(both, [guess, guess], weights, less, 8))]

    base = scores((20, 5))
    assert base == [256 * (15 << 8), 100 * ((15 << 8) - 77)]
    up, down = scores((21, 5)), scores((20, 6))
    assert [after - before for before, after in zip(base, up, strict=True)] == [256 << 8, 100 << 8]
    assert [after - before for before, after in zip(base, down, strict=True)] == [-(256 << 8), -(100 << 8)]
    for a, b in itertools.product((0, 9, 10, 11, 2**45), repeat=2):  # also where counts are cut off
        moved = [after - before for before, after in zip(scores((a, b)), scores((a + 1, b)), strict=True)]
        assert abs(moved[0]) <= 256 << 8
        assert abs(moved[1]) <= 100 << 8


@pytest.mark.parametrize("unit", UNITS)
def test_declared_sensitivities_are_those_of_the_unit(unit: str, tmp_path: Path) -> None:
    curator = clinic(tmp_path, table(300), unit=UNITS[unit], budget=dp.Budget(rho=1))
    with recorded() as record:
        curator.synthesize(columns=["age", "sex", "smokes"], bins={"age": 50}, seconds=0.1, rho=0.1)
    noise = {release.mechanism.sensitivity for release in record if isinstance(release.mechanism, Gaussian)}
    choices = {release.mechanism.sensitivity for release in record if isinstance(release.mechanism, Exponential)}
    rows = {"rows": 1, "rows replaced": 1, "persons": 2 << 12, "persons replaced": 2 << 12}[unit]
    replaced = "replaced" in unit
    assert choices == {(2 if replaced else 1) * rows << 16}
    assert len(noise) == 1
    parts = 2**8 if unit == "rows replaced" else 1
    assert float(noise.pop()) / parts == pytest.approx(rows * (2**0.5 if replaced else 1), rel=0.01)


def watch_until(rounds: int) -> Callable[[Any], None]:
    def watch(done: Any) -> None:
        if done.rounds == rounds:
            raise KeyboardInterrupt

    return watch


def test_an_interrupt_keeps_what_was_measured_and_the_price(tmp_path: Path) -> None:
    curator = clinic(tmp_path, budget=dp.Budget(rho=1))
    model = curator.synthesize(rho=0.5, seconds=0.2, watch=watch_until(2))
    assert not model.measured.complete
    assert len(model.measured.later) == 2
    assert "interrupted" in str(model)
    assert model.measured.spent < model.measured.cost.amount
    assert curator.budget.spent.rho == 0.5
    assert [entry.state for entry in curator.history()] == ["answered"]
    again = curator.synthesize(rho=0.5, seconds=0.2)
    assert again.repeated
    assert not again.measured.complete
    assert len(model.sample(100)) == 100


def test_an_interrupt_before_all_columns_are_counted_has_no_model(tmp_path: Path) -> None:
    curator = clinic(tmp_path, budget=dp.Budget(rho=1))
    with pytest.raises(KeyboardInterrupt):
        curator.synthesize(rho=0.5, seconds=0.2, watch=watch_until(0))
    assert curator.budget.spent.rho == 0.5


def test_what_is_asked_for_more_is_measured_again(tmp_path: Path) -> None:
    curator = clinic(tmp_path, table(300), budget=dp.Budget(rho=1))
    first = curator.synthesize(columns=["sex", "smokes"], rho=0.1, seconds=0.1)
    assert curator.synthesize(columns=["sex", "smokes"], rho=0.05, seconds=0.1).repeated
    assert not curator.synthesize(columns=["sex", "smokes"], rho=0.2, seconds=0.1).repeated
    assert not curator.synthesize(columns=["sex", "smokes"], rho=0.2, seconds=0.1, targets="sex").repeated
    assert Measurements.read(first.measured.write()).write() == first.measured.write()


def test_budgets_refuse_before_anything_is_counted(tmp_path: Path) -> None:
    curator = clinic(tmp_path, table(300), budget=dp.Budget(rho=1))
    with pytest.raises(dp.errors.BudgetExceeded):
        curator.synthesize(rho=1.01)
    with pytest.raises(dp.errors.ParameterError, match="ask with a rho"):
        curator.synthesize(epsilon=1)
    assert curator.budget.spent.rho == 0


@pytest.mark.parametrize("unit", ["rows", "persons replaced"])
@pytest.mark.parametrize("share", [1e-15, 10**6])
def test_no_cost_is_too_small_or_too_large_for_a_model(unit: str, share: float, tmp_path: Path) -> None:
    curator = clinic(tmp_path, table(50), unit=UNITS[unit], budget=dp.Budget(rho=10**7))
    model = curator.synthesize(columns=["age", "sex", "smokes"], rho=share, seconds=0.1)
    assert model.measured.complete
    assert len(model.sample(20)) == 20
    assert len(curator.quality(model, rho=share).lines) >= 3


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_no_rows_few_rows_and_constant_columns_change_nothing_public(rows: int, tmp_path: Path) -> None:
    """The same price, the same columns, a model and rows of it; and no sentence that others do not get."""
    source = table(3).slice(0, rows)
    found = clinic(tmp_path, source, budget=dp.Budget(rho=1)).synthesize(rho=0.1, seconds=0.1)
    assert found.measured.complete
    assert found.measured.spent == Fraction(1, 10)
    assert found.columns == ("age", "sex", "smokes", "debt", "day", "visits")
    assert len(found.sample(50)) == 50


def test_one_column_and_a_small_table_as_one_histogram(tmp_path: Path) -> None:
    curator = clinic(tmp_path, budget=dp.Budget(rho=10**6))
    alone = curator.synthesize(columns=["sex"], rho=10**5)
    assert not alone.measured.later
    counts = {row["sex"]: row["rows"] for row in alone.marginal("sex").rows()}
    assert counts["f"] == pytest.approx(table()["sex"].to_pylist().count("f"), abs=2)
    whole = curator.synthesize(columns=["sex", "smokes"], rho=10**5)
    assert [one.columns for one in whole.measured.later] == [(0, 1)]
    assert not whole.measured.choices


def test_columns_beyond_one_number_are_scanned_in_parts() -> None:
    names = [f"c{i}" for i in range(94)]
    for together in (2, 3):
        sizes = [7] * 47  # 10^40
        scans = _scans(sizes, together, names)
        assert all(np.prod([float(sizes[c]) for c in one]) <= 2.0**62 for one in scans)
        pairs = {pair for one in scans for pair in itertools.combinations(one, together)}
        assert len(pairs) == len(list(itertools.combinations(range(47), together)))
    assert _scans([10] * 18, 3, names) == [tuple(range(18))]
    with pytest.raises(dp.errors.ParameterError, match=r"10\^79 combinations of cells take.*fewer bins for c0 \(7 cells\), c1"):
        _scans([7] * 94, 4, names)


def test_many_columns_are_measured_in_pairs(tmp_path: Path) -> None:
    """40 columns with 10^38 combinations: more than one scan holds, and more triples than are compared."""
    draw = np.random.default_rng(4)
    first = draw.integers(0, 9, 500)
    source = pa.table({f"c{i}": first if i in (3, 30) else draw.integers(0, 9, 500) for i in range(40)})
    columns = {f"c{i}": dp.integer(0, 8, missing=0) for i in range(40)}
    curator = clinic(tmp_path, source, columns=columns, budget=dp.Budget(rho=10**4))
    model = curator.synthesize(rho=10**3, seconds=0.2, workload=[["c3", "c30"], ["c0", "c1"]])
    drawn = model.sample(400).table
    assert sum(a == b for a, b in zip(drawn["c3"].to_pylist(), drawn["c30"].to_pylist(), strict=True)) > 380
