"""Nothing in an output is invisible, and nothing that is not in it is seen."""

from __future__ import annotations

import array
import datetime
import functools
import math
import re
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.broken import laplace
from support.depth import deep

import discreet as dp
from discreet.auditor.sampling.outputs import describe, read_output

_random = np.random.default_rng()
_release = dp.Laplace(sensitivity=1, epsilon=1).release
DAY = datetime.datetime(2020, 1, 1)


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: object) -> None:
        self.held = held


class Strange:
    """A type with a name that could be taken for a number of a shape."""


Strange.__name__ = "#x [3]"


def noise(count: int) -> list[float]:
    return [float(x) for x in np.floor(_random.laplace(size=count) * 2**20) / 2**20]


# Each shows whether there are one or two rows, beside noise: often in a part that is easy to overlook.
LEAKS: dict[str, Callable[[int], object]] = {
    "-1 and -2": lambda n: -n,
    "-1 and -2 in a list": lambda n: [-n],
    "labels of rows": lambda n: pd.DataFrame({"x": noise(2)}, index=[f"row {n}", "z"]),
    "labels of columns": lambda n: pd.DataFrame([noise(2)], columns=["x", f"y{n}"]),
    "repeated labels of rows": lambda n: pd.Series([n, *noise(1)], index=["a", "a"]),
    "repeated labels of columns": lambda n: pd.DataFrame([[*noise(1), n]], columns=["a", "a"]),
    "categories": lambda n: pd.Series(pd.Categorical(["a"], categories=["a", f"b{n}"])),
    "the middle of a polars frame": lambda n: pl.DataFrame({"x": [*noise(20), float(n), *noise(20)]}),
    "the middle of a polars series": lambda n: pl.Series("x", [*noise(20), float(n), *noise(20)]),
    "a type of an Arrow table": lambda n: pa.table({"x": pa.array([1], pa.int32() if n == 1 else pa.int64())}),
    "the last of a long vector": lambda n: np.array([*noise(99), n]),
    "the last of a long dictionary": lambda n: {f"key {i}": value for i, value in enumerate([*noise(70), float(n)])},
    "the last of many words": lambda n: [*_random.choice(["a", "b"], 60).tolist(), "x" if n == 1 else "y"],
    "minus zero": lambda n: -0.0 if n == 1 else 0.0,
    "minus zero in an array": lambda n: np.array([-0.0 if n == 1 else 0.0, *noise(1)]),
    "slots": lambda n: Slotted([n, *noise(1)]),
    "a huge integer": lambda n: (1 << 1001) + n,
    "an integer that no float holds": lambda n: (1 << 1100) + n,
    "low bits of a large integer": lambda n: (1 << 80) + (int(_random.integers(1 << 30)) << 20) + n,
    "a number in a text": lambda n: f'{{"n": {n + laplace(0.2):.6f}}}',
    "a deque": lambda n: deque([n + laplace(0.2)]),
    "values of a dictionary": lambda n: {1: n + laplace(0.2)}.values(),
    "an array of Python": lambda n: array.array("d", [n + laplace(0.2)]),
    "a time": lambda n: DAY + datetime.timedelta(seconds=n + laplace(0.2)),
    "a day": lambda n: DAY.date() + datetime.timedelta(days=int(100 * (n + laplace(0.2)))),
    "a span of time": lambda n: datetime.timedelta(seconds=n + laplace(0.2)),
    "a time of numpy": lambda n: np.datetime64(DAY, "us") + np.timedelta64(int(1e6 * (n + laplace(0.2))), "us"),
    "a decimal": lambda n: Decimal(n + laplace(0.2)),
    "digits of a decimal": lambda n: Decimal("1.0") if n == 1 else Decimal("1.00"),
    "a fraction": lambda n: Fraction(n + laplace(0.2)),
    "a fraction beyond a float": lambda n: Fraction(int(_release(5))) + Fraction(n, 10**40),
    "a matrix": lambda n: np.array([[n + laplace(0.2)]]).view(np.matrix),
    "a mask": lambda n: np.ma.array(noise(2), mask=[False, n == 1]),
    "a structure": lambda n: np.array([(n,)], dtype=[("a", "f8")])[0],
    "the subclass of an array": lambda n: np.array([[0.5]]).view(np.matrix if n == 1 else np.ndarray),
}


@pytest.mark.spread(12)
@pytest.mark.parametrize("name", LEAKS)
def test_a_leak_is_seen_wherever_it_is(name: str) -> None:
    """The two sides never, or hardly ever, give the same; 75 draws suffice, and a thousand fail with probability below 1e-6."""
    finding = dp.audit(lambda rows: LEAKS[name](len(rows)), [1, 2], [1], epsilon=1, draws=1_000, error=1e-3)
    assert finding.violated, finding


def test_a_weak_coordinate_far_behind_is_found() -> None:
    """Half the noise that it should have, in one of 200 coordinates; the others tell nothing."""

    def answers(n: int) -> np.ndarray:
        values = np.array(noise(200))
        values[150] = n + laplace(0.5)
        return values

    assert dp.audit(answers, 0, 1, epsilon=1, draws=10_000).violated


def test_choosing_columns_raises_no_alarms() -> None:
    """The draws that choose a column are not those that are bet on: at error 1/10, 8 alarms of 10 have probability below 1e-6.
    Once three are silent, no more are tried."""
    alarms = silent = 0
    while alarms < 8 and silent < 3:
        found = dp.audit(lambda _: _random.integers(0, 2, 60), 0, 1, epsilon=0, draws=75, error=0.1)
        alarms, silent = alarms + found.violated, silent + (not found.violated)
    assert alarms < 8


class Table:
    def __init__(self, rows: int) -> None:
        self.rows = rows


class Shown:
    """Says how it looks, in many words that contain the addresses of other objects."""

    def __init__(self, table: Table) -> None:
        self.table, self.answer = table, _release(table.rows)

    def __repr__(self) -> str:
        return f"<Shown {'.' * 190} {self.table!r} {self.answer}>"


def fails_sometimes(table: Table) -> object:
    if _random.random() < 0.5:
        raise ValueError(f"{table} has no such column")
    return _release(table.rows)


@pytest.mark.parametrize("function", [fails_sometimes, Shown, lambda t: {"who": [functools.partial(print, t), _release(t.rows)]}])
def test_addresses_are_no_outputs(function: Callable[[Table], object]) -> None:
    finding = dp.audit(function, Table(2), Table(1), epsilon=1, draws=300, error=1e-6)
    assert finding.verdict.startswith("not refuted"), finding


@pytest.mark.parametrize(
    "value",
    [
        Strange(),
        [Strange(), 1],
        np.array([[1.5, 2.5]]).view(np.matrix),
        1.7e308,
        [1.7e308, -1.7e308, 1e308],
        np.zeros((0, 3)),
        [np.zeros((2, 0)), 3],
        Decimal("sNaN"),
        Decimal("1e-99999999"),
        np.complex64(1 + 2j),
        np.timedelta64("NaT"),
        np.longdouble(1.5),
        "9" * 5000,
        "\ud800 7",
        math.nan,
    ],
    ids=lambda made: re.sub(r" at 0x[0-9a-f]+", "", repr(made)),
)
def test_strange_outputs_neither_warn_nor_crash(value: object) -> None:
    """Half of the runs on both sides return it: nothing can be said against that."""
    draws = deep(150, 60)  # which are two batches
    finding = dp.audit(lambda _: value if _random.random() < 0.5 else None, 0, 1, epsilon=1, draws=draws, error=1e-7)
    assert finding.verdict.startswith("not refuted"), finding
    large = [1.7e308 * (2 * _random.random() - 1) for _ in range(3)]
    assert not dp.audit(lambda _: [value, *_random.permutation(large)], 0, 1, epsilon=1, draws=draws, error=1e-7).violated


@pytest.mark.parametrize("epsilon", [0, 40, 100, 300])
def test_claims_of_any_size(epsilon: int) -> None:
    finding = dp.audit(len, [1, 2], [1], epsilon=epsilon, draws=200)
    assert finding.violated == (epsilon == 0)


def test_objects_that_contain_themselves() -> None:
    one, other = Table(1), Table(2)
    for table in (one, other):
        vars(table).update(left=one, right=other, both=[one, other])
    assert len(read_output(one)[0]) < 100


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-0.0, "-0.0 ( (sign): minus zero)"),
        (np.array([1.5, -0.0]), "float64 [2] [1.5, 0.0] ([1] (sign): minus zero)"),
        ([np.arange(2), 5], "list of 2 ([0]: int64 [2] [0, 1], [1]: 5)"),
        ("n = 5", "'n = 5'"),
        ("\x1b[31m", "'\\x1b[31m'"),
        (type("E\u202e", (), {"__repr__": lambda _: "\x1b[2J"})(), "'E\\u202e' \N{REPLACEMENT CHARACTER}[2J"),
    ],
    ids=["zero", "array", "list", "text", "control", "object"],
)
def test_outputs_in_words(value: Any, words: str) -> None:
    assert describe(read_output(value)) == words
