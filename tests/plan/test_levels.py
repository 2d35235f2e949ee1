"""CUBE, ROLLUP and GROUPING SETS: which levels they mean, what is released for them within a cost, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.curator.digest import facts_of
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.expressions.evaluate import evaluate
from discreet.plan.margins.levels import level_rows
from discreet.plan.plan import price
from discreet.plan.query import Levels
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Margin
from discreet.privacy import pure, zcdp
from discreet.schema.columns import boolean, category, integer, text
from discreet.schema.table import Schema
from discreet.schema.units import person, rows

COLUMNS = {"a": category("x", "y"), "b": boolean(), "c": category("u", "v", "w"), "n": integer(0, 10), "t": text()}
SCHEMA = Schema(COLUMNS, rows())
PURE, RHO = Cost("epsilon", Fraction(1)), Cost("rho", Fraction(1, 2))


@pytest.mark.parametrize(
    ("group", "levels"),
    [
        ("CUBE (a, b)", [(0, 1), (0,), (1,), ()]),
        ("ROLLUP (a, b)", [(0, 1), (0,), ()]),
        ("a, b WITH ROLLUP", [(0, 1), (0,), ()]),
        ("a, b WITH CUBE", [(0, 1), (0,), (1,), ()]),
        ("GROUPING SETS ((a, b), (a), ())", [(0, 1), (0,), ()]),
        ("GROUPING SETS (a, b)", [(0,), (1,)]),
        ("a, ROLLUP (b)", [(0, 1), (0,)]),
        ("a, CUBE (b, c)", [(0, 1, 2), (0, 1), (0, 2), (0,)]),
        ("CUBE ((a, b), c)", [(0, 1, 2), (0, 1), (2,), ()]),
        ("GROUPING SETS (ROLLUP (a, b), (c))", [(0, 1), (0,), (2,), ()]),
        ("CUBE (a), CUBE (a)", [(0,), ()]),
        ("GROUPING SETS ((a, b), (b, a))", None),
        ("a, b", None),
        ("GROUPING SETS (())", None),
    ],
)
def test_levels_are_what_sql_means(group: str, levels: list[tuple[int, ...]] | None) -> None:
    query = parse_query(f"SELECT count(*) AS k FROM data GROUP BY {group}", SCHEMA)
    assert (None if query.levels is None else list(query.levels.asked)) == levels


@pytest.mark.parametrize("group", ["CUBE (a, b)", "GROUPING SETS ((a, b), (a), ())", "GROUPING SETS ((a), (b))"])
def test_a_question_is_written_as_it_is_read(group: str) -> None:
    query = parse_query(f"SELECT a, b, count(*) AS k FROM data GROUP BY {group}", SCHEMA)
    assert f"GROUP BY {group}" in str(query)
    assert parse_query(str(query), SCHEMA) == query


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ("GROUPING(a)", [0, 0, 0, 0, 0, 0, 1, 1, 1]),
        ("GROUPING(b)", [0, 0, 0, 0, 1, 1, 0, 0, 1]),
        ("GROUPING(a, b)", [0, 0, 0, 0, 1, 1, 2, 2, 3]),
        ("grouping_id(b, a)", [0, 0, 0, 0, 2, 2, 1, 1, 3]),
    ],
)
def test_what_a_row_adds_up_over_is_known_after_noise(asked: str, numbers: list[int]) -> None:
    """As SQL has it: a bit for every key, the last one lowest. It is no part of what is released."""
    text = "SELECT a, b, count(*) AS k FROM data GROUP BY CUBE (a, b)"
    query = parse_query(f"{text} HAVING {asked} < 3 ORDER BY {asked} DESC, k", SCHEMA)
    assert parse_query(str(query), SCHEMA) == query
    assert query.released == parse_query(text, SCHEMA).released
    plan = price(query, SCHEMA, PURE)
    assert plan.query.levels is not None
    rows = [dict(zip("ab", row, strict=True)) for row in level_rows(plan.query.levels, plan.keys)]
    assert [evaluate(query.order[0].by, row) for row in rows] == numbers
    assert query.having is not None
    assert [evaluate(query.having, row) for row in rows] == [number < 3 for number in numbers]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a, count(*) AS k FROM data GROUP BY a ORDER BY GROUPING(a)",  # no margins
        "SELECT a, count(*) AS k FROM data GROUP BY CUBE (a) ORDER BY GROUPING(n)",  # no key
        "SELECT a, count(*) AS k FROM data GROUP BY CUBE (a) ORDER BY GROUPING(k)",
        "SELECT a, count(*) AS k FROM data GROUP BY CUBE (a) HAVING GROUPING(a, a, a, a, a, a, a) = 1",
        "SELECT a, count(*) AS k FROM data GROUP BY CUBE (a) HAVING GROUPING(a || 'x') = 1",
    ],
)
def test_grouping_takes_keys_of_a_table_with_margins(text: str) -> None:
    with pytest.raises(ParameterError, match="which keys of a table with margins a row adds up over"):
        parse_query(text, SCHEMA)


def test_rows_come_level_by_level_with_none_for_what_is_added_up() -> None:
    plan = price(parse_query("SELECT a, b, count(*) AS k FROM data GROUP BY CUBE (a, b)", SCHEMA), SCHEMA, PURE)
    assert plan.query.levels is not None
    cells = [("x", False), ("x", True), ("y", False), ("y", True)]
    assert level_rows(plan.query.levels, plan.keys) == [
        *cells, ("x", None), ("y", None), (None, False), (None, True), (None, None),
    ]  # fmt: skip


@pytest.mark.diagonal(2)
@pytest.mark.parametrize("unit", [rows(), rows(neighbours="replace", size=10), person("id", rows=2, groups=3)])
@pytest.mark.parametrize("share", [PURE, RHO])
@pytest.mark.parametrize("group", ["CUBE (a, b, c)", "ROLLUP (c, a)", "GROUPING SETS ((a, b), (c))"])
def test_the_parts_are_all_of_the_cost(group: str, share: Cost, unit: object) -> None:
    schema = Schema(COLUMNS, unit)  # type: ignore[arg-type]
    query = parse_query(f"SELECT count(*) AS k, sum(n) AS s, avg(n) AS m FROM data GROUP BY {group}", schema)
    plan = price(query, schema, share)
    assert all(isinstance(release.statistic, Margin) for release in plan.releases)
    assert plan.privacy is not None
    if share is PURE:
        assert plan.privacy.epsilon(delta=0) == pytest.approx(1, abs=1e-9)
        assert plan.privacy.epsilon(delta=0) <= pure(1).epsilon(delta=0) * (1 + 1e-12)
    else:
        assert 0.499 < plan.privacy.rho <= zcdp(Fraction(1, 2)).rho
    assert plan.norm == 1
    shares = {release.bits for release in plan.releases if release.statistic.of.what == "rows"}  # type: ignore[union-attr]
    assert len(shares) == 1  # all levels are sums of the same whole numbers


def test_weights_make_another_question_and_whole_numbers_do_not() -> None:
    query = parse_query("SELECT a, b, count(*) AS k FROM data GROUP BY CUBE (a, b)", SCHEMA)
    assert query.levels is not None
    heavy = replace(query, levels=replace(query.levels, weights=tuple(map(Fraction, (1, 1, 1, 9)))))
    whole = replace(query, levels=Levels(query.levels.asked, whole=True))
    facts = [facts_of(price(one, SCHEMA, RHO)) for one in (query, heavy, whole)]
    assert facts[0] == facts[2]
    assert facts[0] != facts[1]


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT a, median(n) FROM data GROUP BY CUBE (a)", "counts, sums and means"),
        ("SELECT a, 2 * count(*) AS k FROM data GROUP BY CUBE (a)", "counts, sums and means"),
        ("SELECT a, count(*) AS k FROM data GROUP BY CUBE (a) HAVING stddev(n) > 1", "counts, sums and means"),
        ("SELECT a, count(*) / sum(count(*)) OVER () AS k FROM data GROUP BY CUBE (a)", "numbers of the answer, which is free"),
        ("SELECT a, count(*) AS k, GROUPING(a) AS g FROM data GROUP BY CUBE (a)", "the key is None, and shown as 'all'"),
        ("SELECT t, count(*) AS k FROM data GROUP BY CUBE (t)", "listed in advance"),
        ("SELECT count(*) AS k FROM data GROUP BY CUBE (n, n + 1, n + 2, n + 3, n + 4, n // 2 * 7)", "cells and margins"),
        ("SELECT count(*) AS k FROM data GROUP BY n, n // 2, n // 3, n // 4, n // 5, n // 6, ROLLUP (a)", "at most 6 keys"),
    ],
)
def test_what_has_no_margins_is_refused(sql: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        price(parse_query(sql, SCHEMA), SCHEMA, Cost("epsilon", Fraction(1), Fraction(1, 10**6)))
