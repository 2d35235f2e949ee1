"""Sensitivities against brute force: no neighbour moves a statistic by more than is stated, and some neighbour by as much."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from support.refusals import NOT_NUMBERS, refused

from discreet import Gaussian, Laplace
from discreet import sensitivity as schema
from discreet.errors import ParameterError

Records = tuple[Fraction, ...]
Statistic = Callable[[Records], tuple[Fraction, ...]]
CHOICE = random.Random(7)


def neighbours(records: Records, domain: list[Fraction], relation: str) -> Iterator[Records]:
    for i in range(len(records)):
        if relation == "add-remove":
            yield records[:i] + records[i + 1 :]
        else:
            yield from ((*records[:i], value, *records[i + 1 :]) for value in domain)
    if relation == "add-remove":
        yield from ((*records, value) for value in domain)


def largest_moves(statistic: Statistic, domain: list[Fraction], relation: str, size: int = 3) -> tuple[Fraction, float]:
    """The largest L1 and L2 change over the neighbours of random small data sets."""
    l1, squared = Fraction(0), Fraction(0)
    for _ in range(60):
        records = tuple(CHOICE.choices(domain, k=size))
        here = statistic(records)
        for other in neighbours(records, domain, relation):
            moved = [abs(a - b) for a, b in zip(here, statistic(other), strict=True)]
            l1, squared = max(l1, sum(moved, Fraction(0))), max(squared, sum((m * m for m in moved), Fraction(0)))
    return l1, math.sqrt(squared)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_count(relation: Any) -> None:
    domain = [Fraction(0), Fraction(1)]
    stated = schema.count(neighbours=relation)
    assert (stated.l1, stated.l2) == largest_moves(lambda r: (Fraction(sum(x == 1 for x in r)),), domain, relation)
    assert type(stated.l1) is int


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize("bins", [2, 5])
def test_histogram(relation: Any, bins: int) -> None:
    domain = [Fraction(i) for i in range(bins)]
    stated = schema.histogram(neighbours=relation)
    l1, l2 = largest_moves(lambda r: tuple(Fraction(r.count(x)) for x in domain), domain, relation)
    assert stated.l1 == l1
    assert float(stated.l2) == l2
    assert Fraction(stated.l2) ** 2 >= (1 if relation == "add-remove" else 2)  # rounded up


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize(("lower", "upper"), [(0, 10), (-3, 2), (-10, -1), (0.1, 0.3), (Fraction(-1, 3), 0.5), (5, 5.5)])
def test_sum(relation: Any, lower: Any, upper: Any) -> None:
    low, high = (Fraction(str(x)) for x in (lower, upper))
    domain = [low, high, (low + high) / 2, (2 * low + high) / 3]
    stated = schema.sum(lower=lower, upper=upper, neighbours=relation)
    l1, l2 = largest_moves(lambda r: (sum(r, Fraction(0)),), domain, relation)
    assert stated.l1 == stated.l2 == l1
    assert float(stated.l2) == pytest.approx(l2, rel=1e-15)
    assert isinstance(stated.l1, int) == (isinstance(lower, int) and isinstance(upper, int))


@pytest.mark.parametrize(("lower", "upper"), [(0, 10), (-3, 2), (0.1, 0.3), (Fraction(-1, 3), 0.5)])
@pytest.mark.parametrize("size", [1, 3, 7])
def test_mean(lower: Any, upper: Any, size: int) -> None:
    low, high = (Fraction(str(x)) for x in (lower, upper))
    stated = schema.mean(lower=lower, upper=upper, size=size)
    l1, _ = largest_moves(lambda r: (sum(r, Fraction(0)) / size,), [low, high, (low + high) / 2], "replace", size)
    assert stated.l1 == stated.l2 == l1 == (high - low) / size
    assert stated.neighbours == "replace"


def test_total_debt() -> None:
    """The lecture's bound is ten million, whatever Alice owes."""
    debt = schema.sum(lower=0, upper=10_000_000)
    assert Laplace(sensitivity=debt.l1, epsilon=1).scale == 10_000_000


def test_the_mean_of_exercise_4_3() -> None:
    """Values in [-b, b], n public: sigma^2 = 2 b^2 / (rho n^2)."""
    moved = schema.mean(lower=-3, upper=3, size=100)
    assert Gaussian(sensitivity=moved.l2, rho=0.5).squared_sigma == Fraction(2 * 9, 1) / (Fraction(1, 2) * 100**2)


def test_defaults_and_equality() -> None:
    assert schema.count() == schema.Sensitivity(1, 1, "add-remove")
    assert schema.histogram().neighbours == schema.sum(lower=0, upper=1).neighbours == "add-remove"
    with pytest.raises(AttributeError):
        schema.count().l1 = 0  # type: ignore[misc]


@pytest.mark.parametrize("value", [None, *NOT_NUMBERS.values()], ids=["none", *NOT_NUMBERS])
@pytest.mark.parametrize("name", ["lower", "upper"])
def test_bad_bounds(name: str, value: Any) -> None:
    facts = {"lower": 0, "upper": 1, name: value}
    refused(lambda: schema.sum(**facts), ParameterError, name)
    refused(lambda: schema.mean(**facts, size=3), ParameterError, name)


def test_bounds_that_leave_nothing_to_move() -> None:
    refused(lambda: schema.sum(lower=2, upper=1), ParameterError, "above the upper bound")
    refused(lambda: schema.sum(lower=0, upper=0), ParameterError, "never change")
    refused(lambda: schema.sum(lower=3, upper=3, neighbours="replace"), ParameterError, "never change")
    refused(lambda: schema.mean(lower=3, upper=3, size=5), ParameterError, "never change")
    assert schema.sum(lower=3, upper=3).l1 == 3


@pytest.mark.parametrize("size", [0, -1, 2.0, True, None, "3"])
def test_bad_sizes(size: Any) -> None:
    refused(lambda: schema.mean(lower=0, upper=1, size=size), ParameterError, "size")


@pytest.mark.parametrize("relation", ["add", "", None, 1, ["replace"]])
@pytest.mark.parametrize(
    "make",
    [
        schema.count,
        schema.histogram,
        lambda **facts: schema.sum(lower=0, upper=1, **facts),
        lambda **facts: schema.mean(lower=0, upper=1, size=3, **facts),
    ],
    ids=["count", "histogram", "sum", "mean"],
)
def test_unknown_neighbours(make: Any, relation: Any) -> None:
    refused(lambda: make(neighbours=relation), ParameterError, "neighbours")


def test_the_mean_of_a_private_number_of_values_is_refused() -> None:
    refused(lambda: schema.mean(lower=0, upper=1, size=3, neighbours="add-remove"), ParameterError, "sum and a count")
