"""Budgets that survive: every question is paid for, durably, before data is touched."""

from discreet.ledger.chain import Entry
from discreet.ledger.custody import adopt, create, forget, move
from discreet.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger", "adopt", "create", "forget", "move"]
