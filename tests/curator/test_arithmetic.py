"""Arithmetic on aggregates, in SQL, in Python and on answers: one meaning, no cost of its own, honest where nothing is known."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from curator.hospital import COLUMNS, curator, table

import discreet as dp
from discreet.curator.column import Series
from discreet.curator.digest import digest_of
from discreet.curator.plans import answer_of
from discreet.engine.base import groups_of
from discreet.errors import DiscreetError, ParameterError
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.preview import preview_lines
from discreet.plan.release import Released
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

SCHEMA = Schema(COLUMNS, dp.rows())
EPSILON = Cost("epsilon", 1)  # type: ignore[arg-type]


@pytest.fixture
def hospital(tmp_path: Path) -> dp.Curator:
    return curator(tmp_path, budget=dp.Budget(epsilon=10**9))


def digest(select: str) -> str:
    return digest_of([price(parse_query(f"SELECT {select}", SCHEMA), SCHEMA, EPSILON)])


SAME = [
    ("sum(debt) / sum(age) AS z FROM data", lambda: dp.ratio(dp.sum("debt"), dp.sum("age"))),
    ("sum(debt) - sum(age) AS z FROM data", lambda: dp.sum("debt") - dp.sum("age")),
    (
        "100 * count(*) FILTER (WHERE age > 65) / count(*) AS z FROM data",
        lambda: 100 * dp.count(where="age > 65") / dp.count(),
    ),
    ("round(avg(age), 2) AS z FROM data", lambda: round(dp.mean("age"), 2)),
    ("round(1 - avg(age > 65)) AS z FROM data", lambda: round(1 - dp.mean("age > 65"))),
    ("-abs(avg(age) + 0.5) * 2 AS z FROM data", lambda: -abs(dp.mean("age") + 0.5) * 2),
    ("1 / avg(debt) FILTER (WHERE age < 9) AS z FROM data", lambda: 1 / dp.mean("debt", where="age < 9")),
]


@pytest.mark.parametrize(("sql", "asked"), SAME, ids=[sql for sql, _ in SAME])
def test_python_says_what_sql_says(sql: str, asked, hospital: dp.Curator) -> None:  # type: ignore[no-untyped-def]
    assert str(hospital.agg(z=asked())) == str(parse_query(f"SELECT {sql}", SCHEMA))


def test_a_formula_costs_what_its_parts_cost() -> None:
    plain = price(parse_query("SELECT sum(debt) AS a, sum(age) AS b FROM data", SCHEMA), SCHEMA, EPSILON)
    both = price(
        parse_query("SELECT sum(debt) / sum(age) AS a, sum(age) AS b, 3 * sum(age) AS c FROM data", SCHEMA), SCHEMA, EPSILON
    )
    assert both.releases == plain.releases
    assert both.privacy == plain.privacy


def test_digests_tell_formulas_apart_and_not_what_is_shown() -> None:
    forms = [
        "sum(debt) / sum(age)",
        "sum(age) / sum(debt)",
        "sum(debt) / sum(age) + 1",
        "sum(debt) / (sum(age) + 1)",
        "sum(debt)",
    ]
    assert len({digest(f"{form} AS z FROM data") for form in forms}) == len(forms)
    one, other = "avg(age) AS a FROM data HAVING count(*) > 5", "avg(age) AS a, count(*) AS count FROM data"
    assert digest(one) == digest(other)
    assert digest(one) == digest("avg(age) AS a FROM data HAVING count(*) > 900")


def test_what_is_hidden_is_paid_for_once_and_not_shown(hospital: dp.Curator) -> None:
    answer = hospital.sql(
        "SELECT ward, avg(age) AS a FROM data GROUP BY ward HAVING count(*) > 1 ORDER BY count(*) DESC", epsilon=9
    )
    assert list(answer.outputs) == ["a"]
    counted = hospital.sql("SELECT ward, avg(age) AS a, count(*) AS count FROM data GROUP BY ward", epsilon=9)
    assert counted.repeated
    order = sorted(zip(counted["count"], counted["ward"], strict=True), reverse=True)
    assert list(answer["ward"]) == [ward for _, ward in order]


def test_where_the_denominator_may_be_zero_nothing_is_known() -> None:
    query = parse_query("SELECT sum(debt) / count(*) AS r, 2 * avg(age) AS m, coalesce(avg(age), 7) AS c FROM data", SCHEMA)
    plan = price(query, SCHEMA, EPSILON)
    released = {one: Released(one, np.zeros(len(one.statistic.of), dtype=np.int64)) for one in plan.releases}  # type: ignore[union-attr]
    answer = answer_of(plan, groups_of(plan), released)
    (row,) = answer.rows()
    assert (row["r"], row["r_lower"], row["r_upper"]) == (None, -math.inf, math.inf)
    assert (row["m"], row["m_lower"], row["m_upper"]) == (None, 0, 240)  # between the declared bounds
    assert (row["c"], row["c_lower"], row["c_upper"]) == (7, 0, 120)
    assert answer.to_pandas()["r"].isna().all()
    assert answer.to_arrow()["m"].null_count == 1
    assert type(answer).from_json(answer.to_json()) == answer
    assert "r" in str(answer) + answer._repr_html_()
    (alone,) = (replace(answer, outputs={"r": answer.outputs["r"]}),)
    assert math.isnan(float(alone))
    assert (answer["r"] * 2)[0] is None  # type: ignore[operator]


def test_previews_say_how_far_off_formulas_are() -> None:
    query = parse_query("SELECT sum(age) / count(*) AS r, sum(age) - sum(debt) AS d, count(*) / 2 AS h FROM data", SCHEMA)
    lines = {line.output: line for line in preview_lines(price(query, SCHEMA, EPSILON))}
    assert "about, for 1,000 rows in the middle of their bounds" in lines["r"].meaning
    assert 0 < lines["r"].error < 5  # type: ignore[operator]
    assert lines["d"].meaning.startswith("± ")
    few = parse_query("SELECT sum(age) / sum(debt) AS r FROM data", SCHEMA)
    (line,) = preview_lines(price(few, SCHEMA, Cost("epsilon", 1e-4)))  # type: ignore[arg-type]
    assert line.error == math.inf
    assert "nothing would be known" in line.meaning


def test_agg_takes_what_pandas_takes(hospital: dp.Curator) -> None:
    question = hospital.agg({"age": ["sum", "mean"], "debt": "median"}, dp.count(), [dp.mean("debt")], n=dp.count("age"))
    assert [output.name for output in parse_query(str(question), SCHEMA).outputs] == [
        "age_sum",
        "age_mean",
        "debt_median",
        "count",
        "debt_mean",
        "n",
    ]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda h: h.agg({"age": "max"}), r'single person; write quantile\("age", 0.99\)'),
        (lambda h: h.agg({"age": ["mean", "max"]}), "single person"),
        (lambda h: h.agg({"age": "first"}), "there are count, sum, mean"),
        (lambda h: h.agg({"age": 3}), "takes names of aggregates"),
        (lambda h: h.agg("age"), "must be an aggregate"),
        (lambda h: h.agg(dp.count(), count=dp.count()), "Two aggregates would be called count"),
        (lambda h: h.agg(n=dp.sum("age") / "debt"), "computed with aggregates and numbers, not with str"),
        (lambda h: h.agg(n=dp.sum("age") + math.inf), "finite"),
        (lambda h: h.agg(n=dp.sum("age", where="debt")), "CASE WHEN takes a condition"),
        (lambda h: h.agg(n=dp.ratio(dp.sum("age"), "debt")), "not with str"),
    ],
)
def test_what_agg_refuses(wrong, says: str, hospital: dp.Curator) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DiscreetError, match=says):
        wrong(hospital)


def test_the_columns_of_an_answer_are_computed_with(hospital: dp.Curator) -> None:
    answer = hospital.group_by("ward").agg(n=dp.count(), s=dp.sum("age")).release(epsilon=2)
    n, s = answer["n"], answer["s"]
    assert isinstance(n, Series)
    assert isinstance(s, Series)
    assert n == answer.outputs["n"].values
    assert np.asarray(n).tolist() == list(n)
    assert np.sqrt(n).shape == (len(answer),)
    mean = s / n
    assert (n.confidence, mean.confidence, (mean / n).confidence) == (0.95, 0.9, 0.9)
    for i in range(len(answer)):
        assert mean[i] == s[i] / n[i]  # type: ignore[operator]
        assert mean.lower[i] <= s.lower[i] / n.upper[i] <= s.upper[i] / n.lower[i] <= mean.upper[i]  # type: ignore[index]
    for doubled in (2 * n, n * np.float64(2), np.float64(2) * n, n + n):
        assert isinstance(doubled, Series)
        assert list(doubled) == [2 * x for x in n]  # type: ignore[operator]
    assert (1 - n).upper == tuple(1 - x for x in n.lower or ())
    assert pickle.loads(pickle.dumps(mean)) == mean
    assert round(mean, 1) == tuple(round(float(x), 1) for x in mean)  # type: ignore[arg-type]
    assert abs(-n) == n
    with pytest.raises(ParameterError, match="rows"):
        n + Series((1,), (0.0,), (2.0,))
    with pytest.raises(TypeError):
        n + "a"  # type: ignore[operator]
    choice = hospital.agg(w=dp.most_common("ward")).release(epsilon=1)
    with pytest.raises(ParameterError, match="no interval"):
        choice["w"] + 1  # type: ignore[operator]
    with pytest.raises(ParameterError, match="no number"):
        float(choice)


def test_one_number_is_a_float_and_history_is_a_table(hospital: dp.Curator) -> None:
    assert str(hospital.history()) == "No question was paid for yet."
    answer = hospital.sql("SELECT count(*) AS n FROM data", epsilon=1)
    assert float(answer) == answer.value
    with pytest.raises(ParameterError, match="no single value"):
        float(hospital.group_by("ward").agg(n=dp.count()).release(epsilon=1))
    history = hospital.history()
    assert isinstance(history, tuple)
    assert [entry.number for entry in history] == [entry.number for entry in tuple(history)]
    header, _, first, *_ = str(history).splitlines()
    assert "question" in header
    assert "SELECT count(*) AS n FROM data" in first
    assert "<table" in history._repr_html_()


def test_the_mean_of_truth_values_is_a_share(hospital: dp.Curator) -> None:
    ages = table().column("age").to_pylist()
    share = hospital.agg(old=dp.mean("age > 65"), many=dp.sum("age > 65")).release(epsilon=10**6)
    old = sum(age is not None and age > 65 for age in ages)
    assert float(share["many"][0]) == pytest.approx(old, abs=0.5)  # type: ignore[arg-type]
    assert float(share["old"][0]) == pytest.approx(old / sum(age is not None for age in ages), abs=1e-3)  # type: ignore[arg-type]


def test_a_formula_that_doubles_is_refused_before_it_grows() -> None:
    asked = dp.sum("age") + 0
    for _ in range(6):
        asked = asked + asked
    with pytest.raises(ParameterError, match="at most 200 operations"):
        asked + asked  # 255 of them, written out


@pytest.mark.parametrize("other", [np.array([1.0, 2.0]), np.array([1.0]), "2", b"2", True, None, [1]], ids=str)
def test_what_is_no_number_is_no_part_of_a_formula(other: object) -> None:
    with pytest.raises(ParameterError, match="aggregates and numbers"):
        dp.sum("age") * other  # type: ignore[operator]


@pytest.mark.parametrize("rows", [10**400, 0, -5, float("nan")])
def test_at_least_is_a_number_of_rows(rows: object, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at_least"):
        curator(tmp_path).preview("SELECT avg(age) AS a FROM data", accuracy=1, at_least=rows)
