"""Running sums: what is special to them beside the contract of all mechanisms."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import Exhausted, ParameterError, ValueRefused
from discreet.mechanisms.base import Moved, recorded
from discreet.mechanisms.matrix.running_sums import _column

STILL = 10**14  # a rho with so little noise that sums are off by less than 1/2, but with probability below e^-1000


def _matrix(steps: int) -> np.ndarray:
    column = _column(steps)
    return np.array([[int(column[t - j]) if j <= t else 0 for j in range(steps)] for t in range(steps)], dtype=object)


@pytest.mark.parametrize("steps", [1, 2, 5, 8])
@pytest.mark.parametrize(("many", "apart"), [(1, 1), (2, 1), (2, 3), (3, 2), (9, 1)])
def test_the_reach_is_the_largest_over_every_way_to_take_part(steps: int, many: int, apart: int) -> None:
    """And with differences in any direction: signs that are not alike never move further."""
    matrix = _matrix(steps)
    farthest = 0
    for size in range(1, many + 1):
        for chosen in itertools.combinations(range(steps), size):
            if all(b - a >= apart for a, b in itertools.pairwise(chosen)):
                for signs in itertools.product((-1, 1), repeat=size):
                    moved = sum(
                        (sign * matrix[:, i] for sign, i in zip(signs, chosen, strict=True)), np.zeros(steps, dtype=object)
                    )
                    farthest = max(farthest, int((moved**2).sum()))
    assert dp.RunningSums(steps=steps, sensitivity=1, rho=1, participations=many, apart=apart).squared_reach == farthest


def test_the_matrix_is_the_root_of_the_matrix_of_ones() -> None:
    steps = 40
    root = _matrix(steps).astype(float) * 2.0**-20
    assert np.abs(root @ root - np.tri(steps)).max() < 1e-4
    assert all(a >= b > 0 for a, b in itertools.pairwise(_column(2**12).tolist()))


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [0, 0, 0, 0, -7], [[1, 10], [2, 20], [3, -30]], [2**70, 1, -(2**71)]])
def test_sums_are_right_where_there_is_no_noise_to_speak_of(values: list[object]) -> None:
    exact = np.cumsum(np.array(values, dtype=object), axis=0)
    mechanism = dp.RunningSums(steps=6, sensitivity=1, rho=STILL)
    given = np.array(values, dtype=object) if max(map(abs, np.ravel(np.array(values, dtype=object)))) > 2**62 else values
    released, stream = mechanism.release(given), mechanism.start()
    added = np.array([stream.add(np.array(np.atleast_1d(one), dtype=object)) for one in given]).reshape(released.shape)
    for sums in (released, added):
        assert np.allclose(sums, exact.astype(float), rtol=1e-12, atol=0.5)


def test_noise_grows_with_the_logarithm_of_the_steps() -> None:
    spreads = {steps: math.sqrt(dp.RunningSums(steps=steps, sensitivity=1, rho=0.5).variances()[-1]) for steps in (1, 16, 1024)}
    assert spreads[1] == pytest.approx(1, rel=1e-4)
    assert spreads[1024] < 1 + math.log(1024) / math.pi + 0.4 < math.sqrt(1024) / 8


def test_sums_have_the_variances_that_are_stated() -> None:
    """Eight standard errors of a sample variance of normal numbers, sqrt(2 / n) of it: below 1e-14."""
    mechanism, runs = dp.RunningSums(steps=3, sensitivity=1, rho=0.5), 4000
    released = mechanism.release(np.zeros((3, runs), dtype=np.int64))  # every coordinate has noise of its own
    assert released.var(axis=1) == pytest.approx(mechanism.variances(), rel=8 * math.sqrt(2 / runs))


def test_a_stream_moves_as_far_as_its_mechanism_says_and_no_further() -> None:
    """Step by step, with the second and the fourth step replaced; squares add up to what is claimed."""
    mechanism = dp.RunningSums(steps=4, sensitivity=2, rho=0.5, participations=2, apart=2)

    def run(first: int, third: int) -> list[object]:
        with recorded() as record:
            stream = mechanism.start()
            for value in (first, 5, third, 5):
                stream.add(value)
        return record

    before, after = run(0, 0), run(2, 2)
    moved = [mechanism.moved(a, b) for a, b in zip(before, after, strict=True)]
    assert all(one == Moved(one.cost) for one in moved)
    assert sum(one.cost for one in moved).rho == pytest.approx(0.5)
    assert mechanism.moved(run(0, 0)[3], run(20, 20)[3]).far is not None


def test_a_stream_ends_with_its_steps_and_is_not_copied() -> None:
    stream = dp.RunningSums(steps=2, sensitivity=1, rho=0.5).start()
    stream.add([1, 2])
    with pytest.raises(ValueRefused, match="as many numbers as the first"):
        stream.add([1, 2, 3])
    assert stream.left == 1
    stream.add([1, 2])
    with pytest.raises(Exhausted, match="pay for a new stream"):
        stream.add([1, 2])
    for leave in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(Exhausted):
            leave(stream)


def test_what_is_refused() -> None:
    for wrong in ({"steps": 0}, {"steps": 10**6}, {"participations": 0}, {"apart": 0}, {"rho": None}, {"rho": 0}, {"epsilon": 1}):
        with pytest.raises(ParameterError):
            dp.RunningSums(**{"steps": 3, "sensitivity": 1, "rho": 0.5, **wrong})
    mechanism = dp.RunningSums(steps=3, sensitivity=Fraction(1, 3), rho=0.5)
    for value in ([1, 2, 3, 4], [0.5], [], [[[1]]], "123", [float("nan")]):
        with pytest.raises(ValueRefused):
            mechanism.release(value)
