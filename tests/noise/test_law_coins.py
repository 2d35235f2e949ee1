"""Coins, uniform integers and weighted choice have exactly the probabilities asked for.

Every statistical comparison raises a false alarm with probability below 1e-7 (see ``reference.statistics``); the others are
exact.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import statistics
from support.depth import examples
from support.recorded import replay

from discreet.noise.coins import Chance, accept, bernoulli, exponential_chance, uniform, weighted

DRAWS = 400_000
exactly = settings(derandomize=True, deadline=None, max_examples=examples(200))


@pytest.mark.parametrize(
    "chance", [Fraction(1, 3), Fraction(1, 2), Fraction(1, 1000), Fraction(999, 1000), Fraction(10**30, 3**70)]
)
def test_bernoulli(chance: Fraction) -> None:
    heads = np.count_nonzero(bernoulli(Chance(chance), DRAWS))
    expected = float(chance) * DRAWS
    assert statistics.chi_square([heads, DRAWS - heads], [expected, DRAWS - expected]) > statistics.ALARM


@pytest.mark.parametrize("exponent", [Fraction(1, 100), Fraction(1), Fraction(7, 3), Fraction(8)])
def test_exponential_coins(exponent: Fraction) -> None:
    expected = math.exp(-exponent) * DRAWS
    near = np.full(DRAWS, float(exponent))
    for heads in (bernoulli(exponential_chance(exponent), DRAWS), accept(near, lambda _: exponent)):  # a false alarm below 2e-7
        count = np.count_nonzero(heads)
        assert statistics.chi_square([count, DRAWS - count], [expected, DRAWS - expected]) > statistics.ALARM


def test_sure_coins() -> None:
    assert not bernoulli(Chance(Fraction(0)), 1000).any()
    assert bernoulli(Chance(Fraction(1)), 1000).all()
    assert bernoulli(exponential_chance(Fraction(0)), 1000).all()
    assert accept(np.zeros(1000), lambda _: Fraction(0)).all()
    assert not replay(lambda: bernoulli(Chance(Fraction(0)), 1), [0]).value[0]


@exactly
@given(st.fractions(0, 1), st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3), st.integers(0, 2))
def test_a_rational_coin_compares_digits(chance: Fraction, tail: list[int], agreeing: int) -> None:
    """U is laid next to p: the first words are p's own digits, so that only later words can decide."""
    digits = int(chance * 2**192)
    own = [min(digits >> (64 * i), 2**192 - 1) & (2**64 - 1) for i in (2, 1, 0)]
    drawn = own[:agreeing] + tail
    number = sum(Fraction(word, 2 ** (64 * (i + 1))) for i, word in enumerate(drawn[:3]))
    heads = replay(lambda: bernoulli(Chance(chance), 1), drawn + [2**63] * 8).value[0]
    if number + Fraction(1, 2**192) <= chance:
        assert heads
    elif number >= chance:
        assert not heads


@exactly
@given(st.integers(1, 300))
def test_uniform_is_the_identity_on_the_words_it_keeps(below: int) -> None:
    """Feeding every masked word once, in order, must give 0 .. below - 1 once each: the law, exactly."""
    period = 1 << (below - 1).bit_length()
    kept = [replay(lambda: uniform(below, 1), [word, below - 1]).value[0] for word in range(period)]
    assert kept[:below] == list(range(below))
    assert kept[below:] == [below - 1] * (period - below)  # a word too large: the next one counts


@pytest.mark.parametrize("below", [1, 2, 3, 10, 1000])
def test_uniform(below: int) -> None:
    counts = np.bincount(uniform(below, DRAWS), minlength=below)
    assert counts.size == below
    if below > 1:
        assert statistics.chi_square(counts, np.full(below, DRAWS / below)) > statistics.ALARM


@pytest.mark.parametrize("below", [2**62 + 1, 2**63 - 1, 2**63, 3**39])
def test_large_uniform(below: int) -> None:
    draws = uniform(below, DRAWS)
    assert draws.min() >= 0
    assert int(draws.max()) < below
    cells = [int(value) * 64 // below for value in draws]
    assert statistics.chi_square(np.bincount(cells, minlength=64), np.full(64, DRAWS / 64)) > statistics.ALARM
    assert statistics.chi_square(np.bincount(draws & 255, minlength=256), np.full(256, DRAWS / 256)) > statistics.ALARM


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2, 3],
        [0, 5, 0, 7, 0],
        [Fraction(1, 3), Fraction(1, 7), Fraction(2)],
        [2**62 - 5, 1, 4],
        [2**62 - 5, 2**62, 6],
        [2**100, 3 * 2**99, 0, 2**98],
        [Fraction(1, 3**50), Fraction(2, 3**50), Fraction(1, 5**30)],
    ],
)
def test_weighted(weights: list[int | Fraction]) -> None:
    total = sum(Fraction(weight) for weight in weights)
    size = DRAWS // 4
    counts = np.bincount(weighted(weights, size), minlength=len(weights))
    assert counts.size == len(weights)
    assert all(count == 0 for count, weight in zip(counts, weights, strict=True) if weight == 0)
    expected = [float(Fraction(weight) / total * size) for weight in weights]
    if sum(cell >= 50 for cell in expected) > 1:
        assert statistics.chi_square(counts, expected) > statistics.ALARM
    else:  # one weight is all but certain: another index has probability below 2^-40
        assert counts.max() == size


@exactly
@given(st.lists(st.integers(0, 20), min_size=1, max_size=6).filter(any))
def test_weights_are_counts_of_words(weights: list[int]) -> None:
    total = sum(weights)
    chosen = [int(replay(lambda: weighted(weights, 1), [word]).value[0]) for word in range(total)]
    assert np.bincount(chosen, minlength=len(weights)).tolist() == weights


@exactly
@given(st.lists(st.integers(0, 2**90), min_size=2, max_size=5).filter(lambda w: sum(w) > 2**62), st.data())
def test_large_weights_cut_the_line_at_their_sums(weights: list[int], data: st.DataObject) -> None:
    total = sum(weights)
    place = data.draw(st.integers(0, total - 1))
    drawn = [place >> (64 * i) & (2**64 - 1) for i in range(-(-(total - 1).bit_length() // 64))]
    chosen = int(replay(lambda: weighted(weights, 1), drawn).value[0])
    assert sum(weights[:chosen]) <= place < sum(weights[: chosen + 1])
