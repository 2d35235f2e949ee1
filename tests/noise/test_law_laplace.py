"""Geometric, discrete Laplace and rounded Laplace draws follow the textbook's mass functions.

Every comparison raises a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference import laws, statistics

from discreet.errors import ParameterError
from discreet.noise import laplace

DRAWS = 1_000_000
SCALES = [Fraction(1, 3), Fraction(1), Fraction(15, 2), Fraction(100)]
OFFSETS = [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Fraction(1)]


def reach(scale: Fraction) -> int:
    """Beyond this lies one draw in a million."""
    return int(14 * scale) + 2


@pytest.mark.parametrize("scale", SCALES)
def test_geometric(scale: Fraction) -> None:
    draws = laplace.geometric(scale, DRAWS)
    assert draws.min() >= 0
    assert statistics.fit(draws, lambda x: laws.geometric(scale, x), 0, reach(scale)) > statistics.ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_discrete(scale: Fraction) -> None:
    draws = laplace.discrete(scale, DRAWS)
    law = lambda x: laws.discrete_laplace(scale, x)  # noqa: E731
    assert statistics.fit(draws, law, -reach(scale), reach(scale)) > statistics.ALARM


@pytest.mark.diagonal
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("offset", OFFSETS)
def test_rounded(scale: Fraction, offset: Fraction) -> None:
    draws = laplace.rounded(scale, np.full(DRAWS // 2, float(offset)), lambda _: offset)
    law = lambda x: laws.rounded_laplace(scale, offset, x)  # noqa: E731
    assert statistics.fit(draws, law, -reach(scale), reach(scale)) > statistics.ALARM


def test_rounded_with_a_different_offset_each() -> None:
    scale = Fraction(5, 2)
    offsets = [OFFSETS[i % len(OFFSETS)] for i in range(DRAWS)]
    draws = laplace.rounded(scale, np.array([float(f) for f in offsets]), offsets.__getitem__)
    for i, offset in enumerate(OFFSETS):  # five comparisons: a false alarm below 5e-7
        law = lambda x, offset=offset: laws.rounded_laplace(scale, offset, x)  # noqa: E731
        assert statistics.fit(draws[i :: len(OFFSETS)], law, -reach(scale), reach(scale)) > statistics.ALARM


def test_neighbouring_draws_are_independent() -> None:
    scale = Fraction(1)
    draws = np.clip(laplace.discrete(scale, 2 * DRAWS), -3, 3) + 3
    pairs = draws[0::2] * 7 + draws[1::2]
    masses = np.array([float(laws.discrete_laplace(scale, x)) for x in range(-3, 4)])
    masses[0] = masses[6] = (1 - masses[1:6].sum()) / 2
    expected = np.outer(masses, masses).ravel() * pairs.size
    assert statistics.chi_square(np.bincount(pairs, minlength=49), expected) > statistics.ALARM


@pytest.mark.parametrize("size", [0, 1, 2, 8191, 8192, 8193])
def test_any_number_of_draws(size: int) -> None:
    scale, offsets = Fraction(2**30), np.zeros(size)
    for draws in (
        laplace.geometric(Fraction(3), size),
        laplace.discrete(scale, size),
        laplace.rounded(scale, offsets, lambda _: Fraction(0)),
    ):
        assert draws.shape == (size,)
        assert draws.dtype == np.int64


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1), 2**52 + Fraction(1, 2**60)])
def test_scales_the_proofs_do_not_cover_are_refused(scale: Fraction) -> None:
    for sampler in (laplace.geometric, laplace.discrete):
        with pytest.raises(ParameterError):
            sampler(scale, 1)
    with pytest.raises(ParameterError):
        laplace.rounded(scale, np.zeros(1), lambda _: Fraction(0))
