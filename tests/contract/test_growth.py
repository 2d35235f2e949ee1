"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from contract.stores import PROMISES
from curator.hospital import curator, table
from support.share_true import ShareTrue

import discreet as dp
from discreet.curator.curator import VERBS
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


@pytest.mark.parametrize("unit", [dp.rows(), dp.person("patient", rows=3, groups=1)], ids=["rows", "persons"])
def test_a_room_above_the_curator(unit: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/toy_room.py``, and one line: its verb is a curator's, and what it releases goes through the gate."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    hospital = curator(tmp_path, unit=unit, budget=dp.Budget(rho=10**7))
    with pytest.raises(AttributeError, match="'Curator' object has no attribute 'marginal'"):
        hospital.marginal  # noqa: B018
    monkeypatch.setitem(VERBS, "marginal", "support.toy_room")
    assert "marginal" in dir(hospital)
    found = hospital.marginal("drug_use", "ward", rho=10**6)
    assert hospital.budget.spent.rho == 10**6
    assert [(entry.question, entry.state) for entry in hospital.history()] == [("6 cells of drug_use, ward", "answered")]
    assert hospital.marginal("drug_use", "ward", rho=10**6) == found
    assert hospital.budget.spent.rho == 10**6
    rows = table().select(["drug_use", "ward"]).to_pylist()
    wanted = [rows.count({"drug_use": a, "ward": b}) for a in ("yes", "no") for b in ("eye", "heart", "bone")]
    if unit == dp.rows():
        assert found == [pytest.approx(n, abs=0.5) for n in wanted]  # noise of standard deviation 1/1,414
    else:  # persons count for three of their rows, and weigh as much as they do
        assert sum(found) < sum(wanted)


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
