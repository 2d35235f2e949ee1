"""The descent: it finds distributions that were measured, keeps what is impossible out, and goes on from where it was."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.synthetic.inference.fit import Noisy, fit
from discreet.synthetic.inference.tree import Tree

SIZES = (3, 4, 2, 3)
SETS = [(0, 1), (1, 2), (2, 3), (0, 3)]


def measured(noise: float, seed: int = 1) -> tuple[np.ndarray, list[Noisy]]:
    draw = np.random.default_rng(seed)
    whole = draw.gamma(0.7, size=SIZES)
    whole *= 10_000 / whole.sum()
    found = []
    for columns in SETS:
        counts = whole.sum(axis=tuple(c for c in range(4) if c not in columns))
        found.append(Noisy(columns, counts + noise * draw.normal(size=counts.shape), max(noise, 1.0)))
    return whole, found


def test_marginals_that_agree_are_found() -> None:
    _, some = measured(0)
    found = fit(Tree.over(SIZES, SETS), some, 10_000, 1000)
    for one in some:
        np.testing.assert_allclose(10_000 * found.beliefs.project(one.columns), one.counts, atol=1.0)
    assert found.loss < 0.5  # a sum over 34 cells of squares, each in units of one row


def test_it_is_where_no_small_change_is_better() -> None:
    """The best distribution: against it, every other one of the same family is worse to first order."""
    _, some = measured(60.0)
    tree = Tree.over(SIZES, SETS)
    found = fit(tree, some, 10_000, 3000)
    draw = np.random.default_rng(5)
    for _ in range(30):
        logs = [log + 1e-3 * draw.normal(size=log.shape) for log in found.logs]
        beliefs = tree.calibrate(logs, {})
        loss = sum(float((((10_000 * beliefs.project(one.columns) - one.counts) / 60.0) ** 2).sum()) / 2 for one in some)
        assert loss >= found.loss - 1e-3


def test_steps_never_lose_and_a_start_is_used() -> None:
    _, some = measured(30.0)
    tree = Tree.over(SIZES, SETS)
    losses = [fit(tree, some, 10_000, steps).loss for steps in (1, 5, 20, 80)]
    assert losses == sorted(losses, reverse=True)
    early = fit(tree, some, 10_000, 20)
    assert fit(tree, some, 10_000, 1, early).loss <= early.loss
    wider = Tree.over(SIZES, [*SETS, (0, 1, 2)])
    assert fit(wider, some, 10_000, 1, early).loss <= 1.05 * early.loss  # on another tree it goes on too


def test_what_cannot_be_has_no_probability() -> None:
    _, some = measured(30.0)
    table = np.ones((3, 4))
    table[0, :2] = 0
    found = fit(Tree.over(SIZES, SETS), some, 10_000, 50, zeros=[((0, 1), table)])
    assert found.beliefs.project((0, 1))[0, :2].tolist() == [0, 0]
    assert found.beliefs.project((0, 1)).sum() == pytest.approx(1)


def test_negative_counts_and_large_weights_do_no_harm() -> None:
    some = [Noisy((0,), np.array([-500.0, 3.0, -20.0]), 1e-3), Noisy((1,), np.array([1e9, -1e9, 0.0, 0.0]), 1e6)]
    found = fit(Tree.over(SIZES, [(0,), (1,)]), some, 1.0, 100)
    assert np.isfinite(found.loss)
    assert all(np.isfinite(table).all() and (table >= 0).all() for table in found.beliefs.marginals)
