"""An audit replays fits at a curator on made-up neighbours: what engines hand over moves no sum further than declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from contract.models import MODELS, bare

import discreet as dp
from discreet.auditor.curators import replay_curator
from discreet.learn import rows as learnt
from discreet.mechanisms.rows.sums import Ball
from discreet.schema.table import Schema

pytestmark = pytest.mark.usefixtures("replayed")

COLUMNS = {"age": dp.integer(0, 120), "ill": dp.boolean()}
FITS: list[tuple[str, dict[str, Any], Any, Any]] = [
    ("LogisticRegression", {"steps": 2}, dp.person("pid", rows=2, groups=1), dp.Budget(epsilon=1, delta=1e-6)),
    ("GaussianNB", {}, dp.rows(), dp.Budget(epsilon=1)),
    ("AdditiveClassifier", {"rounds": 2}, dp.person("pid", rows=2, groups=1), dp.Budget(epsilon=1, delta=1e-6)),
    ("AdditiveRegressor", {"rounds": 1}, dp.person("pid", rows=1, groups=1), dp.Budget(epsilon=1)),
    ("KMeans", {"clusters": 2}, dp.person("pid", rows=1, groups=1), dp.Budget(epsilon=1, delta=1e-6)),
    ("CountNB", {}, dp.person("pid", rows=2, groups=1), dp.Budget(epsilon=1)),
    ("LogisticRegression", {}, dp.rows(neighbours="replace", size=3), dp.Budget(epsilon=1)),
    ("PCA", {"n_components": 1}, dp.rows(neighbours="replace", size=3), dp.Budget(epsilon=1, delta=1e-6)),
]


def audited(name: str, given: dict[str, Any], unit: Any, budget: Any) -> Any:
    facts = Schema(COLUMNS, unit)

    def clinic(table: Any, ledger: Path) -> Any:
        return dp.Curator(table, unit=unit, columns=COLUMNS, budget=budget, ledger=ledger, people="made up")

    def ask(curator: Any) -> object:
        model = bare(name, **given)
        number = "target" in MODELS[name]
        asked = {"target": "age" if number else "ill"} if model.supervised else {}
        fitted = curator.fit(model, features=["ill" if number else "age"], **asked, epsilon=1)
        learnt = {key: value.tolist() for key, value in vars(fitted).items() if isinstance(value, np.ndarray)}
        return [fitted.privacy_.to_json(), fitted.remarks_, learnt]

    return replay_curator(clinic, ask, facts)


@pytest.mark.parametrize(("name", "given", "unit", "budget"), FITS, ids=[one[0] for one in FITS])
@pytest.mark.usefixtures("replayed")
def test_a_fit_at_a_curator_is_not_refuted(name: str, given: dict[str, Any], unit: Any, budget: Any) -> None:
    found = audited(name, given, unit, budget)
    assert found.releases >= found.pairs > 5
    assert not found.violated, str(found)


def test_the_audit_finds_a_ball_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So would a mistake in a sensitivity be found: here it is halved."""
    monkeypatch.setattr(Ball, "sensitivity", lambda self, _: self.radius // 2)
    found = audited(*FITS[1])
    assert found.violated
    assert "moved" in str(found)


def test_the_audit_finds_a_model_that_looks_at_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = learnt.Rows.size.fget
    monkeypatch.setattr(learnt.Rows, "size", property(lambda self: whole(self) or 1 + sum(1 for _ in self.read())))
    found = audited("LogisticRegression", {"steps": 1}, dp.rows(), dp.Budget(epsilon=1, delta=1e-6))
    assert found.violated
