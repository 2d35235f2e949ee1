"""Training on synthetic rows, and pictures: what comes out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dp
from discreet import learn
from discreet.auditor.replay.compare import replay
from discreet.errors import ParameterError
from discreet.learn import FromSynthetic, GaussianNB, KMeans, curve, plot_coefficients
from discreet.privacy import Privacy

DRAW = np.random.default_rng(2)


def trained(estimator: Any, **more: Any) -> FromSynthetic:
    return FromSynthetic(estimator, epsilon=2, delta=1e-6, bounds=(-3, 3), seconds=2, **more)


def test_any_model_is_trained_on_synthetic_rows() -> None:
    """A line of slope 1 through 2,000 rows at (2, 1e-6): R2 above 0.5, far from what noise does to it (below)."""
    rows = DRAW.normal(size=(2000, 2)).clip(-3, 3)
    model = trained(LinearRegression(), target=(-3, 3)).fit(rows, rows[:, 0])
    assert model.score(rows, rows[:, 0]) > 0.5
    assert 1.8 < model.privacy_.epsilon(1e-6) <= 2
    assert model.privacy_.neighbours == "add-remove"
    pure = FromSynthetic(LogisticRegression(), epsilon=2, bounds=(-3, 3), classes=["n", "y"], seconds=2)
    pure.fit(rows, np.where(rows[:, 0] > 0, "y", "n"))
    assert pure.privacy_.epsilon() == 2
    assert pure.predict_proba(rows[:3]).shape == (3, 2)


def test_synthetic_rows_of_nobody_train_a_model_too() -> None:
    model = trained(LinearRegression(), target=(0, 1)).fit(np.zeros((0, 2)), [])
    assert np.isfinite(model.predict([[0.0, 0.0]])).all()


def test_a_curator_trains_on_synthetic_rows_once(tmp_path: Path) -> None:
    table = {"a": DRAW.normal(size=500), "y": DRAW.integers(0, 2, 500)}
    import pyarrow as pa

    clinic = dp.Curator(
        pa.table(table),
        unit=dp.rows(),
        columns={"a": dp.number(-3, 3), "y": dp.integer(0, 1)},
        budget=dp.Budget(epsilon=3, delta=1e-6),
        ledger=tmp_path / "a.ledger",
        people="of a test",
    )
    model = FromSynthetic(LogisticRegression(), seconds=0.2)
    fitted = clinic.fit(model, features=["a"], target="y", epsilon=1)
    spent = clinic.budget.spent.rho
    again = clinic.fit(model, features=["a"], target="y", epsilon=1)
    assert again.repeated_
    assert clinic.budget.spent.rho == spent > 0
    assert fitted.predict(pa.table({"a": [0.0]}).to_pandas()).tolist()[0] in (0, 1)


def test_what_is_trained_is_a_classifier_or_a_regressor() -> None:
    with pytest.raises(ParameterError, match="neither a classifier nor a regressor"):
        trained(KMeans()).fit([[0.0]], [1])
    with pytest.raises(ParameterError, match="target="):
        trained(LinearRegression()).fit([[0.0]], [1])
    with pytest.raises(ParameterError, match="classes="):
        trained(LogisticRegression()).fit([[0.0]], [1])
    with pytest.raises(ParameterError, match="seconds"):
        FromSynthetic(LinearRegression(), epsilon=1, bounds=(0, 1), target=(0, 1), seconds=-1).fit([[0.0]], [1])


def test_a_curve_says_what_an_epsilon_buys() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    rows = DRAW.normal(size=(400, 2))
    found = curve(GaussianNB(delta=1e-5, bounds=(-3, 3), classes=[0, 1]), rows, (rows[:, 0] > 0).astype(int), [0.1, 10], splits=2)
    assert found.scores.shape == (2, 2)
    assert "epsilon" in str(found)
    assert found.plot().get_xscale() == "log"
    for bad, said in [({"epsilons": []}, "one epsilon"), ({"epsilons": [-1]}, "epsilon"), ({"scoring": "good"}, "roc_auc")]:
        with pytest.raises(ParameterError, match=said):
            curve(GaussianNB(classes=[0, 1], bounds=(0, 1)), rows, rows[:, 0], **{"epsilons": [1], **bad})
    with pytest.raises(ParameterError, match="no model"):
        curve(LogisticRegression(), rows, rows[:, 0], [1])  # type: ignore[arg-type]


def test_coefficients_are_drawn_with_what_is_known_of_them() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    rows = DRAW.normal(size=(500, 2))
    line = learn.LinearRegression(epsilon=9, delta=1e-5, bounds=(-3, 3), target=(-3, 3)).fit(rows, rows[:, 0])
    assert [one.get_text() for one in plot_coefficients(line).get_yticklabels()] == ["x0", "x1"]
    three = learn.LogisticRegression(epsilon=9, delta=1e-5, bounds=(-3, 3), classes=[0, 1, 2]).fit(
        rows, (rows[:, 0] > 0).astype(int)
    )
    assert len(plot_coefficients(three).get_legend().get_texts()) == len(np.atleast_2d(three.coef_)) > 1
    with pytest.raises(ParameterError, match="shapes"):
        plot_coefficients(KMeans(clusters=2, epsilon=1, delta=1e-5, bounds=(-3, 3)).fit(rows))


@pytest.mark.parametrize("delta", [1e-5, None])
@pytest.mark.parametrize("unit", [None, "replace", dp.person("id", rows=2, groups=1)])
def test_what_is_measured_for_synthetic_rows_is_replayed_on_neighbours(unit: Any, delta: float | None) -> None:
    """One unit is gone, or has another row: every release moves as far as it says, and all of them cost what the fit says."""
    rows, labels = np.random.default_rng(4).normal(size=(12, 2)), np.arange(12) % 3
    ids = np.arange(12) // 2 if unit not in (None, "replace") else None

    def run(kept: Any) -> Any:
        x, y = rows[kept], labels[kept].astype(float)
        if unit == "replace" and len({*kept}) < 12:
            y[3] = np.nan
        model = FromSynthetic(LinearRegression(), epsilon=1, delta=delta, bounds=(-3, 3), target=(0, 2), unit=unit, seconds=0.2)
        return model.fit(x, y, groups=None if ids is None else ids[kept]).privacy_.to_json()

    every = np.arange(12)
    other = np.where(every == 3, 0, every) if unit == "replace" else every[(every != 3) & ((every != 2) | (ids is None))]
    found = replay(run, every, other)
    assert found.steady
    assert found.differences == ()
    assert found.releases > 3
    claimed = Privacy.from_json(run(every))
    assert (found.privacy.rho <= claimed.rho) if delta else (found.privacy.epsilon() <= claimed.epsilon())


@pytest.mark.parametrize("epsilon", [1000, 1e-10])
def test_one_class_or_nothing_but_noise_is_a_model_too(epsilon: float) -> None:
    """Many models refuse rows of one class, and noise alone may say that there are more rows than can be drawn."""
    for delta in (None, 1e-5):
        model = learn.FromSynthetic(
            LogisticRegression(), epsilon=epsilon, delta=delta, bounds=(0, 1), classes=[0, 1], seconds=1
        ).fit([[0.5]] * 50, [1] * 50)
        assert model.predict([[0.5]]).shape == (1,)
