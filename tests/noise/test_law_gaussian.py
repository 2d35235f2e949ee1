"""Rounded and discrete Gaussian draws follow the textbook's mass functions.

Every comparison raises a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from reference import laws, statistics
from support.recorded import replay

from discreet.errors import ParameterError
from discreet.noise import bits, gaussian

DRAWS = 1_000_000
DEVIATIONS = [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(100), Fraction(333)]
OFFSETS = [Fraction(1, 3), Fraction(1, 2), Fraction(7, 10), Fraction(1)]


def reach(deviation: Fraction) -> int:
    """Beyond this lies one draw in two million."""
    return int(5 * deviation) + 2


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_rounded(deviation: Fraction) -> None:
    variance = deviation**2
    law = lambda x: laws.rounded_gaussian(variance, Fraction(0), x)  # noqa: E731
    draws = gaussian.rounded(variance, DRAWS)
    assert statistics.fit(draws, law, -reach(deviation), reach(deviation)) > statistics.ALARM


@pytest.mark.parametrize("variance", [Fraction(2), Fraction(1, 7), Fraction(1000, 3)])
@pytest.mark.parametrize("offset", OFFSETS)
def test_rounded_at_an_offset(variance: Fraction, offset: Fraction) -> None:
    end = reach(Fraction(float(variance) ** 0.5))
    law = lambda x: laws.rounded_gaussian(variance, offset, x)  # noqa: E731
    draws = gaussian.rounded(variance, DRAWS // 2 + 1, np.full(DRAWS // 2 + 1, float(offset)), lambda _: offset)
    assert statistics.fit(draws, law, -end, end) > statistics.ALARM


def test_rounded_with_a_different_offset_each() -> None:
    variance = Fraction(9, 4)
    offsets = [OFFSETS[i % 4] for i in range(DRAWS)]
    draws = gaussian.rounded(variance, DRAWS, np.array([float(f) for f in offsets]), offsets.__getitem__)
    for i, offset in enumerate(OFFSETS):  # four comparisons: a false alarm below 4e-7
        law = lambda x, offset=offset: laws.rounded_gaussian(variance, offset, x)  # noqa: E731
        assert statistics.fit(draws[i::4], law, -9, 10) > statistics.ALARM


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_discrete(deviation: Fraction) -> None:
    variance = deviation**2
    law = lambda x: laws.discrete_gaussian(variance, x)  # noqa: E731
    draws = gaussian.discrete(variance, DRAWS)
    assert statistics.fit(draws, law, -reach(deviation), reach(deviation)) > statistics.ALARM


@pytest.mark.parametrize("variance", [Fraction(1, 50), Fraction(2), Fraction(17, 3)])
def test_discrete_with_an_irrational_deviation(variance: Fraction) -> None:
    law = lambda x: laws.discrete_gaussian(variance, x)  # noqa: E731
    draws = gaussian.discrete(variance, DRAWS)
    if variance < Fraction(1, 10):  # P(not 0) = 3e-11: seen in this many draws with probability below 2e-5, twice below 1e-9
        assert np.count_nonzero(draws) < 2
    else:
        assert statistics.fit(draws, law, -15, 15) > statistics.ALARM


@pytest.mark.parametrize("deviation", [Fraction(1), Fraction(50)])
def test_the_two_of_a_pair_are_independent(deviation: Fraction) -> None:
    """Cosine and sine share a radius and an angle: draws i and i + 4096 of a full chunk."""
    draws = gaussian.rounded(deviation**2, 8192 * 60).reshape(60, 2, 4096)
    edges = [int(deviation * e) for e in (-1, 0)] + [int(deviation)]
    first, second = (np.searchsorted(edges, draws[:, half].ravel(), side="left") for half in (0, 1))
    cdf = [0.0, *(float(laws.normal_cdf(deviation**2, Fraction(2 * e + 1, 2))) for e in edges), 1.0]
    masses = np.diff(cdf)
    expected = np.outer(masses, masses).ravel() * first.size
    assert statistics.chi_square(np.bincount(first * 4 + second, minlength=16), expected) > statistics.ALARM


@pytest.mark.parametrize("size", [0, 1, 2, 3, 8191, 8192, 8193])
def test_any_number_of_draws(size: int) -> None:
    for draws in (gaussian.rounded(Fraction(4), size), gaussian.discrete(Fraction(4), size)):
        assert draws.shape == (size,)
        assert draws.dtype == np.int64


@pytest.mark.parametrize("variance", [Fraction(1, 10**40), Fraction(1, 10**309), Fraction(1, 10**330), Fraction(1, 10**700)])
def test_next_to_no_noise(variance: Fraction) -> None:
    """A deviation whose square is no double still means: almost surely 0, in finite time and without a warning."""
    tape = [int(word) for word in bits.words(4000)]  # an endless loop would run out of it
    assert not replay(lambda: gaussian.rounded(variance, 10), tape).value.any()
    assert not replay(lambda: gaussian.discrete(variance, 10), tape).value.any()


def test_scales_the_proofs_do_not_cover_are_refused() -> None:
    for variance in (Fraction(0), Fraction(-1), 2**104 + Fraction(1, 3)):
        with pytest.raises(ParameterError):
            gaussian.rounded(variance, 1)
        with pytest.raises(ParameterError):
            gaussian.discrete(variance, 1)
