"""Where table, ledger and mechanism meet, in one order."""

from discreet.curator.configuration import open
from discreet.curator.curator import Curator

__all__ = ["Curator", "open"]
