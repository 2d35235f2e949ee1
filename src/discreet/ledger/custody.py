"""Looking after ledgers: an empty one for others to pay from, one that was brought here, one that is lost, one that moves."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import LedgerRefused
from discreet.ledger import people as register
from discreet.ledger import witness
from discreet.ledger.chain import Record, now
from discreet.ledger.ledger import Ledger
from discreet.ledger.place import Named, Place, key_of, resolve
from discreet.ledger.store import store_of
from discreet.ledger.witness import resolve_writable


def create(path: Named) -> Place:
    """Make an empty ledger, whose owner may then let others pay from it; the first question begins it."""
    place = resolve_writable(path)
    if store_of(place).exists(place):
        raise LedgerRefused(f"The ledger {place} is there already, and is left alone; name another place.")
    store_of(place).create(place)
    return place


def adopt(path: Named) -> Ledger:
    """Trust a ledger that was moved, copied or restored: check its chain, and make it the one that this machine has seen.

    If it is an older copy, what was spent since is forgotten, and the budget no longer bounds what was let out.
    """
    ledger = _find(path, "adopt")
    with ledger._store.writing(ledger.path) as records:
        if records.is_empty():
            raise LedgerRefused(f"The ledger {ledger.path} is empty, and no copy; restore one, then adopt it.")
        ledger._follow(records)
        ledger._write_witness(anew=True)
    register.move(ledger.path, ledger.id)
    return ledger


def forget(path: Named) -> None:
    """Let a new ledger be made where one was deleted, or for its people. What it answered stays answered, and is not counted."""
    place = resolve(path)  # its folder may be gone too
    if store_of(place).exists(place):
        raise LedgerRefused(f"The ledger {place} is there, and is not forgotten; move it away first, and keep it.")
    if not (register.forget(place) | witness.remove(place)):
        raise LedgerRefused(f"Nobody remembers a ledger at {place}, so one can be made there as it is.")


def move(path: Named, target: Named) -> Ledger:
    """Let a ledger go on at another place, such as a server, with all that it knows; nobody pays at the old one any more.

    The old one ends before the new one begins. Whoever dies between the two moves it again, to the same place.
    """
    place, store = resolve_writable(target), store_of(resolve_writable(target))
    if resolve(path) == place:
        raise LedgerRefused(f"The ledger is at {place} already; name another place to move it to.")
    _end(path, place, None)  # what cannot leave makes nothing elsewhere
    store.create(place)
    with store.writing(place) as records:
        there = [] if records.is_empty() else records.read(0)
        kept = _end(path, place, there)
        if not there:
            records.add(*kept)
    register.rename(resolve(path), place)
    return adopt(place)


def _end(path: Named, target: Place, found: Sequence[Record] | None) -> list[Record]:
    """End the ledger at a path, durably: it goes on at the target, with these records; again where it ended so before. The
    target has ``found``: nothing, or what came of an earlier try; None only looks whether it could."""
    ledger = _find(path, "move")
    ledger._left = key_of(target)
    with (ledger._store.reading if found is None else ledger._store.writing)(ledger.path) as records:
        ledger._follow(records)
        witness.recall(ledger.path).check(ledger._chain, ledger.path)
        kept = records.read(0)[: -1 if ledger._chain.moved else None]
        if found is None:
            return kept
        if found and not (ledger._chain.moved and [*found[: len(kept)]] == kept):
            raise LedgerRefused(f"There is another ledger at {target} already; name a place where there is none.")
        if not ledger._chain.moved:
            ledger._append(records, {"kind": "moved", "time": now(), "ledger": ledger._left})
        ledger._bear_witness(records)
    return kept


def _find(path: Named, to_do: str) -> Ledger:
    ledger = Ledger(resolve_writable(path))
    if not store_of(ledger.path).exists(ledger.path):
        raise LedgerRefused(f"There is no ledger at {ledger.path} to {to_do}; check its name.")
    return ledger
