"""Equal to whoever looks: values, types, order, NaN; and shapes that are public."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.auditor.likeness import alike, shape
from discreet.mechanisms.values import Histograms


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
def test_alike(i: int) -> None:
    assert alike(*SAME[i])


@pytest.mark.parametrize("i", range(len(OTHER)))
def test_not_alike(i: int) -> None:
    assert not alike(*OTHER[i])
    assert not alike([OTHER[i][0]], [OTHER[i][1]])


def test_shapes() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert [shape(value) for value in (1, 2.5, "text", [], [1, 2], [[1, 2]], np.zeros((2, 0)), pd.Series([1, 2]))] == [
        (),
        (),
        (),
        (0,),
        (2,),
        (1, 2),
        (2, 0),
        (2,),
    ]
    assert shape(Histograms(2, 3, none, none, none)) == (2, 3)
    assert shape({"a": 1}) is None
