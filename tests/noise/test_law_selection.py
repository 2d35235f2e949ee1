"""The winner of a noisy contest has the law of the ideal mechanism: softmax, permute-and-flip, Laplace report-noisy-max.

Every comparison raises a false alarm with probability below 1e-7 (see ``reference.statistics``). A chance of 1/4 that is off by
0.05 is seen 99 times in 100; that not one bit is, is shown by ``test_same_bits_selection``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from reference import laws, statistics
from support.depth import deep

from discreet.noise.selection import Noise, noisy_argmax

CONTESTS = deep(8_000, 4_000)
SCORES = {
    "equal": [Fraction(0)] * 4,
    "spread": [Fraction(0), Fraction(-1), Fraction(1, 2), Fraction(-3), Fraction(1, 3)],
    "close": [Fraction(1, 1000), Fraction(0), Fraction(-1, 3)],
}
LAWS: dict[Noise, Callable[[Sequence[Fraction]], list[arb]]] = {
    Noise.GUMBEL: laws.softmax,
    Noise.EXPONENTIAL: laws.permute_and_flip,
    Noise.LAPLACE: laws.laplace_winner,
}


def contests(scores: Sequence[Fraction], weight: Fraction, noise: Noise, count: int) -> np.ndarray:
    """How often each candidate won."""
    top = max(scores)
    exact = [score - top for score in scores]
    near = np.array([float(distance) for distance in exact])
    return np.bincount([noisy_argmax(near, weight, noise, exact.__getitem__) for _ in range(count)], minlength=len(scores))


@pytest.mark.diagonal
@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("name", SCORES)
def test_winners(noise: Noise, name: str) -> None:
    weight = Fraction(3, 2)
    chances = [float(p) for p in LAWS[noise]([weight * score for score in SCORES[name]])]
    won = contests(SCORES[name], weight, noise, CONTESTS)
    assert statistics.chi_square(won, np.array(chances) * CONTESTS) > statistics.ALARM


def test_two_descriptions_of_permute_and_flip_agree() -> None:
    for scores in SCORES.values():
        for one, other in zip(laws.permute_and_flip(scores), laws.exponential_winner(scores), strict=True):
            with ctx.workprec(200):
                assert abs(one - other) < arb(2) ** -150


def test_the_laws_add_up_to_one() -> None:
    for law in (*LAWS.values(), laws.exponential_winner):
        for scores in SCORES.values():
            with ctx.workprec(200):
                assert abs(sum(law(scores), arb(0)) - 1) < arb(2) ** -80


@pytest.mark.parametrize("noise", Noise)
def test_winners_across_chunks(noise: Noise) -> None:
    """Forty thousand candidates in three chunks: one good in each, the rest hopeless (below e^-100 together)."""
    count = 40_000
    good = {7: Fraction(0), 20_000: Fraction(-1), 39_999: Fraction(-1, 2)}
    near = np.full(count, -150.0)
    for index, score in good.items():
        near[index] = float(score)
    exact = lambda i: good.get(i, Fraction(-150))  # noqa: E731
    won = [noisy_argmax(near, Fraction(1), noise, exact) for _ in range(800)]
    chances = np.array([float(p) for p in LAWS[noise](list(good.values()))])
    counts = [won.count(index) for index in good]
    assert sum(counts) == 800
    assert statistics.chi_square(counts, chances * 800) > statistics.ALARM


@pytest.mark.parametrize("noise", Noise)
def test_many_equal_candidates(noise: Noise) -> None:
    count = 1000
    won = np.array([noisy_argmax(np.zeros(count), Fraction(1), noise, lambda _: Fraction(0)) for _ in range(5000)])
    assert statistics.chi_square(np.bincount(won // 50, minlength=20), np.full(20, 250.0)) > statistics.ALARM
