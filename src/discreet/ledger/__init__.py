"""Budgets that survive: every question is paid for, durably, before data is touched."""

from discreet.ledger.entry import Entry
from discreet.ledger.ledger import Ledger
from discreet.ledger.owner import adopt, forget

__all__ = ["Entry", "Ledger", "adopt", "forget"]
