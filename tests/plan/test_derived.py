"""Queries within questions: they mean what the private table is asked with every name written out, or are refused."""

from __future__ import annotations

import pytest
from support.accepted import SCHEMA
from support.patience import within

from discreet.errors import ParameterError
from discreet.plan.plan import check, facts_of
from discreet.plan.sql import parse_query

# what is asked, and the same of the private table
SAME = [
    ("SELECT count(*) FROM (SELECT * FROM data)", "SELECT count(*) FROM data"),
    ("SELECT count(*) FROM (data)", "SELECT count(*) FROM data"),
    ("SELECT avg(x) AS a FROM (SELECT age AS x FROM data)", "SELECT avg(age) AS a FROM data"),
    ("SELECT avg(x) AS a FROM (SELECT age FROM data) AS t(x)", "SELECT avg(age) AS a FROM data"),
    (
        "WITH t(x, y) AS (SELECT age, debt FROM data) SELECT avg(y) AS a FROM t WHERE x > 3",
        "SELECT avg(debt) AS a FROM data WHERE age > 3",
    ),
    (
        "SELECT count(*) FROM (SELECT * FROM data WHERE age > 3) WHERE age < 9",
        "SELECT count(*) FROM data WHERE age > 3 AND age < 9",
    ),
    (
        "SELECT count(*) FROM (SELECT * FROM data WHERE age > 3 OR smokes) WHERE age < 9 AND smokes",
        "SELECT count(*) FROM data WHERE (age > 3 OR smokes) AND age < 9 AND smokes",
    ),
    (
        "WITH a AS (SELECT age + 1 AS x FROM data), b AS (SELECT x * x AS x FROM a WHERE x > 2) "
        "SELECT sum(x) AS s FROM b WHERE x > 9",
        "SELECT sum((age + 1) * (age + 1)) AS s FROM data WHERE age + 1 > 2 AND (age + 1) * (age + 1) > 9",
    ),
    ("WITH a AS (WITH b AS (SELECT * FROM data) SELECT age FROM b) SELECT median(age) FROM a", "SELECT median(age) FROM data"),
    ("WITH a AS (SELECT age FROM data) SELECT median(A.Age) FROM a A", "SELECT median(age) FROM data"),
    (
        "SELECT drug_use, count(*) AS n FROM (SELECT * EXCLUDE (age) FROM data) GROUP BY drug_use",
        "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use",
    ),
    (
        "SELECT avg(age) AS a FROM (SELECT * REPLACE (age * 2 AS age) FROM data)",
        "SELECT avg(age * 2) AS a FROM data",
    ),
    ("SELECT count(DISTINCT who) FROM (SELECT patient_id AS who FROM data)", "SELECT count(DISTINCT patient_id) FROM data"),
    ("SELECT count(DISTINCT patient_id) FROM (SELECT * FROM data) t", "SELECT count(DISTINCT patient_id) FROM data"),
    (
        "SELECT sum(x) AS s FROM (SELECT age AS x FROM data JOIN regions USING (region) WHERE name = 'north')",
        "SELECT sum(age) AS s FROM data JOIN regions USING (region) WHERE name = 'north'",
    ),
    (
        "SELECT r.name, count(*) FROM (SELECT region AS reg FROM data) t LEFT JOIN regions r ON t.reg = r.region GROUP BY 1",
        "SELECT regions.name, count(*) FROM data LEFT JOIN regions ON data.region = regions.region GROUP BY 1",
    ),
    (
        "SELECT x, count(*) FROM (SELECT city AS x FROM data WHERE city IN ('b', 'a')) GROUP BY x",
        "SELECT city AS x, count(*) FROM data WHERE city IN ('b', 'a') GROUP BY x",
    ),
]
SAME += [  # around a grouped query
    (
        "SELECT drug_use, n FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use) WHERE n > 3 ORDER BY n LIMIT 1",
        "SELECT drug_use, count(*) AS n FROM data GROUP BY drug_use HAVING n > 3 ORDER BY n LIMIT 1",
    ),
    (
        "WITH c AS (SELECT drug_use AS d, count(*) AS n FROM data WHERE age > 3 GROUP BY 1) SELECT * FROM c WHERE d <> 'no'",
        "SELECT drug_use AS d, count(*) AS n FROM data WHERE age > 3 GROUP BY 1 HAVING d <> 'no'",
    ),
    (
        "SELECT n, d FROM (SELECT drug_use AS d, count(*) AS n FROM data GROUP BY 1) AS t",
        "SELECT count(*) AS n, drug_use AS d FROM data GROUP BY drug_use",
    ),
    (
        "SELECT k AS x FROM (SELECT age // 10 AS k, count(*) AS n FROM data WHERE k > 2 GROUP BY ALL HAVING n > 5)",
        "SELECT age // 10 AS x FROM data WHERE age // 10 > 2 GROUP BY x HAVING count(*) > 5",
    ),
    (
        "SELECT t.b / 2 AS h FROM (SELECT drug_use, sum(age) AS s FROM data GROUP BY 1) t(a, b) WHERE t.a = 'yes'",
        "SELECT drug_use, sum(age) / 2 AS h FROM data GROUP BY drug_use HAVING drug_use = 'yes'",
    ),
    (
        "WITH c AS (SELECT smokes, sum(debt) AS s, count(*) AS n FROM data GROUP BY ALL), "
        "r AS (SELECT smokes, s / n AS per FROM c) SELECT smokes, per FROM r WHERE per > 5 ORDER BY per",
        "SELECT smokes, sum(debt) / count(*) AS per FROM data GROUP BY smokes HAVING per > 5 ORDER BY per",
    ),
    (
        "SELECT * FROM (SELECT smokes, avg(debt) AS debt FROM data GROUP BY smokes HAVING sum(debt) > 7) WHERE debt > 5",
        "SELECT smokes, avg(debt) AS debt FROM data GROUP BY smokes HAVING sum(debt) > 7 AND avg(debt) > 5",
    ),
    (
        "SELECT * FROM (SELECT smokes, count(*) AS n FROM data GROUP BY smokes ORDER BY n LIMIT 2 OFFSET 1)",
        "SELECT smokes, count(*) AS n FROM data GROUP BY smokes ORDER BY n LIMIT 2 OFFSET 1",
    ),
    ("SELECT total FROM (SELECT sum(debt) AS total FROM data)", "SELECT sum(debt) AS total FROM data"),
]


@pytest.mark.parametrize(("asked", "same"), SAME, ids=[asked[:70] for asked, _ in SAME])
def test_a_query_within_is_written_out(asked: str, same: str) -> None:
    assert parse_query(asked, SCHEMA) == parse_query(same, SCHEMA)


REFUSED = [
    ("SELECT count(*) FROM (SELECT count(*) FROM data)", "GROUP BY patient_id"),
    ("SELECT count(*) FROM (SELECT age FROM data GROUP BY age)", "selects, filters and computes"),
    ("SELECT count(*) FROM (SELECT age FROM data LIMIT 5)", "single rows"),
    ("SELECT count(*) FROM (SELECT age FROM data OFFSET 5)", "single rows"),
    ("SELECT count(*) FROM (SELECT DISTINCT age FROM data)", "DISTINCT"),
    ("SELECT count(*) FROM (SELECT row_number() OVER () AS n FROM data)", "Window"),
    ("SELECT count(*) FROM (SELECT (SELECT 1) AS n FROM data)", "within a query"),
    ("SELECT count(*) FROM (SELECT age, debt AS age FROM data)", "called age"),
    ("SELECT count(*) FROM (SELECT * EXCLUDE (nothing) FROM data)", "no column nothing"),
    ("SELECT count(*) FROM (SELECT * REPLACE (1 AS nothing) FROM data)", "no column nothing"),
    ("SELECT count(*) FROM (SELECT age FROM data) t(a, b)", "2 names"),
    ("SELECT count(*) FROM (SELECT age FROM data WHERE age)", "condition"),
    ("SELECT count(*) FROM (SELECT t.* FROM data)", "no table t"),
    ("SELECT count(debt) FROM (SELECT age FROM data)", "the query within has age"),
    ("SELECT count(data.age) FROM (SELECT age FROM data) t", "no table data"),
    ("SELECT count(patient_id) FROM (SELECT patient_id FROM data) t", "id of persons"),
    ("SELECT count(*) FROM (SELECT patient_id AS p FROM data) t WHERE p = 'a'", "no column p"),
    ("WITH a AS (SELECT * FROM data), a AS (SELECT * FROM data) SELECT count(*) FROM a", "another name"),
    ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM data) SELECT count(*) FROM a", "FROM data"),
    ("WITH a AS (SELECT * FROM a) SELECT count(*) FROM a", "FROM data"),
    ("WITH a AS (SELECT * FROM data UNION SELECT * FROM data) SELECT count(*) FROM a", "two questions"),
    ("WITH a AS (DELETE FROM data) SELECT count(*) FROM a", "WITH names queries|cannot be read"),
    ("WITH a AS (SELECT * FROM data) SELECT count(*) FROM data JOIN a USING (age)", "a JOIN takes a public table"),
    ("WITH a AS (SELECT * FROM data) DELETE FROM data", "SELECT"),
    ("SELECT count(*) FROM regions", "FROM data"),
    # around a grouped query
    ("SELECT avg(n) FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 1)", "selects, filters and computes"),
    ("SELECT m FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 1)", "the query within has drug_use, n"),
    ("SELECT x.n FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 1) t", "no column n"),
    ("SELECT n FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 9)", "selects, filters and computes"),
    ("SELECT * FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 1 LIMIT 1) WHERE n > 3", "selects, filters and computes"),
    # a name that would mean something else in HAVING
    ("SELECT * FROM (SELECT upper(city) AS city, count(*) AS n FROM data GROUP BY 1) WHERE city = 'A'", "selects, filters"),
    (
        "SELECT age FROM (SELECT age AS debt, debt AS age, count(*) AS n FROM data GROUP BY ALL) WHERE debt > 3",
        "selects, filters",
    ),
    ("SELECT n FROM (SELECT patient_id, count(*) AS n FROM data GROUP BY patient_id)", "single persons"),
    ("SELECT rank() OVER (ORDER BY n) FROM (SELECT drug_use, count(*) AS n FROM data GROUP BY 1)", "Window"),
]


@pytest.mark.parametrize(("asked", "says"), REFUSED, ids=[asked[:70] for asked, _ in REFUSED])
def test_what_is_no_row_of_the_table_is_refused(asked: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says) as refusal:
        parse_query(asked, SCHEMA)
    assert str(refusal.value).endswith(".")


def test_names_of_names_are_bounded_before_they_are_written_out() -> None:
    """Thirty steps that double would be 2^30 terms: refused after work that is linear in the text."""
    for chain in ("x0 + x0", "CASE WHEN x0 > 1 THEN x0 ELSE x0 END", "least(x0, x0, x0)"):
        steps = ["a0 AS (SELECT age AS x0 FROM data)"]
        steps += [f"a{i} AS (SELECT {chain.replace('x0', f'x{i - 1}')} AS x{i} FROM a{i - 1})" for i in range(1, 31)]
        with within(3_000_000), pytest.raises(ParameterError, match=r"terms|deeply"):
            parse_query(f"WITH {', '.join(steps)} SELECT sum(x30) FROM a30", SCHEMA)


def test_names_of_noisy_results_are_bounded_before_they_are_written_out() -> None:
    steps = ["a0 AS (SELECT smokes, count(*) AS x0 FROM data GROUP BY smokes)"]
    steps += [f"a{i} AS (SELECT smokes, x{i - 1} + x{i - 1} AS x{i} FROM a{i - 1})" for i in range(1, 30)]
    with within(3_000_000), pytest.raises(ParameterError, match=r"terms|deeply"):
        parse_query(f"WITH {', '.join(steps)} SELECT x29 FROM a29", SCHEMA)


def test_towers_of_names_are_bounded() -> None:
    def ask(levels: int, inside: int) -> None:
        nested = "abs(" * inside + "x" + ")" * inside
        steps = ["a0 AS (SELECT age AS x FROM data)"]
        steps += [f"a{i} AS (SELECT {nested} AS x FROM a{i - 1})" for i in range(1, levels + 1)]
        query = parse_query(f"WITH {', '.join(steps)} SELECT sum({nested}) FROM a{levels}", SCHEMA)
        check(query, SCHEMA, facts_of(SCHEMA))
        assert len(str(query)) > inside

    ask(1, 25)
    for levels, inside in ((1, 60), (3, 20), (60, 1), (5, 15)):
        with pytest.raises(ParameterError, match="deeply"):
            ask(levels, inside)


def test_a_name_of_the_result_is_ordered_by_as_it_is_shown() -> None:
    """The query within calls another column by the same name."""
    text = "SELECT smokes AS n, n AS c FROM (SELECT smokes, count(*) AS n FROM data GROUP BY smokes) AS q ORDER BY n DESC LIMIT 1"
    assert str(parse_query(text, SCHEMA)).endswith("ORDER BY n DESC LIMIT 1")
