"""A value that cannot be released is refused before any noise is drawn, and the message never repeats it."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.refusals import refused

import discreet as dp
from discreet.errors import ParameterError, ValueRefused

NAN, INF = float("nan"), float("inf")
NEVER_NUMBERS: dict[str, Any] = {
    "string": "Alice123456",
    "digits": "123456",
    "bytes": b"123456",
    "none": None,
    "bool": True,
    "numpy bool": np.True_,
    "bools": np.array([True, False]),
    "complex": 123456 + 1j,
    "ragged": [[123456], [1, 2]],
    "strings": ["123456", "Alice123456"],
    "mixed": [1, "123456"],
    "nones": [1, None],
    "dict": {"Alice": 123456},
    "set": {123456},
    "object": object(),
    "date": np.datetime64("2001-02-03"),
    "nan": NAN,
    "inf": INF,
    "nan inside": [1.0, NAN],
    "inf inside": np.array([[1.0, 2.0], [3.0, -INF]]),
    "decimal nan": Decimal("NaN"),
    "decimal inside": [Fraction(1, 3), Decimal("Infinity")],
    "object bool": np.array([True, 2], dtype=object),
}
NOT_WHOLE: dict[str, Any] = {
    "float": 123456.789,
    "whole float": 123456.0,
    "floats": [1.0, 123456.5],
    "numpy float": np.float32(123456.5),
    "fraction": Fraction(1234567, 2),
    "decimal": Decimal("123456.789"),
    "objects": np.array([1, 123456.5], dtype=object),
}
TOO_LARGE: dict[str, Any] = {
    "float": 1.23456e17,
    "float in a list": [0.0, -1.23456e300],
    "integer": 123456 * 10**20,
    "int64": np.int64(1234567890123456789),
    "fraction": Fraction(1234567 * 10**30, 2),
    "beyond doubles": 123456 * 10**400,
    "decimal": Decimal("1.23456e40"),
}

INTEGRAL = {
    "Laplace": dp.Laplace(sensitivity=1, epsilon=1),
    "Laplace, coarse": dp.Laplace(sensitivity=1, scale=2**60),
    "Gaussian": dp.Gaussian(sensitivity=1, rho=1),
    "Gaussian, coarse": dp.Gaussian(sensitivity=1, sigma=2**60),
    "DiscreteGaussian": dp.DiscreteGaussian(sensitivity=1, rho=1),
    "Linear": dp.Linear(strategy=[[1]], epsilon=1),
}
REAL = {"Laplace": dp.Laplace(sensitivity=1.0, epsilon=1), "Gaussian": dp.Gaussian(sensitivity=1.0, rho=1)}
CONTESTS = [make(sensitivity=1, epsilon=1) for make in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip)]


@pytest.mark.parametrize("mechanism", INTEGRAL.values(), ids=INTEGRAL.keys())
@pytest.mark.parametrize("value", [*NEVER_NUMBERS.values(), *NOT_WHOLE.values()], ids=[*NEVER_NUMBERS, *NOT_WHOLE])
def test_integral_mechanisms(mechanism: Any, value: Any) -> None:
    refused(lambda: mechanism.release(value), ValueRefused, never="123456")


@pytest.mark.parametrize("mechanism", REAL.values(), ids=REAL.keys())
@pytest.mark.parametrize("value", [*NEVER_NUMBERS.values(), *TOO_LARGE.values()], ids=[*NEVER_NUMBERS, *TOO_LARGE])
def test_real_mechanisms(mechanism: Any, value: Any) -> None:
    refused(lambda: mechanism.release(value), ValueRefused, never="23456")


def test_a_value_at_the_edge_of_the_grid_is_still_released() -> None:
    mechanism = REAL["Laplace"]
    edge = mechanism.grid * 2.0**51
    assert abs(mechanism.release(edge) - edge) < 200
    refused(lambda: mechanism.release(np.nextafter(edge, np.inf)), ValueRefused)


@pytest.mark.parametrize("mechanism", [*REAL.values(), *CONTESTS], ids=lambda m: type(m).__name__)
def test_signalling_nan(mechanism: Any) -> None:
    value = [Decimal(1), Decimal("sNaN")]
    with pytest.raises(ValueRefused):
        mechanism.release(value)


def test_a_value_that_overflows_on_the_grid() -> None:
    refused(lambda: dp.Laplace(sensitivity=1e-250, epsilon=1).release(1.23456e300), ValueRefused, never="23456")


SCORES = NEVER_NUMBERS | {"two rows": [[1, 2], [3, 123456]], "number": 123456}


@pytest.mark.parametrize("mechanism", CONTESTS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES.keys())
def test_scores(mechanism: Any, scores: Any) -> None:
    refused(lambda: mechanism.release(scores), ValueRefused, never="123456")


@pytest.mark.parametrize("mechanism", CONTESTS, ids=lambda m: type(m).__name__)
def test_candidates(mechanism: Any) -> None:
    refused(lambda: mechanism.release([]), ParameterError, "candidate")
    refused(lambda: mechanism.release(np.array([], dtype=np.int64)), ParameterError, "candidate")
    refused(lambda: mechanism.choose([], []), ParameterError, "candidate")
    refused(lambda: mechanism.choose(["a", "b"], [1]), ParameterError, "candidates", "scores")
    refused(lambda: mechanism.choose(["a"], np.array([1, 2])), ParameterError, "candidates", "scores")
    refused(lambda: mechanism.choose(["a", "b"], [1, NAN]), ValueRefused)


@pytest.mark.parametrize(
    ("candidates", "scores"),
    [({"a", "b"}, [1, 2]), ({"a": 1, "b": 2}, [1, 2]), (None, [1, 2]), (["a"], 5), (5, [1])],
    ids=["set", "dict", "none", "score", "number"],
)
def test_candidates_that_are_no_list(candidates: Any, scores: Any) -> None:
    with pytest.raises(dp.errors.DiscreetError):
        CONTESTS[0].choose(candidates, scores)


TECHNIQUES = {
    "integers": dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1),
    "reals": dp.SparseVector(sensitivity=1.0, epsilon=1, cutoff=1),
    "with values": dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1, value_epsilon=1),
}


@pytest.mark.parametrize("technique", TECHNIQUES.values(), ids=TECHNIQUES.keys())
@pytest.mark.parametrize("value", NEVER_NUMBERS.values(), ids=NEVER_NUMBERS.keys())
def test_values_of_a_stream(technique: Any, value: Any) -> None:
    stream = technique.start(0)
    refused(lambda: stream.answer(value), ValueRefused, never="123456")
    assert stream.left == 1


def test_a_float_in_a_stream_that_releases_integers() -> None:
    stream = TECHNIQUES["with values"].start(0)
    refused(lambda: stream.ask(123456.789), ValueRefused, never="123456")


def test_values_are_refused_before_the_threshold_is_drawn() -> None:
    refused(lambda: TECHNIQUES["reals"].release([NAN], threshold=0), ValueRefused)


def test_a_value_too_large_to_be_released_is_refused_before_it_is_compared() -> None:
    stream = dp.SparseVector(sensitivity=1.0, epsilon=1, cutoff=1, value_epsilon=1).start(0)
    refused(lambda: stream.ask(1.23456e300), ValueRefused, never="123456")


FOREIGN: dict[str, Any] = {
    "other": "Alice123456",
    "none": None,
    "number": 123456,
    "nan": NAN,
    "unhashable": {},
    "in a list": ["yes", "Alice123456"],
    "in an array": np.array(["yes", "x123456"]),
    "nested": [["yes"], ["123456"]],
    "tuple": ("yes", "123456"),
}


@pytest.mark.parametrize("answer", FOREIGN.values(), ids=FOREIGN.keys())
def test_answers_outside_the_options(answer: Any) -> None:
    refused(lambda: dp.RandomizedResponse(epsilon=1, options=("yes", "no")).release(answer), ValueRefused, never="123456")


def test_a_ragged_list_of_answers() -> None:
    with pytest.raises(ValueRefused):
        dp.RandomizedResponse(epsilon=1, options=("yes", "no")).release(["yes", ["no"]])


def test_no_reports() -> None:
    refused(lambda: dp.RandomizedResponse(epsilon=1).estimate([]), ValueRefused)
    refused(lambda: dp.RandomizedResponse(epsilon=1).estimate([True, 123456]), ValueRefused, never="123456")


KEYS = {noise: dp.Threshold(epsilon=1, delta=1e-6, noise=noise) for noise in ("geometric", "gaussian")}


@pytest.mark.parametrize("verb", ["release", "select"])
@pytest.mark.parametrize("mechanism", KEYS.values(), ids=KEYS.keys())
@pytest.mark.parametrize(
    "count", [-1, 1.0, 123456.789, True, np.True_, None, "123456", NAN, INF, 2**62, [1], Fraction(1), 1j], ids=repr
)
def test_counts(mechanism: Any, verb: str, count: Any) -> None:
    refused(lambda: getattr(mechanism, verb)({"the": 5, "Alice123456": count}), ValueRefused, never="123456")


@pytest.mark.parametrize("counts", [[1, 2], None, 5, "abc"])
def test_counts_that_are_no_mapping(counts: Any) -> None:
    refused(lambda: KEYS["geometric"].release(counts), ValueRefused)
