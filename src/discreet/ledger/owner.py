"""What only a ledger's owner can decide: to trust another copy of it, or to begin anew."""

from __future__ import annotations

import os

from discreet.errors import LedgerRefused
from discreet.ledger import people, sqlite, witness
from discreet.ledger.ledger import Ledger
from discreet.ledger.place import resolved, writable

__all__ = ["adopt", "forget"]


def adopt(path: str | os.PathLike[str]) -> Ledger:
    """Trust a ledger that was moved, copied or restored: check its chain, and make it the one that this machine has seen.

    If it is an older copy, what was spent since is forgotten, and the budget no longer bounds what was let out.
    """
    ledger = Ledger(writable(path))
    if not ledger.path.exists():
        raise LedgerRefused(f"There is no ledger at {ledger.path} to adopt; name the file.")
    with sqlite.connect(ledger.path) as database:
        database.execute("BEGIN IMMEDIATE")
        if sqlite.is_empty(database):
            raise LedgerRefused(f"The file {ledger.path} is empty and no ledger; restore a copy, then adopt it.")
        ledger.vouch_for(database)
    people.moved(ledger.path, ledger.id)
    return ledger


def forget(path: str | os.PathLike[str]) -> None:
    """Let a new ledger be made where one was deleted, or for its people. What it answered stays answered, and is not counted."""
    place = resolved(path)  # its folder may be gone too
    if place.exists():
        raise LedgerRefused(f"The ledger {place} is there, and is not forgotten; move it away first, and keep it.")
    if not (people.forget(place) | witness.remove(place)):
        raise LedgerRefused(f"Nobody remembers a ledger at {place}, so one can be made there as it is.")
