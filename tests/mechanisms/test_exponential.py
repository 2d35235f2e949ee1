"""The exponential mechanism: the softmax law, its utility theorem, and the lectures' examples.

Chi-square comparisons raise a false alarm with probability below 1e-7 (see ``reference.statistics``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reference import laws, statistics
from support.depth import deep

from discreet import Exponential, NoisyMax, PermuteAndFlip

ROUNDS = deep(4_000, 2_000)
CONTESTS: dict[str, list[Any]] = {
    "integers": [5, 3, 0, 4],
    "floats": [0.1, 0.3, -2.5, 0.30000000000000004],
    "fractions": [Fraction(1, 3), Fraction(-7, 2), Fraction(1, 2)],
    "mixed": [1, 0.5, Fraction(1, 3), Decimal("-0.7")],
    "huge": [10**400, 10**400 - 2, 10**400 + 1],
    "single": [7],
}


def frequencies(mechanism: Any, scores: Any, rounds: int = ROUNDS) -> list[int]:
    found = Counter(mechanism.release(scores) for _ in range(rounds))
    return [found[i] for i in range(len(scores))]


def test_hair_colours() -> None:
    """The lecture: dark 500, brown 399, epsilon 0.1. The best wins unless the winner is more than 100 behind."""
    hair = Exponential(sensitivity=1, epsilon=0.1)
    candidates, scores = ["dark", "blond", "brown", "red"], [500, 50, 399, 51]
    assert hair.utility_bound(beta=4 * math.exp(-5), candidates=4) == pytest.approx(100, rel=1e-14)
    assert hair.probabilities(scores)[0] >= 1 - 4 * math.exp(-5) >= 0.973
    assert Counter(hair.choose(candidates, scores) for _ in range(1000))["dark"] > 900  # fewer: probability below 1e-25


def test_best_price() -> None:
    """Three bid 1.00 and one 3.01: a price of 1.00 earns 4.00, 3.01 earns 3.01, and a cent above either earns far less."""
    bids, prices = (
        [Fraction(b) for b in ("1.00", "1.00", "1.00", "3.01")],
        [Fraction(p) for p in ("1.00", "1.01", "3.01", "3.02")],
    )
    revenue = [price * sum(bid >= price for bid in bids) for price in prices]
    assert revenue == [4, Fraction("1.01"), Fraction("3.01"), 0]
    chances = Exponential(sensitivity=Fraction("3.02"), epsilon=2).probabilities(revenue)
    assert chances.argsort().tolist() == [3, 1, 2, 0]


@pytest.mark.diagonal
@pytest.mark.parametrize("monotonic", [False, True])
@pytest.mark.parametrize("scores", CONTESTS.values(), ids=CONTESTS.keys())
def test_the_law_is_softmax(scores: list[Any], monotonic: bool) -> None:
    mechanism = Exponential(sensitivity=1.5, epsilon=2, monotonic=monotonic)
    weight = Fraction(2) / (Fraction(3, 2) * (1 if monotonic else 2))
    assert mechanism.weight == weight
    exact = [float(p) for p in laws.softmax([weight * (Fraction(s) - Fraction(scores[0])) for s in scores])]
    assert mechanism.probabilities(scores) == pytest.approx(exact, rel=1e-12)
    if len(scores) > 1:
        seen = frequencies(mechanism, scores, ROUNDS)
        assert statistics.chi_square(seen, np.array(exact) * sum(seen)) > statistics.ALARM
    else:
        assert mechanism.release(scores) == 0


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32, np.float64, object])
def test_scores_of_every_type(dtype: Any) -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert mechanism.probabilities(np.array([1, 3, 2], dtype=dtype)) == pytest.approx(
        mechanism.probabilities([1, 3, 2]), rel=1e-15
    )
    assert type(mechanism.release(np.array([1, 3, 2], dtype=dtype))) is int


@pytest.mark.parametrize(
    "scores",
    [
        np.array([2**63 - 1, 2**63 - 2, -(2**63)]),
        np.array([2**64 - 1, 2**64 - 2, 0], dtype=np.uint64),
        [2**53 + 1, 2**53, 2**53 - 10**6],
        [10**30 + 1, 10**30, 0],
    ],
)
def test_large_integers_are_compared_exactly(scores: Any) -> None:
    chances = Exponential(sensitivity=1, epsilon=2).probabilities(scores)
    assert chances == pytest.approx([math.e / (1 + math.e), 1 / (1 + math.e), 0], rel=1e-12)


@pytest.mark.parametrize("scores", [[2**60 + 129, 2**60 + 127, 0.5], [2**63 + 1025, 2**63 + 1023, -1]])
def test_large_integers_beside_others_are_compared_exactly(scores: Any) -> None:
    chances = Exponential(sensitivity=1, epsilon=2).probabilities(scores)
    assert chances == pytest.approx([math.e**2 / (1 + math.e**2), 1 / (1 + math.e**2), 0], rel=1e-12)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_numpy_integers_beside_fractions() -> None:
    scores = [np.int64(2**62), np.int64(-(2**62) - 5), Fraction(1, 3)]
    assert all(Exponential(sensitivity=1, epsilon=1).release(scores) == 0 for _ in range(20))


def test_scores_as_far_apart_as_doubles_allow() -> None:
    """P(second) = 1 / (1 + e) = 0.27; 400 rounds without it have probability below 1e-50."""
    mechanism = Exponential(sensitivity=1e308, epsilon=1)
    assert any(mechanism.release([1e308, -1e308]) == 1 for _ in range(400))


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "scores"), [(1e-300, 1e300, [1.0, 2.0]), (1e300, 1e-300, [1e308, -1e308])], ids=["large", "small"]
)
def test_weights_beyond_the_doubles(sensitivity: float, epsilon: float, scores: list[float]) -> None:
    assert Exponential(sensitivity=sensitivity, epsilon=epsilon).release(scores) in (0, 1)


def test_only_differences_of_scores_matter() -> None:
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert mechanism.probabilities([1e300, 1e300]).tolist() == [0.5, 0.5]
    assert mechanism.probabilities([-5, -6]).tolist() == mechanism.probabilities([1005, 1004]).tolist()


@pytest.mark.parametrize("best", [1, 3])
@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
def test_the_utility_theorem(best: int, beta: float) -> None:
    """Even when everybody else is just beyond the bound, the chance to miss is at most beta, by the exact law."""
    mechanism = Exponential(sensitivity=2, epsilon=0.3)
    bound = mechanism.utility_bound(beta, candidates=20, best=best)
    assert bound == pytest.approx(2 * 2 / 0.3 * math.log(20 / (beta * best)))
    chances = mechanism.probabilities([0.0] * best + [-bound] * (20 - best))
    assert chances[best:].sum() <= beta * (1 + 1e-12)
    assert mechanism.error(0.95, candidates=20) == pytest.approx(mechanism.utility_bound(0.05, 20))


def test_choose_returns_the_candidate_itself() -> None:
    first, second = object(), object()
    mechanism = Exponential(sensitivity=1, epsilon=1)
    assert mechanism.choose([first, second], [1000, 0]) is first  # otherwise: probability e^-500
    assert mechanism.choose(("a", "b"), np.array([0, 1000])) == "b"
    assert mechanism.choose("ab", [0, 1000]) == "b"


class Touched(Sequence[int]):
    """Counts how often it is looked at."""

    def __init__(self) -> None:
        self.looks = 0

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, i: Any) -> Any:
        self.looks += 1
        return range(1_000_000)[i]


def test_a_million_candidates_are_not_copied() -> None:
    candidates = Touched()
    scores = np.zeros(1_000_000)
    scores[777] = 1e6
    for mechanism in (Exponential, NoisyMax, PermuteAndFlip):
        candidates.looks = 0
        assert mechanism(sensitivity=1, epsilon=1).choose(candidates, scores) == 777
        assert candidates.looks == 1


def test_a_pandas_column_of_candidates_is_taken_by_position() -> None:
    column = pd.Series(["a", "b"], index=[1, 0])
    assert Exponential(sensitivity=1, epsilon=1).choose(column, [0, 10**6]) == "b"
