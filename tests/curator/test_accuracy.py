"""``accuracy=``: the least cost for an error that is wanted, from public facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.errors import ParameterError

BUDGETS = [dp.Budget(epsilon=1000), dp.Budget(epsilon=1000, delta=1e-6), dp.Budget(rho=1000)]
COLUMNS: dict[str, Any] = {
    "g": dp.category("a", "b"),
    "x": dp.integer(0, 100, missing=0),
    "y": dp.integer(1, 5, missing=1),
    "yes": dp.boolean(missing=False),
}
FRAME = pd.DataFrame(
    {"g": ["a", "b"] * 2000, "x": np.arange(4000) % 101, "y": 1 + np.arange(4000) % 5, "yes": [True, False] * 2000}
)


def people(budget: dp.Budget, folder: Path, frame: pd.DataFrame = FRAME) -> dp.Curator:
    return dp.Curator(frame, unit=dp.rows(), columns=COLUMNS, budget=budget, ledger=folder / "people.ledger")


@pytest.mark.spread(5)
@pytest.mark.parametrize(
    ("output", "wanted", "budget"),
    [
        *(("avg(x)", 0.5, budget) for budget in BUDGETS),
        ("avg(CAST(yes AS INTEGER))", 0.01, BUDGETS[1]),
        ("sum(x) / sum(y)", 0.5, BUDGETS[0]),
        ("sum(x) / sum(y)", 0.5, BUDGETS[1]),
        ("avg(x) - avg(y)", 1, BUDGETS[2]),
        ("stddev(x)", 5, BUDGETS[0]),
        ("stddev(x)", 5, BUDGETS[2]),
    ],
    ids=str,
)
def test_means_shares_and_quotients(output: str, wanted: float, budget: dp.Budget, tmp_path: Path) -> None:
    """A tenth less would not do, and half as many rows cost more."""
    asked = people(budget, tmp_path)
    text = f"SELECT g, {output} AS z FROM data GROUP BY g"
    offered = asked.preview(text, accuracy=wanted, at_least=1500)
    assert offered.lines[0].error is not None
    assert offered.lines[0].error <= wanted
    assert "1,500 rows and more" in offered.lines[0].meaning
    name, cost = offered.cost.split("=")
    cheaper = asked.preview(text, **{name: 0.9 * float(cost), "at_least": 1500}).lines[0].error
    assert cheaper is not None
    assert cheaper > wanted
    fewer = asked.preview(text, accuracy={"z": wanted}, at_least=750)
    assert float(fewer.cost.split("=")[1]) > 1.5 * float(cost)


def test_a_count_that_was_released_says_how_many_rows_there_are(tmp_path: Path) -> None:
    """The price is that of the released number, on whatever table it was released."""
    asked = people(BUDGETS[0], tmp_path)
    counted = asked.sql("SELECT g, count(*) AS n FROM data GROUP BY g", epsilon=1)
    fewest = min(row["n_lower"] for row in counted.rows())
    answer = asked.sql("SELECT g, avg(x) AS m FROM data GROUP BY g", accuracy=1, at_least=fewest)
    lower, upper = answer.outputs["m"].lower, answer.outputs["m"].upper
    assert lower is not None
    assert upper is not None
    assert max(u - low for low, u in zip(lower, upper, strict=True)) <= 2


def test_the_price_never_depends_on_data(tmp_path: Path) -> None:
    costs = set()
    for i, frame in enumerate((FRAME, FRAME[:0], FRAME[FRAME.x < 3])):
        (tmp_path / str(i)).mkdir()
        costs.add(people(BUDGETS[0], tmp_path / str(i), frame).sql("SELECT avg(x) AS m FROM data", accuracy=1, at_least=100).cost)
    assert len(costs) == 1


@pytest.mark.diagonal
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("output", ["median(x)", "median_only(x)", "quantile(x, 0.9)", "mode(y)"])
def test_quantiles_in_ranks(output: str, budget: dp.Budget, tmp_path: Path) -> None:
    asked = people(budget, tmp_path)
    offered = asked.preview(f"SELECT {output} AS q FROM data", accuracy=40)
    assert offered.lines[0].ranks is not None
    assert offered.lines[0].ranks <= 40
    assert offered.lines[0].error is None
    name, cost = offered.cost.split("=")
    cheaper = asked.preview(f"SELECT {output} AS q FROM data", **{name: 0.9 * float(cost)}).lines[0].ranks
    assert cheaper is not None
    assert cheaper > 40
    assert asked.sql(f"SELECT {output} AS q FROM data", accuracy={"q": 40}).cost == offered.cost


def test_ranks_and_half_widths_are_told_apart(tmp_path: Path) -> None:
    asked = people(BUDGETS[0], tmp_path)
    text = "SELECT median(x) AS q, count(*) AS n FROM data"
    with pytest.raises(ParameterError, match=r"\{name: number\}"):
        asked.preview(text, accuracy=10)
    assert asked.preview(text, accuracy={"q": 100, "n": 10}).lines[1].error == 10


@pytest.mark.parametrize("strange", [0, -5, 0.5, float("nan"), "many", True])
def test_at_least_is_a_number_of_rows(strange: object, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="at_least"):
        people(BUDGETS[0], tmp_path).preview("SELECT avg(x) AS m FROM data", accuracy=1, at_least=strange)  # type: ignore[arg-type]


def test_a_preview_says_what_a_delta_is_worth(tmp_path: Path) -> None:
    """At as many questions as it says, each an even part of the budget, errors with the delta are no larger; at half of them they
    are."""
    asked = people(dp.Budget(epsilon=3, delta=1e-6), tmp_path)
    text = "SELECT count(*) AS n FROM data"
    (said,) = [remark for remark in asked.preview(text, epsilon=0.5).remarks if "delta" in remark]
    assert said == (
        "Without a delta the same epsilon would give n ± 6; "
        "in a budget of this epsilon a delta pays from about 12 such questions on."
    )
    rho = float(dp.Budget(epsilon=3, delta=1e-6).most_rho or 0)
    with_delta = [dp.Gaussian(sensitivity=1.0, rho=rho / many).error(0.95) for many in (12, 6)]
    without = [dp.Laplace(sensitivity=1.0, epsilon=3 / many).error(0.95) for many in (12, 6)]
    assert with_delta[0] <= 1.05 * without[0]
    assert with_delta[1] > without[1]
    assert not any("Without a delta" in one for one in people(BUDGETS[0], tmp_path / "p").preview(text, epsilon=1).remarks)
