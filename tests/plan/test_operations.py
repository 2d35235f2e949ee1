"""Operations by example: meanings at their edges, and what follows for types, bounds, steps and lists."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction

import pytest
from support.random_expressions import DECLARED, FACTS, KINDS, MAKES, draw, rows

from discreet.errors import ParameterError
from discreet.plan.expressions import Call, Column, Expression, Literal, Value
from discreet.plan.expressions.evaluate import OPERATIONS, evaluate, infer, listing
from discreet.plan.expressions.facts import Facts, facts_of_column
from discreet.plan.sql import parse_expression
from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import rows as every_row

SCHEMA = Schema(
    {
        "age": integer(0, 120),
        "kids": integer(0, 3, missing=0),
        "debt": number(-10, 1000, step=0.25),
        "fine": number(0, 1, step=0.01, missing=0),
        "word": category("yes", "No", missing="No"),
        "open": text(),
        "flag": boolean(missing=False),
        "day": date("2024-02-01", "2026-03-31", missing="2024-02-01"),
    },
    every_row(),
)


def facts() -> dict[str, Facts]:
    return {name: facts_of_column(column) for name, column in SCHEMA.columns.items()}


def value(sql: str, **row: Value) -> Value:
    return evaluate(parse_expression(sql, SCHEMA), row)


@pytest.mark.parametrize(
    ("sql", "row", "expected"),
    [
        ("age / kids", {"age": 7, "kids": 0}, None),
        ("age // kids", {"age": 7, "kids": 0}, None),
        ("age % kids", {"age": 7, "kids": 0}, None),
        ("debt // 2", {"debt": -7}, -4.0),
        ("debt % 3", {"debt": -7}, 2.0),
        ("debt % -3", {"debt": 7}, -2.0),
        ("round(debt)", {"debt": Fraction(5, 2)}, 3.0),
        ("round(debt)", {"debt": Fraction(-5, 2)}, -3.0),
        ("round(debt)", {"debt": 0.49999999999999994}, 0.0),
        ("least(age, kids)", {"age": None, "kids": 1}, None),
        ("greatest(age, kids, 2)", {"age": 1, "kids": 1}, 2.0),
        ("age > 5 AND kids > 5", {"age": None, "kids": 1}, False),
        ("age > 5 AND kids > 0", {"age": None, "kids": 1}, None),
        ("age > 5 OR kids > 0", {"age": None, "kids": 1}, True),
        ("NOT age > 5", {"age": None}, None),
        ("age IN (1, 2)", {"age": None}, None),
        ("age IN (1, 2.0)", {"age": 2}, True),
        ("CASE WHEN age > 5 THEN 'a' WHEN kids = 0 THEN 'b' END", {"age": None, "kids": 0}, "b"),
        ("CASE WHEN age > 5 THEN 'a' END", {"age": None}, None),
        ("coalesce(age, kids, 3)", {"age": None, "kids": 2}, 2.0),
        ("nullif(age, 3)", {"age": 3}, None),
        ("nullif(3, age)", {"age": None}, 3.0),
        ("open LIKE 'a%b_'", {"open": "axxb\n"}, True),
        ("open LIKE 'a.c'", {"open": "abc"}, False),
        ("open ILIKE 'A%'", {"open": "abc"}, True),
        ("concat(open, word)", {"open": None, "word": "x"}, "x"),
        ("open || word", {"open": None, "word": "x"}, None),
        ("substring(open, 2, 2)", {"open": "héllo"}, "él"),
        ("substring(open, 9, 2)", {"open": "abc"}, ""),
        ("right(open, 0)", {"open": "abc"}, ""),
        ("right(open, 5)", {"open": "abc"}, "abc"),
        ("trim(open)", {"open": " \ta "}, "\ta"),
        ("weekday(day)", {"day": datetime.date(2023, 1, 1)}, 7.0),
        ("day - DATE '2024-02-01'", {"day": datetime.date(2024, 3, 1)}, 29.0),
        ("quarter(day)", {"day": datetime.date(2024, 12, 31)}, 4.0),
        ("dayofyear(day)", {"day": datetime.date(2024, 12, 31)}, 366.0),
        ("bin(age, 0, 18, 65)", {"age": 18}, "[18, 65]"),
        ("bin(age, 0, 18, 65)", {"age": 65}, "[18, 65]"),
        ("bin(age, 0, 18.5, 65)", {"age": 18}, "[0, 18.5)"),
        ("bin(age, 0, 18, 65)", {"age": 66}, None),
        ("bin(age, 0, 18, 65)", {"age": None}, None),
    ],
)
def test_meaning(sql: str, row: dict[str, Value], expected: Value) -> None:
    assert value(sql, **row) == expected
    assert type(value(sql, **row)) is type(expected)


def known(lower: object, upper: object, step: object, nullable: bool = True) -> Facts:
    low, high, fine = (None if one is None else Fraction(str(one)) for one in (lower, upper, step))
    return Facts("number", nullable, low, high, fine)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("age + debt", known(-10, 1120, "1/4")),
        ("age - debt", known(-1000, 130, "1/4")),
        ("age * 3", known(0, 360, 3)),
        ("age * -0.5", known(-60, 0, "1/2")),
        ("debt * fine", known(-10, 1000, "1/400")),
        ("-debt", known(-1000, 10, "1/4")),
        ("abs(debt)", known(0, 1000, "1/4")),
        ("abs(kids - 10)", known(7, 10, 1, False)),
        ("age / 10", known(0, 12, None)),
        ("age / kids", known(0, 120, None)),
        ("kids / debt", known(-12, 12, None)),
        ("kids / (age / 7)", known(None, None, None)),
        ("age // 50", known(0, 2, 1)),
        ("kids % 5", known(0, 5, 1, False)),
        ("floor(debt / 3)", known(-4, 333, 1)),
        ("ceil(debt / 3)", known(-3, 334, 1)),
        ("round(fine)", known(0, 1, 1, False)),
        ("least(greatest(length(open), 0), 20)", known(0, 20, 1)),
        ("length(word)", known(0, 3, 1, False)),
        ("length(open)", known(0, 1000, 1)),
        ("year(day)", known(2024, 2026, 1, False)),
        ("month(day)", known(1, 12, 1, False)),
        ("day - DATE '2024-02-01'", known(0, 789, 1, False)),
        ("coalesce(age, 0)", known(0, 120, 1, False)),
        ("nullif(kids, 0)", known(0, 3, 1)),
        ("CASE WHEN flag THEN debt ELSE 0 END", known(-10, 1000, "1/4")),
        ("CASE WHEN flag THEN kids END", known(0, 3, 1)),
    ],
)
def test_facts_of_numbers(sql: str, expected: Facts) -> None:
    found = infer(parse_expression(sql, SCHEMA), facts())
    assert found == expected


@pytest.mark.parametrize(
    ("sql", "nullable"),
    [
        ("age > 5", True),
        ("kids > 5", False),
        ("age IS NULL", False),
        ("kids > 5 OR age > 5", True),
        ("kids / 2 > 1", False),
        ("1 / kids > 1", True),
    ],
)
def test_comparisons_are_truth_values(sql: str, nullable: bool) -> None:
    assert infer(parse_expression(sql, SCHEMA), facts()) == Facts("boolean", nullable, values=(False, True))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("kids", (0, 1, 2, 3)),
        ("kids * 2", (0, 2, 4, 6)),
        ("kids = 2", (False, True)),
        ("word", ("yes", "No")),
        ("upper(word)", ("NO", "YES")),
        ("left(word, 1)", ("N", "y")),
        ("word || CASE WHEN flag THEN '!' ELSE '' END", ("No", "No!", "yes", "yes!")),
        ("year(day)", (2024, 2025, 2026)),
        ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", ("minor", "adult")),
        ("CASE WHEN flag THEN 1 ELSE 0 END", (0, 1)),
        ("bin(age, 0, 18, 120)", ("[0, 18)", "[18, 120]")),
        ("kids / 2", (0.0, 0.5, 1.0, 1.5)),
        ("coalesce(nullif(kids, 0), 9) / 1", (1.0, 2.0, 3.0, 9.0)),
        ("lower(open)", None),
        ("debt / 7 + age / 7 + kids / 7", None),
    ],
)
def test_listing(sql: str, expected: tuple[Value, ...] | None) -> None:
    found = listing(parse_expression(sql, SCHEMA), facts())
    assert found == expected
    assert expected is None or list(map(type, found or ())) == list(map(type, expected))


def test_what_is_missing_in_the_inputs_is_listed_too() -> None:
    nullable = {"kids": Facts("number", True, Fraction(0), Fraction(1), Fraction(1))}
    assert listing(Call("/", (Call("coalesce", (Column("kids"), Literal(5))), Literal(1))), nullable) == (0.0, 1.0, 5.0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (Call("nonsense", (Literal(1),)), "no operation nonsense"),
        (Call("abs", ()), "1 arguments"),
        (Call("+", (Literal(1), Literal("a"))), "numbers"),
        (Call("=", (Literal(1), Literal("a"))), "one type"),
        (Call("+", (Literal(1), Literal(None))), "NULL"),
        (Call("case", (Literal(True), Literal(1), Literal(True), Literal(2))), "every WHEN"),
        (Call("coalesce", (Literal(None), Literal(None))), "NULL"),
        (Call("abs", (Column("nobody"),)), "no column nobody"),
        (Call("+", (Literal(10**151), Literal(1))), "1e150"),
        (Call("abs", (Literal(float("nan")),)), "finite"),
        (Call("like", (Column("open"), Column("word"))), "constants"),
    ],
)
def test_wrong_calls_are_refused(call: Expression, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        infer(call, facts())


@pytest.mark.diagonal
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_an_expression_means_the_same(kind: str, seed: int) -> None:
    open_words = DECLARED | {"c": text()}  # a category would refuse words that are not its own
    schema, chance = Schema(open_words, every_row()), random.Random(f"{kind}{seed}")
    table, read = rows(20, chance), 0
    while read < 15:
        drawn = draw(kind, 3, chance)
        try:
            infer(drawn, FACTS)
        except ParameterError:
            continue
        again = parse_expression(str(drawn), schema)
        assert parse_expression(str(again), schema) == again
        assert [evaluate(again, row) for row in table] == [evaluate(drawn, row) for row in table], str(drawn)
        read += 1


def test_the_random_expressions_know_every_operation() -> None:
    assert {name for names in MAKES.values() for name in names} == set(OPERATIONS)
