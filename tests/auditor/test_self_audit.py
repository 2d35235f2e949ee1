"""discreet audits itself by sampling: every mechanism under every kind of claim, every local task, many kinds of questions.

Every audit has error probability 1e-6, so **a true claim fails a test here with probability at most 1e-6 each**. That the audits
could have failed is checked as well: all of them refute a small part of what the mechanism really costs. Measured, that takes 75
to 600 draws; 4,000 are allowed, where wealth that grows exponentially in the draws has the sixth power of what is needed.
"""

from __future__ import annotations

import importlib
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
from support.depth import deep

import discreet as dp
from discreet.curator.answer import Answer
from discreet.local import Attributes, Bit, Client, Distribution, HeavyHitters, Mean, Repeated
from discreet.local.protocols import PROTOCOLS, make_protocol
from discreet.mechanisms.quantile import Quantile

pytestmark = pytest.mark.usefixtures("replayed")

ERROR = 1e-6
DRAWS = deep(250, 200)


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
    "Linear": pure(dp.Linear(strategy=[[1, 1], [1, 0]], epsilon=2).release, [0, 0], [1, 0]),
    "RunningSums": curve(m := dp.RunningSums(steps=2, sensitivity=1, rho=1), [0, 0], [1, 0], m.privacy),
    "SetUnion": Target(
        dp.SetUnion(epsilon=2, delta=0.05, items=1).release,
        [["a"]] * 3,
        [["a"]] * 4,
        {"epsilon": 2, "delta": 0.05},
        {"epsilon": 0.05, "delta": 1e-4},
    ),
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
    protocol = make_protocol(name, Fraction(2), 2 if name == "randomized response" else 12)
    return lambda code: protocol.support(protocol.tally(protocol.randomize(np.array([code]))))[:2].tolist()


def reported(task: Any) -> Callable[[object], object]:
    return lambda value: task.protocol.plain(task.protocol.randomize(task.codes([value]))[0])


LOCAL: dict[str, Target] = {name: pure(supported(name), 0, 1) for name in PROTOCOLS}
LOCAL |= {
    f"mean, {name}": pure(reported(Mean(0, 15, 2, step=1, protocol=name)), 0, 15) for name in ("duchi", "hybrid", "laplace")
}
LOCAL |= {"distribution": pure(reported(Distribution(0, 100, 2, bins=20)), 0, 100)}
WORDS = HeavyHitters(2, length=2, alphabet="abcd")
ANSWERS = Attributes({"smokes": Bit(2), "age": Mean(0, 15, 2, step=1)})
LOCAL |= {
    "heavy hitters": pure(reported(WORDS), "ab", "bc"),  # whose cells differ at both lengths
    "attributes": pure(lambda answers: ANSWERS.randomize(answers).r, {"smokes": True, "age": 0}, {"smokes": False, "age": 15}),
}
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
    found = dp.audit(target.function, target.a, target.b, **target.too_strong, draws=4_000, error=ERROR)
    assert found.violated, str(found)


def test_every_public_mechanism_is_here() -> None:
    from discreet import mechanisms

    assert {name.partition(",")[0] for name in MECHANISMS} == {*mechanisms.__all__, "Quantile"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder, in memory where there is such a place: durable writes take most of a draw."""
    place = "/dev/shm"
    with TemporaryDirectory(dir=place if os.access(place, os.W_OK) else tmp_path) as folder:
        yield Path(folder)


@pytest.mark.parametrize(("claim", "refuted"), [(1, False), (Fraction(1, 20), True)], ids=["its own", "too strong"])
def test_one_report_of_a_fresh_client_to_a_repeated_task(claim: Fraction, refuted: bool, memory: Path) -> None:
    """A client has a lie of its own about every value: the first report costs epsilon, not the permanent epsilon of all."""
    mood, numbers = Repeated(["good", "fair", "bad"], epsilon=1, permanent=3, values=1), itertools.count()

    def first(value: str) -> object:
        return Client(memory / f"{next(numbers)}.json", epsilon=3).randomize(mood, value).r

    found = dp.audit(first, "good", "bad", epsilon=claim, draws=4000 if refuted else 300, error=ERROR)
    assert found.violated is refuted, str(found)
    assert not found.obstacle
    assert refuted or found.draws == 300


# Questions. Every draw is a new question (another condition that holds for all) on the same two
# tables: the same question would be a free repeat. Nobody has more rows than are counted, so the salts of the two ledgers decide
# nothing. They are asked at epsilon 1/4, which 32 draws refute if the tables are always told apart, as long as no more than 32
# runs are looked at before the first bet; 2 they could never refute.

ASKED, EPSILON = 32, 0.25
ROWS = [{"id": f"p{i}", "x": 5 * i, "g": "ab"[i % 2], "city": "Oslo"} for i in range(5)]
ONE_MORE = [*ROWS, {"id": "p9", "x": 100, "g": "b", "city": "Oslo"}]
CITY = [{"id": f"p{i}", "x": 50, "g": "a", "city": "Oslo"} for i in range(200)]
ONE_ALONE = [*CITY, {"id": "alone", "x": 50, "g": "a", "city": "Vardø"}]
WEIGHTS = pa.table({"g": ["a", "b"], "w": [1, 2]})
Rows = list[dict[str, object]]
Question = Callable[[dp.Curator, int], Answer]
Asking = Callable[..., Callable[[Rows], object]]


def sql(text: str, **cost: object) -> Question:
    return lambda curator, number: curator.sql(text.format(number), **(cost or {"epsilon": EPSILON}))


def chosen(curator: dp.Curator, number: int) -> Answer:
    """Are more above 10 or below? As many, until one more comes; the scores of the two sides then move apart, both ways."""
    score = "CASE WHEN x > 10 THEN candidate WHEN x < 10 THEN -candidate ELSE 0 END"
    return curator.where(f"x >= -{number}").choose([-1, 1], score=score).release(epsilon=EPSILON)


QUESTIONS = {
    "a public join": sql(
        "SELECT weights.w, count(*) AS n, sum(x) AS s FROM data JOIN weights USING (g) WHERE x >= -{} GROUP BY weights.w"
    ),
    "moments, median and mode": sql("SELECT avg(x) AS m, var_pop(x) AS v, median(x) AS q, mode(g) AS o FROM data WHERE x >= -{}"),
    "arithmetic, and what is not shown": sql(
        "SELECT g, sum(x) / count(*) AS r, avg(x > 5) AS o FROM data WHERE x >= -{} GROUP BY g "
        "HAVING count(DISTINCT id) > -9 ORDER BY sum(x)"
    ),
    "distinct persons": sql("SELECT count(DISTINCT id) AS p FROM data WHERE x >= 10 AND x >= -{}"),
    "one row a person": sql(
        "SELECT g, count(*) AS c, avg(s) AS s FROM "
        "(SELECT id, any_value(g) AS g, sum(x) AS s FROM data WHERE x >= -{} GROUP BY id) GROUP BY g"
    ),
    "a choice": chosen,
}


@pytest.fixture
def asking(memory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asking]:
    """A question as a function of a table."""
    monkeypatch.setenv("XDG_STATE_HOME", str(memory))
    monkeypatch.setattr(importlib.import_module("discreet.auditor.audit"), "_FIRST", ASKED)
    numbers, opened = itertools.count(), {}

    def asked(question: Question, budget: dp.Budget, tables: tuple[Rows, Rows] = (ROWS, ONE_MORE)) -> Callable[[Rows], object]:
        for rows in tables:  # before the audit, which would run the function again to see what it keeps
            opened[len(rows)] = dp.Curator(
                pa.Table.from_pylist(rows),
                unit=dp.person("id", rows=1, groups=1),
                columns={"x": dp.integer(0, 100), "g": dp.category("a", "b"), "city": dp.text()},
                budget=budget,
                ledger=memory / f"{len(rows)}.ledger",
                people=f"{len(rows)} made-up people",  # neighbours look alike
                public={"weights": WEIGHTS},
            )

        def ask(rows: Rows) -> object:
            return [list(row.values()) for row in question(opened[len(rows)], next(numbers)).rows()]

        return ask

    yield asked
    for curator in opened.values():
        curator.close()


@pytest.mark.parametrize("name", QUESTIONS)
def test_no_question_is_refuted(name: str, asking: Asking) -> None:
    ask = asking(QUESTIONS[name], dp.Budget(epsilon=10**6))
    found = dp.audit(ask, ROWS, ONE_MORE, epsilon=EPSILON, draws=ASKED, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle
    assert found.draws == ASKED


def test_open_keys_are_not_refuted(asking: Asking) -> None:
    """A curator that showed the key of the lonely person would be caught. Each question leaks 0.004: 225 fit into 0.9."""
    question = sql("SELECT city, count(*) AS n FROM data WHERE x >= -{} GROUP BY city", rho=0.05, delta=0.004)
    ask = asking(question, dp.Budget(rho=10**4, delta=0.9), (CITY, ONE_ALONE))
    found = dp.audit(ask, CITY, ONE_ALONE, privacy=dp.zcdp(0.05) + dp.approximate(0, 0.004), draws=ASKED, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle
    assert found.draws == ASKED


def test_a_question_under_gaussian_noise(asking: Asking) -> None:
    ask = asking(
        sql("SELECT g, count(*) AS n, sum(x) AS s FROM data WHERE x >= -{} GROUP BY g"), dp.Budget(epsilon=10**4, delta=0.01)
    )
    found = dp.audit(ask, ROWS, ONE_MORE, epsilon=EPSILON, delta=0.01, draws=ASKED, error=ERROR)
    assert not found.violated, str(found)
    assert not found.obstacle


def test_a_question_that_costs_more_than_is_claimed(asking: Asking) -> None:
    """A count at epsilon 2 is caught at a claim of 0.05: about 85 % of its runs tell the tables apart by the side of 5.5."""
    ask = asking(sql("SELECT count(DISTINCT id) AS p FROM data WHERE x >= -{}", epsilon=2), dp.Budget(epsilon=10**6))
    found = dp.audit(ask, ROWS, ONE_MORE, epsilon=0.05, draws=400)
    assert found.violated
