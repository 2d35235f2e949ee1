"""A clock that the audited functions move, so that limits of time are tested whatever the machine is busy with."""

from __future__ import annotations

import sys
import time

import pytest

from discreet.auditor import audit, examine
from discreet.auditor.sampling import memory, runs


class Clock:
    """Takes the place of ``time`` in the auditor: ``tick`` passes whenever somebody looks, and what a function sleeps."""

    def __init__(self) -> None:
        self.now, self.tick = 1_000.0, 0.0

    def monotonic(self) -> float:
        self.now += self.tick
        return self.now

    def sleep(self, seconds: float) -> None:
        """Time passes; so does a moment in which the system may ring its alarm."""
        self.now += seconds
        time.sleep(0.001)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> Clock:
        for module in (sys.modules[audit.__module__], examine, memory, runs):
            monkeypatch.setattr(module, "time", self)
        return self
