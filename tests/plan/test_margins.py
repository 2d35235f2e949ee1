"""Margins by the closed form are those of least squares with all matrices written out; strategies are good ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.plan.margins.lattice import Lattice, Level, below, make_whole, share_out
from discreet.plan.noises import Noise, reach
from discreet.plan.release import Spread

ONE = Fraction(1)
MEASURED: dict[str, tuple[tuple[int, ...], list[tuple[Level, float]]]] = {
    "all levels": ((3, 4), [((0, 1), 4.0), ((0,), 3.0), ((1,), 5.0), ((), 2.0)]),
    "cells": ((3, 4, 2), [((0, 1, 2), 1.0)]),
    "some, one twice": ((2, 3, 4), [((0, 1, 2), 3.0), ((1,), 4.0), ((), 2.0), ((0, 2), 4.0), ((0, 2), 7.0)]),
    "no cells": ((2, 3, 4), [((0, 1), 3.0), ((1, 2), 4.0), ((), 2.0)]),
    "an axis of one value": ((1, 3), [((0, 1), 3.0), ((0,), 4.0)]),
}


def matrix(sizes: tuple[int, ...], level: Level) -> np.ndarray:
    found = np.ones((1, 1))
    for axis, size in enumerate(sizes):
        found = np.kron(found, np.eye(size) if axis in level else np.ones((1, size)))
    return found


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize(("sizes", "levels"), MEASURED.values(), ids=MEASURED)
def test_estimates_and_their_noise_are_those_of_least_squares(
    sizes: tuple[int, ...], levels: list[tuple[Level, float]], law: str
) -> None:
    measured = [(level, Spread(law, scale)) for level, scale in levels]  # type: ignore[arg-type]
    lattice = Lattice(sizes, tuple(measured))
    parts = [(matrix(sizes, level), spread.deviation**2) for level, spread in measured]
    covariance = np.linalg.pinv(sum(m.T @ m / variance for m, variance in parts))
    rng = np.random.default_rng(5)
    noisy = [rng.normal(size=len(m)) for m, _ in parts]
    cells = covariance @ sum(m.T @ y / variance for (m, variance), y in zip(parts, noisy, strict=True))
    tables = [y.reshape([sizes[axis] for axis in level]) for y, (level, _) in zip(noisy, levels, strict=True)]
    components = lattice.components(tables)
    for level in below(level for level, _ in levels):
        asked = matrix(sizes, level)
        assert lattice.compose(components, level).ravel() == pytest.approx(asked @ cells)
        assert lattice.deviation(level) ** 2 == pytest.approx((asked @ covariance @ asked.T)[0, 0])
        weights = np.concatenate([(asked @ covariance @ m.T / v)[0] * math.sqrt(v) for m, v in parts])
        noises = lattice.noise(level)
        assert math.hypot(*(one.deviation for one in noises)) == pytest.approx(lattice.deviation(level))
        largest = sorted((abs(weight) for weight in weights if abs(weight) > 1e-9), reverse=True)[:6]
        if law == "laplace":
            assert sorted((one.deviation for one in noises), reverse=True)[: len(largest)][-1] >= largest[-1] - 1e-9
            assert {round(x, 9) for x in largest} <= {round(one.deviation, 9) for one in noises}


def test_half_widths_cover_what_they_say() -> None:
    """200,000 draws: the shares of misses have a standard error below 5e-4, and the least allowed is 8 of them below 95 %."""
    lattice = Lattice((3, 4), tuple((level, Spread("laplace", 3.0)) for level in ((0, 1), (0,), ())))
    rng = np.random.default_rng(3)
    draws = 200_000
    tables = [rng.laplace(scale=3.0, size=(draws, *([3, 4][axis] for axis in level))) for level, _ in lattice.measured]
    inverse = lattice.inverse
    for level in ((0, 1), (0,), (1,), ()):
        weights = [
            lattice.compose(lattice.components([unit if i == j else 0 * one[0] for j, one in enumerate(tables)]), level).ravel()[
                0
            ]
            for i, table in enumerate(tables)
            for unit in np.eye(table[0].size).reshape(-1, *table[0].shape)
        ]
        errors = np.concatenate([one.reshape(draws, -1) for one in tables], axis=1) @ np.array(weights)
        half = float(reach([Noise(one, np.ones(1)) for one in lattice.noise(level)], 0.05)[0])
        assert 0.946 < (np.abs(errors) <= half).mean() < 0.956, level
    assert len(inverse) == 4


def strategy(sizes: tuple[int, ...], *, pure: bool) -> tuple[dict[Level, Fraction], Lattice]:
    alike = tuple((level, ONE) for level in below([tuple(range(len(sizes)))]))
    shares = share_out(sizes, alike, alike, pure=pure)
    law, power = ("laplace", 1.0) if pure else ("gaussian", 0.5)
    return shares, Lattice(sizes, tuple((level, Spread(law, float(share) ** -power)) for level, share in shares.items()))  # type: ignore[arg-type]


@pytest.mark.parametrize(("pure", "most"), [(True, 0.40), (False, 0.25)])
def test_the_total_of_ten_by_ten_is_worth_more_than_its_cells(*, pure: bool, most: float) -> None:
    """Cells alone have the deviation 1 (times sqrt 2 for Laplace noise) for the whole cost, and their sum ten times that."""
    shares, lattice = strategy((10, 10), pure=pure)
    assert sum(shares.values()) == 1
    assert lattice.deviation(()) / (10 * math.sqrt(2 if pure else 1)) <= most


@pytest.mark.parametrize("sizes", [(2, 3), (10, 10), (100, 2), (5, 4, 3), (2, 2, 2, 2), (50, 40)])
@pytest.mark.parametrize("pure", [True, False])
def test_no_even_split_nor_any_single_level_is_better(sizes: tuple[int, ...], *, pure: bool) -> None:
    shares, best = strategy(sizes, pure=pure)
    levels = below([tuple(range(len(sizes)))])
    assert sum(shares.values()) == 1
    law, power = ("laplace", 1.0) if pure else ("gaussian", 0.5)

    def loss(lattice: Lattice) -> float:
        return sum(lattice.deviation(level) ** 2 for level in levels)

    for chosen in ([levels[0]], levels, [levels[0], ()], [levels[0], *levels[-2:]]):
        spread = Spread(law, float(len(chosen)) ** power)  # type: ignore[arg-type]
        assert loss(best) <= loss(Lattice(sizes, tuple((level, spread) for level in chosen))) * (1 + 1e-3), chosen


def test_a_weight_makes_its_level_better() -> None:
    alike = dict.fromkeys(below([(0, 1)]), ONE)
    plain = share_out((4, 5), tuple(alike.items()), tuple(alike.items()), pure=False)
    heavy = share_out((4, 5), tuple((alike | {(): Fraction(50)}).items()), tuple(alike.items()), pure=False)
    assert heavy[()] > 2 * plain[()]


def test_a_public_total_costs_nothing_and_is_exact() -> None:
    levels = below([(0, 1)])
    norms = tuple((level, Fraction(bool(level))) for level in levels)
    shares = share_out((4, 5), tuple((level, ONE) for level in levels), norms, pure=False)
    assert () not in shares
    assert sum(shares.values()) == 1
    lattice = Lattice((4, 5), (((0, 1), Spread("gaussian", 2.0)), ((), Spread("none", 0.0))))
    components = lattice.components([np.arange(20.0).reshape(4, 5), np.array(1000.0)])
    assert lattice.compose(components, ()) == 1000
    assert lattice.deviation(()) == 0
    assert lattice.compose(components, (0, 1)).sum() == pytest.approx(1000)
    assert lattice.deviation((0, 1)) == pytest.approx(2 * math.sqrt(0.95))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 2**32))
def test_whole_numbers_add_up_and_are_near(sizes: list[int], seed: int) -> None:
    cells = np.random.default_rng(seed).normal(2, 4, sizes)
    found = make_whole(cells)
    assert (found == np.rint(found)).all()
    assert (found >= 0).all()
    assert found.sum() == max(0, np.rint(cells.sum()))
    whole = np.abs(np.rint(cells))
    assert (make_whole(whole) == whole).all()


def test_levels_below() -> None:
    assert below([(0, 1), (2,)]) == ((0, 1), (0,), (1,), (2,), ())
    assert len(below([tuple(range(6))])) == 64
    assert all(a < b for level in below([(0, 1, 2)]) for a, b in itertools.pairwise(level))
