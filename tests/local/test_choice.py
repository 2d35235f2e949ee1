"""The choice of a protocol: the one with the least error whose reports are short enough."""

from __future__ import annotations

import math

import pytest
from local.protocols import NAMES

import discreet as dp

# Domain size, epsilon -> what is best: from the closed forms.
CHOICES = [
    (2, 1, "k-ary", {}),
    (16, 0.5, "affine", {"prime": 17, "dimension": 1, "weight": 6}),
    (16, 4, "k-ary", {}),
    (100, 0.5, "projective", {"prime": 3, "dimension": 5}),
    (100, 1, "affine", {"prime": 11, "dimension": 2, "weight": 3}),
    (100, 4, "subset", {"weight": 2}),
    (1000, 1, "affine", {"prime": 11, "dimension": 3, "weight": 3}),
    (10_000, 0.5, "affine", {"prime": 3, "dimension": 9, "weight": 1}),
    (10_000, 1, "affine", {"prime": 7, "dimension": 5, "weight": 2}),
    (10_000, 4, "affine", {"prime": 47, "dimension": 3, "weight": 1}),
    (10_000, 8, "affine", {"prime": 10_007, "dimension": 1, "weight": 3}),
    (1_000_000, 8, "affine", {"prime": 2389, "dimension": 2, "weight": 1}),
]


@pytest.mark.parametrize(("size", "epsilon", "name", "parameters"), CHOICES)
def test_the_choice(size: int, epsilon: float, name: str, parameters: dict[str, int]) -> None:
    protocol = dp.local.Frequencies(range(size), epsilon).protocol
    assert (protocol.name, protocol.parameters) == (name, parameters)


@pytest.mark.parametrize("max_bits", [7, 20, 1024])
@pytest.mark.parametrize(("size", "epsilon"), [(3, 1), (50, 0.2), (100, 3), (128, 6)])
def test_nothing_within_the_cap_is_two_percent_better(size: int, epsilon: float, max_bits: int) -> None:
    chosen = dp.local.Frequencies(range(size), epsilon, max_bits=max_bits).protocol
    assert chosen.bits <= max_bits
    for name in NAMES[1:]:
        other = dp.local.Frequencies(range(size), epsilon, protocol=name).protocol
        if other.bits <= max_bits:
            assert chosen.variance <= 1.02 * other.variance


def test_known_errors() -> None:
    """Standard errors for a million reports, from the literature's formulas."""
    for size, epsilon, expected in [(2, 0.5, 19.8e-4), (2, 1, 9.6e-4), (16, 1, 17.9e-4), (100, 1, 19.0e-4), (10_000, 1, 19.2e-4)]:
        assert dp.local.Frequencies(range(size), epsilon).plan(10**6).standard_error == pytest.approx(expected, rel=0.01)
    large = dp.local.Frequencies(range(10_000), 1, protocol="unary").protocol.variance
    assert large == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=1e-3)
