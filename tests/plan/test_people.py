"""Tables of one row a person: their bounds come from declarations, their texts are read again, and what is none is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.people import MOST_TEXT, describe_bounds
from discreet.plan.plan import Plan, facts_of, price
from discreet.plan.sql import parse_query
from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import OneRow, person, rows

COLUMNS = {
    "cost": number(-5, 100, step=0.01),
    "days": integer(2, 31, missing=2),
    "code": category(3, 5, 9),
    "sex": category("m", "f"),
    "smoker": boolean(),
    "seen": date("2024-01-01", "2024-12-31"),
    "note": text(length=40),
    "huge": integer(-(2**62), 2**62),
}
UNIT = person("pid", rows=4, groups=3, neighbours="replace")
SCHEMA = Schema(COLUMNS, UNIT)
SHARE = Cost("epsilon", Fraction(1))


def made(parts: str, schema: Schema = SCHEMA) -> Plan:
    return price(parse_query(f"SELECT count(*) AS k FROM (SELECT pid, {parts} FROM data GROUP BY pid) t", schema), schema, SHARE)


BOUNDS: dict[str, tuple[Any, ...]] = {  # least, largest, step, whether it can be missing
    "count(*)": (1, 12, 1, False),
    "count(cost)": (0, 12, 1, False),
    "count(days)": (1, 12, 1, False),
    "count(*) FILTER (WHERE days > 3)": (0, 12, 1, False),
    "count_if(smoker)": (0, 12, 1, False),
    "count(DISTINCT code)": (0, 3, 1, False),
    "count(DISTINCT note)": (0, 12, 1, False),
    "sum(cost)": (-60, 1200, Fraction(1, 100), True),
    "sum(days)": (2, 372, 1, False),
    "sum(days) FILTER (WHERE smoker)": (2, 372, 1, True),
    "sum(cost - 200)": (-2460, -100, Fraction(1, 100), True),
    "avg(days)": (2, 31, Fraction(1, 1000), False),
    "avg(smoker)": (0, 1, Fraction(1, 1000), True),
    "min(days)": (2, 31, 1, False),
    "max(cost)": (-5, 100, Fraction(1, 100), True),
    "max(days * 2)": (4, 62, 2, False),
    "min(huge)": (-(2**62), 2**62, 1, True),
    "any_value(CASE WHEN smoker THEN 1 ELSE 2 END)": (1, 2, 1, False),
    "count(DISTINCT year(seen))": (0, 1, 1, False),
}


@pytest.mark.parametrize("part", BOUNDS)
def test_bounds_are_those_of_rows_times_the_rows_that_a_person_is_thought_to_have(part: str) -> None:
    known = facts_of(made(f"{part} AS x").schema)["x"]
    assert (known.lower, known.upper, known.step, known.nullable) == BOUNDS[part]


def test_a_sum_of_very_large_numbers_is_made_in_coarser_units() -> None:
    """So that twelve of them are whole doubles."""
    known = facts_of(made("sum(huge) AS x").schema)["x"]
    assert known.lower is not None
    assert known.step is not None
    assert abs(known.lower) == 12 * 2**62
    assert abs(known.lower / known.step) <= 2**53


def test_other_parts_have_the_lists_and_bounds_of_their_columns() -> None:
    facts = facts_of(
        made("any_value(sex) AS s, max(code) AS c, bool_or(smoker) AS b, min(seen) AS d, any_value(note) AS t").schema
    )
    assert facts["s"].values == ("m", "f")
    assert facts["c"].values == (3, 5, 9)
    assert facts["b"].kind == "boolean"
    assert facts["d"].size == 366
    assert facts["t"].length == 40
    assert all(fact.nullable for fact in facts.values())


def test_arithmetic_on_parts_tightens_and_widens_by_the_usual_rules() -> None:
    text = "SELECT n, count(*) AS k FROM (SELECT pid, least(count(*), 3) * 2 AS n FROM data GROUP BY pid) t GROUP BY n"
    plan = price(parse_query(text, SCHEMA), SCHEMA, SHARE)
    assert plan.keys.listings == ((2, 4, 6),)


@pytest.mark.parametrize(("many", "few"), [(1, 1), (2**19, 2**19)])
def test_any_declared_number_of_rows_will_do(many: int, few: int) -> None:
    schema = Schema(COLUMNS, person("pid", rows=many, groups=few))
    made("count(*) AS n, sum(cost) AS c, avg(cost) AS a, sum(huge) AS h, count(DISTINCT note) AS d, sum(1) AS one", schema)


def test_a_row_is_a_person_with_the_declared_neighbours() -> None:
    plan = made("count(*) AS n")
    assert plan.schema.unit == OneRow("pid", 1, 1, "replace")
    assert plan.private == SCHEMA
    assert plan.privacy is not None
    assert plan.privacy.neighbours == "replace"


TEXTS = {
    "WITH t AS (SELECT pid, count(*) AS n FROM data GROUP BY 1) SELECT avg(t.N) AS a FROM t WHERE n > 2": (
        "SELECT avg(n) AS a FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) AS persons WHERE (n > 2)"
    ),
    "SELECT count(*) AS k FROM (SELECT person FROM data WHERE days > 3 GROUP BY person HAVING sum(cost) / count(*) > 5) t": (
        "SELECT count(*) AS k FROM (SELECT pid, sum(cost) AS sum_cost, count(*) AS count FROM data WHERE (days > 3) "
        "GROUP BY pid) AS persons WHERE ((sum_cost / count) > 5)"
    ),
    "SELECT s, avg(m) AS a FROM (SELECT pid, any_value(sex) s, count(*) AS m, count(*) AS n FROM data GROUP BY ALL) GROUP BY s": (
        "SELECT s, avg(m) AS a FROM (SELECT pid, any_value(sex) AS s, count(*) AS m FROM data GROUP BY pid) AS persons GROUP BY s"
    ),
    "SELECT sum(a) AS s FROM (SELECT pid, sum(days) AS a, sum(cost) AS sum_days FROM data GROUP BY pid HAVING sum(days) > 3) t": (
        "SELECT sum(a) AS s FROM (SELECT pid, sum(days) AS a, sum(cost) AS sum_days FROM data GROUP BY pid) AS persons "
        "WHERE (a > 3)"
    ),
}


@pytest.mark.parametrize("asked", TEXTS)
def test_a_question_has_one_text_which_is_read_again(asked: str) -> None:
    query = parse_query(asked, SCHEMA)
    assert str(query) == TEXTS[asked]
    assert parse_query(str(query), SCHEMA) == query


def test_names_of_names_do_not_double_without_end() -> None:
    doubled = ", ".join(f"x{i} + x{i} AS x{i + 1}" for i in range(60))
    with pytest.raises(ParameterError, match="With every name written out"):
        made(f"count(*) AS x0, {doubled}")


REFUSED = {
    "SELECT count(*) FROM (SELECT pid, days, count(*) AS n FROM data GROUP BY pid, days) t": "group by it alone, GROUP BY pid",
    "SELECT count(*) FROM (SELECT DISTINCT pid, sex FROM data) t": "group by it alone",
    "SELECT count(*) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid LIMIT 3) t": "into the question around it",
    "SELECT count(*) FROM (SELECT pid, days + count(*) AS n FROM data GROUP BY pid) t": "write any_value(days)",
    "SELECT count(*) FROM (SELECT pid, length(pid) AS n FROM data GROUP BY pid) t": "tells persons apart",
    "SELECT count(*) FROM (SELECT pid, stddev(cost) AS n FROM data GROUP BY pid) t": "there are count, sum, avg",
    "SELECT count(*) FROM (SELECT pid, quantile(cost, 0.5) AS n FROM data GROUP BY pid) t": "there are count, sum, avg",
    "SELECT count(*) FROM (SELECT pid, string_agg(note) AS n FROM data GROUP BY pid) t": "there are count, sum, avg",
    "SELECT count(*) FROM (SELECT pid, count(DISTINCT pid) AS n FROM data GROUP BY pid) t": "one person",
    "SELECT count(*) FROM (SELECT pid, sum(NULL) AS n FROM data GROUP BY pid) t": "always missing",
    "SELECT count(*) FROM (SELECT pid, sum(DISTINCT days) AS n FROM data GROUP BY pid) t": "without DISTINCT",
    "SELECT count(*) FROM (SELECT pid, sum(1 / days) AS n, sum(days / 0) AS m FROM data GROUP BY pid) t": "bounds",
    "SELECT count(*) FROM (SELECT pid, * FROM data GROUP BY pid) t": "name what is made",
    "SELECT count(*) FROM (SELECT pid, count(*) OVER () AS n FROM data GROUP BY pid) t": "Window functions",
    "SELECT count(*) FROM (SELECT pid, any_value(concat(note, note, note)) AS n, max(left(concat(note, note), 2)) AS m FROM data "
    "WHERE days GROUP BY pid) t": "WHERE takes a condition",
    "SELECT avg(cost) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t": "no column cost",
    "SELECT count(DISTINCT pid) FROM (SELECT count(*) AS n FROM data GROUP BY pid) t": "pid",
}


@pytest.mark.parametrize("asked", REFUSED)
def test_what_makes_no_row_of_a_person_is_refused(asked: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        price(parse_query(asked, SCHEMA), SCHEMA, SHARE)
    assert REFUSED[asked] in str(refusal.value)


def test_with_rows_protected_nothing_says_who_is_who() -> None:
    schema = Schema({**COLUMNS, "pid": integer(0, 100)}, rows())
    with pytest.raises(ParameterError, match=r"every row is somebody.*unit=person"):
        parse_query("SELECT avg(n) FROM (SELECT pid, count(*) AS n FROM data GROUP BY pid) t", schema)


def test_long_texts_of_all_persons_at_once_are_refused() -> None:
    schema = Schema({"note": text(length=MOST_TEXT // 2)}, UNIT)
    made("min(note) AS a, max(note) AS b", schema)
    with pytest.raises(ParameterError, match=r"any_value\(left\(x, 100\)\)"):
        made("min(note) AS a, max(note) AS b, min(left(note, 1)) AS c", schema)


def test_what_is_clamped_is_said() -> None:
    plan = made("count(*) AS n, sum(cost) AS c, max(days) AS d")
    assert plan.query.people is not None
    assert describe_bounds(plan.query.people.traits, plan.schema) == (
        "Every person counts once, with one row made of all their rows; clamped are count(*) from 1 to 12, "
        "sum(cost) from -60 to 1,200."
    )
