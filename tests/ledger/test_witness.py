"""The witness: a ledger that was rolled back, deleted, exchanged, edited or brought from elsewhere is refused until adopted."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from support.refusals import refused

from discreet.errors import LedgerRefused
from discreet.ledger import Ledger, adopt, forget, witness
from discreet.ledger.chain import canonical, seal
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET = Budget(epsilon=1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hospital.ledger"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger.open(path, BUDGET)
    ask(ledger)
    return ledger


def ask(ledger: Ledger, epsilon: object = 0.1) -> int:
    number = ledger.reserve(question="?", plan="p", data="d", privacy=pure(epsilon), asked="epsilon=0.1")
    ledger.commit(number, "42")
    return number


def edit(path: Path, *changes: str) -> None:
    raw = sqlite3.connect(path)
    for trigger in ("never_changed", "never_deleted", "always_next"):
        raw.execute(f"DROP TRIGGER {trigger}")
    for change in changes:
        raw.execute(change)
    raw.commit()
    raw.close()


VERBS: dict[str, Callable[[Ledger], object]] = {
    "reserve": ask,
    "account": lambda ledger: ledger.account,
    "history": lambda ledger: ledger.history(),
    "find": lambda ledger: ledger.find("p", "d"),
}


def everywhere(ledger: Ledger, *words: str) -> None:
    """Refused by whoever has it open, and by whoever opens it."""
    for call in VERBS.values():
        refused(lambda call=call: call(ledger), LedgerRefused, *words)
    for budget in (BUDGET, None):
        refused(lambda budget=budget: Ledger.open(ledger.path, budget), LedgerRefused, *words)


def test_an_older_copy_is_refused_until_adopted(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    ask(ledger, 0.5)
    shutil.copy(tmp_path / "old", path)
    everywhere(ledger, f"discreet ledger adopt {path}")
    assert adopt(path).account.spent.epsilon == 0.1
    assert Ledger.open(path, BUDGET).account.spent.epsilon == 0.1
    refused(lambda: ask(ledger), LedgerRefused, "rolled back")  # whoever had it open before has seen more


def test_an_older_copy_is_refused_by_those_who_had_not_seen_the_newer(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    sleeper = Ledger.open(path)
    ask(ledger, 0.5)
    shutil.copy(tmp_path / "old", path)
    everywhere(sleeper, "record 2", "record 4 was seen", f"discreet ledger adopt {path}")


def test_a_deleted_ledger_is_not_made_anew(ledger: Ledger, path: Path) -> None:
    path.unlink()
    refused(lambda: Ledger.open(path, BUDGET), LedgerRefused, "is missing", f"discreet ledger forget {path}")
    refused(lambda: ask(ledger), LedgerRefused)
    refused(lambda: adopt(path), LedgerRefused, "no ledger")
    assert not path.exists()


def test_a_deleted_ledger_is_made_anew_where_its_owner_says_so(ledger: Ledger, path: Path) -> None:
    refused(lambda: forget(path), LedgerRefused, "is there", "move it away")
    kept = path.rename(path.with_name("kept"))
    forget(path)
    refused(lambda: forget(path), LedgerRefused, "Nobody remembers")
    assert Ledger.open(path, BUDGET).history() == ()
    refused(lambda: ask(ledger), LedgerRefused, "was exchanged")
    assert len(adopt(kept).history()) == 1


def test_an_emptied_ledger_is_not_made_anew(ledger: Ledger, path: Path) -> None:
    path.write_bytes(b"")
    refused(lambda: Ledger.open(path, BUDGET), LedgerRefused, "is empty", "discreet ledger adopt")
    refused(lambda: ask(ledger), LedgerRefused)
    refused(lambda: adopt(path), LedgerRefused, "empty")


def test_another_ledger_in_its_place_is_refused(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    other = Ledger.open(tmp_path / "other", BUDGET)
    for _ in range(3):
        ask(other)
    shutil.copy(other.path, path)
    refused(lambda: Ledger.open(path), LedgerRefused, "not the one that was here", "discreet ledger adopt")
    refused(lambda: ask(ledger), LedgerRefused)


def test_a_copy_elsewhere_is_refused_until_adopted(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copy(path, copy)
    refused(lambda: Ledger.open(copy, BUDGET), LedgerRefused, "never saw it", f"discreet ledger adopt {copy}")
    assert len(adopt(copy).history()) == 1
    assert Ledger.open(copy).salt == ledger.salt
    ask(ledger)  # the first one goes on


def test_a_lost_witness_is_a_reason_to_refuse(ledger: Ledger, path: Path) -> None:
    witness.place(path).unlink()
    everywhere(ledger, f"discreet ledger adopt {path}")
    adopt(path)
    assert Ledger.open(path).account == ledger.account


@pytest.mark.parametrize("text", ["", "{}", "null", "[" * 100_000, '{"discreet": "witness", "version": 2}', "\0\xff"])
def test_a_damaged_witness_is_a_reason_to_refuse(ledger: Ledger, path: Path, text: str) -> None:
    witness.place(path).write_text(text, encoding="latin-1")
    everywhere(ledger, "damaged", f"discreet ledger adopt {path}")
    adopt(path)
    ask(ledger)


EDITS = {
    "text": ["UPDATE records SET text = replace(text, '1/10', '1/99') WHERE number = 1"],
    "hash": ["UPDATE records SET hash = zeroblob(32) WHERE number = 2"],
    "first": ["UPDATE records SET text = replace(text, 'account', 'akkount') WHERE number = 0"],
    "dropped": ["DELETE FROM records WHERE number = 1"],
    "all dropped": ["DELETE FROM records"],
    "type": ["UPDATE records SET text = CAST(text AS BLOB) WHERE number = 1"],
    "number": ["UPDATE records SET number = 9 WHERE number = 1"],
    "table": ["DROP TABLE records"],
}


@pytest.mark.parametrize("changes", EDITS.values(), ids=EDITS.keys())
def test_edited_records_are_refused_and_never_adopted(ledger: Ledger, path: Path, changes: list[str]) -> None:
    edit(path, *changes)
    refused(lambda: Ledger.open(path), LedgerRefused)
    refused(lambda: adopt(path), LedgerRefused)
    refused(lambda: ledger.history(), LedgerRefused)


def test_a_chain_sealed_anew_is_refused(ledger: Ledger, path: Path) -> None:
    """Whoever edits the last record and computes its hash as we do is still seen."""
    with sqlite3.connect(path) as raw:
        (before,), (text,) = (
            raw.execute(f"SELECT {x} FROM records WHERE number = {n}").fetchone() for x, n in (("hash", 1), ("text", 2))
        )
    raw.close()
    forged = canonical(json.loads(text) | {"answer": "43"})
    edit(path, f"UPDATE records SET text = '{forged}', hash = x'{seal(before, forged).hex()}' WHERE number = 2")
    refused(lambda: Ledger.open(path), LedgerRefused, "differ", "discreet ledger adopt")
    refused(lambda: ask(ledger), LedgerRefused)
    assert adopt(path).find("p", "d")[0].answer == "43"  # an intact chain: its owner's word is taken


def test_a_ledger_may_be_ahead_of_its_witness(ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash between the two; whoever comes next bears witness, before an answer leaves again."""
    other = Ledger.open(path)
    with monkeypatch.context() as patched:
        patched.setattr(witness, "write", lambda *_, **__: None)
        ask(ledger, 0.2)
    assert witness.read(path).number == 2  # type: ignore[union-attr]
    assert other.account.spent.epsilon == 0.3
    assert len(other.find("p", "d")) == 2
    assert witness.read(path).number == 4  # type: ignore[union-attr]
    with monkeypatch.context() as patched:
        patched.setattr(witness, "write", lambda *_, **__: None)
        ask(ledger, 0.2)
    assert Ledger.open(path).account.spent.epsilon == 0.5
    assert witness.read(path).number == 6  # type: ignore[union-attr]


def test_a_new_ledger_whose_maker_crashed_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.touch()
    with monkeypatch.context() as patched:
        patched.setattr(witness, "write", lambda *_, **__: None)
        Ledger.open(path, BUDGET)
    assert witness.read(path) is None
    ledger = Ledger.open(path, BUDGET)
    assert witness.read(path) is not None
    ask(ledger)
    witness.place(path).unlink()
    refused(lambda: Ledger.open(path, BUDGET), LedgerRefused, "never saw it")


def full(*_: object) -> None:
    raise OSError(28, "No space left on device")


def cut(handle: int, content: bytes, write: Callable[[int, bytes], int] = os.write) -> int:
    return write(handle, content[:100])


@pytest.mark.parametrize(
    ("module", "name", "broken"),
    [(os, "write", full), (os, "write", cut), (witness, "sync_file", full)],
    ids=["no", "cut", "sync"],
)
def test_a_witness_that_cannot_be_written_stops_answers(
    ledger: Ledger, path: Path, monkeypatch: pytest.MonkeyPatch, module: object, name: str, broken: Callable[..., object]
) -> None:
    number = ledger.reserve(question="?", plan="new", data="d", privacy=pure(0.1), asked="")
    with monkeypatch.context() as patched:
        patched.setattr(module, name, broken)
        refused(lambda: ask(ledger, 0.3), LedgerRefused, "no space left", "counts as spent")
        refused(lambda: ledger.commit(number, "7"), LedgerRefused, "nothing is answered")
    assert Ledger.open(path).account.spent.epsilon == 0.5  # too much rather than too little


def test_the_first_witness_must_be_put_in_its_place(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        refused(lambda: Ledger.open(path, BUDGET), LedgerRefused, "no space left", "nothing is answered")
    assert witness.read(path) is None
    ask(Ledger.open(path, BUDGET))


HALF = 4096  # bytes: where the second of two lines begins


def test_the_line_that_is_not_the_last_is_written_over(ledger: Ledger, path: Path) -> None:
    """So that a crash leaves the last one, wherever it comes; records of others in between change nothing."""
    file = witness.place(path)
    for skipped in (0, 1, 0, 2, 1):
        before, content = witness.read(path), file.read_bytes()
        for _ in range(skipped):
            ask(Ledger.open(path))
            before, content = witness.read(path), file.read_bytes()
        ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.01), asked="")
        after, now = witness.read(path), file.read_bytes()
        assert before is not None
        assert after is not None
        assert after.number == before.number + 1
        (changed,) = [i for i in (0, HALF) if content[i : i + HALF] != now[i : i + HALF]]
        other = HALF - changed
        assert now[other : other + HALF] == content[other : other + HALF]
        assert json.loads(now[other : other + HALF])["number"] == before.number


def test_a_torn_line_is_none_and_the_one_before_it_is_believed(ledger: Ledger, path: Path) -> None:
    """Whatever part of a line came to the disk, in whatever order."""
    file = witness.place(path)
    before, content = witness.read(path), file.read_bytes()
    ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.01), asked="")
    after, now = witness.read(path), file.read_bytes()
    (start,) = [i for i in (0, HALF) if content[i : i + HALF] != now[i : i + HALF]]
    differing = [i for i in range(len(now)) if content[i] != now[i]]
    for size in range(0, 300, 7):
        place = start + size
        for torn in (now[:place] + content[place:], content[:place] + now[place:]):
            file.write_bytes(torn)
            assert witness.read(path) == (after if torn == now else before)
    for i in differing:
        file.write_bytes(now[:i] + content[i : i + 1] + now[i + 1 :])
        assert witness.read(path) == before
    file.write_bytes(now)
    assert witness.read(path) == after


def test_damage_to_both_lines_is_a_reason_to_refuse(ledger: Ledger, path: Path) -> None:
    ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.01), asked="")
    file = witness.place(path)
    content = bytearray(file.read_bytes())
    for start in (0, HALF):
        content[start + 100] ^= 1
    file.write_bytes(content)
    everywhere(ledger, "damaged", f"discreet ledger adopt {path}")


def test_what_was_adopted_leaves_no_line_of_before(ledger: Ledger, path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "old")
    for _ in range(3):
        ask(ledger, 0.01)
    shutil.copy(tmp_path / "old", path)
    adopt(path)
    content = witness.place(path).read_bytes()
    assert json.loads(content[:HALF])["number"] == 2
    assert not content[HALF:].strip()


def test_witnesses_of_version_1_are_read_and_replaced(ledger: Ledger, path: Path) -> None:
    known, file = witness.read(path), witness.place(path)
    assert known is not None
    facts = {"discreet": "witness", "version": 1, "ledger": known.ledger, "number": known.number, "hash": known.hash.hex()}
    file.write_text(json.dumps(facts))
    assert witness.read(path) == known
    ask(ledger)
    assert len(file.read_bytes()) == 2 * HALF
    file.write_text(json.dumps(facts | {"number": known.number + 9}))
    everywhere(ledger, f"record {known.number + 9} was seen")


def test_a_payment_syncs_its_witness_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, true, folders = [], witness.sync_file, witness.sync_folder
    monkeypatch.setattr(witness, "sync_file", lambda handle: (synced.append("file"), true(handle)))
    monkeypatch.setattr(witness, "sync_folder", lambda folder: (synced.append("folder"), folders(folder)))
    number = ledger.reserve(question="?", plan="p", data="d", privacy=pure(0.01), asked="")
    assert synced == ["file"]
    ledger.commit(number, "1")
    assert synced == ["file", "file"]


def test_other_budgets_are_refused(ledger: Ledger, path: Path) -> None:
    other = Budget(epsilon=2, delta=1e-6)
    refused(lambda: Ledger.open(path, other), LedgerRefused, "(epsilon 1)", "(epsilon 2, delta 1e-06)", "fixed by")
    hair = Budget(epsilon=1 + Fraction(1, 10**9))
    refused(lambda: Ledger.open(path, hair), LedgerRefused, "fixed by")
    assert Ledger.open(path, Budget(epsilon=1.0)).budget == ledger.budget


def test_other_units_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "persons"
    ask(Ledger.open(path, BUDGET, "every person"))
    refused(lambda: Ledger.open(path, BUDGET, "every row"), LedgerRefused, "every person, and not every row", "another ledger")
    assert len(Ledger.open(path, BUDGET, "every person").history()) == 1


def test_terms_change_until_something_is_paid_for(tmp_path: Path) -> None:
    path = tmp_path / "new"
    first = Ledger.open(path, BUDGET, "every row")
    second = Ledger.open(path, Budget(epsilon=3), "every person")
    assert (second.account.total.epsilon, second.salt) == (3, first.salt)
    ask(second)
    refused(lambda: ask(first), LedgerRefused, "(epsilon 3)", "(epsilon 1)")
    refused(lambda: Ledger.open(path, Budget(epsilon=3), "every row"), LedgerRefused, "every person")
    assert len(Ledger.open(path).history()) == len(second.history()) == 1


def test_nobody_pays_under_terms_that_were_changed_meanwhile(tmp_path: Path) -> None:
    """The last to write says the terms, as long as nothing is paid for: then the others are refused."""
    path = tmp_path / "new"
    first, second = Ledger.open(path, BUDGET, "every row"), Ledger.open(path, BUDGET, "every person")
    ask(first)
    refused(lambda: ask(second), LedgerRefused, "every row, and not every person")
    assert first.account.spent.epsilon == 0.1


@pytest.mark.parametrize("content", [b"hello", b"x" * 5000, b"SQLite format 3\0" + b"\0" * 500])
def test_other_files_are_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    refused(lambda: Ledger.open(path, BUDGET), LedgerRefused)
    refused(lambda: adopt(path), LedgerRefused)
    assert path.read_bytes() == content


def test_other_databases_are_refused_and_left_alone(path: Path) -> None:
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE patients (name TEXT)")
    raw.close()
    before = path.read_bytes()
    refused(lambda: Ledger.open(path, BUDGET), LedgerRefused, "not a ledger")
    refused(lambda: adopt(path), LedgerRefused, "not a ledger")
    assert path.read_bytes() == before


def test_relative_state_folders_are_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setenv("LOCALAPPDATA", "state")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert witness.place(tmp_path / "x").is_relative_to(tmp_path)


def test_somebody_who_pays_while_a_ledger_is_begun_is_no_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our opening record and our next transaction another process may have opened the ledger and paid."""
    path, append, waiting = tmp_path / "new", Ledger._append, [True]

    def and_then_another(self: Ledger, database: sqlite3.Connection, facts: dict[str, str | int]) -> int:
        number = append(self, database, facts)
        if waiting and waiting.pop():
            ask(Ledger.open(path, BUDGET, "every row"))
        return number

    monkeypatch.setattr(Ledger, "_append", and_then_another)
    assert len(Ledger.open(path, BUDGET, "every row").history()) == 1


def test_nobody_pays_under_terms_that_change_in_the_middle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our new terms and our payment another process may have set its own, and paid."""
    path, append, waiting = tmp_path / "new", Ledger._append, [True]
    mine, other = Ledger.open(path, BUDGET, "every row"), Ledger.open(path, Budget(epsilon=100), "every person")

    def and_then_another(self: Ledger, database: sqlite3.Connection, facts: dict[str, str | int]) -> int:
        number = append(self, database, facts)
        if waiting and waiting.pop():
            ask(other)
        return number

    monkeypatch.setattr(Ledger, "_append", and_then_another)
    refused(lambda: ask(mine), LedgerRefused, "(epsilon 100)", "(epsilon 1)")
    assert [entry.state for entry in other.history()] == ["answered"]
