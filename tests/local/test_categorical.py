"""Domains: what is inside, how it is numbered, and what becomes of everything else."""

from __future__ import annotations

import math

import numpy as np
import pandas
import pyarrow
import pytest

import discreet as dp
from discreet.errors import ParameterError, ValueRefused
from discreet.local.domains.categorical import Domain, hash_text, read_domain

FOREIGN = ["no such", None, math.nan, 10**400, [1], {"a": 1}, object(), b"dark", 1.5, "\ud800"]


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda x: type(x).__name__ + str(FOREIGN.index(x)))
@pytest.mark.parametrize("domain", [("dark", "blond"), (3, 1, 2), (True, False), range(5, 100)], ids=str)
def test_foreign_values_meet_their_fate(domain: object, foreign: object) -> None:
    first = next(iter(domain))  # type: ignore[call-overload]
    with pytest.raises(ValueRefused, match="outside the task's domain"):
        read_domain(domain, None).codes([first, foreign])
    assert read_domain(domain, first).codes([foreign, first]).tolist() == [0, 0]
    random = read_domain(domain, "random").codes([foreign] * 400)
    assert set(random.tolist()) <= set(range(len(domain)))  # type: ignore[arg-type]
    assert len(set(random.tolist())) > 1  # a false alarm has a chance below 2^-398


def test_a_refusal_never_quotes_the_value() -> None:
    with pytest.raises(ValueRefused) as refusal:
        read_domain(["dark", "blond"], None).codes(["my secret"])
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    "values",
    [
        np.array([7, 5, 9]),
        np.array([7, 5, 9], dtype=np.uint8),
        [7, 5, 9],
        [np.int64(7), 5.0, 9],
        np.array([7.0, 5.0, 9.0]),
        np.array([7, 5, 9], dtype=object),
    ],
    ids=str,
)
def test_numbers_of_any_type_are_found(values: object) -> None:
    assert read_domain(range(5, 10), None).codes(values).tolist() == [2, 0, 4]  # type: ignore[arg-type]
    assert read_domain([5, 6, 7, 8, 9], None).codes(values).tolist() == [2, 0, 4]  # type: ignore[arg-type]


def test_numbers_beyond_a_range_do_not_wrap() -> None:
    domain = read_domain(range(5, 10), 9)
    assert domain.codes(np.array([2**64 - 1, 5], dtype=np.uint64)).tolist() == [4, 0]
    assert domain.codes(np.array([-(2**63), 5])).tolist() == [4, 0]
    assert read_domain(range(0, 20, 5), None).codes(np.array([15, 0])).tolist() == [3, 0]


def test_columns_of_frames_are_batches() -> None:
    task = dp.local.Frequencies(["dark", "blond"], epsilon=1)
    for column in (pandas.Series(["dark", "blond"]), pyarrow.array(["dark", "blond"]), np.array(["dark", "blond"])):
        assert len(task.randomize(column)) == 2
    assert task.randomize(np.str_("dark")).task == task.hash
    with pytest.raises(ValueRefused, match="flat"):
        task.randomize(np.array([["dark"]]))


def test_public_facts_are_domains() -> None:
    assert read_domain(dp.category("a", "b", missing="b"), None) == Domain(("a", "b"), "b")
    assert read_domain(dp.category("a", "b", missing="b"), "refuse") == Domain(("a", "b"), "refuse")
    assert read_domain(dp.boolean(), None) == Domain((True, False), "refuse")
    assert read_domain(dp.text(missing="none"), None) == Domain(None, "none")
    assert read_domain(np.array([1, 2]), None) == Domain((1, 2), "refuse")


def test_any_text_is_a_key() -> None:
    domain = read_domain(dp.text(), "random")
    assert domain.codes(["dark"]).tolist() == [hash_text("dark")]
    assert hash_text("dark") != hash_text("Dark")
    assert len(set(domain.codes([None] * 50).tolist())) == 50
    assert read_domain(dp.text(), "none").codes([3]).tolist() == [hash_text("none")]


@pytest.mark.parametrize(
    "domain", ["dark", b"dark", {"a"}, {"a": 1}, 3, None, [], ["a"], ["a", "a"], [1, True], [1.5, 2]], ids=str
)
def test_what_is_no_domain(domain: object) -> None:
    with pytest.raises(ParameterError):
        read_domain(domain, None)


BEYOND = [range(2**60, 2**60 + 9), range(-(2**53) - 5, -(2**53)), range(0, 2**60, 2**58), range(0, 2**53, 2**50)]


@pytest.mark.parametrize(
    "domain", [["a", None], ["a", "\ud800"], [1, 2**60], range(2**30), range(1), [math.nan, 1], *BEYOND], ids=str
)
def test_what_is_no_value_of_a_domain(domain: object) -> None:
    with pytest.raises(ParameterError):
        read_domain(domain, None)


@pytest.mark.parametrize("missing", ["c", 1, 1.5, object()], ids=lambda x: type(x).__name__ + str(x)[:3])
def test_what_is_no_fate(missing: object) -> None:
    with pytest.raises(ParameterError, match="missing="):
        read_domain(["a", "b"], missing)
