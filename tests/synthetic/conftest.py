"""What is measured is looked at here, not how tables are opened: those of the same columns take turns at one database."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _reopened(reopened: None) -> None:
    """See the fixture ``reopened``; databases that are opened and closed are held to their promises by the room ``engine``."""
