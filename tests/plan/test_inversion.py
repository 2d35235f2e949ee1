"""The yardstick of intervals, `benchmarks/inversion.py`, where closed forms are known; and against it the library where
denominators are near 0 (more of that: `benchmarks/ratios.py`). Seeds are fixed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))

from benchmarks import inversion, ratios
from benchmarks.inversion import Noise, Ratio


def released(ratio, truth, tables, rng):
    return np.array(truth, dtype=float) + np.stack([law.draw((tables,), rng) for law in ratio.noises], axis=-1)


@pytest.mark.parametrize("denominator", [3000, 150])
def test_gaussian_ratio_is_fiellers(denominator):
    ratio = Ratio((1, 0), (0, 1), (Noise("gaussian", 300), Noise("gaussian", 60)))
    x = released(ratio, (3 * denominator, denominator), 100, np.random.default_rng(1))
    low, high, bounded = inversion.of_ratio(ratio, x)
    a, b = x.T
    z = 1.959964**2
    square, half = b**2 - z * 60**2, a * b
    clear = abs(square) > 0.05 * b**2  # the lattice may decide another way where zero is all but rejected
    assert (bounded == (square > 0))[clear].all()
    assert bounded.any()
    kept = bounded & (square > 0) & clear
    root = np.sqrt(half**2 - square * (a**2 - z * 300**2), where=kept, out=np.ones(100))
    width = (2 * root / square)[kept]
    assert low[kept] == pytest.approx(((half - root) / square)[kept], abs=0.003 * width.max())
    assert ((high - low)[kept] / width) == pytest.approx(1, abs=0.01)


def test_a_share_of_two_laplace_counts_is_summed_over_the_lattice():
    ratio = Ratio((1, 0), (1, 1), (Noise("laplace", 2), Noise("laplace", 2)))
    x = np.array([[20.0, 31.0]])
    n = np.arange(-60, 61)
    mass = np.exp(-abs(n) / 2)
    both = np.outer(mass, mass) / mass.sum() ** 2
    for r in (0.2, 0.31, 0.47, 0.55):
        at = (1 - r) * n[:, None] - r * n
        likely = both[abs(at) >= abs((1 - r) * 20 - r * 31) - 1e-9].sum()
        assert ratio.unlikely(x, np.array([r]))[0] == (likely < 0.05)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_beside_a_ratio_without_noise_two_are_one(kind):
    noisy = Ratio((1, 0), (0, 1), (Noise(kind, 300), Noise(kind, 60)))
    plain = Ratio((1, 0), (0, 1), (Noise(kind, 0.02), Noise(kind, 0.02)))
    rng = np.random.default_rng(2)
    x, y = released(noisy, (9000, 1000), 40, rng), np.tile([5000.0, 2500.0], (40, 1))
    low, high, _ = inversion.of_ratio(noisy, x)
    for how, scale, moved in (("difference", 1, -2), ("product", 2, 0)):
        below, above, bounded = inversion.of_two(
            how, (noisy, plain), (x, y), rng, (0, np.inf) if how == "product" else (-np.inf, np.inf)
        )
        assert bounded.all()
        assert ((above - below) / (high - low) / scale).mean() == pytest.approx(1, abs=0.03)
        assert ((above + below) / 2 - moved).mean() == pytest.approx(scale * ((high + low) / 2).mean(), rel=0.01)


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_with_large_denominators_a_difference_is_linear(kind):
    ratio = Ratio((1, 0), (0, 1), (Noise(kind, 300), Noise(kind, 3)))
    rng = np.random.default_rng(3)
    x, y = released(ratio, (33e4, 1e4), 40, rng), released(ratio, (60e4, 2e4), 40, rng)
    low, high, _ = inversion.of_two("difference", (ratio, ratio), (x, y), rng)
    one, two = (np.stack([law.draw((200_000,), rng) for law in ratio.noises]) for _ in range(2))
    error = (one[0] - 33 * one[1]) / 1e4 - (two[0] - 30 * two[1]) / 2e4
    assert (high - low).mean() == pytest.approx(2 * np.quantile(abs(error), 0.95), rel=0.03)


@pytest.mark.parametrize("form", ["difference of ratios", "product of ratios"])
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_intervals_of_two_quotients_know_how_near_their_denominators_are_to_0(form, law):
    """With the quantile of a linear form instead, means are 1.26 to 1.35 times as wide as exact inversion."""
    setting = ratios.Setting(form, 30, law, "balanced", 4)
    tables = (
        np.array([[400.0, 134], [350, 138], [500, 150], [600, 140]]),
        np.array([[450.0, 150], [700, 138], [300, 133], [400, 136]]),
    )
    low, high, known = ratios.answer(setting, list(tables))
    how = "product" if form.startswith("product") else "difference"
    one, two = setting.ratios
    below, above, bounded = inversion.of_two(how, (one, two), tables, np.random.default_rng(5), setting.bounds, draws=6_000)
    assert known.all()
    assert bounded.all()
    assert 0.8 < ((high - low) / (above - below)).mean() < 1.1


def test_two_large_noises_are_as_wide_as_fiellers_next_to_the_pole():
    """One unit more or less of the denominator's half-width is a third of such an interval."""
    setting = ratios.Setting("ratio", 30, "gaussian", "small", 4)
    x = np.array([[200.0, 119.0], [463.0, 120.0], [168.0, 122.0]])
    low, high, known = ratios.answer(setting, [x])
    a, b = x.T
    z = 1.959964**2
    square = b**2 - z * 60**2
    root = np.sqrt((a * b) ** 2 - square * (a**2 - z * 300**2))
    assert known.all()
    assert high == pytest.approx((a * b + root) / square, rel=0.01)
    assert (low == 0).all()  # sums of what is never negative
