"""What holds of every model: it is paid for, clones, takes frames, and a curator fits it, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from contract.models import MODELS, bare, make, outputs

import discreet as dp
from discreet.errors import DiscreetError, ParameterError
from discreet.learn.linear import doubt
from discreet.mechanisms.base import Recording, recorded

RANDOM = np.random.default_rng(8)
X = RANDOM.normal(size=(60, 3))
LABELS = (X[:, 0] > 0).astype(int) + (X[:, 1] > 1)


def curator(tmp_path: Path, unit: Any = None, budget: Any = None, **more: Any) -> Any:
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "drug": np.array(["x", "y"])[(X[:, 2] > 0).astype(int)]})
    frame["y"], frame["pid"] = LABELS, np.arange(60) // 2
    return dp.Curator(
        frame,
        unit=unit or dp.rows(),
        columns={"a": dp.number(-3, 3), "b": dp.number(-3, 3), "drug": dp.category("x", "y"), "y": dp.integer(0, 2)},
        budget=budget or dp.Budget(epsilon=3, delta=1e-6),
        **{"ledger": tmp_path / "clinic.ledger", "people": "of a test", **more},
    )


@pytest.mark.parametrize("name", MODELS)
def test_privacy_is_what_was_asked_for_and_spent(name: str) -> None:
    fitted = make(name).fit(X, LABELS)
    assert 0.99 < fitted.privacy_.epsilon(1e-5) <= 1
    assert fitted.privacy_.neighbours == "add-remove"
    replaced = make(name, unit="replace").fit(X, LABELS)
    assert replaced.privacy_.neighbours == "replace"
    assert replaced.privacy_.epsilon(1e-5) <= 1


@pytest.mark.parametrize("name", MODELS)
def test_frames_and_names(name: str) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    fitted = make(name, bounds={"a": (-3, 3), "b": (-3, 3), "c": [0.5, 1]}).fit(frame, pd.Series(LABELS))
    assert list(fitted.feature_names_in_) == ["a", "b", "c"]
    assert len(outputs(fitted, pl.DataFrame(X, schema=["a", "b", "c"]))) == 60
    with pytest.raises(ValueError, match="feature names"):
        outputs(fitted, frame[["b", "a", "c"]])


@pytest.mark.parametrize("name", MODELS)
def test_a_curator_fits_it_once(name: str, tmp_path: Path) -> None:
    clinic = curator(tmp_path)
    model = bare(name)
    asked: dict[str, Any] = {"features": ["a", "drug"], **({"target": "y"} if model.supervised else {})}
    offer = clinic.fit(model, **asked)
    assert "No data was read" in str(offer.preview(epsilon=1))
    assert clinic.budget.spent.epsilon == 0
    fitted = offer.release(epsilon=1)
    spent = clinic.budget.spent.rho
    again = clinic.fit(model, **asked, epsilon=0.5)
    assert again.repeated_
    assert clinic.budget.spent.rho == spent > 0
    new = pd.DataFrame({"a": [0.0, 9.0], "drug": ["x", "unheard of"]})
    assert (outputs(fitted, new) == outputs(again, new)).all()


@pytest.mark.parametrize("unit", [dp.person("pid", rows=1, groups=1), dp.rows(neighbours="replace", size=60)])
def test_whom_a_curator_protects(unit: Any, tmp_path: Path) -> None:
    fitted = curator(tmp_path, unit).fit(dp.learn.GaussianNB(), features=["a", "b"], target="y", epsilon=1)
    assert fitted.privacy_.neighbours == unit.neighbours


def test_a_curator_with_a_pure_budget(tmp_path: Path) -> None:
    clinic = curator(tmp_path, budget=dp.Budget(epsilon=2))
    assert clinic.fit(dp.learn.GaussianNB(), features=["a"], target="y", epsilon=1).privacy_.epsilon() == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"bounds": None}, "bounds=\\(0, 1\\)"),
    ({"bounds": (1, 0)}, "not below"),
    ({"bounds": {"x0": (0, 1)}}, "none for x1, x2"),
    ({"bounds": [(0, 1)]}, "3 columns"),
    ({"classes": None}, "classes=\\[0, 1\\]"),
    ({"classes": "yes"}, "no list of classes"),
    ({"classes": [0, 0]}, "twice"),
    ({"epsilon": None}, "What may this fit cost"),
    ({"epsilon": -1}, "above 0"),
    ({"delta": 2}, "delta"),
    ({"unit": "people"}, "Who is protected"),
    ({"unit": dp.rows(neighbours="replace", size=7)}, "60 were given"),
    ({"unit": dp.person("pid", rows=2, groups=1)}, "groups=ids"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_refusals_are_sentences(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        make("GaussianNB", **given).fit(X, LABELS)


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=30, delta=1e-6), dp.Budget(epsilon=30)])
@pytest.mark.parametrize("name", MODELS)
def test_a_preview_says_when_so_few_rows_say_little(name: str, budget: Any, tmp_path: Path) -> None:
    """Every model does, by declarations alone; where the number of rows is not declared, nothing is said of it."""
    model = bare(name)
    asked: dict[str, Any] = {"features": ["a", "drug"], **({"target": "y"} if model.supervised else {})}
    offer = curator(tmp_path, dp.rows(size=60), budget).fit(model, **asked)
    assert "So few rows (60) say little at this cost" in str(offer.preview(epsilon=0.01))
    assert "say little" not in str(offer.preview(epsilon=30))
    unknown = curator(tmp_path, None, budget, ledger=tmp_path / "other.ledger").fit(model, **asked)
    assert "say little" not in str(unknown.preview(epsilon=0.01))


def test_classes_are_in_the_order_of_scikit_learn() -> None:
    """So that the positive class of two is the last, whatever order they were listed in; labels that are declared to be another
    one are counted there."""
    words = np.array(["yes", "no"])[(X[:, 0] > 0).astype(int)]
    fitted = make("GaussianNB", classes=["yes", "no"], epsilon=100).fit(X, words)
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.predict([[-2, 0, 0], [2, 0, 0]]).tolist() == ["yes", "no"]
    other = make("GaussianNB", classes=dp.category("yes", "no", missing="yes"), epsilon=100)
    counts = other.fit(X, np.where(words == "yes", "who knows", "no")).class_count_
    assert np.abs(counts - [(words == "no").sum(), (words == "yes").sum()]).max() < 5


def test_a_curator_refuses_what_it_knows_better(tmp_path: Path) -> None:
    clinic = curator(tmp_path)
    for model, asked, said in [
        (make("GaussianNB"), {"features": ["a"], "target": "y"}, "declared at the curator"),
        (object(), {"features": ["a"], "target": "y"}, "no model of discreet.learn"),
        (dp.learn.GaussianNB(), {"features": [], "target": "y"}, "one feature or more"),
        (dp.learn.GaussianNB(), {"features": ["a"]}, "target="),
        (dp.learn.GaussianNB(), {"features": ["a", "a"], "target": "y"}, "twice"),
        (dp.learn.GaussianNB(), {"features": ["zzz"], "target": "y"}, "zzz"),
        (dp.learn.GaussianNB(), {"features": ["a"], "target": "b"}, "classes"),
    ]:
        with pytest.raises(DiscreetError, match=said):
            clinic.fit(model, **asked, epsilon=1)
    assert clinic.budget.spent.epsilon == 0


def test_what_is_given_again_says_what_it_cost_and_not_what_was_offered(tmp_path: Path) -> None:
    clinic = curator(tmp_path, budget=dp.Budget(epsilon=9, delta=1e-6))
    asked: dict[str, Any] = {"features": ["a"], "target": "y"}
    dear, cheap = (clinic.fit(dp.learn.GaussianNB(), **asked, epsilon=epsilon) for epsilon in (2, 0.5))
    assert cheap.repeated_
    assert cheap.privacy_ == dear.privacy_
    model, again = (clinic.synthesize(columns=["drug"], epsilon=epsilon) for epsilon in (2, 0.5))
    assert again.repeated
    assert again.privacy == model.privacy


def test_a_noisy_mean_of_the_target_goes_to_the_middle_of_its_bounds() -> None:
    """All of it stays without noise, and nothing where noise is all; between, ever more is taken off."""
    sums = np.array([[100.0, 40.0], [40.0, 30.0]])
    taken = [doubt(sums, np.full((2, 2), noise)) for noise in (0.0, 1.0, 10.0, 100.0, 1e6)]
    assert taken[0] == 0
    assert taken == sorted(taken)
    assert taken[1] < 0.001
    assert taken[-1] == pytest.approx(0.4)


@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_of_few_rows_there_is_the_private_mean_and_no_line(name: str) -> None:
    """By public facts where their number is declared, and else by a number that was bought: here without its noise, which would
    take 20 rows at epsilon 0.01 for many once in thirty times."""
    rows = np.linspace(-1, 1, 20)[:, None]
    for unit in (dp.rows(size=20), dp.rows(), dp.rows(neighbours="replace", size=20)):
        seen: list[Recording] = []

        def without_noise(release: Recording, draw: Callable[[], object], seen: list[Recording] = seen) -> object:
            seen.append(release)
            return np.zeros_like(draw()) + release.value  # type: ignore[call-overload]

        with recorded(without_noise):
            model = make(name, epsilon=0.01, bounds=(-1, 1), target=(-1, 1), unit=unit).fit(rows, rows[:, 0])
        assert [len(np.ravel(one.value)) for one in seen] == [2] * (1 if unit.size else 2)
        assert model.coef_.tolist() == [0]
        assert -1 <= model.intercept_ <= 1
        assert model.privacy_.epsilon(1e-5) <= 0.01
    many = np.repeat(rows, 200, axis=0)
    with recorded() as found:
        model = make(name, epsilon=5, bounds=(-1, 1), target=(-1, 1)).fit(many, many[:, 0])
    assert [len(np.ravel(one.value)) for one in found] == [2, 6]
    assert model.coef_[0] > 0.5


@pytest.mark.parametrize("epsilon", [300, 1000, 10**6])
def test_a_line_is_bought_in_parts_of_any_pure_epsilon(epsilon: int) -> None:
    x = np.linspace(0, 1, 50)[:, None]
    model = dp.learn.LinearRegression(epsilon=epsilon, bounds=(0, 1), target=(0, 2)).fit(x, 2 * x[:, 0])
    assert model.score(x, 2 * x[:, 0]) > 0.8
