"""Entries: what was asked, what it cost, and what was answered; and the chain that makes them impossible to change unseen.

A ledger is a list of records, each a canonical JSON text, numbered from 0. The hash of a record is SHA-256 of the hash before it
and its own text, so whoever knows one hash knows every record up to it. There are seven kinds:

* ``opened``, record 0, and again while nothing was paid for: the ledger's id, salt and budget, who is protected, whose it is;
* ``reserved``: a question that was paid for, of which table, and the account after it. It is spent for ever, answered or not;
* ``answered``: the answer of an earlier reservation, noise included;
* ``torn``: the table changed while a reservation was counted, so that its answer is given once and never again;
* ``seen``: what a table holds now, where no payment says so;
* ``named``: whose budget it is, where the first record did not say, or said it in other words.
* ``looked``: that somebody looked at the data without noise, and what was declared then. It costs nothing that could be counted.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from discreet.privacy import Privacy

__all__ = ["START", "Entry", "Facts", "Record", "canonical", "now", "seal"]

Facts = dict[str, str | int]

START = bytes(32)  # the hash before the first record


@dataclass(frozen=True)
class Record:
    """A record as it is stored."""

    number: int
    text: str
    hash: bytes

    @property
    def facts(self) -> Facts:
        """What it says."""
        facts: Facts = json.loads(self.text)
        return facts


@dataclass(frozen=True)
class Entry:
    """A question in the ledger: reserved, or answered too."""

    number: int
    time: str  # UTC, of the reservation
    state: Literal["reserved", "answered", "looked"]
    question: str
    asked: str  # the cost as it was asked for, such as "epsilon=0.5"
    privacy: Privacy
    data: str  # fingerprint of the data
    plan: str  # hash of the plan
    answer: str | None


def canonical(facts: Facts) -> str:
    """The one text of these facts: sorted, no spaces, ASCII only.

    >>> canonical({"time": "now", "kind": "opened"})
    '{"kind":"opened","time":"now"}'
    """
    return json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def seal(before: bytes, text: str) -> bytes:
    """The hash of a record that follows the one with hash ``before``.

    >>> seal(START, "{}").hex()[:8]
    'fb1634c4'
    """
    return hashlib.sha256(before + text.encode()).digest()


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
