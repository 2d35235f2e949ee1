"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract.stores import PROMISES
from curator.hospital import curator, table

import discreet as dp
from discreet.curator.curator import VERBS
from discreet.ledger.store import STORES


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
    assert [(entry.question, entry.state) for entry in hospital.history()] == [("Rows by drug_use and ward.", "answered")]
    assert hospital.marginal("drug_use", "ward", rho=10**6) == found
    assert hospital.budget.spent.rho == 10**6
    rows = table().select(["drug_use", "ward"]).to_pylist()
    wanted = [[rows.count({"drug_use": a, "ward": b}) for b in ("eye", "heart", "bone")] for a in ("yes", "no")]
    if unit == dp.rows():
        assert found == [[pytest.approx(n, abs=0.5) for n in line] for line in wanted]
    else:  # persons count for three of their rows, and weigh as much as they do
        assert sum(map(sum, found)) < sum(map(sum, wanted))
