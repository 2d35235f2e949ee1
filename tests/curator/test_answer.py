"""Answers: checked at birth, the same after storing, and a single value where there is one."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.curator.answer import Answer, Column, write_facts
from discreet.errors import ParameterError
from discreet.plan.aggregates.base import Estimate

TEXTS = st.text(st.characters(), max_size=8)  # lone surrogates and control characters too
REALS = st.floats(allow_nan=False)
VALUES = st.one_of(st.none(), st.booleans(), st.integers(), REALS, st.fractions(), TEXTS, st.dates())


@st.composite
def answers(draw: st.DrawFn) -> Answer:
    size = draw(st.integers(0, 4))

    def listed(kind: st.SearchStrategy[object]) -> tuple[object, ...]:
        return tuple(draw(st.lists(kind, min_size=size, max_size=size)))

    def column() -> Column:
        if draw(st.booleans()):
            return Column(listed(VALUES), mechanism=draw(TEXTS))
        return Column(listed(VALUES), listed(REALS), listed(REALS), listed(REALS), draw(TEXTS))

    keys = {name: listed(VALUES) for name in draw(st.lists(TEXTS, max_size=2))}
    outputs = {name: column() for name in draw(st.lists(TEXTS, min_size=1, max_size=2))}
    parts = tuple(draw(st.lists(st.tuples(TEXTS, TEXTS), max_size=2)))
    remarks = tuple(draw(st.lists(TEXTS, max_size=2)))
    return Answer(draw(TEXTS), keys, outputs, parts, draw(TEXTS), draw(TEXTS), draw(st.booleans()), remarks)


@given(answers())
@settings(deadline=None)
def test_an_answer_survives_storing(answer: Answer) -> None:
    stored = Answer.from_json(answer.to_json())
    assert stored == answer
    assert stored.to_json() == answer.to_json()  # 1, 1.0 and True are equal, and must not be exchanged
    assert json.loads(answer.to_json())["version"] == 1
    assert pickle.loads(pickle.dumps(answer)) == copy.deepcopy(answer) == answer


@given(answers())
@settings(deadline=None)
def test_every_answer_can_be_shown_and_handed_on(answer: Answer) -> None:
    """Whatever is in it: nothing that was paid for is lost in a failure to print it."""
    text, page = str(answer), answer._repr_html_()
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in (text + page).replace("\n", ""))
    (text + page).encode()
    assert len(answer.rows()) == len(answer)


def test_infinities_and_days_are_standard_json() -> None:
    answer = one(Column((datetime.date(2026, 1, 31),), (float("inf"),), (float("-inf"),), (Fraction(1, 3),)))
    json.loads(answer.to_json(), parse_constant=pytest.fail)
    assert Answer.from_json(answer.to_json()) == answer


def one(column: Column, **keys: tuple[object, ...]) -> Answer:
    return Answer("SELECT 1", keys, {"n": column}, (), "epsilon=1", "")


def test_the_single_value() -> None:
    assert one(Column((41,))).value == 41
    assert one(Column(("dark",)), ward=("eye",)).value == "dark"
    for many in (
        one(Column((1, 2))),
        one(Column(())),
        replace(one(Column((1,))), outputs={"a": Column((1,)), "b": Column((2,))}),
    ):
        with pytest.raises(ParameterError, match="to_pandas"):
            many.value  # noqa: B018


def test_an_answer_without_rows_is_an_answer() -> None:
    empty = one(Column((), (), (), ()), ward=())
    assert len(empty) == 0
    assert empty
    assert "(no rows)" in str(empty)
    assert empty.rows() == []


def test_an_answer_cannot_be_changed() -> None:
    answer = one(Column((1,)), ward=("eye",))
    with pytest.raises(FrozenInstanceError):
        answer.cost = "nothing"  # type: ignore[misc]
    with pytest.raises(TypeError):
        answer.keys["ward"] = ("ear",)  # type: ignore[index]
    with pytest.raises(TypeError):
        answer.outputs["n"] = Column((2,))  # type: ignore[index]


def test_lengths_must_agree() -> None:
    with pytest.raises(ParameterError, match="2 values and 1 errors"):
        Column((1, 2), (0.5,))
    with pytest.raises(ParameterError, match="two ends"):
        Column((1,), (0.5,), (0.0,))
    with pytest.raises(ParameterError, match="same number of rows"):
        one(Column((1, 2)), ward=("eye",))
    with pytest.raises(ParameterError, match="at least one column"):
        Answer("", {}, {}, (), "", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "7",
        '{"discreet": "budget", "version": 1}',
        one(Column((1,))).to_json().replace('"version": 1', '"version": 2'),
        one(Column((1,))).to_json().replace('"values": [1]', '"values": [{"date": "yesterday"}]'),
        one(Column((1,))).to_json().replace('"values": [1]', '"values": [{"code": "1"}]'),
        one(Column((1,))).to_json().replace('"cost"', '"price"'),
    ],
    ids=["empty", "list", "object", "number", "budget", "version", "day", "type", "key"],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="no answer known here"):
        Answer.from_json(text)


def test_columns_and_rows_are_at_hand() -> None:
    answer = Answer("q", {"ward": ("eye", "bone")}, {"n": Column((1, 2))}, (), "epsilon=1", "all")
    assert (answer["ward"], answer["n"]) == (("eye", "bone"), (1, 2))
    assert [row["n"] for row in answer] == [1, 2]
    with pytest.raises(KeyError, match="there are ward, n"):
        answer["m"]
    assert repr(answer) == str(answer)


def test_the_numbers_of_an_answer_are_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a question with many groups, writing is most of the work: texts of texts follow, but no number is read back or written
    again."""
    numbers = {"written": 0, "read": 0}
    dumps, loads = json.dumps, json.loads

    def floats(value: object) -> int:
        if isinstance(value, dict):
            return sum(map(floats, value.values()))
        return sum(map(floats, value)) if isinstance(value, (list, tuple)) else isinstance(value, float)

    def write(value: object, **how: object) -> str:
        numbers["written"] += floats(value)
        return dumps(value, **how)  # type: ignore[arg-type]

    def read(text: str) -> object:
        found = loads(text)
        numbers["read"] += floats(found)
        return found

    monkeypatch.setattr(json, "dumps", write)
    monkeypatch.setattr(json, "loads", read)
    facts = {"unit": dp.rows(), "columns": {"k": dp.integer(0, 499)}, "budget": dp.Budget(epsilon=9)}
    with dp.Curator(pa.table({"k": [1, 2, 2]}), ledger=tmp_path / "x.ledger", **facts) as asked:  # type: ignore[arg-type]
        found = asked.sql("SELECT k, count(*) AS n FROM data GROUP BY k", epsilon=1)
    assert len(found) == 500
    assert 1500 <= numbers["written"] < 1600  # a standard error and two ends of every group
    assert numbers["read"] < 100


def test_long_columns_are_written_as_the_same_numbers() -> None:
    """Arrow writes doubles in other words than Python; what is read back is the same to the last bit, and still a double."""
    bits = np.arange(1, 2**20, 97, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    some = [x for x in bits.view(np.float64).tolist() if np.isfinite(x)]
    ends = [
        0.0,
        -0.0,
        1.0,
        -7.0,
        0.1,
        1e14,
        1e15,
        1e15 - 1,
        1e16,
        2.0**53,
        2.0**70,
        1e22,
        1e-5,
        1e-7,
        5e-324,
        1.7976931348623157e308,
    ]
    for numbers in ((*ends, *some), (*ends, *map(float, range(5000))), tuple(ends)):
        facts = {
            "outputs": {"n": {"values": numbers, "mechanism": "Laplace"}},
            "keys": {"k": tuple(range(len(numbers)))},
            "x": None,
        }
        text = write_facts(facts)
        assert json.dumps(json.loads(text)) == json.dumps(facts)
        assert (text == json.dumps(facts)) == (len(numbers) < 2**12)
    whole = tuple(map(float, range(-3000, 3000)))
    near = tuple(2.0**32 + x for x in whole)
    for numbers in (whole, (-0.0, *whole), tuple(x / 4 for x in whole), near, (*whole, 0.1), (*near, 0.1, -0.0)):
        assert write_facts({"values": numbers}) == json.dumps({"values": numbers})


ESTIMATES = {
    "few": Estimate(np.array([1.5, -0.0]), np.array([2.0, 2.0]), np.array([0.5, -np.inf]), np.array([2.5, np.inf])),
    "whole": Estimate(np.array([3.0, -7.0]), whole=True),
    "wide": Estimate(np.array([3.0, 1e30]), whole=True),
    "choices": Estimate(["a", None, 3]),
    "many": Estimate(*(np.linspace(-5, 5, 5000) + i for i in range(2)), np.full(5000, -0.1), np.full(5000, np.inf)),
    "many whole": Estimate(np.arange(5000.0) - 9, np.full(5000, 2.5), whole=True),
    "many wide": Estimate(np.arange(5000.0) * 1e30, whole=True),
}


@pytest.mark.parametrize("found", ESTIMATES.values(), ids=ESTIMATES)
def test_a_column_of_arrays_is_one_of_numbers(found: Estimate) -> None:
    """Of the same text, too: numbers of numpy's are nowhere."""
    parts = [None if part is None else list(part) for part in (found.values, found.errors, found.lower, found.upper)]
    plain = [None if part is None else [one.item() if isinstance(one, np.generic) else one for one in part] for part in parts]
    if found.whole:
        plain[0] = [int(one) for one in plain[0]]  # type: ignore[arg-type, union-attr]
    expected = Column(*plain, "Laplace")  # type: ignore[arg-type, misc]
    answers = [Answer("?", {}, {"n": one}, (), "", "") for one in (Column.of(found, "Laplace"), expected)]
    assert answers[0].to_json() == answers[1].to_json()
    assert (answers[0].outputs["n"].size, len(answers[0])) == (len(found.values), len(found.values))
    made = answers[0].outputs["n"]
    assert made == expected
    assert repr(made) == repr(expected)
    assert replace(made, mechanism="") == replace(expected, mechanism="")
    assert pickle.loads(pickle.dumps(Column.of(found, "Laplace"))) == expected
    assert not hasattr(made, "median")
    with pytest.raises(FrozenInstanceError):
        made.values = ()  # type: ignore[misc]


def test_a_long_answer_is_written_without_a_number_of_pythons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one made for what is handed back, before somebody looks."""
    facts = {"unit": dp.rows(), "columns": {"k": dp.integer(0, 4999)}, "budget": dp.Budget(epsilon=9)}
    looked = []
    made = Column.__getattr__
    monkeypatch.setattr(Column, "__getattr__", lambda self, name: looked.append(name) or made(self, name))
    with dp.Curator(pa.table({"k": [1, 2, 2]}), ledger=tmp_path / "x.ledger", **facts) as asked:  # type: ignore[arg-type]
        found = asked.sql("SELECT k, count(*) AS n, sum(k) AS s FROM data GROUP BY k", epsilon=1)
    assert not looked
    assert len(found["n"]) == 5000
    assert {*looked} == {"values", "lower", "upper"}
    assert {type(one) for one in found["n"]} == {int}
