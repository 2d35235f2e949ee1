"""At large scales, too, the law is right: in wide bins, and in the lowest digits.

Above scale 2^26 exponential noise is drawn in two parts; the bins see the upper part, the bytes the lower one and the seam. Every
comparison raises a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference import laws, statistics

from discreet.noise import gaussian, laplace

DRAWS = 500_000
SCALES = [Fraction(10**6), Fraction(2**26), 2**26 + Fraction(1, 3), Fraction(2**30), Fraction(2**52)]
SPLIT = SCALES[2:]
DEVIATIONS = [Fraction(10**6), Fraction(2**24), Fraction(2**30)]


def edges(scale: Fraction) -> list[int]:
    """Bins of an eighth of the scale in the middle, a half further out."""
    middle = [Fraction(i, 8) for i in range(-16, 17)]
    tails = [Fraction(i, 2) for i in range(5, 13)]
    return [int(place * scale) for place in (*(-tail for tail in reversed(tails)), *middle, *tails)]


def bytes_are_uniform(draws: np.ndarray, positions: range) -> bool:
    """Positions must be far below the scale: a byte's law then differs from uniform by (2^(position + 8) / scale)^2 at most."""
    level = np.full(256, draws.size / 256)
    p_values = [statistics.chi_square(np.bincount(draws >> p & 255, minlength=256), level) for p in positions]
    return min(p_values) > statistics.ALARM  # at most four comparisons: a false alarm below 4e-7


@pytest.mark.parametrize("scale", SCALES)
def test_geometric_bins_and_every_byte(scale: Fraction) -> None:
    draws = laplace.geometric(scale, DRAWS)
    tail: Callable[[int], float] = lambda x: 1 - float(laws.real(-(x + 1) / scale).exp())  # noqa: E731
    assert statistics.fit_bins(draws, tail, [edge for edge in edges(scale) if edge > 0]) > statistics.ALARM
    for position in range(0, int(scale).bit_length(), 8):  # at most seven comparisons: a false alarm below 7e-7
        masses = np.array([float(laws.geometric_byte(scale, position, byte)) for byte in range(256)])
        counts = np.bincount(draws >> position & 255, minlength=256)
        assert statistics.chi_square(counts, masses / masses.sum() * DRAWS) > statistics.ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace(scale: Fraction) -> None:
    draws = laplace.discrete(scale, DRAWS)
    assert statistics.fit_bins(draws, lambda x: laws.discrete_laplace_cdf(scale, x), edges(scale)) > statistics.ALARM
    masses = np.array([float(laws.discrete_laplace_residue(scale, 256, residue)) for residue in range(256)])
    assert abs(masses.sum() - 1) < 1e-12
    assert statistics.chi_square(np.bincount(draws & 255, minlength=256), masses * DRAWS) > statistics.ALARM


@pytest.mark.parametrize("scale", SCALES)
def test_rounded_laplace(scale: Fraction) -> None:
    offset = Fraction(1, 3)
    draws = laplace.rounded(scale, np.full(DRAWS, float(offset)), lambda _: offset)
    cdf: Callable[[int], arb] = lambda x: laws.laplace_cdf(scale, x + Fraction(1, 2) - offset)  # noqa: E731
    assert statistics.fit_bins(draws, cdf, edges(scale)) > statistics.ALARM
    assert bytes_are_uniform(draws, range(0, max(1, int(scale).bit_length() - 20), 12))


@pytest.mark.parametrize("scale", SPLIT)
@pytest.mark.parametrize("sampler", ["geometric", "discrete"])
def test_the_seam_of_the_two_parts(scale: Fraction, sampler: str) -> None:
    """|X| modulo the lower part's length M is an exponential cut off at M, in 64 slices, and independent of |X| // M.

    For |X| of discrete Laplace noise the cut-off law errs by 1/scale < 2^-26 of a cell: not visible.
    """
    draws = np.abs(getattr(laplace, sampler)(scale, DRAWS))
    length = 1 << (int(scale).bit_length() // 2 + 4)
    step = Fraction(length, 64) / scale
    masses = np.array([float((laws.real(-i * step)).exp()) for i in range(64)])
    counts = np.bincount(draws % length * 64 // length, minlength=64)
    assert statistics.chi_square(counts, masses / masses.sum() * DRAWS) > statistics.ALARM
    rows = np.bincount(draws // length % 16 * 4 + draws % length * 4 // length, minlength=64)  # digits are independent
    upper = np.array([float(laws.real(-i * length / scale).exp()) for i in range(16)])
    joint = np.outer(upper / upper.sum(), masses.reshape(4, 16).sum(axis=1) / masses.sum()).ravel()
    assert statistics.chi_square(rows, joint * DRAWS) > statistics.ALARM


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_rounded_gaussian(deviation: Fraction) -> None:
    size = DRAWS if deviation < 2**30 else DRAWS // 10
    draws = gaussian.rounded(deviation**2, size)
    cdf: Callable[[int], arb] = lambda x: laws.normal_cdf(deviation**2, x + Fraction(1, 2))  # noqa: E731
    assert statistics.fit_bins(draws, cdf, edges(deviation)) > statistics.ALARM
    assert bytes_are_uniform(draws, range(0, int(deviation).bit_length() - 16, 8))


@pytest.mark.parametrize("deviation", [*DEVIATIONS, Fraction(2**51)])
def test_discrete_gaussian(deviation: Fraction) -> None:
    """Midpoint sums of a bell differ from its integrals by less than 1 / sigma^2: the normal cdf at half-integers serves."""
    draws = gaussian.discrete(deviation**2, DRAWS)
    cdf: Callable[[int], arb] = lambda x: laws.normal_cdf(deviation**2, x + Fraction(1, 2))  # noqa: E731
    assert statistics.fit_bins(draws, cdf, edges(deviation)) > statistics.ALARM
    assert bytes_are_uniform(draws, range(0, int(deviation).bit_length() - 16, 12))


@pytest.mark.parametrize("deviation", [2**40, 2**52])
def test_rounded_gaussian_all_by_balls(deviation: int) -> None:
    draws = gaussian.rounded(Fraction(deviation) ** 2, 20_000)
    cdf: Callable[[int], arb] = lambda x: laws.normal_cdf(Fraction(deviation) ** 2, x + Fraction(1, 2))  # noqa: E731
    assert statistics.fit_bins(draws, cdf, edges(Fraction(deviation))) > statistics.ALARM
    assert bytes_are_uniform(draws, range(0, 25, 8))
