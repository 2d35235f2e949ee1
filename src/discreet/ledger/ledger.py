"""The ledger: one file that keeps a data set's budget, through crashes and between any number of processes.

A question is paid for before data is touched: ``reserve`` checks the account and appends a record in one serialisable
transaction, and returns when record and witness are on disk. ``commit`` does the same for the answer, before anybody sees it. A
reservation without an answer counts as spent for ever; nothing is refunded. Whatever fails, the ledger may count too much as
spent, never too little.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import sqlite, witness
from discreet.ledger.chain import LOOKED, Chain, entry_of, opening
from discreet.ledger.entry import START, Entry, Facts, Record, canonical, now, seal
from discreet.ledger.place import distrust, real
from discreet.ledger.witness import Witness
from discreet.privacy import Privacy
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget

__all__ = ["Ledger"]


class Ledger:
    """A budget on disk. Safe to share between threads, and across a fork.

    >>> import os, tempfile
    >>> from unittest.mock import patch
    >>> from discreet.privacy import pure
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, XDG_STATE_HOME=folder, LOCALAPPDATA=folder):
    ...     ledger = Ledger.open(folder + "/hospital.ledger", Budget(epsilon=1))
    ...     number = ledger.reserve(question="How many?", plan="a1", data="b2", privacy=pure(0.4), asked="epsilon=0.4")
    ...     account = ledger.commit(number, "42")
    ...     print(account)
    epsilon 0.4 of 1 spent, 0.6 left
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._chain = Chain()
        self._terms: tuple[Budget, str] | None = None  # those it was opened with

    @classmethod
    def open(cls, path: str | os.PathLike[str], budget: Budget | None = None, unit: str = "") -> Ledger:
        """The ledger at a path, checked from end to end; a new one where there was never any.

        Without a budget only an existing one is opened. ``unit`` says who is protected: costs for different ones do not add up.
        Budget and unit are fixed by the first question that is paid for.
        """
        self = cls(real(path))
        known = witness.read(self.path)
        if not self.path.exists():
            if known is not None:
                raise LedgerRefused(distrust(self.path, "is missing, but there was one"))
            if budget is None:
                raise LedgerRefused(f"There is no ledger at {self.path}; give a budget to start one.")
            sqlite.create_file(self.path)
        with sqlite.connect(self.path) as database:
            database.execute("BEGIN IMMEDIATE")
            if sqlite.is_empty(database):
                if witness.read(self.path) is not None:
                    raise LedgerRefused(distrust(self.path, "is empty, but once was not"))
                if budget is None:
                    raise LedgerRefused(f"The ledger at {self.path} is empty; give a budget to start one.")
                sqlite.create_table(database)
                self._append(database, opening(budget, unit))
                database.execute("BEGIN IMMEDIATE")
            known = witness.read(self.path)  # again, now that nobody else can write it
            self._follow(database)
            if known is not None:
                self._contains(known)
            elif self._chain.asked:  # a ledger without entries has nothing to lose: its maker crashed
                raise LedgerRefused(distrust(self.path, "has entries, but this machine and user never saw it"))
            if budget is not None:
                self._terms = (budget, unit)
                self._agree(database)
            if known is None or known.number < self._chain.head:
                self._write_witness()
        return self

    @staticmethod
    def begun(path: str | os.PathLike[str]) -> bool:
        """Whether there is a ledger at a path, or was one."""
        place = Path(os.path.realpath(path))
        return place.exists() or witness.read(place) is not None

    @property
    def salt(self) -> bytes:
        """32 random bytes, for keyed hashes that belong to this ledger."""
        return self._chain.salt

    @property
    def budget(self) -> Budget:
        """The budget that was fixed when the ledger was made."""
        return self._chain.account.budget

    @property
    def account(self) -> Account:
        """What is spent and left at this moment, whoever spent it."""
        with self._reading():
            return self._chain.account

    def history(self) -> tuple[Entry, ...]:
        """All questions, oldest first."""
        with self._reading() as (database, _):
            stored = {record.number: record for record in sqlite.records(database, self.path, 0)}
            if len(stored) != len(self._chain.hashes):
                raise LedgerRefused(distrust(self.path, "has lost records while it was open"))
            chain = self._chain
            return self._entries(stored, sorted(chain.answers.keys() | chain.unanswered | chain.looks.keys()))

    def find(self, plan: str, data: str) -> tuple[Entry, ...]:
        """Answered questions with this plan on this data, oldest first: their answers may be given again for free."""
        with self._reading() as (database, known):
            numbers = [number for number in self._chain.asked.get((plan, data), ()) if number in self._chain.answers]
            wanted = {*numbers, *(self._chain.answers[number] for number in numbers)}
            stored = {number: sqlite.record(database, self.path, number) for number in wanted}
            found = self._entries(stored, numbers)
        if wanted and max(wanted) > known.number:  # an answer may leave only after its witness
            with self._writing() as database:
                self._bear_witness(database)
        return found

    def reserve(
        self, *, question: str, plan: str, data: str, privacy: Privacy, asked: str, amount: Fraction | None = None
    ) -> int:
        """Pay for a question, durably; its number. Raises ``BudgetExceeded``, with nothing spent, where it does not fit.

        ``asked`` says the cost as it was asked for ("epsilon=0.5"), ``amount`` the epsilon in it if there is one.
        """
        with self._writing() as database:
            account = self._chain.account.spend(privacy, amount)
            facts: Facts = {"kind": "reserved", "time": now(), "question": question, "plan": plan, "data": data, "asked": asked}
            number = self._append(database, facts | {"privacy": privacy.to_json(), "account": account.to_json()})
            self._bear_witness(database)
        return number

    def look(self, declared: Mapping[str, str]) -> None:
        """Note, durably and before it happens, that somebody looks at the data without noise, and what is declared now.

        It costs nothing that could be counted, and fixes neither budget nor unit: the owner may be about to correct them.
        """
        with self._writing() as database:
            chain = self._chain
            looked: Facts = {"looked": json.dumps(dict(declared), sort_keys=True)}
            facts = opening(self.budget, chain.unit, chain)
            if chain.asked:
                facts = {"kind": "reserved", "time": now(), "question": LOOKED, "plan": "", "data": "", "asked": "nothing"}
                facts |= {"privacy": Privacy().to_json(), "account": chain.account.to_json()}
            self._append(database, facts | looked)
            self._bear_witness(database)

    @property
    def looks(self) -> tuple[Mapping[str, str], ...]:
        """What was declared whenever somebody looked, as far as was read."""
        return tuple(self._chain.looks.values())

    def commit(self, number: int, answer: str) -> Account:
        """Keep the answer of a reservation, durably; only then may anybody see it. What is then spent and left."""
        with self._writing() as database:
            if number not in self._chain.unanswered:
                state = "was answered already" if number in self._chain.answers else "does not exist"
                raise ParameterError(f"Reservation {number} {state}; commit what reserve() returned, once.")
            self._append(database, {"kind": "answered", "time": now(), "reservation": number, "answer": answer})
            self._bear_witness(database)
            return self._chain.account

    def _agree(self, database: sqlite3.Connection) -> None:
        """Hold the ledger to our terms: change them where nothing was paid for under others, else refuse."""
        if self._terms is None:
            return
        budget, unit = self._terms
        while not self._chain.asked and self._terms != (self.budget, self._chain.unit):
            self._append(database, opening(budget, unit, self._chain))
            database.execute("BEGIN IMMEDIATE")  # between the two, others may have changed the terms, and paid
            self._follow(database)
        if self._terms == (self.budget, self._chain.unit):
            return
        if budget != self.budget:
            raise LedgerRefused(
                f"The ledger {self.path} has the budget ({self.budget}), not ({budget}). A budget is fixed by the first question "
                "that is paid for; open it with its own, or name another ledger for other data."
            )
        raise LedgerRefused(
            f"The ledger {self.path} adds up what it costs {self._chain.unit}, and not {unit}, which is another guarantee. "
            "Open it with its own unit, or name another ledger for other data."
        )

    # Transactions.

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Witness]]:
        known = self._known()  # before the snapshot: others may go on meanwhile
        with sqlite.connect(self.path) as database:
            database.execute("BEGIN")
            self._follow(database)
            self._contains(known)
            yield database, known

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with sqlite.connect(self.path) as database:
            database.execute("BEGIN IMMEDIATE")
            self._follow(database)
            self._contains(self._known())
            self._agree(database)
            yield database

    def _append(self, database: sqlite3.Connection, facts: Facts) -> int:
        """Add the next record and commit. It is verified like any other when it is next read."""
        chain, text = self._chain, canonical(facts)
        before = chain.hashes[-1] if chain.hashes else START
        sqlite.add(database, Record(chain.head + 1, text, seal(before, text)))
        return chain.head + 1

    def _follow(self, database: sqlite3.Connection) -> None:
        """Verify what was added since we last looked, and that what we knew is still there."""
        chain = self._chain
        news = sqlite.records(database, self.path, max(chain.head, 0))
        if chain.hashes:
            if not news or news[0].number != chain.head or news[0].hash != chain.hashes[-1]:
                raise LedgerRefused(distrust(self.path, "was exchanged or rolled back while it was open"))
            chain.check(news.pop(0))
        chain.extend(news)
        if not chain.hashes:
            raise LedgerRefused(f"{self.path} has lost its first record, so nobody knows how much was spent; restore a copy.")

    def _known(self) -> Witness:
        known = witness.read(self.path)
        if known is None:
            raise LedgerRefused(distrust(self.path, "has lost its witness"))
        return known

    def _contains(self, known: Witness) -> None:
        chain = self._chain
        if known.ledger != chain.id:
            raise LedgerRefused(distrust(self.path, "is not the one that was here before"))
        if known.number > chain.head:
            raise LedgerRefused(distrust(self.path, f"ends at record {chain.head}, but record {known.number} was seen"))
        if known.hash != chain.hashes[known.number]:
            raise LedgerRefused(distrust(self.path, "has records that differ from those seen before"))

    def _bear_witness(self, database: sqlite3.Connection) -> None:
        """Write the witness under the ledger's write lock: whoever writes it last has seen the most."""
        if not database.in_transaction:
            database.execute("BEGIN IMMEDIATE")
            self._follow(database)
        self._write_witness()

    def vouch_for(self, database: sqlite3.Connection) -> None:
        """Check the chain from end to end, and make this ledger the one that was seen here."""
        self._follow(database)
        self._write_witness()

    def _write_witness(self) -> None:
        witness.write(self.path, Witness(self._chain.id, self._chain.head, self._chain.hashes[-1]))

    def _entries(self, stored: dict[int, Record], numbers: list[int]) -> tuple[Entry, ...]:
        for record in stored.values():
            self._chain.check(record)
        answers = {number: stored[self._chain.answers[number]] for number in numbers if number in self._chain.answers}
        return tuple(entry_of(stored[number], answers.get(number)) for number in numbers)
