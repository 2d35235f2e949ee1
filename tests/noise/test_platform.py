"""What the proofs assume of the platform: logarithms and exponentials within 16 units in the last place. Measured: within 4.

If this fails on a machine, its numpy is unusually inaccurate; if an error exceeds 16 units, the samplers' margins are not
proved there.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb
from reference import truth

from discreet.noise.gaussian import _cos_sin

ALLOWED = 4.0
_DICE = random.Random("platform")
RANDOM = np.array([_DICE.random() for _ in range(10_000)])
WORDS = np.array([_DICE.getrandbits(64) for _ in range(5_000)], dtype=np.uint64)
STEPS = np.array([k * 2.0**-j for j in range(1, 54) for k in (1, 3, 5)])


def worst(function: Callable[[np.ndarray], np.ndarray], exact: Callable[[arb], arb], points: np.ndarray) -> float:
    """The largest error in units in the last place of the true result."""
    got = function(points)
    with truth.at_full_precision():
        true = [exact(arb(float(x))) for x in points]
        rounded = np.array([float(t) for t in true], dtype=points.dtype)
        unit = np.spacing(np.abs(rounded)).astype(float)
        errors = [float(abs(arb(float(g)) - t) / u) for g, t, u in zip(got, true, unit, strict=True) if t != 0]
    return max(errors)


LOGARITHM = {
    "the digits of U as integers": (WORDS >> np.uint64(1) | np.uint64(1)).astype(np.float64),
    "the digits of U as fractions": (WORDS >> np.uint64(1) | np.uint64(1)).astype(np.float64) * 2.0**-63,
    "few digits": np.array([2.0**43 + k for k in range(200)]),
    "next to 1": np.concatenate([1 - STEPS[STEPS < 1], 1 - RANDOM * 2.0**-9, 1 - RANDOM * 2.0**-18]),
    "every size": 2.0 ** (RANDOM * 2000 - 1000),
    "around powers of two": np.concatenate([2.0**e * (1 + s * STEPS) for e in (-20, -1, 0, 1, 43, 62) for s in (-0.25, 1)]),
    "around the square root of 2": np.sqrt(2.0) * (1 + (RANDOM - 0.5) * 2.0**-20),
}


@pytest.mark.parametrize("name", LOGARITHM)
def test_log(name: str) -> None:
    assert worst(np.log, arb.log, LOGARITHM[name]) <= ALLOWED


@pytest.mark.parametrize("span", [2.0**-8, 2.0**-9, 2.0**-15, 2.0**-22, 0.5])
def test_log1p(span: float) -> None:
    points = np.concatenate([-RANDOM * span, -STEPS[STEPS < 1] * span, -(WORDS >> np.uint64(1)).astype(float) * 2.0**-63 * span])
    assert worst(np.log1p, arb.log1p, points) <= ALLOWED


@pytest.mark.parametrize("span", [2.0**-40, 1.0, 40.0, 700.0])
def test_exp(span: float) -> None:
    points = np.concatenate([-RANDOM * span, -STEPS * min(span, 100.0), -np.log(2.0) * np.arange(1, 60)])
    assert worst(np.exp, arb.exp, points) <= ALLOWED


def test_log_in_single_precision() -> None:
    integers = np.concatenate([WORDS >> np.uint64(32), WORDS >> np.uint64(50), np.arange(1, 300, dtype=np.uint64)]).astype(
        np.uint32
    )
    points = np.concatenate([integers[integers > 0], np.array([2**31 - 1, 2**31, 2**32 - 1], dtype=np.uint32)]).astype(np.float32)
    assert worst(np.log, arb.log, points) <= ALLOWED


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("stride", [1, 2])
def test_short_and_strided_arrays_are_as_good(size: int, stride: int) -> None:
    """Libraries use other code for the ends of arrays."""
    for start in range(0, 1000, size * stride):
        points = RANDOM[start : start + size * stride : stride]
        assert worst(np.log, arb.log, points) <= ALLOWED
        assert worst(np.log1p, arb.log1p, -points) <= ALLOWED
        assert worst(np.exp, arb.exp, -points) <= ALLOWED


def test_square_roots_and_conversions_round_correctly() -> None:
    """IEEE 754: half a unit."""
    assert worst(np.sqrt, arb.sqrt, RANDOM * 44) <= 0.5
    integers = (WORDS >> np.uint64(1)).view(np.int64)
    assert [float(int(x)) for x in integers] == integers.astype(np.float64).tolist()
    assert [float(int(x)) for x in WORDS] == (WORDS * 1.0).tolist()


def test_cosine_and_sine() -> None:
    """Within 2^-49, at random angles and at both ends, the middles and the joints of the 1024 slices."""
    joints = [(i << 53) + step << 1 for i in range(0, 1024, 7) for step in (0, 1, 2**52 - 1, 2**52, 2**53 - 1)]
    drawn = np.concatenate([WORDS, np.array([*joints, 0, 1, 2**64 - 1, 2**64 - 2**54], dtype=np.uint64)])
    cos, sin = _cos_sin(drawn)
    with truth.at_full_precision():
        bound = arb(2) ** -49
        for word, c, s in zip(drawn, cos, sin, strict=True):
            for w in truth.Cell(int(word) >> 1, 63).ends():
                angle = arb.pi() / 2 * w
                assert abs(arb(float(c)) - angle.cos()) < bound
                assert abs(arb(float(s)) - angle.sin()) < bound
