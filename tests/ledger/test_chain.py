"""The chain: ten thousand entries are verified at once, and no record can be changed, moved or dropped unseen."""

from __future__ import annotations

import pytest
from support.patience import calls

from discreet.errors import LedgerRefused
from discreet.ledger.chain import START, Chain, Facts, Record, canonical, opening, seal
from discreet.privacy import pure
from discreet.privacy.budget import Budget


def chained(facts: list[Facts]) -> list[Record]:
    records, before = [], START
    for number, one in enumerate(facts):
        text = canonical(one)
        before = seal(before, text)
        records.append(Record(number, text, before))
    return records


def entries(count: int) -> list[Facts]:
    account = Budget(epsilon=count).open().to_json()
    facts: list[Facts] = [opening(Budget(epsilon=count))]
    for i in range(count):
        reserved: Facts = {"kind": "reserved", "time": "t", "question": "q" * 80, "asked": "epsilon=1", "account": account}
        facts.append(reserved | {"plan": f"p{i}", "data": "d", "privacy": pure(1).to_json()})
        facts.append({"kind": "answered", "time": "t", "reservation": 2 * i + 1, "answer": "42" * 50})
    return facts


def known(facts: list[Facts]) -> Chain:
    chain = Chain()
    chain.extend(chained(facts))
    return chain


def test_ten_thousand_entries_are_verified_in_a_few_calls_each() -> None:
    records, chain = chained(entries(10_000)), Chain()
    assert calls(lambda: chain.extend(records)) < 60 * 20_000  # about 20 an entry
    assert (chain.head, len(chain.answers), chain.unanswered) == (20_000, 10_000, set())


@pytest.mark.parametrize("at", range(6))
def test_every_change_is_seen(at: int) -> None:
    """Only at the very end could a record be cut off or sealed anew, and that is what the witness sees."""
    good = chained(entries(3))
    before, record, after = good[:at], good[at], good[at + 1 :]
    text = record.text.replace('"t', '"T', 1)
    resealed = seal(before[-1].hash if before else START, text)
    changed = {
        "text": [*before, Record(at, text, record.hash), *after],
        "text and hash": [*before, Record(at, text, resealed), *after],
        "hash": [*before, Record(at, record.text, resealed), *after],
        "dropped": [*before, *after],
        "twice": [*before, record, record, *after],
        "exchanged": [*before, after[0], record, *after[1:]],
        "renumbered": [*before, Record(at + 1, record.text, record.hash), *after],
    }
    Chain().extend(good)
    for records in changed.values():
        with pytest.raises(LedgerRefused, match="Record"):
            Chain().extend(records)


BROKEN: list[list[Facts]] = [
    [{"kind": "reserved"}],
    [{"kind": "answered", "reservation": 0}],
    [opening(Budget(epsilon=1)), opening(Budget(epsilon=1))],  # another id
    [*entries(1), opening(Budget(epsilon=1), before=known(entries(1)[:1]))],
    [opening(Budget(epsilon=1)), {"kind": "refunded"}],
    [opening(Budget(epsilon=1)), {"kind": "answered", "reservation": 1, "answer": "x"}],
    [*entries(1), {"kind": "answered", "time": "t", "reservation": 1, "answer": "x"}],
]


@pytest.mark.parametrize("facts", BROKEN, ids=range(len(BROKEN)))
def test_chains_that_make_no_sense_are_refused(facts: list[Facts]) -> None:
    with pytest.raises(LedgerRefused, match="Record"):
        Chain().extend(chained(facts))


def test_ledgers_of_a_later_version_are_refused() -> None:
    with pytest.raises(LedgerRefused, match="version 3, and this discreet reads 2; update"):
        Chain().extend(chained([opening(Budget(epsilon=1)) | {"version": 3}]))
