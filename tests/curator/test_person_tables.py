"""Questions about persons, one row each, asked of a curator: what they cost and say, and that no row makes one fail."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest
from curator.hospital import curator

import discreet as dp
from discreet.curator.digest import digest_of, facts_of
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

UNIT = dp.person("patient", rows=4, groups=2)
ROWS = "SELECT count(*) AS n FROM data"
MEAN = "SELECT avg(n) AS n FROM (SELECT patient, count(*) AS n FROM data GROUP BY patient) AS t"


def test_it_is_paid_for_once_and_says_what_was_clamped(tmp_path: Path) -> None:
    hospital = curator(tmp_path, unit=UNIT)
    preview = hospital.preview(MEAN, epsilon=0.5)
    assert "for 1,000 persons" in str(preview)
    answer = hospital.sql(MEAN, epsilon=0.5)
    said = "Every person counts once, with one row made of all their rows; clamped are count(*) from 1 to 8."
    assert said in preview.remarks
    assert said in answer.remarks
    assert not any("Persons are bounded" in remark for remark in answer.remarks)
    again = hospital.sql(MEAN.lower().replace("as t", "as u"), epsilon=0.5)
    assert again.repeated
    assert again.value == answer.value
    assert hospital.budget.spent.epsilon == 0.5
    assert hospital.history()[0].question == (
        "SELECT avg(n) AS n FROM (SELECT patient, count(*) AS n FROM data GROUP BY patient) AS persons"
    )


def test_a_batch_says_of_every_answer_whom_it_is_about(tmp_path: Path) -> None:
    hospital = curator(tmp_path, unit=UNIT)
    persons, rows = hospital.batch([MEAN, ROWS], epsilon=0.5)
    assert any("counts once" in remark for remark in persons.remarks)
    assert any("Persons are bounded" in remark for remark in rows.remarks)


def test_another_declaration_is_another_question() -> None:
    """Though the table of persons has the same unit, and may have the same columns."""
    digests, units = set(), (UNIT, dp.person("patient", rows=2, groups=4), dp.person("patient", rows=2, groups=2))
    for unit in units:
        for debt in (dp.number(0, 10_000, step=0.01), dp.number(0, 10_000, step=0.01, decimal=",")):
            schema = Schema({"debt": debt}, unit)
            plan = price(parse_query(MEAN.replace("count(*)", "avg(debt)"), schema), schema, Cost("epsilon", Fraction(1)))
            digests.add(digest_of([plan]))
            assert facts_of(plan)["unit"] == facts_of(price(parse_query(ROWS, schema), schema, plan.share))["unit"]
    assert len(digests) == 6


def test_a_join_within_counts_no_row_twice(tmp_path: Path) -> None:
    twice = pa.table({"ward": ["eye", "eye"], "floor": [1, 2]})
    hospital = dp.Curator(
        pa.table({"patient": ["p"], "ward": ["eye"]}),
        unit=UNIT,
        columns={"ward": dp.category("eye")},
        budget=dp.Budget(epsilon=1),
        public={"floors": twice},
        ledger=tmp_path / "a.ledger",
    )
    question = "SELECT avg(n) AS n FROM (SELECT patient, count(*) AS n FROM data JOIN floors USING (ward) GROUP BY patient) t"
    with pytest.raises(ParameterError, match="counted more than once"):
        hospital.sql(question, epsilon=0.5)


EVERYTHING = (
    "SELECT any_value_t AS t, count(*) AS c, sum(s) AS s, avg(a) AS a, sum(h) AS h, median(lo) AS lo, sum(r) AS r FROM (SELECT "
    "id, any_value(t) AS any_value_t, sum(x) AS s, avg(x) AS a, sum(h) AS h, min(h) AS lo, avg(h) AS mh, sum(x) / count(*) AS r, "
    "bool_and(b) AS b, max(d) AS d, count(DISTINCT t) AS k FROM data GROUP BY id HAVING count(*) > 0 OR avg(h) > 5) u "
    "WHERE b IS NULL OR d IS NOT NULL OR k > 0 OR mh > 0 GROUP BY any_value_t"
)


@pytest.mark.parametrize(
    "last",
    [
        {},
        {"x": ["1e308", "-1e308", "nan", "inf", "junk"] * 3},
        {"h": [str(2**63 - 1), str(-(2**63)), "9" * 4000] * 5},
        {"t": ["x" * 100_000, "", "\x00", "\u00e9"]},
        {"x": ["7"] * 50_000, "h": [str(2**62)] * 50_000},
        {"d": ["9999-12-31", "0001-01-01", "2024-02-30"], "b": ["maybe", "yes", ""]},
    ],
    ids=["nobody", "numbers", "huge", "texts", "many rows", "days"],
)
def test_no_row_decides_whether_a_question_fails(last: dict[str, list[str]], tmp_path: Path) -> None:
    columns = {
        "x": dp.number(-1, 1, step=0.001),
        "h": dp.integer(-(2**62), 2**62),
        "t": dp.text(length=20),
        "b": dp.boolean(),
        "d": dp.date("2024-01-01", "2024-12-31"),
    }
    more = max([0, *map(len, last.values())])
    rows = {name: ["1", *(last.get(name, ["1"] * more) + ["1"] * more)[:more]] for name in columns}
    table = pa.table({"id": ["a", *["new"] * more], **rows})
    budget = dp.Budget(epsilon=10**6, delta=1e-3)
    people = dp.Curator(
        table, unit=dp.person("id", rows=3, groups=2), columns=columns, budget=budget, ledger=tmp_path / "a.ledger"
    )
    assert people.sql(EVERYTHING, epsilon=1).cost == "epsilon=1"
