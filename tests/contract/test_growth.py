"""What it takes to add one more of each kind: a toy each, and the promises that all of its kind keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract.stores import PROMISES

from discreet.ledger.store import STORES


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_a_ledger_store(promise: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file, ``support/memory_store.py``, and one line."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setitem(STORES, ".memory", "support.memory_store")
    promise(tmp_path / "clinic.memory")
    assert not (tmp_path / "clinic.memory").exists()
