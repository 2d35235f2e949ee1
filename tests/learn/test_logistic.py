"""Logistic regression: which way it goes by public facts, and what its scores and chances are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.learn import LogisticRegression
from discreet.mechanisms.base import recorded

DRAW = np.random.default_rng(9)


def ways(model: LogisticRegression, rows: Any, labels: Any, **given: Any) -> list[str]:
    """The mechanisms of a fit."""
    with recorded() as seen:
        model.fit(rows, labels, **given)
    return [type(one.mechanism).__name__ for one in seen]


@pytest.mark.parametrize(
    ("given", "width", "expected"),
    [
        ({}, 2, ["Minimum"]),
        ({"unit": "replace"}, 2, ["Minimum"]),
        ({"delta": 0}, 2, ["Minimum"]),
        ({"classes": range(5)}, 50, ["Minimum"]),
        ({"classes": range(5)}, 51, ["Laplace"] * 2),
        ({}, 256, ["Laplace"] * 2),
        ({"steps": 2}, 2, ["Laplace"] * 3),
        ({"clip": 0.1, "unit": dp.rows(size=10)}, 2, ["Laplace"] * 2),
        ({"unit": dp.rows(size=2**20 + 1), "steps": 1}, 2, ["Laplace"] * 2),
        ({"delta": 1e-5, "steps": 3}, 2, ["Gaussian"] * 4),
    ],
)
def test_the_way_is_chosen_by_public_facts(given: dict[str, Any], width: int, expected: list[str]) -> None:
    model = LogisticRegression(**{"epsilon": 1, "bounds": (0, 1), "classes": [0, 1], **given})
    for rows in (0, 1, 10):
        if model.unit != "replace" or rows:
            assert ways(model, np.full((rows, width), 0.5), [0] * rows) == expected
    assert model.privacy_.epsilon(0 if not given.get("delta") else 1e-5) <= 1
    assert model.coef_.shape == (1 if len(model.classes_) == 2 else len(model.classes_), width)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("persons", [False, True])
def test_classes_that_lie_apart_are_told_apart(classes: int, persons: bool) -> None:
    """2,400 rows at epsilon 20: noise moves no weight by a tenth of what the classes are apart, in a thousand fits; lists and
    missing labels, and persons of four rows each."""
    label = DRAW.integers(0, classes, 2400) if not persons else np.repeat(DRAW.integers(0, classes, 600), 4)
    rows = [[float(one), "xyz"[one], None] for one in label]
    given: dict[str, Any] = {"unit": dp.person("id", rows=4, groups=1)} if persons else {}
    model = LogisticRegression(epsilon=20, bounds=[(0, 2), ["x", "y", "z"], (0, 1)], classes=range(classes), **given)
    labels = [*label[:-4].tolist(), "?", None, 17, "?"]
    ids = {"groups": np.arange(2400) // 4} if persons else {}
    assert ways(model, rows, labels, **ids) == ["Minimum"]
    assert model.score(rows, label) > 0.9
    assert not np.array_equal(model.coef_, model.coef_.round())  # units of a grid, and not these themselves
    inputs = np.array([[one, *(one == np.arange(3)), 0.5] for one in label[:5]], dtype=float)
    assert np.allclose(model.decision_function(rows[:5]), np.squeeze(inputs @ model.coef_.T + model.intercept_))


def test_chances_are_those_that_make_the_loss_least() -> None:
    """Of a group in which a share p has the class, the mean loss with a margin is least at the score whose chance is p."""
    model = LogisticRegression(epsilon=1, bounds=(0, 1), classes=[0, 1]).fit([[0.5]] * 10, [0, 1] * 5)
    for share in (0.05, 0.3, 0.5, 0.9):
        scores = np.linspace(-8, 8, 16001)
        loss = share * np.logaddexp(0, 1 - scores) + (1 - share) * np.logaddexp(0, 1 + scores)
        model._weights, model._offset = np.zeros((1, 1)), np.array([scores[loss.argmin()]])
        assert model.predict_proba([[0.5]])[0, 1] == pytest.approx(share, abs=1e-3)


def test_a_preview_says_which_way_and_when_rows_are_few(tmp_path: Path) -> None:
    table = {"x": [0.5] * 20, "y": [True, False] * 10}
    clinic = dp.Curator(
        pd.DataFrame(table),
        unit=dp.rows(size=20),
        columns={"x": dp.number(0, 1), "y": dp.boolean()},
        budget=dp.Budget(epsilon=1),
        ledger=tmp_path / "x.ledger",
        people="made up",
    )
    asked = clinic.fit(LogisticRegression(), features=["x"], target="y")
    assert "perturbed loss: 2 weights" in str(asked.preview(epsilon=1))
    assert "few rows" not in str(asked.preview(epsilon=1))
    assert "few rows (20)" in str(asked.preview(epsilon=0.1))


@pytest.mark.parametrize("epsilon", [1, 10, 1000, 10**6])
def test_chances_are_right_where_there_is_little_noise(epsilon: int) -> None:
    """20,000 rows, at costs that leave noise of a hundredth of a weight and far less: slopes are those of the table to a quarter,
    which sampling alone misses by a fiftieth, and chances cost no more than one in fifty above what they must. Steps that are
    too long for a table leave its slopes as signs, and its chances 0 and 1."""
    slopes = np.linspace(-2, 2, 10)
    rows = DRAW.normal(size=(20_000, 10))
    chance = 1 / (1 + np.exp(-rows @ slopes))
    labels = (DRAW.random(len(rows)) < chance).astype(int)
    model = LogisticRegression(epsilon=epsilon, delta=1e-6, bounds=(-4, 4), classes=[0, 1]).fit(rows, labels)
    assert np.allclose(model.coef_[0], slopes, atol=0.5)
    found = model.predict_proba(rows)[:, 1]
    least = -np.log(np.where(labels == 1, chance, 1 - chance)).mean()
    assert -np.log(np.where(labels == 1, found, 1 - found)).mean() < 1.02 * least
