"""Strategies: no unit moves their answers further than they say, and some unit does move them as far."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from support.refusals import refused

from discreet.errors import ParameterError
from discreet.mechanisms.matrix.strategy import Contribution, Margins, Matrix, Merged, Strategy

RANDOM = np.random.default_rng(20)
MATRICES = {
    "identity": np.eye(5, dtype=int),
    "total": np.ones((1, 5), dtype=int),
    "prefixes": np.tril(np.ones((5, 5), dtype=int)),
    "signed": RANDOM.integers(-3, 4, (4, 5)),
    "counting": RANDOM.integers(0, 3, (6, 5)),
    "differences": np.eye(5, dtype=int) - np.eye(5, k=1, dtype=int),
    "one cell": np.array([[3], [-4]]),
    "a cell that counts nowhere": np.array([[0, 1, 2], [0, 2, 1]]),
    "large": RANDOM.integers(-(2**20), 2**20, (5, 5)),
}
MARGINS = {
    "table": Margins((2, 3), (((), 2), ((0,), 1), ((1,), 3), ((0, 1), 4))),
    "tree": Margins((2, 2, 2), (((0,), 1), ((0, 1), 2), ((0, 1, 2), 5))),
    "tree with empty leaves": Margins((2, 3), (((0,), 1), ((0, 1), 2)), cells=5),
    "total alone": Margins((6,), (((), 1),)),
    "one cell": Margins((1, 1), (((), 1), ((0, 1), 2))),
}
MERGED = {
    "merged": Merged(Matrix([[1, 0], [2, 1]]), np.array([0, 0, 1, -1, 0, 0])),
    "merged tree": Merged(Margins((2, 2), (((0,), 1), ((0, 1), 2))), np.array([3, 1, 1, 0, 2, 3, 3])),
}
STRATEGIES: dict[str, Strategy] = {name: Matrix(rows) for name, rows in MATRICES.items()} | MARGINS | MERGED  # type: ignore[assignment]
BODIES = [Contribution(weight, cells, kind) for weight in (1, 3) for cells in (1, 2, 4) for kind in ("add-remove", "replace")]
every = pytest.mark.parametrize("name", STRATEGIES)


def corners(n: int, one: Contribution) -> np.ndarray:
    """Every extreme contribution of one unit, or difference of two: a column each."""
    sets = [chosen for many in range(min(one.cells, n) + 1) for chosen in combinations(range(n), many)]
    flags = np.zeros((len(sets), n), dtype=np.int64)
    for flag, chosen in zip(flags, sets, strict=True):
        flag[list(chosen)] = one.weight
    return (flags[:, None] - flags).reshape(-1, n).T if one.replaced else flags.T


@every
@pytest.mark.parametrize("one", BODIES, ids=str)
def test_no_unit_moves_it_further_and_one_cell_exactly_as_far(name: str, one: Contribution) -> None:
    strategy = STRATEGIES[name]
    change = strategy.written_out() @ corners(strategy.cells, one)
    l1, square = np.abs(change).sum(axis=0).max(), (change**2).sum(axis=0).max()
    assert l1 <= strategy.l1(one)
    assert square <= strategy.square(one)
    if one.cells == 1:
        assert (l1, square) == (strategy.l1(one), strategy.square(one))
    assert strategy.l1(one) <= (2 if one.replaced else 1) * one.weight * sum(
        sorted(np.abs(strategy.written_out()).sum(axis=0))[-one.cells :]
    )


@every
@pytest.mark.parametrize("one", BODIES, ids=str)
def test_nor_does_one_in_between(name: str, one: Contribution) -> None:
    """Fractions of a weight, spread over any number of cells: random points of the body."""
    strategy, random = STRATEGIES[name], np.random.default_rng(3)
    for _ in range(20):
        ends = []
        for _ in range(2):
            v = random.random(strategy.cells) ** 4 * one.weight
            ends.append(v * min(1, one.weight * one.cells / v.sum()))
        change = strategy.written_out() @ (ends[0] - ends[1] if one.replaced else ends[0])
        assert np.abs(change).sum() <= strategy.l1(one) * (1 + 1e-12)
        assert (change**2).sum() <= strategy.square(one) * (1 + 1e-12)


def test_bounds_are_tight_where_the_structure_is_simple() -> None:
    identity, total = Matrix(np.eye(6, dtype=int)), Matrix(np.ones((1, 6), dtype=int))
    for cells in (1, 2, 3):
        assert identity.square(Contribution(5, cells)) == 25 * cells
        assert identity.square(Contribution(5, cells, "replace")) == 50 * cells
        assert total.square(Contribution(5, cells, "replace")) == total.square(Contribution(5, cells)) == 25 * cells**2
        assert total.l1(Contribution(1, cells, "replace")) == cells
    tree = Margins((2, 2, 2), (((0,), 1), ((0, 1), 1), ((0, 1, 2), 1)))
    for cells in (1, 2, 4, 8):  # neighbouring leaves: attained
        full = tree.written_out()[:, :cells].sum(axis=1)
        assert tree.square(Contribution(1, cells)) == int((full**2).sum())


def test_wide_and_long_matrices_are_bounded_without_all_pairs() -> None:
    """Beyond what is compared pair by pair, bounds stay bounds, and cost at most twice as much as what is attained."""
    one = Contribution(1, 1, "replace")
    wide = Matrix(np.eye(3, 3000, dtype=int) + np.eye(3, 3000, k=1, dtype=int))
    assert wide.square(one) == wide.l1(one) == 3  # (1, 1, 0) less (0, 0, 1)
    signed = Matrix(np.eye(3, 3000, dtype=int) - np.eye(3, 3000, k=1, dtype=int))
    assert 6 <= signed.square(one) <= 12  # (-1, 1, 0) less (0, -1, 1)
    long = Matrix(np.tile(np.eye(300, dtype=int), (5000 // 300, 1)))
    assert long.l1(one) == 2 * (5000 // 300)


@every
def test_answers_are_exact_whatever_the_size_of_counts(name: str) -> None:
    strategy = STRATEGIES[name]
    for size in (1, 2**40, 2**62, 2**70):
        counts = np.array([(-1) ** i * (size + i) for i in range(strategy.cells)], dtype=object)
        wanted = (strategy.written_out().astype(object) @ counts).tolist()
        assert strategy.answer(counts).tolist() == wanted
        if size < 2**63:
            assert strategy.answer(counts.astype(np.int64)).tolist() == wanted


def test_margins_are_those_of_the_table() -> None:
    table = np.arange(24).reshape(2, 3, 4)
    strategy = Margins(table.shape, (((), 2), ((1,), 3), ((0, 2), 1)))
    wanted = np.concatenate([[2 * table.sum()], 3 * table.sum(axis=(0, 2)), table.sum(axis=1).ravel()])
    assert strategy.answer(table.ravel()).tolist() == wanted.tolist()
    assert strategy.size == 1 + 3 + 8


@pytest.mark.parametrize(
    "rows", [[], [1, 2], [[1.5]], [[1], [1, 2]], [["a"]], [[0, 0]], [[2**21]], [[-(2**21)]], [[[1]]], [[True]], None]
)
def test_what_is_no_matrix_of_whole_numbers_is_refused(rows: object) -> None:
    refused(lambda: Matrix(rows), ParameterError, "strategy")


@pytest.mark.parametrize(
    ("shape", "levels", "cells"),
    [
        ((2, 2), (), 0),
        ((2, 2), (((1, 0), 1),), 0),
        ((2, 2), (((2,), 1),), 0),
        ((2, 2), (((0,), 0),), 0),
        ((2, 2), (((0,), 2**21),), 0),
        ((2, 2), (((0,), 1), ((0,), 2)), 0),
        ((2, 2), (((0,), 1),), 5),
        ((0, 2), (((0,), 1),), 0),
        ((2**11, 2**11), (((0,), 1),), 0),
    ],
)
def test_what_is_no_set_of_margins_is_refused(shape: Any, levels: Any, cells: int) -> None:
    with pytest.raises(ParameterError):
        Margins(shape, levels, cells)


def test_a_matrix_is_a_value_of_its_own() -> None:
    given = np.array([[1, 2], [3, 4]])
    one = Matrix(given)
    given[0, 0] = 7
    assert one == Matrix([[1, 2], [3, 4]]) != Matrix([[1, 2, 3, 4]])
    assert hash(one) == hash(Matrix([[1, 2], [3, 4]]))
    with pytest.raises(ValueError, match="read-only"):
        one.rows[0, 0] = 7
    assert [a == b for a, b in product(MARGINS.values(), repeat=2)].count(True) == len(MARGINS)
