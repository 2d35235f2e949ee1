"""Projective geometry by brute force: numbering, hyperplanes, drawing on and off them, and the decoder."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.local.protocols.geometry import Geometry

SHAPES = [(2, 3), (2, 5), (3, 2), (3, 3), (3, 4), (5, 3), (7, 3), (11, 2)]


def points(prime: int, dimension: int) -> list[tuple[int, ...]]:
    """Vectors whose highest nonzero coordinate is 1, in the order of the number they spell (lowest place first)."""
    every = itertools.product(range(prime), repeat=dimension)
    chosen = [v for v in every if any(v) and next(x for x in v if x) == 1]
    return sorted((v[::-1] for v in chosen), key=lambda v: v[::-1])


@pytest.mark.parametrize(("prime", "dimension"), SHAPES)
def test_points_are_numbered_in_order(prime: int, dimension: int) -> None:
    expected = points(prime, dimension)
    whole = Geometry(prime, dimension, len(expected))
    assert whole.points == len(expected)
    assert [tuple(whole.vector(number)) for number in range(whole.points)] == expected
    assert [tuple(column) for column in whole.digits.T.tolist()] == expected
    assert [whole.vector(n)[place] for n, place in enumerate(whole.places)] == [1] * whole.points


@pytest.mark.parametrize(("prime", "dimension"), SHAPES)
def test_every_vector_lies_on_one_point(prime: int, dimension: int) -> None:
    whole = Geometry(prime, dimension, (prime**dimension - 1) // (prime - 1))
    numbers = whole.number(np.arange(1, prime**dimension))
    assert np.bincount(numbers).tolist() == [prime - 1] * whole.points
    assert whole.number(whole.written(whole.points)).tolist() == list(range(whole.points))


@pytest.mark.parametrize(("prime", "dimension"), SHAPES)
def test_hyperplanes_have_the_stated_sizes(prime: int, dimension: int) -> None:
    whole = Geometry(prime, dimension, (prime**dimension - 1) // (prime - 1))
    meets = whole.digits.T @ whole.digits % prime == 0
    assert set(meets.sum(axis=0).tolist()) == {whole.on_a_hyperplane}
    both = meets.astype(int) @ meets.astype(int)
    assert {int(both[i, j]) for i, j in itertools.combinations(range(whole.points), 2)} == {whole.on_two}


@pytest.mark.parametrize(("prime", "dimension"), SHAPES)
def test_free_coordinates_cover_points_on_and_off_a_hyperplane_evenly(prime: int, dimension: int) -> None:
    whole = Geometry(prime, dimension, (prime**dimension - 1) // (prime - 1))
    meets = whole.digits.T @ whole.digits % prime == 0
    free = np.arange(prime ** (dimension - 1))
    for code in range(whole.points):
        codes = np.full(free.size, code)
        off = np.bincount(whole.meeting(codes, free, np.ones_like(free)), minlength=whole.points)
        assert off.tolist() == (~meets[code]).astype(int).tolist()
        on = np.bincount(whole.meeting(codes[1:], free[1:], np.zeros_like(free[1:])), minlength=whole.points)
        assert on.tolist() == ((prime - 1) * meets[code]).tolist()


@settings(deadline=None, max_examples=examples(60))
@given(st.sampled_from(SHAPES), st.data())
def test_the_decoder_against_brute_force(shape: tuple[int, int], data: st.DataObject) -> None:
    prime, dimension = shape
    number = (prime**dimension - 1) // (prime - 1)
    used = data.draw(st.integers(1, number))
    counts = st.integers(0, 2) | st.integers(0, 2**31)
    histogram = np.array(data.draw(st.lists(counts, min_size=number, max_size=number)), dtype=np.int64)
    some, whole = Geometry(prime, dimension, used), Geometry(prime, dimension, number)
    meets = whole.digits.T @ whole.digits % prime == 0
    assert some.incidences(histogram).tolist() == (meets.astype(np.int64) @ histogram)[:used].tolist()


def test_the_decoder_for_ten_thousand_values() -> None:
    whole = Geometry(3, 10, 10_000)
    histogram = (np.arange(whole.points) * 7919) % 1009
    found = whole.incidences(histogram)
    everything = Geometry(3, 10, whole.points).digits
    for code in (0, 1, 2, 77, 5_000, 9_999):
        meets = whole.digits[:, code] @ everything % 3 == 0
        assert found[code] == histogram[meets].sum()
