"""Whose budget it is: tables about the same people share a ledger, and a second one is refused until told otherwise."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.depth import examples
from support.refusals import refused

from discreet.errors import LedgerRefused, ParameterError
from discreet.ledger import Ledger, adopt, forget, people, sqlite, witness
from discreet.ledger.chain import START, canonical, seal
from discreet.ledger.people import Table
from discreet.privacy import pure
from discreet.privacy.budget import Budget

BUDGET, UNIT = Budget(epsilon=1), "every person by patient (add-remove)"
COLUMNS = frozenset({"age", "ward"})


@pytest.fixture(autouse=True)
def _lasting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of these tests are no temporary ones, where less is compared."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


def table(folder: Path, name: str = "jan.csv", person: str | None = "patient", columns: frozenset[str] = COLUMNS) -> Table:
    return Table(person, columns, str(folder / name), str(folder))


def frame(person: str | None = "patient", columns: frozenset[str] = COLUMNS) -> Table:
    return Table(person, columns)


def opened(path: Path, about: Table | None, whose: str = "", epsilon: float = 0.1) -> Ledger:
    ledger = Ledger.open(path, BUDGET, UNIT, whose, about)
    ledger.commit(ledger.reserve(question="?", plan="p", data="d", privacy=pure(epsilon), asked="", table="t"), "42")
    return ledger


# What looks like the same people.

_tables = st.builds(
    Table,
    st.sampled_from(["patient", "visitor", None]),
    st.frozensets(st.sampled_from(["age", "ward"]), min_size=1),
    st.sampled_from([None, "/a/x", "/a/y", "/b/x"]),
).map(lambda one: one if one.source is None else Table(one.person, one.columns, one.source, one.source[:2]))


@given(_tables, _tables)
def test_likeness_is_mutual_and_of_public_facts(one: Table, other: Table) -> None:
    assert bool(one.likeness(other)) == bool(other.likeness(one))
    assert Table.from_json(one.to_json()) == one
    same_file = one.source is not None and one.source == other.source
    if one.person is None or other.person is None or one.person != other.person:
        assert bool(one.likeness(other)) == same_file  # under rows every file is for itself
    else:
        near = one.folder is not None and one.folder == other.folder
        assert bool(one.likeness(other)) == (same_file or near or one.columns == other.columns)


SECOND: dict[str, Callable[[Path], Table]] = {
    "the same file, read in another way": lambda folder: table(folder, person=None),
    "another month in the folder": lambda folder: table(folder, "feb.csv"),
    "another file of the folder, with other columns": lambda folder: table(folder, "lab.csv", columns=frozenset({"blood"})),
    "a copy of the folder": lambda folder: table(folder / "copy"),
    "a frame": lambda _: frame(),
}


@pytest.mark.parametrize("second", SECOND.values(), ids=SECOND.keys())
def test_a_second_ledger_for_the_same_people_is_refused(second: Callable[[Path], Table], tmp_path: Path) -> None:
    first, path, about = tmp_path / "first", tmp_path / "second", second(tmp_path)
    opened(first, table(tmp_path))
    for call in (lambda: opened(path, about), lambda: people.check(path, "", about), lambda: opened(path, about, "patients")):
        refused(call, LedgerRefused, f'write ledger="{first}"', 'people="..."', "discreet ledger people first")
        assert not path.exists()
    assert opened(first, about).account.spent.epsilon == 0.2  # one ledger serves many files and months
    Ledger.open(first).name("patients of the eye clinic")
    refused(lambda: opened(path, about), LedgerRefused, f'write ledger="{first}"')  # who says nothing may mean the same
    refused(lambda: opened(path, about, "Patients of the  eye clinic".replace("  ", " ")), LedgerRefused, "is the budget of")
    assert opened(path, about, "patients of the bone clinic").account.spent.epsilon == 0.1
    assert opened(path, about).account.spent.epsilon == 0.2  # said once


@pytest.mark.parametrize(
    "other",
    [
        lambda folder: table(folder, "staff.csv", "employee"),
        lambda folder: table(folder / "else", columns=frozenset({"grade"})),
        lambda folder: table(folder, "b.csv", None),
        lambda _: frame(None),
        lambda _: frame(columns=frozenset({"grade"})),
    ],
    ids=["another person column", "another folder and other columns", "rows of another file", "rows of a frame", "another frame"],
)
def test_others_have_ledgers_of_their_own(other: Callable[[Path], Table], tmp_path: Path) -> None:
    opened(tmp_path / "first", table(tmp_path))
    opened(tmp_path / "second", other(tmp_path))


def test_a_name_is_never_two_budgets_wherever_the_tables_are(tmp_path: Path) -> None:
    opened(tmp_path / "first", table(tmp_path / "a"), "patients")
    other = table(tmp_path / "b", "lab.csv", "nobody", frozenset({"blood"}))
    refused(lambda: opened(tmp_path / "second", other, "PATIENTS"), LedgerRefused, f'ledger="{tmp_path / "first"}"')


def test_a_table_that_pays_elsewhere_does_not_come_to_a_ledger_of_others(tmp_path: Path) -> None:
    opened(tmp_path / "first", table(tmp_path))
    staff = table(tmp_path, "staff.csv", "employee")
    opened(tmp_path / "second", staff)
    refused(lambda: opened(tmp_path / "second", table(tmp_path)), LedgerRefused, "the same file")
    assert Ledger.open(tmp_path / "second").account.spent.epsilon == 0.1


def test_nobody_takes_the_name_of_others(tmp_path: Path) -> None:
    first = opened(tmp_path / "first", table(tmp_path), "patients")
    second = opened(tmp_path / "second", frame("employee", frozenset({"grade"})))
    refused(lambda: second.name("Patients"), LedgerRefused, "it is the budget of patients")
    staff = frame("employee", frozenset({"grade"}))
    refused(lambda: opened(second.path, staff, "patients"), LedgerRefused, "it is the budget of patients")
    assert (second.people, second.account.spent.epsilon) == ("", 0.1)
    second.name("staff")
    shutil.copy(first.path, tmp_path / "copy")
    adopt(tmp_path / "copy")
    refused(lambda: opened(tmp_path / "copy", table(tmp_path), "patients"), LedgerRefused, f'ledger="{first.path}"')


_steps = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["", "x", "y"]), _tables), min_size=2, max_size=8)


@given(steps=_steps)
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_begun_no_two_ledgers_look_alike(steps: list[tuple[str, str, Table]], tmp_path: Path) -> None:
    """Of any two ledgers, either both say whose they are, in different words, or no table of one is like one of the other."""
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    paying: dict[str, list[Table]] = {}
    names: dict[str, str] = {}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_STATE_HOME", str(folder / "state"))
        patched.setenv("LOCALAPPDATA", str(folder / "state"))
        for place, whose, about in steps:
            try:
                names[place] = Ledger.open(folder / place, BUDGET, UNIT, whose, about).people
            except LedgerRefused:
                continue
            paying.setdefault(place, []).append(about)
    assert steps[0][0] in paying
    for one, other in [(a, b) for a in paying for b in paying if a < b]:
        assert not names[one] or names[one] != names[other]
        if not (names[one] and names[other]):
            assert not any(mine.likeness(yours) for mine in paying[one] for yours in paying[other])


BEGIN = """
import sys
from discreet.errors import LedgerRefused
from discreet.ledger import Ledger
from discreet.ledger.people import Table
from discreet.privacy.budget import Budget

sys.stdin.read(1)  # all begin together
try:
    Ledger.open(sys.argv[1], Budget(epsilon=1), "u", "", Table("patient", frozenset({"age"})))
    print("begun")
except LedgerRefused as refusal:
    assert "second budget" in str(refusal), refusal
    print("refused")
"""


def test_of_ledgers_that_begin_at_once_one_is_first(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BEGIN]
    racers = [
        subprocess.Popen([*command, str(tmp_path / str(i))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for i in range(4)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("!")
        racer.stdin.flush()
    assert sorted(racer.communicate(timeout=120)[0].strip() for racer in racers) == ["begun", "refused", "refused", "refused"]


def test_whoever_comes_between_two_steps_of_beginning_is_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = people.begin

    def and_then_another(ledger: Path, whose: str, about: Table) -> None:
        real(ledger, whose, about)
        monkeypatch.setattr(people, "begin", real)
        refused(lambda: opened(tmp_path / "second", frame()), LedgerRefused, f'ledger="{tmp_path / "first"}"')

    monkeypatch.setattr(people, "begin", and_then_another)
    opened(tmp_path / "first", frame())


KILLED = """
import os, signal, sys
from discreet.ledger import Ledger, ledger as ledgers, people, sqlite
from discreet.ledger.people import Table
from discreet.privacy.budget import Budget

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

owner, name = {"register": (people, "_insert"), "file": (sqlite, "create"), "opening": (ledgers, "opening")}[sys.argv[2]]
setattr(owner, name, die)
Ledger.open(sys.argv[1], Budget(epsilon=1), "u", "", Table("patient", frozenset({"age"})))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("step", ["register", "file", "opening"])
def test_whoever_dies_while_beginning_can_begin_again(step: str, tmp_path: Path) -> None:
    place, about = tmp_path / "first", Table("patient", frozenset({"age"}))
    killed = subprocess.run([sys.executable, "-c", KILLED, str(place), step], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Ledger.view(place, BUDGET, "u") is None
    if step != "opening":  # nothing was begun
        people.check(tmp_path / "second", "", about)
    Ledger.open(place, BUDGET, "u", "", about)
    refused(lambda: Ledger.open(tmp_path / "second", BUDGET, "u", "", about), LedgerRefused, "second budget")


# Deleted, moved, from before.


def test_a_deleted_ledger_counts_until_it_is_forgotten(tmp_path: Path) -> None:
    first = tmp_path / "a" / "first"
    first.parent.mkdir()
    opened(first, table(tmp_path))
    first.unlink()
    refused(lambda: opened(tmp_path / "second", table(tmp_path)), LedgerRefused, f'"{first}"', "discreet ledger forget first")
    first.parent.rmdir()
    refused(lambda: opened(tmp_path / "second", table(tmp_path)), LedgerRefused, f'"{first}"', "discreet ledger forget first")
    forget(first)
    refused(lambda: forget(first), LedgerRefused, "Nobody remembers")
    opened(tmp_path / "second", table(tmp_path))


def test_a_folder_that_is_gone_counts_unless_it_was_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    opened(folder / "first", table(folder))
    shutil.rmtree(folder)  # a drive that is not mounted looks like this
    refused(lambda: people.check(tmp_path / "second", "", table(tmp_path)), LedgerRefused, "first is missing")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    people.check(tmp_path / "second", "", table(tmp_path))


def test_what_is_tried_out_in_temporary_folders_is_compared_within_them_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tests of somebody's own program do, one after the other, with the same made-up table."""
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, about in (("a", table(tmp_path / "a")), ("b", table(tmp_path / "b"))):
        opened(tmp_path / name / "first", about, "patients")
        refused(lambda name=name: opened(tmp_path / name / "second", frame(), "patients"), LedgerRefused, "budget of patients")
        refused(lambda name=name, about=about: opened(tmp_path / f"{name}.ledger", about), LedgerRefused, "the same file")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    refused(lambda: people.check(tmp_path / "c", "", frame()), LedgerRefused, "second budget")


def test_a_moved_folder_takes_its_budget_along(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    opened(tmp_path / "a" / "first", table(tmp_path / "a"))
    (tmp_path / "a").rename(tmp_path / "b")
    here = tmp_path / "b" / "first"
    refused(lambda: opened(here, table(tmp_path / "b")), LedgerRefused, f"discreet ledger adopt {here}")
    adopt(here)
    assert opened(here, table(tmp_path / "b")).account.spent.epsilon == 0.2
    assert witness.read(tmp_path / "a" / "first") is None
    refused(lambda: opened(tmp_path / "second", table(tmp_path / "a")), LedgerRefused, str(here))


def test_an_adopted_copy_leaves_the_first_one_where_it_is(tmp_path: Path) -> None:
    first = opened(tmp_path / "first", table(tmp_path))
    shutil.copy(first.path, tmp_path / "copy")
    adopt(tmp_path / "copy")
    assert witness.read(first.path) is not None
    opened(first.path, table(tmp_path))


def test_a_ledger_from_before_keeps_its_place_and_its_spending(tmp_path: Path) -> None:
    """Version 1, as it was written before ledgers said whose they are; no witness of it is lost, no register knows it."""
    path, account = tmp_path / "jan.ledger", BUDGET.open()
    paid = account.spend(pure(0.25), None)
    facts = [
        {"kind": "opened", "version": 1, "time": "t", "account": account.to_json(), "unit": UNIT, "id": "1d", "salt": "ab" * 32},
        {"kind": "reserved", "time": "t", "question": "?", "plan": "p", "data": "d", "asked": "epsilon=0.25"}
        | {"privacy": pure(0.25).to_json(), "account": paid.to_json()},
        {"kind": "answered", "time": "t", "reservation": 1, "answer": "7"},
    ]
    sqlite.create(path)
    before = START
    for number, one in enumerate(facts):
        with sqlite.connect(path) as database:
            database.execute("BEGIN IMMEDIATE")
            if not number:
                sqlite.create_table(database)
            before = seal(before, canonical(one))  # type: ignore[arg-type]
            sqlite.add(database, sqlite.Record(number, canonical(one), before))  # type: ignore[arg-type]
    witness.write(path, witness.Witness("1d", 2, before))

    feb = table(tmp_path, "feb.csv")
    refused(lambda: people.check(tmp_path / "new.ledger", "", feb), LedgerRefused, f'write ledger="{path}"')
    looked = Ledger.view(path, BUDGET, UNIT)
    assert looked is not None
    assert (looked.account.spent.epsilon, looked.people) == (0.25, "")
    ledger = opened(path, table(tmp_path, "jan.csv"))
    assert [entry.answer for entry in ledger.find("p", "d")] == ["7", "42"]
    assert opened(path, feb, "patients").account.spent.epsilon == 0.45
    assert Ledger.open(path).people == "patients"


# Names.


def test_a_ledger_is_named_once_and_renamed_on_purpose(tmp_path: Path) -> None:
    path = tmp_path / "first"
    opened(path, table(tmp_path))
    assert opened(path, table(tmp_path), "patients").people == "patients"
    for verb in (lambda: opened(path, None, "staff"), lambda: Ledger.view(path, BUDGET, UNIT, "staff")):
        refused(verb, LedgerRefused, "budget of patients, not of staff", "discreet ledger people")
    Ledger.open(path).name("staff")
    assert opened(path, None, "Staff").account.spent.epsilon == 0.3
    assert Ledger.open(path).people == "staff"
    refused(lambda: people.check(tmp_path / "second", "staff", frame("x")), LedgerRefused, "it is the budget of staff")
    people.check(tmp_path / "second", "patients", frame("x"))


@pytest.mark.parametrize("name", ["", " ", 7, None, "a\nb", "x" * 201, "\x1b[31m"])
def test_names_are_a_few_words(name: object, tmp_path: Path) -> None:
    refused(lambda: people.check_name(name), ParameterError, "patients of the clinic")
    ledger = opened(tmp_path / "first", None)
    refused(lambda: ledger.name(name), ParameterError)  # type: ignore[arg-type]
    assert ledger.account.spent.epsilon == 0.1


# What is remembered.


def test_what_is_remembered_is_for_its_user_only_and_may_be_lost(tmp_path: Path, state_folder: Path) -> None:
    opened(tmp_path / "first", table(tmp_path))
    kept = state_folder / "discreet" / "people.sqlite"
    if os.name != "nt":
        assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    opened(tmp_path / "first", table(tmp_path))  # a ledger that is there goes on, and is remembered again
    refused(lambda: opened(tmp_path / "second", table(tmp_path)), LedgerRefused, "second budget")


@pytest.mark.parametrize("damage", ["bytes", "facts", "later"])
def test_a_damaged_memory_is_said(damage: str, tmp_path: Path, state_folder: Path) -> None:
    opened(tmp_path / "first", table(tmp_path))
    kept = state_folder / "discreet" / "people.sqlite"
    if damage == "bytes":
        kept.write_bytes(b"x" * 5000)
    else:
        with sqlite3.connect(kept) as raw:
            raw.execute("UPDATE tables SET facts = '[]'" if damage == "facts" else "PRAGMA user_version = 9")
        raw.close()
    refused(lambda: opened(tmp_path / "second", frame("x")), LedgerRefused)


def test_odd_paths_are_remembered_too(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff '\""))
    about = Table("patient", COLUMNS, str(odd) + "x", str(odd))
    opened(odd, about)
    refused(lambda: opened(tmp_path / "second", about), LedgerRefused)


def test_a_full_disk_begins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(people, "_insert", full)
        refused(lambda: opened(tmp_path / "first", table(tmp_path)), LedgerRefused, "register of ledgers")
    assert not (tmp_path / "first").exists()
    opened(tmp_path / "second", table(tmp_path))
