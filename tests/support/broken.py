"""Mechanisms that break their claim (epsilon = 1, with delta where it says so), each with a pair of inputs and the draws within
which it should be found.

Their noise may come from numpy: they are what is audited. Real numbers lie on a grid of 2^-20, so that low bits tell nothing
except where they are the fault.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

_random = np.random.default_rng()


@dataclass(frozen=True)
class Broken:
    """A function, the two inputs, and how many draws on each side may pass (median of five runs) before it is found out."""

    function: Callable[[Any], object]
    a: object
    b: object
    draws: int
    delta: float = 0


def laplace(scale: float) -> float:
    return math.floor(float(_random.laplace(0, scale)) * 2**20) / 2**20


def gaussian(x: float) -> float:
    return math.floor((x + float(_random.normal(0, 1.9))) * 2**20) / 2**20


def sparse_vector_that_shows_its_value(queries: Sequence[float]) -> list[float | None]:
    """Algorithm 3: the noisy value of the query above the threshold is given away with the same noise."""
    threshold, shown = laplace(2), list[float | None]()
    for query in queries:
        value = query + laplace(2)
        if value >= threshold:
            return [*shown, value]
        shown.append(None)
    return shown


def sparse_vector_for_one_answer(queries: Sequence[float]) -> list[bool]:
    """Algorithm 4: noise for one answer, given up to five times."""
    threshold, shown = laplace(4), list[bool]()
    for query in queries:
        shown.append(query + laplace(4 / 3) >= threshold)
        if sum(shown) >= 5:
            break
    return shown


def sparse_vector_without_noise(queries: Sequence[float]) -> list[bool]:
    """Algorithm 5: only the threshold is noisy."""
    threshold = laplace(2)
    return [query >= threshold for query in queries]


def sparse_vector_without_end(queries: Sequence[float]) -> list[bool]:
    """Algorithm 6: as many answers as there are queries, for the noise of one."""
    threshold = laplace(2)
    return [query + laplace(2) >= threshold for query in queries]


def noisy_max_with_value(scores: Sequence[float]) -> tuple[int, float]:
    noisy = [score + laplace(2) for score in scores]
    return int(np.argmax(noisy)), max(noisy)


def noisy_max_for_monotone_scores(scores: Sequence[float]) -> int:
    return int(np.argmax([score + laplace(1) for score in scores]))


def mean_by_true_size(values: Sequence[float]) -> float:
    return sum(values) / len(values) + laplace(1 / len(values))


def counts_of_what_occurs(names: Sequence[str]) -> dict[str, float]:
    return {name: names.count(name) + laplace(1) for name in sorted(set(names))}


def count_that_fails_on_seven(values: Sequence[int]) -> float:
    if 7 in values:
        raise ValueError("no sevens, please")
    return len(values) + laplace(1)


OPPOSITE = [1] * 5 + [-1] * 5

BROKEN = {
    "Laplace, half the noise": Broken(lambda x: x + laplace(0.5), 0, 1, 1_000),
    "Laplace, 10 % too little noise": Broken(lambda x: x + laplace(0.9), 0, 1, 30_000),
    "randomized response, ln 3 sold as 1": Broken(lambda x: x if _random.random() < 0.75 else 1 - x, 0, 1, 30_000),
    "Gaussian, sigma 1.9 sold as (1, 1e-3)": Broken(gaussian, 0, 1, 20_000, delta=1e-3),
    "sparse vector, algorithm 3": Broken(sparse_vector_that_shows_its_value, [0] * 10, [1] * 9 + [0], 60_000),
    "sparse vector, algorithm 4": Broken(sparse_vector_for_one_answer, [0] * 10, OPPOSITE, 2_000),
    "sparse vector, algorithm 5": Broken(sparse_vector_without_noise, [1, 0], [0, 1], 1_000),
    "sparse vector, algorithm 6": Broken(sparse_vector_without_end, [0] * 10, OPPOSITE, 3_000),
    "noisy max with its value": Broken(noisy_max_with_value, [0] * 5, [1] * 5, 5_000),
    "mean by the true size": Broken(mean_by_true_size, [1, 0], [0], 1_000),
    "floating-point Laplace": Broken(lambda x: float(x + _random.laplace()), 0.0, 1.0, 1_000),
    "a key of one person": Broken(counts_of_what_occurs, ["A", "A", "B"], ["A", "A"], 1_000),
    "an exception on one side": Broken(count_that_fails_on_seven, [1, 7], [1], 1_000),
    "noisy max, scores not monotone": Broken(noisy_max_for_monotone_scores, [0] * 12, [1] + [-1] * 11, 5_000),
}
