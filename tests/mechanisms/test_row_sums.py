"""Clipped sums over rows: whole numbers within the ball whatever rows hold, exact whatever the blocks, and as far as declared."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.mechanisms.rows import sums
from discreet.mechanisms.rows.block import MOST_ROWS, Block, part
from discreet.mechanisms.rows.sums import Added, Ball, Cells, Dense, Outer, Sparse, add_up, direct, join_totals, outer_ball
from discreet.mechanisms.secret import Secret, open_secret

ROWS, WIDTH = 12, 6


def lines(seed: int, rows: int = ROWS) -> np.ndarray:
    """Rows of every size, with what floating point is worst at."""
    made = np.random.default_rng(seed).normal(size=(rows, WIDTH)) * 10.0 ** np.random.default_rng(seed).integers(
        -300, 300, (rows, 1)
    )
    made[0] = 0.0
    made[1] = 1 / np.sqrt(WIDTH)  # on the sphere, to a rounding
    made[2] = np.eye(WIDTH)[0]
    made[3] = 5e-324
    made[4] = 1.7e308
    made[5, 2] = np.nan
    made[6, 1] = np.inf
    return made


def dense(block: Block) -> Added:
    return Dense(block["x"])  # type: ignore[arg-type]


def outer(order: int):
    def of(block: Block) -> Added:
        x = np.asarray(block["x"], dtype=float)
        return Outer(x[:, :2], *direct(x[:, 2:], order))  # type: ignore[arg-type]

    return of


def cells(block: Block) -> Added:
    x = np.asarray(block["x"], dtype=float)
    codes = np.nan_to_num(np.abs(x), nan=9, posinf=9).astype(np.int64) % 5 - 1
    return Cells(codes, (3,) * WIDTH, x)


def sparse(block: Block) -> Added:
    x = np.asarray(block["x"], dtype=float)
    rows, places = np.indices(x.shape)
    return Sparse(rows.ravel(), (places.ravel() * 2) % 5, x.ravel(), 5, len(x))


SHAPES = {"dense": (dense, WIDTH), "outer": (None, 8), "cells": (cells, 18), "sparse": (sparse, 5)}


def summed(shape: str, x: np.ndarray, order: int, starts: np.ndarray | None = None, pieces: int = 1) -> tuple[np.ndarray, Ball]:
    of, width = SHAPES[shape]
    ball = outer_ball(1, order) if shape == "outer" else Ball.of(1, order)  # type: ignore[arg-type]
    block = Block({"x": x}, len(x), starts)
    blocks = list(part(block, -(-len(x) // pieces)))
    found = add_up([Secret(one) for one in blocks], of or outer(order), ball, width)
    assert open_secret(found.value).dtype == np.int64
    return open_secret(found.value), ball


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("persons", [False, True])
def test_a_unit_moves_a_sum_no_further_than_the_ball(shape: str, order: int, persons: bool) -> None:
    """Exactly, in whole numbers, for random and extreme rows; and what is long moves it nearly so far."""
    farthest = 0.0
    for seed in range(8):
        x = lines(seed)
        starts = np.arange(0, ROWS, 3) if persons else None
        whole, ball = summed(shape, x, order, starts)
        for unit in range(4 if persons else ROWS):
            gone = range(3 * unit, 3 * unit + 3) if persons else [unit]
            fewer, _ = summed(shape, np.delete(x, list(gone), axis=0), order, starts[:-1] if persons else None)
            moved = [abs(int(a) - int(b)) for a, b in zip(whole, fewer, strict=True)]
            size = sum(one**order for one in moved)
            assert size <= ball.radius**order
            farthest = max(farthest, size / ball.radius**order)
    assert farthest > 0.999


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("persons", [False, True])
def test_no_error_of_floating_point_leaves_the_ball(
    shape: str, order: int, persons: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here doubles are wrong by a hundredth: whatever is then outside adds nothing, by its norm in whole numbers."""
    monkeypatch.setattr(sums, "_LOWERED", 1.01)
    starts = np.array([0]) if persons else None
    for seed in range(8):
        for line in lines(seed)[:, None, :]:
            alone, ball = summed(shape, line, order, starts)
            assert sum(abs(int(one)) ** order for one in alone) <= ball.radius**order


def test_what_has_another_shape_is_refused() -> None:
    """One number a row would be repeated in every place of the sum."""
    block = Secret(Block({"x": np.ones((3, 1))}, 3))
    for of in (dense, lambda _: Dense(np.ones((2, 2))), lambda _: Sparse(np.zeros(0, int), np.zeros(0, int), np.zeros(0), 3, 3)):
        with pytest.raises(ParameterError, match="every place of the sum"):
            add_up([block], of, Ball.of(1), 2)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_order_of_rows_and_blocks_changes_nothing(shape: str) -> None:
    x = lines(3, 40)
    whole, _ = summed(shape, x, 2)
    mixed, _ = summed(shape, x[np.random.default_rng(1).permutation(40)], 2, pieces=7)
    assert (whole == mixed).all()


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_are_those_of_the_clipped_vectors(shape: str) -> None:
    """Against another way: each row's vector written out, clipped in doubles, and added."""
    x = np.random.default_rng(5).normal(size=(30, WIDTH)) / 3
    whole, ball = summed(shape, x, 2)
    if shape == "dense":
        vectors = x
    elif shape == "outer":
        vectors = np.einsum("ij,ik->ijk", x[:, :2], x[:, 2:]).reshape(30, -1)
    elif shape == "cells":
        vectors, codes = np.zeros((30, 18)), np.abs(x).astype(int) % 5 - 1
        for i, j in np.argwhere((codes >= 0) & (codes < 3)):
            vectors[i, 3 * j + codes[i, j]] = x[i, j]
    else:
        vectors = np.zeros((30, 5))
        for j in range(WIDTH):
            vectors[:, 2 * j % 5] += x[:, j]
    clipped = vectors / np.maximum(1, np.linalg.norm(vectors, axis=1))[:, None]
    assert np.allclose(whole * float(ball.step), clipped.sum(axis=0), atol=1e-3)


def test_no_rows_give_a_sum_of_the_same_shape() -> None:
    assert open_secret(add_up([], dense, Ball.of(1), WIDTH).value).tolist() == [0] * WIDTH
    none = Block({"x": np.zeros((0, WIDTH))}, 0, np.zeros(0, dtype=np.int64))
    assert open_secret(add_up([Secret(none)], dense, Ball.of(1), WIDTH).value).tolist() == [0] * WIDTH


def test_a_sum_of_very_many_rows_does_not_wrap() -> None:
    """2^12 blocks of 2^16 full rows fill 63 bits; the sum is cut off there, and not before."""
    block = Secret(Block({"x": np.ones((MOST_ROWS, 1))}, MOST_ROWS))
    ball = Ball(1 << 40, Fraction(1, 1 << 40))
    full = open_secret(add_up([block] * 70, lambda b: Dense(b["x"]), ball, 1).value)  # type: ignore[arg-type]
    assert 2**61 < int(full[0]) <= 2**62


def test_a_sample_takes_units_whole() -> None:
    """Of persons of two rows either both take part or none; all do at rate 1, and about half at 1/2 (P(miss) < 1e-9)."""
    ids = np.repeat(np.eye(2000), 2, axis=0)
    block = Secret(Block({"x": ids}, 4000, np.arange(0, 4000, 2)))
    ball = Ball.of(2)
    taken = open_secret(add_up([block], dense, ball, 2000, rate=Fraction(1, 2)).value) * float(ball.step)
    assert {*np.round(taken, 3).tolist()} == {0.0, 2.0}
    assert 860 < (taken > 1).sum() < 1140
    assert open_secret(add_up([block], dense, ball, 2000, rate=Fraction(1)).value).min() > 0


def test_totals_that_are_joined_move_together() -> None:
    two = [add_up([Secret(Block({"x": np.eye(2)[:1]}, 1))], dense, Ball.of(1), 2) for _ in range(2)]
    joined = join_totals(two)
    assert len(open_secret(joined.value)) == 4
    assert 2 * two[0].ball.radius ** 2 <= joined.ball.radius**2 < 2 * (two[0].ball.radius + 1) ** 2


def test_parts_keep_persons_whole() -> None:
    starts = np.array([0, 5, 6, 20])
    block = Block({"x": np.arange(25)}, 25, starts)
    found = list(part(block, 8))
    assert np.concatenate([one["x"] for one in found]).tolist() == list(range(25))
    assert [one.units for one in found] == [2, 1, 1]
    assert all(one.starts is not None and one.starts[0] == 0 for one in found)
