"""Needed rows: enough, wherever a mean lies; with 5 % fewer not enough; and what a curator then really answers.

Simulations miss with a known chance; each assertion about one fails by accident with probability 1e-6 or less (5 deviations).
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.plan import needed
from discreet.plan.noises import above
from discreet.plan.release import Spread

MISS = 0.05
DRAWS = 400_000
MARGIN = 5 * math.sqrt(MISS * (1 - MISS) / DRAWS)
ADD_REMOVE: list[dict[str, Any]] = [{"epsilon": 1}, {"epsilon": 0.2}, {"rho": 0.5}, {"rho": 0.02}, {"epsilon": 1, "delta": 1e-6}]


def misses(noises: tuple[np.ndarray, np.ndarray], half: float, at: float, n: int, accuracy: float) -> float:
    """How often (n at + X) / (n + Y), cut off at half the range to both sides, is further than ``accuracy`` from ``at``."""
    sums, counts = n * at + noises[0], n + noises[1]
    found = np.where(counts > 0, np.clip(sums / np.where(counts > 0, counts, 1), -half, half), 0.0)
    return float(np.mean(np.abs(found - at) > accuracy * (1 + 1e-9)))


def noises_of_a_mean(lower: int, upper: int, cost: dict[str, Any], units: int) -> tuple[np.ndarray, np.ndarray]:
    """Noises on the sum around the middle and on the count, by the theorems: of a pair of soft counts, or of two halves."""
    zeros, span = np.zeros(DRAWS, dtype=np.int64), upper - lower
    if set(cost) == {"epsilon"}:
        pair = dp.Laplace(sensitivity=span * units, **cost)
        a, b = (pair.release(zeros) / units for _ in range(2))
        return (a - b) / 2, (a + b) / span
    rho = 1 / (2 * float(dp.Gaussian(sensitivity=1.0, **cost).squared_sigma))
    first = dp.Gaussian(sensitivity=span * units // 2, rho=rho / 2).release(zeros) / units
    return first, dp.Gaussian(sensitivity=1, rho=rho / 2).release(zeros)


@pytest.mark.parametrize("cost", ADD_REMOVE, ids=str)
def test_a_mean_is_as_accurate_as_it_was_said_to_be_and_not_with_fewer_rows(cost: dict[str, Any]) -> None:
    found = dp.needed.mean(lower=0, upper=10, accuracy=0.2, **cost).rows
    noises = noises_of_a_mean(0, 10, cost, units=1_000)
    for at in (-4.9, -4.8, -4.4, -2.0, 0.0, 1.3, 4.8, 5.0):
        assert misses(noises, 5, at, found, 0.2) <= MISS + MARGIN
    assert misses(noises, 5, 4.8 - 1e-6, math.floor(0.95 * found), 0.2) > MISS + MARGIN


@pytest.mark.parametrize("cost", [{"epsilon": 0.3}, {"epsilon": 2}], ids=str)
def test_shares_are_whole_counts_and_exact(cost: dict[str, Any]) -> None:
    found = dp.needed.share(accuracy=0.02, **cost).rows
    noises = noises_of_a_mean(0, 1, cost, units=1)
    for yes in range(0, found + 1, max(1, found // 25)):
        assert misses(noises, 0.5, yes / found - 0.5, found, 0.02) <= MISS + MARGIN
    fewer = math.floor(0.95 * found)
    worst = max(misses(noises, 0.5, yes / fewer - 0.5, fewer, 0.02) for yes in range(1, fewer // 2, max(1, fewer // 40)))
    assert worst > MISS + MARGIN


@pytest.mark.parametrize("cost", ADD_REMOVE, ids=str)
def test_where_one_is_replaced_it_is_the_error_of_noise_on_the_mean(cost: dict[str, Any]) -> None:
    found = dp.needed.mean(lower=-5, upper=5, accuracy=0.1, neighbours="replace", **cost).rows
    mechanism = dp.Laplace if set(cost) == {"epsilon"} else dp.Gaussian

    def error(n: int) -> float:
        return mechanism(sensitivity=dp.sensitivity.mean(lower=-5.0, upper=5.0, size=n).l2, **cost).error(0.95)

    assert error(found + 1) <= 0.1 < error(found - 1)


def test_the_lecture_s_variance() -> None:
    """sigma^2 = 2 b^2 / (rho n^2): n = b sqrt(2 / rho) z / alpha, where Gaussian noise exceeds z once in twenty times."""
    z = 1.959964
    for b, rho, alpha in ((5, 0.5, 0.1), (1, 0.01, 0.02)):
        found = dp.needed.mean(lower=-b, upper=b, accuracy=alpha, rho=rho, neighbours="replace")
        assert found.rows == math.ceil(b * math.sqrt(2 / rho) * z / alpha)
        assert found.local == math.ceil((b * math.sqrt(2 / rho) * z / alpha) ** 2)  # every owner: the square of it


def test_a_private_number_of_rows_costs_next_to_nothing() -> None:
    for cost in ADD_REMOVE:
        known, unknown = (
            dp.needed.mean(lower=0, upper=10, accuracy=0.1, neighbours=n, **cost).rows for n in ("replace", "add-remove")
        )
        assert 0.97 * known < unknown < 1.03 * known


def test_a_count_is_accurate_in_relation_to_itself() -> None:
    assert dp.needed.count(accuracy=0.01, epsilon=0.5).rows == 100 * dp.Laplace(sensitivity=1, epsilon=0.5).error(0.95)
    assert dp.needed.count(accuracy=0.01, epsilon=0.5, neighbours="replace") == dp.needed.count(accuracy=0.01, epsilon=0.5)
    assert dp.needed.count(accuracy=0.5, epsilon=10).rows == 1


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.5}], ids=str)
def test_a_curator_answers_as_accurately(cost: dict[str, Any], tmp_path: Path) -> None:
    """Twenty thousand groups of the worst kind in one question."""
    accuracy, groups = 0.5, 20_000
    n = dp.needed.mean(lower=0, upper=10, accuracy=accuracy, **cost).rows
    values = np.full(n, 9.49)  # nearly as near to a bound as an error may be
    table = pa.table({"g": np.repeat(np.arange(groups), n), "x": np.tile(values, groups)})
    curator = dp.Curator(
        table,
        unit=dp.rows(),
        columns={"g": dp.integer(0, groups - 1, missing=0), "x": dp.number(0, 10, missing=0)},
        budget=dp.Budget(**cost),
        ledger=tmp_path / "x.ledger",
    )
    found = np.array(curator.sql("SELECT g, avg(x) AS x FROM data GROUP BY g", **cost)["x"], dtype=np.float64)
    missed = np.mean(np.abs(found - 9.49) > accuracy * (1 + 1e-9))
    assert missed <= MISS + 5 * math.sqrt(MISS * (1 - MISS) / groups)
    assert missed > 0.03


def test_sums_of_two_noises_are_added_up_exactly() -> None:
    k = np.arange(-400, 401)

    def pmf(scale: float) -> np.ndarray:
        q = math.exp(-1 / scale)
        return (1 - q) / (1 + q) * q ** np.abs(k)

    first, second = (Spread("laplace", scale * unit, None, unit) for scale, unit in ((3.0, 0.5), (2.0, 1.0)))
    joint = pmf(3.0)[:, None] * pmf(2.0)[None, :]
    for x, y in ((1.0, 1.0), (0.3, -2.0), (1.0, 0.0)):
        values = np.round(x * 0.5 * k[:, None] + y * 1.0 * k[None, :], 9)
        for distance in (-0.26, 0.61, 3.26, 11.11):  # no value is so far, so none is near it
            assert above(distance, [(first, x), (second, y)]) == pytest.approx(joint[values > distance].sum(), rel=1e-9)
    wide = [(Spread("gaussian", 3.0, None, 1e-6), 1.0), (Spread("gaussian", 4.0, None, 1e-6), 1.0)]
    exact = math.erfc(9.8 / 5 / math.sqrt(2)) / 2
    assert exact <= above(9.8, wide) <= 1.03 * exact  # in cells, never below


def test_sums_of_many_laplace_noises() -> None:
    for d in (0.1, 2.0, 9.0):
        assert needed._beyond(d, 1) == pytest.approx(math.exp(-d), rel=1e-6)
        assert needed._beyond(d, 2) == pytest.approx((1 + d / 2) * math.exp(-d), rel=1e-6)
        assert needed._beyond(d, 3) == pytest.approx((1 + 5 * d / 8 + d * d / 8) * math.exp(-d), rel=1e-6)
    assert needed._beyond(1.96 * math.sqrt(2e8), 10**8) == pytest.approx(math.erfc(1.96 / math.sqrt(2)), rel=1e-6)


def test_what_cannot_be_is_refused() -> None:
    for call in (
        lambda: dp.needed.mean(lower=0, upper=10, accuracy=5, epsilon=1),
        lambda: dp.needed.share(accuracy=0.5, epsilon=1),
        lambda: dp.needed.share(accuracy=0.01),
        lambda: dp.needed.share(accuracy=0.01, epsilon=1, rho=1),
        lambda: dp.needed.share(accuracy=0.01, epsilon=1, confidence=1),
        lambda: dp.needed.share(accuracy=0.01, epsilon=1, confidence=0.1),
        lambda: dp.needed.count(accuracy=0, epsilon=1),
        lambda: dp.needed.mean(lower=0, upper=1, accuracy=1e-19, epsilon=1e-9),
        lambda: dp.needed.share(accuracy=0.01, epsilon=1, neighbours="local"),
        lambda: dp.needed.mean(accuracy=1, epsilon=1),
    ):
        with pytest.raises(dp.errors.ParameterError, match=r"write|must|needs"):
            call()


def test_previews_say_how_many_rows_a_mean_wants(tmp_path: Path) -> None:
    clinic = dp.Curator(
        pa.table({"age": [1], "ward": ["eye"]}),
        unit=dp.rows(),
        columns={"age": dp.integer(0, 120, missing=0), "ward": dp.category("eye", "ear")},
        budget=dp.Budget(epsilon=1),
        ledger=tmp_path / "x.ledger",
    )
    rows = dp.needed.mean(lower=0, upper=120, accuracy=Fraction(120, 100), epsilon=0.5).rows
    assert 590 < rows <= 600
    said = clinic.preview("SELECT avg(age) AS a FROM data", epsilon=0.5).remarks
    assert "Noise stays within 1 % of the range, 95 % of the time, from 600 rows on (a); sampling error comes on top." in said
    both = clinic.preview("SELECT ward, avg(age) AS a, avg(age > 65) AS old FROM data GROUP BY ward", epsilon=0.5).remarks
    assert any("rows of a group on (a, old)" in line for line in both)
    assert not any("sampling" in line for line in clinic.preview("SELECT count(*) AS n FROM data", epsilon=0.5).remarks)
