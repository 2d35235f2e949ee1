"""How far a release moved between neighbours: every mechanism measures it exactly, and says so in words."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.mechanisms.base import Moved, recorded
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.values import Histograms
from discreet.privacy import Privacy
from discreet.privacy.losses import BoundedRange, Gaussian


def moved(mechanism: Any, before: Any, after: Any, *more: Any) -> Moved:
    with recorded() as record:
        for value in (before, after):
            mechanism.release(value, *more)
    return mechanism.moved(*record)


def test_nothing_that_stays_costs_anything() -> None:
    for mechanism, value in [
        (dp.Laplace(sensitivity=1, epsilon=1), [1, 2]),
        (dp.Gaussian(sensitivity=1.0, rho=1), 0.5),
        (dp.DiscreteGaussian(sensitivity=1, rho=1), 7),
        (dp.Exponential(sensitivity=1, epsilon=1), [1, 2]),
        (dp.RandomizedResponse(epsilon=1), True),
        (dp.Threshold(epsilon=1, delta=1e-6), {"a": 3}),
        (Quantile(share=0.5, epsilon=1), np.array([[1, 2, 3]])),
    ]:
        assert moved(mechanism, value, value) == Moved()


def test_sums_are_measured_in_their_norm() -> None:
    laplace = moved(dp.Laplace(sensitivity=2, scale=4), [1, 5, 0], [2, 5, -1])
    assert laplace == Moved(dp.pure(0.5))
    assert moved(dp.Laplace(sensitivity=1, scale=4), [1, 5], [2, 3]).far == "moved by 3, declared 1 (L1): [1, 5] and [2, 3]"
    gaussian = moved(dp.Gaussian(sensitivity=5, sigma=10), [0, 0], [3, 4])
    assert gaussian == Moved(Privacy.of(Gaussian(Fraction(1, 4))))
    assert moved(dp.Gaussian(sensitivity=4, sigma=1), [0, 0], [3, 4]).far == "moved by 5, declared 4 (L2): [0, 0] and [3, 4]"
    assert moved(dp.DiscreteGaussian(sensitivity=1, sigma=1), 0, 1) == Moved(dp.zcdp(0.5))


def test_scores_cost_by_how_far_apart_they_moved() -> None:
    law = dp.Exponential(sensitivity=1, epsilon=1)
    assert moved(law, [0, 0, 0], [1, 1, 1]) == Moved()
    assert moved(law, [0, 0], [1, -1]) == Moved(Privacy.of(BoundedRange(Fraction(1))))
    assert moved(dp.PermuteAndFlip(sensitivity=1, epsilon=1), [0, 0], [1, -1]) == Moved(dp.pure(1))
    assert "a score moved by 2, declared 1" in (moved(law, [0.5, 0], [2.5, 0]).far or "")
    counts = dp.NoisyMax(sensitivity=1, epsilon=1, monotonic=True)
    assert moved(counts, [0, 0], [1, 0]).far is None
    assert "both ways, declared monotonic" in (moved(counts, [0, 0], [1, -1]).far or "")


def test_each_row_of_contests_costs_by_itself() -> None:
    law = dp.PermuteAndFlip(sensitivity=1, epsilon=1)
    with recorded() as record:
        for table in (np.zeros((2, 2), dtype=np.int64), np.array([[0, 1], [1, 0]])):
            law.release_each(table)
    assert law.moved(*record) == Moved(2 * dp.pure(0.5))


def test_a_quantile_moves_by_the_scores_of_its_cells() -> None:
    median = Quantile(share=0.5, epsilon=1)
    one, other = (Histograms(1, 3, np.array([0]), np.array([cell]), np.array([n])) for cell, n in ((0, 4), (0, 5)))
    step = moved(median, one, other)
    assert step.far is None
    assert 0 < step.cost.epsilon() <= 1
    assert moved(median, one, Histograms(1, 3, np.array([0]), np.array([2]), np.array([9]))).far


def test_keys_move_by_one_and_all_the_same_way() -> None:
    keys = dp.Threshold(epsilon=1, delta=1e-6, keys=2)
    assert moved(keys, {"a": 1, "b": 4}, {"a": 2, "b": 5}) == Moved(keys.privacy)
    assert "the count of 'a' moved by 2" in (moved(keys, {"a": 1}, {"a": 3}).far or "")
    assert "some keys grew" in (moved(keys, {"a": 1, "b": 4}, {"a": 2, "b": 3}).far or "")
    three = moved(keys, {}, {"a": 1, "b": 1, "c": 1})
    assert three == Moved(2 * keys.privacy, None, "3 keys moved, declared 2: ['a', 'b', 'c']")


def test_one_person_has_one_answer() -> None:
    law = dp.RandomizedResponse(epsilon=1, options=("yes", "no"))
    assert moved(law, "yes", "no") == Moved(law.privacy)
    assert moved(law, ["yes", "no"], ["no", "yes"]) == Moved(2 * law.privacy, None, "2 answers changed, and one person has one")


@pytest.mark.parametrize("monotonic", [False, True])
def test_comparisons_of_a_stream_belong_together(monotonic: bool) -> None:
    technique = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=3, monotonic=monotonic)
    step = moved(technique, [0, 0, 0], [1, -1, 0], 100)
    assert (step.cost, step.far, step.ways, step.monotonic) == (dp.pure(1), None, {True, False}, monotonic)
    assert step.stream is not None
    assert "declared 1 (every query)" in (moved(technique, [0], [2], 100).far or "")


def test_every_mechanism_describes_itself() -> None:
    assert dp.Laplace(sensitivity=1, epsilon=0.5).describe(unit=1000) == "Laplace noise of scale 2,000"
    assert dp.Gaussian(sensitivity=1, rho=0.5).describe() == "Gaussian noise of standard deviation 1"
    assert dp.Exponential(sensitivity=1, epsilon=1).describe() == "exponential mechanism, epsilon 1 for every group"
    assert Quantile(share=0.5, epsilon=1).describe() == "permute-and-flip, epsilon 1 for every group"
    words = dp.Threshold(epsilon=1, delta=1e-6).describe(times=3)
    assert words == "shown when about 14 or more share them (delta 3e-06)"
