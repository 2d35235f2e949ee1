"""Replay finds what is wrong with plain functions, says it with numbers, and is silent where nothing is."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.auditor.replay.compare import are_equal, replay
from discreet.mechanisms.quantile import Quantile

Run = Callable[[list[Any]], object]


def laplace(sensitivity: Any = 1) -> dp.Laplace:
    return dp.Laplace(sensitivity=sensitivity, epsilon=1)


def stream(values: list[Any], threshold: Any = 5, **more: Any) -> object:
    return dp.SparseVector(sensitivity=1, epsilon=1, cutoff=2, **more).release(values, threshold=threshold)


def adaptive(rows: list[int]) -> object:
    """What is asked next depends on a noisy answer, and so does how often."""
    first = laplace().release(len(rows))
    asked = [laplace(1 + i).release(min(1 + i, sum(rows))) for i in range(abs(first) % 7)]
    return first, asked, "many" if first > 2 else "few"


def counts(rows: list[int]) -> np.ndarray:
    return np.bincount(rows, minlength=4)


GOOD: dict[str, tuple[Run, list[Any], list[Any]]] = {
    "count": (lambda rows: laplace().release(len(rows)), [1, 5], [1]),
    "real sum": (lambda rows: laplace(5.0).release(float(sum(rows))), [1, 5], [1]),
    "histogram": (lambda rows: dp.Gaussian(sensitivity=1, rho=1).release(counts(rows)), [0, 1], [0]),
    "replaced": (lambda rows: dp.Gaussian(sensitivity=1.4143, rho=1).release(counts(rows)), [0, 1], [0, 2]),
    "discrete Gaussian": (lambda rows: dp.DiscreteGaussian(sensitivity=1, rho=1).release(len(rows)), [0, 1], [0]),
    "big integers": (lambda rows: laplace(2**70).release(sum(rows)), [2**70, 7], [7]),
    "exponential": (lambda rows: dp.Exponential(sensitivity=1, epsilon=1).release(counts(rows)), [0, 1, 1], [0, 1, 2]),
    "choice": (lambda rows: dp.NoisyMax(sensitivity=1, epsilon=1, monotonic=True).choose("abcd", counts(rows)), [0, 1], [0]),
    "quantile": (lambda rows: Quantile(share=0.5, epsilon=1, side=-1).release(counts(rows)[None]), [0, 1, 3], [0, 1]),
    "each": (lambda rows: dp.PermuteAndFlip(sensitivity=1, epsilon=1).release_each(counts(rows)[None]), [0, 1], [0]),
    "keys": (lambda rows: dp.Threshold(epsilon=1, delta=0.1).select({row: rows.count(row) for row in rows}), [1, 1, 2], [1, 1]),
    "stream": (lambda rows: stream([len(rows)] * 30), [1, 5], [1]),
    "stream with values": (lambda rows: stream([len(rows)] * 30, value_epsilon=1), [1, 5, 6, 7], [1, 5, 6]),
    "response": (lambda rows: dp.RandomizedResponse(epsilon=1, options=(0, 1)).release(rows), [0, 1, 1], [0, 1, 0]),
    "response of another length": (
        lambda r: dp.RandomizedResponse(epsilon=1, options=((1,), (1, 2))).release(r[0]),
        [(1,)],
        [(1, 2)],
    ),
    "adaptive": (adaptive, [1, 0, 1], [1, 0]),
    "nothing": (lambda _: "public", [1], []),
    "always an error": (lambda _: 1 / 0, [1], []),
    "both refused": (lambda _: laplace().release("a"), [1], []),  # type: ignore[arg-type]
    "NaN returned": (lambda _: {"x": [float("nan"), np.array([np.nan])]}, [1], []),
}


@pytest.mark.parametrize("name", GOOD)
def test_is_silent_about_good_functions(name: str) -> None:
    run, a, b = GOOD[name]
    for one, other in ((a, b), (b, a)) * 3:
        found = replay(run, one, other)
        assert found.steady
        assert not found.violated, str(found)


def test_counts_releases_and_what_they_cost() -> None:
    found = replay(lambda rows: [laplace(4).release(sum(rows)), laplace().release(7)], [1, 2], [1])
    assert found.releases == 2
    assert found.privacy.epsilon() == 0.5  # moved by 2 of 4
    assert str(found) == "Not refuted by this pair: 2 releases moved no further than declared."


def test_a_stream_is_paid_for_once() -> None:
    def run(rows: list[int]) -> object:
        asked = dp.SparseVector(sensitivity=1, epsilon=2, cutoff=1).start(threshold=10**6)
        return [asked.ask(len(rows)) for _ in range(5)]

    found = replay(run, [1], [])
    assert (found.releases, found.privacy.epsilon()) == (5, 2)


def warned(rows: list[int]) -> None:
    if len(rows) > 1:
        warnings.warn("many rows", stacklevel=1)


def one_by_one(rows: list[int]) -> object:
    asked = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1, monotonic=True).start(threshold=10**6)
    return [asked.ask(len(rows)), asked.ask(-len(rows))]


BAD: dict[str, tuple[Run, list[Any], list[Any], str, str]] = {
    "sum without bounds": (lambda r: laplace().release(sum(r)), [1, 5], [1], "moved", "moved by 5, declared 1 (L1): 6 and 1"),
    "L2": (lambda r: dp.Gaussian(sensitivity=1, rho=1).release(counts(r)), [0, 1], [0, 2], "moved", "by 1.41421, declared 1"),
    "a hair too far": (lambda r: laplace(1.0).release(sum(r)), [Fraction(1) + Fraction(1, 10**30)], [], "moved", "declared 1"),
    "wide floats": (lambda r: laplace(1.0).release(sum(r)), [1.0, 1e9], [1.0], "moved", "moved by 1000000000"),
    "discrete Gaussian": (lambda r: dp.DiscreteGaussian(sensitivity=1, rho=1).release(sum(r)), [3], [], "moved", "moved by 3"),
    "mean over the true n": (
        lambda r: dp.Laplace(sensitivity=1 / len(r), epsilon=1).release(sum(r) / len(r)),
        [1, 0],
        [0],
        "declaration",
        "Fraction(1, 2)",
    ),
    "bounds from the data": (lambda r: laplace(max(r)).release(sum(r)), [1, 5], [1], "declaration", "sensitivity=5"),
    "score": (lambda r: dp.Exponential(sensitivity=1, epsilon=1).release([0, sum(r)]), [2], [], "moved", "a score moved by 2"),
    "not monotonic": (
        lambda r: dp.PermuteAndFlip(sensitivity=1, epsilon=1, monotonic=True).release(counts(r)),
        [0, 1],
        [0, 2],
        "moved",
        "both ways, declared monotonic",
    ),
    "candidates from the data": (
        lambda r: dp.Exponential(sensitivity=1, epsilon=1).choose(sorted(r), [0] * len(r)),
        [1, 5],
        [1, 6],
        "declaration",
        "(1, 5)",
    ),
    "more candidates": (lambda r: dp.NoisyMax(sensitivity=1, epsilon=1).release(r), [1, 5], [1], "shape", "2 values"),
    "quantile of a person's two rows": (
        lambda r: Quantile(share=0.5, epsilon=1).release(counts(r)[None]),
        [0] * 10 + [3, 3],
        [0] * 10,
        "moved",
        "a score moved by 2, declared 1",
    ),
    "keys counted by rows": (
        lambda r: dp.Threshold(epsilon=1, delta=0.1).select({row: r.count(row) for row in r}),
        [1, 2, 2],
        [1],
        "moved",
        "the count of 2 moved by 2",
    ),
    "too many keys": (
        lambda r: dp.Threshold(epsilon=1, delta=0.1, keys=2).release(dict.fromkeys(r, 1)),
        [1, 2, 3],
        [],
        "moved",
        "3 keys moved, declared 2",
    ),
    "replaced keys": (
        lambda r: dp.Threshold(epsilon=1, delta=0.1, keys=2).release(dict.fromkeys(r, 1)),
        [1],
        [2],
        "moved",
        "some keys grew",
    ),
    "stream": (lambda r: stream([sum(r)]), [3], [], "moved", "moved by 3, declared 1 (every query)"),
    "stream's threshold": (lambda r: stream([0], threshold=len(r)), [3], [], "declaration", "SparseVector"),
    "stream both ways": (one_by_one, [3], [], "moved", "both ways"),
    "two answers": (lambda r: dp.RandomizedResponse(epsilon=1).release(r), [True, True], [False, False], "moved", "2 answers"),
    "keys of a dictionary": (
        lambda r: {k: laplace().release(1) for k in r},
        ["a", "b"],
        ["a"],
        "branch",
        "after release 1 only one side goes on, to Laplace",
    ),
    "groups in the data": (lambda r: laplace().release(np.unique(r)), [1, 5], [1], "shape", "2 values on one side and 1"),
    "another mechanism": (
        lambda r: (laplace() if len(r) > 1 else dp.Gaussian(sensitivity=1, rho=1)).release(0),
        [1, 5],
        [1],
        "branch",
        "Gaussian",
    ),
    "an error": (lambda r: 1 / (len(r) - 1), [1, 5], [1], "raised", "ZeroDivisionError"),
    "a refusal": (lambda r: laplace(1.0).release(max(r)), [1.0, float("nan")][::-1], [1.0], "raised", "refused"),
    "a warning": (warned, [1, 5], [1], "said", "many rows"),
    "a print": (lambda r: print(len(r)), [1, 5], [1], "said", "2"),
    "the truth beside the noise": (lambda r: (laplace().release(len(r)), len(r)), [1, 5], [1], "returned", "same noisy answers"),
    "the type of an answer": (lambda r: 1 if len(r) > 1 else 1.0, [1, 5], [1], "returned", "1.0"),
    "the order of keys": (lambda r: dict.fromkeys(r, 0), [1, 2], [2, 1], "returned", "{1: 0, 2: 0}"),
}


@pytest.mark.parametrize("name", BAD)
def test_finds_what_is_wrong(name: str) -> None:
    run, a, b, kind, words = BAD[name]
    found = replay(run, a, b)
    assert found.violated
    assert found.differences[0].kind == kind, str(found)
    assert words in str(found)
    assert replay(run, b, a).violated


def test_a_function_with_other_noise_is_not_judged() -> None:
    draws = itertools.count()
    found = replay(lambda rows: len(rows) + next(draws), [1], [1])
    assert not found.violated
    assert not found.steady
    assert "cannot be replayed" in str(found)


class Held:
    def __init__(self, value: object) -> None:
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value


def ring(value: object) -> Held:
    one, other = Held(value), Held(None)
    one.next = other.next = other.last = one  # type: ignore[attr-defined]
    one.last = other  # type: ignore[attr-defined]
    return one


SAME: list[tuple[Any, Any]] = [
    (math.nan, float("nan")),
    ({"a": [1, (2.0, None)]}, {"a": [1, (2.0, None)]}),
    (np.array([1.0, math.nan]), np.array([1.0, math.nan])),
    (dp.Laplace(sensitivity=1, epsilon=1), dp.Laplace(sensitivity=1, scale=1)),
    (pd.DataFrame({"x": [1.0, None]}), pd.DataFrame({"x": [1.0, None]})),
    (object(), object()),
    ({1, 2}, {2, 1}),
    (Held([1, math.nan]), Held([1, math.nan])),
    (Slotted(1), Slotted(1)),
    (ring(1), ring(1)),
    (ValueError("x"), ValueError("x")),
]
OTHER: list[tuple[Any, Any]] = [
    (1, 1.0),
    (1, True),
    (0.0, -0.0),
    ([1], (1,)),
    ([1], [1, 1]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    (np.array([1]), np.array([1.0])),
    (np.array([[1]]), np.array([1])),
    (dp.Laplace(sensitivity=1, epsilon=1), dp.Laplace(sensitivity=1.0, epsilon=1)),
    (dp.NoisyMax(sensitivity=1, epsilon=1), dp.Exponential(sensitivity=1, epsilon=1)),
    (pd.DataFrame({"x": [1]}), pd.DataFrame({"x": [2]})),
    ("a", "b"),
    ({1}, {2}),
    (Held(1), Held(2)),
    (Held([Held(1)]), Held([Held(2)])),
    (Slotted(1), Slotted(1.0)),
    (ring(1), ring(2)),
    (ValueError("x"), ValueError("y")),
]


@pytest.mark.parametrize("i", range(len(SAME)))
def test_equal(i: int) -> None:
    assert are_equal(*SAME[i])


@pytest.mark.parametrize("i", range(len(OTHER)))
def test_not_equal(i: int) -> None:
    assert not are_equal(*OTHER[i])
    assert not are_equal([OTHER[i][0]], [OTHER[i][1]])
