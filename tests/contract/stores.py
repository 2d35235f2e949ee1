"""The promises of a ledger's store, whichever it is: each takes the place of a ledger that does not exist yet.

``MEMBERS`` are the stores. Crashes and races, which need processes of their own, run over all of them in ``tests/ledger``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.postgres import server

from discreet.errors import BudgetExceeded, DiscreetError, LedgerRefused
from discreet.ledger import Ledger, adopt, forget, witness
from discreet.ledger.chain import Record
from discreet.ledger.place import Place, resolve, typed
from discreet.ledger.store import store_of
from discreet.privacy import pure
from discreet.privacy.budget import Budget

__all__ = ["MEMBERS", "PROMISES", "Member"]


@dataclass(frozen=True)
class Member:
    """A store: where a new ledger of it may be, and a program that makes a process die between adding and committing."""

    name: str
    place: Callable[[Path, str], Place]  # of a folder that only one test has, and a name
    dying: str


def _table(folder: Path, name: str) -> Place:
    words = re.sub("[^a-z0-9]+", "_", f"{folder.parent.name[-6:]} {folder.name[-24:]}".lower()), re.sub("[^a-z0-9]+", "_", name)
    return resolve(server().url() + f"&ledger=t_{words[0][-28:]}.{words[1]}")


MEMBERS = (
    Member(
        "sqlite",
        lambda folder, name: folder / name,
        """
def add(connection, *records):
    for record in records:
        connection.execute("INSERT INTO records VALUES (?, ?, ?)", (record.number, record.text, record.hash))
    die()
store.add = add
""",
    ),
    Member("postgresql", _table, "store.commit = lambda connection: die()"),
)

BUDGET = Budget(epsilon=1)


def pay(ledger: Ledger, epsilon: float = 0.1, plan: str = "p") -> int:
    return ledger.reserve(question="?", plan=plan, data="d", privacy=pure(epsilon), asked=f"epsilon={epsilon}")


def records_only_grow(place: Place) -> None:
    store = store_of(place)
    assert not store.exists(place)
    store.create(place)
    assert store.exists(place)
    assert not store.begun(place)
    texts = ["{}", '{"a":1}', '{"b":2}']
    with store.writing(place) as records:
        assert records.is_empty()
        for number, text in enumerate(texts):
            records.lock()
            records.add(Record(number, text, bytes([number]) * 32))
    store.create(place)  # what is there is left alone
    assert store.begun(place)
    for odd in (0, 2, 4):  # only the next one is added
        with pytest.raises(DiscreetError), store.writing(place) as records:
            records.add(Record(odd, "{}", bytes(32)))
    with store.reading(place) as records:
        assert [record.text for record in records.read(0)] == texts
        assert records.read(2) == [Record(2, texts[2], bytes([2]) * 32)]
        assert [record.text for record in records.get(2, 1)] == texts[1:]
        assert records.get() == []
        assert not records.is_empty()


def what_is_paid_stays_paid(place: Place) -> None:
    ledger = Ledger.open(place, BUDGET)
    ledger.commit(pay(ledger), "42")
    lost = pay(ledger, 0.2)  # never answered
    again = Ledger.open(place)
    assert again.account.spent.epsilon == 0.3
    assert [(entry.state, entry.answer) for entry in again.history()] == [("answered", "42"), ("reserved", None)]
    assert [entry.answer for entry in again.find("p", "d")] == ["42"]
    again.commit(lost, "7")
    assert [entry.answer for entry in ledger.find("p", "d")] == ["42", "7"]
    with pytest.raises(BudgetExceeded):
        pay(again, 0.8)
    assert Ledger.open(place, BUDGET).account.spent.epsilon == 0.3


def threads_get_what_there_is(place: Place) -> None:
    ledger, paid = Ledger.open(place, BUDGET), list[int]()

    def drain(me: int) -> None:
        for i in range(4):
            try:
                paid.append(pay(ledger, plan=f"{me} {i}"))
            except BudgetExceeded:
                return

    threads = [threading.Thread(target=drain, args=(me,)) for me in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(paid)) == len(paid) == 10
    assert ledger.account.remaining.epsilon == 0


def a_ledger_nobody_saw_is_adopted_first(place: Place) -> None:
    ledger = Ledger.open(place, BUDGET)
    pay(ledger)
    witness.remove(place)
    with pytest.raises(LedgerRefused, match=f"discreet ledger adopt {re.escape(typed(place))}"):
        Ledger.open(place)
    assert adopt(place).account.spent.epsilon == 0.1
    with pytest.raises(LedgerRefused, match="is there, and is not forgotten"):
        forget(place)


PROMISES = (records_only_grow, what_is_paid_stays_paid, threads_get_what_there_is, a_ledger_nobody_saw_is_adopted_first)
