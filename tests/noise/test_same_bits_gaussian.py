"""Same digits, same answer, for Gaussian noise: whatever floats decide is what 320-bit arithmetic decides.

The digits are random, or at the ends of the range, or just where the sampler hands over to balls (U next to 1, where the
square root magnifies errors; U next to 2^-20), or solved so that one of the pair lies 2^-60, half a margin or one and a
half margins from a boundary. The requirements are those of ``test_same_bits``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from noise.witness import Witness
from reference import truth
from reference.laws import real
from support.depth import examples
from support.recorded import replay

from discreet.noise import coins, gaussian

DEVIATIONS = [Fraction(1, 3), Fraction(1), Fraction(100), Fraction(10**6), Fraction(2**24)]
SPARE = [0x9E3779B97F4A7C15 * i % 2**64 for i in range(1, 4001)]
HALF = Fraction(1, 2)
NEXT_TO_ONE = [
    int(2**63 * math.exp(-(r**2) / 2)) for r in (2.0**-10, 2.0**-9 * 0.999, 2.0**-9, 2.0**-9 * 1.001, 2.0**-8, 2.0**-6)
]
FIRST = [1, 2, 2**20, 2**30, 2**36 + 5, 2**40, *range(2**43 - 3, 2**43 + 3), 2**62, 2**63 - 2, 2**63 - 1, *NEXT_TO_ONE]
SECOND = [0, 1, 2, 2**53 - 1, 2**53, 2**52, 5 * 2**53 - 1, 5 * 2**53, 2**62 - 1, 2**62, 2**63 - 2**53, 2**63 - 2, 2**63 - 1]

Pair = tuple[int, int]


def solve_angle(deviation: Fraction, digits: int, goal: arb) -> int | None:
    """The digits of the angle that puts sigma R cos exactly at ``goal``."""
    radius, _ = truth.box_muller(deviation**2, truth.dyadic(digits, 63), arb(0))
    return truth.floor((goal / radius).acos() * 2 / arb.pi() * arb(2) ** 63) if 0 < goal < radius else None


def solve_radius(deviation: Fraction, digits: int, goal: arb) -> int | None:
    """The digits of U that put sigma R cos exactly at ``goal``."""
    cos = (truth.dyadic(digits, 63) * arb.pi() / 2).cos()
    u = (-((goal / (real(deviation) * cos)) ** 2) / 2).exp()
    found = truth.floor(u * arb(2) ** 63)
    return found if 0 < found < 2**63 else None


def solved(deviation: Fraction, shift: Fraction, dice: random.Random) -> Pair | None:
    """A pair whose cosine half comes to lie next to an integer, at a radius of any size."""
    gap = Fraction(
        dice.choice([0.0, 2.0**-60, 2.0**-50, *(gaussian.margin(float(deviation)) * x for x in (0.5, 0.99, 1.01, 1.5))])
    )
    radius = dice.choice([2.0**-8.9, 2.0**-7, 2.0**-4, 0.3, 1.0, 3.0, 5.2])
    second = dice.choice([dice.getrandbits(63), dice.getrandbits(50), 2**63 - 1 - dice.getrandbits(50)])
    first = min(int(2**63 * math.exp(-(radius**2) / 2)) + dice.getrandbits(30), 2**63 - 1)
    side = dice.choice([-1, 1])
    reach = radius * math.cos(second * 2.0**-63 * math.pi / 2) if dice.random() < 0.5 else radius * dice.random()
    goal = real(side * (round(float(shift) + side * float(deviation) * reach) + dice.choice([-1, 1]) * gap - shift))
    if goal <= 0:
        return None
    if dice.random() < 0.5:
        angle = solve_angle(deviation, first, goal)
        return None if angle is None else (first << 1 | (side < 0), angle << 1 | dice.getrandbits(1))
    u = solve_radius(deviation, second, goal)
    return None if u is None else (u << 1 | (side < 0), second << 1 | dice.getrandbits(1))


def mirrored(pair: Pair) -> Pair:
    """Cosine and sine change places: the angle is taken from the other end, and the signs are exchanged."""
    one, two = pair
    return one ^ (one ^ two) & 1, (2**64 - 1 - two) & ~1 | one & 1


def pairs(deviation: Fraction, kind: str, dice: random.Random) -> list[tuple[Pair, tuple[Fraction, Fraction]]]:
    """Words and offsets."""
    drawn = [(one << 1 | dice.getrandbits(1), two << 1 | dice.getrandbits(1)) for one in FIRST for two in SECOND]
    drawn += [(one << 1, dice.getrandbits(64)) for one in FIRST for _ in range(20)]
    drawn += [(dice.getrandbits(64), two << 1) for two in SECOND for _ in range(20)]
    drawn += [(dice.getrandbits(64), dice.getrandbits(64)) for _ in range(600)]

    def offset() -> Fraction:
        return Fraction(dice.choice([0, 1, dice.random()])) if kind == "fractions" else Fraction(0)

    found = [(pair, (offset(), offset())) for pair in drawn]
    for turn in range(1000):
        here, other = offset(), offset()
        pair = solved(deviation, here + HALF, dice)
        if pair is not None:
            found.append((pair, (here, other)) if turn % 2 else (mirrored(pair), (other, here)))
    return found


def corners(deviation: Fraction, pair: Pair, shifts: tuple[Fraction, Fraction]) -> tuple[list[arb], list[arb]]:
    """Both outputs before flooring at the four corners of the cell; between them they are monotone."""
    signs = [-1 if word % 2 else 1 for word in pair]
    cells = [truth.Cell(word >> 1, 63).ends() for word in pair]
    values = [truth.box_muller(deviation**2, u, w) for u in cells[0] for w in cells[1]]
    one = [real(shifts[0] + HALF) + signs[0] * cos for cos, _ in values]
    two = [real(shifts[1] + HALF) + signs[1] * sin for _, sin in values]
    return one, two


@pytest.mark.diagonal
@pytest.mark.parametrize("kind", ["none", "fractions"])
@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_pairs(deviation: Fraction, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = random.Random(f"{deviation} {kind}")
    with truth.at_full_precision():
        found = pairs(deviation, kind, dice)
    count = len(found)
    assert count <= 4096, "one chunk only"
    drawn = [pair for pair, _ in found]
    offsets = [own[half] for half in (0, 1) for _, own in found]
    tape = [one for one, _ in drawn] + [two for _, two in drawn] + SPARE
    near = np.array([float(f) for f in offsets]) if kind == "fractions" else None
    witness = Witness(monkeypatch, gaussian, "_settle_pair", 3)
    result = replay(lambda: gaussian.rounded(deviation**2, 2 * count, near, offsets.__getitem__), tape).value
    (floored,) = witness.floored
    half_zone = arb(gaussian.margin(float(deviation))) / 2
    with truth.at_full_precision():
        for i, pair in enumerate(drawn):
            for place, ends in zip((i, count + i), corners(deviation, pair, (offsets[i], offsets[count + i])), strict=True):
                whole = truth.floors(*ends)
                assert min(whole) <= result[place] <= max(whole)
                if i not in witness.settled:
                    assert len(whole) == 1
                    assert all(abs(arb(float(floored[place])) - end) <= half_zone for end in ends)
    assert 0 < len(witness.settled) < count


@settings(derandomize=True, deadline=None, max_examples=examples(200))
@given(st.sampled_from(DEVIATIONS), st.integers(0, 2**32), st.lists(st.integers(1, 2**64 - 2), min_size=6, max_size=6))
def test_a_boundary_inside_the_cell(deviation: Fraction, seed: int, spare: list[int]) -> None:
    """The digits are those of a boundary: the later ones, shared by both of the pair, decide."""
    dice = random.Random(seed)
    with truth.at_full_precision():
        pair = solved(deviation, HALF, dice) or (dice.getrandbits(64), dice.getrandbits(64))
        pair = mirrored(pair) if seed % 2 else pair
    drawn = [*pair, *spare, *SPARE[:40]]
    got = replay(lambda: gaussian.rounded(deviation**2, 2), drawn).value
    with truth.at_full_precision():
        u, w = (truth.dyadic(*_digits(pair[i] >> 1, spare[i::2])) for i in (0, 1))
        cos, sin = truth.box_muller(deviation**2, u, w)
        expected = [truth.floor(real(HALF) + (-1 if pair[i] % 2 else 1) * z) for i, z in enumerate((cos, sin))]
    assert got.tolist() == expected


def _digits(first: int, later: list[int]) -> tuple[int, int]:
    cell = truth.Cell(first, 63).extended(later)
    return cell.digits, cell.known


@pytest.mark.parametrize("deviation", [*DEVIATIONS, Fraction(2**40), Fraction(2**51), Fraction(7, 1000)])
def test_the_exponents_of_the_discrete_gaussian(deviation: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The floats handed to ``accept`` give e^-g to 2^-48, at every distance the proposal can reach."""
    dice = random.Random(str(deviation))
    scale = int(deviation) + 1
    proposals = [int(scale * depth) + step for depth in (0, 0.01, 0.5, 0.99, 1, 1.5, 3, 6, 10, 40) for step in range(-3, 4)]
    proposals += [int(scale * dice.expovariate(1)) for _ in range(1000)]
    monkeypatch.setattr(gaussian.laplace, "discrete", lambda _, size: np.resize(np.array(proposals), size))
    seen = []

    def accept(exponents: np.ndarray, exact: Callable[[int], Fraction]) -> np.ndarray:
        seen.extend((float(g), exact(i)) for i, g in enumerate(exponents))
        return np.ones(exponents.size, dtype=bool)

    monkeypatch.setattr(gaussian, "accept", accept)
    gaussian.discrete(deviation**2, len(proposals))
    assert len(seen) >= len(proposals)
    with truth.at_full_precision():
        for (near, exact), y in zip(seen, proposals, strict=False):
            assert exact == (abs(y) - deviation**2 / scale) ** 2 / (2 * deviation**2)
            assert abs((-arb(near)).exp() - (-real(exact)).exp()) < arb(2) ** -48
    assert coins.SLACK == 2.0**-40
