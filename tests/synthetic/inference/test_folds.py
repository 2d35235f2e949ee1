"""Folds against numpy's own sums and broadcasting, for tables of any shape; and what they are for: little work."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from discreet.synthetic.inference.folds import Fold, Marginals

SIZES = st.sampled_from([1, 2, 3, 4, 5, 7, 12])


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    shape = draw(st.lists(SIZES, min_size=1, max_size=6))
    return np.random.default_rng(draw(st.integers(0, 99))).normal(size=shape)


@given(table=tables(), seed=st.integers(0, 99))
def test_a_fold_adds_up_over_some_axes_and_spreads_over_them(table: np.ndarray, seed: int) -> None:
    draw = np.random.default_rng(seed)
    kept = draw.random(table.ndim) < 0.5
    fold, over = Fold.of(table.shape, kept.tolist()), tuple(np.flatnonzero(~kept))
    before, flat = table.copy(), table.ravel()
    np.testing.assert_allclose(fold.add_up(flat), table.sum(axis=over).ravel(), atol=1e-12)
    assert (table == before).all()
    small = draw.normal(size=[size if stays else 1 for size, stays in zip(table.shape, kept, strict=True)])
    for verb, by_numpy in ((fold.add, before + small), (fold.multiply, before * small), (fold.divide, before / small)):
        found = before.ravel().copy()
        verb(found, small.ravel())
        assert (found == by_numpy.ravel()).all()


@given(table=tables(), seed=st.integers(0, 99))
def test_marginals_are_those_of_the_whole_and_all_are_spread_at_once(table: np.ndarray, seed: int) -> None:
    draw = np.random.default_rng(seed)
    axes = sorted(draw.choice(20, table.ndim, replace=False).tolist())
    wanted = [tuple(sorted(draw.choice(axes, draw.integers(table.ndim + 1), replace=False).tolist())) for _ in range(5)]
    wanted += wanted[:1]  # the same twice
    sums = Marginals.of(axes, table.shape, wanted)
    whole = table.copy()
    parts = []
    for some, found in zip(wanted, sums.add_up(table.ravel()), strict=True):
        over = tuple(place for place, axis in enumerate(axes) if axis not in some)
        np.testing.assert_allclose(found, table.sum(axis=over).ravel(), atol=1e-12)
        parts.append(draw.normal(size=found.size))
        whole += parts[-1].reshape([size if axis in some else 1 for size, axis in zip(table.shape, axes, strict=True)])
    kept, found = [one.copy() for one in parts], table.ravel().copy()
    sums.add(found, parts)
    np.testing.assert_allclose(found, whole.ravel(), atol=1e-12)
    assert all((one == before).all() for one, before in zip(parts, kept, strict=True))


def test_a_part_is_made_of_a_part_and_long_lines_come_first() -> None:
    # Of two parts the smaller is made of the larger; and a last axis of two cells does not make lines of two.
    sums = Marginals.of((0, 1, 2, 3), (40, 30, 20, 2), [(0, 1), (0,), (1, 3)])
    assert [source for _, source, _ in sums.made] == [-1, -1, 0]
    (first, *rest) = Fold.of((40, 30, 20, 2), (True, False, False, True)).steps
    assert first[2] >= 20
    assert sum(math.prod(step) for step in rest) <= math.prod(first) / 5
