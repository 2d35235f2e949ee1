"""The screen of a noisy contest never drops a candidate that can win, and the winner is that of the digits.

``up`` is above, and ``low`` below, every score the cell allows, for random digits and for the first, last and middle ones.
Played on known digits, the winner is the one that 320-bit arithmetic finds.
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

from discreet.noise import selection
from discreet.noise.selection import Noise, noisy_argmax

SPARE = [0x9E3779B97F4A7C15 * i % 2**64 for i in range(1, 400)]
CORNERS = [0, 1, 2, 3, 2**31 - 2, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 3, 2**32 - 2, 2**32 - 1]
DISTANCES = [
    Fraction(0),
    -Fraction(1, 10**9),
    -Fraction(1, 3),
    Fraction(-1),
    Fraction(-22),
    Fraction(-199),
    Fraction(-200, 3),
    Fraction(-(10**6)),
]
WEIGHTS = [Fraction(1), Fraction(1, 3), Fraction(10**6, 7)]


def score(weight: Fraction, distance: Fraction, noise: Noise, v: arb) -> arb:
    return real(weight * distance) + truth.noise(noise.value, v)


def cell(digits: int) -> tuple[arb, arb]:
    return truth.Cell(digits, 32).ends()


def pack(digits: list[int]) -> list[int]:
    """32 digits a candidate, two candidates a word, the first in the lower half."""
    digits = digits + [0] * (len(digits) % 2)
    return [low | high << 32 for low, high in zip(digits[0::2], digits[1::2], strict=True)]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("distance", DISTANCES)
def test_the_bounds_hold(weight: Fraction, distance: Fraction) -> None:
    dice = random.Random(f"{weight} {distance}")
    digits = CORNERS + [dice.getrandbits(32) for _ in range(300)] + [dice.getrandbits(dice.randrange(1, 33)) for _ in range(100)]
    near = np.full(len(digits), float(distance))
    drawn, up = np.empty(near.size, dtype=np.uint32), np.empty(near.size, dtype=np.float32)
    replay(lambda: selection._screen(near, float(weight), drawn, up), pack(digits))
    assert drawn.tolist() == digits
    product = float(distance) * float(weight)
    with truth.at_full_precision():
        for r, bound in zip(digits, up, strict=True):
            left, right = cell(r)
            if r == 0:
                assert bound == np.inf
            else:
                simple = max(real(weight * distance), arb(-200)) - left.log()
                error = abs(arb(float(bound)) - arb(selection.TOLERANCE) - simple)
                assert error < arb(selection.TOLERANCE) / 2  # twice as good as it must be
            for noise in Noise:
                if r > 0:
                    assert score(weight, distance, noise, left) <= arb(float(bound))
                low = selection._least(product, r, noise)
                if r < 2**32 - 1 or noise is Noise.EXPONENTIAL:
                    worst = score(weight, distance, noise, right)
                    assert arb(low) < worst
                    assert arb(low) > worst - 2 * arb(selection.TOLERANCE) * (1 - real(weight * distance) / 200)
                else:
                    assert low == -np.inf


def test_an_infinite_distance_bounds_nothing() -> None:
    for noise in Noise:
        assert selection._least(-np.inf, 5, noise) == -np.inf


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_winner_is_that_of_the_digits(noise: Noise, weight: Fraction) -> None:
    """Five candidates on random and on corner digits; where the first 32 digits decide, nothing else may."""
    dice = random.Random(f"{noise} {weight}")
    decided = 0
    for round_ in range(300):
        exact = [Fraction(0), *(-Fraction(dice.random()) * 3 / weight for _ in range(4))]
        digits = [dice.choice([dice.getrandbits(32), dice.getrandbits(32), dice.choice(CORNERS[1:])]) for _ in exact]
        near = np.array([float(distance) for distance in exact])
        tape = pack(digits) + SPARE[round_ % 50 :]
        winner = replay(lambda n=near, x=exact: noisy_argmax(n, weight, noise, x.__getitem__), tape).value
        with truth.at_full_precision():
            least, most = (
                [score(weight, d, noise, cell(r)[end]) if 0 < r < 2**32 - 1 else None for d, r in zip(exact, digits, strict=True)]
                for end in (1, 0)
            )
            for i, top in enumerate(most):
                beaten = top is not None and any(low is not None and low > top for low in least)
                decided += beaten
                assert not (beaten and i == winner)
    assert decided > 1000


@pytest.mark.parametrize("noise", Noise)
def test_two_in_a_dead_heat(noise: Noise) -> None:
    """The second candidate's 32 digits are solved to tie with the first's: the further digits decide, as they should."""
    dice = random.Random(noise.value)
    played = 0
    while played < 150:
        exact = [Fraction(0), -Fraction(dice.random())]
        first = dice.choice([dice.getrandbits(32), dice.getrandbits(20), 2**32 - 2 - dice.getrandbits(20)])
        with truth.at_full_precision():
            second = tie(noise, first, exact[1])
        if not 0 < second < 2**32:
            continue
        played += 1
        later = [dice.getrandbits(64) for _ in range(4)]
        near = np.array([float(distance) for distance in exact])
        tape = [first | second << 32, *later, *SPARE]
        winner = replay(lambda n=near, x=exact: noisy_argmax(n, Fraction(1), noise, x.__getitem__), tape).value
        with truth.at_full_precision():
            ends = [truth.Cell(r, 32).extended(later[i::2]).ends()[0] for i, r in enumerate((first, second))]
            scores = [score(Fraction(1), distance, noise, v) for distance, v in zip(exact, ends, strict=True)]
            assert winner == int(scores[1] > scores[0])


def tie(noise: Noise, first: int, distance: Fraction) -> int:
    """The cell in which distance + N(V) equals N at the middle of the first's cell, by bisection of a falling function."""
    goal = truth.noise(noise.value, truth.dyadic(2 * first + 1, 33)) - real(distance)
    low, high = 1, 2**33 - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if truth.noise(noise.value, truth.dyadic(middle, 33)) > goal else (low, middle)
    return low >> 1


@pytest.mark.parametrize("noise", Noise)
@pytest.mark.parametrize("far", [-1e30, -1e39, -1e300, -np.inf])
def test_hopeless_candidates_with_lucky_digits(noise: Noise, far: float) -> None:
    """32 zero digits keep anybody in the contest, however far behind; no warning, and the right winner."""
    exact = [Fraction(0), Fraction(far) if np.isfinite(far) else Fraction(-(10**400))]
    tape = [12345 | 0 << 32, *SPARE]
    assert replay(lambda: noisy_argmax(np.array([0.0, far]), Fraction(1), noise, exact.__getitem__), tape).value == 0


@pytest.mark.parametrize("weight", [Fraction(10**200), Fraction(10**400), Fraction(1, 10**200), Fraction(1, 10**400)])
def test_extreme_weights(weight: Fraction) -> None:
    """A product beyond the doubles is a distance like any other: no warning, no overflow, and whoever can win does.

    At weight 10^-400 the last candidate wins with probability e^-1 / (2 + e^-1): never in 200 contests with probability 3e-15.
    """
    exact = [Fraction(0), Fraction(-(10**300)), Fraction(-(10**400))]
    near = np.array([0.0, -1e300, -np.inf])
    winners = {noisy_argmax(near, weight, Noise.GUMBEL, exact.__getitem__) for _ in range(200)}
    assert winners == ({0, 1, 2} if weight * 10**400 == 1 else {0})


@pytest.mark.parametrize("size", [308, 310, 320])
@pytest.mark.parametrize("weight", ["tiny", "huge"])
def test_weights_that_make_up_for_extreme_distances(size: int, weight: str) -> None:
    """weight * distance = -1/2, though one of them is beyond the doubles: the second wins about every third contest.

    Under exponential noise it wins with probability 0.30: never in 200 contests with probability 1e-31.
    """
    scale = Fraction(2 * 10**size)
    distance, factor = (-scale, 1 / (2 * scale)) if weight == "tiny" else (-1 / scale, scale / 2)
    near = np.array([0.0, float(distance) if weight == "huge" else -np.inf])
    exact = [Fraction(0), Fraction(near[1]) if weight == "huge" else distance]  # a score that is a double, if it can be one
    for noise in Noise:
        assert {noisy_argmax(near, factor, noise, exact.__getitem__) for _ in range(200)} == {0, 1}
