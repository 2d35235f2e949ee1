"""Entries: what was asked, what it cost, and what was answered; and the chain that makes them impossible to change unseen.

A ledger is a list of records, each a canonical JSON text, numbered from 0. The hash of a record is SHA-256 of the hash before it
and its own text, so whoever knows one hash knows every record up to it. There are ten kinds:

* ``opened``, record 0, and again while nothing was paid for: the ledger's id, salt and budget, who is protected, whose it is;
* ``reserved``: a question that was paid for, of which table and rows, and the account after it. It is spent for ever, answered
  or not;
* ``answered``: the answer of an earlier reservation, noise included;
* ``step``: what a reservation let out on the way to its answer, noise included, or is about to let out, for whoever goes on;
* ``torn``: the table changed while a reservation was counted, so that its answer is given once and never again;
* ``seen``: what a table holds now, or which rows those are, where no payment says so;
* ``named``: whose budget it is, where the first record did not say, or said it in other words;
* ``looked``: that somebody looked at the data without noise, and what was declared then. It costs nothing that could be counted;
* ``joined``: the table pays from another ledger, which has the looks; nothing was ever paid from this one, and nothing will be;
* ``moved``: the ledger ends here and goes on at another place, with all records before this one.

A ``Chain`` is the verified part of a ledger, as it is remembered between transactions. Opening reads and checks every record.
Later transactions read and check only what came after; that the rest is still the same is shown by the last hash, which depends
on all of it. What this process added itself is remembered as it was written; a record that is given back is checked once more.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Literal

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger.place import Place, typed
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget

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


@dataclass(frozen=True)
class Rows:
    """The rows of a table, whatever holds them and in whatever order: a hash of what is declared of them, and a keyed hash of
    what they are under it; nothing where that is not known."""

    declared: str = ""
    content: str = ""


UNKNOWN = Rows()


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
    sealed = hashlib.sha256(before)
    sealed.update(text.encode())  # not put together: answers may be long
    return sealed.digest()


def now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_VERSION = 2  # 1: before ledgers said whose they are, and which table a question was about
_READ = (1, _VERSION)
BEGIN = 256  # letters of an answer that are remembered
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
    begins: dict[int, str] = field(default_factory=dict)  # reservation -> the first words of its answer, which may be long
    unanswered: set[int] = field(default_factory=set)
    steps: dict[int, list[int]] = field(default_factory=dict)  # reservation -> what was kept on the way to its answer
    asked: dict[tuple[str, str], list[int]] = field(default_factory=dict)  # plan and data -> reservations
    held: dict[str, dict[str, None]] = field(default_factory=dict)  # plan -> the data that it was asked of, in order
    tables: dict[str, str] = field(default_factory=dict)  # table -> its data when it was last opened
    contents: dict[tuple[str, str], str] = field(default_factory=dict)  # data, and what is declared of them -> their rows
    alike: dict[Rows, dict[str, None]] = field(default_factory=dict)  # rows -> the data that are these
    torn: set[int] = field(default_factory=set)  # reservations whose table changed while it was counted
    looks: dict[int, tuple[str | None, dict[str, str]]] = field(default_factory=dict)  # without noise -> table, what was declared
    joined: str = ""  # the ledger that its table pays from instead
    moved: str = ""  # where it goes on
    elder: bool = False  # whether there are reservations whose plans may be known by hashes of before
    _account: str = ""  # the last one, as text
    _read: tuple[str, Account] | None = None  # what such a text says, which never changes

    @property
    def head(self) -> int:
        """The number of the last verified record, -1 where there is none."""
        return len(self.hashes) - 1

    @property
    def account(self) -> Account:
        """The account after the last verified record."""
        if self._read is None or self._read[0] != self._account:
            self._read = (self._account, Account.from_json(self._account))
        return self._read[1]

    def extend(self, records: Iterable[Record]) -> None:
        """Verify and remember records that follow."""
        for record in records:
            number, before = len(self.hashes), self.hashes[-1] if self.hashes else START
            if record.number != number or seal(before, record.text) != record.hash:
                raise LedgerRefused(_describe_damage(number))
            try:
                self._remember(number, record.facts)
            except (KeyError, TypeError, ValueError, AttributeError):
                raise LedgerRefused(_describe_damage(number)) from None
            self.hashes.append(record.hash)

    def append(self, record: Record, facts: Facts) -> None:
        """Remember a record of these facts that was sealed here, and is the next in the store."""
        self._remember(record.number, facts)
        self.hashes.append(record.hash)

    def know(self, text: str, account: Account) -> None:
        """Remember the account that was written so: while the last record says it, it need not be read."""
        self._read = (text, account)

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
            self.held.setdefault(str(facts["plan"]), {})[str(facts["data"])] = None
            self.unanswered.add(number)
            self.elder |= "digest" not in facts
            self._see(facts)
        elif kind == "answered" and facts["reservation"] in self.unanswered:
            self.unanswered.remove(int(facts["reservation"]))
            self.answers[int(facts["reservation"])] = number
            self.begins[int(facts["reservation"])] = str(facts["answer"])[:BEGIN]
        elif kind == "step" and facts["reservation"] in self.unanswered:
            self.steps.setdefault(int(facts["reservation"]), []).append(number)
        elif kind == "torn" and facts["reservation"] in self.unanswered:
            self.torn.add(int(facts["reservation"]))
        elif kind == "named" and number > 0:
            self.people = str(facts["people"])
        elif kind == "seen" and number > 0:
            self._see(facts)
        elif kind == "looked" and number > 0:
            declared = {str(name): str(fact) for name, fact in json.loads(str(facts["declared"])).items()}
            self.looks[number] = (str(facts["table"]) if "table" in facts else None), declared
        elif kind == "joined" and not self.asked:
            self.joined = str(facts["ledger"])
        elif kind == "moved" and number > 0 and not self.moved:
            self.moved = str(facts["ledger"])
        else:
            raise ValueError

    def _see(self, facts: Facts) -> None:
        if "table" in facts:
            self.tables[str(facts["table"])] = str(facts["data"])
        if "rows" in facts:
            data, rows = str(facts["data"]), Rows(str(facts["declared"]), str(facts["rows"]))
            self.contents[data, rows.declared] = rows.content
            self.alike.setdefault(rows, {})[data] = None

    def rows_of(self, data: str, declared: str) -> Rows:
        """The rows that data are under what is declared of them, as far as that is known."""
        return Rows(declared, self.contents.get((data, declared), ""))

    def same_as(self, data: str, rows: Rows) -> list[str]:
        """These data, and others that hold the same rows, which are those given or, where nothing is, those known."""
        known = rows if rows.content else self.rows_of(data, rows.declared)
        return [data, *(one for one in self.alike.get(known, ()) if one != data)] if known.content else [data]

    def repeatable(self, plans: Sequence[str] | None, data: Sequence[str]) -> list[int]:
        """Reservations with one of these plans (None: with any) on one of these data whose answers may be given again, oldest
        first."""
        plans = [plan for plan, held in self.held.items() if not held.keys().isdisjoint(data)] if plans is None else plans
        asked = sorted({number for plan in plans for one in data for number in self.asked.get((plan, one), ())})
        return [number for number in asked if number in self.answers and number not in self.torn]

    def apart(self, plans: Sequence[str], data: str, rows: Rows) -> list[str]:
        """Other data on which one of these plans was asked, of which nobody knows whether they are the same rows."""
        others = (one for plan in plans for one in self.held.get(plan, ()) if one != data)
        return [one for one in others if not (rows.content and self.rows_of(one, rows.declared).content)]

    def unfinished(self, plan: str, data: Sequence[str]) -> list[int]:
        """Reservations with this plan on one of these data that have steps and no answer, oldest first; none whose table changed
        meanwhile."""
        asked = sorted(number for one in data for number in self.asked.get((plan, one), ()))
        return [one for one in asked if one in self.unanswered - self.torn and one in self.steps]

    def entries(self, stored: dict[int, Record], numbers: Sequence[int]) -> tuple[Entry, ...]:
        """The entries of these reservations, of records that are checked once more."""
        for record in stored.values():
            self.check(record)
        answers = {number: stored[self.answers[number]] for number in numbers if number in self.answers}
        return tuple(entry_of(stored[number], answers.get(number)) for number in numbers)

    def check(self, record: Record) -> None:
        """Whether a record that is read again is the one that was verified."""
        before = self.hashes[record.number - 1] if record.number else START
        if seal(before, record.text) != self.hashes[record.number]:
            raise LedgerRefused(_describe_damage(record.number))


@dataclass(frozen=True)
class Terms:
    """What a ledger is opened with: a budget, who is protected, and whose budget it is, which may be left to the ledger."""

    budget: Budget
    unit: str
    people: str

    def held_by(self, chain: Chain) -> bool:
        """Whether a ledger has these terms."""
        named = not self.people or alike(self.people, chain.people)
        return named and self.unit == chain.unit and self.budget == chain.account.budget

    def check(self, chain: Chain, path: Place) -> None:
        """Refuse terms under which others have paid; whose a ledger is may be said where it does not say so."""
        if chain.joined:
            raise LedgerRefused(
                f"Nothing was ever paid from {path}, and nothing can be: its table pays from another ledger now; write "
                f'ledger="{chain.joined}".'
            )
        if self.budget != chain.account.budget:
            raise LedgerRefused(
                f"The ledger {path} has the budget ({chain.account.budget}), not ({self.budget}). A budget is fixed by the first "
                "question that is paid for; open it with its own, or name another ledger for other people."
            )
        if self.unit != chain.unit:
            raise LedgerRefused(
                f"The ledger {path} adds up what it costs {chain.unit}, and not {self.unit}, which is another guarantee. "
                "Open it with its own unit, or name another ledger for other people."
            )
        if self.people and chain.people and not alike(self.people, chain.people):
            raise LedgerRefused(
                f"The ledger {path} is the budget of {chain.people}, not of {self.people}. Write "
                f'people="{chain.people}", or name another ledger for others; to say it in other words from now on, run: '
                f'discreet ledger people {typed(path)} "{self.people}".'
            )


def alike(one: str, other: str) -> bool:
    """Whether two names mean the same people: capitals make no others."""
    return one.casefold() == other.casefold()


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


def _describe_damage(number: int) -> str:
    return (
        f"Record {number} of this ledger is damaged or was changed, so nobody knows how much was spent; restore an intact copy."
    )
