"""Tails of sums: never underestimated, and not by much overestimated."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.local.tails import bound_sums

ROWS = {
    "few": np.array([[0, 0, 0, 5], [1, 1, 2, 4], [0, 3, 3, 6]] * 4),
    "coins": np.array([[0, 1]] * 60),
    "one bucket in 56": np.array([[1] + [0] * 55] * 512),
    "a common word": np.array([[900] + [3, 1, 2, 0, 5, 2, 2] * 3] * 40),
    "different hashes": np.array([[number % 7, number % 3, 2, 0, number % 5] for number in range(100)]),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("miss", [1e-3, 1e-7])
def test_a_threshold_is_reached_as_seldom_as_told(name: str, miss: float) -> None:
    """The law of a sum of one whole number of each row, by convolution; and no threshold is far above the least one."""
    law = np.ones(1)
    for row in ROWS[name]:
        law = np.convolve(law, np.bincount(row) / row.size)
    tail, mean = law[::-1].cumsum()[::-1], ROWS[name].mean(axis=1).sum()
    bound = bound_sums(ROWS[name] - ROWS[name].mean(axis=1, keepdims=True), miss) + mean
    if tail[-1] > miss:  # even the largest sum is no rarity
        assert bound == np.inf
        return
    reached = int(np.ceil(bound - 1e-9))
    assert reached < tail.size or tail[-1] > miss / 20
    assert reached >= tail.size or tail[reached] <= miss
    least, spread = int(np.flatnonzero(tail <= miss)[0]), np.sqrt(ROWS[name].var(axis=1).sum())
    assert bound - least < 0.75 * spread + 1


def test_a_sum_that_does_not_vary_exceeds_nothing_and_one_coin_is_never_seldom_enough() -> None:
    assert bound_sums(np.zeros((512, 4)), 1e-6) == 0
    assert bound_sums(np.array([[-1.0, 1.0]]), 1e-6) == np.inf
