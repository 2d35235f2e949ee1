"""What curators say and spend is looked at here, not how frames are opened: those of the same columns share one database."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _reopened(reopened: None) -> None:
    """See the fixture ``reopened``; databases that are opened and closed are held to their promises by the room ``engine``."""
