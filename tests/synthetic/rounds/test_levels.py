"""Levels of wide columns: runs by released counts, tables over axes and back, exact fits of what was measured by runs, files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from synthetic.clinic import clinic

import discreet as dp
from discreet.mechanisms.secret import Secret, open_secret
from discreet.mechanisms.values import add_up, read_records
from discreet.synthetic.domain import code, facts_of_column
from discreet.synthetic.inference.fit import fit
from discreet.synthetic.inference.tree import Tree
from discreet.synthetic.rounds.levels import RUNS, WIDE, Levels, Seen, cut_runs
from discreet.synthetic.rounds.measuring import Measurements
from discreet.synthetic.zeros import Zeros

SMALL = Levels((6, 3), (np.array([0, 0, 1, 1, 1, 2]), None))


def test_runs_have_about_as_many_rows_each_and_what_is_missing_is_alone() -> None:
    age = code("age", facts_of_column(dp.integer(0, 99)))
    counts = np.append(np.full(100, 10.0), 700.0)
    counts[40] = 2000.0
    runs = cut_runs(age, counts)
    assert runs is not None
    assert (np.diff(runs) >= 0).all()
    assert runs[-1] == runs[-2] + 1 <= RUNS  # missing
    assert (runs == runs[40]).sum() <= 3  # a spike, nearly by itself
    rows = np.bincount(runs, counts)[:-1]
    assert np.delete(rows, runs[40]).max() <= 3000 / RUNS + 10


def test_narrow_columns_words_and_columns_without_a_row_have_no_runs() -> None:
    age = code("age", facts_of_column(dp.integer(0, WIDE - 1, missing=0)))
    assert cut_runs(age, np.ones(WIDE)) is not None
    assert cut_runs(age, np.ones(WIDE - 1)) is None
    assert cut_runs(age, -np.ones(WIDE)) is None
    word = code("word", facts_of_column(dp.category(*(f"w{i}" for i in range(60)), missing="w0")))
    assert cut_runs(word, np.ones(60)) is None


@pytest.mark.parametrize("coarse", [(), (0,)])
def test_tables_are_spread_over_axes_and_gathered_again(coarse: tuple[int, ...]) -> None:
    assert SMALL.shape == (3, 3, 3)
    assert SMALL.axes_of((0, 1), coarse) == ((0, 2) if coarse else (0, 1, 2))
    table = np.random.default_rng(2).random(SMALL.shape_of((0, 1), coarse))
    spread = SMALL.spread(table, (0, 1), coarse)
    np.testing.assert_array_equal(SMALL.gather(spread, (0, 1), coarse), table)
    assert spread.sum() == pytest.approx(table.sum())
    ((axes, possible),) = SMALL.zeros(Zeros()).tables
    assert axes == (0, 1)
    assert possible.tolist() == [[1, 1, 0], [1, 1, 1], [1, 0, 0]]
    drawn = [np.array([0, 0, 1, 1, 1, 2]), np.array([0, 1, 0, 1, 2, 0]), np.zeros(6, dtype=np.int64)]
    assert [one.tolist() for one in SMALL.cells(drawn)] == [[0, 1, 2, 3, 4, 5], [0] * 6]


def test_what_was_measured_by_runs_is_fitted_as_by_brute_force() -> None:
    """Against the descent on all 18 cells of both columns at once, without runs, axes or trees."""
    draw = np.random.default_rng(4)
    truth = draw.gamma(0.8, size=(6, 3))
    truth *= 5000 / truth.sum()
    by_run = np.stack([np.bincount(SMALL.runs[0], truth[:, b]) for b in range(3)], axis=1)  # type: ignore[arg-type]
    seen = [
        Seen((0,), (), truth.sum(axis=1) + draw.normal(0, 30, 6), 30.0),
        Seen((1,), (), truth.sum(axis=0) + draw.normal(0, 30, 3), 30.0),
        Seen((0, 1), (0,), by_run + draw.normal(0, 20, (3, 3)), 20.0),
    ]
    noisy, never = [SMALL.noisy(one) for one in seen], SMALL.zeros(Zeros())
    tree = Tree.over(SMALL.shape, [one.columns for one in noisy])
    assert max(map(len, tree.cliques)) == 2  # places within runs are in no table with the other column
    found = SMALL.project(fit(tree, noisy, 5000, 2000, None, never.tables).beliefs, (0, 1))
    logs = np.zeros((6, 3))
    for _ in range(40_000):
        p = np.exp(logs - logs.max())
        p /= p.sum()
        one, other = ((5000 * p.sum(axis=1 - axis) - seen[axis].counts) / 900 for axis in (0, 1))
        run = np.add.reduceat(p, [0, 2, 5], axis=0)
        both = (5000 * run - seen[2].counts) / 400
        logs -= 1e-2 * (one[:, None] + other[None, :] + both[SMALL.runs[0]])
    np.testing.assert_allclose(5000 * found, 5000 * p, atol=1.0)
    assert found.sum() == pytest.approx(1)


def test_one_row_moves_a_marginal_by_runs_as_far_as_any_other() -> None:
    """The L1 and L2 norm that noise is made for, attained: one count, by the weight of the row."""
    table = np.random.default_rng(1).integers(0, 9, 18)
    runs = {0: SMALL.runs[0]}
    before = open_secret(add_up(read_records(Secret(table), (6, 3)), (0, 1), 0, runs))  # type: ignore[arg-type]
    assert before.sum() == table.sum()
    for cell in range(18):
        more = table.copy()
        more[cell] += 5
        moved = open_secret(add_up(read_records(Secret(more), (6, 3)), (0, 1), 0, runs)) - before  # type: ignore[arg-type]
        assert sorted(moved.tolist()) == [*[0] * 8, 5]
        assert moved[SMALL.runs[0][cell // 3] * 3 + cell % 3] == 5  # type: ignore[index]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> dp.Synthetic:
    """Two columns of a hundred values that hang together, of which the model may have no table: by runs alone."""
    folder, draw = tmp_path_factory.mktemp("levels"), np.random.default_rng(9)
    a = draw.integers(0, 100, 30_000)
    b = np.clip(a + draw.integers(-15, 16, 30_000), 0, 99)
    columns = {"a": dp.integer(0, 99), "b": dp.integer(0, 99), "c": dp.boolean()}
    with pytest.MonkeyPatch.context() as patched:
        for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
            patched.setenv(name, str(folder / "state"))
        source = pa.table({"a": a, "b": b, "c": a > 50})
        found = clinic(folder, source, columns=columns).synthesize(rho=1, seconds=1)
    assert isinstance(found, dp.Synthetic)
    return found


def test_wide_columns_are_measured_by_runs_and_read_by_values(model: dp.Synthetic) -> None:
    assert (0, 1) in {one.coarse for one in model.measured.later}
    assert model.measured.spent == model.measured.cost.amount
    assert "a in runs, b in runs" in str(model.report())
    whole = model.project((0, 1))
    assert whole.shape == (101, 101)
    assert whole.sum() == pytest.approx(1)
    far = np.abs(np.subtract.outer(np.arange(101), np.arange(101)))
    assert whole[:100, :100][far[:100, :100] > 50].sum() < 0.02  # runs of 13 values or so, and steps of 15
    rows = model.sample(5000, where={"a": (10, 12)}).to_pandas()
    assert {*rows["a"].unique()} <= {10, 11, 12}
    assert rows["b"].mean() < 30
    answer = model.marginal("a", "b")
    assert "measured together by runs of values" in str(answer)
    assert max(answer.outputs["rows"].errors or ()) > 0
    low, high = (model.sql(f"SELECT avg(b) AS b FROM data WHERE a < {end}").rows()[0]["b"] for end in (20, 90))
    assert low + 15 < high


def test_models_with_runs_are_written_and_read(model: dp.Synthetic, tmp_path: Path) -> None:
    text = model.measured.write()
    assert json.loads(text)["version"] == 2  # who knows no runs refuses it in a sentence
    assert Measurements.read(text).write() == text
    again = dp.Synthetic.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.project((0, 1, 2)), model.project((0, 1, 2)))
    assert str(again.report()) == str(model.report())


@pytest.mark.parametrize("runs", [[0] * 3, None, [1], "skipped", "backwards"])
def test_runs_that_cannot_be_are_refused(runs: object, model: dp.Synthetic) -> None:
    facts = json.loads(model.measured.write())
    own = facts["runs"][0]
    changed = {"skipped": [run + (run > 2) for run in own], "backwards": own[::-1]}
    facts["runs"][0] = changed[runs] if isinstance(runs, str) else runs
    assert not Measurements.read(json.dumps(facts)).is_whole
