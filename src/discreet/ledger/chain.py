"""The verified part of a ledger, as it is remembered between transactions.

Opening reads and checks every record. Later transactions read and check only what came after; that the rest is still the same is
shown by the last hash, which depends on all of it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger.entry import START, Entry, Facts, Record, now, seal
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget

__all__ = ["LOOKED", "Chain", "entry_of", "opening"]

_VERSION = 2  # 1: before ledgers said whose they are, and which table a question was about
_READ = (1, _VERSION)
LOOKED = "The owner looked at the data without noise; this is not private."


@dataclass
class Chain:
    """Hashes of all verified records, and what is needed to find the others quickly."""

    id: str = ""
    salt: bytes = b""
    unit: str = ""
    people: str = ""  # whose budget it is; nothing where nobody said
    hashes: list[bytes] = field(default_factory=list)
    answers: dict[int, int] = field(default_factory=dict)  # reservation -> its answer
    unanswered: set[int] = field(default_factory=set)
    asked: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # plan and data -> reservations
    tables: dict[str, str] = field(default_factory=dict)  # table -> its data when it was last opened
    torn: set[int] = field(default_factory=set)  # reservations whose table changed while it was counted
    looks: dict[int, tuple[str | None, dict[str, str]]] = field(default_factory=dict)  # without noise -> table, what was declared
    _account: str = ""  # the last one, as text

    @property
    def head(self) -> int:
        """The number of the last verified record, -1 where there is none."""
        return len(self.hashes) - 1

    @property
    def account(self) -> Account:
        """The account after the last verified record."""
        return Account.from_json(self._account)

    def extend(self, records: Iterable[Record]) -> None:
        """Verify and remember records that follow."""
        for record in records:
            number, before = len(self.hashes), self.hashes[-1] if self.hashes else START
            if record.number != number or seal(before, record.text) != record.hash:
                raise LedgerRefused(_broken(number))
            try:
                self._remember(number, record.facts)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise LedgerRefused(_broken(number)) from None
            self.hashes.append(record.hash)

    def _remember(self, number: int, facts: Facts) -> None:
        kind = facts["kind"]
        if kind == "opened" and not self.asked:
            if facts["version"] not in _READ:
                raise LedgerRefused(
                    f"This ledger has version {facts['version']}, and this discreet reads {_VERSION}; update discreet."
                )
            known = (str(facts["id"]), bytes.fromhex(str(facts["salt"])))
            if number and known != (self.id, self.salt):
                raise ValueError
            (self.id, self.salt), self.unit, self._account = known, str(facts["unit"]), str(facts["account"])
            self.people = str(facts.get("people", ""))
        elif kind == "reserved" and number > 0:
            self._account = str(facts["account"])
            self.asked.setdefault((str(facts["plan"]), str(facts["data"])), []).append(number)
            self.unanswered.add(number)
            self._see(facts)
        elif kind == "answered" and facts["reservation"] in self.unanswered:
            self.unanswered.remove(int(facts["reservation"]))
            self.answers[int(facts["reservation"])] = number
        elif kind == "torn" and facts["reservation"] in self.unanswered:
            self.torn.add(int(facts["reservation"]))
        elif kind == "named" and number > 0:
            self.people = str(facts["people"])
        elif kind == "seen" and number > 0:
            self._see(facts)
        elif kind == "looked" and number > 0:
            declared = {str(name): str(fact) for name, fact in json.loads(str(facts["declared"])).items()}
            self.looks[number] = (str(facts["table"]) if "table" in facts else None), declared
        else:
            raise ValueError

    def _see(self, facts: Facts) -> None:
        if "table" in facts:
            self.tables[str(facts["table"])] = str(facts["data"])

    def repeatable(self, plan: str, data: str) -> list[int]:
        """Reservations with this plan on this data whose answers may be given again, oldest first."""
        return [number for number in self.asked.get((plan, data), ()) if number in self.answers and number not in self.torn]

    def check(self, record: Record) -> None:
        """Whether a record that is read again is the one that was verified."""
        before = self.hashes[record.number - 1] if record.number else START
        if seal(before, record.text) != self.hashes[record.number]:
            raise LedgerRefused(_broken(record.number))


def opening(budget: Budget, unit: str = "", before: Chain | None = None) -> Facts:
    """The first record of a new ledger, or new terms for one from which nothing was paid; whose it is may be added.

    The account is kept with it: what was promised never depends on later versions.
    """
    facts: Facts = {"kind": "opened", "version": _VERSION, "time": now(), "account": budget.open().to_json(), "unit": unit}
    if before is not None:
        return facts | {"id": before.id, "salt": before.salt.hex()}
    return facts | {"id": secrets.token_hex(16), "salt": secrets.token_hex(32)}


def entry_of(reserved: Record, answered: Record | None) -> Entry:
    """The entry that a reservation and its answer, if there is one, make together."""
    facts = reserved.facts
    if facts["kind"] == "looked":
        return Entry(reserved.number, str(facts["time"]), "looked", LOOKED, "nothing", Privacy(), "", "", None)
    try:
        privacy = Privacy.from_json(str(facts["privacy"]))
    except ParameterError:
        raise LedgerRefused(
            f"Entry {reserved.number} holds a guarantee that this discreet does not know; update discreet."
        ) from None
    return Entry(
        number=reserved.number,
        time=str(facts["time"]),
        state="reserved" if answered is None else "answered",
        question=str(facts["question"]),
        asked=str(facts["asked"]),
        privacy=privacy,
        data=str(facts["data"]),
        plan=str(facts["plan"]),
        answer=None if answered is None else str(answered.facts["answer"]),
    )


def _broken(number: int) -> str:
    return (
        f"Record {number} of this ledger is damaged or was changed, so nobody knows how much was spent; restore an intact copy."
    )
