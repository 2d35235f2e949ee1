"""Correlation, covariance and the line through two numbers: right without noise, with intervals that cover and stay in range."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from engine.driving import PURE, RHO, agree, count, planned, table
from engine.test_sensitivity import COLUMNS, ROWS, TYPES, UNITS, all_parts, attained, base, extreme_persons, row

import discreet as dp
from discreet.errors import ParameterError
from discreet.plan.cost import Cost
from discreet.plan.release import Released
from discreet.schema.units import Person, Unit

ASKED = "corr(x, y) AS r, covar_pop(x, y) AS c, covar_samp(x, y) AS d, regr_slope(y, x) AS s, regr_intercept(y, x) AS i"
NUMBERS = dict.fromkeys("xy", dp.number(-1, 3, step=Fraction(1, 512)))


def test_without_noise_they_are_numpys(tmp_path: Path) -> None:
    draw = np.random.default_rng(2)
    x = np.round(draw.uniform(-1, 3, 3000) * 512) / 512
    y = np.round(np.clip(0.4 * x + draw.normal(0, 0.3, 3000), -1, 3) * 512) / 512
    group = np.array(["a", "b"] * 1500)
    rows = pa.table({"x": [*x, None, 1.0], "y": [*y, 2.0, None], "g": [*group, "a", "a"]})
    columns = {**NUMBERS, "g": dp.category("a", "b")}
    asked = dp.Curator(rows, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=10**9), ledger=tmp_path / "l")
    for question, mine in ((f"SELECT {ASKED} FROM data", group != ""), (f"SELECT g, {ASKED} FROM data GROUP BY g", group == "a")):
        found = asked.sql(question, epsilon=10**8).rows()[0]
        slope, intercept = np.polyfit(x[mine], y[mine], 1)
        truth = [np.corrcoef(x[mine], y[mine])[0, 1], np.cov(x[mine], y[mine], bias=True)[0, 1]]
        truth += [np.cov(x[mine], y[mine])[0, 1], slope, intercept]
        assert [found[name] for name in "rcdsi"] == pytest.approx(truth, abs=1e-6)
        assert all(found[f"{name}_lower"] <= found[name] <= found[f"{name}_upper"] for name in "rcdsi")


@pytest.mark.diagonal
@pytest.mark.parametrize("share", [PURE, RHO], ids=["pure", "rho"])
@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_sensitivities_hold_and_are_attained(unit: Unit, share: Cost) -> None:
    plan = planned(f"SELECT g, {ASKED} FROM data GROUP BY g", COLUMNS, unit, share)
    crossed = [[row(g, 0, 300) for g in "ab" for _ in range(3)], [row(g, 300, 300) for g in "cd" for _ in range(3)]]
    extras = (
        [*extreme_persons(3).values(), *crossed] if isinstance(unit, Person) else [[one] for one in (*ROWS, row("a", 0, 300))]
    )
    if unit == UNITS["rows"]:
        extras.insert(0, [])
    assert attained(plan, [base(1) + extra for extra in extras], unit) == all_parts(plan)
    if unit.neighbours == "replace":
        return
    rows = [one | {"id": f"p{i % 7}"} for i, one in enumerate(base(1) + ROWS * 3)]
    agree(plan, count(plan, table(plan, rows, TYPES)), rows)


def test_what_they_have_in_common_is_paid_once() -> None:
    plan = planned("SELECT corr(x, y) AS r, regr_slope(y, x) AS s, regr_slope(x, y) AS t FROM data", NUMBERS, dp.rows(), RHO)
    assert len(plan.releases) == 6


@pytest.mark.parametrize(("rows", "share"), [(100, Fraction(1)), (1000, Fraction(1, 10)), (10_000, Fraction(1, 100))])
@pytest.mark.parametrize("strength", [0.0, 0.5, 0.99])
def test_intervals_cover(rows: int, share: Fraction, strength: float) -> None:
    """2,000 draws of noise on one table, which are fixed: at least 93 % cover."""
    draw = np.random.default_rng(5)
    x = draw.uniform(-1, 1, rows)
    y = np.clip(strength * x + np.sqrt(1 - strength**2) * draw.uniform(-1, 1, rows), -1, 1)
    columns = dict.fromkeys("xy", dp.number(-1, 1, step=Fraction(1, 1024), missing=0))
    plan = planned(f"SELECT {ASKED} FROM data", columns, dp.rows(), Cost("rho", share))
    sums = {"count(*)": rows, "sum(x)": x.sum(), "sum(y)": y.sum(), "sum(x * y)": x @ y, "sum(x * x)": x @ x, "sum(y * y)": y @ y}
    slope, intercept = np.polyfit(x, y, 1)
    truth = {
        "r": np.corrcoef(x, y)[0, 1],
        "c": np.cov(x, y, bias=True)[0, 1],
        "d": np.cov(x, y)[0, 1],
        "s": slope,
        "i": intercept,
    }
    made = {}
    for one in plan.releases:
        exact = sums[one.label] / float(one.worth)
        made[one] = Released(
            one, np.rint(exact + draw.normal(size=2000) * one.spread.deviation / float(one.worth)).astype(np.int64)
        )
    for output in plan.query.outputs:
        found = output.aggregate.estimate([made[one] for one in plan.behind[output.name]])
        assert found.lower is not None
        assert found.upper is not None
        inside = (found.lower <= truth[output.name] + 1e-9) & (truth[output.name] - 1e-9 <= found.upper)
        assert inside.mean() >= 0.93, (output.name, inside.mean())
        if output.name == "r":
            assert found.lower.min() >= -1
            assert found.upper.max() <= 1


def test_where_nothing_is_known_that_is_said(tmp_path: Path) -> None:
    rows = pa.table({"x": [1.0], "y": [1.0]})
    asked = dp.Curator(rows, unit=dp.rows(), columns=NUMBERS, budget=dp.Budget(epsilon=100), ledger=tmp_path / "l")
    found = asked.sql(f"SELECT {ASKED} FROM data", epsilon=0.1).rows()[0]
    assert found["r"] is None
    assert (found["r_lower"], found["r_upper"]) == (-1, 1)
    assert (found["c_lower"], found["c_upper"]) == (-4, 4)
    assert (found["s_lower"], found["s_upper"]) == (-np.inf, np.inf)


def test_previews_and_formulas(tmp_path: Path) -> None:
    rows = pa.table({"x": [1.0], "y": [1.0]})
    asked: Any = dp.Curator(rows, unit=dp.rows(), columns=NUMBERS, budget=dp.Budget(epsilon=100), ledger=tmp_path / "l")
    assert "for 1,000 rows spread evenly" in asked.preview("SELECT corr(x, y) AS r FROM data", epsilon=10).lines[0].meaning
    assert "nothing would be known" in asked.preview("SELECT regr_slope(x, y) AS r FROM data", epsilon=0.01).lines[0].meaning
    assert asked.preview("SELECT corr(x, y) FILTER (WHERE x > 0) * 100 AS r FROM data", epsilon=1).lines


@pytest.mark.parametrize(
    ("what", "says"),
    [
        ("corr(x, g)", "g is a text"),
        ("corr(g, x)", "g is a text"),
        ("corr(x, y * 0)", "only have one value"),
        ("covar_pop(DISTINCT x, y)", "DISTINCT|cannot be read"),
        ("regr_slope(x)", "two expressions|cannot be read"),
        ("regr_r2(x, y)", "write regr_slope"),
        ("corr(x, nobody)", "nobody"),
    ],
)
def test_refusals(what: str, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        planned(f"SELECT {what} AS r FROM data", COLUMNS, dp.rows(), RHO)
