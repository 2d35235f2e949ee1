"""Every public parameter outside its theorem is refused at once, by name, in a sentence, and before any noise is drawn."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.refusals import NOT_NUMBERS, NOT_POSITIVE, refused

import discreet as dp
from discreet.errors import ParameterError

BUILDERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Laplace": (dp.Laplace, {"sensitivity": 1, "epsilon": 1}),
    "Laplace(scale)": (dp.Laplace, {"sensitivity": 1.5, "scale": 2}),
    "Gaussian": (dp.Gaussian, {"sensitivity": 1, "epsilon": 1, "delta": 1e-6}),
    "Gaussian(rho)": (dp.Gaussian, {"sensitivity": 1, "rho": 1}),
    "Gaussian(sigma)": (dp.Gaussian, {"sensitivity": 1.5, "sigma": 1}),
    "Gaussian.classic": (dp.Gaussian.classic, {"sensitivity": 1, "epsilon": 0.5, "delta": 1e-6}),
    "DiscreteGaussian(rho)": (dp.DiscreteGaussian, {"sensitivity": 1, "rho": 1}),
    "DiscreteGaussian(sigma)": (dp.DiscreteGaussian, {"sensitivity": 1, "sigma": 1}),
    "Linear": (lambda **facts: dp.Linear(strategy=[[1, 1]], **facts), {"epsilon": 1, "weight": 1, "cells": 1}),
    "Linear(rho)": (lambda **facts: dp.Linear(strategy=[[1, 1]], **facts), {"rho": 1}),
    "Exponential": (dp.Exponential, {"sensitivity": 1, "epsilon": 1}),
    "NoisyMax": (dp.NoisyMax, {"sensitivity": 1, "epsilon": 1}),
    "PermuteAndFlip": (dp.PermuteAndFlip, {"sensitivity": 1, "epsilon": 1}),
    "RandomizedResponse": (dp.RandomizedResponse, {"epsilon": 1}),
    "RandomizedResponse.loose": (dp.RandomizedResponse.loose, {"epsilon": 1}),
    "SparseVector": (dp.SparseVector, {"sensitivity": 1, "epsilon": 1, "cutoff": 1, "value_epsilon": 1}),
    "Threshold": (dp.Threshold, {"epsilon": 1, "delta": 1e-6, "keys": 1}),
    "Threshold(gaussian)": (lambda **facts: dp.Threshold(noise="gaussian", **facts), {"epsilon": 1, "delta": 1e-6, "keys": 1}),
}
PARAMETERS = [(builder, name) for builder, (_, facts) in BUILDERS.items() for name in facts]


@pytest.mark.parametrize(("builder", "name"), PARAMETERS)
@pytest.mark.parametrize("value", NOT_POSITIVE.values(), ids=NOT_POSITIVE.keys())
def test_not_a_positive_number(builder: str, name: str, value: object) -> None:
    make, facts = BUILDERS[builder]
    refused(lambda: make(**{**facts, name: value}), ParameterError, name)


@pytest.mark.parametrize(("builder", "name"), [p for p in PARAMETERS if p[1] != "value_epsilon"])
def test_none(builder: str, name: str) -> None:
    make, facts = BUILDERS[builder]
    refused(lambda: make(**{**facts, name: None}), ParameterError, name)


@pytest.mark.parametrize("builder", [builder for builder, name in PARAMETERS if name == "delta"])
@pytest.mark.parametrize("delta", [1, 1.0, 1.5, Fraction(3, 2), Decimal(1), np.int64(1)])
def test_delta_of_one_or_more(builder: str, delta: Any) -> None:
    make, facts = BUILDERS[builder]
    refused(lambda: make(**{**facts, "delta": delta}), ParameterError, "delta")


@pytest.mark.parametrize(
    ("builder", "name"), [("SparseVector", "cutoff"), ("Threshold", "keys"), ("Linear", "weight"), ("Linear", "cells")]
)
@pytest.mark.parametrize("value", [1.0, 1.5, Fraction(1), Decimal(1), np.float64(2)])
def test_not_a_whole_number(builder: str, name: str, value: Any) -> None:
    make, facts = BUILDERS[builder]
    refused(lambda: make(**{**facts, name: value}), ParameterError, name)


@pytest.mark.parametrize("make", [dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip])
@pytest.mark.parametrize("value", [1, 0, None, "yes", np.True_])
def test_monotonic_is_a_bool(make: Any, value: Any) -> None:
    refused(lambda: make(sensitivity=1, epsilon=1, monotonic=value), ParameterError, "monotonic")
    refused(lambda: dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1, monotonic=value), ParameterError, "monotonic")


@pytest.mark.parametrize(
    ("make", "facts"),
    [
        (dp.Laplace, {}),
        (dp.Laplace, {"epsilon": 1, "scale": 1}),
        (dp.Gaussian, {}),
        (dp.Gaussian, {"epsilon": 1}),
        (dp.Gaussian, {"delta": 1e-6}),
        (dp.Gaussian, {"epsilon": 1, "delta": 1e-6, "rho": 1}),
        (dp.Gaussian, {"rho": 1, "sigma": 1}),
        (dp.Gaussian, {"sigma": 1, "delta": 1e-6}),
        (dp.DiscreteGaussian, {}),
        (dp.DiscreteGaussian, {"rho": 1, "sigma": 1}),
    ],
)
def test_too_few_or_too_many_ways_to_say_how_much_noise(make: Any, facts: dict[str, Any]) -> None:
    assert "write" in refused(lambda: make(sensitivity=1, **facts), ParameterError, make.__name__)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.Laplace(sensitivity=1, scale=10**400),
        lambda: dp.Laplace(sensitivity=1.0, scale=Fraction(1, 10**400)),
        lambda: dp.Laplace(sensitivity=1, epsilon=Fraction(1, 10**400)),
        lambda: dp.Gaussian(sensitivity=1, sigma=10**400),
        lambda: dp.Gaussian(sensitivity=1.0, rho=10**700),
        lambda: dp.DiscreteGaussian(sensitivity=1, sigma=2**52),
        lambda: dp.SparseVector(sensitivity=1, epsilon=1e-20, cutoff=1),
        lambda: dp.SparseVector(sensitivity=1.0, epsilon=1e-12, cutoff=10**6),
    ],
)
def test_noise_beyond_the_grid(make: Any) -> None:
    refused(make, ParameterError)


@pytest.mark.parametrize("options", [(), ("a",), ("a", "a"), (1, True), "ab", None, 5, [["a"], ["b"]]], ids=repr)
@pytest.mark.parametrize("make", [dp.RandomizedResponse, dp.RandomizedResponse.loose], ids=["tight", "loose"])
def test_options(make: Any, options: Any) -> None:
    refused(lambda: make(epsilon=1, options=options), ParameterError, "options")


def test_loose_randomized_response_is_for_two_options() -> None:
    refused(lambda: dp.RandomizedResponse.loose(epsilon=1, options=(1, 2, 3)), ParameterError, "RandomizedResponse(epsilon=...)")


@pytest.mark.parametrize("epsilon", [1, 1.0, 2, Fraction(10, 9)])
def test_classic_gaussian_is_for_epsilon_below_one_and_names_the_exact_one(epsilon: Any) -> None:
    call = lambda: dp.Gaussian.classic(sensitivity=1, epsilon=epsilon, delta=1e-6)  # noqa: E731
    refused(call, ParameterError, "Gaussian(sensitivity=..., epsilon=..., delta=...)", "exact")


@pytest.mark.parametrize("noise", ["laplace", "", None, 1, ["gaussian"]])
def test_noise_of_a_threshold(noise: Any) -> None:
    refused(lambda: dp.Threshold(epsilon=1, delta=1e-6, noise=noise), ParameterError, "noise")


CONTESTS = [make(sensitivity=1, epsilon=1) for make in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip)]
ERRORS: dict[str, Any] = {
    "Laplace": dp.Laplace(sensitivity=1, epsilon=1).error,
    "Laplace, real": dp.Laplace(sensitivity=1.0, epsilon=1).error,
    "Gaussian": dp.Gaussian(sensitivity=1, rho=1).error,
    "DiscreteGaussian": dp.DiscreteGaussian(sensitivity=1, rho=1).error,
    **{type(m).__name__: lambda confidence, m=m: m.error(confidence, candidates=3) for m in CONTESTS},
    "RandomizedResponse": lambda confidence: dp.RandomizedResponse(epsilon=1).error(confidence, reports=10),
    "Estimate.interval": dp.RandomizedResponse(epsilon=1).estimate([True, False]).interval,
    "SparseVector": lambda confidence: dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1).error(confidence, queries=3),
    "Threshold": dp.Threshold(epsilon=1, delta=1e-6).error,
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS.keys())
@pytest.mark.parametrize("confidence", [1, 1.0, 95, *NOT_POSITIVE.values()], ids=["one", "one float", "percent", *NOT_POSITIVE])
def test_confidence(error: Any, confidence: object) -> None:
    refused(lambda: error(confidence), ParameterError, "confidence")


NOT_WHOLE = {"zero": 0, "minus": -1, "float": 2.0, "half": 1.5, **NOT_NUMBERS}


@pytest.mark.parametrize("value", NOT_WHOLE.values(), ids=NOT_WHOLE.keys())
def test_how_many_candidates_or_queries(value: Any) -> None:
    for mechanism in CONTESTS:
        refused(lambda mechanism=mechanism: mechanism.error(0.95, candidates=value), ParameterError, "candidates")
    technique = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1)
    refused(lambda: technique.error(0.95, queries=value), ParameterError, "queries")
    exponential = dp.Exponential(sensitivity=1, epsilon=1)
    refused(lambda: exponential.utility_bound(0.05, candidates=value), ParameterError, "candidates")
    refused(lambda: exponential.utility_bound(0.05, candidates=5, best=value), ParameterError, "best")


@pytest.mark.parametrize("value", [0, -1, "ten", None])
def test_how_many_reports(value: Any) -> None:
    refused(lambda: dp.RandomizedResponse(epsilon=1).error(0.95, reports=value), ParameterError, "reports")


def test_utility_bound_of_more_winners_than_candidates() -> None:
    refused(lambda: dp.Exponential(sensitivity=1, epsilon=1).utility_bound(0.05, 3, best=4), ParameterError, "best")
    refused(lambda: dp.Exponential(sensitivity=1, epsilon=1).utility_bound(1.5, 3), ParameterError, "beta")


@pytest.mark.parametrize("threshold", [*NOT_NUMBERS.values(), None], ids=[*NOT_NUMBERS, "none"])
def test_threshold_of_a_stream(threshold: Any) -> None:
    technique = dp.SparseVector(sensitivity=1, epsilon=1, cutoff=1)
    refused(lambda: technique.start(threshold), ParameterError, "threshold")
    refused(lambda: technique.release([1, 2], threshold=threshold), ParameterError, "threshold")


def test_a_cutoff_beyond_the_floats() -> None:
    refused(lambda: dp.SparseVector(sensitivity=1, epsilon=1, cutoff=10**400), ParameterError)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dp.Threshold(epsilon=1e-20, delta=1e-6),
        lambda: dp.Threshold(epsilon=1e-20, delta=1e-30, noise="gaussian"),
        lambda: dp.SparseVector(sensitivity=1.0, epsilon=1, cutoff=1, value_epsilon=Fraction(1, 10**300)),
    ],
)
def test_noise_beyond_the_grid_is_refused_at_birth(make: Any) -> None:
    refused(make, ParameterError)
