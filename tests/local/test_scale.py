"""Numbers, and what becomes of everything else."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.depth import examples

from discreet.errors import ParameterError, ValueRefused
from discreet.local.domains.scale import Scale, read_scale

TEN = read_scale(0, 10, None)


def test_numbers_outside_are_clamped() -> None:
    values = [-1, 0, 5, 11, 1e300, -(10**400), 10**400, float("inf"), float("-inf"), True, Fraction(5, 2), Decimal("7.5")]
    assert TEN.places(values).tolist() == [0, 0, 0.5, 1, 1, 0, 1, 1, 0, 0.1, 0.25, 0.75]


@pytest.mark.parametrize(
    "bad", [float("nan"), None, "7", b"7", [1], {}, 1j, np.datetime64("2026-01-01"), Decimal("NaN")], ids=str
)
def test_what_is_no_number_gets_the_declared_fate(bad: object) -> None:
    with pytest.raises(ValueRefused, match="no number") as refusal:
        TEN.places([3, bad])
    assert "7" not in str(refusal.value)
    assert read_scale(0, 10, 2.5).places([10, bad]).tolist() == [1, 0.25]
    drawn = np.array([read_scale(0, 10, "random").places([10, bad])[1] for _ in range(200)])
    assert np.unique(drawn).size > 150
    assert ((drawn >= 0) & (drawn <= 1)).all()


def test_arrays_are_read_without_a_loop_and_alike() -> None:
    for array in (np.array([1, 2]), np.array([1, 2], dtype=np.uint8), np.array([1.0, 2.0]), np.array([1, 2], dtype=object)):
        assert TEN.places(array).tolist() == [0.1, 0.2]
    with pytest.raises(ValueRefused, match="flat"):
        TEN.places(np.zeros((2, 2)))


@given(
    st.lists(st.one_of(st.floats(), st.integers(), st.text(max_size=3), st.none())),
    st.integers(-(10**9), 10**9),
    st.integers(1, 10**9),
)
@settings(deadline=None, max_examples=examples(50))
def test_places_always_lie_between_the_bounds(values: list[object], low: int, width: int) -> None:
    for fate in ("random", low):
        places = read_scale(low, low + width, fate).places(values)
        assert places.size == len(values)
        assert ((places >= 0) & (places <= 1)).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1, None), "not below"),
        ((float("nan"), 1, None), "finite"),
        ((0, 10, 11), "within the bounds"),
        ((0, 10, "drop"), "'refuse', 'random'"),
        ((0, Fraction(10) ** 300, None), "another unit"),
        (("0", 1, None), "lower must be a number"),
    ],
    ids=str,
)
def test_bad_scales_are_refused(arguments: tuple[object, object, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        read_scale(*arguments)


def test_a_scale_survives_json() -> None:
    for scale in (read_scale(0.1, 10, None), read_scale(0, 1, "random"), read_scale(-1, 1, Fraction(1, 3))):
        assert Scale.from_facts(scale.facts) == scale


def test_bounds_beyond_doubles_are_refused_at_birth() -> None:
    with pytest.raises(ParameterError, match="too large"):
        Scale(Fraction(10**400), Fraction(10**400 + 5))
