"""Noise in a cube: the same digits give the same numbers twice, its largest number is a gamma law, and each follows its own."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from reference import cube as second
from reference import statistics
from scipy.special import gammaincc
from scipy.stats import gamma
from support.recorded import replay

from discreet.noise import cube

SCALES = [Fraction(1, 3), Fraction(7), Fraction(10**6), Fraction(2**45, 3)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("size", [1, 2, 40])
def test_the_same_digits_give_the_same_numbers(scale: Fraction, size: int) -> None:
    dice = random.Random(f"{scale} {size}")
    for _ in range(20):
        centre = [Fraction(dice.randrange(-(10**9), 10**9), dice.randrange(1, 10**6)) for _ in range(size)]
        words = [dice.getrandbits(64) for _ in range(2 * size + 1)]
        found = replay(lambda centre=centre: cube.rounded(scale, centre), words + [dice.getrandbits(64)] * 4 * (2 * size + 1))
        assert found.value == second.draw(scale, centre, words)
        assert found.words_left == 4 * (2 * size + 1)  # no digits but these were looked at


def test_a_radius_of_digits_that_are_all_zero_is_looked_at_further() -> None:
    """The first 64 digits of one uniform leave its logarithm without a bound; its next ones are looked at, and are 1/2."""
    words = [2**63 + 12345, 0, 2**63] + [2**63] * 3
    found = replay(lambda: cube.rounded(Fraction(5), [Fraction(0)]), words)
    assert found.words_left == 0
    assert found.value == [0]


def test_more_digits_settle_a_number_next_to_its_boundary() -> None:
    """A direction of 2^-64 moves a centre of 1/2 off its boundary by less than the cells of 64 digits say."""
    words = [2**63, 2**63, 2**63, 2**63 + 1, 5, 7]
    found = replay(lambda: cube.rounded(Fraction(3), [Fraction(1, 2)]), words)
    assert (found.value, found.words_left) == ([1], 0)
    words = [2**63 - 1, 2**63, 2**63, 2**63 + 1, 5, 7]
    found = replay(lambda: cube.rounded(Fraction(3), [Fraction(1, 2)]), words)
    assert (found.value, found.words_left) == ([0], 0)


@pytest.mark.parametrize("size", [1, 3])
def test_the_law(size: int) -> None:
    """Chi-square, a false alarm below 1e-7 each. The largest number is t times a gamma law of ``size``, as density
    r^(m-1) e^-r on the surfaces of cubes says; P(|x| > s t) is that of a uniform share of a gamma law of m + 1."""
    scale, draws = 10**6, 4000
    found = np.array([cube.rounded(Fraction(scale), [Fraction(0)] * size) for _ in range(draws)]) / scale
    ends = gamma(size).ppf(np.arange(1, 20) / 20)
    placed = np.bincount(np.searchsorted(ends, np.abs(found).max(axis=1)), minlength=20)
    assert statistics.chi_square(placed, np.full(20, draws / 20)) > statistics.ALARM
    far = np.array([0.3, 0.8, 1.5, 3.0])
    beyond = gammaincc(size + 1, far) - far / size * gammaincc(size, far)
    shares = -np.diff(np.array([1.0, *beyond, 0.0]))
    for column in found.T:
        placed = np.bincount(np.searchsorted(far, np.abs(column)) + 5 * (column > 0), minlength=10)
        assert statistics.chi_square(placed, np.concatenate([shares, shares]) * draws / 2) > statistics.ALARM
