"""Cells that are told apart: those that stand out, in runs or together, with shares that add up."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.synthetic.domain import code, facts_of_column
from discreet.synthetic.rounds.merging import keep_apart, merge


def test_spikes_stay_alone_and_neighbours_are_joined_until_they_stand_out() -> None:
    age = code("age", facts_of_column(dp.integer(0, 9, missing=0)))
    found = merge(age, np.array([1.0, 2, 900, 29, 29, 1, 0, -3, 500, 2]), 10.0)
    assert found.places.tolist() == [0, 0, 1, 2, 2, 3, 3, 3, 4, 5]
    np.testing.assert_allclose(np.bincount(found.places, found.shares), 1)


def test_rare_words_are_joined_wherever_they_stand_and_what_is_missing_never() -> None:
    ward = code("ward", facts_of_column(dp.category("a", "b", "c", "d")))
    found = merge(ward, np.array([1.0, 900, -2, 800, 0]), 10.0)
    assert found.places.tolist() == [0, 1, 0, 2, 3]
    assert found.shares[1] == found.shares[3] == found.shares[4] == 1


def test_noise_decides_how_far_shares_differ() -> None:
    """Differences that noise explains are gone; others stay."""
    age = code("age", facts_of_column(dp.integer(0, 3, missing=0)))
    even = merge(age, np.array([9.0, 11, 10, 10]), 10.0)
    assert even.shares.tolist() == [0.25] * 4
    uneven = merge(age, np.array([290.0, 10, 10, 10]), 100.0)
    assert uneven.count == 1
    assert uneven.shares[0] > 0.5
    assert uneven.shares.sum() == pytest.approx(1)


def test_cells_of_several_values_share_by_their_width() -> None:
    debt = code("debt", facts_of_column(dp.integer(0, 9, missing=0)), [0, 8])
    assert merge(debt, np.array([0.0, 0.0]), 10.0).shares.tolist() == [0.8, 0.2]
    assert keep_apart(debt).is_plain
