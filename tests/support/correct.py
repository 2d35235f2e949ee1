"""Mechanisms that keep their claims, and barely: each with a pair of inputs that reaches the claim."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import discreet as dp

_random = np.random.default_rng()


@dataclass(frozen=True)
class Correct:
    """A function, the two inputs, and the claim that it keeps."""

    function: Callable[[Any], object]
    a: object
    b: object
    claim: dict[str, Any]


def geometric(x: int) -> int:
    ratio = 1 - math.exp(-1)
    return x + int(_random.geometric(ratio)) - int(_random.geometric(ratio))


def gaussian(x: float) -> float:
    return math.floor((x + float(_random.normal())) * 2**20) / 2**20


CORRECT = {
    "randomized response": Correct(lambda x: x if _random.random() < math.e / (1 + math.e) else 1 - x, 0, 1, {"epsilon": 1}),
    "geometric": Correct(geometric, 0, 1, {"epsilon": 1}),
    "Gaussian on its curve": Correct(gaussian, 0, 1, {"privacy": dp.gdp(1)}),
    "the whole table with probability delta": Correct(
        lambda x: x if _random.random() < 0.01 else None, 0, 1, {"epsilon": 0, "delta": 0.01}
    ),
}
