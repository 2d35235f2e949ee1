"""Uniform integers below bounds of their own: the same bits as one by one, and a stuck generator is noticed."""

from __future__ import annotations

import numpy as np
import pytest
from support.recorded import replay

from discreet.errors import EntropyError
from discreet.noise.coins import uniform, uniform_each


def test_each_is_what_it_would_be_alone() -> None:
    """Words that fit at once: below every bound the lowest bits decide, as for a single bound."""
    bounds = np.array([1, 2, 3, 4, 5, 7, 8, 9, 1000, 2**20, 2**31 - 1, 2**31])
    for seed in range(30):
        tape = np.random.default_rng(seed).integers(0, 2**64, bounds.size, dtype=np.uint64).tolist()
        done = replay(lambda: uniform_each(bounds), [*tape, *[0] * 12])
        for bound, word, drawn in zip(bounds.tolist(), tape, done.value.tolist(), strict=True):
            alone = replay(lambda bound=bound: uniform(bound, 1), [word, 0]).value[0]
            assert drawn == alone < bound


def test_words_too_large_are_drawn_again_in_order() -> None:
    assert replay(lambda: uniform_each(np.array([3, 5, 3])), [3, 7, 3, 2, 6, 3, 1, 0]).value.tolist() == [2, 1, 0]


def test_a_stuck_generator_is_reported() -> None:
    with pytest.raises(EntropyError, match="cannot be working"):
        replay(lambda: uniform_each(np.array([3])), [3] * 2100)
