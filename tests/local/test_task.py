"""Tasks: immutable, hashed, read back the same, chosen well, refused in sentences."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from local.protocols import NAMES
from support.refusals import NOT_POSITIVE

import discreet as dp
from discreet.errors import ParameterError

TASKS = [
    dp.local.Bit(epsilon=0.1, question="Drugs?", period="2026-03"),
    dp.local.Frequencies(["dark", "blönd", "🧔", "red"], epsilon=1, missing="red"),
    dp.local.Frequencies(range(100), epsilon=Fraction(1, 3), missing="random"),
    dp.local.Frequencies(range(10_000), epsilon=1),
    dp.local.Frequencies([3, 1, 2], epsilon=2, protocol="unary"),
    dp.local.Frequencies(["a", "b"], epsilon=2, protocol="hashing", missing="refuse"),
    dp.local.Frequencies(dp.text(), epsilon=1),
    dp.local.Frequencies(dp.text(), epsilon=1, missing="none"),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.hash[:6])
def test_tasks_are_read_back_the_same(task: dp.local.Frequencies) -> None:
    again = dp.local.read_task(task.to_json())
    assert again == task
    assert type(again) is type(task)
    assert again.hash == task.hash == hashlib.sha256(task.to_json().encode()).hexdigest()
    assert task.privacy.epsilon() == pytest.approx(float(task.epsilon))
    assert task.privacy.delta(task.epsilon) == 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.period = "other"  # type: ignore[misc]


def test_the_canonical_text_is_fixed() -> None:
    """A change here would orphan every report that is under way: it needs a new version."""
    task = dp.local.Frequencies(["dark", "blönd"], epsilon=0.5, question="Hair?", period="1")
    assert task.to_json() == (
        '{"discreet":"local task","domain":{"missing":"refuse","values":["dark","blönd"]},"epsilon":"1/2","kind":"frequencies",'
        '"period":"1","protocol":{"name":"k-ary"},"question":"Hair?","version":1}'
    )
    assert task.hash == "3cf82d2cc3a18de4e6957cb734763b936c9eac43f68d8d6e5f9ca4779685464b"


def test_every_fact_changes_the_hash() -> None:
    def make(**other: object) -> str:
        facts = {"domain": ["a", "b", "c"], "epsilon": 1, "question": "q", "period": "p", "protocol": None, "missing": None}
        return dp.local.Frequencies(**{**facts, **other}).hash  # type: ignore[arg-type]

    others = [{"domain": ["a", "c", "b"]}, {"domain": ["a", "b"]}, {"epsilon": 1.0001}, {"question": "Q"}, {"period": ""}]
    others += [{"protocol": "unary"}, {"protocol": "subset"}, {"missing": "a"}, {"missing": "random"}, {"domain": [1, 2, 3]}]
    hashes = [make(), *(make(**other) for other in others)]
    assert len(set(hashes)) == len(hashes)
    assert make(epsilon=1.0) == make(epsilon=Fraction(1)) == make()


@pytest.mark.parametrize("path", ["version", "kind", "discreet", "epsilon", "domain", "protocol", "question", "period", "extra"])
@pytest.mark.parametrize("wrong", [None, 2, "x", [], {}, -1, "1/0", {"name": "k-ary", "more": 1}], ids=str)
def test_changed_tasks_are_refused(path: str, wrong: object) -> None:
    facts = json.loads(dp.local.Frequencies(["a", "b", "c"], epsilon=1).to_json())
    facts[path] = wrong
    if (path, wrong) in (("epsilon", 2), ("question", "x"), ("period", "x"), ("question", "1/0"), ("period", "1/0")):
        return
    with pytest.raises(ParameterError):
        dp.local.read_task(json.dumps(facts))


@settings(deadline=None)
@given(
    st.text()
    | st.recursive(st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(json.dumps)
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        dp.local.read_task(text)


@pytest.mark.parametrize("protocol", ["subset", "projective", "affine"])
@pytest.mark.parametrize("value", [0, -1, 10**9, 4, 1.0, "3", True], ids=repr)
def test_impossible_parameters_are_refused(protocol: str, value: object) -> None:
    facts = json.loads(dp.local.Frequencies(range(4), epsilon=1, protocol=protocol).to_json())
    name = "weight" if protocol == "subset" else "prime"
    facts["protocol"][name] = value
    with pytest.raises(ParameterError):
        dp.local.read_task(json.dumps(facts))


@pytest.mark.parametrize("epsilon", [*NOT_POSITIVE.values(), 1001], ids=[*NOT_POSITIVE, "huge"])
def test_impossible_epsilons_are_refused(epsilon: object) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        dp.local.Bit(epsilon=epsilon)  # type: ignore[arg-type]


def test_other_refusals() -> None:
    for arguments in (
        {"protocol": "laplace"},
        {"protocol": "randomized response"},
        {"max_bits": 0},
        {"question": 3},
        {"period": None},
    ):
        with pytest.raises(ParameterError):
            dp.local.Frequencies(["a", "b", "c"], 1, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="max_bits"):
        dp.local.Frequencies(range(100), 1, max_bits=3)
    with pytest.raises(ParameterError, match="hashing"):
        dp.local.Frequencies(dp.text(), 1, protocol="k-ary")


# Domain size, epsilon -> what is best: from the closed forms.
CHOICES = [
    (2, 1, "k-ary", {}),
    (16, 0.5, "affine", {"prime": 17, "dimension": 1, "weight": 6}),
    (16, 4, "k-ary", {}),
    (100, 0.5, "projective", {"prime": 3, "dimension": 5}),
    (100, 1, "affine", {"prime": 11, "dimension": 2, "weight": 3}),
    (100, 4, "subset", {"weight": 2}),
    (1000, 1, "affine", {"prime": 11, "dimension": 3, "weight": 3}),
    (10_000, 0.5, "affine", {"prime": 3, "dimension": 9, "weight": 1}),
    (10_000, 1, "affine", {"prime": 7, "dimension": 5, "weight": 2}),
    (10_000, 4, "affine", {"prime": 47, "dimension": 3, "weight": 1}),
    (10_000, 8, "affine", {"prime": 10_007, "dimension": 1, "weight": 3}),
    (1_000_000, 8, "affine", {"prime": 2389, "dimension": 2, "weight": 1}),
]


@pytest.mark.parametrize(("size", "epsilon", "name", "parameters"), CHOICES)
def test_the_choice(size: int, epsilon: float, name: str, parameters: dict[str, int]) -> None:
    protocol = dp.local.Frequencies(range(size), epsilon).protocol
    assert (protocol.name, protocol.parameters) == (name, parameters)


@pytest.mark.parametrize("max_bits", [7, 20, 1024])
@pytest.mark.parametrize(("size", "epsilon"), [(3, 1), (50, 0.2), (100, 3), (128, 6)])
def test_nothing_within_the_cap_is_two_percent_better(size: int, epsilon: float, max_bits: int) -> None:
    chosen = dp.local.Frequencies(range(size), epsilon, max_bits=max_bits).protocol
    assert chosen.bits <= max_bits
    for name in NAMES[1:]:
        other = dp.local.Frequencies(range(size), epsilon, protocol=name).protocol
        if other.bits <= max_bits:
            assert chosen.variance <= 1.02 * other.variance


def test_known_errors() -> None:
    """Standard errors for a million reports, from the literature's formulas."""
    for size, epsilon, expected in [(2, 0.5, 19.8e-4), (2, 1, 9.6e-4), (16, 1, 17.9e-4), (100, 1, 19.0e-4), (10_000, 1, 19.2e-4)]:
        assert dp.local.Frequencies(range(size), epsilon).plan(10**6).standard_error == pytest.approx(expected, rel=0.01)
    large = dp.local.Frequencies(range(10_000), 1, protocol="unary").protocol.variance
    assert large == pytest.approx(4 * math.e / (math.e - 1) ** 2, rel=1e-3)


def test_a_plan_says_what_matters() -> None:
    plan = dp.local.Frequencies(range(100), 1).plan(1_000_000)
    text = str(plan)
    for word in (
        "affine (prime 11, dimension 2, weight 3)",
        "least expected error",
        "11 bits",
        "0.19",
        "132 counters",
        "hostile",
        "27 values",
    ):
        assert word in text, word
    assert plan.warnings == ()
    assert "<table" in plan._repr_html_()
    assert plan.influence == pytest.approx(0.01 * dp.local.Frequencies(range(100), 1).protocol.rates.influence)


def test_a_plan_warns_when_the_answer_will_be_noise() -> None:
    plan = dp.local.Bit(0.01).plan(100)
    assert "the answer will be noise" in str(plan)
    enough = int(str(plan).split("Ask ")[1].split(" people")[0].replace(",", ""))
    assert dp.local.Bit(0.01).plan(enough).detectable == pytest.approx(0.05, rel=1e-3)
    assert dp.local.Bit(0.01).plan(enough).warnings == ()
    assert dp.local.Frequencies(dp.text(), 0.01).plan(100).warnings != ()
    with pytest.raises(ParameterError, match="n must be"):
        dp.local.Bit(1).plan(0)
