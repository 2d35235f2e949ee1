"""Groups that are listed: WHERE leaves those that a row can have, and no row's key is ever left out."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from support.questions import begin
from support.random_expressions import FACTS, draw, rows

from discreet.errors import ParameterError
from discreet.plan.aggregates import Count, count
from discreet.plan.cost import Cost
from discreet.plan.expressions import Value, columns_of
from discreet.plan.expressions.evaluate import evaluate, infer, listing, on_grid
from discreet.plan.keys import Keys, keys_of
from discreet.plan.plan import facts_of, price
from discreet.plan.query import Key, Output, Query
from discreet.plan.sql import parse_query
from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import Unit, person
from discreet.schema.units import rows as every_row

COLUMNS = {
    "a": integer(0, 10),
    "x": number(0, 2, step=0.1),
    "country": category("DE", "FR", "IT", "ÅL"),
    "level": category(1, 2, 3),
    "city": text(),
    "seen": date("2020-01-01", "2026-12-31"),
    "b": boolean(),
    "wide": integer(0, 10**7),
}
SCHEMA = Schema(COLUMNS, every_row(), {"lands": {"country": category("DE", "FR"), "zone": category("n", "s")}})


def keys(where: str, by: str, tail: str = "") -> Keys:
    query = parse_query(f"SELECT {by}, count(*) AS n FROM data {tail} WHERE {where} GROUP BY {by}", SCHEMA)
    return keys_of(query, facts_of(SCHEMA))


@pytest.mark.parametrize(
    ("where", "by", "left"),
    [
        ("country = 'DE'", "country", ("DE",)),
        ("country IN ('IT', 'DE') AND a > 3", "country", ("DE", "IT")),
        ("country <> 'DE'", "country", ("FR", "IT", "ÅL")),
        ("country LIKE 'F%' OR country = 'IT'", "country", ("FR", "IT")),
        ("country = 'DE' AND NOT (country = 'FR')", "country", ("DE",)),
        ("a BETWEEN 2 AND 4", "a", (2, 3, 4)),
        ("a BETWEEN 2 AND 4", "a // 2", (1, 2)),
        ("a < 3", "bin(a, 0, 5, 10)", ("[0, 5)",)),
        ("level > 1", "level", (2, 3)),
        ("b", "b", (True,)),
        ("NOT b", "b", (False,)),
        ("year(seen) >= 2025", "year(seen)", (2025, 2026)),
        ("seen >= '2025-06-01'", "year(seen)", (2025, 2026)),
        ("x < 0.3", "x", (0, Fraction(1, 10), Fraction(1, 5))),
        ("a * 0.1 > 0.3 AND a < 5", "a * 0.1", (Fraction(3, 10), Fraction(2, 5))),  # 3 * 0.1 > 0.3 for doubles
        ("country IS NULL", "coalesce(country, 'none')", ("none",)),
        ("a < 5", "coalesce(a, 7)", (0, 1, 2, 3, 4)),  # where a is missing, the condition is not true
        ("upper(country) = 'FR'", "country", ("DE", "FR", "IT", "ÅL")),  # engines differ about letters such as Å
        ("country = 'DE' OR a > 3", "country", ("DE", "FR", "IT", "ÅL")),
        ("a > 3", "country", ("DE", "FR", "IT", "ÅL")),
        ("country = city", "country", ("DE", "FR", "IT", "ÅL")),
        ("1 = 2", "level", (1, 2, 3)),
    ],
)
def test_where_leaves_keys(where: str, by: str, left: tuple[Value, ...]) -> None:
    assert keys(where, by).listings == (left,)


def test_every_key_has_its_own_conditions() -> None:
    assert keys("a > 8 AND b AND country = 'FR'", "a, b").listings == ((9, 10), (True,))


def test_a_public_table_has_keys_too() -> None:
    assert keys("zone = 'n'", "zone", "LEFT JOIN lands USING (country)").listings == (("n",),)


def test_keys_that_the_asker_lists_stay() -> None:
    query = parse_query("SELECT a, count(*) AS n FROM data WHERE a = 3 GROUP BY a IN (3, 4)", SCHEMA)
    assert keys_of(query, facts_of(SCHEMA)).listings == ((3, 4),)
    assert keys("wide IN (7, 5)", "wide").listings == ((5, 7),)


@pytest.mark.parametrize(("where", "by"), [("a > 99", "a"), ("country = 'DE' AND country = 'FR'", "country"), ("b IS NULL", "b")])
def test_conditions_that_no_key_meets_are_refused(where: str, by: str) -> None:
    with pytest.raises(ParameterError, match=f"No key of {by} satisfies WHERE"):
        keys(where, by)


def test_the_builder_lists_the_same_keys() -> None:
    query = begin(SCHEMA).where("a > 3").where("b AND a < 6").group_by("a").agg(n=count()).asked().query
    assert query == parse_query("SELECT a, count(*) AS n FROM data WHERE a > 3 AND b AND a < 6 GROUP BY a", SCHEMA)
    assert keys_of(query, facts_of(SCHEMA)).listings == ((4, 5),)


@pytest.mark.spread(2)
@pytest.mark.parametrize("seed", range(5))
def test_no_row_loses_its_group(seed: int) -> None:
    """Random keys and conditions over their columns: whatever row satisfies WHERE, its key is listed."""
    chance = random.Random(seed)
    cut = 0
    while cut < 3:
        of, test = draw(chance.choice(["number", "text", "boolean"]), 2, chance), draw("boolean", 2, chance)
        if not {*columns_of(test)} & {*columns_of(of)}:
            continue
        query = Query((Output("n", Count()),), test, (Key("k", of),))
        try:
            infer(test, FACTS)
            whole, left = listing(of, FACTS), keys_of(query, FACTS).listings
        except ParameterError:
            continue
        if whole is None or left is None:
            continue
        cut += len(left[0]) < len(whole)
        for row in rows(80, chance):
            key = on_grid(evaluate(of, row), infer(of, FACTS).step)
            if evaluate(test, row) is True and key in whole:
                assert key in left[0], (str(query), row)


@pytest.mark.parametrize(
    "unit",
    [every_row(), every_row(neighbours="replace", size=100), person("id", rows=2, groups=3)],
    ids=["rows", "replace", "person"],
)
def test_groups_that_are_left_are_priced_as_if_they_were_listed(unit: Unit) -> None:
    """Sensitivity is that of the groups that are left: the same as for a list that the asker gives."""
    schema, share = Schema(COLUMNS, unit), Cost("rho", Fraction(1, 2), Fraction(1, 10**6))
    ask = "SELECT country, count(*) AS n, sum(a) AS s, median(a) AS m FROM data WHERE country IN ('DE', 'FR') GROUP BY country"
    cut, told = (price(parse_query(text, schema), schema, share) for text in (ask, f"{ask} IN ('DE', 'FR')"))
    assert cut.keys.listings == told.keys.listings == (("DE", "FR"),)
    assert cut.releases == told.releases


def test_open_keys_stay_open() -> None:
    assert keys("a > 3 AND starts_with(city, 'A')", "city, a").listings is None
