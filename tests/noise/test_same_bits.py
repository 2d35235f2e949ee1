"""Same digits, same answer: whatever Laplace noise decides in floats is what 320-bit arithmetic decides, on the worst digits too.

Digits are random, or solved so that the value lies 2^-60, half a margin or one and a half margins from a boundary, or at
the ends of the range. Where floats decide: the true floor is the same over the whole cell of the uniform, it is the one
returned, and the float is within *half* the margin of every true value of the cell. Where balls decide: the answer is that
of the uniform with all later digits.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from noise.witness import Witness
from reference import truth
from reference.laws import real
from support.depth import examples
from support.recorded import replay

from discreet.noise import laplace
from discreet.noise.laplace import Shift, Sign, floors

THIRD = Fraction(1, 3)
SHORT = [THIRD, Fraction(1), Fraction(100), Fraction(10**6), Fraction(2**24), Fraction(2**26)]
LONG = [2**26 + Fraction(1, 7), Fraction(2**40), Fraction(2**52)]
SHIFTS = ["constant", "fractions", "large"]
SPARE = [0x9E3779B97F4A7C15 * i % 2**64 for i in range(1, 4001)]
SIZES = [2**j + step for j in range(3, 64) for step in (-1, 0, 1, 2)]
ENDS = [*range(2, 8), *SIZES, *range(2**44 - 6, 2**44 + 6), *range(2**63 - 4, 2**63 + 4), *range(2**64 - 40, 2**64)]


def every_two(scales: Sequence[Fraction]) -> list[tuple[Fraction, Sign, str]]:
    """Of scales, signs and kinds of shifts every two meet."""
    return [(scale, sign, SHIFTS[(i + j) % 3]) for i, scale in enumerate(scales) for j, sign in enumerate(Sign)]


class Shifts:
    """What is added to each draw: one number for all, a fraction plus a half each, or numbers up to a million, of both signs."""

    def __init__(self, kind: str, scale: Fraction, sign: Sign, dice: random.Random) -> None:
        self.kind, self.scale, self.sign, self.dice = kind, scale, sign, dice
        self.exact: list[Fraction] = []

    def more(self) -> None:
        size = 1 if self.kind == "fractions" else self.dice.choice([-1, 1]) * 3 * 10**6
        self.exact.append(Fraction(self.dice.choice([0, 1, self.dice.random()])) * size / 3 + Fraction(1, 2))

    def __getitem__(self, i: int) -> arb:
        if self.kind == "constant":
            return truth.log_c(self.scale) if self.sign is Sign.AFTER else real(Fraction(self.sign is Sign.BEFORE, 2))
        return real(self.exact[i])

    def margin(self, scale: float) -> float:
        largest = float(self[0]) if self.kind == "constant" else 5 / 6 if self.kind == "fractions" else 10.0**6
        return laplace.margin(scale, largest)

    def near(self) -> np.ndarray | float:
        with truth.at_full_precision():
            return float(self[0]) if self.kind == "constant" else np.array([float(f) for f in self.exact])


def boundary_distances(margin: float) -> Iterator[Fraction]:
    for size in (2.0**-60, 2.0**-48, margin * 0.5, margin * 0.99, margin * 1.01, margin * 1.5, margin * 3):
        yield from (Fraction(size), -Fraction(size))


def minus(sign: Sign, word: int) -> bool:
    return sign is Sign.BEFORE and word % 2 == 1


def short_words(scale: Fraction, sign: Sign, shifts: Shifts, dice: random.Random) -> list[int]:
    drawn = [*ENDS, *(dice.getrandbits(64) for _ in range(100))]
    for _ in drawn:
        shifts.more()
    for depth in (1e-7, 0.01, 0.5, 3.0, 9.0, 13.8, 14.5, 18.0):
        for bit in (0, 1):
            for share in range(42):
                shifts.more()
                i = len(drawn)
                shift, side = shifts[i], -1 if minus(sign, bit) else 1
                gap = list(boundary_distances(shifts.margin(float(scale))))[share % 14]
                goal = round(float(shift) + side * float(scale) * depth) + gap
                distance = side * (real(goal) - shift)
                digits = truth.exponential_digits(scale, distance) if distance > 0 else 0
                digits = digits if 0 < digits < 2**63 else dice.getrandbits(63)
                drawn.append(digits << 1 | bit)
    return drawn


@pytest.mark.parametrize(("scale", "sign", "kind"), every_two(SHORT))
def test_one_word(scale: Fraction, sign: Sign, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(f"{scale} {sign} {kind}")
    shifts = Shifts(kind, scale, sign, dice)
    with truth.at_full_precision():
        drawn = short_words(scale, sign, shifts, dice)
    near = shifts.near()
    witness = Witness(monkeypatch, laplace, "_settle_short", 2)
    result = replay(lambda: floors(scale, Shift(near, shifts.__getitem__), sign, len(drawn)), drawn + SPARE).value
    (floored,) = witness.floored
    zone = laplace.margin(float(scale), near)
    with truth.at_full_precision():
        for i, word in enumerate(drawn):
            ends = [truth.exponential(scale, shifts[i], minus(sign, word), u) for u in truth.Cell(word >> 1, 63).ends()]
            after = -1 if sign is Sign.AFTER and word % 2 else 1
            check(after * int(result[i]), ends, floored[i], zone, i in witness.settled)
    assert len(witness.settled) < len(drawn) or zone > 0.4


def check(answer: int, ends: Sequence[arb], floored: float, zone: float, settled: bool) -> None:
    whole = truth.floors(*ends)
    if settled:
        assert min(whole) <= answer <= max(whole)
        return
    assert whole == {answer}
    assert all(abs(arb(float(floored)) - end) <= arb(zone) / 2 for end in ends)


def long_words(scale: Fraction, length: int, sign: Sign, shifts: Shifts, dice: random.Random) -> tuple[list[int], list[int]]:
    lower = [*ENDS, *(dice.getrandbits(64) for _ in range(300))]
    for _ in lower:
        shifts.more()
    for depth in (1e-9, 1e-3, 0.3, 0.7, 0.999, 1 - 1e-9):
        for bit in (0, 1):
            for share in range(42):
                shifts.more()
                i = len(lower)
                shift, side = shifts[i], -1 if minus(sign, bit) else 1
                gap = list(boundary_distances(2.0**-46 * length + shifts.margin(0.0)))[share % 14]
                distance = side * (real(round(float(shift) + side * length * depth) + gap) - shift)
                digits = truth.cut_exponential_digits(scale, length, distance) if 0 < distance < length else dice.getrandbits(63)
                lower.append(digits << 1 | bit)
    upper = []
    while len(upper) < len(lower):  # a third are corners: a boundary of the upper part nearby, but not inside the cell
        goal = dice.randrange(1, 10) * int(scale / length) + dice.choice([-1, 1]) * Fraction(2) ** dice.randrange(-40, -16)
        corner = truth.exponential_digits(scale / length, real(goal))
        digits = corner if len(upper) % 3 == 0 else dice.getrandbits(63) | 2**44
        if len(high(scale / length, digits)) == 1:
            upper.append(digits << 1 | dice.getrandbits(1))
    return upper, lower


def high(scale: Fraction, digits: int) -> set[int]:
    """What the upper part may be."""
    return truth.floors(*(truth.exponential(scale, arb(0), False, u) for u in truth.Cell(digits, 63).ends()))


@pytest.mark.parametrize(("scale", "sign", "kind"), every_two(LONG))
def test_two_words(scale: Fraction, sign: Sign, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(f"{scale} {sign} {kind}")
    shifts = Shifts(kind, scale, sign, dice)
    length, _ = laplace._split(scale)
    with truth.at_full_precision():
        upper, lower = long_words(scale, length, sign, shifts, dice)
    near = shifts.near()
    witness = Witness(monkeypatch, laplace, "_settle_long", 2)
    result = replay(lambda: floors(scale, Shift(near, shifts.__getitem__), sign, len(lower)), upper + lower + SPARE).value
    _, floored = witness.floored
    zone = 2.0**-46 * length + laplace.margin(0.0, near)
    with truth.at_full_precision():
        for i, word in enumerate(lower):
            below = minus(sign, word)
            ends = [truth.cut_exponential(scale, length, shifts[i], below, w) for w in truth.Cell(word >> 1, 63).ends()]
            after = -1 if sign is Sign.AFTER and word % 2 else 1
            answer = after * int(result[i]) - (-1 if below else 1) * length * high(scale / length, upper[i] >> 1).pop()
            check(answer, ends, floored[i], zone, i in witness.settled)
    assert 0 < len(witness.settled) < len(lower)


def later_digits(scale: Fraction, shift: arb, below: bool, cell: truth.Cell, spare: list[int]) -> int:
    (whole,) = truth.floors(*(truth.exponential(scale, shift, below, u) for u in cell.extended(spare).ends()))
    return whole


@settings(derandomize=True, deadline=None, max_examples=examples(300))
@given(
    st.fractions(Fraction(1, 1000), 2**26, max_denominator=10**6),
    st.fractions(0, 1, max_denominator=2**70),
    st.integers(1, 40).map(lambda depth: depth / 2.9),
    st.booleans(),
    st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3),
)
def test_a_boundary_inside_the_cell(scale: Fraction, fraction: Fraction, depth: float, negative: bool, spare: list[int]) -> None:
    """The 63 digits are those of a boundary, so that only the later digits can tell: the answer is that of the whole uniform."""
    side = -1 if negative else 1
    with truth.at_full_precision():
        shift = real(fraction + Fraction(1, 2))
        distance = side * (round(float(shift) + side * float(scale) * depth) - shift)
        digits = truth.exponential_digits(scale, distance) if distance > 0 else 0
        digits = digits or 2**62 + 1
    drawn = [digits << 1 | negative, *spare, *SPARE[:30]]
    got = replay(lambda: laplace.rounded(scale, np.array([float(fraction)]), lambda _: fraction), drawn).value[0]
    with truth.at_full_precision():
        assert got == later_digits(scale, shift, negative, truth.Cell(digits, 63), drawn[1:4])


@pytest.mark.parametrize("scale", SHORT)
@pytest.mark.parametrize("first", [0, 1, 2**64 - 2, 2**64 - 1])
def test_the_ends_of_the_range(scale: Fraction, first: int) -> None:
    for spare in SPARE[:40]:
        drawn = [first, spare, *SPARE[:30]]
        got = replay(lambda: laplace.geometric(scale, 1), drawn).value[0]
        with truth.at_full_precision():
            assert got == later_digits(scale, arb(0), False, truth.Cell(first >> 1, 63), drawn[1:4])


TINY = {"2^-13": 2**13, "2^-15": 2**15, "28060": 28_060, "28104": 28_104, "3^-20": 3**20, "1e-300": 10**300, "1e-400": 10**400}


@pytest.mark.parametrize("name", TINY)
def test_tiny_scales(name: str) -> None:
    """-ln U < 14 for these words, so the exponential is below 1 and its floor is 0, never -1."""
    drawn = [word for word in ENDS if word >= 2**44]
    for scale in (Fraction(1, TINY[name]), Fraction(4001, 4000 * TINY[name])):
        assert not replay(lambda scale=scale: laplace.geometric(scale, len(drawn)), drawn + SPARE).value.any()
        assert not replay(lambda scale=scale: laplace.discrete(scale, len(drawn)), drawn + SPARE).value.any()


@pytest.mark.parametrize("scale", [*SHORT, *LONG, Fraction(1, 28_060), Fraction(1, 10**40)])
def test_the_shift_of_discrete_laplace_noise(scale: Fraction) -> None:
    """The float is a neighbour of the true shift; the ball contains it, and is as narrow as the precision asks."""
    shift = laplace._log_c(scale)
    assert isinstance(shift.near, float)
    with ctx.workprec(2000):
        true = truth.log_c(scale)
        assert abs(arb(shift.near) - true) <= true * arb(2) ** -52
        for bits in (200, 300, 1000):
            with ctx.workprec(bits):
                ball = shift.exact(0)
            assert ball.overlaps(true)
            assert ball.rad() < arb(2) ** (80 - bits) * (1 + real(scale))


@pytest.mark.parametrize("scale", SHORT)
def test_discrete_laplace_at_a_boundary(scale: Fraction) -> None:
    dice = random.Random(str(scale))
    for _ in range(200):
        with truth.at_full_precision():
            distance = 1 + int(float(scale) * dice.uniform(0, 12)) - truth.log_c(scale)
            digits = truth.exponential_digits(scale, distance)
        negative, later = dice.getrandbits(1), [dice.getrandbits(64) for _ in range(3)]
        tape = [digits << 1 | negative, *later, *SPARE[:30]]
        got = replay(lambda: laplace.discrete(scale, 1), tape).value[0]
        with truth.at_full_precision():
            size = later_digits(scale, truth.log_c(scale), False, truth.Cell(digits, 63), later)
        assert got == (-size if negative else size)
