"""Budgets that survive: every question is paid for, durably, before data is touched.

>>> import os, tempfile
>>> from unittest.mock import patch
>>> from discreet.privacy import pure
>>> from discreet.privacy.budget import Budget
>>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_STATE_HOME=folder, LOCALAPPDATA=folder):
...     ledger = Ledger.open(folder + "/hospital.ledger", Budget(epsilon=1))
...     number = ledger.reserve(question="How many?", plan="a1", data="b2", privacy=pure(0.4), asked="epsilon=0.4")
...     account = ledger.commit(number, "42")
...     print(account)
epsilon 0.4 of 1 spent, 0.6 left
"""

from discreet.ledger.chain import Entry
from discreet.ledger.custody import adopt, create, forget, move
from discreet.ledger.ledger import Ledger

__all__ = ["Entry", "Ledger", "adopt", "create", "forget", "move"]
