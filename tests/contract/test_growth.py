"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from contract.stores import PROMISES
from support.share_true import ShareTrue

import discreet as dp
from discreet.ledger.store import STORES
from discreet.plan import aggregates
from discreet.plan.aggregates import Asked


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_ledger_store(promise: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/memory_store.py``, and one line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setitem(STORES, ".memory", "support.memory_store")
    promise(tmp_path / "clinic.memory")
    assert not (tmp_path / "clinic.memory").exists()


def test_an_aggregate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One class, ``support/share_true.py``, and one line: SQL and Python know it; it is priced, previewed and explained."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    people = pa.table({"age": [20, 30, 40, 50] * 500, "smokes": [True, False, False, False] * 500})
    columns = {"age": dp.integer(0, 120), "smokes": dp.boolean()}
    clinic = dp.Curator(people, unit=dp.rows(), columns=columns, budget=dp.Budget(epsilon=100), ledger=tmp_path / "clinic.ledger")
    with patch.dict(aggregates.SQL), patch.dict(aggregates.PYTHON):
        aggregates.register(ShareTrue)
        asked = "SELECT share_true(age < 35) AS young, share_true(smokes) FROM data WHERE age > 0"
        preview = clinic.preview(asked, epsilon=30)
        assert [line.output for line in preview.lines] == ["young", "share_true_smokes"]
        assert "of the share, for 1,000 rows" in str(preview)
        assert [what for what, _ in preview.parts][-1] == "count(CASE WHEN smokes THEN 1 ELSE NULL END)"
        answer = clinic.sql(asked, epsilon=30)
        assert answer["young"][0] == pytest.approx(0.5, abs=0.05)  # noise of scale 1/7 on counts: 50 rows never (e^-350)
        assert answer["share_true_smokes"][0] == pytest.approx(0.25, abs=0.05)
        assert clinic.budget.spent.epsilon == 30
        named = {"young": Asked("share_true", "age < 35"), "share_true_smokes": Asked("share_true", "smokes")}
        again = clinic.where("age > 0").agg(**named).release(epsilon=30)
        assert again.repeated
        assert again["young"] == answer["young"]
        grouped = clinic.preview("SELECT age, share_true(smokes) FILTER (WHERE age > 25) AS s FROM data GROUP BY age", epsilon=1)
        assert grouped.groups == 121
        with pytest.raises(dp.errors.ParameterError, match=r"write share_true\(age >= 18\)"):
            clinic.sql("SELECT share_true(age) FROM data", epsilon=1)
    with pytest.raises(dp.errors.ParameterError, match="share_true"):
        clinic.sql(asked, epsilon=1)
