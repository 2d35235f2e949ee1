"""Budgets that survive: every question is paid for, durably, before data is touched."""

from discreet.ledger.chain import Entry
from discreet.ledger.ledger import Ledger, adopt, forget

__all__ = ["Entry", "Ledger", "adopt", "forget"]
