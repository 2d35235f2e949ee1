"""An analysis is asked as a question is: previewed, released, bought by accuracy, in a batch, on chosen rows, again for free."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from curator.hospital import COLUMNS, curator, table
from support.toy_analysis import Both

import discreet as dp
from discreet.analysis.base import Noisy
from discreet.auditor.curators import replay_curator
from discreet.curator.question import VERBS
from discreet.errors import BudgetExceeded, ParameterError
from discreet.plan.cost import Cost
from discreet.schema.table import Schema


@pytest.fixture(autouse=True)
def _verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(VERBS, "both", "support.toy_analysis")


@pytest.fixture
def hospital(tmp_path: Path) -> dp.Curator:
    return curator(tmp_path, budget=dp.Budget(epsilon=1000))


def test_given_a_cost_it_is_released_at_once_and_again_for_free(hospital: Any) -> None:
    """The noise has scale 1/75 and 1/25 of a row: neither is off by one (below 1e-10)."""
    answer = hospital.both("drug_use", "age // 40", epsilon=100)
    assert [round(answer["cells"][0]), round(answer["n"][0])] == [len(table()), len(table())]
    assert hospital.budget.spent.epsilon == 100
    again = hospital.both("drug_use", "age // 40").release(epsilon=50)
    assert again.repeated
    assert again.rows() == answer.rows()
    assert hospital.budget.spent.epsilon == 100
    assert (again.cost, len(hospital.history())) == ("epsilon=100", 1)
    assert again.parts == answer.parts  # the noise is that which was paid for
    assert not hospital.both("drug_use", epsilon=50).repeated


def test_without_one_it_is_a_question(hospital: Any) -> None:
    question = hospital.where("age >= 40").both("drug_use")
    assert isinstance(question, Both)
    preview = question.preview(epsilon=4)
    assert preview.lines[0].error == dp.Laplace(sensitivity=1, epsilon=1).error()
    assert hospital.budget.spent.epsilon == 0
    bought = question.release(accuracy=3)
    assert 3.2 < hospital.budget.spent.epsilon < 4  # the error is a whole number
    assert bought.question == "rows by drug_use and in all, of data WHERE (age >= 40)"


def test_it_stands_in_a_batch(hospital: Any) -> None:
    answers = hospital.batch(["SELECT count(*) AS n FROM data", hospital.both("drug_use")], epsilon=200)
    assert hospital.budget.spent.epsilon == 200
    assert round(answers[0].value) == round(answers[1]["n"][0]) == len(table())
    with pytest.raises(ParameterError, match="begun by another curator"):
        hospital.batch([curator(hospital.ledger.parent / "other").both("drug_use")], epsilon=1)  # type: ignore[attr-defined]


def test_what_is_refused_costs_nothing(hospital: Any) -> None:
    for of, says in (("nobody", "nobody"), ("city", "declare categories")):
        with pytest.raises(ParameterError, match=says):
            hospital.both(of, epsilon=1)
    with pytest.raises(ParameterError, match="leave group_by"):
        hospital.group_by("drug_use").both("drug_use")
    with pytest.raises(BudgetExceeded):
        hospital.both("drug_use", epsilon=10_000)
    assert hospital.budget.spent.epsilon == 0


def test_numbers_of_any_width_are_kept_to_the_last_unit(hospital: Any) -> None:
    study = hospital.both("drug_use").priced(Cost("epsilon", Fraction(1)))
    units = ((np.array([[2**61, -5]]),), (np.array([2**70, 1], dtype=object),))
    kept = Noisy(units, study.share, "epsilon=1", ("a remark",))
    read = study.read(study.write(kept, ("another",)))
    assert [units.tolist() for plan in read.units for units in plan] == [[[2**61, -5]], [2**70, 1]]
    assert (read.units[0][0].dtype, read.cost, read.remarks) == (np.int64, "epsilon=1", ("a remark", "another"))


@pytest.mark.usefixtures("replayed")
def test_an_audit_replays_it() -> None:
    facts = Schema({"drug_use": COLUMNS["drug_use"]}, dp.rows())

    def make(held: Any, ledger: Path) -> dp.Curator:
        return dp.Curator(held, unit=facts.unit, columns=facts.columns, budget=dp.Budget(epsilon=4), ledger=ledger)

    found = replay_curator(make, lambda one: one.both("drug_use", epsilon=1), facts)  # type: ignore[attr-defined]
    assert found.releases == 2 * found.pairs > 0
    assert not found.violated
