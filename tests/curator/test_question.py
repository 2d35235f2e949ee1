"""Questions written in Python: the plan that SQL makes, and refusals that say the call to write."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.questions import begin

from discreet.curator.question import Question
from discreet.errors import ParameterError
from discreet.plan.aggregates import count, mean, median, most_common, persons, quantile, stddev, variance
from discreet.plan.aggregates import sum as total
from discreet.plan.sql import parse_query
from discreet.schema.columns import boolean, category, date, integer, text
from discreet.schema.table import Schema
from discreet.schema.units import person

SCHEMA = Schema(
    {
        "age": integer(0, 120),
        "sex": category("m", "f"),
        "flag": boolean(),
        "city": text(),
        "seen": date("2020-01-01", "2026-12-31"),
    },
    person("id", rows=2, groups=2),
)
QUESTION = begin(SCHEMA)


def test_the_same_plan_as_sql() -> None:
    built = (
        QUESTION.where("age >= 18 AND flag")
        .where("sex = 'm'")
        .group_by("sex", decade="age // 10")
        .agg(n=count(), m=mean("age"), q=quantile("age", 0.25), v=variance("age"), d=stddev("age"), s=total("age"))
        .having("n > 5")
        .order_by("n", descending=True)
        .limit(3)
    )
    sql = (
        "SELECT sex, age // 10 AS decade, count(*) AS n, avg(age) AS m, quantile(age, 0.25) AS q, var_pop(age) AS v, "
        "stddev_pop(age) AS d, sum(age) AS s FROM data WHERE age >= 18 AND flag AND sex = 'm' GROUP BY sex, decade "
        "HAVING n > 5 ORDER BY n DESC LIMIT 3"
    )
    assert built.asked().query == parse_query(sql, SCHEMA)


def test_one_row_a_person_is_the_same_plan_as_sql() -> None:
    built = (
        QUESTION.where("age >= 18")
        .person(
            n=count(), total=total("age"), mean=mean("age"), sex="any_value(sex)", rate=total("age") / count(), d="count_if(flag)"
        )
        .where("n > 1")
        .group_by("sex")
        .agg(m=mean("n"), q=median("total"), r=mean("rate"), p=persons())
        .order_by("m")
    )
    sql = (
        "SELECT sex, avg(n) AS m, median(total) AS q, avg(rate) AS r, count(DISTINCT id) AS p FROM (SELECT id, count(*) AS n, "
        "sum(age) AS total, avg(age) AS mean, any_value(sex) AS sex, sum(age) / count(*) AS rate, count_if(flag) AS d "
        "FROM data WHERE age >= 18 GROUP BY id) t WHERE n > 1 GROUP BY sex ORDER BY m"
    )
    assert built.asked().query == parse_query(sql, SCHEMA)
    assert parse_query(str(built), SCHEMA) == built.asked().query


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a list of keys": (lambda: QUESTION.group_by(["sex", "flag"]), 'write group_by("sex", "flag")'),  # type: ignore[arg-type]
    "a list of values": (lambda: QUESTION.group_by("city", keys=["x", "y"]), 'write keys={"city": [...]}'),  # type: ignore[arg-type]
    "a named key's": (lambda: QUESTION.group_by(t="city", keys=["x"]), 'write keys={"t": [...]}'),  # type: ignore[arg-type]
    "a text for a list": (lambda: QUESTION.group_by("city", keys={"city": "xy"}), 'write keys={"city": [...]}'),
    "a number for a list": (lambda: QUESTION.group_by("city", keys={"city": 5}), "The listed keys of city are"),  # type: ignore[dict-item]
    "no values": (lambda: QUESTION.group_by("city", keys={"city": []}), "The listed keys of city are"),
    "lists for values": (lambda: QUESTION.group_by("city", keys={"city": [["x"]]}), "The listed keys of city are"),  # type: ignore[list-item]
    "another key's values": (lambda: QUESTION.group_by("sex", keys={"city": ["x"]}), "city, which is not grouped by"),
    "a person's column without a name": (lambda: QUESTION.person(count()), "write person(n=count()"),
    "no column of a person": (lambda: QUESTION.person(), "write person(n=count()"),
    "a person's median": (lambda: QUESTION.person(m=median("age")), '"max(age)"'),
    "a person's number": (lambda: QUESTION.person(m=5), '"max(age)"'),  # type: ignore[arg-type]
    "a column that persons have several of": (lambda: QUESTION.person(age="age"), "any_value(age)"),
    "two expressions": (lambda: QUESTION.person(n="count(*), sum(age)"), "one aggregate"),
    "persons of persons": (lambda: QUESTION.person(n=count()).person(m=total("n")), "once"),
    "persons after groups": (lambda: QUESTION.group_by("sex").person(n=count()), "before group_by()"),
    "a row's column of a person": (lambda: QUESTION.person(n=count()).agg(m=mean("age")), "has n"),
    "a word of a person that is none": (
        lambda: QUESTION.person(s="any_value(sex)").group_by("s", keys={"s": ["male"]}),
        "s has no value 'male'",
    ),
    "a column": (lambda: QUESTION.agg("age"), 'must be an aggregate such as count() or mean("debt"), not str'),
    "a dict": (lambda: QUESTION.agg({"n": 5}), 'write {"debt": ["sum", "mean"]}'),
    "no call": (lambda: QUESTION.agg(n=count), "such as count()"),  # type: ignore[arg-type]
    "nothing to sum": (lambda: QUESTION.agg(s=total(None)), "sum takes one expression; write sum(x)"),  # type: ignore[arg-type]
    "a star": (lambda: QUESTION.agg(n=count("*")), "write count()"),
    "a mean of words": (lambda: QUESTION.agg(m=mean("sex")), "avg(sex) needs numbers, and sex is a text; write mode(sex)"),
    "a median of days": (lambda: QUESTION.agg(m=median("seen")), "write median(days(seen, DATE '2020-01-01'))"),
    "a median of truths": (lambda: QUESTION.agg(m=median("flag")), "write count(*) FILTER (WHERE flag)"),
    "no bounds": (lambda: QUESTION.agg(m=total("1 / (age / 7)")), "Nothing bounds (1 / (age / 7))"),
    "no list": (lambda: QUESTION.agg(m=most_common("city")), "mode(city) needs a declared list"),
    "a row in having": (lambda: QUESTION.agg(n=count()).having("age > 5"), "put a condition on rows into WHERE"),
    "having alone": (lambda: QUESTION.having("count(*) > 5").asked(), "write agg(n=count())"),
    "an order with a direction": (lambda: QUESTION.agg(n=count()).order_by("n DESC"), 'write order_by("n", descending=True)'),
    "an order upwards": (lambda: QUESTION.agg(n=count()).order_by("n asc"), 'write order_by("n")'),
    "nothing": (lambda: QUESTION.group_by("sex").asked().query, "Nothing is asked for yet"),
}


@pytest.mark.parametrize(("refused", "says"), REFUSED.values(), ids=REFUSED)
def test_a_call_is_refused_with_the_call_to_write(refused: Callable[[], object], says: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(says)):
        refused()


@pytest.mark.parametrize(
    ("asked", "sql"),
    [
        (
            lambda q: q.having("count(*) > 5").order_by("avg(age)", descending=True),
            "HAVING count(*) > 5 ORDER BY avg(age) DESC",
        ),
        (lambda q: q.having("n > 5 AND avg(age) < 60").order_by("n / 2"), "HAVING n > 5 AND avg(age) < 60 ORDER BY n / 2"),
        (lambda q: q.having("n > 5").having("n < 50").order_by("sum(age) / n"), "HAVING n > 5 AND n < 50 ORDER BY sum(age) / n"),
    ],
)
def test_having_and_order_by_take_what_sql_takes(asked: Callable[[Question], Question], sql: str) -> None:
    """Also aggregates that are not selected: released, paid for, and not shown."""
    built = asked(QUESTION.group_by("sex").agg(n=count()))
    text = f"SELECT sex, count(*) AS n FROM data GROUP BY sex {sql}"
    assert built.asked().query == parse_query(text, SCHEMA)
