"""Workloads: whatever they know in closed form is what their questions, written out, say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from discreet.analysis.counting.workloads import Marginals, Prefixes, Questions, Ranges, Workload, weigh_alike
from discreet.errors import ParameterError

RANDOM = np.random.default_rng(4)
WORKLOADS: dict[str, Workload] = {
    "questions": Questions(RANDOM.integers(-2, 3, (4, 12)) + np.eye(4, 12, dtype=int) * 5, weights=[1, 2, 3.5, 0.1]),
    "questions of a table": Questions(RANDOM.integers(1, 3, (5, 12)), shape=(3, 4)),
    "ranges": Ranges(12),
    "prefixes": Prefixes(12),
    "marginals": Marginals((2, 3, 2), {(): 0.5, (1,): 2.0, (0, 2): 1.0, (0, 1, 2): 3.0}),
}
every = pytest.mark.parametrize("name", WORKLOADS)


@every
def test_answers_weights_and_squares_are_those_of_the_questions(name: str) -> None:
    workload = WORKLOADS[name]
    rows, weights = workload.written_out(), workload.weights
    assert rows.shape == (workload.size, workload.cells)
    assert workload.mass == pytest.approx(weights.sum())
    counts, inverse = RANDOM.normal(size=12), RANDOM.normal(size=(12, 7))
    assert workload.answer(counts) == pytest.approx(rows @ counts)
    assert workload.gram() == pytest.approx(rows.T @ (weights[:, None] * rows))
    assert workload.spread(inverse) == pytest.approx(((rows @ inverse) ** 2).sum(axis=1))


def in_parts(rows: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    """From the definition: every cell of the larger table has a part, and a question a sum in it."""
    places = np.unravel_index(np.arange(rows.shape[1]), shape)
    keys = [tuple(int(places[axis][cell]) for axis in axes) for cell in range(rows.shape[1])]
    sums = {
        key: sum((rows[:, cell] for cell in range(rows.shape[1]) if keys[cell] == key), np.zeros(len(rows))) for key in set(keys)
    }
    return np.sum([column**2 for column in sums.values()], axis=0)


@every
def test_overlaps_with_parts(name: str) -> None:
    workload = WORKLOADS[name]
    rows = workload.written_out()
    if len(workload.shape) > 1:
        tables = [(workload.shape, axes) for axes in [(), (0,), (1,), tuple(range(len(workload.shape)))]]
    else:  # trees: the margins over the first digits, some leaves being empty
        tables = [
            (shape, tuple(range(many))) for shape in [(2, 2, 3), (2, 7), (3, 2, 3), (12,)] for many in range(len(shape) + 1)
        ]
    for shape, axes in tables:
        wanted = in_parts(rows, shape, axes)
        assert workload.overlaps(shape, axes) == pytest.approx(wanted)
        assert workload.overlap(shape, axes) == pytest.approx(float(workload.weights @ wanted))


def test_margins_that_weigh_alike() -> None:
    alike = weigh_alike((3, 4), [(), (0,), (0, 1)])
    assert {axes: table.sum() for axes, table in alike.split(alike.weights).items()} == pytest.approx({(): 1, (0,): 1, (0, 1): 1})
    assert {axes: table.shape for axes, table in alike.split(alike.weights).items()} == {(): (), (0,): (3,), (0, 1): (3, 4)}


def test_many_intervals_are_not_listed() -> None:
    many = Ranges(2**16)
    assert many.size == 2**15 * (2**16 + 1)
    assert many.overlap((1, 2**16), (0,)) == pytest.approx(
        sum(length**2 * (2**16 - length + 1) for length in range(1, 2**16 + 1))
    )
    for call in (lambda: many.ends, lambda: many.answer(np.zeros(2**16)), many.written_out):
        with pytest.raises(ParameterError):
            call()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Questions([[1.5]]),
        lambda: Questions([[1, 0], [0, 0]]),
        lambda: Questions([[1], [1, 2]]),
        lambda: Questions([[2**21]]),
        lambda: Questions([[1, 2]], weights=[1, 2]),
        lambda: Questions([[1, 2]], weights=[0]),
        lambda: Questions([[1, 2]], weights=[math.inf]),
        lambda: Questions([[1, 2]], shape=(3,)),
        lambda: Ranges(0),
        lambda: Ranges(2**21),
        lambda: Ranges(1.5),  # type: ignore[arg-type]
        lambda: Marginals((2, 2), {}),
        lambda: Marginals((2, 2), {(1, 0): 1}),
        lambda: Marginals((2, 2), {(2,): 1}),
        lambda: Marginals((2, 2), {(0,): 0}),
        lambda: Marginals((), {(): 1}),
        lambda: Marginals((2**11, 2**11), {(): 1}),
    ],
)
def test_what_is_no_workload_is_refused(make: Any) -> None:
    with pytest.raises(ParameterError):
        make()
