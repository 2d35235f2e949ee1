"""What previews and lists promise is what answers hold."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from curator.hospital import curator
from support.depth import deep

import discreet as dp
from discreet.curator.plans import Select
from discreet.errors import DiscreetError, ParameterError
from discreet.mechanisms.secret import Secret
from discreet.plan.cost import Terms
from discreet.plan.preview import price_within
from discreet.plan.release import Release, Released
from discreet.plan.sql import parse_query
from discreet.plan.statistics import Sums
from discreet.schema.table import Schema

RICH = dp.Budget(epsilon=10**6, delta=1e-6)


@pytest.mark.diagonal
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10**6), RICH], ids=["pure", "delta"])
@pytest.mark.parametrize("half", [0.05, 0.5, 5])
def test_accuracy_of_a_mean_is_the_half_width_wherever_the_data_lie(half: float, budget: dp.Budget) -> None:
    """A half-width is larger than was wanted where the noisy count is smaller than in 39 of 40 answers; so more than 30 of 200
    are with probability below 1e-12. Means near the bounds, which cut an interval off, are no exception."""
    schema = Schema({"x": dp.number(0, 100, step=0.01)}, dp.rows(size=10_000))
    select = Select(parse_query("SELECT avg(x) AS z FROM data", schema), schema)
    (one,), _ = price_within(Terms(accuracy=half), [select], budget)
    plan = one.plan
    mean = plan.query.outputs[0].aggregate
    for value in (0, 10, 50, 200, 400, 480, 490, 500, 520, 600, 5000, 9000, 9480, 9520, 9990, 10_000):
        released = [Released(one, one.let_out(_of_rows(one, value, 200), 200, schema.unit)) for one in plan.behind["z"]]
        found = mean.estimate(released)
        assert found.lower is not None
        assert found.upper is not None
        assert np.count_nonzero((found.upper - found.lower) / 2 > (1 + 1e-6) * half) <= 30, value


def _of_rows(release: Release, value: int, times: int) -> Secret[Any]:
    """What is counted of 10,000 rows that all have this value, in cents; so many times over."""
    assert isinstance(release.statistic, Sums)
    added = {"value": lambda m: value - m.shift, "rest": lambda m: m.shift - value, "present": lambda m: m.high}
    return Secret(np.concatenate([np.full(times, 10_000 * added[m.what](m) << release.bits) for m in release.statistic.of]))


@pytest.mark.diagonal
@pytest.mark.parametrize("half", [0.05, 0.5, 5])
@pytest.mark.parametrize("cells", [(0.0, 2.0), (0.0, 100.0), (98.0, 100.0), (50.0, 50.0), (0.0, 0.0)], ids=str)
def test_accuracy_is_the_half_width_wherever_the_data_lie(half: float, cells: tuple[float, float], tmp_path: Path) -> None:
    """Half the rows have each value. A half-width depends on noisy sums: by a percent or so, and that of a root near 0 by more.

    There the square of the upper end is noise plus reach, at most 3.1 reaches but once in a million.
    """
    frame = pd.DataFrame({"x": np.array(cells * 5000)})
    for what, wanted, slack in (("variance", 50 * half, 1.1), ("stddev", 2 * half, 1.8)):
        people = dp.Curator(
            frame,
            unit=dp.rows(size=10_000),
            columns={"x": dp.number(0, 100, step=0.01)},
            budget=RICH,
            ledger=tmp_path / f"{what}.ledger",
        )
        found = people.sql(f"SELECT {what}(x) AS z FROM data", accuracy=wanted).outputs["z"]
        assert found.lower is not None
        assert found.upper is not None
        assert (found.upper[0] - found.lower[0]) / 2 <= slack * wanted
        assert found.errors is not None
        assert found.errors[0] <= 2 * wanted


@pytest.mark.parametrize("epsilon", [0.02, 0.1, 1])
def test_the_error_of_a_root_near_zero_is_no_monster(epsilon: float, tmp_path: Path) -> None:
    for number in range(deep(20, 5)):
        people = dp.Curator(
            pd.DataFrame({"x": [5.0] * 500}),
            unit=dp.rows(),
            columns={"x": dp.number(0, 100, step=0.01)},
            budget=RICH,
            ledger=tmp_path / f"{number}.ledger",
        )
        (row,) = people.sql("SELECT stddev(x) AS z FROM data", epsilon=epsilon).rows()
        assert row["z_error"] <= 100


def test_groups_by_letters_that_engines_change_differently_are_not_lost(tmp_path: Path) -> None:
    cities = dp.category("Straße", "weg", "İzmir", "ΑΣ")
    people = dp.Curator(
        pd.DataFrame({"s": ["Straße"] * 1000}), unit=dp.rows(), columns={"s": cities}, budget=RICH, ledger=tmp_path / "x"
    )
    for change in ("upper(s)", "lower(s)", "CASE WHEN length(upper(s)) > 6 THEN 'long' ELSE 'short' END"):
        found = people.sql(f"SELECT {change} AS u, count(*) AS n FROM data GROUP BY u", epsilon=10).rows()
        assert sum(row["n"] for row in found) == pytest.approx(1000, abs=20)


def test_bins_whose_edges_have_many_digits_are_not_lost(tmp_path: Path) -> None:
    people = dp.Curator(
        pd.DataFrame({"a": [30] * 1000}), unit=dp.rows(), columns={"a": dp.integer(0, 120)}, budget=RICH, ledger=tmp_path / "x"
    )
    for edge in ("18.5000000000000001", "18.1", "1e-7"):
        found = people.sql(f"SELECT bin(a, 0, {edge}, 120) AS b, count(*) AS n FROM data GROUP BY b", epsilon=10).rows()
        assert [row["n"] for row in found] == pytest.approx([0, 1000], abs=20)


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.agg(n=dp.count()).order_by("n + 'a'"),
        lambda c: c.agg(n=dp.count()).order_by("year(n)"),
        lambda c: c.agg(n=dp.count()).having("lower(n) = 'a'"),
        lambda c: c.agg(n=dp.count()).having("n"),
        lambda c: c.agg(n=dp.count()).having("'yes'"),
        lambda c: c.agg(**{"": dp.count()}),
        lambda c: c.agg(**{"a\nb": dp.count()}),
        lambda c: c.agg(n=dp.count(), N=dp.count()),
        lambda c: c.group_by("NULL").agg(n=dp.count()),
        lambda c: c.group_by("'a'").agg(n=dp.count()),
        lambda c: c.agg(n=dp.most_common("NULL")),
        lambda c: c.group_by("city", keys={"city": ["\ud800"]}).agg(n=dp.count()),
        lambda c: c.group_by("city", keys={"city": "abc"}).agg(n=dp.count()),
        lambda c: c.group_by("city", keys={"city": [["a"]]}).agg(n=dp.count()),
        lambda c: c.group_by("city", keys={"city": [1]}).agg(n=dp.count()),
    ],
    ids=range(15),
)
def test_a_built_question_is_checked_before_it_is_paid_for(call: object, tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    with pytest.raises(ParameterError):
        call(hospital).release(epsilon=0.1)  # type: ignore[operator]
    assert hospital.history() == ()


@pytest.mark.parametrize(
    "candidates",
    [
        [(1, 2)],
        [object()],
        [datetime.datetime(2020, 1, 1)],
        [pd.Timestamp("2020-01-01")],
        [float("inf")],
        [float("nan")],
        [1, "a"],
        [True, 2],
        ["\ud800"],
        [None],
        [],
        "abc",
        7,
        [10**400],
        [1j],
        [Decimal("sNaN"), 1],
        [Decimal("inf")],
        [True, 1],
    ],
    ids=range(18),
)
def test_strange_candidates_cost_nothing(candidates: object, tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    with pytest.raises(DiscreetError):
        hospital.choose(candidates, score="CASE WHEN age > 3 THEN 1 ELSE 0 END").release(epsilon=0.1)  # type: ignore[arg-type]
    assert hospital.history() == ()


@pytest.mark.parametrize(
    "candidates",
    [[1, 2], np.array([1, 2]), [np.int64(1), np.float64(2.5)], [Decimal("1.5"), 2], (1.5, 2), range(3), pd.Series([1, 2])],
    ids=["list", "array", "scalars", "decimals", "floats", "range", "series"],
)
def test_plain_candidates_are_answered_and_kept(candidates: object, tmp_path: Path) -> None:
    hospital = curator(tmp_path)
    asked = hospital.choose(candidates, score="CASE WHEN age > candidate THEN 1 ELSE 0 END")  # type: ignore[arg-type]
    first, again = asked.release(epsilon=0.1), asked.release(epsilon=0.1)
    assert again.repeated
    assert first.value == again.value
