"""Slopes within runs: what they keep, how near they are to what changes evenly, what they leave alone, and their limits."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.synthetic.domain import code, facts_of_column
from discreet.synthetic.inference.fit import fit
from discreet.synthetic.inference.tree import Tree
from discreet.synthetic.rounds.levels import Levels, Seen
from discreet.synthetic.rounds.slopes import add_slopes, even_out, flatten
from discreet.synthetic.zeros import Zeros

AGE = code("age", facts_of_column(dp.integer(0, 39, missing=0)))
LOST = code("age", facts_of_column(dp.integer(0, 39)))  # and what is missing
YES = code("yes", facts_of_column(dp.boolean(missing=False)))
RUNS = np.repeat(np.arange(5), 8)
LEVELS = Levels((40, 2), (RUNS, None))


def truth() -> np.ndarray:
    """Forty ages with some rows each, of which a part grows evenly."""
    rows, part = np.random.default_rng(6).uniform(50, 150, 40), np.linspace(0.1, 0.9, 40)
    return np.stack([rows * (1 - part), rows * part], axis=1)


def by_run(table: np.ndarray) -> np.ndarray:
    return np.stack([table[run == RUNS].sum(axis=0) for run in range(5)])


@pytest.mark.parametrize("axis", [0, 1])
def test_even_changes_keep_all_that_was_measured_and_are_nearer_to_what_changes_evenly(axis: int) -> None:
    real = truth()
    flat = flatten(real, 0, RUNS)
    np.testing.assert_allclose(by_run(flat), by_run(real))
    np.testing.assert_allclose(flat.sum(axis=1), real.sum(axis=1))
    even = even_out(flat.T if axis else flat, axis, RUNS, AGE)
    even = even.T if axis else even
    np.testing.assert_allclose(by_run(even), by_run(real), rtol=1e-6)
    np.testing.assert_allclose(even.sum(axis=1), real.sum(axis=1), rtol=1e-6)
    assert even.min() >= 0
    assert np.abs(even - real).sum() < 0.4 * np.abs(flat - real).sum()  # what is left is in the outer halves of both ends


def test_what_is_missing_is_no_neighbour() -> None:
    real = np.concatenate([truth(), [[700.0, 3.0]]])
    runs = np.append(RUNS, 5)
    flat = flatten(real, 0, runs)
    even = even_out(flat, 0, runs, LOST)
    np.testing.assert_array_equal(even[-1], flat[-1])
    np.testing.assert_allclose(even[:-1], even_out(flat[:-1], 0, RUNS, AGE))


def test_one_run_and_empty_runs_have_no_slopes() -> None:
    table = np.zeros((40, 2))
    np.testing.assert_array_equal(even_out(table, 0, RUNS, AGE), table)
    table[:8] = 5.0
    assert np.isfinite(even_out(table, 0, RUNS, AGE)).all()
    np.testing.assert_array_equal(even_out(truth(), 0, np.zeros(40, dtype=np.int64), AGE), truth())


def test_a_fitted_model_gets_slopes_and_agrees_as_well_with_what_was_measured() -> None:
    real = truth()
    total = float(real.sum())
    seen = [
        Seen((0,), (), real.sum(axis=1), 1.0),
        Seen((1,), (), real.sum(axis=0), 1.0),
        Seen((0, 1), (0,), by_run(real), 1.0),
    ]
    noisy = [LEVELS.noisy(one) for one in seen]
    plain = fit(Tree.over(LEVELS.shape, [one.columns for one in noisy]), noisy, total, 2000)
    sloped = add_slopes(LEVELS, (AGE, YES), seen, plain, total, 1000, Zeros())
    before, after = (total * LEVELS.project(one.beliefs, (0, 1)) for one in (plain, sloped))
    np.testing.assert_allclose(by_run(after), by_run(before), rtol=1e-4)
    assert np.abs(after - real).sum() < 0.5 * np.abs(before - real).sum()
    assert plain.tree.cells < sloped.tree.cells <= 1000
    assert add_slopes(LEVELS, (AGE, YES), seen, plain, total, 60, Zeros()) is plain  # it would need eighty cells
    by_values = [*seen, Seen((0, 1), (), real, 1.0)]
    assert add_slopes(LEVELS, (AGE, YES), by_values, plain, total, 1000, Zeros()) is plain  # nothing is left to guess
