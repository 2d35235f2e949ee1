"""Clauses of a question: keys alone, names, orders and limits; what they mean, and that the canonical text means the same."""

from __future__ import annotations

from fractions import Fraction

import pytest
from support.accepted import SCHEMA

from discreet.curator.answer import Answer, refine
from discreet.curator.answer import Column as Output
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions import Column
from discreet.plan.plan import price
from discreet.plan.preview import preview_lines
from discreet.plan.query import Order, Query
from discreet.plan.sql import parse_query

# a text, and its canonical text
MEANT = [
    ("SELECT drug_use FROM data GROUP BY drug_use", "SELECT drug_use FROM data GROUP BY drug_use"),
    ("SELECT DISTINCT drug_use FROM data", "SELECT drug_use FROM data GROUP BY drug_use"),
    ("SELECT DISTINCT city AS c FROM data WHERE age > 3", "SELECT city AS c FROM data WHERE (age > 3) GROUP BY city"),
    ("SELECT count(*) FROM data GROUP BY ALL", "SELECT count(*) AS count FROM data"),
    ("SELECT count(*) FROM data GROUP BY ()", "SELECT count(*) AS count FROM data"),
    ("SELECT drug_use, count(*) AS n FROM data GROUP BY ALL", "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use"),
    (
        "SELECT age // 10 AS d, count(*) AS n FROM data WHERE d > 2 GROUP BY ALL",
        "SELECT (age // 10) AS d, count(*) AS n FROM data WHERE ((age // 10) > 2) GROUP BY (age // 10)",
    ),
    (
        "SELECT age // 10 AS d, d * 10 AS y, sum(d) AS s FROM data GROUP BY d, y",
        "SELECT (age // 10) AS d, ((age // 10) * 10) AS y, sum((age // 10)) AS s FROM data "
        "GROUP BY (age // 10), ((age // 10) * 10)",
    ),
    # a column comes before a name that SELECT gives
    (
        "SELECT debt AS age, count(*) AS n FROM data WHERE age > 2 GROUP BY debt",
        "SELECT debt AS age, count(*) AS n FROM data WHERE (age > 2) GROUP BY debt",
    ),
    (
        "SELECT count(*) AS n FROM data GROUP BY (drug_use, smokes)",
        "SELECT drug_use, smokes, count(*) AS n FROM data GROUP BY drug_use, smokes",
    ),
    (
        "SELECT drug_use, count(*) AS n FROM data GROUP BY 1 ORDER BY ALL DESC NULLS FIRST LIMIT 2 OFFSET 1",
        "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use ORDER BY drug_use DESC NULLS FIRST, n DESC NULLS FIRST "
        "LIMIT 2 OFFSET 1",
    ),
    ("SELECT TOP 3 smokes, count(*) AS n FROM data GROUP BY 1", "SELECT smokes, count(*) AS n FROM data GROUP BY smokes LIMIT 3"),
    ("SELECT DISTINCT TOP (3) smokes FROM data", "SELECT smokes FROM data GROUP BY smokes LIMIT 3"),
    ("SELECT count(*) AS n FROM data OFFSET 1 ROWS FETCH NEXT 2 ROWS ONLY", "SELECT count(*) AS n FROM data LIMIT 2 OFFSET 1"),
    ("SELECT count(*) AS n FROM data FETCH FIRST ROW ONLY", "SELECT count(*) AS n FROM data LIMIT 1"),
    ("SELECT avg(hospital.data.age) AS a FROM hospital.data", "SELECT avg(age) AS a FROM data"),
    ("SELECT avg(d.age) AS a FROM a.b.data AS d", "SELECT avg(age) AS a FROM data"),
    ("FROM data SELECT count(*) AS n", "SELECT count(*) AS n FROM data"),
    # public tables
    (
        "SELECT r.name AS x, count(*) AS n FROM data d, regions r WHERE age > 3 AND r.region = d.region AND size > 1 GROUP BY 1",
        "SELECT regions.name AS x, count(*) AS n FROM data JOIN regions ON Region = regions.region "
        "WHERE ((age > 3) AND (regions.size > 1)) GROUP BY regions.name",
    ),
    (
        "SELECT count(*) AS n FROM data d, regions a, regions b WHERE a.region = b.region AND d.region = a.region",
        "SELECT count(*) AS n FROM data JOIN regions ON Region = regions.region JOIN regions AS b ON regions.region = b.region",
    ),
    (
        "SELECT a.name AS x, b.name AS y, count(*) AS n FROM data JOIN regions a USING (region) LEFT JOIN regions AS b "
        "ON a.region - 1 = b.region GROUP BY 1, 2",
        "SELECT regions.name AS x, b.name AS y, count(*) AS n FROM data JOIN regions ON Region = regions.region "
        "LEFT JOIN regions AS b ON (regions.region - 1) = b.region GROUP BY regions.name, b.name",
    ),
    # aggregates by other names
    ("SELECT count_if(smokes) AS n FROM data", "SELECT count(CASE WHEN smokes THEN 1 ELSE NULL END) AS n FROM data"),
    ("SELECT countif(age > 5) AS n FROM data", "SELECT count(CASE WHEN (age > 5) THEN 1 ELSE NULL END) AS n FROM data"),
    ("SELECT sumIf(age, smokes) AS n FROM data", "SELECT sum(CASE WHEN smokes THEN age ELSE NULL END) AS n FROM data"),
    ("SELECT avg_if(age, smokes) AS n FROM data", "SELECT avg(CASE WHEN smokes THEN age ELSE NULL END) AS n FROM data"),
    ("SELECT percentile_disc(0.9) WITHIN GROUP (ORDER BY age) AS q FROM data", "SELECT quantile(age, 0.9) AS q FROM data"),
    ("SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY age DESC) AS q FROM data", "SELECT quantile(age, 0.1) AS q FROM data"),
    (
        "SELECT quantile_disc(age, 0.9) AS q, approx_quantile(age, 0.5) AS m FROM data",
        "SELECT quantile(age, 0.9) AS q, quantile(age, 0.5) AS m FROM data",
    ),
    ("SELECT percentile_approx(age, 0.5) AS q FROM data", "SELECT quantile(age, 0.5) AS q FROM data"),
    (
        "SELECT quantile(age, [0.25, 0.5]) AS q FROM data",
        "SELECT quantile(age, 0.25) AS q_0_25, quantile(age, 0.5) AS q_0_5 FROM data",
    ),
    (
        "SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY age) FILTER (WHERE smokes) AS q FROM data",
        "SELECT quantile(CASE WHEN smokes THEN age ELSE NULL END, 0.1) AS q_0_1, "
        "quantile(CASE WHEN smokes THEN age ELSE NULL END, 0.9) AS q_0_9 FROM data",
    ),
    ("SELECT mode() WITHIN GROUP (ORDER BY drug_use) AS m FROM data", "SELECT mode(drug_use) AS m FROM data"),
    ("SELECT count_big(*) AS n, stdev(age) AS s FROM data", "SELECT count(*) AS n, stddev_pop(age) AS s FROM data"),
    ("SELECT count(*) AS top FROM data", "SELECT count(*) AS top FROM data"),
]


@pytest.mark.parametrize(("text", "canonical"), MEANT, ids=[text for text, _ in MEANT])
def test_what_a_clause_means(text: str, canonical: str) -> None:
    query = parse_query(text, SCHEMA)
    assert str(query) == canonical
    assert parse_query(canonical, SCHEMA) == query


def test_a_top_within_is_no_limit_of_the_question() -> None:
    with pytest.raises(ParameterError):
        parse_query("WITH a AS (SELECT TOP 5 age FROM data) SELECT count(*) FROM a", SCHEMA)


def test_listed_keys_alone_are_free_and_open_ones_have_the_whole_cost() -> None:
    share = Cost("epsilon", Fraction(1), Fraction(1, 10**6))
    listed = price(parse_query("SELECT DISTINCT drug_use, smokes FROM data WHERE age > 60", SCHEMA), SCHEMA, share)
    assert (listed.releases, listed.privacy, listed.keys.size) == ((), None, 4)
    found = price(parse_query("SELECT DISTINCT city FROM data", SCHEMA), SCHEMA, share)
    with_count = price(parse_query("SELECT city, count(*) FROM data GROUP BY city", SCHEMA), SCHEMA, share)
    assert (found.keys.size, len(found.releases), len(with_count.releases)) == (None, 1, 2)
    epsilon, half = (plan.releases[0].mechanism.epsilon for plan in (found, with_count))  # type: ignore[union-attr]
    assert epsilon == 2 * half
    assert [line.output for line in preview_lines(found)] == ["city"]


def test_rows_are_skipped_before_they_are_limited() -> None:
    answer = Answer("", {"k": ("a", None, "b", "c")}, {"n": Output((1, 2, 3, 4))}, (), "", "")

    def ask(**clauses: object) -> tuple[object, ...]:
        return tuple(refine(answer, Query((), **clauses)).keys["k"])  # type: ignore[arg-type]

    assert ask(offset=1) == (None, "b", "c")
    assert ask(offset=1, limit=2) == (None, "b")
    assert ask(offset=9) == ()
    assert ask(order=(Order(Column("k")),)) == ("a", "b", "c", None)
    assert ask(order=(Order(Column("k"), missing_first=True),)) == (None, "a", "b", "c")
    assert ask(order=(Order(Column("k"), True, True),), limit=2) == (None, "c")
