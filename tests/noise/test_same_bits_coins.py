"""Same digits, same answer, for coins of probability e^-g: floats decide only what the digits of U decide.

The digits are random, or those of e^-g itself plus or minus 2^-64, half a margin, one and a half margins. The exponents err
as far as ``accept`` allows. Where the float comparison stands, it is right for the whole cell of U and errs by at most half
of SLACK.
"""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from reference import truth
from reference.laws import real
from support.recorded import replay

from discreet.noise import coins

SPARE = [0x9E3779B97F4A7C15 * i % 2**64 for i in range(1, 40)]
EXPONENTS = [
    Fraction(0),
    Fraction(1, 2**60),
    Fraction(1, 10**6),
    Fraction(1, 3),
    Fraction(1),
    Fraction(7, 2),
    Fraction(27),
    Fraction(45),
]
GAPS = [1, 2, 3, 2**12, 2**22, int(2**24 * 0.5), int(2**24 * 0.99), int(2**24 * 1.01), int(2**24 * 1.5), 2**30]


def words(exponent: Fraction, dice: random.Random) -> list[int]:
    with truth.at_full_precision():
        edge = truth.floor((-real(exponent)).exp() * arb(2) ** 64) if exponent else 2**64
    near = [edge + side * gap for gap in GAPS for side in (-1, 1)] + [edge, edge - 1, edge + 1, 0, 1, 2**64 - 1, 2**64 - 2]
    return [word for word in near if 0 <= word < 2**64] + [dice.getrandbits(64) for _ in range(500)]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("error", [0.0, 2.0**-43, -(2.0**-43)])
def test_accept(exponent: Fraction, error: float, monkeypatch: pytest.MonkeyPatch) -> None:
    near = max(0.0, float(exponent) + error)
    settled: list[int] = []
    monkeypatch.setattr(coins, "_accept_exactly", lambda drawn, _: settled.append(drawn) or False)
    drawn = words(exponent, random.Random(str(exponent)))
    heads = replay(lambda: coins.accept(np.full(len(drawn), near), lambda _: exponent), drawn).value
    assert 0 < len(settled) < len(drawn)
    for word, head in zip(drawn, heads, strict=True):
        with truth.at_full_precision():
            chance = (-real(exponent)).exp()
            gaps = [chance - u for u in truth.Cell(word, 64).ends()]
            if word not in settled:
                assert all(gap > 0 for gap in gaps) if head else all(gap < 0 for gap in gaps)
            floats = np.exp(-np.array([near])) - np.array([word], dtype=np.uint64) * 2.0**-64  # as in the sampler
            assert all(abs(arb(float(floats[0])) - gap) <= arb(coins.SLACK) / 2 for gap in gaps)


@pytest.mark.parametrize("exponent", EXPONENTS)
def test_later_digits_decide(exponent: Fraction) -> None:
    dice = random.Random(str(exponent))
    for word in words(exponent, dice)[:40]:
        later = [dice.getrandbits(64) for _ in range(2)]
        head = replay(lambda: coins.accept(np.array([float(exponent)]), lambda _: exponent), [word, *later, *SPARE])
        with truth.at_full_precision():
            u, _ = truth.Cell(word, 64).extended(later).ends()
            assert head.value[0] == (u < (-real(exponent)).exp())


@pytest.mark.parametrize("exponent", EXPONENTS[1:])
@pytest.mark.parametrize("agreeing", [1, 2, 3])
def test_a_coin_that_ties(exponent: Fraction, agreeing: int) -> None:
    """U starts with one, two or three words of e^-g's own digits: the next word decides, by its digits."""
    with truth.at_full_precision():
        digits = truth.floor((-real(exponent)).exp() * arb(2) ** 256)
    own = [digits >> (64 * i) & (2**64 - 1) for i in (3, 2, 1, 0)]
    chance = coins.exponential_chance(exponent)
    for step in (-1, 1, -(2**40), 2**40):
        last = own[agreeing] + step
        if 0 <= last < 2**64:
            tape = [*own[:agreeing], last, *SPARE]
            assert replay(lambda: coins.bernoulli(chance, 1), tape).value[0] == (step < 0)
            near = np.array([float(exponent)])
            assert replay(lambda n=near: coins.accept(n, lambda _: exponent), tape).value[0] == (step < 0)


@pytest.mark.parametrize("count", [1, 64, 200])
def test_digits_of_a_probability(count: int) -> None:
    for exponent in (*EXPONENTS[1:], Fraction(10**6), Fraction(10**300), Fraction(1, 10**100)):
        whole, complete = coins.exponential_chance(exponent).digits(count)
        with truth.at_full_precision():
            assert truth.dyadic(whole, count) < (-real(exponent)).exp() or exponent > 10**5 or exponent < Fraction(1, 10**90)
            assert (-real(exponent)).exp() < truth.dyadic(whole + 1, count) or exponent < Fraction(1, 10**90)
        assert not complete
        assert whole == 0 if exponent > 10**5 else whole >= 0
