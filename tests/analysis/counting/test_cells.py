"""Cells tell apart what questions tell apart and nothing else, on every engine as in Python, whatever rows hold."""

from __future__ import annotations

import datetime
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.driving import count, table
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.depth import examples

import discreet as dp
from discreet.analysis.counting.cells import cells_of, table_of
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions import Expression
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.plan import Plan, facts_of, price_needs
from discreet.plan.query import Query
from discreet.plan.release import Additive
from discreet.plan.sql import parse_expression
from discreet.plan.statistics import Histogram
from discreet.schema.table import Schema

COLUMNS = {
    "age": dp.integer(0, 20),
    "debt": dp.number(0, 10_000_000, step=0.01),
    "sex": dp.category("f", "m"),
    "ok": dp.boolean(),
    "day": dp.date("2020-01-01", "2029-12-31"),
    "city": dp.text(),
    "grade": dp.category(1, 2, 3, missing=2),
}
SCHEMA = Schema(COLUMNS, dp.rows())
FACTS = facts_of(SCHEMA)
TESTS = [
    "age < 7", "13 >= age", "age % 3 = 0", "age IN (3, 4, 19)", "age IS NULL", "coalesce(age, 30) > 18", "age > grade * 5",
    "debt > 1000.005", "debt <= 0.01", "debt = 17.5", "debt IS NOT NULL", "10000000 = debt",
    "sex = 'f'", "sex <> 'f'", "sex IS NULL", "sex LIKE 'm%'", "ok", "NOT ok", "ok IS NULL",
    "day >= DATE '2024-02-29'", "day = DATE '2020-01-01'", "day <> DATE '2029-12-31'",
    "city = 'Oslo'", "city <> 'Bergen'", "city IN ('Oslo', 'Rome')", "city IS NULL", "grade > 1", "grade IN (1, 3)",
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "age": [None, *range(21)],
    "debt": [None, 0.0, 0.01, 0.02, 17.5, 1000.0, 1000.01, 10_000_000.0],
    "sex": ["f", "m", None],
    "ok": [True, False, None],
    "day": [None, *(datetime.date(*d) for d in ((2020, 1, 1), (2020, 1, 2), (2024, 2, 28), (2024, 2, 29), (2029, 12, 31)))],
    "city": ["Oslo", "Bergen", "Rome", "other 0", "", None],
    "grade": [1, 2, 3],
}
TYPES = {
    "age": pa.int64(), "debt": pa.float64(), "sex": pa.string(), "ok": pa.bool_(), "day": pa.date32(), "city": pa.string(),
    "grade": pa.int64(),
}  # fmt: skip


def read(text: str) -> Expression:
    return parse_expression(text, SCHEMA)


def plan_of(axes: Any) -> Plan:
    of = [axis.of for axis in axes]
    needs = {"n": (Additive(Histogram(axes)),)}
    return price_needs(Query(()), SCHEMA, Cost("epsilon", 1), lambda _: needs, of)  # type: ignore[arg-type]


def answers(texts: list[str], rows: list[dict[str, Any]]) -> list[int]:
    """What both engines count for every question, by cells."""
    found = cells_of([read(text) for text in texts], FACTS)
    plan = plan_of(found.axes)
    ((counts,),) = count(plan, table(plan, rows, TYPES)).values()
    merged = np.zeros(found.rows.shape[1], dtype=np.int64)
    np.add.at(merged, found.places[found.places >= 0], np.array(counts)[found.places >= 0])
    return (found.rows @ merged).tolist()


def made_up(seed: int, many: int = 60) -> list[dict[str, Any]]:
    chance = random.Random(seed)
    return [{name: chance.choice(values) for name, values in VALUES.items()} for _ in range(many)]


@settings(max_examples=examples(20), deadline=None)
@given(st.data())
def test_questions_are_counted_as_they_are_evaluated(data: st.DataObject) -> None:
    """Random conditions, nested, over random rows with missing values: the engines' cells add up to what Python counts."""
    part = st.sampled_from(TESTS)
    tree = st.recursive(
        part,
        lambda inside: st.one_of(
            st.tuples(inside, st.sampled_from(["AND", "OR"]), inside).map(lambda three: f"({' '.join(three)})"),
            inside.map(lambda one: f"NOT ({one})"),
        ),
        max_leaves=4,
    )
    texts = data.draw(st.lists(tree, min_size=1, max_size=4))
    rows = made_up(data.draw(st.integers(0, 9)))
    try:
        found = answers(texts, rows)
    except ParameterError as refused:
        assume("No row can satisfy" not in str(refused))  # such as "ok AND NOT ok"
        raise
    assert found == [sum(evaluate(read(text), row) is True for row in rows) for text in texts]


def test_few_thresholds_make_few_cells_however_many_values_there_are() -> None:
    found = cells_of([read("debt < 100"), read("debt < 2000 AND sex = 'f'"), read("debt >= 2000 AND sex = 'f'")], FACTS)
    assert [axis.count for axis in found.axes] == [3, 3]  # of all but those of which nothing is asked
    assert found.rows.shape == (3, 4)
    assert cells_of([read("debt < 100"), read("NOT debt < 100")], FACTS).rows.tolist() == [[1, 0], [0, 1]]


def test_missing_values_have_a_cell_where_a_question_can_be_true_of_them() -> None:
    assert cells_of([read("age < 7")], FACTS).axes[0].count == 1
    both = cells_of([read("age < 7 OR sex = 'f'")], FACTS)
    assert [axis.count for axis in both.axes] == [3, 3]
    assert both.rows.shape == (1, 1)
    assert answers(["age IS NULL"], made_up(3)) == [sum(row["age"] is None for row in made_up(3))]


def test_many_cuts_of_a_number_are_counted_by_value() -> None:
    schema = Schema({"x": dp.integer(-5, 1994)}, dp.rows())
    facts = facts_of(schema)
    texts = [f"x <= {i}" for i in range(-4, 1994)]
    found = cells_of([parse_expression(text, schema) for text in [*texts, "x IS NULL OR x > 0"]], facts)
    assert found.axes[0].count == 2001
    assert found.rows.shape == (1999, 1999)  # -5 and -4 are asked about together, and so are 1994 and what is missing


def test_a_table_has_a_cell_for_every_combination() -> None:
    axes = table_of(["sex", "ok"], FACTS, missing=True)
    assert [axis.count for axis in axes] == [3, 3]
    rows = made_up(1)
    plan = plan_of(axes)
    ((counts,),) = count(plan, table(plan, rows, TYPES)).values()
    order = [(sex, ok) for sex in ("f", "m", None) for ok in (False, True, None)]
    assert counts == [sum((row["sex"], row["ok"]) == one for row in rows) for one in order]


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["age < 7", "age > 20"], "No row can satisfy"),
        (["city LIKE 'O%'"], "declare a category"),
        (["debt % 2 = 0"], "declare a coarser step"),
        (["debt > age"], "declare a coarser step"),
        ([f"debt < {i}" for i in range(1, 1200)], "debt is cut into 1,201 parts"),
    ],
)
def test_what_is_not_known_in_advance_is_refused(texts: list[str], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        cells_of([read(text) for text in texts], FACTS)


def test_too_many_cells_are_refused_by_the_column_to_cut() -> None:
    schema = Schema({f"c{i}": dp.integer(0, 9) for i in range(200)}, dp.rows())
    facts = facts_of(schema)
    for columns, values, parts in ((7, 10, 11), (200, 2, 4)):
        texts = [f"c{i} = {value}" for i in range(columns) for value in range(values)]
        with pytest.raises(ParameterError, match=f"c0 alone is cut into {parts} parts"):
            cells_of([parse_expression(text, schema) for text in texts], facts)
