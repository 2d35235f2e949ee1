"""The Laplace mechanism: its laws on integers, on coarse grids and on reals, and values of every kind and size taken exactly.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics
from support.depth import deep
from support.recorded import replay

from discreet import Laplace

DRAWS = 200_000
RNG = np.random.default_rng(1)
TAPES = [RNG.integers(0, 2**64, size=40, dtype=np.uint64).tolist() for _ in range(300)]


def cells(released: Any, mechanism: Laplace) -> list[int]:
    """Releases in steps of the grid; all must be whole."""
    steps = [Fraction(x) / Fraction(mechanism.grid) for x in np.atleast_1d(released).tolist()]
    assert all(step.denominator == 1 for step in steps)
    return [int(step) for step in steps]


def test_calibration_is_exact() -> None:
    assert Laplace(sensitivity=1, epsilon=0.1).scale == 10
    assert Laplace(sensitivity=10_000_000, epsilon=0.3).scale == Fraction(10**8, 3)
    assert Laplace(sensitivity=1, scale=0.7).epsilon == Fraction(10, 7)
    assert Laplace(sensitivity=1, epsilon=Decimal("0.1")) == Laplace(sensitivity=1, epsilon=np.float32(0.1))
    assert Laplace(sensitivity=1, epsilon=1) != Laplace(sensitivity=1.0, epsilon=1)


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(40)])
def test_the_discrete_law(scale: Fraction) -> None:
    drawn = Laplace(sensitivity=1, scale=scale).release(np.full(DRAWS, 1000)) - 1000
    reach = int(14 * scale) + 2
    assert statistics.fit(drawn, lambda x: laws.discrete_laplace(scale, x), -reach, reach) > statistics.ALARM


@pytest.mark.parametrize("scale", [Fraction(123456789, 1000), Fraction(2**30), Fraction(2**52)])
def test_the_discrete_law_at_large_scales(scale: Fraction) -> None:
    mechanism = Laplace(sensitivity=1, scale=scale)
    assert mechanism.grid == 1
    drawn = mechanism.release(np.zeros(DRAWS, dtype=np.int64))
    edges = [round(float(scale) * x) for x in np.linspace(-6, 6, 121)]
    assert statistics.fit_bins(drawn, lambda x: laws.discrete_laplace_cdf(scale, x), edges) > statistics.ALARM


@pytest.mark.parametrize(
    ("scale", "fraction"),
    [
        (Fraction(2**52) + Fraction(1, 3), Fraction(1, 2)),
        (Fraction(2**60), Fraction(1, 3)),
        (Fraction(10**30), Fraction(0)),
        (Fraction(2**900), Fraction(1, 3)),
    ],
)
def test_the_law_on_a_coarse_grid(scale: Fraction, fraction: Fraction) -> None:
    """A scale that is a tenth off is missed at most once in 1e5."""
    mechanism = Laplace(sensitivity=1, scale=scale)
    grid = mechanism.grid
    assert isinstance(grid, int)
    assert grid & (grid - 1) == 0
    assert 2**18 <= scale / grid <= 2**22
    start = 5 * grid + int(fraction * grid)
    drawn = np.array(cells(mechanism.release([start] * 20_000), mechanism)) - 5
    rest = Fraction(start % grid, grid)
    edges = [round(float(scale / grid) * x) for x in np.linspace(-4, 4, 61)]
    cdf = lambda x: laws.laplace_cdf(scale / grid, x + Fraction(1, 2) - rest)  # noqa: E731
    assert statistics.fit_bins(drawn, cdf, edges) > statistics.ALARM


@pytest.mark.parametrize("value", [10**30, -(10**30), 2**63, -(2**63) - 1, 10**400, 0])
@pytest.mark.parametrize("scale", [1, 2**60])
def test_integers_of_any_size(value: int, scale: int) -> None:
    """200 scales are exceeded with probability e^-200."""
    mechanism = Laplace(sensitivity=1, scale=scale)
    released = mechanism.release(value)
    assert type(released) is int
    assert released % mechanism.grid == 0
    assert abs(released - value) < 200 * scale + mechanism.grid
    assert all(abs(x - value) < 200 * scale + mechanism.grid for x in mechanism.release(np.array([value] * 2, dtype=object)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64])
def test_the_ends_of_every_integer_type_do_not_overflow(dtype: Any) -> None:
    ends = [int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)]
    mechanism = Laplace(sensitivity=1, scale=3)
    for _ in range(50):
        released = mechanism.release(np.array(ends, dtype=dtype)).tolist()
        assert all(type(x) is int and abs(x - end) < 600 for x, end in zip(released, ends, strict=True))
    beyond = any(mechanism.release(np.array(ends, dtype=dtype)).tolist()[1] > ends[1] for _ in range(200))
    assert beyond == (dtype is not np.int64)  # int64 stays int64, cut off after the noise
    assert abs(mechanism.release(ends[1]) - ends[1]) < 600


@pytest.mark.parametrize("edge", [2**31, 2**53, 2**62, 2**63 - 1, -(2**62), -(2**63) + 1])
def test_the_type_of_an_array_of_answers_says_nothing_about_the_data(edge: int) -> None:
    mechanism = Laplace(sensitivity=1, epsilon=1)
    assert len({mechanism.release(np.array([edge + move], dtype=np.int64)).dtype for move in (-1, 0)}) == 1


@pytest.mark.parametrize("edge", [2**63, -(2**63)])
def test_the_type_of_a_list_of_answers_says_nothing_about_the_data(edge: int) -> None:
    mechanism = Laplace(sensitivity=1, epsilon=1)
    assert len({mechanism.release([edge + move]).dtype for move in (-1, 0)}) == 1


def test_a_list_of_integers_on_both_sides_of_numpys_types() -> None:
    assert Laplace(sensitivity=1, epsilon=1).release([2**63, -1]).tolist()[0] > 2**62


class Column:
    """What data frames hand over: no list, no array, but willing to become one."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.numbers, dtype=dtype)


def test_a_column_of_a_data_frame() -> None:
    assert Laplace(sensitivity=1.0, epsilon=1).release(Column(0.5, 1.5)).shape == (2,)
    assert Laplace(sensitivity=1, epsilon=1).release(Column(1, 2, 3)).shape == (3,)


@pytest.mark.parametrize("scale", [1, 0.1, 3.7, 1e-9, 1e12, Fraction(1, 3), 2.0**-900, 2.0**900])
def test_the_grid_of_a_real_mechanism_is_a_public_power_of_two(scale: Any) -> None:
    mechanism = Laplace(sensitivity=1.0, scale=scale)
    grid = mechanism.grid
    assert isinstance(grid, float)
    assert math.frexp(grid)[0] == 0.5
    assert 2**18 <= mechanism.scale / Fraction(grid) <= 2**22
    span = float(mechanism.scale)
    cells(mechanism.release([0, span, -span / 3, span * 1e5, math.nextafter(span, 0)]), mechanism)


@pytest.mark.parametrize("value", [0.0, 0.1, -1 / 3, 12345.678, Fraction(1, 3), 7])
def test_the_real_law(value: Any) -> None:
    mechanism = Laplace(sensitivity=1.0, scale=1.5)
    drawn = np.array(cells(mechanism.release([value] * deep(20_000, 10_000)), mechanism))
    exact = Fraction(value) / Fraction(mechanism.grid)
    units = mechanism.scale / Fraction(mechanism.grid)
    edges = [round(exact) + round(float(units) * x) for x in np.linspace(-4, 4, 61)]
    cdf = lambda x: laws.laplace_cdf(units, x + Fraction(1, 2) - exact)  # noqa: E731
    assert statistics.fit_bins(drawn, cdf, edges) > statistics.ALARM


@pytest.mark.parametrize(
    "values",
    [
        (0.5, Fraction(1, 2), Decimal("0.5"), np.float16(0.5), [0.5]),
        (3, 3.0, np.int8(3), np.uint64(3), np.float32(3), Decimal(3)),
    ],
)
def test_a_number_is_the_same_number_however_it_is_written(values: tuple[Any, ...]) -> None:
    mechanism = Laplace(sensitivity=1.0, epsilon=1)
    for tape in TAPES[:20]:
        assert len({float(np.ravel(replay(lambda v=v: mechanism.release(v), tape).value)[0]) for v in values}) == 1


@pytest.mark.parametrize("rest", [Fraction(0), Fraction(1, 2), Fraction(3, 8), Fraction(1, 3)])
@pytest.mark.parametrize("start", [2**20, 3 * 2**29])
def test_the_same_noise_lands_on_the_same_cell_wherever_the_value_is(start: int, rest: Fraction) -> None:
    """x is taken exactly: moving it by whole cells moves the release by as much, for the same random words."""
    mechanism = Laplace(sensitivity=1.0, scale=1)
    near = rest * Fraction(mechanism.grid)
    for tape in TAPES:
        here, there = (replay(lambda x=x: mechanism.release(x), tape).value for x in (near, start + near))
        assert there - start == here


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(1000)])
@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.9, 0.95, 1 - 1e-12])
def test_error_is_the_least_that_covers(scale: Fraction, confidence: float) -> None:
    h, miss = Laplace(sensitivity=1, scale=scale).error(confidence), float(1 - Fraction(str(confidence)))
    beyond = lambda k: 2 * float(laws.discrete_laplace_cdf(scale, -k - 1))  # noqa: E731 - P(|X| > k)
    assert type(h) is int
    assert beyond(h) <= miss * (1 + 1e-12)
    assert h == 0 or beyond(h - 1) > miss * (1 - 1e-12)


@pytest.mark.parametrize("sensitivity", [1, 1.0])
def test_variance_of_the_largest_scales(sensitivity: Any) -> None:
    assert Laplace(sensitivity=sensitivity, scale=2**600).variance == math.inf


def test_variance_of_the_smallest_scales() -> None:
    assert Laplace(sensitivity=1, epsilon=1e300).variance == 0
