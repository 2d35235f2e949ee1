"""Report noisy max: how much noise it takes, and the winner's exact law.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from reference import laws, statistics
from support.depth import deep

from discreet import NoisyMax

ROUNDS = deep(4_000, 2_000)


@pytest.mark.parametrize("sensitivity", [1, 3, 0.5, Fraction(1, 7)])
@pytest.mark.parametrize("epsilon", [0.1, 1, 2.5])
def test_scores_that_do_not_move_together_need_twice_the_noise(sensitivity: Any, epsilon: Any) -> None:
    exact = Fraction(str(sensitivity)) / Fraction(str(epsilon))
    assert NoisyMax(sensitivity=sensitivity, epsilon=epsilon).scale == 2 * exact
    assert NoisyMax(sensitivity=sensitivity, epsilon=epsilon, monotonic=True).scale == exact


@pytest.mark.diagonal
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("scores", [[0, 1, 2, 1], [0.5, 0.25, -3.0], [Fraction(1, 3), 0], [3, 3, 3, 3, 3]])
def test_the_winners_law(scores: list[Any], monotonic: bool) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=1.5, monotonic=monotonic)
    exact = np.array([float(p) for p in laws.laplace_winner([Fraction(s) / mechanism.scale for s in scores])])
    assert exact.sum() == pytest.approx(1, rel=1e-12)
    found = Counter(mechanism.release(scores) for _ in range(ROUNDS))
    assert statistics.chi_square([found[i] for i in range(len(scores))], exact * ROUNDS) > statistics.ALARM


@pytest.mark.parametrize("k", [2, 5, 12])
@pytest.mark.parametrize("monotonic", [False, True])
def test_privacy_by_the_exact_law(k: int, monotonic: bool) -> None:
    """Integrated to 30 digits, over the pairs of neighbours that move all scores at once: no ratio above e^epsilon."""
    mechanism = NoisyMax(sensitivity=1, epsilon=1, monotonic=monotonic)
    pairs = [([0] * k, [1] + [0] * (k - 1)), ([2, *[1] * (k - 1)], [1] * k)]
    if not monotonic:
        pairs.append(([0] + [1] * (k - 1), [1] + [0] * (k - 1)))
    for pair in pairs:
        one, other = (laws.laplace_winner([Fraction(s) / mechanism.scale for s in scores]) for scores in pair)
        for p, q in zip(one, other, strict=True):
            assert abs(float((p / q).log())) <= 1


def test_the_lectures_noise_breaks_the_claim_for_scores_that_move_apart() -> None:
    """With scale sensitivity / epsilon and many candidates the loss comes close to 2 epsilon."""
    k, scale = 20, NoisyMax(sensitivity=1, epsilon=1, monotonic=True).scale
    one, other = (laws.laplace_winner([Fraction(s) / scale for s in scores])[0] for scores in ([1] + [0] * k, [0] + [1] * k))
    assert 1.7 < float((one / other).log()) <= 2


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("candidates", [2, 10])
def test_error_covers_by_the_exact_law(confidence: float, candidates: int) -> None:
    mechanism = NoisyMax(sensitivity=1, epsilon=0.5)
    behind = Fraction(mechanism.error(confidence, candidates=candidates)) / mechanism.scale
    winners = laws.laplace_winner([Fraction(0)] + [-behind] * (candidates - 1))
    assert float(winners[0]) >= confidence
    assert mechanism.error(confidence, candidates=1) == 0
