"""A word that a category has not is refused before it is paid for, with the words that it has."""

from __future__ import annotations

import pytest
from support.questions import begin

from discreet.errors import ParameterError
from discreet.plan.aggregates import count
from discreet.plan.expressions.values import misspelt
from discreet.plan.sql import parse_expression, parse_query
from discreet.schema.columns import category, integer, text
from discreet.schema.table import Schema
from discreet.schema.units import rows

SCHEMA = Schema(
    {
        "country": category("DE", "FR", "IT"),
        "blood group": category("A", "B"),
        "city": text(),
        "level": category(1, 2),
        "age": integer(0, 10),
    },
    rows(),
    {"lands": {"country": category("DE", "AT"), "zone": category("n", "s")}},
)

SLIPS = [
    ("SELECT count(*) FROM data WHERE country = 'XX'", "'XX'; declared are 'DE', 'FR', 'IT'"),
    ("SELECT count(*) FROM data WHERE 'XX' = country", "'XX'"),
    ("SELECT count(*) FROM data WHERE country <> 'XX'", "'XX'"),
    ("SELECT count(*) FROM data WHERE NOT (age > 3 OR country IN ('DE', 'fr'))", "'fr'; did you mean 'FR'"),
    ("SELECT count(*) FROM data WHERE country NOT IN ('FRA')", "did you mean 'FR'"),
    ("SELECT count(*) FROM data WHERE \"blood group\" = 'a'", "\"blood group\" has no value 'a'; did you mean 'A'"),
    ("SELECT count(*) FILTER (WHERE country = 'De') FROM data", "did you mean 'DE'"),
    ("SELECT sum(CASE WHEN country = 'XX' THEN 1 ELSE 0 END) FROM data", "'XX'"),
    ("SELECT sum(CASE country WHEN 'DE' THEN 1 WHEN 'XX' THEN 2 ELSE 0 END) FROM data", "'XX'"),
    ("SELECT country, count(*) FROM data GROUP BY country IN ('DE', 'XX')", "'XX'"),
    ("SELECT country IN ('XX') AS x, count(*) FROM data GROUP BY x", "'XX'"),
    ("SELECT country, count(*) FROM data GROUP BY country HAVING country <> 'XX'", "'XX'"),
    ("SELECT country AS c, count(*) FROM data GROUP BY c HAVING c <> 'XX'", "'XX'"),
]


@pytest.mark.parametrize(("sql", "says"), SLIPS, ids=[sql for sql, _ in SLIPS])
def test_a_slip_is_refused(sql: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refusal:
        parse_query(sql, SCHEMA)
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM data WHERE country IN ('DE', 'IT') AND country <> 'FR'",
        "SELECT count(*) FROM data WHERE lower(country) = 'de' OR country LIKE 'X%' OR country > 'XX'",
        "SELECT count(*) FROM data WHERE city = 'XX' OR level = 7 OR age > 99",
        "SELECT count(*) FROM data JOIN lands USING (country) WHERE lands.country = 'XX' AND zone <> 'w'",
        "SELECT city AS country, count(*) FROM data GROUP BY city HAVING country <> 'XX'",
    ],
)
def test_only_a_category_by_itself_is_compared_with_its_words(sql: str) -> None:
    assert parse_query(str(parse_query(sql, SCHEMA)), SCHEMA) == parse_query(sql, SCHEMA)


def test_the_builder_refuses_the_same() -> None:
    for refused in (
        lambda: begin(SCHEMA).where("country = 'XX'"),
        lambda: begin(SCHEMA).group_by("country", keys={"country": ["DE", "XX"]}),
        lambda: begin(SCHEMA).group_by(land="country", keys={"land": ["XX"]}),
    ):
        with pytest.raises(ParameterError, match="country has no value 'XX'; declared are 'DE', 'FR', 'IT'"):
            refused()
    assert begin(SCHEMA).group_by("city", keys={"city": ["XX"]}).agg(n=count()).asked().query.keys[0].values == ("XX",)


def test_a_candidate_is_no_word_yet() -> None:
    assert parse_expression("country = candidate", SCHEMA, names=("candidate",))
    assert parse_expression("country = 'XX'", SCHEMA, names=("country",))  # a column of the result, whatever it is


def test_long_lists_and_long_texts_are_cut() -> None:
    said = str(misspelt("c", "\x1b" + "y" * 500, [f"v{i}" for i in range(9)]))
    assert "'v7', ..." in said
    assert "v8" not in said
    assert "\x1b" not in said
    assert len(said) < 200
    assert str(misspelt("c", "v", [f"v{i}" for i in range(8)])).endswith("'v7'.")
