"""With every margin blown up the same words give the same draws: floats only ever save time.

The margins are widened until balls settle every draw, every coin, and most of every contest. Same words, same answers, and
as many words used; and the law, drawn afresh this way, is still the law. Every statistical comparison raises a false alarm
with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference import laws, statistics
from support.depth import deep
from support.recorded import NotPrivate, replay

from discreet.noise import coins, gaussian, laplace, selection
from discreet.noise.selection import Noise, noisy_argmax

DRAWS = 3000
SAME = 1000
THIRD = Fraction(1, 3)
SCALES = [
    THIRD,
    Fraction(1),
    Fraction(100),
    Fraction(10**6),
    Fraction(2**26),
    2**26 + Fraction(1, 7),
    Fraction(2**40),
    Fraction(2**52),
]
OFFSETS = [Fraction(i * 977 % 1000, 1000) for i in range(SAME)]

SAMPLERS: dict[str, Callable[[Fraction], np.ndarray]] = {
    "geometric": lambda scale: laplace.geometric(scale, SAME),
    "discrete Laplace": lambda scale: laplace.discrete(scale, SAME),
    "rounded Laplace": lambda scale: laplace.rounded(scale, np.array([float(f) for f in OFFSETS]), OFFSETS.__getitem__),
    "rounded Gaussian": lambda scale: gaussian.rounded(scale**2, SAME),
    "discrete Gaussian": lambda scale: gaussian.discrete(scale**2, SAME),
}


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it, and from then on balls settle everything."""

    def widen() -> None:
        monkeypatch.setattr(laplace, "margin", lambda *_: 1.0)
        monkeypatch.setattr(gaussian, "margin", lambda _: 1.0)
        monkeypatch.setattr(coins, "SLACK", 2.0)

    return widen


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("scale", SCALES)
def test_same_words_same_draws(name: str, scale: Fraction, slow: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "discrete Gaussian" and scale > gaussian.LARGEST_DISCRETE:
        scale = Fraction(gaussian.LARGEST_DISCRETE)
    dice = random.Random(f"{name} {scale}")
    tape = [dice.getrandbits(64) for _ in range(8 * SAME)]
    fast = replay(lambda: SAMPLERS[name](scale), tape)
    slow()
    settled = count_balls(monkeypatch)
    exact = replay(lambda: SAMPLERS[name](scale), tape)
    assert np.array_equal(fast.value, exact.value)
    assert fast.words_left == exact.words_left
    assert sum(settled) >= SAME // 2  # a pair of Gaussians is settled in one go


@pytest.mark.parametrize("scale", [Fraction(5), Fraction(2**28)])
def test_every_chunk_finds_its_own_offsets(scale: Fraction, slow: Callable[[], None]) -> None:
    """More draws than one chunk: balls must be told the offset of the draw they settle, not of one in another chunk."""
    size = 8192 + 809
    offsets = [Fraction(i * 977 % 1000, 1000) for i in range(size)]
    near = np.array([float(f) for f in offsets])
    dice = random.Random(str(scale))
    tape = [dice.getrandbits(64) for _ in range(3 * size)]
    samplers = [
        lambda: laplace.rounded(scale, near, offsets.__getitem__),
        lambda: gaussian.rounded(scale**2, size, near, offsets.__getitem__),
    ]
    fast = [replay(sampler, tape) for sampler in samplers]
    slow()
    for sampler, quick in zip(samplers, fast, strict=True):
        exact = replay(sampler, tape)
        assert np.array_equal(quick.value, exact.value)
        assert quick.words_left == exact.words_left


def count_balls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A list that grows by one with every draw settled with balls."""
    seen: list[int] = []
    for module in (laplace, gaussian, coins):
        original = module.settle
        monkeypatch.setattr(module, "settle", lambda *a, original=original: seen.append(1) or original(*a))
    return seen


@pytest.mark.parametrize("exponent", [Fraction(0), Fraction(1, 1000), Fraction(2), Fraction(50)])
def test_same_words_same_coins(exponent: Fraction, slow: Callable[[], None]) -> None:
    dice = random.Random(str(exponent))
    tape = [dice.getrandbits(64) for _ in range(DRAWS + 50)]
    flip = lambda: coins.accept(np.full(DRAWS, float(exponent)), lambda _: exponent)  # noqa: E731
    fast = replay(flip, tape)
    slow()
    assert np.array_equal(fast.value, replay(flip, tape).value)


@pytest.mark.parametrize("noise", Noise)
def test_same_words_same_winner(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    """Contests that the screen decided alone: under a wide tolerance most stay, get further digits, and lose all the same."""
    dice = random.Random(noise.value)
    exact = [-Fraction(i % 7, 3) for i in range(50)]
    near = np.array([float(distance) for distance in exact])
    alone = 0
    for _ in range(300):
        tape = [dice.getrandbits(64) for _ in range(1000)]

        def play(tape: list[int] = tape) -> NotPrivate[int]:
            return replay(lambda: noisy_argmax(near, Fraction(1), noise, exact.__getitem__), tape)

        with monkeypatch.context() as patch:
            fast = play()
            patch.setattr(selection, "TOLERANCE", 5.0)
            wide = play()
        if fast.words_left == len(tape) - 25:
            alone += 1
            assert fast.value == wide.value
            assert wide.words_left < fast.words_left
    assert alone > 100


@pytest.mark.parametrize("scale", [THIRD, Fraction(15, 2)])
def test_the_laplace_laws(scale: Fraction, slow: Callable[[], None]) -> None:
    """Three comparisons: a false alarm below 3e-7."""
    slow()
    size, end = 10_000, int(12 * scale) + 2
    assert statistics.fit(laplace.geometric(scale, size), lambda x: laws.geometric(scale, x), 0, end) > statistics.ALARM
    assert statistics.fit(laplace.discrete(scale, size), lambda x: laws.discrete_laplace(scale, x), -end, end) > statistics.ALARM
    draws = laplace.rounded(scale, np.full(size, float(THIRD)), lambda _: THIRD)
    assert statistics.fit(draws, lambda x: laws.rounded_laplace(scale, THIRD, x), -end, end) > statistics.ALARM


def test_the_law_of_two_words(slow: Callable[[], None]) -> None:
    slow()
    scale = 2**26 + THIRD
    draws = laplace.discrete(scale, 10_000)
    cdf: Callable[[int], arb] = lambda x: laws.discrete_laplace_cdf(scale, x)  # noqa: E731
    assert statistics.fit_bins(draws, cdf, [int(scale * i / 4) for i in range(-16, 17)]) > statistics.ALARM


@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(100)])
def test_the_gaussian_laws(variance: Fraction, slow: Callable[[], None]) -> None:
    """Two comparisons: a false alarm below 2e-7."""
    slow()
    size, end = deep(10_000, 5_000), int(4 * float(variance) ** 0.5) + 2
    rounded = gaussian.rounded(variance, size, np.full(size, float(THIRD)), lambda _: THIRD)
    assert statistics.fit(rounded, lambda x: laws.rounded_gaussian(variance, THIRD, x), -end, end) > statistics.ALARM
    discrete = gaussian.discrete(variance, size)
    assert statistics.fit(discrete, lambda x: laws.discrete_gaussian(variance, x), -end, end) > statistics.ALARM


@pytest.mark.parametrize("noise", Noise)
def test_the_laws_of_contests(noise: Noise, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "TOLERANCE", 50.0)
    exact = [Fraction(0), Fraction(-1), Fraction(-1, 2), Fraction(-1, 3)]
    law = {Noise.GUMBEL: laws.softmax, Noise.EXPONENTIAL: laws.permute_and_flip, Noise.LAPLACE: laws.laplace_winner}[noise]
    near = np.array([float(distance) for distance in exact])
    won = [noisy_argmax(near, Fraction(1), noise, exact.__getitem__) for _ in range(deep(4_000, 2_000))]
    expected = np.array([float(p) for p in law(exact)]) * len(won)
    assert statistics.chi_square(np.bincount(won, minlength=4), expected) > statistics.ALARM
