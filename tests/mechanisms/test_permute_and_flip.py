"""Permute-and-flip: the law of its winner by two formulas, and never worse than the exponential mechanism.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics
from support.depth import deep

from discreet import Exponential, PermuteAndFlip

ROUNDS = deep(4_000, 2_000)
SCORES = [[0, 1], [0, 1, 2, 1], [0.5, 0.25, -3.0], [3, 3, 3, 3, 3], [10, 9, 0, 0, 0, 0], [Fraction(1, 3), 0, Fraction(-5, 7)]]


def winners(mechanism: Any, scores: list[Any]) -> np.ndarray:
    """Inclusion and exclusion over the others, exactly."""
    return np.array([float(p) for p in laws.exponential_winner([mechanism.weight * Fraction(s) for s in scores])])


@pytest.mark.diagonal
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("scores", SCORES)
def test_the_winners_law(scores: list[Any], monotonic: bool) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=1.5, monotonic=monotonic)
    exact = winners(mechanism, scores)
    found = Counter(mechanism.release(scores) for _ in range(ROUNDS))
    assert statistics.chi_square([found[i] for i in range(len(scores))], exact * ROUNDS) > statistics.ALARM


@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
@pytest.mark.parametrize("scores", SCORES)
def test_it_is_never_worse_than_the_exponential_mechanism(scores: list[Any], epsilon: float) -> None:
    """In expectation, and in the chance to be farther than any bound below the best."""
    values = np.array([float(s) for s in scores])
    flip = winners(PermuteAndFlip(sensitivity=1, epsilon=epsilon), scores)
    exponential = Exponential(sensitivity=1, epsilon=epsilon).probabilities(scores)
    assert flip @ values >= exponential @ values - 1e-12
    for bound in values:
        assert flip[values < bound].sum() <= exponential[values < bound].sum() + 1e-12


@pytest.mark.parametrize("monotonic", [False, True])
def test_privacy_by_the_exact_law(monotonic: bool) -> None:
    """Every pair of neighbours among small whole scores: no winner's chance changes by more than e^epsilon."""
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=1, monotonic=monotonic)
    worst = 0.0
    for scores in product(range(4), repeat=3):
        moves = product((0, 1), repeat=3) if monotonic else product((-1, 0, 1), repeat=3)
        one = winners(mechanism, list(scores))
        for move in moves:
            other = winners(mechanism, [s + m for s, m in zip(scores, move, strict=True)])
            worst = max(worst, float(np.abs(np.log(one / other)).max()))
    assert 0.9 < worst <= 1 + 1e-12


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("candidates", [1, 2, 8])
def test_error_covers_by_the_exact_law(confidence: float, candidates: int) -> None:
    mechanism = PermuteAndFlip(sensitivity=1, epsilon=0.5)
    behind = Fraction(mechanism.error(confidence, candidates=candidates))
    assert winners(mechanism, [Fraction(0)] + [-behind] * (candidates - 1))[0] >= confidence
