from __future__ import annotations

import pytest
from support.clock import Clock

from discreet.engine.sql.engine import SqlEngine


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock().install(monkeypatch)


@pytest.fixture
def unrehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions are not tried out on a table without rows first: the same for all neighbours, and half of the time."""
    monkeypatch.setattr(SqlEngine, "rehearse", lambda *_: None)
