"""A quantile without its interval: the value alone, for the whole share."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import discreet as dp
from discreet.plan.cost import Cost
from discreet.plan.plan import price
from discreet.plan.sql import parse_query
from discreet.schema.columns import integer
from discreet.schema.table import Schema
from discreet.schema.units import rows

SCHEMA = Schema({"age": integer(0, 120, missing=0)}, rows())


@pytest.fixture
def people(tmp_path: Path) -> dp.Curator:
    return dp.Curator(
        pd.DataFrame({"age": [*range(101)] * 100}),
        unit=dp.rows(),
        columns={"age": dp.integer(0, 120, missing=0)},
        budget=dp.Budget(epsilon=10),
        ledger=tmp_path / "people.ledger",
    )


@pytest.mark.parametrize(
    ("alone", "both"), [("median_only(age)", "median(age)"), ("quantile_only(age, 0.9)", "quantile(age, 0.9)")]
)
def test_one_choice_has_the_whole_share(alone: str, both: str) -> None:
    share = Cost("epsilon", Fraction(1))
    one = price(parse_query(f"SELECT {alone} AS q FROM data", SCHEMA), SCHEMA, share)
    three = price(parse_query(f"SELECT {both} AS q FROM data", SCHEMA), SCHEMA, share)
    assert len(one.releases) == 1
    assert one.releases[0].mechanism.selection.epsilon == share.amount  # type: ignore[union-attr]
    assert three.releases[0].mechanism.selection.epsilon == share.amount / 2  # type: ignore[union-attr]


def test_sql_and_python_ask_the_same(people: dp.Curator) -> None:
    first = people.sql("SELECT median_only(age) AS half, quantile_only(age, 0.9) AS most FROM data", epsilon=4)
    again = people.agg(half=dp.median("age", interval=False), most=dp.quantile("age", 0.9, interval=False)).release(epsilon=4)
    assert again.repeated
    (row,) = again.rows()
    assert row == {"half": first.rows()[0]["half"], "most": first.rows()[0]["most"]}
    assert (row["half"], row["most"]) == pytest.approx((50, 90), abs=2)
    assert first.outputs["half"].lower is None
    assert not people.sql("SELECT median(age) AS half FROM data", epsilon=1).repeated
    assert "within" in str(people.preview("SELECT median_only(age) AS half FROM data", epsilon=1))


def test_arithmetic_on_it_says_that_nothing_bounds_it(people: dp.Curator) -> None:
    found = people.sql("SELECT median_only(age) + 1 AS half FROM data", epsilon=4)
    assert found.value == pytest.approx(51, abs=2)


@pytest.mark.parametrize(
    "call", ["median_only(age, 2)", "quantile_only(age)", "quantile_only(age, 2)", "quantile_only(age, [0.5])"]
)
def test_what_is_not_understood_is_refused(call: str, people: dp.Curator) -> None:
    with pytest.raises(dp.errors.ParameterError, match=r"write"):
        people.preview(f"SELECT {call} AS q FROM data", epsilon=1)


def test_interval_is_true_or_false() -> None:
    with pytest.raises(dp.errors.ParameterError, match=r"interval=False"):
        dp.median("age", interval="no")  # type: ignore[arg-type]
