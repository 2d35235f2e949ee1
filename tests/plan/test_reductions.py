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
    ("corr(a, x)", "corr", "is not answered yet; ask for avg and variance"),
    ("covar_pop(a, x)", "covar_pop", "avg and variance"),
    ("Covar_Samp(a, x)", "Covar_Samp", "avg and variance"),
    ("skewness(a)", "skewness", "avg and variance"),
    ("kurtosis(a)", "kurtosis", "avg and variance"),
    ("kurtosis_pop(a)", "kurtosis_pop", "avg and variance"),
    ("regr_slope(a, x)", "regr_slope", "avg and variance"),
    ("regr_r2(a, x)", "regr_r2", "avg and variance"),
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
    ("round(avg(a), 2)", "select avg(a), and round"),
    ("100 * avg(a)", "select avg(a),"),
    ("sum(a) / count(*)", "select sum(a) and count(*),"),
    ("sum(a) / sum(a)", "select sum(a),"),
    ("-count(*)", "select count(*),"),
    ("coalesce(sum(a), 0)", "select sum(a),"),
    ("sqrt(var_pop(a))", "select var_pop(a),"),
    ("power(avg(a), 2)", "select avg(a),"),
    ("CAST(avg(a) AS INT)", "select avg(a),"),
    ("CASE WHEN count(*) > 5 THEN 1 ELSE 0 END", "select count(*),"),
    ("avg(x) FILTER (WHERE b) / 2", "select avg(CASE WHEN b THEN x ELSE NULL END), and"),
    ("avg(a) > avg(x) FILTER (WHERE b)", "select avg(a) and avg(CASE"),
]


@pytest.mark.parametrize(("written", "says"), ARITHMETIC, ids=[written for written, _ in ARITHMETIC])
def test_arithmetic_around_aggregates_is_done_afterwards(written: str, says: str) -> None:
    with pytest.raises(ParameterError, match=f"stands alone.*{re.escape(says)}.*which is free"):
        parse_query(f"SELECT {written} AS z FROM data", SCHEMA)


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("count(*) OVER () + 1", "Window"),
        ("sum(count(*)) OVER ()", "Window"),
        ("(SELECT count(*) FROM data) + 1", "within a query"),
        ("sum(nosuch) / 2", "no column nosuch"),
        ("round(max(a), 1)", "^max would show"),
        ("round(sum(s), 1)", "s is a text"),
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
    ("sum(a > 5)", "count(*) FILTER (WHERE (a > 5))"),
    ("avg(b)", "avg(CAST(b AS INTEGER))"),
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
