"""The ledger: exact, append-only, durable; what it says is what was asked."""

from __future__ import annotations

import os
import secrets
import sqlite3
import stat
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.patience import calls
from support.refusals import refused

from discreet.errors import BudgetExceeded, LedgerRefused, ParameterError
from discreet.ledger import Ledger
from discreet.ledger.chain import UNKNOWN, Rows
from discreet.privacy import Privacy, approximate, pure, zcdp
from discreet.privacy.account import Account
from discreet.privacy.budget import Budget
from discreet.privacy.losses.base import tanh_rho

F = Fraction


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hospital.ledger"


def ask(
    ledger: Ledger, privacy: Privacy, plan: str = "plan", data: str = "data", answer: str | None = "42", rows: Rows = UNKNOWN
) -> int:
    number = ledger.reserve(question="How many?", plan=plan, data=data, privacy=privacy, asked="epsilon=0.1", rows=rows)
    if answer is not None:
        ledger.commit(number, answer)
    return number


def test_a_tenth_three_times_is_three_tenths_and_not_a_hair_more(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=0.3))
    for _ in range(3):
        ask(ledger, pure(0.1))
    for again in (ledger, Ledger.open(path)):
        assert (again.account.spent.epsilon, again.account.remaining.epsilon) == (0.3, 0.0)
        refused(lambda again=again: ask(again, pure(1e-17)), BudgetExceeded, "epsilon 1e-17 requested, 0.3 spent, 0 left")
        assert len(again.history()) == 3


def test_entries_say_what_was_asked_and_answered(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1))
    begin = datetime.now(UTC) - timedelta(seconds=1)
    number = ledger.reserve(question="Grüße \ud800\0?", plan="p", data="d", privacy=2 * pure(0.1), asked="epsilon=0.2")
    (entry,) = ledger.history()
    assert (entry.number, entry.state, entry.answer) == (number, "reserved", None)
    assert (entry.question, entry.asked, entry.plan, entry.data) == ("Grüße \ud800\0?", "epsilon=0.2", "p", "d")
    assert entry.privacy == 2 * pure(0.1)
    assert begin <= datetime.fromisoformat(entry.time) <= datetime.now(UTC) + timedelta(seconds=1)
    ledger.commit(number, '{"n": 41}')
    (answered,) = Ledger.open(path).history()
    assert (answered.state, answered.answer, answered.number, answered.time) == ("answered", '{"n": 41}', number, entry.time)


def test_a_reservation_without_an_answer_stays_spent(path: Path) -> None:
    ask(Ledger.open(path, Budget(epsilon=1)), pure(0.7), answer=None)
    ledger = Ledger.open(path)
    assert ledger.account.spent.epsilon == 0.7
    refused(lambda: ask(ledger, pure(0.4)), BudgetExceeded)


def test_only_reservations_are_answered_and_only_once(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1))
    number = ask(ledger, pure(0.1))
    refused(lambda: ledger.commit(number, "43"), ParameterError, "answered already")
    for nobody in (0, number + 1, 99, -1):
        refused(lambda nobody=nobody: ledger.commit(nobody, "43"), ParameterError, "does not exist")
    assert [entry.answer for entry in ledger.history()] == ["42"]


def test_steps_are_kept_in_order_until_there_is_an_answer(path: Path) -> None:
    """What was let out on the way is there for whoever goes on; a step that is not the next is another process's."""
    ledger, other = Ledger.open(path, Budget(epsilon=1)), Ledger.open(path)
    number, _ = ask(ledger, pure(0.1), answer=None), ask(ledger, pure(0.1), answer=None)
    assert ledger.begun("plan", "data") == ()
    ledger.keep(number, 0, "first")
    other.keep(number, 1, "\ud800\0")
    for place in (0, 1, 3):
        refused(lambda place=place: ledger.keep(number, place, "x"), LedgerRefused, "Another process went on with this question")
    for one in (ledger, other, Ledger.open(path)):
        ((entry, steps),) = one.begun("plan", "data")
        assert (entry.number, entry.state, steps) == (number, "reserved", ("first", "\ud800\0"))
        assert one.begun("plan", "other") == one.begun("other", "data") == ()
    assert [entry.answer for entry in ledger.history()] == [None, None]
    ledger.commit(number, "42")
    assert Ledger.open(path).begun("plan", "data") == ()
    refused(lambda: other.keep(number, 2, "x"), LedgerRefused, "Another process went on with this question")


def test_nobody_goes_on_with_a_table_that_changed(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1))
    number = ask(ledger, pure(0.1), answer=None)
    ledger.keep(number, 0, "first")
    ledger.tear(number)
    assert Ledger.open(path).begun("plan", "data") == ()


def test_find_gives_answered_repeats_newest_last(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1))
    ask(ledger, pure(0.1), answer="1")
    ask(ledger, pure(0.1), plan="other", answer="2")
    ask(ledger, pure(0.1), data="changed", answer="3")
    ask(ledger, pure(0.1), answer=None)
    ask(ledger, pure(0.1), answer="5")
    other = Ledger.open(path)
    for one in (ledger, other):
        assert [entry.answer for entry in one.find("plan", "data")] == ["1", "5"]
        assert one.find("plan", "nowhere") == ()
    ask(ledger, pure(0.1), answer="6")
    assert [entry.answer for entry in other.find("plan", "data")] == ["1", "5", "6"]  # what others paid for, too


def test_the_same_rows_under_the_same_declarations_are_the_same_data(path: Path) -> None:
    """However a ledger learns of them, and whoever reads it; entries from before rows were known take part by their data."""
    ledger, first, narrow = Ledger.open(path, Budget(epsilon=1)), Rows("wide", "r"), Rows("narrow", "s")
    ask(ledger, pure(0.1), data="old file", answer="1")
    ask(ledger, pure(0.1), data="file", answer="2", rows=first)
    ledger.see(None, "file", narrow)
    ledger.see(None, "frame", narrow)
    ledger.see("table", "old file", first)
    number, before = ask(ledger, pure(0.1), data="file", answer=None, rows=first), len(ledger._chain.hashes)
    ledger.keep(number, 0, "step")
    ledger.see(None, "frame", narrow)  # known already, and nothing to know
    ledger.see(None, "frame")
    ledger.see("table", "old file", first)
    for one in (ledger, Ledger.open(path)):
        assert one._chain.head == before
        found = [
            [entry.answer for entry in one.find("plan", "frame", rows=rows)] for rows in (first, narrow, Rows("wide"), Rows())
        ]
        assert found == [["1", "2"], ["2"], [], []]
        assert [entry.answer for entry in one.find("plan", "file", rows=Rows("wide"))] == ["1", "2"]
        assert [entry.answer for entry in one.find("plan", "file", rows=Rows("narrow"))] == ["2"]
        assert [entry.answer for entry in one.find(None, "frame", rows=first)] == ["1", "2"]
        assert [len(one.begun("plan", "frame", rows)) for rows in (first, narrow, Rows())] == [1, 1, 0]
        assert one.rows_of("frame", "narrow") == narrow
        assert one.rows_of("frame", "wide") == Rows("wide")
        other = Rows("wide", "others")
        assert one.find_apart("plan", "frame", tuple, other) == ()  # all are known, and others
        assert [entry.answer for entry in one.find_apart("plan", "frame", tuple, Rows())] == ["1", "2"]
        assert [entry.answer for entry in one.find_apart("plan", "frame", tuple, Rows("narrow", "t"))] == ["1"]
        for held, declared, same in (
            ("frame", "wide", None),
            ("frame", "narrow", True),
            ("else", "", False),
            (None, "wide", None),
        ):
            assert one.repeats("plan", None, held, declared=declared)[1:] == (same, declared != "")


def test_two_ledgers_of_one_file_see_each_other(path: Path) -> None:
    one, other = Ledger.open(path, Budget(epsilon=0.3)), Ledger.open(path, Budget(epsilon=0.3))
    ask(one, pure(0.2))
    assert other.account.remaining.epsilon == 0.1
    refused(lambda: ask(other, pure(0.2)), BudgetExceeded, "0.2 requested, 0.2 spent, 0.1 left")
    number = one.reserve(question="?", plan="p", data="d", privacy=pure(0.1), asked="")
    other.commit(number, "7")  # a reservation belongs to the ledger, not to the object
    assert [entry.answer for entry in one.find("p", "d")] == ["7"]


def test_salt_and_budget_stay_the_same(path: Path, tmp_path: Path) -> None:
    budget = Budget(epsilon=3, delta=1e-6)
    ledger = Ledger.open(path, budget)
    assert len(ledger.salt) == 32
    assert Ledger.open(path).salt == ledger.salt != Ledger.open(tmp_path / "other", budget).salt
    assert Ledger.open(path).budget == budget


@given(
    st.lists(
        st.one_of(
            st.builds(pure, st.fractions(F(1, 50), F(1, 2), max_denominator=60)),
            st.builds(approximate, st.fractions(F(1, 50), F(1, 4), max_denominator=60), st.just(F(1, 10**7))),
            st.builds(zcdp, st.fractions(F(1, 200), F(1, 10), max_denominator=300)),
        ),
        max_size=8,
    ),
    st.sampled_from([Budget(epsilon=1), Budget(rho=0.2, delta=3e-7), Budget(epsilon=1, delta=1e-6)]),
)
@settings(max_examples=examples(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_total_recomputed_from_the_history(tmp_path: Path, asked: list[Privacy], budget: Budget) -> None:
    """A second implementation: plain fractions over the stored guarantees."""
    path = tmp_path / f"{secrets.token_hex(8)}.ledger"
    ledger = Ledger.open(path, budget)
    for privacy in asked:
        try:
            ask(ledger, privacy)
        except (BudgetExceeded, ParameterError):
            continue
    epsilon, rho, delta, plain = F(0), F(0), F(0), True
    for entry in Ledger.open(path).history():
        ((loss, count),) = entry.privacy.parts
        facts = {name: F(value) for name, value in _facts(loss).items()}
        plain = plain and "epsilon" in facts
        epsilon += count * facts.get("epsilon", F(0))
        delta += count * facts.get("delta", F(0))
        rho += count * (facts["cost"] if "cost" in facts else tanh_rho(facts["epsilon"]))
    account = Ledger.open(path).account
    for each in account.filters:
        if each is not None:
            mine = {"epsilon": epsilon, "rho": rho, "delta": delta}
            assert each.spent == {name: mine[name] for name in each.spent}
    if budget.kind == "approximate":
        assert (account.filters[0] is not None) == (plain and epsilon <= 1)
        assert (account.filters[1] is not None) == (rho <= (budget.most_rho or 0))


def _facts(loss: object) -> dict[str, str]:
    return {name: str(getattr(loss, name)) for name in ("epsilon", "delta", "cost") if hasattr(loss, name)}


def test_an_account_is_read_where_the_last_record_says_another(path: Path) -> None:
    """What this process wrote is known to it; what another one wrote after it is read."""
    one = Ledger.open(path, Budget(epsilon=1))
    reserve: dict[str, str] = {"question": "?", "plan": "p", "data": "d", "asked": ""}
    one.reserve(privacy=pure(0.1), **reserve)
    other = Ledger.open(path)
    assert one.account == other.account == Account.from_json(one.account.to_json())
    other.reserve(privacy=pure(0.2), **reserve)
    assert (one.account.spent.epsilon, other.account.spent.epsilon) == (0.3, 0.3)


# The file.


@pytest.mark.skipif(os.name == "nt", reason="modes are POSIX")
def test_files_are_for_their_owner_only(path: Path, state_folder: Path) -> None:
    before = os.umask(0)
    try:
        ledger = Ledger.open(path, Budget(epsilon=1))
        raw = sqlite3.connect(path, isolation_level=None)
        raw.execute("BEGIN IMMEDIATE")
        raw.execute("INSERT INTO records VALUES (1, '{}', x'00')")
        assert stat.S_IMODE(path.with_name("hospital.ledger-journal").stat().st_mode) == 0o600
        raw.execute("ROLLBACK")
        raw.close()
        ask(ledger, pure(0.1))
    finally:
        os.umask(before)
    witnesses = list(state_folder.rglob("*.json"))
    assert len(witnesses) == 1
    for file in (path, *witnesses):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(witnesses[0].parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["hospital.ledger"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE records SET text = '{}' WHERE number = 1",
        "DELETE FROM records WHERE number = 2",
        "INSERT OR REPLACE INTO records VALUES (1, '{}', x'00')",
        "INSERT INTO records VALUES (7, '{}', x'00')",
    ],
)
def test_rows_are_never_changed(path: Path, change: str) -> None:
    ask(Ledger.open(path, Budget(epsilon=1)), pure(0.1))
    raw = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        raw.execute(change)
    raw.close()
    assert len(Ledger.open(path).history()) == 1


def test_commits_are_synced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every transaction runs with a rollback journal and the strictest syncing; nothing stays open afterwards."""
    from discreet.ledger import sqlite

    modes: set[tuple[object, ...]] = set()
    add = sqlite.add

    def seen(connection: sqlite3.Connection, record: object) -> None:
        modes.add(tuple(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "journal_mode")))
        add(connection, record)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite, "add", seen)
    ask(Ledger.open(path, Budget(epsilon=1)), pure(0.1))
    assert modes == {(3, "delete")}
    if Path("/proc/self/fd").exists():
        assert not [fd for fd in Path("/proc/self/fd").iterdir() if fd.exists() and os.path.realpath(fd) == str(path)]


def test_a_file_that_was_given_a_log_gets_its_journal_back(path: Path) -> None:
    """Of two files the second could be lost, and with it what was paid for last."""
    ask(Ledger.open(path, Budget(epsilon=1)), pure(0.1))
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    raw.close()
    ask(Ledger.open(path), pure(0.1))
    raw = sqlite3.connect(path)
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    raw.close()
    assert len(Ledger.open(path).history()) == 2
    assert os.listdir(path.parent) == [path.name]


def test_paths_that_cannot_be_ledgers_are_refused(path: Path, tmp_path: Path) -> None:
    refused(lambda: Ledger.open(path), LedgerRefused, "no ledger at", "check its name")
    refused(lambda: Ledger.open(tmp_path, Budget(epsilon=1)), LedgerRefused, "name such a file")
    refused(lambda: Ledger.open(tmp_path / "no" / "where", Budget(epsilon=1)), LedgerRefused, "folder that exists")
    assert not path.exists()


def test_odd_names_are_only_names(tmp_path: Path) -> None:
    for name in ("a b%20c?mode=memory#x", "ü'\";", "file:x"):
        ask(Ledger.open(tmp_path / name, Budget(epsilon=1)), pure(0.1))
        assert (tmp_path / name).stat().st_size > 0
        assert Ledger.open(tmp_path / name).account.spent.epsilon == 0.1


def test_links_lead_to_one_ledger(path: Path, tmp_path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1))
    ask(ledger, pure(0.1))
    link = tmp_path / "link"
    link.symlink_to(path)
    ask(Ledger.open(link), pure(0.2))
    assert ledger.account.spent.epsilon == 0.3


# Speed.


def test_paying_is_quick_and_does_not_get_slower(path: Path) -> None:
    ledger = Ledger.open(path, Budget(epsilon=1000, delta=1e-6))
    took = [calls(lambda: ask(ledger, zcdp(F(1, 1000)))) for _ in range(100)]
    assert max(took[2:]) < 15_000  # about 4,100
    assert max(took[50:]) <= 1.1 * max(took[2:50])


def test_long_answers_are_written_once_and_read_when_they_are_wanted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the answer that was just kept nor those of before are read by what is paid next; by an opening, all are."""
    from discreet.ledger import sqlite

    ledger, read, letters = Ledger.open(path, Budget(epsilon=9)), sqlite._read, [0]

    def count(where: Path, row: tuple[object, ...] | None) -> object:
        letters[0] += sum(len(one) for one in row or () if isinstance(one, str))
        return read(where, row)

    monkeypatch.setattr(sqlite, "_read", count)
    for cost in range(1, 6):
        ask(ledger, pure(0.1), answer=f"{cost} " + "x" * 10**6)
        assert ledger.find("plan", "data", wanted=lambda begin: len(begin) > 256 or begin.startswith("9")) == ()
    assert letters[0] < 10**5
    (found,) = ledger.find("plan", "data", wanted=lambda begin: begin.startswith("3"))
    assert (found.answer or "")[:3] == "3 x"
    assert 10**6 < letters[0] < 2 * 10**6
    assert len(Ledger.open(path).find("plan", "data")) == 5
    assert letters[0] > 11 * 10**6


def test_a_record_that_was_exchanged_meanwhile_is_noticed(path: Path) -> None:
    """Also the last one, and also by whoever wrote it, although its text is not read again."""
    ledger = Ledger.open(path, Budget(epsilon=9))
    ask(ledger, pure(0.1))
    raw = sqlite3.connect(path)
    raw.execute("DROP TRIGGER never_changed")
    raw.execute("UPDATE records SET text = replace(text, '42', '43') WHERE number = 2")
    raw.commit()
    refused(lambda: ledger.find("plan", "data"), LedgerRefused, "damaged")
    assert ledger.account.spent.epsilon == 0.1
    refused(lambda: Ledger.open(path), LedgerRefused, "damaged")
    raw.execute("UPDATE records SET hash = zeroblob(32) WHERE number = 2")
    raw.commit()
    raw.close()
    refused(lambda: ledger.account, LedgerRefused, "exchanged")


def test_hashes_of_before_are_asked_for_where_there_may_be_some(tmp_path: Path) -> None:
    """A reservation that says of which version its hash is has no other; any without it may have."""
    ledger, asked = Ledger.open(tmp_path / "x", Budget(epsilon=1)), []

    def former() -> list[str]:
        asked.append("asked")
        return ["old"]

    number = ledger.reserve(question="?", plan="new", data="d", privacy=pure(0.1), asked="", digest=3)
    ledger.commit(number, "1")
    assert [entry.answer for entry in ledger.find("new", "d", former)] == ["1"]
    assert not asked
    number = ledger.reserve(question="?", plan="old", data="d", privacy=pure(0.1), asked="")
    ledger.commit(number, "2")
    for one in (ledger, Ledger.open(tmp_path / "x")):
        assert [entry.answer for entry in one.find("new", "d", former)] == ["1", "2"]
        assert [entry.answer for entry in one.find("other", "d", former)] == ["2"]
    assert len(asked) == 4
