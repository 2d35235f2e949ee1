"""Totals over groups: free, exact sums of what was released, with intervals that know which noise they share.

Coverage is simulated: 2,000 tables of five groups, as parts of one answer. False alarms: with a true coverage of 94 %, fewer than
9,102 of 10,000 intervals cover with probability below 1e-8, if all five of a table are alike, which quintuples the variance.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan.aggregates import Count, Sum, Total
from discreet.plan.cost import Cost
from discreet.plan.expressions import Column
from discreet.plan.noises import law_of
from discreet.plan.partition import Partition
from discreet.plan.plan import Plan, price
from discreet.plan.preview import preview_lines
from discreet.plan.release import Release, Released
from discreet.plan.sql import parse_query
from discreet.schema.table import Schema

TABLES, GROUPS, LEAST = 2000, 5, 9102
SCHEMA = Schema(
    {"age": dp.integer(0, 100, missing=0), "ward": dp.category("a", "b", "c", "d", "e"), "table": dp.integer(0, TABLES - 1)},
    dp.rows(),
)
WARD, TABLE = Column("ward"), Column("table")


def plan_of(sql: str, cost: Cost, keys: str = '"table", ward') -> Plan:
    return price(parse_query(f"SELECT {keys}, {sql} AS z FROM data GROUP BY {keys}", SCHEMA), SCHEMA, cost)


def drawn(release: Release, size: int, chance: np.random.Generator) -> np.ndarray:
    places, masses = law_of(release.spread, 1, 40).points
    return chance.choice(places, size, p=masses / masses.sum()) / release.spread.unit


@pytest.mark.diagonal
@pytest.mark.parametrize(
    "cost", [Cost("epsilon", Fraction(1)), Cost("epsilon", Fraction(4)), Cost("rho", Fraction(1, 2))], ids=str
)
@pytest.mark.parametrize("rows", [4, 40, 400])
def test_shares_of_a_total_are_covered(cost: Cost, rows: int) -> None:
    plan = plan_of('count(*) / sum(count(*)) OVER (PARTITION BY "table")', cost)
    chance = np.random.default_rng(4)
    true = chance.poisson(rows, TABLES * GROUPS).astype(float)
    (release,) = plan.releases
    partition = Partition({TABLE: np.repeat(np.arange(TABLES), GROUPS).tolist()}, TABLES * GROUPS)
    noisy = Released(release, true * 2**release.bits + drawn(release, true.size, chance))
    found = plan.query.outputs[0].aggregate.placed(partition).estimate([noisy] * len(plan.behind["z"]))
    assert found.lower is not None
    assert found.upper is not None
    totals = np.repeat(true.reshape(TABLES, GROUPS).sum(axis=1), GROUPS)
    share = np.divide(true, totals, out=np.zeros_like(true), where=totals > 0)
    inside = (found.lower <= share + 1e-9) & (share - 1e-9 <= found.upper)
    assert (inside | (totals == 0)).sum() >= LEAST


def test_a_share_of_one_group_is_one() -> None:
    """Numerator and total are the same noise: nothing is uncertain."""
    plan = plan_of("count(*) / sum(count(*)) OVER ()", Cost("epsilon", Fraction(1)), "ward")
    found = plan.query.outputs[0].aggregate.estimate([Released(plan.releases[0], np.array([50.0]))] * 2)
    assert found.values[0] == pytest.approx(1)
    assert found.lower is not None
    assert found.lower[0] == pytest.approx(1, abs=1e-6)


def test_totals_within_different_keys_know_what_they_share() -> None:
    partition = Partition({WARD: ["a", "a", "b", "b", "b"], TABLE: [1, 2, 1, 1, 2]}, 5)
    agree = {tuple(sorted(key)): many.tolist() for key, many in partition.others.items()}
    assert agree == {
        (0, 1): [0, 0, 1, 1, 0],
        (0,): [1, 1, 1, 1, 2],
        (1,): [2, 1, 1, 1, 1],
        (): [1, 2, 1, 1, 1],
    }
    plan = plan_of("count(*)", Cost("rho", Fraction(1)))
    (release,) = plan.releases
    numbers = Released(release, np.arange(1.0, 6.0))
    wide, narrow = (Total(Count(), within, partition).form([numbers]) for within in ((), (WARD,)))
    assert wide.values.tolist() == [x / 2**release.bits for x in [15] * 5]
    assert narrow.values.tolist() == [x / 2**release.bits for x in [3, 3, 12, 12, 12]]
    rest = wide.plus(narrow, -1.0)  # the noise of the wards beside the own is all that is left
    deviations = np.sqrt([3.0, 3.0, 2.0, 2.0, 2.0]) * release.spread.deviation
    assert rest.deviation == pytest.approx(deviations)


def test_totals_cost_nothing_and_are_previewed() -> None:
    cost = Cost("epsilon", Fraction(1))
    alone, beside = plan_of("count(*)", cost, "ward"), plan_of("100 * count(*) / sum(count(*)) OVER ()", cost, "ward")
    assert [r.mechanism for r in alone.releases] == [r.mechanism for r in beside.releases]
    (line,) = preview_lines(beside)
    assert line.error == pytest.approx(0.052, abs=0.005)  # of 1,000 rows in each of five groups
    (total,) = preview_lines(plan_of("sum(count(*)) OVER ()", cost, "ward"))
    assert total.error is not None
    assert preview_lines(alone)[0].error < total.error < 5 * preview_lines(alone)[0].error  # type: ignore[operator]


def test_python_writes_the_same_question(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import pandas as pd

    table = pd.DataFrame({"ward": ["a", "b", "b", "c"] * 50, "sex": ["f", "m"] * 100})
    columns = {"ward": dp.category("a", "b", "c"), "sex": dp.category("f", "m")}
    curator = dp.Curator(table, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=1000), ledger=tmp_path / "x.ledger")
    asked = curator.group_by("ward", "sex").agg(
        share=dp.count() / dp.total(dp.count()), within=dp.count() / dp.total(dp.count(), within="ward")
    )
    sql = (
        "SELECT ward, sex, count(*) / sum(count(*)) OVER () AS share, "
        "count(*) / sum(count(*)) OVER (PARTITION BY ward) AS within FROM data GROUP BY ward, sex"
    )
    answer = asked.release(epsilon=100)
    assert curator.sql(sql, epsilon=100).repeated
    assert sum(answer["share"]) == pytest.approx(1)
    assert answer["within"][0] + answer["within"][1] == pytest.approx(1)
    bands = curator.group_by(place="upper(ward)", keys={"place": ["A", "B"]}).agg(n=dp.total(dp.count(), within="place"))
    assert bands.release(epsilon=100)["n"][0] == pytest.approx(50, abs=3)
    with pytest.raises(ParameterError, match="is none; group by it too"):
        curator.group_by("ward").agg(n=dp.total(dp.count(), within="sex")).preview(epsilon=1)
    with pytest.raises(ParameterError, match="of an aggregate, not of str"):
        dp.total("ward")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="counts and sums"):
        curator.group_by("ward").agg(n=dp.total(dp.median("1")))


def test_of_open_keys_the_total_is_of_those_that_are_chosen(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import pandas as pd

    table = pd.DataFrame({"city": ["Oslo"] * 300 + ["Bergen"] * 100 + ["Vik"]})
    curator = dp.Curator(
        table,
        unit=dp.rows(),
        columns={"city": dp.text()},
        budget=dp.Budget(epsilon=10, delta=1e-6),
        ledger=tmp_path / "x.ledger",
    )
    sql = "SELECT city, count(*) / sum(count(*)) OVER () AS share FROM data GROUP BY city"
    assert "all groups" in str(curator.preview("SELECT city, sum(count(*)) OVER () AS n FROM data GROUP BY city", epsilon=1))
    answer = curator.sql(sql, epsilon=5)
    assert sum(answer["share"]) == pytest.approx(1)
    assert len(answer) == 2
    none = dp.Curator(
        table[table.city == "Vik"],
        unit=dp.rows(),
        columns={"city": dp.text()},
        budget=dp.Budget(epsilon=10, delta=1e-6),
        ledger=tmp_path / "y.ledger",
        people="one",
    )
    assert len(none.sql(sql, epsilon=1)) == 0


def test_totals_of_sums_are_whole_where_sums_are() -> None:
    plan = plan_of("sum(sum(age)) OVER ()", Cost("epsilon", Fraction(1)), "ward")
    found = plan.query.outputs[0].aggregate.estimate([Released(plan.releases[0], np.array([3, 4, 5, 0, -1]))])
    assert found.whole
    assert list(found.values) == [11] * 5
    assert str(Total(Sum(Column("age")), (WARD,))) == "sum(sum(age)) OVER (PARTITION BY ward)"
