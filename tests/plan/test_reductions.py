"""What is not answered is refused by the name that was written, with something to write that is answered."""

from __future__ import annotations

import re

import pytest

from discreet.errors import ParameterError
from discreet.plan.sql import parse_query
from discreet.schema.columns import boolean, category, date, integer, number, text
from discreet.schema.table import Schema
from discreet.schema.units import person

SCHEMA = Schema(
    {
        "a": integer(0, 10),
        "x": number(0, 1, step=0.5),
        "sex": category("m", "f"),
        "s": text(),
        "seen": date("2021-05-01", "2026-12-31"),
        "b": boolean(),
    },
    person("id", rows=2, groups=2),
)

# what is selected, the name that the refusal begins with, and what it says to write
FUNCTIONS = [
    ("skewness(a)", "skewness", "avg and variance"),
    ("kurtosis(a)", "kurtosis", "avg and variance"),
    ("kurtosis_pop(a)", "kurtosis_pop", "avg and variance"),
    ("regr_r2(a, x)", "regr_r2", "write regr_slope(y, x)"),
    ("histogram(a)", "histogram", "GROUP BY bin(a, 0, 5, 10)"),
    ("histogram(length(s))", "histogram", "GROUP BY bin(length(s), 0, 500, 1000)"),
    ("histogram(sex)", "histogram", "GROUP BY sex with count(*)"),
    ("string_agg(s, ',')", "string_agg", "values of single persons are not shown; write mode(x)"),
    ("listagg(s)", "listagg", "GROUP BY"),
    ("list(s)", "list", "GROUP BY"),
    ("array_agg(s)", "array_agg", "GROUP BY"),
    ("any_value(s)", "any_value", "GROUP BY"),
    ("max_by(s, a)", "max_by", "GROUP BY"),
    ("min(a)", "min", "write quantile(a, 0.01)"),
    ("max(x * 2)", "max", "write quantile((x * 2), 0.99)"),
    ("max(seen)", "max", "write quantile(days(seen, DATE '2021-05-01'), 0.99)"),
    ("max(sex)", "max", "write mode(sex)"),
    ("mad(a)", "mad", "quantile(x, 0.25)"),
    ("entropy(a)", "entropy", "noisy counts"),
    ("geomean(a)", "geomean", "avg"),
    ("favg(a)", "favg", "write avg(x)"),
    ("fsum(a)", "fsum", "write sum(x)"),
    ("bool_or(b)", "bool_or", "count(*) FILTER"),
    ("approx_top_k(a, 3)", "approx_top_k", "ORDER BY n DESC"),
]


@pytest.mark.parametrize(("written", "name", "says"), FUNCTIONS, ids=[written for written, _, _ in FUNCTIONS])
@pytest.mark.parametrize("text", ["SELECT {} FROM data", "SELECT 'é' AS k, 100 * {} AS z FROM data"], ids=["alone", "around"])
def test_a_function_is_refused_by_its_name(written: str, name: str, says: str, text: str) -> None:
    with pytest.raises(ParameterError, match=f"^{name} .*{re.escape(says)}"):
        parse_query(text.format(written), SCHEMA)


ARITHMETIC = [
    ("round(avg(a))", "round(avg(a))", "round_avg_a"),
    ("(100 * avg(a))", "(100 * avg(a))", "100_avg_a"),
    ("sum(a) / nullif(count(*), 0)", "(sum(a) / nullif(count(*), 0))", "sum_a_nullif_count_0"),
    ("sum(a) / sum(a)", "(sum(a) / sum(a))", "sum_a_sum_a"),
    ("-count(*)", "(- count(*))", "count"),
    ("((count(*)))", "count(*)", "count"),
    ("CAST(count(*) AS DOUBLE)", "count(*)", "count"),
    ("coalesce(sum(a), 0)", "coalesce(sum(a), 0)", "coalesce_sum_a_0"),
    (
        "CASE WHEN count(*) > 5 THEN 1 ELSE 0 END",
        "CASE WHEN (count(*) > 5) THEN 1 ELSE 0 END",
        "CASE_WHEN_count_5_THEN_1_ELSE_0_END",
    ),
    (
        "avg(x) FILTER (WHERE b) / 2",
        "(avg(CASE WHEN b THEN x ELSE NULL END) / 2)",
        "avg_CASE_WHEN_b_THEN_x_ELSE_NULL_END_2",
    ),
    ("avg(a) > avg(x)", "(avg(a) > avg(x))", "avg_a_avg_x"),
    ("avg(b)", "avg(CASE WHEN b THEN 1 WHEN (NOT b) THEN 0 ELSE NULL END)", "avg_b"),
    ("sum(a > 5)", "sum(CASE WHEN (a > 5) THEN 1 WHEN (NOT (a > 5)) THEN 0 ELSE NULL END)", "sum_a_5"),
]


@pytest.mark.parametrize(("written", "canonical", "name"), ARITHMETIC, ids=[written for written, _, _ in ARITHMETIC])
def test_arithmetic_around_aggregates(written: str, canonical: str, name: str) -> None:
    """What is read means the same when it is read again."""
    query = parse_query(f"SELECT {written} FROM data", SCHEMA)
    (output,) = query.outputs
    assert (str(output.aggregate), output.name) == (canonical, name)
    assert parse_query(str(query), SCHEMA) == query


HIDDEN = [
    ("SELECT sex, avg(a) AS m FROM data GROUP BY sex HAVING count(*) > 5 ORDER BY count(*) DESC, m", ["count(*)"]),
    ("SELECT sex, count(*) AS n FROM data GROUP BY sex HAVING sum(a) / count(*) > 5", ["(sum(a) / count(*))"]),
    ("SELECT sex, sum(a) / count(*) AS n FROM data GROUP BY sex HAVING sum(a) / count(*) > 5 ORDER BY n", []),
    ("SELECT sex, count(*) AS sum_a FROM data GROUP BY sex HAVING NOT (sum(a) > 5)", ["sum(a)"]),
]


@pytest.mark.parametrize(("text", "hidden"), HIDDEN, ids=[text for text, _ in HIDDEN])
def test_what_is_not_selected_is_released_and_not_shown(text: str, hidden: list[str]) -> None:
    query = parse_query(text, SCHEMA)
    assert [str(output.aggregate) for output in query.outputs if not output.shown] == hidden
    assert len({output.name for output in query.outputs}) == len(query.outputs)
    assert parse_query(str(query), SCHEMA) == query
    assert all(output.shown for output in query.released.outputs)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("count(*) OVER () + 1", "Window"),
        ("max(count(*)) OVER () + 1", "OVER .. alone"),
        ("(SELECT count(*) FROM data) + 1", "within a query"),
        ("sum(nosuch) / 2", "no column nosuch"),
        ("round(max(a))", "^max would show"),
        ("round(sum(s))", "s is a text"),
        ("count(*) / a", "a stands beside an aggregate"),
        ("mode(a) * mode(sex)", "takes numbers"),
        ("count(*) % 7", "no interval would cover it; select count"),
        ("count(*) + 'five'", "takes numbers"),
    ],
)
def test_what_is_worse_is_said_first(written: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse_query(f"SELECT {written} AS z FROM data", SCHEMA)


# an aggregate of something that is no number, and what is written instead: it is answered
TYPES = [
    ("median(sex)", "mode(sex)"),
    ("avg(sex)", "mode(sex)"),
    ("sum(sex) FILTER (WHERE b)", "mode(CASE WHEN b THEN sex ELSE NULL END)"),
    ("avg(seen)", "avg(days(seen, DATE '2021-05-01'))"),
    ("median(seen)", "median(days(seen, DATE '2021-05-01'))"),
    ("median(a > 5)", "count(*) FILTER (WHERE (a > 5))"),
    ("median(b)", "avg(b)"),
]


@pytest.mark.parametrize(("written", "instead"), TYPES, ids=[written for written, _ in TYPES])
def test_what_is_said_to_write_is_answered(written: str, instead: str) -> None:
    with pytest.raises(ParameterError, match=f"needs numbers, and .* is a .*write .*{re.escape(instead)}"):
        parse_query(f"SELECT {written} AS z FROM data", SCHEMA)
    assert parse_query(f"SELECT {instead} AS z FROM data", SCHEMA)


def test_a_text_without_a_list_has_no_mode() -> None:
    with pytest.raises(ParameterError, match=r"median\(s\) needs numbers, and s is a text; write GROUP BY s with count"):
        parse_query("SELECT median(s) FROM data", SCHEMA)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('SELECT count(*) FROM data WHERE s = "m"', "no column m; .*a text is written in single quotes: 'm'"),
        ("SELECT count(*) FROM data WHERE sex = m", "no column m; .*single quotes: 'm'"),
        ('SELECT sex, count(*) FROM data GROUP BY sex HAVING sex = "m"', "not m; .*single quotes: 'm'"),
    ],
)
def test_double_quotes_are_for_names(text: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        parse_query(text, SCHEMA)


@pytest.mark.parametrize("name", ['"SEX"', "nosuch"])
def test_a_name_is_not_taken_for_a_text(name: str) -> None:
    with pytest.raises(ParameterError, match="There is no column") as refusal:
        parse_query(f"SELECT count(*) FROM data WHERE s = {name}", SCHEMA)
    assert "quotes" not in str(refusal.value)
