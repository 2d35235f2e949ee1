"""discreet audits itself by sampling: every mechanism under every kind of claim, every local protocol, some kinds of questions.

Every audit has error probability 1e-6, so **a true claim fails a test here with probability at most 1e-6 each**. That the audits
could have failed is checked as well: all of them refute a small part of what the mechanism really costs. Measured, that takes 75
to 600 draws; 4,000 are allowed, where wealth that grows exponentially in the draws has the sixth power of what is needed.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.local.choice import PROTOCOLS, named
from discreet.local.distribution import Distribution
from discreet.local.mean import Mean
from discreet.mechanisms.quantile import Quantile

ERROR = 1e-6
DRAWS = 1000


@dataclass(frozen=True)
class Target:
    """A function, two neighbours, what is claimed, and a claim that is too strong."""

    function: Callable[[Any], object]
    a: object
    b: object
    claim: dict[str, Any]
    too_strong: dict[str, Any]


def pure(function: Callable[[Any], object], a: object, b: object, epsilon: Any = 2) -> Target:
    return Target(function, a, b, {"epsilon": epsilon}, {"epsilon": epsilon / 20})


def curve(mechanism: Any, a: object, b: object, claim: Any) -> Target:
    return Target(mechanism.release, a, b, {"privacy": claim}, {"epsilon": 0.05, "delta": 1e-3})


BOTH_WAYS = ([0, 1, 1, 1], [1, 0, 0, 0])
STREAMS = ([0, 0, 3], [1, 1, 2])
FEW, MORE = np.array([[0, 0, 4, 0]]), np.array([[0, 0, 4, 3]])
KEYS = ({"a": 6, "b": 1}, {"a": 7})
loose = dp.approximate(2, 0.01)

MECHANISMS: dict[str, Target] = {
    "Laplace": pure(dp.Laplace(sensitivity=1, epsilon=2).release, 0, 1),
    "Laplace, wide": pure(dp.Laplace(sensitivity=3, epsilon=2).release, 0, -3),
    "Laplace, real": pure(dp.Laplace(sensitivity=1.0, epsilon=2).release, 0.0, 1.0),
    "Laplace, thirds": pure(dp.Laplace(sensitivity=Fraction(1, 3), epsilon=2).release, 1 / 3, 0.0),
    "Laplace, vector": pure(dp.Laplace(sensitivity=2, epsilon=2).release, [0, 5], [1, 6]),
    "Laplace, its curve": curve(m := dp.Laplace(sensitivity=1, epsilon=2), 0, 1, m.privacy),
    "Gaussian, approximate": Target(
        dp.Gaussian(sensitivity=1, epsilon=2, delta=0.01).release, 0, 1, {"privacy": loose}, {"epsilon": 0.1, "delta": 0.01}
    ),
    "Gaussian, real": Target(
        dp.Gaussian(sensitivity=1.0, epsilon=2, delta=0.01).release,
        0.0,
        1.0,
        {"epsilon": 2, "delta": 0.01},
        {"epsilon": 0.1, "delta": 0.01},
    ),
    "Gaussian, zCDP": curve(dp.Gaussian(sensitivity=1, rho=1), 0, 1, dp.zcdp(1)),
    "Gaussian, its curve": curve(m := dp.Gaussian(sensitivity=1.0, sigma=0.7), 0.0, 1.0, m.privacy),
    "Gaussian, vector": curve(dp.Gaussian(sensitivity=5, rho=1), [0, 0], [3, 4], dp.zcdp(1)),
    "DiscreteGaussian, zCDP": curve(dp.DiscreteGaussian(sensitivity=1, rho=1), 0, 1, dp.zcdp(1)),
    "DiscreteGaussian, its curve": curve(m := dp.DiscreteGaussian(sensitivity=1, rho=1), 0, 1, m.privacy),
    "Exponential": pure(dp.Exponential(sensitivity=1, epsilon=2).release, *BOTH_WAYS),
    "Exponential, its curve": curve(m := dp.Exponential(sensitivity=1, epsilon=2), *BOTH_WAYS, m.privacy),
    "NoisyMax": pure(dp.NoisyMax(sensitivity=1, epsilon=2).release, *BOTH_WAYS),
    "NoisyMax, monotonic": pure(dp.NoisyMax(sensitivity=1, epsilon=2, monotonic=True).release, [0, 0], [1, 0]),
    "PermuteAndFlip": pure(dp.PermuteAndFlip(sensitivity=1, epsilon=2).release, *BOTH_WAYS),
    "PermuteAndFlip, its curve": curve(m := dp.PermuteAndFlip(sensitivity=1, epsilon=2), *BOTH_WAYS, m.privacy),
    "RandomizedResponse": pure(dp.RandomizedResponse(epsilon=2, options=("yes", "no")).release, "yes", "no"),
    "RandomizedResponse, 5 options": pure(dp.RandomizedResponse(epsilon=2, options=(1, 2, 3, 4, 5)).release, 1, 5),
    "SparseVector": pure(lambda v: dp.SparseVector(sensitivity=1, epsilon=2, cutoff=1).release(v, threshold=2), *STREAMS),
    # Three rows more: a group of three costs three times epsilon.
    "Quantile": pure(lambda counts: Quantile(share=0.5, epsilon=2).release(counts)[0], FEW, MORE, 6),
    "Threshold": Target(
        dp.Threshold(epsilon=2, delta=0.05, keys=2).release,
        *KEYS,
        {"epsilon": 2, "delta": 0.05},
        {"epsilon": 0.05, "delta": 1e-4},
    ),
}


def supported(name: str) -> Callable[[int], object]:
    """Which of the two values in question a report supports: all that its likelihood depends on, whatever the hash."""
    protocol = named(name, Fraction(2), 2 if name == "randomized response" else 12)
    return lambda code: protocol.support(protocol.tally(protocol.randomize(np.array([code]))))[:2].tolist()


def reported(task: Any) -> Callable[[object], object]:
    return lambda value: task.protocol.plain(task.protocol.randomize(task.codes([value]))[0])


LOCAL: dict[str, Target] = {name: pure(supported(name), 0, 1) for name in PROTOCOLS}
LOCAL |= {
    f"mean, {name}": pure(reported(Mean(0, 15, 2, step=1, protocol=name)), 0, 15) for name in ("duchi", "hybrid", "laplace")
}
LOCAL |= {"distribution": pure(reported(Distribution(0, 100, 2, bins=20)), 0, 100)}
TARGETS = {**{f"mechanism {name}": target for name, target in MECHANISMS.items()}, **{f"local {n}": t for n, t in LOCAL.items()}}


@pytest.mark.parametrize("name", TARGETS)
def test_no_claim_of_ours_is_refuted(name: str) -> None:
    target = TARGETS[name]
    found = dp.audit(target.function, target.a, target.b, **target.claim, draws=DRAWS, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle
    assert found.draws == DRAWS


@pytest.mark.parametrize("name", TARGETS)
def test_a_claim_that_is_too_strong_is_refuted(name: str) -> None:
    target = TARGETS[name]
    found = dp.audit(target.function, target.a, target.b, **target.too_strong, draws=4 * DRAWS, error=ERROR)
    assert found.violated, str(found)


def test_every_public_mechanism_is_here() -> None:
    from discreet import mechanisms

    assert {name.partition(",")[0] for name in MECHANISMS} == {*mechanisms.__all__, "Quantile"}


# Questions. Every draw is a new question (another name for an output) on the same two tables: the same question would be a free
# repeat. Nobody has more rows than are counted, so the salts of the two ledgers decide nothing.

ROWS = [{"id": f"p{i}", "x": 5 * i, "g": "ab"[i % 2]} for i in range(5)]
ONE_MORE = [*ROWS, {"id": "p9", "x": 100, "g": "b"}]
QUESTIONS = {
    "counts and sums by group": "SELECT g, count(*) AS n{}, sum(x) AS s FROM data GROUP BY g",
    "mean and variance": "SELECT avg(x) AS m{}, var_pop(x) AS v FROM data",
    "median and mode": "SELECT median(x) AS m{}, mode(g) AS o FROM data",
    "distinct persons": "SELECT count(DISTINCT id) AS p{} FROM data WHERE x >= 10",
}
Ask = Callable[[list[dict[str, object]]], object]


@pytest.fixture
def asking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, dp.Budget], Ask]]:
    """A question as a function of a table. In memory where there is such a folder: durable writes take most of a draw."""
    memory = "/dev/shm"
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else tmp_path) as folder:
        monkeypatch.setenv("XDG_STATE_HOME", folder)
        numbers, opened = itertools.count(), {}

        def asked(sql: str, budget: dp.Budget) -> Ask:
            def ask(rows: list[dict[str, object]]) -> object:
                if len(rows) not in opened:
                    opened[len(rows)] = dp.Curator(
                        pa.Table.from_pylist(rows),
                        unit=dp.person("id", rows=1, groups=1),
                        columns={"x": dp.integer(0, 100), "g": dp.category("a", "b")},
                        budget=budget,
                        ledger=f"{folder}/{len(rows)}.ledger",
                    )
                answer = opened[len(rows)].sql(sql.format(next(numbers)), epsilon=2)
                return [list(row.values()) for row in answer.rows()]

            return ask

        yield asked
        for curator in opened.values():
            curator.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_is_refuted(name: str, asking: Callable[[str, dp.Budget], Ask]) -> None:
    ask = asking(QUESTIONS[name], dp.Budget(epsilon=10**6))
    found = dp.audit(ask, ROWS, ONE_MORE, epsilon=2, draws=100, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle
    assert found.draws == 100


def test_a_question_under_gaussian_noise(asking: Callable[[str, dp.Budget], Ask]) -> None:
    ask = asking(QUESTIONS["counts and sums by group"], dp.Budget(epsilon=10**4, delta=0.01))
    found = dp.audit(ask, ROWS, ONE_MORE, epsilon=2, delta=0.01, draws=100, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle


def test_a_question_that_costs_more_than_is_claimed(asking: Callable[[str, dp.Budget], Ask]) -> None:
    """A count at epsilon 2 is caught at a claim of 0.05: about 85 % of its runs tell the tables apart by the side of 5.5."""
    found = dp.audit(asking(QUESTIONS["distinct persons"], dp.Budget(epsilon=10**6)), ROWS, ONE_MORE, epsilon=0.05, draws=400)
    assert found.violated
