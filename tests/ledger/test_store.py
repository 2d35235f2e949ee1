"""What every store promises, of the one that ledgers are kept in unless told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from contract.stores import PROMISES

from discreet.ledger.place import Place


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_sqlite_keeps(promise: Callable[[Place], None], tmp_path: Path) -> None:
    promise(tmp_path / "clinic.ledger")
