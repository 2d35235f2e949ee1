"""Every mechanism lets its value out through one place, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.mechanisms.base import Recording, recorded, recorder
from discreet.mechanisms.quantile import Quantile
from discreet.mechanisms.secret import Secret

TABLE = np.array([[1, 2], [3, 4]])
USES: dict[str, tuple[Any, Callable[[Any], object], Any]] = {
    "Laplace": (dp.Laplace(sensitivity=1, epsilon=1), lambda m: m.release(3), 3),
    "Gaussian": (dp.Gaussian(sensitivity=1.0, rho=1), lambda m: m.release([1.5, 2.5]), [1.5, 2.5]),
    "DiscreteGaussian": (dp.DiscreteGaussian(sensitivity=1, rho=1), lambda m: m.release(3), 3),
    "Exponential": (dp.Exponential(sensitivity=1, epsilon=1), lambda m: m.release([1, 2]), [1, 2]),
    "NoisyMax, choose": (dp.NoisyMax(sensitivity=1, epsilon=1), lambda m: m.choose("ab", [1, 2]), [1, 2]),
    "PermuteAndFlip, each": (dp.PermuteAndFlip(sensitivity=1, epsilon=1), lambda m: m.release_each(Secret(TABLE)), TABLE),
    "Quantile": (Quantile(share=0.5, epsilon=1), lambda m: m.release(Secret(TABLE)), TABLE),
    "Threshold": (dp.Threshold(epsilon=1, delta=0.1), lambda m: m.release({"a": 3}), {"a": 3}),
    "Threshold, select": (dp.Threshold(epsilon=1, delta=0.1), lambda m: m.select(Secret({"a": 3})), {"a": 3}),
    "Threshold, Gaussian": (dp.Threshold(epsilon=1, delta=0.1, noise="gaussian"), lambda m: m.select({"a": 3}), {"a": 3}),
    "SparseVector": (dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1), lambda m: m.release([1, 2], threshold=9), [1, 2]),
    "SparseVector, ask": (dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1), lambda m: m.start(9).ask(4), [4]),
    "Linear": (dp.Linear(strategy=[[1, 1], [1, 0]], epsilon=1), lambda m: m.release([3, 4]), [7, 3]),
    "SetUnion": (dp.SetUnion(epsilon=1, delta=0.1, items=2), lambda m: m.release([["b", "a", "a"]]), [["a", "b"]]),
    "RunningSums": (dp.RunningSums(steps=2, sensitivity=1, rho=1), lambda m: m.release([1, 1]), [[2**20], [3 * 2**19]]),
    "RunningSums, add": (dp.RunningSums(steps=2, sensitivity=1, rho=1), lambda m: m.start().add(3), [3 * 2**20]),
    "RandomizedResponse": (dp.RandomizedResponse(epsilon=1), lambda m: m.release(True), True),
}


@pytest.mark.parametrize("name", USES)
def test_every_release_is_seen_once(name: str) -> None:
    mechanism, use, value = USES[name]
    with recorded() as record:
        use(mechanism)
    assert [release.mechanism for release in record] == [mechanism]
    np.testing.assert_equal(record[0].value, value)


def test_all_public_mechanisms_are_here() -> None:
    from discreet import mechanisms

    assert {name.split(",")[0] for name in USES} == {*mechanisms.__all__, "Quantile"}


def test_a_recorder_may_answer_itself_and_is_gone_afterwards() -> None:
    def seven(release: Recording, draw: Callable[[], object]) -> object:
        assert recorder() is None  # what a mechanism does inside is its own affair
        return (release.value, draw() is not None, 7)

    mechanism = dp.Laplace(sensitivity=1, epsilon=1)
    with recorded(seven):
        assert mechanism.release(3) == (3, True, 7)
    assert recorder() is None
    assert isinstance(mechanism.release(3), int)


def test_values_of_a_stream_are_releases_of_their_own() -> None:
    with recorded() as record:
        dp.SparseVector(sensitivity=1, epsilon=9, cutoff=1, value_epsilon=9).release([10**6], threshold=0)
    assert [type(release.mechanism).__name__ for release in record] == ["SparseVector", "Laplace"]
