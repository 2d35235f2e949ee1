"""Shares of a cost: exact, a third for every column's own counts, and nothing is left over."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.synthetic.rounds.selection import Schedule


@pytest.mark.parametrize("seed", range(20))
def test_shares_add_up_to_the_cost_whatever_is_annealed(seed: int) -> None:
    draw = np.random.default_rng(seed)
    cost = Fraction(int(draw.integers(1, 10**9)), int(draw.integers(1, 10**9)))
    schedule = Schedule(cost, int(draw.integers(1, 60)))
    own = schedule.own([int(size) for size in draw.integers(1, 2000, draw.integers(1, 30))])
    assert sum(own) == cost / 3
    assert schedule.left == cost * 2 / 3
    later = []
    while (share := schedule.take()) is not None:
        later.append(share)
        if draw.random() < 0.2:
            schedule.anneal()
    assert all(share > 0 for share in (*own, *later))
    assert sum(own) + sum(later) == cost


def test_own_counts_are_all_there_is_where_there_are_no_rounds() -> None:
    schedule = Schedule(Fraction(1, 7), 0)
    assert sum(schedule.own([3, 40])) == Fraction(1, 7)
    assert schedule.take() is None


def test_shares_of_own_counts_leave_the_least_error() -> None:
    """Noise leaves n / sqrt(share) in n cells: moving a part of a share to another column makes the sum no smaller."""
    sizes = [2, 5, 16, 42, 100, 1000]
    shares = [float(share) for share in Schedule(Fraction(3), 10).own(sizes)]

    def left(some: list[float]) -> float:
        return sum(size / share**0.5 for size, share in zip(sizes, some, strict=True))

    for one in range(len(sizes)):
        for other in range(len(sizes)):
            moved = shares.copy()
            moved[one], moved[other] = moved[one] - 0.1 * shares[one], moved[other] + 0.1 * shares[one]
            assert one == other or left(moved) > left(shares)
