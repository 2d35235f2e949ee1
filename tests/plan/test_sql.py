"""SQL that is answered: what it means, and that the canonical text of a query means the same query."""

from __future__ import annotations

import datetime
import subprocess
import sys
from fractions import Fraction

import pytest
from support.accepted import ACCEPTED, COLUMNS, SCHEMA
from support.patience import calls
from support.questions import begin

from discreet.errors import ParameterError
from discreet.plan.aggregates import Count, Distinct, Mean, Mode, Quantile, Sum, Variance
from discreet.plan.expressions import Call, Column, Literal
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.query import Join, Key, Order, Output, Query
from discreet.plan.sql import parse_expression, parse_query
from discreet.schema.table import Schema
from discreet.schema.units import rows

AGE, DEBT, CITY = Column("age"), Column("debt"), Column("city")


def ask(text: str) -> Query:
    return parse_query(text, SCHEMA)


@pytest.mark.parametrize("text", ACCEPTED, ids=lambda text: text[:60])
def test_the_canonical_text_means_the_same_query(text: str) -> None:
    query = ask(text)
    assert parse_query(str(query), SCHEMA) == query
    assert str(parse_query(str(query), SCHEMA)) == str(query)


def test_what_a_statement_means() -> None:
    query = ask(
        "SELECT drug_use, count(*) AS n, avg(debt) FROM data WHERE age >= 18 GROUP BY drug_use "
        "HAVING n > 5 ORDER BY avg(debt) DESC LIMIT 3"
    )
    assert query == Query(
        (Output("n", Count()), Output("avg_debt", Mean(DEBT))),
        Call(">=", (AGE, Literal(18))),
        (Key("drug_use", Column("drug_use")),),
        (),
        Call(">", (Column("n"), Literal(5))),
        (Order(Column("avg_debt"), True),),
        3,
    )


@pytest.mark.parametrize(
    ("sql", "meant"),
    [
        ("count(1)", Count()),
        ("count(city)", Count(CITY)),
        ("count(DISTINCT patient_id)", Distinct()),
        ("sum(debt)", Sum(DEBT)),
        ("median(age)", Quantile(AGE, Fraction(1, 2))),
        ("quantile(age, 0.1)", Quantile(AGE, Fraction(1, 10))),
        ("percentile_cont(0.25) WITHIN GROUP (ORDER BY debt)", Quantile(DEBT, Fraction(1, 4))),
        ("stddev(age)", Variance(AGE, root=True)),
        ("var_pop(age)", Variance(AGE)),
        ("mode(drug_use)", Mode(Column("drug_use"))),
        ("count(*) FILTER (WHERE smokes)", Count(Call("case", (Column("smokes"), Literal(1), Literal(None))))),
        ("sum(age) FILTER (WHERE smokes)", Sum(Call("case", (Column("smokes"), AGE, Literal(None))))),
    ],
)
def test_what_an_aggregate_means(sql: str, meant: object) -> None:
    assert ask(f"SELECT {sql} AS x FROM data").outputs == (Output("x", meant),)  # type: ignore[arg-type]


def test_numbers_are_exact_and_texts_become_days() -> None:
    assert parse_expression("debt = 0.1", SCHEMA) == Call("=", (DEBT, Literal(Fraction(1, 10))))
    assert parse_expression("1e3 <> -2.50", SCHEMA) == Call("<>", (Literal(1000), Literal(Fraction(-5, 2))))
    assert parse_expression("seen = '2024-02-29'", SCHEMA) == Call("=", (Column("seen"), Literal(datetime.date(2024, 2, 29))))
    assert parse_expression("city = '2024-02-29'", SCHEMA) == Call("=", (CITY, Literal("2024-02-29")))


def test_names_without_an_alias() -> None:
    query = ask(
        "SELECT year(seen), count(*), median(age), count(DISTINCT patient_id), sum(debt * 2) FROM data GROUP BY year(seen)"
    )
    assert [key.name for key in query.keys] == ["year_seen"]
    assert [output.name for output in query.outputs] == ["count", "median_age", "count_persons", "sum_debt_2"]


def test_keys_that_are_not_selected_are_released_too() -> None:
    assert [key.name for key in ask("SELECT count(*) FROM data GROUP BY drug_use, age // 10").keys] == ["drug_use", "age_10"]


@pytest.mark.parametrize(
    ("where", "values"),
    [
        ("city IN ('b', 'a', 'b')", ("a", "b")),
        ("age > 3 AND city = 'x'", ("x",)),
        ("age > 3 OR city = 'x'", None),
        ("NOT city IN ('a')", None),
        ("lower(city) = 'x'", None),
        ("city = drug_use", None),
    ],
)
def test_a_condition_lists_open_keys(where: str, values: object) -> None:
    assert ask(f"SELECT city, count(*) FROM data WHERE {where} GROUP BY city").keys[0].values == values


def test_the_text_of_a_query_keeps_a_declared_list_whole() -> None:
    """Which of its keys are left is decided where groups are listed."""
    assert ask("SELECT drug_use, count(*) FROM data WHERE drug_use = 'yes' GROUP BY drug_use").keys[0].values is None


def test_joins() -> None:
    query = ask("SELECT r.name, count(*) FROM data d LEFT JOIN regions r ON r.region = d.region GROUP BY r.name")
    assert query.joins == (Join("regions", ((Column("Region"), "region"),), True),)
    assert query.keys == (Key("name", Column("regions.name")),)


def test_identifiers_have_no_case_unless_quoted() -> None:
    assert ask("SELECT sum(AGE) FROM Data").outputs[0].aggregate == Sum(AGE)
    assert ask('SELECT count("Region") FROM "data"').outputs[0].aggregate == Count(Column("Region"))
    with pytest.raises(ParameterError, match="no column region"):
        ask('SELECT count("region") FROM data')


def test_extra_names_are_allowed_where_they_are_given() -> None:
    score = parse_expression("CASE WHEN drug_use = candidate THEN 1 ELSE 0 END", SCHEMA, names=("candidate",))
    assert evaluate(score, {"drug_use": "yes", "candidate": "yes"}) == 1
    with pytest.raises(ParameterError, match="no column candidate"):
        parse_expression("candidate = 1", SCHEMA)


@pytest.mark.parametrize("text", ["age, debt", "age FROM data", "count(*)", "age AS x", "age; debt", "", "1 2", "* "])
def test_an_expression_is_one_expression(text: str) -> None:
    with pytest.raises(ParameterError):
        parse_expression(text, SCHEMA)


def test_distinct_texts_are_counted_where_they_are_listed() -> None:
    with pytest.raises(ParameterError, match="where a declaration lists them"):
        parse_query("SELECT count(DISTINCT city) FROM data", Schema(COLUMNS, rows()))


def test_parsing_is_quick() -> None:
    ask(ACCEPTED[19])
    assert calls(lambda: ask(ACCEPTED[19])) < 15_000  # about 3,300


def test_sqlglot_is_loaded_late() -> None:
    program = "import sys, discreet.plan.sql, discreet.plan.expressions.evaluate; assert 'sqlglot' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_choice_is_written_in_sql_as_in_python() -> None:
    score = "CASE WHEN debt >= candidate THEN candidate ELSE 0 END"
    asked = parse_query(f"SELECT choose([200, 500.5], {score}) AS best FROM data WHERE age > 3", SCHEMA)
    assert asked == begin(SCHEMA).where("age > 3").choose([200, 500.5], score=score).asked().query
    assert parse_query(str(asked), SCHEMA) == asked
    assert parse_query(f"SELECT choose([1, 2], {score}) FROM data", SCHEMA).outputs[0].name == "best"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("choose([200, age], 1)", "constants"),
        ("choose(200, 1)", "candidates and a score"),
        ("choose([200])", "candidates and a score"),
        ("choose([], 1)", "at least one value"),
        ("choose([1, 'a'], 1)", "one type"),
        ("choose([1, 2], candidat)", "no column candidat"),
        ("choose([1, 2], age) FILTER (WHERE age > 3)", "no FILTER"),
    ],
)
def test_a_choice_that_cannot_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        parse_query(f"SELECT {text} AS best FROM data", SCHEMA)
