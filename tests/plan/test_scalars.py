"""Functions in every spelling: the same meaning, or a sentence, whatever the arguments are."""

from __future__ import annotations

import datetime
import random
from fractions import Fraction

import pytest
from support.accepted import SCHEMA

from discreet.errors import DiscreetError
from discreet.plan.expressions import Literal, Value
from discreet.plan.expressions.evaluate import OPERATIONS, evaluate, infer
from discreet.plan.expressions.facts import facts_of_column
from discreet.plan.sql import parse_expression
from discreet.plan.sql.scalars import _NAMED

DAY = datetime.date
FACTS = {name: facts_of_column(column) for name, column in SCHEMA.columns.items()}


@pytest.mark.parametrize(
    ("spellings", "row", "expected"),
    [
        (
            [
                "seen + INTERVAL 1 MONTH",
                "seen + INTERVAL '1 month'",
                "DATEADD(month, 1, seen)",
                "DATE_ADD(seen, INTERVAL 1 MONTH)",
                "add_months(seen, 1)",
                "INTERVAL '1' MONTH + seen",
                "seen - INTERVAL -1 MONTH",
                "date_sub(seen, INTERVAL '-1' MONTH)",
            ],
            {"seen": DAY(2023, 1, 31)},
            DAY(2023, 2, 28),
        ),
        (
            ["seen - INTERVAL 1 YEAR", "seen - INTERVAL '12 months'", "DATEADD(yy, -1, seen)"],
            {"seen": DAY(2024, 2, 29)},
            DAY(2023, 2, 28),
        ),
        (
            ["seen + 30", "seen + INTERVAL 30 DAY", "DATE_ADD(seen, 30)", "seen + INTERVAL '4 weeks 2 days'"],
            {"seen": DAY(2023, 1, 1)},
            DAY(2023, 1, 31),
        ),
        (
            ["date_trunc('week', seen)", "DATE_TRUNC(seen, WEEK)", "DATETRUNC(week, seen)", "date_trunc('WEEKS', seen)"],
            {"seen": DAY(2023, 1, 1)},
            DAY(2022, 12, 26),
        ),
        (
            [
                "datediff('week', DATE '2022-12-31', seen)",
                "DATE_DIFF(seen, DATE '2022-12-31', WEEK)",
                "DATEDIFF(wk, '2022-12-31', seen)",
            ],
            {"seen": DAY(2023, 1, 2)},
            1.0,
        ),
        (["datediff('month', DATE '2022-12-31', seen)", "DATE_DIFF(seen, '2022-12-31', MONTH)"], {"seen": DAY(2023, 1, 1)}, 1.0),
        (
            [
                "datediff('day', DATE '2022-12-31', seen)",
                "DATEDIFF(seen, '2022-12-31')",
                "seen - DATE '2022-12-31'",
                "days(seen, '2022-12-31')",
            ],
            {"seen": DAY(2023, 1, 1)},
            1.0,
        ),
        (
            ["datediff('quarter', DATE '2022-12-31', seen)", "datediff('year', DATE '2022-12-31', seen)"],
            {"seen": DAY(2023, 1, 1)},
            1.0,
        ),
        (["extract(dow FROM seen)", "date_part('dow', seen)"], {"seen": DAY(2023, 1, 1)}, 0.0),
        (["isodow(seen)", "extract(isodow FROM seen)", "weekday(seen)"], {"seen": DAY(2023, 1, 1)}, 7.0),
        (
            ["week(seen)", "extract(week FROM seen)", "DATEPART(isoweek, seen)", "weekofyear(seen)"],
            {"seen": DAY(2021, 1, 1)},
            53.0,
        ),
        (
            [
                "strftime(seen, '%Y-%m')",
                "strftime('%Y-%m', seen)",
                "to_char(seen, 'YYYY-MM')",
                "FORMAT(seen, 'yyyy-MM')",
                "DATE_FORMAT(seen, '%Y-%m')",
                "date_format(seen, 'yyyy-MM')",
            ],
            {"seen": DAY(2023, 1, 2)},
            "2023-01",
        ),
        (
            [
                "monthname(seen)",
                "DATENAME(month, seen)",
                "DATE_FORMAT(seen, '%M')",
                "strftime(seen, '%B')",
                "to_char(seen, 'FMMonth')",
            ],
            {"seen": DAY(2023, 3, 2)},
            "March",
        ),
        (["last_day(seen)", "EOMONTH(seen)"], {"seen": DAY(2024, 2, 1)}, DAY(2024, 2, 29)),
        (["age IS DISTINCT FROM 5", "NOT age <=> 5", "NOT age IS NOT DISTINCT FROM 5"], {"age": None}, True),
        (["age IS NOT DISTINCT FROM NULL", "isnull(age)", "age IS NULL", "(age > 1) IS UNKNOWN"], {"age": None}, True),
        (
            [
                "ISNULL(age, 7)",
                "ifnull(age, 7)",
                "nvl(age, 7)",
                "coalesce(age, 7)",
                "nvl2(age, 1, 7)",
                "IF(age IS NULL, 7, 1)",
                "iff(age IS NULL, 7, 1)",
            ],
            {"age": None},
            7.0,
        ),
        (["decode(age, 1, 'a', 2, 'b', 'c')", "CASE age WHEN 1 THEN 'a' WHEN 2 THEN 'b' ELSE 'c' END"], {"age": 2}, "b"),
        (["round(debt, 1)", "debt::decimal(9, 1)", "CAST(debt AS NUMERIC(12, 1))"], {"debt": 2.25}, 2.3),
        (["round(debt, -2)", "round(debt / 100) * 100"], {"debt": 150}, 200.0),
        (["trunc(debt)", "truncate(debt, 0)", "floor(debt)"], {"debt": 2.99}, 2.0),
        (["age ^ 2", "age ** 2", "power(age, 2)", "POW(age, 2)", "square(age)"], {"age": 12}, 144.0),
        (["log10(age)", "log(10, age)"], {"age": 100}, 2.0),
        (["ln(age)", "log10(age)", "log2(age)", "sqrt(age - 1)", "power(age, -1)"], {"age": 0}, None),
        (
            ["strpos(city, 'b')", "instr(city, 'b')", "position('b' IN city)", "CHARINDEX('b', city)", "locate('b', city)"],
            {"city": "éb"},
            2.0,
        ),
        (
            [
                "city ~ '^A'",
                "regexp_matches(city, '^A')",
                "REGEXP_CONTAINS(city, '^A')",
                "city SIMILAR TO 'A%'",
                "regexp_like(city, '^A')",
                "city LIKE 'A%'",
                "city ~* '^a'",
            ],
            {"city": "Ab"},
            True,
        ),
        (
            ["regexp_extract(city, '([0-9]+)-', 1)", "split_part(city, '-', 1)", "regexp_extract(city, '[0-9]+')"],
            {"city": "12-34"},
            "12",
        ),
        (
            ["TRY_CAST(city AS DOUBLE)", "city::double", "SAFE_CAST(city AS FLOAT64)", "to_number(city)", "city::numeric"],
            {"city": " -7.50"},
            -7.5,
        ),
        (["TRY_CAST(city AS INT)", "city::bigint", "CAST(city AS INTEGER)"], {"city": "7.5"}, None),
        (["TRY_CAST(city AS DATE)", "city::date", "to_date(city)", "DATE(city)"], {"city": "2024-02-29"}, DAY(2024, 2, 29)),
        (["age::text", "CAST(age AS VARCHAR)", "CAST(age AS STRING)"], {"age": 12}, "12"),
        (["ltrim(city, '0')", "trim(LEADING '0' FROM city)"], {"city": "0070"}, "70"),
        (["trim(city, '0')", "trim(BOTH '0' FROM city)", "btrim(city, '0')"], {"city": "0070"}, "7"),
        (["lpad(city, 3, '0')", "right('000' || city, 3)"], {"city": "7"}, "007"),
    ],
)
def test_spellings_mean_the_same(spellings: list[str], row: dict[str, Value], expected: Value) -> None:
    for spelling in spellings:
        found = evaluate(parse_expression(spelling, SCHEMA), row)
        assert found == expected, spelling
        assert type(found) is type(expected), spelling


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DATE '2024-06-01' - INTERVAL '1' MONTH", Literal(DAY(2024, 5, 1))),
        ("'2024-01-31'::date + INTERVAL '1 month 1 day'", Literal(DAY(2024, 3, 1))),
        ("make_date(2024, 2, 29)", Literal(DAY(2024, 2, 29))),
    ],
)
def test_constant_days_are_calculated_at_once(sql: str, expected: Literal) -> None:
    assert parse_expression(sql, SCHEMA) == expected


def test_facts_follow() -> None:
    asked = ("sqrt(age)", "ln(age)", "round(debt / 3, 2)", "power(age, 2)")
    known = {sql: infer(parse_expression(sql, SCHEMA), FACTS) for sql in asked}
    assert (known["sqrt(age)"].lower, known["ln(age)"].lower) == (0, 0)
    assert known["ln(age)"].nullable
    assert known["round(debt / 3, 2)"].step == Fraction(1, 100)
    assert (known["power(age, 2)"].upper, known["power(age, 2)"].step) == (FACTS["age"].upper ** 2, 1)  # type: ignore[operator]


ARGUMENTS = [
    "age",
    "debt",
    "city",
    "seen",
    "smokes",
    "NULL",
    "1",
    "-1",
    "0",
    "1.5",
    "'a'",
    "''",
    "'day'",
    "'%Y'",
    "day",
    "month",
    "*",
    "TRUE",
    "1e140",
    "1e-140",
    "'[a'",
    "'(a)b'",
    "count(*)",
    "-age",
]
ARGUMENTS += ["INTERVAL 3 DAY", "DATE '2024-01-31'", "'2024-01-31'", "width => 5", "width => age", "x := 3", "(1, 2)", "seen + 3"]
SIGNS = [
    "+",
    "-",
    "~",
    "~*",
    "SIMILAR TO",
    "IS DISTINCT FROM",
    "<=>",
    "^",
    "::int +",
    "::date -",
    "::decimal(3, 1) *",
    "::text ||",
]


def ends(text: str) -> bool:
    """Whether a text is an expression; what is none ends in a sentence, and nothing else is raised."""
    try:
        parse_expression(text, SCHEMA)
    except DiscreetError as refusal:
        return not str(refusal).endswith(".") and pytest.fail(text)
    return True


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_arguments_there_is_an_expression_or_a_sentence(seed: int) -> None:
    chance, answered = random.Random(seed), 0
    names = [
        *_NAMED,
        *(name for name in OPERATIONS if name.isidentifier()),
        "extract",
        "position",
        "nvl2",
        "concat_ws",
        "make_date",
    ]
    for _ in range(1500):
        text = f"{chance.choice(names)}({', '.join(chance.choices(ARGUMENTS, k=chance.randrange(5)))})"
        if chance.random() < 0.2:
            text = f"{chance.choice(ARGUMENTS)} {chance.choice(SIGNS)} {chance.choice(ARGUMENTS)}"
        answered += ends(text)
    assert answered > 20
