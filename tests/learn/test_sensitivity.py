"""No row moves what a model lets out farther than it says, some rows move it just as far, and nothing else changes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from contract.models import CLASSES
from learn.watching import far, watch

import discreet as dp
from discreet import learn
from discreet.learn.around.from_synthetic import norms_of

HUGE = 1e300
X = np.random.default_rng(1).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)
STRANGE = np.array(
    [
        [np.nan, np.nan, np.nan],
        [np.inf, -np.inf, HUGE],
        [HUGE, HUGE, HUGE],
        [-HUGE, 0.0, 3.0],
        [3.0, 3.0, 3.0],
        [-3.0, -3.0, -3.0],
        [0.0, 0.0, 0.0],
    ]
)
LABELS: list[Any] = [0, 2, 7, np.nan, -HUGE, 10]

# By name: what it needs, and the least share of the bound that some row must attain in every release.
MODELS: dict[str, tuple[dict[str, Any], float]] = {
    "AdditiveClassifier": ({"classes": CLASSES, "rounds": 2, "bins": 8}, 0.999),
    "AdditiveRegressor": ({"target": (0, 10), "rounds": 2, "bins": 8, "epsilon": 20}, 0.999),
    "AdditiveRegressor of too few rows for shapes": ({"target": (0, 10), "rounds": 2, "bins": 8, "epsilon": 0.1}, 0.999),
    "CountNB": ({"classes": CLASSES}, 0.999),
    "KMeans": ({"clusters": 3}, 0.99),
    "Scaler": ({}, 0.999),
}


def make(name: str, **more: Any) -> Any:
    return getattr(learn, name.split()[0])(**{"epsilon": 1, "delta": 1e-5, "bounds": (-3, 3), **MODELS[name][0], **more})


def fit(name: str, rows: Any, labels: Any, **more: Any) -> Any:
    """The fit, as a function of nothing."""
    return lambda: make(name, **more).fit(rows, labels) if name not in ("KMeans", "Scaler") else make(name, **more).fit(rows)


@pytest.mark.parametrize("pure", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_one_row_moves_each_sum_as_far_as_it_says_and_no_farther(name: str, pure: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    more = {"delta": None} if pure else {}
    base = watch(monkeypatch, fit(name, X, Y.astype(float), **more))
    assert sum(base.shares) == 1
    most = np.zeros(len(base.sums))
    for label in LABELS:
        for row in [*STRANGE, *(5 * X[:3])]:
            grown = watch(monkeypatch, fit(name, np.vstack([X, row]), np.append(Y, label), **more))
            moved = far(base, grown)
            assert max(moved) <= 1 + 1e-12
            most = np.maximum(most, moved)
    assert (most >= MODELS[name][1]).all(), most


@pytest.mark.parametrize("name", MODELS)
def test_one_person_moves_each_sum_no_farther_than_a_row_does(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = dp.person("id", rows=4, groups=1)

    def of(rows: Any, labels: Any, ids: Any) -> Any:
        model = make(name, unit=unit)
        return lambda: model.fit(rows, labels, groups=ids) if name not in ("KMeans", "Scaler") else model.fit(rows, groups=ids)

    ids = np.arange(40) // 2
    base = watch(monkeypatch, of(X, Y.astype(float), ids))
    for rows in (STRANGE[:4], STRANGE[2:6], np.repeat(STRANGE[4:5], 9, axis=0)):
        given = np.vstack([X, rows]), np.append(Y, [2.0] * len(rows)), np.append(ids, [99] * len(rows))
        assert max(far(base, watch(monkeypatch, of(*given)))) <= 1 + 1e-12


@pytest.mark.parametrize("name", MODELS)
def test_whatever_rows_hold_as_much_is_let_out_at_the_same_price(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    base = watch(monkeypatch, fit(name, X, Y.astype(float)))
    cases = {
        "no rows": (X[:0], Y[:0].astype(float)),
        "one row": (X[:1], Y[:1].astype(float)),
        "one class": (X, np.zeros(40)),
        "no known class": (X, np.full(40, 77.0)),
        "constant": (np.ones((40, 3)), Y.astype(float)),
        "missing": (np.full((40, 3), np.nan), np.full(40, np.nan)),
        "infinite": (np.full((40, 3), np.inf), np.full(40, -np.inf)),
    }
    for rows, labels in cases.values():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            other = watch(monkeypatch, fit(name, rows, labels))
            fitted = fit(name, rows, labels)()  # with noise
        far(base, other)  # as many numbers, of the same radii and shares
        assert fitted.privacy_.epsilon(1e-5) == make(name).fit(
            *((X, Y) if name not in ("KMeans", "Scaler") else (X,))
        ).privacy_.epsilon(1e-5)
        if name != "Scaler":
            assert np.isfinite(np.asarray(fitted.predict(X), dtype=float)).all()


def test_synthetic_rows_are_priced_by_how_far_a_histogram_moves() -> None:
    """Neighbours by brute force: histograms of at most r rows of one unit in three cells."""
    for unit in (
        dp.rows(),
        dp.rows(neighbours="replace", size=9),
        dp.person("id", rows=3, groups=1),
        dp.person("id", rows=3, groups=1, neighbours="replace"),
    ):
        most = getattr(unit, "rows", 1)
        each = [np.array(one) for one in np.ndindex(most + 1, most + 1, most + 1) if sum(one) <= most]
        if unit.neighbours == "add-remove":
            pairs = [(one, np.zeros(3)) for one in each]
        else:
            pairs = [(one, other) for one in each for other in each]
        found = norms_of(unit)
        assert max(np.abs(a - b).sum() for a, b in pairs) == found.l1
        longest = max(np.linalg.norm(a - b) for a, b in pairs)
        assert longest <= found.l2 / 2**found.finer <= longest * (1 + 1e-6) + 1e-5
