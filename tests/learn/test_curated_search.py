"""Searches and scores at a curator: one request each, paid once, and nothing of it in the ledger but what came out."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.errors import EngineError, ParameterError
from discreet.learn import GaussianNB, KMeans, LogisticRegression, PrivateSearch, Ridge
from discreet.learn.around import trials
from discreet.learn.around.scoring import mark
from discreet.learn.features import feature_of
from discreet.mechanisms.rows import held
from discreet.mechanisms.rows.block import MISSING, Block, Blocks
from discreet.mechanisms.rows.sums import Ball
from discreet.mechanisms.secret import Secret, open_secret
from discreet.privacy.losses.base import tanh_rho
from discreet.schema.table import Schema

AGE = np.arange(400) % 100
TABLE = pa.table({"age": AGE, "drug": np.where(AGE % 2, "a", "b"), "ill": AGE > 50, "pid": np.arange(400) // 2})
COLUMNS = {"age": dp.integer(0, 100), "drug": dp.category("a", "b"), "ill": dp.boolean()}
FEATURES = {"features": ["age", "drug"], "target": "ill"}
BUDGETS: dict[str, tuple[Any, dict[str, Any]]] = {
    "pure": (dp.Budget(epsilon=40), {"epsilon": 4}),
    "approximate": (dp.Budget(epsilon=40, delta=1e-3), {"epsilon": 4}),
    "concentrated": (dp.Budget(rho=40), {"rho": 2}),
}
UNITS = {"rows": dp.rows(), "declared": dp.rows(size=400), "persons": dp.person("pid", rows=2, groups=1)}


def clinic(tmp_path: Path, budget: str = "pure", unit: str = "rows", table: Any = TABLE) -> Any:
    ledger = tmp_path / "clinic.ledger"
    return dp.Curator(table, unit=UNITS[unit], columns=COLUMNS, budget=BUDGETS[budget][0], ledger=ledger, people="of a test")


def two(**given: Any) -> PrivateSearch:
    return PrivateSearch([GaussianNB(), LogisticRegression(steps=2)], **{"runs": 2, **given})


CASES = [
    ("pure", "repeat", "persons"),
    ("approximate", "repeat", "rows"),
    ("concentrated", "repeat", "declared"),
    ("pure", "exponential", "rows"),
    ("approximate", "exponential", "persons"),
]


@pytest.mark.parametrize(("budget", "method", "unit"), CASES)
def test_a_search_is_one_request_paid_once(budget: str, method: str, unit: str, tmp_path: Path) -> None:
    curator, cost = clinic(tmp_path, budget, unit), BUDGETS[budget][1]
    offer = curator.fit(two(method=method), **FEATURES)
    said = str(offer.preview(**cost))
    assert "No data was read" in said
    assert "runs of 2 models" in said or "private choice" in said
    assert curator.budget.spent == BUDGETS[budget][0].open().spent
    found = offer.release(**cost)
    spent = curator.budget.spent
    assert found.predict(TABLE.to_pandas()[["age", "drug"]]).shape == (400,)
    assert found.best_estimator_.privacy_ == found.privacy_
    assert list(found.feature_names_in_) == ["age", "drug"]
    again = curator.fit(two(method=method), **FEATURES, **cost)
    assert again.repeated_
    assert (again.best_index_, again.best_score_) == (found.best_index_, found.best_score_)
    assert curator.budget.spent == spent
    other = curator.fit(two(method=method, held=0.5), **FEATURES, **cost)
    assert not other.repeated_


def test_the_ledger_knows_nothing_of_other_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither how many there were nor what they found: with one run and with five the same kinds of things are written."""
    kinds = []
    for runs in (1, 5):
        monkeypatch.setitem(trials._DRAWS, "logarithmic", lambda _, runs=runs: runs)
        (tmp_path / str(runs)).mkdir()
        curator = clinic(tmp_path / str(runs))
        curator.fit(two(), **FEATURES, epsilon=4)
        (entry,) = curator._desk.view().history()
        facts = json.loads(json.loads(entry.answer)["answers"][0])
        assert facts["state"].keys() == {"index", "score", "state"}
        kinds.append((entry.question, entry.asked, entry.privacy, sorted(facts)))
    assert kinds[0] == kinds[1]


def test_what_is_charged_is_the_whole_search(tmp_path: Path) -> None:
    """Under a rho it is an (e, delta) whose price is at most that rho; a run has far less."""
    for rho in (Fraction(1, 1000), Fraction(1, 2), Fraction(9)):
        epsilon = trials.epsilon_of(rho)
        assert 0.999 * rho < tanh_rho(epsilon) <= rho
    request = clinic(tmp_path, "approximate").fit(two(), **FEATURES)._request(dp_terms(epsilon=4))
    plan = request.asked.model._plan_of(request.share, 2)
    (loss, count) = request.price.privacy.parts[0]
    assert (count, tanh_rho(loss.pure) <= request.share.amount) == (1, True)
    assert plan.often.total(plan.cost.amount).delta(float(loss.pure)) <= float(request.share.delta)


def dp_terms(**given: Any) -> Any:
    from discreet.plan.cost import Terms

    return Terms(**given)


def test_a_candidate_that_fails_ends_the_search_and_says_nothing_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def learn(*_: object) -> Any:
        raise ValueError("a row with age 77")

    monkeypatch.setattr(GaussianNB, "_learn", learn)
    curator = clinic(tmp_path)
    with pytest.raises(EngineError) as found:
        curator.fit(PrivateSearch([GaussianNB()], runs=2), **FEATURES, epsilon=4)
    assert "77" not in str(found.value)
    assert found.value.__cause__ is found.value.__context__ is None
    assert curator.budget.spent.epsilon == 4


def by_parity(blocks: Blocks, share: Fraction) -> Any:  # noqa: ARG001
    """Coins that know a unit by what it holds, as a replay needs them."""
    for secret in blocks:
        block = open_secret(secret)
        first = np.asarray(block["0"])
        units = first % 2 == 0 if block.starts is None else (first % 2 == 0)[block.starts]
        yield Secret(Block({**block.columns, held._COIN: block.rows_of(units)}, block.height, block.starts))


def audited(monkeypatch: pytest.MonkeyPatch, ask: Any, unit: Any) -> Any:
    columns = {"age": dp.integer(0, 100), "ill": dp.boolean()}
    monkeypatch.setattr(held, "_toss", by_parity)
    monkeypatch.setattr(trials, "uniform", lambda below, size: np.zeros(size, dtype=np.int64) + below - 1)
    monkeypatch.setitem(trials._DRAWS, "logarithmic", lambda _: 1)

    def make(table: Any, ledger: Path) -> Any:
        return dp.Curator(table, unit=unit, columns=columns, budget=dp.Budget(epsilon=1), ledger=ledger, people="made up")

    return replay_curator(make, ask, Schema(columns, unit))


def search(curator: Any) -> object:
    found = curator.fit(PrivateSearch([GaussianNB()], runs=2), features=["age"], target="ill", epsilon=1)
    return [found.best_index_, found.best_score_, found.privacy_.to_json()]


@pytest.mark.usefixtures("replayed")
def test_a_search_is_not_refuted_by_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = audited(monkeypatch, search, dp.person("pid", rows=2, groups=1))
    assert found.releases >= found.pairs > 5
    assert not found.violated, str(found)


FITTED = GaussianNB(epsilon=50, bounds=(0, 100), classes=[False, True]).fit(AGE[:, None], AGE > 50)


@pytest.mark.usefixtures("replayed")
def test_a_score_is_not_refuted_by_an_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(curator: Any) -> object:
        found = curator.score(FITTED, features=["age"], target="ill", epsilon=1)
        return [found.value, found.interval, found.privacy.to_json()]

    unit = dp.person("pid", rows=2, groups=1)
    found = audited(monkeypatch, ask, unit)
    assert found.releases >= found.pairs > 5
    assert not found.violated, str(found)
    monkeypatch.setattr(Ball, "sensitivity", lambda self, _: self.radius // 4)
    assert audited(monkeypatch, ask, unit).violated


@pytest.mark.parametrize(("budget", "unit"), list(zip(BUDGETS, reversed(UNITS), strict=True)))
def test_a_score_is_paid_once_and_its_interval_holds_what_is_there(budget: str, unit: str, tmp_path: Path) -> None:
    """Of intervals at 1 - 1e-9."""
    curator, cost = clinic(tmp_path, budget, unit), BUDGETS[budget][1]
    asked: dict[str, Any] = {"features": ["age"], "target": "ill", "confidence": 1 - 1e-9}
    offer = curator.score(FITTED, **asked)
    said = str(offer.preview(**cost))
    assert "No data was read" in said
    assert "each counted within" in said
    found = offer.release(**cost)
    truth = float((FITTED.predict(AGE[:, None]) == (AGE > 50)).mean())
    assert found.name == "accuracy"
    assert found.interval[0] <= truth <= found.interval[1]
    spent = curator.budget.spent
    again = curator.score(FITTED, **asked, **cost)
    assert (again.value, again.interval, again.confidence) == (found.value, found.interval, found.confidence)
    assert curator.budget.spent == spent
    assert "Asked before" in str(offer.preview(**cost))
    curator.score(FITTED, **{**asked, "confidence": 0.9}, **cost)
    assert curator.budget.spent != spent


def test_a_score_of_a_number_and_of_a_search(tmp_path: Path) -> None:
    curator = clinic(tmp_path)
    line = Ridge(epsilon=50, bounds=[["a", "b"]], target=(0, 100)).fit([["a"], ["b"]] * 50, [49.0, 51.0] * 50)
    found = curator.score(line, features=["drug"], target="age", epsilon=10)
    said = line.predict(np.array([["a"], ["b"]], dtype=object))
    truth = float(((np.where(AGE % 2, said[0], said[1]) - AGE) ** 2).mean())
    assert found.name == "mean squared error"
    assert found.value == pytest.approx(truth, rel=0.2)
    search = curator.fit(two(method="exponential"), **FEATURES, epsilon=10)
    assert 0 <= curator.score(search, **FEATURES, epsilon=1).value <= 1


def test_models_are_told_apart_by_what_they_predict() -> None:
    other = GaussianNB(epsilon=50, bounds=(0, 100), classes=[False, True]).fit(AGE[:, None], AGE > 50)
    assert mark(FITTED) == mark(FITTED)
    assert mark(FITTED) != mark(other)


REFUSED: list[tuple[Any, str]] = [
    (lambda one: one.fit(PrivateSearch([GaussianNB(classes=[0, 1])]), **FEATURES, epsilon=1), "declared at the curator"),
    (lambda one: one.fit(two(unit="replace"), **FEATURES, epsilon=1), "declared at the curator"),
    (lambda one: one.fit(PrivateSearch([GaussianNB(epsilon=1)]), **FEATURES, epsilon=1), "leave epsilon out"),
    (lambda one: one.fit(PrivateSearch([KMeans(clusters=2)]), **FEATURES, epsilon=1), "no classifier"),
    (lambda one: one.fit(PrivateSearch([Ridge()]), **FEATURES, epsilon=1), "number has bounds"),
    (lambda one: one.fit(two(method="best"), **FEATURES, epsilon=1), "no way to search"),
    (lambda one: one.fit(two(held=2), **FEATURES, epsilon=1), "held"),
    (lambda one: one.fit(two(runs=0), **FEATURES, epsilon=1), "runs=20"),
    (lambda one: one.fit(PrivateSearch(LogisticRegression(), {"steps": [0]}), **FEATURES, epsilon=1), "steps"),
    (lambda one: one.fit(two(), features=["age"], epsilon=1), "target"),
    (lambda one: one.score(FITTED, features=["age", "drug"], target="ill", epsilon=1), "1 inputs"),
    (lambda one: one.score(FITTED, features=["age"], target="drug", epsilon=1), "class of this model"),
    (lambda one: one.score(FITTED, features=[], target="ill", epsilon=1), "one feature or more"),
    (lambda one: one.score(FITTED, features=["age"], target="ill", epsilon=1, confidence=1), "confidence"),
    (lambda one: one.score(KMeans(clusters=2), features=["age"], target="ill", epsilon=1), "no classifier"),
    (lambda one: one.score(FITTED, features=["age"], epsilon=1), "target"),
]


@pytest.mark.parametrize(("ask", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_is_refused_before_anything_is_paid(ask: Any, said: str, tmp_path: Path) -> None:
    curator = clinic(tmp_path)
    with pytest.raises(ParameterError, match=said):
        ask(curator)
    assert curator.budget.spent.epsilon == 0


@pytest.mark.parametrize("persons", [False, True])
def test_units_are_divided_once(persons: bool) -> None:
    """Every unit is in one of the parts, whole, and in the same one whenever it is read."""
    numbers = np.arange(600)
    starts = np.arange(0, 200, 2) if persons else None
    given = [Block({"0": numbers[at : at + 200]}, 200, starts) for at in (0, 200, 400)]
    kept, tried = held.divide(lambda: map(Secret, given), Fraction(1, 4))
    first, second = ([open_secret(one) for one in part()] for part in (kept, tried))
    values = [np.concatenate([one["0"] for one in part]) for part in (first, second)]
    assert sorted(np.concatenate(values).tolist()) == numbers.tolist()
    assert 50 < len(values[1]) < 280  # of 150 expected: seven standard deviations and more
    again = np.concatenate([open_secret(one)["0"] for one in tried()])
    assert (again == values[1]).all()
    if persons:
        assert all((np.diff(one["0"])[::2] == 1).all() for one in (*first, *second))
        assert all(np.array_equal(one.starts, np.arange(0, one.height, 2)) for one in (*first, *second))


@pytest.mark.parametrize("column", [*COLUMNS.values(), dp.number(-1, 2, step=0.25), dp.date("2019-06-01", "2020-02-29")], ids=str)
def test_cells_are_what_codes_stand_for(column: Any) -> None:
    """Read again, they are the same codes: a model is scored on the rows that an engine read."""
    feature = feature_of("x", column)
    most = feature.steps if feature.values is None else len(feature.values) - 1
    codes = np.array([0, most, most // 2, MISSING])
    assert (feature.code(feature.cells(codes)) == codes).all()
