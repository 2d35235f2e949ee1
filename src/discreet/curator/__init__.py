"""Where table, ledger and mechanism meet, in one order."""

from discreet.curator.curator import Curator
from discreet.curator.opening import open

__all__ = ["Curator", "open"]
