"""Consistency: the projections are the nearest points, totals are kept, and the bias of cutting off is what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.stats import laplace, norm

from discreet.analysis.consistency import clamping_bias, project, round_to_total, whole_counts
from discreet.errors import ParameterError

NUMBERS = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e6, 1e6, width=32))


@pytest.mark.parametrize("count", [0, 0.5, 3, 20])
@pytest.mark.parametrize("deviation", [0.3, 1, 7])
def test_the_bias_of_cutting_off(count: float, deviation: float) -> None:
    laws = {"laplace": laplace(scale=deviation / math.sqrt(2)), "gaussian": norm(scale=deviation)}
    for name, law in laws.items():
        wanted, _ = quad(lambda z, law=law: (z - count) * law.pdf(z), count, count + 60 * deviation, epsabs=1e-14)
        assert clamping_bias(count, deviation, name) == pytest.approx(wanted, rel=1e-7, abs=1e-12)  # type: ignore[arg-type]


@given(NUMBERS, st.floats(0.01, 1e6), st.data())
def test_a_projection_is_the_nearest_point(estimates: np.ndarray, total: float, data: st.DataObject) -> None:
    """By its optimality: moving mass from any cell that has some to any other is not downhill."""
    spread = data.draw(arrays(np.float64, estimates.shape, elements=st.floats(0.1, 10)))
    found = project(estimates, total, spread)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9)
    slopes = (found - estimates) / spread
    size = 1e-7 * (np.abs(estimates).max() + total)
    assert slopes[found > size].max(initial=-math.inf) <= slopes.min() + 20 * size


def test_a_projection_agrees_with_another_solver() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        estimates, total = random.normal(3, 10, 8), 25.0
        heavy = 1e6  # the total as one more equation
        other, _ = nnls(np.vstack([np.eye(8), heavy * np.ones(8)]), np.append(estimates, heavy * total))
        assert project(estimates, total) == pytest.approx(other, abs=1e-5)


@given(NUMBERS, st.floats(-100, 1e6))
def test_whole_counts_add_up_to_the_rounded_total(estimates: np.ndarray, total: float) -> None:
    found = whole_counts(estimates, total)
    assert found.dtype == np.int64
    assert found.sum() == max(0, round(total))
    assert (found >= 0).all()
    assert np.abs(found - project(estimates, max(0, round(total)))).max() <= 1 + 1e-6


def test_tables_keep_their_shape_and_margins_add_up() -> None:
    table = np.random.default_rng(1).normal(2, 5, (4, 5))
    found = whole_counts(table, table.sum())
    assert found.shape == (4, 5)
    assert found.sum(axis=0).sum() == found.sum(axis=1).sum() == round(table.sum())


@pytest.mark.parametrize(
    ("cells", "total"),
    [
        ([0.5, 0.5], 1),
        ([1.2, 2.2], 3),
        ([0.0, 0.0, 0.4], 0),
        ([2.9999999, 0.9999999], 4),
        ([3.0], 3),
        ([2.0**51, 2.0**51], 2**52),
    ],
)
def test_rounding_to_a_total_that_is_nearly_theirs(cells: list[float], total: int) -> None:
    found = round_to_total(np.array(cells), total)
    assert found.sum() == total
    assert (found >= 0).all()


def test_what_cannot_be_made_consistent_is_refused() -> None:
    for call in (
        lambda: project(np.array([1.0, np.nan]), 1.0),
        lambda: project(np.array([]), 1.0),
        lambda: project(np.ones(2), 1.0, np.array([1.0, 0.0])),
        lambda: round_to_total(np.array([-1.0, 2.0]), 1),
        lambda: round_to_total(np.array([1.0, 2.0]), 30),
        lambda: clamping_bias(-1, 1, "laplace"),
        lambda: clamping_bias(1, 1, "cauchy"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ParameterError):
            call()


def test_cutting_off_cells_inflates_their_total_and_projecting_does_not() -> None:
    """A thousand empty cells and noise of deviation 10: cut off they add up to 3,989 on average. Means of 200 tables are within
    six standard errors, which fails with probability below 1e-8."""
    random = np.random.default_rng(9)
    noisy = random.normal(0, 10, (200, 1000))
    cut = np.maximum(noisy, 0).sum(axis=1)
    assert abs(cut.mean() - 1000 * clamping_bias(0, 10, "gaussian")) < 6 * cut.std() / math.sqrt(200)
    kept = np.array([project(table, table.sum()).sum() for table in noisy[:, :100] + 100])
    assert abs(kept.mean() - 10_000) < 6 * 100 / math.sqrt(200)
